// Package streams finds which transfers of a schedule are one sum or one multicast, passing links
// together (verify/SPEC.md, 4.1 and 4.3), for pictures. It decides nothing: what is not such a thing as
// a whole counts as transfers by themselves, which the verifiers may refuse.
package streams

import (
	"cmp"
	"slices"

	"github.com/oraccl/oraccl/model"
)

// Stream is transfers that switches take for one.
type Stream struct {
	Chunk     int32
	Transfers []int32 // ascending
	Sources   []int32 // ranks, ascending; several: it is a sum
	Dests     []int32 // ranks, ascending; several: it is a multicast
	// Own is the link that the contribution of the one rank at its end passes, where ranks read sums at a
	// switch: there from a rank that reads, back to a rank that writes; -1: none. OwnBusy is when.
	Own     int
	OwnBusy model.Interval
}

// Sum reports whether the stream is a sum.
func (x *Stream) Sum() bool { return len(x.Sources) > 1 }

// Streams are those of a schedule.
type Streams struct {
	List []Stream
	Of   []int32 // by transfer: 1 + the index in List, 0 for those that pass alone

	p        *model.Problem
	s        *model.Schedule
	from, to []model.Time
}

// Find returns the streams of a schedule that is valid for p, in order of their first transfers. from and to
// are when each transfer is under way. Where the form is an order there are none. It takes O(n log n) time
// for n links in the routes of all transfers.
func Find(p *model.Problem, s *model.Schedule, from, to []model.Time) *Streams {
	x := &Streams{Of: make([]int32, len(s.Transfers)), p: p, s: s, from: from, to: to}
	if s.Form == model.Ordered {
		return x
	}
	casts, sums := x.groups(x.branch, model.Copy), x.groups(x.term, model.Reduction)
	for _, c := range x.joined(casts, sums) {
		// What is no stream as a whole may be some at its last links alone, or at its first ones.
		for _, parts := range [][][]int32{{c.all}, c.of[1], c.of[0]} {
			found := false
			for _, part := range parts {
				if len(part) > 1 && x.complete(part) {
					x.add(part)
					found = true
				}
			}
			if found {
				break
			}
		}
	}
	slices.SortFunc(x.List, func(a, b Stream) int { return cmp.Compare(a.Transfers[0], b.Transfers[0]) })
	for k := range x.List {
		for _, i := range x.List[k].Transfers {
			x.Of[i] = int32(k) + 1
		}
	}
	return x
}

// end is what transfers have in common at one of their ends.
type end struct {
	chunk int32
	link  int
	at    model.Time
}

func (x *Streams) route(i int32) []int { return x.s.Routes[x.s.Transfers[i].Route] }

// branch returns how transfer i begins.
func (x *Streams) branch(i int32) end {
	t := &x.s.Transfers[i]
	return end{t.Chunk, x.route(i)[0], t.Start}
}

// term returns how transfer i ends.
func (x *Streams) term(i int32) end {
	t, route := &x.s.Transfers[i], x.route(i)
	return end{t.Chunk, route[len(route)-1], t.End}
}

// groups returns the lists of transfers that have one end in common, and part, or meet, at switches that
// copy, or add: those that add must be reductions.
func (x *Streams) groups(of func(int32) end, op model.Op) (lists [][]int32) {
	at := map[end]int{}
	for i := range x.s.Transfers {
		i := int32(i)
		if op == model.Reduction && x.s.Transfers[i].Op != op || len(x.route(i)) < 2 {
			continue
		}
		key := of(i)
		k, known := at[key]
		if known && !x.together(lists[k][0], i, op) {
			continue
		}
		if !known {
			k = len(lists)
			at[key] = k
			lists = append(lists, nil)
		}
		lists[k] = append(lists[k], i)
	}
	return slices.DeleteFunc(lists, func(list []int32) bool { return len(list) < 2 })
}

// together reports whether the ways of two transfers first part at a switch that copies or, for
// reductions, last meet at one that adds.
func (x *Streams) together(i, j int32, op model.Op) bool {
	a, b := x.route(i), x.route(j)
	if op == model.Reduction {
		a, b = slices.Clone(a), slices.Clone(b)
		slices.Reverse(a)
		slices.Reverse(b)
	}
	for k := range min(len(a), len(b)) {
		switch l := x.p.Topology.Links[a[k]]; {
		case a[k] == b[k]:
		case op == model.Reduction:
			return x.p.Topology.Adds(l.Dst, &x.p.Collective) != model.NoReducing
		default:
			return x.p.Topology.Copies(l.Src)
		}
	}
	return false
}

// cluster is transfers that groups join, with these groups.
type cluster struct {
	all []int32
	of  [2][][]int32 // multicasts, sums
}

// joined returns the clusters of some groups, in order of their first transfers.
func (x *Streams) joined(groups ...[][]int32) (clusters []cluster) {
	of := make([]int32, len(x.s.Transfers)) // a tree of those that belong together
	for i := range of {
		of[i] = int32(i)
	}
	root := func(i int32) int32 {
		for of[i] != i {
			of[i] = of[of[i]]
			i = of[i]
		}
		return i
	}
	seen := make([]bool, len(of))
	for _, lists := range groups {
		for _, list := range lists {
			for _, i := range list {
				of[root(i)], seen[i] = root(list[0]), true
			}
		}
	}
	at := map[int32]int{}
	for i := range of {
		if !seen[i] {
			continue
		}
		r := root(int32(i))
		k, known := at[r]
		if !known {
			k = len(clusters)
			at[r] = k
			clusters = append(clusters, cluster{})
		}
		clusters[k].all = append(clusters[k].all, int32(i))
	}
	for kind, lists := range groups {
		for _, list := range lists {
			c := &clusters[at[root(list[0])]]
			c.of[kind] = append(c.of[kind], list)
		}
	}
	return clusters
}

// Count returns how many sums and how many multicasts there are: a sum that goes to several ranks is a sum.
func (x *Streams) Count() (sums, multicasts int) {
	for i := range x.List {
		if x.List[i].Sum() {
			sums++
		}
	}
	return sums, len(x.List) - sums
}

// Ends returns how many ranks a use is from, and how many it is to.
func (x *Streams) Ends(u *Use) (from, to int) {
	sources, dests := x.ends(u.Transfers)
	return len(sources), len(dests)
}

// complete reports whether there is one transfer from each source of a list to each destination, except
// from a rank to itself.
func (x *Streams) complete(list []int32) bool {
	pairs := map[[2]int32]bool{}
	from, to := x.ends(list)
	for _, i := range list {
		t := &x.s.Transfers[i]
		pairs[[2]int32{t.Src, t.Dst}] = true
	}
	want := len(from) * len(to)
	for _, r := range from {
		if slices.Contains(to, r) {
			want--
		}
	}
	return len(pairs) == len(list) && len(pairs) == want
}

// ends returns the sources and destinations of a list.
func (x *Streams) ends(list []int32) (from, to []int32) {
	for _, i := range list {
		from, to = append(from, x.s.Transfers[i].Src), append(to, x.s.Transfers[i].Dst)
	}
	slices.Sort(from)
	slices.Sort(to)
	return slices.Compact(from), slices.Compact(to)
}

// add adds a stream.
func (x *Streams) add(list []int32) {
	y := Stream{Chunk: x.s.Transfers[list[0]].Chunk, Transfers: list, Own: -1}
	y.Sources, y.Dests = x.ends(list)
	t, route := x.p.Topology, x.route(list[0])
	// The link next to the one rank at the end, and the one that leads the other way.
	for _, own := range []struct {
		one          bool
		hop, at, end int
	}{{len(y.Dests) == 1 && len(y.Sources) > 1, len(route) - 1, t.Links[route[len(route)-1]].Src, int(y.Dests[0])},
		{len(y.Sources) == 1 && len(y.Dests) > 1, 0, t.Links[route[0]].Dst, int(y.Sources[0])}} {
		if !own.one || t.Reduces(own.at) != model.SumsRead {
			continue
		}
		there, back := t.Links[route[own.hop]], -1
		for l, k := range t.Links {
			if k.Src == there.Dst && k.Dst == there.Src {
				back = l
			}
		}
		if back < 0 {
			continue
		}
		var span model.Interval
		for n, i := range list {
			busy := x.Busy(i, nil)[own.hop]
			if n == 0 || busy.From < span.From {
				span.From = busy.From
			}
			span.To = max(span.To, busy.To)
		}
		if x.s.Form == model.Timed {
			up, down, sign := there.Alpha, t.Links[back].Alpha, model.Time(1)
			if own.hop > 0 {
				up, down, sign = down, up, -1
			}
			span.From += sign * up
			if x.p.Cost == model.Pipelined {
				span.To += sign * up
			} else {
				span.To += sign * down
			}
		}
		y.Own, y.OwnBusy = back, span
	}
	x.List = append(x.List, y)
}

// Busy appends when transfer i keeps each link of its route busy. Where it waits at a switch, the second
// link is busy as late as its end allows (verify/SPEC.md, 4). Where the form is an order, each link is
// busy all the time.
func (x *Streams) Busy(i int32, dst []model.Interval) []model.Interval {
	t, route, first := &x.s.Transfers[i], x.route(i), len(dst)
	if x.s.Form == model.Ordered {
		for range route {
			dst = append(dst, model.Interval{From: x.from[i], To: x.to[i]})
		}
		return dst
	}
	size := x.p.Chunks[t.Chunk].Size
	dst = x.p.Topology.Busy(x.p.Cost, route, size, dst)
	for k := range dst[first:] {
		span := &dst[first+k]
		span.From, span.To = x.from[i].Add(span.From), x.from[i].Add(span.To)
	}
	if x.s.Form != model.Timed || len(route) != 2 {
		return dst
	}
	if waits := x.to[i] - x.from[i] - x.p.Topology.Duration(route, size); waits > 0 {
		span := &dst[first+1]
		span.From, span.To = span.From.Add(waits), span.To.Add(waits)
	}
	return dst
}

// Use is when a link is busy with a transfer, or with those of a stream that pass it.
type Use struct {
	model.Interval
	Transfers []int32 // ascending
	Stream    *Stream // nil: there is one transfer, which passes alone
}

// Uses returns, by link, what keeps it busy, by when that begins. It takes O(n log n) time for n links in
// the routes of all transfers.
func (x *Streams) Uses() [][]Use {
	uses := make([][]Use, len(x.p.Topology.Links))
	type key struct {
		link   int
		stream int32
	}
	at := map[key]int{}
	use := func(l int, k int32, u Use) {
		if k > 0 {
			u.Stream = &x.List[k-1]
			if n, known := at[key{l, k}]; known {
				v := &uses[l][n]
				v.From, v.To, v.Transfers = min(v.From, u.From), max(v.To, u.To), append(v.Transfers, u.Transfers...)
				return
			}
			at[key{l, k}] = len(uses[l])
		}
		uses[l] = append(uses[l], u)
	}
	var busy []model.Interval
	for i := range x.s.Transfers {
		busy = x.Busy(int32(i), busy[:0])
		for h, l := range x.route(int32(i)) {
			use(l, x.Of[i], Use{Interval: busy[h], Transfers: []int32{int32(i)}})
		}
	}
	for k, y := range x.List {
		if y.Own >= 0 {
			use(y.Own, int32(k)+1, Use{Interval: y.OwnBusy, Transfers: y.Transfers})
		}
	}
	for _, list := range uses {
		slices.SortStableFunc(list, func(a, b Use) int {
			return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(a.Transfers[0], b.Transfers[0]))
		})
	}
	return uses
}
