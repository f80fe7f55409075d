package model

import (
	"errors"
	"strconv"
)

// Plan is a collective as threadblocks carry it out for one size of the message: the form of
// execution plans such as those of MSCCL++, as a runtime understands them. Unlike in a Program,
// nothing orders two operations of a threadblock unless an operation between them joins its
// threads, and ranks exchange data through each other's memory. All positions and sizes are in
// bytes; of packets, whose flags take as much room as their payload, positions and sizes count
// the payload alone.
type Plan struct {
	Ranks      int
	Message    int64 // bytes by which runtimes choose the plan
	Buffers    []PlanBuffer
	Counters   []PlanCounter // one for each direction of a channel
	Semaphores []int         // initial values
	Blocks     []PlanBlock

	// Wants are what buffers hold at the end, if the collective is known. Before it the
	// input of each rank r, Inputs[r], holds the contribution of r, byte for byte.
	Inputs []int // indices in Buffers
	Wants  []PlanWant
}

// PlanBuffer is a name for memory of a rank. Buffers of one Space may overlap, others do not.
type PlanBuffer struct {
	Rank       int
	Name       string // "i", "o" or "s"
	Space      int    // of memory; positions of a Space begin at 0
	Base, Size int64  // in the space
	User       bool   // it belongs to the caller, and so to the rank between its start and its end only
	Packets    int64  // bytes of payload that it holds as packets; 0: it holds none
}

// PlanCounter is what signals raise and waits take from: it persists over launches.
type PlanCounter struct {
	Name     string // "memory channel 0 of gpu 1 to gpu 0"
	From, To int    // the rank that signals and the one that waits
	Lost     bool   // no channel of To is its other end: nobody can wait for it, or signal it
}

// PlanBlock is a threadblock.
type PlanBlock struct {
	Rank, ID, Line int
	Ops            []PlanOp
}

// PlanVerb is what an operation does.
type PlanVerb uint8

// The verbs. The k-th identifier of an operation is the business of thread k alone; moves of
// Compute are carried out by all threads, of which thread t takes the elements t, t+n, t+2n and so on, n being their number; those
// of Request are handed to a proxy, the k-th by thread k, which does not wait.
const (
	PlanJoin    PlanVerb = iota // the threads of the threadblock meet
	PlanBarrier                 // those of several threadblocks meet
	PlanSignal                  // raises the counters IDs
	PlanWait                    // waits for the counters IDs
	PlanRelease                 // raises the semaphores IDs
	PlanAcquire                 // takes from the semaphores IDs
	PlanCompute                 // Moves
	PlanRequest                 // Moves through the channels Ports; then raises IDs[k], if any
	PlanFlush                   // waits for the earlier requests of Ports
)

// PlanOp is an operation.
type PlanOp struct {
	Verb    PlanVerb
	Name    string // as the format has it: "put"
	Label   int    // its number in the threadblock
	Inner   int    // its number in its pipeline, plus one; 0: it is in none
	Round   int    // the iteration of that pipeline
	Line    int
	IDs     []int // counters or semaphores; those a Request raises: none, or one a move
	Ports   []int // channels: of a Request and a Flush one a move, of a Signal through a proxy one a counter
	Relaxed bool  // it orders execution and not memory
	Flush   bool  // of a Request: thread k waits until it is done
	Moves   []PlanMove

	Barrier, Blocks int // which, and how many threadblocks meet; of PlanBarrier
}

// PlanMove writes the sum of what Srcs hold to all Dsts; spans are of equal size. Element e of
// a move, of Grain bytes, is at Start+e*Grain of each span.
type PlanMove struct {
	Srcs, Dsts []PlanSpan
	Grain      int64
}

// PlanSpan is a part of a buffer. A read of packets waits for them.
type PlanSpan struct {
	Buffer      int
	Start, Size int64
	Packet      bool
}

// PlanWant is what a part of a buffer must hold at the end: the sum of what the inputs of Ranks
// held from From on.
type PlanWant struct {
	Buffer      int
	Start, Size int64
	Ranks       []int
	From        int64
	Kept        bool // it is an input that nothing should have written
}

// Place names an operation: "gpu 0 tb 1 op 2 (put)".
func (b *PlanBlock) Place(i int) string {
	o := &b.Ops[i]
	text := "gpu " + strconv.Itoa(b.Rank) + " tb " + strconv.Itoa(b.ID) + " op " + strconv.Itoa(o.Label)
	if o.Inner > 0 {
		text += "." + strconv.Itoa(o.Inner-1) + " iteration " + strconv.Itoa(o.Round)
	}
	return text + " (" + o.Name + ")"
}

// PlanFile is a file of execution plans as a reader of its format understands it.
// verify/plan decides about it.
type PlanFile struct {
	Line           int
	Name           string
	Collective     string // as the file has it
	Protocol       string
	Format         string // "v1" or "v2"
	Ranks, Chunks  int    // chunks of the message
	Ops            int    // operations of all ranks
	InPlace        bool
	Loadings       []Loading // of the runtimes that read its format
	Others         []Loading // of those that read another one
	Min, Max       int64     // bytes of a message for which the file may be chosen, both included
	Unit           int64     // messages are multiples of it
	Halves         int       // of scratch, which launches use in turns: 1 or 2
	Faults         []PlanFault
	Sizes          []PlanSizes // the ways in which messages divide, ascending
	At             func(message int64, half int) (*Plan, error)
	Judged         string // the runtime by whose kernel it is judged
	UnknownMeaning bool   // what the collective should do is not known
}

// PlanFault is something in a file that is wrong, or is not carried out as it is written, at any size.
type PlanFault struct {
	Code    string // of verify
	Refutes bool
	Line    int
	Where   string
	Message string
}

// PlanSizes are messages that divide in one way: a verdict about the message Each holds for all from
// Min to Max that are Each plus a multiple of Step; Step is 0 for Each alone.
type PlanSizes struct {
	Each, Min, Max, Step int64
	Why                  string // why larger messages are not among those of the list, for its last row
}

// Bytes is how many bytes a move moves: the size of its spans.
func (m *PlanMove) Bytes() int64 {
	if len(m.Srcs) > 0 {
		return m.Srcs[0].Size
	}
	if len(m.Dsts) > 0 {
		return m.Dsts[0].Size
	}
	return 0
}

// ErrNotDivided is wrapped by the error of a PlanFile's At for a message that the runtime refuses
// since it does not divide into the chunks as operations need it.
var ErrNotDivided = errors.New("the message does not divide")
