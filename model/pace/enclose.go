package pace

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/oraccl/oraccl/model"
)

// Enclosure tells when a schedule ends on networks whose figures are known within ranges alone, if its
// transfers keep the order in which they use links and ports and wait for each other.
//
// The networks are those between a fast and a slow one: of every link the latency is at least that of the
// fast and at most that of the slow network, the bandwidth at most that of the fast and at least that of the slow one,
// and links with the same two latencies have one latency, likewise for bandwidths.
//
// When transfer j can start follows from inequalities s_j ≥ s_i + w, for what it waits for and for what
// is before it on a link or port. Each w is a sum of latencies and of times τ = ⌈b·10¹²/B⌉ of
// links, with signs, in which equal terms cancel. Latencies and times only grow from the fast to the slow network,
// so that w is at most what it is with each term of the sign + from the slow network and each of the sign - from the fast one,
// and at least the opposite. The least starts only grow with the w, and so do the ends: the least solutions
// for the largest and the smallest w enclose the end on every network in between. It cannot be taken
// from the slow network alone: where a transfer waits for another one to reach a link behind a switch, one of the
// w has a latency with the sign -, and the schedule may end later on a faster network. A list scheduler, which
// chooses the order again, has such anomalies even without (Graham 1969).
type Enclosure struct {
	p     *model.Problem
	s     *model.Schedule
	fast  *model.Topology
	slow  *model.Topology
	atoms []atom
	waits []wait
	lasts []form
	rank  []int32 // transfers by their starts in s
}

// atom is a quantity that depends on the network: the latency of a link, or the time that bytes take on the slowest of
// some links.
type atom struct {
	links []int
	bytes int64 // 0: it is a latency
}

// term is an atom with its factor.
type term struct {
	atom, factor int32
}

// form is a sum of terms, ascending by atom, none with the factor 0, and a number.
type form struct {
	terms  []term
	number model.Time
}

// wait is the inequality that a transfer starts at least w after the start of another one; from is -1
// for the time 0.
type wait struct {
	to, from int32
	w        form
}

// maxEnclosed is how many transfers an Enclosure serves, and sweeps how often it goes over all of them.
const (
	maxEnclosed = 1 << 20
	sweeps      = 256
)

// Enclose prepares the enclosure of a schedule with times for p, which is right, on the networks from fast
// to slow, between which the network of p is. order is what transfers wait for, nil: what OrderOf returns.
// It fails for rounds, which need none of this, and where transfers share a link at one time, as at switches that copy or
// add. It takes O(n·log n) time for n transfers over short routes.
func Enclose(p *model.Problem, s *model.Schedule, order *model.Precedence, fast, slow *model.Topology) (*Enclosure, error) {
	switch {
	case s.Form != model.Timed || p.Cost.Synchronous():
		return nil, errors.New("has no times of transfers")
	case len(s.Transfers) > maxEnclosed:
		return nil, fmt.Errorf("%d transfers, want at most %d", len(s.Transfers), maxEnclosed)
	case len(fast.Links) != len(p.Topology.Links) || len(slow.Links) != len(p.Topology.Links):
		return nil, errors.New("the networks have other links")
	}
	if order == nil {
		order = OrderOf(s)
	}
	e := &Enclosure{p: p, s: s, fast: fast, slow: slow, rank: make([]int32, len(s.Transfers)), lasts: make([]form, len(s.Transfers))}
	b := &encloser{Enclosure: e, alphas: map[[2]model.Time]int32{}, taus: map[string]int32{}, routes: map[routeKey]*shape{}}
	for i := range s.Transfers {
		e.rank[i] = int32(i)
		e.lasts[i] = b.shape(int32(i)).lasts
		e.waits = append(e.waits, wait{int32(i), -1, form{number: b.release(int32(i))}})
	}
	slices.SortStableFunc(e.rank, func(i, j int32) int { return cmp.Compare(s.Transfers[i].Start, s.Transfers[j].Start) })
	b.order(order)
	if err := b.lanes(); err != nil {
		return nil, err
	}
	at := make([]int32, len(s.Transfers)) // a sweep goes along most of the inequalities
	for k, i := range e.rank {
		at[i] = int32(k)
	}
	slices.SortStableFunc(e.waits, func(x, y wait) int { return cmp.Compare(at[x.to], at[y.to]) })
	return e, nil
}

// Within returns bounds on the end of the schedule on every network from fast to slow, which lie within
// those of Enclose. Both are the end itself where the two are one network. It fails if some network may not allow the order: transfers that must overlap would not.
func (e *Enclosure) Within(ctx context.Context, fast, slow *model.Topology) (low, high model.Time, err error) {
	least, err := e.values(fast)
	if err != nil {
		return 0, 0, err
	}
	most, err := e.values(slow)
	if err != nil {
		return 0, 0, err
	}
	if _, low, err = e.solve(ctx, least, most, false); err != nil {
		return 0, 0, err
	}
	_, high, err = e.solve(ctx, least, most, true)
	return low, high, err
}

// On returns the schedule on one network, with the first times that its order allows there.
func (e *Enclosure) On(ctx context.Context, t *model.Topology) (*model.Schedule, error) {
	v, err := e.values(t)
	if err != nil {
		return nil, err
	}
	start, _, err := e.solve(ctx, v, v, true)
	if err != nil {
		return nil, err
	}
	placed := &model.Schedule{Form: model.Timed, Routes: e.s.Routes, Transfers: slices.Clone(e.s.Transfers)}
	for i := range placed.Transfers {
		placed.Transfers[i].Start = start[i]
		placed.Transfers[i].End = start[i].Add(e.lasts[i].most(v, v))
	}
	return placed, nil
}

// values returns what the atoms are on a network.
func (e *Enclosure) values(t *model.Topology) ([]model.Time, error) {
	all := make([]model.Time, len(e.atoms))
	for i, a := range e.atoms {
		for _, l := range a.links {
			if a.bytes == 0 {
				all[i] = max(all[i], t.Links[l].Alpha)
			} else {
				all[i] = max(all[i], model.TransferTime(a.bytes, t.Links[l].Bandwidth))
			}
		}
		if all[i] > longest {
			return nil, errTooLong
		}
	}
	return all, nil
}

// longest is how long a latency or a transfer over one link may be, so that no sum of them overflows.
const longest = model.MaxTime >> 10

var errTooLong = errors.New("it takes hours")

// most returns the largest value of f where each atom is between least and most, and at least the smallest one.
func (f *form) most(least, most []model.Time) model.Time {
	sum := f.number
	for _, t := range f.terms {
		if t.factor > 0 {
			sum += model.Time(t.factor) * most[t.atom]
		} else {
			sum += model.Time(t.factor) * least[t.atom]
		}
	}
	return sum
}

// solve returns the least starts for the largest or the smallest right sides, and the last end.
func (e *Enclosure) solve(ctx context.Context, least, most []model.Time, large bool) ([]model.Time, model.Time, error) {
	if !large {
		least, most = most, least
	}
	w := make([]model.Time, len(e.waits))
	for i := range e.waits {
		w[i] = e.waits[i].w.most(least, most)
	}
	start := make([]model.Time, len(e.s.Transfers))
	for range sweeps {
		if ctx.Err() != nil {
			return nil, 0, ctx.Err()
		}
		changed := false
		for i := range e.waits {
			x := &e.waits[i]
			at := w[i]
			if x.from >= 0 {
				at += start[x.from]
			}
			if at > start[x.to] {
				if start[x.to], changed = at, true; at > model.MaxTime/2 {
					return nil, 0, errTooLong
				}
			}
		}
		if !changed {
			last := model.Time(0)
			for i := range start {
				last = max(last, start[i]+e.lasts[i].most(least, most))
			}
			return start, last, nil
		}
	}
	return nil, 0, errors.New("on some networks of the range transfers that must overlap would not")
}

// encloser makes the inequalities.
type encloser struct {
	*Enclosure
	alphas map[[2]model.Time]int32
	taus   map[string]int32
	routes map[routeKey]*shape
}

type routeKey struct {
	route int32
	bytes int64
}

// shape is what a transfer of bytes over a route occupies, counted from its start, and how long it lasts.
type shape struct {
	from, to []form // by link of the route
	lasts    form
}

// shape follows model.Topology.Busy and Duration.
func (b *encloser) shape(i int32) *shape {
	x := &b.s.Transfers[i]
	key := routeKey{x.Route, b.p.Chunks[x.Chunk].Size}
	if s := b.routes[key]; s != nil {
		return s
	}
	s, at := &shape{}, form{}
	for route := b.s.Routes[x.Route]; len(route) > 0; {
		n := 1
		for n < len(route) && !b.p.Topology.IsRank(b.p.Topology.Links[route[n-1]].Dst) {
			n++
		}
		tau := b.tau(route[:n], key.bytes)
		for _, l := range route[:n] {
			alpha := b.alpha(l)
			busy := tau
			if b.p.Cost != model.Pipelined {
				busy = plus(tau, alpha, 1)
			}
			s.from, s.to = append(s.from, at), append(s.to, plus(at, busy, 1))
			at = plus(at, alpha, 1)
		}
		at = plus(at, tau, 1)
		route = route[n:]
	}
	s.lasts = at
	b.routes[key] = s
	return s
}

// alpha returns the latency of a link: links have one if they have the same in both networks.
func (b *encloser) alpha(l int) form {
	key := [2]model.Time{b.fast.Links[l].Alpha, b.slow.Links[l].Alpha}
	if key[0] == key[1] {
		return form{number: key[0]}
	}
	id, ok := b.alphas[key]
	if !ok {
		id = int32(len(b.atoms))
		b.alphas[key] = id
		b.atoms = append(b.atoms, atom{links: []int{l}})
	}
	return form{terms: []term{{id, 1}}}
}

// tau returns the time of bytes on the slowest of some links.
func (b *encloser) tau(links []int, bytes int64) form {
	if bytes == 0 {
		return form{}
	}
	var rates [][2]int64
	known, fixed := true, model.Time(0)
	for _, l := range links {
		rate := [2]int64{b.fast.Links[l].Bandwidth, b.slow.Links[l].Bandwidth}
		known = known && rate[0] == rate[1]
		rates = append(rates, rate)
		fixed = max(fixed, model.TransferTime(bytes, rate[0]))
	}
	if known {
		return form{number: fixed}
	}
	slices.SortFunc(rates, func(x, y [2]int64) int { return cmp.Or(cmp.Compare(x[0], y[0]), cmp.Compare(x[1], y[1])) })
	key := fmt.Sprint(bytes, slices.Compact(rates))
	id, ok := b.taus[key]
	if !ok {
		id = int32(len(b.atoms))
		b.taus[key] = id
		b.atoms = append(b.atoms, atom{links: slices.Clone(links), bytes: bytes})
	}
	return form{terms: []term{{id, 1}}}
}

// plus returns f + sign·g.
func plus(f, g form, sign int32) form {
	sum := form{number: f.number + model.Time(sign)*g.number}
	for i, j := 0, 0; i < len(f.terms) || j < len(g.terms); {
		switch {
		case j == len(g.terms) || i < len(f.terms) && f.terms[i].atom < g.terms[j].atom:
			sum.terms = append(sum.terms, f.terms[i])
			i++
		case i == len(f.terms) || g.terms[j].atom < f.terms[i].atom:
			sum.terms = append(sum.terms, term{g.terms[j].atom, sign * g.terms[j].factor})
			j++
		default:
			if n := f.terms[i].factor + sign*g.terms[j].factor; n != 0 {
				sum.terms = append(sum.terms, term{f.terms[i].atom, n})
			}
			i, j = i+1, j+1
		}
	}
	return sum
}

// release returns the time before which a transfer cannot start, since ranks on its route have not arrived.
func (b *encloser) release(i int32) model.Time {
	x, t := &b.s.Transfers[i], b.p.Topology
	at := b.p.ReleaseOf(int(x.Src))
	for _, l := range b.s.Routes[x.Route] {
		if v := t.Links[l].Dst; t.IsRank(v) {
			at = max(at, b.p.ReleaseOf(v))
		}
	}
	return at
}

// order adds what transfers wait for because of the data.
func (b *encloser) order(o *model.Precedence) {
	add := func(lists [][]int32, w func(from, to int32) form) {
		for to, list := range lists {
			for _, from := range list {
				b.waits = append(b.waits, wait{int32(to), from, w(from, int32(to))})
			}
		}
	}
	one := form{number: 1}
	add(o.Ended, func(from, _ int32) form { return b.lasts[from] })
	add(o.Left, func(from, _ int32) form { return b.shape(from).to[0] })
	add(o.Begun, func(_, to int32) form { return plus(one, b.lasts[to], -1) })
	add(o.Landed, func(from, to int32) form { return plus(plus(b.lasts[from], one, 1), b.lasts[to], -1) })
}

// lanes adds that what follows each other on a link, or in a lane of a port, keeps doing so.
func (b *encloser) lanes() error {
	type use struct {
		transfer int32
		at       int // in its route
		model.Interval
	}
	t := b.p.Topology
	links := make([][]use, len(t.Links))
	var busy []model.Interval
	for i := range b.s.Transfers {
		x := &b.s.Transfers[i]
		route := b.s.Routes[x.Route]
		busy = t.Busy(b.p.Cost, route, b.p.Chunks[x.Chunk].Size, busy[:0])
		for k, l := range route {
			links[l] = append(links[l], use{int32(i), k, model.Interval{From: x.Start.Add(busy[k].From), To: x.Start.Add(busy[k].To)}})
		}
	}
	follow := func(name string, list []use, lanes int) error {
		slices.SortStableFunc(list, func(x, y use) int { return cmp.Or(cmp.Compare(x.From, y.From), cmp.Compare(x.To, y.To)) })
		last := make([]*use, lanes)
		for k := range list {
			u := &list[k]
			lane := -1
			for i, before := range last { // of those that are free the one that was used last
				if (before == nil || before.To <= u.From) && (lane < 0 || last[lane] == nil || before != nil && before.To > last[lane].To) {
					lane = i
				}
			}
			if lane < 0 {
				return fmt.Errorf("transfers share %s at one time, as at switches that copy or add", name)
			}
			if before := last[lane]; before != nil {
				w := plus(b.shape(before.transfer).to[before.at], b.shape(u.transfer).from[u.at], -1)
				b.waits = append(b.waits, wait{u.transfer, before.transfer, w})
			}
			last[lane] = u
		}
		return nil
	}
	for l, list := range links {
		if err := follow(fmt.Sprintf("link %d", l), list, 1); err != nil {
			return err
		}
	}
	for i, port := range t.Ports {
		if port.Capacity >= len(port.Links) {
			continue
		}
		var all []use
		for _, l := range port.Links {
			all = append(all, links[l]...)
		}
		if err := follow(fmt.Sprintf("port %d", i), all, port.Capacity); err != nil {
			return err
		}
	}
	return nil
}
