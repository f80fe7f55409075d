package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/oraccl/oraccl/model/format/msccl"
	"github.com/oraccl/oraccl/verify"
	"github.com/oraccl/oraccl/verify/order"
	"github.com/oraccl/oraccl/verify/smt"
)

// The JSON of verify on MSCCL-IR: oraccl/verify/1 with more keys.
type deployJSON struct {
	verifyJSON
	Kind           string          `json:"kind"`
	Collective     string          `json:"collective"`
	Ranks          int             `json:"ranks"`
	Steps          int             `json:"steps"`
	Conditions     []violationJSON `json:"conditions"`
	Runtimes       []runtimeJSON   `json:"runtimes"`
	Modes          []modeJSON      `json:"modes"`
	RankConsistent string          `json:"rank_consistent"`
}

type runtimeJSON struct {
	Runtime    string       `json:"runtime"`
	Loads      bool         `json:"loads"`
	Refusals   []remarkJSON `json:"refusals"`
	Notes      []remarkJSON `json:"notes"`
	Never      string       `json:"never_picked,omitempty"`
	MinBytes   int64        `json:"min_bytes"`
	MaxBytes   *int64       `json:"max_bytes"`
	Multiple   int64        `json:"elements_multiple_of"`
	InPlace    bool         `json:"in_place"`
	OutOfPlace bool         `json:"out_of_place"`
}

type remarkJSON struct {
	Line    int    `json:"line"`
	Message string `json:"message"`
}

type modeJSON struct {
	InPlace    bool              `json:"in_place"`
	Verdict    string            `json:"verdict"`
	Kind       string            `json:"kind"`
	Properties map[string]string `json:"properties"`
	Counts     map[string]int    `json:"counts"`
	SlotsStep  int               `json:"least_slots"`
	SlotsChunk int               `json:"least_slots_large"`
	Slots      int               `json:"slots"`
	SafeBytes  *int64            `json:"safe_bytes"`
	RemoteOnly int               `json:"remote_only_order"`
	Consistent string            `json:"rank_consistent"`
}

// propertyNames are in the order of the text.
var propertyNames = []string{"result", "races", "deadlock", "matching", "bounds", "ownership", "defined"}

func propertiesOf(r *order.Report) map[string]string {
	p := map[string]string{}
	for i, o := range []verify.Outcome{r.Result, r.Races, r.Deadlock, r.Matching, r.Bounds, r.Ownership, r.Defined} {
		p[propertyNames[i]] = o.String()
	}
	return p
}

// claim states what is proved or refuted.
func (d *deployed) claim() string {
	if d.algo == nil {
		return "is MSCCL-IR"
	}
	coll := d.collective
	if coll == "" {
		coll = d.algo.Coll
	}
	if coll == "" {
		coll = "a collective"
	}
	var where []string
	for _, m := range d.modes {
		where = append(where, m.String())
	}
	if len(where) == 0 {
		return fmt.Sprintf("performs %s on %d ranks", coll, d.algo.Ranks)
	}
	return fmt.Sprintf("every interleaving performs %s %s on %d ranks, in %d chunks", strings.ReplaceAll(coll, "_", ""), strings.Join(where, " and "), d.algo.Ranks, d.algo.ChunksPerLoop)
}

func (d *deployed) json() deployJSON {
	j := deployJSON{
		verifyJSON: verifyJSON{Schema: "oraccl/verify/1", File: d.file, Verdict: d.outcome.String(), Claim: d.claim(), Engines: d.engines(),
			Properties: map[string]string{}, Reason: d.reason, Violations: violationsToJSON(d.bad), Format: "MSCCL-IR"},
		Kind: d.kind, Collective: d.collective, Conditions: []violationJSON{}, Runtimes: []runtimeJSON{}, Modes: []modeJSON{}, RankConsistent: verify.Unknown.String(),
	}
	if d.algo == nil {
		return j
	}
	if j.Collective == "" {
		j.Collective = d.algo.Coll
	}
	j.Ranks = d.algo.Ranks
	j.Steps = d.steps
	j.Notes = d.conditions()
	for _, l := range d.loads {
		j.Runtimes = append(j.Runtimes, d.runtimeJSON(l))
	}
	for _, m := range d.modes {
		s := m.sizes
		mj := modeJSON{InPlace: m.inPlace, Verdict: m.report.Verdict.Outcome.String(), Kind: m.report.Kind(), Properties: propertiesOf(m.report), Counts: map[string]int{},
			SlotsStep: s.step, SlotsChunk: s.chunk, Slots: s.slots, RemoteOnly: m.report.RemoteOnly, Consistent: m.report.Consistent.String()}
		for c, n := range m.report.Counts {
			mj.Counts[string(c)] = n
		}
		if s.safe >= 0 {
			mj.SafeBytes = &s.safe
		}
		j.Modes = append(j.Modes, mj)
		j.Conditions = append(j.Conditions, violationsToJSON(m.report.Conditions)...)
		for name, o := range mj.Properties { // the worst of all modes
			if old := j.Properties[name]; old == "" || o == verify.Refuted.String() || old == verify.Proved.String() {
				j.Properties[name] = o
			}
		}
		if m.report.Consistent != verify.Unknown && j.RankConsistent != verify.Refuted.String() {
			j.RankConsistent = m.report.Consistent.String()
		}
	}
	return j
}

// engines is the verdict of each engine that was asked, the worst of all modes.
func (d *deployed) engines() map[string]string {
	all := map[string]verify.Outcome{}
	say := func(engine string, o verify.Outcome) {
		if old, known := all[engine]; !known || o == verify.Refuted || old == verify.Proved {
			all[engine] = o
		}
	}
	for _, m := range d.modes {
		say(order.Engine, m.report.Verdict.Outcome)
		if m.smt != nil {
			say(smt.Engine, m.smt.Verdict.Outcome)
		}
	}
	words := map[string]string{}
	for engine, o := range all {
		words[engine] = o.String()
	}
	return words
}

func violationsToJSON(all []verify.Violation) []violationJSON {
	out := []violationJSON{}
	for _, v := range all {
		out = append(out, violationJSON{string(v.Code), order.Engine, v.Where, v.Message})
	}
	return out
}

func (d *deployed) runtimeJSON(l msccl.Loading) runtimeJSON {
	s := d.algo.Selection(l.Runtime)
	j := runtimeJSON{Runtime: l.Runtime.String(), Loads: len(l.Refusals) == 0, Refusals: []remarkJSON{}, Notes: []remarkJSON{}, Never: s.Never,
		MinBytes: s.Min, Multiple: s.Multiple, InPlace: s.InPlace, OutOfPlace: s.OutOfPlace}
	if s.Max >= 0 {
		j.MaxBytes = &s.Max
	}
	for _, r := range l.Refusals {
		j.Refusals = append(j.Refusals, remarkJSON(r))
	}
	for _, r := range l.Notes {
		j.Notes = append(j.Notes, remarkJSON(r))
	}
	return j
}

// print writes the report on one file: the verdict, what is wrong, what it depends
// on, the properties, the runtimes.
func (d *deployed) print(w io.Writer) {
	if d.syntax != nil {
		fmt.Fprintf(w, "REFUTED is MSCCL-IR\nmalformed: %v\n", d.syntax)
		return
	}
	fmt.Fprintf(w, "%s %s%s\n", strings.ToUpper(d.outcome.String()), d.claim(), d.provisos())
	for _, v := range d.bad {
		fmt.Fprintln(w, v)
	}
	if d.reason != "" {
		fmt.Fprintln(w, d.reason)
	}
	for _, c := range d.conditions() {
		fmt.Fprintf(w, "condition   %s\n", c)
	}
	for _, m := range d.modes {
		p := propertiesOf(m.report)
		var words []string
		for _, name := range propertyNames {
			words = append(words, name+" "+p[name])
		}
		fmt.Fprintf(w, "properties  %s\n", strings.Join(words, ", "))
		if len(d.modes) > 1 {
			fmt.Fprintf(w, "            %v\n", m)
		}
		if m.smt != nil {
			text := "smt " + m.smt.Verdict.Outcome.String()
			if m.smt.Verdict.Reason != "" {
				text += ": " + m.smt.Verdict.Reason
			} else if m.smt.Slots > 0 {
				text += fmt.Sprintf(", with at least %d slots", m.smt.Slots)
			}
			fmt.Fprintf(w, "engines     order %v, %s\n", m.report.Verdict.Outcome, text)
		}
		s := m.sizes
		if s.step > 0 {
			upTo := "any size is safe"
			switch {
			case s.safe == 0:
				upTo = "too few"
			case s.safe > 0:
				upTo = "safe up to " + binaryBytes(s.safe)
			}
			fmt.Fprintf(w, "slots       at least %d a connection, %d for large buffers; %s has %d: %s\n", s.step, s.chunk, d.algo.Proto, s.slots, upTo)
		}
	}
	for _, l := range d.loads {
		d.printRuntime(w, l)
	}
	if len(d.bad) > 0 {
		fmt.Fprintf(w, "oraccl explain %s says more\n", d.bad[0].Code)
	}
}

func (d *deployed) printRuntime(w io.Writer, l msccl.Loading) {
	if len(l.Refusals) > 0 {
		fmt.Fprintf(w, "%-11s does not load it: line %d: %s\n", l.Runtime, l.Refusals[0].Line, l.Refusals[0].Message)
	} else {
		s := d.algo.Selection(l.Runtime)
		picked := "picked " + s.String()
		if d.asked > 0 && s.Never == "" && (d.asked < s.Min || s.Max >= 0 && d.asked > s.Max) {
			picked = fmt.Sprintf("not picked for %d bytes; %s", d.asked, picked)
		}
		fmt.Fprintf(w, "%-11s loads it; %s\n", l.Runtime, picked)
	}
	for i, n := range l.Notes {
		if i == 2 {
			fmt.Fprintf(w, "            … and %d more notes\n", len(l.Notes)-2)
			break
		}
		fmt.Fprintf(w, "            line %d: %s\n", n.Line, n.Message)
	}
}

// line is the report in a table of files.
func (d *deployed) line(width int) string {
	first := ""
	if len(d.bad) > 0 {
		first = d.bad[0].String()
	} else if c := d.conditions(); len(c) > 0 {
		first = c[0]
	}
	if d.reason != "" {
		first = d.reason
	}
	if runes := []rune(first); len(runes) > 120 {
		first = string(runes[:119]) + "…"
	}
	return strings.TrimRight(fmt.Sprintf("%-8s %-19s %-*s  %s", strings.ToUpper(d.outcome.String()), d.kind, width, d.file, first), " ")
}

// summarise writes a line a file and what they come to.
func summarise(w io.Writer, all []*deployed) {
	width := 0
	count := map[string]int{}
	var kinds []string
	for _, d := range all {
		width = max(width, len([]rune(d.file)))
		if count[d.kind]++; count[d.kind] == 1 {
			kinds = append(kinds, d.kind)
		}
	}
	for _, d := range all {
		fmt.Fprintln(w, d.line(min(width, 60)))
	}
	slices.SortFunc(kinds, func(a, b string) int { return count[b] - count[a] })
	var words []string
	for _, k := range kinds {
		words = append(words, fmt.Sprintf("%d %s", count[k], k))
	}
	fmt.Fprintf(w, "%d files: %s\n", len(all), strings.Join(words, ", "))
}
