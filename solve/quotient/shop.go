package quotient

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve/symmetry"
)

// shop is a network divided by a group of its symmetries. Its machines are the orbits of
// links and ports. A hop of a chunk from rank to rank, moved by all elements of the group,
// is one job: its copies take each link of the orbits on its way once, at one time.
type shop struct {
	t       *model.Topology
	cost    model.CostModel
	g       *symmetry.Group
	class   []int32 // of a rank: the number of its orbit
	reps    []int32 // of an orbit: its first rank
	element []int32 // of a rank: one that takes the first of its orbit to it
	member  []bool  // of a rank
	lanes   []int32 // of a machine: as many jobs at a time
	ways    []way
	out     [][]step       // by orbit: the hops that leave its first rank
	takers  [][]int32      // by machine: the ways that it serves
	before  [][]model.Time // by machine: how long after the start of a hop it may be wanted first
	mutual  *bool          // roots exchange sums with those whose sums come last: see plan.mutual
}

// way is what hops have in common that take the same machines for the same times.
type way struct {
	links   []int // of one of the hops
	visits  []visit
	batches int      // the copies go in as many batches, for in one they would meet
	apart   bool     // the batches must not overlap at all
	times   []timing // by kind of part: see timed
}

// visit is a machine that serves a way: lanes of it, while the hop keeps its links from the
// one to the other busy.
type visit struct {
	machine, lanes int32
	from, to       int32 // places of links on the way
}

// step is a hop that leaves the first rank of an orbit.
type step struct {
	to, way int32
	wait    model.Time // by then all ranks on its route have arrived
	links   []int
	batch   []int32 // by element: in which batch its copy goes; nil: all in one
}

// timing is how long a hop of one part takes, with all its batches, and from when to when
// each of its visits takes.
type timing struct {
	lasts  model.Time
	stride model.Time // between batches
	spans  []model.Interval
}

// timed returns s with how hops of the sizes of some parts take each way.
func (s *shop) timed(parts []part) *shop {
	y := *s
	s = &y
	s.ways = slices.Clone(s.ways)
	type sizes struct{ least, most int64 }
	kinds := map[sizes]int32{}
	var order []sizes
	for i := range parts {
		x := sizes{parts[i].least, parts[i].size}
		k, known := kinds[x]
		if !known {
			k = int32(len(order))
			kinds[x] = k
			order = append(order, x)
		}
		parts[i].kind = k
	}
	s.before = make([][]model.Time, len(s.lanes))
	for w := range s.ways {
		x := &s.ways[w]
		x.times = nil
		for _, size := range order {
			tm := s.time(x, size.least, size.most)
			for i, v := range x.visits {
				if at := tm.spans[i].From; !slices.Contains(s.before[v.machine], at) {
					s.before[v.machine] = append(s.before[v.machine], at)
				}
			}
			x.times = append(x.times, tm)
		}
	}
	return s
}

// at returns how hops of a part take a way.
func (s *shop) at(w int32, x *part) *timing { return &s.ways[w].times[x.kind] }

// time returns the timing of chunks of two sizes, the least and the largest of a part, and
// of all between: behind a relay the spans of a smaller one begin earlier.
func (s *shop) time(x *way, least, most int64) timing {
	tm := timing{lasts: 1}
	spans := make([]model.Interval, 0, len(x.links))
	if s.cost.Synchronous() {
		for range x.links {
			spans = append(spans, model.Interval{From: 0, To: 1})
		}
	} else {
		tm.lasts = s.t.Duration(x.links, most)
		spans = s.t.Busy(s.cost, x.links, most, spans)
		if least < most {
			for i, early := range s.t.Busy(s.cost, x.links, least, nil) {
				spans[i].From = early.From
			}
		}
	}
	for _, span := range spans {
		tm.stride = max(tm.stride, span.To-span.From)
	}
	if x.apart {
		tm.stride = tm.lasts
	}
	more := tm.stride.Mul(int64(x.batches - 1))
	tm.lasts = tm.lasts.Add(more)
	for _, v := range x.visits {
		span := spans[v.from]
		for _, other := range spans[v.from : v.to+1] {
			span.From, span.To = min(span.From, other.From), max(span.To, other.To)
		}
		tm.spans = append(tm.spans, model.Interval{From: span.From, To: span.To.Add(more)})
	}
	return tm
}

// Limits of a shop.
const (
	maxSteps = 1 << 22 // hops that leave the first ranks of orbits
	maxWays  = 1 << 15
)

// newShop divides p's network by g. Hops lead over switches and over ranks that are no
// members. The error is that of ctx if it is done before.
func newShop(ctx context.Context, p *model.Problem, g *symmetry.Group) (*shop, error) {
	t := p.Topology
	s := &shop{t: t, cost: p.Cost, g: g, class: slices.Repeat([]int32{-1}, t.Ranks), element: make([]int32, t.Ranks), member: make([]bool, t.Ranks), mutual: new(bool)}
	for v := range t.Ranks {
		if s.class[v] >= 0 {
			continue
		}
		for e := range g.Order() {
			if w := g.Node(e, v); s.class[w] < 0 {
				s.class[w], s.element[w] = int32(len(s.reps)), int32(e)
			}
		}
		s.reps = append(s.reps, int32(v))
	}
	through := make([]bool, t.Nodes())
	for v := range through {
		through[v] = !t.IsRank(v) || p.Cost != model.LinkRounds
	}
	for _, v := range p.Members() {
		s.member[v], through[v] = true, false
	}
	m := newMachines(s)
	r := newRouter(t, through)
	steps := 0
	for _, u := range s.reps {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		var list []step
		if s.member[u] {
			list = m.steps(r.from(int(u), s.member))
		}
		for i := range list {
			for _, l := range list[i].links {
				for _, v := range []int{t.Links[l].Src, t.Links[l].Dst} {
					if t.IsRank(v) {
						list[i].wait = max(list[i].wait, p.ReleaseOf(v))
					}
				}
			}
		}
		if steps += len(list); steps > maxSteps || len(s.ways) > maxWays {
			return nil, fmt.Errorf("its symmetries leave more than %d hops, or more than %d that take different links", maxSteps, maxWays)
		}
		s.out = append(s.out, list)
	}
	s.lanes = m.lanes
	s.takers = make([][]int32, len(s.lanes))
	for w := range s.ways {
		for _, v := range s.ways[w].visits {
			s.takers[v.machine] = append(s.takers[v.machine], int32(w))
		}
	}
	return s, nil
}

// reaches returns an error if a member that must be reached from another is not.
func (s *shop) reaches(p *model.Problem) error {
	for c, u := range s.reps {
		if !s.member[u] || p.Collective.Kind.Rooted() && int(u) != p.Collective.Root {
			continue
		}
		far := s.hops(int(u))
		for v, m := range s.member {
			if m && far[v] < 0 {
				return fmt.Errorf("no way leads from rank %d to rank %d", s.reps[c], v)
			}
		}
	}
	return nil
}

// machines numbers the orbits of what hops compete for: links, ports and, where a rank sends
// and receives once a round, ranks.
type machines struct {
	s         *shop
	lanes     []int32
	size      []int32   // of a machine: how many links or ports its orbit has
	of        [][]int32 // by link: the machines that a hop over it takes
	instances [][]int   // by link: the links and ports themselves, by machine
	known     map[string]int32
	key       []byte
}

func newMachines(s *shop) *machines {
	t := s.t
	m := &machines{s: s, of: make([][]int32, len(t.Links)), instances: make([][]int, len(t.Links)), known: map[string]int32{}}
	orbits := func(n int, image func(e, i int) int, lanes func(i int) int) []int32 {
		of := slices.Repeat([]int32{-1}, n)
		for i := range n {
			if of[i] >= 0 {
				continue
			}
			m.lanes, m.size = append(m.lanes, int32(lanes(i))), append(m.size, 0)
			for e := range s.g.Order() {
				if j := image(e, i); of[j] < 0 {
					of[j] = int32(len(m.lanes) - 1)
					m.size[of[j]]++
				}
			}
		}
		return of
	}
	one := func(int) int { return 1 }
	for l, x := range orbits(len(t.Links), s.g.Link, one) {
		m.of[l], m.instances[l] = []int32{x}, []int{l}
	}
	ports := orbits(len(t.Ports), s.g.Port, func(i int) int { return t.Ports[i].Capacity })
	for i, port := range t.Ports {
		for _, l := range port.Links {
			m.of[l], m.instances[l] = append(m.of[l], ports[i]), append(m.instances[l], len(t.Links)+i)
		}
	}
	if s.cost == model.Rounds {
		sends, receives := orbits(t.Ranks, s.g.Node, one), orbits(t.Ranks, s.g.Node, one)
		first := len(t.Links) + len(t.Ports)
		for l, k := range t.Links {
			if t.IsRank(k.Src) {
				m.of[l], m.instances[l] = append(m.of[l], sends[k.Src]), append(m.instances[l], first+k.Src)
			}
			if t.IsRank(k.Dst) {
				m.of[l], m.instances[l] = append(m.of[l], receives[k.Dst]), append(m.instances[l], first+t.Ranks+k.Dst)
			}
		}
	}
	return m
}

// steps returns hops over routes, those to one rank over the same way once.
func (m *machines) steps(routes [][]int) []step {
	type key struct{ to, way int32 }
	seen := map[key]int{}
	var list []step
	for _, route := range routes {
		w, batch := m.way(route)
		k := key{int32(m.s.t.Links[route[len(route)-1]].Dst), w}
		if seen[k]++; seen[k] == 1 {
			list = append(list, step{to: k.to, way: w, links: route, batch: batch})
		}
	}
	return list
}

// way returns the number of the way of a route, and in which batch each copy of a hop over
// it goes.
func (m *machines) way(route []int) (int32, []int32) {
	order := m.s.g.Order()
	var visits []visit
	meet, apart := false, false
	for i, l := range route {
		for _, x := range m.of[l] {
			lanes := int32(order) / m.size[x]
			at := slices.IndexFunc(visits, func(v visit) bool { return v.machine == x })
			if at < 0 {
				visits = append(visits, visit{machine: x, lanes: lanes, from: int32(i), to: int32(i)})
				at = len(visits) - 1
			} else {
				visits[at].lanes += lanes
				visits[at].to = int32(i)
				apart = apart || m.lanes[x] < visits[at].lanes
			}
			meet = meet || visits[at].lanes > m.lanes[x]
		}
	}
	batches, batch := 1, []int32(nil)
	if meet {
		batches, batch = m.batches(route)
		for i := range visits {
			visits[i].lanes = min(visits[i].lanes, m.lanes[visits[i].machine])
		}
	}
	key := m.key[:0]
	for _, v := range visits {
		for _, n := range []int32{v.machine, v.lanes, v.from, v.to} {
			key = binary.AppendUvarint(key, uint64(n))
		}
	}
	key = binary.AppendUvarint(key, uint64(batches))
	if apart {
		key = append(key, 0)
	}
	m.key = key
	w, known := m.known[string(key)]
	if !known {
		w = int32(len(m.s.ways))
		m.known[string(key)] = w
		m.s.ways = append(m.s.ways, way{links: route, visits: visits, batches: batches, apart: apart})
	}
	return w, batch
}

// batches divides the copies of a hop over a route into batches of such as do not meet: the
// first that has room, one copy after the other.
func (m *machines) batches(route []int) (int, []int32) {
	type instance struct {
		batch int32
		of    int
	}
	t := m.s.t
	first := len(t.Links) + len(t.Ports)
	room := func(i int) int32 {
		if i < len(t.Links) || i >= first {
			return 1
		}
		return int32(t.Ports[i-len(t.Links)].Capacity)
	}
	used := map[instance]int32{}
	batch := make([]int32, m.s.g.Order())
	most := int32(0)
	for e := range batch {
		var list []int
		for _, l := range route {
			list = append(list, m.instances[m.s.g.Link(e, l)]...)
		}
		fits := func(b int32) bool {
			return !slices.ContainsFunc(list, func(x int) bool { return used[instance{b, x}] >= room(x) })
		}
		b := int32(0)
		for !fits(b) {
			b++
		}
		for _, x := range list {
			used[instance{b, x}]++
		}
		batch[e], most = b, max(most, b)
	}
	return int(most) + 1, batch
}
