package view

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/cmd/browser"
	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/topo"
	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/solve/innetwork"
	"github.com/oraccl/oraccl/verify"
	"github.com/oraccl/oraccl/verify/replay"
	"github.com/oraccl/oraccl/verify/verifytest"
)

// alone checks that a link is busy with one thing at a time: what a right schedule has on it together must
// have been found to be one.
func alone(t testing.TB, m *moments, seed any) {
	for l, list := range m.streams.Uses() {
		until := model.Time(0)
		for _, u := range list {
			require.GreaterOrEqual(t, u.From, until, "%v, link %d", seed, l)
			until = u.To
		}
	}
}

// TestStreamsAreOne: of random schedules with sums and multicasts that are right, whatever a link
// carries at one time is one thing.
func TestStreamsAreOne(t *testing.T) {
	sums, multicasts := 0, 0
	for seed := range uint64(400) {
		p, s, ok := verifytest.DrawSums(rand.New(rand.NewPCG(seed, 21)))
		if !ok || replay.Check(context.Background(), p, s).Outcome != verify.Proved {
			continue
		}
		m, err := when(p, s)
		require.NoError(t, err)
		alone(t, m, seed)
		a, b := m.streams.Count()
		sums, multicasts = sums+a, multicasts+b
	}
	require.Greater(t, sums, 50)
	require.Greater(t, multicasts, 50)
}

// inSwitches is a picture of an allreduce with two chunks for each rank through switches that add.
func inSwitches(t testing.TB, network string) *Picture {
	w, err := topo.Parse(network, topo.Options{})
	require.NoError(t, err)
	p := &model.Problem{Topology: w, Collective: model.Collective{Kind: model.AllReduce}, Size: 1 << 26, Cost: model.Pipelined}
	r, err := innetwork.All()[0].Solve(context.Background(), p.WithChunks(2*w.Ranks), solve.Options{})
	require.NoError(t, err)
	return judged(r.Problem, r.Schedule, network)
}

// TestSumsAreDrawnAsOne: seven terms of a sum, and the reader's own, are one bar on the link to the
// rank that reads, and nothing is beside anything else.
func TestSumsAreDrawnAsOne(t *testing.T) {
	for _, network := range []string{"dgxh100-nvls", "dgxh100-nvls:2"} {
		pic := inSwitches(t, network)
		require.Equal(t, "proved", pic.Verdict.Outcome)
		m, err := when(pic.Problem, pic.Schedule)
		require.NoError(t, err)
		alone(t, m, network)
		g := newGantt(pic, m, nil)
		if !g.dense {
			for r, lanes := range g.lanesOf {
				require.Equal(t, 1, lanes, "row %d", r)
			}
		}
	}
	pic := inSwitches(t, "dgxh100-nvls")
	words := texts(drawn(t, pic))
	require.Contains(t, words, "224 transfers in 16 sums, 16 multicasts")
	b := browser.Open(t, write(t, pic), "light")
	require.Equal(t, 1, browser.Value[int](b, "Math.max(...core.linkRows(oracclView.data).lanes)"))
	require.Contains(t, b.Text("numbers"), "transfers224 in 16 sums, 16 multicasts")
	for i, want := range map[string]string{"sum": "sum of chunk", "multicast": "multicast of chunk"} {
		at := browser.Value[int](b, fmt.Sprintf("oracclView.data.index[oracclView.data.streams.find(s => (oracclView.data.op[s.members[0]] === 1) === %v).members[3]]", i == "sum"))
		browser.Value[bool](b, fmt.Sprintf("(oracclView.goTo(oracclView.data.place[%d]), true)", at))
		words := b.Text("detailtext")
		require.Contains(t, words, want)
		require.Contains(t, words, "transfers ")
		require.Contains(t, words, "{0-7}", "the sum of all, which comes, or is sent on")
		where := browser.Value[[]float64](b, fmt.Sprintf("oracclView.middle(%d)", at))
		b.PointAt("timeline", where[0], where[1])
		require.Contains(t, b.Text("tip"), want)
	}
}
