package bound

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/oraccl/oraccl/model"
)

// Limits of partitions whose times are looked at, so that the checker ends, too.
const (
	maxCrossing = 1 << 23 // members times links
	maxCrossed  = 1 << 26 // times
)

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
	part   []int      // by node: 1 + its part
	sizes  []int      // by part: its members
	k      int        // parts with members
	passed []entrance // what goes into parts

	met, served [][]model.Time // when something of a member can be at a rank, and how long it takes from a rank to a node
	origins     map[approach]*origin
	steps       int // times that were looked at
}

// entrance is links into parts, as much as they pass in a picosecond, and the chance that of members drawn one from each
// part a transfer that passes carries something of one, and that it serves one.
type entrance struct {
	bytes        float64
	heads, tails []portion
}

// approach is by which something comes to a link into a part.
type approach struct {
	src, part int
	arrival   model.Time
}

// origin is what comes by an approach.
type origin struct {
	heads []portion
	from  int  // the part from which all comes, or -1
	one   bool // what comes at one time is from one rank
}

// portion is a chance from a time on.
type portion struct {
	at    model.Time
	share float64
}

// newCrossed returns nil where a switch adds before a link into a part, or one copies behind it, or the time is over.
func newCrossed(f *finder, parts [][]int) *crossed {
	x := &crossed{finder: f, part: make([]int, f.t.Nodes()), sizes: make([]int, len(parts)+1), served: make([][]model.Time, f.t.Ranks), origins: map[approach]*origin{}}
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
	for _, w := range f.members {
		if f.budget.Spent() {
			return nil
		}
		set[w] = true
		x.met = append(x.met, f.reach(f.starts(set, true), size, false, true).full)
		set[w] = false
	}
	for z := range x.served {
		if f.budget.Spent() {
			return nil
		}
		set[z] = true
		x.served[z] = f.reach(f.starts(set, false), size, false, false).full
		set[z] = false
	}
	index := map[string]int{}
	for _, l := range f.t.Links {
		q := x.part[l.Dst]
		if q == 0 || x.part[l.Src] == q {
			continue
		}
		p, one := x.enter(&l, q)
		if x.steps > maxCrossed || f.budget.Spent() {
			return nil
		}
		if len(p.heads) == 0 || len(p.tails) == 0 {
			continue
		}
		if !one {
			return nil
		}
		key := fmt.Sprint(p.heads, p.tails)
		i, known := index[key]
		if !known {
			i = len(x.passed)
			index[key], x.passed = i, append(x.passed, p)
		}
		x.passed[i].bytes += float64(l.Bandwidth) / float64(model.Second)
	}
	return x
}

// enter returns what a link into part q passes, and whether what passes it at one time comes from one rank, and goes to one.
// Where the budget is spent, or more than maxCrossed times were looked at, that is of no use.
func (x *crossed) enter(l *model.Link, q int) (p entrance, one bool) {
	before := x.origin(l, q)
	among := make([]bool, x.t.Nodes())
	for v, p := range x.part {
		among[v] = p == q
	}
	behind := x.reached(l.Dst, among, false)
	list := make([]model.Time, len(x.members))
	for _, z := range behind.ways {
		if x.steps += len(list); x.steps > maxCrossed {
			return p, false
		}
		for i, v := range x.members {
			list[i] = x.served[z.rank][v].Add(z.alpha).Add(l.Alpha)
		}
		p.tails = append(p.tails, x.portions(list, before.from)...)
	}
	p.heads, p.tails = before.heads, rising(p.tails)
	return p, before.one && behind.one
}

// origin returns what comes to a link into part q, which is the same for all from one node to such ones.
func (x *crossed) origin(l *model.Link, q int) *origin {
	key := approach{l.Src, q, 0}
	if x.t.IsRank(l.Dst) {
		key.arrival = x.p.ReleaseOf(l.Dst)
	}
	if o, known := x.origins[key]; known {
		return o
	}
	reached := x.reached(l.Src, nil, true)
	o := &origin{one: reached.one}
	x.origins[key] = o
	list := make([]model.Time, len(x.members))
	for _, u := range reached.ways {
		if x.part[u.rank] == q {
			continue
		}
		if x.steps += len(list); x.steps > maxCrossed || x.budget.Spent() {
			break
		}
		if o.from == 0 {
			o.from = x.part[u.rank]
		} else if o.from != x.part[u.rank] {
			o.from = -1
		}
		for i := range list {
			list[i] = max(x.met[i][u.rank], key.arrival).Add(u.alpha)
		}
		o.heads = append(o.heads, x.portions(list, q)...)
	}
	o.heads = rising(o.heads)
	return o
}

// portions returns the chance that, of members drawn one from each part but the one left out, there is one whose time is over.
func (x *crossed) portions(at []model.Time, except int) (steps []portion) {
	var order []int
	for i, t := range at {
		if t != model.MaxTime && x.part[x.members[i]] != except {
			order = append(order, i)
		}
	}
	slices.SortFunc(order, func(i, j int) int { return cmp.Compare(at[i], at[j]) })
	left := slices.Clone(x.sizes)
	none := 1.0
	for i, m := range order {
		p := x.part[x.members[m]]
		none *= float64(left[p]-1) / float64(left[p])
		left[p]--
		if i+1 == len(order) || at[order[i+1]] != at[m] {
			steps = append(steps, portion{at[m], 1 - none})
		}
		if none == 0 {
			return append(steps, portion{at[m], 1})
		}
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
	if x.k < 2 || len(x.passed) == 0 {
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
	for _, p := range x.passed {
		for i, h := range p.heads {
			end := T
			if i+1 < len(p.heads) {
				end = min(T, p.heads[i+1].at)
			}
			for j := len(p.tails) - 1; j >= 0; j-- {
				from, to := h.at, min(end, T-p.tails[j].at)
				if j+1 < len(p.tails) {
					from = max(from, T-p.tails[j+1].at)
				}
				if from < to {
					sum += p.bytes * h.share * p.tails[j].share * float64(to-from)
				}
			}
		}
	}
	return sum
}
