package msccl

import (
	"fmt"

	"github.com/oraccl/oraccl/model"
)

// maxFusion is how many re of a threadblock the runtimes fuse; maxFused is how many
// of them one instruction has room for.
const (
	maxFusion = 16
	maxFused  = 16
)

// folded is what the runtimes make of a threadblock's steps.
type folded struct {
	steps      []model.Instruction
	numbers    []int   // of the steps, ascending: what deps refers to
	waits      int     // dependencies, those of nops included
	reductions int     // re, the joined ones included
	refusals   []fault // why they refuse the file
	undefined  int     // the line of a step that cannot take a nop's dependency, or 0
	notes      []fault // what they lose
}

const nopNeeds = "the step after a nop with a dependency must have a dependency of its own, want depid >= 0"

var verbs = map[Type]model.Verb{
	Send:               model.Reads | model.Sends,
	Recv:               model.Receives | model.Writes,
	RecvCopySend:       model.Receives | model.Writes | model.Sends,
	RecvReduceCopy:     model.Receives | model.Reads | model.Writes,
	RecvReduceSend:     model.Receives | model.Reads | model.Sends,
	RecvReduceCopySend: model.Receives | model.Reads | model.Writes | model.Sends,
	Copy:               model.Reads | model.Writes,
	Reduce:             model.Reads | model.ReadsDst | model.Writes,
}

// fold joins steps as the runtimes do while they read, and numbers what is left as
// they do while they carry it out. A nop leaves its dependency to the next other step,
// which must have one of its own; a re that has no dependency joins the re before it
// if that has the same buffers and destination and nothing waits for it, and then its
// count and hasdep hold for all of them. A number is used up by every step but a nop
// without a dependency; that of joined steps is the last one's. Where files number
// their steps by s in the same way, as compilers do, deps refers to s.
func fold(t *TB) folded {
	var f folded
	f.steps = make([]model.Instruction, 0, len(t.Steps))
	var pending []model.Wait
	var pendingLine int32
	open, fused := false, 0 // whether the last instruction may be joined; re so far
	for i := range t.Steps {
		s := &t.Steps[i]
		if s.DepID >= 0 {
			pending = append(pending, model.Wait{Process: int(s.DepID), Step: int(s.Deps)})
			pendingLine = s.Line
			f.waits++
		}
		if s.Type == Reduce {
			f.reductions++
		}
		if s.Type == Nop {
			if s.HasDep != 0 {
				f.notes = append(f.notes, fault{int(s.Line), "a nop signals nothing: its hasdep is ignored"})
			}
			if s.DepID < 0 {
				f.notes = append(f.notes, fault{int(s.Line), "a nop without a dependency is dropped, and the steps after it are numbered as if it were not there"})
			}
			continue
		}
		if open && s.Type == Reduce && s.DepID == -1 && f.joins(s) {
			fused++
			last := &f.steps[len(f.steps)-1]
			last.More = append(last.More, s.SrcOff)
			if last.Count != int(s.Count) {
				f.notes = append(f.notes, fault{int(s.Line), fmt.Sprintf("re is joined with the one before it, and its cnt=%d holds for both, not %d", s.Count, last.Count)})
			}
			last.Count, last.Signals = int(s.Count), s.HasDep != 0
			if len(last.More) >= maxFused {
				f.refusals = append(f.refusals, fault{int(s.Line), fmt.Sprintf("more than %d re in a chain: the interpreter's array has no room for them", maxFused)})
			}
			open = s.HasDep == 0 && fused != maxFusion
			continue
		}
		in := model.Instruction{
			Verb: verbs[s.Type], Name: s.Type.String(), Label: int(s.S), Line: int(s.Line), Count: int(s.Count), Signals: s.HasDep != 0,
			Src: model.Ref{Buffer: int(s.Src), Offset: int(s.SrcOff)}, Dst: model.Ref{Buffer: int(s.Dst), Offset: int(s.DstOff)},
		}
		if len(pending) > 0 && s.DepID < 0 {
			f.refusals = append(f.refusals, fault{int(s.Line), nopNeeds})
			f.undefined = int(s.Line)
		}
		in.Waits, pending = pending, nil
		f.steps = append(f.steps, in)
		open = false
		if s.Type == Reduce {
			fused++
			open = s.HasDep == 0 && fused != maxFusion
		}
	}
	f.number()
	if len(pending) > 0 {
		f.notes = append(f.notes, fault{int(pendingLine), "the dependency of the last nop is lost: no step comes after it"})
	}
	return f
}

// number counts the steps as the interpreters do, which go over a step's chunks.
func (f *folded) number() {
	next := 0
	for i := range f.steps {
		in := &f.steps[i]
		next += max(0, len(in.Waits)-1)
		if in.Count > 0 {
			next += len(in.More)
		} else { // no transfer at all: it waits and signals
			in.Count, in.Verb = 0, model.Reads
		}
		f.numbers = append(f.numbers, next)
		next++
	}
}

// joins reports whether a re has the buffers and the destination of the last one.
func (f *folded) joins(s *Step) bool {
	last := &f.steps[len(f.steps)-1]
	return last.Dst == model.Ref{Buffer: int(s.Dst), Offset: int(s.DstOff)} && last.Src.Buffer == int(s.Src)
}
