package verifytest

import (
	"slices"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/verify"
)

// stream is what counts as one on a link: section 4.3.
type stream struct {
	model.Interval
	uses  []use
	right bool
}

// mayWait reports whether a transfer may wait at a switch on its way: section 3.2.
func (x *executor) mayWait(i int) bool {
	w := x.ways[i]
	return len(w.links) == 2 && x.p.Topology.Reduces(w.nodes[1]) == model.SumsRead
}

// streams is section 4 where some switch adds.
func (x *executor) streams(uses [][]use) {
	of := make([][]stream, len(uses))
	for l, list := range uses {
		of[l] = components(list)
	}
	beside := make([][]model.Interval, len(uses))
	roles := map[int]map[string]bool{} // of transfers at switches that ranks read sums at
	for l := range of {
		for n := range of[l] {
			s := &of[l][n]
			if len(s.uses) == 1 {
				continue
			}
			if !x.isStream(*s) {
				x.f.Network[verify.LinkOverlap] = true
				continue
			}
			s.right = true
			if sources, _ := x.ends(*s); len(sources) > 1 {
				x.f.Sums++
			}
			at, role := x.readers(l, *s)
			if role == "" {
				x.stale(l, *s)
				continue
			}
			for _, u := range s.uses {
				t := x.s.Transfers[u.transfer]
				if roles[u.transfer] == nil {
					roles[u.transfer] = map[string]bool{}
				}
				roles[u.transfer][role] = true
				if len(x.ways[u.transfer].links) != 2 || role == "branch" && t.Op != model.Copy || len(roles[u.transfer]) == 2 {
					x.f.Network[verify.LinkOverlap] = true
					s.right = false
				}
			}
			if !s.right {
				continue
			}
			x.stale(l, *s)
			back, span := x.back(l, at, role, s.Interval)
			beside[back] = append(beside[back], span)
		}
	}
	var all [][]model.Interval // by link
	for l := range of {
		spans := slices.Clone(beside[l])
		for _, s := range of[l] {
			spans = append(spans, s.Interval)
		}
		for n, a := range spans {
			for _, b := range spans[:n] {
				if a.From < b.To && b.From < a.To {
					x.f.Network[verify.LinkOverlap] = true
				}
			}
		}
		all = append(all, spans)
	}
	for _, port := range x.p.Topology.Ports {
		x.portOf(all, port.Links, port.Capacity)
	}
	if x.p.Cost == model.Rounds {
		for r := range x.p.Topology.Ranks {
			out, in := x.atRank(r)
			x.portOf(all, out, 1)
			x.portOf(all, in, 1)
		}
	}
	x.sums(of)
}

// components divides spans into sets that overlap, directly or through others.
func components(list []use) (all []stream) {
	seen := map[int]bool{}
	for first := range list {
		if seen[first] {
			continue
		}
		s := stream{Interval: list[first].Interval, uses: []use{list[first]}}
		seen[first] = true
		for again := true; again; {
			again = false
			for i, u := range list {
				if !seen[i] && slices.ContainsFunc(s.uses, func(v use) bool { return u.From < v.To && v.From < u.To }) {
					seen[i], again = true, true
					s.uses = append(s.uses, u)
					s.From, s.To = min(s.From, u.From), max(s.To, u.To)
				}
			}
		}
		all = append(all, s)
	}
	return all
}

// ends returns the sources and the destinations of a stream.
func (x *executor) ends(s stream) (sources, dests map[int32]bool) {
	sources, dests = map[int32]bool{}, map[int32]bool{}
	for _, u := range s.uses {
		t := x.s.Transfers[u.transfer]
		sources[t.Src], dests[t.Dst] = true, true
	}
	return sources, dests
}

func (x *executor) isStream(s stream) bool {
	sources, dests := x.ends(s)
	has := map[[2]int32]bool{}
	for i, a := range s.uses {
		t := x.s.Transfers[a.transfer]
		has[[2]int32{t.Src, t.Dst}] = true
		if len(sources) > 1 && t.Op != model.Reduction || len(sources) > 1 && len(dests) > 1 && a.Interval != s.Interval {
			return false
		}
		for _, b := range s.uses[:i] {
			v := x.s.Transfers[b.transfer]
			p, q := x.ways[a.transfer].links, x.ways[b.transfer].links
			same := slices.Equal(p[:a.place], q[:b.place])
			onwards := slices.Equal(p[a.place:], q[b.place:])
			switch {
			case t.Chunk != v.Chunk, t.Src == v.Src && t.Dst == v.Dst:
				return false
			case t.Src == v.Src && (t.Start != v.Start || !same || !x.part(p[a.place:], q[b.place:])):
				return false
			case t.Dst == v.Dst && (t.End != v.End || !onwards || !x.meet(p[:a.place], q[:b.place])):
				return false
			}
		}
	}
	for r := range sources {
		for w := range dests {
			if r != w && !has[[2]int32{r, w}] {
				return false
			}
		}
	}
	// Of two that differ in both ends, there is a third one with one end of each, but not where
	// that would lead from a rank to itself: their ways are those of others.
	return x.allPart(s, dests) && x.allMeet(s, sources)
}

// onward returns the way from a link on to a destination of its stream.
func (x *executor) onward(s stream, dst int32) []int {
	for _, u := range s.uses {
		if x.s.Transfers[u.transfer].Dst == dst {
			return x.ways[u.transfer].links[u.place:]
		}
	}
	return nil
}

// before returns the way to a link from a source of its stream.
func (x *executor) before(s stream, src int32) []int {
	for _, u := range s.uses {
		if x.s.Transfers[u.transfer].Src == src {
			return x.ways[u.transfer].links[:u.place]
		}
	}
	return nil
}

func (x *executor) allPart(s stream, dests map[int32]bool) bool {
	for a := range dests {
		for b := range dests {
			if a != b && !x.part(x.onward(s, a), x.onward(s, b)) {
				return false
			}
		}
	}
	return true
}

func (x *executor) allMeet(s stream, sources map[int32]bool) bool {
	for a := range sources {
		for b := range sources {
			if a != b && !x.meet(x.before(s, a), x.before(s, b)) {
				return false
			}
		}
	}
	return true
}

// part reports whether two ways that begin with one link part at a switch that copies. At
// one that ranks read sums at, only right behind a link from a rank that is the source.
func (x *executor) part(p, q []int) bool {
	n := 0
	for n < len(p) && n < len(q) && p[n] == q[n] {
		n++
	}
	if n == 0 || n == len(p) || n == len(q) {
		return false
	}
	return x.copies(x.p.Topology.Links[p[n]].Src)
}

func (x *executor) copies(v int) bool {
	return v >= x.p.Topology.Ranks && x.p.Topology.Switches[v-x.p.Topology.Ranks].Copies
}

// meet reports whether two ways that lead to one link come together at a switch that adds.
func (x *executor) meet(p, q []int) bool {
	n := 0
	for n < len(p) && n < len(q) && p[len(p)-1-n] == q[len(q)-1-n] {
		n++
	}
	if n == len(p) || n == len(q) {
		return false
	}
	v := x.p.Topology.Links[p[len(p)-1-n]].Dst
	if v < x.p.Topology.Ranks {
		return false
	}
	s := x.p.Topology.Switches[v-x.p.Topology.Ranks]
	c := x.p.Collective
	types := s.Types[c.Op].List()
	return s.Reduces != model.NoReducing && (s.Operations == 0 || slices.Contains(s.Operations.List(), c.Op)) &&
		(len(types) == 0 || c.DType == model.AnyDType || slices.Contains(types, c.DType))
}

// readers returns the rank and the role of a stream whose ways part, or meet, at a switch
// that ranks read sums at, at an end of link l; role is "" for others. One whose ways
// part or meet at such a switch elsewhere has routes of more than two links: "branch" or
// "term", so that it is refused for that.
func (x *executor) readers(l int, s stream) (rank int, role string) {
	t := x.p.Topology
	for i, a := range s.uses {
		for _, b := range s.uses[:i] {
			p, q := x.ways[a.transfer].links, x.ways[b.transfer].links
			if x.s.Transfers[a.transfer].Src == x.s.Transfers[b.transfer].Src {
				n := a.place
				for p[n] == q[n] {
					n++
				}
				if t.Reduces(t.Links[p[n]].Src) == model.SumsRead {
					return t.Links[l].Src, "branch"
				}
			}
			if x.s.Transfers[a.transfer].Dst == x.s.Transfers[b.transfer].Dst {
				n, m := a.place-1, b.place-1
				for p[n] == q[m] {
					n, m = n-1, m-1
				}
				if t.Reduces(t.Links[p[n]].Dst) == model.SumsRead {
					return t.Links[l].Dst, "term"
				}
			}
		}
	}
	return 0, ""
}

// back returns the link over which a rank's own contribution goes, and when.
func (x *executor) back(l, rank int, role string, span model.Interval) (int, model.Interval) {
	t := x.p.Topology
	other := l
	for i, k := range t.Links {
		if k.Src == t.Links[l].Dst && k.Dst == t.Links[l].Src {
			other = i
		}
	}
	if x.s.Form == model.InRounds {
		return other, span
	}
	here, there := t.Links[l].Alpha, t.Links[other].Alpha
	switch {
	case role == "term" && x.p.Cost == model.Pipelined:
		return other, model.Interval{From: span.From - there, To: span.To - there}
	case role == "term":
		return other, model.Interval{From: span.From - there, To: span.To - here}
	case x.p.Cost == model.Pipelined:
		return other, model.Interval{From: span.From + here, To: span.To + here}
	}
	return other, model.Interval{From: span.From + here, To: span.To + there}
}

// stale looks for writes to a slot that is in a stream and written by it.
func (x *executor) stale(l int, s stream) {
	sources, dests := x.ends(s)
	x.staleOwn(s)
	first, last := model.MaxTime, model.Time(0)
	in := map[int]bool{}
	for _, u := range s.uses {
		t := x.s.Transfers[u.transfer]
		first, last = min(first, t.Start), max(last, t.End)
		in[u.transfer] = true
	}
	rank, role := x.readers(l, s)
	u := s.uses[0]
	switch {
	case len(sources) > 1 && u.place == len(x.ways[u.transfer].links)-1 && len(dests) == 1:
		rank = int(x.s.Transfers[u.transfer].Dst)
		if sum := first; role == "" {
			for _, t := range x.s.Transfers {
				if int(t.Src) == rank && t.Op == model.Reduction && t.Chunk == x.s.Transfers[u.transfer].Chunk && t.Start < sum && sum < t.End {
					first = min(first, t.Start)
				}
			}
		}
	case role == "branch":
		in = nil
	default:
		return
	}
	for i, t := range x.s.Transfers {
		if int(t.Dst) == rank && t.Chunk == x.s.Transfers[u.transfer].Chunk && t.End > first && t.End <= last && !in[i] {
			x.f.Network[verify.StaleSum] = true
		}
	}
}

// staleOwn looks for writes to a slot that was sent into a sum which comes back to it: by a
// transfer that is not in a stream with those that bring it, on the link by which they end.
func (x *executor) staleOwn(s stream) {
	for _, a := range s.uses {
		for _, b := range s.uses {
			out, back := x.s.Transfers[a.transfer], x.s.Transfers[b.transfer]
			if out.Src != back.Dst {
				continue
			}
			for i, t := range x.s.Transfers {
				together := t.End == back.End && x.ways[i].links[len(x.ways[i].links)-1] == x.ways[b.transfer].links[len(x.ways[b.transfer].links)-1]
				if t.Dst == back.Dst && t.Chunk == back.Chunk && t.End > out.Start && t.End <= back.End && !together {
					x.f.Network[verify.StaleSum] = true
				}
			}
		}
	}
}

// portOf is port for spans that each count once. Where there are no more links than capacity only
// what 4.1 forbids can be too much.
func (x *executor) portOf(all [][]model.Interval, links []int, capacity int) {
	if len(links) <= capacity {
		return
	}
	for _, l := range links {
		for _, at := range all[l] {
			n := 0
			for _, m := range links {
				for _, u := range all[m] {
					if u.From <= at.From && at.From < u.To {
						n++
					}
				}
			}
			if n > capacity {
				x.f.Network[verify.PortOverload] = true
			}
		}
	}
}

// sums counts the chunks of which a switch makes sums at one instant.
func (x *executor) sums(of [][]stream) {
	t := x.p.Topology
	for i, w := range t.Switches {
		if w.Sums == 0 {
			continue
		}
		var made []stream
		for l, k := range t.Links {
			if k.Src != t.Ranks+i {
				continue
			}
			for _, s := range of[l] {
				over := map[int]bool{}
				for _, u := range s.uses {
					if u.place > 0 {
						over[x.ways[u.transfer].links[u.place-1]] = true
					}
				}
				if sources, _ := x.ends(s); len(sources) > 1 && len(over) > 1 && s.right {
					made = append(made, s)
				}
			}
		}
		for _, at := range made {
			chunks := map[int32]bool{}
			for _, s := range made {
				if s.From <= at.From && at.From < s.To {
					chunks[x.s.Transfers[s.uses[0].transfer].Chunk] = true
				}
			}
			if len(chunks) > w.Sums {
				x.f.Network[verify.PortOverload] = true
			}
		}
	}
}
