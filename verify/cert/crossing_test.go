package cert_test

import (
	"context"
	"flag"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/verify/cert"
)

var pairings = flag.Int("pairings", 300, "random allreduces among pairs to try")

// paired returns a tiny allreduce among a pair of ranks and one or two others, of one or two chunks. What is added is
// idempotent, so that a rank may get a contribution twice, which is all the better for those who want to be faster.
func paired(r *rand.Rand) *model.Problem {
	t := &model.Topology{Name: "paired", Ranks: 3 + r.IntN(2)}
	equal := r.IntN(3) > 0
	link := func(u, v int) {
		slower := int64(1)
		if !equal {
			slower += int64(r.IntN(2))
		}
		t.Links = append(t.Links, model.Link{Src: u, Dst: v, Alpha: model.Time(r.IntN(2)), Bandwidth: int64(1e12) / slower})
	}
	for u := 0; u+1 < t.Ranks; u += 2 {
		link(u, u+1)
		link(u+1, u)
	}
	for range 1 + r.IntN(3) {
		u, v := r.IntN(2), 2+r.IntN(t.Ranks-2)
		link(u, v)
		link(v, u)
	}
	chunks := 1 + r.IntN(4)/3
	p := &model.Problem{Topology: t, Collective: model.Collective{Kind: model.AllReduce, Op: model.Max}, Size: int64(chunks * (1 + r.IntN(2))), Cost: model.Pipelined}
	if r.IntN(4) == 0 {
		p.Cost = model.Blocking
	}
	if r.IntN(5) == 0 {
		p.Release = make([]model.Time, t.Ranks)
		p.Release[r.IntN(t.Ranks)] = model.Time(r.IntN(3))
	}
	return p.WithChunks(chunks)
}

// chase looks for a schedule of an allreduce of what is idempotent over links between ranks.
type chase struct {
	p      *model.Problem
	away   [][]model.Time // by rank and rank: how long a chunk takes from the one to the other
	seen   map[string]bool
	budget int
}

// newChase looks at no more states than budget.
func newChase(p *model.Problem, budget int) *chase {
	c := &chase{p: p, seen: map[string]bool{}, budget: budget}
	t := p.Topology
	for u := range t.Ranks {
		away := make([]model.Time, t.Ranks)
		for v := range away {
			if v != u {
				away[v] = 1000
			}
		}
		for range t.Ranks {
			for _, l := range t.Links {
				away[l.Dst] = min(away[l.Dst], away[l.Src]+l.Alpha+model.TransferTime(p.Chunks[0].Size, l.Bandwidth))
			}
		}
		c.away = append(c.away, away)
	}
	return c
}

// hopeless reports whether some contribution cannot come to some rank by limit.
func (c *chase) hopeless(s chased, now, limit model.Time) bool {
	n := len(c.p.Chunks)
	for slot, has := range s.slots {
		v, k := slot/n, slot%n
		for w := range c.p.Topology.Ranks {
			soon := has>>w&1 == 1
			for u := range c.p.Topology.Ranks {
				soon = soon || s.slots[u*n+k]>>w&1 == 1 && now+c.away[u][v] <= limit
			}
			for _, f := range s.flights {
				soon = soon || f.slot%n == k && f.set>>w&1 == 1 && f.end+c.away[f.slot/n][v] <= limit
			}
			if !soon {
				return true
			}
		}
	}
	return false
}

// chased is what is where at a time: by rank and chunk the contributions there, those under way, and since when links are free.
type chased struct {
	slots   []uint8
	flights []under
	free    []model.Time
}

type under struct {
	end  model.Time
	slot int
	set  uint8
}

// ends reports whether there is a schedule that ends at limit or before, from s at now on.
func (c *chase) ends(s chased, now, limit model.Time) bool {
	slots, flights := append([]uint8(nil), s.slots...), []under(nil)
	for _, f := range s.flights {
		if f.end <= now {
			slots[f.slot] |= f.set
		} else {
			flights = append(flights, f)
		}
	}
	all := uint8(1)<<c.p.Topology.Ranks - 1
	done := true
	for _, v := range slots {
		done = done && v == all
	}
	if done {
		return true
	}
	if now >= limit || c.budget <= 0 {
		return false
	}
	free := append([]model.Time(nil), s.free...)
	for i := range free {
		free[i] = max(free[i], now)
	}
	next := chased{slots, flights, free}
	key := append([]byte{byte(now)}, slots...)
	for _, f := range flights {
		key = append(key, byte(f.end), byte(f.slot), f.set)
	}
	for _, at := range free {
		key = append(key, byte(at))
	}
	if c.seen[string(key)] || c.hopeless(next, now, limit) {
		return false
	}
	c.seen[string(key)] = true
	return c.send(0, next, now, limit)
}

// send tries all that links from i on can begin at now.
func (c *chase) send(i int, s chased, now, limit model.Time) bool {
	t := c.p.Topology
	if c.budget--; c.budget <= 0 {
		return false
	}
	if i == len(t.Links) {
		return c.ends(s, now+1, limit)
	}
	l := t.Links[i]
	if s.free[i] <= now && now >= max(c.p.ReleaseOf(l.Src), c.p.ReleaseOf(l.Dst)) {
		n := len(c.p.Chunks)
		for k, chunk := range c.p.Chunks {
			set, slot := s.slots[l.Src*n+k], l.Dst*n+k
			busy := model.TransferTime(chunk.Size, l.Bandwidth)
			end := now + l.Alpha + busy
			for _, f := range s.flights {
				if f.slot == slot && f.end <= end {
					set &^= f.set
				}
			}
			if set&^s.slots[slot] == 0 || end > limit {
				continue
			}
			if c.p.Cost == model.Blocking {
				busy += l.Alpha
			}
			free := append([]model.Time(nil), s.free...)
			free[i] = now + busy
			flights := append(append([]under(nil), s.flights...), under{end, slot, s.slots[l.Src*n+k]})
			if c.send(i+1, chased{s.slots, flights, free}, now, limit) {
				return true
			}
		}
	}
	return c.send(i+1, s, now, limit)
}

// optimum returns the least makespan, or false if that takes too long to find.
func optimum(p *model.Problem) (model.Time, bool) {
	s := chased{free: make([]model.Time, len(p.Topology.Links))}
	for r := range p.Topology.Ranks {
		for range p.Chunks {
			s.slots = append(s.slots, 1<<r)
		}
	}
	for limit := model.Time(1); ; limit++ {
		c := newChase(p, 200_000)
		if c.ends(s, 0, limit) {
			return limit, true
		}
		if c.budget <= 0 {
			return 0, false
		}
	}
}

// TestCrossingHolds: nothing ends before what any partition yields by times, and it is not for nothing: of some there is no greater
// bound.
func TestCrossingHolds(t *testing.T) {
	decided, tight, better := 0, 0, 0
	for seed := range uint64(*pairings) {
		p := paired(rand.New(rand.NewPCG(seed, 21)))
		require.NoError(t, p.Validate())
		least, ok := optimum(p)
		if !ok {
			continue
		}
		decided++
		free := *p
		free.Chunks = nil
		for _, q := range []*model.Problem{p, &free} {
			most, old := model.Time(0), model.Time(0)
			for _, parts := range partitions(p.Topology) {
				y, err := cert.Yield(context.Background(), &model.Certificate{Problem: q, Witness: model.Crossing{Parts: parts}})
				if err != nil {
					continue
				}
				require.LessOrEqual(t, y, least, "seed %d: %v\n%+v\nyields %v by %v, but there is a schedule that ends at %v", seed, q, q.Topology, y, parts, least)
				most = max(most, y)
				if y, err := cert.Yield(context.Background(), &model.Certificate{Problem: q, Witness: model.Partition{Parts: parts}}); err == nil {
					old = max(old, y)
				}
			}
			if most > old {
				better++
			}
			if most == least {
				tight++
			}
		}
	}
	t.Logf("%d decided, %d met, %d beyond what the partition yields", decided, tight, better)
	require.Greater(t, decided, *pairings/2)
	require.Greater(t, better, *pairings/10)
}
