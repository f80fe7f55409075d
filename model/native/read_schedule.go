package native

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/oraccl/oraccl/model"
)

func (d *decoder) solution() *model.Solution {
	s := &model.Solution{Schedule: &model.Schedule{}}
	d.object("a schedule", d.withSchema(ScheduleSchema, []field{
		{"problem", true, func() { s.Problem = d.problem("") }},
		{"form", true, func() { s.Schedule.Form = word(d, "a form", model.ParseForm) }},
		{"transfers", true, func() {
			if s.Schedule.Form == 0 {
				d.fail("transfers before the form, want \"form\" first")
			}
			d.transfers(s.Schedule)
		}},
		{"origin", false, func() { s.Origin = d.origin() }},
	}))
	return s
}

// transfers reads the transfers of s; equal routes become one.
func (d *decoder) transfers(s *model.Schedule) {
	var t model.Transfer
	var after []int32
	var route []int
	routes := map[string]int32{}
	key := []byte{}
	fields := []field{
		{"chunk", true, func() { t.Chunk = int32(d.whole(0, model.MaxChunks)) }},
		{"src", true, func() { t.Src = int32(d.whole(0, model.MaxNodes)) }},
		{"dst", true, func() { t.Dst = int32(d.whole(0, model.MaxNodes)) }},
		{"links", true, func() {
			route, key = route[:0], key[:0]
			d.array("an array of links", func(int) {
				l := int(d.whole(0, model.MaxLinks))
				route = append(route, l)
				key = append(key, byte(l), byte(l>>8), byte(l>>16), byte(l>>24))
			})
			id, known := routes[string(key)]
			if !known {
				id = int32(len(s.Routes))
				routes[string(key)] = id
				s.Routes = append(s.Routes, slices.Clone(route))
			}
			t.Route = id
		}},
		{"op", true, func() { t.Op = word(d, "an operation", model.ParseOp) }},
	}
	switch s.Form {
	case model.Timed:
		fields = append(fields,
			field{"start_ps", true, func() { t.Start = model.Time(d.whole(0, int64(model.MaxEnd))) }},
			field{"end_ps", true, func() { t.End = model.Time(d.whole(0, int64(model.MaxEnd))) }})
	case model.InRounds:
		fields = append(fields, field{"round", true, func() {
			t.Start = model.Time(d.whole(0, math.MaxInt32))
			t.End = t.Start + 1
		}})
	case model.Ordered:
		fields = append(fields, field{"after", true, func() {
			after = []int32{}
			d.array("an array of transfers", func(int) { after = append(after, int32(d.whole(0, math.MaxInt32))) })
		}})
	}
	s.Transfers = []model.Transfer{}
	d.array("an array of transfers", func(int) {
		t, after = model.Transfer{}, nil
		d.object("a transfer", fields)
		s.Transfers = append(s.Transfers, t)
		if s.Form == model.Ordered {
			s.After = append(s.After, after)
		}
	})
}

func (d *decoder) origin() model.Origin {
	var o model.Origin
	d.object("an origin", []field{
		{"method", false, func() { o.Method = d.label("a name") }},
		{"seed", false, func() { o.Seed = d.unsigned() }},
		{"tool", false, func() { o.Tool = d.label("a name") }},
		{"verdict", false, func() {
			o.Verdict = map[string]string{}
			d.dictionary("an object of engines and their verdicts", func(engine string) {
				o.Verdict[engine] = word(d, "a verdict", parseOutcome)
			})
		}},
		{"partial", false, func() { o.Partial = d.boolean() }},
		{"note", false, func() { o.Note = d.text("a note") }},
	})
	return o
}

// parseOutcome accepts the outcomes of a verdict.
func parseOutcome(s string) (string, error) {
	switch s {
	case "proved", "refuted", "unknown":
		return s, nil
	}
	return "", fmt.Errorf("verdict %q: want proved, refuted or unknown", s)
}

// inFile puts an error about s into the words of its file, which has routes only as the
// links of transfers, and the order only as what transfers are after.
func inFile(s *model.Schedule, err error) error {
	if errors.Is(err, model.ErrNoChunks) {
		return model.Within("problem.chunks", err)
	}
	var p *model.Error
	if !errors.As(err, &p) {
		return err
	}
	var route int
	if n, _ := fmt.Sscanf(p.Place, "routes[%d]", &route); n == 1 {
		i := slices.IndexFunc(s.Transfers, func(t model.Transfer) bool { return int(t.Route) == route })
		rest := strings.TrimPrefix(p.Place, model.Element("routes", route))
		return &model.Error{Place: model.Element("transfers", i) + ".links" + rest, Err: p.Err}
	}
	return err
}
