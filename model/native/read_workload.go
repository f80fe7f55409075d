package native

import (
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/workload"
)

// The schemas of workloads and of their schedules.
const (
	WorkloadSchema  = "oraccl/workload/1"
	TimetableSchema = "oraccl/timetable/1"
	// WorkloadBoundSchema is that of a lower bound on a workload.
	WorkloadBoundSchema = "oraccl/workload-bound/1"
)

// ReadWorkload reads a workload file. A cycle of operations that wait for each other in one
// iteration is an error, which names them.
//
// The topology is an object or the name of one, which named builds. With named nil it must be an
// object: a checker takes nothing from elsewhere.
func ReadWorkload(name string, r io.Reader, named func(string) (*model.Topology, error)) (*workload.Workload, error) {
	raw, err := decode(name, r, func(d *decoder) *rawWorkload {
		d.named = named
		return d.workload(WorkloadSchema)
	},
		func(_ *decoder, raw *rawWorkload) error { return raw.finish() })
	if err != nil {
		return nil, err
	}
	return &raw.w, nil
}

// ReadTimetable reads a schedule of a workload, which holds the workload too.
func ReadTimetable(name string, r io.Reader) (*workload.Schedule, error) {
	t, err := decode(name, r, (*decoder).timetable, func(_ *decoder, t *rawTimetable) error {
		if err := t.raw.finish(); err != nil {
			return model.Within("workload", err)
		}
		return t.finish()
	})
	if err != nil {
		return nil, err
	}
	return &t.s, nil
}

// ReadWorkloadBound reads a lower bound on a workload, which holds the workload too.
func ReadWorkloadBound(name string, r io.Reader) (*workload.Certificate, error) {
	var ops []string
	c := &workload.Certificate{}
	_, err := decode(name, r, func(d *decoder) (raw *rawWorkload) {
		b := &c.Bound
		d.object("a bound of a workload", d.withSchema(WorkloadBoundSchema, []field{
			{"workload", true, func() { raw = d.workload("") }},
			{"kind", true, func() { b.Kind = d.label("a kind of bound") }},
			{"bound_ps", true, func() { b.Value = model.Time(d.whole(0, int64(model.MaxEnd))) }},
			{"rank", false, func() { b.Rank = int(d.whole(0, model.MaxNodes)) }},
			{"nodes", false, func() {
				d.array("an array of nodes", func(int) { b.Nodes = append(b.Nodes, int(d.whole(0, model.MaxNodes))) })
			}},
			{"parts", false, func() {
				d.array("an array of parts", func(int) {
					part := []int{}
					d.array("an array of nodes", func(int) { part = append(part, int(d.whole(0, model.MaxNodes))) })
					b.Parts = append(b.Parts, part)
				})
			}},
			{"ops", false, func() { d.array("an array of operations", func(int) { ops = append(ops, d.label("an operation")) }) }},
		}))
		return raw
	}, func(_ *decoder, raw *rawWorkload) error {
		if err := raw.finish(); err != nil {
			return model.Within("workload", err)
		}
		c.Workload = &raw.w
		for i, name := range ops {
			k := raw.w.Index(name)
			if k < 0 {
				return &model.Error{Place: model.Element("ops", i), Err: fmt.Errorf("operation %s does not exist", model.Quote(name))}
			}
			c.Bound.Ops = append(c.Bound.Ops, k)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return c, nil
}

// rawWorkload is a workload as it was read: operations are named, and cuts are numbers.
type rawWorkload struct {
	w     workload.Workload
	cut   map[int]int // operation to its number of chunks
	given map[int]*model.Schedule
	edges []rawEdge
}

// rawEdge is an edge whose ends are named.
type rawEdge struct {
	at       string // its place in the file
	from, to string
	workload.Edge
}

// finish resolves names, cuts what is to be cut, and validates.
func (raw *rawWorkload) finish() error {
	w := &raw.w
	index := map[string]int{}
	for i, op := range w.Ops {
		if _, twice := index[op.ID]; !twice {
			index[op.ID] = i
		}
	}
	for _, e := range raw.edges {
		for _, end := range []struct {
			name string
			at   *int
		}{{e.from, &e.Edge.From}, {e.to, &e.Edge.To}} {
			i, ok := index[end.name]
			if !ok {
				return &model.Error{Place: e.at, Err: fmt.Errorf("operation %s does not exist", model.Quote(end.name))}
			}
			*end.at = i
		}
		w.Edges = append(w.Edges, e.Edge)
	}
	for i := range w.Ops {
		if w.Ops[i].Kind == workload.Kind(model.Custom.String()) {
			if err := w.Ops[i].Custom.Normalise(w.Topology.Ranks); err != nil {
				return model.Within(model.Element("ops", i)+".custom", err)
			}
		}
	}
	if err := w.Validate(); err != nil {
		return err
	}
	for i, n := range raw.cut {
		p := w.Problem(i)
		if int64(n) > p.Space() {
			return &model.Error{Place: model.Element("ops", i) + ".chunks", Err: fmt.Errorf("%d chunks of %d bytes, want at least one byte a chunk", n, p.Space())}
		}
		w.Ops[i].Chunks = p.Cut(n)
	}
	for i, s := range raw.given {
		w.Ops[i].Given = s
	}
	if len(raw.cut)+len(raw.given) == 0 {
		return nil
	}
	return w.Validate()
}

func (d *decoder) workload(schema string) *rawWorkload {
	raw := &rawWorkload{cut: map[int]int{}, given: map[int]*model.Schedule{}}
	w := &raw.w
	d.object("a workload", d.withSchema(schema, []field{
		{"topology", true, func() { w.Topology = d.topologyOrName() }},
		{"cost", true, func() { w.Cost = word(d, "a cost model", model.ParseCostModel) }},
		{"operators", false, func() {
			d.dictionary("an object of operators", func(name string) {
				o := workload.Operator{Name: name}
				d.object("an operator", []field{
					{"associative", true, func() { o.Associative = d.boolean() }},
					{"commutative", true, func() { o.Commutative = d.boolean() }},
					{"elementwise", true, func() { o.Elementwise = d.boolean() }},
					{"tree", false, func() { o.Tree = workload.Tree(d.label("a tree")) }},
				})
				w.Operators = append(w.Operators, o)
			})
		}},
		{"groups", false, func() {
			d.dictionary("an object of groups", func(name string) {
				w.Groups = append(w.Groups, workload.Group{Name: name, Ranks: d.ints("an array of ranks", 0, model.MaxNodes)})
			})
		}},
		{"release_ps", false, func() { w.Release = d.times(0, model.MaxRelease) }},
		{"memory_bytes", false, func() {
			w.Memory = []int64{}
			d.array("an array of sizes", func(int) { w.Memory = append(w.Memory, d.whole(0, model.MaxSize)) })
		}},
		{"jobs", false, func() {
			d.array("an array of jobs", func(int) {
				j := workload.Job{Iterations: 1}
				d.object("a job", []field{
					{"name", true, func() { j.Name = d.label("a name") }},
					{"iterations", false, func() { j.Iterations = int(d.whole(1, workload.MaxIterations)) }},
					{"resident_bytes", false, func() { j.Resident = d.whole(0, model.MaxSize) }},
				})
				w.Jobs = append(w.Jobs, j)
			})
		}},
		{"periodic", false, func() { w.Periodic = d.boolean() }},
		{"ops", true, func() {
			d.array("an array of operations", func(i int) {
				if i == workload.MaxOps {
					d.fail("more than %d operations, want no more", workload.MaxOps)
				}
				d.op(raw, i)
			})
		}},
		{"edges", false, func() {
			d.array("an array of edges", func(i int) {
				e := rawEdge{at: model.Element("edges", i)}
				d.object("an edge", append([]field{
					{"from", true, func() { e.from = d.label("an operation") }},
					{"to", true, func() { e.to = d.label("an operation") }},
				}, d.edge(&e.Edge)...))
				raw.edges = append(raw.edges, e)
			})
		}},
		{"goal", false, func() {
			d.array("an array of goals", func(int) {
				var g workload.Goal
				d.object("a goal", append(d.region(&g.Region, true), []field{
					{"group", false, func() { g.Group = d.label("a group") }},
					{"value", true, func() { g.Value = d.term(0) }},
				}...))
				w.Goal = append(w.Goal, g)
			})
		}},
	}))
	return raw
}

// topologyOrName reads a topology, or builds the one of which it reads the name.
func (d *decoder) topologyOrName() *model.Topology {
	if d.next() != '"' {
		return d.topology("")
	}
	at := d.pos
	if d.named == nil {
		d.fail("the name of a topology, which only what schedules a workload can build; want an object here")
	}
	t, err := d.named(d.label("the name of a topology"))
	if err != nil {
		d.failAt(at, "%w", err)
	}
	return t
}

// edge returns the fields that an edge has beside its ends.
func (d *decoder) edge(e *workload.Edge) []field {
	return []field{
		{"scope", false, func() { e.Scope = word(d, "a scope", workload.ParseScope) }},
		{"height", false, func() { e.Height = int(d.whole(0, workload.MaxHeight)) }},
		{"offset_ps", false, func() { e.Offset, e.FromStart = model.Time(d.whole(0, int64(model.MaxRelease))), true }},
	}
}

// region returns the fields of a region, with a size or without.
func (d *decoder) region(r *workload.Region, sized bool) []field {
	fields := []field{
		{"buffer", true, func() { r.Buffer = d.label("a buffer") }},
		{"offset_bytes", false, func() { r.Offset = d.whole(0, model.MaxSize) }},
	}
	if sized {
		fields = append(fields, field{"size_bytes", true, func() { r.Size = d.whole(1, model.MaxSize) }})
	}
	return fields
}

func (d *decoder) accesses() []workload.Access {
	list := []workload.Access{}
	d.array("an array of regions", func(int) {
		var a workload.Access
		d.object("a region", append(d.region(&a.Region, true),
			field{"until_ps", false, func() { a.Until = model.Time(d.whole(0, int64(model.MaxRelease))) }}))
		list = append(list, a)
	})
	return list
}

func (d *decoder) op(raw *rawWorkload, i int) {
	var op workload.Op
	d.object("an operation", []field{
		{"id", true, func() { op.ID = d.label("a name") }},
		{"kind", true, func() { op.Kind = workload.Kind(d.label("a kind")) }},
		{"job", false, func() { op.Job = d.label("a job") }},
		{"group", false, func() { op.Group = d.label("a group") }},
		{"root", false, func() { op.Root = int(d.whole(0, model.MaxNodes)) }},
		{"operator", false, func() { op.Operator = d.label("an operator") }},
		{"size_bytes", false, func() { op.Size = d.whole(1, model.MaxSize) }},
		{"chunks", false, func() {
			list, n := d.chunks()
			if op.Chunks = list; n > 0 {
				raw.cut[i] = n
			}
		}},
		{"custom", false, func() { op.Custom = d.collective("") }},
		{"buffer", false, func() { d.object("a place", d.region(&op.Buffer, false)) }},
		{"into", false, func() { d.object("a place", d.region(&op.Into, false)) }},
		{"schedule", false, func() {
			if d.next() == '"' {
				if at := d.pos; d.text("\"free\"") != "free" {
					d.failAt(at, "want \"free\", or an object with transfers")
				}
				return
			}
			s := &model.Schedule{Form: model.Timed}
			d.object("a schedule", []field{{"transfers", true, func() { d.transfers(s) }}})
			raw.given[i] = s
		}},
		{"duration_ps", false, func() {
			if d.next() == '[' {
				op.Duration = d.times(1, model.MaxRelease)
				return
			}
			op.Duration = []model.Time{model.Time(d.whole(1, int64(model.MaxRelease)))}
		}},
		{"reads", false, func() { op.Reads = d.accesses() }},
		{"writes", false, func() { op.Writes = d.accesses() }},
		{"function", false, func() { op.Function = d.label("a function") }},
		{"memory_bytes", false, func() { op.Bytes = d.whole(0, model.MaxSize) }},
		{"release_ps", false, func() {
			op.Release = map[int]model.Time{}
			d.dictionary("an object of ranks and times", func(rank string) {
				r, err := strconv.Atoi(rank)
				if err != nil || strconv.Itoa(r) != rank {
					d.fail("rank %s, want a whole number", model.Quote(rank))
				}
				op.Release[r] = model.Time(d.whole(0, int64(model.MaxRelease)))
			})
		}},
		{"after", false, func() {
			d.array("an array of edges", func(k int) {
				e := rawEdge{at: model.Element(model.Element("ops", i)+".after", k)}
				d.object("an edge", append([]field{{"op", true, func() { e.from = d.label("an operation") }}}, d.edge(&e.Edge)...))
				raw.edges = append(raw.edges, e)
			})
		}},
	})
	for k := len(raw.edges) - 1; k >= 0 && raw.edges[k].to == ""; k-- {
		raw.edges[k].to = op.ID
	}
	raw.w.Ops = append(raw.w.Ops, op)
}

// term reads what a region is to hold.
func (d *decoder) term(depth int) workload.Value {
	if depth > workload.MaxDepth {
		d.fail("nested deeper than %d, want less", workload.MaxDepth)
	}
	v := workload.Value{Rank: -1}
	d.object("a value", []field{
		{"input", false, func() {
			v.Input = &workload.Region{}
			d.object("a place", d.region(v.Input, false))
		}},
		{"rank", false, func() { v.Rank = int(d.whole(0, model.MaxNodes)) }},
		{"operator", false, func() { v.Operator = d.label("an operator") }},
		{"over", false, func() { v.Over = d.label("a group") }},
		{"tree", false, func() { v.Tree = workload.Tree(d.label("a tree")) }},
		{"function", false, func() { v.Function = d.label("a function") }},
		{"at_bytes", false, func() { v.At = d.whole(0, model.MaxSize) }},
		{"of", false, func() { d.array("an array of values", func(int) { v.Of = append(v.Of, d.term(depth+1)) }) }},
		{"size_bytes", false, func() {
			d.array("an array of sizes", func(int) { v.Bytes = append(v.Bytes, d.whole(1, model.MaxSize)) })
		}},
	})
	return v
}

// rawTimetable is a schedule of a workload as it was read.
type rawTimetable struct {
	raw *rawWorkload
	s   workload.Schedule
	ops []string // of each placement
}

func (d *decoder) timetable() *rawTimetable {
	t := &rawTimetable{}
	d.object("a timetable", d.withSchema(TimetableSchema, []field{
		{"workload", true, func() { t.raw = d.workload("") }},
		{"origin", false, func() { t.s.Origin = d.origin() }},
		{"period_ps", false, func() { t.s.Period = model.Time(d.whole(1, int64(model.MaxEnd))) }},
		{"programs", true, func() {
			d.array("an array of programs", func(int) {
				s := &model.Schedule{Form: model.Timed}
				d.object("a program", []field{{"transfers", true, func() { d.transfers(s) }}})
				t.s.Programs = append(t.s.Programs, s)
			})
		}},
		{"placed", true, func() {
			d.array("an array of placements", func(int) {
				p, name := workload.Placement{Program: -1}, ""
				d.object("a placement", []field{
					{"op", true, func() { name = d.label("an operation") }},
					{"iteration", false, func() { p.Iteration = int(d.whole(0, workload.MaxIterations)) }},
					{"at_ps", false, func() { p.At = model.Time(d.whole(0, int64(model.MaxEnd))) }},
					{"program", false, func() { p.Program = int(d.whole(0, workload.MaxOps)) }},
					{"starts_ps", false, func() { p.Starts = d.times(0, model.MaxEnd) }},
				})
				t.s.Placed, t.ops = append(t.s.Placed, p), append(t.ops, name)
			})
		}},
	}))
	return t
}

func (t *rawTimetable) finish() error {
	t.s.Workload = &t.raw.w
	for i, name := range t.ops {
		k := slices.IndexFunc(t.raw.w.Ops, func(o workload.Op) bool { return o.ID == name })
		if k < 0 {
			return &model.Error{Place: model.Element("placed", i), Err: fmt.Errorf("operation %s does not exist", model.Quote(name))}
		}
		t.s.Placed[i].Op = k
	}
	return t.s.Validate()
}
