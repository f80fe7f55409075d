package cert_test

import (
	"context"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/topo"
	"github.com/oraccl/oraccl/verify/cert"
)

// TestSoundLate is TestSound for allreduces to which several ranks come late, with
// latencies that let transfers be under way when they come.
func TestSoundLate(t *testing.T) {
	decided, binding := 0, 0
	for seed := *firstSeed; seed < *firstSeed+uint64(*problems)/2; seed++ {
		r := rand.New(rand.NewPCG(seed, 9))
		p := tiny(r)
		p.Collective = tinyCollective(r, model.AllReduce, p.Topology.Ranks)
		p.Size = int64(1 + r.IntN(3))
		p.Release = make([]model.Time, p.Topology.Ranks)
		at := model.Time(1 + r.IntN(9))
		for v := range p.Release {
			switch r.IntN(5) {
			case 0, 1:
				p.Release[v] = at
			case 2:
				p.Release[v] = model.Time(r.IntN(9))
			}
		}
		for i := range p.Topology.Links {
			if r.IntN(3) == 0 {
				p.Topology.Links[i].Alpha = model.Time(r.IntN(9))
			}
		}
		if p = p.WithChunks(1 + r.IntN(int(p.Size))); p.Validate() != nil {
			continue
		}
		b := newBrute(p, *budget)
		least, state, exhausted := b.optimum(60)
		if exhausted || state == nil {
			continue
		}
		decided++
		free := *p
		free.Chunks = nil
		for _, q := range []*model.Problem{p, &free} {
			list, by := yields(q)
			for i, y := range list {
				require.LessOrEqual(t, y, least, "seed %d: %v\n%+v\nyields %v by %#v, but there is a schedule that ends at %v: %+v", seed, p, p.Topology, y, by[i], least, b.schedule(state))
			}
		}
		early := *p
		early.Release = nil
		if y, err := cert.Yield(context.Background(), &model.Certificate{Problem: p, Witness: model.Volume{}}); err == nil && y == least {
			if z, err := cert.Yield(context.Background(), &model.Certificate{Problem: &early, Witness: model.Volume{}}); err == nil && z < y {
				binding++
			}
		}
	}
	require.Greater(t, decided, *problems/20)
	require.Positive(t, binding)
}

// Where l of n ranks come so late that the others are done with each other, (n-1+l)/n of
// the buffer has to pass every port after it; with one late rank at D, what is left of
// (2(n-1)+D)/n where it comes early.
func TestLateVolume(t *testing.T) {
	for n := 2; n <= 9; n++ {
		tp, err := topo.Switch(n, topo.Wire{Bandwidth: 1e12}, false)
		require.NoError(t, err)
		size := int64(n) * 1_000_000 // a byte takes a picosecond
		yield := func(release ...model.Time) model.Time {
			p := &model.Problem{Topology: tp, Collective: model.Collective{Kind: model.AllReduce}, Size: size, Cost: model.Rounds, Release: release}
			require.NoError(t, p.Validate())
			y, err := cert.Yield(context.Background(), &model.Certificate{Problem: p, Witness: model.Volume{}})
			require.NoError(t, err)
			return y
		}
		for l := 1; l <= n; l++ {
			release := make([]model.Time, n)
			const late = 10 * model.Second
			for v := range l {
				release[(3*n+2*l+v)%n] = late
			}
			want := late + model.Time(n-1+min(l, n-1))*1_000_000
			require.Equal(t, want, yield(release...), "n=%d l=%d", n, l)
		}
		release := make([]model.Time, n)
		release[n/2] = model.Time(size) / 10
		require.Equal(t, max(model.Time(2*(n-1))*1_000_000+(model.Time(size)/10+model.Time(n)-1)/model.Time(n), model.Time(size)/10+model.Time(size)), yield(release...), "n=%d", n)
	}
}
