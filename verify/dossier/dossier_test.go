package dossier_test

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/native"
	"github.com/oraccl/oraccl/verify"
	"github.com/oraccl/oraccl/verify/dossier"
)

// pair is a one-step broadcast between two ranks, which takes 1.1 ns, and the bound
// that says that it must.
func pair() (*model.Solution, *model.Certificate) {
	p := &model.Problem{
		Topology:   &model.Topology{Name: "pair", Ranks: 2, Links: []model.Link{{Src: 0, Dst: 1, Alpha: 100, Bandwidth: 1e12}}},
		Collective: model.Collective{Kind: model.Broadcast}, Size: 1000, Cost: model.Blocking,
	}
	p = p.WithChunks(1)
	s := &model.Schedule{Form: model.Timed, Routes: [][]int{{0}}, Transfers: []model.Transfer{{Src: 0, Dst: 1, Start: 0, End: 1100}}}
	return &model.Solution{Problem: p, Schedule: s}, &model.Certificate{Problem: p, Bound: 1100, Witness: model.Ingress{Rank: 1}}
}

func write(t *testing.T, path string, f func(io.Writer) error) {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, f(&b))
	require.NoError(t, os.WriteFile(path, b.Bytes(), 0o644))
}

func TestCheck(t *testing.T) {
	dir := t.TempDir()
	s, c := pair()
	write(t, filepath.Join(dir, "s.json"), func(w io.Writer) error { return native.WriteSolution(w, s) })
	write(t, filepath.Join(dir, "c.json"), func(w io.Writer) error { return native.WriteCertificate(w, c) })
	found, err := dossier.Check(context.Background(), dir)
	require.NoError(t, err)
	text, status := dossier.Report(found)
	require.Zero(t, status, text)
	require.Contains(t, text, "optimal ")

	// A bound that is a picosecond too high is refuted, and so is a schedule that is
	// a picosecond too fast.
	c.Bound++
	write(t, filepath.Join(dir, "c.json"), func(w io.Writer) error { return native.WriteCertificate(w, c) })
	found, err = dossier.Check(context.Background(), dir)
	require.NoError(t, err)
	text, status = dossier.Report(found)
	require.Equal(t, 1, status, text)
	c.Bound--
	s.Schedule.Transfers[0].End--
	write(t, filepath.Join(dir, "c.json"), func(w io.Writer) error { return native.WriteCertificate(w, c) })
	write(t, filepath.Join(dir, "s.json"), func(w io.Writer) error { return native.WriteSolution(w, s) })
	found, err = dossier.Check(context.Background(), dir)
	require.NoError(t, err)
	text, status = dossier.Report(found)
	require.Equal(t, 1, status, text)
	require.Contains(t, text, string(verify.TooFast))
	require.Empty(t, dossier.Conclusions(found))
}

// TestBytes changes every byte of a certificate and of a schedule, one after the
// other: what is still accepted claims nothing that is not true.
func TestBytes(t *testing.T) {
	dir := t.TempDir()
	s, c := pair()
	var certificate, schedule bytes.Buffer
	require.NoError(t, native.WriteCertificate(&certificate, c))
	require.NoError(t, native.WriteSolution(&schedule, s))
	for _, original := range [][]byte{certificate.Bytes(), schedule.Bytes()} {
		for i := range original {
			for _, bit := range []byte{1, 2, 16, 64} {
				changed := bytes.Clone(original)
				changed[i] ^= bit
				path := filepath.Join(dir, "f.json")
				require.NoError(t, os.WriteFile(path, changed, 0o644))
				found, err := dossier.Check(context.Background(), path)
				require.NoError(t, err)
				if f := found[0]; f.Err == nil && f.Kind == "certificate" && f.Verdict.Outcome == verify.Proved {
					got, err := native.ReadCertificate(path, bytes.NewReader(changed))
					require.NoError(t, err)
					l := got.Problem.Topology.Links[0]
					require.LessOrEqual(t, got.Bound, got.Problem.Topology.Duration([]int{0}, got.Problem.Size), "byte %d: %s, link %+v", i, changed, l)
				}
			}
		}
	}
}

func TestNothing(t *testing.T) {
	_, err := dossier.Check(context.Background(), t.TempDir())
	require.ErrorIs(t, err, dossier.ErrEmpty)
	_, err = dossier.Check(context.Background(), "no-such-directory")
	require.ErrorContains(t, err, "no such file")
	path := filepath.Join(t.TempDir(), "x.json")
	require.NoError(t, os.WriteFile(path, []byte(`{"schema": "other/1"}`), 0o644))
	found, err := dossier.Check(context.Background(), path)
	require.NoError(t, err)
	_, status := dossier.Report(found)
	require.Equal(t, 2, status)
}
