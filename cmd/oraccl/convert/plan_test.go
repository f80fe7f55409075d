package convert

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/format/mscclpp"
	"github.com/oraccl/oraccl/model/topo"
	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/solve/assign"
	"github.com/oraccl/oraccl/solve/certify"
	"github.com/oraccl/oraccl/solve/solvetest"
	"github.com/oraccl/oraccl/verify"
	"github.com/oraccl/oraccl/verify/deploy"
	"github.com/oraccl/oraccl/verify/replay"
)

// TestWritePlans: what methods make on random networks is written as execution plans, with signals
// and with packets, each proved without a warning before it is written; or a limit is named.
func TestWritePlans(t *testing.T) {
	written, refused, back := map[string]int{}, 0, 0
	kinds := []model.Kind{model.AllReduce, model.AllGather, model.ReduceScatter, model.AllToAll}
	for seed := range uint64(16) {
		rng := rand.New(rand.NewPCG(seed, 18))
		p := &model.Problem{Topology: solvetest.RandomNetwork(rng), Collective: model.Collective{Kind: kinds[seed%4]}, Size: 1 << 16, Cost: model.Pipelined}
		p = p.WithChunks(p.DefaultChunks(1 + rng.IntN(2)))
		require.NoError(t, p.Validate())
		for _, name := range []string{"tacos", "direct", "paths"} {
			s := solved(t, p, name, seed)
			if s == nil {
				continue
			}
			for _, proto := range []string{"Simple", "LL"} {
				for _, in := range []string{"", "no"} {
					var b bytes.Buffer
					_, err := (&MSCCL{Proto: proto, InPlace: in}).writePlan(t.Context(), &b, p, s)
					var limit *mscclpp.NotServedError
					switch {
					case err == nil:
						written[proto]++
						back += readBack(t, p, b.Bytes())
					case errors.As(err, &limit) || errors.Is(err, assign.ErrNotServed):
						require.Empty(t, b.String())
						refused++
					default:
						require.NoError(t, err, "%v %s %s %q, seed %d", p, name, proto, in, seed)
					}
				}
			}
		}
	}
	t.Logf("%v written, %d refused, %d read back as schedules", written, refused, back)
	require.Equal(t, written["Simple"]+written["LL"], back)
	require.Greater(t, written["Simple"], 20)
	require.Greater(t, written["LL"], 20)
}

// readBack reads what was written as a schedule of the same problem, which is right, and has times
// that its order and the form of the file allow. It returns 1, and 0 if there is no such schedule.
func readBack(t *testing.T, p *model.Problem, plan []byte) int {
	f, err := mscclpp.Read("plan", bytes.NewReader(plan))
	require.NoError(t, err)
	m, err := f.Import(t.Context(), p.Topology, 0)
	if errors.Is(err, mscclpp.ErrNoSchedule) {
		t.Log(err)
		return 0
	}
	require.NoError(t, err)
	require.Empty(t, m.Objections)
	require.Equal(t, p.Collective.Kind, m.Problem.Collective.Kind)
	v := replay.Check(t.Context(), m.Problem, m.Schedule)
	require.Equal(t, verify.Proved, v.Outcome, v)
	if m.Schedule.Form == model.Ordered {
		timed, err := certify.Timed(t.Context(), m.Problem, m.Schedule, m.Order)
		require.NoError(t, err)
		require.Equal(t, verify.Proved, replay.Check(t.Context(), m.Problem, timed).Outcome)
	}
	return 1
}

func solved(t *testing.T, p *model.Problem, method string, seed uint64) *model.Schedule {
	ms, err := certify.MethodsNamed(method)
	require.NoError(t, err)
	m := ms[0]
	if m.Serves(p) != nil {
		return nil
	}
	r, err := m.Solve(t.Context(), p, solve.Options{Seed: seed, Tries: 1, Threads: 1, TimeLimit: time.Minute})
	if err != nil || r.Schedule == nil {
		return nil
	}
	return r.Schedule
}

// TestSameAsMSCCL: a schedule as MSCCL-IR and as a plan performs the same collective, by verifiers
// that share nothing but the conditions.
func TestSameAsMSCCL(t *testing.T) {
	network, err := topo.Parse("ring:4", topo.Options{})
	require.NoError(t, err)
	for _, kind := range []model.Kind{model.AllReduce, model.AllGather, model.ReduceScatter} {
		p := (&model.Problem{Topology: network, Collective: model.Collective{Kind: kind}, Size: 1 << 16, Cost: model.Pipelined}).WithChunks(4)
		s := solved(t, p, "ring", 1)
		require.NotNil(t, s)
		var xml, json bytes.Buffer
		_, err := (&MSCCL{}).Write(t.Context(), &xml, p, s)
		require.NoError(t, err)
		_, err = (&MSCCL{}).writePlan(t.Context(), &json, p, s)
		require.NoError(t, err)
		d, err := confirm(t.Context(), xml.Bytes(), nil, 0)
		require.NoError(t, err)
		r, err := confirmPlan(t.Context(), json.Bytes())
		require.NoError(t, err)
		require.Equal(t, strings.ReplaceAll(d.Report.Collective, "_", ""), r.Collective)
		require.Equal(t, verify.Proved, r.Plan.Properties["result"])
	}
}

// TestNopsAreNeeded leaves out each nop of a plan that was written, except that of the handshake: without it, it is
// refuted, or memory is no longer ordered.
func TestNopsAreNeeded(t *testing.T) {
	network, err := topo.Parse("dgxh100", topo.Options{})
	require.NoError(t, err)
	for _, proto := range []string{"Simple", "LL"} {
		p := (&model.Problem{Topology: network, Collective: model.Collective{Kind: model.AllReduce}, Size: 1 << 16, Cost: model.Pipelined}).WithChunks(8)
		s := solved(t, p, "tacos", 1)
		require.NotNil(t, s)
		var b bytes.Buffer
		_, err = (&MSCCL{Proto: proto}).writePlan(t.Context(), &b, p, s)
		require.NoError(t, err)
		n := 0
		for g := range 8 {
			f, err := mscclpp.Read("plan", bytes.NewReader(b.Bytes()))
			require.NoError(t, err)
			tb := &f.GPUs[g].Blocks[g]
			for i := range tb.Ops {
				if tb.Ops[i].Name != "nop" || tb.Ops[i-1].Name == "rlxwait" { // that of a handshake is for the worst case
					continue
				}
				n++
				tb.Ops[i].Name = "flush" // which does nothing
				r, err := deploy.CheckPlan(t.Context(), f.Plan(), deploy.Options{})
				require.NoError(t, err)
				warned := slices.ContainsFunc(r.Plan.Warnings, func(v verify.Violation) bool { return v.Code == verify.RelaxedOrder })
				require.True(t, r.Verdict.Outcome == verify.Refuted || warned, "gpu %d tb %d op %d", g, g, i)
				tb.Ops[i].Name = "nop"
			}
		}
		if proto == "Simple" {
			require.NotZero(t, n)
		}
	}
}

// TestPipelines writes schedules of many chunks with pipelines and without: both are proved to leave the
// same data, whatever the size; and thousands of chunks, which fit with pipelines alone.
func TestPipelines(t *testing.T) {
	written := 0
	for seed := range uint64(12) {
		rng := rand.New(rand.NewPCG(seed, 181))
		kinds := []model.Kind{model.AllReduce, model.AllGather, model.ReduceScatter, model.AllToAll}
		p := &model.Problem{Topology: solvetest.RandomNetwork(rng), Collective: model.Collective{Kind: kinds[seed%4]}, Size: 1 << 20, Cost: model.Pipelined}
		p = p.WithChunks(p.DefaultChunks(4))
		require.NoError(t, p.Validate())
		for _, name := range []string{"direct", "paths", "forest"} {
			s := solved(t, p, name, seed)
			if s == nil {
				continue
			}
			for _, in := range []string{"", "no"} {
				var with, without bytes.Buffer
				_, err := (&MSCCL{InPlace: in, iterate: true}).writePlan(t.Context(), &with, p, s)
				_, err2 := (&MSCCL{InPlace: in}).writePlan(t.Context(), &without, p, s)
				var limit *mscclpp.NotServedError
				for _, err := range []error{err, err2} {
					require.True(t, err == nil || errors.As(err, &limit) || errors.Is(err, assign.ErrNotServed), "%v %s %q, seed %d: %v", p, name, in, seed, err)
				}
				if err == nil && err2 == nil {
					require.Contains(t, with.String(), `"pipeline"`)
					require.NotContains(t, without.String(), `"pipeline"`)
					written++
				}
			}
		}
	}
	t.Logf("%d written with pipelines and without", written)
	require.Greater(t, written, 10)

	network, err := topo.Parse("ring:4", topo.Options{})
	require.NoError(t, err)
	p := (&model.Problem{Topology: network, Collective: model.Collective{Kind: model.AllReduce}, Size: 1 << 26, Cost: model.Pipelined}).WithChunks(4096)
	var b bytes.Buffer
	note, err := (&MSCCL{}).writePlan(t.Context(), &b, p, solved(t, p, "ring", 1))
	require.NoError(t, err)
	require.Contains(t, note, "4096 chunks")
	require.Less(t, b.Len(), 100_000)
}
