package quotient

import "github.com/oraccl/oraccl/model"

// reversed returns the shop of the network with its links turned round. Its machines are the
// same, and so is its group. The hop with number i that leaves an orbit there is twins[i] of
// that orbit here, turned round.
func (s *shop) reversed() (r *shop, twins [][]twin) {
	r = &shop{t: s.t.Reversed(), cost: s.cost, g: s.g, class: s.class, reps: s.reps, element: s.element, member: s.member, lanes: s.lanes, takers: s.takers, mutual: s.mutual}
	for i := range s.ways {
		x := s.ways[i]
		last := int32(len(x.links) - 1)
		y := way{links: turned(x.links), batches: x.batches, apart: x.apart}
		for _, v := range x.visits {
			y.visits = append(y.visits, visit{machine: v.machine, lanes: v.lanes, from: last - v.to, to: last - v.from})
		}
		r.ways = append(r.ways, y)
	}
	r.out, twins = make([][]step, len(s.reps)), make([][]twin, len(s.reps))
	back := make([]int32, s.t.Nodes())
	for c, list := range s.out {
		for i, st := range list {
			// from the first rank of the orbit of where it leads, back
			to := s.class[st.to]
			e := s.g.Nodes(int(s.element[st.to]))
			for v := range back {
				back[e[v]] = int32(v)
			}
			r.out[to] = append(r.out[to], step{to: back[s.reps[c]], way: st.way})
			twins[to] = append(twins[to], twin{int32(c), int32(i)})
		}
	}
	return r, twins
}

// twin is a step: of an orbit, the one with a number.
type twin struct{ orbit, step int32 }

func turned(links []int) []int {
	r := make([]int, len(links))
	for i, l := range links {
		r[len(links)-1-i] = l
	}
	return r
}

// inverse returns for each step on s the one on the shop reversed that it turns round.
func (s *shop) inverse(twins [][]twin) [][]twin {
	list := make([][]twin, len(s.out))
	for c := range s.out {
		list[c] = make([]twin, len(s.out[c]))
	}
	for c := range twins {
		for i, w := range twins[c] {
			list[w.orbit][w.step] = twin{int32(c), int32(i)}
		}
	}
	return list
}

// backward reads a plan on the shop reversed as one on s, in which parts are reduced that are gathered there, and gathered
// that are reduced: what starts last starts first.
func (s *shop) backward(x *plan, twins [][]twin) *plan {
	y := &plan{s: s, parts: x.parts, end: x.end}
	for i := len(x.jobs) - 1; i >= 0; i-- {
		j := x.jobs[i]
		w := twins[s.class[j.src]][j.step]
		op := model.Reduction
		if j.op == model.Reduction {
			op = model.Copy
		}
		y.jobs = append(y.jobs, job{part: j.part, src: j.dst, dst: j.src, step: w.step, op: op, start: x.end - j.end, end: x.end - j.start})
	}
	return y
}
