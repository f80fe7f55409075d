package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/cmd/oraccl/exit"
	"github.com/oraccl/oraccl/cmd/oraccl/report"
)

// TestSolveStreamed: a schedule of more transfers than are held in memory is made, verified
// and written at the same time, and is the same with any number of goroutines; its file is
// verified while it is read.
func TestSolveStreamed(t *testing.T) {
	dir := t.TempDir()
	var files [][]byte
	for _, threads := range []string{"1", "3"} {
		file := filepath.Join(dir, threads+".oraccl")
		var out, errs bytes.Buffer
		code := run([]string{"solve", "torus:47x47", "--collective", "allgather", "--method", "tacos", "--cost", "blocking", "--size", "2209MiB",
			"--threads", threads, "-o", file, "--json"}, &out, &errs)
		require.Equal(t, exit.Done, code, errs.String())
		var g report.GapJSON
		require.NoError(t, json.Unmarshal(out.Bytes(), &g))
		require.Len(t, g.Rows, 1)
		r := g.Rows[0]
		require.Equal(t, 2209*2208, r.Transfers)
		require.Equal(t, map[string]string{"stream": "proved"}, r.Engines)
		require.Equal(t, "ingress", g.Bound.Kind)
		require.LessOrEqual(t, *r.CutGap, 0.005)
		require.LessOrEqual(t, *r.Gap, 0.03)
		require.Greater(t, r.PeakMemoryBytes, int64(1<<20))
		b, err := os.ReadFile(file)
		require.NoError(t, err)
		require.Less(t, len(b), 4*r.Transfers)
		files = append(files, b)
	}
	require.True(t, bytes.Equal(files[0], files[1]))
	var out, errs bytes.Buffer
	require.Equal(t, exit.Done, run([]string{"verify", filepath.Join(dir, "1.oraccl")}, &out, &errs), errs.String())
	require.Contains(t, out.String(), "stream proved")

	partial := filepath.Join(dir, "partial.oraccl")
	out.Reset()
	code := run([]string{"solve", "torus:47x47", "--collective", "allgather", "--method", "tacos", "--time-limit", "20ms", "-o", partial}, &out, &errs)
	require.Equal(t, exit.Unknown, code, errs.String())
	require.Contains(t, out.String(), "time limit after")
	require.Contains(t, out.String(), "partial.oraccl is partial")
	out.Reset()
	require.Equal(t, exit.Refuted, run([]string{"verify", partial, "--engine", "stream"}, &out, &errs))
	require.Contains(t, out.String(), "the file is marked as partial")
	require.Equal(t, exit.Failure, run([]string{"solve", "torus:47x47", "--collective", "allgather", "--method", "tacos", "-o", filepath.Join(dir, "s.json")}, &out, &errs))
	require.Contains(t, errs.String(), "too many for JSON")
}

// TestSolveStreamedReducing: so is what reduces, and its file is verified while it is read.
func TestSolveStreamedReducing(t *testing.T) {
	file := filepath.Join(t.TempDir(), "s.oraccl")
	var out, errs bytes.Buffer
	require.Equal(t, exit.Done, run([]string{"solve", "mesh:46x46", "--collective", "reducescatter", "--method", "tacos", "--size", "2116MiB", "-o", file, "--json"}, &out, &errs), errs.String())
	var g report.GapJSON
	require.NoError(t, json.Unmarshal(out.Bytes(), &g))
	require.Equal(t, 2116*2115, g.Rows[0].Transfers)
	require.Equal(t, map[string]string{"stream": "proved"}, g.Rows[0].Engines)
	require.Equal(t, "egress", g.Bound.Kind)
	require.LessOrEqual(t, *g.Rows[0].Gap, 0.005)
	out.Reset()
	require.Equal(t, exit.Done, run([]string{"verify", file}, &out, &errs), errs.String())
	require.Contains(t, out.String(), "PROVED performs reducescatter")
	require.Contains(t, out.String(), "stream proved")
}

// TestVerifyPartial: a file whose writer was interrupted is said to be partial, and is
// not proved; one in which a byte differs is damaged.
func TestVerifyPartial(t *testing.T) {
	file := filepath.Join(t.TempDir(), "s.oraccl")
	var out, errs bytes.Buffer
	require.Equal(t, exit.Done, run([]string{"solve", "torus:4x4", "--collective", "allgather", "--method", "tacos", "--cost", "blocking", "-o", file}, &out, &errs), errs.String())
	whole, err := os.ReadFile(file)
	require.NoError(t, err)
	verifying := func(content []byte, engine string) (int, string) {
		require.NoError(t, os.WriteFile(file, content, 0o644))
		var out, errs bytes.Buffer
		code := run([]string{"verify", file, "--engine", engine}, &out, &errs)
		return code, out.String() + errs.String()
	}
	for _, engine := range []string{"all", "stream"} {
		code, said := verifying(whole, engine)
		require.Equal(t, exit.Done, code, said)
		code, said = verifying(whole[:len(whole)*2/3], engine)
		require.Equal(t, exit.Refuted, code, said)
		require.Contains(t, said, "missing-contribution")
		require.Contains(t, said, "the file is marked as partial")
		broken := slices.Clone(whole)
		broken[len(whole)/2] ^= 1
		code, said = verifying(broken, engine)
		require.Equal(t, exit.Failure, code, said)
		require.Contains(t, said, "the file is damaged")
	}
}
