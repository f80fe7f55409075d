package verifytest

import (
	"math/rand/v2"
	"slices"

	"github.com/oraccl/oraccl/model"
)

// Mutate returns copies of p and s with one random change: of the schedule, or sometimes
// of the problem. The problem is still valid; the schedule may be malformed, and it may
// still be right.
func Mutate(r *rand.Rand, p *model.Problem, s *model.Schedule) (*model.Problem, *model.Schedule) {
	for {
		q, t := CloneProblem(p), CloneSchedule(s)
		if r.IntN(6) == 0 {
			mutateProblem(r, q)
		} else {
			mutateSchedule(r, q, t)
		}
		if q.Validate() == nil {
			return q, t
		}
	}
}

// CloneProblem returns a deep copy of p.
func CloneProblem(p *model.Problem) *model.Problem {
	q := *p
	t := *p.Topology
	t.Switches, t.Links, t.Ports = slices.Clone(t.Switches), slices.Clone(t.Links), slices.Clone(t.Ports)
	for i := range t.Ports {
		t.Ports[i].Links = slices.Clone(t.Ports[i].Links)
	}
	q.Topology = &t
	q.Collective.Group = slices.Clone(p.Collective.Group)
	q.Collective.Pre, q.Collective.Post = slices.Clone(p.Collective.Pre), slices.Clone(p.Collective.Post)
	q.Chunks, q.Release = slices.Clone(p.Chunks), slices.Clone(p.Release)
	return &q
}

// CloneSchedule returns a deep copy of s.
func CloneSchedule(s *model.Schedule) *model.Schedule {
	t := *s
	t.Routes, t.Transfers, t.After = slices.Clone(s.Routes), slices.Clone(s.Transfers), slices.Clone(s.After)
	for i := range t.Routes {
		t.Routes[i] = slices.Clone(t.Routes[i])
	}
	for i := range t.After {
		t.After[i] = slices.Clone(t.After[i])
	}
	return &t
}

func mutateProblem(r *rand.Rand, p *model.Problem) {
	t := p.Topology
	c := &p.Collective
	switch r.IntN(9) {
	case 0:
		t.Links[r.IntN(len(t.Links))].Alpha += model.Time(r.IntN(3))
	case 1:
		t.Links[r.IntN(len(t.Links))].Bandwidth = []int64{1e12, 5e11, 25e10, 3e12}[r.IntN(4)]
	case 2:
		if len(t.Switches) > 0 {
			s := &t.Switches[r.IntN(len(t.Switches))]
			if s.Reduces == model.NoReducing || r.IntN(3) == 0 {
				s.Copies = !s.Copies
				break
			}
			old := *s
			s.Reduces, s.Sums, s.Operations = model.Reducing(r.IntN(3)), r.IntN(3), model.Operators(r.IntN(16)*r.IntN(2))
			s.Types[c.Op] = model.DTypes(r.IntN(1<<15) &^ 1 * r.IntN(2))
			if s.Reduces == model.NoReducing {
				*s = model.Switch{Name: s.Name, Copies: s.Copies}
			}
			if t.Validate() != nil { // ranks read sums at some switches only
				*s = old
			}
		}
	case 3:
		v := r.IntN(t.Nodes())
		if links := [][]int{t.Out()[v], t.In()[v]}[r.IntN(2)]; len(links) > 0 {
			t.Ports = append(t.Ports, model.Port{Links: slices.Clone(links), Capacity: 1})
		}
	case 4:
		p.Release = make([]model.Time, t.Ranks)
		for i := range p.Release {
			p.Release[i] = model.Time(r.IntN(6))
		}
	case 5:
		c.Op, c.DType = model.Operator(r.IntN(4)), model.DType(r.IntN(int(model.Uint64)+1))
	case 6: // the other model of the same form
		p.Cost = map[model.CostModel]model.CostModel{model.Blocking: model.Pipelined, model.Pipelined: model.Blocking,
			model.Rounds: model.LinkRounds, model.LinkRounds: model.Rounds}[p.Cost]
	default: // what is there, or wanted, once more, or less
		list := [][]model.Condition{c.Pre, c.Post}[r.IntN(2)]
		if len(list) == 0 {
			return
		}
		members := p.Members()
		d, counts := &list[r.IntN(len(list))], Counts{}
		for j, n := range d.Value.Terms() {
			counts[j] = n
		}
		j := members[r.IntN(len(members))]
		switch r.IntN(3) {
		case 0:
			counts[j]++
		case 1:
			counts[j]--
		default: // the counts of two ranks exchanged
			k := members[r.IntN(len(members))]
			counts[j], counts[k] = counts[k], counts[j]
		}
		for i, n := range counts {
			if n <= 0 {
				delete(counts, i)
			}
		}
		d.Value = Multiset(counts)
	}
}

func mutateSchedule(r *rand.Rand, p *model.Problem, s *model.Schedule) {
	n := len(s.Transfers)
	if n == 0 || !wellFormed(p, s) {
		return
	}
	i, j := r.IntN(n), r.IntN(n)
	x, y := &s.Transfers[i], &s.Transfers[j]
	lasts := func(t *model.Transfer) model.Time {
		if s.Form == model.InRounds {
			return 1
		}
		return Duration(p, int(t.Src), s.Routes[t.Route], p.Chunks[t.Chunk].Size)
	}
	set := func(t *model.Transfer, start model.Time) {
		if s.Form != model.Ordered {
			t.Start = max(0, start)
			t.End = t.Start + lasts(t)
		}
	}
	rank := func() int32 { return int32(r.IntN(p.Topology.Ranks)) }
	route := func(t *model.Transfer) { // one that leads where the transfer goes, if there is any
		d := &drawing{Rand: r, p: p}
		if links := d.way(int(t.Src), int(t.Dst)); len(links) > 0 {
			t.Route = int32(len(s.Routes))
			s.Routes = append(s.Routes, links)
			set(t, t.Start)
		}
	}
	switch r.IntN(18) {
	case 0:
		remove(s, i)
	case 1: // again, perhaps later
		s.Transfers = append(s.Transfers, *x)
		if s.Form == model.Ordered {
			after := slices.Clone(s.After[i])
			if r.IntN(2) == 0 {
				after = append(after, int32(i))
			}
			s.After = append(s.After, after)
			return
		}
		set(&s.Transfers[n], x.Start+model.Time(r.IntN(6)))
	case 2:
		x.Op = model.Reduction - x.Op
	case 3:
		x.Chunk = int32(r.IntN(len(p.Chunks)))
		if r.IntN(3) > 0 {
			set(x, x.Start)
		}
	case 4, 5: // at another time
		switch {
		case s.Form == model.Ordered:
			if len(s.After[i]) > 0 {
				k := r.IntN(len(s.After[i]))
				s.After[i] = slices.Delete(s.After[i], k, k+1)
			}
		default:
			set(x, x.Start+model.Time(r.IntN(7)-3))
		}
	case 6: // when something else starts, or ends
		set(x, []model.Time{y.Start, y.End, y.End - lasts(x)}[r.IntN(3)])
	case 7: // of another length
		if s.Form == model.Timed {
			x.End += model.Time(r.IntN(3) - 1)
		}
	case 8:
		route(x)
	case 9: // from or to another rank, over whatever leads there
		if r.IntN(2) == 0 {
			x.Src = rank()
		} else {
			x.Dst = rank()
		}
		if r.IntN(4) > 0 {
			route(x)
		}
	case 10: // links of a route exchanged for others
		links := s.Routes[x.Route]
		links[r.IntN(len(links))] = r.IntN(len(p.Topology.Links))
		if r.IntN(2) == 0 {
			set(x, x.Start)
		}
	case 11: // times exchanged
		a, b := x.Start, y.Start
		set(x, b)
		set(y, a)
		if s.Form == model.Ordered {
			s.After[i], s.After[j] = s.After[j], s.After[i]
		}
	case 12: // a new transfer
		t := model.Transfer{Chunk: int32(r.IntN(len(p.Chunks))), Src: rank(), Dst: rank(), Op: model.Op(r.IntN(2))}
		route(&t)
		set(&t, y.Start+model.Time(r.IntN(3)))
		s.Transfers = append(s.Transfers, t)
		if s.Form == model.Ordered {
			s.After = append(s.After, []int32{int32(j)})
		}
	case 13: // everything from an instant on, earlier
		if s.Form == model.Ordered {
			s.After[i] = append(s.After[i], int32(j)) // may be a circle
			return
		}
		at := x.Start
		for k := range s.Transfers {
			if t := &s.Transfers[k]; t.Start >= at {
				set(t, t.Start-1)
			}
		}
	case 14, 15: // a branch of a multicast, or what would be one if the switch copied
		links := s.Routes[x.Route]
		at := r.IntN(len(links))
		if p.Topology.Links[links[at]].Dst < p.Topology.Ranks {
			return
		}
		d := &drawing{Rand: r, p: p}
		t := *x
		t.Dst = rank()
		if rest := d.way(p.Topology.Links[links[at]].Dst, int(t.Dst)); t.Dst != t.Src && rest != nil {
			t.Route = int32(len(s.Routes))
			s.Routes = append(s.Routes, slices.Concat(links[:at+1], rest))
			set(&t, t.Start)
			s.Transfers = append(s.Transfers, t)
			if s.Form == model.Ordered {
				s.After = append(s.After, slices.Clone(s.After[i]))
			}
		}
	case 16: // two transfers exchange their chunks
		x.Chunk, y.Chunk = y.Chunk, x.Chunk
		set(x, x.Start)
		set(y, y.Start)
	default: // something that does not exist, or does not belong
		switch r.IntN(6) {
		case 0:
			x.Chunk = int32(len(p.Chunks))
		case 1:
			x.Dst = -1
		case 2:
			x.Route = int32(len(s.Routes))
		case 3:
			s.Routes[x.Route] = nil
		case 4:
			s.Routes[x.Route] = append(s.Routes[x.Route], len(p.Topology.Links))
		default:
			s.Form = model.Form(1 + r.IntN(3))
		}
	}
}

// remove takes a transfer away. What waited for it waits for what it waited for.
func remove(s *model.Schedule, i int) {
	if s.Form == model.Ordered {
		gone := s.After[i]
		s.After = slices.Delete(s.After, i, i+1)
		for k := range s.After {
			var list []int32
			for _, j := range s.After[k] {
				switch {
				case j == int32(i):
					for _, g := range gone {
						list = append(list, g-b2i(int(g) > i))
					}
				default:
					list = append(list, j-b2i(int(j) > i))
				}
			}
			s.After[k] = list
		}
	}
	s.Transfers = slices.Delete(s.Transfers, i, i+1)
}

func b2i(b bool) int32 {
	if b {
		return 1
	}
	return 0
}
