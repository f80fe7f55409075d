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
	"slices"
	"strings"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/solve/place"
)

// All returns the methods of this package. Those that users compare with, and that others of
// ours equal or beat, run only if they are asked for by name.
func All() []solve.Solver {
	return []solve.Solver{
		&method{name: "ring", builders: ringBuilders, guarantee: "none on other networks than rings", source: "Patarasuk and Yuan 2009"},
		&method{name: "ring-bidirectional", builders: bidirectionalBuilders, guarantee: "none on other networks than rings", source: "Patarasuk and Yuan 2009"},
		&method{name: "rhd", builders: halvingBuilders, guarantee: "none", source: "Rabenseifner 2004", powers: []model.Kind{model.ReduceScatter}},
		&method{name: "recursive-doubling", builders: doublingBuilders, guarantee: "none", source: "Thakur et al. 2005", powers: []model.Kind{model.AllGather}, exchanges: doublings},
		&method{name: "bruck", builders: bruckBuilders, guarantee: "none", source: "Bruck et al. 1997", relays: true},
		&method{name: "direct", builders: directBuilders, guarantee: "none", source: "`solve/classic`", parts: planeParts},
		&method{name: "binomial", builders: binomialBuilders, guarantee: "none", source: "`solve/classic`", relays: true},
		&method{name: "double-binary-tree", builders: doubleTreeBuilders, guarantee: "none", source: "Sanders, Speck and Träff 2009"},
		&method{name: "swing", builders: swingBuilders, guarantee: "2 log2 n steps of an allreduce, short where they carry much", source: "De Sensi et al., NSDI 2024",
			powers: []model.Kind{model.ReduceScatter, model.AllGather, model.AllReduce}, parts: gridParts, comparison: true},
		&method{name: "bine", builders: bineBuilders, guarantee: "log2 n steps, far ones first", source: "De Sensi et al., SC 2025",
			powers: []model.Kind{model.Broadcast, model.Reduce}, comparison: true},
		&method{name: "bucket", builders: bucketBuilders, guarantee: "on tori whose dimensions are alike, the bound where latency is small", source: "Jain and Sabharwal, ICS 2010", parts: gridParts, comparison: true},
		&method{name: "pat", builders: patBuilders, guarantee: "⌈log2 n⌉ steps for every n", source: "Jeaugey, arXiv:2506.20252", comparison: true},
		&method{name: "recursive-multiplying", builders: multiplyingBuilders, guarantee: "⌈log4 n⌉ steps, two more where n is no such product", source: "Ruefenacht et al. 2017", exchanges: multiplyings, comparison: true},
	}
}

// builders has for each collective that an algorithm serves how its program is written.
type builders map[model.Kind]func(*plan)

// method is a solve.Solver made of builders.
type method struct {
	name              string
	builders          builders
	guarantee, source string
	powers            []model.Kind               // collectives for 2^q members only
	parts             func(p *model.Problem) int // in how many parts it cuts a block; nil: one
	relays            bool                       // what goes from one to one passes others, in steps of powers of two
	exchanges         func(n int) int            // how often a chunk of an allreduce is sent; nil: 2(n-1) times
	comparison        bool
}

// gridParts is two for each dimension of a grid, one for each way round.
func gridParts(p *model.Problem) int { return 2 * max(1, len(gridOf(p))) }

// Name implements solve.Solver.
func (m *method) Name() string { return m.name }

// About implements solve.Solver.
func (m *method) About() solve.About {
	serves := "all eight"
	if m.builders[model.Custom] != nil {
		serves += ", and custom ones that move parts or sum parts up, such as alltoallv"
	}
	if len(m.builders) < len(model.Kinds()) {
		serves = strings.Join(m.collectives(" of 2^q ranks"), ", ")
	}
	return solve.About{Serves: serves, Guarantee: m.guarantee, Source: m.source, ComparisonOnly: m.comparison, Quick: true, NeedsCut: passesOn}
}

// passesOn reports whether ranks pass on what one of them has, or the sum of what all have to one: chunks then follow
// each other along chains and trees. Other collectives have a chunk for each rank, or a cut that belongs to the method.
func passesOn(p *model.Problem) bool {
	return p.Collective.Kind == model.Broadcast || p.Collective.Kind == model.Reduce
}

// collectives names those that are served; the ones that need a power of two of members
// have a remark after their names.
func (m *method) collectives(remark string) []string {
	var names []string
	for _, k := range model.Kinds() {
		switch {
		case m.builders[k] == nil:
		case slices.Contains(m.powers, k):
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
	if slices.Contains(m.powers, kind) && n&(n-1) != 0 {
		return solve.NotServed("serves %v for a power of two of ranks, not %d", kind, n)
	}
	if kind == model.Custom {
		transfers, err := servesCustom(p)
		if err != nil {
			return err
		}
		if transfers > maxMoves {
			return solve.NotServed("would make %d transfers, at most %d are placed", transfers, maxMoves)
		}
	}
	if kind != model.Custom {
		if transfers := m.transfers(p); transfers > maxMoves {
			return solve.NotServed("would make %d transfers, at most %d are placed", transfers, maxMoves)
		}
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
	k := o.Chunks
	if k == 0 && m.parts != nil {
		k = m.parts(p)
	}
	p = solve.Cut(p, k)
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
