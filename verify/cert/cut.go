package cert

import (
	"fmt"

	"github.com/oraccl/oraccl/model"
)

var _ = []Kind{
	rule(Kind{
		Shows:  "the data that ranks in a set have and ranks outside need must pass the links that leave the set",
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
	return j.leaving(inside, j.total(j.crossings(inside, from, to)))
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
	crossing := j.crossings(inside, all, all)
	return j.leaving(inside, j.total(func(l *load, k int) int64 {
		if n := crossing(l, k); n > 0 {
			return n
		}
		if !j.needs(k, rank) {
			return 0
		}
		for r := range j.start(k) {
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

// crossing returns 1 if a contribution of a rank of from to item k must leave the set for a
// rank of to, else 0, and notes in l where such contributions are, and where they must go.
func (j *job) crossing(l *load, k int, inside, from, to []bool) int64 {
	outside := map[int]bool{} // contributions that a rank outside has
	for r, v := range j.start(k) {
		if !inside[r] {
			for c := range j.terms(v) {
				outside[c] = true
			}
		}
	}
	leaves := map[int]bool{} // contributions that must leave the set
	for r, want := range j.goal(k) {
		if inside[r] || !to[r] {
			continue
		}
		for c := range j.terms(want) {
			if from[c] && !outside[c] {
				leaves[c] = true
				j.endsAt(l, r)
			}
		}
	}
	for r, v := range j.start(k) {
		for c := range j.terms(v) {
			if leaves[c] {
				j.startsAt(l, r)
			}
		}
	}
	return int64(min(len(leaves), 1))
}

// crossings returns crossing for all items. It is what crossing returns, sooner, for the
// standard collectives: of an item that is reduced every member has what it contributes
// itself at the start, and all of that is wanted; of another one per rank has the only
// contribution. TestCrossings sets the two against each other.
func (j *job) crossings(inside, from, to []bool) func(l *load, k int) int64 {
	kind := j.p.Collective.Kind
	if kind == model.Custom {
		return func(l *load, k int) int64 { return j.crossing(l, k, inside, from, to) }
	}
	var leave, ends []int // the members that can have what leaves, and those that can want it
	for _, r := range j.items.Members() {
		if inside[r] && from[r] {
			leave = append(leave, r)
		}
		if !inside[r] && to[r] {
			ends = append(ends, r)
		}
	}
	return func(l *load, k int) int64 {
		leave, ends := leave, ends // of this item
		if !kind.Reduces() {
			leave = nil
			for r := range j.start(k) {
				if inside[r] && from[r] {
					leave = []int{r}
				}
			}
		}
		if kind != model.Broadcast && kind != model.AllGather && kind != model.AllReduce { // one rank wants it
			ends = nil
			for r := range j.goal(k) {
				if !inside[r] && to[r] {
					ends = []int{r}
				}
			}
		}
		if len(leave) == 0 || len(ends) == 0 || !j.work.Go((len(leave)+len(ends))/8) {
			return 0
		}
		for _, r := range leave {
			j.startsAt(l, r)
		}
		for _, r := range ends {
			j.endsAt(l, r)
		}
		return 1
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
