package bound

import (
	"cmp"
	"slices"

	"github.com/oraccl/oraccl/model"
)

// maxCrossing is up to how many members times links the times of a partition are looked at.
const maxCrossing = 1 << 23

// crossing returns the bound of an allreduce that the parts of partition yield if it is counted, too,
// what transfers between them can carry early, and whom they can reach late: see package cert.
func (f *finder) crossing() (model.Time, model.Witness) {
	if f.p.Collective.Kind != model.AllReduce || len(f.members)*len(f.t.Links) > maxCrossing {
		return 0, nil
	}
	if f.parted == nil || f.budget.Spent() {
		return 0, nil
	}
	x := newCrossed(f, f.parted)
	if x == nil {
		return 0, nil
	}
	return x.least(), model.Crossing{Parts: f.parted}
}

// crossed is a partition with the times at which something can go from one part to another.
type crossed struct {
	*finder
	part   []int                  // by node: 1 + its part
	sizes  []int                  // by part: its members
	k      int                    // parts with members
	behind map[model.Time]float64 // by what lies behind a link into a part: bandwidth, in bytes per picosecond
	heads  []portion              // what can have come together
	tails  []portion              // what can still be served
	first  model.Time             // when what comes from elsewhere can enter a part
}

// portion is what part of a part's members it is from a time on.
type portion struct {
	at    model.Time
	share float64
}

// newCrossed returns nil where a switch adds before a link into a part, or one copies behind it, or the time is over.
func newCrossed(f *finder, parts [][]int) *crossed {
	x := &crossed{finder: f, part: make([]int, f.t.Nodes()), sizes: make([]int, len(parts)+1), behind: map[model.Time]float64{}}
	for i, nodes := range parts {
		for _, v := range nodes {
			x.part[v] = i + 1
		}
	}
	for _, r := range f.members {
		if x.sizes[x.part[r]]++; x.sizes[x.part[r]] == 1 {
			x.k++
		}
	}
	size := int64(model.MaxSize)
	for _, h := range f.shapes {
		size = min(size, h.least)
	}
	set := make([]bool, f.t.Ranks)
	var met [][]model.Time // by member and rank
	for _, w := range f.members {
		if f.budget.Spent() {
			return nil
		}
		set[w] = true
		met = append(met, f.reach(f.starts(set, true), size, false, true).full)
		set[w] = false
	}
	earliest := make([][]model.Time, len(x.sizes)) // by part and member
	for _, l := range f.t.Links {
		q := x.part[l.Dst]
		if q == 0 || x.part[l.Src] == q {
			continue
		}
		if f.budget.Spent() {
			return nil
		}
		if earliest[q] == nil {
			earliest[q] = slices.Repeat([]model.Time{model.MaxTime}, len(f.members))
		}
		if !x.enter(&l, q, size, met, earliest[q]) {
			return nil
		}
	}
	x.first = model.MaxTime
	for q, at := range earliest {
		if at == nil || x.sizes[q] == 0 {
			continue
		}
		latest := model.Time(0)
		for i, w := range f.members {
			if x.part[w] != q {
				latest = max(latest, at[i])
			}
		}
		x.first = min(x.first, latest)
	}
	return x
}

// enter adds a link into part q, and notes in earliest when what each member contributes can be there. It returns false
// where what passes the link at one time may have come from several ranks, or go to several ones.
func (x *crossed) enter(l *model.Link, q int, size int64, met [][]model.Time, earliest []model.Time) bool {
	after := model.MaxTime
	arrival := model.Time(0)
	if x.t.IsRank(l.Dst) {
		arrival = x.p.ReleaseOf(l.Dst)
	}
	list := make([]model.Time, len(met))
	var heads, tails []portion
	before := x.reached(l.Src, nil, true)
	for _, u := range before.ways {
		for i := range met {
			list[i] = max(met[i][u.rank], arrival).Add(u.alpha)
			earliest[i] = min(earliest[i], list[i])
		}
		heads = append(heads, x.portions(list)...)
	}
	among := make([]bool, x.t.Nodes())
	for v, p := range x.part {
		among[v] = p == q
	}
	set := make([]bool, x.t.Ranks)
	behind := x.reached(l.Dst, among, false)
	for _, z := range behind.ways {
		set[z.rank] = true
		full := x.reachAmong(among, x.starts(set, false), size, false, false).full
		set[z.rank] = false
		after = min(after, z.alpha.Add(l.Alpha))
		for i, v := range x.members {
			list[i] = full[v].Add(z.alpha).Add(l.Alpha) // never in another part
		}
		tails = append(tails, x.portions(list)...)
	}
	if len(heads) > 0 && after != model.MaxTime {
		x.heads, x.tails = rising(append(x.heads, heads...)), rising(append(x.tails, tails...))
		x.behind[after] += float64(l.Bandwidth) / float64(model.Second)
		return before.one && behind.one
	}
	return true
}

// portions returns of which part of a part the times are over with each of them, given by member.
func (x *crossed) portions(at []model.Time) (steps []portion) {
	order := make([]int, len(at))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(i, j int) int { return cmp.Compare(at[i], at[j]) })
	count := make([]float64, len(x.sizes))
	for _, i := range order {
		if at[i] == model.MaxTime {
			break
		}
		p := x.part[x.members[i]]
		count[p]++
		steps = append(steps, portion{at[i], count[p] / float64(x.sizes[p])})
	}
	return steps
}

// rising returns those that are greater than all before them.
func rising(steps []portion) (most []portion) {
	slices.SortFunc(steps, func(a, b portion) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(b.share, a.share)) })
	for _, s := range steps {
		if len(most) == 0 || s.share > most[len(most)-1].share {
			most = append(most, s)
		}
	}
	return most
}

// least returns the makespan below which the links into parts cannot pass 2k-2 times all bytes.
func (x *crossed) least() model.Time {
	if x.k < 2 || len(x.behind) == 0 {
		return 0
	}
	need := float64(2*(x.k-1)) * float64(x.p.Size)
	low, high := model.Time(0), model.Time(1)
	for x.area(high) < need && high < model.MaxTime/4 {
		low, high = high, 2*high
	}
	for low+1 < high {
		if mid := (low + high) / 2; x.area(mid) < need {
			low = mid
		} else {
			high = mid
		}
	}
	return high
}

// area returns how many bytes can cross by the makespan T, each weighed by the times: see package cert.
func (x *crossed) area(T model.Time) (sum float64) {
	bends := []model.Time{0, x.first}
	for _, s := range x.heads {
		bends = append(bends, s.at)
	}
	for _, s := range x.tails {
		bends = append(bends, max(0, T-s.at))
	}
	for after := range x.behind {
		bends = append(bends, max(0, T-after))
	}
	slices.Sort(bends)
	for i, from := range bends[:len(bends)-1] {
		to, bandwidth := bends[i+1], 0.0
		for after, b := range x.behind {
			if to <= T-after {
				bandwidth += b
			}
		}
		carried := 2 * upTo(x.heads, from) / (1 + upTo(x.heads, max(from, x.first)))
		s := upTo(x.tails, T-from-1)
		sum += bandwidth * float64(to-from) * min(carried, 2*s/(1+s))
	}
	return sum
}

// upTo returns the last of the shares that are not after t.
func upTo(steps []portion, t model.Time) (share float64) {
	for _, s := range steps {
		if s.at <= t {
			share = s.share
		}
	}
	return share
}
