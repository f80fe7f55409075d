package improve

import (
	"slices"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve/events"
)

// renew takes out some moves and grows the trees again that lack them then. It returns false if
// it cannot, or if there is nothing to take out; then undo is called for.
func (r *repair) renew(some int) bool {
	r.mark()
	if r.count == 0 {
		return false
	}
	if r.pivot != nil && r.rng.Below(perUprooting) == 0 {
		r.uproot(r.rng.Below(r.chunks))
	} else {
		r.ruin(some)
	}
	for i := len(r.touched) - 1; i > 0; i-- {
		j := r.rng.Below(i + 1)
		r.touched[i], r.touched[j] = r.touched[j], r.touched[i]
	}
	for _, t := range r.touched {
		if !r.grow(t) {
			return false
		}
		r.trim(t)
	}
	return true
}

// ruin takes out a move that ends late, or any, and some others that keep busy what its
// tree could grow over.
func (r *repair) ruin(some int) {
	i := r.late()
	for {
		t, v := r.moves[i].tree, r.dst(i)
		r.cut(i)
		if some--; some == 0 {
			return
		}
		if list := r.of[t]; len(list) > 0 && r.rng.Below(2) == 0 {
			v = r.dst(list[r.rng.Below(len(list))])
		}
		if i = r.near(r.sideOf(t), v); i < 0 {
			return
		}
	}
}

// perUprooting is how many repairs there are to one that takes both trees of a chunk out.
const perUprooting = 8

// uproot takes out both trees of a chunk. They are to meet at another time and, as often as not,
// at another rank.
func (r *repair) uproot(k int) {
	up, down := int32(k+r.chunks), int32(k)
	if len(r.of[up]) == 0 && len(r.of[down]) == 0 {
		return
	}
	root := r.from[down][0]
	at := r.root(down) // when the sum is complete
	length := r.length() / model.Time(2+r.rng.Below(8))
	at += model.Time(r.rng.Below(int(length)+1)) - length/2
	r.moved = append(r.moved, rooted{int32(k), root, r.pivot[k]})
	for _, t := range []int32{up, down} {
		r.touched = append(r.touched, t)
		for len(r.of[t]) > 0 {
			i := r.of[t][len(r.of[t])-1]
			r.removed = append(r.removed, r.moves[i])
			r.remove(i)
		}
	}
	if r.rng.Below(2) == 0 {
		root = r.candidates[r.rng.Below(len(r.candidates))]
	}
	r.plant(rooted{int32(k), root, at})
}

// plant gives both trees of a chunk, which must be empty, their root and pivot.
func (r *repair) plant(x rooted) {
	for _, t := range []int32{x.chunk, x.chunk + int32(r.chunks)} {
		*r.slot(r.from[t][0], t) = absent
		r.from[t][0] = x.root
		*r.slot(x.root, t) = origin
	}
	r.pivot[x.chunk] = x.pivot
}

// near returns a move that keeps busy something of what a hop needs over which trees of a side
// grow to a rank, or -1.
func (r *repair) near(s *side, v int32) int32 {
	hops := s.into[v]
	for range 4 {
		if len(hops) == 0 {
			break
		}
		x := &r.n.Hops[hops[r.rng.Below(len(hops))]]
		u := &r.n.Uses[x.Uses+int32(r.rng.Below(int(x.UsesEnd-x.Uses)))]
		if busy := r.bookings.Of(r.n.Choices[u.Choice+int32(r.rng.Below(int(u.ChoiceEnd-u.Choice)))]); len(busy) > 0 {
			at := r.rng.Below(len(busy))
			if s.reduces {
				at = len(busy) - 1 - at
			}
			return busy[at].Owner
		}
	}
	return -1
}

// late returns a move: of four times three one that sticks out, if there is one. Which do is
// looked up now and then.
func (r *repair) late() int32 {
	if r.rng.Below(4) > 0 {
		if r.asked++; r.asked > r.count/perLookup || len(r.overdue) == 0 {
			r.asked, r.overdue = 0, r.overdue[:0]
			r.work += r.count / 64
			for t, list := range r.of {
				due := r.sides[t/r.chunks].due
				for _, i := range list {
					if r.until(&r.moves[i]) > due {
						r.overdue = append(r.overdue, i)
					}
				}
			}
		}
		for len(r.overdue) > 0 {
			j := r.rng.Below(len(r.overdue))
			i := r.overdue[j]
			if m := &r.moves[i]; m.at >= 0 && r.until(m) > r.sideOf(m.tree).due {
				return i
			}
			r.overdue[j] = r.overdue[len(r.overdue)-1]
			r.overdue = r.overdue[:len(r.overdue)-1]
		}
	}
	for {
		if list := r.of[r.rng.Below(len(r.of))]; len(list) > 0 {
			return list[r.rng.Below(len(list))]
		}
	}
}

// Late moves are looked up again when 1/perLookup of all moves were taken.
const perLookup = 256

// cut takes out a move, or one that it depends on.
func (r *repair) cut(i int32) {
	for r.rng.Below(2) != 0 {
		j := *r.slot(r.src(i), r.moves[i].tree)
		if j < 0 {
			break
		}
		i = j
	}
	r.take(i)
}

// take takes out a move and all that its tree has grown by from there.
func (r *repair) take(i int32) {
	t := r.moves[i].tree
	if !slices.Contains(r.touched, t) {
		r.touched = append(r.touched, t)
	}
	todo := []int32{i}
	for len(todo) > 0 {
		i := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		v := r.dst(i)
		for _, j := range r.of[t] {
			if j != i && r.src(j) == v {
				todo = append(todo, j)
			}
		}
		r.removed = append(r.removed, r.moves[i])
		r.remove(i)
	}
}

// grow leads a tree to all ranks that want it and do not have it: each time to the one that
// can have it first (Dijkstra's algorithm, over what links and ports are free for). It
// returns false if a rank cannot be reached.
func (r *repair) grow(t int32) bool {
	left := 0
	r.stamp++
	mark := r.stamp
	want := func(v int32) {
		if *r.slot(v, t) == absent && r.wanted[v] != mark {
			r.wanted[v] = mark
			left++
		}
	}
	if r.to == nil {
		for v := range r.label {
			want(int32(v))
		}
	} else {
		for _, v := range r.to[t] {
			want(v)
		}
	}
	for tries := 0; left > 0; tries++ {
		if tries > 4*len(r.label) {
			return false
		}
		found, stale := r.search(t, mark, left)
		left -= found
		if found == 0 && !stale && left > 0 {
			return false
		}
	}
	return true
}

// search looks for the ranks that want a tree, those with the mark, from all that it leads to,
// and leads it to those it finds. It stops when something that it has found is not free any
// more, having been taken by what it has added since.
func (r *repair) search(t, mark int32, left int) (found int, stale bool) {
	class, s := r.class(t), r.sideOf(t)
	r.stamp++
	r.queue = r.queue[:0]
	reach := func(v int32, at, start model.Time, hop int32) {
		r.label[v] = label{stamp: r.stamp, hop: hop, at: at, start: start}
		r.queue.Add(events.Event{At: at, Tie: uint32(r.rng.Next()), ID: v})
	}
	for _, v := range r.from[t] {
		reach(v, r.has(v, t), 0, -1)
	}
	for _, i := range r.of[t] {
		reach(r.dst(i), r.until(&r.moves[i]), 0, -1)
	}
	for len(r.queue) > 0 {
		q := r.queue.Take()
		u := &r.label[q.ID]
		if u.settled || q.At > u.at {
			continue
		}
		u.settled = true
		if r.wanted[q.ID] == mark && u.hop >= 0 {
			if !r.lead(t, q.ID) {
				return found, true
			}
			if found++; found == left {
				return found, false
			}
		}
		for _, l := range s.out[q.ID] {
			_, v := r.ends(t, l)
			known := &r.label[v]
			fresh := known.stamp != r.stamp
			if !fresh && (known.settled || known.hop < 0) || r.rng.Next()%overlooked == 0 {
				continue
			}
			lasts := r.n.Lasts(&r.n.Hops[l], class)
			if !fresh && q.At+lasts >= known.at {
				continue
			}
			start := r.opens(t, l, q.At)
			for r.forks(t, q.ID, start) {
				start = r.opens(t, l, start+1)
			}
			if fresh || start+lasts < known.at {
				reach(v, start+lasts, start, l)
			}
		}
	}
	return found, false
}

// forks reports whether a tree that reduces would grow a second time at one time from a rank
// outside the group: the first of two transfers to there that end together is not told.
func (r *repair) forks(t, src int32, start model.Time) bool {
	return r.outside != nil && r.outside[src] && r.sideOf(t).reduces && slices.ContainsFunc(r.of[t], func(i int32) bool {
		return r.begins(&r.moves[i]) == start && r.src(i) == src
	})
}

// overlooked is of how many hops one is left out, for a change.
const overlooked = 64

// lead adds the moves that lead a tree to a rank as the last search has found. It returns
// false if one of them cannot begin any more when it should.
func (r *repair) lead(t, v int32) bool {
	var path []int32
	for u := v; r.label[u].hop >= 0; u, _ = r.ends(t, r.label[u].hop) {
		path = append(path, u)
	}
	if !r.n.Private || r.outside != nil {
		for _, u := range path {
			x := &r.label[u]
			if src, _ := r.ends(t, x.hop); r.opens(t, x.hop, x.start) != x.start || r.forks(t, src, x.start) {
				return false
			}
		}
	}
	for i := len(path) - 1; i >= 0; i-- {
		x := &r.label[path[i]]
		r.added = append(r.added, r.add(r.movement(t, x.hop, x.start)))
		x.hop = -1
	}
	return true
}

// trim takes out the moves of a tree to ranks that do not want it and from which it does not
// grow.
func (r *repair) trim(t int32) {
	if r.to == nil {
		return
	}
	for again := true; again; {
		again = false
		r.work += len(r.of[t]) / 8
		for j := len(r.of[t]) - 1; j >= 0; j-- {
			i := r.of[t][j]
			v := r.dst(i)
			if r.wants[int(t)*len(r.label)+int(v)] || slices.ContainsFunc(r.of[t], func(h int32) bool { return r.src(h) == v }) {
				continue
			}
			if at := slices.Index(r.added, i); at >= 0 {
				r.added = slices.Delete(r.added, at, at+1)
			} else {
				r.removed = append(r.removed, r.moves[i])
			}
			r.remove(i)
			again = true
			break
		}
	}
}

// undo brings back what there was at the last mark.
func (r *repair) undo() {
	for _, i := range r.added {
		r.remove(i)
	}
	for _, x := range r.moved {
		r.plant(x)
	}
	for _, m := range r.removed {
		r.add(m)
	}
}

// mark has undo come back to here.
func (r *repair) mark() {
	r.removed, r.added, r.touched, r.moved = r.removed[:0], r.added[:0], r.touched[:0], r.moved[:0]
}
