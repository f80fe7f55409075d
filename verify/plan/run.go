package plan

import (
	"context"
	"fmt"
	"slices"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/verify"
)

// run is one fair execution of a launch. Operations wait for counts, packets and semaphores
// alone, which only rise, so that one such execution ends if and only if all do, as long as it
// does not matter who takes what: see unfair.
type run struct {
	p       *model.Plan
	values  *values
	spaces  map[int]*memory // raw
	slots   map[int]*memory // packets that were written in this launch
	count   []int           // of each counter, then semaphore
	taken   []int           // tickets
	blocks  []progress
	waiting map[int][]int // threadblocks that use a counter
	queue   []int
	queued  []bool
	meeting map[[3]int]int // arrivals at a barrier
	used    map[[2]int]int // how often a threadblock came to a barrier
	late    func(b, op int) bool
	found   []verify.Violation
	twice   []verify.Violation // slots that were written twice, with the same
	quiet   bool
}

// progress is how far a threadblock is.
type progress struct {
	from    int      // operations before it are done
	did     [][]bool // of the operations from there: identifiers
	tickets map[[2]int]int
	met     bool
}

func newRun(p *model.Plan) *run {
	r := &run{p: p, values: newValues(), spaces: map[int]*memory{}, slots: map[int]*memory{}, waiting: map[int][]int{}, meeting: map[[3]int]int{}, used: map[[2]int]int{}}
	r.count = make([]int, len(p.Counters)+len(p.Semaphores))
	r.taken = make([]int, len(r.count))
	copy(r.count[len(p.Counters):], p.Semaphores)
	r.blocks, r.queued = make([]progress, len(p.Blocks)), make([]bool, len(p.Blocks))
	for rank, b := range p.Inputs {
		x := p.Buffers[b]
		if x.Size > 0 {
			r.space(x.Space).put([]piece{{x.Base, x.Base + x.Size, r.values.intern([]term{{rank, -x.Base}})}})
		}
	}
	for b := range p.Blocks {
		r.blocks[b].tickets = map[[2]int]int{}
		seen := map[int]bool{}
		for i := range p.Blocks[b].Ops {
			o := &p.Blocks[b].Ops[i]
			for _, id := range o.IDs {
				if o.Verb == model.PlanAcquire {
					id += len(p.Counters)
				}
				if (o.Verb == model.PlanWait || o.Verb == model.PlanAcquire) && !seen[id] {
					seen[id] = true
					r.waiting[id] = append(r.waiting[id], b)
				}
			}
		}
	}
	return r
}

func (r *run) space(i int) *memory {
	if r.spaces[i] == nil {
		r.spaces[i] = &memory{}
	}
	return r.spaces[i]
}

func (r *run) packet(i int) *memory {
	if r.slots[i] == nil {
		r.slots[i] = &memory{}
	}
	return r.slots[i]
}

func (r *run) wake(b int) {
	if !r.queued[b] {
		r.queued[b] = true
		r.queue = append(r.queue, b)
	}
}

// execute runs until nothing happens any more, and reports whether all is done. An operation
// of which late is true is carried out when nothing else can be.
func (r *run) execute(ctx context.Context) bool {
	for b := range r.blocks {
		r.wake(b)
	}
	for {
		for len(r.queue) > 0 {
			if ctx.Err() != nil {
				return false
			}
			b := r.queue[0]
			r.queue = r.queue[1:]
			r.queued[b] = false
			r.advance(b)
		}
		if r.late == nil {
			break
		}
		r.late = nil
		for b := range r.blocks {
			r.wake(b)
		}
	}
	for b := range r.blocks {
		if r.blocks[b].from < len(r.p.Blocks[b].Ops) {
			return false
		}
	}
	return true
}

// advance carries out what a threadblock can do.
func (r *run) advance(b int) {
	x := &r.p.Blocks[b]
	q := &r.blocks[b]
	blocked := map[int]bool{} // threads
	for i := q.from; i < len(x.Ops); i++ {
		o := &x.Ops[i]
		if i-q.from == len(q.did) {
			q.did = append(q.did, make([]bool, max(len(o.IDs), len(o.Moves), len(o.Ports))))
		}
		did := q.did[i-q.from]
		switch o.Verb {
		case model.PlanJoin, model.PlanBarrier:
			if len(blocked) > 0 || o.Verb == model.PlanBarrier && !r.meet(b, o) {
				return
			}
			q.from, q.did, q.met = i+1, nil, false
			continue
		case model.PlanCompute:
			for k := range o.Moves {
				if did[k] {
					continue
				}
				if len(blocked) > 0 || !r.arrived(&o.Moves[k]) {
					return
				}
				did[k] = true
				r.move(b, i, &o.Moves[k], false)
			}
			continue
		}
		for k := range did {
			if did[k] {
				continue
			}
			if blocked[k] || !r.act(b, i, k) {
				blocked[k] = true
				continue
			}
			did[k] = true
		}
	}
	if len(blocked) == 0 {
		q.from = len(x.Ops)
	}
}

// meet reports whether all that meet at a barrier have come.
func (r *run) meet(b int, o *model.PlanOp) bool {
	x := &r.p.Blocks[b]
	at := [2]int{b, o.Barrier}
	k := [3]int{x.Rank, o.Barrier, r.used[at]}
	if !r.blocks[b].met {
		r.blocks[b].met = true
		if r.meeting[k]++; r.meeting[k] >= o.Blocks {
			for c := range r.p.Blocks {
				if r.p.Blocks[c].Rank == x.Rank {
					r.wake(c)
				}
			}
		}
	}
	if r.meeting[k] < o.Blocks {
		return false
	}
	r.used[at]++
	return true
}

// act carries out what thread k does in an operation, if it can.
func (r *run) act(b, i, k int) bool {
	o := &r.p.Blocks[b].Ops[i]
	raise := func(id int) {
		r.count[id]++
		for _, c := range r.waiting[id] {
			r.wake(c)
		}
	}
	switch o.Verb {
	case model.PlanSignal:
		raise(o.IDs[k])
	case model.PlanRelease:
		raise(len(r.p.Counters) + o.IDs[k])
	case model.PlanWait, model.PlanAcquire:
		if r.late != nil && r.late(b, i) {
			return false
		}
		id := o.IDs[k]
		if o.Verb == model.PlanAcquire {
			id += len(r.p.Counters)
		}
		ticket := r.blocks[b].tickets[[2]int{i, k}]
		if ticket == 0 {
			r.taken[id]++
			ticket = r.taken[id]
			r.blocks[b].tickets[[2]int{i, k}] = ticket
		}
		return r.count[id] >= ticket
	case model.PlanRequest:
		if k < len(o.Moves) {
			r.move(b, i, &o.Moves[k], true)
		}
		if k < len(o.IDs) {
			raise(o.IDs[k])
		}
	}
	return true
}

// arrived reports whether the packets that a move reads are there.
func (r *run) arrived(m *model.PlanMove) bool {
	for _, s := range m.Srcs {
		if !s.Packet || s.Size <= 0 {
			continue
		}
		for _, x := range r.packet(r.p.Buffers[s.Buffer].Space).at(s.Start, s.Start+s.Size) {
			if x.of == undefined {
				return false
			}
		}
	}
	return true
}

func (r *run) report(code verify.Code, b, i int, format string, args ...any) {
	x := &r.p.Blocks[b]
	if len(r.found) < verify.MaxViolations {
		r.found = append(r.found, verify.Wrong(code, x.Place(i), fmt.Sprintf(format, args...)).AtLine(x.Ops[i].Line).AtRank(x.Rank))
	}
}

// sound reports whether a span is in its buffer and not empty.
func sound(p *model.Plan, s model.PlanSpan) bool {
	x := &p.Buffers[s.Buffer]
	most := x.Size
	if s.Packet {
		most = x.Packets
	}
	return s.Start >= 0 && s.Size >= 0 && s.Start <= most-s.Size
}

// move carries out a move as if all its elements were moved at once.
func (r *run) move(b, i int, m *model.PlanMove, proxy bool) {
	p := r.p
	size := m.Bytes()
	if size <= 0 {
		return
	}
	if len(m.Dsts) == 0 {
		return
	}
	var sum []piece
	for k, s := range m.Srcs {
		if !sound(p, s) {
			return // bounds says so
		}
		x := p.Buffers[s.Buffer]
		at, from := r.space(x.Space), x.Base+s.Start
		if s.Packet {
			at, from = r.packet(x.Space), s.Start
		}
		part := at.at(from, from+size)
		for j := range part {
			if part[j].of == undefined && !r.quiet && len(r.found) < verify.MaxViolations {
				what := "%s of gpu %d from byte %d on"
				if s.Packet {
					what = "packets in " + what
				}
				r.report(verify.UninitialisedRead, b, i, "reads "+what+", which nobody has written", x.Name, x.Rank, s.Start+part[j].start-from)
			}
			if part[j].of == undefined {
				part[j].of = r.values.intern([]term{{rank: nobody}})
			}
			part[j] = piece{part[j].start - from, part[j].end - from, r.values.moved(part[j].of, -from)}
		}
		if k == 0 {
			sum = part
		} else {
			sum = r.add(sum, part)
		}
	}
	for _, d := range m.Dsts {
		if !sound(p, d) {
			return
		}
		x := p.Buffers[d.Buffer]
		at, to := r.space(x.Space), x.Base+d.Start
		if d.Packet {
			at, to = r.packet(x.Space), d.Start
		}
		list := make([]piece, len(sum))
		for j, s := range sum {
			list[j] = piece{s.start + to, s.end + to, r.values.moved(s.of, to)}
		}
		if d.Packet {
			r.again(b, i, at, list, x)
			for c := range p.Blocks {
				if p.Blocks[c].Rank == x.Rank {
					r.wake(c)
				}
			}
		}
		at.put(list)
	}
}

// again reports slots that were written in this launch already.
func (r *run) again(b, i int, at *memory, list []piece, x model.PlanBuffer) {
	for _, w := range list {
		for _, old := range at.at(w.start, w.end) {
			if old.of == undefined {
				continue
			}
			place := r.p.Blocks[b].Place(i)
			text := fmt.Sprintf("writes packets in %s of gpu %d from %d on, which were written in this launch already", x.Name, x.Rank, old.start)
			v := verify.Wrong(verify.PacketTwice, place, text+" with something else").AtLine(r.p.Blocks[b].Ops[i].Line).AtRank(r.p.Blocks[b].Rank)
			if old.of != w.of {
				if len(r.found) < verify.MaxViolations {
					r.found = append(r.found, v)
				}
				return
			}
			v.Message = text + " with the same"
			r.twice = append(r.twice, v)
			return
		}
	}
}

// add adds what two parts hold, which begin and end alike.
func (r *run) add(a, b []piece) []piece {
	var all []piece
	i, j := 0, 0
	for i < len(a) && j < len(b) {
		start, end := max(a[i].start, b[j].start), min(a[i].end, b[j].end)
		all = append(all, piece{start, end, r.values.sum(a[i].of, b[j].of)})
		if a[i].end == end {
			i++
		}
		if b[j].end == end {
			j++
		}
	}
	return all
}

// results compares what buffers hold with what they must; kept are inputs that were written.
func (r *run) results() (wrong, kept []verify.Violation) {
	wrongs := 0
	for _, w := range r.p.Wants {
		x := r.p.Buffers[w.Buffer]
		for _, h := range r.space(x.Space).at(x.Base+w.Start, x.Base+w.Start+w.Size) {
			code, text := r.differs(w, h, x.Base+w.Start)
			if code == "" {
				continue
			}
			where := fmt.Sprintf("%s of gpu %d from byte %d on", map[string]string{"i": "input", "o": "output"}[x.Name], x.Rank, h.start-x.Base)
			v := verify.Wrong(code, where, text).AtRank(x.Rank)
			if w.Kept {
				v.Code, v.Message = verify.ClobberedInput, "was written, out of place"
				kept = append(kept, v)
				break
			}
			if wrongs++; wrongs <= verify.MaxViolations {
				wrong = append(wrong, v)
			}
		}
	}
	return wrong, kept
}

// differs compares what a piece holds with what is wanted from base on.
func (r *run) differs(w model.PlanWant, h piece, base int64) (verify.Code, string) {
	if h.of == undefined {
		return verify.MissingContribution, "nobody wrote it"
	}
	have := map[int]int{}
	wrong, twice := false, -1
	for _, t := range r.values.all[h.of] {
		if have[t.rank]++; have[t.rank] > 1 {
			twice = t.rank
		}
		if !slices.Contains(w.Ranks, t.rank) || t.delta != w.From-base {
			wrong = true
		}
	}
	var missing []int
	for _, q := range w.Ranks {
		if have[q] == 0 {
			missing = append(missing, q)
		}
	}
	switch {
	case have[nobody] > 0:
		return verify.MissingContribution, "comes from what nobody wrote"
	case wrong:
		return verify.WrongValue, "holds " + r.describe(h.of, h.start) + ", want " + wanted(w, h.start-base)
	case twice >= 0:
		return verify.DoubleContribution, fmt.Sprintf("holds the contribution of rank %d %d times", twice, have[twice])
	case len(missing) > 0:
		return verify.MissingContribution, fmt.Sprintf("lacks the contributions of %v", missing)
	}
	return "", ""
}

func (r *run) describe(of int32, at int64) string {
	text := ""
	for i, t := range r.values.all[of] {
		if i == 4 {
			return text + " + ..."
		}
		if i > 0 {
			text += " + "
		}
		text += fmt.Sprintf("byte %d of rank %d's input", at+t.delta, t.rank)
	}
	return text
}

func wanted(w model.PlanWant, at int64) string {
	if len(w.Ranks) == 1 {
		return fmt.Sprintf("byte %d of rank %d's input", w.From+at, w.Ranks[0])
	}
	return fmt.Sprintf("the sum of byte %d of %d ranks' inputs", w.From+at, len(w.Ranks))
}

// stuck returns what is waited for in vain: of each threadblock the first operation, and those
// of a cycle first.
func (r *run) stuck() []verify.Violation {
	var all []verify.Violation
	for b := range r.blocks {
		q := &r.blocks[b]
		x := &r.p.Blocks[b]
		for i := q.from; i < len(x.Ops) && i-q.from < len(q.did); i++ {
			o := &x.Ops[i]
			did := q.did[i-q.from]
			k := slices.Index(did, false)
			if k < 0 && o.Verb != model.PlanBarrier {
				continue
			}
			text := ""
			switch o.Verb {
			case model.PlanWait:
				id := o.IDs[k]
				c := r.p.Counters[id]
				text = fmt.Sprintf("waits for ever for signal %d of %s; %d come", q.tickets[[2]int{i, k}], c.Name, r.count[id])
			case model.PlanAcquire:
				text = fmt.Sprintf("waits for ever for semaphore %d: %d are taken and %d were released or there", o.IDs[k], r.taken[len(r.p.Counters)+o.IDs[k]], r.count[len(r.p.Counters)+o.IDs[k]])
			case model.PlanBarrier:
				text = fmt.Sprintf("waits for ever for the %d threadblocks of barrier %d", o.Blocks, o.Barrier)
			case model.PlanCompute:
				text = "waits for ever for packets: " + r.absent(&o.Moves[k])
				if r.arrived(&o.Moves[k]) {
					continue
				}
			default:
				continue
			}
			if len(all) < verify.MaxViolations {
				all = append(all, verify.Wrong(verify.Deadlock, x.Place(i), text).AtLine(o.Line).AtRank(x.Rank))
			}
			break
		}
	}
	return all
}

// absent names packets that a move waits for.
func (r *run) absent(m *model.PlanMove) string {
	for _, s := range m.Srcs {
		if !s.Packet {
			continue
		}
		x := r.p.Buffers[s.Buffer]
		for _, h := range r.packet(x.Space).at(s.Start, s.Start+s.Size) {
			if h.of == undefined {
				return fmt.Sprintf("of scratch of gpu %d, from %d on", x.Rank, h.start)
			}
		}
	}
	return ""
}
