package quotient

import "github.com/oraccl/oraccl/model"

// parent is a rank, and the step from it or, of a sum, to it.
type parent struct{ rank, step int32 }

// parents returns, by operation and rank, whence copies can come and where sums can go.
func (s *shop) parents() (list [2][][]parent) {
	for op := range list {
		list[op] = make([][]parent, s.t.Ranks)
	}
	for u := range s.t.Ranks {
		by := s.g.Nodes(int(s.element[u]))
		for i, st := range s.out[s.class[u]] {
			v := by[st.to]
			list[model.Copy][v] = append(list[model.Copy][v], parent{int32(u), int32(i)})
			list[model.Reduction][u] = append(list[model.Reduction][u], parent{v, int32(i)})
		}
	}
	return list
}

// child returns the rank to which a copy brings a part, or from which a sum takes it.
func (j *job) child() int32 {
	if j.op == model.Reduction {
		return j.src
	}
	return j.dst
}

// over returns the job with another parent.
func (j *job) over(p parent) job {
	k := *j
	if k.step = p.step; k.op == model.Reduction {
		k.dst = p.rank
	} else {
		k.src = p.rank
	}
	return k
}

// key returns the place of a part and a rank in lists of both.
func (x *plan) key(part, rank int32) int { return int(part)*x.s.t.Ranks + int(rank) }

// loads are for how long each lane of each machine is busy.
type loads []model.Time

// loads returns those of a plan.
func (s *shop) loads(x *plan) loads {
	list := make(loads, len(s.lanes))
	for i := range x.jobs {
		list.add(x, &x.jobs[i], 1)
	}
	return list
}

// add adds a job of a plan, as often as sign says.
func (l loads) add(x *plan, j *job, sign model.Time) {
	w := x.s.step(j).way
	tm := x.s.at(w, &x.parts[j.part])
	for i, v := range x.s.ways[w].visits {
		l[v.machine] += sign * (tm.spans[i].To - tm.spans[i].From) * model.Time(v.lanes) / model.Time(x.s.lanes[v.machine])
	}
}

// busiest returns the greatest load of a machine on a way.
func (l loads) busiest(s *shop, w int32) (most model.Time) {
	for _, v := range s.ways[w].visits {
		most = max(most, l[v.machine])
	}
	return most
}

// take enters a job of a plan into the books of its machines, and reports whether there was room.
func (x *plan) take(busy []book, j *job) bool {
	w := x.s.step(j).way
	tm, room := x.s.at(w, &x.parts[j.part]), true
	for i, v := range x.s.ways[w].visits {
		room = busy[v.machine].take(v.lanes, model.Interval{From: j.start + tm.spans[i].From, To: j.start + tm.spans[i].To}) && room
	}
	return room
}

// cancel takes a job of a plan out of the books.
func (x *plan) cancel(busy []book, j *job) {
	w := x.s.step(j).way
	tm := x.s.at(w, &x.parts[j.part])
	for i, v := range x.s.ways[w].visits {
		busy[v.machine].cancel(v.lanes, model.Interval{From: j.start + tm.spans[i].From, To: j.start + tm.spans[i].To})
	}
}
