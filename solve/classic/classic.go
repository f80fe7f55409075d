// Package classic holds the algorithms that libraries have used for decades, one
// file each, for the collectives that each serves, on any topology: their logical
// neighbours are routed over shortest paths, and contention is scheduled (package
// place). They are baselines: none is optimal in general.
//
// The members of the group are numbered 0..n-1 in the group's order, and a block
// is what a member owns: its shard, or for allreduce one of n equal parts of the
// chunks. Chunks of a block are sent one after the other.
package classic

import (
	"context"
	"math/bits"
	"slices"
	"strings"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/solve/place"
)

// All returns the methods of this package.
func All() []solve.Solver {
	return []solve.Solver{
		&method{"ring", ringBuilders, "none on other networks than rings", "Patarasuk and Yuan 2009"},
		&method{"ring-bidirectional", bidirectionalBuilders, "none on other networks than rings", "Patarasuk and Yuan 2009"},
		&method{"rhd", halvingBuilders, "none", "Rabenseifner 2004"},
		&method{"recursive-doubling", doublingBuilders, "none", "Thakur et al. 2005"},
		&method{"bruck", bruckBuilders, "none", "Bruck et al. 1997"},
		&method{"direct", directBuilders, "none", "`solve/classic`"},
		&method{"binomial", binomialBuilders, "none", "`solve/classic`"},
		&method{"double-binary-tree", doubleTreeBuilders, "none", "Sanders, Speck and Träff 2009"},
	}
}

// builders says for each collective that an algorithm serves how its program is
// written, and whether it needs a power of two of members.
type builders map[model.Kind]func(*plan)

// method is a solve.Solver made of builders.
type method struct {
	name              string
	builders          builders
	guarantee, source string
}

// Name implements solve.Solver.
func (m *method) Name() string { return m.name }

// powersOfTwo are the pairs of method and collective that need 2^k members.
var powersOfTwo = map[string][]model.Kind{
	"rhd":                {model.ReduceScatter},
	"recursive-doubling": {model.AllGather},
}

// About implements solve.Solver.
func (m *method) About() solve.About {
	serves := "all eight"
	if len(m.builders) < len(model.Kinds()) {
		serves = strings.Join(m.collectives(" of 2^q ranks"), ", ")
	}
	return solve.About{Serves: serves, Guarantee: m.guarantee, Source: m.source}
}

// collectives names those that are served; the ones that need a power of two of members
// have a remark after their names.
func (m *method) collectives(remark string) []string {
	var names []string
	for _, k := range model.Kinds() {
		switch {
		case m.builders[k] == nil:
		case slices.Contains(powersOfTwo[m.name], k):
			names = append(names, k.String()+remark)
		default:
			names = append(names, k.String())
		}
	}
	return names
}

// maxMoves limits the size of what is placed: it takes about 200 bytes a move.
const maxMoves = 1 << 23

// Serves implements solve.Solver.
func (m *method) Serves(p *model.Problem) error {
	kind := p.Collective.Kind
	if m.builders[kind] == nil {
		return solve.NotServed("serves %s, not %v", strings.Join(m.collectives(""), ", "), kind)
	}
	n := len(p.Members())
	if slices.Contains(powersOfTwo[m.name], kind) && n&(n-1) != 0 {
		return solve.NotServed("serves %v for a power of two of ranks, not %d", kind, n)
	}
	chunks := len(p.Chunks)
	if p.Chunks == nil {
		chunks = p.DefaultChunks(1)
	}
	perChunk := 2 * n
	if kind == model.AllToAll || kind == model.Scatter || kind == model.Gather {
		perChunk = bits.Len(uint(n))
	}
	if int64(chunks)*int64(perChunk) > maxMoves {
		return solve.NotServed("would make %d transfers, at most %d are placed", int64(chunks)*int64(perChunk), maxMoves)
	}
	if err := place.Reachable(p.Topology); err != nil {
		return solve.NotServed("%v", err)
	}
	return nil
}

// Solve implements solve.Solver. It is deterministic and uses no options but Chunks and
// the time limit.
func (m *method) Solve(ctx context.Context, p *model.Problem, o solve.Options) (solve.Result, error) {
	if err := m.Serves(p); err != nil {
		return solve.Result{}, err
	}
	b, cancel := o.Budget(ctx)
	defer cancel()
	p = solve.Cut(p, o.Chunks)
	x := &plan{Program: place.NewProgram(p).Until(b.Context()), p: p, members: p.Members(), n: len(p.Members())}
	if p.Collective.Kind.Rooted() {
		x.root = slices.Index(x.members, p.Collective.Root)
	}
	if x.n > 1 {
		m.builders[p.Collective.Kind](x)
	}
	s, err := x.Place()
	switch stop := b.Stop(); {
	case err != nil && stop != 0:
		return solve.Result{Problem: p, Stop: stop}, nil
	case err != nil:
		return solve.Result{}, solve.NotServed("%v", err)
	}
	return solve.Result{Problem: p, Schedule: s, Stop: solve.Done}, nil
}

// plan is a program under construction, in terms of members.
type plan struct {
	*place.Program
	p       *model.Problem
	members []int
	n       int
	root    int // as a member
}

// rank returns the rank of member i, counted modulo n.
func (x *plan) rank(i int) int { return x.members[((i%x.n)+x.n)%x.n] }

// move is a transfer between members.
func (x *plan) move(chunk, from, to int, op model.Op) place.Move {
	return place.Move{Chunk: chunk, Src: x.rank(from), Dst: x.rank(to), Op: op}
}

// blocks returns the chunks of each of n blocks: the shards where the collective
// has one per member, and equal runs of chunks where it has one in all.
func (x *plan) blocks(n int) [][]int {
	blocks := make([][]int, n)
	sharded := x.p.Shards() == n
	for k := range x.p.Chunks {
		b := k * n / len(x.p.Chunks)
		if sharded && x.p.Shards() > 1 {
			b = x.p.Shard(k)
		}
		blocks[b] = append(blocks[b], k)
	}
	return blocks
}

// all returns all chunks.
func (x *plan) all() []int {
	chunks := make([]int, len(x.p.Chunks))
	for k := range chunks {
		chunks[k] = k
	}
	return chunks
}

// both writes two programs one after the other: allreduce as reducescatter, then
// allgather, or as reduce, then broadcast. What is still being reduced does not
// hold up what is done.
func both(first, second func(*plan)) func(*plan) {
	return func(x *plan) {
		first(x)
		second(x)
	}
}
