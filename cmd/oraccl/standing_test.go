package main

import (
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"

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
