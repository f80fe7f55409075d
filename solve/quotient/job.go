package quotient

import (
	"slices"

	"github.com/oraccl/oraccl/model"
)

// job is a hop of a part, and of its images with it.
type job struct {
	part     int32
	src, dst int32
	step     int32 // of those that leave the first rank of src's orbit
	op       model.Op
	start    model.Time
	end      model.Time
}

// plan is a schedule of the shop.
type plan struct {
	s     *shop
	parts []part
	jobs  []job
	end   model.Time
}

// step returns the step that a job takes, as it leaves the first rank of its source's orbit.
func (s *shop) step(j *job) *step { return &s.out[s.class[j.src]][j.step] }

// emit writes the jobs of a plan, moved by every element of the group, as a schedule of p.
func (x *plan) emit(p *model.Problem) *model.Schedule {
	s := x.s
	sched := &model.Schedule{Form: model.FormFor(p.Cost)}
	type place struct{ orbit, step, element int32 }
	routes := map[place]int32{}
	total := 0
	for i := range x.jobs {
		for _, k := range x.parts[x.jobs[i].part].chunks {
			if k >= 0 {
				total++
			}
		}
	}
	sched.Transfers = make([]model.Transfer, 0, total)
	mutual := x.mutual()
	for i := range x.jobs {
		j := &x.jobs[i]
		st := s.step(j)
		pt := &x.parts[j.part]
		stride := s.at(st.way, pt).stride
		orbit := s.class[j.src]
		first := s.element[j.src] // the element that takes the step to this hop
		if s.g.Node(int(first), int(st.to)) != int(j.dst) {
			first = s.between(int(s.reps[orbit]), int(st.to), int(j.src), int(j.dst))
		}
		for e, k := range pt.chunks {
			if k < 0 {
				continue
			}
			src, dst := s.g.Node(e, int(j.src)), s.g.Node(e, int(j.dst))
			by := int32(s.g.Product(e, int(first))) // and this one to the hop's image
			at := place{orbit, j.step, by}
			id, known := routes[at]
			if !known {
				id = int32(len(sched.Routes))
				routes[at] = id
				route := make([]int, len(st.links))
				for n, l := range st.links {
					route[n] = s.g.Link(int(by), l)
				}
				sched.Routes = append(sched.Routes, route)
			}
			start := j.start
			if st.batch != nil {
				start += stride * model.Time(st.batch[by])
			}
			t := model.Transfer{Chunk: k, Src: int32(src), Dst: int32(dst), Route: id, Op: j.op, Start: start, End: start + 1}
			if !p.Cost.Synchronous() {
				t.End = start + s.t.Duration(sched.Routes[id], p.Chunks[k].Size)
			}
			if mutual[i] >= 0 {
				t.Op = x.exchanged(j, &x.jobs[mutual[i]], p, p.Chunks[k].Size)
			}
			sched.Transfers = append(sched.Transfers, t)
		}
	}
	slices.SortStableFunc(sched.Transfers, func(a, b model.Transfer) int { return int(min(max(a.Start-b.Start, -1), 1)) })
	return sched
}

// between returns an element that takes u to v and x to y.
func (s *shop) between(u, x, v, y int) int32 {
	for e := range s.g.Order() {
		if s.g.Node(e, u) == v && s.g.Node(e, x) == y {
			return int32(e)
		}
	}
	panic("quotient: hops of one orbit that no element takes to each other")
}
