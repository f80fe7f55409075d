package workload

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/oraccl/oraccl/model"
	wl "github.com/oraccl/oraccl/model/workload"
	"github.com/oraccl/oraccl/verify"
)

// Limits of an execution.
const (
	maxSteps  = 1 << 32
	maxEvents = 1 << 25 // transfers and computations on ranks, in all periods
	maxSlots  = 1 << 27 // cells times ranks, and chunks times ranks of operations
)

// executeDecides are the violations that Execute looks for: not races, nor the order of
// collectives, which are about other times than those of the schedule.
var executeDecides = []verify.Code{verify.MissingContribution, verify.DoubleContribution, verify.WrongValue, verify.SendUndefined,
	verify.ReduceUndefined, verify.LinkOverlap, verify.PortOverload, verify.NoSuchLink, verify.TooFast, verify.TooSlow,
	verify.BeforeRelease, verify.Malformed, verify.ComputeOverlap, verify.BeforeDependency, verify.OutOfMemory, verify.WrongTree}

// Execute runs a schedule, which must be valid, in order of time. It takes O(events·log(events))
// time for the transfers and computations of all periods that it runs, and more where values have
// many contributions.
func Execute(ctx context.Context, s *wl.Schedule) verify.Verdict {
	v := verify.Verdict{Engine: ExecuteEngine, Claim: Claim(s) + ", at the times that it states; races and deadlocks at other times are not decided", Decides: executeDecides}
	x := &execution{s: s, w: s.Workload, work: verify.Begin(ctx, maxSteps)}
	reason := x.run()
	return decided(v, s, x.wrong, cmp.Or(reason, x.work.Why()))
}

// execution runs a schedule.
type execution struct {
	s     *wl.Schedule
	w     *wl.Workload
	l     *layout
	work  *verify.Work
	wrong []verify.Violation
	t     *table // values
	// Within a collective a slot holds a shape: which contributions, and in which tree, by members.
	shapes *table
	wanted map[int][]bool // of an operation, by chunk·ranks + rank: there is a goal

	periods int
	held    [][]int32 // of each buffer, by rank, then cell: the value
	wrote   [][]model.Time
	runs    []*run
	byRun   map[[2]int]*run // operation and iteration, over all periods
	events  []event
}

// run is one iteration of an operation.
type run struct {
	op, iteration int
	at            model.Time
	program       *model.Schedule
	starts        []model.Time
	members       []int
	first, last   map[int]model.Time // of each rank that takes part
	problem       *model.Problem
	slots         []slot // chunk·ranks + rank; nil before the first and after the last event
	left          int
	in            map[int]int  // the members, with their place in the group
	carried       []load       // by transfer
	made          map[int]made // by chunk: the values of the last shape that was asked for
	name          string
	args          map[int][]int32 // of a computation, on each rank
	own           map[int][]int32 // likewise what it combines its function with
	bytes         []int64         // of each cell that a computation reads
}

// slot is a chunk on a rank in a run.
type slot struct {
	touches         int32 // that are still to come
	seen, there     bool  // the input has been looked at; something is there
	written, copied bool
	at              model.Time // of the last write
	low, high       int        // the members whose contributions it has are from the one to the other
	shape           int32
	input           []int32 // by cell; nil of a rank that is not a member
}

// made is what a shape is of a chunk's inputs, cell by cell.
type made struct {
	shape  int32
	values []int32
}

// load is what a transfer carries.
type load struct {
	shape     int32
	low, high int
}

// event is something that happens at an instant: writes before reads.
type event struct {
	at    model.Time
	reads bool
	run   int32
	index int32 // a transfer; or -1 - member of a computation, with the write in part
	part  int32
}

func (x *execution) report(v verify.Violation) {
	if len(x.wrong) < verify.MaxViolations {
		x.wrong = append(x.wrong, v)
	}
}

// full reports whether to stop.
func (x *execution) full() bool { return len(x.wrong) >= verify.MaxViolations || !x.work.Go(1) }

func (x *execution) run() (reason string) {
	for i := range x.w.Topology.Switches {
		if x.w.Topology.Switches[i].Copies {
			return "switches that copy are not served"
		}
	}
	var err error
	if x.l, err = newLayout(x.w); err != nil {
		return err.Error()
	}
	x.periods = 1
	if x.s.Period > 0 {
		n := (x.s.Makespan()-1)/x.s.Period + 2
		if n > maxEvents {
			return fmt.Sprintf("an iteration reaches over %d periods: %v", n, model.ErrTooLarge)
		}
		x.periods = int(n)
	}
	if reason := x.unroll(); reason != "" {
		return reason
	}
	x.network()
	x.computes()
	x.memory()
	x.edges()
	if len(x.wrong) > 0 || !x.work.Go(1) {
		return ""
	}
	return x.data()
}

// unroll makes the runs of all periods.
func (x *execution) unroll() string {
	total, slots := 0, 0
	for _, p := range x.s.Placed {
		total += len(p.Starts) * (1 + len(x.w.Ops[p.Op].Writes))
		if p.Program >= 0 {
			total += len(x.s.Programs[p.Program].Transfers)
		}
	}
	if total > maxEvents/x.periods {
		return fmt.Sprintf("%d events in each of %d periods: %v", total, x.periods, model.ErrTooLarge)
	}
	problems, groups := map[int]*model.Problem{}, map[string]map[int]int{}
	x.byRun = map[[2]int]*run{}
	for period := range x.periods {
		for _, p := range x.s.Placed {
			shift := x.s.Period * model.Time(period)
			r := &run{op: p.Op, iteration: period*x.w.Iterations(p.Op) + p.Iteration, at: p.At + shift, members: x.w.Members(x.w.Ops[p.Op].Group),
				first: map[int]model.Time{}, last: map[int]model.Time{}}
			group := x.w.Ops[p.Op].Group
			if groups[group] == nil {
				groups[group] = map[int]int{}
				for i, v := range r.members {
					groups[group][v] = i
				}
			}
			r.in = groups[group]
			r.name = x.w.Ops[p.Op].ID
			if x.w.Iterations(p.Op) > 1 || x.periods > 1 {
				r.name = fmt.Sprintf("%s, iteration %d", r.name, r.iteration)
			}
			for m, at := range p.Starts {
				r.starts = append(r.starts, at+shift)
				r.first[r.members[m]], r.last[r.members[m]] = at+shift, at+shift+x.w.DurationOn(p.Op, m)
			}
			if p.Program >= 0 {
				if problems[p.Op] == nil {
					problems[p.Op] = x.w.Problem(p.Op)
				}
				r.problem, r.program = problems[p.Op], x.s.Programs[p.Program]
				for i := range r.program.Transfers {
					t := &r.program.Transfers[i]
					for _, v := range x.ranksOn(r.program.Routes[t.Route]) {
						from, ok := r.first[v]
						if at := r.at + t.Start; !ok || at < from {
							r.first[v] = at
						}
						r.last[v] = max(r.last[v], r.at+t.End)
					}
				}
				r.left = len(r.program.Transfers)
				slots += len(r.problem.Chunks) * x.w.Topology.Ranks
			}
			for _, v := range r.members { // a rank that has nothing to do passes at once
				if _, ok := r.first[v]; !ok {
					r.first[v], r.last[v] = r.at, r.at
				}
			}
			for v, at := range r.first {
				if release := x.w.ReleaseOf(p.Op, v); at < release {
					x.report(verify.Wrong(verify.BeforeRelease, r.name, fmt.Sprintf("begins on rank %d at %v, before its release at %v", v, at, release)).AtRank(v))
				}
			}
			x.byRun[[2]int{p.Op, r.iteration}] = r
			x.runs = append(x.runs, r)
			if !x.work.Go(1 + len(r.first)) {
				return ""
			}
		}
	}
	if slots > maxSlots {
		return fmt.Sprintf("%d chunks on ranks in all operations: %v", slots, model.ErrTooLarge)
	}
	return ""
}

// ranksOn returns the ranks that a route visits.
func (x *execution) ranksOn(route []int) []int {
	var ranks []int
	for i, l := range route {
		if v := x.w.Topology.Links[l].Src; i == 0 && x.w.Topology.IsRank(v) {
			ranks = append(ranks, v)
		}
		if v := x.w.Topology.Links[l].Dst; x.w.Topology.IsRank(v) {
			ranks = append(ranks, v)
		}
	}
	return ranks
}

// busy is a time in which something is in use.
type busy struct {
	from, to model.Time
	run      int32
}

func (x *execution) sort(list []busy) {
	x.work.Go(len(list))
	slices.SortFunc(list, func(a, b busy) int {
		return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(a.to, b.to), cmp.Compare(a.run, b.run))
	})
}

// network checks routes, durations, links and ports (V2).
func (x *execution) network() {
	topo := x.w.Topology
	links := make([][]busy, len(topo.Links))
	for i, r := range x.runs {
		if r.program == nil {
			continue
		}
		for j := range r.program.Transfers {
			if x.full() {
				return
			}
			t := &r.program.Transfers[j]
			route := r.program.Routes[t.Route]
			at, node := r.at+t.Start, int(t.Src)
			visited := map[int]bool{node: true}
			for k := 0; k < len(route); {
				end := k // of the hop
				for end < len(route)-1 && !topo.IsRank(topo.Links[route[end]].Dst) {
					end++
				}
				slowest, alphas := model.Time(0), model.Time(0)
				for _, l := range route[k : end+1] {
					slowest = max(slowest, model.TransferTime(r.problem.Chunks[t.Chunk].Size, topo.Links[l].Bandwidth))
				}
				for _, l := range route[k : end+1] {
					link := topo.Links[l]
					if link.Src != node || visited[link.Dst] {
						x.report(verify.Wrong(verify.NoSuchLink, r.name, fmt.Sprintf("transfer %d: link %d leads from %s to %s, not on from %s", j, l, topo.NodeName(link.Src), topo.NodeName(link.Dst), topo.NodeName(node))).AtTransfer(j))
					}
					node = link.Dst
					visited[node] = true
					length := slowest
					if x.w.Cost == model.Blocking {
						length += link.Alpha
					}
					links[l] = append(links[l], busy{at + alphas, at + alphas + length, int32(i)})
					alphas += link.Alpha
				}
				at += alphas + slowest
				k = end + 1
			}
			if node != int(t.Dst) {
				x.report(verify.Wrong(verify.NoSuchLink, r.name, fmt.Sprintf("transfer %d: its route ends at %s, not at rank %d", j, topo.NodeName(node), t.Dst)).AtTransfer(j))
			}
			if end := r.at + t.End; end != at {
				code := verify.TooFast
				if end > at {
					code = verify.TooSlow
				}
				x.report(verify.Wrong(code, r.name, fmt.Sprintf("transfer %d ends at %v, want %v", j, end, at)).AtTransfer(j))
			}
		}
	}
	for l, list := range links {
		x.sort(list)
		for i := 1; i < len(list); i++ {
			if list[i].from < list[i-1].to {
				x.report(verify.Wrong(verify.LinkOverlap, fmt.Sprintf("link %d", l), fmt.Sprintf("carries %s at %v, when it still carries %s", x.runs[list[i].run].name, list[i].from, x.runs[list[i-1].run].name)))
			}
			if x.full() {
				return
			}
		}
	}
	for i, port := range topo.Ports {
		var all []busy
		for _, l := range port.Links {
			all = append(all, links[l]...)
		}
		x.capacity(all, port.Capacity, verify.PortOverload, fmt.Sprintf("port %d", i))
	}
}

// capacity checks that no more of list are under way at once than a number.
func (x *execution) capacity(list []busy, most int, code verify.Code, where string) {
	x.sort(list)
	ends := []model.Time{}
	for _, b := range list {
		ends = append(ends, b.to)
	}
	slices.Sort(ends)
	over := 0
	for i, b := range list {
		for ends[over] <= b.from {
			over++
		}
		if i+1-over > most {
			x.report(verify.Wrong(code, where, fmt.Sprintf("%d at once at %v, %s among them, want at most %d", i+1-over, b.from, x.runs[b.run].name, most)))
		}
		if x.full() {
			return
		}
	}
}

// computes checks that a rank does one computation at a time (V6).
func (x *execution) computes() {
	on := make([][]busy, x.w.Topology.Ranks)
	for i, r := range x.runs {
		for m := range r.starts {
			v := r.members[m]
			on[v] = append(on[v], busy{r.first[v], r.last[v], int32(i)})
		}
	}
	for v, list := range on {
		x.capacity(list, 1, verify.ComputeOverlap, fmt.Sprintf("rank %d", v))
	}
}

// memory checks what is held on each rank (V8).
func (x *execution) memory() {
	if x.w.Memory == nil {
		return
	}
	type change struct {
		at model.Time
		by int64
	}
	for v, most := range x.w.Memory {
		held := int64(0)
		for _, j := range x.w.Jobs {
			held += j.Resident
		}
		var list []change
		for _, r := range x.runs {
			if b := x.w.Ops[r.op].Bytes; b > 0 {
				if at, on := r.first[v]; on {
					list = append(list, change{at, b}, change{r.last[v], -b})
				}
			}
			if x.full() {
				return
			}
		}
		slices.SortFunc(list, func(a, b change) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.by, b.by)) })
		worst, when := held, model.Time(0)
		for _, c := range list {
			if held += c.by; held > worst {
				worst, when = held, c.at
			}
		}
		if worst > most {
			x.report(verify.Wrong(verify.OutOfMemory, fmt.Sprintf("rank %d", v), fmt.Sprintf("%d bytes are needed at %v, want at most %d", worst, when, most)).AtRank(v))
		}
	}
}

// edges checks that operations wait as they must (V5).
func (x *execution) edges() {
	for _, e := range x.w.Edges {
		for k := range x.periods * x.w.Iterations(e.To) {
			to, from := x.byRun[[2]int{e.To, k}], x.byRun[[2]int{e.From, k - e.Height}]
			if from == nil { // before the first iteration
				continue
			}
			if x.full() {
				return
			}
			early := func(v, u int, at, want model.Time) {
				x.report(verify.Wrong(verify.BeforeDependency, to.name, fmt.Sprintf("begins on rank %d at %v, before %v, when %s is ready on rank %d", v, at, want, from.name, u)).AtRank(v))
			}
			ready := func(u int) model.Time {
				if e.FromStart {
					return from.first[u] + e.Offset
				}
				return from.last[u]
			}
			switch e.Scope {
			case wl.ByRank:
				for _, v := range to.members {
					if _, both := from.in[v]; both && to.first[v] < ready(v) {
						early(v, v, to.first[v], ready(v))
					}
				}
			case wl.ByAll:
				for _, u := range from.members {
					for _, v := range to.members {
						if to.first[v] < ready(u) {
							early(v, u, to.first[v], ready(u))
						}
					}
				}
			case wl.ByChunk:
				x.byChunk(from, to, early)
			}
		}
	}
}

// byChunk checks an edge of scope chunk.
func (x *execution) byChunk(from, to *run, early func(v, u int, at, want model.Time)) {
	type spot struct{ rank, cell int }
	ends := map[spot]model.Time{}
	visit := func(r *run, see func(at spot, start, end model.Time)) {
		for i := range r.program.Transfers {
			t := &r.program.Transfers[i]
			for _, v := range []int{int(t.Src), int(t.Dst)} {
				_, a, b := x.place(r, int(t.Chunk), v)
				for c := a; c < b; c++ {
					see(spot{v, c}, r.at+t.Start, r.at+t.End)
				}
				x.work.Go(1 + b - a)
			}
		}
	}
	visit(from, func(at spot, _, end model.Time) { ends[at] = max(ends[at], end) })
	visit(to, func(at spot, start, _ model.Time) {
		if end, ok := ends[at]; ok && start < end {
			early(at.rank, at.rank, start, end)
		}
	})
}

// place returns where a run has a chunk on a rank.
func (x *execution) place(r *run, chunk, rank int) (buffer, from, to int) {
	name, at := x.w.BufferOf(r.op, rank)
	c := r.problem.Chunks[chunk]
	return x.l.cells(wl.Region{Buffer: name, Offset: at + c.Offset, Size: c.Size})
}
