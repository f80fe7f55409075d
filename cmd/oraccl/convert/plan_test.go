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

	"github.com/oraccl/oraccl/cmd/oraccl/judge"
	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/format/msccl"
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
	if testing.Short() {
		t.Skip("left out with -short: it takes long")
	}
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

// TestSameData: a program of what a rank does, as it is and with an operand changed, is written as MSCCL-IR
// and as a plan. The two verifiers, which share nothing but the conditions, find the same: both prove it, or both find
// wrong data. Where MSCCL-IR is refuted for its order alone nothing is compared: the plan has an order of its own.
func TestSameData(t *testing.T) {
	limits := msccl.LimitsOf(msccl.MSCCL)
	kinds := []model.Kind{model.AllReduce, model.AllGather, model.ReduceScatter}
	same, wrong, apart := 0, 0, 0
	for seed := range uint64(24) {
		rng := rand.New(rand.NewPCG(seed, 81))
		p := &model.Problem{Topology: solvetest.RandomNetwork(rng), Collective: model.Collective{Kind: kinds[seed%3]}, Size: 1 << 16, Cost: model.Pipelined}
		p = p.WithChunks(p.DefaultChunks(1))
		s := solved(t, p, []string{"tacos", "direct"}[seed/3%2], seed)
		if s == nil {
			continue
		}
		if _, network := p.InNetwork(s); network {
			continue
		}
		for range 6 {
			program, err := assign.Assign(p, s, assign.Options{InPlace: true, Limits: assign.Limits{
				Threadblocks: limits.Threadblocks, Steps: limits.Steps, Channels: limits.Channels, Peers: limits.Peers, Elements: limits.Elements, Chunks: limits.Chunks, Count: 1}})
			if errors.Is(err, assign.ErrNotServed) || errors.Is(err, assign.ErrLimit) {
				continue
			}
			require.NoError(t, err)
			changed := rng.IntN(4) > 0 && otherChunk(rng, program)
			x := asMSCCL(t, program)
			made, err := mscclpp.FromProgram(program, mscclpp.Header{Name: "same", Collective: p.Collective.Kind.String(), InPlace: true})
			var no *mscclpp.NotServedError
			if errors.As(err, &no) {
				continue
			}
			require.NoError(t, err)
			var b bytes.Buffer
			require.NoError(t, made.Write(&b, 1<<20))
			f, err := mscclpp.Read("plan", bytes.NewReader(b.Bytes()))
			require.NoError(t, err)
			r, err := deploy.CheckPlan(t.Context(), f.Plan(), deploy.Options{})
			require.NoError(t, err)
			data := func(v verify.Verdict) bool {
				return slices.ContainsFunc(v.Violations, func(x verify.Violation) bool {
					return slices.Contains([]verify.Code{verify.WrongValue, verify.MissingContribution, verify.DoubleContribution, verify.UninitialisedRead}, x.Code)
				})
			}
			race := slices.ContainsFunc(x.Violations, func(x verify.Violation) bool {
				return x.Code == verify.ReadWriteRace || x.Code == verify.WriteWriteRace
			})
			switch {
			case x.Outcome == verify.Proved:
				same++
				require.Equal(t, verify.Proved, r.Verdict.Outcome, "seed %d: %v", seed, r.Verdict)
			case data(x) && !race: // what a race does to the data is a matter of order, too
				wrong++
				require.True(t, changed)
				require.True(t, data(r.Verdict), "seed %d: %v, and the plan %v", seed, x, r.Verdict)
			default:
				apart++
				require.True(t, changed)
			}
		}
	}
	t.Logf("%d right, %d with wrong data by both, %d refuted for their order", same, wrong, apart)
	require.Greater(t, same, 20)
	require.Greater(t, wrong, 20)
}

// otherChunk has one step of a program read, or write, another chunk of the same buffer.
func otherChunk(rng *rand.Rand, p *model.Program) bool {
	q := &p.Processes[rng.IntN(len(p.Processes))]
	if len(q.Steps) == 0 {
		return false
	}
	in := &q.Steps[rng.IntN(len(q.Steps))]
	ref := &in.Src
	if in.Verb&(model.Reads|model.ReadsDst) == 0 || in.Verb&model.Writes != 0 && rng.IntN(2) == 0 {
		ref = &in.Dst
	}
	n := p.Buffers[q.Rank][ref.Buffer].Cells
	if n < 2 {
		return false
	}
	ref.Offset = (ref.Offset + 1 + rng.IntN(n-1)) % n
	return true
}

// asMSCCL is what is decided about a program as MSCCL-IR.
func asMSCCL(t *testing.T, p *model.Program) verify.Verdict {
	coll := msccl.CollName(p.Kind, msccl.MSCCL)
	algo, err := msccl.FromProgram(p, msccl.Header{Name: "same", Proto: "Simple", Coll: coll, InPlace: true, MaxBytes: 1 << 30})
	require.NoError(t, err)
	var b bytes.Buffer
	require.NoError(t, algo.Write(&b))
	read, err := msccl.Read("same", bytes.NewReader(b.Bytes()))
	require.NoError(t, err)
	d, err := judge.Algo(t.Context(), "same", read, deploy.Options{})
	require.NoError(t, err)
	return d.Report.Verdict
}

// TestNopsAreNeeded leaves out each nop of plans that were written: without it, the plan is refuted, or memory
// is no longer ordered, in this launch or from one to the next. Of large plans some threadblocks
// are looked at.
func TestNopsAreNeeded(t *testing.T) {
	if testing.Short() {
		t.Skip("left out with -short: it takes long")
	}
	all := writtenPlans(t)
	for name, x := range map[string]struct {
		network, method, proto string
		kind                   model.Kind
		chunks                 int
	}{
		"h100":         {"dgxh100", "tacos", "", model.AllReduce, 8},
		"h100 packets": {"dgxh100", "tacos", "LL", model.AllReduce, 8},
		"two machines": {"dgxa100:2", "quotient", "", model.AllGather, 32},
		"torus":        {"torus:3x3", "tacos", "", model.AllReduce, 36},
		"mixed":        {"dgxh100", "mixed", "", model.AllReduce, 8},
	} {
		network, err := topo.Parse(x.network, topo.Options{})
		require.NoError(t, err)
		p := (&model.Problem{Topology: network, Collective: model.Collective{Kind: x.kind}, Size: 1 << 20, Cost: model.Pipelined}).WithChunks(x.chunks)
		s := solved(t, p, x.method, 1)
		require.NotNil(t, s, name)
		var b bytes.Buffer
		_, err = (&MSCCL{Proto: x.proto}).writePlan(t.Context(), &b, p, s)
		require.NoError(t, err)
		all[name] = b.Bytes()
	}
	total := 0
	for name, text := range all {
		f, err := mscclpp.Read("plan", bytes.NewReader(text))
		require.NoError(t, err)
		n := 0
		leave := func(ops []mscclpp.Op, g, b int) {
			for i := range ops {
				if ops[i].Name != "nop" {
					continue
				}
				n++
				ops[i].Name = "flush" // which does nothing
				r, err := deploy.CheckPlan(t.Context(), f.Plan(), deploy.Options{})
				require.NoError(t, err)
				warned := slices.ContainsFunc(r.Plan.Warnings, func(v verify.Violation) bool { return v.Code == verify.RelaxedOrder || v.Code == verify.NextLaunch })
				require.True(t, r.Verdict.Outcome == verify.Refuted || warned, "%s: gpu %d tb %d op %d", name, g, b, i)
				ops[i].Name = "nop"
			}
		}
		for g := range f.GPUs {
			for b := range f.GPUs[g].Blocks {
				if len(text) > 50_000 && (g+b)%(len(text)/20_000) != 0 {
					continue
				}
				ops := f.GPUs[g].Blocks[b].Ops
				leave(ops, g, b)
				for i := range ops {
					leave(ops[i].Ops, g, b)
				}
			}
		}
		t.Logf("%-15s %7d bytes, %3d nops left out", name, len(text), n)
		total += n
	}
	require.Greater(t, total, 100)
}

// TestPipelines writes schedules of many chunks with pipelines and without: both are proved to leave the
// same data, whatever the size; and thousands of chunks, which fit with pipelines alone.
func TestPipelines(t *testing.T) {
	if testing.Short() {
		t.Skip("left out with -short: it takes long")
	}
	written := 0
	for seed := range uint64(8) {
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
	p := (&model.Problem{Topology: network, Collective: model.Collective{Kind: model.AllReduce}, Size: 1 << 26, Cost: model.Pipelined}).WithChunks(2048)
	var b bytes.Buffer
	note, err := (&MSCCL{}).writePlan(t.Context(), &b, p, solved(t, p, "ring", 1))
	require.NoError(t, err)
	require.Contains(t, note, "2048 chunks")
	require.Less(t, b.Len(), 100_000)

	// a message of many iterations is judged by one of few
	f, err := mscclpp.Read("plan", bytes.NewReader(b.Bytes()))
	require.NoError(t, err)
	small, err := deploy.CheckPlan(t.Context(), f.Plan(), deploy.Options{})
	require.NoError(t, err)
	large, err := deploy.CheckPlan(t.Context(), f.Plan(), deploy.Options{Size: 1 << 30})
	require.NoError(t, err)
	require.Equal(t, verify.Proved, large.Verdict.Outcome)
	require.Contains(t, large.Verdict.Claim, "messages of 1 GiB")
	require.LessOrEqual(t, large.Plan.Events, small.Plan.Events)
}

// TestMultimem writes what switches add or copy with their channels, and refuses by name what plans have no operation for.
func TestMultimem(t *testing.T) {
	problem := func(name string, kind model.Kind, chunks int) *model.Problem {
		network, err := topo.Parse(name, topo.Options{})
		require.NoError(t, err)
		return (&model.Problem{Topology: network, Collective: model.Collective{Kind: kind}, Size: 1 << 23, Cost: model.Pipelined}).WithChunks(chunks)
	}
	write := func(p *model.Problem, s *model.Schedule, d MSCCL) (text, note string, err error) {
		var b bytes.Buffer
		note, err = d.writePlan(t.Context(), &b, p, s)
		return b.String(), note, err
	}
	p := problem("dgxh100-nvls", model.AllReduce, 32)
	s := solved(t, p, "in-network", 1)
	for in, buffers := range map[string]int{"yes": 1, "no": 2} {
		text, note, err := write(p, s, MSCCL{InPlace: in})
		require.NoError(t, err)
		require.Contains(t, note, "multimem")
		require.Equal(t, 32, strings.Count(text, `"glres"`)) // of 8 ranks, 4 threadblocks each
		require.NotContains(t, text, `"put"`)
		require.Equal(t, 8*buffers, strings.Count(text, "rank_groups"))
	}
	_, _, err := write(p, s, MSCCL{Proto: "LL"})
	require.ErrorContains(t, err, "neither add packets")

	two := problem("dgxh100-nvls:2", model.AllReduce, 16)
	_, _, err = write(two, solved(t, two, "in-network", 1), MSCCL{})
	require.ErrorContains(t, err, "plans have what reads the sum of all ranks and writes it to all (glres)")

	one := problem("dgxh100-nvls", model.AllReduce, 8)
	half := solved(t, one, "in-network", 1)
	half.Transfers = slices.DeleteFunc(half.Transfers, func(x model.Transfer) bool { return x.Op == model.Copy && x.Chunk == 3 && x.Dst == 1 })
	_, _, err = write(one, half, MSCCL{})
	require.ErrorContains(t, err, "chunk 3 is not written to all 8 ranks at once")

	// an allgather in which each rank writes its chunk to all
	p = problem("dgxh100-nvls", model.AllGather, 8)
	s = &model.Schedule{Form: model.Timed}
	out, in := p.Topology.Out(), p.Topology.In()
	for r := range 8 {
		for q := range 8 {
			if q == r {
				continue
			}
			route := []int{out[r][0], in[q][0]}
			long := p.Topology.Duration(route, 1<<20)
			s.Transfers = append(s.Transfers, model.Transfer{Chunk: int32(r), Src: int32(r), Dst: int32(q), Route: int32(len(s.Routes)), Op: model.Copy, Start: model.Time(r) * long, End: model.Time(r+1) * long})
			s.Routes = append(s.Routes, route)
		}
	}
	for _, in := range []string{"yes", "no"} {
		text, _, err := write(p, s, MSCCL{InPlace: in})
		require.NoError(t, err)
		require.Equal(t, 8, strings.Count(text, `"gstore"`))
	}
}

// TestShares writes plans of multimem for any owners and numbers of ranks, each proved.
func TestShares(t *testing.T) {
	rng := rand.New(rand.NewPCG(18, 4))
	for _, n := range []int{2, 3, 8, 17, 18, 33, 40} {
		for _, in := range []bool{true, false} {
			owners := make([]int, 3*n)
			for i := range owners {
				owners[i] = rng.IntN(n)
			}
			w, err := mscclpp.FromShares(mscclpp.Shares{Ranks: n, Owners: owners}, mscclpp.Header{Name: "shares", Collective: "allreduce", InPlace: in})
			require.NoError(t, err)
			var b bytes.Buffer
			require.NoError(t, w.Write(&b, 1<<32-1<<20))
			r, err := confirmPlan(t.Context(), b.Bytes())
			require.NoError(t, err, "%d ranks", n)
			require.Equal(t, "allreduce", r.Collective)
		}
	}
	_, err := mscclpp.FromShares(mscclpp.Shares{Ranks: 3, Owners: []int{1, 0, 2}}, mscclpp.Header{Collective: "allgather"})
	require.ErrorContains(t, err, "stores a chunk of another rank")
	_, err = mscclpp.FromShares(mscclpp.Shares{Ranks: 3, Owners: []int{1, 0, 2}}, mscclpp.Header{Collective: "reducescatter"})
	require.ErrorContains(t, err, "glre")
}
