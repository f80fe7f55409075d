package orbit

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/verify"
)

// sum is a value: what one rank contributes, or two values added. The contributions of the
// ranks are the sums 0 to ranks-1, and both terms of a sum come before it.
type sum struct{ left, right int32 }

// undefined is the value of a slot that holds none.
const undefined = -1

// access is a transfer of a chunk of rank 0: a turn, translated.
type access struct {
	turn       int
	src, dst   int
	op         model.Op
	start, end model.Time
	value      int32 // what was read
}

// execution carries out what happens to the chunks of rank 0, one after the other.
type execution struct {
	*check
	chunk  int
	part   int
	slots  []int32 // by rank: a sum, or undefined
	sums   []sum
	counts []uint8 // by sum: how often a goal's value has it in it, 2 for more
	left   int64   // how many more sums are looked at
}

// maxSums limits how many terms of sums are looked at.
const maxSums = 1 << 34

// data executes what happens to each chunk that rank 0 owns, with each size that its translates
// have (SPEC 5, 6).
func (c *check) data() {
	of := make([][]int32, len(c.own)) // the turns of each part
	for i := range c.o.Turns {
		q := c.o.Turns[i].Part
		of[q] = append(of[q], int32(i))
	}
	x := &execution{check: c, slots: make([]int32, c.p.Topology.Ranks), left: maxSums}
	for q, k := range c.own {
		sizes := c.sizes[q]
		if c.p.Cost.Synchronous() {
			sizes = sizes[:1] // a round is a round
		}
		for _, size := range sizes {
			if len(c.violations) >= verify.MaxViolations || c.reason != "" || !c.work.Go(1) {
				return
			}
			x.part, x.chunk = q, int(k)
			x.run(of[q], size)
		}
	}
}

// run executes the turns of one part, translated to where rank 0 owns the chunk, as if the
// chunk had that size.
func (x *execution) run(turns []int32, size int64) {
	n := x.p.Topology.Ranks
	x.sums = x.sums[:0]
	for r := range n {
		x.slots[r] = undefined
		x.sums = append(x.sums, sum{})
	}
	for r := range x.p.Start(x.chunk) { // each of them what it contributes, once
		x.slots[r] = int32(r)
	}
	byStart := make([]access, len(turns))
	for i, turn := range turns {
		if !x.work.Go(1) {
			return
		}
		t := &x.o.Turns[turn]
		a := &byStart[i]
		*a = access{turn: int(turn), src: x.o.Sub(0, int(t.Owner)), dst: x.o.Sub(x.to(t), int(t.Owner)), op: t.Op, start: t.Start, end: t.Start + 1}
		if !x.p.Cost.Synchronous() {
			a.end = t.Start.Add(x.p.Topology.Duration(x.o.Routes[t.Route], size))
		}
	}
	byEnd := make([]*access, len(byStart))
	for i := range byStart {
		byEnd[i] = &byStart[i]
	}
	slices.SortStableFunc(byEnd, func(a, b *access) int { return cmp.Or(cmp.Compare(a.end, b.end), cmp.Compare(a.dst, b.dst)) })
	for i := range byStart {
		if !x.work.Go(1) {
			return
		}
		a := &byStart[i]
		for len(byEnd) > 0 && byEnd[0].end <= a.start {
			byEnd = x.write(byEnd)
		}
		if a.value = x.slots[a.src]; a.value == undefined {
			x.report(verify.SendUndefined, a.turn, "rank 0 holds nothing of it when it sends it")
		}
	}
	for len(byEnd) > 0 {
		byEnd = x.write(byEnd)
	}
	x.compare()
}

// write carries out the writes of one slot at one instant, which are the first, and returns
// the others.
func (x *execution) write(byEnd []*access) []*access {
	first := byEnd[0]
	copies := 0
	for i, a := range byEnd {
		if a.end != first.end || a.dst != first.dst {
			break
		}
		if a.op == model.Copy {
			copies++
		}
		if i > 0 && copies > 0 {
			x.report(verify.WriteWriteRace, a.turn, "another turn writes the same slots at that instant: what remains there is left to chance")
		}
	}
	for len(byEnd) > 0 && byEnd[0].end == first.end && byEnd[0].dst == first.dst {
		a := byEnd[0]
		byEnd = byEnd[1:]
		switch {
		case a.value == undefined: // reported when it was read
		case a.op == model.Copy:
			x.slots[a.dst] = a.value
		case x.slots[a.dst] == undefined:
			x.report(verify.ReduceUndefined, a.turn, "there is nothing to add it to")
		default:
			x.sums = append(x.sums, sum{x.slots[a.dst], a.value})
			x.slots[a.dst] = int32(len(x.sums) - 1)
		}
	}
	return byEnd
}

// compare sets the values of the slots against the postcondition. Of values that are the
// same sum one is looked at.
func (x *execution) compare() {
	right := map[int32]bool{}
	for r, want := range x.p.Goal(x.chunk) {
		v := x.slots[r]
		switch {
		case len(x.violations) >= verify.MaxViolations || x.reason != "" || !x.work.Go(1):
			return
		case v == undefined:
			x.wrong(verify.MissingContribution, r, "ends undefined: nothing was ever written there")
		case right[v]:
		default:
			right[v] = x.equal(r, v, want)
		}
	}
}

// equal reports whether a value is what is wanted, and reports what is wrong with it. In how many
// ways a contribution is in a value it finds from the sums down to their terms.
func (x *execution) equal(r int, v int32, want model.Value) bool {
	n := x.p.Topology.Ranks
	if owner, single := want.Single(); single && int(v) == owner {
		return true
	}
	if x.left -= int64(v); x.left < 0 {
		x.reason = fmt.Sprintf("more than %d terms of sums", int64(maxSums))
		return false
	}
	x.counts = append(x.counts[:0], make([]uint8, max(int(v)+1, n))...)
	x.counts[v] = 1
	for i := int(v); i >= n && x.work.Go(1); i-- {
		if m := x.counts[i]; m > 0 {
			s := x.sums[i]
			x.counts[s.left] = min(2, x.counts[s.left]+m)
			x.counts[s.right] = min(2, x.counts[s.right]+m)
		}
	}
	wanted := make([]bool, n)
	missing, double, foreign := -1, -1, -1
	for j := range want.Terms() { // each once, in what is served
		wanted[j] = true
		switch {
		case x.counts[j] == 0:
			missing = j
		case x.counts[j] > 1 && !x.p.Collective.Op.Idempotent():
			double = j
		}
	}
	for j, m := range x.counts[:n] {
		if m > 0 && !wanted[j] {
			foreign = j
		}
	}
	if missing >= 0 {
		x.wrong(verify.MissingContribution, r, "x%d is missing", missing)
	}
	if double >= 0 {
		x.wrong(verify.DoubleContribution, r, "x%d is there too often", double)
	}
	if foreign >= 0 {
		x.wrong(verify.WrongValue, r, "x%d does not belong there", foreign)
	}
	return missing < 0 && double < 0 && foreign < 0
}

func (x *execution) wrong(code verify.Code, r int, format string, args ...any) {
	if len(x.violations) < verify.MaxViolations {
		x.violations = append(x.violations, verify.Wrong(code, fmt.Sprintf("rank %d, chunk %d, and its translates", r, x.chunk), fmt.Sprintf(format, args...)).AtSlot(r, x.chunk))
	}
}
