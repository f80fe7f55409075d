package mscclpp

import (
	"errors"
	"fmt"
	"slices"

	"github.com/oraccl/oraccl/model"
)

// Header is what a plan says beside what the ranks do.
type Header struct {
	Name, Collective string
	InPlace          bool
	LL               bool  // packets, for small messages
	Machines         []int // of each rank; ranks of one exchange through memory channels, others through ports; nil: one
	Min, Max         int64 // bytes of a message; Max 0: any
	Threadblocks     int   // a rank, at most; 0: 32
	Unit             int64 // bytes of an iteration of a pipeline; 0: there are none
	Iterate          bool  // pipelines even where operations suffice without
	Fence            bool  // scratch of a rank is not used before that rank has started, in any thread: the launch before may use it
}

// The limits of the executor.
const (
	maxOpsTB     = 64
	maxRefsTB    = 16
	maxIDs       = 8
	maxRefsOp    = 10
	maxChannelID = 255
	maxBlocks    = 128 // all run at once on a GPU of as many multiprocessors
)

// NotServedError explains why a program has no plan.
type NotServedError struct{ Why string }

// Error returns it.
func (e *NotServedError) Error() string { return "cannot be written as an execution plan: " + e.Why }

func refuse(format string, args ...any) error { return &NotServedError{fmt.Sprintf(format, args...)} }

// FromProgram returns a plan of v2 that does with data what a program does, which must be right:
// three buffers a rank, i, o and s. An error is a *NotServedError: a limit of the executor does
// not suffice, or the collective is none that it knows. Where the operations of a threadblock do not
// suffice, or there are many parts, and Unit is set, what is done with many chunks in one way becomes pipelines: see iterations.
//
// Steps that share no memory and no message fall into parts, and each threadblock carries out some of the parts, so
// that no threadblock waits for another one of its rank. In a part, each message has a level:
// a rank sends at a level what it got at lower ones. So all threadblocks of one number go through
// the levels together: put, signal, wait, add. What is received lands where it belongs, if the
// sender knows, by what it has heard, that the receiver does not use that spot any more, and in
// scratch of its own otherwise. A handshake stands before the first put. With packets there are
// no signals.
func FromProgram(p *model.Program, h Header) (*Written, error) {
	if err := p.Validate(); err != nil {
		return nil, err
	}
	if !slices.Contains(collectives, h.Collective) {
		return nil, refuse("the collective is %s, and plans have %v", h.Collective, collectives)
	}
	for r := range p.Ranks {
		if len(p.Buffers[r]) != 3 || p.Grain != 1 {
			return nil, refuse("rank %d has other buffers than i, o and s", r)
		}
	}
	c := &composer{p: p, h: h}
	if err := c.flow(); err != nil {
		return nil, err
	}
	c.parts()
	if h.Unit == 0 {
		return c.fit()
	}
	var plain error
	if !h.Iterate && c.count <= manyParts {
		w, err := c.fit()
		if err == nil {
			return w, nil
		}
		plain = err
	}
	all, why := c.iterations()
	for _, x := range all {
		var w *Written
		if w, why = x.fit(); why == nil {
			return w, nil
		}
	}
	if plain == nil && !h.Iterate {
		w, err := c.fit()
		if err == nil {
			return w, nil
		}
		plain = err
	}
	if plain == nil {
		return nil, why
	}
	return nil, refuse("%s; as pipelines: %s", reason(plain), reason(why))
}

// manyParts is how many parts a program has at most that becomes pipelines only if it must.
const manyParts = 512

// reason is what a *NotServedError says.
func reason(err error) string {
	var no *NotServedError
	if errors.As(err, &no) {
		return no.Why
	}
	return err.Error()
}

// fit makes a plan of as many threadblocks as it takes: fewer need fewer channels, more have fewer
// operations each.
func (c *composer) fit() (*Written, error) {
	most := c.h.Threadblocks
	if most == 0 {
		most = 32
	}
	var first error
	tried := map[int]bool{}
	for _, blocks := range []int{most, most / 2, most / 4, 2 * most, 4 * most, most / 8} {
		if blocks = max(1, min(blocks, c.count)); tried[blocks] || blocks > maxBlocks {
			continue
		}
		tried[blocks] = true
		w, err := c.compose(blocks)
		if err == nil {
			return w, nil
		}
		if first == nil {
			first = err
		}
	}
	return nil, first
}

// spot is memory of a rank: a buffer of the plan, and chunks in it.
type spot struct {
	buffer byte
	index  int
}

// parcel is a message.
type parcel struct {
	from, to int // nodes
	level    int
	src      spot
	dst      spot // where it lands
	direct   bool
	size     int
	relays   *parcel // what is sent on as it came
}

// source is where it is put from.
func (m *parcel) source() spot {
	if m.relays != nil {
		return m.relays.dst
	}
	return m.src
}

// step is a step of the program.
type step struct {
	*model.Instruction
	rank     int
	in, out  *parcel
	part     int
	peer     int
	accesses []int // cells
}

// composer makes a plan.
type composer struct {
	p     *model.Program
	h     Header
	nodes []step
	order []int // topological
	count int   // parts

	loops  int // parts that pipelines carry out: the first
	chunks int // that each of these moves
}

// flow finds the messages and an order of all steps.
func (c *composer) flow() error {
	type connection struct{ src, dst, channel int }
	sends, recvs := map[connection][]int{}, map[connection][]int{}
	first := map[[2]int]int{} // of a process: its first node
	var preds [][2]int
	for i := range c.p.Processes {
		q := &c.p.Processes[i]
		first[[2]int{q.Rank, q.ID}] = len(c.nodes)
		for j := range q.Steps {
			s := &q.Steps[j]
			id := len(c.nodes)
			c.nodes = append(c.nodes, step{Instruction: s, rank: q.Rank, peer: q.SendTo})
			if j > 0 {
				preds = append(preds, [2]int{id - 1, id})
			}
			if s.Verb&model.Sends != 0 {
				k := connection{q.Rank, q.SendTo, q.Channel}
				sends[k] = append(sends[k], id)
			}
			if s.Verb&model.Receives != 0 {
				k := connection{q.RecvFrom, q.Rank, q.Channel}
				recvs[k] = append(recvs[k], id)
			}
		}
	}
	for i := range c.p.Processes {
		q := &c.p.Processes[i]
		for j := range q.Steps {
			for _, w := range q.Steps[j].Waits {
				at := first[[2]int{q.Rank, w.Process}] + w.Step
				for !c.nodes[at].Signals { // the first that signals, at or after it
					at++
				}
				preds = append(preds, [2]int{at, first[[2]int{q.Rank, q.ID}] + j})
			}
		}
	}
	for k, list := range sends {
		if len(list) != len(recvs[k]) {
			return refuse("%d messages from %d to %d are sent and %d received", len(list), k.src, k.dst, len(recvs[k]))
		}
		for i, s := range list {
			r := recvs[k][i]
			if c.nodes[s].Count != c.nodes[r].Count {
				return refuse("a message of %d chunks is received as %d", c.nodes[s].Count, c.nodes[r].Count)
			}
			m := &parcel{from: s, to: r, size: c.nodes[s].Count}
			c.nodes[s].out, c.nodes[r].in = m, m
			preds = append(preds, [2]int{s, r})
		}
	}
	in := make([]int, len(c.nodes))
	next := make([][]int, len(c.nodes))
	for _, e := range preds {
		in[e[1]]++
		next[e[0]] = append(next[e[0]], e[1])
	}
	for i := range in {
		if in[i] == 0 {
			c.order = append(c.order, i)
		}
	}
	for i := 0; i < len(c.order); i++ {
		for _, to := range next[c.order[i]] {
			if in[to]--; in[to] == 0 {
				c.order = append(c.order, to)
			}
		}
	}
	if len(c.order) < len(c.nodes) {
		return refuse("its steps wait for each other")
	}
	return nil
}

func (n *step) reads() bool   { return n.Verb&model.Reads != 0 }
func (n *step) touches() bool { return n.Verb&(model.Writes|model.ReadsDst) != 0 }

// cells lists what a reference covers.
func (c *composer) cells(rank int, r model.Ref, count int) []int {
	var all []int
	for k := range count {
		all = append(all, c.p.Buffers[rank][r.Buffer].Base+r.Offset+k)
	}
	return all
}

// parts finds which steps share memory or messages, directly or through others.
func (c *composer) parts() {
	joined := model.NewSets(len(c.nodes))
	last := make([]map[int]int, c.p.Ranks)
	for r := range last {
		last[r] = map[int]int{}
	}
	for i := range c.nodes {
		n := &c.nodes[i]
		if n.reads() {
			n.accesses = append(n.accesses, c.cells(n.rank, n.Src, n.Count)...)
		}
		if n.touches() {
			n.accesses = append(n.accesses, c.cells(n.rank, n.Dst, n.Count)...)
		}
		for _, off := range n.More {
			n.accesses = append(n.accesses, c.cells(n.rank, model.Ref{Buffer: n.Src.Buffer, Offset: int(off)}, n.Count)...)
		}
		for _, x := range n.accesses {
			if j, ok := last[n.rank][x]; ok {
				joined.Join(i, j)
			}
			last[n.rank][x] = i
		}
		if n.out != nil {
			joined.Join(n.out.from, n.out.to)
		}
	}
	of, _ := joined.Numbers()
	number := map[int]int{}
	for _, i := range c.order {
		if _, ok := number[of[i]]; !ok {
			number[of[i]] = len(number)
		}
		c.nodes[i].part = number[of[i]]
	}
	c.count = len(number)
}

// local is what a rank does with its own memory at a phase.
type local struct {
	step  int
	phase int
	dst   spot
	srcs  []spot    // the first is a chunk, of a sum
	slots []*parcel // what was received
	size  int
}

// chapter is what one threadblock of each rank does.
type chapter struct {
	c      *composer
	levels int
	locals [][]local   // of each rank
	sent   [][]*parcel // of each rank, in order
	got    [][]*parcel
	loop   bool // it is a pipeline
}

// share returns how many of some threadblocks carry out pipelines, and how many the rest.
func (c *composer) share(blocks int) (loops, rest int) {
	if left := c.count - c.loops; left > 0 {
		rest = min(left, max(1, blocks/4))
		if c.loops == 0 {
			rest = min(left, blocks)
		}
	}
	return min(c.loops, max(1, blocks-rest)), rest
}

// block returns which threadblock carries out a part.
func (c *composer) block(part, blocks int) int {
	loops, rest := c.share(blocks)
	if part < c.loops {
		return part % loops
	}
	return loops + (part-c.loops)%rest
}

// compose makes a plan of some threadblocks a rank.
func (c *composer) compose(blocks int) (*Written, error) {
	w := newWritten(c)
	loops, rest := c.share(blocks)
	for b := range loops + rest {
		ch := &chapter{c: c, loop: b < loops, locals: make([][]local, c.p.Ranks), sent: make([][]*parcel, c.p.Ranks), got: make([][]*parcel, c.p.Ranks)}
		ch.schedule(b, blocks, w)
		for r := range c.p.Ranks {
			if err := w.block(ch, r, b); err != nil {
				return nil, err
			}
		}
	}
	return w, w.finish()
}

func odd(phase int) int  { return phase | 1 }
func even(phase int) int { return (phase + 1) &^ 1 }

// schedule gives the steps of a chapter their phases: a rank sends at level l in phase 2l, and
// receives and adds in phase 2l+1.
func (ch *chapter) schedule(b, blocks int, w *Written) {
	c := ch.c
	read, wrote := make([]map[int]int, c.p.Ranks), make([]map[int]int, c.p.Ranks)
	for r := range read {
		read[r], wrote[r] = map[int]int{}, map[int]int{}
	}
	latest := func(in map[int]int, cells []int) int {
		x := 0
		for _, cell := range cells {
			x = max(x, in[cell])
		}
		return x
	}
	set := func(in map[int]int, cells []int, phase int) {
		for _, cell := range cells {
			in[cell] = max(in[cell], phase)
		}
	}
	type landing struct {
		m    *parcel
		used int // the last phase in which the receiver used the place before
	}
	var landings []landing
	buffers := []byte{'i', 'o', 's'}
	at := func(r model.Ref) spot {
		if c.h.LL && r.Buffer == 2 {
			return spot{'s', plain + r.Offset}
		}
		return spot{buffers[r.Buffer], r.Offset}
	}
	for _, i := range c.order {
		n := &c.nodes[i]
		if c.block(n.part, blocks) != b {
			continue
		}
		r := n.rank
		var srcs []spot
		var from []int
		if n.Verb&model.Reads != 0 {
			srcs, from = append(srcs, at(n.Src)), append(from, c.cells(r, n.Src, n.Count)...)
		}
		if n.Verb&model.ReadsDst != 0 {
			srcs, from = append(srcs, at(n.Dst)), append(from, c.cells(r, n.Dst, n.Count)...)
		}
		for _, off := range n.More {
			ref := model.Ref{Buffer: n.Src.Buffer, Offset: int(off)}
			srcs, from = append(srcs, at(ref)), append(from, c.cells(r, ref, n.Count)...)
		}
		var to []int
		if n.Verb&model.Writes != 0 {
			to = c.cells(r, n.Dst, n.Count)
		}
		phase := 0
		if n.in != nil {
			phase = 2*n.in.level + 1
			ch.got[r] = append(ch.got[r], n.in)
		}
		// where the outcome is, and since when
		where, since := spot{}, 0
		switch {
		case n.in == nil && n.Verb&model.Writes == 0 && len(srcs) == 1: // a send
			where, since = srcs[0], latest(wrote[r], from)
		case n.in != nil && len(srcs) == 0 && n.Verb&model.Writes == 0: // what is relayed
			since = phase
			if n.out != nil {
				n.out.relays = n.in
			}
		default:
			used := max(latest(read[r], to), latest(wrote[r], to))
			phase = odd(max(phase, latest(wrote[r], from), used, 1))
			l := local{step: i, phase: phase, srcs: srcs, size: n.Count}
			if n.in != nil {
				l.slots = append(l.slots, n.in)
			}
			if l.dst = at(n.Dst); n.Verb&model.Writes == 0 {
				l.dst = w.temporary(r, n.Count)
			}
			if n.in != nil && len(srcs) == 0 {
				landings = append(landings, landing{n.in, used})
			}
			ch.locals[r] = append(ch.locals[r], l)
			set(read[r], from, phase)
			set(wrote[r], to, phase)
			where, since = l.dst, phase
		}
		if n.out != nil {
			n.out.level = even(since+1) / 2
			n.out.level = max(n.out.level, 1)
			n.out.src = where
			ch.levels = max(ch.levels, n.out.level)
			ch.sent[r] = append(ch.sent[r], n.out)
			until := 2 * n.out.level
			if c.via(r, c.nodes[n.out.to].rank) == Port { // which other ports of that level know nothing of
				until++
			}
			if n.Verb&model.Writes != 0 {
				set(read[r], to, until)
			}
			if n.in == nil && n.Verb&model.Writes == 0 {
				set(read[r], from, until)
			}
		}
	}
	known := ch.hears()
	for _, l := range landings {
		n := &c.nodes[l.m.to]
		if !c.h.LL && known[l.m.level][c.nodes[l.m.from].rank][n.rank] >= l.used {
			l.m.direct, l.m.dst = true, at(n.Dst)
		}
	}
	for r := range ch.locals {
		ch.locals[r] = slices.DeleteFunc(ch.locals[r], func(l local) bool {
			m := c.nodes[l.step].in
			return m != nil && m.direct
		})
		for _, m := range ch.got[r] {
			if !m.direct {
				m.dst = w.take(r, m.size)
			}
		}
	}
}

// hears returns, for each level and rank, up to which phase it knows each other rank to be when it
// sends at that level.
func (ch *chapter) hears() [][][]int {
	n := ch.c.p.Ranks
	now := make([][]int, n)
	for r := range now {
		now[r] = make([]int, n)
	}
	all := [][][]int{nil}
	for level := 1; level <= ch.levels; level++ {
		var snap [][]int
		for r := range now {
			now[r][r] = 2*level - 1
			snap = append(snap, slices.Clone(now[r]))
		}
		all = append(all, snap)
		for r := range n {
			for _, m := range ch.got[r] {
				if m.level != level {
					continue
				}
				s := ch.c.nodes[m.from].rank
				for q := range n {
					now[r][q] = max(now[r][q], snap[s][q])
				}
				now[r][s] = max(now[r][s], 2*level)
			}
		}
	}
	return all
}
