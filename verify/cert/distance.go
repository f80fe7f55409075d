package cert

import (
	"fmt"

	"github.com/oraccl/oraccl/model"
)

var _ = rule(Kind{
	Shows:  "a contribution has to travel from where it is to a rank that needs it",
	Holds:  "the contribution, the rank, and the least times at which it can be at each node, a dual of the shortest path",
	Lemmas: "times, distance",
}, (*job).distance)

// distance returns the bound that a potential yields: the potential of the rank that
// needs the contribution.
//
// Lemma (distance). Let full and head be times for each node such that
//
//	full[r] <= release[r]                          at ranks r that have the contribution at the start,
//	full[v] <= max(full[r], release[r]) + α + τ    along a link from rank r to node v,
//	head[s] <= max(full[r], release[r]) + α        along a link from rank r to switch s,
//	full[v] <= max(full[s] + α, head[s] + α + τ)   along a link from switch s to node v,
//	head[s] <= head[u] + α                         along a link from switch u to switch s,
//
// τ being the time that the item takes on the link, or a byte where the cut is free;
// where v is a rank, release[v] + α + τ will do on the right as well. Then at no
// rank r that does not have it at the start the contribution arrives before full[r].
//
// Proof. As for (times), of which this is the check alone: there the greatest such
// times are computed, here they are given.
func (j *job) distance(w model.Distance) (model.Time, error) {
	item, err := j.item(w.Chunk, w.Shard)
	if err != nil {
		return 0, err
	}
	if err := j.rank("dest", w.Dest); err != nil {
		return 0, err
	}
	if err := j.potentials(w); err != nil {
		return 0, err
	}
	if !j.wants(item, w.Dest, w.Source) {
		return 0, fmt.Errorf("dest: rank %d need not end with the contribution of rank %d", w.Dest, w.Source)
	}
	for r, v := range j.start(item) {
		if !j.contains(v, w.Source) {
			continue
		}
		if r == w.Dest {
			return 0, fmt.Errorf("dest: rank %d has the contribution of rank %d at the start", w.Dest, w.Source)
		}
		if at := j.p.ReleaseOf(r); w.Potential[r] > at {
			return 0, fmt.Errorf("potential[%d]: %d ps, want at most %d, when rank %d can send the contribution", r, int64(w.Potential[r]), int64(at), r)
		}
	}
	size := j.size(item)
	if j.free {
		size = 1
	}
	for i := range j.t.Links {
		if err := j.rises(w, i, size); err != nil {
			return 0, err
		}
	}
	return max(0, w.Potential[w.Dest]), nil
}

// rises explains why the potential rises too much along link i, if it does.
func (j *job) rises(w model.Distance, i int, size int64) error {
	l := &j.t.Links[i]
	tau := model.TransferTime(size, l.Bandwidth)
	var head, full model.Time
	if j.t.IsRank(l.Src) {
		head = max(w.Potential[l.Src], j.p.ReleaseOf(l.Src)) + l.Alpha
		full = head + tau
	} else {
		head = w.Head[l.Src] + l.Alpha
		full = max(w.Potential[l.Src]+l.Alpha, head+tau)
	}
	if j.t.IsRank(l.Dst) {
		full = max(full, j.p.ReleaseOf(l.Dst)+l.Alpha+tau)
	} else if got := w.Head[l.Dst]; got > head {
		return fmt.Errorf("head[%d]: %d ps, want at most %d along link %d from %s", l.Dst, int64(got), int64(head), i, j.t.NodeName(l.Src))
	}
	if got := w.Potential[l.Dst]; got > full {
		return fmt.Errorf("potential[%d]: %d ps, want at most %d along link %d from %s", l.Dst, int64(got), int64(full), i, j.t.NodeName(l.Src))
	}
	return nil
}

// potentials states what is wrong with the form of the potentials, if anything is.
func (j *job) potentials(w model.Distance) error {
	n := j.t.Nodes()
	if len(w.Potential) != n {
		return fmt.Errorf("potential: %d times, want one for each of %d nodes", len(w.Potential), n)
	}
	if len(w.Head) != n && (len(w.Head) > 0 || n > j.t.Ranks) {
		return fmt.Errorf("head: %d times, want one for each of %d nodes", len(w.Head), n)
	}
	const limit = model.MaxTime / 8 // so that no sum of two of them and a duration overflows
	for name, list := range map[string][]model.Time{"potential": w.Potential, "head": w.Head} {
		for v, at := range list {
			if at < -limit || at > limit {
				return fmt.Errorf("%s[%d]: %d ps, want %d to %d", name, v, int64(at), int64(-limit), int64(limit))
			}
		}
	}
	return nil
}

// item returns the item that a witness names by its chunk, or by its shard where
// there are no chunks.
func (j *job) item(chunk, shard int) (int, error) {
	switch n := len(j.items.Chunks); {
	case j.p.Chunks == nil && chunk != -1:
		return 0, fmt.Errorf("chunk: %d, want -1, for the problem has no chunks", chunk)
	case j.p.Chunks == nil && (shard < 0 || shard >= n):
		return 0, fmt.Errorf("shard: %d does not exist, want 0 to %d", shard, n-1)
	case j.p.Chunks == nil:
		return shard, nil
	case chunk < 0 || chunk >= n:
		return 0, fmt.Errorf("chunk: %d does not exist, want 0 to %d", chunk, n-1)
	case shard != j.p.Shard(chunk):
		return 0, fmt.Errorf("shard: %d, want %d, where chunk %d lies", shard, j.p.Shard(chunk), chunk)
	}
	return chunk, nil
}

// wants reports whether rank must end with a contribution to item k.
func (j *job) wants(k, rank, contribution int) bool {
	for r, want := range j.goal(k) {
		if r == rank {
			return j.contains(want, contribution)
		}
	}
	return false
}

func (j *job) contains(v model.Value, contribution int) bool {
	for c := range j.terms(v) {
		if c == contribution {
			return true
		}
	}
	return false
}
