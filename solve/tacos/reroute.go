package tacos

import (
	"slices"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve/events"
)

// renew takes out some moves and brings what is missing then. It returns false if it cannot,
// or if there is nothing to take out; then undo is called for.
func (r *repair) renew(some int) bool {
	r.mark()
	if r.count == 0 {
		return false
	}
	r.ruin(some)
	for i := len(r.touched) - 1; i > 0; i-- {
		j := r.rng.Below(i + 1)
		r.touched[i], r.touched[j] = r.touched[j], r.touched[i]
	}
	for _, k := range r.touched {
		if !r.grow(k) {
			return false
		}
		r.trim(k)
	}
	return true
}

// ruin takes out a move that ends late, or any, and some others that keep busy what its
// chunk could come over.
func (r *repair) ruin(some int) {
	i := r.late()
	for {
		k, v := r.moves[i].chunk, r.n.Hops[r.moves[i].lane].Dst
		r.cut(i)
		if some--; some == 0 {
			return
		}
		if list := r.of[k]; len(list) > 0 && r.rng.Below(2) == 0 {
			v = r.n.Hops[r.moves[list[r.rng.Below(len(list))]].lane].Dst
		}
		if i = r.near(v); i < 0 {
			return
		}
	}
}

// near returns a move that keeps busy something of what a lane into a rank needs, or -1.
func (r *repair) near(v int32) int32 {
	first, count := r.n.Into[v], int(r.n.Into[v+1]-r.n.Into[v])
	for range 4 {
		if count == 0 {
			break
		}
		x := &r.n.Hops[first+int32(r.rng.Below(count))]
		u := &r.n.Uses[x.Uses+int32(r.rng.Below(int(x.UsesEnd-x.Uses)))]
		if busy := r.agenda[r.n.Choices[u.Choice+int32(r.rng.Below(int(u.ChoiceEnd-u.Choice)))]]; len(busy) > 0 {
			return busy[r.rng.Below(len(busy))].move
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
			for _, list := range r.of {
				for _, i := range list {
					if r.moves[i].end > r.due {
						r.overdue = append(r.overdue, i)
					}
				}
			}
		}
		for len(r.overdue) > 0 {
			j := r.rng.Below(len(r.overdue))
			i := r.overdue[j]
			if m := &r.moves[i]; m.at >= 0 && m.end > r.due {
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

// perLookup says how often late moves are taken before they are looked up again: once for
// so many moves.
const perLookup = 256

// cut takes out a move, or one that it depends on.
func (r *repair) cut(i int32) {
	for r.rng.Below(2) != 0 {
		j := *r.slot(r.n.Hops[r.moves[i].lane].Src, r.moves[i].chunk)
		if j < 0 {
			break
		}
		i = j
	}
	r.take(i)
}

// take takes out a move and all that depend on it.
func (r *repair) take(i int32) {
	k := r.moves[i].chunk
	if !slices.Contains(r.touched, k) {
		r.touched = append(r.touched, k)
	}
	todo := []int32{i}
	for len(todo) > 0 {
		i := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		v := r.n.Hops[r.moves[i].lane].Dst
		for _, j := range r.of[k] {
			if j != i && r.n.Hops[r.moves[j].lane].Src == v {
				todo = append(todo, j)
			}
		}
		r.removed = append(r.removed, r.moves[i])
		r.remove(i)
	}
}

// grow brings a chunk to all ranks that want it and do not get it: each time to the one that
// can have it first (Dijkstra's algorithm, over what links and ports are free for). It
// returns false if a rank cannot be reached.
func (r *repair) grow(k int32) bool {
	left := 0
	r.stamp++
	mark := r.stamp
	want := func(v int32) {
		if *r.slot(v, k) == absent && r.wanted[v] != mark {
			r.wanted[v] = mark
			left++
		}
	}
	if r.pt.To == nil {
		for v := range r.out {
			want(int32(v))
		}
	} else {
		for _, v := range r.pt.To[k] {
			want(v)
		}
	}
	for tries := 0; left > 0; tries++ {
		if tries > 4*len(r.out) {
			return false
		}
		found, stale := r.search(k, mark, left)
		left -= found
		if found == 0 && !stale && left > 0 {
			return false
		}
	}
	return true
}

// search looks for the ranks that want a chunk, those with the mark, from all that hold it,
// and sends it to those it finds. It stops when something that it has found is not free any
// more, having been taken by what it has sent since.
func (r *repair) search(k, mark int32, left int) (found int, stale bool) {
	class := r.n.Class[k]
	r.stamp++
	r.queue = r.queue[:0]
	reach := func(v int32, at, start model.Time, lane int32) {
		r.label[v] = label{stamp: r.stamp, lane: lane, at: at, start: start}
		r.queue.Add(events.Event{At: at, Tie: uint32(r.rng.Next()), ID: v})
	}
	for _, v := range r.pt.From[k] {
		reach(v, r.has(v, k), 0, -1)
	}
	for _, i := range r.of[k] {
		reach(r.n.Hops[r.moves[i].lane].Dst, r.moves[i].end, 0, -1)
	}
	for len(r.queue) > 0 {
		q := r.queue.Take()
		u := &r.label[q.ID]
		if u.settled || q.At > u.at {
			continue
		}
		u.settled = true
		if r.wanted[q.ID] == mark && u.lane >= 0 {
			if !r.send(k, q.ID) {
				return found, true
			}
			if found++; found == left {
				return found, false
			}
		}
		for _, l := range r.out[q.ID] {
			v := r.n.Hops[l].Dst
			known := &r.label[v]
			fresh := known.stamp != r.stamp
			if !fresh && (known.settled || known.lane < 0) || r.rng.Next()%blink == 0 {
				continue
			}
			x := &r.n.Hops[l]
			lasts := r.n.Lasts(x, class)
			if !fresh && q.At+lasts >= known.at {
				continue
			}
			start := r.opens(l, class, q.At)
			for r.forks(q.ID, k, start) {
				start = r.opens(l, class, start+1)
			}
			if fresh || start+lasts < known.at {
				reach(v, start+lasts, start, l)
			}
		}
	}
	return found, false
}

// forks says whether a rank that must not do so would send a chunk a second time at one time.
func (r *repair) forks(src, k int32, start model.Time) bool {
	return r.once != nil && r.once[src] && slices.ContainsFunc(r.of[k], func(i int32) bool {
		return r.moves[i].start == start && r.n.Hops[r.moves[i].lane].Src == src
	})
}

// blink is of how many lanes one is overlooked, for a change.
const blink = 64

// send adds the moves that bring a chunk to a rank as the last search has found. It returns
// false if one of them cannot start any more when it should.
func (r *repair) send(k, v int32) bool {
	var path []int32
	for u := v; r.label[u].lane >= 0; u = r.n.Hops[r.label[u].lane].Src {
		path = append(path, u)
	}
	class := r.n.Class[k]
	if !r.n.Private || r.once != nil {
		for _, u := range path {
			if x := &r.label[u]; r.opens(x.lane, class, x.start) != x.start || r.forks(r.n.Hops[x.lane].Src, k, x.start) {
				return false
			}
		}
	}
	for i := len(path) - 1; i >= 0; i-- {
		x := &r.label[path[i]]
		r.added = append(r.added, r.add(move{chunk: k, lane: x.lane, start: x.start, end: x.at}))
		x.lane = -1
	}
	return true
}

// trim takes out the moves of a chunk to ranks that neither want it nor pass it on.
func (r *repair) trim(k int32) {
	if r.pt.To == nil {
		return
	}
	for again := true; again; {
		again = false
		r.work += len(r.of[k]) / 8
		for j := len(r.of[k]) - 1; j >= 0; j-- {
			i := r.of[k][j]
			v := r.n.Hops[r.moves[i].lane].Dst
			if slices.Contains(r.pt.To[k], v) || slices.ContainsFunc(r.of[k], func(h int32) bool { return r.n.Hops[r.moves[h].lane].Src == v }) {
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
	for _, m := range r.removed {
		r.add(m)
	}
}

// mark has undo come back to here.
func (r *repair) mark() { r.removed, r.added, r.touched = r.removed[:0], r.added[:0], r.touched[:0] }
