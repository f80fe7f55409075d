package cert_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/topo"
	"github.com/oraccl/oraccl/verify/cert"
)

// TestFewestRounds: a ring gathers four chunks in two rounds both ways, and no bound says
// that of three rounds, of another cost model, or of hops over switches.
func TestFewestRounds(t *testing.T) {
	x, err := topo.Parse("ring:4", topo.Options{Alpha: []model.Time{0}, Bandwidth: []int64{1e12}})
	require.NoError(t, err)
	p := &model.Problem{Topology: x, Collective: model.Collective{Kind: model.AllGather}, Size: 4000, Cost: model.LinkRounds}
	p = p.WithChunks(4)
	c := &model.Certificate{Problem: p, Bound: 2000, Witness: model.Ingress{Rank: 1}}
	require.Equal(t, 2, cert.LeastRounds(c))
	rounds := func(n int) *model.Schedule {
		s := &model.Schedule{Form: model.InRounds, Routes: [][]int{{0}}}
		for i := range n {
			s.Transfers = append(s.Transfers, model.Transfer{Src: int32(x.Links[0].Src), Dst: int32(x.Links[0].Dst), Start: model.Time(i), End: model.Time(i + 1)})
		}
		return s
	}
	require.True(t, cert.FewestRounds(context.Background(), c, p, rounds(2)))
	require.False(t, cert.FewestRounds(context.Background(), c, p, rounds(3)))
	require.False(t, cert.FewestRounds(context.Background(), c, p, &model.Schedule{Form: model.Timed}))
	c.Bound = 1001 // part of a round is one
	require.Equal(t, 2, cert.LeastRounds(c))

	refuted := &model.Certificate{Problem: p, Witness: model.Refutation{Horizon: 1}}
	require.Equal(t, 2, cert.LeastRounds(refuted))
	refuted.Witness = model.Refutation{Horizon: 1, Steps: 1} // in more steps there may be one
	require.Zero(t, cert.LeastRounds(refuted))
	refuted.Witness = model.Refutation{Horizon: 1, Epoch: 5}
	require.Zero(t, cert.LeastRounds(refuted))

	for name, change := range map[string]func(q *model.Problem){
		"timed":    func(q *model.Problem) { q.Cost = model.Pipelined },
		"one send": func(q *model.Problem) { q.Cost = model.Rounds },
		"late":     func(q *model.Problem) { q.Release = []model.Time{0, 0, 5, 0} },
		"no cut":   func(q *model.Problem) { q.Chunks = nil },
	} {
		q := *p
		change(&q)
		require.Zero(t, cert.LeastRounds(&model.Certificate{Problem: &q, Bound: 2000, Witness: model.Ingress{Rank: 1}}), name)
	}
	y, err := topo.Parse("switch:4", topo.Options{})
	require.NoError(t, err)
	q := *p
	q.Topology = y
	require.Zero(t, cert.LeastRounds(&model.Certificate{Problem: &q, Bound: 2000, Witness: model.Ingress{Rank: 1}}))

	late := *p
	late.Cost, late.Release = model.Rounds, []model.Time{0, 0, 0, 3000}
	spread := &model.Certificate{Problem: &late, Witness: model.Spread{Source: 3}}
	least, err := cert.SpreadRounds(context.Background(), &late, model.Spread{Source: 3})
	require.NoError(t, err)
	require.Equal(t, 2, least) // its chunk has to reach three ranks
	s := rounds(2)
	for i := range s.Transfers {
		s.Transfers[i].Src, s.Transfers[i].Dst = 3, 0
		for l, k := range x.Links {
			if k.Src == 3 && k.Dst == 0 {
				s.Routes = [][]int{{l}}
			}
		}
	}
	require.True(t, cert.FewestRounds(context.Background(), spread, &late, s))
	s.Transfers = append(s.Transfers, model.Transfer{Src: 3, Dst: 0, Start: 2, End: 3})
	require.False(t, cert.FewestRounds(context.Background(), spread, &late, s))
}
