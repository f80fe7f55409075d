package native

import (
	"fmt"
	"io"
	"slices"

	"github.com/oraccl/oraccl/model"
)

// The writers below write what the readers read. Their output depends on the
// value alone, with one link, condition or transfer per line.

// WriteTopology writes a topology file.
func WriteTopology(w io.Writer, t *model.Topology) error {
	return encode(w, func(e *encoder) { e.topology(t, TopologySchema) })
}

// WriteCollective writes a collective file.
func WriteCollective(w io.Writer, c *model.Collective) error {
	return encode(w, func(e *encoder) { e.collective(c, CollectiveSchema) })
}

// WriteProblem writes a problem file.
func WriteProblem(w io.Writer, p *model.Problem) error {
	return encode(w, func(e *encoder) { e.problem(p, ProblemSchema) })
}

// WriteSolution writes a schedule file. The schedule must be valid for the problem.
func WriteSolution(w io.Writer, s *model.Solution) error {
	return encode(w, func(e *encoder) { e.solution(s) })
}

// WriteCertificate writes a certificate file.
func WriteCertificate(w io.Writer, c *model.Certificate) error {
	return encode(w, func(e *encoder) {
		e.block(textMember(e, "schema", CertificateSchema),
			numberMember(e, "bound_ps", int64(c.Bound)),
			member{"witness", func() { e.witness(c.Witness) }},
			member{"problem", func() { e.problem(c.Problem, "") }})
	})
}

func (e *encoder) withSchema(schema string, members []member) []member {
	if schema == "" {
		return members
	}
	return append([]member{textMember(e, "schema", schema)}, members...)
}

// types writes with which types of numbers a switch computes what.
func (e *encoder) types(s *model.Switch) {
	begun := false
	for op, types := range s.Types {
		for i, x := range types.List() {
			switch {
			case i > 0:
				e.raw(", ")
			case begun:
				fmt.Fprintf(e.w, `], "%v": [`, model.Operator(op))
			default:
				fmt.Fprintf(e.w, `, "types": {"%v": [`, model.Operator(op))
			}
			begun = true
			e.text(x.String())
		}
	}
	if begun {
		e.raw("]}")
	}
}

func (e *encoder) topology(t *model.Topology, schema string) {
	members := []member{textMember(e, "name", t.Name), numberMember(e, "ranks", int64(t.Ranks))}
	if len(t.Switches) > 0 {
		members = append(members, member{"switches", func() {
			e.lines(len(t.Switches), func(i int) {
				e.raw(`{"name": `)
				e.text(t.Switches[i].Name)
				fmt.Fprintf(e.w, `, "copies": %t`, t.Switches[i].Copies)
				if s := t.Switches[i]; s.Reduces != model.NoReducing {
					fmt.Fprintf(e.w, `, "reduces": "%v"`, s.Reduces)
					if s.Sums > 0 {
						fmt.Fprintf(e.w, `, "sums": %d`, s.Sums)
					}
					if s.Operations != 0 {
						e.raw(`, "operations": `)
						for i, o := range s.Operations.List() {
							e.raw(map[bool]string{true: "[", false: ", "}[i == 0])
							e.text(o.String())
						}
						e.raw("]")
					}
					e.types(&s)
				}
				e.raw("}")
			})
		}})
	}
	members = append(members, member{"links", func() {
		e.lines(len(t.Links), func(i int) {
			l := t.Links[i]
			e.raw(`{"src": `)
			e.number(int64(l.Src))
			e.raw(`, "dst": `)
			e.number(int64(l.Dst))
			e.raw(`, "alpha_ps": `)
			e.number(int64(l.Alpha))
			e.raw(`, "bandwidth_bytes_per_s": `)
			e.number(l.Bandwidth)
			e.raw("}")
		})
	}})
	if len(t.Ports) > 0 {
		members = append(members, member{"ports", func() {
			e.lines(len(t.Ports), func(i int) {
				e.raw(`{"name": `)
				e.text(t.Ports[i].Name)
				fmt.Fprintf(e.w, `, "capacity": %d, "links": `, t.Ports[i].Capacity)
				list(e, t.Ports[i].Links)
				e.raw("}")
			})
		}})
	}
	if len(t.Groups) > 0 {
		members = append(members, member{"groups", func() {
			e.lines(len(t.Groups), func(i int) {
				g := &t.Groups[i]
				e.raw(`{"name": `)
				e.text(g.Name)
				fmt.Fprintf(e.w, `, "kind": "%v", "ranks": `, g.Kind)
				list(e, g.Ranks)
				e.raw("}")
			})
		}})
	}
	if len(t.Notes) > 0 {
		members = append(members, member{"notes", func() {
			e.lines(len(t.Notes), func(i int) { e.text(t.Notes[i].String()) })
		}})
	}
	e.block(e.withSchema(schema, members)...)
}

func (e *encoder) collective(c *model.Collective, schema string) {
	members := []member{textMember(e, "kind", c.Kind.String())}
	if c.Name != "" {
		members = append(members, textMember(e, "name", c.Name))
	}
	if c.Group != nil {
		members = append(members, member{"group", func() { list(e, c.Group) }})
	}
	if c.Kind.Rooted() {
		members = append(members, numberMember(e, "root", int64(c.Root)))
	}
	if c.Op != model.Sum {
		members = append(members, textMember(e, "op", c.Op.String()))
	}
	if c.DType != model.AnyDType {
		members = append(members, textMember(e, "dtype", c.DType.String()))
	}
	if c.Kind == model.Custom {
		members = append(members, numberMember(e, "chunks", int64(c.Chunks)))
		if c.Ends != nil {
			members = append(members, member{"sizes", func() { list(e, c.Sizes()) }})
		}
		members = append(members, member{"pre", func() { e.conditions(c.Pre) }}, member{"post", func() { e.conditions(c.Post) }})
	}
	e.block(e.withSchema(schema, members)...)
}

func (e *encoder) conditions(conditions []model.Condition) {
	e.lines(len(conditions), func(i int) {
		c := conditions[i]
		var ranks []int
		for r, n := range c.Value.Terms() {
			for range n {
				ranks = append(ranks, r)
			}
		}
		fmt.Fprintf(e.w, `{"rank": %d, "chunk": %d, "contributions": `, c.Rank, c.Chunk)
		list(e, ranks)
		e.raw("}")
	})
}

func (e *encoder) problem(p *model.Problem, schema string) {
	members := []member{
		{"topology", func() { e.topology(p.Topology, "") }},
		{"collective", func() { e.collective(&p.Collective, "") }},
		numberMember(e, "size_bytes", p.Size),
	}
	if p.Chunks != nil {
		members = append(members, member{"chunks", func() {
			if slices.Equal(p.Chunks, p.Cut(len(p.Chunks))) {
				e.number(int64(len(p.Chunks)))
				return
			}
			e.lines(len(p.Chunks), func(i int) { list(e, []int64{p.Chunks[i].Offset, p.Chunks[i].Size}) })
		}})
	}
	members = append(members, textMember(e, "cost", p.Cost.String()))
	if p.Release != nil {
		members = append(members, member{"release_ps", func() { list(e, p.Release) }})
	}
	e.block(e.withSchema(schema, members)...)
}
