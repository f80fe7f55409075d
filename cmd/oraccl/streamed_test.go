package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/cmd/oraccl/exit"
	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/topo"
	"github.com/oraccl/oraccl/solve/certify"
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
		var g gapJSON
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
	var g gapJSON
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

// TestEnough: what is lacking is said before the start.
func TestEnough(t *testing.T) {
	var said bytes.Buffer
	require.ErrorContains(t, enoughMemory(&said, "this", 1<<60), "this needs 1073741824 GiB of memory, and ")
	require.Empty(t, said.String())
	require.NoError(t, enoughMemory(&said, "this", 70<<20))
	require.Equal(t, "oraccl: this needs at most 70 MiB of memory\n", said.String())
	require.NoError(t, enoughMemory(&said, "this", 1))
	require.ErrorContains(t, enoughDisk(t.TempDir(), 1<<60), "the file needs up to")
	require.NoError(t, enoughDisk(t.TempDir(), 1))
}

// TestQuickBound: the quick bound is no worse than the best of all where that is ingress or
// distance.
func TestQuickBound(t *testing.T) {
	for _, name := range []string{"torus:6x6", "mesh:4x6", "line:9", "dgx1", "switch:8", "hypercube:5"} {
		for _, kind := range []model.Kind{model.AllGather, model.Broadcast, model.AllToAll, model.Gather, model.AllReduce} {
			for _, size := range []int64{1 << 10, 1 << 28} {
				tp, err := topo.Parse(name, topo.Options{})
				require.NoError(t, err)
				p := &model.Problem{Topology: tp, Collective: model.Collective{Kind: kind}, Size: size, Cost: model.Pipelined}
				quick, err := certify.QuickBound(context.Background(), p)
				require.NoError(t, err)
				require.NotNil(t, quick)
				best, err := certify.Bound(t.Context(), p)
				require.NoError(t, err)
				require.LessOrEqual(t, quick.Bound, best.Bound)
				if k := best.Witness.Kind(); kind == model.AllGather && (k == "ingress" || k == "distance" && name != "dgx1") {
					require.Equal(t, best.Bound, quick.Bound, "%s %v %d", name, kind, size)
				}
			}
		}
	}
}
