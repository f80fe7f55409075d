package main

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/verify"
	"github.com/oraccl/oraccl/verify/orbit"
	"github.com/oraccl/oraccl/verify/replay"
	"github.com/oraccl/oraccl/verify/verifytest"
)

// TestSoakOrbit sets what orbit decides by one rank against all transfers of all ranks: on
// networks that random groups leave the same, with right orbits and five that come of each
// by random changes, of the network too. The expansion is made here, from section 14 of the
// specification; model.Orbit.Schedule has to make the same one.
func TestSoakOrbit(t *testing.T) {
	soak(t, 1000, map[string]float64{"proved": 0.7, "refuted": 1.5, "over switches": 0.5, "several sizes": 0.3, "not the same": 0.05}, func(c *trial) error {
		p, o := drawOrbit(c.Rand)
		if err := orbitAgrees(c, p, o); err != nil {
			return err
		}
		for range 5 {
			q, m := verifytest.CloneProblem(p), &model.Orbit{Sides: slices.Clone(o.Sides), Routes: slices.Clone(o.Routes), Turns: slices.Clone(o.Turns)}
			for range 1 + c.IntN(3) {
				changeOrbit(c.Rand, q, m)
			}
			if q.Validate() != nil {
				continue
			}
			if err := orbitAgrees(c, q, m); err != nil {
				return err
			}
		}
		return nil
	})
}

// orbitAgrees returns an error if orbit does not decide about o as the reference does about
// its expansion.
func orbitAgrees(c *trial, p *model.Problem, o *model.Orbit) error {
	at := func() string { return fmt.Sprintf("%v\n%+v\n%+v\n%+v", p, p.Topology, p.Chunks, o) }
	v := orbit.Check(context.Background(), p, o)
	s, same := expand(p, o)
	if !same {
		c.count("not the same")
		if v.Outcome == verify.Proved {
			return fmt.Errorf("orbit: proved, but the network or the orbit is not the same for all ranks\n%s", at())
		}
		return nil
	}
	theirs, err := o.Schedule(p)
	if err != nil {
		return fmt.Errorf("model.Orbit.Schedule: %w\n%s", err, at())
	}
	if a, b := transfers(s), transfers(theirs); !slices.Equal(a, b) {
		return fmt.Errorf("model.Orbit.Schedule:\n%v\nwant\n%v\n%s", b, a, at())
	}
	f := verifytest.Execute(p, s)
	want := verify.Refuted
	if f.Right() {
		want = verify.Proved
	}
	c.count(want.String())
	if slices.ContainsFunc(o.Turns, func(t model.Turn) bool { return len(o.Routes[t.Route]) > 1 }) {
		c.count("over switches")
	}
	if slices.ContainsFunc(p.Chunks, func(k model.Chunk) bool { return k.Size != p.Chunks[0].Size }) {
		c.count("several sizes")
	}
	if err := decided(f, want, replay.Check(context.Background(), p, s)); err != nil {
		return fmt.Errorf("%w\n%s", err, at())
	}
	if v.Outcome == verify.Unknown && (p.Late() || slices.ContainsFunc(p.Topology.Switches, func(s model.Switch) bool { return s.Copies })) {
		c.count("not served")
		return nil
	}
	if v.Outcome != want {
		return fmt.Errorf("orbit: %v %s %v, want %v: %v\n%s", v.Outcome, v.Reason, v.Violations, want, f.All().Sorted(), at())
	}
	if want == verify.Proved && v.Makespan != f.Makespan {
		return fmt.Errorf("orbit: makespan %v, want %v\n%s", v.Makespan, f.Makespan, at())
	}
	return nil
}

// transfers lists the transfers of a schedule in one order, with their routes written out.
func transfers(s *model.Schedule) (list []string) {
	for _, t := range s.Transfers {
		list = append(list, fmt.Sprint(t.Start, t.End, t.Chunk, t.Src, t.Dst, t.Op, s.Routes[t.Route]))
	}
	slices.Sort(list)
	return list
}

// group is Z_a × Z_b × ..., its elements numbered with the last coordinate fastest.
type group []int

func (g group) split(v int) []int {
	x := make([]int, len(g))
	for i := len(g) - 1; i >= 0; i-- {
		x[i], v = v%g[i], v/g[i]
	}
	return x
}

func (g group) join(x []int) int {
	v := 0
	for i, a := range g {
		v = v*a + (x[i]%a+a)%a
	}
	return v
}

func (g group) add(u, v int) int {
	x, y := g.split(u), g.split(v)
	for i := range x {
		x[i] += y[i]
	}
	return g.join(x)
}

func (g group) sub(u, v int) int {
	x, y := g.split(u), g.split(v)
	for i := range x {
		x[i] -= y[i]
	}
	return g.join(x)
}

// translation holds where each element of a group takes each link: 14.1.
type translation [][]int // by element, by link

// translate returns the translations of a network, or false if it is not the same for all.
func translate(t *model.Topology, g group) (translation, bool) {
	n := t.Ranks
	if len(t.Ports) > 0 {
		return nil, false
	}
	for _, k := range t.Links {
		if k.Src >= n && k.Dst >= n {
			return nil, false
		}
	}
	type figures struct {
		side      int
		alpha     model.Time
		bandwidth int64
	}
	move := make(translation, n)
	for w := range n {
		move[w] = slices.Repeat([]int{-1}, len(t.Links))
	}
	// pair takes the i-th link of a kind at a rank to the i-th of that kind at each other
	// rank.
	pair := func(at func(k model.Link) int, kind func(l, v int) figures) bool {
		lists := make([]map[figures][]int, n)
		for v := range lists {
			lists[v] = map[figures][]int{}
		}
		for l, k := range t.Links {
			if v := at(k); v >= 0 {
				f := kind(l, v)
				lists[v][f] = append(lists[v][f], l)
			}
		}
		for v := range n {
			if len(lists[v]) != len(lists[0]) {
				return false
			}
			for f, list := range lists[v] {
				if len(list) != len(lists[0][f]) {
					return false
				}
				for i, l := range list {
					for w := range n {
						to := lists[g.add(v, w)][f]
						if len(to) != len(list) {
							return false
						}
						move[w][l] = to[i]
					}
				}
			}
		}
		return true
	}
	leaves := func(k model.Link) int {
		if k.Src < n {
			return k.Src
		}
		return -1
	}
	if !pair(leaves, func(l, v int) figures {
		k := t.Links[l]
		if k.Dst < n {
			return figures{g.sub(k.Dst, v), k.Alpha, k.Bandwidth}
		}
		return figures{-1, k.Alpha, k.Bandwidth}
	}) {
		return nil, false
	}
	goes := make([]map[int]int, n) // by element: by switch
	for w := range n {
		goes[w] = map[int]int{}
		for l, k := range t.Links {
			if k.Src >= n || k.Dst < n {
				continue
			}
			to := t.Links[move[w][l]].Dst
			if old, known := goes[w][k.Dst]; known && old != to || to < n {
				return nil, false
			}
			goes[w][k.Dst] = to
		}
		if len(goes[w]) != len(t.Switches) { // nothing leads to some switch
			return nil, false
		}
	}
	comes := func(k model.Link) int {
		if k.Src >= n {
			return k.Dst
		}
		return -1
	}
	if !pair(comes, func(l, v int) figures {
		k := t.Links[l]
		return figures{goes[g.sub(0, v)][k.Src], k.Alpha, k.Bandwidth}
	}) {
		return nil, false
	}
	return move, true
}

// owned returns the chunks of each rank, in order: 14.2. It is nil if not all have as many.
func owned(p *model.Problem, g group) [][]int {
	n := p.Topology.Ranks
	lists := make([][]int, n)
	start, goal := verifytest.Conditions(p)
	for k := range p.Chunks {
		switch p.Collective.Kind {
		case model.AllGather:
			for r := range n {
				if start[verifytest.Slot{Rank: r, Chunk: k}] != nil {
					lists[r] = append(lists[r], k)
				}
			}
		case model.ReduceScatter:
			for r := range n {
				if goal[verifytest.Slot{Rank: r, Chunk: k}] != nil {
					lists[r] = append(lists[r], k)
				}
			}
		case model.AllReduce:
			if len(p.Chunks)%n != 0 {
				return nil
			}
			r := k / (len(p.Chunks) / n)
			lists[r] = append(lists[r], k)
		}
	}
	if p.Collective.Kind == model.AllToAll {
		each := -1
		for r := range n {
			for d := range n {
				count := 0
				for k := range p.Chunks {
					if start[verifytest.Slot{Rank: r, Chunk: k}] != nil && goal[verifytest.Slot{Rank: g.add(r, d), Chunk: k}] != nil {
						lists[r] = append(lists[r], k)
						count++
					}
				}
				if each >= 0 && count != each {
					return nil
				}
				each = count
			}
		}
	}
	for r := range n {
		if len(lists[r]) != len(lists[0]) {
			return nil
		}
	}
	return lists
}

// expand returns all transfers that an orbit states, or false if it states none: it is
// malformed, or the network is not the same for all ranks.
func expand(p *model.Problem, o *model.Orbit) (*model.Schedule, bool) {
	n, g := p.Topology.Ranks, group(o.Sides)
	product := 1
	for _, a := range g {
		if a < 2 {
			return nil, false
		}
		product *= a
	}
	switch p.Collective.Kind {
	case model.AllGather, model.ReduceScatter, model.AllReduce, model.AllToAll:
	default:
		return nil, false
	}
	if product != n || p.Collective.Group != nil {
		return nil, false
	}
	move, same := translate(p.Topology, g)
	if !same {
		return nil, false
	}
	parts := owned(p, g)
	if parts == nil {
		return nil, false
	}
	s := &model.Schedule{Form: model.FormFor(p.Cost)}
	for _, route := range o.Routes {
		if len(route) != 1 && len(route) != 2 {
			return nil, false
		}
		for _, l := range route {
			if l < 0 || l >= len(p.Topology.Links) {
				return nil, false
			}
		}
		first, last := p.Topology.Links[route[0]], p.Topology.Links[route[len(route)-1]]
		if first.Src != 0 || last.Dst == 0 || last.Dst >= n || len(route) == 2 && (first.Dst < n || last.Src != first.Dst) {
			return nil, false
		}
	}
	before := model.Time(0)
	for _, t := range o.Turns {
		if t.Route < 0 || int(t.Route) >= len(o.Routes) || t.Owner < 0 || int(t.Owner) >= n || t.Part < 0 || int(t.Part) >= len(parts[0]) ||
			t.Op > model.Reduction || t.Start < before {
			return nil, false
		}
		before = t.Start
		route := o.Routes[t.Route]
		end := p.Topology.Links[route[len(route)-1]].Dst
		for w := range n {
			var moved []int
			for _, l := range route {
				moved = append(moved, move[w][l])
			}
			k := parts[g.add(int(t.Owner), w)][t.Part]
			x := model.Transfer{Chunk: int32(k), Src: int32(w), Dst: int32(g.add(end, w)), Route: int32(len(s.Routes)), Op: t.Op, Start: t.Start, End: t.Start + 1}
			if s.Form == model.Timed {
				x.End = t.Start + verifytest.Duration(p, w, moved, p.Chunks[k].Size)
			}
			s.Routes = append(s.Routes, moved)
			s.Transfers = append(s.Transfers, x)
		}
	}
	return s, true
}

// drawOrbit returns a collective on a network that a random group leaves the same, with an
// orbit that moves the right chunks the right ways; its times are right more often than not.
func drawOrbit(r *rand.Rand) (*model.Problem, *model.Orbit) {
	g := [][]int{{2}, {3}, {4}, {2, 2}, {5}, {6}, {2, 3}, {3, 2}, {2, 2, 2}, {2, 4}, {4, 2}, {7}, {3, 3}}[r.IntN(13)]
	n := 1
	for _, a := range g {
		n *= a
	}
	for {
		t := drawCayley(r, g, n)
		p := &model.Problem{Topology: t, Cost: model.CostModel(1 + r.IntN(4))}
		p.Collective.Kind = []model.Kind{model.AllGather, model.ReduceScatter, model.AllReduce, model.AllToAll}[r.IntN(4)]
		p.Collective.Op = model.Operator(r.IntN(4))
		p.Size = int64(n) * (1 + r.Int64N(4))
		if r.IntN(2) == 0 {
			p.Size += r.Int64N(int64(n))
		}
		if p.Collective.Kind == model.AllToAll && n > 5 {
			continue // many chunks
		}
		chunks := p.DefaultChunks(1 + r.IntN(2))
		if int64(chunks) > p.Space() {
			continue
		}
		p = p.WithChunks(chunks)
		if p.Validate() != nil || owned(p, g) == nil {
			continue
		}
		o := &model.Orbit{Sides: g}
		for l, k := range t.Links {
			if k.Src != 0 {
				continue
			}
			if k.Dst < n {
				o.Routes = append(o.Routes, []int{l})
				continue
			}
			for m, q := range t.Links {
				if q.Src == k.Dst && q.Dst != 0 {
					o.Routes = append(o.Routes, []int{l, m})
				}
			}
		}
		planOrbit(r, p, o)
		return p, o
	}
}

// drawCayley returns links from each rank to those at some differences, and perhaps
// switches: one among all, or one a coset of the last coordinate.
func drawCayley(r *rand.Rand, g group, n int) *model.Topology {
	t := &model.Topology{Name: "drawn", Ranks: n}
	figures := func() model.Link {
		return model.Link{Alpha: model.Time(r.IntN(4)), Bandwidth: []int64{1e12, 5e11, 3e12}[r.IntN(3)]}
	}
	steps := []int{}
	for i := range g { // the group is generated
		x := make([]int, len(g))
		x[i] = 1
		steps = append(steps, g.join(x))
	}
	for range r.IntN(3) {
		if n > 2 {
			steps = append(steps, 1+r.IntN(n-1))
		}
	}
	kind := r.IntN(4)
	if kind == 1 && r.IntN(2) == 0 { // one switch is way enough
		steps = nil
	}
	for _, x := range steps {
		k := figures()
		for v := range n {
			k.Src, k.Dst = v, g.add(v, x)
			t.Links = append(t.Links, k)
		}
	}
	row := map[int]int{1: n, 2: g[len(g)-1]}[kind]
	for range r.IntN(2) + 1 {
		if row == 0 {
			break
		}
		up, down := figures(), figures()
		for first := 0; first < n; first += row {
			t.Switches = append(t.Switches, model.Switch{Name: fmt.Sprint(len(t.Switches))})
			for v := first; v < first+row; v++ {
				up.Src, up.Dst, down.Src, down.Dst = v, t.Nodes()-1, t.Nodes()-1, v
				t.Links = append(t.Links, up, down)
			}
		}
	}
	r.Shuffle(len(t.Links), func(i, j int) { t.Links[i], t.Links[j] = t.Links[j], t.Links[i] })
	return t
}

// planOrbit adds turns: each part goes along a random tree, from its owner outwards, to it,
// or both; in an all-to-all along one path.
func planOrbit(r *rand.Rand, p *model.Problem, o *model.Orbit) {
	n, g := p.Topology.Ranks, group(o.Sides)
	parts := owned(p, g)
	free := map[int]model.Time{} // by link of rank 0, or one number for all links from switches
	sends := model.Time(0)       // under Rounds: the first round without a send
	key := func(l int) int {
		if p.Topology.Links[l].Src >= n {
			return -1
		}
		return l
	}
	end := func(route int) int { return p.Topology.Links[o.Routes[route][len(o.Routes[route])-1]].Dst }
	// turn lets the rank at a place, counted from the owner, send from some time on, and
	// returns when the chunk is there.
	turn := func(place, route, part int, op model.Op, from model.Time) model.Time {
		size := int64(0)
		for v := range n {
			size = max(size, p.Chunks[parts[v][part]].Size)
		}
		links := o.Routes[route]
		lasts := verifytest.Duration(p, 0, links, size)
		if p.Cost.Synchronous() {
			lasts = 1
		}
		if r.IntN(8) == 0 {
			from += model.Time(r.IntN(4))
		}
		if p.Cost == model.Rounds {
			from = max(from, sends)
			sends = from + 1
		}
		for _, l := range links {
			from = max(from, free[key(l)])
		}
		for _, l := range links {
			free[key(l)] = from + lasts
		}
		o.Turns = append(o.Turns, model.Turn{Route: int32(route), Owner: int32(g.sub(0, place)), Part: int32(part), Op: op, Start: from})
		return from + lasts
	}
	// tree returns, for each place but 0, the place before it and the route from there, and
	// the places in order.
	tree := func() (before, by map[int]int, order []int) {
		before, by, order = map[int]int{}, map[int]int{}, []int{0}
		for len(order) < n {
			u, route := order[r.IntN(len(order))], r.IntN(len(o.Routes))
			v := g.add(u, end(route))
			if _, known := by[v]; !known && v != 0 {
				before[v], by[v] = u, route
				order = append(order, v)
			}
		}
		return before, by, order
	}
	for part := range parts[0] {
		var at model.Time
		kind := p.Collective.Kind
		if kind == model.AllToAll {
			d := part / (len(parts[0]) / n)
			before, by, _ := tree()
			path := []int{}
			for v := d; v != 0; v = before[v] {
				path = append(path, v)
			}
			slices.Reverse(path)
			for _, v := range path {
				at = turn(before[v], by[v], part, model.Copy, at)
			}
			continue
		}
		if kind == model.ReduceScatter || kind == model.AllReduce { // from -v, the end of the tree, to -before
			before, by, order := tree()
			slices.Reverse(order)
			ready := map[int]model.Time{}
			for _, v := range order[:n-1] {
				done := turn(g.sub(0, v), by[v], part, model.Reduction, ready[v])
				ready[before[v]] = max(ready[before[v]], done)
			}
			at = ready[0]
		}
		if kind == model.AllGather || kind == model.AllReduce {
			before, by, order := tree()
			ready := map[int]model.Time{0: at}
			for _, v := range order[1:] {
				ready[v] = turn(before[v], by[v], part, model.Copy, ready[before[v]])
			}
		}
	}
	sortTurns(o)
}

func sortTurns(o *model.Orbit) {
	slices.SortStableFunc(o.Turns, func(a, b model.Turn) int { return cmp.Compare(a.Start, b.Start) })
}

// changeOrbit makes one random change.
func changeOrbit(r *rand.Rand, p *model.Problem, o *model.Orbit) {
	if len(o.Turns) == 0 {
		return
	}
	n, t := p.Topology.Ranks, p.Topology
	i := r.IntN(len(o.Turns))
	x, y := &o.Turns[i], o.Turns[r.IntN(len(o.Turns))]
	switch r.IntN(20) {
	case 0:
		o.Turns = slices.Delete(o.Turns, i, i+1)
	case 1:
		o.Turns = append(o.Turns, y)
	case 2:
		x.Op = model.Reduction - x.Op
	case 3:
		x.Owner = int32(r.IntN(n))
	case 4:
		x.Part = y.Part
	case 5:
		x.Route = int32(r.IntN(len(o.Routes)))
	case 6, 7, 8:
		x.Start = max(0, x.Start+model.Time(r.IntN(5)-2))
	case 9:
		x.Start = y.Start
	case 10: // the whole rest, earlier
		for j := range o.Turns[i:] {
			o.Turns[i+j].Start = max(0, o.Turns[i+j].Start-1)
		}
	case 11:
		x.Owner, x.Part = y.Owner, y.Part
	case 12: // another group of the same order
		sides := map[int][][]int{4: {{4}, {2, 2}}, 6: {{6}, {2, 3}, {3, 2}}, 8: {{8}, {2, 4}, {4, 2}, {2, 2, 2}}, 9: {{9}, {3, 3}}}[n]
		if len(sides) > 0 {
			o.Sides = sides[r.IntN(len(sides))]
		}
	case 13:
		p.Collective.Op = model.Operator(r.IntN(4))
	case 14: // a network that is not the same for all, or nearly so
		switch l := &t.Links[r.IntN(len(t.Links))]; r.IntN(5) {
		case 0:
			l.Alpha++
		case 1:
			l.Bandwidth = 7e11
		case 2:
			l.Dst = r.IntN(t.Nodes())
		case 3:
			m := &t.Links[r.IntN(len(t.Links))]
			l.Dst, m.Dst = m.Dst, l.Dst
		default:
			t.Ports = append(t.Ports, model.Port{Links: []int{0}, Capacity: 1})
		}
	case 15: // links in another order
		a, b := r.IntN(len(t.Links)), r.IntN(len(t.Links))
		t.Links[a], t.Links[b] = t.Links[b], t.Links[a]
		for j, route := range o.Routes {
			o.Routes[j] = slices.Clone(route)
			for h, l := range route {
				switch l {
				case a:
					o.Routes[j][h] = b
				case b:
					o.Routes[j][h] = a
				}
			}
		}
	case 16, 17: // again, over another route to the same rank, with the same end
		end := func(route int32) int { return t.Links[o.Routes[route][len(o.Routes[route])-1]].Dst }
		lasts := func(route int32) model.Time {
			if p.Cost.Synchronous() {
				return 1
			}
			return verifytest.Duration(p, 0, o.Routes[route], p.Chunks[0].Size)
		}
		for _, other := range r.Perm(len(o.Routes)) {
			if other := int32(other); other != y.Route && end(other) == end(y.Route) {
				z := y
				z.Route, z.Start = other, max(0, y.Start+lasts(y.Route)-lasts(other))
				o.Turns = append(o.Turns, z)
				break
			}
		}
	case 18: // chunks cut at other places
		chunks := p.Chunks
		k := r.IntN(len(chunks))
		if k > 0 && chunks[k-1].Size > 1 {
			chunks[k-1].Size--
			chunks[k].Offset--
			chunks[k].Size++
		}
	default:
		switch {
		case r.IntN(2) == 0:
			p.Release = make([]model.Time, n)
			p.Release[r.IntN(n)] = model.Time(r.IntN(3))
		case len(t.Switches) > 0:
			t.Switches[r.IntN(len(t.Switches))].Copies = true
		}
	}
	sortTurns(o)
}
