package native

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/workload"
)

// WriteWorkload writes a workload file.
func WriteWorkload(w io.Writer, v *workload.Workload) error {
	return encode(w, func(e *encoder) { e.workload(v, WorkloadSchema) })
}

// WriteTimetable writes a schedule of a workload, which must be valid.
func WriteTimetable(w io.Writer, s *workload.Schedule) error {
	return encode(w, func(e *encoder) {
		members := []member{textMember(e, "schema", TimetableSchema), {"workload", func() { e.workload(s.Workload, "") }},
			{"origin", func() { e.origin(s.Origin) }}}
		if s.Period > 0 {
			members = append(members, numberMember(e, "period_ps", int64(s.Period)))
		}
		e.block(append(members,
			member{"programs", func() {
				e.lines(len(s.Programs), func(i int) { e.block(member{"transfers", func() { e.transfers(s.Programs[i]) }}) })
			}},
			member{"placed", func() {
				e.lines(len(s.Placed), func(i int) {
					p := s.Placed[i]
					fields := []member{textMember(e, "op", s.Workload.Ops[p.Op].ID)}
					if p.Iteration > 0 {
						fields = append(fields, numberMember(e, "iteration", int64(p.Iteration)))
					}
					if p.Starts == nil {
						fields = append(fields, numberMember(e, "at_ps", int64(p.At)))
					} else {
						fields = append(fields, member{"starts_ps", func() { list(e, p.Starts) }})
					}
					if p.Program >= 0 {
						fields = append(fields, numberMember(e, "program", int64(p.Program)))
					}
					e.line(fields)
				})
			}})...)
	})
}

// WriteWorkloadBound writes a lower bound on a workload.
func WriteWorkloadBound(w io.Writer, c *workload.Certificate) error {
	return encode(w, func(e *encoder) {
		b := &c.Bound
		members := []member{textMember(e, "schema", WorkloadBoundSchema), {"workload", func() { e.workload(c.Workload, "") }},
			textMember(e, "kind", b.Kind), numberMember(e, "bound_ps", int64(b.Value)), numberMember(e, "rank", int64(b.Rank))}
		if b.Nodes != nil {
			members = append(members, member{"nodes", func() { list(e, b.Nodes) }})
		}
		if b.Parts != nil {
			members = append(members, member{"parts", func() {
				e.raw("[")
				for i, p := range b.Parts {
					if i > 0 {
						e.raw(", ")
					}
					list(e, p)
				}
				e.raw("]")
			}})
		}
		if b.Ops != nil {
			members = append(members, member{"ops", func() {
				e.raw("[")
				for i, op := range b.Ops {
					if i > 0 {
						e.raw(", ")
					}
					e.text(c.Workload.Ops[op].ID)
				}
				e.raw("]")
			}})
		}
		e.block(members...)
	})
}

// line writes an object on one line.
func (e *encoder) line(members []member) {
	e.raw("{")
	for i, m := range members {
		if i > 0 {
			e.raw(", ")
		}
		e.raw(strconv.Quote(m.key) + ": ")
		m.write()
	}
	e.raw("}")
}

// some appends a member where its value is not the one that stands for none.
func some[T comparable](members []member, key string, value T, write func(T)) []member {
	var none T
	if value == none {
		return members
	}
	return append(members, member{key, func() { write(value) }})
}

func (e *encoder) workload(w *workload.Workload, schema string) {
	members := []member{{"topology", func() { e.topology(w.Topology, "") }}, textMember(e, "cost", w.Cost.String())}
	if len(w.Operators) > 0 {
		members = append(members, member{"operators", func() {
			var all []member
			for _, o := range w.Operators {
				all = append(all, member{o.Name, func() {
					e.line(some([]member{
						{"associative", func() { e.raw(strconv.FormatBool(o.Associative)) }},
						{"commutative", func() { e.raw(strconv.FormatBool(o.Commutative)) }},
						{"elementwise", func() { e.raw(strconv.FormatBool(o.Elementwise)) }},
					}, "tree", string(o.Tree), e.text))
				}})
			}
			e.dictionary(all)
		}})
	}
	if len(w.Groups) > 0 {
		members = append(members, member{"groups", func() {
			var all []member
			for _, g := range w.Groups {
				all = append(all, member{g.Name, func() { list(e, g.Ranks) }})
			}
			e.dictionary(all)
		}})
	}
	if w.Release != nil {
		members = append(members, member{"release_ps", func() { list(e, w.Release) }})
	}
	if w.Memory != nil {
		members = append(members, member{"memory_bytes", func() { list(e, w.Memory) }})
	}
	if len(w.Jobs) > 0 {
		members = append(members, member{"jobs", func() {
			e.lines(len(w.Jobs), func(i int) {
				j := w.Jobs[i]
				e.line(some([]member{textMember(e, "name", j.Name), numberMember(e, "iterations", int64(j.Iterations))}, "resident_bytes", j.Resident, e.number))
			})
		}})
	}
	if w.Periodic {
		members = append(members, member{"periodic", func() { e.raw("true") }})
	}
	members = append(members, member{"ops", func() { e.lines(len(w.Ops), func(i int) { e.op(w, i) }) }})
	if len(w.Edges) > 0 {
		members = append(members, member{"edges", func() {
			e.lines(len(w.Edges), func(i int) {
				g := w.Edges[i]
				fields := []member{textMember(e, "from", w.Ops[g.From].ID), textMember(e, "to", w.Ops[g.To].ID)}
				if g.Scope != workload.ByRank {
					fields = append(fields, textMember(e, "scope", g.Scope.String()))
				}
				fields = some(fields, "height", int64(g.Height), e.number)
				if g.FromStart {
					fields = append(fields, numberMember(e, "offset_ps", int64(g.Offset)))
				}
				e.line(fields)
			})
		}})
	}
	if len(w.Goal) > 0 {
		members = append(members, member{"goal", func() {
			e.lines(len(w.Goal), func(i int) {
				g := &w.Goal[i]
				e.line(append(some(e.region(g.Region), "group", g.Group, e.text), member{"value", func() { e.term(&g.Value) }}))
			})
		}})
	}
	e.block(e.withSchema(schema, members)...)
}

// dictionary writes an object with free keys, one a line.
func (e *encoder) dictionary(members []member) {
	e.raw("{")
	e.depth++
	for i, m := range members {
		if i > 0 {
			e.raw(",")
		}
		e.newline()
		e.text(m.key)
		e.raw(": ")
		m.write()
	}
	e.depth--
	e.newline()
	e.raw("}")
}

// region returns the members of a region, a place if it has no size.
func (e *encoder) region(r workload.Region) []member {
	return some(some([]member{textMember(e, "buffer", r.Buffer)}, "offset_bytes", r.Offset, e.number), "size_bytes", r.Size, e.number)
}

func (e *encoder) accesses(list []workload.Access) {
	e.raw("[")
	for i, a := range list {
		if i > 0 {
			e.raw(", ")
		}
		e.line(some(e.region(a.Region), "until_ps", int64(a.Until), e.number))
	}
	e.raw("]")
}

func (e *encoder) op(w *workload.Workload, i int) {
	op := &w.Ops[i]
	m := []member{textMember(e, "id", op.ID), textMember(e, "kind", string(op.Kind))}
	m = some(some(m, "job", op.Job, e.text), "group", op.Group, e.text)
	m = some(some(m, "root", int64(op.Root), e.number), "operator", op.Operator, e.text)
	m = some(m, "size_bytes", op.Size, e.number)
	if op.Chunks != nil {
		m = append(m, member{"chunks", func() {
			if slices.Equal(op.Chunks, w.Problem(i).Cut(len(op.Chunks))) {
				e.number(int64(len(op.Chunks)))
				return
			}
			e.raw("[")
			for k, c := range op.Chunks {
				if k > 0 {
					e.raw(", ")
				}
				fmt.Fprintf(e.w, "[%d, %d]", c.Offset, c.Size)
			}
			e.raw("]")
		}})
	}
	if op.Kind == workload.Kind(model.Custom.String()) {
		m = append(m, member{"custom", func() { e.collective(&op.Custom, "") }})
	}
	if op.Buffer.Buffer != "" {
		m = append(m, member{"buffer", func() { e.line(e.region(op.Buffer)) }})
	}
	if op.Into.Buffer != "" {
		m = append(m, member{"into", func() { e.line(e.region(op.Into)) }})
	}
	if op.Given != nil {
		m = append(m, member{"schedule", func() { e.block(member{"transfers", func() { e.transfers(op.Given) }}) }})
	}
	switch {
	case len(op.Duration) == 1:
		m = append(m, numberMember(e, "duration_ps", int64(op.Duration[0])))
	case len(op.Duration) > 1:
		m = append(m, member{"duration_ps", func() { list(e, op.Duration) }})
	}
	if op.Reads != nil {
		m = append(m, member{"reads", func() { e.accesses(op.Reads) }})
	}
	if op.Writes != nil {
		m = append(m, member{"writes", func() { e.accesses(op.Writes) }})
	}
	m = some(some(m, "function", op.Function, e.text), "memory_bytes", op.Bytes, e.number)
	if len(op.Release) > 0 {
		m = append(m, member{"release_ps", func() {
			var all []member
			for _, r := range slices.Sorted(maps.Keys(op.Release)) {
				all = append(all, numberMember(e, strconv.Itoa(r), int64(op.Release[r])))
			}
			e.line(all)
		}})
	}
	e.line(m)
}

func (e *encoder) term(v *workload.Value) {
	var m []member
	if v.Input != nil {
		m = append(m, member{"input", func() { e.line(e.region(workload.Region{Buffer: v.Input.Buffer, Offset: v.Input.Offset})) }})
		if v.Rank >= 0 {
			m = append(m, numberMember(e, "rank", int64(v.Rank)))
		}
	}
	m = some(some(m, "operator", v.Operator, e.text), "over", v.Over, e.text)
	m = some(some(m, "tree", string(v.Tree), e.text), "function", v.Function, e.text)
	m = some(m, "at_bytes", v.At, e.number)
	if len(v.Of) > 0 {
		m = append(m, member{"of", func() {
			e.raw("[")
			for i := range v.Of {
				if i > 0 {
					e.raw(", ")
				}
				e.term(&v.Of[i])
			}
			e.raw("]")
		}})
	}
	if len(v.Bytes) > 0 {
		m = append(m, member{"size_bytes", func() { list(e, v.Bytes) }})
	}
	e.line(m)
}
