package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve/bound"
	"github.com/oraccl/oraccl/verify"
	"github.com/oraccl/oraccl/verify/cert"
	"github.com/oraccl/oraccl/verify/verifytest"
)

// TestSoakCertificates sets certificates against the least makespan of tiny problems, found
// by trying everything: all that solve/bound finds, and random witnesses of every kind but
// those with a file or a linear program, each changed again and again for the sake of a
// larger bound. None that is accepted may be above the optimum, for the problem's chunks
// and, where the cut is left open, for these chunks as well as for any.
func TestSoakCertificates(t *testing.T) {
	often := map[string]float64{"optimal": 0.3, "link-rounds": 0.03, "rounds": 0.03, "pipelined": 0.03, "blocking": 0.03, "late": 0.03, "met by a bound": 0.1}
	for _, kind := range []string{"coverage", "cut", "ingress", "egress", "volume", "partition", "crossing", "prices", "timed-prices", "distance"} {
		often[kind] = 0.02
	}
	for _, kind := range []string{"doubling", "broadcast", "combine"} {
		often[kind] = 0.002
	}
	soak(t, 500, often, func(c *trial) error {
		p, known := drawTiny(c.Rand)
		at, err := optimum(c.Rand, p, known, c.budget())
		if err != nil || at.best == nil {
			return err
		}
		best := at.best
		if at.optimal {
			c.count("optimal")
		}
		c.count(fmt.Sprint(min(7, len(best.Transfers)), " transfers"))
		c.count(p.Cost.String())
		if late := slices.DeleteFunc(slices.Clone(p.Release), func(at model.Time) bool { return at == 0 }); len(late) > 1 {
			c.count("late")
		}
		x := &claims{c: c, p: p, reached: at}
		open := *p
		open.Chunks = nil
		for _, q := range []*model.Problem{p, &open} {
			all, _, err := bound.All(context.Background(), q)
			if err != nil {
				return fmt.Errorf("bound.All: %w\n%s", err, show(p, best))
			}
			one, err := bound.Best(context.Background(), q)
			if err != nil {
				return fmt.Errorf("bound.Best: %w\n%s", err, show(p, best))
			}
			quick, err := bound.Quick(context.Background(), q)
			if err != nil {
				return fmt.Errorf("bound.Quick: %w\n%s", err, show(p, best))
			}
			for _, made := range append(all, one, quick) {
				if made == nil {
					continue
				}
				if v := cert.Check(context.Background(), &model.Certificate{Problem: made.Problem, Witness: made.Witness, Bound: made.Estimate}); v.Outcome != verify.Proved {
					return fmt.Errorf("solve/bound: %s of %v: %v %v\n%s", made.Witness.Kind(), made.Estimate, v.Outcome, v.Violations, show(p, best))
				}
				x.top = max(x.top, made.Estimate)
				if _, err := x.yield(made.Problem, made.Witness); err != nil {
					return err
				}
			}
			for range 24 {
				w := drawWitness(c.Rand, q)
				y, err := x.yield(q, w)
				if err != nil {
					return err
				}
				for range 8 {
					v := changeWitness(c.Rand, q, w)
					z, err := x.yield(q, v)
					if err != nil {
						return err
					}
					if z >= y {
						w, y = v, z
					}
				}
				if y > 0 {
					c.count(w.Kind())
				}
			}
		}
		if x.top == x.least {
			c.count("met by a bound")
		}
		return nil
	})
}

// claims compares what certificates yield with right schedules.
type claims struct {
	*reached
	c   *trial
	p   *model.Problem
	top model.Time // the largest estimate of solve/bound
}

// yield returns what a witness yields, or -1 if it is no certificate. It returns an error if
// the checker claims too much.
func (x *claims) yield(p *model.Problem, w model.Witness) (model.Time, error) {
	y, err := cert.Yield(context.Background(), &model.Certificate{Problem: p, Witness: w})
	if err != nil {
		if v := cert.Check(context.Background(), &model.Certificate{Problem: p, Witness: w, Bound: 1}); v.Outcome == verify.Proved {
			return 0, fmt.Errorf("cert: %s %+v: Check accepts what Yield does not: %w\n%s", w.Kind(), w, err, show(x.p, x.best))
		}
		return -1, nil
	}
	if y > x.least {
		return 0, fmt.Errorf("cert: %s %+v yields %d ps (problem with chunks: %t), but this ends at %d ps:\n%s", w.Kind(), w, int64(y), p.Chunks != nil, int64(x.least), show(x.p, x.best))
	}
	x.c.count("certificates")
	made := &model.Certificate{Problem: p, Witness: w, Bound: y}
	for _, rounds := range x.rounds {
		if n := cert.LeastRounds(made); n > len(rounds) {
			return 0, fmt.Errorf("cert: %s %+v shows that there are %d rounds or more, but a right schedule has %d: %s", w.Kind(), w, n, len(rounds), show(x.p, x.best))
		}
		if w, ok := w.(model.Spread); ok && p.Cost == model.Rounds {
			n, err := cert.SpreadRounds(context.Background(), p, w)
			if after := len(slices.DeleteFunc(slices.Clone(rounds), func(i model.Interval) bool { return i.From < p.ReleaseOf(w.Source) })); err == nil && n > after {
				return 0, fmt.Errorf("cert: %+v shows that %d rounds or more begin after it has arrived, but of a right schedule %d do: %s", w, n, after, show(x.p, x.best))
			}
		}
	}
	if x.c.IntN(8) > 0 {
		return y, nil
	}
	for _, claim := range []model.Time{y, y + 1} { // the verdict agrees, which takes as long again
		v := cert.Check(context.Background(), &model.Certificate{Problem: p, Witness: w, Bound: claim})
		if (v.Outcome == verify.Proved) != (claim == y) {
			return 0, fmt.Errorf("cert: %s %+v yields %d ps, and for a bound of %d ps the verdict is %v\n%s", w.Kind(), w, int64(y), int64(claim), v.Outcome, show(x.p, x.best))
		}
	}
	return y, nil
}

// subset returns some of the numbers below n, ascending, at least least.
func subset(r *rand.Rand, n, least int) []int {
	for {
		list := []int{}
		for v := range n {
			if r.IntN(2) == 0 {
				list = append(list, v)
			}
		}
		if len(list) >= min(least, n) {
			return list
		}
	}
}

// drawWitness returns a witness of one of the thirteen kinds that are in the certificate itself
// and not prices at instants.
func drawWitness(r *rand.Rand, p *model.Problem) model.Witness {
	t := p.Topology
	chunk, shard := -1, r.IntN(p.Shards())
	if p.Chunks != nil {
		chunk = r.IntN(len(p.Chunks))
		shard = p.Shard(chunk)
	}
	kind := r.IntN(19)
	if p.Cost == model.Rounds && r.IntN(2) == 0 {
		kind = 7 + r.IntN(3)
	}
	switch kind {
	case 0:
		return model.Ingress{Rank: r.IntN(t.Ranks)}
	case 1:
		return model.Egress{Rank: r.IntN(t.Ranks)}
	case 2:
		return model.Volume{}
	case 3, 4:
		w := model.Cut{Nodes: subset(r, t.Nodes(), 1)}
		if r.IntN(3) == 0 {
			w.From = subset(r, t.Ranks, 1)
		}
		if r.IntN(3) == 0 {
			w.To = subset(r, t.Ranks, 1)
		}
		return w
	case 5, 18:
		parts := make([][]int, 1+r.IntN(t.Ranks))
		for v := range t.Nodes() {
			if i := r.IntN(len(parts)); v < t.Ranks || r.IntN(3) > 0 {
				parts[i] = append(parts[i], v)
			}
		}
		if kind == 5 {
			return model.Partition{Parts: parts}
		}
		return model.Crossing{Parts: parts}
	case 6:
		w := model.Prices{}
		for range t.Links {
			w.Links = append(w.Links, r.Int64N(4))
		}
		return w
	case 7:
		return model.Doubling{Chunk: chunk, Shard: shard, Source: r.IntN(t.Ranks)}
	case 8:
		return model.Spread{Source: r.IntN(t.Ranks)}
	case 9:
		return model.Combine{Dest: r.IntN(t.Ranks)}
	case 10, 11, 12:
		w := model.Coverage{Nodes: subset(r, t.Nodes(), 1)}
		if r.IntN(3) == 0 {
			w.From = subset(r, t.Ranks, 1)
		}
		if r.IntN(3) == 0 {
			w.To = subset(r, t.Ranks, 1)
		}
		return w
	case 13, 14, 15:
		return drawTimed(r, t)
	}
	w := model.Distance{Chunk: chunk, Shard: shard, Source: r.IntN(t.Ranks), Dest: r.IntN(t.Ranks)}
	if r.IntN(4) > 0 {
		w.Potential, w.Head = travelTimes(p, max(chunk, 0), shard, w.Source)
		return w
	}
	for range t.Nodes() {
		w.Potential = append(w.Potential, model.Time(r.IntN(9)))
		w.Head = append(w.Head, model.Time(r.IntN(9)))
	}
	return w
}

// drawTimed returns prices that change with time: on links from ranks those that fall, on links to
// ranks those that rise, and on some links any.
func drawTimed(r *rand.Rand, t *model.Topology) model.TimedPrices {
	var w model.TimedPrices
	theta, wait := model.Time(1+r.IntN(12)), model.Time(r.IntN(6))
	ramps := r.IntN(2) == 0
	for i, l := range t.Links {
		c := model.PriceClass{Links: []int{i}}
		switch {
		case ramps && l.Src < t.Ranks && (l.Dst >= t.Ranks || r.IntN(2) == 0):
			c.Pieces = []model.PricePiece{{To: theta, Price: int64(theta), Slope: -1}}
		case ramps && l.Dst < t.Ranks:
			c.Pieces = []model.PricePiece{{From: wait, To: wait + 2*theta, Slope: 1}}
		default:
			at := model.Time(r.IntN(4))
			for range r.IntN(3) {
				x := model.PricePiece{From: at, To: at + model.Time(1+r.IntN(9)), Price: r.Int64N(4)}
				if x.Price == 0 {
					x.Slope = r.Int64N(2)
				}
				c.Pieces = append(c.Pieces, x)
				at = x.To + model.Time(r.IntN(3))
			}
		}
		w.Classes = append(w.Classes, c)
	}
	return w
}

// travelTimes returns the least times at which a contribution, and its first byte, can be at
// each node, by trying every hop from every rank again and again.
func travelTimes(p *model.Problem, chunk, shard, source int) (full, head []model.Time) {
	t, q, size := p.Topology, *p, int64(1)
	if p.Chunks == nil { // a byte of the shard
		chunk = shard
		q = *p.WithChunks(p.Shards())
	} else {
		size = p.Chunks[chunk].Size
	}
	const far = 1 << 20
	full, head = slices.Repeat([]model.Time{far}, t.Nodes()), slices.Repeat([]model.Time{far}, t.Nodes())
	start, _ := verifytest.Conditions(&q)
	for v := range t.Ranks {
		if start[verifytest.Slot{Rank: v, Chunk: chunk}][source] > 0 {
			full[v] = p.ReleaseOf(v)
		}
	}
	var follow func(src int, links, visited []int)
	follow = func(src int, links, visited []int) {
		at := visited[len(visited)-1]
		if len(links) > 0 {
			begin := max(full[src], p.ReleaseOf(src))
			if at < t.Ranks {
				begin = max(begin, p.ReleaseOf(at))
			}
			first := begin
			for _, l := range links {
				first += t.Links[l].Alpha
			}
			head[at] = min(head[at], first)
			full[at] = min(full[at], begin+verifytest.Duration(&q, src, links, size))
			if at < t.Ranks {
				return
			}
		}
		for l, k := range t.Links {
			if k.Src == at && !slices.Contains(visited, k.Dst) {
				follow(src, append(slices.Clone(links), l), append(slices.Clone(visited), k.Dst))
			}
		}
	}
	for range t.Nodes() {
		for src := range t.Ranks {
			if full[src] < far {
				follow(src, nil, []int{src})
			}
		}
	}
	return full, head
}

// changeWitness returns a witness of the same kind, a little different.
func changeWitness(r *rand.Rand, p *model.Problem, w model.Witness) model.Witness {
	t := p.Topology
	switch w := w.(type) {
	case model.Cut:
		switch r.IntN(4) {
		case 0:
			w.From = toggle(w.From, r.IntN(t.Ranks))
		case 1:
			w.To = toggle(w.To, r.IntN(t.Ranks))
		default:
			w.Nodes = toggle(w.Nodes, r.IntN(t.Nodes()))
		}
		return w
	case model.Coverage:
		switch r.IntN(4) {
		case 0:
			w.From = toggle(w.From, r.IntN(t.Ranks))
		case 1:
			w.To = toggle(w.To, r.IntN(t.Ranks))
		default:
			w.Nodes = toggle(w.Nodes, r.IntN(t.Nodes()))
		}
		return w
	case model.Partition:
		return model.Partition{Parts: moved(r, t, w.Parts)}
	case model.Crossing:
		return model.Crossing{Parts: moved(r, t, w.Parts)}
	case model.Prices:
		w.Links = slices.Clone(w.Links)
		if len(w.Links) > 0 {
			l := r.IntN(len(w.Links))
			w.Links[l] = max(0, w.Links[l]+r.Int64N(3)-1)
		}
		return w
	case model.TimedPrices:
		w.Classes = slices.Clone(w.Classes)
		if len(w.Classes) > 0 {
			c := &w.Classes[r.IntN(len(w.Classes))]
			if c.Pieces = slices.Clone(c.Pieces); len(c.Pieces) > 0 {
				x := &c.Pieces[r.IntN(len(c.Pieces))]
				switch r.IntN(3) {
				case 0:
					x.From = max(0, x.From+model.Time(r.IntN(3)-1))
				case 1:
					x.To += model.Time(r.IntN(3) - 1)
				default:
					x.Price = max(0, x.Price+r.Int64N(3)-1)
				}
			}
		}
		return w
	case model.Distance:
		w.Potential, w.Head = slices.Clone(w.Potential), slices.Clone(w.Head)
		change := func(list []model.Time) {
			if len(list) > 0 {
				v := r.IntN(len(list))
				list[v] = max(0, list[v]+model.Time(r.IntN(3)-1))
			}
		}
		switch r.IntN(8) {
		case 0:
			w.Dest = r.IntN(t.Ranks)
		case 1: // without heads, or with some
			if w.Head != nil {
				w.Head = nil
			} else {
				w.Head = make([]model.Time, t.Nodes())
			}
		case 2, 3:
			change(w.Head)
		default:
			change(w.Potential)
		}
		return w
	}
	return drawWitness(r, p)
}

// moved returns parts with one node in another one, or in none.
func moved(r *rand.Rand, t *model.Topology, old [][]int) [][]int {
	parts := make([][]int, len(old))
	v := r.IntN(t.Nodes())
	for i, part := range old {
		parts[i] = slices.DeleteFunc(slices.Clone(part), func(u int) bool { return u == v })
	}
	i := r.IntN(len(parts))
	parts[i] = toggle(parts[i], v)
	if r.IntN(6) == 0 {
		parts = append(parts, []int{})
	}
	return parts
}

// toggle returns an ascending list with v if it had none, and without it if it had.
func toggle(list []int, v int) []int {
	list = slices.Clone(list)
	if i, found := slices.BinarySearch(list, v); found {
		return slices.Delete(list, i, i+1)
	} else {
		return slices.Insert(list, i, v)
	}
}
