// Package workload holds the nouns of several operations over process groups on one
// network: collectives, computations and barriers, what each waits for, the jobs they
// belong to, and a schedule of all of them. A model.Problem is the workload of one operation
// (Of); hierarchical, sparse and 2.5-D collectives, Adasum, and training jobs that share
// GPUs in turns (Luo et al., "CrossoverScheduler", arXiv:2103.07974, 2021) are others. The
// package solves nothing and verifies nothing; model/native reads and writes its files.
//
// # Memory
//
// Operations read and write named buffers, which every rank has for itself. A collective
// works in place on a region of its buffer, so that what one leaves there the next one finds.
// What is in a buffer at the start is an input, of which nothing is known but its rank and
// its place. A computation is a function of which nothing is known but that equal inputs
// give equal outputs.
//
// # Iterations
//
// An operation of a job runs as often as the job iterates: in all, or, in a periodic
// workload, in each period. An edge of height h leads from an iteration to the h-th after it.
package workload

import (
	"fmt"
	"slices"

	"github.com/oraccl/oraccl/model"
)

// Workload is a graph of operations over one network.
type Workload struct {
	Topology  *model.Topology
	Cost      model.CostModel // Blocking or Pipelined
	Operators []Operator      // beside sum, prod, min and max
	Groups    []Group
	Release   []model.Time // when each rank arrives, for all operations; nil: at 0
	Memory    []int64      // bytes that each rank has; nil: without limit
	Jobs      []Job
	Ops       []Op
	Edges     []Edge
	Periodic  bool   // iterations are those of a period, which is repeated for ever
	Goal      []Goal // what must be there at the end, beside what each operation promises
}

// Group is a named list of ranks, in the order of the collectives on it.
type Group struct {
	Name  string
	Ranks []int
}

// Job is a list of operations that iterates.
type Job struct {
	Name       string
	Iterations int   // in all; in a periodic workload, in each period
	Resident   int64 // bytes that it keeps on each rank all the time
}

// Operator is what a reduction computes, where that is not sum, prod, min or max.
type Operator struct {
	Name        string
	Associative bool
	Commutative bool
	Elementwise bool // a part of the result depends on that part of the operands alone
	Tree        Tree // in which order operands are combined; needed unless both Associative and Elementwise
}

// Tree names a combine tree over the members of a group, by their index in it.
type Tree string

// The trees.
const (
	AnyTree  Tree = ""             // any: of an operator that is associative
	Same     Tree = "same"         // any, but the same on all ranks: a floating-point sum, bit for bit
	Balanced Tree = "balanced-lsb" // of 2^L members: by the bits of the index, lowest first; ((0,1),(2,3)) for four
	Chain    Tree = "chain"        // (((0,1),2),3)
)

// Kind is what an operation does.
type Kind string

// The kinds beside the names of the collectives, which are those of model.Kind.
const (
	Compute  Kind = "compute"
	Barrier  Kind = "barrier"
	SendRecv Kind = "sendrecv" // from the first member of a group of two to the second
)

// Collective returns the collective of k; ok is false for compute and barrier. A sendrecv
// is a broadcast to one.
func (k Kind) Collective() (c model.Kind, ok bool) {
	switch k {
	case Compute, Barrier:
		return 0, false
	case SendRecv:
		return model.Broadcast, true
	}
	c, err := model.ParseKind(string(k))
	return c, err == nil
}

// Region is a part of a buffer. Size 0 where the operation has it.
type Region struct {
	Buffer       string
	Offset, Size int64 // bytes
}

// Access is a region that a computation reads or writes, until a time after its start; a
// write is there from then on. Until 0: until it ends.
type Access struct {
	Region
	Until model.Time
}

// Op is an operation on the ranks of a group.
type Op struct {
	ID    string
	Kind  Kind
	Job   string // of Jobs; "": none, it runs once, or once a period
	Group string // of Groups; "": all ranks

	// Of collectives.
	Root     int    // a rank
	Operator string // "": sum. Of a computation: see Function
	Size     int64  // as in a model.Problem
	Chunks   []model.Chunk
	Custom   model.Collective // of kind custom: its chunks, pre- and postcondition
	// Buffer is where it works: chunks lie at their offset after Offset. Without a name it is a
	// buffer of its own. Into, of a broadcast or sendrecv, is where those who receive have it.
	Buffer, Into Region
	Given        *model.Schedule // nil: to be found

	// Of computations. Duration is that on each member, in the group's order, or one for all.
	//
	// Without a Function, Operator combines what is written with what is read, element by
	// element, and without an operator, too, reads are copied. With one, f(reads) is written, or,
	// with an Operator, combined with what is there. An operator that is not elementwise has
	// scalars: Function "scalars" with that Operator reads two operands and writes their
	// scalars, without a Function it reads the other operand and the scalars, and writes its own.
	Duration      []model.Time
	Reads, Writes []Access
	Function      string
	Bytes         int64 // that it needs on each rank while it runs

	Release map[int]model.Time // when it may begin on a rank, beside Workload.Release
}

// Scalars is the function that computes the scalars of an operator that is not elementwise.
const Scalars = "scalars"

// Scope is where an operation waits for another one.
type Scope uint8

// The scopes.
const (
	ByRank  Scope = iota // on a rank for the other one on that rank
	ByChunk              // a chunk on a rank for the chunks of the other one there that it overlaps
	ByAll                // on every rank for the other one on all of its ranks
)

var scopeNames = []string{"rank", "chunk", "all"}

// String returns "rank", "chunk" or "all".
func (s Scope) String() string {
	if int(s) < len(scopeNames) {
		return scopeNames[s]
	}
	return fmt.Sprintf("Scope(%d)", uint8(s))
}

// ParseScope is the inverse of Scope.String.
func ParseScope(s string) (Scope, error) {
	if i := slices.Index(scopeNames, s); i >= 0 {
		return Scope(i), nil
	}
	return 0, fmt.Errorf("scope %q: want rank, chunk or all", s)
}

// Edge has operation To wait for From.
type Edge struct {
	From, To int // indices of Ops
	Scope    Scope
	Height   int // iterations from one to the other
	// Offset counts from the start of From, a computation, where FromStart is set; else To
	// waits for its end.
	Offset    model.Time
	FromStart bool
}

// Goal is what a region must hold at the end, on the ranks of a group.
type Goal struct {
	Region
	Group string
	Value Value
}

// Value is what a region holds, in terms of what was there at the start. It is an input, a
// combination by an operator, or what a function makes of its arguments.
type Value struct {
	// Input is a region of a buffer as it was at the start; its rank is Rank, or, for Rank -1,
	// that which the value is for, or over which a combination runs.
	Input *Region
	Rank  int

	Operator string // combines the values of Of, in this order
	Over     string // a group, whose ranks Of runs over: it has one value
	Tree     Tree   // of an operator that is not associative

	Function string  // f(Of), or the part of it that begins At bytes after its first
	At       int64   //
	Of       []Value //
	Bytes    []int64 // of a function: how much each argument has
}

// Of returns the workload of one operation, a problem. It takes p's name of the collective
// for the operation's.
func Of(p *model.Problem) *Workload {
	w := &Workload{Topology: p.Topology, Cost: p.Cost, Release: p.Release}
	op := Op{ID: p.Collective.Kind.String(), Kind: Kind(p.Collective.Kind.String()), Root: p.Collective.Root, Size: p.Size, Chunks: p.Chunks}
	if p.Collective.Op != model.Sum {
		op.Operator = p.Collective.Op.String()
	}
	if p.Collective.Group != nil {
		op.Group = "members"
		w.Groups = []Group{{op.Group, p.Collective.Group}}
	}
	if p.Collective.Kind == model.Custom {
		op.Custom = p.Collective
	}
	w.Ops = []Op{op}
	return w
}

// Members returns the ranks of the group of a name, "" being all. The group must exist.
func (w *Workload) Members(group string) []int {
	if group == "" {
		return (&model.Problem{Topology: w.Topology}).Members()
	}
	return w.Groups[slices.IndexFunc(w.Groups, func(g Group) bool { return g.Name == group })].Ranks
}

// Iterations returns how often operation i runs: in all, or in each period.
func (w *Workload) Iterations(i int) int {
	if j := slices.IndexFunc(w.Jobs, func(j Job) bool { return j.Name == w.Ops[i].Job }); j >= 0 {
		return w.Jobs[j].Iterations
	}
	return 1
}

// OperatorOf returns the operator of a name; ok is false if there is none. The built-in ones,
// and "", sum, are associative, commutative and elementwise.
func (w *Workload) OperatorOf(name string) (o Operator, ok bool) {
	if i := slices.IndexFunc(w.Operators, func(o Operator) bool { return o.Name == name }); i >= 0 {
		return w.Operators[i], true
	}
	if name == "" {
		name = model.Sum.String()
	}
	_, err := model.ParseOperator(name)
	return Operator{Name: name, Associative: true, Commutative: true, Elementwise: true}, err == nil
}

// Free reports whether the order in which operands are combined does not matter.
func (o Operator) Free() bool { return o.Associative && o.Commutative && o.Elementwise }

// Problem returns operation i, a collective, as a problem of its own, which begins at 0.
// Operators of the workload's own count as sums there: each contribution is wanted once.
func (w *Workload) Problem(i int) *model.Problem {
	op := &w.Ops[i]
	kind, _ := op.Kind.Collective()
	c := model.Collective{Kind: kind, Root: op.Root}
	if kind == model.Custom {
		c = op.Custom
	}
	if op.Kind == SendRecv {
		c.Root = w.Members(op.Group)[0]
	}
	if o, err := model.ParseOperator(op.Operator); err == nil {
		c.Op = o
	}
	if op.Group != "" {
		c.Group = w.Members(op.Group)
	}
	return &model.Problem{Topology: w.Topology, Collective: c, Size: op.Size, Chunks: op.Chunks, Cost: w.Cost}
}

// DurationOn returns how long computation i takes on the m-th member of its group.
func (w *Workload) DurationOn(i, m int) model.Time {
	d := w.Ops[i].Duration
	if len(d) == 1 {
		return d[0]
	}
	return d[m]
}

// ReleaseOf returns the time before which operation i does not begin on a rank.
func (w *Workload) ReleaseOf(i, rank int) model.Time {
	t := w.Ops[i].Release[rank]
	if w.Release != nil {
		t = max(t, w.Release[rank])
	}
	return t
}

// BufferOf returns the name of the buffer in which collective i has chunks on a rank, and
// where in it they begin.
func (w *Workload) BufferOf(i, rank int) (name string, offset int64) {
	op := &w.Ops[i]
	r := op.Buffer
	if op.Into.Buffer != "" && rank != w.source(i) {
		r = op.Into
	}
	if r.Buffer == "" {
		return "#" + op.ID, 0
	}
	return r.Buffer, r.Offset
}

// source returns the rank from which a broadcast or sendrecv goes.
func (w *Workload) source(i int) int {
	if w.Ops[i].Kind == SendRecv {
		return w.Members(w.Ops[i].Group)[0]
	}
	return w.Ops[i].Root
}

// Index returns the index of the operation of a name, or -1.
func (w *Workload) Index(id string) int {
	return slices.IndexFunc(w.Ops, func(o Op) bool { return o.ID == id })
}

// After adds an edge by which an operation waits for the end of another one.
func (w *Workload) After(to, from string, scope Scope) {
	w.Edges = append(w.Edges, Edge{From: w.Index(from), To: w.Index(to), Scope: scope})
}

// Schedule is a schedule of a workload.
type Schedule struct {
	Workload *Workload
	Period   model.Time        // of a periodic workload; else 0
	Programs []*model.Schedule // schedules of collectives, which placements share
	Placed   []Placement       // every iteration of every operation, once, in any order
	Origin   model.Origin
}

// Placement puts one iteration of an operation in time. In a periodic workload the whole
// is repeated after each period, so that At may be larger than it.
type Placement struct {
	Op, Iteration int
	At            model.Time   // when the clock of the program starts; of a barrier, when it is passed
	Program       int          // index of Programs; -1 for computations and barriers
	Starts        []model.Time // of a computation on each member
}

// Makespan returns the end of the last operation, from time 0. s must be valid.
func (s *Schedule) Makespan() model.Time {
	last := model.Time(0)
	ends := make([]model.Time, len(s.Programs))
	for i, p := range s.Programs {
		for j := range p.Transfers {
			ends[i] = max(ends[i], p.Transfers[j].End)
		}
	}
	for _, p := range s.Placed {
		last = max(last, p.At)
		if p.Program >= 0 {
			last = max(last, p.At.Add(ends[p.Program]))
		}
		for m, at := range p.Starts {
			last = max(last, at.Add(s.Workload.DurationOn(p.Op, m)))
		}
	}
	return last
}

// Moved returns how many bytes each rank receives in all, and how many each set of ranks
// receives from outside it, by the ends of transfers; set gives the number of a rank's set, from 0 to
// sets-1. Relays on the way are not counted. s must be valid.
func (s *Schedule) Moved(sets int, set func(rank int) int) (received, into []int64) {
	received, into = make([]int64, s.Workload.Topology.Ranks), make([]int64, sets)
	for _, p := range s.Placed {
		if p.Program < 0 {
			continue
		}
		for i := range s.Programs[p.Program].Transfers {
			t := &s.Programs[p.Program].Transfers[i]
			bytes := s.Workload.Ops[p.Op].Chunks[t.Chunk].Size
			received[t.Dst] += bytes
			if a, b := set(int(t.Src)), set(int(t.Dst)); a != b {
				into[b] += bytes
			}
		}
	}
	return received, into
}

// String returns the workload in short: "a workload of 12 operations in 2 jobs, 4 ranks, on
// full:4, pipelined".
func (w *Workload) String() string {
	jobs := ""
	if len(w.Jobs) > 0 {
		jobs = " in " + model.Count(len(w.Jobs), "job")
	}
	periodic := ""
	if w.Periodic {
		periodic = "periodic "
	}
	return fmt.Sprintf("a %sworkload of %s%s, %s, on %s, %v", periodic, model.Count(len(w.Ops), "operation"), jobs,
		model.Count(w.Topology.Ranks, "rank"), w.Topology.Name, w.Cost)
}
