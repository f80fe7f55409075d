package workloads_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model"
	wl "github.com/oraccl/oraccl/model/workload"
	"github.com/oraccl/oraccl/solve/certify/workloads"
	"github.com/oraccl/oraccl/solve/crossover"
	"github.com/oraccl/oraccl/solve/workload"
	"github.com/oraccl/oraccl/verify"
	checks "github.com/oraccl/oraccl/verify/workload"
)

// clone copies all of a schedule that mutations change.
func clone(s *wl.Schedule) *wl.Schedule {
	t := *s
	w := *s.Workload
	t.Workload = &w
	w.Ops, w.Edges, w.Goal, w.Jobs, w.Groups = slices.Clone(w.Ops), slices.Clone(w.Edges), slices.Clone(w.Goal), slices.Clone(w.Jobs), slices.Clone(w.Groups)
	for i := range w.Ops {
		w.Ops[i].Reads, w.Ops[i].Writes, w.Ops[i].Duration = slices.Clone(w.Ops[i].Reads), slices.Clone(w.Ops[i].Writes), slices.Clone(w.Ops[i].Duration)
	}
	t.Placed, t.Programs = slices.Clone(s.Placed), slices.Clone(s.Programs)
	for i := range t.Placed {
		t.Placed[i].Starts = slices.Clone(t.Placed[i].Starts)
	}
	for i, p := range t.Programs {
		t.Programs[i] = &model.Schedule{Form: p.Form, Routes: slices.Clone(p.Routes), Transfers: slices.Clone(p.Transfers)}
	}
	return &t
}

// mutation is one kind of change; it returns false where it does not apply. must says that what
// comes out is wrong whenever it applies.
type mutation struct {
	name  string
	must  bool
	apply func(r *rand.Rand, s *wl.Schedule) bool
}

// pick returns a random index of those that fit.
func pick(r *rand.Rand, n int, fits func(i int) bool) (int, bool) {
	var all []int
	for i := range n {
		if fits(i) {
			all = append(all, i)
		}
	}
	if len(all) == 0 {
		return 0, false
	}
	return all[r.IntN(len(all))], true
}

func isCompute(s *wl.Schedule) func(int) bool {
	return func(i int) bool { return s.Workload.Ops[s.Placed[i].Op].Kind == wl.Compute }
}

func hasTransfers(s *wl.Schedule) func(int) bool {
	return func(i int) bool {
		return s.Placed[i].Program >= 0 && len(s.Programs[s.Placed[i].Program].Transfers) > 0
	}
}

// anyTransfer picks a transfer of a program.
func anyTransfer(r *rand.Rand, s *wl.Schedule) (*model.Schedule, int, bool) {
	i, ok := pick(r, len(s.Placed), hasTransfers(s))
	if !ok {
		return nil, 0, false
	}
	p := s.Programs[s.Placed[i].Program]
	return p, r.IntN(len(p.Transfers)), true
}

var mutations = []mutation{
	{"a transfer left out", false, func(r *rand.Rand, s *wl.Schedule) bool {
		p, j, ok := anyTransfer(r, s)
		if ok {
			p.Transfers = slices.Delete(p.Transfers, j, j+1)
		}
		return ok
	}},
	{"a contribution twice", false, func(r *rand.Rand, s *wl.Schedule) bool {
		p, j, ok := anyTransfer(r, s)
		if !ok {
			return false
		}
		t, end := p.Transfers[j], model.Time(0)
		for _, x := range p.Transfers {
			end = max(end, x.End)
		}
		t.Start, t.End = end, end+t.End-t.Start
		p.Transfers = append(p.Transfers, t)
		return t.Op == model.Reduction
	}},
	{"a copy for a sum", false, func(r *rand.Rand, s *wl.Schedule) bool {
		p, j, ok := anyTransfer(r, s)
		if !ok || p.Transfers[j].Op != model.Reduction {
			return false
		}
		p.Transfers[j].Op = model.Copy
		return true
	}},
	{"a sum for a copy", false, func(r *rand.Rand, s *wl.Schedule) bool {
		p, j, ok := anyTransfer(r, s)
		if !ok || p.Transfers[j].Op != model.Copy {
			return false
		}
		p.Transfers[j].Op = model.Reduction
		return true
	}},
	{"too fast by a picosecond", true, func(r *rand.Rand, s *wl.Schedule) bool {
		p, j, ok := anyTransfer(r, s)
		if ok {
			p.Transfers[j].End--
		}
		return ok
	}},
	{"too slow by a picosecond", true, func(r *rand.Rand, s *wl.Schedule) bool {
		p, j, ok := anyTransfer(r, s)
		if ok {
			p.Transfers[j].End++
		}
		return ok
	}},
	{"a transfer earlier", false, func(r *rand.Rand, s *wl.Schedule) bool {
		p, j, ok := anyTransfer(r, s)
		if !ok || p.Transfers[j].Start == 0 {
			return false
		}
		by := 1 + model.Time(r.Int64N(int64(p.Transfers[j].Start)))
		p.Transfers[j].Start, p.Transfers[j].End = p.Transfers[j].Start-by, p.Transfers[j].End-by
		return true
	}},
	{"a transfer later", false, func(r *rand.Rand, s *wl.Schedule) bool {
		p, j, ok := anyTransfer(r, s)
		if ok {
			by := 1 + model.Time(r.Int64N(1<<21))
			p.Transfers[j].Start, p.Transfers[j].End = p.Transfers[j].Start+by, p.Transfers[j].End+by
		}
		return ok
	}},
	{"another chunk", false, func(r *rand.Rand, s *wl.Schedule) bool {
		i, ok := pick(r, len(s.Placed), func(i int) bool { return hasTransfers(s)(i) && len(s.Workload.Ops[s.Placed[i].Op].Chunks) > 1 })
		if !ok {
			return false
		}
		p := s.Programs[s.Placed[i].Program]
		j := r.IntN(len(p.Transfers))
		n := int32(len(s.Workload.Ops[s.Placed[i].Op].Chunks))
		p.Transfers[j].Chunk = (p.Transfers[j].Chunk + 1 + r.Int32N(n-1)) % n
		return true
	}},
	{"source and destination exchanged", true, func(r *rand.Rand, s *wl.Schedule) bool {
		p, j, ok := anyTransfer(r, s)
		if ok {
			p.Transfers[j].Src, p.Transfers[j].Dst = p.Transfers[j].Dst, p.Transfers[j].Src
		}
		return ok
	}},
	{"another route", false, func(r *rand.Rand, s *wl.Schedule) bool {
		p, j, ok := anyTransfer(r, s)
		if !ok || len(p.Routes) < 2 {
			return false
		}
		was := p.Routes[p.Transfers[j].Route]
		p.Transfers[j].Route = r.Int32N(int32(len(p.Routes)))
		return !slices.Equal(was, p.Routes[p.Transfers[j].Route])
	}},
	{"an operation at once", false, func(r *rand.Rand, s *wl.Schedule) bool {
		i, ok := pick(r, len(s.Placed), func(i int) bool { return s.Placed[i].Program >= 0 && s.Placed[i].At > 0 })
		if ok {
			s.Placed[i].At = 0
		}
		return ok
	}},
	{"an operation earlier", false, func(r *rand.Rand, s *wl.Schedule) bool {
		i, ok := pick(r, len(s.Placed), func(i int) bool { return s.Placed[i].Program >= 0 && s.Placed[i].At > 0 })
		if ok {
			s.Placed[i].At -= 1 + model.Time(r.Int64N(int64(s.Placed[i].At)))
		}
		return ok
	}},
	{"an operation later", false, func(r *rand.Rand, s *wl.Schedule) bool {
		i, ok := pick(r, len(s.Placed), hasTransfers(s))
		if ok {
			s.Placed[i].At += 1 + model.Time(r.Int64N(1<<22))
		}
		return ok
	}},
	{"a computation earlier by a picosecond on one rank", false, func(r *rand.Rand, s *wl.Schedule) bool {
		i, ok := pick(r, len(s.Placed), func(i int) bool { return isCompute(s)(i) && slices.Max(s.Placed[i].Starts) > 0 })
		if !ok {
			return false
		}
		m, ok := pick(r, len(s.Placed[i].Starts), func(m int) bool { return s.Placed[i].Starts[m] > 0 })
		s.Placed[i].Starts[m]--
		return ok
	}},
	{"a computation later on one rank", false, func(r *rand.Rand, s *wl.Schedule) bool {
		i, ok := pick(r, len(s.Placed), isCompute(s))
		if ok {
			s.Placed[i].Starts[r.IntN(len(s.Placed[i].Starts))] += 1 + model.Time(r.Int64N(1<<20))
		}
		return ok
	}},
	{"a computation of no time more", false, func(r *rand.Rand, s *wl.Schedule) bool {
		i, ok := pick(r, len(s.Workload.Ops), func(i int) bool { return s.Workload.Ops[i].Kind == wl.Compute })
		if ok {
			s.Workload.Ops[i].Duration[0] *= 2
		}
		return ok
	}},
	{"two computations exchanged", false, func(r *rand.Rand, s *wl.Schedule) bool {
		i, ok := pick(r, len(s.Placed), isCompute(s))
		j, also := pick(r, len(s.Placed), func(j int) bool {
			return isCompute(s)(j) && j != i && len(s.Placed[i].Starts) == len(s.Placed[j].Starts)
		})
		if ok && also {
			s.Placed[i].Starts, s.Placed[j].Starts = s.Placed[j].Starts, s.Placed[i].Starts
		}
		return ok && also && !slices.Equal(s.Placed[i].Starts, s.Placed[j].Starts)
	}},
	{"a job's iterations exchanged", true, func(r *rand.Rand, s *wl.Schedule) bool {
		i, ok := pick(r, len(s.Placed), func(i int) bool { return s.Workload.Iterations(s.Placed[i].Op) > 1 })
		if !ok {
			return false
		}
		j, ok := pick(r, len(s.Placed), func(j int) bool { return s.Placed[j].Op == s.Placed[i].Op && j != i })
		s.Placed[i].Iteration, s.Placed[j].Iteration = s.Placed[j].Iteration, s.Placed[i].Iteration
		return ok
	}},
	{"a period of a picosecond less", false, func(_ *rand.Rand, s *wl.Schedule) bool {
		s.Period--
		return s.Period > 0
	}},
	{"a late rank", false, func(r *rand.Rand, s *wl.Schedule) bool {
		s.Workload.Release = make([]model.Time, s.Workload.Topology.Ranks)
		s.Workload.Release[r.IntN(s.Workload.Topology.Ranks)] = 1 + model.Time(r.Int64N(int64(s.Makespan())))
		return true
	}},
	{"an edge left out", false, func(r *rand.Rand, s *wl.Schedule) bool {
		if len(s.Workload.Edges) == 0 {
			return false
		}
		i := r.IntN(len(s.Workload.Edges))
		s.Workload.Edges = slices.Delete(s.Workload.Edges, i, i+1)
		return true
	}},
	{"an edge for all", false, func(r *rand.Rand, s *wl.Schedule) bool {
		i, ok := pick(r, len(s.Workload.Edges), func(i int) bool { return s.Workload.Edges[i].Scope != wl.ByAll })
		if ok {
			s.Workload.Edges[i].Scope = wl.ByAll
		}
		return ok
	}},
	{"a height more", false, func(r *rand.Rand, s *wl.Schedule) bool {
		i, ok := pick(r, len(s.Workload.Edges), func(i int) bool {
			return s.Workload.Ops[s.Workload.Edges[i].From].Job != "" && s.Workload.Edges[i].Height == 1
		})
		if ok {
			s.Workload.Edges[i].Height++
		}
		return ok
	}},
	{"an offset that is too small", false, func(r *rand.Rand, s *wl.Schedule) bool {
		i, ok := pick(r, len(s.Workload.Edges), func(i int) bool { return s.Workload.Edges[i].FromStart && s.Workload.Edges[i].Offset > 0 })
		if ok {
			s.Workload.Edges[i].Offset--
		}
		return ok
	}},
	{"another place in the buffer", false, func(r *rand.Rand, s *wl.Schedule) bool {
		i, ok := pick(r, len(s.Workload.Ops), func(i int) bool { return s.Workload.Ops[i].Buffer.Buffer != "" })
		if ok {
			s.Workload.Ops[i].Buffer.Offset += s.Workload.Ops[i].Chunks[0].Size
		}
		return ok
	}},
	{"another buffer", false, func(r *rand.Rand, s *wl.Schedule) bool {
		i, ok := pick(r, len(s.Workload.Ops), func(i int) bool { return s.Workload.Ops[i].Buffer.Buffer != "" })
		if ok {
			s.Workload.Ops[i].Buffer.Buffer = "elsewhere"
		}
		return ok
	}},
	{"another root", true, func(r *rand.Rand, s *wl.Schedule) bool {
		i, ok := pick(r, len(s.Workload.Ops), func(i int) bool {
			k, _ := s.Workload.Ops[i].Kind.Collective()
			return k.Rooted() && s.Workload.Ops[i].Kind != wl.SendRecv
		})
		if !ok {
			return false
		}
		members := s.Workload.Members(s.Workload.Ops[i].Group)
		at := slices.Index(members, s.Workload.Ops[i].Root)
		s.Workload.Ops[i].Root = members[(at+1)%len(members)]
		return len(members) > 1
	}},
	{"another function", false, func(r *rand.Rand, s *wl.Schedule) bool {
		i, ok := pick(r, len(s.Workload.Ops), func(i int) bool { f := s.Workload.Ops[i].Function; return f != "" && f != wl.Scalars })
		if ok {
			s.Workload.Ops[i].Function += "'"
		}
		return ok && len(s.Workload.Goal) > 0
	}},
	{"overwritten, not added", true, func(r *rand.Rand, s *wl.Schedule) bool {
		i, ok := pick(r, len(s.Workload.Ops), func(i int) bool {
			return s.Workload.Ops[i].Kind == wl.Compute && s.Workload.Ops[i].Function != "" && s.Workload.Ops[i].Operator == "sum"
		})
		if ok {
			s.Workload.Ops[i].Operator = ""
		}
		return ok
	}},
	{"a read from another place", false, func(r *rand.Rand, s *wl.Schedule) bool {
		i, ok := pick(r, len(s.Workload.Ops), func(i int) bool { return len(s.Workload.Ops[i].Reads) > 0 })
		if ok {
			k := r.IntN(len(s.Workload.Ops[i].Reads))
			s.Workload.Ops[i].Reads[k].Offset += s.Workload.Ops[i].Reads[k].Size
		}
		return ok && len(s.Workload.Goal) > 0
	}},
	{"a goal elsewhere", false, func(r *rand.Rand, s *wl.Schedule) bool {
		if len(s.Workload.Goal) < 2 {
			return false
		}
		a, b := r.IntN(len(s.Workload.Goal)), r.IntN(len(s.Workload.Goal))
		s.Workload.Goal[a].Value, s.Workload.Goal[b].Value = s.Workload.Goal[b].Value, s.Workload.Goal[a].Value
		return a != b
	}},
	{"less memory than it needs", true, func(r *rand.Rand, s *wl.Schedule) bool {
		i, ok := pick(r, len(s.Workload.Ops), func(i int) bool { return s.Workload.Ops[i].Kind == wl.Compute })
		if ok {
			s.Workload.Ops[i].Bytes = 8
			s.Workload.Memory = make([]int64, s.Workload.Topology.Ranks)
			for v := range s.Workload.Memory {
				s.Workload.Memory[v] = 7
			}
		}
		return ok
	}},
	{"a program of another operation", false, func(r *rand.Rand, s *wl.Schedule) bool {
		i, ok := pick(r, len(s.Placed), hasTransfers(s))
		j, also := pick(r, len(s.Placed), func(j int) bool { return hasTransfers(s)(j) && s.Placed[j].Program != s.Placed[i].Program })
		if ok && also {
			s.Placed[i].Program = s.Placed[j].Program
		}
		return ok && also
	}},
}

// bases are right schedules of every kind of workload.
func bases(t *testing.T) map[string]*wl.Schedule {
	all := map[string]*wl.Schedule{}
	add := func(name string, w *wl.Workload, err error) {
		all[name] = solved(t, w, err).Schedule
	}
	w, err := workload.Hierarchical(network(t, "switch:6"), model.Pipelined, blocks(2, 3), 6<<10, 1)
	add("hierarchical", w, err)
	w, err = (&workload.TopK{Nodes: blocks(2, 2), Elements: 1024, Value: 4, Index: 4, Keep: 8, Select: 5000, Scatter: 8000}).Workload(network(t, "full:4"), model.Blocking)
	add("topk", w, err)
	w, err = (&workload.Grid{Side: 2, Depth: 2, X: 1200, W: 600, Y: 1000, Multiply: 3000, Chunks: 2, Backward: true}).Workload(network(t, "switch:8"), model.Pipelined)
	add("grid", w, err)
	w, err = workload.Adasum(network(t, "full:4"), model.Pipelined, 4, 4096, 24, 100, 200)
	add("adasum", w, err)
	jobs := []crossover.Job{
		{Name: "A", Compute: 700, Rate: 1, Buckets: []crossover.Bucket{{Ready: 300, Time: 200}, {Ready: 700, Time: 300}}},
		{Name: "B", Compute: 400, Rate: 1, Buckets: []crossover.Bucket{{Ready: 400, Time: 900}}}}
	s, err := crossover.Periodic(jobs)
	require.NoError(t, err)
	all["periodic"] = crossover.Build(nil, 0, jobs, s, nil)
	jobs[0].Rate, jobs[1].Rate = 1, 2
	all["rates"] = crossover.Build(nil, 0, jobs, crossover.Rates(t.Context(), jobs), nil)
	jobs[0].Rate = 3
	all["finite"] = crossover.Build(nil, 0, jobs, crossover.Finite(jobs, crossover.RoundRobin), nil)
	return all
}

// Each kind of mutation of each base: the engines never contradict each other, what must be wrong
// is refuted, and each kind is refuted somewhere.
func TestMutations(t *testing.T) {
	require.GreaterOrEqual(t, len(mutations), 30)
	r := rand.New(rand.NewPCG(11, 12))
	refuted, accepted := map[string]int{}, map[string]int{}
	for name, base := range bases(t) {
		for _, m := range mutations {
			for range 3 {
				s := clone(base)
				if !m.apply(r, s) {
					continue
				}
				if s.Validate() != nil { // refused before anything is decided
					refuted[m.name]++
					continue
				}
				v, each, err := workloads.Check(t.Context(), s, 0)
				require.NoError(t, err, "%s of %s: %+v", m.name, name, each)
				for _, e := range each {
					require.NotEqual(t, verify.Unknown, e.Outcome, "%s of %s: %s: %s", m.name, name, e.Engine, e.Reason)
				}
				if v.Outcome == verify.Refuted {
					refuted[m.name]++
					continue
				}
				accepted[m.name]++
				require.False(t, m.must, "%s of %s is accepted", m.name, name)
			}
		}
	}
	for _, m := range mutations {
		t.Logf("%-50s refuted %3d, accepted %3d", m.name, refuted[m.name], accepted[m.name])
		require.Positive(t, refuted[m.name], m.name)
	}
}

// deadlocked returns a schedule of two jobs whose collectives begin in two orders on two ranks.
func deadlocked(t *testing.T) *wl.Schedule {
	net := network(t, "full:3")
	w := &wl.Workload{Topology: net, Cost: model.Pipelined, Groups: []wl.Group{{Name: "all", Ranks: []int{0, 1, 2}}}, Jobs: []wl.Job{{Name: "A", Iterations: 1}, {Name: "B", Iterations: 1}}}
	for _, job := range []string{"A", "B"} {
		w.Ops = append(w.Ops, wl.Op{ID: "allgather " + job, Kind: "allgather", Job: job, Group: "all", Size: 3000, Chunks: []model.Chunk{{Offset: 0, Size: 1000}, {Offset: 1000, Size: 1000}, {Offset: 2000, Size: 1000}}})
	}
	r, err := workloads.Solve(t.Context(), w, nil)
	require.NoError(t, err)
	require.Equal(t, verify.Proved, r.Verdict.Outcome)
	s := clone(r.Schedule)
	// Ranks 0 and 1 exchange for A first, then for B; ranks 1 and 2 for B long before.
	link := func(u, v int) int {
		return slices.IndexFunc(net.Links, func(l model.Link) bool { return l.Src == u && l.Dst == v })
	}
	d := net.Duration([]int{link(0, 1)}, 1000)
	program := func(times map[[2]int]model.Time) *model.Schedule {
		p := &model.Schedule{Form: model.Timed}
		for u := range 3 {
			for v := range 3 {
				if u == v {
					continue
				}
				at := times[[2]int{min(u, v), max(u, v)}]
				p.Routes = append(p.Routes, []int{link(u, v)})
				p.Transfers = append(p.Transfers, model.Transfer{Chunk: int32(u), Src: int32(u), Dst: int32(v), Route: int32(len(p.Routes) - 1), Start: at, End: at + d})
			}
		}
		return p
	}
	s.Programs = []*model.Schedule{program(map[[2]int]model.Time{{0, 1}: 0, {0, 2}: 2 * d, {1, 2}: 4 * d}), program(map[[2]int]model.Time{{1, 2}: 0, {0, 2}: 4 * d, {0, 1}: 6 * d})}
	for i := range s.Placed {
		s.Placed[i].At, s.Placed[i].Program = 0, s.Placed[i].Op
	}
	return s
}

// Two jobs whose collectives begin in two orders on two ranks deadlock a library, and the verdict
// names both.
func TestDeadlockOfTwoJobs(t *testing.T) {
	v, each, err := checks.Check(t.Context(), deadlocked(t))
	require.NoError(t, err)
	require.Equal(t, verify.Refuted, v.Outcome, "%+v", each)
	require.Contains(t, fmt.Sprint(v.Violations), "rank 0 begins allgather A before allgather B")
	require.Contains(t, fmt.Sprint(v.Violations), "begins allgather B before allgather A")
	require.True(t, strings.HasPrefix(v.Violations[0].String(), "deadlock"))
}
