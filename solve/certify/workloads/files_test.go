package workloads_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/native"
	wl "github.com/oraccl/oraccl/model/workload"
	"github.com/oraccl/oraccl/solve/crossover"
	"github.com/oraccl/oraccl/solve/workload"
	"github.com/oraccl/oraccl/verify"
	checks "github.com/oraccl/oraccl/verify/workload"
)

const testdata = "../../../testdata/workloads"

// examples are the right schedules in testdata/workloads/accept.
func examples(t *testing.T) map[string]*wl.Schedule {
	all := bases(t)
	late := &model.Problem{Topology: network(t, "ring:4"), Collective: model.Collective{Kind: model.AllReduce}, Size: 4096, Cost: model.Pipelined}
	all["straggler"] = solved(t, workload.Straggler(late, 3, 5*model.Microsecond), nil).Schedule
	w := &wl.Workload{Topology: network(t, "full:4"), Cost: model.Pipelined, Operators: []wl.Operator{{Name: "adasum", Commutative: true, Tree: wl.Balanced}},
		Ops: []wl.Op{{ID: "adasum", Kind: "allreduce", Operator: "adasum", Size: 4096}}}
	w.Ops[0].Chunks = w.Problem(0).Cut(1)
	all["adasum-recursive-doubling"] = programs(t, w, "recursive-doubling")
	muri := []crossover.Job{crossover.Coarse("vgg16", 67*model.Millisecond, 131*model.Millisecond), crossover.Coarse("gpt2", 414*model.Millisecond, 216*model.Millisecond), crossover.Coarse("bert", 166*model.Millisecond, 133*model.Millisecond)}
	s, err := crossover.Periodic(muri)
	require.NoError(t, err)
	all["muri"] = crossover.Build(nil, 0, muri, s, nil)
	all["product"] = product(t, 0, 1, 2, 3)
	all["memory"] = fitting(t, 70)
	return all
}

// product is a product of matrices along four ranks, of which the last one has the result, in the order
// of the goal's group.
func product(t *testing.T, order ...int) *wl.Schedule {
	g := wl.Region{Buffer: "g", Size: 64}
	w := &wl.Workload{Topology: network(t, "full:4"), Cost: model.Pipelined, Operators: []wl.Operator{{Name: "product", Associative: true, Elementwise: true}},
		Groups: []wl.Group{{Name: "factors", Ranks: order}, {Name: "last", Ranks: []int{3}}},
		Ops:    []wl.Op{{ID: "product", Kind: "reduce", Root: 3, Operator: "product", Size: 64, Chunks: cutting(64, 1), Buffer: wl.Region{Buffer: "g"}}},
		Goal:   []wl.Goal{{Region: g, Group: "last", Value: wl.Value{Rank: -1, Operator: "product", Over: "factors", Of: []wl.Value{{Rank: -1, Input: &wl.Region{Buffer: "g"}}}}}}}
	along := &model.Schedule{Form: model.Timed}
	at := model.Time(0)
	for v := range 3 {
		l := slices.IndexFunc(w.Topology.Links, func(l model.Link) bool { return l.Src == v && l.Dst == v+1 })
		end := at + w.Topology.Links[l].Alpha + model.TransferTime(64, w.Topology.Links[l].Bandwidth)
		along.Routes = append(along.Routes, []int{l})
		along.Transfers = append(along.Transfers, model.Transfer{Src: int32(v), Dst: int32(v + 1), Route: int32(v), Op: model.Reduction, Start: at, End: end})
		at = end
	}
	s := &wl.Schedule{Workload: w, Programs: []*model.Schedule{along}, Placed: []wl.Placement{{}}}
	require.NoError(t, s.Validate())
	return s
}

func cutting(size int64, n int) []model.Chunk {
	return (&model.Problem{Size: size, Collective: model.Collective{Kind: model.AllReduce}}).Cut(n)
}

// fitting is two jobs in turns, with what each keeps on a rank, and what each needs while it computes, on
// ranks with a memory of this size.
func fitting(t *testing.T, bytes int64) *wl.Schedule {
	jobs := []crossover.Job{crossover.Coarse("A", 700, 500), crossover.Coarse("B", 400, 900)}
	s, err := crossover.Periodic(jobs)
	require.NoError(t, err)
	built := crossover.Build(nil, 0, jobs, s, nil)
	built.Workload.Memory = []int64{bytes, bytes}
	for i, resident := range []int64{20, 10} {
		built.Workload.Jobs[i].Resident = resident
		built.Workload.Ops[built.Workload.Index("compute "+jobs[i].Name)].Bytes = 40
	}
	require.NoError(t, built.Validate())
	return built
}

// wrong are the refuted schedules in testdata/workloads/reject: one of each kind of mutation,
// from a base that shows it, Adasum by a ring, with a combination before its scalars, and with two trees, two jobs that
// deadlock, factors of a product exchanged, a gradient that is not summed over the depth, and a byte of memory less
// than two jobs need.
func wrong(t *testing.T) map[string]*wl.Schedule {
	all := map[string]*wl.Schedule{}
	r := rand.New(rand.NewPCG(21, 22))
	of := bases(t)
	names := []string{"periodic", "rates", "finite", "adasum", "hierarchical", "topk", "grid"} // small ones first
	for _, m := range mutations {
		name := strings.Trim(regexp.MustCompile(`[^a-z]+`).ReplaceAllString(m.name, "-"), "-")
	search:
		for range 20 {
			for _, base := range names {
				s := clone(of[base])
				if !m.apply(r, s) || s.Validate() != nil {
					continue
				}
				v, _, err := checks.Check(t.Context(), s)
				require.NoError(t, err)
				if v.Outcome == verify.Refuted {
					all[base+"-"+name] = s
					break search
				}
			}
		}
	}
	w := &wl.Workload{Topology: network(t, "full:4"), Cost: model.Pipelined, Operators: []wl.Operator{{Name: "adasum", Commutative: true, Tree: wl.Balanced}},
		Ops: []wl.Op{{ID: "adasum", Kind: "allreduce", Operator: "adasum", Size: 4096}}}
	w.Ops[0].Chunks = w.Problem(0).Cut(4)
	all["adasum-ring"] = programs(t, w, "ring")
	all["adasum-two-chunks-with-different-trees"] = twoTrees(t)
	all["adasum-a-combination-before-its-scalars"] = hasty(t, of["adasum"])
	all["grid-without-the-sum-over-depth"] = without(t, of["grid"], "depth.")
	all["deadlock-of-two-jobs"] = deadlocked(t)
	all["product-factors-exchanged"] = product(t, 0, 2, 1, 3)
	all["memory-for-one-job-less"] = fitting(t, 69)
	return all
}

// twoTrees is Adasum by recursive doubling, where one half of the tensor is exchanged with other partners first.
func twoTrees(t *testing.T) *wl.Schedule {
	w := &wl.Workload{Topology: network(t, "full:4"), Cost: model.Pipelined, Operators: []wl.Operator{{Name: "adasum", Commutative: true, Tree: wl.Balanced}},
		Ops: []wl.Op{{ID: "adasum", Kind: "allreduce", Operator: "adasum", Size: 4096}}}
	w.Ops[0].Chunks = w.Problem(0).Cut(2)
	s := programs(t, w, "recursive-doubling")
	other := []int32{0, 2, 1, 3}
	for i := range s.Programs[0].Transfers {
		x := &s.Programs[0].Transfers[i]
		if x.Chunk == 0 {
			continue
		}
		x.Src, x.Dst = other[x.Src], other[x.Dst]
		x.Route = int32(len(s.Programs[0].Routes))
		s.Programs[0].Routes = append(s.Programs[0].Routes, []int{slices.IndexFunc(w.Topology.Links, func(l model.Link) bool { return l.Src == int(x.Src) && l.Dst == int(x.Dst) })})
	}
	require.NoError(t, s.Validate())
	return s
}

// hasty is a schedule of Adasum in which a rank combines, as its workload allows, once its own scalars are there.
func hasty(t *testing.T, base *wl.Schedule) *wl.Schedule {
	s := clone(base)
	combine, dot := s.Workload.Index("combine.0.0"), s.Workload.Index("dot.0.0")
	s.Workload.Edges = slices.DeleteFunc(s.Workload.Edges, func(e wl.Edge) bool { return e.To == combine })
	s.Workload.After("combine.0.0", "dot.0.0", wl.ByRank)
	for i := range s.Placed {
		if p := &s.Placed[i]; p.Op == combine {
			k := slices.IndexFunc(s.Placed, func(q wl.Placement) bool { return q.Op == dot })
			p.Starts = []model.Time{s.Placed[k].Starts[0] + s.Workload.DurationOn(dot, 0)}
		}
	}
	require.NoError(t, s.Validate())
	return s
}

// without is a schedule without the operations whose names begin so, and without what waits for them.
func without(t *testing.T, base *wl.Schedule, prefix string) *wl.Schedule {
	s := clone(base)
	index := make([]int, len(s.Workload.Ops))
	var ops []wl.Op
	for i, op := range s.Workload.Ops {
		if index[i] = len(ops); strings.HasPrefix(op.ID, prefix) {
			index[i] = -1
			continue
		}
		ops = append(ops, op)
	}
	require.Less(t, len(ops), len(index))
	s.Workload.Ops = ops
	s.Workload.Edges = slices.DeleteFunc(s.Workload.Edges, func(e wl.Edge) bool { return index[e.From] < 0 || index[e.To] < 0 })
	for i := range s.Workload.Edges {
		e := &s.Workload.Edges[i]
		e.From, e.To = index[e.From], index[e.To]
	}
	s.Placed = slices.DeleteFunc(s.Placed, func(p wl.Placement) bool { return index[p.Op] < 0 })
	for i := range s.Placed {
		s.Placed[i].Op = index[s.Placed[i].Op]
	}
	require.NoError(t, s.Validate())
	return s
}

// line is what the index says of a refuted schedule: each engine's first violation.
func line(t *testing.T, s *wl.Schedule) string {
	v, each, err := checks.Check(t.Context(), s)
	require.NoError(t, err)
	require.Equal(t, verify.Refuted, v.Outcome)
	var says []string
	for _, e := range each {
		first := e.Outcome.String()
		if len(e.Violations) > 0 {
			first = e.Violations[0].String()
		}
		says = append(says, e.Engine+": "+first)
	}
	return strings.Join(says, "\t")
}

// The files of testdata/workloads are what this package makes; with UPDATE set they are written.
// A schedule in accept is proved by all engines; of one in reject the file violations.tsv has
// what each engine says first.
func TestFiles(t *testing.T) {
	accept, reject := filepath.Join(testdata, "accept"), filepath.Join(testdata, "reject")
	if os.Getenv("UPDATE") != "" {
		write := func(dir string, all map[string]*wl.Schedule) {
			require.NoError(t, os.RemoveAll(dir))
			require.NoError(t, os.MkdirAll(dir, 0o755))
			for name, s := range all {
				var b bytes.Buffer
				require.NoError(t, native.WriteTimetable(&b, s))
				require.NoError(t, os.WriteFile(filepath.Join(dir, name+".json"), b.Bytes(), 0o644))
			}
		}
		write(accept, examples(t))
		bad := wrong(t)
		write(reject, bad)
		var lines []string
		for name, s := range bad {
			lines = append(lines, fmt.Sprintf("%s\t%s\n", name, line(t, s)))
		}
		slices.Sort(lines)
		require.NoError(t, os.WriteFile(filepath.Join(reject, "violations.tsv"), []byte(strings.Join(lines, "")), 0o644))
	}
	read := func(name string) *wl.Schedule {
		b, err := os.ReadFile(name)
		require.NoError(t, err)
		s, err := native.ReadTimetable(name, bytes.NewReader(b))
		require.NoError(t, err)
		return s
	}
	right, err := filepath.Glob(filepath.Join(accept, "*.json"))
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(right), 12)
	for _, name := range right {
		v, each, err := checks.Check(t.Context(), read(name))
		require.NoError(t, err)
		require.Equal(t, verify.Proved, v.Outcome, name)
		for _, e := range each {
			require.Equal(t, verify.Proved, e.Outcome, "%s: %s %s", name, e.Engine, e.Reason)
		}
	}
	index, err := os.ReadFile(filepath.Join(reject, "violations.tsv"))
	require.NoError(t, err)
	lines := strings.Split(strings.TrimSpace(string(index)), "\n")
	require.Greater(t, len(lines), len(mutations), "each kind of mutation, and seven more")
	for _, want := range lines {
		name, says, _ := strings.Cut(want, "\t")
		require.Equal(t, says, line(t, read(filepath.Join(reject, name+".json"))), name)
	}
	left, err := filepath.Glob(filepath.Join(reject, "*.json"))
	require.NoError(t, err)
	require.Len(t, left, len(lines))
}
