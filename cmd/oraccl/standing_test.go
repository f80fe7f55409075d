package main

import (
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/cmd/oraccl/exit"
	"github.com/oraccl/oraccl/cmd/oraccl/report"
	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/files"
	"github.com/oraccl/oraccl/model/native"
	"github.com/oraccl/oraccl/verify/dossier"
)

var standingLine = regexp.MustCompile(`(?m)^makespan ([0-9.]+) us; bound  ([0-9.]+) us  by ([a-z-]+), .*; gap (\S+)$`)

// TestOneStanding has verify, view and check state how the schedules of testdata stand to the
// bound for every cut: makespan, bound and gap are the same, to the digit.
func TestOneStanding(t *testing.T) {
	accepted, err := filepath.Glob("../../testdata/schedules/accept/*.json")
	require.NoError(t, err)
	bounded, checked, ordered := 0, 0, 0
	for _, file := range accepted {
		in, err := os.Open(file)
		require.NoError(t, err)
		sol, err := native.ReadSolution(file, in)
		in.Close()
		require.NoError(t, err)

		status, out, stderr := call("verify", file, "--json")
		require.Zero(t, status, stderr)
		var v report.VerifyJSON
		require.NoError(t, json.Unmarshal([]byte(out), &v))
		if v.Bound == nil {
			continue // that what counts is there from the start
		}
		bounded++
		if sol.Schedule.Form == model.Ordered {
			ordered++
		}
		require.NotNil(t, v.Gap, file)

		dir := t.TempDir()
		status, out, stderr = call("view", file, "-o", filepath.Join(dir, "v.svg"))
		require.Zero(t, status, stderr)
		m := standingLine.FindStringSubmatch(out)
		require.NotNil(t, m, "%s: %s", file, out)
		require.Equal(t, []string{report.Micros(v.MakespanPs), report.Micros(v.Bound.ValuePs), v.Bound.Kind, model.Gap(*v.Gap).String()}, m[1:], file)

		if sol.Problem.Collective.Kind == model.Custom {
			continue // bound looks for all kinds, some of which take seconds where contributions count
		}
		checked++
		open := *sol.Problem
		open.Chunks = nil
		problem, bound := filepath.Join(dir, "problem.json"), filepath.Join(dir, "bound.json")
		require.NoError(t, files.Write(problem, func(w io.Writer) error { return native.WriteProblem(w, &open) }))
		status, _, stderr = call("bound", "--problem", problem, "-o", bound)
		require.Zero(t, status, stderr)
		status, out, stderr = call("check", file, bound, "--json")
		require.Zero(t, status, stderr)
		var c dossier.JSON
		require.NoError(t, json.Unmarshal([]byte(out), &c))
		require.Len(t, c.Conclusions, 1, file)
		x := c.Conclusions[0]
		require.True(t, x.EveryCut, file)
		require.Equal(t, []any{v.MakespanPs, v.Bound.ValuePs, *v.Gap}, []any{x.MakespanPs, x.BoundPs, *x.Gap}, file)

		exact := model.Gap(*v.Gap).String()
		if *v.Gap > 0 { // a gate lets it pass at its gap, and not below
			status, out, _ = call("check", file, bound, "--max-gap", "0%")
			require.Equal(t, exit.Refuted, status, file)
			require.Contains(t, out, "FAILED the gap may be 0% at most: "+file+" is "+exact+" above the bound for every cut")
		}
		status, _, _ = call("check", file, bound, "--max-gap", strconv.FormatFloat(*v.Gap, 'g', -1, 64))
		require.Zero(t, status, file)
	}
	require.Greater(t, bounded, 20)
	require.Greater(t, checked, 15)
	require.Positive(t, ordered)
}

// TestOneStandingEverywhere has verify, view, gap and check state how schedules of every format stand to the bound
// for every cut: makespan, bound and gap are the same, to the digit. Of what has links only through a topology,
// check and, of execution plans, view are given the schedule that convert makes of it.
func TestOneStandingEverywhere(t *testing.T) {
	if testing.Short() {
		t.Skip("left out with -short: it takes long")
	}
	dir := t.TempDir()
	for _, script := range []string{"import-sccl", "import-forestcoll", "import-teccl", "import-teccl-alltoall", "gap-schedule"} {
		a, err := txtar.ParseFile("testdata/script/" + script + ".txtar")
		require.NoError(t, err)
		for _, f := range a.Files {
			require.NoError(t, os.WriteFile(filepath.Join(dir, script+"-"+f.Name), f.Data, 0o600))
		}
	}
	for _, c := range [][]string{
		{"solve", "ring:4", "--collective", "allreduce", "--size", "1MiB", "--method", "ring", "-o", "ar.xml"},
		{"solve", "full:4", "--collective", "alltoall", "--size", "1MiB", "--method", "direct", "-o", "a2a.xml"},
		{"solve", "ring:4", "--collective", "allgather", "--size", "1MiB", "--method", "ring", "-o", "ag.plan.json"},
		{"solve", "full:4", "--collective", "allreduce", "--size", "1MiB", "--method", "ring", "-o", "ar.plan.json"},
	} {
		c[len(c)-1] = filepath.Join(dir, c[len(c)-1])
		status, _, stderr := call(c...)
		require.Zero(t, status, stderr)
	}
	ours, data := "../../testdata/schedules/accept", os.Getenv("ORACCL_DATA")
	found := 0
	for _, x := range []struct {
		in, file string
		flags    []string
	}{
		{ours, "ring4-allgather-pipelined.json", nil},
		{ours, "ring4-allgather-blocking.json", nil},
		{ours, "ring4-allgather-rounds.json", nil},
		{ours, "full4-allreduce-exchange-rounds.json", nil},
		{ours, "full4-alltoall-blocking.json", nil},
		{ours, "line3-broadcast-pipelined.json", nil},
		{ours, "ring4-allreduce-order.json", nil},
		{ours, "line3-broadcast-order.json", nil},
		{dir, "ar.xml", []string{"--topology", "ring:4", "--size", "1MiB"}},
		{dir, "ar.xml", []string{"--topology", "full:4", "--size", "3MiB"}},
		{dir, "a2a.xml", []string{"--topology", "switch:4", "--size", "1MiB"}},
		{dir, "ag.plan.json", []string{"--topology", "ring:4", "--size", "1MiB"}},
		{dir, "ar.plan.json", []string{"--topology", "full:4", "--size", "1MiB"}},
		{dir, "import-teccl-good.json", []string{"--topology", "mesh:2x2", "--bandwidth", "100GB/s", "--alpha", "100ns"}},
		{dir, "import-teccl-alltoall-good.json", nil},
		{dir, "import-sccl-composed.json", []string{"--topology", "ring:4", "--size", "1MiB"}},
		{dir, "import-forestcoll-good.xml", []string{"--topology", "switch:3", "--size", "3MiB"}},
		{dir, "import-forestcoll-good.xml", []string{"--topology", "switch:3", "--size", "3MB", "--collective", "allreduce"}},
		{dir, "gap-schedule-syccl.json", []string{"--topology", "switch:3", "--size", "3MiB"}},
		{filepath.Join(data, "msccl"), "ar_ring_ll_2_1__eb4d0004.xml", []string{"--topology", "mi300x", "--size", "64MiB"}},
		{filepath.Join(data, "msccl"), "alltoall-8n-512kb-7mb__9646f270.xml", []string{"--topology", "dgxh100", "--size", "8MiB", "--collective", "alltoall"}},
		{filepath.Join(data, "solvers"), "teccl_ndv2x4_allgather_1MB_slow.json", []string{"--topology", "ndv2:4", "--size", "1MB"}},
	} {
		file := filepath.Join(x.in, x.file)
		if _, err := os.Stat(file); err != nil && x.in != ours && x.in != dir {
			t.Logf("left out: no %s; ORACCL_DATA names the directory", file)
			continue
		}
		found++
		with := func(verb string, more ...string) string {
			args := append(append([]string{verb, file}, x.flags...), more...)
			status, out, stderr := call(args...)
			require.Zero(t, status, "%v: %s%s", args, stderr, out)
			return out
		}
		var v report.VerifyJSON
		require.NoError(t, json.Unmarshal([]byte(with("verify", "--json")), &v))
		require.NotNil(t, v.Bound, x.file)
		require.NotNil(t, v.Gap, x.file)

		picture, form := filepath.Join(dir, "v.svg"), filepath.Join(dir, "form.json")
		with("convert", "--to", "oraccl", "-o", form)
		var drawn string
		if strings.HasSuffix(file, ".plan.json") {
			status, out, stderr := call("view", form, "-o", picture)
			require.Zero(t, status, stderr)
			drawn = out
		} else {
			drawn = with("view", "-o", picture)
		}
		m := standingLine.FindStringSubmatch(drawn)
		require.NotNil(t, m, "%s: %s", x.file, drawn)
		require.Equal(t, []string{report.Micros(v.MakespanPs), report.Micros(v.Bound.ValuePs), v.Bound.Kind, model.Gap(*v.Gap).String()}, m[1:], x.file)

		in, err := os.Open(form)
		require.NoError(t, err)
		sol, err := native.ReadSolution(form, in)
		in.Close()
		require.NoError(t, err)
		open := *sol.Problem
		open.Chunks = nil
		problem, proofs := filepath.Join(dir, "problem.json"), filepath.Join(dir, "proofs")
		require.NoError(t, files.Write(problem, func(w io.Writer) error { return native.WriteProblem(w, &open) }))
		status, out, stderr := call("gap", "--problem", problem, "--methods", "ring,direct", "--schedule", file, "--proofs", proofs, "--json")
		require.Zero(t, status, stderr)
		var j report.GapJSON
		require.NoError(t, json.Unmarshal([]byte(out), &j))
		i := 0
		for i < len(j.Rows) && j.Rows[i].Method != x.file {
			i++
		}
		require.Less(t, i, len(j.Rows), out)
		require.Equal(t, []any{v.MakespanPs, v.Bound.ValuePs, v.Bound.Kind, *v.Gap}, []any{j.Rows[i].MakespanPs, j.Bound.ValuePs, j.Bound.Kind, *j.Rows[i].Gap}, x.file)

		status, out, _ = call("check", proofs)
		require.Zero(t, status, out)
		bound, err := filepath.Glob(filepath.Join(proofs, "bound-*-any-cut.json"))
		require.NoError(t, err)
		require.Len(t, bound, 1, x.file)
		for _, s := range []string{form, filepath.Join(proofs, "schedule-"+x.file+".json")} {
			status, out, stderr = call("check", s, bound[0], "--json")
			require.Zero(t, status, stderr)
			var c dossier.JSON
			require.NoError(t, json.Unmarshal([]byte(out), &c))
			require.Len(t, c.Conclusions, 1, x.file)
			y := c.Conclusions[0]
			require.True(t, y.EveryCut, x.file)
			require.Equal(t, []any{v.MakespanPs, v.Bound.ValuePs, *v.Gap}, []any{y.MakespanPs, y.BoundPs, *y.Gap}, x.file)
		}
		require.NoError(t, os.RemoveAll(proofs))
	}
	require.GreaterOrEqual(t, found, 19)
}
