package dossier

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/instance"
	"github.com/oraccl/oraccl/model/native"
	"github.com/oraccl/oraccl/model/quote"
	"github.com/oraccl/oraccl/model/table"
	"github.com/oraccl/oraccl/model/topo"
	"github.com/oraccl/oraccl/model/traffic"
	"github.com/oraccl/oraccl/verify"
)

// The names of the files with the table that a dossier claims: the same rows as CSV and as
// JSON Lines.
const (
	TableCSV   = "table.csv"
	TableJSONL = "table.jsonl"
)

// Row claims a row of the table: which instance it is about, in words from which the checker
// makes the problem again, and where the evidence for its numbers lies.
type Row struct {
	table.Instance
	// TopologyFile and CollectiveFile are inputs, where Topology or Collective is the name of
	// a file.
	TopologyFile   string `json:"topology_file,omitempty"`
	CollectiveFile string `json:"collective_file,omitempty"`
	// SizesFile is the input with the sizes that Collective names, as in alltoallv:moe.csv, and
	// WholeFile that with the problem that Whole names.
	SizesFile string `json:"sizes_file,omitempty"`
	WholeFile string `json:"whole_file,omitempty"`
	// Problem is the file with the problem, "" if the instance is none.
	Problem string `json:"problem,omitempty"`
	// Schedule is the method's, which is proved. "": there is none, and the row states none.
	Schedule string `json:"schedule,omitempty"`
	// Certificate is that of the row's bound. "": there is none, and the row states none.
	Certificate string `json:"certificate,omitempty"`
}

// validateRows returns an error if the rows are not complete in themselves; claims are valid.
func (m *Manifest) validateRows(files map[string]*File) error {
	for _, name := range []string{TableCSV, TableJSONL} {
		if f := files[name]; len(m.Rows) > 0 && (f == nil || f.Is != TableRole) {
			return fmt.Errorf("rows: %s is not in files as a %s", name, TableRole)
		}
	}
	about := map[string]string{} // the problem of each document
	for i := range m.Claims {
		if c := &m.Claims[i]; c.Problem != "" {
			about[c.Schedule+c.Certificate] = c.Problem
		}
	}
	used := map[string]bool{}
	for i := range m.Rows {
		r, place := &m.Rows[i], fmt.Sprintf("rows[%d]", i)
		if err := r.validate(); err != nil {
			return fmt.Errorf("%s: %w", place, err)
		}
		for _, x := range []struct {
			name string
			role Role
		}{
			{r.TopologyFile, InputRole}, {r.CollectiveFile, InputRole}, {r.SizesFile, InputRole}, {r.WholeFile, InputRole}, {r.Problem, ProblemRole}, {r.Schedule, ScheduleRole}, {r.Certificate, CertificateRole},
		} {
			if x.name == "" {
				continue
			}
			used[x.name] = true
			switch f := files[x.name]; {
			case f == nil || f.Is != x.role:
				return fmt.Errorf("%s: %s is not in files as a %s", place, model.Quote(x.name), x.role)
			case (x.role == ScheduleRole || x.role == CertificateRole) && about[x.name] != r.Problem:
				return fmt.Errorf("%s: %s is claimed for %s, want %s", place, x.name, model.Quote(about[x.name]), model.Quote(r.Problem))
			}
		}
	}
	for i, f := range m.Files {
		switch {
		case f.Is == InputRole && !used[f.File]:
			return fmt.Errorf("files[%d]: no row names the input %s", i, f.File)
		case f.Is == TableRole && len(m.Rows) == 0:
			return fmt.Errorf("files[%d]: %s is a table, and there are no rows", i, f.File)
		}
	}
	return nil
}

func (r *Row) validate() error {
	for _, x := range []struct{ key, text string }{
		{"whole", r.Whole}, {"topology", r.Topology}, {"fail", r.Fail}, {"alpha", r.Alpha}, {"bandwidth", r.Bandwidth}, {"collective", r.Collective}, {"method", r.Method},
	} {
		if err := model.CheckName(x.text); err != nil {
			return fmt.Errorf("%s: %w", x.key, err)
		}
	}
	if cost, err := model.ParseCostModel(r.Cost); err != nil || cost.String() != r.Cost {
		return fmt.Errorf("cost %s, want a cost model", model.Quote(r.Cost))
	}
	family, _, _ := strings.Cut(r.Topology, ":")
	kind, err := model.ParseKind(r.Collective)
	isKind := err == nil && kind != model.Custom
	name, _, spelled := instance.Spelled(r.Collective)
	known := isKind || traffic.Is(r.Collective) || spelled && (name == "permutation" || r.SizesFile != "") // what needs no file, or has its sizes
	evidence := r.Schedule != "" || r.Certificate != "" || r.TopologyFile != "" || r.CollectiveFile != "" || r.SizesFile != "" || r.WholeFile != ""
	if r.Whole != "" {
		switch {
		case r.WholeFile == "" && r.Problem != "":
			return fmt.Errorf("the problem %s without an input", model.Quote(r.Whole))
		case r.TopologyFile != "" || r.CollectiveFile != "" || r.SizesFile != "":
			return fmt.Errorf("inputs beside the problem %s, which has all", model.Quote(r.Whole))
		case r.Fail != "" || r.Alpha != "" || r.Bandwidth != "" || r.DelayPs != 0 || r.Straggler != 0:
			return fmt.Errorf("words that change the problem %s", model.Quote(r.Whole))
		}
		known = true
	}
	switch {
	case r.SizeBytes < 0 || r.Chunks < 0 || r.DelayPs < 0 || r.Straggler < 0:
		return errors.New("a number below 0")
	case r.DelayPs == 0 && r.Straggler != 0:
		return fmt.Errorf("straggler %d without a delay", r.Straggler)
	case r.TopologyFile != "" && slices.ContainsFunc(topo.List(), func(f topo.Family) bool { return f.Name == family }):
		return fmt.Errorf("the topology %s is one that is known by its name, want another name for a file", model.Quote(r.Topology))
	case r.WholeFile != "" && r.Whole == "":
		return errors.New("an input with a problem that no word names")
	case r.SizesFile != "" && (!spelled || name == "permutation" || r.CollectiveFile != ""):
		return fmt.Errorf("the collective %s names no file of sizes", model.Quote(r.Collective))
	case r.CollectiveFile != "" && known:
		return fmt.Errorf("the collective %s is one that is known by its name, want another name for a file", model.Quote(r.Collective))
	case r.Problem == "" && evidence:
		return errors.New("evidence or inputs without a problem")
	case r.Problem != "" && r.CollectiveFile == "" && !known:
		return fmt.Errorf("collective %s, want one that is known by its name, or an input", model.Quote(r.Collective))
	}
	return nil
}

// claimedRow is a row with what became of it.
type claimedRow struct {
	outcome verify.Outcome
	reason  string // why it is not established
}

// inputs are the files that the words of a row name.
type inputs struct {
	*folder
	row *Row
}

// Exists implements instance.Files: a name that is not an input's is a generator's.
func (in inputs) Exists(name string) bool {
	return in.row.TopologyFile != "" && name == in.row.Topology || in.row.CollectiveFile != "" && name == in.row.Collective
}

// Topology implements instance.Files. What alpha and bandwidth make of a file is in the input.
func (in inputs) Topology(_, _, _ string) (*model.Topology, error) {
	b, err := in.read(in.row.TopologyFile)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", in.row.TopologyFile, err)
	}
	return native.ReadTopology(in.row.TopologyFile, bytes.NewReader(b))
}

// Collective implements instance.Files.
func (in inputs) Collective(string) (*model.Collective, error) {
	b, err := in.read(in.row.CollectiveFile)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", in.row.CollectiveFile, err)
	}
	return native.ReadCollective(in.row.CollectiveFile, bytes.NewReader(b))
}

// Problem implements instance.Files.
func (in inputs) Problem(string) (*model.Problem, error) {
	b, err := in.read(in.row.WholeFile)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", in.row.WholeFile, err)
	}
	return native.ReadProblem(in.row.WholeFile, bytes.NewReader(b))
}

// Sizes implements instance.Files.
func (in inputs) Sizes(string) (*traffic.Table, error) {
	b, err := in.read(in.row.SizesFile)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", in.row.SizesFile, err)
	}
	return traffic.Read(in.row.SizesFile, bytes.NewReader(b))
}

// differs makes the problem of a row again from its words, and returns why it is not that of the
// file that the row names, or "".
func (d *folder) differs(r *Row) string {
	p := d.problems[r.Problem]
	if p == nil {
		return fmt.Sprintf("its problem %s cannot be read, or is another one", r.Problem)
	}
	flags := r.Flags()
	q, err := flags.Problem(inputs{d, r}, r.Topology)
	if err != nil {
		return fmt.Sprintf("its words make no problem: %v", err)
	}
	if r.Whole != "" && (r.Topology != q.Topology.Name || r.Collective != q.Collective.Label() || r.Cost != q.Cost.String() || r.SizeBytes != q.Size) {
		return fmt.Sprintf("its words are not those of %s", r.WholeFile)
	}
	if why := about(q, p); why != "" {
		return fmt.Sprintf("%s is not what its words make: %s", r.Problem, why)
	}
	if q.Chunks == nil && p.Chunks != nil {
		return fmt.Sprintf("%s is about one cut, want any", r.Problem)
	}
	return ""
}

// table decides the rows: each is what its evidence proves, and the files of the table are
// these rows, byte for byte.
func (d *folder) table(ctx context.Context) {
	if len(d.m.Rows) == 0 {
		return
	}
	b, err := d.read(TableJSONL)
	if err != nil {
		if ctx.Err() == nil && d.bad[TableJSONL] == "" {
			d.fault(TableJSONL, "it cannot be read: %v", err)
		}
		return
	}
	rows, err := table.ReadJSONL(d.name(TableJSONL), bytes.NewReader(b))
	switch {
	case err != nil:
		d.fault(TableJSONL, "it cannot be read: %s", strings.TrimPrefix(err.Error(), d.name(TableJSONL)+":"))
		return
	case len(rows) != len(d.m.Rows):
		d.fault(TableJSONL, "it has %d rows, want %d", len(rows), len(d.m.Rows))
		return
	}
	same := map[wording]string{} // why words do not make a problem
	for i := range rows {
		r, x := &d.m.Rows[i], claimedRow{}
		if ctx.Err() != nil {
			x.reason = "interrupted"
		} else {
			x.outcome, x.reason = d.row(r, &rows[i], same)
			x.outcome, x.reason = inTime(ctx, x.outcome, x.reason)
		}
		d.rows = append(d.rows, x)
	}
	d.sameTable(ctx, rows)
}

// wording is a problem with the words that are to make it.
type wording struct {
	table.Instance                                     // without method and seed
	topology, collective, sizes, whole, problem string // files
}

// row decides a row: r is what the manifest claims, and got is what the table states.
func (d *folder) row(r *Row, got *table.Row, same map[wording]string) (verify.Outcome, string) {
	want := r.Row()
	want.Status, want.Reason, want.SolvedNs, want.VerifiedNs = got.Status, got.Reason, got.SolvedNs, got.VerifiedNs // proved is decided below, the rest are remarks
	if r.Problem != "" {
		words := wording{r.Instance, r.TopologyFile, r.CollectiveFile, r.SizesFile, r.WholeFile, r.Problem}
		words.Method, words.Seed = "", 0
		why, known := same[words]
		if !known {
			why = d.differs(r)
			same[words] = why
		}
		if why != "" {
			return verify.Refuted, why
		}
		want.Ranks = len(d.problems[r.Problem].Members())
	}
	switch got.Status {
	case table.Proved:
		if r.Schedule == "" {
			return verify.Refuted, "it states that a schedule is proved, and there is none"
		}
	case table.Failed, table.Unsupported:
		if r.Schedule != "" {
			return verify.Refuted, fmt.Sprintf("it is %s, and has a schedule", got.Status)
		}
	case table.Refuted, table.Contradicted:
		return verify.Refuted, fmt.Sprintf("its status is %s, which is a defect of a method or of a checker", got.Status)
	default:
		return verify.Refuted, fmt.Sprintf("its status is %s, which is not known", model.Quote(string(got.Status)))
	}
	if r.Schedule != "" {
		s, outcome, why := d.proved(r.Schedule)
		if s == nil {
			return outcome, why
		}
		if s.workload != nil {
			return verify.Refuted, fmt.Sprintf("%s is about a workload", r.Schedule)
		}
		if s.method != r.Method || s.seed != r.Seed {
			return verify.Refuted, fmt.Sprintf("%s names the method %s and the seed %d, want %s and %d", r.Schedule, model.Quote(s.method), s.seed, model.Quote(r.Method), r.Seed)
		}
		want.MakespanPs, want.Transfers = s.makespan, s.transfers
	}
	if r.Certificate != "" {
		b, outcome, why := d.proved(r.Certificate)
		if b == nil {
			return outcome, why
		}
		if b.workload != nil {
			return verify.Refuted, fmt.Sprintf("%s is about a workload", r.Certificate)
		}
		if open := r.Chunks == 0 && (r.Whole == "" || d.problems[r.Problem].Chunks == nil); open && !everyCut(b.problem) {
			return verify.Refuted, fmt.Sprintf("%s bounds one cut alone, want every cut", r.Certificate)
		}
		want.BoundPs, want.Bound = b.certificate.Bound, b.certificate.Witness.Kind()
	}
	g, w := got.Record(), want.Record()
	for i, column := range table.Header() {
		if g[i] != w[i] {
			return verify.Refuted, fmt.Sprintf("its %s is %s, want %s", column, model.Quote(g[i]), model.Quote(w[i]))
		}
	}
	return verify.Proved, ""
}

// sameTable compares the files of the table with what its rows make. Times of computations are
// remarks: a table may have them or not.
func (d *folder) sameTable(ctx context.Context, rows []table.Row) {
	timed := slices.ContainsFunc(rows, func(r table.Row) bool { return r.SolvedNs != 0 || r.VerifiedNs != 0 })
	for _, name := range []string{TableJSONL, TableCSV} {
		if d.bad[name] != "" {
			continue
		}
		ok := false
		var err error
		for _, times := range []bool{true, false} {
			if ok || err != nil || timed && !times {
				break
			}
			ok, err = d.same(ctx, name, func(w io.Writer) error {
				if name == TableCSV {
					return table.WriteCSV(w, rows, times)
				}
				return table.WriteJSONL(w, rows, times)
			})
		}
		switch {
		case ctx.Err() != nil:
			d.stopped = true
		case err != nil:
			d.fault(name, "not compared: %v", err)
		case !ok:
			d.fault(name, "it is not the rows of %s as they are written", TableJSONL)
		}
	}
}

// rowWords names a row, counted from 1 as its line in table.jsonl is.
func (d *folder) rowWords(i int) string {
	r := &d.m.Rows[i]
	return fmt.Sprintf("%s:%d (%s, %s, %s)", quote.Name(d.name(TableJSONL)), i+1, r.Label(), r.Collective, r.Method)
}

// inputNames lists the inputs with the names that the table has for them.
func (m *Manifest) inputNames() (list [][2]string) {
	seen := map[string]bool{}
	for i := range m.Rows {
		r := &m.Rows[i]
		_, sizes, _ := instance.Spelled(r.Collective)
		for _, x := range [][2]string{{r.TopologyFile, r.Topology}, {r.CollectiveFile, r.Collective}, {r.SizesFile, sizes}, {r.WholeFile, r.Whole}} {
			if x[0] != "" && !seen[x[0]+"\n"+x[1]] {
				seen[x[0]+"\n"+x[1]] = true
				list = append(list, x)
			}
		}
	}
	return list
}
