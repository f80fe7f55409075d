// Package msccl reads MSCCL-IR, the XML in which schedules are deployed on
// NCCL-like runtimes: microsoft/msccl, RCCL, and Azure's executor for NCCL, which
// shares RCCL's dialect. Read takes a file as it is, with the line of everything in
// it; Algo.Load decides whether a runtime would load it, Algo.Selection for which
// calls the runtime would pick it, and Algo.Program returns what the runtime would
// then carry out.
//
// What is decided here follows the runtimes' parsers, not a schema: which
// attributes they need, which elements they ignore, how they fold nop and
// consecutive re into other instructions and so number what depends and deps refer
// to, and which limits they have. A file that makes a loader write outside its
// arrays is refused as one that it refuses itself, even where nothing may come of
// it. Chunks are the unit of offsets and counts; sizes are in bytes.
package msccl

import (
	"fmt"
	"slices"

	"github.com/oraccl/oraccl/model"
)

// Algo is a file.
type Algo struct {
	File string
	Line int // of the element algo

	Name, Proto, Coll  string
	Channels           int // nchannels
	ChunksPerLoop      int // nchunksperloop
	Ranks              int // ngpus
	InPlace, OutPlace  bool
	HasOutPlace        bool // the attribute outofplace is there
	MinBytes, MaxBytes int64
	HasMin, HasMax     bool
	Threads            int // nthreads, or 0
	GPUs               []GPU
	Elements           int // steps, threadblocks and gpus
	Copies             int // elements that the runtimes ignore: <copy>, and others
	IgnoredLine        int // the first of them

	missing []missing // attributes that runtimes need and do not find
	lexical faults    // what XML allows and the runtimes' parser does not
	typed   bool      // <algo> has an attribute rtype or stype
}

// fault is something wrong in a line.
type fault struct {
	line    int
	message string
}

// faults are some of each grade; those of the grade Loads are notes.
type faults [model.Unreadable + 1][]fault

func (f *faults) add(g model.Grade, line int, format string, args ...any) {
	if len(f[g]) < maxFaults {
		f[g] = append(f[g], fault{line, fmt.Sprintf(format, args...)})
	}
}

// missing is an attribute that an element should have.
type missing struct {
	line         int
	element, key string
	late         bool // it is there, behind those that the runtimes see
}

func (m missing) String() string {
	if m.late {
		return fmt.Sprintf("<%s> has no attribute %s among the first %d, which the runtimes see", m.element, m.key, roomAttrs)
	}
	return fmt.Sprintf("<%s> has no attribute %s", m.element, m.key)
}

// lacks reports whether the element algo has no attribute of a name.
func (a *Algo) lacks(key string) bool {
	return slices.ContainsFunc(a.missing, func(m missing) bool { return m.element == "algo" && m.key == key })
}

// GPU is a rank's part.
type GPU struct {
	Line                   int
	ID                     int
	Input, Output, Scratch int // i_chunks, o_chunks, s_chunks
	TBs                    []TB
}

// TB is a threadblock.
type TB struct {
	Line       int
	ID         int
	Send, Recv int // ranks, or -1
	Channel    int
	Steps      []Step
}

// Step is an instruction as it is written.
type Step struct {
	Line           int32
	S              int32
	Type           Type
	Src, Dst       Buf
	SrcOff, DstOff int32
	Count          int32
	DepID, Deps    int32 // depid and deps, -1 for none
	HasDep         int32 // hasdep
}

// Type is the type of a step.
type Type uint8

// The types.
const (
	Nop Type = iota
	Send
	Recv
	RecvCopySend
	RecvReduceCopy
	RecvReduceSend
	RecvReduceCopySend
	Copy
	Reduce
)

var typeNames = []string{"nop", "s", "r", "rcs", "rrc", "rrs", "rrcs", "cpy", "re"}

// String returns the name in the file: "rrc".
func (t Type) String() string { return typeNames[t] }

// Sends reports whether a step of the type sends.
func (t Type) Sends() bool {
	return t == Send || t == RecvCopySend || t == RecvReduceSend || t == RecvReduceCopySend
}

// Receives reports whether a step of the type receives.
func (t Type) Receives() bool { return t >= Recv && t <= RecvReduceCopySend }

// Buf is a buffer.
type Buf uint8

// The buffers: sendbuff, recvbuff, and private memory.
const (
	Input Buf = iota
	Output
	Scratch
)

var bufNames = []string{"i", "o", "s"}

// String returns the name in the file: "i".
func (b Buf) String() string { return bufNames[b] }
