package cert_test

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/native"
	"github.com/oraccl/oraccl/verify/cert"
)

// The catalogue has the kinds that files can have, and no others.
func TestKindsAreThoseOfFiles(t *testing.T) {
	_, err := native.ReadCertificate("f", strings.NewReader(`{"witness": {"kind": "none"}}`))
	require.Error(t, err)
	_, list, found := strings.Cut(err.Error(), "want ")
	require.True(t, found, err)
	var names []string
	for _, k := range cert.Kinds() {
		names = append(names, k.Name)
	}
	require.ElementsMatch(t, regexp.MustCompile(`, | or `).Split(list, -1), names)
}

// Every kind yields a bound under just the cost models that the catalogue says, with and
// without chunks as it says. An all-gather is a problem that all of them but one say something of.
func TestKindsHoldWhereTheySay(t *testing.T) {
	prices := make([]int64, 8)
	for i := range prices {
		prices[i] = 1
	}
	witnesses := []model.Witness{
		model.Cut{Nodes: []int{0, 1}}, model.Ingress{Rank: 0}, model.Egress{Rank: 0}, model.Volume{}, model.Partition{Parts: [][]int{{0}, {1, 2}, {3}}}, model.Prices{Links: prices},
		model.TimedPrices{Classes: []model.PriceClass{{Links: []int{0, 1}, Pieces: []model.PricePiece{{To: 9, Price: 9, Slope: -1}}}}},
		model.TimedPotentials{Horizon: 9, Costs: []model.TimedCost{{Steps: []model.CostStep{{}}}, {}}, Ways: []model.CostlyWay{{Source: 0, Dest: 1, Costs: []int{0, 1, 1, 1}}}},
		model.Distance{Chunk: -1, Shard: 0, Source: 0, Dest: 1, Potential: []model.Time{0, 1, 0, 0}},
		model.Doubling{Chunk: -1}, model.Spread{}, model.Combine{}, model.Coverage{Nodes: []int{0}},
		model.Crossing{Parts: [][]int{{0}, {1, 2}, {3}}},
		model.LPDual{Instants: []model.Time{0}, Links: []model.InstantPrice{{Of: 0, Price: 1}}, Groups: []model.DualGroup{{Chunks: []int{0}, Demands: []model.DualDemand{{Source: 0, Dest: 1}}}}},
		model.Refutation{Horizon: 1, Proof: "p", SHA256: strings.Repeat("0", 64)},
	}
	kinds := cert.Kinds()
	require.Len(t, witnesses, len(kinds))
	for _, w := range witnesses {
		i := slices.IndexFunc(kinds, func(k cert.Kind) bool { return k.Name == w.Kind() })
		require.GreaterOrEqual(t, i, 0, w.Kind())
		k := kinds[i]
		for _, cost := range []model.CostModel{model.Blocking, model.Pipelined, model.Rounds, model.LinkRounds} {
			for _, chunks := range []int{0, 4} {
				p := problem("ring:4", model.AllGather, 4000, chunks, cost)
				switch x := w.(type) {
				case model.Crossing:
					p.Collective.Kind = model.AllReduce
				case model.Distance:
					x.Chunk = min(0, chunks-1)
					w = x
				case model.Doubling:
					x.Chunk = min(0, chunks-1)
					w = x
				case model.Refutation:
					x.Epoch = 0
					if !cost.Synchronous() {
						x.Epoch = 1
					}
					w = x
				}
				bound, err := cert.Yield(context.Background(), &model.Certificate{Problem: p, Witness: w})
				if !slices.Contains(k.Costs, cost) || k.Cut && chunks == 0 {
					require.Error(t, err, "%s under %v, %d chunks", k.Name, cost, chunks)
					continue
				}
				require.NoError(t, err, "%s under %v, %d chunks", k.Name, cost, chunks)
				require.GreaterOrEqual(t, bound, model.Time(0))
				require.Less(t, bound, model.MaxTime)
			}
		}
	}
}

// The lemmas that the catalogue names are in this package.
func TestKindsNameLemmas(t *testing.T) {
	files, err := filepath.Glob("*.go")
	require.NoError(t, err)
	text := ""
	for _, f := range files {
		b, err := os.ReadFile(f)
		require.NoError(t, err)
		text += string(b)
	}
	for _, k := range cert.Kinds() {
		require.NotEmpty(t, k.Shows)
		require.NotEmpty(t, k.Holds)
		for _, lemma := range strings.Split(k.Lemmas, ", ") {
			require.Contains(t, text, "// Lemma ("+lemma+").", k.Name)
		}
	}
}
