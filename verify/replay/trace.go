package replay

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/oraccl/oraccl/model"
)

// version is what a slot holds after a write, reduced to the count of one
// contribution.
type version struct {
	count    uint32
	transfer int32 // that wrote it, or -1 for the precondition
	old, add int32 // the versions that it was made of, or -1
}

// trace finds the transfer at which the count of contribution j in rank r's slot
// went away from want. It executes the chunk once more, keeping every version of
// every slot, and walks back from the last one. It returns -1 where no single
// transfer is to blame.
func (x *execution) trace(r, j int, want uint32, transfers []int32) (transfer int, why string) {
	versions, last := x.versions(j, transfers)
	at := last[r]
	for at >= 0 {
		v := versions[at]
		if v.transfer < 0 {
			return -1, ""
		}
		t := &x.s.Transfers[v.transfer]
		var old, add uint32
		if v.old >= 0 {
			old = versions[v.old].count
		}
		if v.add >= 0 {
			add = versions[v.add].count
		}
		switch {
		case v.count < want && t.Op == model.Copy && old >= want:
			return int(v.transfer), fmt.Sprintf(": overwritten by %s", x.about(int(v.transfer)))
		case v.count < want:
			if v.add < 0 || versions[v.add].transfer < 0 {
				return int(v.transfer), fmt.Sprintf(": the last write is %s", x.about(int(v.transfer)))
			}
			at = v.add
		case add > want:
			at = v.add
		case t.Op == model.Reduction && old > want:
			at = v.old
		default:
			again := "added"
			if old > 0 {
				again = "added again"
			}
			return int(v.transfer), fmt.Sprintf(": %s by %s", again, x.about(int(v.transfer)))
		}
	}
	return -1, ""
}

// versions executes transfers for contribution j alone and returns all versions
// of all slots, and the last version of each rank's slot, or -1.
func (x *execution) versions(j int, transfers []int32) (all []version, last []int32) {
	last = make([]int32, x.t.Ranks)
	for r := range last {
		last[r] = -1
	}
	for r, v := range x.p.Start(x.chunk) {
		n := uint32(0)
		for s, count := range v.Terms() {
			if s == j {
				n = uint32(count)
			}
		}
		last[r] = int32(len(all))
		all = append(all, version{n, -1, -1, -1})
	}
	inHand := map[int32]int32{}
	read := func(i int32) { inHand[i] = last[x.s.Transfers[i].Src] }
	write := func(i int32) {
		t := &x.s.Transfers[i]
		got, old := inHand[i], last[t.Dst]
		if got < 0 || t.Op == model.Reduction && old < 0 {
			return
		}
		v := version{all[got].count, i, old, got}
		if t.Op == model.Reduction {
			v.count = min(v.count+all[old].count, maxCount)
		}
		last[t.Dst] = int32(len(all))
		all = append(all, v)
	}
	for _, e := range x.events(transfers) {
		if e.isRead {
			read(e.transfer)
		} else {
			write(e.transfer)
		}
	}
	return all, last
}

type event struct {
	at       model.Time
	isRead   bool
	transfer int32
}

// events lists the reads and writes of transfers in order of execution.
func (x *execution) events(transfers []int32) []event {
	var list []event
	for n, i := range transfers {
		t := &x.s.Transfers[i]
		start, end := t.Start, t.End
		if x.s.Form == model.Ordered {
			start, end = model.Time(2*n), model.Time(2*n+1)
		}
		list = append(list, event{start, true, i}, event{end, false, i})
	}
	slices.SortStableFunc(list, func(a, b event) int {
		if c := cmp.Compare(a.at, b.at); c != 0 || a.isRead == b.isRead {
			return c
		}
		if b.isRead {
			return -1
		}
		return 1
	})
	return list
}
