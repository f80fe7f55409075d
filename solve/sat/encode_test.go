package sat

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/topo"
	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/solve/sat/cadical"
)

// satisfiable decides small formulas by unit propagation and branching.
func satisfiable(c *CNF, value []int8) bool {
	value = append([]int8(nil), value...)
	set := func(l Lit) { value[max(l, -l)] = map[bool]int8{true: 1, false: -1}[l > 0] }
	of := func(l Lit) int8 {
		if l > 0 {
			return value[l]
		}
		return -value[-l]
	}
	branch := Lit(0)
	for changed := true; changed; {
		changed, branch = false, 0
		for i := range c.Clauses() {
			var free []Lit
			done := false
			for _, l := range c.Clause(i) {
				done = done || of(l) == 1
				if of(l) == 0 {
					free = append(free, l)
				}
			}
			switch {
			case done:
			case len(free) == 0:
				return false
			case len(free) == 1:
				set(free[0])
				changed = true
			default:
				branch = free[len(free)-1]
			}
		}
	}
	if branch == 0 {
		return true
	}
	for _, l := range []Lit{branch, -branch} {
		set(l)
		if satisfiable(c, value) {
			return true
		}
	}
	return false
}

func parse(name string) (*model.Topology, error) { return topo.Parse(name, topo.Options{}) }

func problem(t *testing.T, name string, kind model.Kind, k int, cost model.CostModel) *model.Problem {
	top, err := parse(name)
	require.NoError(t, err)
	p := &model.Problem{Topology: top, Collective: model.Collective{Kind: kind, Op: model.Sum}, Size: 1 << 20, Cost: cost}
	if !kind.Reduces() {
		p.Collective.Op = 0
	}
	p = p.WithChunks(p.DefaultChunks(k))
	return p
}

// TestKnownRounds holds the formula against least numbers of rounds known in closed
// form.
func TestKnownRounds(t *testing.T) {
	for _, c := range []struct {
		topology string
		kind     model.Kind
		chunks   int
		cost     model.CostModel
		rounds   int
	}{
		{"ring:4", model.AllGather, 1, model.LinkRounds, 2},
		{"ring:5", model.AllGather, 1, model.LinkRounds, 2},
		{"ring:4", model.AllGather, 2, model.LinkRounds, 3},
		{"ring:4", model.ReduceScatter, 1, model.LinkRounds, 2},
		{"full:4", model.AllToAll, 1, model.LinkRounds, 1},
		{"ring:4", model.AllToAll, 1, model.LinkRounds, 2},
		{"full:4", model.Broadcast, 1, model.Rounds, 2},
		{"full:5", model.Broadcast, 1, model.Rounds, 3},
		{"full:4", model.Reduce, 2, model.Rounds, 3}, // m - 1 + ceil(log2 n)
		{"full:4", model.AllGather, 1, model.Rounds, 3},
	} {
		t.Run(fmt.Sprint(c.topology, c.kind, c.chunks, c.cost), func(t *testing.T) {
			p := problem(t, c.topology, c.kind, c.chunks, c.cost)
			for h := max(1, c.rounds-1); h <= c.rounds; h++ {
				cnf, err := (&Question{Problem: p, Horizon: h}).Encode()
				require.NoError(t, err)
				require.Equal(t, h == c.rounds, satisfiable(&cnf.CNF, make([]int8, cnf.Vars+1)), "%d rounds", h)
			}
		})
	}
}

// TestAtMost counts the assignments of the named variables that the counter allows.
func TestAtMost(t *testing.T) {
	for n := range 9 {
		for m := range n + 2 {
			var c CNF
			first := c.Block(n)
			xs := make([]Lit, n)
			for i := range xs {
				xs[i] = first + Lit(i)
			}
			c.AtMost(m, xs)
			for bits := range 1 << n {
				value, ones := make([]int8, c.Vars+1), 0
				for i := range n {
					value[i+1] = int8(bits>>i&1)*2 - 1
					ones += bits >> i & 1
				}
				require.Equal(t, ones <= m, satisfiable(&c, value), "%d of %d, %b", m, n, bits)
			}
		}
	}
}

// TestAtMostWeight counts the assignments that the counter with weights allows; with weights of one it allows those of AtMost.
func TestAtMostWeight(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		weights := rapid.SliceOfN(rapid.IntRange(1, 4), 0, 7).Draw(t, "weights")
		m := rapid.IntRange(1, 9).Draw(t, "most")
		var c CNF
		first := c.Block(len(weights))
		xs := make([]Lit, len(weights))
		for i := range xs {
			xs[i] = first + Lit(i)
		}
		c.AtMostWeight(m, xs, weights)
		for bits := range 1 << len(weights) {
			value, sum := make([]int8, c.Vars+1), 0
			for i, w := range weights {
				value[i+1] = int8(bits>>i&1)*2 - 1
				sum += bits >> i & 1 * w
			}
			require.Equal(t, sum <= m, satisfiable(&c, value), "%d of %v, %b", m, weights, bits)
		}
	})
}

// TestSteps: on a line two steps are needed to pass on what came in.
func TestSteps(t *testing.T) {
	p := problem(t, "line:3", model.Broadcast, 1, model.LinkRounds)
	for steps, want := range map[int]bool{1: false, 2: true, 3: true} {
		cnf, err := (&Question{Problem: p, Horizon: 2, Steps: steps}).Encode()
		require.NoError(t, err)
		require.Equal(t, want, satisfiable(&cnf.CNF, make([]int8, cnf.Vars+1)), "%d steps", steps)
	}
}

// TestDIMACS writes the formula of a line of two ranks: one variable for having the
// chunk, one for sending it.
func TestDIMACS(t *testing.T) {
	p := problem(t, "line:2", model.Broadcast, 1, model.LinkRounds)
	cnf, err := (&Question{Problem: p, Horizon: 1}).Encode()
	require.NoError(t, err)
	var out bytes.Buffer
	require.NoError(t, cnf.WriteDIMACS(&out))
	require.Equal(t, "p cnf 2 2\n-1 2 0\n1 0\n", out.String())
}

// TestEpochs: timed, an epoch as long as a hop decides as rounds do; a longer one is
// refused.
func TestEpochs(t *testing.T) {
	p := problem(t, "ring:4", model.AllGather, 1, model.Blocking)
	hop := p.Topology.Duration([]int{0}, p.Chunks[0].Size)
	for h, want := range map[int]bool{1: false, 2: true} {
		cnf, err := (&Question{Problem: p, Epoch: hop, Horizon: h}).Encode()
		require.NoError(t, err)
		require.Equal(t, want, satisfiable(&cnf.CNF, make([]int8, cnf.Vars+1)), "%d epochs", h)
	}
	_, err := (&Question{Problem: p, Epoch: hop + 1, Horizon: 1}).Encode()
	require.ErrorContains(t, err, "longer")
}

func TestRefused(t *testing.T) {
	p := problem(t, "ring:4", model.AllReduce, 1, model.LinkRounds)
	_, err := (&Question{Problem: p, Horizon: 3, Steps: 2}).Encode()
	require.ErrorIs(t, err, solve.ErrNotServed)
	p = problem(t, "ring:4", model.AllGather, 1, model.LinkRounds)
	for _, h := range []int{0, maxVars + 1, maxVars} {
		_, err = (&Question{Problem: p, Horizon: h}).Encode()
		require.Error(t, err, "horizon %d", h)
	}
	p.Topology.Ports = []model.Port{{Links: []int{0}, Capacity: 1 << 40}}
	_, err = (&Question{Problem: p, Horizon: 3}).Encode()
	require.NoError(t, err, "a port that limits nothing")
}

// TestTransfers: an allreduce of one chunk on a ring of five takes three rounds and twelve transfers at least, and eight in four rounds.
func TestTransfers(t *testing.T) {
	if _, err := cadical.Find(); err != nil {
		t.Skip(err)
	}
	for rounds, least := range map[int]int{3: 12, 4: 8} {
		for transfers, want := range map[int]cadical.Answer{least - 1: cadical.Unsatisfiable, least: cadical.Satisfiable, 0: cadical.Satisfiable} {
			p := problem(t, "ring:5", model.AllReduce, 1, model.LinkRounds).WithChunks(1)
			f, err := (&Question{Problem: p, Horizon: rounds, Transfers: transfers}).Encode()
			require.NoError(t, err)
			r, err := cadical.Solve(t.Context(), f, cadical.Options{})
			require.NoError(t, err)
			require.Equal(t, want, r.Answer, "%d rounds, %d transfers", rounds, transfers)
			if r.Answer == cadical.Satisfiable && transfers > 0 {
				s, err := f.Schedule(r.Model)
				require.NoError(t, err)
				require.Len(t, s.Transfers, transfers)
			}
		}
	}
	p := &model.Problem{Topology: &model.Topology{Ranks: 1}, Collective: model.Collective{Kind: model.AllGather}, Size: 4, Cost: model.LinkRounds, Chunks: []model.Chunk{{Size: 4}}}
	_, err := (&Question{Problem: p, Horizon: 1, Transfers: 1}).Encode()
	require.ErrorContains(t, err, "at most 1 transfers of allgather")
	_, err = (&Question{Problem: p, Horizon: 1, Cost: func(int, int, int) int { return 1 }}).Encode()
	require.ErrorContains(t, err, "costs of transfers, but no limit of them")
}

// TestCost: an allreduce of one chunk on a ring of five in four rounds takes eight transfers, of which two have to be in the first round: if those
// count as two, it takes ten. Where no transfer may go clockwise, eight transfers take eight rounds. What costs nothing is not limited.
func TestCost(t *testing.T) {
	if _, err := cadical.Find(); err != nil {
		t.Skip(err)
	}
	p := problem(t, "ring:5", model.AllReduce, 1, model.LinkRounds).WithChunks(1)
	ask := func(rounds, most int, cost func(src, dst, round int) int) *model.Schedule {
		f, err := (&Question{Problem: p, Horizon: rounds, Transfers: most, Cost: cost}).Encode()
		require.NoError(t, err)
		r, err := cadical.Solve(t.Context(), f, cadical.Options{})
		require.NoError(t, err)
		require.NotEqual(t, cadical.Unknown, r.Answer)
		if r.Answer == cadical.Unsatisfiable {
			return nil
		}
		s, err := f.Schedule(r.Model)
		require.NoError(t, err)
		sum := 0
		for _, x := range s.Transfers {
			sum += cost(int(x.Src), int(x.Dst), int(x.Start))
		}
		require.LessOrEqual(t, sum, most)
		return s
	}
	first := func(_, _, round int) int {
		if round == 0 {
			return 2
		}
		return 1
	}
	require.Nil(t, ask(4, 9, first))
	require.NotNil(t, ask(4, 10, first))
	oneWay := func(src, dst, _ int) int {
		if dst == (src+1)%5 {
			return 9
		}
		return 1
	}
	require.Nil(t, ask(7, 8, oneWay))
	s := ask(8, 8, oneWay)
	require.NotNil(t, s)
	for _, x := range s.Transfers {
		require.Equal(t, (x.Dst+1)%5, x.Src)
	}
	free := func(int, int, int) int { return 0 }
	require.NotNil(t, ask(3, 1, free))
}
