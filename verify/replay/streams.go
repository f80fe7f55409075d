package replay

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/verify"
)

// streams decides about links where some switch adds (SPEC 4.3).
type streams struct {
	*check
	uses [][]use        // by link: what keeps it busy, a stream being one use
	kept []kept         // the slots that must stay as they are for a while
	back map[came]bool  // those of them that comesBack has noted, each once
	sums map[int][]use  // by switch with a limit of sums: those that it makes
	read map[[2]int]int // by the ends of a link of a switch that ranks read sums at: the link
}

// kept says that what a slot holds is in what is on its way, and will be written there again,
// so that no other transfer may end there in (From, To].
type kept struct {
	model.Interval
	rank, chunk, by int32
	link            int            // those that end there with it over this link may; -1: none
	members         map[int32]bool // these may, too
	sent            bool           // what the rank was sending at From is in it, too
}

// came is what makes one kept of comesBack differ from others.
type came struct {
	model.Interval
	rank, chunk int32
	link        int
}

// What transfers of a stream are at a switch that ranks read sums at. None is both: branches
// are copies, and terms reductions.
const (
	aBranch = 1 + iota
	aTerm
)

// newStreams returns nil where no switch adds.
func (c *check) newStreams() *streams {
	if _, adds := c.t.Reducer(); !adds {
		return nil
	}
	x := &streams{check: c, uses: make([][]use, len(c.t.Links)), sums: map[int][]use{}, read: map[[2]int]int{}, back: map[came]bool{}}
	for l, k := range c.t.Links {
		if c.t.Reduces(k.Src) == model.SumsRead || c.t.Reduces(k.Dst) == model.SumsRead {
			x.read[[2]int{k.Src, k.Dst}] = l
		}
	}
	return x
}

// link divides the uses of a link, sorted by start, into streams.
func (x *streams) link(l int, uses []use) {
	for len(uses) > 0 {
		one, n := uses[0], 1
		for n < len(uses) && uses[n].From < one.To {
			one.To = max(one.To, uses[n].To)
			n++
		}
		if n > 1 {
			if !x.work.Go(4 * n) {
				return
			}
			if i, why := x.stream(l, uses[:n], one.Interval); why != "" {
				t := &x.s.Transfers[uses[i].transfer]
				x.report(verify.LinkOverlap, int(uses[i].transfer), x.t.Links[l].Src, int(t.Chunk), x.about(int(uses[i].transfer)),
					"link %d, %s to %s, is still busy with %s: %s", l, x.t.NodeName(x.t.Links[l].Src), x.t.NodeName(x.t.Links[l].Dst), x.about(int(one.transfer)), why)
				if !x.goes(1) {
					return
				}
			}
		}
		x.uses[l] = append(x.uses[l], one)
		uses = uses[n:]
	}
}

// stream returns why uses that overlap on link l are not one stream, and which of them.
func (x *streams) stream(l int, uses []use, span model.Interval) (int, string) {
	bySrc, byDst := map[int32]use{}, map[int32]use{} // the first of each
	pairs := map[[2]int32]bool{}
	chunk := x.s.Transfers[uses[0].transfer].Chunk
	reductions := true
	for i, u := range uses {
		t, route := &x.s.Transfers[u.transfer], x.route(u)
		if !x.work.Go(len(route)) {
			return 0, ""
		}
		if t.Chunk != chunk {
			return i, "which carries another chunk"
		}
		if pairs[[2]int32{t.Src, t.Dst}] {
			return i, "another transfer has the same source and destination"
		}
		pairs[[2]int32{t.Src, t.Dst}] = true
		reductions = reductions && t.Op == model.Reduction
		if first, seen := bySrc[t.Src]; !seen {
			bySrc[t.Src] = u
		} else if x.s.Transfers[first.transfer].Start != t.Start || !slices.Equal(x.route(first)[:first.hop+1], route[:u.hop+1]) {
			return i, fmt.Sprintf("it starts where %s does, not at the same time and with the same way here", x.about(int(first.transfer)))
		}
		if first, seen := byDst[t.Dst]; !seen {
			byDst[t.Dst] = u
		} else if x.s.Transfers[first.transfer].End != t.End || !slices.Equal(x.route(first)[first.hop:], route[u.hop:]) {
			return i, fmt.Sprintf("it ends where %s does, not at the same time and with the same way from here", x.about(int(first.transfer)))
		}
	}
	want := len(bySrc) * len(byDst)
	for r := range bySrc {
		if _, both := byDst[r]; both {
			want--
		}
	}
	if len(pairs) != want {
		return len(uses) - 1, fmt.Sprintf("%d transfers from %d ranks to %d are not one stream, want %d, from each to each", len(pairs), len(bySrc), len(byDst), want)
	}
	if len(bySrc) > 1 && !reductions {
		return len(uses) - 1, "a sum that has copies in it"
	}
	if len(bySrc) > 1 && len(byDst) > 1 {
		for i, u := range uses {
			if u.Interval != span {
				return i, "of a sum with several destinations not all keep the link busy for the same time"
			}
		}
	}
	if len(byDst) > 1 {
		if why := x.partings(l, byDst); why != "" {
			return len(uses) - 1, why
		}
	}
	if len(bySrc) > 1 {
		if why := x.meetings(l, bySrc); why != "" {
			return len(uses) - 1, why
		}
	}
	return x.own(l, uses, span, len(bySrc), len(byDst))
}

func (x *streams) route(u use) []int { return x.s.Routes[x.s.Transfers[u.transfer].Route] }

// tree has the ways of several transfers that begin, or end, with one link.
type tree struct {
	nodes map[step]int // by the node before
	count []int        // by node: how many ways go on from there; -1: one ends there
}

type step struct{ from, link int }

// grow enters a way, and returns the link at which it first leaves the others, -1 if it
// is the first, and false if it is a part of another one or has one as its part.
func (g *tree) grow(way []int) (link int, apart bool) {
	first := g.nodes == nil
	if first {
		g.nodes, g.count = map[step]int{}, []int{0}
	}
	at, link := 0, -1
	for _, l := range way {
		next, known := g.nodes[step{at, l}]
		if !known {
			if g.count[at] < 0 {
				return 0, false
			}
			if link < 0 {
				link = l
			}
			next = len(g.count)
			g.count = append(g.count, 0)
			g.nodes[step{at, l}] = next
			g.count[at]++
		}
		at = next
	}
	if !first && link < 0 || g.count[at] != 0 {
		return 0, false
	}
	g.count[at] = -1
	if first {
		return -1, true
	}
	return link, true
}

// partings checks that branches part at switches that copy, behind link l.
func (x *streams) partings(l int, byDst map[int32]use) string {
	var g tree
	for _, dst := range sorted(byDst) {
		u := byDst[dst]
		route := x.route(u)
		if !x.work.Go(len(route)) {
			return ""
		}
		link, apart := g.grow(route[u.hop+1:])
		if !apart {
			return "the way of one is a part of that of another"
		}
		if link < 0 {
			continue
		}
		switch v := x.t.Links[link].Src; {
		case !x.t.Copies(v):
			return fmt.Sprintf("they part at %s, which does not copy", x.t.NodeName(v))
		case x.t.Reduces(v) == model.SumsRead && (v != x.t.Links[l].Dst || u.hop != 0):
			return fmt.Sprintf("they part at %s, which only ranks beside it write to", x.t.NodeName(v))
		}
	}
	return ""
}

// meetings checks that terms meet at switches that add, before link l.
func (x *streams) meetings(l int, bySrc map[int32]use) string {
	var g tree
	for _, src := range sorted(bySrc) {
		u := bySrc[src]
		way := slices.Clone(x.route(u)[:u.hop])
		if !x.work.Go(len(way)) {
			return ""
		}
		slices.Reverse(way)
		link, apart := g.grow(way)
		if !apart {
			return "the way of one is a part of that of another"
		}
		if link < 0 {
			continue
		}
		switch v := x.t.Links[link].Dst; {
		case x.t.Reduces(v) == model.NoReducing:
			return fmt.Sprintf("they meet at %s, which does not add", x.t.NodeName(v))
		case x.t.Adds(v, &x.p.Collective) == model.NoReducing:
			return fmt.Sprintf("they meet at %s, which %s", x.t.NodeName(v), x.t.Switches[v-x.t.Ranks].Computes(&x.p.Collective))
		case x.t.Reduces(v) == model.SumsRead && (v != x.t.Links[l].Src || int(u.hop) != len(x.route(u))-1):
			return fmt.Sprintf("they meet at %s, which only ranks beside it read from", x.t.NodeName(v))
		}
	}
	return ""
}

func sorted(m map[int32]use) []int32 {
	var keys []int32
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// own notes what a stream on link l has of the contribution of the rank at its end that is
// one alone, the source of a multicast or the destination of a sum.
func (x *streams) own(l int, uses []use, span model.Interval, sources, dests int) (int, string) {
	k := x.t.Links[l]
	as, term := uint8(0), true
	switch {
	case sources > 1 && x.t.Reduces(k.Src) == model.SumsRead && x.meetsAt(uses):
		as = aTerm
	case dests > 1 && x.t.Reduces(k.Dst) == model.SumsRead && x.partsAt(uses):
		as, term = aBranch, false
	}
	begin, end := model.MaxTime, model.Time(0)
	members := map[int32]bool{}
	for i, u := range uses {
		t := &x.s.Transfers[u.transfer]
		begin, end = min(begin, t.Start), max(end, t.End)
		members[u.transfer] = true
		if as == 0 {
			continue
		}
		if len(x.route(u)) != 2 {
			return i, fmt.Sprintf("its way has %d links, want two at a switch that ranks read sums at", len(x.route(u)))
		}
		if as == aBranch && t.Op != model.Copy {
			return i, "it adds, and a multicast at a switch that ranks read sums at comes back to its source"
		}
	}
	t := &x.s.Transfers[uses[0].transfer]
	switch {
	case sources > 1 && int(uses[0].hop) == len(x.route(uses[0]))-1:
		x.kept = append(x.kept, kept{model.Interval{From: begin, To: end}, t.Dst, t.Chunk, uses[0].transfer, -1, members, as == 0})
	case as == aBranch:
		x.kept = append(x.kept, kept{model.Interval{From: begin, To: end}, t.Src, t.Chunk, uses[0].transfer, -1, nil, false})
	case sources > 1 && dests > 1:
		x.comesBack(uses)
	}
	if x.t.Reduces(k.Src) != model.NoReducing && x.t.Switches[k.Src-x.t.Ranks].Sums > 0 && sources > 1 && x.meetsAt(uses) {
		x.sums[k.Src] = append(x.sums[k.Src], use{span, uses[0].transfer, uses[0].hop})
	}
	if as == 0 {
		return 0, ""
	}
	back := x.read[[2]int{k.Dst, k.Src}]
	if x.s.Form == model.Timed {
		up, down := x.t.Links[l], x.t.Links[back]
		if term {
			up, down = down, up
		}
		after := up.Alpha // of the end
		if x.p.Cost != model.Pipelined {
			after = down.Alpha
		}
		if term {
			span.From, span.To = span.From-up.Alpha, span.To-after
		} else {
			span.From, span.To = span.From.Add(up.Alpha), span.To.Add(after)
		}
	}
	x.uses[back] = append(x.uses[back], use{span, uses[0].transfer, -1})
	return 0, ""
}

// comesBack notes the slots of the ranks that a sum with several destinations comes back to.
func (x *streams) comesBack(uses []use) {
	sent := map[int32]model.Time{} // by source: when
	for _, u := range uses {
		t := &x.s.Transfers[u.transfer]
		sent[t.Src] = t.Start
	}
	for _, u := range uses {
		t, route := &x.s.Transfers[u.transfer], x.route(u)
		if at, both := sent[t.Dst]; both {
			k := came{model.Interval{From: at, To: t.End}, t.Dst, t.Chunk, route[len(route)-1]}
			if x.back[k] { // on another link, or of another source
				continue
			}
			x.back[k] = true
			x.kept = append(x.kept, kept{k.Interval, k.rank, k.chunk, u.transfer, k.link, nil, false})
		}
	}
}

// meetsAt reports whether the terms of a stream come over several links to the link's source.
func (x *streams) meetsAt(uses []use) bool {
	for _, u := range uses {
		if u.hop == 0 || x.route(u)[u.hop-1] != x.route(uses[0])[uses[0].hop-1] {
			return true
		}
	}
	return false
}

// partsAt reports whether the branches of a stream go on over several links from the link's
// end.
func (x *streams) partsAt(uses []use) bool {
	for _, u := range uses {
		if x.route(u)[u.hop+1] != x.route(uses[0])[uses[0].hop+1] {
			return true
		}
	}
	return false
}

// all checks, once every link has been looked at, what streams keep busy beside their own
// links, the slots that they keep, ports, and how many sums switches make at one time.
func (x *streams) all() {
	for l, uses := range x.uses {
		if !x.goes(1 + len(uses)) {
			return
		}
		x.sortUses(uses)
		last := 0 // the use that ends last so far
		for i := 1; i < len(uses); i++ {
			if a, b := uses[last], uses[i]; b.From < a.To {
				k := x.t.Links[l]
				x.report(verify.LinkOverlap, int(b.transfer), k.Src, int(x.s.Transfers[b.transfer].Chunk), x.about(int(b.transfer)),
					"link %d, %s to %s, is still busy with %s; a rank's own contribution goes there and back where it reads a sum or writes to several",
					l, x.t.NodeName(k.Src), x.t.NodeName(k.Dst), x.about(int(a.transfer)))
			}
			if uses[i].To > uses[last].To {
				last = i
			}
		}
	}
	for _, p := range x.check.ports() {
		x.port(p, x.uses)
	}
	x.slots()
	for _, v := range sortedNodes(x.sums) {
		x.sumsAt(v)
	}
}

func sortedNodes(m map[int][]use) []int {
	var keys []int
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// slots checks that nothing else is written where a sum or a multicast has what was there.
func (x *streams) slots() {
	if len(x.kept) == 0 {
		return
	}
	type slot struct{ rank, chunk int32 }
	writes, sends := map[slot][]int32{}, map[slot][]int32{}
	for _, k := range x.kept {
		writes[slot{k.rank, k.chunk}] = nil
	}
	for i := range x.s.Transfers {
		t := &x.s.Transfers[i]
		if !x.goes(1) {
			return
		}
		if list, wanted := writes[slot{t.Dst, t.Chunk}]; wanted {
			writes[slot{t.Dst, t.Chunk}] = append(list, int32(i))
		}
		if _, wanted := writes[slot{t.Src, t.Chunk}]; wanted && t.Op == model.Reduction {
			sends[slot{t.Src, t.Chunk}] = append(sends[slot{t.Src, t.Chunk}], int32(i))
		}
	}
	for _, list := range writes {
		slices.SortFunc(list, func(a, b int32) int {
			x.work.Go(1)
			return cmp.Or(cmp.Compare(x.s.Transfers[a].End, x.s.Transfers[b].End), cmp.Compare(a, b))
		})
	}
	stale := map[int32]bool{}
	for _, k := range x.kept {
		if first := k.From; k.sent {
			for _, i := range sends[slot{k.rank, k.chunk}] {
				if !x.goes(1) {
					return
				}
				if t := &x.s.Transfers[i]; t.Start < k.From && first < t.End {
					k.From = t.Start
				}
			}
		}
		list := writes[slot{k.rank, k.chunk}]
		first, _ := slices.BinarySearchFunc(list, k.From+1, func(i int32, at model.Time) int { return cmp.Compare(x.s.Transfers[i].End, at) })
		for _, i := range list[first:] {
			if !x.goes(1) {
				return
			}
			if x.s.Transfers[i].End > k.To {
				break
			}
			t := &x.s.Transfers[i]
			if route := x.s.Routes[t.Route]; !stale[i] && !k.members[i] && (t.End != k.To || route[len(route)-1] != k.link) {
				stale[i] = true
				x.report(verify.StaleSum, int(i), int(k.rank), int(k.chunk), x.about(int(i)),
					"writes rank %d's slot, which %s has, as it was, and writes again", k.rank, x.about(int(k.by)))
			}
		}
	}
}

// sumsAt checks that switch v makes sums of no more chunks at one time than it can.
func (x *streams) sumsAt(v int) {
	uses, most := x.sums[v], x.t.Switches[v-x.t.Ranks].Sums
	x.sortUses(uses)
	until := map[int32]model.Time{} // by chunk
	for _, u := range uses {
		if !x.goes(1 + len(until)) {
			return
		}
		for k, to := range until {
			if to <= u.From {
				delete(until, k)
			}
		}
		k := x.s.Transfers[u.transfer].Chunk
		if until[k] = max(until[k], u.To); len(until) > most {
			x.report(verify.PortOverload, int(u.transfer), -1, int(k), x.about(int(u.transfer)),
				"%s adds up %d chunks at that time, want at most %d", x.t.NodeName(v), len(until), most)
		}
	}
}
