package order

import (
	"fmt"
	"slices"
	"strings"

	"github.com/oraccl/oraccl/model"
)

// The explorer takes a program through every interleaving, by the words of SPEC.md,
// sections 12.1 and 12.2, and nothing else: no clocks, no argument about confluence.
// It shares no code with the package but the program. Values are written out as
// sums, "(x0+x1)", so that equal texts are equal trees.

// world is a state.
type world struct {
	pc       []int
	piece    []int // transfers of the current step that are done
	fifos    map[[3]int][]message
	cells    [][]string
	signals  []int // of a process: 1 + the last step that signalled, 0 for none
	problems []string
}

type message struct {
	values []string
}

func (w *world) clone() *world {
	c := &world{pc: slices.Clone(w.pc), piece: slices.Clone(w.piece), fifos: map[[3]int][]message{}, signals: slices.Clone(w.signals), problems: w.problems}
	for k, v := range w.fifos {
		c.fifos[k] = slices.Clone(v)
	}
	for _, row := range w.cells {
		c.cells = append(c.cells, slices.Clone(row))
	}
	return c
}

func (w *world) key() string { return fmt.Sprint(w.pc, w.piece, w.fifos, w.cells, w.signals) }

// explorer explores.
type explorer struct {
	p     *model.Program
	slots int // 0: any number
	per   int // chunks a transfer; 0: any number

	seen   map[string]bool
	finals map[string]*world // states in which nothing can step
	races  map[string]bool
	undef  bool // something undefined is read
	beyond bool
	length bool // a message of another length
}

func explore(p *model.Program, slots, per int) *explorer {
	x := &explorer{p: p, slots: slots, per: per, seen: map[string]bool{}, finals: map[string]*world{}, races: map[string]bool{}}
	w := &world{pc: make([]int, len(p.Processes)), piece: make([]int, len(p.Processes)), signals: make([]int, len(p.Processes)), fifos: map[[3]int][]message{}}
	for r := range p.Ranks {
		row := make([]string, p.Memory[r])
		for c, in := range p.Pre[r] {
			if in >= 0 {
				row[c] = fmt.Sprintf("x%d", in)
			}
		}
		w.cells = append(w.cells, row)
	}
	x.visit(w)
	return x
}

func (x *explorer) visit(w *world) {
	k := w.key()
	if x.seen[k] {
		return
	}
	x.seen[k] = true
	var able []int
	for i := range x.p.Processes {
		if x.able(w, i) {
			able = append(able, i)
		}
	}
	if len(able) == 0 {
		x.finals[k] = w
		return
	}
	for i, a := range able {
		for _, b := range able[i+1:] {
			if x.conflict(w, a, b) {
				x.races[fmt.Sprint(a, w.pc[a], b, w.pc[b])] = true
			}
		}
		next := w.clone()
		x.step(next, a)
		x.visit(next)
	}
}

func (x *explorer) fifo(i int, out bool) [3]int {
	q := &x.p.Processes[i]
	if out {
		return [3]int{q.Rank, q.SendTo, q.Channel}
	}
	return [3]int{q.RecvFrom, q.Rank, q.Channel}
}

// pieces is how many transfers a step makes.
func (x *explorer) pieces(s *model.Instruction) int {
	switch {
	case s.Verb&(model.Sends|model.Receives) == 0 || x.slots == 0:
		return 1
	case x.per == 0:
		return min(s.Count, 1)
	}
	n := 0
	for left := s.Count; left > 0; left -= x.per {
		n++
	}
	return n
}

func (x *explorer) able(w *world, i int) bool {
	q := &x.p.Processes[i]
	if w.pc[i] == len(q.Steps) {
		return false
	}
	s := &q.Steps[w.pc[i]]
	for _, wait := range s.Waits {
		released := false
		for j := range x.p.Processes {
			if o := &x.p.Processes[j]; o.Rank == q.Rank && o.ID == wait.Process && w.signals[j] > max(wait.Step, 0) {
				released = true
			}
		}
		if !released && w.piece[i] == 0 {
			return false
		}
	}
	if x.slots > 0 && x.pieces(s) == 0 {
		return true
	}
	if s.Verb&model.Receives != 0 && len(w.fifos[x.fifo(i, false)]) == 0 {
		return false
	}
	return s.Verb&model.Sends == 0 || x.slots == 0 || len(w.fifos[x.fifo(i, true)]) < x.slots
}

// touched are the cells that the next step of a process reads and writes.
func (x *explorer) touched(w *world, i int) (reads, writes []int) {
	q := &x.p.Processes[i]
	s := &q.Steps[w.pc[i]]
	at := func(ref model.Ref, off int) (cells []int) {
		b := x.p.Buffers[q.Rank][ref.Buffer]
		for c := off; c < off+s.Count; c++ {
			if c >= 0 && c < b.Cells {
				cells = append(cells, b.Base+c)
			}
		}
		return cells
	}
	if s.Verb&model.Reads != 0 {
		reads = at(s.Src, s.Src.Offset)
		for _, off := range s.More {
			reads = append(reads, at(s.Src, int(off))...)
		}
	}
	if s.Verb&model.ReadsDst != 0 {
		reads = append(reads, at(s.Dst, s.Dst.Offset)...)
	}
	if s.Verb&model.Writes != 0 {
		writes = at(s.Dst, s.Dst.Offset)
	}
	return reads, writes
}

func (x *explorer) conflict(w *world, a, b int) bool {
	if x.p.Processes[a].Rank != x.p.Processes[b].Rank {
		return false
	}
	ra, wa := x.touched(w, a)
	rb, wb := x.touched(w, b)
	meet := func(s, t []int) bool {
		return slices.ContainsFunc(s, func(c int) bool { return slices.Contains(t, c) })
	}
	return meet(wa, rb) || meet(wa, wb) || meet(ra, wb)
}

// step takes the next step of process i, or a transfer of it.
func (x *explorer) step(w *world, i int) {
	q := &x.p.Processes[i]
	s := &q.Steps[w.pc[i]]
	done := func() {
		if s.Signals {
			w.signals[i] = w.pc[i] + 1
		}
		w.pc[i]++
		w.piece[i] = 0
	}
	if x.slots > 0 { // without the data
		n := x.pieces(s)
		if n > 0 {
			if s.Verb&model.Receives != 0 {
				k := x.fifo(i, false)
				w.fifos[k] = w.fifos[k][1:]
			}
			if s.Verb&model.Sends != 0 {
				k := x.fifo(i, true)
				w.fifos[k] = append(slices.Clone(w.fifos[k]), message{})
			}
			w.piece[i]++
		}
		if w.piece[i] >= n {
			done()
		}
		return
	}
	var sum []string // of what was taken so far
	take := func(values []string) {
		if sum == nil {
			sum = values
			return
		}
		for c := range sum {
			sum[c] = plus(sum[c], values[c])
		}
	}
	load := func(ref model.Ref, off int) []string {
		b := x.p.Buffers[q.Rank][ref.Buffer]
		values := make([]string, s.Count)
		for c := range values {
			if at := off + c; at < 0 || at >= b.Cells {
				x.beyond = true
			} else if values[c] = w.cells[q.Rank][b.Base+at]; values[c] == "" {
				x.undef = true
			}
		}
		return values
	}
	if s.Verb&model.Receives != 0 {
		k := x.fifo(i, false)
		got := w.fifos[k][0].values
		w.fifos[k] = w.fifos[k][1:]
		x.length = x.length || len(got) != s.Count
		values := make([]string, s.Count)
		copy(values, got)
		take(values)
	}
	if s.Verb&model.ReadsDst != 0 {
		take(load(s.Dst, s.Dst.Offset))
	}
	if s.Verb&model.Reads != 0 {
		take(load(s.Src, s.Src.Offset))
		for _, off := range s.More {
			take(load(s.Src, int(off)))
		}
	}
	if s.Verb&model.Writes != 0 {
		b := x.p.Buffers[q.Rank][s.Dst.Buffer]
		for c, v := range sum {
			if at := s.Dst.Offset + c; at < 0 || at >= b.Cells {
				x.beyond = true
			} else {
				w.cells[q.Rank][b.Base+at] = v
			}
		}
	}
	if s.Verb&model.Sends != 0 {
		k := x.fifo(i, true)
		w.fifos[k] = append(slices.Clone(w.fifos[k]), message{slices.Clone(sum)})
	}
	done()
}

// plus writes a sum, with the sides in the order of their texts.
func plus(a, b string) string {
	if a == "" || b == "" {
		return ""
	}
	sides := []string{a, b}
	slices.Sort(sides)
	return "(" + strings.Join(sides, "+") + ")"
}
