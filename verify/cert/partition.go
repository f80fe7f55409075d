package cert

import (
	"fmt"

	"github.com/oraccl/oraccl/model"
)

var _ = rule(Kind{
	Shows:  "the transfers that the collective needs between parts of the network have to pass the links between them; for an allreduce among k parts, 2k-2 of each chunk",
	Holds:  "the parts, disjoint sets of nodes that hold every rank",
	Needs:  "no switch in a part copies, unless ranks read sums at it and all of them are in the part",
	Lemmas: "combine between parts, passing",
}, (*job).partition)

// partition returns the bound that several parts of the network yield: this many transfers
// have to go from one part to another, and each has to pass a link that enters the part of
// its destination and, where no switch copies, a link that leaves that of its source. Every
// rank is in a part; a switch may be in none. With every rank a part of its own it is
// (volume), with two parts (cut) in both directions at once.
//
// A transfer's way enters the part of its destination for the last time by some link, and
// leaves that of its source for the first time by one. Streams of several transfers at a
// switch that adds as model.SumsRead has it pass only links between it and its ranks [(read)]:
// where these are all in one part, they pass no link that enters or leaves a part. Let all
// other switches that copy lie in no part.
//
// No two transfers share the link by which both enter, unless switches add elsewhere: only
// branches of a multicast could [(apart)], and those part at a switch that copies, which
// lies in no part, so that at least one of them would leave the part again. So (passing)
// holds for all links that enter parts. Unless switches copy elsewhere, transfers that share
// the link by which both leave differ in their sources and are terms of a sum, which meet at
// a switch that adds, before that link, and so in the part: those are not there, or keep to
// it, if no switch in a part adds. So then (passing) holds for all links that leave parts.
func (j *job) partition(w model.Partition) (model.Time, error) {
	part, err := j.parts(w.Parts)
	if err != nil {
		return 0, err
	}
	apartIn, apartOut := true, true
	for i, s := range j.t.Switches {
		v := j.t.Ranks + i
		if !s.Copies && s.Reduces == model.NoReducing || j.within(part, v) {
			continue
		}
		if s.Copies && part[v] != 0 {
			return 0, fmt.Errorf("parts[%d]: node %d is a switch that copies, want it in no part", part[v]-1, v)
		}
		adds := s.Reduces != model.NoReducing
		apartIn = apartIn && !adds
		apartOut = apartOut && !s.Copies && !(adds && part[v] != 0)
	}
	l := j.total(func(l *load, k int) int64 {
		for r := range j.start(k) {
			j.startsAt(l, r)
		}
		return j.between(part, k)
	})
	for r := range j.t.Ranks {
		j.endsAt(l, r)
	}
	var in, out []int
	for i, k := range j.t.Links {
		if part[k.Src] != part[k.Dst] {
			if part[k.Dst] != 0 {
				in = append(in, i)
			}
			if part[k.Src] != 0 {
				out = append(out, i)
			}
		}
	}
	return j.either(in, out, l, apartIn, apartOut)
}

// parts returns the part of each node, from 1 on, 0 for none.
func (j *job) parts(parts [][]int) ([]int, error) {
	part := make([]int, j.t.Nodes())
	for i, nodes := range parts {
		name := fmt.Sprintf("parts[%d]", i)
		if len(nodes) == 0 {
			return nil, fmt.Errorf("%s: empty, want a node or more", name)
		}
		inside, err := ascending(name, nodes, j.t.Nodes())
		if err != nil {
			return nil, err
		}
		for v, in := range inside {
			switch {
			case !in:
			case part[v] != 0:
				return nil, fmt.Errorf("%s: node %d is in parts[%d], too", name, v, part[v]-1)
			default:
				part[v] = i + 1
			}
		}
	}
	for r := range j.t.Ranks {
		if part[r] == 0 {
			return nil, fmt.Errorf("parts: rank %d is in none", r)
		}
	}
	return part, nil
}

// within reports whether streams of several transfers at switch v stay in a part: v adds as
// model.SumsRead has it, and all ranks with links to it or from it are in its part.
func (j *job) within(part []int, v int) bool {
	if j.t.Reduces(v) != model.SumsRead || part[v] == 0 || !j.work.Go(len(j.t.Links)/8) {
		return false
	}
	for _, l := range j.t.Links {
		if l.Src == v && j.t.IsRank(l.Dst) && part[l.Dst] != part[v] || l.Dst == v && j.t.IsRank(l.Src) && part[l.Src] != part[v] {
			return false
		}
	}
	return true
}

// between returns a number of transfers of item k that go from one part to another, at
// least: one into each part where a rank must end with a contribution that no rank of the
// part has at the start [the last on its chain (arrive) that comes from outside]; and more
// where contributions are combined.
//
// Lemma (combine between parts). Let each of several contributions be at one rank alone at
// the start, at ranks of m >= 2 parts, and let ranks of g >= 1 parts have to end with all of
// them. Then there are at least (m-1) + (g-1) transfers from one part to another.
//
// Proof. Say that a part knows, at a time, what any slot of its ranks has contained until
// then. Let F be a part that is the first to know all, at the time t0. [One must; at the
// start none does, since m >= 2.] Of each of the m parts other than F take one contribution
// that is there at the start, and on a chain that brought it to F by t0 [(arrive)] the last
// transfer from that part to another. These are m-1 at least, and differ in the part of
// their source. Each of the g or g-1 parts other than F that must end with all comes to know
// all at t0 or later [F was first], by a transfer from another part [one from the same part
// carries nothing that it does not know]. These are g-1 at least, and differ in the part of
// their destination. None of the latter is one of the former: one of the former that does
// not end in F is followed on its chain by one that starts when it has ended, and ends by
// t0, so that it ended before t0 [transfers last longer than 0].
func (j *job) between(part []int, k int) int64 {
	have := map[[2]int]bool{} // part and contribution
	sources := map[int]bool{}
	for r, v := range j.start(k) {
		sources[part[r]] = true
		for c := range j.terms(v) {
			have[[2]int{part[r], c}] = true
		}
	}
	needy := map[int]bool{}
	for r, want := range j.goal(k) {
		for c := range j.terms(want) {
			if !have[[2]int{part[r], c}] {
				needy[part[r]] = true
				break
			}
		}
	}
	n := int64(len(needy))
	if m, ends := j.combined(k); m >= 2 && len(ends) >= 1 && len(sources) >= 2 {
		goals := map[int]bool{}
		for _, r := range ends {
			goals[part[r]] = true
		}
		n = max(n, int64(len(sources)-1)+int64(len(goals)-1))
	}
	return n
}
