package dossier_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/native"
	"github.com/oraccl/oraccl/model/table"
	"github.com/oraccl/oraccl/verify/dossier"
)

// full4 are the words for the instance of gather, with this number of chunks per rank.
func full4(chunks int, seed uint64) table.Instance {
	return table.Instance{Topology: "full:4", Alpha: "100ns", Bandwidth: "1GB/s", Collective: "allgather", Cost: "pipelined", SizeBytes: 400, Chunks: chunks, Seed: seed, Method: "direct"}
}

// seeded is gather with another seed, on a network of another name.
func seeded(t testing.TB, n int, wait model.Time, seed uint64, name string) *model.Solution {
	s := gather(t, model.Pipelined, n, wait)
	s.Origin.Seed = seed
	s.Problem.Topology.Name = name
	return s
}

// tabled writes the dossier of a table, and returns its rows: of a cut, of every cut, of a file,
// with a bound alone, and with nothing.
func tabled(t testing.TB, dir string) []table.Row {
	t.Helper()
	w, err := dossier.Create(dir, "a test")
	require.NoError(t, err)
	quick, slow, fine := seeded(t, 4, 0, 1, "full:4"), seeded(t, 4, 100_000, 2, "full:4"), seeded(t, 8, 0, 1, "full:4")
	mine := seeded(t, 4, 100_000, 1, "mine")
	require.NoError(t, w.Problem("problem-1.json", quick.Problem, ""))
	require.NoError(t, w.Problem("problem-2.json", anyCut(quick.Problem), ""))
	require.NoError(t, w.Problem("problem-3.json", mine.Problem, ""))
	require.NoError(t, w.Input("topology-1.json", func(out io.Writer) error { return native.WriteTopology(out, mine.Problem.Topology) }))
	bound := func(file, problem string, p *model.Problem, rank int, end model.Time) {
		require.NoError(t, w.Certificate(t.Context(), file, problem, &model.Certificate{Problem: p, Bound: end, Witness: model.Ingress{Rank: rank}}, ""))
	}
	bound("bound-1.json", "problem-1.json", quick.Problem, 1, 200_000)
	bound("bound-2.json", "problem-2.json", anyCut(quick.Problem), 1, 200_000)
	bound("bound-3.json", "problem-3.json", mine.Problem, 2, 190_000)
	var rows []table.Row
	row := func(r dossier.Row, s *model.Solution, end model.Time) {
		x := r.Row()
		x.Status, x.Reason = table.Unsupported, "serves nothing of the kind"
		if s != nil {
			r.Schedule = fmt.Sprintf("schedule-%d.json", len(rows)+1)
			require.NoError(t, w.Schedule(r.Schedule, r.Problem, s, false))
			x.Status, x.Reason, x.MakespanPs, x.Transfers = table.Proved, "", s.Problem.Makespan(s.Schedule), len(s.Schedule.Transfers)
			x.SolvedNs, x.VerifiedNs = 5, 6
		}
		if r.Problem != "" {
			x.Ranks = 4
		}
		if r.Certificate != "" {
			x.BoundPs, x.Bound = end, "ingress"
		}
		w.Row(r)
		rows = append(rows, x)
	}
	row(dossier.Row{Instance: full4(1, 1), Problem: "problem-1.json", Certificate: "bound-1.json"}, quick, 200_000)
	row(dossier.Row{Instance: full4(1, 2), Problem: "problem-1.json", Certificate: "bound-1.json"}, slow, 200_000)
	row(dossier.Row{Instance: full4(0, 1), Problem: "problem-2.json", Certificate: "bound-2.json"}, fine, 200_000)
	other := full4(1, 1)
	other.Topology, other.Alpha, other.Bandwidth = "dir/mine.json", "", ""
	row(dossier.Row{Instance: other, TopologyFile: "topology-1.json", Problem: "problem-3.json", Certificate: "bound-3.json"}, mine, 190_000)
	unserved := full4(1, 1)
	unserved.Method = "rhd"
	row(dossier.Row{Instance: unserved, Problem: "problem-1.json", Certificate: "bound-1.json"}, nil, 200_000)
	unserved.Chunks, unserved.Topology = 1<<20, "full:1"
	row(dossier.Row{Instance: unserved}, nil, 0)
	require.NoError(t, w.Table(rows, true))
	require.NoError(t, w.Close())
	return rows
}

// retable writes the table again.
func retable(t testing.TB, dir string, rows []table.Row) {
	write(t, filepath.Join(dir, dossier.TableCSV), func(w io.Writer) error { return table.WriteCSV(w, rows, true) })
	write(t, filepath.Join(dir, dossier.TableJSONL), func(w io.Writer) error { return table.WriteJSONL(w, rows, true) })
}

// TestTable: the dossier of a table is accepted as it is written, with times and without.
func TestTable(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "d")
	rows := tabled(t, dir)
	text, status := check(t, dossier.Options{}, dir)
	require.Zero(t, status, text)
	require.Regexp(t, `(?m)^.*/d: accepted: all 7 claims hold, and all 6 rows of the table; files: 14$`, text)
	require.Regexp(t, `(?m)^dir/mine.json in the table is a file, read as .*/d/topology-1.json: which file is meant is not decided here$`, text)
	for i := range rows {
		rows[i].SolvedNs, rows[i].VerifiedNs = 0, 0
	}
	retable(t, dir, rows)
	forge(t, dir, true, func(*dossier.Manifest) {})
	text, status = check(t, dossier.Options{}, dir)
	require.Zero(t, status, text)
	write(t, filepath.Join(dir, dossier.TableCSV), func(w io.Writer) error { return table.WriteCSV(w, rows, false) })
	forge(t, dir, true, func(*dossier.Manifest) {})
	text, status = check(t, dossier.Options{}, dir)
	require.Zero(t, status, text)
}

// edits are what can be changed in a row of a table; those that are remarks alone are told.
var edits = map[string]struct {
	edit   func(r *table.Row)
	remark bool
}{
	"topology":   {edit: func(r *table.Row) { r.Topology += "x" }},
	"collective": {edit: func(r *table.Row) { r.Collective = "alltoall" }},
	"size":       {edit: func(r *table.Row) { r.SizeBytes++ }},
	"chunks":     {edit: func(r *table.Row) { r.Chunks++ }},
	"no chunks":  {edit: func(r *table.Row) { r.Chunks = 5 - 5*min(1, r.Chunks) }},
	"delay":      {edit: func(r *table.Row) { r.DelayPs++ }},
	"cost":       {edit: func(r *table.Row) { r.Cost = "blocking" }},
	"method":     {edit: func(r *table.Row) { r.Method = "ring" }},
	"seed":       {edit: func(r *table.Row) { r.Seed++ }},
	"ranks":      {edit: func(r *table.Row) { r.Ranks++ }},
	"makespan+":  {edit: func(r *table.Row) { r.MakespanPs++ }},
	"makespan-":  {edit: func(r *table.Row) { r.MakespanPs-- }},
	"bound+":     {edit: func(r *table.Row) { r.BoundPs++ }},
	"bound-":     {edit: func(r *table.Row) { r.BoundPs-- }},
	"no bound":   {edit: func(r *table.Row) { r.BoundPs, r.Bound = r.MakespanPs+1, "cut" }},
	"kind":       {edit: func(r *table.Row) { r.Bound += "cut" }},
	"transfers":  {edit: func(r *table.Row) { r.Transfers++ }},
	"refuted":    {edit: func(r *table.Row) { r.Status = table.Refuted }},
	"contrary":   {edit: func(r *table.Row) { r.Status = table.Contradicted }},
	"unknown":    {edit: func(r *table.Row) { r.Status = "optimal" }},
	"no status":  {edit: func(r *table.Row) { r.Status = "" }},
	"other": {edit: func(r *table.Row) {
		if r.Status == table.Proved {
			r.Status = table.Failed
		} else {
			r.Status = table.Proved
		}
	}},
	"reason": {func(r *table.Row) { r.Reason += " more" }, true},
	"times":  {func(r *table.Row) { r.SolvedNs, r.VerifiedNs = 1, 2 }, true},
}

// TestTableEdited edits every row of a table in every way, and makes all that can be made to fit
// fit: the row that was edited is refuted, and no other.
func TestTableEdited(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "d")
	rows := tabled(t, dir)
	for name, x := range edits {
		for i := range rows {
			changed := slices.Clone(rows)
			x.edit(&changed[i])
			require.NotEqual(t, rows, changed, name)
			retable(t, dir, changed)
			text, status := check(t, dossier.Options{}, dir)
			require.Equal(t, 1, status, "%s, row %d: %s", name, i, text)
			require.Contains(t, text, dossier.TableJSONL+": changed: ")
			forge(t, dir, true, func(*dossier.Manifest) {})
			text, status = check(t, dossier.Options{}, dir)
			if x.remark {
				require.Zero(t, status, "%s, row %d: %s", name, i, text)
				continue
			}
			require.Equal(t, 1, status, "%s, row %d: %s", name, i, text)
			require.NotContains(t, text, "accepted")
			require.Equal(t, 1, strings.Count(text, "FAILED "), "%s, row %d: %s", name, i, text)
			require.Regexp(t, fmt.Sprintf(`(?m)^FAILED .*/table.jsonl:%d \(`, i+1), text, "%s: %s", name, text)
		}
	}
	for name, changed := range map[string][]table.Row{
		"a row less": rows[:5], "a row more": append(slices.Clone(rows), rows[0]), "none": nil,
		"another order": append(slices.Clone(rows[1:]), rows[0]),
	} {
		retable(t, dir, changed)
		forge(t, dir, true, func(*dossier.Manifest) {})
		text, status := check(t, dossier.Options{}, dir)
		require.Equal(t, 1, status, "%s: %s", name, text)
		require.NotContains(t, text, "accepted")
	}
}

// TestTableBytes changes bytes of the table's files one after the other: a table is accepted only
// as its rows are written.
func TestTableBytes(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "d")
	rows := tabled(t, dir)
	accepted := 0
	for _, name := range []string{dossier.TableCSV, dossier.TableJSONL} {
		path := filepath.Join(dir, name)
		whole, err := os.ReadFile(path)
		require.NoError(t, err)
		for i := range whole {
			for j, changed := range [][]byte{flip(whole, i), slices.Delete(bytes.Clone(whole), i, i+1), slices.Insert(bytes.Clone(whole), i, whole[i])} {
				if (i+j)%29 != 0 {
					continue
				}
				require.NoError(t, os.WriteFile(path, changed, 0o644))
				forge(t, dir, true, func(*dossier.Manifest) {})
				text, status := check(t, dossier.Options{}, dir)
				if status != 0 {
					require.Contains(t, []int{1, 2}, status, text)
					continue
				}
				accepted++
				got, err := table.ReadJSONL(name, bytes.NewReader(changed))
				require.NoError(t, err, "%s, byte %d: %s", name, i, text)
				for k := range got { // remarks
					require.Contains(t, []table.Status{table.Failed, table.Unsupported, rows[k].Status}, got[k].Status)
					got[k].Reason, got[k].SolvedNs, got[k].VerifiedNs = rows[k].Reason, rows[k].SolvedNs, rows[k].VerifiedNs
				}
				require.Equal(t, rows, got, "%s, byte %d", name, i)
			}
		}
		require.NoError(t, os.WriteFile(path, whole, 0o644))
	}
	require.Zero(t, accepted, "the two files go together")
}

func flip(b []byte, i int) []byte {
	b = bytes.Clone(b)
	b[i] ^= 1
	return b
}

// TestRowsForged edits the rows of a manifest, and what they name, and makes all that can be made
// to fit fit.
func TestRowsForged(t *testing.T) {
	file := func(m *dossier.Manifest, name string) *dossier.File {
		return &m.Files[slices.IndexFunc(m.Files, func(f dossier.File) bool { return f.File == name })]
	}
	for name, x := range map[string]struct {
		edit func(t *testing.T, dir string, m *dossier.Manifest)
		want string
	}{
		"another network": {func(t *testing.T, dir string, m *dossier.Manifest) {
			rows := readRows(t, dir)
			m.Rows[0].Topology, rows[0].Topology = "ring:4", "ring:4 alpha 100ns bandwidth 1GB/s"
			retable(t, dir, rows)
		}, `FAILED .*/table.jsonl:1 .*: problem-1.json is not what its words make: it is about another problem: 12 links, want 8`},
		"another latency": {func(t *testing.T, dir string, m *dossier.Manifest) {
			rows := readRows(t, dir)
			m.Rows[0].Alpha, rows[0].Topology = "99ns", "full:4 alpha 99ns bandwidth 1GB/s"
			retable(t, dir, rows)
		}, `FAILED .*:1 .*: problem-1.json is not what its words make: .*link 0 is`},
		"a failure": {func(t *testing.T, dir string, m *dossier.Manifest) {
			rows := readRows(t, dir)
			m.Rows[0].Fail, rows[0].Topology = "link:0-1", "full:4 without link:0-1 alpha 100ns bandwidth 1GB/s"
			retable(t, dir, rows)
		}, `FAILED .*:1 .*: problem-1.json is not what its words make`},
		"another size": {func(t *testing.T, dir string, m *dossier.Manifest) {
			rows := readRows(t, dir)
			m.Rows[0].SizeBytes, rows[0].SizeBytes = 404, 404
			retable(t, dir, rows)
		}, `FAILED .*:1 .*: problem-1.json is not what its words make: .*size of 400 bytes, want 404`},
		"another cost": {func(t *testing.T, dir string, m *dossier.Manifest) {
			rows := readRows(t, dir)
			m.Rows[0].Cost, rows[0].Cost = "blocking", "blocking"
			retable(t, dir, rows)
		}, `FAILED .*:1 .*: problem-1.json is not what its words make: .*cost model`},
		"a late rank": {func(t *testing.T, dir string, m *dossier.Manifest) {
			rows := readRows(t, dir)
			m.Rows[0].DelayPs, rows[0].DelayPs = 7, 7
			retable(t, dir, rows)
		}, `FAILED .*:1 .*: problem-1.json is not what its words make: .*rank 0 arrives`},
		"any cut for one": {func(t *testing.T, dir string, m *dossier.Manifest) {
			rows := readRows(t, dir)
			m.Rows[0].Chunks, rows[0].Chunks = 0, 0
			retable(t, dir, rows)
		}, `FAILED .*:1 .*: problem-1.json is about one cut, want any`},
		"any cut by the bound of one": {func(t *testing.T, dir string, m *dossier.Manifest) {
			claimOf(m, dossier.BoundClaim, "").Problem = "problem-2.json"
			claimOf(m, dossier.ScheduleClaim, "schedule-1.json").Problem = "problem-2.json"
			rows := readRows(t, dir)
			m.Rows[0].Chunks, rows[0].Chunks, m.Rows[0].Problem = 0, 0, "problem-2.json"
			for i := range m.Rows {
				if i > 0 && m.Rows[i].Certificate == "bound-1.json" {
					m.Rows[i].Certificate, rows[i].BoundPs, rows[i].Bound = "", 0, ""
				}
			}
			retable(t, dir, rows)
		}, `FAILED .*:1 .*: bound-1.json bounds one cut alone, want every cut`},
		"one cut for any": {func(t *testing.T, dir string, m *dossier.Manifest) {
			rows := readRows(t, dir)
			m.Rows[2].Chunks, rows[2].Chunks = 1, 1
			retable(t, dir, rows)
		}, `FAILED .*:3 .*: problem-2.json is not what its words make: it is about another cut: any, want 4 chunks`},
		"another cut": {func(t *testing.T, dir string, m *dossier.Manifest) {
			rows := readRows(t, dir)
			m.Rows[0].Chunks, rows[0].Chunks = 2, 2
			retable(t, dir, rows)
		}, `FAILED .*:1 .*: problem-1.json is not what its words make: it is about another cut: 4 chunks, want 8`},
		"another row's schedule": {func(_ *testing.T, _ string, m *dossier.Manifest) { m.Rows[1].Schedule = "schedule-1.json" },
			`FAILED .*:2 .*: schedule-1.json names the method "direct" and the seed 1, want "direct" and 2`},
		"another row's schedule and seed": {func(t *testing.T, dir string, m *dossier.Manifest) {
			rows := readRows(t, dir)
			m.Rows[1].Seed, rows[1].Seed, m.Rows[1].Schedule = 1, 1, "schedule-1.json"
			retable(t, dir, rows)
		}, `FAILED .*:2 .*: its makespan_ps is "300000", want "200000"`},
		"another method": {func(t *testing.T, dir string, m *dossier.Manifest) {
			rows := readRows(t, dir)
			m.Rows[0].Method, rows[0].Method = "ring", "ring"
			retable(t, dir, rows)
		}, `FAILED .*:1 .*: schedule-1.json names the method "direct"`},
		"another problem's schedule":      {func(_ *testing.T, _ string, m *dossier.Manifest) { m.Rows[1].Schedule = "schedule-4.json" }, `error: .*rows\[1\]: schedule-4.json is claimed for "problem-3.json", want "problem-1.json"`},
		"another problem's bound":         {func(_ *testing.T, _ string, m *dossier.Manifest) { m.Rows[1].Certificate = "bound-3.json" }, `error: .*rows\[1\]: bound-3.json is claimed for`},
		"a schedule for a bound":          {func(_ *testing.T, _ string, m *dossier.Manifest) { m.Rows[1].Certificate = "schedule-2.json" }, `error: .*rows\[1\]: "schedule-2.json" is not in files as a certificate`},
		"no schedule":                     {func(_ *testing.T, _ string, m *dossier.Manifest) { m.Rows[0].Schedule = "" }, `FAILED .*:1 .*: it states that a schedule is proved, and there is none`},
		"no bound":                        {func(_ *testing.T, _ string, m *dossier.Manifest) { m.Rows[0].Certificate = "" }, `FAILED .*:1 .*: its bound_ps is "200000", want ""`},
		"no problem":                      {func(_ *testing.T, _ string, m *dossier.Manifest) { m.Rows[0].Problem = "" }, `error: .*rows\[0\]: evidence or inputs without a problem`},
		"a bound for a row that has none": {func(_ *testing.T, _ string, m *dossier.Manifest) { m.Rows[5].Problem = "problem-1.json" }, `FAILED .*:6 .*: its words make no problem: `},
		"another file": {func(t *testing.T, dir string, m *dossier.Manifest) {
			rewrite(t, dir, "topology-1.json", "1000000000", "2000000000")
		}, `FAILED .*:4 .*: problem-3.json is not what its words make: .*link 0`},
		"a file that is none":       {func(t *testing.T, dir string, m *dossier.Manifest) { rewrite(t, dir, "topology-1.json", "{", "") }, `FAILED .*:4 .*: its words make no problem: topology-1.json:`},
		"a schedule for a file":     {func(t *testing.T, dir string, m *dossier.Manifest) { m.Rows[3].TopologyFile = "schedule-1.json" }, `error: .*rows\[3\]: "schedule-1.json" is not in files as a input`},
		"a file that nothing names": {func(_ *testing.T, _ string, m *dossier.Manifest) { m.Rows[3].TopologyFile = "" }, `error: .*: no row names the input topology-1.json`},
		"the name of a network":     {func(_ *testing.T, _ string, m *dossier.Manifest) { m.Rows[3].Topology = "full:4" }, `error: .*rows\[3\]: the topology "full:4" is one that is known by its name`},
		"the name of a collective":  {func(_ *testing.T, _ string, m *dossier.Manifest) { m.Rows[0].CollectiveFile = "topology-1.json" }, `error: .*rows\[0\]: the collective "allgather" is one that is known by its name`},
		"words that read alike": {func(t *testing.T, dir string, m *dossier.Manifest) { // where a name runs into the next one
			rows := readRows(t, dir)
			one, two := m.Rows[3], m.Rows[3]
			one.Topology, two.Topology, two.Fail = "m Fail:x", "m", "x Fail:"
			m.Rows, rows = append(m.Rows, one, two), append(rows, rows[3], rows[3])
			rows[6].Topology, rows[7].Topology = one.Label(), two.Label()
			retable(t, dir, rows)
		}, `FAILED .*:8 .*: its words make no problem: --fail`},
		"a row twice":                {func(_ *testing.T, _ string, m *dossier.Manifest) { m.Rows = append(m.Rows, m.Rows[0]) }, `FAILED .*/table.jsonl: it has 6 rows, want 7`},
		"a row less":                 {func(_ *testing.T, _ string, m *dossier.Manifest) { m.Rows = m.Rows[:5] }, `FAILED .*/table.jsonl: it has 6 rows, want 5`},
		"no rows":                    {func(_ *testing.T, _ string, m *dossier.Manifest) { m.Rows = nil }, `error: .*`},
		"a delay of nobody":          {func(_ *testing.T, _ string, m *dossier.Manifest) { m.Rows[0].Straggler = 3 }, `error: .*rows\[0\]: straggler 3 without a delay`},
		"a negative number":          {func(_ *testing.T, _ string, m *dossier.Manifest) { m.Rows[0].SizeBytes = -1 }, `error: .*rows\[0\]: a number below 0`},
		"a cost that is none":        {func(_ *testing.T, _ string, m *dossier.Manifest) { m.Rows[0].Cost = "" }, `error: .*rows\[0\]: cost ""`},
		"a name that writes a line":  {func(_ *testing.T, _ string, m *dossier.Manifest) { m.Rows[0].Topology = "x\nproved" }, `error: .*rows\[0\]: topology: name`},
		"a table that is not listed": {func(_ *testing.T, _ string, m *dossier.Manifest) { file(m, "table.csv").Is = dossier.InputRole }, `error: .*rows: table.csv is not in files as a table`},
		"a table of another name":    {func(_ *testing.T, _ string, m *dossier.Manifest) { file(m, "table.csv").File = "tables.csv" }, `error: .*tables.csv is a table, want table.csv or table.jsonl for it`},
		"a table that is missing":    {func(t *testing.T, dir string, _ *dossier.Manifest) { require.NoError(t, os.Remove(dir+"/table.csv")) }, `FAILED .*/table.csv: missing`},
		"rows that are missing":      {func(t *testing.T, dir string, _ *dossier.Manifest) { require.NoError(t, os.Remove(dir+"/table.jsonl")) }, `FAILED .*/table.jsonl: missing`},
		"a schedule that is missing": {func(t *testing.T, dir string, _ *dossier.Manifest) {
			require.NoError(t, os.Remove(dir+"/schedule-2.json"))
		}, `FAILED .*:2 .*: what is claimed of schedule-2.json is not established`},
		"a bound that is missing": {func(t *testing.T, dir string, _ *dossier.Manifest) {
			require.NoError(t, os.Remove(dir+"/bound-3.json"))
		}, `FAILED .*:4 .*: what is claimed of bound-3.json is not established`},
		"a problem that is missing": {func(t *testing.T, dir string, _ *dossier.Manifest) {
			require.NoError(t, os.Remove(dir+"/problem-1.json"))
		}, `FAILED .*:1 .*: its problem problem-1.json cannot be read`},
		"an input that is missing": {func(t *testing.T, dir string, _ *dossier.Manifest) {
			require.NoError(t, os.Remove(dir+"/topology-1.json"))
		}, `FAILED .*:4 .*: its words make no problem: topology-1.json: missing`},
		"a file too many": {func(t *testing.T, dir string, _ *dossier.Manifest) {
			copyFile(t, dir+"/bound-1.json", dir+"/bound-9.json")
		}, `FAILED .*/bound-9.json: superfluous`},
		"a schedule with a wrong end": {func(t *testing.T, dir string, _ *dossier.Manifest) {
			rewrite(t, dir, "schedule-2.json", "300000}", "299999}")
		}, `FAILED .*:2 .*: what is claimed of schedule-2.json is not established`},
		"a bound that is raised": {func(t *testing.T, dir string, m *dossier.Manifest) {
			rewrite(t, dir, "bound-3.json", "190000", "300000")
			*claimAbout(m, "bound-3.json").Bound = 300_000
			rows := readRows(t, dir)
			rows[3].BoundPs = 300_000
			retable(t, dir, rows)
		}, `FAILED .*:4 .*: what is claimed of bound-3.json is not established`},
	} {
		t.Run(name, func(t *testing.T) {
			for _, reseal := range []bool{false, true} {
				dir := filepath.Join(t.TempDir(), "d")
				tabled(t, dir)
				forge(t, dir, reseal, func(m *dossier.Manifest) { x.edit(t, dir, m) })
				text, status := check(t, dossier.Options{}, dir)
				require.Contains(t, []int{1, 2}, status, "%t: %s", reseal, text)
				require.NotContains(t, text, "accepted", "%t", reseal)
				if reseal {
					require.Regexp(t, "(?m)^"+x.want, text)
				}
			}
		})
	}
}

func claimAbout(m *dossier.Manifest, certificate string) *dossier.Claim {
	return &m.Claims[slices.IndexFunc(m.Claims, func(c dossier.Claim) bool { return c.Certificate == certificate })]
}

func readRows(t testing.TB, dir string) []table.Row {
	f, err := os.Open(filepath.Join(dir, dossier.TableJSONL))
	require.NoError(t, err)
	defer f.Close()
	rows, err := table.ReadJSONL("t", f)
	require.NoError(t, err)
	return rows
}

// TestSweepDirectory: the directory of a sweep is decided by the dossier in it, and by its tables.
func TestSweepDirectory(t *testing.T) {
	make := func() string {
		dir := t.TempDir()
		for _, sub := range []string{"cells/ab", "bounds"} {
			require.NoError(t, os.MkdirAll(filepath.Join(dir, sub), 0o755))
		}
		require.NoError(t, os.WriteFile(filepath.Join(dir, "cells/ab/abcd.json"), []byte("{}\n"), 0o644))
		retable(t, dir, tabled(t, filepath.Join(dir, "proofs")))
		return dir
	}
	dir := make()
	for _, path := range []string{dir, filepath.Dir(dir)} {
		text, status := check(t, dossier.Options{}, path)
		require.Zero(t, status, text)
		require.Regexp(t, `(?m)^claim holds: .*/table.csv is the table that .*/proofs claims\n(.*\n)*.*/proofs: accepted: `, text)
		require.Regexp(t, `(?m)^not looked at: .*/cells$`, text)
	}
	for name, x := range map[string]struct {
		edit func(dir string) error
		want string
	}{
		"another table":    {func(dir string) error { return os.WriteFile(dir+"/table.csv", []byte("x"), 0o644) }, `(?m)^FAILED .*/table.csv: it is not the table that .*/proofs claims$`},
		"other rows":       {func(dir string) error { return os.WriteFile(dir+"/table.jsonl", nil, 0o644) }, `(?m)^FAILED .*/table.jsonl: it is not the table`},
		"no table":         {func(dir string) error { return os.Remove(dir + "/table.jsonl") }, `(?m)^FAILED .*/table.jsonl: missing$`},
		"a linked table":   {func(dir string) error { return symlink(dir+"/table.csv", make()+"/table.csv") }, `(?m)^FAILED .*/table.csv: it cannot be read: `},
		"no proofs":        {func(dir string) error { return os.RemoveAll(dir + "/proofs") }, `^error: .*: a sweep that kept no proofs`},
		"no manifest":      {func(dir string) error { return os.Remove(dir + "/proofs/manifest.json") }, `^error: .*: a sweep that kept no proofs`},
		"linked proofs":    {func(dir string) error { return symlink(dir+"/proofs", make()+"/proofs") }, `^error: .*: a sweep that kept no proofs`},
		"wrong proofs":     {func(dir string) error { return os.Remove(dir + "/proofs/bound-1.json") }, `(?m)^FAILED .*/bound-1.json: missing$`},
		"other proofs":     {func(dir string) error { build(t, dir+"/proofs"); return nil }, `(?m)^FAILED .*/manifest.json: it claims no rows of a table`},
		"a changed table":  {func(dir string) error { return appendTo(dir+"/proofs/table.csv", "x") }, `(?m)^FAILED .*/../table.csv: not compared|^FAILED .*/table.csv: not compared: table.csv is not as it should be`},
		"the proofs alone": {func(dir string) error { return os.Rename(dir+"/table.csv", dir+"/table.old") }, `(?m)^FAILED .*/table.csv: missing$`},
	} {
		dir := make()
		require.NoError(t, x.edit(dir), name)
		text, status := check(t, dossier.Options{}, dir)
		require.Contains(t, []int{1, 2}, status, "%s: %s", name, text)
		require.Regexp(t, x.want, text, name)
		require.NotContains(t, text, "accepted", name)
	}
}

func symlink(name, to string) error {
	if err := os.RemoveAll(name); err != nil {
		return err
	}
	return os.Symlink(to, name)
}

func appendTo(name, text string) error {
	f, err := os.OpenFile(name, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}
