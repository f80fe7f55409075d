package cert

import (
	"fmt"
	"math/bits"

	"github.com/oraccl/oraccl/model"
)

// distance checks the bound that a potential yields: π(v) is claimed to be a time
// before which the contribution of Source cannot be at node v (at a switch: its
// head cannot).
//
// Proof, by induction along the chain of (a). At a rank that holds it at the start,
// π <= its arrival or 0. A hop from rank u over switches to rank v starts when u
// has it and has arrived, and lasts Σα + maxβ >= α_1 + β_1(b) + α_2 + … for its
// links 1, 2, …; so if π rises by at most α+β(b) along a link that leaves a rank,
// and by at most α along one that leaves a switch, π(v) is no later than the
// arrival. The same holds for a route over relays, hop by hop. b is the chunk's
// size, or one byte where the cut is free.
func (p question) distance(w model.Distance, bound model.Time) string {
	unit, size, reason := p.unitOf(w.Chunk, w.Shard)
	if reason != "" {
		return reason
	}
	t := p.Topology
	if len(w.Potential) != t.Nodes() {
		return fmt.Sprintf("distance: %d potentials, want one for each of %d nodes", len(w.Potential), t.Nodes())
	}
	if reason := p.wanted(unit, w.Source, w.Dest); reason != "" {
		return reason
	}
	for r, v := range p.units.Start(unit) {
		for j := range v.Terms() {
			if j == w.Source && w.Potential[r] > p.ReleaseOf(r) {
				return fmt.Sprintf("distance: potential %v at rank %d, which holds the contribution from %v on", w.Potential[r], r, p.ReleaseOf(r))
			}
		}
	}
	for i, l := range t.Links {
		from, rise := w.Potential[l.Src], l.Alpha
		if t.IsRank(l.Src) {
			from = max(from, p.ReleaseOf(l.Src))
			rise = rise.Add(model.TransferTime(size, l.Bandwidth))
		}
		if w.Potential[l.Dst]-from > rise {
			return fmt.Sprintf("distance: the potential rises from %v to %v along link %d, want a rise of at most %v", from, w.Potential[l.Dst], i, rise)
		}
	}
	if w.Potential[w.Dest] < bound {
		return fmt.Sprintf("distance: potential %v at rank %d, want at least the bound of %v", w.Potential[w.Dest], w.Dest, bound)
	}
	return ""
}

// unitOf returns the unit that a witness names, with the number of bytes that a
// transfer of it has at least.
func (p question) unitOf(chunk, shard int) (unit int, size int64, reason string) {
	switch {
	case p.Chunks == nil && chunk != -1:
		return 0, 0, fmt.Sprintf("chunk %d of a problem without chunks, want -1", chunk)
	case p.Chunks == nil && (shard < 0 || shard >= p.Shards()):
		return 0, 0, fmt.Sprintf("shard %d does not exist, want 0 to %d", shard, p.Shards()-1)
	case p.Chunks == nil:
		return shard, 1, ""
	case chunk < 0 || chunk >= len(p.Chunks):
		return 0, 0, fmt.Sprintf("chunk %d does not exist, want 0 to %d", chunk, len(p.Chunks)-1)
	}
	return chunk, p.Chunks[chunk].Size, ""
}

// wanted says why dest does not need source's contribution to a unit, or "".
func (p question) wanted(unit, source, dest int) string {
	if dest < 0 || dest >= p.Topology.Ranks {
		return fmt.Sprintf("rank %d does not exist, want 0 to %d", dest, p.Topology.Ranks-1)
	}
	for r, v := range p.units.Start(unit) {
		for j := range v.Terms() {
			if r == dest && j == source {
				return fmt.Sprintf("rank %d has the contribution of rank %d from the start", dest, source)
			}
		}
	}
	for r, v := range p.units.Goal(unit) {
		if r != dest {
			continue
		}
		for j := range v.Terms() {
			if j == source {
				return ""
			}
		}
	}
	return fmt.Sprintf("rank %d need not end with the contribution of rank %d", dest, source)
}

// doubling checks the bound that the number of ranks yields. In rounds, where no
// switch copies, every rank sends at most once a round, so that the ranks that hold
// the contribution at most double; and a round in which they grow has a transfer of
// the unit, which lasts at least α+β(b) of the first link of its route. They cannot
// begin before one of the holders has arrived.
func (p question) doubling(w model.Doubling, bound model.Time) string {
	unit, size, reason := p.unitOf(w.Chunk, w.Shard)
	if reason != "" {
		return reason
	}
	if p.Cost != model.Rounds {
		return "doubling: holds for the cost model rounds only"
	}
	for _, s := range p.Topology.Switches {
		if s.Copies {
			return "doubling: a switch copies, so that one send can reach many ranks"
		}
	}
	holders := map[int]bool{}
	first := model.MaxTime
	for r, v := range p.units.Start(unit) {
		for j := range v.Terms() {
			if j == w.Source {
				holders[r] = true
				first = min(first, p.ReleaseOf(r))
			}
		}
	}
	if len(holders) == 0 {
		return fmt.Sprintf("doubling: nobody holds the contribution of rank %d at the start", w.Source)
	}
	all := len(holders)
	for r, v := range p.units.Goal(unit) {
		for j := range v.Terms() {
			if j == w.Source && !holders[r] {
				all++
			}
		}
	}
	rounds := bits.Len(uint((all - 1) / len(holders))) // the least t with holders·2^t >= all
	round := model.MaxTime
	for _, l := range p.Topology.Links {
		if p.Topology.IsRank(l.Src) {
			round = min(round, l.Alpha.Add(model.TransferTime(size, l.Bandwidth)))
		}
	}
	if rounds == 0 {
		return "doubling: those who must hold the contribution do at the start"
	}
	if reached := first.Add(round.Mul(int64(rounds))); reached < bound {
		return fmt.Sprintf("doubling: %d rounds of at least %v from %v on, want %v in all", rounds, round, first, bound)
	}
	return ""
}
