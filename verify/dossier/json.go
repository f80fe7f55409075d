package dossier

import (
	"bytes"
	"encoding/json"
	"math"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/verify"
)

// The JSON of a report, schema oraccl/check/2.
type reportJSON struct {
	Schema      string           `json:"schema"`
	Claimed     bool             `json:"claimed"` // there is a manifest
	Problems    []problemJSON    `json:"problems"`
	Files       []fileJSON       `json:"files"`
	Conclusions []conclusionJSON `json:"conclusions"`
	Dossiers    []dossierJSON    `json:"dossiers"`
	Errors      []string         `json:"errors"` // of checkers that contradict each other
	MaxGap      *model.Gap       `json:"max_gap,omitempty"`
	Beyond      []beyondJSON     `json:"beyond,omitempty"` // what does not pass it
}

// JSON is what Report.JSON writes, for those who describe it.
type JSON = reportJSON

// FileJSON is a document in it.
type FileJSON = fileJSON

type problemJSON struct {
	Digest  string `json:"digest"`
	About   string `json:"about"`
	Differs string `json:"differs,omitempty"`
}

type fileJSON struct {
	File       string          `json:"file"`
	Kind       string          `json:"kind"`
	Verdict    string          `json:"verdict,omitempty"` // of a schedule or a certificate
	Claim      string          `json:"claim,omitempty"`
	Reason     string          `json:"reason,omitempty"`
	MakespanPs *model.Time     `json:"makespan_ps,omitempty"` // of a schedule with times
	BoundPs    *model.Time     `json:"bound_ps,omitempty"`    // of a certificate
	Problem    string          `json:"problem,omitempty"`     // its digest
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
	EveryCut    bool       `json:"every_cut"`
	Gap         *float64   `json:"gap"` // null where the bound is 0
	Optimal     bool       `json:"optimal"`
	NoneFaster  bool       `json:"none_faster"`
}

type beyondJSON struct {
	Schedule string     `json:"schedule,omitempty"` // none where no schedule is proved
	Gap      *model.Gap `json:"gap"`                // null where it is not known
	Reason   string     `json:"reason"`
}

type dossierJSON struct {
	Directory string      `json:"directory"`
	Verdict   string      `json:"verdict"`
	Documents []fileJSON  `json:"documents"`
	Claims    []claimJSON `json:"claims"`
	Rows      []rowJSON   `json:"rows,omitempty"` // of the table
	Faults    []faultJSON `json:"faults"`
	Unchecked []string    `json:"unchecked"`
}

type claimJSON struct {
	Claim       string `json:"claim"`
	Schedule    string `json:"schedule,omitempty"`
	Certificate string `json:"certificate,omitempty"`
	Verdict     string `json:"verdict"`
	Reason      string `json:"reason,omitempty"`
}

type rowJSON struct {
	Row     int    `json:"row"` // counted from 1, as the lines of table.jsonl
	Verdict string `json:"verdict"`
	Reason  string `json:"reason,omitempty"`
}

type faultJSON struct {
	File   string `json:"file"`
	Reason string `json:"reason"`
}

// JSON returns the report in the schema oraccl/check/2, with the same exit status as Text.
func (r *Report) JSON() (text []byte, status int, err error) {
	s := r.state()
	j := reportJSON{Schema: "oraccl/check/2", Claimed: len(r.dossiers) > 0, Problems: []problemJSON{}, Files: []fileJSON{},
		Conclusions: []conclusionJSON{}, Dossiers: []dossierJSON{}, Errors: []string{}}
	for _, p := range s.problems {
		j.Problems = append(j.Problems, problemJSON{p.digest, p.about, p.differs})
	}
	for i := range r.found {
		j.Files = append(j.Files, r.found[i].json())
	}
	for _, c := range s.conclusions {
		x := conclusionJSON{Schedule: c.Schedule, Certificate: c.Certificate, MakespanPs: c.Makespan, BoundPs: c.Bound, EveryCut: c.EveryCut,
			Optimal: c.Met() && c.EveryCut, NoneFaster: c.Met()}
		if gap := float64(model.GapOf(c.Makespan, c.Bound)); !math.IsInf(gap, 0) {
			x.Gap = &gap
		}
		j.Conclusions = append(j.Conclusions, x)
	}
	for _, d := range r.dossiers {
		j.Dossiers = append(j.Dossiers, d.json(s))
	}
	j.MaxGap = r.options.MaxGap
	for _, x := range s.beyond {
		j.Beyond = append(j.Beyond, beyondJSON{x.schedule, x.gap, x.words()})
	}
	for _, err := range s.wrong {
		j.Errors = append(j.Errors, err.Error())
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	err = e.Encode(j)
	return b.Bytes(), s.status, err
}

func (d *folder) json(s *state) dossierJSON {
	verdict := map[int]string{0: "proved", 1: "refuted", 2: "error", 3: "unknown"}[d.status()]
	if verdict == "proved" && s.differs() {
		verdict = verify.Refuted.String()
	}
	j := dossierJSON{Directory: d.path, Verdict: verdict, Documents: []fileJSON{}, Claims: []claimJSON{}, Faults: []faultJSON{}, Unchecked: d.unchecked()}
	for i := range d.found {
		j.Documents = append(j.Documents, d.found[i].json())
	}
	for _, c := range d.claims {
		j.Claims = append(j.Claims, claimJSON{string(c.Kind), c.Schedule, c.Certificate, c.outcome.String(), c.reason})
	}
	for i, x := range d.rows {
		j.Rows = append(j.Rows, rowJSON{i + 1, x.outcome.String(), x.reason})
	}
	for _, x := range d.faults {
		j.Faults = append(j.Faults, faultJSON{x.file, x.why})
	}
	return j
}

func (f *Finding) json() fileJSON {
	j := fileJSON{File: f.File, Kind: f.Kind, Problem: f.digest}
	if f.Err != nil {
		j.Error = f.Err.Error()
		return j
	}
	switch f.Kind {
	case "schedule":
		if f.timed {
			j.MakespanPs = &f.makespan
		}
	case "timetable":
		j.MakespanPs = &f.makespan
	case "certificate":
		j.BoundPs = &f.certificate.Bound
	case "workload bound":
		j.BoundPs = &f.bound.Value
	default:
		return j
	}
	j.Verdict, j.Claim = f.Verdict.Outcome.String(), f.Verdict.Claim
	if f.disowned != "" && f.Verdict.Outcome == verify.Proved {
		j.Verdict, j.Reason = verify.Refuted.String(), f.disowned
		return j
	}
	if f.Verdict.Outcome != verify.Proved {
		j.Reason = f.Verdict.Reason
	}
	for _, v := range f.Verdict.Violations {
		j.Violations = append(j.Violations, violationJSON{string(v.Code), v.Where, v.Message})
	}
	return j
}
