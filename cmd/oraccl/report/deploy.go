package report

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/quote"
	"github.com/oraccl/oraccl/verify"
	"github.com/oraccl/oraccl/verify/deploy"
	"github.com/oraccl/oraccl/verify/order"
	"github.com/oraccl/oraccl/verify/smt"
)

// DeployJSON is the JSON of verify on MSCCL-IR and execution plans: oraccl/verify/1 with more keys.
type DeployJSON struct {
	VerifyJSON
	Kind           string          `json:"kind"`
	Collective     string          `json:"collective"`
	Ranks          int             `json:"ranks"`
	Steps          int             `json:"steps"`
	Conditions     []ViolationJSON `json:"conditions"`
	Findings       []remarkedJSON  `json:"findings"`
	Runtimes       []runtimeJSON   `json:"runtimes"`
	Modes          []modeJSON      `json:"modes"`
	RankConsistent string          `json:"rank_consistent"`
	Messages       *messagesJSON   `json:"messages,omitempty"`
}

// messagesJSON is for which messages an execution plan is proved.
type messagesJSON struct {
	Min      int64  `json:"min_bytes"`
	Max      int64  `json:"max_bytes"`
	Multiple int64  `json:"multiple_of"`
	Beyond   string `json:"beyond"`
	Fails    int64  `json:"fails_bytes"`
}

type remarkedJSON struct {
	Level   string `json:"level"`
	Code    string `json:"code"`
	Line    int    `json:"line"`
	Where   string `json:"where"`
	Message string `json:"message"`
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

// DeployToJSON returns the JSON of the report on a file.
func DeployToJSON(r *deploy.Report, f *Filter) DeployJSON {
	j := DeployJSON{
		VerifyJSON: VerifyJSON{Schema: "oraccl/verify/1", File: r.File, Verdict: r.Verdict.Outcome.String(), Claim: r.Verdict.Claim, Engines: deployEngines(r),
			Properties: map[string]string{}, Reason: r.Verdict.Reason, Violations: violationsToJSON(r.Verdict.Violations), Format: "MSCCL-IR"},
		Kind: string(r.Kind), Collective: r.Collective, Conditions: []ViolationJSON{}, Findings: []remarkedJSON{}, Runtimes: []runtimeJSON{}, Modes: []modeJSON{}, RankConsistent: r.Consistent().String(),
	}
	for _, x := range f.Shown(r) {
		j.Findings = append(j.Findings, remarkedJSON{x.Level.String(), string(x.Code), x.Line, x.Where, x.Message})
	}
	if r.Schedule == nil {
		return j
	}
	j.Ranks, j.Steps = r.Schedule.Ranks, r.Schedule.Steps
	if r.Plan != nil {
		planToJSON(&j, r.Plan)
	}
	j.Notes = Remarks(r, f)
	for _, l := range r.Loadings {
		j.Runtimes = append(j.Runtimes, runtimeToJSON(l))
	}
	for i := range r.Calls {
		c := &r.Calls[i]
		mj := modeJSON{InPlace: c.InPlace, Verdict: c.Order.Verdict.Outcome.String(), Kind: string(c.Order.Kind()), Properties: propertiesOf(c.Order), Counts: map[string]int{},
			SlotsStep: c.Slots.Least, SlotsChunk: c.Slots.LeastLarge, Slots: c.Slots.Have, RemoteOnly: c.Order.RemoteOnly, Consistent: c.Order.Consistent.String()}
		for code, n := range c.Order.Counts {
			mj.Counts[string(code)] = n
		}
		if c.Slots.Safe != deploy.Any {
			mj.SafeBytes = &c.Slots.Safe
		}
		j.Modes = append(j.Modes, mj)
		j.Conditions = append(j.Conditions, violationsToJSON(slices.DeleteFunc(slices.Clone(c.Order.Conditions), func(v verify.Violation) bool { return !f.Shows(deploy.Finding{Code: v.Code}) }))...)
		for name, o := range mj.Properties { // the worst of all modes
			if old := j.Properties[name]; old == "" || o == verify.Refuted.String() || old == verify.Proved.String() {
				j.Properties[name] = o
			}
		}
	}
	return j
}

// Remarks are the findings that do not refute, in words: of each code and place the first.
func Remarks(d *deploy.Report, f *Filter) []string {
	var all []string
	if d.Guess != "" {
		all = append(all, d.Guess)
	}
	for _, x := range f.remarked(d) {
		all = append(all, x.String())
	}
	return all
}

// remarked are the findings that do not refute, of each code the first, unless each is about
// something else.
func (f *Filter) remarked(d *deploy.Report) []deploy.Finding {
	var all []deploy.Finding
	for _, x := range f.Shown(d) {
		if x.Level < deploy.Error && slices.Contains(deploy.Warnings(), x.Code) && (x.Times > 0 || x.Code == verify.TooFewSlots || x.Code == verify.WouldNotLoad) {
			all = append(all, x)
		}
	}
	return all
}

// deployEngines is the verdict of each engine that was asked, the worst of all modes.
func deployEngines(d *deploy.Report) map[string]string {
	all := map[string]verify.Outcome{}
	say := func(engine string, o verify.Outcome) {
		if old, known := all[engine]; !known || o == verify.Refuted || old == verify.Proved {
			all[engine] = o
		}
	}
	for _, c := range d.Calls {
		say(order.Engine, c.Order.Verdict.Outcome)
		if c.Formulas != nil {
			say(smt.Engine, c.Formulas.Verdict.Outcome)
		}
	}
	words := map[string]string{}
	for engine, o := range all {
		words[engine] = o.String()
	}
	return words
}

func violationsToJSON(all []verify.Violation) []ViolationJSON {
	out := []ViolationJSON{}
	for _, v := range all {
		out = append(out, ViolationJSON{string(v.Code), order.Engine, v.Where, v.Message})
	}
	return out
}

func runtimeToJSON(l model.Loading) runtimeJSON {
	s := l.Selection
	j := runtimeJSON{Runtime: l.Runtime, Loads: len(l.Refusals) == 0, Refusals: []remarkJSON{}, Notes: []remarkJSON{}, Never: s.Never,
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

// PrintDeployed writes the report on one file: the verdict, what is wrong, what else may
// matter, the properties, the slots, the runtimes.
func PrintDeployed(w io.Writer, r *deploy.Report, f *Filter) {
	Line(w, "%s", DeployVerdict(r))
	for _, v := range r.Verdict.Violations {
		Line(w, "%v", v)
	}
	switch {
	case r.Verdict.Reason == "":
	case r.Verdict.Outcome == verify.Proved:
		Line(w, "%s", r.Verdict.Basis())
	default:
		Line(w, "%s", r.Verdict.Reason)
	}
	if r.Guess != "" {
		Line(w, "%-11s %s", deploy.Note, r.Guess)
	}
	for _, x := range f.remarked(r) {
		Line(w, "%-11s %v", x.Level, x)
	}
	for i := range r.Calls {
		c := &r.Calls[i]
		p := propertiesOf(c.Order)
		var words []string
		for _, name := range propertyNames {
			words = append(words, name+" "+p[name])
		}
		Line(w, "properties  %s", strings.Join(words, ", "))
		if len(r.Calls) > 1 {
			Line(w, "            %v", c)
		}
		if c.Formulas != nil {
			text := "smt " + c.Formulas.Verdict.Outcome.String()
			if c.Formulas.Verdict.Reason != "" {
				text += ": " + c.Formulas.Verdict.Reason
			} else if c.Formulas.Slots > 0 {
				text += fmt.Sprintf(", with at least %d slots", c.Formulas.Slots)
			}
			Line(w, "engines     order %v, %s", c.Order.Verdict.Outcome, text)
		}
		if s := r.Sentence(c); s != "" && c.Slots.Safe == deploy.Any { // else it is above
			Line(w, "slots       %s", s)
		}
	}
	if r.Plan != nil {
		printPlan(w, r.Plan)
	}
	for _, l := range r.Loadings {
		printRuntime(w, r, l)
	}
	if len(r.Verdict.Violations) > 0 {
		Line(w, "oraccl explain %s says more", r.Verdict.Violations[0].Code)
	}
}

// DeployVerdict is the outcome with what was proved or refuted, and under what proviso.
func DeployVerdict(d *deploy.Report) string {
	v := d.Verdict
	return fmt.Sprintf("%s %s%s", strings.ToUpper(v.Outcome.String()), v.Claim, d.Proviso)
}

func printRuntime(w io.Writer, d *deploy.Report, l model.Loading) {
	if len(l.Refusals) > 0 {
		Line(w, "%-11s does not load it: line %d: %s", l.Runtime, l.Refusals[0].Line, l.Refusals[0].Message)
	} else {
		s := l.Selection
		picked := "picked " + s.String()
		if asked := d.Size; asked > 0 && s.Never == "" && !d.Picked(s) {
			picked = fmt.Sprintf("not picked for %d bytes; %s", asked, picked)
		}
		Line(w, "%-11s loads it; %s", l.Runtime, picked)
	}
	for i, n := range l.Notes {
		if i == 2 {
			Line(w, "            … and %d more notes", len(l.Notes)-2)
			break
		}
		Line(w, "            line %d: %s", n.Line, n.Message)
	}
}

// DeployRow returns the row of a file in a table of files, whose names have a width.
func DeployRow(d *deploy.Report, width int, f *Filter) string {
	first := ""
	if all := d.Verdict.Violations; len(all) > 0 {
		first = all[0].String()
	} else if all := Remarks(d, f); len(all) > 0 {
		first = all[0]
	}
	if v := d.Verdict; v.Reason != "" && v.Outcome != verify.Proved {
		first = v.Reason
	}
	if runes := []rune(first); len(runes) > 120 {
		first = string(runes[:119]) + "…"
	}
	return strings.TrimRight(fmt.Sprintf("%-8s %-19s %-*s  %s", strings.ToUpper(d.Verdict.Outcome.String()), d.Kind, width, quote.Name(d.File), first), " ")
}

// SummariseDeployed writes a line per file, and how many there are of each kind.
func SummariseDeployed(w io.Writer, all []*deploy.Report, f *Filter) {
	width := 0
	count := map[order.Kind]int{}
	var kinds []order.Kind
	for _, d := range all {
		width = max(width, len([]rune(quote.Name(d.File))))
		if count[d.Kind]++; count[d.Kind] == 1 {
			kinds = append(kinds, d.Kind)
		}
	}
	for _, d := range all {
		Line(w, "%s", DeployRow(d, min(width, 60), f))
	}
	slices.SortFunc(kinds, func(a, b order.Kind) int { return count[b] - count[a] })
	var words []string
	for _, k := range kinds {
		words = append(words, fmt.Sprintf("%d %s", count[k], k))
	}
	fmt.Fprintf(w, "%d files: %s\n", len(all), strings.Join(words, ", "))
}
