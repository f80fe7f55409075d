package certify

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve/sat"
	"github.com/oraccl/oraccl/solve/solvetest"
	"github.com/oraccl/oraccl/verify/cnf"
)

// TestFormulas compares the formula that is refuted with the one that the checker makes,
// clause by clause: two implementations of section 10 of the specification, which share
// nothing but the model.
func TestFormulas(t *testing.T) {
	served, clauses := 0, 0
	compare := func(p *model.Problem, epoch model.Time, horizon, steps int) {
		f, err := (&sat.Question{Problem: p, Epoch: epoch, Horizon: horizon, Steps: steps}).Encode()
		var mine bytes.Buffer
		mineErr := cnf.DIMACS(context.Background(), &mine, p, model.Refutation{Epoch: epoch, Horizon: horizon, Steps: steps})
		if err != nil {
			require.Error(t, mineErr, "%v, %v, %d, %d: %v", p, epoch, horizon, steps, err)
			return
		}
		require.NoError(t, mineErr, "%v, %v, %d, %d", p, epoch, horizon, steps)
		var theirs bytes.Buffer
		require.NoError(t, f.WriteDIMACS(&theirs))
		if !bytes.Equal(mine.Bytes(), theirs.Bytes()) {
			a, b := bytes.Split(mine.Bytes(), []byte("\n")), bytes.Split(theirs.Bytes(), []byte("\n"))
			for i := range min(len(a), len(b)) {
				require.Equal(t, string(a[i]), string(b[i]), "%+v %v, %v, %d, %d: line %d", p.Topology, p, epoch, horizon, steps, i+1)
			}
			require.Len(t, b, len(a))
		}
		served++
		clauses += f.Clauses()
	}
	r := rand.New(rand.NewPCG(7, 7))
	all := func(p *model.Problem) {
		if p.Chunks == nil {
			p = p.WithChunks(p.DefaultChunks(1))
		}
		hop := model.MaxTime
		for _, l := range p.Topology.Links {
			hop = min(hop, l.Alpha+model.TransferTime(p.Chunks[0].Size, l.Bandwidth))
		}
		epoch := []model.Time{hop, hop/2 + 1, hop/3 + 1}[r.IntN(3)]
		steps := r.IntN(4)
		if p.Cost.Synchronous() {
			epoch = 0
		} else if r.IntN(8) > 0 {
			steps = 0
		}
		compare(p, epoch, 1+r.IntN(5), steps)
	}
	for _, p := range solvetest.Problems(t) {
		all(p)
		all(p)
	}
	for seed := range uint64(600) {
		all(anyProblem(rand.New(rand.NewPCG(seed, 3))))
	}
	t.Logf("%d formulas, %d clauses", served, clauses)
	require.Greater(t, served, 700)
}

// anyProblem returns a random problem with chunks on a random network with switches,
// ports, parallel links and late ranks.
func anyProblem(r *rand.Rand) *model.Problem {
	for {
		n := 2 + r.IntN(4)
		t := &model.Topology{Name: "random", Ranks: n}
		for i := range r.IntN(3) {
			t.Switches = append(t.Switches, model.Switch{Name: fmt.Sprint(i)})
		}
		link := func(u, v int) {
			if u != v {
				t.Links = append(t.Links, model.Link{Src: u, Dst: v, Alpha: model.Time(r.IntN(3) * 500), Bandwidth: 1e9 * (1 + r.Int64N(3))})
			}
		}
		order := r.Perm(t.Nodes())
		for i, u := range order {
			link(u, order[(i+1)%len(order)])
		}
		for range r.IntN(4 * n) {
			link(r.IntN(t.Nodes()), r.IntN(t.Nodes()))
		}
		for range r.IntN(3) {
			if links := t.Out()[r.IntN(t.Nodes())]; len(links) > 0 {
				t.Ports = append(t.Ports, model.Port{Links: links, Capacity: 1 + r.IntN(2)})
			}
		}
		p := &model.Problem{Topology: t, Size: int64(n*n) + r.Int64N(1000), Cost: model.CostModel(1 + r.IntN(4))}
		kinds := model.Kinds()
		p.Collective = model.Collective{Kind: kinds[r.IntN(len(kinds))], Op: model.Operator(r.IntN(4))}
		if r.IntN(3) == 0 {
			p.Collective.Group = r.Perm(n)[:1+r.IntN(n)]
			if p.Collective.Kind.Rooted() {
				p.Collective.Root = p.Collective.Group[0]
			}
		}
		if r.IntN(3) == 0 {
			p.Release = make([]model.Time, n)
			p.Release[r.IntN(n)] = model.Time(r.IntN(5000))
		}
		if p = p.WithChunks(p.DefaultChunks(1 + r.IntN(2))); p.Validate() == nil {
			return p
		}
	}
}
