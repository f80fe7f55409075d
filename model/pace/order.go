package pace

import (
	"cmp"
	"slices"

	"github.com/oraccl/oraccl/model"
)

// OrderOf returns what the transfers of a schedule wait for because of the data alone: what is
// read is there, and nothing is replaced before it is read. Of an Ordered schedule it is what it
// states. What has times or rounds keeps its meaning if it is run in this order.
func OrderOf(s *model.Schedule) *model.Precedence {
	if s.Form == model.Ordered {
		return &model.Precedence{Ended: s.After}
	}
	n := len(s.Transfers)
	o := &model.Precedence{Ended: make([][]int32, n), Begun: make([][]int32, n), Landed: make([][]int32, n)}
	type slot struct{ rank, chunk int32 }
	reads, writes := map[slot][]int32{}, map[slot][]int32{}
	for i := range s.Transfers {
		t := &s.Transfers[i]
		from, to := slot{t.Src, t.Chunk}, slot{t.Dst, t.Chunk}
		reads[from] = append(reads[from], int32(i))
		writes[to] = append(writes[to], int32(i))
	}
	for at, list := range writes {
		slices.SortStableFunc(list, func(i, j int32) int { return cmp.Compare(s.Transfers[i].End, s.Transfers[j].End) })
		for k, w := range list {
			x := &s.Transfers[w]
			last := 0 // the last copy before
			for j := k - 1; j >= 0; j-- {
				if s.Transfers[list[j]].Op == model.Copy {
					last = j
					break
				}
			}
			for _, before := range list[last:k] {
				if x.Op == model.Copy || s.Transfers[before].Op == model.Copy {
					o.Landed[w] = append(o.Landed[w], before)
				}
			}
			for _, r := range reads[at] {
				if s.Transfers[r].Start < x.End && r != w {
					o.Begun[w] = append(o.Begun[w], r)
				}
			}
		}
		for _, r := range reads[at] {
			for k := len(list) - 1; k >= 0; k-- {
				w := list[k]
				if s.Transfers[w].End > s.Transfers[r].Start {
					continue
				}
				o.Ended[r] = append(o.Ended[r], w)
				if s.Transfers[w].Op == model.Copy {
					break
				}
			}
		}
	}
	return o
}
