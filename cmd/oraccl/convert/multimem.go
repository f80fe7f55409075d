package convert

import (
	"fmt"
	"slices"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/format/mscclpp"
	"github.com/oraccl/oraccl/solve/assign"
)

// sharesOf returns what a schedule with sums or multicasts of switches is as a plan: of each chunk
// one rank reads the sum of all and then writes it to all at once, each over one switch; of an
// allgather it writes alone. The error explains what else the schedule does: the operations of plans
// have no more.
func sharesOf(p *model.Problem, s *model.Schedule) (*mscclpp.Shares, error) {
	no := func(format string, args ...any) error {
		return fmt.Errorf("cannot be written as an execution plan: "+format+"; of switches that add or copy, plans have what reads the sum of all ranks and writes it to all (glres), and what writes to all (gstore); within one machine --method in-network makes nothing else if --chunks is given", args...)
	}
	kind := p.Collective.Kind
	if kind != model.AllReduce && kind != model.AllGather {
		return nil, no("it is of %v", kind)
	}
	members := p.Members()
	type stream struct { // of one chunk: all that add it, or all that copy it
		at    model.Time
		link  int
		peers map[int32]bool
		rank  int32
	}
	n := len(p.Chunks)
	sums, casts := make([]stream, n), make([]stream, n)
	for i := range s.Transfers {
		t := &s.Transfers[i]
		route := s.Routes[t.Route]
		if len(route) != 2 {
			return nil, no("transfer %d passes %d links, not two over one switch", i, len(route))
		}
		at := p.Topology.Links[route[0]].Dst
		x, rank, peer, now, link, can := &casts[t.Chunk], t.Src, t.Dst, t.Start, route[0], p.Topology.Copies(at)
		if t.Op == model.Reduction {
			x, rank, peer, now, link, can = &sums[t.Chunk], t.Dst, t.Src, t.End, route[1], p.Topology.Reduces(at) == model.SumsRead
		}
		switch {
		case !can:
			return nil, no("transfer %d is over %s, which does not do it at once for all ranks, or does not leave it at one", i, p.Topology.NodeName(at))
		case x.peers == nil:
			*x = stream{now, link, map[int32]bool{}, rank}
		case x.rank != rank || x.at != now || x.link != link:
			return nil, no("chunk %d is moved by transfer %d apart from others", t.Chunk, i)
		}
		x.peers[peer] = true
	}
	unit, err := assign.Units(p, planLimits.Chunks)
	if err != nil {
		return nil, err
	}
	shares := &mscclpp.Shares{Ranks: len(members), Owners: make([]int, unit)}
	space := p.Space()
	at := func(bytes int64) int { return int((bytes*int64(unit) + space - 1) / space) }
	for c := range n {
		owner := slices.Index(members, int(casts[c].rank))
		if len(casts[c].peers) != len(members)-1 || owner < 0 {
			return nil, no("chunk %d is not written to all %d ranks at once", c, len(members))
		}
		if kind == model.AllReduce && (len(sums[c].peers) != len(members)-1 || sums[c].rank != casts[c].rank) {
			return nil, no("the sum of chunk %d is not read by the rank that writes it to all, or not of all %d ranks", c, len(members))
		}
		for u := at(p.Chunks[c].Offset); u < at(p.Chunks[c].Offset+p.Chunks[c].Size); u++ {
			shares.Owners[u] = owner
		}
	}
	return shares, nil
}
