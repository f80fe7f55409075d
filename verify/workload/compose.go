package workload

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/oraccl/oraccl/model"
	wl "github.com/oraccl/oraccl/model/workload"
	"github.com/oraccl/oraccl/verify"
	"github.com/oraccl/oraccl/verify/replay"
)

// Compose decides about a schedule, which must be valid, part by part. It takes the time of a
// replay for each program, and O(transfers·log(transfers)) for all of them together.
func Compose(ctx context.Context, s *wl.Schedule) verify.Verdict {
	v := verify.Verdict{Engine: ComposeEngine, Claim: Claim(s)}
	c := &composition{s: s, w: s.Workload, ctx: ctx, work: verify.Begin(ctx, maxSteps)}
	for _, part := range []func(){c.programs, c.passages, c.waits, c.network, c.ranks, c.order, c.races, c.values} {
		if part(); len(c.wrong) > 0 || c.reason != "" || !c.work.Go(1) {
			break
		}
	}
	return decided(v, s, c.wrong, cmp.Or(c.reason, c.work.Why()))
}

// decided completes the verdict of an engine about a schedule: that of one that has found what is wrong, or has
// not come to its end for a reason, or else has proved it.
func decided(v verify.Verdict, s *wl.Schedule, wrong []verify.Violation, reason string) verify.Verdict {
	switch {
	case len(wrong) > 0:
		v.Outcome, v.Violations = verify.Refuted, wrong
	case reason != "":
		v.Reason = reason
	default:
		v.Outcome = verify.Proved
		if v.Makespan = s.Makespan(); s.Period > 0 {
			v.Makespan = s.Period
		}
	}
	return v
}

// composition is what Compose knows.
type composition struct {
	s      *wl.Schedule
	w      *wl.Workload
	ctx    context.Context
	work   *verify.Work
	wrong  []verify.Violation
	reason string

	problems []*model.Problem // of each collective
	placed   [][]int          // of each operation, by iteration: its placement
	on       []map[int]model.Interval
}

func (c *composition) report(v verify.Violation) {
	if len(c.wrong) < verify.MaxViolations {
		c.wrong = append(c.wrong, v)
	}
}

// name names a placement.
func (c *composition) name(i int) string {
	p := c.s.Placed[i]
	if c.w.Iterations(p.Op) > 1 {
		return fmt.Sprintf("%s, iteration %d", c.w.Ops[p.Op].ID, p.Iteration)
	}
	return c.w.Ops[p.Op].ID
}

// programs proves each collective by itself (V1, V3, V4, and V9 within it).
func (c *composition) programs() {
	c.problems = make([]*model.Problem, len(c.w.Ops))
	c.placed = make([][]int, len(c.w.Ops))
	for i := range c.w.Ops {
		c.placed[i] = make([]int, c.w.Iterations(i))
		if _, collective := c.w.Ops[i].Kind.Collective(); collective {
			c.problems[i] = c.w.Problem(i)
		}
	}
	type asked struct {
		program  int
		op, size string
	}
	proved := map[asked]bool{}
	for i, p := range c.s.Placed {
		c.placed[p.Op][p.Iteration] = i
		if p.Program < 0 || len(c.wrong) > 0 {
			continue
		}
		problem := c.problems[p.Op]
		collective := problem.Collective
		key := asked{p.Program, fmt.Sprintf("%v %d %d %v", collective.Kind, collective.Root, collective.Op, collective.Group), fmt.Sprint(problem.Size, len(problem.Chunks), c.w.Ops[p.Op].Operator)}
		if collective.Kind == model.Custom || !slices.Equal(problem.Chunks, problem.Cut(len(problem.Chunks))) {
			key.op += c.w.Ops[p.Op].ID
		}
		if proved[key] {
			continue
		}
		v := replay.Check(c.ctx, problem, c.s.Programs[p.Program])
		for _, x := range v.Violations {
			x.Where = c.w.Ops[p.Op].ID + ": " + x.Where
			c.report(x)
		}
		if v.Outcome == verify.Unknown {
			c.reason = fmt.Sprintf("%s: %s", c.w.Ops[p.Op].ID, v.Reason)
			return
		}
		if v.Outcome == verify.Proved {
			c.trees(p.Op, c.s.Programs[p.Program])
		}
		proved[key] = true
	}
}

// passages finds from when to when each placement keeps each rank: the transfers into, out of,
// and through it (V6 of releases).
func (c *composition) passages() {
	shared := map[int]map[int]model.Interval{} // of programs
	for i, p := range c.s.Placed {
		on := map[int]model.Interval{}
		members := c.w.Members(c.w.Ops[p.Op].Group)
		for m, at := range p.Starts {
			on[members[m]] = model.Interval{From: at, To: at + c.w.DurationOn(p.Op, m)}
		}
		if p.Program >= 0 {
			if shared[p.Program] == nil {
				shared[p.Program] = c.programOn(c.s.Programs[p.Program])
			}
			for v, span := range shared[p.Program] {
				on[v] = model.Interval{From: p.At + span.From, To: p.At + span.To}
			}
		}
		for _, v := range members {
			if _, ok := on[v]; !ok {
				on[v] = model.Interval{From: p.At, To: p.At}
			}
		}
		for v, span := range on {
			if release := c.w.ReleaseOf(p.Op, v); span.From < release {
				c.report(verify.Wrong(verify.BeforeRelease, c.name(i), fmt.Sprintf("begins on rank %d at %v, want %v, its release, or later", v, span.From, release)).AtRank(v))
			}
		}
		c.on = append(c.on, on)
		if !c.work.Go(1 + len(on)) {
			return
		}
	}
}

// programOn returns from when to when a program keeps each rank.
func (c *composition) programOn(s *model.Schedule) map[int]model.Interval {
	on := map[int]model.Interval{}
	see := func(v int, t *model.Transfer) {
		if !c.w.Topology.IsRank(v) {
			return
		}
		span, ok := on[v]
		if !ok {
			span.From = t.Start
		}
		on[v] = model.Interval{From: min(span.From, t.Start), To: max(span.To, t.End)}
	}
	for i := range s.Transfers {
		t := &s.Transfers[i]
		see(int(t.Src), t)
		for _, l := range s.Routes[t.Route] {
			see(c.w.Topology.Links[l].Dst, t)
		}
		c.work.Go(1 + len(s.Routes[t.Route]))
	}
	return on
}

// before returns the placement of an edge's origin for an iteration of its end, and by how
// much it is earlier than placed; ok is false if there is none.
func (c *composition) before(e wl.Edge, iteration int) (placement int, shift model.Time, ok bool) {
	n := c.w.Iterations(e.From)
	k := iteration - e.Height
	periods := 0
	for k < 0 {
		if c.s.Period == 0 {
			return 0, 0, false
		}
		more := (-k + n - 1) / n
		k, periods = k+more*n, periods+more
	}
	return c.placed[e.From][k], c.s.Period * model.Time(periods), true
}

// waits checks that operations wait as they must, in a period and from one to the next (V5).
func (c *composition) waits() {
	for _, e := range c.w.Edges {
		for k, to := range c.placed[e.To] {
			from, shift, ok := c.before(e, k)
			if !ok {
				continue
			}
			early := func(v, u int, at, want model.Time) {
				later := ""
				if shift > 0 {
					later = fmt.Sprintf(" of %v before", shift)
				}
				c.report(verify.Wrong(verify.BeforeDependency, c.name(to), fmt.Sprintf("begins on rank %d at %v, want %v, when %s%s is ready on rank %d, or later", v, at, want, c.name(from), later, u)).AtRank(v))
			}
			ready := func(u int) model.Time {
				span := c.on[from][u]
				if e.FromStart {
					return span.From + e.Offset - shift
				}
				return span.To - shift
			}
			fromRanks, toRanks := c.w.Members(c.w.Ops[e.From].Group), c.w.Members(c.w.Ops[e.To].Group)
			switch e.Scope {
			case wl.ByAll:
				last := fromRanks[0]
				for _, u := range fromRanks {
					if ready(u) > ready(last) {
						last = u
					}
				}
				for _, v := range toRanks {
					if at := c.on[to][v].From; at < ready(last) {
						early(v, last, at, ready(last))
					}
				}
			case wl.ByRank:
				in := map[int]bool{}
				for _, u := range fromRanks {
					in[u] = true
				}
				for _, v := range toRanks {
					if at := c.on[to][v].From; in[v] && at < ready(v) {
						early(v, v, at, ready(v))
					}
				}
			case wl.ByChunk:
				c.chunks(e, from, to, shift, early)
			}
			if !c.work.Go(1 + len(fromRanks) + len(toRanks)) {
				return
			}
		}
	}
}

// chunks checks an edge of scope chunk: on each rank a chunk waits for those of the other
// operation that overlap it in their buffer.
func (c *composition) chunks(e wl.Edge, from, to int, shift model.Time, early func(v, u int, at, want model.Time)) {
	a, b := c.problems[e.From], c.problems[e.To]
	_, offA := c.w.BufferOf(e.From, 0)
	_, offB := c.w.BufferOf(e.To, 0)
	ends := c.slotsOf(from)
	for slot, start := range c.slotsOf(to) {
		lo, hi := offB+b.Chunks[slot[1]].Offset, offB+b.Chunks[slot[1]].Offset+b.Chunks[slot[1]].Size
		k, _ := slices.BinarySearchFunc(a.Chunks, lo-offA, func(x model.Chunk, at int64) int { return cmp.Compare(x.Offset+x.Size, at+1) })
		for ; k < len(a.Chunks) && offA+a.Chunks[k].Offset < hi; k++ {
			if end, ok := ends[[2]int{slot[0], k}]; ok && start.From < end.To-shift {
				early(slot[0], slot[0], start.From, end.To-shift)
			}
			c.work.Go(1)
		}
	}
}

// slotsOf returns from when to when a placement touches each chunk on each rank, by rank and
// chunk.
func (c *composition) slotsOf(placement int) map[[2]int]model.Interval {
	p := c.s.Placed[placement]
	all := map[[2]int]model.Interval{}
	for i := range c.s.Programs[p.Program].Transfers {
		t := &c.s.Programs[p.Program].Transfers[i]
		for _, v := range []int32{t.Src, t.Dst} {
			slot := [2]int{int(v), int(t.Chunk)}
			span, ok := all[slot]
			if !ok {
				span.From = p.At + t.Start
			}
			all[slot] = model.Interval{From: min(span.From, p.At+t.Start), To: max(span.To, p.At+t.End)}
		}
		c.work.Go(4)
	}
	return all
}

// turn is a time in which something is used, on the circle of a period, by a placement.
type turn struct {
	from, to model.Time
	owner    int
	round    model.Time // how many periods it was turned back
	branch   branch     // of a multicast
}

type branch struct {
	chunk, src int32
	start      model.Time
	link       int
}

// onCircle adds a time to a list. Without a period the circle is a line.
func (c *composition) onCircle(list []turn, t turn) []turn {
	T := c.s.Period
	if T == 0 {
		return append(list, t)
	}
	for t.from < t.to {
		round := t.from / T
		end := min(t.to, (round+1)*T)
		part := t
		part.from, part.to, part.round = t.from-round*T, end-round*T, round
		list = append(list, part)
		t.from = end
	}
	return list
}

// network checks that the transfers of all operations fit their links and ports together (V2);
// those of one are proved by themselves, except against the next period.
func (c *composition) network() {
	topo := c.w.Topology
	links := make([][]turn, len(topo.Links))
	for i, p := range c.s.Placed {
		if p.Program < 0 {
			continue
		}
		s := c.s.Programs[p.Program]
		for j := range s.Transfers {
			t := &s.Transfers[j]
			route := s.Routes[t.Route]
			at := p.At + t.Start
			bytes := c.problems[p.Op].Chunks[t.Chunk].Size
			for len(route) > 0 {
				n := 1
				for n < len(route) && !topo.IsRank(topo.Links[route[n-1]].Dst) {
					n++
				}
				longest := model.Time(0)
				for _, l := range route[:n] {
					longest = max(longest, model.TransferTime(bytes, topo.Links[l].Bandwidth))
				}
				for _, l := range route[:n] {
					busy := longest
					if c.w.Cost == model.Blocking {
						busy += topo.Links[l].Alpha
					}
					links[l] = c.onCircle(links[l], turn{from: at, to: at + busy, owner: i, branch: branch{t.Chunk, t.Src, p.At + t.Start, l}})
					at += topo.Links[l].Alpha
				}
				at += longest
				route = route[n:]
			}
			if !c.work.Go(4) {
				return
			}
		}
	}
	for l, list := range links {
		c.sortTurns(list)
		last := 0
		for i := 1; i < len(list); i++ {
			a, b := &list[last], &list[i]
			if b.from < a.to && (a.owner != b.owner || a.round != b.round) {
				c.report(verify.Wrong(verify.LinkOverlap, fmt.Sprintf("link %d, %s to %s", l, topo.NodeName(topo.Links[l].Src), topo.NodeName(topo.Links[l].Dst)),
					fmt.Sprintf("%s uses it at %v, when %s still does%s", c.name(b.owner), b.from, c.name(a.owner), c.around(a, b))))
			}
			if b.to > a.to {
				last = i
			}
			if len(c.wrong) >= verify.MaxViolations || !c.work.Go(1) {
				return
			}
		}
	}
	for i, port := range topo.Ports {
		longest := map[turn]model.Time{} // of each branch of a multicast, one for the link
		var all []turn
		for _, l := range port.Links {
			for _, t := range links[l] {
				to := t.to
				t.to = 0
				longest[t] = max(longest[t], to)
			}
			c.work.Go(1 + len(links[l]))
		}
		for t, to := range longest {
			t.to = to
			all = append(all, t)
		}
		c.most(all, port.Capacity, verify.PortOverload, fmt.Sprintf("port %d", i), "use it at once")
	}
}

// around explains that two times meet across the end of a period.
func (c *composition) around(a, b *turn) string {
	if a.round == b.round {
		return ""
	}
	return ", across the end of a period"
}

func (c *composition) sortTurns(list []turn) {
	c.work.Go(len(list))
	slices.SortFunc(list, func(a, b turn) int {
		return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(a.to, b.to), cmp.Compare(a.owner, b.owner), cmp.Compare(a.round, b.round))
	})
}

// most checks that at no time more of list are under way than a number.
func (c *composition) most(list []turn, capacity int, code verify.Code, where, what string) {
	c.sortTurns(list)
	var open []turn
	for i := range list {
		t := &list[i]
		open = slices.DeleteFunc(open, func(o turn) bool { return o.to <= t.from })
		open = append(open, *t)
		if len(open) > capacity {
			c.report(verify.Wrong(code, where, fmt.Sprintf("%s and %s %s at %v%s, want at most %d", c.name(open[0].owner), c.name(t.owner), what, t.from, c.around(&open[0], t), capacity)))
			return
		}
		if !c.work.Go(1 + len(open)) {
			return
		}
	}
}

// ranks checks that a rank does one computation at a time (V6), and what it holds (V8).
func (c *composition) ranks() {
	on := make([][]turn, c.w.Topology.Ranks)
	for i, p := range c.s.Placed {
		if c.w.Ops[p.Op].Kind != wl.Compute {
			continue
		}
		for v, span := range c.on[i] {
			on[v] = c.onCircle(on[v], turn{from: span.From, to: span.To, owner: i})
		}
		c.work.Go(1 + len(c.on[i]))
	}
	resident := int64(0)
	for _, j := range c.w.Jobs {
		resident += j.Resident
	}
	for v, list := range on {
		c.most(list, 1, verify.ComputeOverlap, fmt.Sprintf("rank %d", v), "compute at once")
		if c.w.Memory == nil {
			continue
		}
		// One computation runs at a time, if the above holds, so that the largest decides.
		need, what := resident, "the jobs"
		for _, t := range list {
			if b := c.w.Ops[c.s.Placed[t.owner].Op].Bytes; resident+b > need {
				need, what = resident+b, c.name(t.owner)
			}
		}
		if most := c.w.Memory[v]; need > most {
			c.report(verify.Wrong(verify.OutOfMemory, fmt.Sprintf("rank %d", v), fmt.Sprintf("%s and what is resident need %d bytes, want at most %d", what, need, most)).AtRank(v))
		}
	}
}
