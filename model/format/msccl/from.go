package msccl

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/oraccl/oraccl/model"
)

// Limits are what runtimes have room for.
type Limits struct {
	Threadblocks int // a rank; fewer than there are, where others could not wait for them
	Steps        int // a threadblock
	Channels     int
	Ranks        int
	Peers        int // threadblocks of a rank on one channel that send, and that receive
	Elements     int // that a rank reads
	Chunks       int // that an offset reaches
	Count        int // chunks a step
}

// LimitsOf returns what all of some runtimes have room for.
func LimitsOf(runtimes ...Runtime) Limits {
	l := Limits{Threadblocks: math.MaxInt8 + 1, Steps: math.MaxInt16, Channels: math.MaxInt16, Ranks: maxChildren, Peers: maxPeers, Elements: maxNodes, Chunks: math.MaxInt16, Count: maxCount - 1}
	for _, r := range runtimes {
		has := limitsOf[r]
		l.Threadblocks, l.Steps, l.Channels = min(l.Threadblocks, has.tbs), min(l.Steps, has.steps), min(l.Channels, has.channels)
	}
	return l
}

// CollName returns what a runtime calls a collective, or "" if it does not know it.
func CollName(k model.Kind, r Runtime) string {
	for _, name := range limitsOf[r].colls {
		if strings.ReplaceAll(name, "_", "") == k.String() && k != model.Custom {
			return name
		}
	}
	return ""
}

// Header is what a file says beside what the ranks do.
type Header struct {
	Name, Proto        string
	Coll               string // in the words of the runtime: see CollName
	InPlace, OutPlace  bool
	MinBytes, MaxBytes int64
}

// FromProgram returns the file that a program is read from: three buffers a rank, i, o
// and s; instructions that a type of step has, with the numbers that the runtimes give
// them; waits as depid and deps, all but the last of a step in a nop before it. It is the
// inverse of Algo.Program except for lines and labels, if the program's conditions are those of its
// collective. An error names what the format cannot say.
func FromProgram(p *model.Program, h Header) (*Algo, error) {
	if err := p.Validate(); err != nil {
		return nil, err
	}
	a := &Algo{Name: h.Name, Proto: h.Proto, Coll: h.Coll, Ranks: p.Ranks, InPlace: h.InPlace, OutPlace: h.OutPlace, HasOutPlace: true,
		MinBytes: h.MinBytes, MaxBytes: h.MaxBytes, HasMin: true, HasMax: true}
	for r := range p.Ranks {
		b := p.Buffers[r]
		if len(b) != len(bufNames) || b[0].Name != bufNames[0] || b[1].Name != bufNames[1] || b[2].Name != bufNames[2] {
			return nil, fmt.Errorf("rank %d: buffers %v, want i, o and s", r, b)
		}
		g := GPU{ID: r, Input: b[0].Cells / p.Grain, Output: b[1].Cells / p.Grain, Scratch: b[2].Cells / p.Grain}
		if a.ChunksPerLoop = max(g.Input, g.Output); p.Kind == model.Gather || p.Kind == model.Scatter {
			a.ChunksPerLoop = min(g.Input, g.Output)
		}
		a.GPUs = append(a.GPUs, g)
	}
	numbers := map[[2]int][]int32{} // of the steps, by rank and process
	for i := range p.Processes {
		q := &p.Processes[i]
		var list []int32
		next := int32(0)
		for j := range q.Steps {
			next += int32(max(1, len(q.Steps[j].Waits)))
			list = append(list, next-1)
		}
		numbers[[2]int{q.Rank, q.ID}] = list
	}
	for i := range p.Processes {
		q := &p.Processes[i]
		t := TB{ID: q.ID, Send: q.SendTo, Recv: q.RecvFrom, Channel: q.Channel}
		if q.SendTo >= 0 || q.RecvFrom >= 0 {
			a.Channels = max(a.Channels, q.Channel+1)
		}
		for j := range q.Steps {
			if err := t.write(&q.Steps[j], func(w model.Wait) int32 { return numbers[[2]int{q.Rank, w.Process}][w.Step] }); err != nil {
				return nil, fmt.Errorf("rank %d, process %d, step %d: %w", q.Rank, q.ID, j, err)
			}
		}
		a.GPUs[q.Rank].TBs = append(a.GPUs[q.Rank].TBs, t)
	}
	a.Channels = max(a.Channels, 1)
	return a, nil
}

// write adds the steps that stand for an instruction.
func (t *TB) write(in *model.Instruction, number func(model.Wait) int32) error {
	kind := slices.Index(typeNames, in.Name)
	if kind <= 0 || verbs[Type(kind)] != in.Verb {
		return fmt.Errorf("instruction %q, want one of %v that does what it says", in.Name, typeNames[1:])
	}
	if len(in.More) > 0 {
		return fmt.Errorf("instruction %q has %d sources, want one", in.Name, 1+len(in.More))
	}
	s := Step{Type: Nop, DepID: -1, Deps: -1}
	for k, w := range in.Waits {
		s.DepID, s.Deps = int32(w.Process), number(w)
		if k < len(in.Waits)-1 {
			s.S = int32(len(t.Steps))
			t.Steps = append(t.Steps, s)
		}
	}
	s.S, s.Type, s.Count = int32(len(t.Steps)), Type(kind), int32(in.Count)
	s.Src, s.SrcOff, s.Dst, s.DstOff = Buf(in.Src.Buffer), int32(in.Src.Offset), Buf(in.Dst.Buffer), int32(in.Dst.Offset)
	if in.Signals {
		s.HasDep = 1
	}
	t.Steps = append(t.Steps, s)
	return nil
}
