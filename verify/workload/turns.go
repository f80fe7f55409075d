package workload

import (
	"fmt"
	"slices"

	"github.com/oraccl/oraccl/model"
	wl "github.com/oraccl/oraccl/model/workload"
)

// This file values what jobs that take turns on a rank and on its link cost each other: see the
// lemmas of Yield on waiting and on flow.

// alone checks that a network has one link into a rank, and all links as fast and without latency, pipelined:
// then what enters takes exactly its time on that link, one after the other.
func alone(w *wl.Workload, rank int) error {
	if w.Cost != model.Pipelined || rank < 0 || rank >= w.Topology.Ranks {
		return fmt.Errorf("want pipelined transfers, and a rank")
	}
	in := 0
	for _, l := range w.Topology.Links {
		if l.Dst == rank {
			in++
		}
		if l.Alpha != 0 || l.Bandwidth != w.Topology.Links[0].Bandwidth {
			return fmt.Errorf("want links without latency that are all as fast")
		}
	}
	if in != 1 {
		return fmt.Errorf("%d links into rank %d, want one", in, rank)
	}
	return nil
}

// turnOf returns how long a computation takes on a rank, and how long the entry of the one chunk of a
// collective that waits for its end there; back: and the next iteration of which waits for that.
func turnOf(w *wl.Workload, rank, c, m int, back bool) (compute, entry model.Time, err error) {
	inside := make([]bool, w.Topology.Nodes())
	inside[rank] = true
	if c < 0 || c >= len(w.Ops) || m < 0 || m >= len(w.Ops) || w.Ops[c].Kind != wl.Compute || !slices.Contains(w.Members(w.Ops[c].Group), rank) {
		return 0, 0, fmt.Errorf("want a computation and a collective on rank %d", rank)
	}
	if _, collective := w.Ops[m].Kind.Collective(); !collective || !slices.Contains(w.Members(w.Ops[m].Group), rank) || len(w.Ops[m].Chunks) != 1 ||
		entering(w.Problem(m), inside) != w.Ops[m].Size {
		return 0, 0, fmt.Errorf("want a collective of one chunk that must enter rank %d", rank)
	}
	if w.Ops[c].Job == "" || w.Ops[c].Job != w.Ops[m].Job {
		return 0, 0, fmt.Errorf("%s and %s are not of one job", w.Ops[c].ID, w.Ops[m].ID)
	}
	compute = least(w, c, rank)
	there, again := false, !back
	for _, e := range w.Edges {
		there = there || e.From == c && e.To == m && e.Height == 0 && e.Scope != wl.ByChunk && (!e.FromStart || e.Offset >= compute)
		again = again || e.From == m && e.To == c && e.Height == 1 && e.Scope != wl.ByChunk && !e.FromStart
	}
	if !there || !again {
		return 0, 0, fmt.Errorf("%s and %s do not wait for each other", w.Ops[c].ID, w.Ops[m].ID)
	}
	return compute, model.TransferTime(w.Ops[m].Size, w.Topology.Links[0].Bandwidth), nil
}

// waiting values Ops on Rank: the computation and the collective of job b, then those of job a.
func waiting(w *wl.Workload, b *wl.Bound) (model.Time, error) {
	if !w.Periodic || len(b.Ops) != 4 {
		return 0, fmt.Errorf("want a periodic workload, and a computation and a collective of two jobs")
	}
	if err := alone(w, b.Rank); err != nil {
		return 0, err
	}
	var compute, entry [2]model.Time
	for k := range 2 {
		var err error
		if compute[k], entry[k], err = turnOf(w, b.Rank, b.Ops[2*k], b.Ops[2*k+1], true); err != nil {
			return 0, err
		}
	}
	if w.Ops[b.Ops[0]].Job == w.Ops[b.Ops[2]].Job {
		return 0, fmt.Errorf("want two jobs")
	}
	idle := max(0, compute[1]-entry[0]).Add(max(0, entry[1]-compute[0]))
	return compute[0].Add(entry[0]).Mul(int64(w.Iterations(b.Ops[0]))).Add(idle.Mul(int64(w.Iterations(b.Ops[2])))), nil
}

// flow values Ops on Rank: the computation and the collective of each of some jobs.
func flow(w *wl.Workload, b *wl.Bound) (model.Time, error) {
	if w.Periodic || len(b.Ops) == 0 || len(b.Ops)%2 != 0 {
		return 0, fmt.Errorf("want a workload that ends, and a computation and a collective of each job")
	}
	if err := alone(w, b.Rank); err != nil {
		return 0, err
	}
	var computes, entries model.Time
	head, tail := model.MaxTime, model.MaxTime
	seen := map[int]bool{}
	for k := 0; k < len(b.Ops); k += 2 {
		c, m := b.Ops[k], b.Ops[k+1]
		compute, entry, err := turnOf(w, b.Rank, c, m, false)
		if err != nil {
			return 0, err
		}
		if seen[c] || seen[m] {
			return 0, fmt.Errorf("%s or %s is named twice", w.Ops[c].ID, w.Ops[m].ID)
		}
		seen[c], seen[m] = true, true
		n := int64(w.Iterations(c))
		computes, entries = computes.Add(compute.Mul(n)), entries.Add(entry.Mul(n))
		head, tail = min(head, compute), min(tail, entry)
	}
	return max(computes.Add(tail), head.Add(entries)), nil
}

// turns lists the computations with the one other operation of their job.
func turns(w *wl.Workload) (own [][2]int) {
	of := map[string][]int{}
	for i := range w.Ops {
		of[w.Ops[i].Job] = append(of[w.Ops[i].Job], i)
	}
	for c := range w.Ops {
		if all := of[w.Ops[c].Job]; w.Ops[c].Kind == wl.Compute && w.Ops[c].Job != "" && len(all) == 2 {
			own = append(own, [2]int{c, all[0] + all[1] - c})
		}
	}
	return own
}

// flows proposes the flow of all jobs that have a computation and a collective.
func flows(w *wl.Workload) *wl.Bound {
	own := turns(w)
	if w.Periodic || len(own) == 0 {
		return nil
	}
	b := &wl.Bound{Kind: "flow", Rank: w.Members(w.Ops[own[0][0]].Group)[0]}
	for _, x := range own {
		b.Ops = append(b.Ops, x[0], x[1])
	}
	return b
}

// pairs proposes the waiting bounds of all pairs of jobs that have a computation and a collective.
func pairs(w *wl.Workload) (all []*wl.Bound) {
	if !w.Periodic {
		return nil
	}
	own := turns(w)
	if len(own) > 64 {
		own = own[:64]
	}
	for _, a := range own {
		for _, b := range own {
			if a != b {
				all = append(all, &wl.Bound{Kind: "waiting", Rank: w.Members(w.Ops[a[0]].Group)[0], Ops: []int{b[0], b[1], a[0], a[1]}})
			}
		}
	}
	return all
}
