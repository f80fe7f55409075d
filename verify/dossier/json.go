package dossier

import (
	"encoding/json"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/verify"
)

// The JSON of a report, schema oraccl/check/1.
type reportJSON struct {
	Schema      string           `json:"schema"`
	Files       []fileJSON       `json:"files"`
	Conclusions []conclusionJSON `json:"conclusions"`
}

// JSON is what ReportJSON writes, for those who describe it.
type JSON = reportJSON

type fileJSON struct {
	File       string          `json:"file"`
	Kind       string          `json:"kind"`
	Verdict    string          `json:"verdict,omitempty"` // of a schedule or a certificate
	Claim      string          `json:"claim,omitempty"`
	Reason     string          `json:"reason,omitempty"`
	MakespanPs *model.Time     `json:"makespan_ps,omitempty"` // of a schedule with times
	BoundPs    *model.Time     `json:"bound_ps,omitempty"`    // of a certificate
	Error      string          `json:"error,omitempty"`       // why the file could not be read
	Violations []violationJSON `json:"violations,omitempty"`
}

type violationJSON struct {
	Code    string `json:"code"`
	Where   string `json:"where"`
	Message string `json:"message"`
}

type conclusionJSON struct {
	Schedule    string     `json:"schedule"`
	Certificate string     `json:"certificate"`
	MakespanPs  model.Time `json:"makespan_ps"`
	BoundPs     model.Time `json:"bound_ps"`
	Gap         *float64   `json:"gap"` // null where the bound is 0
	Optimal     bool       `json:"optimal"`
}

// ReportJSON is Report as JSON, schema oraccl/check/1, with the same exit status.
func ReportJSON(found []Finding) (text []byte, status int, err error) {
	_, status = Report(found)
	r := reportJSON{Schema: "oraccl/check/1", Files: []fileJSON{}, Conclusions: []conclusionJSON{}}
	for i := range found {
		r.Files = append(r.Files, found[i].json())
	}
	for _, c := range Conclusions(found) {
		j := conclusionJSON{Schedule: c.Schedule, Certificate: c.Certificate, MakespanPs: c.Makespan, BoundPs: c.Bound, Optimal: c.Optimal()}
		if c.Bound > 0 {
			gap := float64(c.Makespan-c.Bound) / float64(c.Bound)
			j.Gap = &gap
		}
		r.Conclusions = append(r.Conclusions, j)
	}
	text, err = json.MarshalIndent(r, "", "  ")
	return append(text, '\n'), status, err
}

func (f *Finding) json() fileJSON {
	j := fileJSON{File: f.File, Kind: f.Kind}
	if f.Err != nil {
		j.Error = f.Err.Error()
		return j
	}
	switch f.Kind {
	case "schedule":
		if f.timed {
			j.MakespanPs = &f.makespan
		}
	case "certificate":
		j.BoundPs = &f.bound
	default:
		return j
	}
	j.Verdict, j.Claim = f.Verdict.Outcome.String(), f.Verdict.Claim
	if f.Verdict.Outcome != verify.Proved {
		j.Reason = f.Verdict.Reason
	}
	for _, v := range f.Verdict.Violations {
		j.Violations = append(j.Violations, violationJSON{string(v.Code), v.Where, v.Message})
	}
	return j
}
