package broadcast

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve/arborescence"
)

// tempered returns trees that are flatter than those of a forest, which no single move makes flatter, if it finds any:
// moves that make trees deeper are made, too, the less often the later (simulated annealing: Kirkpatrick, Gelatt and
// Vecchi, Science 220, 1983). It returns the flattest of a few runs, nil if there is none or the forest is too large.
// A run takes O(mostTempered·nodes) time at worst; most subtrees are small.
func (f *Forest) tempered(ctx context.Context, p *model.Problem) *Forest {
	unit, all := units(f.Trees)
	hops := newGarden(p).hops
	if f.room == nil || all > mostFlattened || all*len(p.Members())*len(hops) > mostLooks {
		return nil
	}
	root := f.Trees[0].Root
	var flattest []arborescence.Tree
	least := newBed(p, hops, f.Trees, f.room, unit).sum()
	for seed := range uint64(temperings) {
		s := newBed(p, hops, f.Trees, f.room, unit)
		s.temper(ctx, rand.New(rand.NewPCG(seed, 1)), hot, cool, mostTempered)
		s = newBed(p, hops, s.trees(root, unit), f.room, unit) // times are exact again
		for order := s.branches(); s.pass(ctx, order); {
		}
		if sum := s.sum(); sum < least {
			flattest, least = s.trees(root, unit), sum
		}
	}
	if flattest == nil {
		return nil
	}
	return &Forest{Trees: flattest, Fits: f.Fits, room: f.room}
}

const (
	// temperings is how often trees are tempered, and mostTempered with how many moves that are tried each time.
	temperings, mostTempered = 2, 1 << 19
	// hot and cool are the temperatures at the start and at the end, in parts of the power of the time to the last node.
	hot, cool = 300, 0.1
)

// levelled returns trees as fast as those of a forest in which the mean time to the farthest rank, over the trees, is less, if it
// finds any; nil if not, or if the forest is too large. In the fluid limit a rank that has all its rate from the time on at which
// each tree reaches it has everything that much later than at full rate.
func (f *Forest) levelled(ctx context.Context, p *model.Problem) *Forest {
	unit, all := units(f.Trees)
	hops := newGarden(p).hops
	if f.room == nil || all < 2 || all > mostFlattened || all*len(p.Members())*len(hops) > mostLooks {
		return nil
	}
	var best *bed
	least := newBed(p, hops, f.Trees, f.room, unit).farthest()
	for seed := range uint64(levellings) {
		s := newBed(p, hops, f.Trees, f.room, unit)
		s.level = true
		s.temper(ctx, rand.New(rand.NewPCG(seed, 2)), warmLevel, coolLevel, mostLevelled)
		if far := s.farthest(); far < least-alike {
			best, least = s, far
		}
	}
	if best == nil {
		return nil
	}
	return &Forest{Trees: best.trees(f.Trees[0].Root, unit), Fits: f.Fits, room: f.room}
}

// farthest returns the largest mean time to a node, over the trees.
func (s *bed) farthest() float64 { return slices.Max(s.total) / float64(len(s.parent)) }

const (
	// levellings is how often trees are levelled, mostLevelled with how many moves that are tried each time.
	levellings, mostLevelled = 3, 1 << 20
	// warmLevel and coolLevel are the temperatures at the start and at the end, in parts of the power of that time.
	warmLevel, coolLevel = 3, 3e-4
)

// temper tries random moves.
func (s *bed) temper(ctx context.Context, rng *rand.Rand, hot, cool float64, moves int) {
	last := s.farthest()
	if !s.level {
		for _, tree := range s.reached {
			last = max(last, slices.Max(tree))
		}
	}
	heat, cooling := hot*power(last), math.Pow(cool/hot, 1/float64(moves))
	for n := range moves {
		if n%every == 0 && ctx.Err() != nil {
			return
		}
		s.jolt(rng, heat)
		heat *= cooling
	}
}

// jolt moves a random branch to a random hop, if that is not much worse. Where a link of the hop is full, a random branch
// leaves it for one from the parent that the first one leaves, as in improve.
func (s *bed) jolt(rng *rand.Rand, heat float64) {
	at := branch{rng.IntN(len(s.parent)), rng.IntN(len(s.into))}
	old := s.parent[at.tree][at.node]
	if old < 0 {
		return
	}
	to := s.into[at.node][rng.IntN(len(s.into[at.node]))]
	if to == old {
		return
	}
	gain := s.gain(at, to)
	if math.IsInf(gain, -1) {
		return
	}
	s.take(at, old, -1)
	s.take(at, to, 1)
	full, other, otherTo := s.full(to), branch{}, int32(-1)
	if full >= 0 && len(s.users[full]) > 0 { // none takes a link that has no room for a tree
		other = s.users[full][rng.IntN(len(s.users[full]))]
		var more float64
		otherTo, more = s.swapped(at, other, old, to)
		gain += more
	}
	s.take(at, to, -1)
	s.take(at, old, 1)
	if full >= 0 && otherTo < 0 || gain < 0 && rng.Float64() >= math.Exp(gain/heat) {
		return
	}
	s.hang(at, to)
	if otherTo >= 0 {
		s.hang(other, otherTo)
	}
}

// swapped returns a hop from where another one began to the end of a branch that takes a link which a second hop needs, and
// what is gained if the branch becomes that hop; -1 if there is no room for one.
func (s *bed) swapped(at, other branch, old, to int32) (h int32, gain float64) {
	was := s.parent[other.tree][other.node]
	if other.tree == at.tree || s.hops[was].from == s.hops[old].from {
		return -1, 0
	}
	for _, h := range s.into[other.node] {
		if s.hops[h].from == s.hops[old].from && s.fits(other, was, h, to) {
			if gain := s.gain(other, h); !math.IsInf(gain, -1) {
				return h, gain
			}
		}
	}
	return -1, 0
}
