// Package mscclpp reads and writes execution plans of MSCCL++, the JSON that its executor
// carries out. There are two formats without a version field, v1 (April 2024 to August 2025,
// read by releases up to 0.7) and v2 (since August 2025, read from 0.8 on), which Read tells
// apart by their content. What is decided here follows the runtime's parser and its kernel:
//
//	f, err := mscclpp.Read("plan.json", r)
//	p := f.Plan() // for verify/plan
//
// Read keeps the line of everything. What the parser refuses is a model.Loading; what it
// accepts and the executor cannot carry out, such as an identifier of nothing, is a
// model.PlanFault, and so is what the kernel does in another way than the plan says. Chunks
// are the unit of offsets and counts, bytes that of sizes.
package mscclpp

import (
	"fmt"

	"github.com/oraccl/oraccl/model"
)

// Version is one of the two formats.
type Version uint8

// The formats.
const (
	V1 Version = 1
	V2 Version = 2
)

// String returns "v1" or "v2".
func (v Version) String() string { return fmt.Sprintf("v%d", uint8(v)) }

// File is a file.
type File struct {
	File                       string
	Line                       int // of the outermost object
	Version                    Version
	Name, Collective, Protocol string
	InPlace, Reuse, Double     bool // inplace, reuse_resources, use_double_scratch_buffer
	Align                      int64
	Threads                    int
	Min, Max                   uint64 // bytes
	GPUs                       []GPU

	refusals []model.Remark // of the parser of the file's own format
	older    []model.Remark // of its parsers since December 2024
	faults   []model.PlanFault
}

// GPU is a rank's part.
type GPU struct {
	Line                   int
	Input, Output, Scratch int // chunks
	Groups                 int // chunkGroups of v1, else 1
	Channels               []Channel
	Semaphores             []int // initial values
	Blocks                 []Block
}

// Type is the type of a channel.
type Type uint8

// The types.
const (
	None Type = iota
	Memory
	Port
	Switch
)

var typeNames = []string{"none", "memory", "port", "switch"}

// String returns the name in the format v2: "memory".
func (t Type) String() string { return typeNames[t] }

// Channel is a channel of a rank: to a peer, or among the ranks of a switch.
type Channel struct {
	Line     int
	Type     Type
	Peer     int   // of memory and port
	Buffer   byte  // of a switch
	Ranks    []int // of a switch
	Src, Dst byte  // of v1
}

// Block is a threadblock.
type Block struct {
	Line, ID int
	Ops      []Op
}

// Op is an operation, with its references resolved. Name is that of v2 whatever the file
// calls it, which is As.
type Op struct {
	Line     int
	Name, As string
	Src, Dst []Ref
	Type     Type
	Channels []int // indices in the rank's Channels
	Part     int   // tbg_info: this is part Part of Parts
	Parts    int
	Barrier  int
	Blocks   int
	Sems     []int
	Unit     int64 // bytes of an iteration, of a pipeline
	Chunks   int   // of a pipeline
	Ops      []Op  // of a pipeline
	Max, Min bool  // reduce_op
}

// Ref is a reference to chunks.
type Ref struct {
	Buffer      byte // 'i', 'o' or 's'
	Rank        int  // whose, or -1: those of a switch
	Remote      bool
	Channel     int // index of the switch, if Rank is -1
	Index, Size int
}

// SyntaxError is what is wrong with a file that is no execution plan.
type SyntaxError struct {
	File    string
	Line    int
	Message string
}

// Error returns file, line and what is wrong.
func (e *SyntaxError) Error() string { return fmt.Sprintf("%s:%d: %s", e.File, e.Line, e.Message) }

// maxFaults is how many refusals are kept, how many faults that refute, and how many that do not: none of one
// kind takes the room of one of another.
const maxFaults = 32

// noted adds a fault to others.
func noted(all []model.PlanFault, x model.PlanFault) []model.PlanFault {
	n := 0
	for i := range all {
		if all[i].Refutes == x.Refutes {
			n++
		}
	}
	if n == maxFaults {
		return all
	}
	return append(all, x)
}

func (f *File) refuse(line int, format string, args ...any) {
	if len(f.refusals) < maxFaults {
		f.refusals = append(f.refusals, model.Remark{Line: line, Message: fmt.Sprintf(format, args...)})
	}
}

func (f *File) fault(code string, refutes bool, line int, where, format string, args ...any) {
	f.faults = noted(f.faults, model.PlanFault{Code: code, Refutes: refutes, Line: line, Where: where, Message: fmt.Sprintf(format, args...)})
}
