package model

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"strings"
)

// Kind names a collective.
type Kind uint8

// The collectives. Custom has its pre- and postcondition written out.
const (
	Custom Kind = iota
	Broadcast
	Scatter
	Gather
	Reduce
	AllGather
	ReduceScatter
	AllReduce
	AllToAll
)

var kindNames = []string{"custom", "broadcast", "scatter", "gather", "reduce", "allgather", "reducescatter", "allreduce", "alltoall"}

// String returns the name used in files and on the command line: "allgather".
func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return fmt.Sprintf("Kind(%d)", uint8(k))
}

// ParseKind is the inverse of Kind.String.
func ParseKind(s string) (Kind, error) {
	if i := slices.Index(kindNames, s); i >= 0 {
		return Kind(i), nil
	}
	return 0, fmt.Errorf("collective %q: want broadcast, scatter, gather, reduce, allgather, reducescatter, allreduce, alltoall or custom", s)
}

// KindNamed is ParseKind for what people type: letters of either case, with or without
// hyphens and underscores between the words, as in nccl-tests' all_gather or MPI's Reduce_scatter.
func KindNamed(s string) (Kind, error) {
	if k, err := ParseKind(strings.NewReplacer("_", "", "-", "").Replace(strings.ToLower(s))); err == nil {
		return k, nil
	}
	return ParseKind(s)
}

// Kinds returns the eight standard collectives.
func Kinds() []Kind {
	return []Kind{Broadcast, Scatter, Gather, Reduce, AllGather, ReduceScatter, AllReduce, AllToAll}
}

// Rooted reports whether the collective has a root.
func (k Kind) Rooted() bool {
	return k == Broadcast || k == Scatter || k == Gather || k == Reduce
}

// Reduces reports whether the collective combines contributions. A custom one may.
func (k Kind) Reduces() bool {
	return k == Reduce || k == ReduceScatter || k == AllReduce
}

// Operator is what a reduction computes. It decides which multisets of
// contributions are as good as the wanted one.
type Operator uint8

// The operators. Sum and Prod need every contribution exactly once; Min and Max
// are idempotent, so that any positive count serves.
const (
	Sum Operator = iota
	Prod
	Min
	Max
)

var operatorNames = []string{"sum", "prod", "min", "max"}

// String returns the name used in files: "sum".
func (o Operator) String() string {
	if int(o) < len(operatorNames) {
		return operatorNames[o]
	}
	return fmt.Sprintf("Operator(%d)", uint8(o))
}

// ParseOperator is the inverse of Operator.String.
func ParseOperator(s string) (Operator, error) {
	if i := slices.Index(operatorNames, s); i >= 0 {
		return Operator(i), nil
	}
	return 0, fmt.Errorf("operator %q: want sum, prod, min or max", s)
}

// Idempotent reports whether adding a contribution again changes nothing.
func (o Operator) Idempotent() bool { return o == Min || o == Max }

// Term is a contribution and how often it occurs.
type Term struct {
	Rank  int
	Count int // >= 1
}

// Value is a multiset of contributions. The zero Value is empty.
type Value struct {
	unit  int    // 1 + the rank of a single contribution, or 0
	once  []int  // each of these ranks once
	terms []Term // anything else, by ascending rank
}

// Unit returns the value that is rank r's contribution alone.
func Unit(r int) Value { return Value{unit: r + 1} }

// Once returns the value that holds each rank of group once. It keeps group.
func Once(group []int) Value { return Value{once: group} }

// Multiset returns the value with the given terms, which must have different
// ranks and positive counts.
func Multiset(terms ...Term) Value {
	terms = slices.Clone(terms)
	slices.SortFunc(terms, func(a, b Term) int { return a.Rank - b.Rank })
	if len(terms) == 1 && terms[0].Count == 1 {
		return Unit(terms[0].Rank)
	}
	return Value{terms: terms}
}

// Len returns the number of different contributions in v.
func (v Value) Len() int {
	if v.unit != 0 {
		return 1
	}
	return len(v.once) + len(v.terms)
}

// Terms yields each contribution in v with its count.
func (v Value) Terms() iter.Seq2[int, int] {
	return func(yield func(rank, count int) bool) {
		if v.unit != 0 {
			yield(v.unit-1, 1)
			return
		}
		for _, r := range v.once {
			if !yield(r, 1) {
				return
			}
		}
		for _, t := range v.terms {
			if !yield(t.Rank, t.Count) {
				return
			}
		}
	}
}

// Single returns the contribution that v consists of, if it is just one, once.
func (v Value) Single() (rank int, ok bool) { return v.unit - 1, v.unit != 0 }

// Condition states what a rank holds of a chunk.
type Condition struct {
	Rank, Chunk int
	Value       Value
}

// Collective is a communication pattern over a group of ranks. It says nothing
// of sizes and times; Problem does.
//
// The buffer that a collective moves is divided into shards:
//
//	broadcast, reduce, allreduce            one shard, the buffer
//	scatter, gather, allgather,
//	reducescatter                           one shard per member, in the group's order
//	alltoall                                one shard per pair: shard s·n+d goes from member s to member d
//	custom                                  one shard per chunk of its own
//
// A chunk never straddles two shards. A custom collective without Ends has as many chunks as
// shards; with Ends its shards are cut like those of the others.
type Collective struct {
	Kind  Kind
	Group []int // the ranks that take part, in the collective's order; nil: all
	Root  int   // a rank, for those that are Rooted; else 0
	Op    Operator
	// DType is the type of the numbers, which decides what switches add of them.
	DType DType

	// Custom only.
	Name   string      // what it is called, such as "alltoallv"; "": nothing. It has no meaning.
	Chunks int         // number of chunks, which are its shards
	Ends   []int64     // where each ends, in bytes, ascending; nil: where the chunks of the problem do
	Pre    []Condition // what is there at the start; the rest is undefined
	Post   []Condition // what must be there at the end; the rest does not matter
	// Both are sorted by chunk, then rank.
}

// Label returns the kind or, of a custom collective with a name, "custom alltoallv".
func (c *Collective) Label() string {
	if c.Kind == Custom && c.Name != "" {
		return c.Kind.String() + " " + c.Name
	}
	return c.Kind.String()
}

// Cuttable reports whether there is more than one way to cut c into chunks: a custom collective
// without Ends has only that of its problem.
func (c *Collective) Cuttable() bool { return c.Kind != Custom || c.Ends != nil }

// Sizes returns how many bytes each shard of a custom collective with Ends has, else nil.
func (c *Collective) Sizes() []int64 {
	sizes := slices.Clone(c.Ends)
	for i := len(sizes) - 1; i > 0; i-- {
		sizes[i] -= sizes[i-1]
	}
	return sizes
}

// EndsOf returns where shards of these sizes end. Sums beyond MaxSize are MaxSize+1.
func EndsOf(sizes []int64) []int64 {
	ends, at := make([]int64, len(sizes)), int64(0)
	for i, n := range sizes {
		at = min(at+min(n, MaxSize+1), MaxSize+1)
		ends[i] = at
	}
	return ends
}

// String returns "allgather" or "broadcast from rank 2".
func (c Collective) String() string {
	switch c.Kind {
	case Custom:
		return c.Label()
	case Broadcast, Scatter:
		return fmt.Sprintf("%v from rank %d", c.Kind, c.Root)
	case Gather, Reduce:
		return fmt.Sprintf("%v to rank %d", c.Kind, c.Root)
	}
	return c.Kind.String()
}

// Reduces reports whether c combines contributions: its postcondition has a value
// of more than one contribution.
func (c *Collective) Reduces() bool {
	if c.Kind != Custom {
		return c.Kind.Reduces()
	}
	return slices.ContainsFunc(c.Post, func(p Condition) bool { _, single := p.Value.Single(); return !single })
}

// SortConditions puts conditions into the order that a Collective wants them in.
func SortConditions(list []Condition) { slices.SortFunc(list, compareConditions) }

func compareConditions(a, b Condition) int {
	return cmp.Or(cmp.Compare(a.Chunk, b.Chunk), cmp.Compare(a.Rank, b.Rank))
}

// Identical reports whether two values were made from the same terms in memory, which
// takes no time to see. Equal values need not be identical.
func Identical(a, b Value) bool {
	return a.unit == b.unit && len(a.once) == len(b.once) && len(a.terms) == len(b.terms) &&
		(len(a.once) == 0 || &a.once[0] == &b.once[0]) && (len(a.terms) == 0 || &a.terms[0] == &b.terms[0])
}
