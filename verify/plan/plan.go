// Package plan decides whether an execution plan, such as those of MSCCL++, performs its
// collective whatever order its threads run in, and for which sizes of a message. SPEC.md,
// section 18, has the semantics. In short:
//
// Every rank runs threadblocks, and a threadblock operations, each of which all its threads
// carry out, or one thread for each identifier that is listed. Nothing orders two operations of
// a threadblock but a join between them, and that a thread does one thing after the other.
// Ranks use each other's memory; signals are counters that persist over launches; puts of a
// port channel are carried out by a proxy later; a packet brings its own flag.
//
// The execution is a graph of events with edges that hold in every execution, of two kinds: those
// that order execution, and those that make memory visible as well. One fair execution decides
// about deadlocks and results, since what is waited for only rises; the graph decides about
// races, about accesses to the caller's buffers of a rank that has not started or has ended, and
// about the next launch. Bounds, limits and counts are looked at one by one.
package plan

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/verify"
)

// Engine is the name in verdicts.
const Engine = "plan"

// Options say what a plan is judged by.
type Options struct {
	Size int64 // of the message that it must serve; 0: all that it is for
}

// Report is what is decided about a file of plans. A property is Unknown where another violation
// leaves it without a meaning.
type Report struct {
	Verdict    verify.Verdict
	Properties map[string]verify.Outcome
	Warnings   []verify.Violation // what does not refute

	// Low to High are the messages for which the plan is proved, in bytes, and multiples of
	// Unit; 0 where there are none. Beyond is the reason why no larger one is among them.
	Low, High, Unit int64
	Beyond          string
	Fails           int64 // the smallest message that is known to fail, or 0
	Events          int   // of the largest graph that was looked at
}

// PropertyNames are the properties in the order of reports.
var PropertyNames = []string{"bounds", "deadlock", "balance", "result", "races", "entry", "exit", "packets", "launches"}

// Check decides about a file that a runtime loads. It takes, for each way in which messages
// divide, time in proportion to events times sources of conflicts over 64.
func Check(ctx context.Context, f *model.PlanFile, o Options) *Report {
	r := &Report{Unit: f.Unit, Properties: map[string]verify.Outcome{}}
	r.Verdict.Engine = Engine
	for _, x := range f.Faults {
		v := verify.Wrong(verify.Code(x.Code), x.Where, x.Message).AtLine(x.Line)
		if v.Where == "" {
			v.Where = fmt.Sprintf("line %d", x.Line)
		}
		if x.Refutes {
			r.Verdict.Violations = append(r.Verdict.Violations, v)
		} else {
			r.Warnings = append(r.Warnings, v)
		}
	}
	list := f.Sizes
	if o.Size != 0 {
		switch {
		case f.Unit > 0 && o.Size%f.Unit != 0:
			r.Verdict.Violations = append(r.Verdict.Violations, verify.Wrong(verify.SizeLimit, fmt.Sprintf("line %d", f.Line), fmt.Sprintf("a message of %d bytes does not divide into the chunks, want a multiple of %d", o.Size, f.Unit)).AtLine(f.Line))
			list = nil
		case o.Size < f.Min || o.Size > f.Max:
			r.Verdict.Violations = append(r.Verdict.Violations, verify.Wrong(verify.SizeLimit, fmt.Sprintf("line %d", f.Line), fmt.Sprintf("the plan is for messages of %d to %d bytes", f.Min, f.Max)).AtLine(f.Line))
			list = nil
		default:
			list = []model.PlanSizes{{Each: alike(ctx, f, o.Size), Min: o.Size, Max: o.Size}}
			if n := len(f.Sizes); n > 0 {
				if last := f.Sizes[n-1]; o.Size > last.Max {
					r.Verdict.Reason = fmt.Sprintf("messages of more than %d bytes are not judged: %s", last.Max, last.Why)
					list = nil
				}
			}
		}
	}
	meaningless := slices.ContainsFunc(r.Verdict.Violations, func(v verify.Violation) bool {
		return v.Code == verify.BadReference || v.Code == verify.SizeLimit
	})
	if !meaningless {
		r.sizes(ctx, f, list)
	}
	r.conclude(ctx, f, o)
	return r
}

// alike returns the message that is judged for one of some size: that of its way, which is the smaller
// one, if the plan is right for that, so that a thousand iterations of a pipeline need not be
// carried out; else the message itself, of which a violation is then told.
func alike(ctx context.Context, f *model.PlanFile, size int64) int64 {
	for _, s := range f.Sizes {
		if s.Step > 0 && s.Min <= size && size <= s.Max && (size-s.Each)%s.Step == 0 && s.Each < size {
			if j := judge(ctx, f, s.Each); len(j.wrong) == 0 && j.why == "" && j.refused == nil {
				return s.Each
			}
		}
	}
	return size
}

// sizes decides about the messages one way after the other.
func (r *Report) sizes(ctx context.Context, f *model.PlanFile, list []model.PlanSizes) {
	before := len(r.Verdict.Violations)
	warned := map[verify.Code]bool{}
	for i, s := range list {
		if ctx.Err() != nil {
			r.Verdict.Reason = verify.Stopped(ctx)
			return
		}
		j := judge(ctx, f, s.Each)
		if errors.Is(j.refused, errRefused) { // a loader does not divide a message like that
			continue
		}
		r.Events = max(r.Events, j.events)
		for _, w := range j.warnings {
			if i == 0 || !warned[w.Code] {
				r.Warnings = append(r.Warnings, w)
			}
		}
		for _, w := range j.warnings {
			warned[w.Code] = true
		}
		if i == 0 || r.Properties[PropertyNames[0]] == verify.Unknown && r.Low == 0 {
			r.Properties = j.properties
		}
		if j.why != "" {
			r.Verdict.Reason = fmt.Sprintf("messages of %d bytes: %s", s.Each, j.why)
			return
		}
		if len(j.wrong) > 0 {
			r.Properties, r.Fails = j.properties, s.Each
			for _, v := range j.wrong {
				if r.Low != 0 || f.Sizes[0].Min != s.Each {
					v.Where += fmt.Sprintf(", for messages of %d bytes", s.Each)
				}
				r.Verdict.Violations = append(r.Verdict.Violations, v)
			}
			return
		}
		if before == 0 {
			if r.Low == 0 {
				r.Low = s.Min
			}
			r.High, r.Beyond = max(r.High, s.Max), s.Why
		}
	}
}

// conclude is the one place that accepts.
func (r *Report) conclude(ctx context.Context, f *model.PlanFile, o Options) {
	v := &r.Verdict
	place := "out of place"
	if f.InPlace {
		place = "in place"
	}
	v.Claim = fmt.Sprintf("performs %s %s on %s, whatever order its threads run in", f.Collective, place, count(f.Ranks, "rank"))
	if f.UnknownMeaning {
		v.Claim = fmt.Sprintf("runs without races, deadlocks and faults on %s, whatever order its threads run in (what collective %q should do is not known)", count(f.Ranks, "rank"), f.Collective)
	}
	switch {
	case len(v.Violations) > 0:
		v.Outcome, v.Reason, r.Low, r.High, r.Beyond = verify.Refuted, "", 0, 0, ""
		v.Violations = v.Violations[:min(len(v.Violations), verify.MaxViolations)]
	case v.Reason != "" || ctx.Err() != nil:
		if v.Reason == "" {
			v.Reason = verify.Stopped(ctx)
		}
	case r.Low > 0:
		v.Outcome = verify.Proved
		v.Claim += ", for " + r.Range()
	default:
		v.Reason = "there is no size of a message for which the runtime takes it"
	}
}

// Range describes the messages for which the plan is proved.
func (r *Report) Range() string {
	if r.Low == r.High {
		return "messages of " + model.FormatBytes(r.Low)
	}
	return fmt.Sprintf("messages of %s to %s", model.FormatBytes(r.Low), model.FormatBytes(r.High))
}

func count(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

// errRefused is of a size that the loader refuses.
var errRefused = model.ErrNotDivided

// judgement is what is decided about messages of one size.
type judgement struct {
	wrong, warnings []verify.Violation
	properties      map[string]verify.Outcome
	why             string // what could not be decided
	refused         error
	events          int
}

func judge(ctx context.Context, f *model.PlanFile, size int64) *judgement {
	j := &judgement{properties: map[string]verify.Outcome{}}
	var plans []*model.Plan
	for half := range f.Halves {
		p, err := f.At(size, half)
		if err != nil {
			j.refused = err
			if !errors.Is(err, errRefused) {
				j.why = err.Error()
			}
			return j
		}
		plans = append(plans, p)
	}
	j.all(ctx, plans)
	return j
}

// Judge decides about plans of one size of a message: one, or one for each half of scratch that
// launches use in turns. Why is what could not be decided, or empty.
func Judge(ctx context.Context, plans ...*model.Plan) (wrong, warnings []verify.Violation, why string) {
	j := &judgement{properties: map[string]verify.Outcome{}}
	j.all(ctx, plans)
	return j.wrong, j.warnings, j.why
}

func (j *judgement) all(ctx context.Context, plans []*model.Plan) {
	for half, p := range plans {
		before := len(j.wrong)
		j.launch(ctx, p)
		if j.why != "" {
			return
		}
		if len(j.wrong) > before {
			if half > 0 {
				for i := range j.wrong {
					j.wrong[i].Where += ", in every second launch"
				}
			}
			return
		}
	}
	sequence := []*model.Plan{plans[0], plans[0]}
	if len(plans) > 1 {
		sequence = []*model.Plan{plans[0], plans[1], plans[0]}
	}
	g := newGraph(ctx, sequence)
	j.events = max(j.events, len(g.events))
	if g.tooMany {
		j.why = tooMany(ctx)
		return
	}
	if g.order == nil {
		j.why = "the order of several launches has a cycle"
		return
	}
	again, _, enough := g.races(ctx, true)
	if !enough {
		j.why = tooMany(ctx)
		return
	}
	j.set("launches", again)
	j.warnings = append(j.warnings, again...)
	j.warnings = dedupe(j.warnings)
}

// tooMany is the reason where accesses could not be compared.
func tooMany(ctx context.Context) string {
	if ctx.Err() != nil {
		return verify.Stopped(ctx)
	}
	return "too many accesses are to the same memory"
}

func dedupe(all []verify.Violation) []verify.Violation {
	seen := map[string]bool{}
	return slices.DeleteFunc(all, func(v verify.Violation) bool {
		k := v.String()
		was := seen[k]
		seen[k] = true
		return was
	})
}

// set records a property; it is proved if nothing is wrong.
func (j *judgement) set(name string, wrong []verify.Violation) {
	switch {
	case len(wrong) > 0:
		j.properties[name] = verify.Refuted
	case j.properties[name] == verify.Unknown:
		j.properties[name] = verify.Proved
	}
}

// launch decides about one launch.
func (j *judgement) launch(ctx context.Context, p *model.Plan) {
	bounds := bounds(p)
	j.set("bounds", bounds)
	j.wrong = append(j.wrong, bounds...)
	if len(bounds) > 0 {
		return
	}
	r := newRun(p)
	ended := r.execute(ctx)
	if ctx.Err() != nil {
		j.why = verify.Stopped(ctx)
		return
	}
	balance := balance(p)
	if !ended {
		stuck := r.stuck()
		j.set("deadlock", stuck)
		j.wrong = append(j.wrong, append(stuck, r.found...)...)
		j.wrong = append(j.wrong, balance...)
		j.set("balance", balance)
		return
	}
	g := newGraph(ctx, []*model.Plan{p})
	j.events = max(j.events, len(g.events))
	if g.tooMany {
		j.why = tooMany(ctx)
		return
	}
	if g.order == nil {
		j.why = "the order of events has a cycle, though an execution ends"
		return
	}
	stuck, why := unfair(ctx, p, g)
	j.set("deadlock", stuck)
	j.wrong = append(j.wrong, stuck...)
	j.set("balance", balance)
	j.wrong = append(j.wrong, balance...)
	wrong, kept := r.results()
	result := append(slices.Clone(r.found), wrong...)
	slices.SortStableFunc(result, func(a, b verify.Violation) int {
		rank := func(v verify.Violation) int {
			if v.Code == verify.UninitialisedRead {
				return 0
			}
			return 1
		}
		return rank(a) - rank(b)
	})
	if len(p.Wants) > 0 || len(result) > 0 {
		j.set("result", result)
	}
	j.wrong = append(j.wrong, result...)
	j.warnings = append(j.warnings, kept[:min(len(kept), 1)]...)
	j.warnings = append(j.warnings, r.twice[:min(len(r.twice), 1)]...)
	races, relaxed, enough := g.races(ctx, false)
	if !enough {
		j.why = tooMany(ctx)
		return
	}
	var mixed []verify.Violation
	for _, v := range slices.Concat(races, r.found) {
		if v.Code == verify.PacketMixed || v.Code == verify.PacketTwice {
			mixed = append(mixed, v)
		}
	}
	j.set("packets", mixed)
	j.set("races", slices.DeleteFunc(slices.Clone(races), func(v verify.Violation) bool { return v.Code == verify.PacketMixed }))
	j.wrong = append(j.wrong, races...)
	hands, relaxedHands := g.handshakes(ctx)
	of := func(c verify.Code) []verify.Violation {
		return slices.DeleteFunc(slices.Clone(hands), func(v verify.Violation) bool { return v.Code != c })
	}
	j.set("entry", of(verify.EntryHandshake))
	j.set("exit", of(verify.ExitHandshake))
	j.wrong = append(j.wrong, hands...)
	j.warnings = append(j.warnings, relaxed...)
	j.warnings = append(j.warnings, relaxedHands...)
	for _, c := range g.counters {
		if c.shared || c.unfair {
			what := "raise"
			if c.unfair {
				what = "take from"
			}
			e := slices.Concat(c.raises, c.takes)[0]
			x := &p.Blocks[g.events[e].block]
			j.warnings = append(j.warnings, verify.Wrong(verify.SharedChannel, x.Place(g.events[e].op), "several threadblocks "+what+" "+c.name).AtLine(x.Ops[g.events[e].op].Line))
		}
	}
	if len(j.wrong) == 0 {
		j.why = why
	}
}

// bounds finds accesses beyond the end of a buffer, and of parts of what a thread moves as a whole.
func bounds(p *model.Plan) []verify.Violation {
	var all []verify.Violation
	for b := range p.Blocks {
		x := &p.Blocks[b]
		for i := range x.Ops {
			for k := range x.Ops[i].Moves {
				m := &x.Ops[i].Moves[k]
				for _, s := range slices.Concat(m.Srcs, m.Dsts) {
					if x.Ops[i].Verb == model.PlanCompute && m.Grain > 0 && (s.Start%m.Grain != 0 || s.Size%m.Grain != 0) && len(all) < verify.MaxViolations {
						all = append(all, verify.Wrong(verify.RuntimeLimit, x.Place(i), fmt.Sprintf("uses bytes %d to %d of %s of gpu %d, and threads move whole pieces of %d bytes", s.Start, s.Start+s.Size-1, p.Buffers[s.Buffer].Name, p.Buffers[s.Buffer].Rank, m.Grain)).AtLine(x.Ops[i].Line).AtRank(x.Rank))
						continue
					}
					if sound(p, s) || len(all) == verify.MaxViolations {
						continue
					}
					y := p.Buffers[s.Buffer]
					size, what := y.Size, "bytes"
					if s.Packet {
						size, what = y.Packets, "bytes as packets"
					}
					all = append(all, verify.Wrong(verify.OutOfBounds, x.Place(i), fmt.Sprintf("uses %s %d to %d of %s of gpu %d, which has %d", what, s.Start, s.Start+s.Size-1, y.Name, y.Rank, size)).AtLine(x.Ops[i].Line).AtRank(x.Rank))
				}
			}
		}
	}
	return all
}

// balance compares what raises counters and semaphores with what takes from them: what is left
// over is taken by the next launch.
func balance(p *model.Plan) []verify.Violation {
	type use struct{ up, down, line, block, op int }
	all := make([]use, len(p.Counters)+len(p.Semaphores))
	type meeting struct{ rank, id int }
	barriers := map[meeting][]int{} // threadblocks
	times := map[meeting]map[int]int{}
	want := map[meeting]int{}
	var wrong []verify.Violation
	for b := range p.Blocks {
		x := &p.Blocks[b]
		for i := range x.Ops {
			o := &x.Ops[i]
			if o.Verb == model.PlanBarrier {
				k := meeting{x.Rank, o.Barrier}
				if times[k] == nil {
					times[k], want[k] = map[int]int{}, o.Blocks
				}
				if times[k][b] == 0 {
					barriers[k] = append(barriers[k], b)
				}
				times[k][b]++
				if o.Blocks != want[k] {
					wrong = append(wrong, verify.Wrong(verify.BarrierMismatch, x.Place(i), fmt.Sprintf("waits for %d threadblocks at barrier %d, another operation for %d", o.Blocks, o.Barrier, want[k])).AtLine(o.Line))
				}
			}
			for _, id := range o.IDs {
				if o.Verb == model.PlanAcquire || o.Verb == model.PlanRelease {
					id += len(p.Counters)
				}
				u := &all[id]
				if u.line == 0 {
					u.line, u.block, u.op = o.Line, b, i
				}
				if o.Verb == model.PlanWait || o.Verb == model.PlanAcquire {
					u.down++
				} else {
					u.up++
				}
			}
		}
	}
	for k, list := range barriers {
		x := &p.Blocks[list[0]]
		uneven := false
		for _, b := range list {
			uneven = uneven || times[k][b] != times[k][list[0]]
		}
		if len(list) != want[k] || uneven {
			i := slices.IndexFunc(x.Ops, func(o model.PlanOp) bool { return o.Verb == model.PlanBarrier && o.Barrier == k.id })
			wrong = append(wrong, verify.Wrong(verify.BarrierMismatch, x.Place(i), fmt.Sprintf("barrier %d of gpu %d is for %d threadblocks, and %d come to it, or not all as often", k.id, k.rank, want[k], len(list))).AtLine(x.Ops[i].Line))
		}
	}
	slices.SortFunc(wrong, func(a, b verify.Violation) int { return a.Line - b.Line })
	for id, u := range all {
		lost := id < len(p.Counters) && p.Counters[id].Lost
		if u.up == u.down && !lost || u.up+u.down == 0 {
			continue
		}
		x := &p.Blocks[u.block]
		if id < len(p.Counters) {
			text := fmt.Sprintf("%s: %d signals and %d waits in a launch", p.Counters[id].Name, u.up, u.down)
			if lost {
				text += "; it has no other end"
			}
			wrong = append(wrong, verify.Wrong(verify.SignalBalance, x.Place(u.op), text).AtLine(u.line))
		} else {
			wrong = append(wrong, verify.Wrong(verify.SignalBalance, x.Place(u.op), fmt.Sprintf("semaphore %d: %d releases and %d acquires in a launch", id-len(p.Counters), u.up, u.down)).AtLine(u.line))
		}
	}
	return wrong[:min(len(wrong), verify.MaxViolations)]
}

// unfair decides whether it matters in which order several threadblocks take from a counter.
// They do so as they come, and the first to come is content with fewer signals. If all may take
// as the last of those that could come before them and the run still ends, every run does. If a
// run in which one of them comes late gets stuck, that is a deadlock. Else it is not decided.
func unfair(ctx context.Context, p *model.Plan, g *graph) (stuck []verify.Violation, why string) {
	worst := map[[3]int]int{}
	var late [][2]int // threadblock's number in its rank, and counter
	for i := range g.counters {
		c := &g.counters[i]
		if !c.unfair && g.chain(c.takes) {
			continue
		}
		if c.semaphore && c.unfair {
			why = "several threadblocks take from " + c.name + ", and whether a release wakes one of them is not known"
		}
		for _, t := range c.takes {
			after := g.from(t, true)
			n := len(c.takes)
			for _, x := range c.takes {
				if x != t && has(after, x) {
					n--
				}
			}
			e := g.events[t]
			worst[[3]int{e.block, e.op, e.part}] = n
			if k := [2]int{e.block, i}; !slices.Contains(late, k) {
				late = append(late, k)
			}
		}
	}
	if len(worst) == 0 {
		return nil, ""
	}
	run := newRun(p)
	run.quiet = true
	for k, n := range worst {
		run.blocks[k[0]].tickets[[2]int{k[1], k[2]}] = n
	}
	if run.execute(ctx) {
		return nil, why
	}
	ids := map[int]bool{}
	for _, k := range late {
		ids[p.Blocks[k[0]].ID] = true
	}
	for id := range 1 << 8 {
		if !ids[id] {
			continue
		}
		run := newRun(p)
		run.quiet = true
		run.late = func(b, i int) bool { _, shared := worst[[3]int{b, i, 0}]; return shared && p.Blocks[b].ID == id }
		if !run.execute(ctx) && ctx.Err() == nil {
			stuck := run.stuck()
			for i := range stuck {
				stuck[i].Message += fmt.Sprintf(", if threadblock %d comes later to a channel than others that wait on it", id)
			}
			return stuck, ""
		}
	}
	if why == "" {
		why = "several threadblocks wait on one channel, and whether any order will do is not decided"
	}
	return nil, why
}
