package cert

import (
	"fmt"
	"iter"

	"github.com/oraccl/oraccl/model"
)

var _ = []Kind{
	rule(Kind{
		Shows:  "what ranks in a set have and ranks outside need must pass the links that leave the set",
		Holds:  "the set of nodes, and the ranks whose contributions and needs are counted, if not all",
		Lemmas: "cut, passing",
	}, (*job).cut),
	rule(Kind{
		Shows:  "what a rank must receive has to pass the links that enter it",
		Holds:  "the rank",
		Lemmas: "cut, passing",
	}, func(j *job, w model.Ingress) (model.Time, error) { return j.ingress(w.Rank) }),
	rule(Kind{
		Shows:  "what must leave a rank has to pass the links that leave it",
		Holds:  "the rank",
		Lemmas: "cut, passing",
	}, func(j *job, w model.Egress) (model.Time, error) { return j.egress(w.Rank) }),
}

// cut returns the bound that a set S of nodes yields: what must leave S has to pass
// the links that leave it.
//
// Lemma (cut). Let some rank outside S have to end with a contribution to a chunk
// that at the start only ranks in S have. Then a transfer of the chunk, on a chain
// from one of these to that rank, passes a link that leaves S.
//
// Proof. There is such a chain [(arrive)]. Its routes, one after the other, are a
// walk from a node in S to one outside.
//
// Different chunks need different transfers, so (passing) holds for one transfer a
// chunk. With From and To the same is said of some of these contributions and ranks
// only; the others are left out.
func (j *job) cut(w model.Cut) (model.Time, error) {
	inside, err := ascending("nodes", w.Nodes, j.t.Nodes())
	if err != nil {
		return 0, err
	}
	from, err := chosen("from", w.From, j.t.Ranks)
	if err != nil {
		return 0, err
	}
	to, err := chosen("to", w.To, j.t.Ranks)
	if err != nil {
		return 0, err
	}
	return j.leaving(inside, j.total(j.crossing(inside, from, to)))
}

// leaving returns the time that a load takes to pass the links that leave a set of
// nodes.
func (j *job) leaving(inside []bool, l *load) (model.Time, error) {
	var links []int
	for i, k := range j.t.Links {
		if inside[k.Src] && !inside[k.Dst] {
			links = append(links, i)
		}
	}
	return j.passing(j.lanes(links, l), l)
}

// ingress returns the bound that a rank yields by what it must receive: (cut) for
// the set of all other nodes. Also, a slot that must end with something other than
// what is there at the start must be written, by a transfer over a link that enters
// the rank, on a chain from some rank that has something of the chunk.
func (j *job) ingress(rank int) (model.Time, error) {
	if err := j.rank("rank", rank); err != nil {
		return 0, err
	}
	inside := make([]bool, j.t.Nodes())
	for v := range inside {
		inside[v] = v != rank
	}
	all, _ := chosen("", nil, j.t.Ranks)
	crossing := j.crossing(inside, all, all)
	return j.leaving(inside, j.total(func(l *load, k int) int64 {
		if n := crossing(l, k); n > 0 {
			return n
		}
		if !j.needs(k, rank) {
			return 0
		}
		for r := range j.items.Start(k) {
			j.startsAt(l, r)
		}
		j.endsAt(l, rank)
		return 1
	}))
}

// egress returns the bound that a rank yields by what must leave it: (cut) for the
// set of it alone.
func (j *job) egress(rank int) (model.Time, error) {
	if err := j.rank("rank", rank); err != nil {
		return 0, err
	}
	return j.cut(model.Cut{Nodes: []int{rank}})
}

// crossing returns a function for total: 1 if a contribution of a rank of from to
// item k must leave the set for a rank of to.
//
// What reducing collectives have at the start is the same for all items, and what
// most items want is the same: what follows from it is found once.
func (j *job) crossing(inside, from, to []bool) func(l *load, k int) int64 {
	same := j.p.Collective.Kind.Reduces()
	outside := make([]int, j.t.Ranks) // the last stamp of an item of which a rank outside has the contribution
	leaves := make([]int, j.t.Ranks)  // the last stamp of an item of which the contribution must leave
	var ends []int                    // members that what must leave may end at
	for _, r := range j.items.Members() {
		if !inside[r] && to[r] {
			ends = append(ends, r)
		}
	}
	stamp := 0
	var seen model.Value // the last value wanted; many ranks want the same
	crosses, noted := false, false
	return func(l *load, k int) int64 {
		if !same || stamp == 0 {
			stamp++
			seen = model.Value{}
			for r, v := range j.items.Start(k) {
				if !j.work.Go(1) {
					break
				}
				if !inside[r] {
					for c := range v.Terms() {
						outside[c] = stamp
					}
				}
			}
		}
		any := int64(0)
		for r, want := range j.goals(k, ends) {
			if !j.work.Go(1) {
				break
			}
			if inside[r] || !to[r] {
				continue
			}
			if seen.Len() == 0 || !model.Identical(seen, want) {
				seen, crosses, noted = want, false, false
				for c := range want.Terms() {
					if from[c] && outside[c] != stamp {
						leaves[c], crosses = stamp, true
					}
				}
			}
			if crosses {
				j.endsAt(l, r)
				any = 1
			}
		}
		if any == 0 || same && noted {
			return any
		}
		noted = true
		for r, v := range j.items.Start(k) {
			if !j.work.Go(1) {
				break
			}
			for c := range v.Terms() {
				if leaves[c] == stamp {
					j.startsAt(l, r)
					break
				}
			}
		}
		return any
	}
}

// goals yields what ranks must end with of item k, as the postcondition says, of collectives
// that want the same of all members only those of a list of members.
func (j *job) goals(k int, some []int) iter.Seq2[int, model.Value] {
	switch j.p.Collective.Kind {
	case model.Broadcast, model.AllGather, model.AllReduce:
	default:
		return j.items.Goal(k)
	}
	return func(yield func(int, model.Value) bool) {
		for _, want := range j.items.Goal(k) {
			for _, r := range some {
				if !yield(r, want) {
					return
				}
			}
			return
		}
	}
}

// ascending returns the set that a list describes.
func ascending(name string, list []int, n int) ([]bool, error) {
	set := make([]bool, n)
	for i, v := range list {
		if v < 0 || v >= n {
			return nil, fmt.Errorf("%s[%d]: %d does not exist, want 0 to %d", name, i, v, n-1)
		}
		if i > 0 && v <= list[i-1] {
			return nil, fmt.Errorf("%s[%d]: %d after %d, want ascending order", name, i, v, list[i-1])
		}
		set[v] = true
	}
	return set, nil
}

// chosen is ascending, but all for nil.
func chosen(name string, list []int, n int) ([]bool, error) {
	set, err := ascending(name, list, n)
	for i := range set {
		set[i] = set[i] || list == nil
	}
	return set, err
}
