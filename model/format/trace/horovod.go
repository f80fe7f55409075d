package trace

import (
	"cmp"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/oraccl/oraccl/model"
)

// horovod reads a timeline of Horovod.
type horovod struct {
	t       *Trace
	clock   clock
	events  map[string]int
	total   int
	tensors map[int]*tensor
	ranks   map[int]bool
	counts  map[string]int
	cycles  tally
	last    model.Time
	cycled  bool
	epoch   string
	bad     int
	until   time.Time
}

// tensor is what is known of a tensor, which is a "process" of the timeline.
type tensor struct {
	name         string
	stack        []open
	ops          journal // the allreduces
	negotiations journal // of allreduces
	bytes        int64
	args         []byte // of the last one, which say how many bytes it has
}

type open struct {
	name  string
	from  model.Time
	inner []span // of transports
	ticks []tick
}

// op is an allreduce of a tensor.
type op struct {
	span
	transport []span
}

// negotiation is how long a tensor was not ready on all ranks.
type negotiation struct {
	end   model.Time
	ticks []tick
}

type tick struct {
	rank int
	at   model.Time
}

// journal is a list of entries, each of numbers and times, in few bytes each: whole microseconds, and
// differences from what is before, are small numbers.
type journal struct {
	entries int
	b       []byte
	from    model.Time // of the last entry
}

func (j *journal) number(n int) { j.b = binary.AppendUvarint(j.b, uint64(n)) }

func (j *journal) time(t model.Time) {
	whole, rest := int64(t/model.Microsecond)<<1, int64(t%model.Microsecond)
	if rest == 0 {
		j.b = binary.AppendVarint(j.b, whole)
	} else {
		j.b = binary.AppendVarint(binary.AppendVarint(j.b, whole|1), rest)
	}
}

func (j *journal) addOp(s span, transport []span) {
	j.entries++
	j.time(s.from - j.from)
	j.time(s.to - s.from)
	j.number(len(transport))
	for _, x := range transport {
		j.time(x.from - s.from)
		j.time(x.to - x.from)
	}
	j.from = s.from
}

func (j *journal) addNegotiation(end model.Time, ticks []tick) {
	j.entries++
	j.time(end - j.from)
	j.number(len(ticks))
	for _, x := range ticks {
		j.number(x.rank)
		j.time(x.at - end)
	}
	j.from = end
}

// journalReader reads a journal from its beginning. What it returns is valid until the next call.
type journalReader struct {
	b         []byte
	from      model.Time
	transport []span
	ticks     []tick
}

func (j *journal) reader() *journalReader { return &journalReader{b: j.b} }

func (r *journalReader) number() int {
	n, size := binary.Uvarint(r.b)
	r.b = r.b[size:]
	return int(n)
}

func (r *journalReader) time() model.Time {
	n, size := binary.Varint(r.b)
	r.b = r.b[size:]
	t := model.Time(n>>1) * model.Microsecond
	if n&1 != 0 {
		rest, size := binary.Varint(r.b)
		r.b = r.b[size:]
		t += model.Time(rest)
	}
	return t
}

func (r *journalReader) op() op {
	r.from += r.time()
	o := op{span: span{r.from, r.from + r.time()}}
	r.transport = r.transport[:0]
	for range r.number() {
		from := r.from + r.time()
		r.transport = append(r.transport, span{from, from + r.time()})
	}
	o.transport = r.transport
	return o
}

func (r *journalReader) negotiation() negotiation {
	r.from += r.time()
	r.ticks = r.ticks[:0]
	for range r.number() {
		rank := r.number()
		r.ticks = append(r.ticks, tick{rank, r.from + r.time()})
	}
	return negotiation{r.from, r.ticks}
}

func newHorovod(t *Trace) *horovod {
	return &horovod{t: t, events: map[string]int{}, tensors: map[int]*tensor{}, ranks: map[int]bool{}, counts: map[string]int{}}
}

// event reads an event. What is no event is counted.
func (h *horovod) event(raw []byte) {
	h.total++
	var e event
	if !e.read(raw) {
		h.bad++
		return
	}
	h.events[string(e.ph)]++
	pid, err := strconv.Atoi(string(e.pid))
	if string(e.ph) == "M" {
		var args struct {
			Name  string      `json:"name"`
			Epoch json.Number `json:"start_time_since_epoch_in_micros"`
		}
		_ = json.Unmarshal(e.args, &args)
		switch {
		case args.Epoch != "":
			h.epoch = args.Epoch.String()
		case string(e.name) == "process_name" && err == nil && args.Name != "" && !(pid == 0 && h.epoch != ""):
			if h.tensors[pid] == nil {
				h.tensors[pid] = &tensor{name: args.Name}
			}
		}
		return
	}
	at, ok := h.clock.at(e.ts)
	if string(e.ph) == "i" {
		if ok && string(e.name) == "CYCLE_START" {
			if h.cycled {
				h.cycles.add(at - h.last)
			}
			h.last, h.cycled = at, true
		}
		return
	}
	x := h.tensors[pid]
	if x == nil || err != nil || !ok {
		return
	}
	switch string(e.ph) {
	case "B":
		if len(x.stack) == 0 {
			h.counts[string(e.name)]++
		}
		if n := len(x.stack); n < cap(x.stack) && n < 64 { // with the room of what was there before
			x.stack = x.stack[:n+1]
			top := &x.stack[n]
			top.name, top.from, top.inner, top.ticks = named(top.name, e.name), at, top.inner[:0], top.ticks[:0]
		} else if n < 64 {
			x.stack = append(x.stack, open{name: string(e.name), from: at})
		}
	case "X":
		if rank, err := strconv.Atoi(string(e.name)); err == nil && len(x.stack) > 0 && rank >= 0 && rank < model.MaxNodes {
			top := &x.stack[len(x.stack)-1]
			top.ticks = append(top.ticks, tick{rank, at})
			h.ranks[rank] = true
		}
	case "E":
		h.end(x, at, e.args)
	}
}

// named returns the text of b: before, where it is that.
func named(before string, b []byte) string {
	if before == string(b) {
		return before
	}
	return string(b)
}

// end ends what is innermost of a tensor.
func (h *horovod) end(x *tensor, at model.Time, args json.RawMessage) {
	if len(x.stack) == 0 {
		h.bad++
		return
	}
	top := &x.stack[len(x.stack)-1]
	x.stack = x.stack[:len(x.stack)-1]
	switch {
	case len(x.stack) > 0 && strings.HasSuffix(top.name, "_ALLREDUCE"):
		outer := &x.stack[0]
		outer.inner = append(outer.inner, span{top.from, at})
		h.counts["transport "+top.name]++
	case len(x.stack) > 0:
	case top.name == "NEGOTIATE_ALLREDUCE":
		x.negotiations.addNegotiation(at, top.ticks)
	case top.name == "ALLREDUCE":
		x.ops.addOp(span{top.from, at}, top.inner)
		var a struct {
			Type  string          `json:"dtype"`
			Shape json.RawMessage `json:"shape"`
		}
		if string(args) == string(x.args) {
			return
		}
		if x.args = append(x.args[:0], args...); json.Unmarshal(args, &a) == nil && a.Type != "" {
			x.bytes = elementBytes(a.Type) * product(a.Shape)
		}
	}
}

// allreduces returns how many allreduces there are that were negotiated, too.
func (x *tensor) allreduces() int { return min(x.ops.entries, x.negotiations.entries) }

// elementBytes returns the size of an element by the name of its type, in the words of TensorFlow, PyTorch
// and NCCL, or 0.
func elementBytes(name string) int64 {
	switch strings.ToLower(strings.TrimPrefix(name, "c10::")) {
	case "int8", "uint8", "bool", "char", "byte", "float8_e4m3", "float8_e5m2", "float8_e4m3fn", "signed char", "unsigned char":
		return 1
	case "float16", "bfloat16", "half", "int16", "uint16", "short":
		return 2
	case "float32", "float", "int32", "uint32", "int":
		return 4
	case "float64", "double", "int64", "uint64", "long", "long int":
		return 8
	}
	return 0
}

// product multiplies a shape, "[172, 4096]" as text or as a list.
func product(shape json.RawMessage) int64 {
	var text string
	if json.Unmarshal(shape, &text) == nil {
		shape = json.RawMessage(text)
	}
	var list []int64
	if json.Unmarshal(shape, &list) != nil {
		return 0
	}
	n := int64(1)
	for _, d := range list {
		if d < 0 || d > 0 && n > model.MaxSize/d {
			return 0
		}
		n *= d
	}
	return n
}

// finish finds the job. Where the file is open, which is what a run leaves that was killed, the last iteration
// may lack gradients.
func (h *horovod) finish(ctx context.Context, open bool) error {
	t := h.t
	t.Format = horovodFormat
	t.value("events", "", "%d", h.total)
	for _, ph := range []string{"B", "X", "i"} {
		t.value("events_"+ph, "", "%d", h.events[ph])
	}
	if h.epoch != "" {
		t.value("start_epoch", "us", "%s", h.epoch)
	}
	ranks := slices.Sorted(maps.Keys(h.ranks))
	t.Ranks = len(ranks)
	t.value("ranks_seen", "", "%s", strings.Trim(fmt.Sprint(ranks), "[]"))
	t.value("tensors", "", "%d", len(h.tensors))
	var names, transports []string
	for _, name := range slices.Sorted(maps.Keys(h.counts)) {
		if of, is := strings.CutPrefix(name, "transport "); is {
			transports = append(transports, of)
		} else {
			names = append(names, fmt.Sprintf("%s:%d", name, h.counts[name]))
		}
	}
	t.value("operations", "", "%s", strings.Join(names, " "))
	if h.bad > 0 {
		t.Notes.Add(model.LeftOut, "%d events that could not be read", h.bad)
	}
	gradients, others := h.gradients(open)
	if len(gradients) == 0 {
		t.Notes.Add(model.Fact, "no allreduce in it: there is no job to be found")
		return nil
	}
	h.job(ctx, gradients, others, transports)
	h.late(ctx, gradients)
	if m := h.cycles.median(); m != nil {
		t.value("cycle_spacing_median", "us", "%s", us(*m))
	}
	if h.over(ctx) {
		return ctx.Err()
	}
	return nil
}

// over reports whether what is left is not to be looked at: the context has been done for some time, and a run that
// is interrupted has a second to print what it found.
func (h *horovod) over(ctx context.Context) bool {
	if ctx.Err() == nil {
		return false
	}
	if h.until.IsZero() {
		h.until = time.Now().Add(300 * time.Millisecond)
	}
	return time.Now().After(h.until)
}

// gradients returns the tensors with the largest number of allreduces, and how many others have any. In a file
// that is open those that have one less are gradients, too.
func (h *horovod) gradients(open bool) (list []int, others int) {
	most := 0
	for _, x := range h.tensors {
		most = max(most, x.allreduces())
	}
	least := most
	if open && most > 2 {
		least--
	}
	lacking := 0
	for _, pid := range slices.Sorted(maps.Keys(h.tensors)) {
		switch n := h.tensors[pid].allreduces(); {
		case n == 0:
		case n >= least:
			list = append(list, pid)
			if n < most {
				lacking++
			}
		default:
			others++
		}
	}
	if lacking > 0 {
		h.t.Notes.Add(model.LeftOut, "iteration %d, which %d of %d gradients lack: the file ends in it", most-1, lacking, len(list))
	}
	return list, others
}

// iteration is the i-th allreduce of each gradient.
type iteration struct {
	end, ready model.Time
	buckets    []group
	comm       model.Time // length of the union of the transports
	sum        model.Time // of the tensors' own unions
	busy       model.Time
}

// group are tensors that were reduced together.
type group struct {
	span
	tensors   []int
	ready     model.Time
	transport []span
	bytes     int64
}

func (g *group) name() string { return join(g.tensors, "+") }

func join(list []int, by string) string {
	var words []string
	for _, x := range list {
		words = append(words, strconv.Itoa(x))
	}
	return strings.Join(words, by)
}

// iterations reads one iteration after the other.
type iterations struct {
	gradients       []int
	tensors         []*tensor
	ops, ready      []*journalReader
	transports, own []span // scratch
	all             []group
}

func (h *horovod) iterations(gradients []int) *iterations {
	x := &iterations{gradients: gradients}
	for _, pid := range gradients {
		y := h.tensors[pid]
		x.tensors, x.ops, x.ready = append(x.tensors, y), append(x.ops, y.ops.reader()), append(x.ready, y.negotiations.reader())
	}
	return x
}

// next returns the next iteration.
func (x *iterations) next() iteration {
	var it iteration
	x.transports, x.all = x.transports[:0], x.all[:0]
	for i, pid := range x.gradients {
		o, n := x.ops[i].op(), x.ready[i].negotiation()
		if i == 0 {
			it.end, it.ready = o.to, n.end
		}
		it.end, it.ready = max(it.end, o.to), max(it.ready, n.end)
		x.transports = append(x.transports, o.transport...)
		x.own = append(x.own[:0], o.transport...)
		it.sum += length(union(x.own))
		x.all = append(x.all, group{span: o.span, tensors: []int{pid}, ready: n.end, transport: slices.Clone(o.transport), bytes: x.tensors[i].bytes})
	}
	it.comm = length(union(x.transports))
	slices.SortStableFunc(x.all, func(a, b group) int { return cmp.Compare(a.from, b.from) })
	for _, g := range x.all {
		if n := len(it.buckets); n > 0 && g.from < it.buckets[n-1].to {
			last := &it.buckets[n-1]
			last.tensors = append(last.tensors, g.tensors...)
			last.to, last.ready, last.bytes = max(last.to, g.to), max(last.ready, g.ready), last.bytes+g.bytes
			last.transport = append(last.transport, g.transport...)
			continue
		}
		it.buckets = append(it.buckets, g)
	}
	for b := range it.buckets {
		g := &it.buckets[b]
		slices.Sort(g.tensors)
		it.busy += g.to - g.from
	}
	return it
}

// shown is the iteration whose buckets are listed, if there are more than that.
const shown = 10

// job finds the times of an iteration.
func (h *horovod) job(ctx context.Context, gradients []int, others int, transports []string) {
	t := h.t
	n := h.tensors[gradients[0]].allreduces()
	for _, pid := range gradients {
		n = min(n, h.tensors[pid].allreduces())
	}
	bytes := int64(0)
	for _, pid := range gradients {
		bytes += h.tensors[pid].bytes
	}
	t.value("gradient_tensors", "", "%d", len(gradients))
	t.value("other_allreduce_tensors", "", "%d", others)
	t.value("gradient_bytes", "B", "%d", bytes)
	t.value("transport", "", "%s", strings.Join(transports, " "))
	var comm, busy, period, compute, exposed tally
	var commTotal, sumTotal model.Time
	partitions := map[string]*int{}
	var before iteration
	at := min(shown, n-1)
	var one iteration
	var oneBefore model.Time
	all := h.iterations(gradients)
	var name []byte
	for i := range n {
		if i%256 == 255 && h.over(ctx) {
			t.Notes.Add(model.LeftOut, "%d of %d iterations, since the time was over", n-i, n)
			n = i
			break
		}
		it := all.next()
		commTotal, sumTotal = commTotal+it.comm, sumTotal+it.sum
		name = it.partition(name[:0])
		if times := partitions[string(name)]; times != nil {
			*times++
		} else {
			partitions[string(name)] = new(1)
		}
		if t.options.counts(i) {
			comm.add(it.comm)
			busy.add(it.busy)
			period.add(it.end - before.end)
			compute.add(it.ready - before.end)
			exposed.add(it.end - it.ready)
		}
		if i == at {
			one, oneBefore = it, before.end
		}
		before = it
	}
	set := func(name string, list *tally) {
		if m := list.median(); m != nil {
			t.value(name, "us", "%s", us(*m))
		}
	}
	t.value("iterations", "", "%d", n)
	set("m_union_median", &comm)
	t.value("m_union_total", "us", "%s", us(commTotal))
	t.value("m_sum_of_tensors_total", "us", "%s", us(sumTotal))
	set("allreduce_busy_median", &busy)
	set("period_median", &period)
	if period.n > 0 {
		t.value("period_mean", "us", "%.3f", float64(period.sum)/float64(period.n)/float64(model.Microsecond))
	}
	set("c_median", &compute)
	set("e_median", &exposed)
	t.value("c_total", "us", "%s", us(compute.sum))
	t.value("e_total", "us", "%s", us(exposed.sum))
	t.value("bucket_partitions", "", "%d", len(partitions))
	modal, most := "", 0
	for name, times := range partitions {
		if *times > most || *times == most && name < modal {
			modal, most = name, *times
		}
	}
	t.value("bucket_partition_modal", "", "%s (%d iterations)", modal, most)
	job := Job{Name: base(t.File), Ranks: t.Ranks, Iterations: n, Period: period.median(), Compute: compute.median(), Comm: comm.median(), Exposed: exposed.median()}
	if at > 0 {
		name := fmt.Sprintf("iteration_%d", at)
		for _, b := range one.buckets {
			m, offset := length(union(slices.Clone(b.transport))), b.ready-oneBefore
			t.value(name+"_bucket", "us", "tensors %s bytes %d ready %s m %s", b.name(), b.bytes, us(offset), us(m))
			job.Buckets = append(job.Buckets, Bucket{Kind: "allreduce", Bytes: b.bytes, Offset: &offset, Comm: &m, Computed: &offset})
		}
		c := one.ready - oneBefore
		job.BucketsOf = &c
		t.value(name+"_c", "us", "%s", us(one.ready-oneBefore))
		t.value(name+"_e", "us", "%s", us(one.end-one.ready))
	}
	t.Jobs = append(t.Jobs, job)
}

// partition appends how the tensors are in buckets, "1+2 3".
func (it *iteration) partition(name []byte) []byte {
	order := make([]int, len(it.buckets))
	for b := range order {
		order[b] = b
	}
	slices.SortFunc(order, func(a, b int) int { return it.buckets[a].tensors[0] - it.buckets[b].tensors[0] })
	for i, b := range order {
		if i > 0 {
			name = append(name, ' ')
		}
		name = append(name, it.buckets[b].name()...)
	}
	return name
}

// late finds the rank that comes last, by negotiations that have a tick of every rank.
func (h *horovod) late(ctx context.Context, gradients []int) {
	t := h.t
	job := &t.Jobs[len(t.Jobs)-1]
	best := int64(-1)
	for _, pid := range gradients {
		x := h.tensors[pid]
		last := map[int]int{}
		releases := map[int]*tally{}
		var first, next tally
		whole := 0
		seen, list := map[int]model.Time{}, []int(nil)
		for all, i := x.negotiations.reader(), 0; i < x.negotiations.entries; i++ {
			if i%256 == 255 && h.over(ctx) {
				break
			}
			n := all.negotiation()
			clear(seen)
			for _, k := range n.ticks {
				seen[k.rank] = k.at
			}
			if len(seen) < len(h.ranks) || len(seen) == 0 {
				continue
			}
			whole++
			list = slices.AppendSeq(list[:0], maps.Keys(seen))
			slices.SortFunc(list, func(a, b int) int { return cmp.Or(cmp.Compare(seen[a], seen[b]), a-b) })
			earliest := seen[list[0]]
			latest := list[len(list)-1]
			last[latest]++
			for r, at := range seen {
				if releases[r] == nil {
					releases[r] = &tally{}
				}
				releases[r].add(at - earliest)
			}
			if len(list) > 1 {
				first.add(seen[latest] - earliest)
				next.add(seen[latest] - seen[list[len(list)-2]])
			}
		}
		name := fmt.Sprintf("tensor_%d", pid)
		t.value(name, "", "bytes %d negotiations_with_all_ticks %d", x.bytes, whole)
		if whole == 0 {
			continue
		}
		var words, times []string
		usual := -1
		for _, r := range slices.Sorted(maps.Keys(last)) {
			words = append(words, fmt.Sprintf("%d:%d", r, last[r]))
			if usual < 0 || last[r] > last[usual] {
				usual = r
			}
		}
		var release []model.Time
		for _, r := range slices.Sorted(maps.Keys(releases)) {
			m := *releases[r].median()
			release = append(release, m)
			times = append(times, fmt.Sprintf("%d:%s", r, us(m)))
		}
		t.value(name+"_last_rank", "", "%s", strings.Join(words, " "))
		t.value(name+"_release_median", "us", "%s", strings.Join(times, " "))
		if x.bytes > best && first.n > 0 { // the job's is that of the largest gradient
			best = x.bytes
			job.Releases, job.Late = release, &Late{Rank: usual, Times: last[usual], Of: whole, AfterFirst: *first.median(), AfterNext: *next.median()}
		}
	}
	if job.Late != nil && job.Late.Of < job.Iterations {
		t.Notes.Add(model.Fact, "%d of %d iterations have a tick of every rank: later ones come out of the response cache", job.Late.Of, job.Iterations)
	}
	if job.Late != nil && job.Late.Rank == 0 {
		t.Notes.Add(model.Fact, "rank 0 is Horovod's coordinator, and may be late for that reason")
	}
}
