package model

import (
	"errors"
	"slices"
)

// ErrNoChunks is returned where a problem must be cut into chunks and is not.
var ErrNoChunks = errors.New("problem has no chunks, want a cut")

// Validate reports the first thing that makes p meaningless. A problem with
// chunks must have them tile the space without a gap and inside the shards.
// It takes O(topology + chunks + conditions) time.
func (p *Problem) Validate() error {
	if p.Topology == nil {
		return wrong("topology", "missing")
	}
	if err := p.Topology.Validate(); err != nil {
		return Within("topology", err)
	}
	if err := p.Collective.validate(p.Topology.Ranks); err != nil {
		return Within("collective", err)
	}
	if p.Cost < Blocking || p.Cost > LinkRounds {
		return wrong("cost", "missing, want blocking, pipelined, rounds or link-rounds")
	}
	if p.Size < 1 || p.Size > MaxSize {
		return wrong("size", "%d bytes, want 1 to %d", p.Size, int64(MaxSize))
	}
	if n := int64(p.groupSize()); p.Collective.Kind == AllToAll {
		if n*n > MaxChunks {
			return wrong("collective", "alltoall among %d members has %d shards, want at most %d", n, n*n, MaxChunks)
		}
		if p.Size > MaxSize/n {
			return wrong("size", "%d bytes a member of %d, want at most %d in all", p.Size, n, int64(MaxSize))
		}
	}
	if ends := p.Collective.Ends; ends != nil && ends[len(ends)-1] != p.Size {
		return wrong("size", "%d bytes, want %d, the sum of the collective's sizes", p.Size, ends[len(ends)-1])
	}
	if int64(p.Shards()) > p.Space() {
		return wrong("size", "%d bytes for %d shards, want at least one byte a shard", p.Size, p.Shards())
	}
	if p.Release != nil && len(p.Release) != p.Topology.Ranks {
		return wrong("release", "%d times, want one for each of %d ranks", len(p.Release), p.Topology.Ranks)
	}
	for r, t := range p.Release {
		if t < 0 || t > MaxRelease {
			return wrong(Element("release", r), "%d ps, want 0 to %d", int64(t), int64(MaxRelease))
		}
	}
	if p.worstTime() > MaxTime/4 {
		return wrong("size", "%d bytes take more than %v on the slowest links, beyond what times can express", p.Size, MaxTime/4/Second*Second)
	}
	if p.Chunks != nil {
		return p.validateChunks()
	}
	return nil
}

// worstTime bounds the time in which the whole space visits all nodes over the
// slowest link, one chunk after the other; no schedule here needs longer.
func (p *Problem) worstTime() Time {
	var alpha Time
	slowest := int64(1 << 62)
	for _, l := range p.Topology.Links {
		alpha = max(alpha, l.Alpha)
		slowest = min(slowest, l.Bandwidth)
	}
	if len(p.Topology.Links) == 0 {
		return 0
	}
	k := int64(max(1, len(p.Chunks)))
	return TransferTime(p.Space(), slowest).Add(alpha.Mul(k)).Add(Time(k)).Mul(int64(p.Topology.Nodes()))
}

func (p *Problem) validateChunks() error {
	if len(p.Chunks) == 0 || len(p.Chunks) > MaxChunks {
		return wrong("chunks", "%d, want 1 to %d", len(p.Chunks), MaxChunks)
	}
	if !p.Collective.Cuttable() && len(p.Chunks) != p.Collective.Chunks {
		return wrong("chunks", "%d, want the %d of the custom collective", len(p.Chunks), p.Collective.Chunks)
	}
	at, space := int64(0), p.Space()
	for k, c := range p.Chunks {
		if c.Size < 1 {
			return wrong(Element("chunks", k), "size %d, want at least 1 byte", c.Size)
		}
		if c.Offset != at {
			return wrong(Element("chunks", k), "offset %d, want %d, the end of the chunk before", c.Offset, at)
		}
		if c.Size > space-at {
			return wrong(Element("chunks", k), "ends beyond the %d bytes of the %v", space, p.Collective.Kind)
		}
		at += c.Size
		if !p.Collective.Cuttable() {
			continue // each is a shard of its own, whatever its size
		}
		if end := p.shardEnd(p.shardAt(c.Offset)); at > end {
			return wrong(Element("chunks", k), "bytes %d to %d straddle two shards, want an end at %d or before", c.Offset, at, end)
		}
	}
	if at != space {
		return wrong("chunks", "they cover %d bytes, want all %d of the %v", at, space, p.Collective.Kind)
	}
	return nil
}

// SameUpToCut reports whether q asks the same as p, the chunks of q being a cut of
// p's: p has none, or the same ones.
func (p *Problem) SameUpToCut(q *Problem) bool {
	same := p.Topology.Equal(q.Topology) && p.Collective.equal(&q.Collective) &&
		slices.Equal(p.Members(), q.Members()) && p.Size == q.Size && p.Cost == q.Cost
	for r := range p.Topology.Ranks {
		same = same && p.ReleaseOf(r) == q.ReleaseOf(r)
	}
	return same && (p.Chunks == nil || slices.Equal(p.Chunks, q.Chunks))
}

// Equal reports whether t and u have the same nodes, links and ports, in the same
// order. Names of topologies do not matter.
func (t *Topology) Equal(u *Topology) bool {
	return t.Ranks == u.Ranks && slices.Equal(t.Switches, u.Switches) && slices.Equal(t.Links, u.Links) &&
		slices.EqualFunc(t.Ports, u.Ports, func(a, b Port) bool {
			return a.Name == b.Name && a.Capacity == b.Capacity && slices.Equal(a.Links, b.Links)
		})
}
