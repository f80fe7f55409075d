package dossier_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/native"
	"github.com/oraccl/oraccl/model/topo"
	"github.com/oraccl/oraccl/verify"
	"github.com/oraccl/oraccl/verify/dossier"
	"github.com/oraccl/oraccl/verify/verifytest/ending"
)

func check(t testing.TB, o dossier.Options, paths ...string) (text string, status int) {
	t.Helper()
	r, err := dossier.Check(context.Background(), paths, o)
	if err != nil {
		return "error: " + err.Error(), 2
	}
	text, status = r.Text()
	_, again, err := r.JSON()
	require.NoError(t, err)
	require.Equal(t, status, again, "text and JSON differ in the exit status")
	return text, status
}

func write(t testing.TB, path string, f func(io.Writer) error) {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, f(&b))
	require.NoError(t, os.WriteFile(path, b.Bytes(), 0o644))
}

// gather is an allgather on a full graph, in n chunks that all are sent at the times given,
// in rounds or picoseconds: link by link one after the other.
func gather(t testing.TB, cost model.CostModel, n int, wait model.Time) *model.Solution {
	x, err := topo.Parse("full:4", topo.Options{Alpha: []model.Time{100_000}, Bandwidth: []int64{1e9}})
	require.NoError(t, err)
	p := &model.Problem{Topology: x, Collective: model.Collective{Kind: model.AllGather}, Size: 400, Cost: cost}
	p = p.WithChunks(n)
	s := &model.Schedule{Form: model.FormFor(cost)}
	used := map[int]model.Time{}
	for k := range p.Chunks {
		from, _ := p.Owner(k)
		for l, link := range x.Links {
			if link.Src != from {
				continue
			}
			m := model.Transfer{Chunk: int32(k), Src: int32(from), Dst: int32(link.Dst), Route: int32(len(s.Routes)), Start: used[l] + wait}
			s.Routes = append(s.Routes, []int{l})
			if s.Form == model.InRounds {
				m.End = m.Start + 1
				used[l]++
			} else {
				m.End = m.Start + x.Duration([]int{l}, p.Chunks[k].Size)
				used[l] += model.Time(1000 * p.Chunks[k].Size)
			}
			s.Transfers = append(s.Transfers, m)
		}
	}
	return &model.Solution{Problem: p, Schedule: s, Origin: model.Origin{Method: "direct", Seed: 7}}
}

// anyCut leaves the cut of a problem open.
func anyCut(p *model.Problem) *model.Problem {
	q := *p
	q.Chunks = nil
	return &q
}

// build writes a dossier with every kind of claim and of file.
func build(t testing.TB, dir string) {
	t.Helper()
	w, err := dossier.Create(dir, "a test")
	require.NoError(t, err)
	quick, slow, fine := gather(t, model.Pipelined, 4, 0), gather(t, model.Pipelined, 4, 100_000), gather(t, model.Pipelined, 8, 0)
	p := anyCut(quick.Problem)
	require.NoError(t, w.Problem("problem.json", p, ""))
	require.NoError(t, w.Certificate(t.Context(), "bound-any-cut.json", "problem.json", &model.Certificate{Problem: p, Bound: 200_000, Witness: model.Ingress{Rank: 1}}, ""))
	require.NoError(t, w.Certificate(t.Context(), "bound-4-chunks.json", "problem.json", &model.Certificate{Problem: quick.Problem, Bound: 200_000, Witness: model.Ingress{Rank: 2}}, ""))
	require.NoError(t, w.Schedule("schedule-quick.json", "problem.json", quick, true))
	require.NoError(t, w.Schedule("schedule-slow.json", "problem.json", slow, false))
	require.NoError(t, w.Schedule("schedule-fine.json", "problem.json", fine, false))
	model := filepath.Join(t.TempDir(), "a.mps")
	require.NoError(t, os.WriteFile(model, []byte("NAME a\n"), 0o644))
	require.NoError(t, w.Model("program.mps", "schedule-quick.json", model))
	w.Claim(dossier.GapClaim, "schedule-quick.json", "bound-any-cut.json")
	w.Claim(dossier.OptimalClaim, "schedule-quick.json", "bound-any-cut.json")
	w.Claim(dossier.NoneFasterClaim, "schedule-quick.json", "bound-4-chunks.json")
	w.Claim(dossier.GapClaim, "schedule-slow.json", "bound-any-cut.json")
	w.Claim(dossier.CutGapClaim, "schedule-slow.json", "bound-4-chunks.json")

	rounds(t, w)
	refutation(t, w)
	require.NoError(t, w.Close())
}

// rounds adds a problem in rounds with another that has the same rounds.
func rounds(t testing.TB, w *dossier.Writer) {
	s := gather(t, model.LinkRounds, 4, 0)
	require.NoError(t, w.Problem("rounds.json", s.Problem, ""))
	require.NoError(t, w.Certificate(t.Context(), "bound-rounds.json", "rounds.json", &model.Certificate{Problem: s.Problem, Bound: 200_000, Witness: model.Ingress{Rank: 0}}, ""))
	require.NoError(t, w.Schedule("schedule-rounds.json", "rounds.json", s, true))
	w.Claim(dossier.FewestRoundsClaim, "schedule-rounds.json", "bound-rounds.json")
	units, x := *s.Problem, *s.Problem.Topology
	x.Links = append([]model.Link(nil), x.Links...)
	for i := range x.Links {
		x.Links[i].Alpha, x.Links[i].Bandwidth = 0, 1e12
	}
	units.Topology, units.Size = &x, 4000
	q := units.WithChunks(4)
	require.NoError(t, w.Problem("units.json", q, "rounds.json"))
	require.NoError(t, w.Certificate(t.Context(), "bound-units.json", "units.json", &model.Certificate{Problem: q, Bound: 1000, Witness: model.Ingress{Rank: 0}}, ""))
}

// stragglar has certificates with proofs in the format LRAT.
const stragglar = "../../proofs/stragglar"

// refutation adds a certificate with a proof.
func refutation(t testing.TB, w *dossier.Writer) {
	c := certificate(t, filepath.Join(stragglar, "broadcast-3-2.json"))
	require.NoError(t, w.Problem("broadcast.json", anyCut(c.Problem), ""))
	require.NoError(t, w.Certificate(t.Context(), "refuted.json", "broadcast.json", c, filepath.Join(stragglar, "broadcast-3-2.lrat")))
}

func certificate(t testing.TB, file string) *model.Certificate {
	b, err := os.ReadFile(file)
	require.NoError(t, err)
	c, err := native.ReadCertificate(file, bytes.NewReader(b))
	require.NoError(t, err)
	return c
}

// TestAccepted: a dossier as it is written is accepted, with a line for each document and
// claim.
func TestAccepted(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "out")
	build(t, dir)
	text, status := check(t, dossier.Options{}, dir)
	require.Zero(t, status, text)
	for _, line := range []string{
		"problem sha256:[0-9a-f]{64} allgather of 400 B, 4 ranks, on full:4, pipelined",
		"proved .*/schedule-quick.json: performs allgather of 400 B in 4 chunks, 4 ranks, on full:4, pipelined, and ends after 200ns",
		"proved .*/refuted.json: no schedule of .*",
		"claim holds: .*/schedule-quick.json is optimal: it meets the bound of .*/bound-any-cut.json",
		"claim holds: none is faster than .*/schedule-quick.json with its cut: .*",
		"claim holds: .*/schedule-slow.json is 50.0% above the bound of .*/bound-any-cut.json",
		"claim holds: .*/schedule-slow.json is 50.0% above the bound for its cut of .*",
		"claim holds: .*/schedule-rounds.json has the fewest rounds, by .*/bound-rounds.json",
		"not checked here: .*/program.mps, a program for MIP solvers",
		".*/out: accepted: all 15 claims hold; files: 19",
	} {
		require.Regexp(t, "(?m)^"+line+"$", text)
	}
	readme, err := os.ReadFile(filepath.Join(dir, "README.md"))
	require.NoError(t, err)
	require.Contains(t, string(readme), "- `schedule-quick.json` is optimal: it meets the bound of `bound-any-cut.json`.")

	again, status := check(t, dossier.Options{}, filepath.Join(dir, dossier.ManifestName))
	require.Zero(t, status)
	require.Equal(t, text, again)
	again, status = check(t, dossier.Options{}, filepath.Dir(dir)) // in a directory above
	require.Zero(t, status)
	require.Equal(t, text, again)

	build(t, dir) // in place of itself
	again, status = check(t, dossier.Options{}, dir)
	require.Zero(t, status)
	require.Equal(t, text, again)
}

// TestCreate: what is not a dossier is not written over.
func TestCreate(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, dossier.Free(filepath.Join(dir, "none")))
	require.NoError(t, dossier.Free(dir))
	notes := filepath.Join(dir, "notes.txt")
	require.NoError(t, os.WriteFile(notes, nil, 0o644))
	for range 2 {
		require.ErrorContains(t, dossier.Free(dir), `it holds "notes.txt", which is no part of a dossier`)
		_, err := dossier.Create(dir, "a test")
		require.ErrorContains(t, err, `it holds "notes.txt"`)
		require.FileExists(t, notes)
		require.NoError(t, os.Remove(notes))
		build(t, dir)
		require.NoError(t, dossier.Free(dir))
		require.NoError(t, os.WriteFile(notes, nil, 0o644))
	}
	require.ErrorContains(t, dossier.Free(notes), "want a directory")
}

// TestNoManifest: documents without a manifest are checked one by one, and nothing is
// claimed of a directory.
func TestNoManifest(t *testing.T) {
	dir := t.TempDir()
	s := gather(t, model.Pipelined, 4, 0)
	c := &model.Certificate{Problem: anyCut(s.Problem), Bound: 200_000, Witness: model.Ingress{Rank: 1}}
	write(t, filepath.Join(dir, "s.json"), func(w io.Writer) error { return native.WriteSolution(w, s) })
	write(t, filepath.Join(dir, "c.json"), func(w io.Writer) error { return native.WriteCertificate(w, c) })
	last := func(text string) string {
		lines := strings.Split(strings.TrimSpace(text), "\n")
		return lines[len(lines)-1]
	}
	text, status := check(t, dossier.Options{}, dir)
	require.Equal(t, 3, status, text)
	require.Regexp(t, `(?m)^optimal .*/s.json: 200ns, the bound of .*/c.json$`, text)
	require.Contains(t, last(text), ": nothing is claimed: there is no manifest.json")
	text, status = check(t, dossier.Options{Documents: true}, dir)
	require.Zero(t, status, text)
	require.Contains(t, last(text), "nothing is claimed")
	text, status = check(t, dossier.Options{}, filepath.Join(dir, "s.json"), filepath.Join(dir, "c.json"))
	require.Zero(t, status, text)
	require.Contains(t, last(text), "nothing is claimed beside what each file states of itself")

	// A bound that is a picosecond too high is refuted, and so is a schedule that is
	// a picosecond too fast.
	c.Bound++
	write(t, filepath.Join(dir, "c.json"), func(w io.Writer) error { return native.WriteCertificate(w, c) })
	text, status = check(t, dossier.Options{}, dir)
	require.Equal(t, 1, status, text)
	c.Bound--
	s.Schedule.Transfers[0].End--
	write(t, filepath.Join(dir, "c.json"), func(w io.Writer) error { return native.WriteCertificate(w, c) })
	write(t, filepath.Join(dir, "s.json"), func(w io.Writer) error { return native.WriteSolution(w, s) })
	text, status = check(t, dossier.Options{}, dir)
	require.Equal(t, 1, status, text)
	require.Contains(t, text, string(verify.TooFast))
	require.NotContains(t, text, "optimal")
	require.NotContains(t, text, "gap ")
}

// TestBytes changes every byte of a certificate and of a schedule, one after the
// other: what is still accepted claims nothing that is not true.
func TestBytes(t *testing.T) {
	p := &model.Problem{
		Topology:   &model.Topology{Name: "pair", Ranks: 2, Links: []model.Link{{Src: 0, Dst: 1, Alpha: 100, Bandwidth: 1e12}}},
		Collective: model.Collective{Kind: model.Broadcast}, Size: 1000, Cost: model.Blocking,
	}
	p = p.WithChunks(1)
	var certificate bytes.Buffer
	require.NoError(t, native.WriteCertificate(&certificate, &model.Certificate{Problem: p, Bound: 1100, Witness: model.Ingress{Rank: 1}}))
	path := filepath.Join(t.TempDir(), "f.json")
	original, proved := certificate.Bytes(), 0
	for i := range original {
		for _, bit := range []byte{1, 2, 16, 64} {
			changed := bytes.Clone(original)
			changed[i] ^= bit
			require.NoError(t, os.WriteFile(path, changed, 0o644))
			text, status := check(t, dossier.Options{}, path)
			if status != 0 {
				continue
			}
			proved++
			got, err := native.ReadCertificate(path, bytes.NewReader(changed))
			require.NoError(t, err, text)
			require.LessOrEqual(t, got.Bound, got.Problem.Topology.Duration([]int{0}, got.Problem.Size), "byte %d: %s", i, changed)
		}
	}
	require.Positive(t, proved)
}

func TestNothing(t *testing.T) {
	_, err := dossier.Check(t.Context(), []string{t.TempDir()}, dossier.Options{})
	require.ErrorIs(t, err, dossier.ErrEmpty)
	_, err = dossier.Check(t.Context(), []string{"no-such-directory"}, dossier.Options{})
	require.ErrorContains(t, err, "no such file")
	path := filepath.Join(t.TempDir(), "x.json")
	require.NoError(t, os.WriteFile(path, []byte(`{"schema": "other/1"}`), 0o644))
	_, status := check(t, dossier.Options{}, path)
	require.Equal(t, 2, status)
}

// forge edits a dossier and, as a forger who knows the format would, makes sizes, sums,
// digests and the README fit again.
func forge(t testing.TB, dir string, reseal bool, edit func(m *dossier.Manifest)) {
	t.Helper()
	path := filepath.Join(dir, dossier.ManifestName)
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	var m dossier.Manifest
	require.NoError(t, json.Unmarshal(b, &m))
	edit(&m)
	if reseal {
		seal(t, dir, &m)
	}
	write(t, path, m.Write)
}

// seal makes what follows from other files follow from them.
func seal(t testing.TB, dir string, m *dossier.Manifest) {
	for i := range m.Problems {
		b, err := os.ReadFile(filepath.Join(dir, m.Problems[i].File))
		if err != nil {
			continue
		}
		if p, err := native.ReadProblem("p", bytes.NewReader(b)); err == nil {
			m.Problems[i].Digest, m.Problems[i].About = dossier.Digest(p), p.String()
		}
	}
	for i := range m.Files {
		f := &m.Files[i]
		if f.Is == dossier.TextRole && m.Validate() == nil {
			write(t, filepath.Join(dir, f.File), m.Readme)
		}
		if b, err := os.ReadFile(filepath.Join(dir, f.File)); err == nil {
			f.Bytes, f.SHA256 = int64(len(b)), sum(b)
		}
	}
}

// rewrite changes the text of a file.
func rewrite(t testing.TB, dir, file, from, to string) {
	t.Helper()
	path := filepath.Join(dir, file)
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Contains(t, string(b), from)
	require.NoError(t, os.WriteFile(path, []byte(strings.Replace(string(b), from, to, 1)), 0o644))
}

func claimOf(m *dossier.Manifest, kind dossier.ClaimKind, schedule string) *dossier.Claim {
	for i := range m.Claims {
		if c := &m.Claims[i]; c.Kind == kind && (c.Schedule == schedule || c.Certificate == schedule) {
			return c
		}
	}
	panic("no such claim")
}

func drop(m *dossier.Manifest, keep func(c *dossier.Claim) bool, files func(f *dossier.File) bool) {
	var claims []dossier.Claim
	for i := range m.Claims {
		if keep(&m.Claims[i]) {
			claims = append(claims, m.Claims[i])
		}
	}
	var list []dossier.File
	for i := range m.Files {
		if files(&m.Files[i]) {
			list = append(list, m.Files[i])
		}
	}
	m.Claims, m.Files = claims, list
}

// TestTampering tries every kind of tampering that keeps the manifest readable: as it is,
// and with everything that can be made to fit made to fit. None is accepted, and each is
// named.
func TestTampering(t *testing.T) {
	type tampering struct {
		edit func(t *testing.T, dir string, m *dossier.Manifest)
		want string // in the report where all is made to fit
	}
	for name, x := range map[string]tampering{
		"removed": {func(t *testing.T, dir string, _ *dossier.Manifest) {
			require.NoError(t, os.Remove(filepath.Join(dir, "schedule-slow.json")))
		}, `FAILED .*/schedule-slow.json: missing`},
		"added": {func(t *testing.T, dir string, _ *dossier.Manifest) {
			require.NoError(t, os.WriteFile(filepath.Join(dir, "schedule-best.json"), []byte("{}"), 0o644))
		}, `FAILED .*/schedule-best.json: superfluous`},
		"a directory": {func(t *testing.T, dir string, _ *dossier.Manifest) {
			require.NoError(t, os.Mkdir(filepath.Join(dir, "more"), 0o755))
		}, `FAILED .*/more: superfluous`},
		"a file for a directory": {func(t *testing.T, dir string, _ *dossier.Manifest) {
			require.NoError(t, os.Remove(filepath.Join(dir, "program.mps")))
			require.NoError(t, os.Mkdir(filepath.Join(dir, "program.mps"), 0o755))
		}, `FAILED .*/program.mps: a link, a directory or a device`},
		"a link": {func(t *testing.T, dir string, _ *dossier.Manifest) {
			out := filepath.Join(t.TempDir(), "s.json")
			require.NoError(t, os.Rename(filepath.Join(dir, "schedule-slow.json"), out))
			require.NoError(t, os.Symlink(out, filepath.Join(dir, "schedule-slow.json")))
		}, `FAILED .*/schedule-slow.json: a link`},
		"a link within": {func(t *testing.T, dir string, _ *dossier.Manifest) {
			require.NoError(t, os.Remove(filepath.Join(dir, "program.mps")))
			require.NoError(t, os.Symlink("README.md", filepath.Join(dir, "program.mps")))
		}, `FAILED .*/program.mps: a link`},
		"a pipe": {func(t *testing.T, dir string, _ *dossier.Manifest) {
			require.NoError(t, syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600))
		}, `FAILED .*/pipe: superfluous`},
		"a name that writes a line": {func(t *testing.T, dir string, _ *dossier.Manifest) {
			require.NoError(t, os.WriteFile(filepath.Join(dir, "x\noptimal y.json: 1ns\x1b[1A"), nil, 0o644))
		}, `FAILED ".*/x\\noptimal y.json: 1ns\\x1b\[1A": superfluous`},
		"renamed": {func(t *testing.T, dir string, m *dossier.Manifest) {
			require.NoError(t, os.Rename(filepath.Join(dir, "schedule-slow.json"), filepath.Join(dir, "schedule-slow2.json")))
		}, `FAILED .*/schedule-slow2.json: superfluous`},
		"swapped": {func(t *testing.T, dir string, _ *dossier.Manifest) {
			a, b := filepath.Join(dir, "schedule-slow.json"), filepath.Join(dir, "schedule-quick.json")
			require.NoError(t, os.Rename(a, a+"x"))
			require.NoError(t, os.Rename(b, a))
			require.NoError(t, os.Rename(a+"x", b))
		}, `FAILED claim: .*/schedule-slow.json is right and ends after 300ns: it ends after 200ns`},
		"a schedule for a certificate": {func(t *testing.T, dir string, _ *dossier.Manifest) {
			copyFile(t, filepath.Join(dir, "schedule-slow.json"), filepath.Join(dir, "bound-any-cut.json"))
		}, `FAILED claim: .*/bound-any-cut.json: none ends before 200ns: it is a schedule`},
		"a time": {func(t *testing.T, dir string, _ *dossier.Manifest) {
			rewrite(t, dir, "schedule-quick.json", `"end_ps": 200000`, `"end_ps": 199999`)
		}, `REFUTED .*/schedule-quick.json`},
		"a link of a schedule": {func(t *testing.T, dir string, _ *dossier.Manifest) {
			rewrite(t, dir, "schedule-quick.json", `"bandwidth_bytes_per_s": 1000000000`, `"bandwidth_bytes_per_s": 2000000000`)
		}, `it is about another problem: link 0 is 0 -> 1 with 100ns and 2000000000 bytes/s, want|REFUTED`},
		"a link that is quicker than it need be": {func(t *testing.T, dir string, _ *dossier.Manifest) { // which the bound stands
			rewrite(t, dir, "bound-any-cut.json", `"src": 0, "dst": 2, "alpha_ps": 100000`, `"src": 0, "dst": 2, "alpha_ps": 99999`)
		}, `FAILED claim: .*: it is about another problem: link 2 is 0 -> 2 with 99.999ns`},
		"a name of a network": {func(t *testing.T, dir string, _ *dossier.Manifest) {
			rewrite(t, dir, "bound-any-cut.json", `"name": "full:4"`, `"name": "dgx1"`)
		}, `it is about another problem: topology "dgx1", want "full:4"`},
		"a size": {func(t *testing.T, dir string, _ *dossier.Manifest) {
			rewrite(t, dir, "bound-any-cut.json", `"size_bytes": 400`, `"size_bytes": 800`)
		}, `it is about another problem: size of 800 bytes, want 400`},
		"a cost": {func(t *testing.T, dir string, _ *dossier.Manifest) {
			rewrite(t, dir, "bound-any-cut.json", `"cost": "pipelined"`, `"cost": "blocking"`)
		}, `it is about another problem: cost model blocking, want pipelined`},
		"an arrival": {func(t *testing.T, dir string, _ *dossier.Manifest) {
			rewrite(t, dir, "bound-any-cut.json", `"cost": "pipelined"`, `"cost": "pipelined", "release_ps": [0, 5, 0, 0]`)
		}, `it is about another problem: rank 1 arrives at 5ps, want 0s`},
		"a collective": {func(t *testing.T, dir string, _ *dossier.Manifest) {
			rewrite(t, dir, "bound-any-cut.json", `"kind": "allgather"`, `"kind": "allreduce"`)
		}, `it is about another problem: allreduce, want allgather`},
		"a group": {func(t *testing.T, dir string, _ *dossier.Manifest) {
			rewrite(t, dir, "bound-any-cut.json", `"kind": "allgather"`, `"kind": "allgather", "group": [0, 1, 2]`)
		}, `it is about another problem: a group of 3 ranks`},
		"another cut": {func(t *testing.T, dir string, m *dossier.Manifest) {
			claimOf(m, dossier.ScheduleClaim, "schedule-fine.json").Chunks = 4
		}, `FAILED claim: .*/schedule-fine.json is right .*: it has 8 chunks, want 4`},
		"a cut of a bound": {func(t *testing.T, dir string, m *dossier.Manifest) {
			claimOf(m, dossier.BoundClaim, "bound-4-chunks.json").Chunks = 0
		}, `FAILED claim: .*/bound-4-chunks.json: none ends before 200ns: it has 4 chunks, want 0`},
		"a gap to the bound of another cut": {func(t *testing.T, dir string, m *dossier.Manifest) {
			m.Claims = append(m.Claims, dossier.Claim{Kind: dossier.NoneFasterClaim, Schedule: "schedule-fine.json", Certificate: "bound-4-chunks.json"})
		}, `FAILED claim: none is faster than .*/schedule-fine.json .*: bound-4-chunks.json is about another cut`},
		"optimal for a cut": {func(t *testing.T, dir string, m *dossier.Manifest) {
			claimOf(m, dossier.OptimalClaim, "schedule-quick.json").Certificate = "bound-4-chunks.json"
		}, `FAILED claim: .*/schedule-quick.json is optimal.*: bound-4-chunks.json bounds one cut alone`},
		"optimal added": {func(t *testing.T, dir string, m *dossier.Manifest) {
			m.Claims = append(m.Claims, dossier.Claim{Kind: dossier.OptimalClaim, Schedule: "schedule-slow.json", Certificate: "bound-any-cut.json"})
		}, `FAILED claim: .*/schedule-slow.json is optimal.*: it ends after 300ns .*, above the bound of 200ns`},
		"optimal by the bound of another problem": {func(t *testing.T, dir string, m *dossier.Manifest) {
			m.Claims = append(m.Claims, dossier.Claim{Kind: dossier.OptimalClaim, Schedule: "schedule-slow.json", Certificate: "bound-rounds.json"})
		}, `FAILED claim: .*/schedule-slow.json is optimal.*: bound-rounds.json is about another problem`},
		"fewest rounds of what has none": {func(t *testing.T, dir string, m *dossier.Manifest) {
			m.Claims = append(m.Claims, dossier.Claim{Kind: dossier.FewestRoundsClaim, Schedule: "schedule-quick.json", Certificate: "bound-any-cut.json"})
		}, `FAILED claim: .*/schedule-quick.json has the fewest rounds.*: bound-any-cut.json does not show`},
		"makespan lowered": {func(t *testing.T, dir string, m *dossier.Manifest) {
			*claimOf(m, dossier.ScheduleClaim, "schedule-slow.json").Makespan--
		}, `FAILED claim: .*/schedule-slow.json is right and ends after 299.999ns: it ends after 300ns`},
		"bound raised": {func(t *testing.T, dir string, m *dossier.Manifest) {
			*claimOf(m, dossier.BoundClaim, "bound-any-cut.json").Bound++
		}, `FAILED claim: .*/bound-any-cut.json: none ends before 200.001ns: it bounds by 200ns`},
		"bound raised in both": {func(t *testing.T, dir string, m *dossier.Manifest) {
			*claimOf(m, dossier.BoundClaim, "bound-any-cut.json").Bound++
			rewrite(t, dir, "bound-any-cut.json", `"bound_ps": 200000`, `"bound_ps": 200001`)
		}, `REFUTED .*/bound-any-cut.json`},
		"gap lowered": {func(t *testing.T, dir string, m *dossier.Manifest) {
			*claimOf(m, dossier.GapClaim, "schedule-slow.json").Gap /= 2
		}, `FAILED claim: .*/schedule-slow.json is 25.0% above .*: it is 0.5, want 0.25`},
		"gap lowered for its cut": {func(t *testing.T, dir string, m *dossier.Manifest) {
			*claimOf(m, dossier.CutGapClaim, "schedule-slow.json").Gap = 0
		}, `FAILED claim: .*/schedule-slow.json is 0% above .*`},
		"kind of witness": {func(t *testing.T, dir string, m *dossier.Manifest) {
			claimOf(m, dossier.BoundClaim, "bound-any-cut.json").By = "lp-dual"
		}, `its witness is of the kind ingress, want "lp-dual"`},
		"method": {func(t *testing.T, dir string, m *dossier.Manifest) {
			claimOf(m, dossier.ScheduleClaim, "schedule-slow.json").Method = "exact"
		}, `it names the method "direct", want "exact"`},
		"rounds": {func(t *testing.T, dir string, m *dossier.Manifest) {
			claimOf(m, dossier.ScheduleClaim, "schedule-rounds.json").Rounds = 2
		}, `it has 1 rounds, want 2`},
		"the problem of a claim": {func(t *testing.T, dir string, m *dossier.Manifest) {
			claimOf(m, dossier.ScheduleClaim, "schedule-slow.json").Problem = "rounds.json"
		}, `it is about another problem: cost model pipelined, want link-rounds`},
		"another problem's certificate, a higher bound": {func(t *testing.T, dir string, m *dossier.Manifest) {
			s := gather(t, model.Pipelined, 4, 0)
			p := anyCut(s.Problem)
			p.Size = 800
			higher := &model.Certificate{Problem: p, Bound: 300_000, Witness: model.Ingress{Rank: 1}}
			write(t, filepath.Join(dir, "bound-any-cut.json"), func(w io.Writer) error { return native.WriteCertificate(w, higher) })
			*claimOf(m, dossier.BoundClaim, "bound-any-cut.json").Bound = 300_000
			drop(m, func(c *dossier.Claim) bool {
				return c.Problem != "" || c.Kind == dossier.GapClaim && c.Schedule == "schedule-slow.json"
			}, func(*dossier.File) bool { return true })
			*claimOf(m, dossier.GapClaim, "schedule-slow.json").Gap = 0
		}, `FAILED claim: .*/bound-any-cut.json: none ends before 300ns: it is about another problem: size of 800 bytes, want 400`},
		"another problem for the manifest": {func(t *testing.T, dir string, m *dossier.Manifest) {
			rewrite(t, dir, "problem.json", `"size_bytes": 400`, `"size_bytes": 800`)
		}, `it is about another problem: size of 400 bytes, want 800`},
		"the name of a network in the problem": {func(t *testing.T, dir string, m *dossier.Manifest) {
			rewrite(t, dir, "problem.json", `"name": "full:4"`, `"name": "dgx1"`)
		}, `it is about another problem: topology "full:4", want "dgx1"`},
		"units that are not": {func(t *testing.T, dir string, m *dossier.Manifest) {
			rewrite(t, dir, "units.json", `"kind": "allgather"`, `"kind": "gather"`)
		}, `FAILED .*/units.json: it need not have the rounds of rounds.json: gather, want allgather`},
		"units with another link": {func(t *testing.T, dir string, m *dossier.Manifest) {
			rewrite(t, dir, "units.json", `"src": 0, "dst": 1`, `"src": 0, "dst": 3`)
		}, `FAILED .*/units.json: it need not have the rounds of rounds.json: link 0 is 0 -> 3`},
		"units of what has no rounds": {func(t *testing.T, dir string, m *dossier.Manifest) {
			m.Problems[2].SameRoundsAs = "problem.json"
		}, `FAILED .*/units.json: it need not have the rounds of problem.json: cost model pipelined, want link-rounds`},
		"a claim without its document": {func(t *testing.T, dir string, m *dossier.Manifest) {
			require.NoError(t, os.Remove(filepath.Join(dir, "schedule-slow.json")))
			drop(m, func(*dossier.Claim) bool { return true }, func(f *dossier.File) bool { return f.File != "schedule-slow.json" })
		}, `error: .*manifest.json: claims\[3\]: "schedule-slow.json" is not in files`},
		"a schedule in units": {func(t *testing.T, dir string, m *dossier.Manifest) {
			claimOf(m, dossier.ScheduleClaim, "schedule-rounds.json").Problem = "units.json"
		}, `error: .*: a schedule for units.json, want one for "rounds.json", which has its rounds`},
		"a document without its claim": {func(t *testing.T, dir string, m *dossier.Manifest) {
			drop(m, func(c *dossier.Claim) bool { return c.Schedule != "schedule-slow.json" }, func(*dossier.File) bool { return true })
		}, `error: .*manifest.json: files\[[0-9]+\]: nothing is claimed of schedule-slow.json`},
		"a certificate twice": {func(t *testing.T, dir string, m *dossier.Manifest) {
			m.Claims = append([]dossier.Claim{m.Claims[0]}, m.Claims...)
		}, `error: .*claims\[1\]: bound-any-cut.json has a claim already`},
		"a claim twice": {func(t *testing.T, dir string, m *dossier.Manifest) {
			m.Claims = append(m.Claims, *claimOf(m, dossier.OptimalClaim, "schedule-quick.json"))
		}, `error: .*: optimal of schedule-quick.json is claimed twice`},
		"a file twice": {func(t *testing.T, dir string, m *dossier.Manifest) {
			m.Files = append(m.Files, m.Files[0])
		}, `error: .*: problem.json is there twice`},
		"a file twice except for its case": {func(t *testing.T, dir string, m *dossier.Manifest) {
			f := m.Files[0]
			f.File = "Problem.json"
			m.Files = append(m.Files, f)
		}, `error: .*: Problem.json is there twice`},
		"a document under another name": {func(t *testing.T, dir string, m *dossier.Manifest) {
			copyFile(t, filepath.Join(dir, "schedule-slow.json"), filepath.Join(dir, "schedule-again.json"))
			m.Files = append(m.Files, dossier.File{File: "schedule-again.json", Is: dossier.ScheduleRole})
		}, `error: .*: nothing is claimed of schedule-again.json`},
		"a document as a model": {func(t *testing.T, dir string, m *dossier.Manifest) {
			copyFile(t, filepath.Join(dir, "schedule-slow.json"), filepath.Join(dir, "again.json"))
			m.Files = append(m.Files, dossier.File{File: "again.json", Is: dossier.ModelRole, Of: "bound-any-cut.json"})
		}, `error: .*: again.json is of "bound-any-cut.json", want a schedule`},
		"a text of its own": {func(t *testing.T, dir string, m *dossier.Manifest) {
			require.NoError(t, os.WriteFile(filepath.Join(dir, "CLAIMS.md"), []byte("All is optimal.\n"), 0o644))
			m.Files = append(m.Files, dossier.File{File: "CLAIMS.md", Is: dossier.TextRole})
		}, `error: .*: CLAIMS.md is a text, want README.md for it`},
		"a path": {func(t *testing.T, dir string, m *dossier.Manifest) {
			copyFile(t, filepath.Join(dir, "schedule-slow.json"), filepath.Join(dir, "..", "schedule-slow.json"))
			m.Files[4].File, claimOf(m, dossier.ScheduleClaim, "schedule-slow.json").Schedule = "../schedule-slow.json", "../schedule-slow.json"
		}, `error: .*: "../schedule-slow.json": want the name of a file in the directory`},
		"an absolute path": {func(t *testing.T, dir string, m *dossier.Manifest) {
			m.Problems[0].File, m.Files[0].File = "/etc/passwd", "/etc/passwd"
		}, `error: .*: "/etc/passwd": want the name of a file`},
		"the manifest in itself": {func(t *testing.T, dir string, m *dossier.Manifest) {
			m.Files = append(m.Files, dossier.File{File: "Manifest.JSON", Is: dossier.ModelRole, Of: "schedule-quick.json"})
		}, `error: .*: Manifest.JSON is there twice`},
		"no such claim": {func(t *testing.T, dir string, m *dossier.Manifest) {
			m.Claims[0].Kind = "best"
		}, `error: .*claims\[0\]: claim "best", which is not known`},
		"a field too many": {func(t *testing.T, dir string, m *dossier.Manifest) {
			claimOf(m, dossier.OptimalClaim, "schedule-quick.json").Method = "exact"
		}, `error: .*: optimal with method, which it has not`},
		"a field too few": {func(t *testing.T, dir string, m *dossier.Manifest) {
			claimOf(m, dossier.ScheduleClaim, "schedule-quick.json").Makespan = nil
		}, `error: .*: schedule without makespan_ps`},
		"another schema": {func(t *testing.T, dir string, m *dossier.Manifest) { m.Schema = "oraccl/dossier/2" },
			`error: .*: schema "oraccl/dossier/2", want oraccl/dossier/1`},
		"a tool that writes a line": {func(t *testing.T, dir string, m *dossier.Manifest) { m.Tool = "x\nproved" },
			`error: .*: tool: name "x\\nproved" has characters that cannot be printed`},
		"formulas": {func(t *testing.T, dir string, m *dossier.Manifest) {
			require.NoError(t, os.WriteFile(filepath.Join(dir, "schedule-quick.smt2"), []byte("(assert false)\n(check-sat) ; unsat\n"), 0o644))
		}, `FAILED .*/schedule-quick.smt2: it is not what`},
		"formulas of another schedule": {func(t *testing.T, dir string, m *dossier.Manifest) {
			copyFile(t, filepath.Join(dir, "schedule-rounds.smt2"), filepath.Join(dir, "schedule-quick.smt2"))
		}, `FAILED .*/schedule-quick.smt2: it is not what`},
		"formulas and more": {func(t *testing.T, dir string, m *dossier.Manifest) {
			b, err := os.ReadFile(filepath.Join(dir, "schedule-quick.smt2"))
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(filepath.Join(dir, "schedule-quick.smt2"), append(b, '\n'), 0o644))
		}, `FAILED .*/schedule-quick.smt2: it is not what`},
		"a formula": {func(t *testing.T, dir string, m *dossier.Manifest) {
			rewrite(t, dir, "broadcast-3-2.cnf", " 0\n", " 0\n1 0\n")
		}, `FAILED .*/broadcast-3-2.cnf: it is not what`},
		"a proof": {func(t *testing.T, dir string, m *dossier.Manifest) {
			rewrite(t, dir, "broadcast-3-2.lrat", " 0 ", " 0 1 ")
		}, `REFUTED .*/refuted.json`},
		"a proof of something else": {func(t *testing.T, dir string, m *dossier.Manifest) {
			c := certificate(t, filepath.Join(stragglar, "broadcast-3-2.json"))
			copyFile(t, filepath.Join(stragglar, "broadcast-4-3.lrat"), filepath.Join(dir, "broadcast-3-2.lrat"))
			w, other := c.Witness.(model.Refutation), certificate(t, filepath.Join(stragglar, "broadcast-4-3.json")).Witness.(model.Refutation)
			w.SHA256 = other.SHA256
			c.Witness = w
			write(t, filepath.Join(dir, "refuted.json"), func(w io.Writer) error { return native.WriteCertificate(w, c) })
		}, `REFUTED .*/refuted.json`},
		"a proof that nothing names": {func(t *testing.T, dir string, m *dossier.Manifest) {
			copyFile(t, filepath.Join(dir, "broadcast-3-2.lrat"), filepath.Join(dir, "other.lrat"))
			m.Files = append(m.Files, dossier.File{File: "other.lrat", Is: dossier.ProofRole, Of: "refuted.json"})
		}, `FAILED .*/other.lrat: superfluous: refuted.json does not name it`},
		"a proof that is not listed as one": {func(t *testing.T, dir string, m *dossier.Manifest) {
			for i := range m.Files {
				if f := &m.Files[i]; f.Is == dossier.ProofRole {
					f.Is, f.Of = dossier.ModelRole, "schedule-quick.json"
				}
			}
		}, `FAILED claim: .*/refuted.json.*: it has no evidence: the manifest lists no proof "broadcast-3-2.lrat"`},
		"a file that cannot be read": {func(t *testing.T, dir string, m *dossier.Manifest) {
			require.NoError(t, os.WriteFile(filepath.Join(dir, "schedule-slow.json"), []byte(`{"schema": "oraccl/schedule/1"`), 0o644))
		}, `ERROR .*/schedule-slow.json`},
		"the README": {func(t *testing.T, dir string, m *dossier.Manifest) {
			for i := range m.Files {
				if m.Files[i].Is == dossier.TextRole { // so that it is sealed with what is written below
					m.Files[i] = dossier.File{File: "README.md", Is: dossier.ModelRole, Of: "schedule-quick.json"}
				}
			}
			rewrite(t, dir, "README.md", "is right", "is optimal")
		}, ``},
	} {
		t.Run(name, func(t *testing.T) {
			for _, reseal := range []bool{false, true} {
				dir := filepath.Join(t.TempDir(), "d")
				build(t, dir)
				forge(t, dir, reseal, func(m *dossier.Manifest) { x.edit(t, dir, m) })
				text, status := check(t, dossier.Options{}, dir)
				if name == "the README" && reseal { // as a model it is listed as not checked
					require.Contains(t, text, "not checked here")
					require.Contains(t, text, "README.md")
					continue
				}
				require.Contains(t, []int{1, 2}, status, "%t: %s", reseal, text)
				require.NotContains(t, text, ": accepted", "%t", reseal)
				if file := regexp.MustCompile(`FAILED claim: (\S+): none`).FindStringSubmatch(text); file != nil {
					require.NotContains(t, text, "proved "+file[1], "what fails a claim is not printed as proved")
				}
				if reseal {
					require.Regexp(t, "(?m)^(.*: )?("+x.want+")", text)
				}
				for line := range strings.Lines(text) {
					require.Regexp(t, "^(problem|proved|read|claim holds:|not checked here:|FAILED|REFUTED|unknown|ERROR|  |error:|nothing|/)", line)
					require.NotRegexp(t, regexp.MustCompile(`^optimal`), line)
				}
			}
		})
	}
}

func copyFile(t testing.TB, from, to string) {
	b, err := os.ReadFile(from)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(to, b, 0o644))
}

// TestNumbers changes every number of every document of a dossier, one after the other, and
// makes all that can be made to fit fit. What is still accepted claims what it did before.
func TestNumbers(t *testing.T) {
	t.Run("claims", func(t *testing.T) { numbers(t, build) })
	t.Run("table", func(t *testing.T) { numbers(t, func(t testing.TB, dir string) { tabled(t, dir) }) })
}

func numbers(t *testing.T, build func(t testing.TB, dir string)) {
	base := filepath.Join(t.TempDir(), "base")
	build(t, base)
	entries, err := os.ReadDir(base)
	require.NoError(t, err)
	number := regexp.MustCompile(`[0-9]+`)
	accepted, tried := 0, 0
	dir := filepath.Join(t.TempDir(), "d")
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".json") || e.Name() == dossier.ManifestName {
			continue
		}
		original, err := os.ReadFile(filepath.Join(base, e.Name()))
		require.NoError(t, err)
		all := number.FindAllIndex(original, -1)
		step := 1 + len(all)/12 // the first of a document, and a sample of the rest
		for i, at := range all {
			if i > 3 && i%step != 0 {
				continue
			}
			require.NoError(t, os.RemoveAll(dir))
			require.NoError(t, os.CopyFS(dir, os.DirFS(base)))
			var old int64
			fmt.Sscan(string(original[at[0]:at[1]]), &old)
			changed := fmt.Sprintf("%s%d%s", original[:at[0]], old+1, original[at[1]:])
			require.NoError(t, os.WriteFile(filepath.Join(dir, e.Name()), []byte(changed), 0o644))
			text, status := check(t, dossier.Options{}, dir)
			require.Equal(t, 1, status, "%s, number %d: %s", e.Name(), i, text)
			forge(t, dir, true, func(*dossier.Manifest) {})
			tried++
			text, status = check(t, dossier.Options{}, dir)
			if status != 0 {
				require.Contains(t, []int{1, 2}, status, text)
				continue
			}
			accepted++ // the seed of a schedule, or a rank that serves as well
			require.Equal(t, claims(t, base), claims(t, dir), "%s, number %d: %s", e.Name(), i, text)
		}
	}
	t.Logf("%d changes, %d accepted", tried, accepted)
	require.Greater(t, tried, 100)
	require.Less(t, accepted, tried/10)
}

// claims returns the claims, problems and rows of a dossier.
func claims(t testing.TB, dir string) []any {
	b, err := os.ReadFile(filepath.Join(dir, dossier.ManifestName))
	require.NoError(t, err)
	m, err := dossier.ReadManifest("m", bytes.NewReader(b))
	require.NoError(t, err)
	return []any{m.Problems, m.Claims, m.Rows}
}

// TestAsked: a dossier about another network of the same name is right in itself, and not
// what was asked about.
func TestAsked(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "d")
	s := gather(t, model.Pipelined, 4, 0)
	for i := range s.Problem.Topology.Links {
		s.Problem.Topology.Links[i].Bandwidth = 2e9
	}
	for i := range s.Schedule.Transfers {
		s.Schedule.Transfers[i].End = 150_000
	}
	w, err := dossier.Create(dir, "a forger")
	require.NoError(t, err)
	require.NoError(t, w.Problem("problem.json", anyCut(s.Problem), ""))
	require.NoError(t, w.Schedule("s.json", "problem.json", s, false))
	require.NoError(t, w.Close())
	text, status := check(t, dossier.Options{}, dir)
	require.Zero(t, status, text)

	mine := anyCut(gather(t, model.Pipelined, 4, 0).Problem)
	require.NotContains(t, text, dossier.Digest(mine))
	asked := &dossier.Asked{Problem: mine, Topology: true}
	text, status = check(t, dossier.Options{Asked: asked}, dir)
	require.Equal(t, 1, status, text)
	require.Contains(t, text, "FAILED it is not the problem that was asked about: link 0 is 0 -> 1 with 100ns and 2000000000 bytes/s, want 0 -> 1 with 100ns and 1000000000 bytes/s")
	require.Contains(t, text, "not compared with what was asked about: collective, size, cost model, arrivals")
	require.NotContains(t, text, ": accepted")

	file := filepath.Join(dir, "s.json")
	_, status = check(t, dossier.Options{Asked: asked}, file)
	require.Equal(t, 1, status)

	build(t, dir)
	for part, change := range map[string]func(a *dossier.Asked, p *model.Problem){
		"size of 400 bytes, want 401":                func(a *dossier.Asked, p *model.Problem) { a.Size, p.Size = true, 401 },
		"cost model pipelined, want blocking":        func(a *dossier.Asked, p *model.Problem) { a.Cost, p.Cost = true, model.Blocking },
		"allgather, want alltoall":                   func(a *dossier.Asked, p *model.Problem) { a.Collective, p.Collective.Kind = true, model.AllToAll },
		"rank 2 arrives at 0s, want 1ps":             func(a *dossier.Asked, p *model.Problem) { a.Release, p.Release = true, []model.Time{0, 0, 1, 0} },
		"a group of 4 ranks, want another one":       func(a *dossier.Asked, p *model.Problem) { a.Collective, p.Collective.Group = true, []int{0, 1} },
		"switches, want|3 ranks, want 4|ranks":       func(a *dossier.Asked, p *model.Problem) { a.Topology = true },
		"the same, except for a problem with rounds": func(a *dossier.Asked, p *model.Problem) { a.Size = true },
	} {
		p := *mine
		a := &dossier.Asked{Problem: &p}
		change(a, &p)
		text, status := check(t, dossier.Options{Asked: a}, dir)
		require.Equal(t, 1, status, "%s: %s", part, text)
		if !strings.Contains(part, "|") && !strings.Contains(part, "same") {
			require.Contains(t, text, part)
		}
	}
	p := *mine
	rename := *p.Topology
	rename.Name = "mine"
	p.Topology = &rename
	require.Equal(t, dossier.Digest(mine), dossier.Digest(&p), "names are remarks")
	p.Collective.Group, p.Release = []int{0, 1, 2, 3}, make([]model.Time, 4)
	require.Equal(t, dossier.Digest(mine), dossier.Digest(p.WithChunks(8)), "in a normal form, without the cut")
	p.Collective.Group = []int{1, 0, 2, 3}
	require.NotEqual(t, dossier.Digest(mine), dossier.Digest(&p))
}

// TestInterrupted ends a check at each of the places where it looks whether it has to: what is not
// decided is unknown, and what is accepted is all of it.
func TestInterrupted(t *testing.T) {
	for name, build := range map[string]func(t testing.TB, dir string){"claims": build, "table": func(t testing.TB, dir string) { tabled(t, dir) }} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "d")
			build(t, dir)
			whole, status := check(t, dossier.Options{}, dir)
			require.Zero(t, status, whole)
			decided, undecided := 0, 0
			for n := 0; decided == 0; n++ {
				r, err := dossier.Check(ending.After(n), []string{dir}, dossier.Options{})
				if err != nil {
					require.ErrorIs(t, err, context.Canceled)
					continue // not even the manifest was read
				}
				text, status := r.Text()
				if status == 0 {
					require.Equal(t, whole, text, "after %d looks", n)
					decided++
					continue
				}
				undecided++
				require.Equal(t, 3, status, "after %d looks: %s", n, text)
				require.NotContains(t, text, ": accepted")
				require.NotContains(t, text, "FAILED")
			}
			require.Greater(t, undecided, 5)
		})
	}
}
