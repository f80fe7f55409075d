package convert

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/format/msccl"
	"github.com/oraccl/oraccl/model/topo"
	"github.com/oraccl/oraccl/solve/assign"
	"github.com/oraccl/oraccl/solve/solvetest"
	"github.com/oraccl/oraccl/verify"
	"github.com/oraccl/oraccl/verify/replay"
)

func (d *MSCCL) Write(ctx context.Context, w io.Writer, p *model.Problem, s *model.Schedule) (note string, err error) {
	return writeMade(ctx, w, p, s, d.algo)
}

func (d *MSCCL) writePlan(ctx context.Context, w io.Writer, p *model.Problem, s *model.Schedule) (note string, err error) {
	return writeMade(ctx, w, p, s, d.plan)
}

// TestEveryWay: every program that a schedule on a random network can become is proved as MSCCL-IR, in order or not.
func TestEveryWay(t *testing.T) {
	programs := 0
	for seed := range uint64(24) {
		rng := rand.New(rand.NewPCG(seed, 11))
		p := &model.Problem{Topology: solvetest.RandomNetwork(rng), Collective: model.Collective{Kind: model.Kinds()[seed%8]}, Size: 100000 + rng.Int64N(100000), Cost: model.Pipelined}
		if p.Collective.Kind.Rooted() {
			p.Collective.Root = rng.IntN(p.Topology.Ranks)
		}
		if p = p.WithChunks(p.DefaultChunks(1 + rng.IntN(3))); seed%3 == 0 {
			p = uneven(rng, p)
		}
		s := solved(t, p, "tacos", seed)
		if s == nil || replay.Check(t.Context(), p, s).Outcome != verify.Proved {
			continue
		}
		if seed%4 == 0 {
			s = inOrder(s)
		}
		h := msccl.Header{Name: "x", Proto: "Simple", Coll: msccl.CollName(p.Collective.Kind, msccl.RCCL), InPlace: p.Collective.Kind != model.AllToAll, OutPlace: p.Collective.Kind == model.AllToAll, MaxBytes: maxSize}
		err := assign.Each(p, s, assign.Options{InPlace: h.InPlace, OutOfPlace: h.OutPlace, Limits: within(msccl.LimitsOf(msccl.RCCL))}, func(program *model.Program) bool {
			algo, err := msccl.FromProgram(program, h)
			require.NoError(t, err)
			var b bytes.Buffer
			require.NoError(t, algo.Write(&b))
			provedXML(t, b.Bytes(), p, fmt.Sprintf("seed %d: %v", seed, p))
			programs++
			return true
		})
		require.NoError(t, err, seed)
	}
	require.Greater(t, programs, 80)
}

// TestFastest: what a runtime loads takes about as long as the schedule that it is made of, where links are parallel,
// threadblocks share a link, or ranks exchange values in place; the first way to make a program takes a tenth longer at least.
func TestFastest(t *testing.T) {
	if testing.Short() {
		t.Skip("left out with -short: it takes long")
	}
	for _, c := range []struct {
		topology, method string
		kind             model.Kind
		chunks           int
		size             int64
	}{
		{"mi250", "quotient", model.AllGather, 8, 1 << 20},
		{"dgxh100:2", "quotient", model.AllGather, 6, 1 << 20},
		{"dgx2:2", "quotient", model.AllGather, 4, 8 << 20},
		{"dragonfly:3x2x2", "quotient", model.AllReduce, 8, 8 << 20},
	} {
		topology, err := topo.Parse(c.topology, topo.Options{})
		require.NoError(t, err)
		p := &model.Problem{Topology: topology, Collective: model.Collective{Kind: c.kind}, Size: c.size, Cost: model.Pipelined}
		p = p.WithChunks(p.DefaultChunks(c.chunks))
		s := solved(t, p, c.method, 1)
		m, err := (&MSCCL{Runtime: "msccl"}).algo(t.Context(), p, s)
		require.NoError(t, err)
		first, err := assign.Assign(p, s, assign.Options{InPlace: true, Limits: within(msccl.LimitsOf(msccl.MSCCL))})
		require.NoError(t, err)
		algo, err := msccl.FromProgram(first, msccl.Header{Coll: msccl.CollName(c.kind, msccl.MSCCL), InPlace: true})
		require.NoError(t, err)
		before := lasts(t.Context(), p, math.MaxInt, func() (*model.Imported, error) {
			return algo.Import(model.Meaning{Collective: c.kind.String(), InPlace: true}, topology, c.size)
		})
		t.Log(c.topology, p.Makespan(s), before, m.Lasts, m.Note)
		require.Positive(t, m.Lasts)
		require.LessOrEqual(t, float64(m.Lasts), 1.01*float64(p.Makespan(s)), c.topology)
		require.True(t, before.Lasts == 0 || float64(before.Lasts) > 1.1*float64(m.Lasts), c.topology)
	}
}
