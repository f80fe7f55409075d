package main

import (
	"encoding/xml"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/oraccl/oraccl/verify"
)

// xmlAlgo is an MSCCL-IR file as encoding/xml reads it.
type xmlAlgo struct {
	Chunks  int      `xml:"nchunksperloop,attr"`
	Ranks   int      `xml:"ngpus,attr"`
	Coll    string   `xml:"coll,attr"`
	InPlace int      `xml:"inplace,attr"`
	GPUs    []xmlGPU `xml:"gpu"`
}

type xmlGPU struct {
	ID      int     `xml:"id,attr"`
	Scratch int     `xml:"s_chunks,attr"`
	TBs     []xmlTB `xml:"tb"`
}

type xmlTB struct {
	ID      int       `xml:"id,attr"`
	Send    int       `xml:"send,attr"`
	Recv    int       `xml:"recv,attr"`
	Channel int       `xml:"chan,attr"`
	Steps   []xmlStep `xml:"step"`
}

type xmlStep struct {
	Type   string `xml:"type,attr"`
	Src    string `xml:"srcbuf,attr"`
	SrcOff int    `xml:"srcoff,attr"`
	Dst    string `xml:"dstbuf,attr"`
	DstOff int    `xml:"dstoff,attr"`
	Count  int    `xml:"cnt,attr"`
	DepID  int    `xml:"depid,attr"`
	Deps   int    `xml:"deps,attr"`
	HasDep int    `xml:"hasdep,attr"`

	number int   // what deps refers to
	more   []int // offsets of the sources of re that are joined with this one
}

// machine interprets an MSCCL-IR file step by step: section 12 of the specification and the
// meaning of the types of steps, without anything of package msccl. Steps are
// carried out as they are written, nops too, which wait and do nothing; re are joined.
type machine struct {
	algo    xmlAlgo
	grain   int // cells a chunk
	inPlace bool
	root    int
	share   int // cells of a rank's share of the larger buffer
	total   int // cells of the larger buffer
	blocks  []block
	found   map[verify.Code]bool
}

type block struct {
	gpu int
	tb  xmlTB
}

// sum is what a cell holds: the numbers of contributions, ascending; "" is undefined.
type sum string

func added(a, b sum) sum {
	if a == "" || b == "" {
		return ""
	}
	all := append([]rune(a), []rune(b)...)
	slices.Sort(all)
	return sum(all)
}

// what a type of step does.
var kinds = map[string]struct{ reads, adds, receives, writes, sends bool }{
	"s":    {reads: true, sends: true},
	"r":    {receives: true, writes: true},
	"rcs":  {receives: true, writes: true, sends: true},
	"rrc":  {reads: true, receives: true, writes: true},
	"rrs":  {reads: true, receives: true, sends: true},
	"rrcs": {reads: true, receives: true, writes: true, sends: true},
	"cpy":  {reads: true, writes: true},
	"re":   {reads: true, adds: true, writes: true}, // adds: reads the destination too
	"nop":  {},
}

// newMachine reads a file. It returns false if its collective is not one of those that the
// machine knows.
func newMachine(text string, inPlace bool, root int) (*machine, bool, error) {
	m := &machine{inPlace: inPlace, root: root, found: map[verify.Code]bool{}}
	if err := xml.Unmarshal([]byte(text), &m.algo); err != nil {
		return nil, false, err
	}
	n := m.algo.Ranks
	m.grain = 1
	switch m.coll() {
	case "allreduce", "broadcast", "reduce":
		m.total = m.algo.Chunks
		m.share = m.total
	case "allgather", "reducescatter", "alltoall":
		for m.algo.Chunks*m.grain%n != 0 {
			m.grain++
		}
		m.total = m.algo.Chunks * m.grain
		m.share = m.total / n
	default:
		return nil, false, nil
	}
	for _, g := range m.algo.GPUs {
		for _, t := range g.TBs {
			for len(t.Steps) > 0 && t.Steps[len(t.Steps)-1].Type == "nop" { // nothing comes after it
				t.Steps = t.Steps[:len(t.Steps)-1]
			}
			t.Steps = joined(t.Steps)
			m.blocks = append(m.blocks, block{gpu: g.ID, tb: t})
		}
	}
	return m, true, nil
}

// joined numbers steps and joins as the runtimes do: a re that waits for nothing with the re
// before it, if that adds from the same buffer to the same place and does not signal. All of
// them are one step, with the last one's count, number and signal. Of a threadblock the
// first sixteen re are looked at.
func joined(steps []xmlStep) (list []xmlStep) {
	additions, open := 0, false
	for i, s := range steps {
		s.number = i
		if s.Type == "re" && open && s.DepID < 0 {
			if last := &list[len(list)-1]; last.Src == s.Src && last.Dst == s.Dst && last.DstOff == s.DstOff {
				last.more = append(last.more, s.SrcOff)
				last.Count, last.number, last.HasDep = s.Count, s.number, s.HasDep
				additions++
				open = s.HasDep != 1 && additions != 16
				continue
			}
		}
		list = append(list, s)
		if open = false; s.Type == "re" {
			additions++
			open = s.HasDep != 1 && additions != 16
		}
	}
	return list
}

func (m *machine) coll() string { return strings.ReplaceAll(m.algo.Coll, "_", "") }

// size returns how many cells a buffer of a rank has.
func (m *machine) size(gpu int, buffer string) int {
	switch {
	case buffer == "s":
		for _, g := range m.algo.GPUs {
			if g.ID == gpu {
				return g.Scratch * m.grain
			}
		}
		return 0
	case buffer == "i" && m.coll() == "allgather", buffer == "o" && m.coll() == "reducescatter":
		return m.share
	}
	return m.total
}

// cell is a place in memory. In place, those of the input and the output are some of those
// of one buffer.
type cell struct {
	gpu    int
	buffer string
	at     int
}

func (m *machine) cell(gpu int, buffer string, at int) cell {
	if !m.inPlace || buffer == "s" {
		return cell{gpu, buffer, at}
	}
	if buffer == "i" && m.coll() == "allgather" || buffer == "o" && m.coll() == "reducescatter" {
		at += gpu * m.share
	}
	return cell{gpu, "io", at}
}

// contribution returns the input of a rank at a place.
func (m *machine) contribution(gpu, at int) sum { return sum(rune(1 + gpu*m.total + at)) }

// start returns the memory at the start.
func (m *machine) start() map[cell]sum {
	memory := map[cell]sum{}
	for r := range m.algo.Ranks {
		if m.coll() == "broadcast" && r != m.root {
			continue
		}
		for k := range m.size(r, "i") {
			memory[m.cell(r, "i", k)] = m.contribution(r, k)
		}
	}
	return memory
}

// wanted returns what the output must hold.
func (m *machine) wanted() map[cell]sum {
	want := map[cell]sum{}
	all := func(k int) sum {
		s := m.contribution(0, k)
		for r := 1; r < m.algo.Ranks; r++ {
			s = added(s, m.contribution(r, k))
		}
		return s
	}
	for r := range m.algo.Ranks {
		for k := range m.size(r, "o") {
			c := m.cell(r, "o", k)
			switch m.coll() {
			case "allreduce":
				want[c] = all(k)
			case "reduce":
				if r == m.root {
					want[c] = all(k)
				}
			case "broadcast":
				want[c] = m.contribution(m.root, k)
			case "allgather":
				want[c] = m.contribution(k/m.share, k%m.share)
			case "reducescatter":
				want[c] = all(r*m.share + k)
			case "alltoall":
				want[c] = m.contribution(k/m.share, r*m.share+k%m.share)
			}
		}
	}
	return want
}

// world is a state: where each threadblock is, what it signalled last, what channels and
// memory hold.
type world struct {
	pc, signal []int // signal: -1 for none
	channels   map[[3]int][]message
	memory     map[cell]sum
}

type message struct {
	values []sum
	from   int // the event that sent it
}

// event is a step that has been carried out.
type event struct {
	block, step   int
	before        []int // events: the step before, those that it waited for, the one that sent
	reads, writes []cell
}

// able reports whether a threadblock can go on.
func (m *machine) able(w *world, b int) bool {
	x := &m.blocks[b]
	if w.pc[b] >= len(x.tb.Steps) {
		return false
	}
	s := x.tb.Steps[w.pc[b]]
	if s.DepID >= 0 {
		j := m.block(x.gpu, s.DepID)
		if j < 0 || w.signal[j] < s.Deps || w.signal[j] < 0 {
			return false
		}
	}
	return !kinds[s.Type].receives || len(w.channels[m.incoming(b)]) > 0
}

func (m *machine) block(gpu, id int) int {
	return slices.IndexFunc(m.blocks, func(b block) bool { return b.gpu == gpu && b.tb.ID == id })
}

func (m *machine) incoming(b int) [3]int {
	x := &m.blocks[b]
	return [3]int{x.tb.Recv, x.gpu, x.tb.Channel}
}

func (m *machine) outgoing(b int) [3]int {
	x := &m.blocks[b]
	return [3]int{x.gpu, x.tb.Send, x.tb.Channel}
}

// cells returns the cells of a run of chunks, and notes if it leaves its buffer.
func (m *machine) cells(gpu int, buffer string, off, count int) (list []cell) {
	for at := off * m.grain; at < (off+count)*m.grain; at++ {
		if at < 0 || at >= m.size(gpu, buffer) {
			m.found[verify.OutOfBounds] = true
			list = append(list, cell{gpu: -1})
			continue
		}
		list = append(list, m.cell(gpu, buffer, at))
	}
	return list
}

// step carries out the next step of a threadblock, as event number n.
func (m *machine) step(w *world, b, n int, sent func(block, step int) int) event {
	x := &m.blocks[b]
	s, k := x.tb.Steps[w.pc[b]], kinds[x.tb.Steps[w.pc[b]].Type]
	e := event{block: b, step: w.pc[b]}
	if e.step > 0 {
		e.before = append(e.before, sent(b, e.step-1))
	}
	if s.DepID >= 0 { // the first step from that on that signals has been carried out
		j := m.block(x.gpu, s.DepID)
		first := 0
		for o := m.blocks[j].tb.Steps; o[first].HasDep != 1 || o[first].number < s.Deps; {
			first++
		}
		e.before = append(e.before, sent(j, first))
	}
	values := make([]sum, s.Count*m.grain)
	parts := 0
	take := func(more []sum) {
		for i := range values {
			switch {
			case i >= len(more):
				values[i] = ""
			case parts == 0:
				values[i] = more[i]
			default:
				values[i] = added(values[i], more[i])
			}
		}
		parts++
	}
	load := func(buffer string, off int) (list []sum) {
		cells := m.cells(x.gpu, buffer, off, s.Count)
		for _, c := range cells {
			if w.memory[c] == "" {
				m.found[verify.UninitialisedRead] = true
			}
			list = append(list, w.memory[c])
		}
		e.reads = append(e.reads, cells...)
		return list
	}
	if k.receives {
		queue := w.channels[m.incoming(b)]
		got := queue[0]
		w.channels[m.incoming(b)] = queue[1:]
		e.before = append(e.before, got.from)
		if len(got.values) != len(values) {
			m.found[verify.CountMismatch] = true
		}
		take(got.values)
	}
	if k.adds {
		take(load(s.Dst, s.DstOff))
	}
	if k.reads {
		for _, off := range append([]int{s.SrcOff}, s.more...) {
			take(load(s.Src, off))
		}
	}
	if k.writes {
		e.writes = m.cells(x.gpu, s.Dst, s.DstOff, s.Count)
		for i, c := range e.writes {
			if c.gpu >= 0 {
				w.memory[c] = values[i]
			}
		}
		for i := 0; i < len(e.reads); i += len(values) { // runs of the same length
			run := e.reads[i : i+len(values)]
			if !slices.Equal(run, e.writes) && slices.ContainsFunc(run, func(c cell) bool { return c.gpu >= 0 && slices.Contains(e.writes, c) }) {
				m.found[verify.ReadWriteRace] = true
			}
		}
	}
	if k.sends {
		w.channels[m.outgoing(b)] = append(slices.Clip(w.channels[m.outgoing(b)]), message{slices.Clone(values), n})
	}
	if s.HasDep == 1 {
		w.signal[b] = s.number
	}
	w.pc[b]++
	return e
}

// execution is one of many.
type execution struct {
	w      *world
	events []event
	stuck  bool // not all threadblocks have ended
}

// execute lets threadblocks take turns at random until none can go on.
func (m *machine) execute(r *rand.Rand) *execution {
	x := &execution{w: &world{pc: make([]int, len(m.blocks)), signal: slices.Repeat([]int{-1}, len(m.blocks)), channels: map[[3]int][]message{}, memory: m.start()}}
	number := map[[2]int]int{}
	greedy := r.IntN(3) // how much it likes to stay with a threadblock
	last := -1
	for {
		var able []int
		for b := range m.blocks {
			if m.able(x.w, b) {
				able = append(able, b)
			}
		}
		if len(able) == 0 {
			break
		}
		b := able[r.IntN(len(able))]
		if slices.Contains(able, last) && r.IntN(3) < greedy {
			b = last
		}
		last = b
		number[[2]int{b, x.w.pc[b]}] = len(x.events)
		x.events = append(x.events, m.step(x.w, b, len(x.events), func(block, step int) int { return number[[2]int{block, step}] }))
	}
	for b := range m.blocks {
		x.stuck = x.stuck || x.w.pc[b] < len(m.blocks[b].tb.Steps)
	}
	return x
}

// races reports whether two events access one cell of which one writes, and neither comes
// before the other in all executions.
func (x *execution) races() bool {
	n := len(x.events)
	before := make([]map[int]bool, n)
	for i, e := range x.events {
		before[i] = map[int]bool{}
		for _, j := range e.before {
			before[i][j] = true
			for k := range before[j] {
				before[i][k] = true
			}
		}
	}
	type use struct {
		event int
		write bool
	}
	uses := map[cell][]use{}
	for i, e := range x.events {
		for _, c := range e.reads {
			uses[c] = append(uses[c], use{i, false})
		}
		for _, c := range e.writes {
			uses[c] = append(uses[c], use{i, true})
		}
	}
	for c, list := range uses {
		if c.gpu < 0 {
			continue
		}
		for i, a := range list {
			for _, b := range list[:i] {
				if a.event != b.event && (a.write || b.write) && !before[a.event][b.event] && !before[b.event][a.event] {
					return true
				}
			}
		}
	}
	return false
}

// shared reports whether two threadblocks send, or receive, on one connection.
func (m *machine) shared() bool {
	ends := map[[4]int]bool{}
	for b := range m.blocks {
		var sends, receives bool
		for _, s := range m.blocks[b].tb.Steps {
			sends, receives = sends || kinds[s.Type].sends, receives || kinds[s.Type].receives
		}
		for end, is := range []bool{sends, receives} {
			c := m.outgoing(b)
			if end == 1 {
				c = m.incoming(b)
			}
			key := [4]int{c[0], c[1], c[2], end}
			if is && ends[key] {
				return true
			}
			if is {
				ends[key] = true
			}
		}
	}
	return false
}

// completes reports whether all threadblocks end where a channel holds at most slots
// transfers, of at most per chunks each (0: any number).
func (m *machine) completes(slots, per int) bool {
	pc, signal, piece := make([]int, len(m.blocks)), slices.Repeat([]int{-1}, len(m.blocks)), make([]int, len(m.blocks))
	held := map[[3]int]int{}
	for again := true; again; {
		again = false
		for b := range m.blocks {
			x := &m.blocks[b]
			for pc[b] < len(x.tb.Steps) {
				s := x.tb.Steps[pc[b]]
				k := kinds[s.Type]
				if s.DepID >= 0 && piece[b] == 0 {
					if j := m.block(x.gpu, s.DepID); j < 0 || signal[j] < s.Deps || signal[j] < 0 {
						break
					}
				}
				pieces := 1
				if per > 0 && (k.sends || k.receives) {
					pieces = (s.Count + per - 1) / per
				}
				if k.receives && held[m.incoming(b)] == 0 || k.sends && held[m.outgoing(b)] >= slots {
					break
				}
				if k.receives {
					held[m.incoming(b)]--
				}
				if k.sends {
					held[m.outgoing(b)]++
				}
				again = true
				if piece[b]++; piece[b] < pieces {
					continue
				}
				piece[b] = 0
				if s.HasDep == 1 {
					signal[b] = s.number
				}
				pc[b]++
			}
		}
	}
	for b := range m.blocks {
		if pc[b] < len(m.blocks[b].tb.Steps) {
			return false
		}
	}
	return true
}

// told is what the machine finds out about a file.
type told struct {
	right, stuck, raced, shared bool
	found                       map[verify.Code]bool
	runs                        []*execution
}

// decide executes a file in several random orders. It returns an error if these do not agree
// where they must by section 12.8 of the specification.
func (m *machine) decide(r *rand.Rand, times int) (*told, error) {
	x := &told{shared: m.shared(), found: m.found}
	if x.shared {
		return x, nil
	}
	for range times {
		x.runs = append(x.runs, m.execute(r))
	}
	one := x.runs[0]
	x.stuck, x.raced = one.stuck, one.races() || m.found[verify.ReadWriteRace]
	left := 0
	for _, queue := range one.w.channels {
		left += len(queue)
	}
	if left > 0 {
		m.found[verify.UnmatchedSend] = true
	}
	for _, other := range x.runs[1:] {
		if !slices.Equal(other.w.pc, one.w.pc) {
			return nil, fmt.Errorf("two executions end at %v and at %v", one.w.pc, other.w.pc)
		}
		if a, b := one.races(), other.races(); a != b {
			return nil, errors.New("one execution shows a race and another none")
		}
		for c, v := range one.w.memory {
			if !x.raced && other.w.memory[c] != v {
				return nil, fmt.Errorf("two executions without a race end with %q and %q in %v", v, other.w.memory[c], c)
			}
		}
	}
	x.right = !x.stuck && !x.raced && len(m.found) == 0
	for c, v := range m.wanted() {
		x.right = x.right && one.w.memory[c] == v
	}
	return x, nil
}

// explore takes the program through every interleaving, and reports whether some cell can hold different values at the end, and whether two steps that
// can be next access a cell of which one writes. It returns false if there are too many.
func (m *machine) explore(most int) (differ, meet, done bool) {
	key := func(w *world) string {
		var b strings.Builder
		fmt.Fprint(&b, w.pc, w.signal)
		var cells []string
		for c, v := range w.memory {
			cells = append(cells, fmt.Sprintf("%v=%q", c, v))
		}
		for c, queue := range w.channels {
			for i, msg := range queue {
				cells = append(cells, fmt.Sprintf("%v.%d=%q", c, i, msg.values))
			}
		}
		slices.Sort(cells)
		fmt.Fprint(&b, cells)
		return b.String()
	}
	clone := func(w *world) *world {
		c := &world{pc: slices.Clone(w.pc), signal: slices.Clone(w.signal), channels: map[[3]int][]message{}, memory: map[cell]sum{}}
		for k, v := range w.channels {
			c.channels[k] = slices.Clone(v)
		}
		for k, v := range w.memory {
			c.memory[k] = v
		}
		return c
	}
	first := &world{pc: make([]int, len(m.blocks)), signal: slices.Repeat([]int{-1}, len(m.blocks)), channels: map[[3]int][]message{}, memory: m.start()}
	seen := map[string]bool{key(first): true}
	queue := []*world{first}
	var end map[cell]sum
	for len(queue) > 0 {
		w := queue[len(queue)-1]
		queue = queue[:len(queue)-1]
		var able []int
		var next []event
		for b := range m.blocks {
			if m.able(w, b) {
				y := clone(w)
				e := m.step(y, b, 0, func(int, int) int { return 0 })
				able, next = append(able, b), append(next, e)
				if k := key(y); !seen[k] {
					if seen[k] = true; len(seen) > most {
						return false, false, false
					}
					queue = append(queue, y)
				}
			}
		}
		for i := range next {
			for j := range i {
				meet = meet || conflict(next[i], next[j])
			}
		}
		if len(able) > 0 {
			continue
		}
		if end == nil {
			end = w.memory
		}
		for c, v := range w.memory {
			differ = differ || end[c] != v
		}
		differ = differ || len(end) != len(w.memory)
	}
	return differ, meet, true
}

func conflict(a, b event) bool {
	in := func(c cell, list []cell) bool { return c.gpu >= 0 && slices.Contains(list, c) }
	return slices.ContainsFunc(a.writes, func(c cell) bool { return in(c, b.reads) || in(c, b.writes) }) ||
		slices.ContainsFunc(a.reads, func(c cell) bool { return in(c, b.writes) })
}
