package native

import (
	"maps"
	"slices"
	"strconv"

	"github.com/oraccl/oraccl/model"
)

func (e *encoder) solution(s *model.Solution) {
	e.block(textMember(e, "schema", ScheduleSchema),
		member{"problem", func() { e.problem(s.Problem, "") }},
		member{"origin", func() { e.origin(s.Origin) }},
		textMember(e, "form", s.Schedule.Form.String()),
		member{"transfers", func() { e.transfers(s.Schedule) }})
}

func (e *encoder) origin(o model.Origin) {
	members := []member{}
	if o.Method != "" {
		members = append(members, textMember(e, "method", o.Method))
	}
	members = append(members, member{"seed", func() { e.raw(strconv.FormatUint(o.Seed, 10)) }})
	if o.Tool != "" {
		members = append(members, textMember(e, "tool", o.Tool))
	}
	if len(o.Verdict) > 0 {
		members = append(members, member{"verdict", func() { e.verdicts(o.Verdict) }})
	}
	if o.Partial {
		members = append(members, member{"partial", func() { e.raw("true") }})
	}
	if o.Note != "" {
		members = append(members, textMember(e, "note", o.Note))
	}
	e.block(members...)
}

func (e *encoder) verdicts(of map[string]string) {
	e.raw("{")
	for i, engine := range slices.Sorted(maps.Keys(of)) {
		if i > 0 {
			e.raw(", ")
		}
		e.text(engine)
		e.raw(": ")
		e.text(of[engine])
	}
	e.raw("}")
}

func (e *encoder) transfers(s *model.Schedule) {
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
		case model.Timed:
			e.raw(`, "start_ps": `)
			e.number(int64(t.Start))
			e.raw(`, "end_ps": `)
			e.number(int64(t.End))
		case model.InRounds:
			e.raw(`, "round": `)
			e.number(int64(t.Start))
		case model.Ordered:
			e.raw(`, "after": `)
			list(e, s.After[i])
		}
		e.raw("}")
	})
}
