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
	return all
}

// wrong are the refuted schedules in testdata/workloads/reject: one of each kind of mutation,
// from a base that shows it, Adasum by a ring, and two jobs that deadlock.
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
	all["deadlock-of-two-jobs"] = deadlocked(t)
	return all
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
	require.GreaterOrEqual(t, len(right), 10)
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
	require.Greater(t, len(lines), len(mutations), "each kind of mutation, and two more")
	for _, want := range lines {
		name, says, _ := strings.Cut(want, "\t")
		require.Equal(t, says, line(t, read(filepath.Join(reject, name+".json"))), name)
	}
	left, err := filepath.Glob(filepath.Join(reject, "*.json"))
	require.NoError(t, err)
	require.Len(t, left, len(lines))
}
