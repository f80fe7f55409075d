package ending_test

import (
	"context"
	"fmt"
	"math/big"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/topo"
	"github.com/oraccl/oraccl/verify"
	"github.com/oraccl/oraccl/verify/cert"
	"github.com/oraccl/oraccl/verify/cnf"
	"github.com/oraccl/oraccl/verify/epoch"
	"github.com/oraccl/oraccl/verify/lrat"
	"github.com/oraccl/oraccl/verify/orbit"
	"github.com/oraccl/oraccl/verify/order"
	"github.com/oraccl/oraccl/verify/replay"
	"github.com/oraccl/oraccl/verify/stream"
	"github.com/oraccl/oraccl/verify/verifytest/ending"
)

func network(t testing.TB, name string) *model.Topology {
	n, err := topo.Parse(name, topo.Options{Alpha: []model.Time{model.Microsecond}, Bandwidth: []int64{1e9}})
	require.NoError(t, err)
	return n
}

// ring returns the ring all-reduce of n ranks in n·k chunks, in rounds.
func ring(t testing.TB, n, k int) (*model.Problem, *model.Schedule) {
	s := &model.Schedule{Form: model.InRounds}
	p := &model.Problem{Topology: &model.Topology{Name: "ring", Ranks: n}, Collective: model.Collective{Kind: model.AllReduce}, Size: int64(n*k) << 10, Cost: model.Rounds}
	for i := range n {
		p.Topology.Links = append(p.Topology.Links, model.Link{Src: i, Dst: (i + 1) % n, Bandwidth: 1e9})
		s.Routes = append(s.Routes, []int{i})
	}
	for round := range 2 * (n - 1) * k {
		step, op := round/k, model.Reduction
		if step >= n-1 {
			op = model.Copy
		}
		for r := range n {
			s.Transfers = append(s.Transfers, model.Transfer{
				Chunk: int32((r-step+2*n)%n*k + round%k), Src: int32(r), Dst: int32((r + 1) % n), Route: int32(r), Op: op,
				Start: model.Time(round), End: model.Time(round + 1),
			})
		}
	}
	return p.WithChunks(n * k), s
}

// line returns a chain of n transfers of one chunk there and back over a line of ranks.
func line(n int, form model.Form) (*model.Problem, *model.Schedule) {
	const ranks = 64
	t := &model.Topology{Name: "line", Ranks: ranks}
	s := &model.Schedule{Form: form}
	for r := range ranks - 1 {
		t.Links = append(t.Links, model.Link{Src: r, Dst: r + 1, Bandwidth: 1e12}, model.Link{Src: r + 1, Dst: r, Bandwidth: 1e12})
		s.Routes = append(s.Routes, []int{2 * r}, []int{2*r + 1})
	}
	at, back := 0, false
	for i := range n {
		if at == ranks-1 {
			back = true
		} else if at == 0 {
			back = false
		}
		x := model.Transfer{Src: int32(at), Dst: int32(at + 1), Route: int32(2 * at)}
		if back {
			x = model.Transfer{Src: int32(at), Dst: int32(at - 1), Route: int32(2*at - 1)}
		}
		at = int(x.Dst)
		if form == model.Ordered {
			s.After = append(s.After, nil)
			if i > 0 {
				s.After[i] = []int32{int32(i - 1)}
			}
		} else {
			x.Start, x.End = model.Time(i), model.Time(i+1)
		}
		s.Transfers = append(s.Transfers, x)
	}
	p := &model.Problem{Topology: t, Collective: model.Collective{Kind: model.Broadcast}, Size: 1, Cost: model.Blocking}
	return p.WithChunks(1), s
}

// checks are of every engine, on what takes it long enough to look at its context.
var checks = []struct {
	name string
	make func(t testing.TB) func(context.Context) verify.Verdict
}{
	{"replay", func(t testing.TB) func(context.Context) verify.Verdict {
		p, s := ring(t, 128, 8)
		return func(ctx context.Context) verify.Verdict { return replay.Check(ctx, p, s) }
	}},
	{"replay, one chunk", func(t testing.TB) func(context.Context) verify.Verdict {
		p, s := line(1<<18, model.Timed)
		return func(ctx context.Context) verify.Verdict { return replay.Check(ctx, p, s) }
	}},
	{"replay, order", func(t testing.TB) func(context.Context) verify.Verdict {
		p, s := line(1<<18, model.Ordered)
		return func(ctx context.Context) verify.Verdict { return replay.Check(ctx, p, s) }
	}},
	{"stream", func(t testing.TB) func(context.Context) verify.Verdict {
		p, s := line(1<<18, model.Timed)
		return func(ctx context.Context) verify.Verdict {
			c, err := stream.New(ctx, p, s.Form, s.Routes)
			require.NoError(t, err)
			c.Add(s.Transfers)
			return c.Verdict()
		}
	}},
	{"orbit", func(t testing.TB) func(context.Context) verify.Verdict {
		const n = 1 << 17
		tp := &model.Topology{Name: "ring", Ranks: n}
		for i := range n {
			tp.Links = append(tp.Links, model.Link{Src: i, Dst: (i + 1) % n, Bandwidth: 1e12})
		}
		p := (&model.Problem{Topology: tp, Collective: model.Collective{Kind: model.AllGather}, Size: n, Cost: model.Blocking}).WithChunks(n)
		o := &model.Orbit{Sides: []int{n}, Routes: [][]int{{0}}}
		for i := range n - 1 {
			o.Turns = append(o.Turns, model.Turn{Route: 0, Owner: int32((n - i) % n), Op: model.Copy, Start: model.Time(i)})
		}
		return func(ctx context.Context) verify.Verdict { return orbit.Check(ctx, p, o) }
	}},
	{"order", func(t testing.TB) func(context.Context) verify.Verdict {
		p := program(1 << 18)
		return func(ctx context.Context) verify.Verdict { return order.Check(ctx, p).Verdict }
	}},
	{"epochs", func(t testing.TB) func(context.Context) verify.Verdict {
		p, s := line(1<<18, model.Ordered)
		plan := epoch.Plan{Epoch: big.NewRat(1, 1), Bytes: big.NewRat(1, 1), Epochs: 1 << 18}
		for i := range s.Transfers {
			plan.Start = append(plan.Start, i)
		}
		return func(ctx context.Context) verify.Verdict {
			_, _, v := epoch.Check(ctx, p, s, plan)
			return v
		}
	}},
	{"cert, cut", certificate("ring:512", model.AllToAll, 1<<18, model.Cut{Nodes: []int{0, 1, 2}})},
	{"cert, volume", certificate("torus:32x32", model.AllGather, 1<<10, model.Volume{})},
	{"cert, coverage", certificate("torus:32x32", model.AllReduce, 1<<10, model.Coverage{Nodes: []int{0}})},
	{"cert, prices", certificate("torus:32x32", model.AllGather, 1<<10, model.Prices{Links: ones(4 << 10)})},
	{"cert, partition", certificate("ring:512", model.AllGather, 1<<9, model.Partition{Parts: halves(512)})},
	{"lrat", func(t testing.TB) func(context.Context) verify.Verdict {
		var b strings.Builder
		id := 2
		for range 1 << 17 {
			id++
			fmt.Fprintf(&b, "%d 2 1 0 1 0\n%d d %d 0\n", id, id, id)
		}
		fmt.Fprintf(&b, "%d 0 1 2 0\n", id+1)
		proof := b.String()
		return func(ctx context.Context) verify.Verdict {
			c := lrat.New()
			require.NoError(t, c.Variables(2))
			require.NoError(t, c.Add([]int32{1}))
			require.NoError(t, c.Add([]int32{-1}))
			return decided(ctx, c.Refute(ctx, strings.NewReader(proof)))
		}
	}},
	{"cnf", func(t testing.TB) func(context.Context) verify.Verdict {
		p := (&model.Problem{Topology: network(t, "ring:16"), Collective: model.Collective{Kind: model.AllGather}, Size: 16, Cost: model.LinkRounds}).WithChunks(16)
		return func(ctx context.Context) verify.Verdict {
			_, err := cnf.Write(ctx, p, model.Refutation{Horizon: 64}, func([]int32) error { return nil })
			return decided(ctx, err)
		}
	}},
	{"cert, lrat", func(t testing.TB) func(context.Context) verify.Verdict {
		p := (&model.Problem{Topology: network(t, "ring:16"), Collective: model.Collective{Kind: model.AllGather}, Size: 16, Cost: model.LinkRounds}).WithChunks(16)
		c := &model.Certificate{Problem: p, Witness: model.Refutation{Horizon: 64, Proof: "a.lrat", SHA256: strings.Repeat("0", 64)}}
		dir := fstest.MapFS{"a.lrat": &fstest.MapFile{Data: []byte("1 0 0\n")}}
		return func(ctx context.Context) verify.Verdict { return cert.CheckIn(ctx, c, dir) }
	}},
}

func certificate(name string, kind model.Kind, chunks int, w model.Witness) func(t testing.TB) func(context.Context) verify.Verdict {
	return func(t testing.TB) func(context.Context) verify.Verdict {
		p := &model.Problem{Topology: network(t, name), Collective: model.Collective{Kind: kind}, Size: 1 << 20, Cost: model.Pipelined}
		c := &model.Certificate{Problem: p.WithChunks(chunks), Witness: w}
		return func(ctx context.Context) verify.Verdict { return cert.Check(ctx, c) }
	}
}

func ones(n int) []int64 {
	list := make([]int64, n)
	for i := range list {
		list[i] = 1
	}
	return list
}

func halves(n int) [][]int {
	parts := make([][]int, 2)
	for r := range n {
		parts[2*r/n] = append(parts[2*r/n], r)
	}
	return parts
}

// decided is the verdict of what answers with an error.
func decided(ctx context.Context, err error) verify.Verdict {
	switch {
	case err == nil:
		return verify.Verdict{Outcome: verify.Proved}
	case ctx.Err() != nil:
		return verify.Verdict{Reason: verify.Stopped(ctx)}
	}
	return verify.Verdict{Outcome: verify.Refuted, Reason: err.Error()}
}

// program returns a program of two ranks: one sends a chunk to the other n times.
func program(n int) *model.Program {
	cells := []model.Buffer{{Name: "i", Cells: 1}}
	p := &model.Program{Name: "line", Kind: model.Broadcast, Ranks: 2, Grain: 1, Inputs: 1, Memory: []int{1, 1}, Buffers: [][]model.Buffer{cells, cells},
		Pre: [][]int32{{0}, {-1}}, Post: [][]int32{{0}, {0}}, Wants: [][]int32{{0}}}
	send := model.Process{Rank: 0, SendTo: 1, RecvFrom: -1}
	recv := model.Process{Rank: 1, SendTo: -1, RecvFrom: 0}
	for range n {
		send.Steps = append(send.Steps, model.Instruction{Verb: model.Reads | model.Sends, Name: "s", Count: 1})
		recv.Steps = append(recv.Steps, model.Instruction{Verb: model.Receives | model.Writes, Name: "r", Count: 1})
	}
	p.Processes = []model.Process{send, recv}
	return p
}

// TestEnding ends every check at several of the places where it looks at its context:
// the answer is Unknown, as interrupted. Run to its end it looks often enough.
func TestEnding(t *testing.T) {
	for _, c := range checks {
		t.Run(c.name, func(t *testing.T) {
			check := c.make(t)
			whole := ending.After(-1)
			v := check(whole)
			require.NotEqual(t, verify.Unknown, v.Outcome, v.Reason)
			require.Greater(t, whole.Looks(), 2, "the case is too small to end in between")
			require.Less(t, whole.Gap(), time.Second)
			t.Logf("%v after %d looks, at most %v apart", v.Outcome, whole.Looks(), whole.Gap())
			for _, n := range []int{0, 1, whole.Looks() / 2} {
				v := check(ending.After(n))
				require.Equal(t, verify.Unknown, v.Outcome, "after %d looks", n)
				require.Equal(t, "interrupted", v.Reason, "after %d looks", n)
				require.Empty(t, v.Violations)
			}
			ctx, stop := context.WithTimeout(t.Context(), 0)
			defer stop()
			require.Equal(t, "the time limit was reached", check(ctx).Reason)
		})
	}
}
