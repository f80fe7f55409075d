package workload

import (
	"cmp"
	"context"
	"fmt"
	"math/big"
	"slices"
	"strings"

	"github.com/oraccl/oraccl/model"
	wl "github.com/oraccl/oraccl/model/workload"
	"github.com/oraccl/oraccl/verify"
)

// kind is a kind of bound: what its evidence says, and what that proves.
type kind struct {
	name  string
	text  func(w *wl.Workload, b *wl.Bound) string
	yield func(w *wl.Workload, b *wl.Bound) (model.Time, error)
}

// kinds returns all kinds. Their lemmas are at Yield, volume, late and orders.
func kinds() []kind {
	says := func(text string) func(*wl.Workload, *wl.Bound) string {
		return func(*wl.Workload, *wl.Bound) string { return text }
	}
	return []kind{
		{"compute", func(_ *wl.Workload, b *wl.Bound) string { return fmt.Sprintf("rank %d computes all the time", b.Rank) }, computed},
		{"cut", func(_ *wl.Workload, b *wl.Bound) string {
			return "what must enter " + model.Count(len(b.Nodes), "node")
		}, cut},
		{"iteration", func(w *wl.Workload, b *wl.Bound) string {
			return fmt.Sprintf("an iteration of job %s alone", w.Ops[b.Ops[0]].Job)
		}, iteration},
		{"chain", func(w *wl.Workload, b *wl.Bound) string { return "the chain " + chainText(w, b.Ops) }, chain},
		{"waiting", func(w *wl.Workload, b *wl.Bound) string {
			return fmt.Sprintf("job %s waits while job %s computes, and while it has the network", w.Ops[b.Ops[0]].Job, w.Ops[b.Ops[2]].Job)
		}, waiting},
		{"flow", says("all computations and an entry, or a computation and all entries"), flow},
		{"volume", func(_ *wl.Workload, b *wl.Bound) string {
			return "what must pass between " + model.Count(len(b.Parts), "part")
		}, volume},
		{"late", func(_ *wl.Workload, b *wl.Bound) string {
			return fmt.Sprintf("what rank %d alone has must spread once it is there", b.Rank)
		}, late},
		{"order", says("no order of computations and entries ends before"), orders},
	}
}

// kindOf returns the kind of a bound.
func kindOf(b *wl.Bound) (*kind, error) {
	var known []string
	for _, k := range kinds() {
		if k.name == b.Kind {
			return &k, nil
		}
		known = append(known, k.name)
	}
	return nil, fmt.Errorf("bound of kind %s: want one of %s", model.Quote(b.Kind), strings.Join(known, ", "))
}

// Describe states the evidence of b, which must be one of w.
func Describe(w *wl.Workload, b *wl.Bound) string {
	k, err := kindOf(b)
	if err != nil {
		return err.Error()
	}
	return k.text(w, b)
}

func chainText(w *wl.Workload, ops []int) string {
	s := ""
	for i, op := range ops {
		switch {
		case i > 0 && len(ops) > 6 && i == 3:
			s += fmt.Sprintf(", ... (%d more)", len(ops)-6)
		case i > 3 && i < len(ops)-3 && len(ops) > 6:
		default:
			if i > 0 {
				s += ", "
			}
			s += w.Ops[op].ID
		}
	}
	return s
}

// Yield returns the largest bound that b's evidence proves for w, which must be valid; an
// error explains why it proves none.
//
// Lemma (compute). A rank does one computation at a time, so that all of them, in all
// iterations, take the sum of their durations; in a period likewise.
//
// Lemma (cut). Let an operation have members inside S, A of them, and outside, B of them, and
// size D. Each chunk of which a rank inside needs a contribution from outside enters S at least
// once: a transfer carries one chunk, and values of different operations are made by different
// transfers. So at least the following bytes enter: of a broadcast from outside, a reduce to the
// inside, or an allreduce, D; of a reducescatter, the shards of the members inside; of an allgather,
// those of the members outside; of an alltoall, those from outside to inside; of a scatter from
// outside, or a gather to the inside, the same. Links into S carry B bytes/s together at most,
// pipelined or blocking; and before the end of a workload that ends, the last byte on each has
// its latency to come.
//
// Lemma (chain). An operation that waits for the end of another one on all ranks, or on one they
// share, starts there after it. A computation lasts its duration; a collective among more than one
// rank no less than it takes the least latency and the least chunk over the fastest link; but only an
// edge of scope all, or from or to a computation on the very rank, joins the times of two
// operations: so a chain is one of computations and collectives on one rank. In a period, a cycle
// of height h repeats after its length divided by h.
//
// Lemma (waiting). Let jobs a and b have a computation and a collective each, which wait on a rank for
// each other, the collective for the end of the computation, and the next computation for the
// collective. Let the collectives have one chunk, which must enter the rank, over its only link in,
// on a network without latency in which all links are as fast, pipelined: then an entry takes exactly
// the time of the chunk. While a computes on the rank, b does not, and at most one of its entries is
// under way, for between two of them b computes; so b waits a's computation less an entry, or more.
// While an entry of a is under way, none of b is, and b computes at most once: it waits a's entry less a
// computation, or more. No two of these times overlap, as a's own operations do not, so that
// the sum over a's iterations is added to what b's own iterations take.
//
// The lemmas on volume, on late ranks and on orders are at volume, late and orders.
//
// Lemma (flow). On such a rank, let each job's collective wait for the end of its computation. All
// computations take the sum of their times; after the last of them to end an entry is still to come. All
// entries take the sum of theirs; before the first of them a computation has ended.
func Yield(w *wl.Workload, b *wl.Bound) (model.Time, error) {
	k, err := kindOf(b)
	if err != nil {
		return 0, err
	}
	return k.yield(w, b)
}

// CheckBound returns what a certificate's bound proves, and whether that is its value.
func CheckBound(c *wl.Certificate) verify.Verdict {
	what := "makespan"
	if c.Workload.Periodic {
		what = "period"
	}
	v := verify.Verdict{Engine: "bound", Claim: fmt.Sprintf("no schedule of %v has a %s below %v (%d ps): %s", c.Workload, what, c.Bound.Value, int64(c.Bound.Value), c.Bound.Kind)}
	switch t, err := Yield(c.Workload, &c.Bound); {
	case err != nil:
		v.Outcome, v.Reason = verify.Refuted, err.Error()
	case t < c.Bound.Value:
		v.Outcome, v.Reason = verify.Refuted, fmt.Sprintf("it proves %v (%d ps), not %v (%d ps)", t, int64(t), c.Bound.Value, int64(c.Bound.Value))
	default:
		v.Outcome = verify.Proved
	}
	return v
}

func computed(w *wl.Workload, b *wl.Bound) (model.Time, error) {
	if b.Rank < 0 || b.Rank >= w.Topology.Ranks {
		return 0, fmt.Errorf("rank %d does not exist", b.Rank)
	}
	sum := model.Time(0)
	for i := range w.Ops {
		if w.Ops[i].Kind != wl.Compute {
			continue
		}
		if m := slices.Index(w.Members(w.Ops[i].Group), b.Rank); m >= 0 {
			sum = sum.Add(w.DurationOn(i, m).Mul(int64(w.Iterations(i))))
		}
	}
	return sum, nil
}

func cut(w *wl.Workload, b *wl.Bound) (model.Time, error) {
	inside := make([]bool, w.Topology.Nodes())
	for _, v := range b.Nodes {
		if v < 0 || v >= len(inside) {
			return 0, fmt.Errorf("node %d does not exist", v)
		}
		inside[v] = true
	}
	rate, alpha := new(big.Int), model.MaxTime
	for _, l := range w.Topology.Links {
		if inside[l.Dst] && !inside[l.Src] {
			rate.Add(rate, big.NewInt(l.Bandwidth))
			alpha = min(alpha, l.Alpha)
		}
	}
	if rate.Sign() == 0 {
		return 0, fmt.Errorf("no link enters the set")
	}
	bytes := new(big.Int)
	for i := range w.Ops {
		if _, collective := w.Ops[i].Kind.Collective(); collective {
			need := entering(w.Problem(i), inside)
			bytes.Add(bytes, new(big.Int).Mul(big.NewInt(need), big.NewInt(int64(w.Iterations(i)))))
		}
	}
	return carried(w, bytes, rate, alpha), nil
}

// entering returns how many bytes of p must enter a set, however they are cut.
func entering(p *model.Problem, inside []bool) int64 {
	n := int64(len(p.Members()))
	a := int64(0)
	for _, v := range p.Members() {
		if inside[v] {
			a++
		}
	}
	b := n - a
	if a == 0 || b == 0 {
		return 0
	}
	root := p.Collective.Kind.Rooted() && inside[p.Collective.Root]
	part := p.Size / n // a shard has no less
	switch p.Collective.Kind {
	case model.Broadcast:
		if !root {
			return p.Size
		}
	case model.Reduce:
		if root {
			return p.Size
		}
	case model.AllReduce:
		return p.Size
	case model.ReduceScatter:
		return part * a
	case model.AllGather:
		return part * b
	case model.AllToAll:
		return part * a * b
	case model.Scatter:
		if !root {
			return part * a
		}
	case model.Gather:
		if root {
			return part * b
		}
	}
	return 0
}

// least returns how long operation i takes at least on a rank that takes part in it: of a
// collective, the least chunk over the fastest way; 0 where a rank may have nothing to do.
func least(w *wl.Workload, i, rank int) model.Time {
	op := &w.Ops[i]
	members := w.Members(op.Group)
	m := slices.Index(members, rank)
	if m < 0 {
		return 0
	}
	if op.Kind == wl.Compute {
		return w.DurationOn(i, m)
	}
	if op.Kind == wl.Barrier || len(members) < 2 {
		return 0
	}
	p := w.Problem(i)
	if p.Collective.Kind == model.Custom {
		return 0
	}
	// The rank alone is a set of nodes: what enters or leaves it takes time on its links.
	inside := make([]bool, w.Topology.Nodes())
	inside[rank] = true
	outside := make([]bool, w.Topology.Nodes())
	for v := range outside {
		outside[v] = v != rank
	}
	var in, out int64
	for _, l := range w.Topology.Links {
		if l.Dst == rank {
			in += min(l.Bandwidth, 1<<61-in)
		}
		if l.Src == rank {
			out += min(l.Bandwidth, 1<<61-out)
		}
	}
	most := model.Time(0)
	if need := entering(p, inside); need > 0 && in > 0 {
		most = model.TransferTime(need, in).Add(nearest(w.Topology, rank, true))
	}
	if need := entering(p, outside); need > 0 && out > 0 {
		most = max(most, model.TransferTime(need, out).Add(nearest(w.Topology, rank, false)))
	}
	return most
}

// nearest returns the least latency of a hop from another rank to a rank, or from it to another
// one. A hop keeps its links busy between the latencies before and after them, so that those of
// one hop are added to the time on the links.
func nearest(t *model.Topology, rank int, into bool) model.Time {
	links := t.Out()
	if into {
		links = t.In()
	}
	far := map[int]model.Time{rank: 0}
	done := map[int]bool{}
	for {
		v, d := -1, model.MaxTime
		for u, at := range far {
			if !done[u] && (at < d || at == d && u < v) {
				v, d = u, at
			}
		}
		if v < 0 {
			return 0
		}
		if v != rank && t.IsRank(v) {
			return d
		}
		done[v] = true
		for _, l := range links[v] {
			u := t.Links[l].Dst
			if into {
				u = t.Links[l].Src
			}
			if at, ok := far[u]; !ok || d.Add(t.Links[l].Alpha) < at {
				far[u] = d.Add(t.Links[l].Alpha)
			}
		}
	}
}

// chain values Ops on Rank: each must wait for the one before there, by an edge of scope rank or
// all whose origin is waited for to its end.
func chain(w *wl.Workload, b *wl.Bound) (model.Time, error) {
	if len(b.Ops) == 0 {
		return 0, fmt.Errorf("no operations")
	}
	sum, height := model.Time(0), 0
	for k, i := range b.Ops {
		if i < 0 || i >= len(w.Ops) || !slices.Contains(w.Members(w.Ops[i].Group), b.Rank) {
			return 0, fmt.Errorf("operation %d does not exist, or not on rank %d", i, b.Rank)
		}
		next := k + 1
		if next == len(b.Ops) {
			if !w.Periodic {
				sum = sum.Add(least(w, i, b.Rank))
				break
			}
			next = 0
		}
		e, ok := tightest(w, i, b.Ops[next], b.Rank)
		if !ok {
			return 0, fmt.Errorf("%s does not wait for %s", w.Ops[b.Ops[next]].ID, w.Ops[i].ID)
		}
		height += e.Height
		if e.FromStart {
			sum = sum.Add(e.Offset)
		} else {
			sum = sum.Add(least(w, i, b.Rank))
		}
	}
	if !w.Periodic {
		return sum, nil
	}
	if height < 1 {
		return 0, fmt.Errorf("the cycle has height %d", height)
	}
	// In a period a job does Iterations iterations: a cycle of height h lasts h of them.
	n := model.Time(w.Iterations(b.Ops[0]))
	return (sum.Mul(int64(n)) + model.Time(height) - 1) / model.Time(height), nil
}

// iteration values Ops on Rank.
//
// Lemma. Let each of the collectives wait on a rank for the computation, at least r after its
// start, and the computation's next iteration there for their end. All that they move into the
// rank passes its links after that, one transfer a link at a time, so that from start to start
// passes r and the time that this takes on all of the links together; out of it likewise.
func iteration(w *wl.Workload, b *wl.Bound) (model.Time, error) {
	if !w.Periodic || len(b.Ops) < 2 {
		return 0, fmt.Errorf("want a periodic workload, a computation and at least one collective")
	}
	c := b.Ops[0]
	inside, outside := make([]bool, w.Topology.Nodes()), make([]bool, w.Topology.Nodes())
	if b.Rank < 0 || b.Rank >= w.Topology.Ranks {
		return 0, fmt.Errorf("rank %d does not exist", b.Rank)
	}
	for v := range inside {
		inside[v], outside[v] = v == b.Rank, v != b.Rank
	}
	rates := [2]*big.Int{new(big.Int), new(big.Int)}
	for _, l := range w.Topology.Links {
		if l.Dst == b.Rank {
			rates[0].Add(rates[0], big.NewInt(l.Bandwidth))
		}
		if l.Src == b.Rank {
			rates[1].Add(rates[1], big.NewInt(l.Bandwidth))
		}
	}
	wait := model.MaxTime
	bytes := [2]*big.Int{new(big.Int), new(big.Int)}
	seen := map[int]bool{}
	for _, i := range b.Ops[1:] {
		if i < 0 || i >= len(w.Ops) || c < 0 || c >= len(w.Ops) || seen[i] {
			return 0, fmt.Errorf("operation %d does not exist, or is named twice", i)
		}
		seen[i] = true
		for _, v := range []int{c, i} {
			if !slices.Contains(w.Members(w.Ops[v].Group), b.Rank) {
				return 0, fmt.Errorf("%s is not on rank %d", w.Ops[v].ID, b.Rank)
			}
		}
		if _, collective := w.Ops[i].Kind.Collective(); !collective || w.Ops[c].Kind != wl.Compute {
			return 0, fmt.Errorf("want a computation and collectives")
		}
		e, there := tightest(w, c, i, b.Rank)
		f, back := tightest(w, i, c, b.Rank)
		if !there || !back || e.Height != 0 || f.Height != 1 {
			return 0, fmt.Errorf("%s does not wait for %s, or the next iteration not for it", w.Ops[i].ID, w.Ops[c].ID)
		}
		if e.FromStart {
			wait = min(wait, e.Offset)
		} else {
			wait = min(wait, least(w, c, b.Rank))
		}
		p := w.Problem(i)
		bytes[0].Add(bytes[0], big.NewInt(entering(p, inside)))
		bytes[1].Add(bytes[1], big.NewInt(entering(p, outside)))
	}
	most := model.Time(0)
	for k := range bytes {
		if rates[k].Sign() == 0 {
			continue
		}
		t := bytes[k].Mul(bytes[k], big.NewInt(int64(model.Second)))
		t.Add(t, new(big.Int).Sub(rates[k], big.NewInt(1)))
		if t.Quo(t, rates[k]); !t.IsInt64() {
			return 0, fmt.Errorf("beyond what times can express")
		}
		most = max(most, model.Time(t.Int64()))
	}
	return wait.Add(most).Mul(int64(w.Iterations(c))), nil
}

// partitions returns the parts into which the links at most as fast as some bandwidth divide the network, for
// each bandwidth that there is but the largest: the machines, where what links them is slower.
func partitions(t *model.Topology) (all [][][]int) {
	var rates []int64
	for _, l := range t.Links {
		rates = append(rates, l.Bandwidth)
	}
	slices.Sort(rates)
	rates = slices.Compact(rates)
	if len(rates) > 8 {
		rates = rates[:8]
	}
	for k := 0; k+1 < len(rates); k++ {
		of := make([]int, t.Nodes())
		for v := range of {
			of[v] = v
		}
		var find func(v int) int
		find = func(v int) int {
			if of[v] != v {
				of[v] = find(of[v])
			}
			return of[v]
		}
		for _, l := range t.Links {
			if l.Bandwidth > rates[k] {
				of[find(l.Src)] = find(l.Dst)
			}
		}
		parts := map[int][]int{}
		for v := range of {
			parts[find(v)] = append(parts[find(v)], v)
		}
		var list [][]int
		for v := range of {
			if find(v) == v {
				list = append(list, parts[v])
			}
		}
		all = append(all, list)
	}
	return all
}

// machines returns the parts of partitions that have more than one node, and not all.
func machines(t *model.Topology) (sets [][]int) {
	for _, parts := range partitions(t) {
		for _, p := range parts {
			if len(p) > 1 && len(p) < t.Nodes() {
				sets = append(sets, p)
			}
		}
	}
	return sets
}

// tightest returns an edge from one operation to another on a rank: the one of the least height,
// then the one that makes wait longest.
func tightest(w *wl.Workload, from, to, rank int) (best wl.Edge, ok bool) {
	wait := func(e wl.Edge) model.Time {
		if e.FromStart {
			return e.Offset
		}
		return least(w, from, rank)
	}
	for _, e := range w.Edges {
		if e.From != from || e.To != to || e.Scope == wl.ByChunk {
			continue
		}
		if !ok || cmp.Or(cmp.Compare(e.Height, best.Height), cmp.Compare(wait(best), wait(e))) < 0 {
			best, ok = e, true
		}
	}
	return best, ok
}

// Bounds returns the bounds that are found for w, largest first: of each rank's computations, the
// cuts round single ranks, round the nodes of each group, in both directions, and round machines; what passes
// between machines; the longest chain on each rank; and what else there is a lemma for. Each has the value that Yield gives.
func Bounds(ctx context.Context, w *wl.Workload) []*wl.Bound {
	work := verify.Begin(ctx, maxSteps)
	var all []*wl.Bound
	add := func(b *wl.Bound) {
		if v, err := Yield(w, b); err == nil && v > 0 {
			b.Value = v
			all = append(all, b)
		}
	}
	sets := [][]int{}
	for v := range w.Topology.Ranks {
		sets = append(sets, []int{v})
	}
	for _, g := range w.Groups {
		if len(g.Ranks) > 1 && len(g.Ranks) < w.Topology.Ranks {
			sets = append(sets, g.Ranks)
		}
	}
	sets = append(sets, machines(w.Topology)...)
	if b := flows(w); b != nil {
		add(b)
	}
	if b := searches(w); b != nil {
		add(b)
	}
	for _, b := range slices.Concat(volumes(w), lates(w)) {
		add(b)
		if !work.Go((len(w.Ops) + 1) * (len(w.Topology.Links) + w.Topology.Nodes())) {
			break
		}
	}
	for v := range w.Topology.Ranks {
		add(&wl.Bound{Kind: "compute", Rank: v})
		if !work.Go(len(w.Ops)) {
			break
		}
	}
	for _, s := range sets {
		var rest []int
		for v := range w.Topology.Nodes() {
			if !slices.Contains(s, v) {
				rest = append(rest, v)
			}
		}
		add(&wl.Bound{Kind: "cut", Nodes: s})
		add(&wl.Bound{Kind: "cut", Nodes: rest})
		if !work.Go((len(w.Ops) + 1) * (len(w.Topology.Links) + len(s)*8)) {
			break
		}
	}
	for v := range w.Topology.Ranks {
		if ops := longest(w, v); ops != nil {
			add(&wl.Bound{Kind: "chain", Rank: v, Ops: ops})
		}
		if !work.Go(len(w.Edges) * 64) {
			break
		}
	}
	for _, b := range pairs(w) {
		add(b)
		if !work.Go(len(w.Edges) + len(w.Topology.Links)) {
			break
		}
	}
	for _, b := range iterations(w) {
		add(b)
		if !work.Go(len(w.Edges) * len(b.Ops)) {
			break
		}
	}
	slices.SortStableFunc(all, func(a, b *wl.Bound) int { return cmp.Compare(b.Value, a.Value) })
	return all
}

// iterations returns, for each computation of a periodic workload, on its first rank, the
// collectives that it waits for in the next iteration, from each of them on in order of when
// they are ready.
func iterations(w *wl.Workload) []*wl.Bound {
	if !w.Periodic {
		return nil
	}
	back := map[[2]int]bool{}
	for _, e := range w.Edges {
		if e.Height == 1 {
			back[[2]int{e.From, e.To}] = true
		}
	}
	type ready struct {
		op int
		at model.Time
	}
	buckets := map[int][]ready{}
	for _, e := range w.Edges {
		if w.Ops[e.From].Kind == wl.Compute && e.Height == 0 && back[[2]int{e.To, e.From}] {
			at := e.Offset
			if !e.FromStart {
				at = slices.Min(w.Ops[e.From].Duration)
			}
			buckets[e.From] = append(buckets[e.From], ready{e.To, at})
		}
	}
	var all []*wl.Bound
	for c := range w.Ops {
		list := buckets[c]
		slices.SortStableFunc(list, func(a, b ready) int { return cmp.Compare(a.at, b.at) })
		for k := range list {
			ops := []int{c}
			for _, m := range list[k:] {
				ops = append(ops, m.op)
			}
			all = append(all, &wl.Bound{Kind: "iteration", Rank: w.Members(w.Ops[c].Group)[0], Ops: ops})
		}
	}
	return all
}

// longest returns the longest chain on a rank; in a periodic workload, a cycle of two operations,
// or of one, that each job has.
func longest(w *wl.Workload, rank int) []int {
	usable := func(e wl.Edge) bool {
		return e.Scope != wl.ByChunk && slices.Contains(w.Members(w.Ops[e.From].Group), rank) && slices.Contains(w.Members(w.Ops[e.To].Group), rank)
	}
	lasts := make([]model.Time, len(w.Ops))
	for i := range lasts {
		lasts[i] = least(w, i, rank)
	}
	if w.Periodic {
		var best []int
		most := model.Time(-1)
		for _, e := range w.Edges {
			if !usable(e) {
				continue
			}
			for _, f := range w.Edges {
				if f.From != e.To || f.To != e.From || !usable(f) || e.From > e.To {
					continue
				}
				ops := []int{e.From, e.To}
				if e.From == e.To {
					ops = ops[:1]
				}
				if v, err := chain(w, &wl.Bound{Kind: "chain", Rank: rank, Ops: ops}); err == nil && v > most {
					best, most = ops, v
				}
			}
		}
		return best
	}
	at := make([]model.Time, len(w.Ops)) // the latest start that is forced
	before := make([]int, len(w.Ops))
	var into = make([][]wl.Edge, len(w.Ops))
	for _, e := range w.Edges {
		if e.Height == 0 && usable(e) {
			into[e.To] = append(into[e.To], e)
		}
	}
	last, end := -1, model.Time(-1)
	for _, i := range w.Order() {
		before[i] = -1
		for _, e := range into[i] {
			wait := lasts[e.From]
			if e.FromStart {
				wait = e.Offset
			}
			if t := at[e.From].Add(wait); t > at[i] {
				at[i], before[i] = t, e.From
			}
		}
		if slices.Contains(w.Members(w.Ops[i].Group), rank) && at[i].Add(lasts[i]) > end {
			last, end = i, at[i].Add(lasts[i])
		}
	}
	var ops []int
	for i := last; i >= 0; i = before[i] {
		ops = append([]int{i}, ops...)
	}
	return ops
}
