package plans

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/verify"
	"github.com/oraccl/oraccl/verify/plan"
)

// Draw makes a plan by one to four mutations of one that is right.
func Draw(rng *rand.Rand) *model.Plan {
	p := Right(rng.IntN(Kinds))
	for range 1 + rng.IntN(4) {
		q, ok := Mutate(p, rng.IntN(len(Mutations)), rng)
		if ok && len(q.Blocks) > 0 && !slices.ContainsFunc(q.Blocks, func(b model.PlanBlock) bool { return len(b.Ops) == 0 }) {
			p = q
		}
	}
	return p
}

// codes are those of what refutes a plan.
func codes(ctx context.Context, p *model.Plan) (all []verify.Code, why string) {
	wrong, warnings, why := plan.Judge(ctx, p)
	for _, v := range warnings {
		if v.Code == verify.PacketTwice {
			return []verify.Code{v.Code}, why
		}
	}
	for _, v := range wrong {
		all = append(all, v.Code)
	}
	return all, why
}

// Compare compares what package plan finds and what Explore finds in at most limit states, and
// returns whether they both decided, whether the plan is right, and how they differ.
func Compare(ctx context.Context, p *model.Plan, limit int) (decided, right bool, differs string) {
	if !whole(p) {
		return false, false, ""
	}
	all, why := codes(ctx, p)
	has := func(list ...verify.Code) bool {
		return slices.ContainsFunc(list, func(c verify.Code) bool { return slices.Contains(all, c) })
	}
	if why != "" || has(verify.OutOfBounds, verify.PacketMixed, verify.PacketTwice) {
		return false, false, ""
	}
	f := Explore(p, 1, limit)
	if !f.Enough {
		return false, false, ""
	}
	compare := func(what string, a, b bool) {
		if a != b && differs == "" {
			differs = fmt.Sprintf("%s: plan %v %v, exploration %v (%s)", what, a, all, b, f.First+f.Result)
		}
	}
	if has(verify.BarrierMismatch) { // what comes of it depends on the executor
		return false, false, ""
	}
	compare("deadlock", has(verify.Deadlock), f.Deadlock)
	if f.Deadlock {
		return true, false, differs
	}
	compare("race", has(verify.ReadWriteRace, verify.WriteWriteRace), f.Race)
	compare("entry", has(verify.EntryHandshake), f.Entry)
	compare("exit", has(verify.ExitHandshake), f.Exit)
	if !f.Race {
		compare("result", has(verify.MissingContribution, verify.DoubleContribution, verify.WrongValue, verify.UninitialisedRead), f.Result != "")
	}
	return true, len(all) == 0, differs
}

// CompareLaunches compares two launches of a plan, one after the other, of which each alone is right:
// package plan warns of the next launch if and only if in some order something goes wrong in
// two. What is left over of signals goes wrong in the next launch or a later one, or never: of that
// Explore is only asked, see Left.
func CompareLaunches(ctx context.Context, p *model.Plan, limit int) (decided, wrong bool, differs string) {
	refuted, warnings, why := plan.Judge(ctx, p)
	if why != "" || len(refuted) > 0 || !whole(p) || slices.ContainsFunc(warnings, func(v verify.Violation) bool { return v.Code == verify.PacketTwice || v.Code == verify.RelaxedOrder }) {
		return false, false, ""
	}
	f := Explore(p, 2, limit)
	if !f.Enough {
		return false, false, ""
	}
	warned := slices.ContainsFunc(warnings, func(v verify.Violation) bool { return v.Code == verify.NextLaunch })
	wrong = f.Deadlock || f.Race || f.Entry || f.Exit
	if warned != wrong {
		differs = fmt.Sprintf("two launches: plan warns %v, exploration finds deadlock %v, race %v, entry %v, exit %v (%s)", warned, f.Deadlock, f.Race, f.Entry, f.Exit, f.First)
	}
	return true, wrong, differs
}

// whole reports whether each move is one that Explore carries out as a kernel or a proxy does, and in
// which all threads have a part, as package plan takes it: with few threads larger moves have other
// ones in common than with many. A proxy moves its pieces in any order, and those of Explore in one:
// that is no difference where a move is awaited as a whole. It reads memory of its own rank: no
// format has another source, but mutations do.
func whole(p *model.Plan) bool {
	for _, b := range p.Blocks {
		for _, o := range b.Ops {
			for k := range o.Moves {
				m := &o.Moves[k]
				far := func(s model.PlanSpan) bool { return p.Buffers[s.Buffer].Rank != b.Rank }
				if m.Bytes() != Unit || o.Verb == model.PlanRequest && slices.ContainsFunc(m.Srcs, far) {
					return false
				}
			}
		}
	}
	return true
}
