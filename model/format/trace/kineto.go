package trace

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sort"
	"strings"

	"github.com/oraccl/oraccl/model"
)

// kineto reads a profile of PyTorch.
type kineto struct {
	t       *Trace
	clock   clock
	total   int
	kernels int
	bad     int
	compute []span
	comm    []span
	calls   []call
	counts  map[string]int // of NCCL's functions
	types   map[string]int
	steps   map[string]span
	rank    json.Number
	world   json.Number
}

// call is a kernel of NCCL.
type call struct {
	span
	kind  string
	bytes int64
	group int
	named bool // it states what it carries
}

func newKineto(t *Trace) *kineto {
	return &kineto{t: t, counts: map[string]int{}, types: map[string]int{}, steps: map[string]span{}}
}

// top reads a member of the document.
func (k *kineto) top(key string, raw []byte) {
	if key != "distributedInfo" {
		return
	}
	var d struct {
		Rank  json.Number `json:"rank"`
		World json.Number `json:"world_size"`
	}
	if json.Unmarshal(raw, &d) == nil {
		k.rank, k.world = d.Rank, d.World
	}
}

// event reads an event; only kernels and steps are looked at.
func (k *kineto) event(raw []byte) {
	k.total++
	if !bytes.Contains(raw, []byte("ernel\"")) && !bytes.Contains(raw, []byte("ProfilerStep#")) {
		return
	}
	var e event
	if !e.read(raw) {
		k.bad++
		return
	}
	step := string(e.cat) == "user_annotation" && bytes.HasPrefix(e.name, []byte("ProfilerStep#"))
	if string(e.ph) != "X" || !step && string(e.cat) != "kernel" && string(e.cat) != "Kernel" {
		return
	}
	from, ok := k.clock.at(e.ts)
	lasts, also := decimal(string(e.dur), model.Microsecond)
	if !ok || !also || lasts < 0 || lasts > model.MaxEnd {
		k.bad++
		return
	}
	s := span{from, from + lasts}
	if step {
		k.steps[string(e.name)] = s
		return
	}
	k.kernels++
	if !bytes.HasPrefix(e.name, []byte("nccl")) {
		k.compute = append(k.compute, s)
		return
	}
	function := strings.TrimPrefix(strings.TrimPrefix(strings.TrimPrefix(string(e.name), "ncclDevKernel_"), "ncclKernel_"), "nccl")
	if i := strings.IndexAny(function, "_("); i >= 0 {
		function = function[:i]
	}
	k.counts[function]++
	k.comm = append(k.comm, s)
	c := call{span: s, kind: strings.ToLower(function)}
	var a struct {
		Name  string      `json:"Collective name"`
		In    json.Number `json:"In msg nelems"`
		Out   json.Number `json:"Out msg nelems"`
		Group json.Number `json:"Group size"`
		Type  string      `json:"dtype"`
	}
	if json.Unmarshal(e.args, &a) == nil && a.Name != "" {
		c.named = true
		c.kind = strings.ReplaceAll(strings.TrimPrefix(strings.ToLower(a.Name), "_"), "_", "")
		k.types[a.Type]++
		group, _ := a.Group.Int64()
		in, _ := a.In.Int64()
		out, _ := a.Out.Int64()
		if n := max(in, out); n > 0 && n < model.MaxSize/8 {
			c.bytes = n * elementBytes(a.Type)
		}
		c.group = int(min(max(group, 0), model.MaxNodes))
	}
	k.calls = append(k.calls, c)
}

func countsOf(m map[string]int) string {
	var words []string
	for _, name := range slices.Sorted(maps.Keys(m)) {
		words = append(words, fmt.Sprintf("%s:%d", name, m[name]))
	}
	return strings.Join(words, " ")
}

// finish finds the job.
func (k *kineto) finish() {
	t := k.t
	t.Format = "PyTorch profile"
	t.value("events", "", "%d", k.total)
	if n, err := k.rank.Int64(); err == nil {
		t.Rank = int(n)
		t.value("rank", "", "%d", n)
	}
	if n, err := k.world.Int64(); err == nil && n > 0 && n <= model.MaxNodes {
		t.Ranks = int(n)
		t.value("world_size", "", "%d", n)
	}
	t.value("kernels", "", "%d", k.kernels)
	t.value("nccl_kernels", "", "%d", len(k.comm))
	t.value("nccl_by_function", "", "%s", countsOf(k.counts))
	if k.bad > 0 {
		t.Notes.Add(model.LeftOut, "%d events that could not be read", k.bad)
	}
	sum := model.Time(0)
	for _, s := range k.comm {
		sum += s.to - s.from
	}
	k.times("all_", slices.Clone(k.compute), slices.Clone(k.comm))
	t.value("all_nccl_sum", "us", "%s", us(sum))
	if len(k.types) > 0 {
		t.value("dtypes", "", "%s", countsOf(k.types))
	}
	slices.SortStableFunc(k.calls, func(a, b call) int { return int(min(max(a.from-b.from, -1), 1)) })
	names := slices.SortedFunc(maps.Keys(k.steps), func(a, b string) int { return int(min(max(k.steps[a].from-k.steps[b].from, -1), 1)) })
	t.value("steps", "", "%d", len(names))
	var period, spacing, compute, comm, exposed []model.Time
	for i, name := range names {
		s := k.steps[name]
		period = append(period, s.to-s.from)
		if i > 0 {
			spacing = append(spacing, s.from-k.steps[names[i-1]].from)
		}
	}
	if m, ok := median(slices.Clone(period)); ok {
		t.value("period_median", "us", "%s", us(m))
	}
	if m, ok := median(slices.Clone(spacing)); ok {
		t.value("step_start_spacing_median", "us", "%s", us(m))
	}
	var byStep = make([][2][]span, len(names))
	at := func(s span) int {
		i := sort.Search(len(names), func(i int) bool { return k.steps[names[i]].from > s.from }) - 1
		if i < 0 || s.from >= k.steps[names[i]].to {
			return -1
		}
		return i
	}
	for which, list := range [][]span{k.compute, k.comm} {
		for _, s := range list {
			if i := at(s); i >= 0 {
				byStep[i][which] = append(byStep[i][which], s)
			}
		}
	}
	for i, name := range names {
		c, m, e := k.times(name+"_", byStep[i][0], byStep[i][1])
		compute, comm, exposed = append(compute, c), append(comm, m), append(exposed, e)
	}
	job := Job{Name: base(t.File), Ranks: t.Ranks, Iterations: len(names), Period: medianOf(spacing), Compute: medianOf(compute), Comm: medianOf(comm), Exposed: medianOf(exposed)}
	if job.Period == nil {
		job.Period = medianOf(period)
	}
	if len(names) == 0 && k.kernels > 0 {
		job.Iterations = 1
		a, b := union(k.compute), union(k.comm)
		c, m := length(a), length(b)
		e := m - overlap(a, b)
		job.Compute, job.Comm, job.Exposed = &c, &m, &e
		t.Notes.Add(model.Fact, "no steps (ProfilerStep#…) in it: the times are those of the whole file")
	}
	k.callsOf(names, at, byStep, &job)
	t.Jobs = append(t.Jobs, job)
	if len(k.comm) > 0 {
		t.Notes.Add(model.Fact, "NCCL's kernels wait for their peers: what one rank communicates is at most this long")
	}
}

// callsOf lists the collectives, and the buckets of the step in the middle.
func (k *kineto) callsOf(names []string, at func(span) int, byStep [][2][]span, job *Job) {
	t := k.t
	middle := len(names) / 2
	var computes []span // of the step in the middle
	if len(names) > 0 {
		computes = union(byStep[middle][0])
		c := length(computes)
		job.BucketsOf = &c
	}
	for _, c := range k.calls {
		x := Collective{Kind: c.kind, Bytes: c.bytes, Group: c.group, Start: c.from, Duration: c.to - c.from}
		i := at(c.span)
		if i >= 0 {
			x.Step = names[i]
			if c.named {
				offset := c.from - k.steps[names[i]].from
				t.value(names[i]+"_collective", "us", "%s bytes %d group %d start %s m %s", c.kind, c.bytes, c.group, us(offset), us(x.Duration))
				if i == middle {
					done := overlap(computes, []span{{k.steps[names[i]].from, c.from}})
					job.Buckets = append(job.Buckets, Bucket{Kind: c.kind, Bytes: c.bytes, Offset: &offset, Comm: &x.Duration, Computed: &done})
				}
			}
		}
		t.Calls = append(t.Calls, x)
	}
}

// times states the unions of kernels.
func (k *kineto) times(prefix string, compute, comm []span) (c, m, e model.Time) {
	a, b := union(compute), union(comm)
	both := overlap(a, b)
	c, m, e = length(a), length(b), length(b)-both
	for _, x := range []struct {
		name string
		time model.Time
	}{{"c", c}, {"m", m}, {"overlap", both}, {"e", e}} {
		k.t.value(prefix+x.name, "us", "%s", us(x.time))
	}
	return c, m, e
}
