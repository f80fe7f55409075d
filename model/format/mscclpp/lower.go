package mscclpp

import (
	"fmt"
	"math"
	"slices"

	"github.com/oraccl/oraccl/model"
)

// maxRounds is how many iterations of pipelines are carried out at most to decide about a plan.
const maxRounds = 1 << 12

// maxOps is how many operations a plan has at most, iterations counted each.
const maxOps = 1 << 21

// sizes are the bytes of the buffers of the caller for a message.
type sizes struct{ in, out int64 }

// bytes returns the sizes of rank g's buffers for a message; which of the two the message is
// depends on the collective.
func (f *File) bytes(g int, message int64) sizes {
	n := int64(len(f.GPUs))
	switch f.Collective {
	case "allgather":
		return sizes{message / n, message}
	case "reducescatter":
		return sizes{message, message / n}
	case "allreduce", "alltoall", "sendrecv":
		return sizes{message, message}
	}
	x := &f.GPUs[g]
	switch {
	case x.Input == 0:
		return sizes{0, message}
	case x.Output == 0:
		return sizes{message, 0}
	}
	return sizes{message, message / int64(x.Input) * int64(x.Output)}
}

// position returns where chunk c of any buffer of a rank begins. S is what its N chunks are
// cut from; the formula is that of the parser.
func (g *GPU) position(size sizes, c int) int64 {
	s, n := size.in, g.Input
	if n == 0 {
		s, n = size.out, g.Output
	}
	if n == 0 {
		return 0
	}
	units := s / 16 / int64(g.Groups) // of a group
	k := max(1, int64(n/g.Groups))    // its chunks
	group, i := int64(c)/k, int64(c)%k
	return 16 * (group*units + i*(units/k) + min(i, units%k))
}

// lowering makes a model.Plan.
type lowering struct {
	f       *File
	p       *model.Plan
	gpu     int
	g       *GPU
	size    sizes
	buffers []map[byte]int // of each rank
	ends    map[[2]int]int // rank and channel, to the counter that its signals raise
	waits   map[[2]int]int // and to the one that its waits take from
	sems    []int          // first semaphore of each rank
	shift   int64          // of local scratch, in the second half
	ops     int
}

// at returns the plan as the executor carries it out for a message, in a launch that uses one
// half of scratch or the other.
func (f *File) at(message int64, half int) (*model.Plan, error) {
	l := &lowering{f: f, p: &model.Plan{Ranks: len(f.GPUs), Message: message}, ends: map[[2]int]int{}, waits: map[[2]int]int{}}
	l.pair()
	l.memory(message)
	for g := range f.GPUs {
		l.gpu, l.g, l.size = g, &f.GPUs[g], f.bytes(g, message)
		if half > 0 {
			l.shift = l.half(g, message)
		}
		for b := range l.g.Blocks {
			x := &l.g.Blocks[b]
			block := model.PlanBlock{Rank: g, ID: x.ID, Line: x.Line}
			for i := range x.Ops {
				if err := l.op(&block, &x.Ops[i], i); err != nil {
					return nil, err
				}
			}
			l.p.Blocks = append(l.p.Blocks, block)
		}
	}
	l.conditions(message)
	return l.p, nil
}

// pair connects the channels: the k-th of a type from r to q with the k-th from q to r.
func (l *lowering) pair() {
	type key struct {
		from, to int
		kind     Type
	}
	all := map[key][]int{}
	for r := range l.f.GPUs {
		for c, x := range l.f.GPUs[r].Channels {
			if x.Type == Memory || x.Type == Port {
				k := key{r, x.Peer, x.Type}
				all[k] = append(all[k], c)
			}
		}
	}
	number := map[Type]int{}
	for r := range l.f.GPUs {
		clear(number)
		for c, x := range l.f.GPUs[r].Channels {
			if x.Type != Memory && x.Type != Port {
				continue
			}
			k := slices.Index(all[key{r, x.Peer, x.Type}], c)
			other := all[key{x.Peer, r, x.Type}]
			counter := len(l.p.Counters)
			l.p.Counters = append(l.p.Counters, model.PlanCounter{Name: fmt.Sprintf("%v channel %d of gpu %d to gpu %d", x.Type, number[x.Type], r, x.Peer), From: r, To: x.Peer, Lost: k >= len(other)})
			number[x.Type]++
			l.ends[[2]int{r, c}] = counter
			if k < len(other) {
				l.waits[[2]int{x.Peer, other[k]}] = counter
			}
		}
		l.sems = append(l.sems, len(l.p.Semaphores))
		l.p.Semaphores = append(l.p.Semaphores, l.f.GPUs[r].Semaphores...)
	}
	for r := range l.f.GPUs {
		for c, x := range l.f.GPUs[r].Channels {
			if _, ok := l.waits[[2]int{r, c}]; !ok && (x.Type == Memory || x.Type == Port) {
				l.waits[[2]int{r, c}] = len(l.p.Counters)
				l.p.Counters = append(l.p.Counters, model.PlanCounter{Name: fmt.Sprintf("%v channel from gpu %d to gpu %d, which has no such end", x.Type, x.Peer, r), From: x.Peer, To: r, Lost: true})
			}
		}
	}
}

// scratch is how many bytes of payload the scratch of a rank has in one half.
func (l *lowering) scratch(g int, message int64) int64 {
	x := &l.f.GPUs[g]
	s, n := l.f.bytes(g, message).in, x.Input
	if n == 0 {
		s, n = l.f.bytes(g, message).out, x.Output
	}
	if n == 0 {
		return 0
	}
	return (s + int64(n) - 1) / int64(n) * int64(x.Scratch)
}

// half is where the second half of scratch begins, of raw data.
func (l *lowering) half(g int, message int64) int64 {
	s := l.scratch(g, message)
	if l.f.Protocol == "LL" {
		s *= 2
	}
	return s
}

// memory lays out the buffers.
func (l *lowering) memory(message int64) {
	f := l.f
	l.buffers = make([]map[byte]int, len(f.GPUs))
	space := 0
	for g := range f.GPUs {
		size := f.bytes(g, message)
		add := func(name byte, space int, base, bytes, packets int64, user bool) {
			if l.buffers[g] == nil {
				l.buffers[g] = map[byte]int{}
			}
			l.buffers[g][name] = len(l.p.Buffers)
			l.p.Buffers = append(l.p.Buffers, model.PlanBuffer{Rank: g, Name: string(name), Space: space, Base: base, Size: bytes, User: user, Packets: packets})
		}
		inBase, outBase, outSpace := int64(0), int64(0), space
		switch {
		case !f.InPlace || f.Collective == "sendrecv" || !slices.Contains(collectives, f.Collective):
			outSpace = space + 1
		case f.Collective == "allgather":
			inBase = int64(g) * size.in
		case f.Collective == "reducescatter":
			outBase = int64(g) * size.out
		}
		add('i', space, inBase, size.in, 0, true)
		add('o', outSpace, outBase, size.out, 0, true)
		s, packets := l.scratch(g, message), int64(0)
		if f.Protocol == "LL" {
			packets, s = s, 2*s
		}
		if f.Double {
			s, packets = 2*s, 2*packets
		}
		add('s', space+2, 0, s, packets, false)
		space += 3
	}
}

// Collectives returns the collectives whose meaning is known. Plans may name others.
func Collectives() []string { return slices.Clone(collectives) }

var collectives = []string{"allreduce", "allgather", "reducescatter", "alltoall", "sendrecv"}

// span returns the bytes of a reference, in one round of a pipeline of unit bytes (0: in none).
func (l *lowering) span(x Ref, packet bool, o *Op, round int, unit int64) model.PlanSpan {
	start := l.g.position(l.size, x.Index)
	size := l.g.position(l.size, x.Index+x.Size) - start
	if o.Parts > 1 {
		units := size / 16
		n, k := int64(o.Parts), int64(o.Part)
		start += 16 * (k*(units/n) + min(k, units%n))
		size = units / n
		if k < units%n {
			size++
		}
		size *= 16
	}
	if unit > 0 && !packet {
		from := int64(round) * unit
		if size >= from {
			size = min(unit, size-from)
		} else {
			size = unit // what is left is below zero, which is a large number to the kernel
		}
		start += from
	}
	s := model.PlanSpan{Start: start, Size: size, Packet: packet}
	if x.Rank >= 0 {
		s.Buffer = l.buffers[x.Rank][x.Buffer]
	}
	return s
}

// spans returns where a reference leads: of a switch to all ranks of its group.
func (l *lowering) spans(x Ref, packet bool, o *Op, round int, unit int64) []model.PlanSpan {
	s := l.span(x, packet, o, round, unit)
	if x.Rank >= 0 {
		if x.Buffer == 's' && l.shift > 0 && (!x.Remote || packet) {
			if s.Packet {
				s.Start += l.shift / 2
			} else {
				s.Start += l.shift
			}
		}
		return []model.PlanSpan{s}
	}
	c := &l.g.Channels[x.Channel]
	var all []model.PlanSpan
	for _, r := range c.Ranks {
		t := s
		t.Buffer = l.buffers[r][c.Buffer]
		if c.Buffer == 's' && l.shift > 0 && packet {
			t.Start += l.shift / 2
		}
		all = append(all, t)
	}
	return all
}

// op adds an operation, of a pipeline all that it does.
func (l *lowering) op(b *model.PlanBlock, o *Op, label int) error {
	if o.Name != "pipeline" {
		return l.one(b, o, o, label, 0, 0, 0)
	}
	rounds := l.rounds(o)
	if rounds > maxRounds {
		return fmt.Errorf("a pipeline of %d iterations: %w, want at most %d", rounds, model.ErrTooLarge, maxRounds)
	}
	for i := range int(rounds) {
		for j := range o.Ops {
			if err := l.one(b, &o.Ops[j], o, label, j+1, i, o.Unit); err != nil {
				return err
			}
		}
	}
	return nil
}

// rounds is how many iterations a pipeline has.
func (l *lowering) rounds(o *Op) int64 {
	bytes := l.g.position(l.size, o.Chunks)
	return (bytes + o.Unit - 1) / o.Unit
}

func (l *lowering) one(b *model.PlanBlock, o, outer *Op, label, inner, round int, unit int64) (err error) {
	if l.ops++; l.ops > maxOps {
		return fmt.Errorf("more than %d operations: %w", maxOps, model.ErrTooLarge)
	}
	add := func(x model.PlanOp) {
		x.Name, x.Label, x.Inner, x.Round, x.Line = o.As, label, inner, round, o.Line
		b.Ops = append(b.Ops, x)
	}
	before := len(b.Ops)
	defer func() {
		for i := before; i < len(b.Ops) && err == nil && unit == 0; i++ {
			for _, m := range b.Ops[i].Moves {
				for _, s := range slices.Concat(m.Srcs, m.Dsts) {
					if s.Size != m.Bytes() {
						err = fmt.Errorf("line %d: chunks of %d and %d bytes: %w", o.Line, m.Bytes(), s.Size, model.ErrNotDivided)
					}
				}
			}
		}
	}()
	at := func(x Ref, packet bool) []model.PlanSpan { return l.spans(x, packet, o, round, unit) }
	counters := func(of map[[2]int]int) []int {
		var ids []int
		for _, c := range o.Channels {
			if id, ok := of[[2]int{l.gpu, c}]; ok {
				ids = append(ids, id)
			}
		}
		return ids
	}
	raw := func(srcs, dsts []model.PlanSpan) model.PlanMove {
		return model.PlanMove{Srcs: srcs, Dsts: dsts, Grain: 16}
	}
	packets := func(srcs, dsts []model.PlanSpan) model.PlanMove {
		return model.PlanMove{Srcs: srcs, Dsts: dsts, Grain: 8}
	}
	all := func(refs []Ref, first, rest bool) []model.PlanSpan {
		var s []model.PlanSpan
		for k, x := range refs {
			s = append(s, at(x, k == 0 && first || k > 0 && rest)...)
		}
		return s
	}
	switch o.Name {
	case "nop":
		add(model.PlanOp{Verb: model.PlanJoin})
	case "barrier":
		add(model.PlanOp{Verb: model.PlanBarrier, Barrier: o.Barrier, Blocks: o.Blocks})
	case "signal", "rlxsignal":
		x := model.PlanOp{Verb: model.PlanSignal, IDs: counters(l.ends), Relaxed: o.Name == "rlxsignal" && o.Type == Memory}
		if o.Type == Port {
			x.Ports = o.Channels
		}
		add(x)
	case "wait", "rlxwait":
		add(model.PlanOp{Verb: model.PlanWait, IDs: counters(l.waits), Relaxed: o.Name == "rlxwait" && o.Type == Memory})
	case "flush":
		if l.f.Version == V1 {
			add(model.PlanOp{Verb: model.PlanFlush, Ports: o.Channels})
		}
	case "sem_acquire", "sem_release":
		verb := model.PlanRelease
		if o.Name == "sem_acquire" {
			verb = model.PlanAcquire
		}
		x := model.PlanOp{Verb: verb}
		for _, s := range o.Sems {
			x.IDs = append(x.IDs, l.sems[l.gpu]+s)
		}
		add(x)
	case "put", "pws", "pwsf", "ppkt":
		x := model.PlanOp{Verb: model.PlanCompute}
		packet := o.Name == "ppkt"
		for k := range o.Src {
			src := o.Src[k]
			if o.Type == Memory {
				src.Buffer = o.Src[0].Buffer // the kernel takes all from there
			}
			src.Size = o.Dst[k].Size
			m := raw(at(src, packet && o.Type == Port), at(o.Dst[k], packet))
			if packet {
				m.Grain = 8
			}
			x.Moves = append(x.Moves, m)
		}
		if o.Type == Port {
			x.Verb, x.Ports, x.Flush = model.PlanRequest, l.ports(o), o.Name == "pwsf"
			if o.Name == "pws" || o.Name == "pwsf" {
				x.IDs = counters(l.ends)
			}
		}
		add(x)
	case "get":
		x := model.PlanOp{Verb: model.PlanCompute}
		for k := range o.Src {
			src, dst := o.Src[k], o.Dst[k]
			src.Index, dst.Index = dst.Index, src.Index // so does the kernel
			x.Moves = append(x.Moves, raw(at(src, false), at(dst, false)))
		}
		add(x)
	case "copy":
		add(model.PlanOp{Verb: model.PlanCompute, Moves: []model.PlanMove{raw(at(o.Src[0], false), at(o.Dst[0], false))}})
	case "re", "res", "rre", "rres":
		add(model.PlanOp{Verb: model.PlanCompute, Moves: []model.PlanMove{raw(all(o.Src, false, false), all(o.Dst, false, false))}})
	case "cpkt":
		add(model.PlanOp{Verb: model.PlanCompute, Moves: []model.PlanMove{packets(at(o.Src[0], false), at(o.Dst[0], true))}})
	case "upkt":
		src := o.Src[0]
		src.Buffer = 's'
		add(model.PlanOp{Verb: model.PlanCompute, Moves: []model.PlanMove{packets(at(src, true), at(o.Dst[0], false))}})
	case "repkt", "respkt", "recpkt", "recspkt":
		srcs := append(all(o.Src[1:], true, true), at(o.Src[0], false)...)
		add(model.PlanOp{Verb: model.PlanCompute, Moves: []model.PlanMove{packets(srcs, all(o.Dst, false, true))}})
	case "rppkt":
		if o.Type != Port {
			add(model.PlanOp{Verb: model.PlanCompute, Moves: []model.PlanMove{packets(at(o.Src[0], true), all(o.Dst, true, true))}})
			return nil
		}
		add(model.PlanOp{Verb: model.PlanCompute, Moves: []model.PlanMove{packets(at(o.Src[0], true), nil)}})
		add(model.PlanOp{Verb: model.PlanJoin})
		x := model.PlanOp{Verb: model.PlanRequest, Ports: l.ports(o)}
		for _, d := range o.Dst {
			x.Moves = append(x.Moves, packets(at(o.Src[0], true), at(d, true)))
		}
		add(x)
	case "glres":
		add(model.PlanOp{Verb: model.PlanCompute, Moves: []model.PlanMove{raw(at(o.Src[0], false), at(o.Dst[0], false))}})
	case "gstore":
		add(model.PlanOp{Verb: model.PlanCompute, Moves: []model.PlanMove{raw(at(o.Src[0], false), at(o.Dst[0], false))}})
	case "gstorepkt":
		add(model.PlanOp{Verb: model.PlanCompute, Moves: []model.PlanMove{packets(at(o.Src[0], true), at(o.Dst[0], true))}})
	}
	return nil
}

// ports are the channels of a put through a proxy, one for each move.
func (l *lowering) ports(o *Op) []int {
	ids := slices.Clone(o.Channels)
	for len(ids) < len(o.Dst) {
		ids = append(ids, -1)
	}
	return ids[:len(o.Dst)]
}

// conditions states what the buffers hold before and after.
func (l *lowering) conditions(message int64) {
	f, n := l.f, len(l.f.GPUs)
	var ranks []int
	for r := range n {
		ranks = append(ranks, r)
		l.p.Inputs = append(l.p.Inputs, l.buffers[r]['i'])
	}
	want := func(r int, start, size int64, from []int, at int64) {
		l.p.Wants = append(l.p.Wants, model.PlanWant{Buffer: l.buffers[r]['o'], Start: start, Size: size, Ranks: from, From: at})
	}
	for r := range n {
		s := f.bytes(r, message)
		share := s.out / int64(n)
		switch f.Collective {
		case "allreduce":
			want(r, 0, s.out, ranks, 0)
		case "reducescatter":
			want(r, 0, s.out, ranks, int64(r)*s.out)
		case "allgather", "alltoall":
			for q := range n {
				from := int64(0)
				if f.Collective == "alltoall" {
					from = int64(r) * share
				}
				want(r, int64(q)*share, share, []int{q}, from)
			}
		case "sendrecv":
			want(r, 0, s.out, []int{(r + n - 1) % n}, 0)
		}
		if !f.InPlace || f.Collective == "sendrecv" {
			l.p.Wants = append(l.p.Wants, model.PlanWant{Buffer: l.buffers[r]['i'], Size: s.in, Ranks: []int{r}, Kept: true})
		}
	}
}

// lcm returns the least common multiple, or a large number.
func lcm(a, b int64) int64 {
	x, y := a, b
	for y != 0 {
		x, y = y, x%y
	}
	if a/x > math.MaxInt64/4/max(b, 1) {
		return math.MaxInt64 / 4
	}
	return a / x * b
}
