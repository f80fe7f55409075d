package dossier_test

import (
	"bytes"
	"fmt"
	"io"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/native"
	"github.com/oraccl/oraccl/model/table"
	"github.com/oraccl/oraccl/model/topo"
	"github.com/oraccl/oraccl/model/traffic"
	"github.com/oraccl/oraccl/verify/cert"
	"github.com/oraccl/oraccl/verify/dossier"
)

const sizes = "0,1,2,3\n4,0,5,6\n7,8,0,9\n10,11,12,0\n"

// moved is the all-to-all of the table sizes on a network of four.
func moved(t testing.TB, network string) *model.Problem {
	t.Helper()
	tp, err := topo.Parse(network, topo.Options{})
	require.NoError(t, err)
	bytesOf, err := traffic.Read("sizes", bytes.NewReader([]byte(sizes)))
	require.NoError(t, err)
	matrix, err := bytesOf.Matrix(4)
	require.NoError(t, err)
	c, err := traffic.AllToAll([]int{0, 1, 2, 3}, matrix)
	require.NoError(t, err)
	p := &model.Problem{Topology: tp, Collective: *c, Size: 78, Cost: model.Pipelined}
	require.NoError(t, p.Validate())
	return p
}

// unevenTable writes the dossier of three rows with bounds: of a table of sizes, of a problem from
// a file, and of such a problem with a cut of its own.
func unevenTable(t testing.TB, dir string) {
	t.Helper()
	w, err := dossier.Create(dir, "a test")
	require.NoError(t, err)
	ring, full := moved(t, "ring:4"), moved(t, "full:4")
	cut := full.WithChunks(full.Shards())
	words := table.Instance{Topology: "ring:4", Collective: "alltoallv:dir/moe.csv", Cost: "pipelined", SizeBytes: 78, Seed: 1, Method: "rhd"}
	whole := table.Instance{Whole: "dir/p.json", Topology: "full:4", Collective: "custom alltoallv", Cost: "pipelined", SizeBytes: 78, Seed: 1, Method: "rhd"}
	require.NoError(t, w.Input("sizes-1.csv", func(out io.Writer) error { _, err := io.WriteString(out, sizes); return err }))
	require.NoError(t, w.Input("whole-2.json", func(out io.Writer) error { return native.WriteProblem(out, full) }))
	require.NoError(t, w.Input("whole-3.json", func(out io.Writer) error { return native.WriteProblem(out, cut) }))
	var rows []table.Row
	for i, x := range []struct {
		p *model.Problem
		r dossier.Row
	}{{ring, dossier.Row{Instance: words, SizesFile: "sizes-1.csv"}}, {full, dossier.Row{Instance: whole, WholeFile: "whole-2.json"}}, {cut, dossier.Row{Instance: whole, WholeFile: "whole-3.json"}}} {
		x.r.Problem, x.r.Certificate = fmt.Sprintf("problem-%d.json", i+1), fmt.Sprintf("bound-%d.json", i+1)
		require.NoError(t, w.Problem(x.r.Problem, x.p, ""))
		c := &model.Certificate{Problem: x.p, Witness: model.Ingress{Rank: 0}}
		c.Bound, err = cert.Yield(t.Context(), c)
		require.NoError(t, err)
		require.NoError(t, w.Certificate(t.Context(), x.r.Certificate, x.r.Problem, c, ""))
		row := x.r.Row()
		row.Status, row.Reason, row.Ranks, row.BoundPs, row.Bound = table.Unsupported, "not served", 4, c.Bound, "ingress"
		w.Row(x.r)
		rows = append(rows, row)
	}
	require.NoError(t, w.Table(rows, true))
	require.NoError(t, w.Close())
}

// TestUnevenRows: rows with sizes of their own are accepted, and refused with any word or file changed
// that their meaning depends on.
func TestUnevenRows(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "d")
	unevenTable(t, dir)
	text, status := check(t, dossier.Options{}, dir)
	require.Zero(t, status, text)
	require.Contains(t, text, "dir/moe.csv in the table is a file, read as ")
	require.Contains(t, text, "dir/p.json in the table is a file, read as ")
	both := func(t *testing.T, dir string, m *dossier.Manifest, i int, edit func(in *table.Instance)) {
		rows := readRows(t, dir)
		edit(&m.Rows[i].Instance)
		r := m.Rows[i].Row()
		rows[i].Topology, rows[i].Collective, rows[i].SizeBytes, rows[i].Cost = r.Topology, r.Collective, r.SizeBytes, r.Cost
		retable(t, dir, rows)
	}
	for name, x := range map[string]struct {
		edit func(t *testing.T, dir string, m *dossier.Manifest)
		want string
	}{
		"other sizes":           {func(t *testing.T, dir string, _ *dossier.Manifest) { rewrite(t, dir, "sizes-1.csv", "11,12", "12,11") }, `FAILED .*:1 .*: problem-1.json is not what its words make`},
		"sizes that are none":   {func(t *testing.T, dir string, _ *dossier.Manifest) { rewrite(t, dir, "sizes-1.csv", "11", "x") }, `FAILED .*:1 .*: its words make no problem: sizes-1.csv:4`},
		"no sizes":              {func(_ *testing.T, _ string, m *dossier.Manifest) { m.Rows[0].SizesFile = "" }, `error: .*rows\[0\]: collective "alltoallv:dir/moe.csv", want one`},
		"sizes of a whole":      {func(_ *testing.T, _ string, m *dossier.Manifest) { m.Rows[1].SizesFile = "sizes-1.csv" }, `error: .*rows\[1\]: inputs beside the problem`},
		"no whole":              {func(_ *testing.T, _ string, m *dossier.Manifest) { m.Rows[1].WholeFile = "" }, `error: .*rows\[1\]: the problem "dir/p.json" without an input`},
		"a whole of nothing":    {func(_ *testing.T, _ string, m *dossier.Manifest) { m.Rows[1].Whole = "" }, `error: .*rows\[1\]: an input with a problem that no word names`},
		"another whole":         {func(_ *testing.T, _ string, m *dossier.Manifest) { m.Rows[2].WholeFile = "whole-2.json" }, `error: .*no row names the input whole-3.json`},
		"a whole that is late":  {func(_ *testing.T, _ string, m *dossier.Manifest) { m.Rows[1].DelayPs = 1 }, `error: .*rows\[1\]: words that change the problem`},
		"a permutation's sizes": {func(_ *testing.T, _ string, m *dossier.Manifest) { m.Rows[0].Collective = "permutation:shift:1" }, `error: .*rows\[0\]: the collective "permutation:shift:1" names no file of sizes`},
		"another collective": {func(t *testing.T, dir string, m *dossier.Manifest) {
			both(t, dir, m, 0, func(in *table.Instance) { in.Collective = "allgatherv:dir/moe.csv" })
		}, `FAILED .*:1 .*: its words make no problem: dir/moe.csv: 4 rows of 4 numbers, want one row or one column`},
		"another name": {func(t *testing.T, dir string, m *dossier.Manifest) {
			both(t, dir, m, 1, func(in *table.Instance) { in.Topology = "full:5" })
		}, `FAILED .*:2 .*: its words are not those of whole-2.json`},
		"another size": {func(t *testing.T, dir string, m *dossier.Manifest) {
			both(t, dir, m, 1, func(in *table.Instance) { in.SizeBytes = 79 })
		}, `FAILED .*:2 .*: its words are not those of whole-2.json`},
		"one cut for any": {func(t *testing.T, dir string, m *dossier.Manifest) {
			m.Rows[1].Problem, m.Rows[1].Certificate = "problem-3.json", "bound-3.json"
			rows := readRows(t, dir)
			rows[1].BoundPs = rows[2].BoundPs
			retable(t, dir, rows)
		}, `FAILED .*:2 .*: problem-3.json is about one cut, want any`},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "d")
			unevenTable(t, dir)
			forge(t, dir, true, func(m *dossier.Manifest) { x.edit(t, dir, m) })
			text, status := check(t, dossier.Options{}, dir)
			require.NotZero(t, status, text)
			require.NotContains(t, text, "accepted")
			require.Regexp(t, "(?m)^"+x.want, text)
		})
	}
}
