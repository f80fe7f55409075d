package replay

import (
	"cmp"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/verify"
)

// finding is a violation of the data, and when it happened.
type finding struct {
	at model.Time // when it happened; model.MaxTime for a wrong result
	verify.Violation
}

// data executes the schedule chunk by chunk, on all cores, and compares what is
// there at the end with the postcondition (SPEC 6). Chunks do not influence each
// other: a transfer reads and writes slots of its own chunk only. It returns why it had
// to stop, or "".
//
// Chunks are taken in order until enough is found, so that those taken are the first ones,
// and the violations reported are the first by chunk. They are reported in order of time.
//
// Whoever must end with something that is not there at the start must be sent it. So of
// a chunk that is right no more slots are looked at than it has transfers, and conditions
// in the file, and few that are wrong are looked at.
func (c *check) data() (stopped string) {
	at, from := c.byChunk()
	inHand := make([]value, len(c.s.Transfers))
	workers := make([]*execution, min(runtime.GOMAXPROCS(0), len(c.p.Chunks)))
	large := make([][]int, len(workers)) // chunks that do not fit beside others
	var next, violations atomic.Int64
	var wg sync.WaitGroup
	for i := range workers {
		x := newExecution(c, inHand, maxWords/len(workers))
		workers[i] = x
		wg.Go(func() {
			for x.work.Go(1) && violations.Load() < verify.MaxViolations {
				k := int(next.Add(1)) - 1
				if k >= len(c.p.Chunks) {
					return
				}
				before := len(x.found)
				if !x.run(k, at[from[k]:from[k+1]]) {
					large[i] = append(large[i], k)
				}
				violations.Add(int64(len(x.found) - before))
			}
		})
	}
	wg.Wait()
	var all []finding
	for _, x := range workers {
		if !x.work.Go(1) {
			return x.work.Why()
		}
		all = append(all, x.found...)
		x.values.reset()
	}
	x := workers[0]
	x.values.room = maxWords
	for _, k := range slices.Sorted(slices.Values(slices.Concat(large...))) {
		if x.found = nil; !x.run(k, at[from[k]:from[k+1]]) && c.undecided == "" {
			c.undecided = fmt.Sprintf("the sets of contributions of chunk %d take more than %d words", k, maxWords)
		}
		if all = append(all, x.found...); !x.work.Go(1) {
			return x.work.Why()
		}
	}
	slices.SortStableFunc(all, func(a, b finding) int { return cmp.Compare(a.Chunk, b.Chunk) })
	all = all[:min(len(all), verify.MaxViolations)]
	slices.SortStableFunc(all, func(a, b finding) int { return cmp.Compare(a.at, b.at) })
	for _, f := range all {
		c.violations = append(c.violations, f.Violation)
	}
	return ""
}

// execution runs one chunk after the other on the same memory.
type execution struct {
	*check
	*values
	work    *verify.Work
	chunk   int
	slots   []value // by rank
	touched []int   // ranks whose slot is not undefined
	byEnd   []int32
	inHand  []value   // by transfer: what it has read and not yet written; shared by all executions
	written []int32   // by rank: the last transfer that wrote the slot in the current batch, plus 1
	found   []finding // in all chunks
	limit   int       // of found, for this chunk
}

func newExecution(c *check, inHand []value, room int) *execution {
	return &execution{
		check: c, values: newValues(c.t.Ranks, c.p.Collective.Op, room), work: c.work.Another(),
		slots: make([]value, c.t.Ranks), written: make([]int32, c.t.Ranks), inHand: inHand,
	}
}

// run executes the transfers of chunk k and adds what is wrong, of which it looks for
// verify.MaxViolations at most. It returns false, and adds nothing, if there was not enough
// room for the sets of contributions.
func (x *execution) run(k int, transfers []int32) bool {
	before := len(x.found)
	x.chunk, x.limit = k, before+verify.MaxViolations
	x.values.reset()
	for _, r := range x.touched {
		x.slots[r] = undefined
	}
	x.touched = x.touched[:0]
	for r, v := range x.p.Start(k) {
		if !x.work.Go(1 + v.Len()) {
			return true
		}
		x.put(r, x.of(v))
	}
	if x.s.Form == model.Ordered {
		for _, i := range transfers { // any order that respects After: see order
			if !x.work.Go(1) {
				return true
			}
			x.read(i)
			x.write(i)
		}
	} else {
		x.inTime(transfers)
	}
	x.compare(transfers)
	if x.values.full() {
		x.found = x.found[:before]
		return false
	}
	return true
}

// of is values.of, counted as work.
func (x *execution) of(v model.Value) value {
	if _, single := v.Single(); !single {
		x.work.Go(x.words)
	}
	return x.values.of(v)
}

func (x *execution) put(r int, v value) {
	if x.slots[r] == undefined {
		x.touched = append(x.touched, r)
	}
	x.slots[r] = v
}

// inTime executes transfers in order of time. At each instant first all writes
// that end there take effect, then all reads that start there see them.
func (x *execution) inTime(byStart []int32) {
	x.sortBy(x.work, byStart, func(t *model.Transfer) model.Time { return t.Start })
	x.byEnd = append(x.byEnd[:0], byStart...)
	x.sortBy(x.work, x.byEnd, func(t *model.Transfer) model.Time { return t.End })
	ended := 0
	for i := 0; i < len(byStart) && x.work.Go(1); {
		now := x.s.Transfers[byStart[i]].Start
		for ended < len(x.byEnd) && x.s.Transfers[x.byEnd[ended]].End <= now {
			ended += x.writeBatch(x.byEnd[ended:])
		}
		for ; i < len(byStart) && x.s.Transfers[byStart[i]].Start == now; i++ {
			x.read(byStart[i])
		}
	}
	for ended < len(x.byEnd) && x.work.Go(1) {
		ended += x.writeBatch(x.byEnd[ended:])
	}
}

// writeBatch executes the writes that end at the same instant as the first one,
// and returns how many there are. Reductions into one slot commute; a copy among
// several writes to one slot is a race.
func (x *execution) writeBatch(byEnd []int32) int {
	now := x.s.Transfers[byEnd[0]].End
	n := 1
	for n < len(byEnd) && x.s.Transfers[byEnd[n]].End == now {
		n++
	}
	for _, i := range byEnd[:n] {
		t := &x.s.Transfers[i]
		if before := x.written[t.Dst]; before > 0 {
			if o := &x.s.Transfers[before-1]; t.Op == model.Copy || o.Op == model.Copy {
				x.event(now, verify.WriteWriteRace, i, int(t.Dst), "writes rank %d's slot at the same instant as %s: what remains there is left to chance",
					t.Dst, x.about(int(before-1)))
			}
		}
		if x.written[t.Dst] == 0 || t.Op == model.Copy { // a copy races with every other write
			x.written[t.Dst] = i + 1
		}
		x.write(i)
	}
	for _, i := range byEnd[:n] {
		x.written[x.s.Transfers[i].Dst] = 0
	}
	return n
}

// read takes what the source holds into the hand of transfer i.
func (x *execution) read(i int32) {
	t := &x.s.Transfers[i]
	v := x.slots[t.Src]
	if v == undefined {
		x.event(t.Start, verify.SendUndefined, i, int(t.Src), "rank %d holds nothing of chunk %d when it sends it", t.Src, t.Chunk)
	}
	x.inHand[i] = v
}

// write puts what transfer i has in hand into the destination's slot.
func (x *execution) write(i int32) {
	t := &x.s.Transfers[i]
	v, old := x.inHand[i], x.slots[t.Dst]
	switch {
	case v == undefined:
		// reported when it was read; the slot keeps what it has
	case t.Op == model.Copy:
		x.put(int(t.Dst), v)
	case old == undefined:
		x.event(t.End, verify.ReduceUndefined, i, int(t.Dst), "rank %d holds nothing of chunk %d to add to", t.Dst, t.Chunk)
	case x.work.Go(x.words):
		x.put(int(t.Dst), x.values.add(old, v))
	}
}

func (x *execution) event(at model.Time, code verify.Code, i int32, rank int, format string, args ...any) {
	if len(x.found) < x.limit {
		x.found = append(x.found, finding{at, verify.Violation{
			Code: code, Where: x.about(int(i)), Message: fmt.Sprintf(format, args...), Transfer: int(i), Rank: rank, Chunk: x.chunk,
		}})
	}
}

// compare sets the slots against the postcondition.
func (x *execution) compare(transfers []int32) {
	var wanted value // of the goal before; collectives want the same of many ranks
	var described model.Value
	for r, want := range x.p.Goal(x.chunk) {
		if !x.work.Go(1) || len(x.found) >= x.limit {
			return
		}
		if wanted == undefined || !sameValue(described, want) {
			wanted, described = x.of(want), want
		}
		got := x.slots[r]
		if got != undefined && got != wanted {
			x.work.Go(x.words)
		}
		if got == undefined || !x.values.equal(got, wanted) {
			x.wrong(r, got, wanted, transfers)
		}
	}
}

// sameValue is true only for values that are the same; it may miss some.
func sameValue(a, b model.Value) bool {
	r, ok := a.Single()
	s, also := b.Single()
	if ok || also {
		return ok && also && r == s
	}
	return model.Identical(a, b)
}

// wrong reports that rank r ends with got where wanted is wanted.
func (x *execution) wrong(r int, got, wanted value, transfers []int32) {
	x.work.Go(8 * x.t.Ranks)
	where := fmt.Sprintf("rank %d, chunk %d", r, x.chunk)
	report := func(code verify.Code, transfer int, format string, args ...any) {
		message := fmt.Sprintf("ends with %s, want %s", x.describe(got), x.describe(wanted))
		if format != "" {
			message += ": " + fmt.Sprintf(format, args...)
		}
		x.found = append(x.found, finding{model.MaxTime, verify.Violation{
			Code: code, Where: where, Message: message, Transfer: transfer, Rank: r, Chunk: x.chunk,
		}})
	}
	if got == undefined {
		report(verify.MissingContribution, -1, "nothing was ever written there")
		return
	}
	missing, double, foreign := -1, -1, -1
	for j := range x.t.Ranks {
		switch n, w := x.values.count(got, j), x.values.count(wanted, j); {
		case n < w && missing < 0:
			missing = j
		case n > w && w == 0 && foreign < 0:
			foreign = j
		case n > w && w > 0 && double < 0:
			double = j
		}
	}
	if missing >= 0 {
		i, why := x.trace(r, missing, x.values.count(wanted, missing), transfers)
		report(verify.MissingContribution, i, "x%d is missing%s", missing, why)
	}
	if double >= 0 {
		i, why := x.trace(r, double, x.values.count(wanted, double), transfers)
		report(verify.DoubleContribution, i, "x%d is there too often%s", double, why)
	}
	if foreign >= 0 {
		i, why := x.trace(r, foreign, 0, transfers)
		report(verify.WrongValue, i, "x%d does not belong there%s", foreign, why)
	}
}

// describe writes a value as a sum: "x0+2·x1+x2".
func (x *execution) describe(v value) string {
	if v == undefined {
		return "undefined"
	}
	var b strings.Builder
	terms := 0
	for j := range x.t.Ranks {
		n := x.values.count(v, j)
		if n == 0 {
			continue
		}
		if terms++; terms > 12 {
			b.WriteString("+…")
			break
		}
		if b.Len() > 0 {
			b.WriteByte('+')
		}
		if n > 1 {
			fmt.Fprintf(&b, "%d·", n)
		}
		fmt.Fprintf(&b, "x%d", j)
	}
	return b.String()
}
