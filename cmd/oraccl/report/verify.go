package report

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve/certify"
	"github.com/oraccl/oraccl/verify"
	"github.com/oraccl/oraccl/verify/epoch"
	"github.com/oraccl/oraccl/verify/orbit"
	"github.com/oraccl/oraccl/verify/stream"
	"github.com/oraccl/oraccl/verify/workload"
)

// VerifyJSON is the JSON of verify, schema oraccl/verify/1; one object per file.
type VerifyJSON struct {
	Schema     string            `json:"schema"`
	File       string            `json:"file"`
	Verdict    string            `json:"verdict"`
	Claim      string            `json:"claim"`
	MakespanPs model.Time        `json:"makespan_ps"`
	Engines    map[string]string `json:"engines"`
	Properties map[string]string `json:"properties"`
	Reason     string            `json:"reason,omitempty"`
	Violations []ViolationJSON   `json:"violations"`
	Format     string            `json:"format,omitempty"` // the tool that writes such files
	Notes      []string          `json:"notes,omitempty"`
	Bound      *BoundJSON        `json:"bound,omitempty"`
	Gap        *float64          `json:"gap,omitempty"`
}

// standing fills in how a schedule stands to the bounds.
func (j *VerifyJSON) standing(x *certify.Standing) {
	if x != nil {
		j.MakespanPs, j.Bound, j.Gap = x.Makespan, boundToJSON(x.EveryCut), gapToJSON(x.Makespan, x.EveryCut)
	}
}

// StandingLine states the bound that a schedule is compared with, and the gap.
func StandingLine(x *certify.Standing) string {
	if !x.Bounded() {
		return boundLine(nil)
	}
	return boundLine(x.EveryCut) + "; gap " + gapText(gapToJSON(x.Makespan, x.EveryCut))
}

// ViolationJSON is a violation in a document.
type ViolationJSON struct {
	Code    string `json:"code"`
	Engine  string `json:"engine"`
	Where   string `json:"where"`
	Message string `json:"message"`
}

// VerifyToJSON returns the JSON of what is decided about a file.
func VerifyToJSON(v *certify.Judgement) VerifyJSON {
	j := VerifyJSON{
		Schema: "oraccl/verify/1", File: v.File, Verdict: v.Verdict.Outcome.String(), Claim: v.Claim, MakespanPs: v.Makespan, Reason: v.Verdict.Reason,
		Engines: map[string]string{}, Properties: map[string]string{}, Violations: []ViolationJSON{}, Format: v.Tool, Notes: v.Notes.Strings(),
	}
	for _, engine := range v.Asked {
		of := v.Verdicts[engine]
		j.Engines[engine] = of.Outcome.String()
		for _, x := range of.Violations {
			j.Violations = append(j.Violations, ViolationJSON{string(x.Code), engine, x.Where, x.Message})
		}
	}
	if v.Verdict.Outcome == verify.Proved && j.Reason != "" {
		j.Reason = v.Verdict.Basis()
	}
	if v.Partial {
		j.Reason = strings.TrimPrefix(j.Reason+"; the file is marked as partial", "; ")
	}
	j.standing(v.Standing)
	for name, codes := range properties {
		j.Properties[name] = propertyOutcome(codes, v.Verdicts, v.Asked)
	}
	return j
}

// properties groups the codes by what they are about.
var properties = map[string][]verify.Code{
	"result":   {verify.MissingContribution, verify.DoubleContribution, verify.WrongValue, verify.SendUndefined, verify.ReduceUndefined},
	"races":    {verify.ReadWriteRace, verify.WriteWriteRace},
	"capacity": {verify.LinkOverlap, verify.PortOverload, verify.StaleSum},
	"timing":   {verify.TooFast, verify.TooSlow, verify.BeforeRelease, verify.BeforeDependency},
	"routes":   {verify.NoSuchLink},
}

// propertyOutcome is refuted if an engine found a violation of it, proved if the
// replay, the stream or the orbit proved the whole, and else unknown: a refuted schedule may have more
// wrong with it than was reported.
func propertyOutcome(codes []verify.Code, verdicts map[string]verify.Verdict, chosen []string) string {
	for _, engine := range chosen {
		for _, v := range verdicts[engine].Violations {
			if slices.Contains(codes, v.Code) {
				return verify.Refuted.String()
			}
		}
	}
	for _, engine := range []string{"replay", stream.Engine, orbit.Engine, workload.ComposeEngine} {
		if v, ran := verdicts[engine]; ran && v.Outcome == verify.Proved {
			return verify.Proved.String()
		}
	}
	return verify.Unknown.String()
}

// PrintVerdict writes what is decided about a file as text.
func PrintVerdict(w io.Writer, v *certify.Judgement) {
	j := VerifyToJSON(v)
	Line(w, "%s %s", strings.ToUpper(j.Verdict), j.Claim)
	seen := map[string]bool{}
	for _, x := range j.Violations {
		if at := x.Code + x.Where; !seen[at] { // the engines find the same; the first one's words will do
			Line(w, "%s: %s: %s", x.Code, x.Where, x.Message)
			seen[at] = true
		}
	}
	if j.Reason != "" {
		Line(w, "%s", j.Reason)
	}
	var said []string
	for _, engine := range slices.Concat([]string{"import", epoch.Engine, workload.ComposeEngine, workload.ExecuteEngine}, certify.Engines, []string{stream.Engine, orbit.Engine}) {
		if o, ran := j.Engines[engine]; ran {
			said = append(said, engine+" "+o)
		}
	}
	if j.MakespanPs > 0 {
		what := "makespan "
		if v.Periodic {
			what = "period "
		}
		said = append(said, what+Micros(j.MakespanPs)+" us")
	}
	fmt.Fprintln(w, strings.Join(said, ", "))
	if v.Standing != nil {
		Line(w, "%s", StandingLine(v.Standing))
	}
	if v.Verdict.Outcome == verify.Refuted && len(j.Violations) > 0 {
		fmt.Fprintf(w, "oraccl explain %s says more\n", j.Violations[0].Code)
	}
	for _, n := range j.Notes {
		Line(w, "note: %s", n)
	}
}

// PrintVerdictJSON writes what is decided about a file as one line of JSON.
func PrintVerdictJSON(w io.Writer, v *certify.Judgement) error {
	return printLineOfJSON(w, VerifyToJSON(v))
}

// printLineOfJSON writes a document in one line.
func printLineOfJSON(w io.Writer, document any) error {
	b, err := json.Marshal(document)
	if err == nil {
		_, err = fmt.Fprintln(w, string(b))
	}
	return err
}
