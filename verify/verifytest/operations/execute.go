package operations

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"

	"github.com/oraccl/oraccl/model"
	wl "github.com/oraccl/oraccl/model/workload"
)

// modulus is a prime below 2³¹, so that products fit.
const modulus = 1<<31 - 1

// matrix is a value of one byte: sums are entry by entry, products those of matrices.
type matrix [4]uint64

// hash makes a value of what is written.
func hash(of ...any) (m matrix) {
	for i := range m {
		h := fnv.New64a()
		fmt.Fprint(h, i, of)
		m[i] = binary.BigEndian.Uint64(h.Sum(nil)) % modulus
	}
	return m
}

// combine is what an operator makes of two values.
func combine(operator string, a, b matrix) (m matrix) {
	switch operator {
	case "", "sum":
		for i := range m {
			m[i] = (a[i] + b[i]) % modulus
		}
	case "product":
		m = matrix{(a[0]*b[0]%modulus + a[1]*b[2]%modulus) % modulus, (a[0]*b[1]%modulus + a[1]*b[3]%modulus) % modulus,
			(a[2]*b[0]%modulus + a[3]*b[2]%modulus) % modulus, (a[2]*b[1]%modulus + a[3]*b[3]%modulus) % modulus}
	default: // commutative, and not associative
		if slices.Compare(a[:], b[:]) > 0 {
			a, b = b, a
		}
		return hash(operator, a, b)
	}
	return m
}

func fold(operator string, of []matrix) matrix {
	x := of[0]
	for _, y := range of[1:] {
		x = combine(operator, x, y)
	}
	return x
}

// byteAt is a byte of a buffer on a rank.
type byteAt struct {
	rank   int
	buffer string
	at     int64
}

// memory holds all bytes; what has not been written is what it was.
type memory struct {
	seed  uint64
	bytes map[byteAt]matrix
}

func (m *memory) input(b byteAt) matrix { return hash(m.seed, b) }

func (m *memory) get(b byteAt) matrix {
	if x, ok := m.bytes[b]; ok {
		return x
	}
	return m.input(b)
}

func (m *memory) region(rank int, r wl.Region) (all []matrix) {
	for i := range r.Size {
		all = append(all, m.get(byteAt{rank, r.Buffer, r.Offset + i}))
	}
	return all
}

// value is what a goal wants of the byte d bytes after its first.
func (m *memory) value(w *wl.Workload, v *wl.Value, rank int, d int64) matrix {
	switch {
	case v.Input != nil:
		if v.Rank >= 0 {
			rank = v.Rank
		}
		return m.input(byteAt{rank, v.Input.Buffer, v.Input.Offset + d})
	case v.Function != "":
		var args [][]matrix
		for i := range v.Of {
			var arg []matrix
			for k := range v.Bytes[i] {
				arg = append(arg, m.value(w, &v.Of[i], rank, k))
			}
			args = append(args, arg)
		}
		return hash(v.Function, args, v.At+d)
	}
	var of []matrix
	for i := range v.Of {
		of = append(of, m.value(w, &v.Of[i], rank, d))
	}
	return fold(v.Operator, of)
}

// goals names a goal that does not hold, or "".
func (m *memory) goals(w *wl.Workload) string {
	for i := range w.Goal {
		g := &w.Goal[i]
		for _, v := range w.Members(g.Group) {
			for d := range g.Size {
				if m.get(byteAt{v, g.Buffer, g.Offset + d}) != m.value(w, &g.Value, v, d) {
					return fmt.Sprintf("goal %d at byte %d on rank %d", i, d, v)
				}
			}
		}
	}
	return ""
}

// computed is what a computation writes on a rank, region by region.
func computed(m *memory, op *wl.Op, rank int, args [][]matrix, own [][]matrix) (all [][]matrix) {
	at := int64(0)
	for k, a := range op.Writes {
		var out []matrix
		for i := range a.Size {
			x := matrix{}
			if op.Function != "" {
				x = hash(op.Function, args, at+i)
			} else {
				x = args[k][i]
			}
			if op.Operator != "" {
				x = combine(op.Operator, own[k][i], x)
			}
			out = append(out, x)
		}
		at += a.Size
		all = append(all, out)
	}
	return all
}

// slot is what a collective has of a byte of a chunk on a rank: who contributed, as tokens, and the
// value.
type slot struct {
	there        bool
	token, value matrix
	low, high    int // of the members
	touched      bool
}

// Execute runs a schedule of a workload that ends, and names the first thing that it finds wrong, or
// returns "". It looks at no other times than those of the schedule.
func Execute(s *wl.Schedule, seed uint64) string {
	w := s.Workload
	type run struct {
		*wl.Placement
		op          *wl.Op
		p           *model.Problem
		x           *model.Schedule
		members     []int
		first, last map[int]model.Time
		slots       map[[2]int][]slot // by rank and chunk
		touches     map[[2]int][2]model.Time
		carried     map[int][]slot
		args, own   map[int][][]matrix
	}
	var runs []*run
	end := model.Time(0)
	for i := range s.Placed {
		r := &run{Placement: &s.Placed[i], op: &w.Ops[s.Placed[i].Op], first: map[int]model.Time{}, last: map[int]model.Time{}, slots: map[[2]int][]slot{}, touches: map[[2]int][2]model.Time{},
			carried: map[int][]slot{}, args: map[int][][]matrix{}, own: map[int][][]matrix{}}
		r.members = w.Members(r.op.Group)
		for m, v := range r.members {
			r.first[v], r.last[v] = r.At, r.At
			if r.op.Kind == wl.Compute {
				r.first[v], r.last[v] = r.Starts[m], r.Starts[m]+w.DurationOn(r.Op, m)
				end = max(end, r.last[v])
			}
		}
		if r.Program >= 0 {
			r.p, r.x = w.Problem(r.Op), s.Programs[r.Program]
			seen := map[int]bool{}
			for _, t := range r.x.Transfers {
				from, to := r.At+t.Start, r.At+t.End
				end = max(end, to)
				for _, v := range []int{int(t.Src), int(t.Dst)} {
					if !seen[v] {
						seen[v], r.first[v], r.last[v] = true, from, to
					}
					r.first[v], r.last[v] = min(r.first[v], from), max(r.last[v], to)
					key := [2]int{v, int(t.Chunk)}
					span, ok := r.touches[key]
					if !ok {
						span = [2]model.Time{from, to}
					}
					r.touches[key] = [2]model.Time{min(span[0], from), max(span[1], to)}
				}
			}
		}
		for v, at := range r.first {
			if w.Release != nil && at < w.Release[v] {
				return fmt.Sprintf("%s begins on rank %d before its release", r.op.ID, v)
			}
		}
		runs = append(runs, r)
	}
	for _, e := range w.Edges {
		for _, to := range runs {
			for _, from := range runs {
				if to.Op != e.To || from.Op != e.From || from.Iteration+e.Height != to.Iteration {
					continue
				}
				for _, v := range to.members {
					for _, u := range from.members {
						if e.Scope == wl.ByAll && to.first[v] < from.last[u] || e.Scope == wl.ByRank && u == v && to.first[v] < from.last[v] {
							return fmt.Sprintf("%s begins on rank %d before %s has ended on rank %d", to.op.ID, v, from.op.ID, u)
						}
					}
				}
				for a, x := range from.touches {
					for b, y := range to.touches {
						c, d := from.op.Chunks[a[1]], to.op.Chunks[b[1]]
						meet := c.Offset+from.op.Buffer.Offset < d.Offset+d.Size+to.op.Buffer.Offset && d.Offset+to.op.Buffer.Offset < c.Offset+c.Size+from.op.Buffer.Offset
						if e.Scope == wl.ByChunk && a[0] == b[0] && slices.Contains(to.members, a[0]) && meet && y[0] < x[1] {
							return fmt.Sprintf("%s touches a chunk before %s has ended with it", to.op.ID, from.op.ID)
						}
					}
				}
			}
		}
	}
	m := &memory{seed, map[byteAt]matrix{}}
	bytes := func(r *run, rank, chunk int) (all []byteAt) {
		name, at := w.BufferOf(r.Op, rank)
		for i := range r.op.Chunks[chunk].Size {
			all = append(all, byteAt{rank, name, at + r.op.Chunks[chunk].Offset + i})
		}
		return all
	}
	touch := func(r *run, rank, chunk int) []slot {
		key := [2]int{rank, chunk}
		if r.slots[key] == nil {
			for i, b := range bytes(r, rank, chunk) {
				x := slot{token: hash("token", rank, i), value: m.get(b), low: slices.Index(r.members, rank), high: slices.Index(r.members, rank)}
				for v := range r.p.Start(chunk) {
					x.there = x.there || v == rank
				}
				r.slots[key] = append(r.slots[key], x)
			}
		}
		return r.slots[key]
	}
	for now := model.Time(0); now <= end; now++ {
		links := make([]int, len(w.Topology.Links))
		ranks := make([]int, w.Topology.Ranks)
		for _, r := range runs {
			for _, v := range r.members {
				if r.op.Kind == wl.Compute && r.first[v] <= now && now < r.last[v] {
					ranks[v]++
				}
			}
			if r.x == nil {
				continue
			}
			for _, t := range r.x.Transfers {
				route := r.x.Routes[t.Route]
				if len(route) != 1 || w.Topology.Links[route[0]].Src != int(t.Src) || w.Topology.Links[route[0]].Dst != int(t.Dst) {
					return "a route that is not the link"
				}
				l := w.Topology.Links[route[0]]
				busy := model.Time(0)
				for l.Bandwidth*int64(busy) < r.op.Chunks[t.Chunk].Size*int64(model.Second) {
					busy++
				}
				if t.End != t.Start+l.Alpha+busy {
					return "a duration"
				}
				if w.Cost == model.Blocking {
					busy += l.Alpha
				}
				if from := r.At + t.Start; from <= now && now < from+busy {
					links[route[0]]++
				}
			}
		}
		for l, n := range links {
			if n > 1 {
				return fmt.Sprintf("link %d at %v", l, now)
			}
		}
		for _, p := range w.Topology.Ports {
			n := 0
			for _, l := range p.Links {
				n += links[l]
			}
			if n > p.Capacity {
				return fmt.Sprintf("a port at %v", now)
			}
		}
		for v, n := range ranks {
			if n > 1 {
				return fmt.Sprintf("rank %d computes twice at %v", v, now)
			}
		}
		// What ends now is written; then what begins now reads.
		for _, r := range runs {
			for _, v := range r.members {
				if r.op.Kind == wl.Compute && r.last[v] == now {
					for k, out := range computed(m, r.op, v, r.args[v], r.own[v]) {
						for i, x := range out {
							m.bytes[byteAt{v, r.op.Writes[k].Buffer, r.op.Writes[k].Offset + int64(i)}] = x
						}
					}
				}
			}
			if r.x == nil {
				continue
			}
			for j, t := range r.x.Transfers {
				if r.At+t.End != now {
					continue
				}
				for i, x := range r.carried[j] {
					d := &touch(r, int(t.Dst), int(t.Chunk))[i]
					switch {
					case t.Op == model.Copy:
						d.there, d.token, d.value, d.low, d.high = true, x.token, x.value, x.low, x.high
					case !d.there:
						return "adds to nothing"
					case r.op.Operator == "product" && x.high+1 == d.low:
						d.token, d.value, d.low = combine("product", x.token, d.token), combine("product", x.value, d.value), x.low
					case r.op.Operator == "product" && x.low != d.high+1:
						return "no neighbours"
					default:
						d.token, d.value, d.high = combine(r.op.Operator, d.token, x.token), combine(r.op.Operator, d.value, x.value), max(d.high, x.high)
						d.low = min(d.low, x.low)
					}
					d.touched = true
				}
			}
			for key, span := range r.touches { // what is over here is in the buffer, if it is promised
				if span[1] != now || !slices.Contains(r.members, key[0]) {
					continue
				}
				promised := false
				for v := range r.p.Goal(key[1]) {
					promised = promised || v == key[0]
				}
				for i, b := range bytes(r, key[0], key[1]) {
					x := &r.slots[key][i]
					switch {
					case x.touched && promised:
						m.bytes[b] = x.value
					case x.touched:
						m.bytes[b] = hash("left", r.Op, r.Iteration, b)
					}
				}
			}
		}
		for _, r := range runs {
			for _, v := range r.members {
				if r.op.Kind == wl.Compute && r.first[v] == now {
					for _, a := range r.op.Reads {
						r.args[v] = append(r.args[v], m.region(v, a.Region))
					}
					for _, a := range r.op.Writes {
						r.own[v] = append(r.own[v], m.region(v, a.Region))
					}
				}
			}
			if r.x == nil {
				continue
			}
			for j, t := range r.x.Transfers {
				if r.At+t.Start == now {
					touch(r, int(t.Dst), int(t.Chunk))
					from := touch(r, int(t.Src), int(t.Chunk))
					if !from[0].there {
						return "sends nothing"
					}
					r.carried[j] = slices.Clone(from)
				}
			}
		}
	}
	for _, r := range runs {
		if r.p == nil {
			continue
		}
		for k := range r.op.Chunks {
			for v, want := range r.p.Goal(k) {
				var of []int
				for u := range want.Terms() {
					of = append(of, u)
				}
				slices.SortFunc(of, func(a, b int) int { return slices.Index(r.members, a) - slices.Index(r.members, b) })
				for i, x := range touch(r, v, k) {
					var tokens []matrix
					for _, u := range of {
						tokens = append(tokens, hash("token", u, i))
					}
					if !x.there || x.token != fold(r.op.Operator, tokens) {
						return fmt.Sprintf("%s leaves something else in chunk %d on rank %d", r.op.ID, k, v)
					}
				}
			}
		}
	}
	return m.goals(w)
}

// Retime runs the operations at random other times that keep the edges, each as what it promises, and
// names a goal that does not hold then, or returns "". Chunks wait as whole operations do.
func Retime(s *wl.Schedule, r *rand.Rand, seed uint64) string {
	w := s.Workload
	m := &memory{seed, map[byteAt]matrix{}}
	type point struct{ placed, rank int }
	began, ended := map[point]bool{}, map[point]bool{}
	reads := map[point][][]matrix{}
	own := map[point][][]matrix{}
	by := map[[2]int]int{}
	left := 0
	for i, p := range s.Placed {
		by[[2]int{p.Op, p.Iteration}] = i
		left += 2 * len(w.Members(w.Ops[p.Op].Group))
	}
	ready := func(i, v int) bool {
		for _, e := range w.Edges {
			from, there := by[[2]int{e.From, s.Placed[i].Iteration - e.Height}]
			if e.To != s.Placed[i].Op || !there {
				continue
			}
			for _, u := range w.Members(w.Ops[e.From].Group) {
				if (e.Scope == wl.ByAll || u == v) && !ended[point{from, u}] {
					return false
				}
			}
		}
		return true
	}
	for ; left > 0; left-- {
		var may []point
		for i, p := range s.Placed {
			members := w.Members(w.Ops[p.Op].Group)
			all := !slices.ContainsFunc(members, func(v int) bool { return !began[point{i, v}] })
			for _, v := range members {
				at := point{i, v}
				if !began[at] && ready(i, v) || began[at] && !ended[at] && (all || w.Ops[p.Op].Kind == wl.Compute) {
					may = append(may, at)
				}
			}
		}
		if len(may) == 0 {
			return "" // edges that wait for each other, in iterations that are not there
		}
		at := may[r.IntN(len(may))]
		op := &w.Ops[s.Placed[at.placed].Op]
		if !began[at] {
			began[at] = true
			if op.Kind == wl.Compute {
				for _, a := range op.Reads {
					reads[at] = append(reads[at], m.region(at.rank, a.Region))
				}
				for _, a := range op.Writes {
					own[at] = append(own[at], m.region(at.rank, a.Region))
				}
			} else {
				reads[at] = [][]matrix{m.region(at.rank, wl.Region{Buffer: op.Buffer.Buffer, Offset: op.Buffer.Offset, Size: op.Size})}
			}
			continue
		}
		ended[at] = true
		if op.Kind == wl.Compute {
			for k, out := range computed(m, op, at.rank, reads[at], own[at]) {
				for i, x := range out {
					m.bytes[byteAt{at.rank, op.Writes[k].Buffer, op.Writes[k].Offset + int64(i)}] = x
				}
			}
			continue
		}
		p := w.Problem(s.Placed[at.placed].Op)
		written := map[int]bool{}
		for _, t := range s.Programs[s.Placed[at.placed].Program].Transfers {
			if int(t.Dst) == at.rank {
				written[int(t.Chunk)] = true
			}
		}
		for k, c := range op.Chunks {
			if !written[k] {
				continue
			}
			for i := range c.Size {
				x := hash("left", at, c.Offset+i)
				for v, want := range p.Goal(k) {
					if v != at.rank {
						continue
					}
					var of []matrix
					for _, u := range p.Members() {
						for j := range want.Terms() {
							if j == u {
								of = append(of, reads[point{at.placed, u}][0][c.Offset+i])
							}
						}
					}
					x = fold(op.Operator, of)
				}
				m.bytes[byteAt{at.rank, op.Buffer.Buffer, op.Buffer.Offset + c.Offset + i}] = x
			}
		}
	}
	return m.goals(w)
}
