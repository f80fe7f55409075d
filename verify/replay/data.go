package replay

import (
	"cmp"
	"fmt"
	"iter"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/verify"
)

// finding is a violation of the data, and when it happened; model.MaxTime for a wrong
// result.
type finding struct {
	at model.Time
	verify.Violation
}

// data executes the schedule chunk by chunk, on all cores, and compares what is
// there at the end with the postcondition (SPEC 6). Chunks do not influence each
// other: a transfer reads and writes slots of its own chunk only. It returns why it had
// to stop, or "".
//
// What is reported is the first that happens, and then the first wrong results, by chunk.
// Of a chunk that is right no more slots are looked at than it has transfers, and conditions
// in the file: a rank that must end with something that is not there at the start must be
// sent it. Once enough results are wrong none are looked at any more, and chunks without
// transfers are left out.
func (c *check) data() (stopped string) {
	at, from := c.byChunk()
	h := &handout{from: from}
	inHand := make([]value, len(c.s.Transfers))
	workers := make([]*execution, min(runtime.GOMAXPROCS(0), len(c.p.Chunks)))
	large := make([][]task, len(workers)) // chunks that do not fit beside others
	var wg sync.WaitGroup
	for i := range workers {
		x := newExecution(c, inHand, maxWords/len(workers))
		workers[i] = x
		wg.Go(func() {
			for x.work.Go(1) {
				t, more := h.take()
				if !more {
					return
				}
				if !x.run(t, at[from[t.chunk]:from[t.chunk+1]]) {
					large[i] = append(large[i], t)
				}
				h.note(x.wrongs)
			}
		})
	}
	wg.Wait()
	x := workers[0]
	for _, y := range workers {
		if !y.work.Go(1) {
			return y.work.Why()
		}
		y.values.release()
		if y != x {
			x.found = append(x.found, y.found...)
		}
	}
	again := slices.Concat(large...)
	slices.SortFunc(again, func(a, b task) int { return a.chunk - b.chunk })
	x.values.room = maxWords
	for _, t := range again {
		if len(workers) == 1 || !x.run(t, at[from[t.chunk]:from[t.chunk+1]]) {
			c.undecided = fmt.Sprintf("the sets of contributions to chunk %d take more than %d words", t.chunk, maxWords)
		}
		if !x.work.Go(1) {
			return x.work.Why()
		}
	}
	x.keepFirst()
	for _, f := range x.found {
		c.violations = append(c.violations, f.Violation)
	}
	return ""
}

// task is a chunk to be executed, and whether its results are compared.
type task struct {
	chunk   int
	results bool
}

// handout gives chunks to executions in ascending order. Those whose results are compared
// are the first ones, however many executions there are, and have among them as many
// wrong results as are reported.
type handout struct {
	from []int32

	mu     sync.Mutex
	next   int
	wrongs int
}

func (h *handout) take() (t task, more bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	results := h.wrongs < verify.MaxViolations
	for !results && h.next+1 < len(h.from) && h.from[h.next] == h.from[h.next+1] {
		h.next++
	}
	h.next++
	return task{h.next - 1, results}, h.next < len(h.from)
}

// note takes notice of how many results of a chunk are wrong.
func (h *handout) note(wrongs int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.wrongs += wrongs
}

// execution runs one chunk after the other on the same memory.
type execution struct {
	*check
	*values
	work    *verify.Work
	chunk   int
	initial []value // by rank: what is there at the start of every chunk, or nil
	slots   []value // by rank: what was written, or is there at the start of this chunk alone
	touched []int   // ranks whose slot is not undefined
	byEnd   []int32
	inHand  []value // by transfer: what it has read and not yet written; shared by all executions
	written []int32 // by rank: the last transfer that wrote the slot in the current batch, plus 1

	found  []finding // in all chunks
	limit  int       // of found, in this chunk
	wrongs int       // of found, results of this chunk
}

// newExecution returns one with room for this many words of sets.
func newExecution(c *check, inHand []value, room int) *execution {
	x := &execution{
		check: c, values: newValues(c.t.Ranks, c.p.Collective.Op, room), work: c.work.Another(),
		slots: make([]value, c.t.Ranks), written: make([]int32, c.t.Ranks), inHand: inHand,
	}
	if c.p.Collective.Kind.Reduces() { // of every chunk each member has what it contributes
		x.initial = make([]value, c.t.Ranks)
		for r, v := range c.p.Start(0) {
			x.initial[r] = x.values.of(v)
		}
	}
	return x
}

// run executes the transfers of a chunk and notes what is wrong, verify.MaxViolations
// things at most. It returns false, and notes nothing, if there was not enough room for the
// sets of contributions.
func (x *execution) run(t task, transfers []int32) bool {
	if len(x.found) > 100*verify.MaxViolations {
		x.keepFirst()
	}
	before := len(x.found)
	x.chunk, x.limit, x.wrongs = t.chunk, before+verify.MaxViolations, 0
	x.values.reset()
	for _, r := range x.touched {
		x.slots[r] = undefined
	}
	x.touched = x.touched[:0]
	if x.initial == nil {
		for r, v := range x.p.Start(t.chunk) {
			if !x.work.Go(1 + v.Len()) {
				return true
			}
			x.put(r, x.of(v))
		}
	}
	if x.s.Form == model.Ordered {
		for _, i := range transfers { // any order that respects After: see order
			if !x.goesOn() {
				break
			}
			x.read(i)
			x.write(i)
		}
	} else {
		x.inTime(transfers)
	}
	events := len(x.found)
	if t.results && x.goesOn() {
		x.compare(transfers)
	}
	if x.values.full() {
		x.found = x.found[:before]
		return false
	}
	x.wrongs = len(x.found) - events
	return true
}

// goesOn reports whether what is executed will mean anything.
func (x *execution) goesOn() bool { return x.work.Go(1) && !x.values.full() }

// chunk is the chunk that is concerned.
func (f *finding) chunk() int {
	chunk, _ := f.Chunk()
	return chunk
}

// keepFirst keeps of what was found the first verify.MaxViolations things.
func (x *execution) keepFirst() {
	slices.SortStableFunc(x.found, func(a, b finding) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.chunk(), b.chunk())) })
	x.found = x.found[:min(len(x.found), verify.MaxViolations)]
}

// of is values.of, counted as work.
func (x *execution) of(v model.Value) value {
	if _, single := v.Single(); !single {
		x.work.Go(x.words)
	}
	return x.values.of(v)
}

// holds returns what rank r holds of the chunk.
func (x *execution) holds(r int32) value {
	if v := x.slots[r]; v != undefined || x.initial == nil {
		return v
	}
	return x.initial[r]
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
	for i := 0; i < len(byStart) && x.goesOn(); {
		now := x.s.Transfers[byStart[i]].Start
		for ended < len(x.byEnd) && x.s.Transfers[x.byEnd[ended]].End <= now {
			ended += x.writeBatch(x.byEnd[ended:])
		}
		for ; i < len(byStart) && x.s.Transfers[byStart[i]].Start == now; i++ {
			x.read(byStart[i])
		}
	}
	for ended < len(x.byEnd) && x.goesOn() {
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
	v := x.holds(t.Src)
	if v == undefined {
		x.event(t.Start, verify.SendUndefined, i, int(t.Src), "rank %d holds nothing of chunk %d when it sends it", t.Src, t.Chunk)
	}
	x.inHand[i] = v
}

// write puts what transfer i has in hand into the destination's slot.
func (x *execution) write(i int32) {
	t := &x.s.Transfers[i]
	v, old := x.inHand[i], x.holds(t.Dst)
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
		x.found = append(x.found, finding{at, verify.Wrong(code, x.about(int(i)), fmt.Sprintf(format, args...)).AtTransfer(int(i)).AtSlot(rank, x.chunk)})
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
		got := x.holds(int32(r))
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
		x.found = append(x.found, finding{model.MaxTime, verify.Wrong(code, where, message).AtTransfer(transfer).AtSlot(r, x.chunk)})
	}
	if got == undefined {
		report(verify.MissingContribution, -1, "nothing was ever written there%s", x.between())
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

// between names the bytes of a chunk of a custom collective that one rank has for one other, so
// that a reader finds them in the table that it was made of; else "".
func (x *execution) between() string {
	if x.p.Collective.Kind != model.Custom {
		return ""
	}
	only := func(list iter.Seq2[int, model.Value]) int {
		rank := -1
		for r := range list {
			if rank >= 0 || !x.work.Go(1) {
				return -1
			}
			rank = r
		}
		return rank
	}
	from, to := only(x.p.Start(x.chunk)), only(x.p.Goal(x.chunk))
	if from < 0 || to < 0 {
		return ""
	}
	return fmt.Sprintf("; %s from rank %d for rank %d are missing", model.FormatBytes(x.p.Chunks[x.chunk].Size), from, to)
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
