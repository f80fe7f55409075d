package msccl

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/topo"
)

// written makes a file on this many ranks, without threadblocks.
func written(coll string, ranks, chunks, scratch int) *Algo {
	a := &Algo{File: "t.xml", Name: "t", Proto: "Simple", Coll: coll, Channels: 1, ChunksPerLoop: chunks, Ranks: ranks, InPlace: true}
	for r := range ranks {
		a.GPUs = append(a.GPUs, GPU{ID: r, Input: chunks, Output: chunks, Scratch: scratch})
	}
	return a
}

func (a *Algo) tb(gpu, send, recv int, steps ...Step) {
	g := &a.GPUs[gpu]
	for i := range steps {
		steps[i].S = int32(i)
	}
	g.TBs = append(g.TBs, TB{ID: len(g.TBs), Send: send, Recv: recv, Steps: steps})
}

func step(t Type, src Buf, srcOff int, dst Buf, dstOff int) Step {
	return Step{Type: t, Src: src, SrcOff: int32(srcOff), Dst: dst, DstOff: int32(dstOff), Count: 1, DepID: -1, Deps: -1, HasDep: 1}
}

func (s Step) after(tb, step int) Step {
	s.DepID, s.Deps = int32(tb), int32(step)
	return s
}

func imported(t *testing.T, a *Algo, network string, inPlace bool) (*model.Imported, error) {
	topology, err := topo.Parse(network, topo.Options{})
	require.NoError(t, err)
	m, err := a.Import(model.Meaning{InPlace: inPlace}, topology, 0)
	if err == nil && len(m.Objections) == 0 {
		require.NoError(t, m.Schedule.Validate(m.Problem))
	}
	return m, err
}

// TestImport: what is received aside and added later is a reduction, what is only passed
// on takes a longer way, and what is exchanged is in one round.
func TestImport(t *testing.T) {
	// rank 1 puts what it receives into scratch and adds it, and sends the sum back
	a := written("allreduce", 2, 1, 1)
	a.tb(0, 1, 1, step(Send, Output, 0, Output, 0), step(Recv, Output, 0, Output, 0))
	a.tb(1, 0, 0, step(Recv, Scratch, 0, Scratch, 0), step(Send, Output, 0, Output, 0).after(1, 0))
	a.tb(1, -1, -1, step(Reduce, Scratch, 0, Output, 0).after(0, 0))
	m, err := imported(t, a, "full:2", true)
	require.NoError(t, err)
	require.Equal(t, []model.Transfer{{Chunk: 0, Src: 0, Dst: 1, Route: 0, Op: model.Reduction}, {Chunk: 0, Src: 1, Dst: 0, Route: 1}}, m.Schedule.Transfers)
	require.Equal(t, [][]int32{nil, {0}}, m.Schedule.After)
	require.Equal(t, int64(unitBytes), m.Problem.Size)

	// rank 1 has a part of its own of the chunk, which it must not lose: it relays
	a = written("reduce", 3, 1, 1)
	a.tb(2, 1, -1, step(Send, Input, 0, Input, 0))
	a.tb(1, 0, 2, step(RecvCopySend, Scratch, 0, Scratch, 0), step(Send, Input, 0, Input, 0))
	a.tb(0, -1, 1, step(RecvReduceCopy, Output, 0, Output, 0), step(RecvReduceCopy, Output, 0, Output, 0))
	m, err = imported(t, a, "mesh:3", true)
	require.NoError(t, err)
	require.Len(t, m.Schedule.Transfers, 2)
	require.Equal(t, int32(2), m.Schedule.Transfers[0].Src+m.Schedule.Transfers[1].Src-1)
	for i, x := range m.Schedule.Transfers {
		require.Equal(t, int32(0), x.Dst)
		require.Len(t, m.Schedule.Routes[x.Route], int(x.Src))
		require.Contains(t, m.Source(i), "line")
	}
	m, err = imported(t, a, "switch:3", true)
	require.NoError(t, err)
	require.Empty(t, m.Objections)

	m, err = imported(t, exchange(t), "full:2", true)
	require.NoError(t, err)
	require.Equal(t, model.InRounds, m.Schedule.Form)
	require.Equal(t, model.LinkRounds, m.Problem.Cost)
	require.Equal(t, 1, m.Schedule.Rounds())
}

// TestNoSchedule: what slots cannot express, and in which line.
func TestNoSchedule(t *testing.T) {
	twice := written("allreduce", 2, 1, 1)
	twice.tb(0, 1, 1, step(Send, Output, 0, Output, 0), step(Recv, Output, 0, Output, 0))
	twice.tb(1, 0, 0, step(Recv, Scratch, 0, Scratch, 0), step(Reduce, Scratch, 0, Output, 0), step(Copy, Output, 0, Output, 0), step(Reduce, Scratch, 0, Output, 0), step(Send, Output, 0, Output, 0))

	raw := written("allreduce", 2, 1, 1) // rank 1 sends what it had before it added
	raw.tb(0, 1, 1, step(Send, Input, 0, Input, 0), step(RecvReduceCopy, Input, 0, Output, 0))
	raw.tb(1, 0, 0, step(RecvReduceCopy, Input, 0, Output, 0), step(Send, Input, 0, Input, 0))

	unused := written("allreduce", 2, 1, 1)
	unused.tb(0, 1, -1, step(Send, Output, 0, Output, 0))
	unused.tb(1, -1, 0, step(Recv, Scratch, 0, Scratch, 0))

	stuck := written("allreduce", 2, 1, 1)
	stuck.tb(0, 1, 1, step(Recv, Output, 0, Output, 0))

	undefined := written("allreduce", 2, 1, 1)
	undefined.tb(0, 1, 1, step(Send, Scratch, 0, Scratch, 0))

	mixed := written("allreduce", 2, 2, 0)
	mixed.tb(0, -1, -1, step(Reduce, Output, 0, Output, 1))

	far := written("allreduce", 2, 1, 0)
	far.tb(0, 1, -1, step(Send, Output, 1, Output, 1))

	custom := written("custom", 2, 1, 0)
	for _, c := range []struct {
		a       *Algo
		inPlace bool
		reason  string
	}{
		{twice, true, "uses what it received in line 0 of chunk 0 again"},
		{raw, false, "is not the one gpu 1 has in its slot"},
		{unused, true, "never used"},
		{stuck, true, "waits for ever"},
		{undefined, true, "nothing has written"},
		{mixed, true, "adds chunk 0 to chunk 1"},
		{far, true, "out of bounds"},
		{custom, true, "want one of the eight"},
	} {
		_, err := imported(t, c.a, "full:2", c.inPlace)
		require.ErrorIs(t, err, ErrNoSchedule)
		require.ErrorContains(t, err, c.reason)
	}
	_, err := imported(t, raw, "full:3", true)
	require.ErrorContains(t, err, "full:3 has 3")
	large := written("alltoall", 300, 30000, 0)
	_, err = imported(t, large, "full:300", false)
	require.ErrorIs(t, err, model.ErrTooLarge)
	m, err := imported(t, exchange(t), "switch:2", true)
	require.NoError(t, err)
	require.Empty(t, m.Objections)
	one := &model.Topology{Name: "one way", Ranks: 2, Links: []model.Link{{Src: 0, Dst: 1, Alpha: 1, Bandwidth: 1e9}, {Src: 1, Dst: 2, Alpha: 1, Bandwidth: 1e9}}, Switches: []model.Switch{{Name: "s"}}}
	m, err = exchange(t).Import(model.Meaning{InPlace: true}, one, 0)
	require.NoError(t, err)
	require.Equal(t, "no-such-link", m.Objections[0].Code)
}

// TestImportAnything: files that mean nothing are refused, or become schedules that are
// valid, whether right or not.
func TestImportAnything(t *testing.T) {
	topology, err := topo.Parse("full:3", topo.Options{})
	require.NoError(t, err)
	schedules := 0
	for seed := range uint64(20000) {
		rng := rand.New(rand.NewPCG(seed, 3))
		colls := []string{"allreduce", "allgather", "reducescatter", "alltoall", "broadcast", "reduce", "gather", "scatter"}
		a := written(colls[rng.IntN(len(colls))], 3, 3, 2)
		for range 1 + rng.IntN(3) { // a message, and what is made of it
			from := rng.IntN(3)
			to := (from + 1 + rng.IntN(2)) % 3
			at := rng.IntN(3)
			send := step(Send, Output, at, Output, at)
			got := step([]Type{Recv, RecvReduceCopy, RecvReduceCopy, Type(1 + rng.IntN(8))}[rng.IntN(4)], Output, at, Buf(1+rng.IntN(2)), at)
			got.Count = int32(min(1, rng.IntN(20)))
			more := step(Type(7+rng.IntN(2)), Scratch, rng.IntN(2), Output, rng.IntN(3))
			if rng.IntN(2) == 0 {
				send = send.after(rng.IntN(2), rng.IntN(2))
			}
			a.tb(from, to, (from+rng.IntN(2)+1)%3, send)
			a.tb(to, (to+rng.IntN(2)+1)%3, from, []Step{got, more}[:1+rng.IntN(2)]...)
		}
		m, err := a.Import(model.Meaning{InPlace: rng.IntN(2) == 0}, topology, 0)
		if err == nil && len(m.Schedule.Transfers) > 0 {
			schedules++
			require.NoError(t, m.Schedule.Validate(m.Problem), "%+v", a)
		}
	}
	require.Greater(t, schedules, 50)
	t.Log(schedules, "schedules")
}

// TestFromProgram: what the format cannot say.
func TestFromProgram(t *testing.T) {
	good := func() *model.Program {
		p, err := exchange(t).Program(model.Meaning{InPlace: true})
		require.NoError(t, err)
		return p
	}
	_, err := FromProgram(good(), Header{Coll: "allreduce"})
	require.NoError(t, err)
	for _, c := range []struct {
		change func(p *model.Program)
		reason string
	}{
		{func(p *model.Program) { p.Grain = 0 }, "grain"},
		{func(p *model.Program) { p.Buffers[1][1].Name = "out" }, "rank 1: buffers"},
		{func(p *model.Program) { p.Processes[0].Steps[0].Name = "put" }, `instruction "put"`},
		{func(p *model.Program) { p.Processes[0].Steps[0].Name = "cpy" }, `instruction "cpy"`},
		{func(p *model.Program) { p.Processes[0].Steps[0].More = []int32{1} }, "2 sources"},
	} {
		p := good()
		c.change(p)
		_, err := FromProgram(p, Header{Coll: "allreduce"})
		require.ErrorContains(t, err, c.reason)
	}
	l := LimitsOf(MSCCL, RCCL)
	require.Equal(t, Limits{Threadblocks: 64, Steps: 64, Channels: 32, Ranks: 1024, Peers: 32, Elements: 4096, Chunks: 32767, Count: 71}, l)
	require.Equal(t, 128, LimitsOf(MSCCL).Threadblocks)
	require.Equal(t, "reduce_scatter", CollName(model.ReduceScatter, MSCCL))
	require.Equal(t, "reducescatter", CollName(model.ReduceScatter, RCCL))
	require.Equal(t, "", CollName(model.Gather, MSCCL))
	require.Equal(t, "", CollName(model.Custom, MSCCL))
}

// FuzzImport: whatever a file says, it becomes a valid schedule or an error.
func FuzzImport(f *testing.F) {
	b, err := os.ReadFile("testdata/exchange.xml")
	require.NoError(f, err)
	f.Add(b)
	var relayed bytes.Buffer
	a := written("reduce", 3, 1, 1)
	a.tb(2, 1, -1, step(Send, Input, 0, Input, 0))
	a.tb(1, 0, 2, step(RecvCopySend, Scratch, 0, Scratch, 0), step(Send, Input, 0, Input, 0))
	a.tb(0, -1, 1, step(RecvReduceCopy, Output, 0, Output, 0), step(RecvReduceCopy, Output, 0, Output, 0).after(0, 0))
	require.NoError(f, a.Write(&relayed))
	f.Add(relayed.Bytes())
	f.Fuzz(func(t *testing.T, b []byte) {
		a, err := Read("f.xml", bytes.NewReader(b))
		if err != nil || a.Ranks < 2 || a.Ranks > 8 || a.ChunksPerLoop > 64 {
			return
		}
		topology, err := topo.Parse(fmt.Sprintf("full:%d", a.Ranks), topo.Options{})
		require.NoError(t, err)
		for _, in := range []bool{true, false} {
			m, err := a.Import(model.Meaning{InPlace: in}, topology, 0)
			if err == nil {
				require.Empty(t, m.Objections)
				require.NoError(t, m.Schedule.Validate(m.Problem))
			}
		}
	})
}
