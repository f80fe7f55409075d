package model

import (
	"fmt"
)

// Program is a collective as processes carry it out: every rank has memory and
// runs some processes, each a list of instructions; processes of different ranks
// exchange data through channels, those of one rank wait for each other's
// instructions. It has no times. Memory is counted in cells, the largest pieces
// that are always read and written whole; a chunk, the unit of instructions, is
// Grain cells.
//
// It is what formats of deployable schedules are read into, and what
// verify/order decides about.
type Program struct {
	Name  string
	Kind  Kind // what the pre- and postcondition say; Custom with no Wants if unknown
	Ranks int

	Grain   int        // cells a chunk, at least 1
	Memory  []int      // cells of every rank
	Buffers [][]Buffer // the names of every rank's memory, which may overlap
	Inputs  int        // contributions a rank: contribution c is number c%Inputs of rank c/Inputs

	// Pre[r][i] is the contribution in cell i of rank r at the start, or -1 if the
	// cell is undefined. Post[r][i] is the index in Wants of what it must hold at the
	// end, or -1 if that does not matter. Kept[r][i] says that the cell must never be
	// written; it, or its entry of a rank, is nil where no cell is kept.
	Pre, Post [][]int32
	Wants     [][]int32 // each an ascending list of contributions, wanted once each
	Kept      [][]bool

	Processes []Process
}

// Buffer is a name for Cells cells of a rank's memory, from cell Base.
type Buffer struct {
	Name        string
	Base, Cells int
}

// Process is a list of instructions that a rank carries out in order.
type Process struct {
	Rank, ID         int
	SendTo, RecvFrom int // ranks, or -1
	Channel          int // of its two connections
	Line             int // in the file, or 0
	Steps            []Instruction
}

// Verb is what an instruction does, as a set of parts: it may receive a message,
// combine it with memory, write the outcome, and send it on.
type Verb uint8

// The parts of a verb. The outcome of an instruction is the sum of all that it
// takes: what it received, what Dst held (ReadsDst), what Src holds (Reads), and
// what the further sources hold, added in this order.
const (
	Receives Verb = 1 << iota
	Reads         // Src
	ReadsDst      // Dst, before it is written
	Writes
	Sends
)

// Instruction is one step of a process. Src and Dst are ignored unless the verb
// uses them.
type Instruction struct {
	Verb     Verb
	Name     string // as the format has it: "rrc"
	Label    int    // its number in the file
	Line     int    // in the file, or 0
	Src, Dst Ref
	More     []int32 // offsets of further sources in Src's buffer, added in this order
	Count    int     // chunks
	Waits    []Wait
	Signals  bool // others may wait for it
}

// Ref is a place in a rank's memory: a buffer and an offset in chunks.
type Ref struct {
	Buffer, Offset int
}

// Wait is for an instruction of a process of the same rank, or for a later one
// that signals.
type Wait struct {
	Process int // its ID
	Step    int // its index
}

// Steps counts the instructions.
func (p *Program) Steps() int {
	n := 0
	for i := range p.Processes {
		n += len(p.Processes[i].Steps)
	}
	return n
}

// Validate reports what makes a program meaningless: references to ranks and
// buffers that do not exist, or conditions that do not fit its memory. References
// beyond the end of a buffer are no such thing, but what a verifier looks for.
func (p *Program) Validate() error {
	if p.Ranks < 1 || p.Ranks > MaxNodes {
		return fmt.Errorf("ranks: %d, want 1 to %d", p.Ranks, MaxNodes)
	}
	if p.Grain < 1 {
		return fmt.Errorf("grain: %d, want at least 1", p.Grain)
	}
	if len(p.Memory) != p.Ranks || len(p.Buffers) != p.Ranks || len(p.Pre) != p.Ranks || len(p.Post) != p.Ranks {
		return fmt.Errorf("memory: want an entry a rank, of %d", p.Ranks)
	}
	for i, want := range p.Wants {
		if !increasing(want) || len(want) > 0 && (want[0] < 0 || int(want[len(want)-1]) >= p.Inputs*p.Ranks) {
			return fmt.Errorf("wants[%d]: want ascending contributions below %d, each once", i, p.Inputs*p.Ranks)
		}
	}
	for r := range p.Ranks {
		for _, b := range p.Buffers[r] {
			if b.Base < 0 || b.Cells < 0 || b.Base+b.Cells > p.Memory[r] {
				return fmt.Errorf("rank %d, buffer %s: cells %d to %d, want some of %d", r, b.Name, b.Base, b.Base+b.Cells, p.Memory[r])
			}
		}
		if len(p.Pre[r]) != p.Memory[r] || len(p.Post[r]) != p.Memory[r] {
			return fmt.Errorf("rank %d: %d and %d conditions for %d cells", r, len(p.Pre[r]), len(p.Post[r]), p.Memory[r])
		}
		for i := range p.Memory[r] {
			if int(p.Pre[r][i]) >= p.Inputs*p.Ranks || int(p.Post[r][i]) >= len(p.Wants) {
				return fmt.Errorf("rank %d, cell %d: its condition does not exist", r, i)
			}
		}
		if p.Kept != nil && p.Kept[r] != nil && len(p.Kept[r]) != p.Memory[r] {
			return fmt.Errorf("rank %d: kept: %d entries for %d cells", r, len(p.Kept[r]), p.Memory[r])
		}
	}
	type name struct{ rank, id int }
	named := make(map[name]bool, len(p.Processes))
	for i := range p.Processes {
		q := &p.Processes[i]
		if q.Rank < 0 || q.Rank >= p.Ranks || q.SendTo < -1 || q.SendTo >= p.Ranks || q.RecvFrom < -1 || q.RecvFrom >= p.Ranks {
			return fmt.Errorf("process %d: names a rank that does not exist, want 0 to %d", i, p.Ranks-1)
		}
		if named[name{q.Rank, q.ID}] {
			return fmt.Errorf("rank %d: two processes have the number %d", q.Rank, q.ID)
		}
		named[name{q.Rank, q.ID}] = true
		for j := range q.Steps {
			if err := p.validateStep(q, &q.Steps[j]); err != nil {
				return fmt.Errorf("process %d, step %d: %w", i, j, err)
			}
		}
	}
	return nil
}

// increasing reports whether every element is larger than the one before it.
func increasing(list []int32) bool {
	for i := 1; i < len(list); i++ {
		if list[i] <= list[i-1] {
			return false
		}
	}
	return true
}

func (p *Program) validateStep(q *Process, s *Instruction) error {
	buffers := len(p.Buffers[q.Rank])
	switch {
	case s.Count < 0:
		return fmt.Errorf("count %d, want none or more", s.Count)
	case s.Verb&Receives != 0 && q.RecvFrom < 0:
		return fmt.Errorf("receives, and its process has nobody to receive from")
	case s.Verb&Sends != 0 && q.SendTo < 0:
		return fmt.Errorf("sends, and its process has nobody to send to")
	case s.Verb&(Receives|Reads) == 0:
		return fmt.Errorf("neither receives nor reads")
	case s.Verb&Reads != 0 && (s.Src.Buffer < 0 || s.Src.Buffer >= buffers):
		return fmt.Errorf("source buffer %d, want 0 to %d", s.Src.Buffer, buffers-1)
	case s.Verb&(Writes|ReadsDst) != 0 && (s.Dst.Buffer < 0 || s.Dst.Buffer >= buffers):
		return fmt.Errorf("destination buffer %d, want 0 to %d", s.Dst.Buffer, buffers-1)
	}
	return nil
}
