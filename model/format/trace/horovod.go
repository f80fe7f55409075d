package trace

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sort"
	"strconv"
	"strings"

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
	cycles  []model.Time
	last    model.Time
	cycled  bool
	epoch   string
	bad     int
}

// tensor is what is known of a tensor, which is a "process" of the timeline.
type tensor struct {
	name  string
	stack []open
	ops   []op
	ready []negotiation
	bytes int64
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

func newHorovod(t *Trace) *horovod {
	return &horovod{t: t, events: map[string]int{}, tensors: map[int]*tensor{}, ranks: map[int]bool{}, counts: map[string]int{}}
}

// event reads an event. What is no event is counted.
func (h *horovod) event(raw []byte) {
	h.total++
	var e event
	if json.Unmarshal(raw, &e) != nil {
		h.bad++
		return
	}
	h.events[e.Ph]++
	pid, err := strconv.Atoi(string(e.PID))
	if e.Ph == "M" {
		var args struct {
			Name  string      `json:"name"`
			Epoch json.Number `json:"start_time_since_epoch_in_micros"`
		}
		_ = json.Unmarshal(e.Args, &args)
		switch {
		case args.Epoch != "":
			h.epoch = args.Epoch.String()
		case e.Name == "process_name" && err == nil && args.Name != "" && !(pid == 0 && h.epoch != ""):
			if h.tensors[pid] == nil {
				h.tensors[pid] = &tensor{name: args.Name}
			}
		}
		return
	}
	at, ok := h.clock.at(e.TS.String())
	if e.Ph == "i" {
		if ok && e.Name == "CYCLE_START" {
			if h.cycled {
				h.cycles = append(h.cycles, at-h.last)
			}
			h.last, h.cycled = at, true
		}
		return
	}
	x := h.tensors[pid]
	if x == nil || err != nil || !ok {
		return
	}
	switch e.Ph {
	case "B":
		if len(x.stack) == 0 {
			h.counts[e.Name]++
		}
		if len(x.stack) < 64 {
			x.stack = append(x.stack, open{name: e.Name, from: at})
		}
	case "X":
		if rank, err := strconv.Atoi(e.Name); err == nil && len(x.stack) > 0 && rank >= 0 && rank < model.MaxNodes {
			top := &x.stack[len(x.stack)-1]
			top.ticks = append(top.ticks, tick{rank, at})
			h.ranks[rank] = true
		}
	case "E":
		h.end(x, at, e.Args)
	}
}

// end ends what is innermost of a tensor.
func (h *horovod) end(x *tensor, at model.Time, args json.RawMessage) {
	if len(x.stack) == 0 {
		h.bad++
		return
	}
	top := x.stack[len(x.stack)-1]
	x.stack = x.stack[:len(x.stack)-1]
	switch {
	case len(x.stack) > 0 && strings.HasSuffix(top.name, "_ALLREDUCE"):
		outer := &x.stack[0]
		outer.inner = append(outer.inner, span{top.from, at})
		h.counts["transport "+top.name]++
	case len(x.stack) > 0:
	case top.name == "NEGOTIATE_ALLREDUCE":
		x.ready = append(x.ready, negotiation{at, top.ticks})
	case top.name == "ALLREDUCE":
		x.ops = append(x.ops, op{span{top.from, at}, top.inner})
		var a struct {
			Type  string          `json:"dtype"`
			Shape json.RawMessage `json:"shape"`
		}
		if json.Unmarshal(args, &a) == nil && a.Type != "" {
			x.bytes = elementBytes(a.Type) * product(a.Shape)
		}
	}
}

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

// finish finds the job.
func (h *horovod) finish() {
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
	gradients, others := h.gradients()
	if len(gradients) == 0 {
		t.Notes.Add(model.Fact, "no allreduce in it: there is no job to be found")
		return
	}
	h.job(gradients, others, transports)
	h.late(gradients)
	if m, ok := median(h.cycles); ok {
		t.value("cycle_spacing_median", "us", "%s", us(m))
	}
}

// gradients returns the tensors with the largest number of allreduces, and how many others have any.
func (h *horovod) gradients() (list []int, others int) {
	most := 0
	for _, x := range h.tensors {
		most = max(most, min(len(x.ops), len(x.ready)))
	}
	for _, pid := range slices.Sorted(maps.Keys(h.tensors)) {
		switch n := min(len(h.tensors[pid].ops), len(h.tensors[pid].ready)); {
		case n == 0:
		case n == most:
			list = append(list, pid)
		default:
			others++
		}
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

// iterationOf returns the i-th iteration.
func (h *horovod) iterationOf(gradients []int, i int) iteration {
	var it iteration
	var transports, busy []span
	var all []group
	for _, pid := range gradients {
		x := h.tensors[pid]
		o, n := x.ops[i], x.ready[i]
		it.end, it.ready = max(it.end, o.to), max(it.ready, n.end)
		if len(all) == 0 {
			it.end, it.ready = o.to, n.end
		}
		transports, busy = append(transports, o.transport...), append(busy, o.span)
		it.sum += length(union(slices.Clone(o.transport)))
		all = append(all, group{span: o.span, tensors: []int{pid}, ready: n.end, transport: o.transport, bytes: x.bytes})
	}
	it.comm, it.busy = length(union(transports)), length(union(busy))
	sort.SliceStable(all, func(i, j int) bool { return all[i].from < all[j].from })
	for _, g := range all {
		if n := len(it.buckets); n > 0 && g.from < it.buckets[n-1].to {
			last := &it.buckets[n-1]
			last.tensors = append(last.tensors, g.tensors...)
			last.to, last.ready, last.bytes = max(last.to, g.to), max(last.ready, g.ready), last.bytes+g.bytes
			last.transport = append(slices.Clone(last.transport), g.transport...)
			continue
		}
		it.buckets = append(it.buckets, g)
	}
	for b := range it.buckets {
		slices.Sort(it.buckets[b].tensors)
	}
	return it
}

// shown is the iteration whose buckets are listed, if there are more than that.
const shown = 10

// job finds the times of an iteration.
func (h *horovod) job(gradients []int, others int, transports []string) {
	t := h.t
	n := len(h.tensors[gradients[0]].ops)
	for _, pid := range gradients {
		n = min(n, len(h.tensors[pid].ops), len(h.tensors[pid].ready))
	}
	bytes := int64(0)
	for _, pid := range gradients {
		bytes += h.tensors[pid].bytes
	}
	t.value("iterations", "", "%d", n)
	t.value("gradient_tensors", "", "%d", len(gradients))
	t.value("other_allreduce_tensors", "", "%d", others)
	t.value("gradient_bytes", "B", "%d", bytes)
	t.value("transport", "", "%s", strings.Join(transports, " "))
	var comm, busy, period, compute, exposed []model.Time
	var commTotal, sumTotal, periodTotal, computeTotal, exposedTotal model.Time
	partitions := map[string]int{}
	var before iteration
	at := min(shown, n-1)
	var one iteration
	var oneBefore model.Time
	for i := range n {
		it := h.iterationOf(gradients, i)
		commTotal, sumTotal = commTotal+it.comm, sumTotal+it.sum
		var parts []string
		for _, b := range it.buckets {
			parts = append(parts, b.name())
			t.Calls = append(t.Calls, Collective{Kind: "allreduce", Bytes: b.bytes, Group: t.Ranks, Step: fmt.Sprintf("iteration %d", i), Start: b.from, Duration: b.to - b.from})
		}
		sort.SliceStable(parts, func(i, j int) bool { return leading(parts[i]) < leading(parts[j]) })
		partitions[strings.Join(parts, " ")]++
		if t.options.counts(i) {
			comm, busy = append(comm, it.comm), append(busy, it.busy)
			p, c, e := it.end-before.end, it.ready-before.end, it.end-it.ready
			period, compute, exposed = append(period, p), append(compute, c), append(exposed, e)
			periodTotal, computeTotal, exposedTotal = periodTotal+p, computeTotal+c, exposedTotal+e
		}
		if i == at {
			one, oneBefore = it, before.end
		}
		before = it
	}
	set := func(name string, list []model.Time) {
		if m, ok := median(slices.Clone(list)); ok {
			t.value(name, "us", "%s", us(m))
		}
	}
	set("m_union_median", comm)
	t.value("m_union_total", "us", "%s", us(commTotal))
	t.value("m_sum_of_tensors_total", "us", "%s", us(sumTotal))
	set("allreduce_busy_median", busy)
	set("period_median", period)
	if len(period) > 0 {
		t.value("period_mean", "us", "%.3f", float64(periodTotal)/float64(len(period))/float64(model.Microsecond))
	}
	set("c_median", compute)
	set("e_median", exposed)
	t.value("c_total", "us", "%s", us(computeTotal))
	t.value("e_total", "us", "%s", us(exposedTotal))
	t.value("bucket_partitions", "", "%d", len(partitions))
	modal := ""
	for name, k := range partitions {
		if k > partitions[modal] || k == partitions[modal] && name < modal {
			modal = name
		}
	}
	t.value("bucket_partition_modal", "", "%s (%d iterations)", modal, partitions[modal])
	job := Job{Name: base(t.File), Ranks: t.Ranks, Iterations: n, Period: medianOf(period), Compute: medianOf(compute), Comm: medianOf(comm), Exposed: medianOf(exposed)}
	if at > 0 {
		name := fmt.Sprintf("iteration_%d", at)
		for _, b := range one.buckets {
			m, offset := length(union(slices.Clone(b.transport))), b.ready-oneBefore
			t.value(name+"_bucket", "us", "tensors %s bytes %d ready %s m %s", b.name(), b.bytes, us(offset), us(m))
			job.Buckets = append(job.Buckets, Bucket{Kind: "allreduce", Bytes: b.bytes, Offset: &offset, Comm: &m})
		}
		t.value(name+"_c", "us", "%s", us(one.ready-oneBefore))
		t.value(name+"_e", "us", "%s", us(one.end-one.ready))
	}
	t.Jobs = append(t.Jobs, job)
}

func leading(part string) int {
	first, _, _ := strings.Cut(part, "+")
	n, _ := strconv.Atoi(first)
	return n
}

// late finds the rank that comes last, by negotiations that have a tick of every rank.
func (h *horovod) late(gradients []int) {
	t := h.t
	job := &t.Jobs[len(t.Jobs)-1]
	best := int64(-1)
	for _, pid := range gradients {
		x := h.tensors[pid]
		last := map[int]int{}
		releases := make(map[int][]model.Time)
		var first, next []model.Time
		whole := 0
		for _, n := range x.ready {
			seen := map[int]model.Time{}
			for _, k := range n.ticks {
				seen[k.rank] = k.at
			}
			if len(seen) < len(h.ranks) || len(seen) == 0 {
				continue
			}
			whole++
			list := slices.SortedFunc(maps.Keys(seen), func(a, b int) int {
				if seen[a] != seen[b] {
					return int(min(max(seen[a]-seen[b], -1), 1))
				}
				return a - b
			})
			earliest := seen[list[0]]
			latest := list[len(list)-1]
			last[latest]++
			for r, at := range seen {
				releases[r] = append(releases[r], at-earliest)
			}
			if len(list) > 1 {
				first = append(first, seen[latest]-earliest)
				next = append(next, seen[latest]-seen[list[len(list)-2]])
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
			m, _ := median(releases[r])
			release = append(release, m)
			times = append(times, fmt.Sprintf("%d:%s", r, us(m)))
		}
		t.value(name+"_last_rank", "", "%s", strings.Join(words, " "))
		t.value(name+"_release_median", "us", "%s", strings.Join(times, " "))
		if x.bytes > best && len(first) > 0 { // the job's is that of the largest gradient
			best = x.bytes
			a, _ := median(first)
			b, _ := median(next)
			job.Releases, job.Late = release, &Late{Rank: usual, Times: last[usual], Of: whole, AfterFirst: a, AfterNext: b}
		}
	}
	if job.Late != nil && job.Late.Of < job.Iterations {
		t.Notes.Add(model.Fact, "%d of %d iterations have a tick of every rank: later ones come out of the response cache", job.Late.Of, job.Iterations)
	}
	if job.Late != nil && job.Late.Rank == 0 {
		t.Notes.Add(model.Fact, "rank 0 is Horovod's coordinator, and may be late for that reason")
	}
}
