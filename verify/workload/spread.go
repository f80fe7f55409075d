package workload

import (
	"fmt"
	"math/big"
	"slices"

	"github.com/oraccl/oraccl/model"
	wl "github.com/oraccl/oraccl/model/workload"
)

// This file values how often chunks must pass between parts of the network, and how the contribution
// of a rank that is late spreads.

// plain checks that switches neither add nor copy.
func plain(w *wl.Workload) error {
	for i := range w.Topology.Switches {
		if s := &w.Topology.Switches[i]; s.Copies || s.Reduces != model.NoReducing {
			return fmt.Errorf("%s adds or copies, want switches that do neither", w.Topology.NodeName(w.Topology.Ranks+i))
		}
	}
	return nil
}

// volume values Parts.
//
// Lemma. Let parts hold all ranks, each one, and switches neither add nor copy. A chunk of an allreduce with
// members in m parts enters parts 2(m-1) times at least. Proof. Take a member of each of the m parts, and order
// the entries of the chunk by their ends: what an entry brings was in the part that it comes from after
// entries before it, for every other way from part to part is an entry. Look at the first entry after which
// some part has contributions of all m members. The contribution of each other part has come to it by
// entries so far, which join m parts, so that they are m-1 or more; if the part has none of the members, m or
// more. None of the other parts with members has all contributions yet, so that each needs an entry later:
// m-1, or m. ∎ (One-way gossip: Harary and Schwenk, "The communication problem on graphs and digraphs", 1974.)
// Of other collectives each part needs what the lemma on cuts says. All entries pass the links that lead into a
// part from outside it, which carry no more than their bandwidths.
func volume(w *wl.Workload, b *wl.Bound) (model.Time, error) {
	if err := plain(w); err != nil {
		return 0, err
	}
	part := make([]int, w.Topology.Nodes())
	for v := range part {
		part[v] = -1
	}
	for k, nodes := range b.Parts {
		for _, v := range nodes {
			if v < 0 || v >= len(part) || part[v] >= 0 {
				return 0, fmt.Errorf("node %d does not exist, or is in two parts", v)
			}
			part[v] = k
		}
	}
	for v := range w.Topology.Ranks {
		if part[v] < 0 {
			return 0, fmt.Errorf("rank %d is in no part", v)
		}
	}
	rate, alpha := new(big.Int), model.MaxTime
	for _, l := range w.Topology.Links {
		if part[l.Dst] >= 0 && part[l.Src] != part[l.Dst] {
			rate.Add(rate, big.NewInt(l.Bandwidth))
			alpha = min(alpha, l.Alpha)
		}
	}
	if rate.Sign() == 0 {
		return 0, fmt.Errorf("no link enters a part")
	}
	bytes := new(big.Int)
	for i := range w.Ops {
		if _, collective := w.Ops[i].Kind.Collective(); !collective {
			continue
		}
		p := w.Problem(i)
		var of []int // parts with members
		for _, v := range p.Members() {
			if !slices.Contains(of, part[v]) {
				of = append(of, part[v])
			}
		}
		need := new(big.Int)
		if p.Collective.Kind == model.AllReduce {
			need.Mul(big.NewInt(p.Size), big.NewInt(int64(2*(len(of)-1))))
		} else {
			for _, k := range of {
				inside := make([]bool, len(part))
				for v := range part {
					inside[v] = part[v] == k
				}
				need.Add(need, big.NewInt(entering(p, inside)))
			}
		}
		bytes.Add(bytes, need.Mul(need, big.NewInt(int64(w.Iterations(i)))))
	}
	return carried(w, bytes, rate, alpha), nil
}

// carried returns how long links of a rate together take for bytes at least, with the latency of the last of
// them where a workload ends.
func carried(w *wl.Workload, bytes, rate *big.Int, alpha model.Time) model.Time {
	t := new(big.Int).Mul(bytes, big.NewInt(int64(model.Second)))
	t.Add(t, new(big.Int).Sub(rate, big.NewInt(1)))
	t.Quo(t, rate)
	if !t.IsInt64() {
		return model.MaxTime
	}
	if w.Periodic || t.Sign() == 0 {
		return model.Time(t.Int64())
	}
	return model.Time(t.Int64()).Add(alpha)
}

// late values Ops on Rank.
//
// Lemma. Let a rank be released at r for some collectives, in each of which every other member needs a
// contribution of the rank to each chunk, or to each of those in its own shard; let switches neither add nor
// copy, and let no rank have more than d transfers on its way out at once, each of which takes its link for o
// or longer. All that the rank alone has leaves it over its links once or more, after r, so that some chunk
// has not left it before r and the time that its links take for all of it together. Before that nobody else has
// the rank's contribution to that chunk. In any time of o a link ends at most one transfer, which began at its
// start or later than o before its end, so that those who have the contribution, or are about to get it, grow to at most
// 1+d times as many; after the time at which the chunk first left, to 1+d of them. All members have it only after ⌈log n⌉ - 1
// times of o, to the base 1+d, and then the last one's latency. ∎ With d = 1 and m chunks these are m + ⌈log2 n⌉ - 1 rounds.
func late(w *wl.Workload, b *wl.Bound) (model.Time, error) {
	if w.Periodic || len(b.Ops) == 0 || b.Rank < 0 || b.Rank >= w.Topology.Ranks {
		return 0, fmt.Errorf("want a workload that ends, a rank, and collectives")
	}
	if err := plain(w); err != nil {
		return 0, err
	}
	release, least, members := model.MaxTime, int64(-1), w.Topology.Ranks
	bytes := new(big.Int)
	seen := map[int]bool{}
	for _, i := range b.Ops {
		if i < 0 || i >= len(w.Ops) || seen[i] {
			return 0, fmt.Errorf("operation %d does not exist, or is named twice", i)
		}
		seen[i] = true
		need := spreads(w, i, b.Rank)
		if need == 0 {
			return 0, fmt.Errorf("not every member of %s needs something of rank %d", w.Ops[i].ID, b.Rank)
		}
		bytes.Add(bytes, big.NewInt(need))
		release = min(release, w.ReleaseOf(i, b.Rank))
		members = min(members, len(w.Members(w.Ops[i].Group)))
		smallest := int64(1) // of a cut that is not known
		for k, c := range w.Ops[i].Chunks {
			if k == 0 || c.Size < smallest {
				smallest = c.Size
			}
		}
		if least < 0 || smallest < least {
			least = smallest
		}
	}
	rate, fastest, alpha := new(big.Int), int64(1), model.MaxTime
	ways := make([]int, w.Topology.Nodes())
	for _, l := range w.Topology.Links {
		fastest, alpha = max(fastest, l.Bandwidth), min(alpha, l.Alpha)
		ways[l.Src]++
		if l.Src == b.Rank {
			rate.Add(rate, big.NewInt(l.Bandwidth))
		}
	}
	if rate.Sign() == 0 {
		return 0, fmt.Errorf("no link leaves rank %d", b.Rank)
	}
	once := model.TransferTime(least, fastest)
	if w.Cost == model.Blocking {
		once = once.Add(alpha)
	}
	d := slices.Max(ways[:w.Topology.Ranks])
	rounds := int64(-1)
	for have := 1; have < members; have *= 1 + d {
		rounds++
	}
	return release.Add(carried(w, bytes, rate, 0)).Add(once.Mul(max(0, rounds))).Add(nearest(w.Topology, b.Rank, false)), nil
}

// spreads returns how many bytes of a collective have something of a rank that every other member needs; 0:
// none, or that is not so of all.
func spreads(w *wl.Workload, i, rank int) int64 {
	if _, collective := w.Ops[i].Kind.Collective(); !collective {
		return 0
	}
	p := w.Problem(i)
	n := len(p.Members())
	if n < 2 || !slices.Contains(p.Members(), rank) {
		return 0
	}
	switch p.Collective.Kind {
	case model.AllReduce:
		return p.Size
	case model.AllGather:
		return p.Size / int64(n) // a shard has no less
	case model.Broadcast:
		if p.Collective.Root == rank {
			return p.Size
		}
	}
	return 0
}

// volumes proposes the parts that links of some bandwidth and slower join, and each rank by itself.
func volumes(w *wl.Workload) (all []*wl.Bound) {
	if plain(w) != nil {
		return nil
	}
	var single [][]int
	for v := range w.Topology.Ranks {
		single = append(single, []int{v})
	}
	for _, parts := range append(partitions(w.Topology), single) {
		var ranks [][]int // those without ranks are what joins the others
		for _, p := range parts {
			if slices.ContainsFunc(p, w.Topology.IsRank) {
				ranks = append(ranks, p)
			}
		}
		if len(ranks) > 1 {
			all = append(all, &wl.Bound{Kind: "volume", Parts: ranks})
		}
	}
	return all
}

// lates proposes, for the rank that is released last, all collectives that spread something of it together, and
// each of them.
func lates(w *wl.Workload) (all []*wl.Bound) {
	if w.Periodic || w.Release == nil || plain(w) != nil {
		return nil
	}
	last := 0
	for v := range w.Release {
		if w.Release[v] > w.Release[last] {
			last = v
		}
	}
	if w.Release[last] == 0 {
		return nil
	}
	together := &wl.Bound{Kind: "late", Rank: last}
	for i := range w.Ops {
		if spreads(w, i, last) > 0 {
			together.Ops = append(together.Ops, i)
			all = append(all, &wl.Bound{Kind: "late", Rank: last, Ops: []int{i}})
		}
	}
	if len(together.Ops) > 1 {
		all = append(all, together)
	}
	return all
}
