// Package msccl reads MSCCL-IR, the XML in which schedules are deployed on
// NCCL-like runtimes: microsoft/msccl and RCCL (whose dialect Azure's executor for
// NCCL shares). Read takes a file as it is, with the line of everything in it;
// Algo.Load says whether a runtime would load it, Algo.Selection for which calls
// the runtime would pick it, and Algo.Program what the runtime would then carry
// out.
//
// What is decided here follows the runtimes' parsers, not a schema: which
// attributes they need, which elements they ignore, how they fold nop and
// consecutive re into other instructions and so number what depends and deps refer
// to, and which limits they have. Chunks are the unit of offsets and counts; sizes
// are in bytes.
package msccl

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
	Copies             int // elements that both runtimes ignore: <copy>, and others
	IgnoredLine        int // the first of them

	missing []fault // attributes that every runtime needs and that are not there
	lexical []fault // what XML allows and the runtimes' parser does not
}

// fault is something wrong in a line.
type fault struct {
	line    int
	message string
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

// Sends says whether a step of the type sends.
func (t Type) Sends() bool {
	return t == Send || t == RecvCopySend || t == RecvReduceSend || t == RecvReduceCopySend
}

// Receives says whether a step of the type receives.
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
