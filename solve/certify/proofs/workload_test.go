package proofs_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/native"
	wl "github.com/oraccl/oraccl/model/workload"
	"github.com/oraccl/oraccl/solve/certify/proofs"
	"github.com/oraccl/oraccl/solve/certify/workloads"
	"github.com/oraccl/oraccl/verify/dossier"
)

// read reads an example of testdata/workloads.
func read(t *testing.T, name string) *wl.Schedule {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("../../../testdata/workloads/accept", name+".json"))
	require.NoError(t, err)
	s, err := native.ReadTimetable(name, bytes.NewReader(b))
	require.NoError(t, err)
	return s
}

// kept writes the dossier of an example.
func kept(t *testing.T, name string) string {
	t.Helper()
	r, err := workloads.Verify(t.Context(), read(t, name))
	require.NoError(t, err)
	dir := filepath.Join(t.TempDir(), name)
	require.NoError(t, proofs.WriteWorkload(t.Context(), dir, r, "a test"))
	return dir
}

// checked returns the exit status of a check, and what it prints.
func checked(t *testing.T, dir string) (int, string) {
	t.Helper()
	r, err := dossier.Check(t.Context(), []string{dir}, dossier.Options{})
	if err != nil {
		return 2, err.Error()
	}
	text, status := r.Text()
	return status, text
}

// The dossier of every example of testdata/workloads is accepted.
func TestWorkloadDossiers(t *testing.T) {
	all, err := filepath.Glob("../../../testdata/workloads/accept/*.json")
	require.NoError(t, err)
	require.NotEmpty(t, all)
	for _, file := range all {
		dir := kept(t, strings.TrimSuffix(filepath.Base(file), ".json"))
		status, text := checked(t, dir)
		require.Zero(t, status, text)
		require.Contains(t, text, "accepted: all 3 claims hold")
	}
}

// forge changes files of a dossier and its manifest, and gives the manifest the sums and the text that fit.
func forge(t *testing.T, dir string, files map[string][2]string, change func(m *dossier.Manifest)) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, dossier.ManifestName))
	require.NoError(t, err)
	m, err := dossier.ReadManifest("m", bytes.NewReader(b))
	require.NoError(t, err)
	if change != nil {
		change(m)
	}
	for name, words := range files {
		path := filepath.Join(dir, name)
		b, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Contains(t, string(b), words[0], name)
		require.NoError(t, os.WriteFile(path, bytes.Replace(b, []byte(words[0]), []byte(words[1]), 1), 0o644))
	}
	var readme bytes.Buffer
	require.NoError(t, m.Readme(&readme))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "README.md"), readme.Bytes(), 0o644))
	for i := range m.Files {
		b, err := os.ReadFile(filepath.Join(dir, m.Files[i].File))
		require.NoError(t, err)
		sum := sha256.Sum256(b)
		m.Files[i].Bytes, m.Files[i].SHA256 = int64(len(b)), hex.EncodeToString(sum[:])
	}
	var out bytes.Buffer
	require.NoError(t, m.Write(&out))
	require.NoError(t, os.WriteFile(filepath.Join(dir, dossier.ManifestName), out.Bytes(), 0o644))
}

// What is changed in a dossier is refused, though all its sums fit.
func TestForgedWorkloadDossiers(t *testing.T) {
	shorter := func(t model.Time) *model.Time { t--; return &t }
	for name, c := range map[string]struct {
		of     string
		files  map[string][2]string
		change func(m *dossier.Manifest)
		want   string
	}{
		"nothing but sums": {of: "rates", want: "accepted"},
		"a shorter period": {of: "rates", files: map[string][2]string{"timetable.json": {`"period_ps": 2700`, `"period_ps": 2699`}},
			change: func(m *dossier.Manifest) { m.Claims[0].Makespan = shorter(*m.Claims[0].Makespan) }, want: "REFUTED"},
		"a makespan that is not its own": {of: "finite", change: func(m *dossier.Manifest) { m.Claims[0].Makespan = shorter(*m.Claims[0].Makespan) },
			want: "it has a makespan or period of"},
		"another method": {of: "grid", change: func(m *dossier.Manifest) { m.Claims[0].Method = "exact" }, want: `it names the method "compose", want "exact"`},
		"a bound that is larger by a picosecond": {of: "muri", files: map[string][2]string{"bound-compute.json": {`"bound_ps": 647000000000`, `"bound_ps": 647000000001`}},
			change: func(m *dossier.Manifest) { b := *m.Claims[1].Bound + 1; m.Claims[1].Bound = &b }, want: "REFUTED"},
		"a bound by other evidence": {of: "muri", files: map[string][2]string{"bound-compute.json": {"\n  \"kind\": \"compute\"", "\n  \"kind\": \"cut\""}},
			change: func(m *dossier.Manifest) { m.Claims[1].By = "cut" }, want: "no link enters the set"},
		"a kind that does not exist": {of: "muri", files: map[string][2]string{"bound-compute.json": {"\n  \"kind\": \"compute\"", "\n  \"kind\": \"faith\""}},
			change: func(m *dossier.Manifest) { m.Claims[1].By = "faith" }, want: "want one of compute, cut"},
		"a bound on another workload": {of: "muri", files: map[string][2]string{"bound-compute.json": {`"duration_ps": 67000000000`, `"duration_ps": 77000000000`}},
			want: "it is about another workload"},
		"a schedule of another workload": {of: "muri", files: map[string][2]string{"timetable.json": {`"buffer": "data vgg16", "size_bytes": 1`, `"buffer": "data vgg16", "size_bytes": 2`}},
			want: "it is about another workload"},
		"another workload": {of: "muri", files: map[string][2]string{"workload.json": {`"duration_ps": 67000000000`, `"duration_ps": 77000000000`}},
			want: "it is not the manifest's workload"},
		"a workload in place of the schedule": {of: "muri", files: map[string][2]string{"timetable.json": {"oraccl/timetable/1", "oraccl/workload/1"}}, want: "ERROR"},
		"met where it is not": {of: "grid", change: func(m *dossier.Manifest) {
			m.Claims[2].Kind, m.Claims[2].Gap = dossier.NoneFasterClaim, nil
		}, want: "above the bound of"},
		"another gap":           {of: "grid", change: func(m *dossier.Manifest) { g := *m.Claims[2].Gap / 2; m.Claims[2].Gap = &g }, want: "FAILED claim"},
		"for every cut":         {of: "muri", change: func(m *dossier.Manifest) { m.Claims[2].Kind = dossier.OptimalClaim }, want: "it is not claimed of workloads"},
		"the fewest rounds":     {of: "muri", change: func(m *dossier.Manifest) { m.Claims[2].Kind = dossier.FewestRoundsClaim }, want: "it is not claimed of workloads"},
		"a computation earlier": {of: "finite", files: map[string][2]string{"timetable.json": {`"starts_ps": [700, 700]`, `"starts_ps": [699, 699]`}}, want: "REFUTED"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := kept(t, c.of)
			forge(t, dir, c.files, c.change)
			status, text := checked(t, dir)
			require.Contains(t, text, c.want)
			require.Equal(t, c.want == "accepted", status == 0, text)
		})
	}
}

// A byte more, less or changed in any file is seen.
func TestChangedWorkloadDossiers(t *testing.T) {
	dir := kept(t, "rates")
	files, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, f := range files {
		path := filepath.Join(dir, f.Name())
		b, err := os.ReadFile(path)
		require.NoError(t, err)
		for i := 0; i < len(b); i += 1 + len(b)/40 {
			other := bytes.Clone(b)
			other[i] ^= 1
			require.NoError(t, os.WriteFile(path, other, 0o644))
			status, text := checked(t, dir)
			require.NotZero(t, status, "%s, byte %d: %s", f.Name(), i, text)
		}
		require.NoError(t, os.Remove(path))
		status, text := checked(t, dir)
		require.NotZero(t, status, "%s is missing: %s", f.Name(), text)
		require.NoError(t, os.WriteFile(path, b, 0o644))
	}
	status, text := checked(t, dir)
	require.Zero(t, status, text)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "more.json"), []byte("{}"), 0o644))
	status, text = checked(t, dir)
	require.NotZero(t, status, text)
}
