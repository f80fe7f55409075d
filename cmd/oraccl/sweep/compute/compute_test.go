package compute

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/oraccl/oraccl/cmd/oraccl/sweep"
	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/format/topologies"
	"github.com/oraccl/oraccl/model/instance"
	"github.com/oraccl/oraccl/model/native"
	"github.com/oraccl/oraccl/model/table"
	"github.com/stretchr/testify/require"
)

// actor returns workers that are a shell script instead.
func actor(t *testing.T, script string) *Workers {
	t.Helper()
	store, err := sweep.Open(t.TempDir(), "test")
	require.NoError(t, err)
	program := filepath.Join(t.TempDir(), "worker")
	require.NoError(t, os.WriteFile(program, []byte("#!/bin/sh\n"+script), 0o755))
	w := NewWorkers(store, 1, 1)
	w.program = program
	t.Cleanup(w.Close)
	return w
}

const answer = `{"schema":"oraccl/sweep/1","method":"x","status":"proved"}`

// However a worker ends, its cell has a row, and the next one gets a new worker.
func TestWorkersThatDie(t *testing.T) {
	c := sweep.Cell{Instance: table.Instance{Topology: "ring:4", Collective: "allgather", Method: "x"}, CellLimit: 10 * time.Second}
	for script, want := range map[string]string{
		"read line; kill -9 $$":                                   "the process that computed it died: signal: killed",
		"read line; echo 'panic: odd' >&2; echo more >&2; exit 2": "the process that computed it died: exit status 2: panic: odd",
		"exit 0": "the process that computed it died: it ended",
		"read line; echo '{\"schema\"' >&3; exec 3>&-":                            "the process that computed it died: it ended",
		"read line; echo '{\"schema\":\"other\"}' >&3":                            "the process that computed it died: it ended",
		"read line; yes nonsense | head -c 3000000 >&3; kill -9 $$":               "the process that computed it died: signal: killed",
		"read line; yes talk | head -c 3000000 >&2; exit 1":                       "the process that computed it died: exit status 1: talk",
		"read line; yes talk | head -c 300000; echo '" + answer + "' >&3; read x": "",
	} {
		w := actor(t, script)
		for range 2 {
			r := w.Compute(t.Context(), 0, &c)
			require.Equal(t, want, r.Reason, script)
			require.Equal(t, want == "", r.Status == table.Proved, script)
			require.Equal(t, "x", r.Method)
			if want == "" {
				break
			}
		}
	}
}

func TestWorkerThatDoesNotEnd(t *testing.T) {
	c := sweep.Cell{Instance: table.Instance{Topology: "ring:4", Method: "x"}, CellLimit: 300 * time.Millisecond}
	w := actor(t, "trap '' TERM\nread line; while :; do sleep 0.1; done")
	begin := time.Now()
	r := w.Compute(t.Context(), 0, &c)
	require.Equal(t, table.Failed, r.Status)
	require.Equal(t, "not done in 300ms, the limit of a cell", r.Reason)

	c.CellLimit = 0
	ctx, stop := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer stop()
	w.Compute(ctx, 0, &c)
	require.Less(t, time.Since(begin), time.Minute)
}

// A bound that is kept is checked like one that was just found: of a certificate that says
// too much, or of another problem, nothing is used.
func TestSweepBoundsAreChecked(t *testing.T) {
	in := instance.Flags{Collective: "allgather", Size: "1MiB", Chunks: 1, Straggler: -1}
	p, err := in.Problem(topologies.Files{Context: t.Context()}, "ring:4")
	require.NoError(t, err)
	in.Size = "64MiB"
	other, err := in.Problem(topologies.Files{Context: t.Context()}, "ring:4")
	require.NoError(t, err)
	key, err := problemText(p)
	require.NoError(t, err)
	dir := t.TempDir()
	bound := func(p *model.Problem) *model.Certificate {
		store, err := sweep.Open(dir, "test")
		require.NoError(t, err)
		c, err := (&Cells{Store: store, Threads: 1}).bound(t.Context(), p, false)
		require.NoError(t, err)
		return c
	}
	right, wrong := bound(p), bound(other)
	require.Greater(t, wrong.Bound, right.Bound)
	more := *right
	more.Bound++
	for _, c := range []*model.Certificate{&more, wrong} {
		var text bytes.Buffer
		require.NoError(t, native.WriteCertificate(&text, c))
		store, err := sweep.Open(dir, "test")
		require.NoError(t, err)
		require.NoError(t, store.PutBound(key, text.Bytes()))
		require.Equal(t, right.Bound, bound(p).Bound)
		kept, err := store.GetBound(key)
		require.NoError(t, err)
		text.Reset()
		require.NoError(t, native.WriteCertificate(&text, right))
		require.Equal(t, text.String(), string(kept), "the right one is kept in its place")
	}
	require.Equal(t, right.Witness, bound(p).Witness)
}
