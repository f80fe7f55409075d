package dossier

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/quote"
)

// ManifestSchema is the schema of a manifest, and ManifestName the name of its file.
const (
	ManifestSchema = "oraccl/dossier/1"
	ManifestName   = "manifest.json"
)

// Manifest states what a directory claims, and lists every file in it.
type Manifest struct {
	Schema   string    `json:"schema"`
	Tool     string    `json:"tool"` // that wrote it
	Problems []Problem `json:"problems"`
	Claims   []Claim   `json:"claims"`
	Rows     []Row     `json:"rows,omitempty"` // of the table, in its order
	Files    []File    `json:"files"`
}

// Problem is what claims are about.
type Problem struct {
	File   string `json:"file"`
	About  string `json:"about"`                           // the problem in words, as its String method gives them
	Digest string `json:"digest" pattern:"^[0-9a-f]{64}$"` // see Digest
	// SameRoundsAs is the file of another problem that differs from this one in latencies,
	// bandwidths and sizes alone, under link-rounds: what rounds and steps one has, the
	// other has too. Such a problem has bounds and refutations, and no schedules.
	SameRoundsAs string `json:"same_rounds_as,omitempty"`
}

// ClaimKind names what a claim states.
type ClaimKind string

// The kinds of claims. Each names the fields of Claim that it has.
const (
	// ScheduleClaim: the schedule in Schedule, which Method found, is right for Problem, cut
	// into Chunks, and ends after Makespan. In rounds it has Rounds of them, in Steps steps.
	ScheduleClaim ClaimKind = "schedule"
	// BoundClaim: no schedule of Problem ends before Bound, for every cut, or if Chunks is
	// there for the cut into as many that Certificate names. By is the kind of its witness.
	BoundClaim ClaimKind = "bound"
	// TimetableClaim: the schedule in Schedule, which Method found, is right for the workload in
	// Problem, and has Makespan, its period if the workload is periodic.
	TimetableClaim ClaimKind = "timetable"
	// WorkloadBoundClaim: no schedule of the workload in Problem has a makespan, or period, below
	// Bound, as Certificate proves, whose evidence is of the kind By.
	WorkloadBoundClaim ClaimKind = "workload-bound"
	// RefutationClaim: no schedule of Problem, cut into Chunks, has at most Rounds rounds in
	// at most Steps steps, as Certificate proves.
	RefutationClaim ClaimKind = "refutation"
	// GapClaim: Schedule is Gap above the bound for every cut of Certificate.
	GapClaim ClaimKind = "gap"
	// CutGapClaim: Schedule is Gap above the bound for its cut of Certificate.
	CutGapClaim ClaimKind = "cut-gap"
	// OptimalClaim: Schedule meets the bound of Certificate, which holds for every cut.
	OptimalClaim ClaimKind = "optimal"
	// NoneFasterClaim: Schedule meets the bound of Certificate, which holds for its cut.
	NoneFasterClaim ClaimKind = "none-faster"
	// FewestRoundsClaim: no schedule of the same cut has fewer rounds than Schedule, with
	// late ranks fewer after the last arrival, as Certificate proves.
	FewestRoundsClaim ClaimKind = "fewest-rounds"
)

// Claim is one statement. Its kind decides which fields it has; files are named as in the
// manifest.
type Claim struct {
	Kind        ClaimKind   `json:"claim"`
	Problem     string      `json:"problem,omitempty"`
	Schedule    string      `json:"schedule,omitempty"`
	Certificate string      `json:"certificate,omitempty"`
	Method      string      `json:"method,omitempty"`
	By          string      `json:"by,omitempty"`
	Chunks      int         `json:"chunks,omitempty"`
	Rounds      int         `json:"rounds,omitempty"`
	Steps       int         `json:"steps,omitempty"`
	Makespan    *model.Time `json:"makespan_ps,omitempty"`
	Bound       *model.Time `json:"bound_ps,omitempty"`
	Gap         *float64    `json:"gap,omitempty"`
}

// Role is what a file is for.
type Role string

// The roles.
const (
	ProblemRole     Role = "problem"
	ScheduleRole    Role = "schedule"
	CertificateRole Role = "certificate"
	ProofRole       Role = "proof"    // in the format LRAT, of the certificate in Of
	FormulaRole     Role = "formula"  // in the format DIMACS, that the proof of the certificate in Of refutes
	FormulasRole    Role = "formulas" // in SMT-LIB 2, about the schedule in Of
	ModelRole       Role = "model"    // a program for MIP solvers about the schedule in Of; it is not checked
	TextRole        Role = "text"     // the manifest in words
	TableRole       Role = "table"    // the rows as CSV or as JSON Lines
	InputRole       Role = "input"    // a topology or a collective, where a row has the name of a file
)

// File is a file of the directory.
type File struct {
	File   string `json:"file"`
	Is     Role   `json:"is"`
	Of     string `json:"of,omitempty"`
	Bytes  int64  `json:"bytes" range:"0,"`
	SHA256 string `json:"sha256" pattern:"^[0-9a-f]{64}$"`
}

// Limits of a manifest.
const (
	maxManifest = 64 << 20 // bytes
	maxName     = 200      // bytes of the name of a file
)

// readmeName is the file with the manifest in words.
const readmeName = "README.md"

// ClaimFields are the keys that a claim of a kind has.
type ClaimFields struct {
	Kind      ClaimKind
	Must, May []string
}

var claimFields = []ClaimFields{
	{ScheduleClaim, []string{"problem", "schedule", "chunks", "makespan_ps"}, []string{"method", "rounds", "steps"}},
	{BoundClaim, []string{"problem", "certificate", "by", "bound_ps"}, []string{"chunks"}},
	{TimetableClaim, []string{"problem", "schedule", "makespan_ps"}, []string{"method"}},
	{WorkloadBoundClaim, []string{"problem", "certificate", "by", "bound_ps"}, nil},
	{RefutationClaim, []string{"problem", "certificate", "chunks", "rounds", "steps"}, nil},
	{GapClaim, []string{"schedule", "certificate", "gap"}, nil},
	{CutGapClaim, []string{"schedule", "certificate", "gap"}, nil},
	{OptimalClaim, []string{"schedule", "certificate"}, nil},
	{NoneFasterClaim, []string{"schedule", "certificate"}, nil},
	{FewestRoundsClaim, []string{"schedule", "certificate"}, nil},
}

// Claims returns the kinds of claims with their keys.
func Claims() []ClaimFields { return slices.Clone(claimFields) }

// of is the role of the file that a file of each role belongs to, "" if it belongs to none.
var of = map[Role]Role{
	ProblemRole: "", ScheduleRole: "", CertificateRole: "", TextRole: "", TableRole: "", InputRole: "",
	ProofRole: CertificateRole, FormulaRole: CertificateRole, FormulasRole: ScheduleRole, ModelRole: ScheduleRole,
}

// Roles returns all roles in alphabetical order.
func Roles() []Role { return slices.Sorted(maps.Keys(of)) }

// has lists the fields that a claim has.
func (c *Claim) has() (list []string) {
	for _, f := range []struct {
		name  string
		there bool
	}{
		{"problem", c.Problem != ""}, {"schedule", c.Schedule != ""}, {"certificate", c.Certificate != ""}, {"method", c.Method != ""}, {"by", c.By != ""},
		{"chunks", c.Chunks != 0}, {"rounds", c.Rounds != 0}, {"steps", c.Steps != 0},
		{"makespan_ps", c.Makespan != nil}, {"bound_ps", c.Bound != nil}, {"gap", c.Gap != nil},
	} {
		if f.there {
			list = append(list, f.name)
		}
	}
	return list
}

// ReadManifest reads a manifest strictly: its keys stand in the order in which WriteManifest
// writes them, each once and none beside them, and what it says is complete in itself: every
// file that it names is in its list, every document in the list has one claim, no claim is
// there twice. Whether a claim holds is not looked at. Errors name the file.
func ReadManifest(name string, r io.Reader) (*Manifest, error) {
	b, err := io.ReadAll(io.LimitReader(r, maxManifest+1))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if len(b) > maxManifest {
		return nil, fmt.Errorf("%s: more than %d bytes, want a manifest of at most as many", name, maxManifest)
	}
	m := &Manifest{}
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(m); err != nil {
		return nil, fmt.Errorf("%s: %w", name, inWords(err))
	}
	if m.Schema != ManifestSchema {
		return nil, fmt.Errorf("%s: schema %s, want %s", name, model.Quote(m.Schema), ManifestSchema)
	}
	// What a decoder lets pass, keys that are there twice or written otherwise, and what
	// follows the document, makes a difference to what would be written.
	var read bytes.Buffer
	if err := json.Compact(&read, b); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	var want bytes.Buffer
	if err := m.encode(&want, ""); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if got, want := read.Bytes(), bytes.TrimSuffix(want.Bytes(), []byte("\n")); !bytes.Equal(got, want) {
		i := 0
		for i < len(got) && i < len(want) && got[i] == want[i] {
			i++
		}
		return nil, fmt.Errorf("%s: %s, want %s: each key once, and in the order of the schema", name, near(got, i), near(want, i))
	}
	if err := m.Validate(); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return m, nil
}

// near quotes what is at a place.
func near(b []byte, i int) string {
	if i >= len(b) {
		return "the end"
	}
	return model.Quote(string(b[max(0, i-16):min(len(b), i+24)]))
}

// inWords drops the names of Go's types from an error.
func inWords(err error) error {
	var t *json.UnmarshalTypeError
	if errors.As(err, &t) {
		return fmt.Errorf("%s: a %s, want a %v", quote.Line(t.Field), t.Value, t.Type)
	}
	return errors.New(strings.TrimPrefix(err.Error(), "json: "))
}

// Write writes m, as ReadManifest reads it.
func (m *Manifest) Write(w io.Writer) error { return m.encode(w, "  ") }

func (m *Manifest) encode(w io.Writer, indent string) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", indent)
	return e.Encode(m)
}

// Validate returns an error if m is not complete in itself: see ReadManifest. It takes
// O(m·log m) time.
func (m *Manifest) Validate() error {
	if err := model.CheckName(m.Tool); err != nil {
		return fmt.Errorf("tool: %w", err)
	}
	files, err := m.index()
	if err != nil {
		return err
	}
	in := func(place, name string, role Role) error {
		f := files[name]
		switch {
		case f == nil:
			return fmt.Errorf("%s: %s is not in files", place, model.Quote(name))
		case f.Is != role:
			return fmt.Errorf("%s: %s is a file of %s, want %s", place, name, f.Is, role)
		}
		return nil
	}
	problems := map[string]*Problem{}
	for i := range m.Problems {
		p, place := &m.Problems[i], fmt.Sprintf("problems[%d]", i)
		if err := in(place, p.File, ProblemRole); err != nil {
			return err
		}
		if problems[p.File] != nil {
			return fmt.Errorf("%s: %s is there twice, want it once", place, p.File)
		}
		if p.About == "" || !utf8.ValidString(p.About) || quote.Line(p.About) != p.About {
			return fmt.Errorf("%s: about %s, want the problem in words", place, model.Quote(p.About))
		}
		if !isHash(p.Digest) {
			return fmt.Errorf("%s: digest %s, want 64 hexadecimal digits", place, model.Quote(p.Digest))
		}
		problems[p.File] = p
	}
	for i, p := range m.Problems {
		if q := p.SameRoundsAs; q != "" && (problems[q] == nil || q == p.File) {
			return fmt.Errorf("problems[%d]: same_rounds_as %s, want another problem", i, model.Quote(q))
		}
	}
	used := map[string]bool{} // documents with a claim, and problems
	seen := map[string]bool{}
	for i := range m.Claims {
		c, place := &m.Claims[i], fmt.Sprintf("claims[%d]", i)
		if err := c.validate(); err != nil {
			return fmt.Errorf("%s: %w", place, err)
		}
		if c.Problem != "" {
			p := problems[c.Problem]
			if p == nil {
				return fmt.Errorf("%s: %s is not in problems", place, model.Quote(c.Problem))
			}
			if c.Schedule != "" && p.SameRoundsAs != "" {
				return fmt.Errorf("%s: a schedule for %s, want one for %s, which has its rounds", place, p.File, model.Quote(p.SameRoundsAs))
			}
			used[c.Problem] = true
		}
		for _, x := range []struct {
			name string
			role Role
		}{{c.Schedule, ScheduleRole}, {c.Certificate, CertificateRole}} {
			if x.name == "" {
				continue
			}
			if err := in(place, x.name, x.role); err != nil {
				return err
			}
			switch {
			case c.Problem == "" && !used[x.name]:
				return fmt.Errorf("%s: %s has no claim of its own before this one", place, x.name)
			case c.Problem != "" && used[x.name]:
				return fmt.Errorf("%s: %s has a claim already, want one", place, x.name)
			}
			used[x.name] = true
		}
		if c.Problem == "" {
			if key := string(c.Kind) + " of " + c.Schedule; seen[key] {
				return fmt.Errorf("%s: %s is claimed twice, want it once", place, key)
			} else {
				seen[key] = true
			}
		}
	}
	for i := range m.Rows {
		used[m.Rows[i].Problem] = true
	}
	for i, f := range m.Files {
		switch f.Is {
		case ProblemRole, ScheduleRole, CertificateRole:
			if !used[f.File] && !(f.Is == ProblemRole && m.linked(f.File)) {
				return fmt.Errorf("files[%d]: nothing is claimed of %s", i, f.File)
			}
		}
	}
	return m.validateRows(files)
}

// linked reports whether a problem that no claim names is tied to one.
func (m *Manifest) linked(name string) bool {
	return slices.ContainsFunc(m.Problems, func(p Problem) bool {
		return p.File == name && p.SameRoundsAs != "" || p.SameRoundsAs == name
	})
}

func (c *Claim) validate() error {
	i := slices.IndexFunc(claimFields, func(f ClaimFields) bool { return f.Kind == c.Kind })
	if i < 0 {
		return fmt.Errorf("claim %s, which is not known", model.Quote(string(c.Kind)))
	}
	want, has := claimFields[i], c.has()
	for _, f := range want.Must {
		if !slices.Contains(has, f) {
			return fmt.Errorf("%s without %s", c.Kind, f)
		}
	}
	for _, f := range has {
		if !slices.Contains(want.Must, f) && !slices.Contains(want.May, f) {
			return fmt.Errorf("%s with %s, which it has not", c.Kind, f)
		}
	}
	if err := model.CheckName(c.Method); err != nil {
		return fmt.Errorf("method: %w", err)
	}
	if c.Chunks < 0 || c.Rounds < 0 || c.Steps < 0 || c.Makespan != nil && *c.Makespan < 0 || c.Bound != nil && *c.Bound < 0 || c.Gap != nil && !(*c.Gap >= 0) {
		return errors.New("a number below 0")
	}
	return nil
}

// index returns the files by name. Names stay in the directory, and no two of them are the
// same on any file system.
func (m *Manifest) index() (map[string]*File, error) {
	files, folded := map[string]*File{}, map[string]bool{}
	for i := range m.Files {
		f, place := &m.Files[i], fmt.Sprintf("files[%d]", i)
		if err := CheckFileName(f.File); err != nil {
			return nil, fmt.Errorf("%s: %w", place, err)
		}
		if lower := strings.ToLower(f.File); folded[lower] || lower == ManifestName {
			return nil, fmt.Errorf("%s: %s is there twice, want it once", place, f.File)
		} else {
			folded[lower] = true
		}
		if f.Bytes < 0 {
			return nil, fmt.Errorf("%s: %d bytes", place, f.Bytes)
		}
		if !isHash(f.SHA256) {
			return nil, fmt.Errorf("%s: sha256 %s, want 64 hexadecimal digits", place, model.Quote(f.SHA256))
		}
		files[f.File] = f
	}
	for i, f := range m.Files {
		role, known := of[f.Is]
		needs := role != ""
		switch {
		case !known:
			return nil, fmt.Errorf("files[%d]: %s is a %s, which is not known", i, f.File, model.Quote(string(f.Is)))
		case needs && (files[f.Of] == nil || files[f.Of].Is != role):
			return nil, fmt.Errorf("files[%d]: %s is of %s, want a %s", i, f.File, model.Quote(f.Of), role)
		case !needs && f.Of != "":
			return nil, fmt.Errorf("files[%d]: %s is a %s, which is not of another file", i, f.File, f.Is)
		case f.Is == TextRole && f.File != readmeName:
			return nil, fmt.Errorf("files[%d]: %s is a text, want %s for it", i, f.File, readmeName)
		case f.Is == TableRole && f.File != TableCSV && f.File != TableJSONL:
			return nil, fmt.Errorf("files[%d]: %s is a table, want %s or %s for it", i, f.File, TableCSV, TableJSONL)
		}
	}
	return files, nil
}

// CheckFileName returns an error unless name can be that of a file in a dossier: ASCII
// letters, digits, '.', '_', '-' and '+', the first neither '.' nor '-', and at most 200 of
// them.
func CheckFileName(name string) error {
	ok := name != "" && len(name) <= maxName && name[0] != '.' && name[0] != '-'
	for i := range len(name) {
		c := name[i]
		ok = ok && ('a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || strings.IndexByte("._-+", c) >= 0)
	}
	if !ok {
		return fmt.Errorf("%s: want the name of a file in the directory, of letters, digits and \"._-+\"", model.Quote(name))
	}
	return nil
}

func isHash(s string) bool {
	b, err := hex.DecodeString(s)
	return err == nil && len(b) == 32 && s == strings.ToLower(s)
}
