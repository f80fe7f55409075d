package cert

import (
	"context"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model"
)

// TestCrossings: crossings is crossing, for every item of the standard collectives, any set
// of nodes and any choice of whose contributions and needs count; and so is what both note.
func TestCrossings(t *testing.T) {
	crossed := map[model.Kind]int64{}
	for seed := range uint64(4000) {
		r := rand.New(rand.NewPCG(seed, 1))
		n := 1 + r.IntN(5)
		tp := &model.Topology{Name: "star", Ranks: n, Switches: []model.Switch{{}}}
		for v := range n {
			tp.Links = append(tp.Links, model.Link{Src: v, Dst: n, Bandwidth: 1}, model.Link{Src: n, Dst: v, Bandwidth: 1})
		}
		p := &model.Problem{Topology: tp, Size: 100, Cost: model.Pipelined}
		p.Collective.Kind = model.Kinds()[r.IntN(len(model.Kinds()))]
		if r.IntN(2) == 0 {
			p.Collective.Group = r.Perm(n)[:1+r.IntN(n)]
		}
		if p.Collective.Kind.Rooted() {
			p.Collective.Root = p.Members()[r.IntN(len(p.Members()))]
		}
		if r.IntN(2) == 0 {
			p.Release = make([]model.Time, n)
			p.Release[r.IntN(n)] = 7
		}
		set := func(size int) []bool {
			set := make([]bool, size)
			for i := range set {
				set[i] = r.IntN(3) > 0
			}
			return set
		}
		inside, from, to := set(tp.Nodes()), set(n), set(n)
		j := newJob(context.Background(), p)
		all := j.crossings(inside, from, to)
		one, two := j.newLoad(), j.newLoad()
		for k := range j.items.Chunks {
			want := j.crossing(one, k, inside, from, to)
			require.Equal(t, want, all(two, k), "seed %d, item %d", seed, k)
			crossed[p.Collective.Kind] += want
		}
		require.Equal(t, one, two, "seed %d", seed)
	}
	for _, kind := range model.Kinds() {
		require.Greater(t, crossed[kind], int64(30), kind)
	}
}
