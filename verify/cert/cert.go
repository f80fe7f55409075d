// Package cert checks certificates of lower bounds in exact arithmetic, without a
// solver. A certificate claims that every right schedule of a problem has a
// makespan of at least Bound; each check below comes with the proof that its
// witness yields that.
//
// # What every proof stands on
//
// (a) A contribution is in a slot only if it is there at the start, or arrived by
// a chain of transfers from a slot where it is at the start. A slot's rank that is
// outside a set S of nodes gets a contribution that only ranks in S hold by a chain
// with a transfer from a rank in S to one outside; its route has a link that
// leaves S.
//
// (b) A transfer of b bytes keeps each link l of its route busy for at least
// β_l(b) = ⌈b·10¹²/B_l⌉ ps, and begins to do so when all ranks on the route have
// arrived, at rel_l or later. Pipelined, it ends no sooner than α_l after the link
// is free again. Blocking, the link is busy for α_l + β_l(b). In rounds, a link
// carries one chunk a round, and the round lasts at least α_l + β_l(b).
//
// (c) A link that leaves a switch is reached over links from a rank, and one that
// enters a switch leads on to a rank: head_l and tail_l are the least latencies of
// the ways there are. A transfer begins to keep l busy no sooner than head_l after
// its start, and arrives no sooner than tail_l after the end of link l.
//
// (d) So with makespan T the transfers over l occupy disjoint spans, of β_l(b) in
// rel_l+head_l to T-α_l-tail_l (pipelined) or of α_l+β_l(b) in rel_l+head_l to
// T-tail_l (blocking), branches of a multicast counting once; in rounds the rounds
// in which l is used are disjoint and last head_l+α_l+β_l(b)+tail_l each. That
// bounds how many chunks, and how many bytes, pass l.
package cert

import (
	"fmt"
	"math"
	"math/bits"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/verify"
)

// Engine is the name of this checker in verdicts.
const Engine = "cert"

// Check decides whether the witness of c yields its bound. The outcome is Proved
// or Refuted; a certificate whose problem is meaningless is Refuted.
func Check(c *model.Certificate) verify.Verdict {
	v := verify.Verdict{Engine: Engine, Claim: claim(c)}
	if reason := refute(c); reason != "" {
		v.Outcome, v.Reason = verify.Refuted, reason
		v.Violations = []verify.Violation{{Code: verify.Malformed, Where: "certificate", Message: reason, Transfer: -1, Rank: -1, Chunk: -1}}
		return v
	}
	v.Outcome = verify.Proved
	return v
}

func claim(c *model.Certificate) string {
	if c == nil || c.Problem == nil || c.Problem.Topology == nil {
		return "is a certificate"
	}
	return fmt.Sprintf("no schedule of %v ends before %v", c.Problem, c.Bound)
}

// refute says why c does not prove its bound, or returns "".
func refute(c *model.Certificate) string {
	switch {
	case c == nil || c.Problem == nil:
		return "it has no problem"
	case c.Bound < 0:
		return fmt.Sprintf("bound %d ps, want 0 or more", c.Bound)
	}
	p := c.Problem
	if err := p.Validate(); err != nil {
		return err.Error()
	}
	if p.Chunks == nil && p.Collective.Kind == model.Custom {
		return "the sizes of a custom collective's chunks are free where the problem has none; nothing bounds its makespan"
	}
	if c.Bound == 0 {
		return "" // no schedule ends before it begins
	}
	q := question{Problem: p, units: p}
	q.head, q.tail = ends(p.Topology)
	if p.Chunks == nil {
		q.units = p.WithChunks(p.Shards())
	}
	switch w := c.Witness.(type) {
	case model.Cut:
		inside := make([]bool, p.Topology.Nodes())
		for i, v := range w.Nodes {
			if v < 0 || v >= len(inside) || i > 0 && v <= w.Nodes[i-1] {
				return fmt.Sprintf("cut: node %d, want ascending nodes from 0 to %d", v, len(inside)-1)
			}
			inside[v] = true
		}
		return q.crossing(inside, false, c.Bound)
	case model.Ingress:
		return q.aroundRank(w.Rank, true, c.Bound)
	case model.Egress:
		return q.aroundRank(w.Rank, false, c.Bound)
	case model.Volume:
		return q.volume(c.Bound)
	case model.Distance:
		return q.distance(w, c.Bound)
	case model.Doubling:
		return q.doubling(w, c.Bound)
	}
	return fmt.Sprintf("witness of type %T is unknown", c.Witness)
}

// question is a problem with its units: its chunks, or, where it has none, its
// shards, for in every cut each byte of a shard is part of some chunk, and the
// chunks of a shard all start and end alike.
type question struct {
	*model.Problem
	units      *model.Problem // with the units as its chunks
	head, tail []model.Time   // by link
}

// ends returns head and tail of every link: latencies over switches, by relaxation
// until nothing changes.
func ends(t *model.Topology) (head, tail []model.Time) {
	from, to := make([]model.Time, t.Nodes()), make([]model.Time, t.Nodes()) // least latency from, and to, a rank
	for v := t.Ranks; v < t.Nodes(); v++ {
		from[v], to[v] = model.MaxTime, model.MaxTime
	}
	for changed := true; changed; {
		changed = false
		for _, l := range t.Links {
			if d := from[l.Src].Add(l.Alpha); d < from[l.Dst] {
				from[l.Dst], changed = d, true
			}
			if d := to[l.Dst].Add(l.Alpha); d < to[l.Src] {
				to[l.Src], changed = d, true
			}
		}
	}
	for _, l := range t.Links {
		head, tail = append(head, from[l.Src]), append(tail, to[l.Dst])
	}
	return head, tail
}

// need is what must pass some links: at least count transfers of least bytes or
// more each, and bytes in all.
type need struct{ count, bytes, least int64 }

func (n *need) add(times, size int64) {
	if n.count == 0 || size < n.least {
		n.least = size
	}
	n.count += times
	n.bytes += times * size
}

// crossing checks the bound that a set of nodes yields. By (a), of every unit for
// which leaves holds, each byte passes a link that leaves the set; by (d) that
// cannot be done before bound. single says that of those links one is in use a
// round, under the cost model rounds.
func (p question) crossing(inside []bool, single bool, bound model.Time) string {
	var n need
	for u, c := range p.units.Chunks {
		if p.leaves(u, inside) {
			n.add(1, c.Size)
		}
	}
	if n.count == 0 {
		return "nothing must leave that set of nodes"
	}
	var links []int
	for i, l := range p.Topology.Links {
		if inside[l.Src] && !inside[l.Dst] {
			links = append(links, i)
		}
	}
	return p.passing(n, [][]int{links}, single, bound)
}

// aroundRank is crossing for the set of all other nodes, or for the rank alone. In
// rounds a rank receives once and sends once a round.
func (p question) aroundRank(rank int, ingress bool, bound model.Time) string {
	if rank < 0 || rank >= p.Topology.Ranks {
		return fmt.Sprintf("rank %d does not exist, want 0 to %d", rank, p.Topology.Ranks-1)
	}
	inside := make([]bool, p.Topology.Nodes())
	for v := range inside {
		inside[v] = (v == rank) != ingress
	}
	return p.crossing(inside, p.Cost == model.Rounds, bound)
}

// leaves says whether a unit must leave the set: some rank outside wants of it a
// contribution that no rank outside holds at the start.
func (p question) leaves(unit int, inside []bool) bool {
	outside := map[int]bool{} // contributions held outside
	for r, v := range p.units.Start(unit) {
		if !inside[r] {
			for j := range v.Terms() {
				outside[j] = true
			}
		}
	}
	for r, v := range p.units.Goal(unit) {
		if inside[r] {
			continue
		}
		for j := range v.Terms() {
			if !outside[j] {
				return true
			}
		}
	}
	return false
}

// passing checks by (d) that what is needed cannot pass the links by bound-1.
// Links come in groups; under single only one link of a group is in use a round,
// so that a group is worth its best link. Where p has no chunks, nothing is known
// of how many transfers there are, only that a link in use has one at least.
func (p question) passing(n need, groups [][]int, single bool, bound model.Time) string {
	t := bound - 1
	var count, bytes uint64
	for _, links := range groups {
		var sumCount, sumBytes uint64
		for _, i := range links {
			c, b := p.through(i, n.least, t)
			if single {
				sumCount, sumBytes = max(sumCount, c), max(sumBytes, b)
				continue
			}
			sumCount, sumBytes = addSaturating(sumCount, c), addSaturating(sumBytes, b)
		}
		count, bytes = addSaturating(count, sumCount), addSaturating(bytes, sumBytes)
	}
	if bytes < uint64(n.bytes) || p.Chunks != nil && count < uint64(n.count) {
		return ""
	}
	return fmt.Sprintf("by %v, %d transfers and %d bytes can pass, and only %d transfers and %d bytes must", t, count, bytes, n.count, n.bytes)
}

// through returns how many transfers of at least least bytes, and how many bytes,
// link i can carry by t at most.
func (p question) through(i int, least int64, t model.Time) (count, bytes uint64) {
	l := p.Topology.Links[i]
	released := model.Time(0)
	for _, v := range []int{l.Src, l.Dst} {
		if p.Topology.IsRank(v) {
			released = max(released, p.ReleaseOf(v))
		}
	}
	latency := p.head[i].Add(l.Alpha).Add(p.tail[i])
	span := t - released
	if span < latency {
		return 0, 0
	}
	each := model.TransferTime(least, l.Bandwidth)
	switch p.Cost {
	case model.Pipelined:
		count = uint64((span - latency) / each)
	case model.Blocking:
		count = uint64((span - latency + l.Alpha) / each.Add(l.Alpha))
	default:
		count = uint64(span / each.Add(latency))
	}
	hi, lo := bits.Mul64(uint64(span-latency), uint64(l.Bandwidth))
	if hi >= uint64(model.Second) {
		return count, math.MaxUint64
	}
	bytes, _ = bits.Div64(hi, lo, uint64(model.Second))
	return count, bytes
}

func addSaturating(a, b uint64) uint64 {
	if sum, carry := bits.Add64(a, b, 0); carry == 0 {
		return sum
	}
	return math.MaxUint64
}
