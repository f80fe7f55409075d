package assign

import (
	"slices"

	"github.com/oraccl/oraccl/model"
)

// The buffers of a rank, by index in model.Program.Buffers.
const (
	input = iota
	output
	scratch
)

// layout is where chunks lie on the ranks.
type layout struct {
	*cut
	p       *model.Problem
	n       int   // members
	member  []int // by rank; -1 for those that take no part
	inPlace bool  // never out of place
	both    bool
	in, out int // units of the buffers
	used    []int
}

func newLayout(p *model.Problem, o Options) (*layout, error) {
	if p.Collective.Kind == model.Custom {
		return nil, refuse("the collective is custom, want one of the eight standard ones")
	}
	if p.Collective.Op.Idempotent() && p.Collective.Reduces() {
		return nil, refuse("the operator is %v, and runtimes pick a schedule for sums as well; want one that is right for sums", p.Collective.Op)
	}
	if p.Collective.Kind == model.AllToAll && o.InPlace {
		return nil, refuse("an alltoall overwrites in place what it has yet to send, want it out of place")
	}
	if !o.InPlace && !o.OutOfPlace {
		return nil, refuse("neither in place nor out of place is asked for")
	}
	l := &layout{p: p, inPlace: !o.OutOfPlace, both: o.InPlace && o.OutOfPlace}
	members := p.Members()
	l.n = len(members)
	l.member = make([]int, p.Topology.Ranks)
	for r := range l.member {
		l.member[r] = -1
	}
	for i, r := range members {
		l.member[r] = i
	}
	most := o.Limits.Chunks
	switch p.Collective.Kind {
	case model.AllToAll, model.Gather, model.Scatter:
		most *= l.n
	}
	var err error
	if l.cut, err = newCut(p, most); err != nil {
		return nil, err
	}
	if l.most > o.Limits.Count {
		return nil, tooSmall("a chunk is %d units, and a step moves at most %d", l.most, o.Limits.Count)
	}
	l.in, l.out = l.total, l.total
	switch p.Collective.Kind {
	case model.AllGather, model.Gather:
		l.in = l.share
	case model.ReduceScatter, model.Scatter:
		l.out = l.share
	case model.AllToAll:
		l.in, l.out = l.total/l.n, l.total/l.n
	}
	if max(l.in, l.out) > o.Limits.Chunks {
		return nil, tooSmall("%d units a buffer, at most %d", max(l.in, l.out), o.Limits.Chunks)
	}
	l.used = make([]int, l.n)
	return l, nil
}

// within returns the shard of chunk c and where in it the chunk begins.
func (l *layout) within(c int) (shard, at int) {
	shard = l.start[c] / l.share
	return shard, l.start[c] - shard*l.share
}

// inputOf returns where chunk c lies in the input of a member that begins with it.
func (l *layout) inputOf(c int) int {
	shard, at := l.within(c)
	switch l.p.Collective.Kind {
	case model.AllGather, model.Gather:
		return at
	case model.AllToAll:
		return shard%l.n*l.share + at
	}
	return l.start[c]
}

// outputOf returns where chunk c lies in the output of a member that must end with it.
func (l *layout) outputOf(c int) int {
	shard, at := l.within(c)
	switch l.p.Collective.Kind {
	case model.ReduceScatter, model.Scatter:
		return at
	case model.AllToAll:
		return shard/l.n*l.share + at
	}
	return l.start[c]
}

// take returns a fresh place in the scratch of a member.
func (l *layout) take(member, units int) model.Ref {
	at := l.used[member]
	l.used[member] += units
	return model.Ref{Buffer: scratch, Offset: at}
}

// buffers returns the memory of a member: in place the smaller buffer is the
// member's share of the larger one.
func (l *layout) buffers(member int) (size int, b []model.Buffer) {
	in, out := model.Buffer{Name: "i", Cells: l.in}, model.Buffer{Name: "o", Cells: l.out}
	size = max(l.in, l.out)
	switch {
	case !l.inPlace:
		out.Base = l.in
		size = l.in + l.out
	case l.in < l.out:
		in.Base = member * l.in
	case l.in > l.out:
		out.Base = member * l.out
	}
	size += l.used[member]
	return size, []model.Buffer{in, out, {Name: "s", Base: size - l.used[member], Cells: l.used[member]}}
}

// state makes the program that has the memory and the conditions, and no processes.
func (l *layout) state() *model.Program {
	p := &model.Program{Kind: l.p.Collective.Kind, Ranks: l.n, Grain: 1, Inputs: l.in, Kept: make([][]bool, l.n)}
	for r := range l.n {
		size, b := l.buffers(r)
		p.Memory, p.Buffers = append(p.Memory, size), append(p.Buffers, b)
		none := slices.Repeat([]int32{-1}, size)
		p.Pre, p.Post = append(p.Pre, none), append(p.Post, slices.Clone(none))
		if !l.inPlace {
			p.Kept[r] = make([]bool, size)
			for c := range l.in {
				p.Kept[r][c] = true
			}
		}
	}
	for c := range l.start {
		at := l.inputOf(c)
		for rank := range l.p.Start(c) {
			r := l.member[rank]
			for j := range l.size[c] {
				p.Pre[r][p.Buffers[r][input].Base+at+j] = int32(r*l.in + at + j)
			}
		}
		var last model.Value
		for rank, v := range l.p.Goal(c) {
			if !model.Identical(last, v) {
				for j := range l.size[c] {
					var want []int32
					for from := range v.Terms() {
						want = append(want, int32(l.member[from]*l.in+at+j))
					}
					slices.Sort(want)
					p.Wants = append(p.Wants, want)
				}
				last = v
			}
			r := l.member[rank]
			for j := range l.size[c] {
				p.Post[r][p.Buffers[r][output].Base+l.outputOf(c)+j] = int32(len(p.Wants) - l.size[c] + j)
			}
		}
	}
	return p
}
