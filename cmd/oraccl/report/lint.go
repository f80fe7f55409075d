package report

import (
	"errors"
	"fmt"
	"io"
	"math/big"
	"slices"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/lint"
)

// Claim is a claim about a problem, and the certificate that was held against it.
type Claim struct {
	Rate        int64 // algorithmic bandwidth, bytes per second
	Bus         int64 // what was claimed, if that was a bus bandwidth; else 0
	Refuted     bool
	Bound       model.Time // the least makespan that the certificate leaves
	Certificate *model.Certificate
}

// NewClaim reads what is claimed of p: an algorithmic bandwidth or, with busbw, a bus bandwidth, of
// which that is the part, rounded down: what is refuted of less is refuted of more. Errors name the flag.
func NewClaim(p *model.Problem, algbw, busbw string) (*Claim, error) {
	c := &Claim{}
	var err error
	if busbw == "" {
		if c.Rate, err = model.ParseRate(algbw); err != nil {
			return nil, fmt.Errorf("--claim: %w", err)
		}
		return c, nil
	}
	num, den := BusFraction(p)
	if c.Bus, err = model.ParseRate(busbw); err != nil {
		return nil, fmt.Errorf("--claim-busbw: %w", err)
	}
	if algbw != "" {
		return nil, errors.New("--claim-busbw: does not go with --claim, which says the same otherwise")
	}
	if num == 0 {
		return nil, fmt.Errorf("--claim-busbw: has no meaning for %v, which moves nothing", p)
	}
	rate := new(big.Int).Mul(big.NewInt(c.Bus), big.NewInt(den))
	if c.Rate = rate.Div(rate, big.NewInt(num)).Int64(); c.Rate == 0 {
		return nil, fmt.Errorf("--claim-busbw %s: is less than a byte per second", busbw)
	}
	return c, nil
}

// Lint is what is suspicious about a topology, and about a claim.
type Lint struct {
	Topology *model.Topology
	Found    []lint.Finding
	Claim    *Claim // nil: none was made
}

// PrintLint writes what is suspicious about a topology as text.
func PrintLint(w io.Writer, r *Lint) {
	bad := lint.Errors(r.Found)
	fmt.Fprintf(w, "%s: %d errors, %d warnings\n", r.Topology.Name, bad, len(r.Found)-bad)
	for _, f := range r.Found {
		fmt.Fprintf(w, "%s %s: %s\n", severity(f.Code), f.Code, f.Text)
	}
	PrintNotes(w, r.Topology.Notes)
	if c := r.Claim; c != nil {
		word := "NOT REFUTED"
		if c.Refuted {
			word = "REFUTED"
		}
		p := c.Certificate.Problem
		most := Gbps(p.Size, c.Bound)
		what := fmt.Sprintf("an algbw of %.3f GB/s: at most %.3f GB/s", float64(c.Rate)/1e9, most)
		if c.Bus > 0 {
			what = fmt.Sprintf("a busbw of %.3f GB/s, which is an algbw of %.3f GB/s: at most a busbw of %.3f GB/s, an algbw of %.3f GB/s",
				float64(c.Bus)/1e9, float64(c.Rate)/1e9, most*BusFactor(p), most)
		}
		fmt.Fprintf(w, "%s %v%s, at %s (%s: %s)\n", word, p, inNetwork(p), what, c.Certificate.Witness.Kind(), Describe(c.Certificate))
	}
}

// inNetwork states of a collective that reduces whether switches add.
func inNetwork(p *model.Problem) string {
	switch {
	case !p.Collective.Reduces():
		return ""
	case slices.ContainsFunc(p.Topology.Switches, func(s model.Switch) bool { return s.Reduces != model.NoReducing }):
		return ", with in-network reduction"
	}
	return ", without in-network reduction"
}

func severity(c lint.Code) string {
	if c.IsError() {
		return "error"
	}
	return "warning"
}

// LintJSON is the JSON of topo lint, schema oraccl/lint/1.
type LintJSON struct {
	Schema   string        `json:"schema"`
	Topology string        `json:"topology"`
	Errors   int           `json:"errors"`
	Warnings int           `json:"warnings"`
	Findings []findingJSON `json:"findings"`
	Claim    *claimJSON    `json:"claim"`
	Notes    []string      `json:"notes,omitempty"`
}

type findingJSON struct {
	Severity string `json:"severity"`
	Code     string `json:"code"`
	Text     string `json:"text"`
	Nodes    []int  `json:"nodes"`
	Links    []int  `json:"links"`
	Ports    []int  `json:"ports"`
}

type claimJSON struct {
	Collective string     `json:"collective"`
	SizeBytes  int64      `json:"size_bytes"`
	Cost       string     `json:"cost"`
	Rate       int64      `json:"claimed_bytes_per_second"`
	Bus        int64      `json:"claimed_busbw_bytes_per_second,omitempty"`
	Refuted    bool       `json:"refuted"`
	AtMostGbps float64    `json:"at_most_gbps"`
	Bound      *BoundJSON `json:"bound"`
}

// LintToJSON returns the JSON of what lint found.
func LintToJSON(r *Lint) LintJSON {
	j := LintJSON{Schema: "oraccl/lint/1", Topology: r.Topology.Name, Errors: lint.Errors(r.Found), Findings: []findingJSON{}, Notes: r.Topology.Notes.Strings()}
	j.Warnings = len(r.Found) - j.Errors
	for _, f := range r.Found {
		j.Findings = append(j.Findings, findingJSON{severity(f.Code), string(f.Code), f.Text,
			append([]int{}, f.Nodes...), append([]int{}, f.Links...), append([]int{}, f.Ports...)})
	}
	if c := r.Claim; c != nil {
		p := c.Certificate.Problem
		j.Claim = &claimJSON{p.Collective.Label(), p.Size, p.Cost.String(), c.Rate, c.Bus, c.Refuted, Gbps(p.Size, c.Bound), boundToJSON(c.Certificate)}
	}
	return j
}
