package replay_test

import (
	"fmt"
	"slices"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/verify"
)

// reference decides what Check decides, in the simplest way that follows SPEC.md:
// maps of counts, every pair of spans, every pair of accesses. It returns the codes
// of all violations.
func reference(p *model.Problem, s *model.Schedule) map[verify.Code]bool {
	codes := map[verify.Code]bool{}
	if p.Validate() != nil || s.Validate(p) != nil {
		codes[verify.Malformed] = true
		return codes
	}
	r := &ref{p: p, s: s, codes: codes}
	if r.routes() {
		r.capacity()
	}
	r.times()
	if s.Form == model.Ordered {
		r.races()
	}
	r.data()
	return codes
}

type ref struct {
	p     *model.Problem
	s     *model.Schedule
	codes map[verify.Code]bool
}

func (r *ref) routes() bool {
	ok := true
	for _, t := range r.s.Transfers {
		visited := []int{int(t.Src)}
		for _, l := range r.s.Routes[t.Route] {
			link := r.p.Topology.Links[l]
			if link.Src != visited[len(visited)-1] || slices.Contains(visited, link.Dst) {
				ok = false
			}
			visited = append(visited, link.Dst)
		}
		if visited[len(visited)-1] != int(t.Dst) {
			ok = false
		}
	}
	if !ok {
		r.codes[verify.NoSuchLink] = true
	}
	return ok
}

func (r *ref) times() {
	if r.s.Form != model.Timed {
		return
	}
	for _, t := range r.s.Transfers {
		route := r.s.Routes[t.Route]
		d := r.p.Topology.Duration(route, r.p.Chunks[t.Chunk].Size)
		if t.End-t.Start < d {
			r.codes[verify.TooFast] = true
		}
		if t.End-t.Start > d {
			r.codes[verify.TooSlow] = true
		}
		for _, v := range append([]int{int(t.Src)}, r.nodes(route)...) {
			if v < r.p.Topology.Ranks && t.Start < r.p.ReleaseOf(v) {
				r.codes[verify.BeforeRelease] = true
			}
		}
	}
}

func (r *ref) nodes(route []int) (list []int) {
	for _, l := range route {
		list = append(list, r.p.Topology.Links[l].Dst)
	}
	return list
}

// span is a use of something by a transfer.
type refSpan struct {
	model.Interval
	i, hop int
}

func (r *ref) capacity() {
	if r.s.Form == model.Ordered {
		return
	}
	t := r.p.Topology
	uses := make([][]refSpan, len(t.Links))
	for i, x := range r.s.Transfers {
		busy := t.Busy(r.p.Cost, r.s.Routes[x.Route], r.p.Chunks[x.Chunk].Size, nil)
		for hop, l := range r.s.Routes[x.Route] {
			span := model.Interval{From: x.Start, To: x.End}
			if r.s.Form == model.Timed {
				span = model.Interval{From: x.Start + busy[hop].From, To: x.Start + busy[hop].To}
			}
			uses[l] = append(uses[l], refSpan{span, i, hop})
		}
	}
	overlap := func(a, b refSpan) bool { return a.From < b.To && b.From < a.To }
	distinct := make([][]refSpan, len(t.Links)) // one of each multicast
	for l := range uses {
		for n, a := range uses[l] {
			shared := false
			for _, b := range uses[l][:n] {
				switch {
				case r.multicast(a, b):
					shared = true
				case overlap(a, b):
					r.codes[verify.LinkOverlap] = true
				}
			}
			if !shared {
				distinct[l] = append(distinct[l], a)
			}
		}
	}
	limit := func(links []int, capacity int) {
		var all []refSpan
		for _, l := range links {
			all = append(all, distinct[l]...)
		}
		for _, a := range all {
			n := 0
			for _, b := range all {
				if b.From <= a.From && a.From < b.To {
					n++
				}
			}
			if n > capacity {
				r.codes[verify.PortOverload] = true
			}
		}
	}
	for _, port := range t.Ports {
		limit(port.Links, port.Capacity)
	}
	if r.s.Form == model.InRounds && r.p.Cost == model.Rounds {
		for v := range t.Ranks {
			limit(t.Out()[v], 1)
			limit(t.In()[v], 1)
		}
	}
}

// multicast says whether two uses of a link are branches of one multicast.
func (r *ref) multicast(a, b refSpan) bool {
	x, y := r.s.Transfers[a.i], r.s.Transfers[b.i]
	if x.Chunk != y.Chunk || x.Src != y.Src || x.Start != y.Start {
		return false
	}
	p, q := r.s.Routes[x.Route], r.s.Routes[y.Route]
	n := 0
	for n < len(p) && n < len(q) && p[n] == q[n] {
		n++
	}
	return n > a.hop && n < len(p) && n < len(q) && r.p.Topology.Copies(r.p.Topology.Links[p[n]].Src)
}

// races compares all accesses to each slot of an Ordered schedule.
func (r *ref) races() {
	n := len(r.s.Transfers)
	before := make([][]bool, n)
	for i := range before {
		before[i] = make([]bool, n)
	}
	for i, list := range r.s.After {
		for _, j := range list {
			before[j][i] = true
		}
	}
	for k := range n {
		for i := range n {
			for j := range n {
				before[i][j] = before[i][j] || before[i][k] && before[k][j]
			}
		}
	}
	for i, a := range r.s.Transfers {
		for j, b := range r.s.Transfers {
			if i == j || a.Chunk != b.Chunk || before[i][j] || before[j][i] {
				continue
			}
			if a.Src == b.Dst {
				r.codes[verify.ReadWriteRace] = true
			}
			if a.Dst == b.Dst && (a.Op == model.Copy || b.Op == model.Copy) {
				r.codes[verify.WriteWriteRace] = true
			}
		}
	}
}

func (r *ref) data() {
	type key struct{ rank, chunk int }
	state := map[key]map[int]int{}
	count := func(v model.Value) map[int]int {
		m := map[int]int{}
		for j, n := range v.Terms() {
			m[j] = n
		}
		return m
	}
	for k := range r.p.Chunks {
		for rank, v := range r.p.Start(k) {
			state[key{rank, k}] = count(v)
		}
	}
	type event struct {
		at    model.Time
		write bool
		i     int
	}
	var events []event
	if r.s.Form == model.Ordered {
		order, _ := r.s.TopologicalOrder()
		for n, i := range order {
			events = append(events, event{model.Time(2 * n), false, int(i)}, event{model.Time(2*n + 1), true, int(i)})
		}
	} else {
		for i, t := range r.s.Transfers {
			events = append(events, event{t.Start, false, i}, event{t.End, true, i})
			for j, u := range r.s.Transfers[:i] {
				if r.s.Transfers[j].End == t.End && u.Dst == t.Dst && u.Chunk == t.Chunk && (u.Op == model.Copy || t.Op == model.Copy) {
					r.codes[verify.WriteWriteRace] = true
				}
			}
		}
	}
	slices.SortStableFunc(events, func(a, b event) int {
		if a.at != b.at {
			return int(min(max(a.at-b.at, -1), 1))
		}
		if a.write != b.write {
			return map[bool]int{true: -1, false: 1}[a.write]
		}
		return 0
	})
	hand := map[int]map[int]int{}
	for _, e := range events {
		t := r.s.Transfers[e.i]
		from, to := key{int(t.Src), int(t.Chunk)}, key{int(t.Dst), int(t.Chunk)}
		switch {
		case !e.write:
			if hand[e.i] = state[from]; state[from] == nil {
				r.codes[verify.SendUndefined] = true
			}
		case hand[e.i] == nil:
		case t.Op == model.Copy:
			state[to] = hand[e.i]
		case state[to] == nil:
			r.codes[verify.ReduceUndefined] = true
		default:
			sum := map[int]int{}
			for _, m := range []map[int]int{state[to], hand[e.i]} {
				for j, n := range m {
					sum[j] = min(sum[j]+n, 1<<40)
				}
			}
			state[to] = sum
		}
	}
	for k := range r.p.Chunks {
		for rank, v := range r.p.Goal(k) {
			want, got := count(v), state[key{rank, k}]
			for j := range r.p.Topology.Ranks {
				w, g := want[j], got[j]
				if r.p.Collective.Op.Idempotent() {
					w, g = min(w, 1), min(g, 1)
				}
				switch {
				case g < w:
					r.codes[verify.MissingContribution] = true
				case g > w && w > 0:
					r.codes[verify.DoubleContribution] = true
				case g > w:
					r.codes[verify.WrongValue] = true
				}
			}
		}
	}
}

// concernsData says whether a violation is one of the data, which the smt engine
// must find too.
func concernsData(c verify.Code) bool {
	return slices.Contains([]verify.Code{
		verify.MissingContribution, verify.DoubleContribution, verify.WrongValue, verify.SendUndefined,
		verify.ReduceUndefined, verify.ReadWriteRace, verify.WriteWriteRace, verify.Malformed,
	}, c)
}

// sortedCodes lists a set of codes.
func sortedCodes(codes map[verify.Code]bool) []string {
	var list []string
	for c := range codes {
		list = append(list, fmt.Sprint(c))
	}
	slices.Sort(list)
	return list
}
