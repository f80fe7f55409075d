package model

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
)

// encoder writes JSON with one object of a list a line, so that files can be
// read, compared and edited with tools for text.
type encoder struct {
	w     *bufio.Writer
	depth int
}

func encode(w io.Writer, write func(*encoder)) error {
	e := &encoder{w: bufio.NewWriterSize(w, 1<<16)}
	write(e)
	e.w.WriteByte('\n')
	return e.w.Flush()
}

func (e *encoder) raw(s string) { e.w.WriteString(s) }

func (e *encoder) newline() {
	e.w.WriteByte('\n')
	for range e.depth {
		e.w.WriteString("  ")
	}
}

// member is a key with what writes its value; inline ones stay on their line.
type member struct {
	key   string
	write func()
}

// block writes an object with a member a line.
func (e *encoder) block(members ...member) {
	e.raw("{")
	e.depth++
	for i, m := range members {
		if i > 0 {
			e.raw(",")
		}
		e.newline()
		e.raw(strconv.Quote(m.key) + ": ")
		m.write()
	}
	e.depth--
	e.newline()
	e.raw("}")
}

// lines writes an array with an element a line.
func (e *encoder) lines(n int, element func(i int)) {
	if n == 0 {
		e.raw("[]")
		return
	}
	e.raw("[")
	e.depth++
	for i := range n {
		if i > 0 {
			e.raw(",")
		}
		e.newline()
		element(i)
	}
	e.depth--
	e.newline()
	e.raw("]")
}

func (e *encoder) text(s string) {
	b, _ := json.Marshal(s) // strings always marshal
	e.w.Write(b)
}

func (e *encoder) number(v int64) {
	e.w.Write(strconv.AppendInt(e.w.AvailableBuffer(), v, 10))
}

func list[T ~int | ~int32 | ~int64](e *encoder, values []T) {
	e.raw("[")
	for i, v := range values {
		if i > 0 {
			e.raw(", ")
		}
		e.number(int64(v))
	}
	e.raw("]")
}

func textMember(e *encoder, key, value string) member {
	return member{key, func() { e.text(value) }}
}

func numberMember(e *encoder, key string, value int64) member {
	return member{key, func() { e.number(value) }}
}

// WriteTopology writes a topology file.
func WriteTopology(w io.Writer, t *Topology) error {
	return encode(w, func(e *encoder) { e.topology(t, TopologySchema) })
}

// WriteCollective writes a collective file.
func WriteCollective(w io.Writer, c *Collective) error {
	return encode(w, func(e *encoder) { e.collective(c, CollectiveSchema) })
}

// WriteProblem writes a problem file.
func WriteProblem(w io.Writer, p *Problem) error {
	return encode(w, func(e *encoder) { e.problem(p, ProblemSchema) })
}

// WriteSolution writes a schedule file. The schedule must be valid for the problem.
func WriteSolution(w io.Writer, s *Solution) error {
	return encode(w, func(e *encoder) { e.solution(s) })
}

// WriteCertificate writes a certificate file.
func WriteCertificate(w io.Writer, c *Certificate) error {
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

func (e *encoder) topology(t *Topology, schema string) {
	members := []member{textMember(e, "name", t.Name), numberMember(e, "ranks", int64(t.Ranks))}
	if len(t.Switches) > 0 {
		members = append(members, member{"switches", func() {
			e.lines(len(t.Switches), func(i int) {
				e.raw(`{"name": `)
				e.text(t.Switches[i].Name)
				fmt.Fprintf(e.w, `, "copies": %t}`, t.Switches[i].Copies)
			})
		}})
	}
	members = append(members, member{"links", func() {
		e.lines(len(t.Links), func(i int) {
			l := t.Links[i]
			fmt.Fprintf(e.w, `{"src": %d, "dst": %d, "alpha_ps": %d, "bandwidth_bytes_per_s": %d}`, l.Src, l.Dst, l.Alpha, l.Bandwidth)
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
	e.block(e.withSchema(schema, members)...)
}

func (e *encoder) collective(c *Collective, schema string) {
	members := []member{textMember(e, "kind", c.Kind.String())}
	if c.Group != nil {
		members = append(members, member{"group", func() { list(e, c.Group) }})
	}
	if c.Kind.Rooted() {
		members = append(members, numberMember(e, "root", int64(c.Root)))
	}
	if c.Op != Sum {
		members = append(members, textMember(e, "op", c.Op.String()))
	}
	if c.Kind == Custom {
		members = append(members, numberMember(e, "chunks", int64(c.Chunks)),
			member{"pre", func() { e.conditions(c.Pre) }}, member{"post", func() { e.conditions(c.Post) }})
	}
	e.block(e.withSchema(schema, members)...)
}

func (e *encoder) conditions(conditions []Condition) {
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

func (e *encoder) problem(p *Problem, schema string) {
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
			e.lines(len(p.Chunks), func(i int) { fmt.Fprintf(e.w, "[%d, %d]", p.Chunks[i].Offset, p.Chunks[i].Size) })
		}})
	}
	members = append(members, textMember(e, "cost", p.Cost.String()))
	if p.Release != nil {
		members = append(members, member{"release_ps", func() { list(e, p.Release) }})
	}
	e.block(e.withSchema(schema, members)...)
}

func (e *encoder) solution(s *Solution) {
	e.block(textMember(e, "schema", ScheduleSchema),
		member{"problem", func() { e.problem(s.Problem, "") }},
		member{"origin", func() { e.origin(s.Origin) }},
		textMember(e, "form", s.Schedule.Form.String()),
		member{"transfers", func() { e.transfers(s.Schedule) }})
}

func (e *encoder) origin(o Origin) {
	members := []member{}
	if o.Method != "" {
		members = append(members, textMember(e, "method", o.Method))
	}
	members = append(members, member{"seed", func() { e.raw(strconv.FormatUint(o.Seed, 10)) }})
	if o.Tool != "" {
		members = append(members, textMember(e, "tool", o.Tool))
	}
	if len(o.Verdict) > 0 {
		members = append(members, member{"verdict", func() {
			engines := make([]string, 0, len(o.Verdict))
			for engine := range o.Verdict {
				engines = append(engines, engine)
			}
			slices.Sort(engines)
			e.lines(len(engines), func(i int) {
				e.raw("[")
				e.text(engines[i])
				e.raw(", ")
				e.text(o.Verdict[engines[i]])
				e.raw("]")
			})
		}})
	}
	if o.Partial {
		members = append(members, member{"partial", func() { e.raw("true") }})
	}
	if o.Note != "" {
		members = append(members, textMember(e, "note", o.Note))
	}
	e.block(members...)
}

func (e *encoder) transfers(s *Schedule) {
	e.lines(len(s.Transfers), func(i int) {
		t := &s.Transfers[i]
		e.raw(`{"chunk": `)
		e.number(int64(t.Chunk))
		e.raw(`, "src": `)
		e.number(int64(t.Src))
		e.raw(`, "dst": `)
		e.number(int64(t.Dst))
		e.raw(`, "links": `)
		list(e, s.Routes[t.Route])
		e.raw(`, "op": "` + t.Op.String() + `"`)
		switch s.Form {
		case Timed:
			e.raw(`, "start_ps": `)
			e.number(int64(t.Start))
			e.raw(`, "end_ps": `)
			e.number(int64(t.End))
		case InRounds:
			e.raw(`, "round": `)
			e.number(int64(t.Start))
		case Ordered:
			e.raw(`, "after": `)
			list(e, s.After[i])
		}
		e.raw("}")
	})
}

func (e *encoder) witness(w Witness) {
	members := []member{textMember(e, "kind", w.Kind())}
	path := func(chunk, shard, source int) {
		members = append(members, numberMember(e, "chunk", int64(chunk)), numberMember(e, "shard", int64(shard)), numberMember(e, "source", int64(source)))
	}
	switch w := w.(type) {
	case Cut:
		members = append(members, member{"nodes", func() { list(e, w.Nodes) }})
	case Ingress:
		members = append(members, numberMember(e, "rank", int64(w.Rank)))
	case Egress:
		members = append(members, numberMember(e, "rank", int64(w.Rank)))
	case Distance:
		path(w.Chunk, w.Shard, w.Source)
		members = append(members, numberMember(e, "dest", int64(w.Dest)), member{"potential_ps", func() { list(e, w.Potential) }})
	case Doubling:
		path(w.Chunk, w.Shard, w.Source)
	}
	e.block(members...)
}
