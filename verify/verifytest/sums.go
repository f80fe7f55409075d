package verifytest

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/oraccl/oraccl/model"
)

// DrawSums returns a problem on a small network of switches that add, and a schedule of sums
// and multicasts that SPEC 4.3 accepts: 2 to 4 ranks at one or two switches that ranks read
// sums at, at one that turns sums round, or at the two leaves of a tree of such. ok is false
// where it comes to none.
func DrawSums(r *rand.Rand) (p *model.Problem, s *model.Schedule, ok bool) {
	t, tree := drawAdding(r)
	kinds := []model.Kind{model.AllReduce, model.AllReduce, model.Reduce, model.ReduceScatter, model.AllGather, model.Broadcast}
	p = &model.Problem{Topology: t, Cost: model.CostModel(1 + r.IntN(4)), Collective: model.Collective{Kind: kinds[r.IntN(len(kinds))], Op: model.Operator(r.IntN(4)), DType: model.DType(r.IntN(int(model.Uint64) + 1))}}
	p.Collective.Root = r.IntN(t.Ranks) * b2root(p.Collective.Kind)
	p.Size = int64(t.Ranks) * int64(1+r.IntN(3))
	p.Release = DrawRelease(r, t.Ranks)
	DrawChunks(r, p, 2)
	x := &executor{p: p, s: &model.Schedule{Form: model.FormFor(p.Cost)}}
	for k := range p.Chunks {
		after := model.Time(0)
		for _, moves := range sumsOf(r, p, tree, k) {
			if after, ok = x.placeStream(r, k, moves, after); !ok {
				return nil, nil, false
			}
		}
	}
	return p, x.s, true
}

func b2root(k model.Kind) int {
	if k.Rooted() {
		return 1
	}
	return 0
}

// drawAdding returns a network, and whether it is a tree: links 2r and 2r+1 lead from rank r
// to the last switch beneath it and back, those behind them from leaves to the root and back.
func drawAdding(r *rand.Rand) (t *model.Topology, tree bool) {
	t = &model.Topology{Name: "adding", Ranks: 2 + r.IntN(3)}
	how, planes := model.SumsRead, 1+r.IntN(2)
	if r.IntN(2) == 0 {
		how, planes = model.SumsTurned, 1
	}
	tree = how == model.SumsTurned && r.IntN(2) == 0
	sums := r.IntN(3)
	for i := range planes {
		t.Switches = append(t.Switches, model.Switch{Name: fmt.Sprintf("s%d", i), Copies: r.IntN(8) > 0, Reduces: how, Sums: sums})
	}
	if r.IntN(6) == 0 {
		t.Switches[0].Operations = model.Operators(1 + r.IntN(15))
	}
	if s := &t.Switches[0]; r.IntN(4) == 0 {
		for op := range s.Types {
			if s.Operations == 0 || s.Operations>>op&1 == 1 {
				s.Types[op] = model.DTypes(r.IntN(1<<15) &^ 1)
			}
		}
	}
	up, down := model.Time(r.IntN(3)), model.Time(r.IntN(3))
	slow := -1
	if !tree && r.IntN(3) == 0 {
		slow = r.IntN(t.Ranks)
	}
	duplex := func(u, v int, b int64) {
		t.Links = append(t.Links, model.Link{Src: u, Dst: v, Alpha: up, Bandwidth: b}, model.Link{Src: v, Dst: u, Alpha: down, Bandwidth: b})
	}
	if tree {
		t.Switches = append(t.Switches, t.Switches[0], t.Switches[0])
		t.Switches[1].Name, t.Switches[2].Name = "s1", "root"
		for v := range t.Ranks {
			duplex(v, t.Ranks+v%2, 1e12)
		}
		duplex(t.Ranks, t.Ranks+2, 1e12)
		duplex(t.Ranks+1, t.Ranks+2, 1e12)
		return t, true
	}
	for i := range planes {
		for v := range t.Ranks {
			b := int64(1e12)
			if v == slow {
				b = 5e11
			}
			duplex(v, t.Ranks+i, b)
		}
	}
	return t, false
}

// sumsOf returns what moves a chunk: streams, one after the other.
func sumsOf(r *rand.Rand, p *model.Problem, tree bool, k int) (all [][]move) {
	t := p.Topology
	plane := 0
	if !tree {
		plane = r.IntN(len(t.Switches))
	}
	overTop := tree && r.IntN(3) > 0
	over := func(src, dst int) []int {
		up, down := 2*(plane*t.Ranks+src), 2*(plane*t.Ranks+dst)+1
		if tree && (overTop || src%2 != dst%2) {
			return []int{up, 2*t.Ranks + 2*(src%2), 2*t.Ranks + 2*(dst%2) + 1, down}
		}
		return []int{up, down}
	}
	owner := p.Collective.Root
	if p.Collective.Kind == model.ReduceScatter || p.Collective.Kind == model.AllGather {
		owner = p.Shard(k)
	} else if p.Collective.Kind == model.AllReduce {
		owner = r.IntN(t.Ranks)
	}
	from := func(src int, dsts []int, op model.Op) (list []move) {
		for _, dst := range dsts {
			if src != dst {
				list = append(list, move{k, src, dst, op, over(src, dst)})
			}
		}
		return list
	}
	everybody := make([]int, t.Ranks)
	for v := range everybody {
		everybody[v] = v
	}
	if p.Collective.Kind == model.AllReduce && t.Switches[0].Reduces == model.SumsTurned && r.IntN(3) > 0 {
		var list []move
		for v := range t.Ranks {
			list = append(list, from(v, everybody, model.Reduction)...)
		}
		return [][]move{list}
	}
	if p.Collective.Kind.Reduces() {
		var list []move
		for v := range t.Ranks {
			list = append(list, from(v, []int{owner}, model.Reduction)...)
		}
		all = append(all, parted(r, list)...)
	}
	if p.Collective.Kind != model.Reduce && p.Collective.Kind != model.ReduceScatter {
		all = append(all, parted(r, from(owner, everybody, model.Copy))...)
	}
	return all
}

// parted returns moves together, or now and then in two sets or one by one.
func parted(r *rand.Rand, list []move) [][]move {
	switch n := r.IntN(6); {
	case n == 0 && len(list) > 1:
		at := 1 + r.IntN(len(list)-1)
		return [][]move{list[:at], list[at:]}
	case n == 1:
		var all [][]move
		for i := range list {
			all = append(all, list[i:i+1])
		}
		return all
	}
	return [][]move{list}
}

// placeStream adds moves as one stream at the earliest time from after on, or a little later,
// at which the network allows it, or returns false if it never does. It returns its end.
func (x *executor) placeStream(r *rand.Rand, k int, moves []move, after model.Time) (model.Time, bool) {
	start := after
	var lasts []model.Time
	longest := model.Time(1)
	one := !slices.ContainsFunc(moves, func(m move) bool { return m.src != moves[0].src })
	before := len(x.s.Transfers)
	for _, m := range moves {
		w := passes(x.p, m.src, m.links, x.p.Chunks[k].Size)
		if x.s.Form == model.InRounds {
			w.duration = 1
		}
		lasts, longest = append(lasts, w.duration), max(longest, w.duration)
		x.s.Transfers = append(x.s.Transfers, model.Transfer{Chunk: int32(k), Src: int32(m.src), Dst: int32(m.dst), Op: m.op, Route: int32(len(x.s.Routes))})
		x.s.Routes = append(x.s.Routes, m.links)
		x.ways = append(x.ways, w)
		if x.s.Form == model.Timed {
			start = max(start, x.release(m.src), x.release(m.dst))
		}
	}
	if r.IntN(5) == 0 {
		start += model.Time(r.IntN(3))
	}
	for ; start < horizon; start++ {
		end := start
		for i := range moves {
			t := &x.s.Transfers[before+i]
			t.Start = start
			if !one {
				t.Start = start + longest - lasts[i]
			}
			t.End = t.Start + lasts[i]
			if wait := r.IntN(4); wait < 3 && x.s.Form == model.Timed && x.mayWait(before+i) {
				if one {
					t.End += model.Time(wait)
				} else {
					t.Start = max(start, t.Start-model.Time(wait))
				}
			}
			end = max(end, t.End)
		}
		x.f = &Findings{Network: Codes{}}
		if x.capacity(); len(x.f.Network) == 0 {
			return end, true
		}
	}
	return 0, false
}

// DrawMachines returns a small network of one to three machines of one to three ranks, at one or
// two switches in each, at which they read sums or which only forward, and the network between
// them: a switch, which may turn sums round, or copy, one for the ranks of equal number, or these
// and one above them. Some ranks may be at no other machine's network.
func DrawMachines(r *rand.Rand) *model.Topology {
	machines, size, planes := 1+r.IntN(3), 1+r.IntN(3), 1+r.IntN(2)
	t := &model.Topology{Name: "machines", Ranks: machines * size}
	alpha := func() model.Time { return model.Time(r.IntN(3)) }
	duplex := func(u, v int, up, down model.Time, b int64) {
		t.Links = append(t.Links, model.Link{Src: u, Dst: v, Alpha: up, Bandwidth: b}, model.Link{Src: v, Dst: u, Alpha: down, Bandwidth: b})
	}
	add := func(s model.Switch) int {
		t.Switches = append(t.Switches, s)
		return t.Ranks + len(t.Switches) - 1
	}
	up, down := alpha(), alpha()
	copies, within := r.IntN(12) > 0, model.SumsRead
	if r.IntN(4) == 0 {
		within = model.NoReducing
	}
	for g := range machines {
		for range planes {
			if size == 1 && r.IntN(2) == 0 {
				continue
			}
			v := add(model.Switch{Copies: copies, Reduces: within})
			for i := range size {
				duplex(g*size+i, v, up, down, 1e12)
			}
		}
	}
	if machines == 1 {
		return t
	}
	s := model.Switch{Copies: true, Reduces: []model.Reducing{model.NoReducing, model.SumsTurned, model.SumsTurned}[r.IntN(3)]}
	s.Copies = s.Reduces == model.SumsTurned || r.IntN(2) == 0
	if s.Reduces == model.SumsTurned && r.IntN(4) == 0 {
		s.Sums, s.Operations = 1+r.IntN(4), model.Operators(r.IntN(16))
	}
	up, down = alpha(), alpha()
	b := []int64{1e12, 5e11, 25e10}[r.IntN(3)]
	if r.IntN(2) == 0 {
		v := add(s)
		for u := range t.Ranks {
			duplex(u, v, up, down, b)
		}
		return t
	}
	var rails []int
	for i := range size {
		v := add(s)
		for g := range machines {
			duplex(g*size+i, v, up, down, b)
		}
		rails = append(rails, v)
	}
	if size == 1 || r.IntN(2) == 0 {
		spine := add(s)
		for _, v := range rails {
			duplex(v, spine, up, down, b*int64(machines))
		}
	}
	return t
}

// drawReducing makes switches of t add. The links of one that ranks read sums at become what
// such a switch must have.
func drawReducing(r *rand.Rand, t *model.Topology) {
	for i := range t.Switches {
		s, v := &t.Switches[i], t.Ranks+i
		if r.IntN(3) == 0 {
			continue
		}
		s.Reduces, s.Copies = model.SumsTurned, s.Copies || r.IntN(3) > 0
		if r.IntN(4) == 0 {
			s.Sums = 1
		}
		if r.IntN(4) == 0 {
			s.Operations = model.Operators(1 + r.IntN(15))
		}
		if r.IntN(2) == 0 {
			continue
		}
		s.Reduces = model.SumsRead
		t.Links = slices.DeleteFunc(t.Links, func(l model.Link) bool {
			return l.Src == v && l.Dst < t.Ranks || l.Dst == v && l.Src < t.Ranks
		})
		up, down := model.Time(r.IntN(3)), model.Time(r.IntN(3))
		for u := range t.Ranks {
			if r.IntN(5) == 0 {
				continue
			}
			b := []int64{1e12, 1e12, 1e12, 5e11}[r.IntN(4)]
			t.Links = append(t.Links, model.Link{Src: u, Dst: v, Alpha: up, Bandwidth: b}, model.Link{Src: v, Dst: u, Alpha: down, Bandwidth: b})
		}
	}
}
