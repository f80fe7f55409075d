package cert_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/verify"
	"github.com/oraccl/oraccl/verify/cert"
	"github.com/oraccl/oraccl/verify/replay"
)

// leg is a transfer that is made of every chunk, over a link of its own.
type leg struct {
	src, dst int
	op       model.Op
}

// inHosts returns an allreduce among hosts, each of several ranks and one beside them that only gathers, and what is made
// of each chunk, one after the other. Within a host there are fast links from the ranks to the gatherer, but none back; in
// the first one, where that suffices, slow ones that bring the first rank what others have had from the start. The gatherers
// of other hosts send their sums to that of the second, which sends them to the first rank of the first. All of it goes
// from there over the gatherer to each rank of the others, and from the second's back to those beside the first. Each link
// between hosts carries each chunk once, and all of them are full except for a few chunks' time.
func inHosts(hosts, ranks, chunks int) (*model.Problem, []leg) {
	const size = 1000
	each := ranks + 1
	t := &model.Topology{Name: "hosts", Ranks: hosts * each}
	p := &model.Problem{Topology: t, Collective: model.Collective{Kind: model.AllReduce, Op: model.Max}, Size: int64(chunks) * size, Cost: model.Pipelined}
	var legs []leg
	link := func(u, v int, alpha model.Time, bandwidth int64, op model.Op) {
		t.Links = append(t.Links, model.Link{Src: u, Dst: v, Alpha: alpha, Bandwidth: bandwidth})
		legs = append(legs, leg{u, v, op})
	}
	const fast, slow = size * 1e12, 1e12 // 1 ps for a chunk, and 1000 ps
	gather := func(h int) {
		for i := range ranks {
			op := model.Reduction
			if i == 0 {
				op = model.Copy // there is nothing yet
			}
			link(h*each+i, h*each+ranks, 0, fast, op)
		}
	}
	for h := range hosts {
		for i := range ranks {
			p.Collective.Group = append(p.Collective.Group, h*each+i)
		}
	}
	for v := 1; v < ranks; v++ {
		link(v, 0, model.Time(chunks*size+v), fast, model.Reduction)
	}
	for h := 1; h < hosts; h++ {
		gather(h)
	}
	for h := 2; h < hosts; h++ {
		link(h*each+ranks, each+ranks, 0, slow, model.Reduction)
	}
	link(each+ranks, 0, 0, slow, model.Reduction)
	gather(0)
	for h := 1; h < hosts; h++ {
		for i := range ranks {
			link(ranks, h*each+i, 0, slow, model.Copy)
		}
	}
	link(each, each+ranks, 0, fast, model.Copy) // once more
	for v := 1; v < ranks; v++ {
		link(each+ranks, v, 0, slow, model.Copy)
	}
	return p.WithChunks(chunks), legs
}

// eager has each transfer start when what comes before it at its source is there, and its link is free.
func eager(p *model.Problem, legs []leg) *model.Schedule {
	t := p.Topology
	s := &model.Schedule{Form: model.Timed}
	for i := range t.Links {
		s.Routes = append(s.Routes, []int{i})
	}
	free := make([]model.Time, len(t.Links))
	for k, c := range p.Chunks {
		there := make([]model.Time, t.Ranks)
		for i, g := range legs {
			l := t.Links[i]
			start := max(free[i], there[g.src], p.ReleaseOf(g.src), p.ReleaseOf(g.dst))
			if l.Alpha == 0 {
				start = max(start, there[g.dst]) // after what is written there before
			}
			busy := model.TransferTime(c.Size, l.Bandwidth)
			end := start + l.Alpha + busy
			free[i] = start + busy
			if l.Alpha == 0 { // what comes late is not waited for
				there[g.dst] = max(there[g.dst], end)
			}
			s.Transfers = append(s.Transfers, model.Transfer{Chunk: int32(k), Src: int32(g.src), Dst: int32(g.dst), Route: int32(i), Op: g.op, Start: start, End: end})
		}
	}
	return s
}

// TestCrossingAmongHosts: in the late part of a schedule a transfer between three or more parts counts for more than those
// whom it can reach in its part: it is not only 2k-2 transfers of which each reaches its share, since those that bring sums together
// are there besides, and reach all over other parts.
func TestCrossingAmongHosts(t *testing.T) {
	for _, c := range []struct{ hosts, ranks, chunks int }{{3, 2, 120}, {3, 3, 80}, {4, 2, 80}, {4, 3, 60}, {5, 2, 80}, {6, 3, 60}} {
		p, legs := inHosts(c.hosts, c.ranks, c.chunks)
		require.NoError(t, p.Validate())
		v := replay.Check(context.Background(), p, eager(p, legs))
		require.Equal(t, verify.Proved, v.Outcome, "%v: %v", p, v.Violations)
		w := model.Crossing{}
		for h := range c.hosts {
			part := []int{}
			for i := range c.ranks + 1 {
				part = append(part, h*(c.ranks+1)+i)
			}
			w.Parts = append(w.Parts, part)
		}
		between := 0
		for _, l := range p.Topology.Links {
			if l.Src/(c.ranks+1) != l.Dst/(c.ranks+1) {
				between++
			}
		}
		// A rank serves no other of its host, so that each transfer would count for one of them alone.
		wrong := model.TransferTime(p.Size*int64((2*c.hosts-2)*c.ranks), p.Topology.Links[len(p.Topology.Links)-1].Bandwidth) / model.Time(between)
		require.Greater(t, wrong, v.Makespan, "%v: the case is not reached", c)
		free := *p
		free.Chunks = nil
		for _, q := range []*model.Problem{p, &free} {
			y, err := cert.Yield(context.Background(), &model.Certificate{Problem: q, Witness: w})
			require.NoError(t, err)
			t.Logf("%v: %v of %v", c, y, v.Makespan)
			require.LessOrEqual(t, y, v.Makespan, "%v", c)
			require.Greater(t, y, v.Makespan*3/10, "%v: the case is not reached", c)
		}
	}
}
