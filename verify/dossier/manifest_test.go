package dossier_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/verify/dossier"
)

func sum(b []byte) string {
	h := sha256.Sum256(b)
	return hex.EncodeToString(h[:])
}

func manifest(t testing.TB) []byte {
	dir := filepath.Join(t.TempDir(), "d")
	build(t, dir)
	b, err := os.ReadFile(filepath.Join(dir, dossier.ManifestName))
	require.NoError(t, err)
	return b
}

// TestReadManifest: a manifest is read in one way, or not at all.
func TestReadManifest(t *testing.T) {
	b := manifest(t)
	m, err := dossier.ReadManifest("m", bytes.NewReader(b))
	require.NoError(t, err)
	var again bytes.Buffer
	require.NoError(t, m.Write(&again))
	require.Equal(t, string(b), again.String())
	replace := func(from, to string) string {
		require.Contains(t, string(b), from)
		return strings.Replace(string(b), from, to, 1)
	}
	for name, x := range map[string]struct{ text, want string }{
		"an unknown key":        {replace(`"tool"`, `"by": 1, "tool"`), `m: unknown field "by"`},
		"an unknown key deeper": {replace(`"claim": "bound"`, `"claim": "bound", "note": "x"`), `m: unknown field "note"`},
		"a key twice":           {replace(`"tool": "a test"`, `"tool": "a test", "tool": "a test"`), "each key once"},
		"claims twice":          {replace(`"files": [`, `"claims": [], "files": [`), "each key once"},
		"another case":          {replace(`"tool"`, `"Tool"`), "each key once"},
		"another order":         {replace(`"schema": "oraccl/dossier/1",`, ``), "schema"},
		"more":                  {string(b) + "{}", "invalid character '{' after top-level value"},
		"an escape":             {replace(`"a test"`, `"a \u0074est"`), "each key once"},
		"null for a list":       {replace(`"problems": [`, `"problems": null, "problems": [`), "each key once"},
		"a fraction":            {replace(`"chunks": 4`, `"chunks": 4.0`), "claims.chunks: a number 4.0, want a int"},
		"a negative bound":      {replace(`"bound_ps": 200000`, `"bound_ps": -1`), "a number below 0"},
		"a number as text":      {replace(`"chunks": 4`, `"chunks": "4"`), "claims.chunks: a string, want a int"},
		"huge":                  {replace(`"chunks": 4`, `"chunks": 99999999999999999999`), "claims.chunks: a number 99999999999999999999"},
		"not JSON":              {"x", "invalid character 'x'"},
		"nothing":               {"", "EOF"},
		"a list":                {"[]", "want a"},
		"a hash in capitals":    {strings.ToUpper(string(b)), ""},
		"too large":             {`{"schema": "` + strings.Repeat("x", 65<<20) + `"}`, "more than 67108864 bytes"},
	} {
		_, err := dossier.ReadManifest("m", strings.NewReader(x.text))
		require.ErrorContains(t, err, x.want, name)
		require.NotContains(t, err.Error(), "\n", name)
		require.Less(t, len(err.Error()), 500, name)
	}
	spaced := bytes.ReplaceAll(b, []byte("  "), []byte("\t"))
	_, err = dossier.ReadManifest("m", bytes.NewReader(spaced))
	require.NoError(t, err, "spaces between do not matter")
}

// TestManifestBits flips a bit of every third byte of a manifest: none is read as another
// one that claims the same, and nothing is accepted but another name of the tool.
func TestManifestBits(t *testing.T) {
	t.Run("claims", func(t *testing.T) { bits(t, build) })
	t.Run("table", func(t *testing.T) { bits(t, func(t testing.TB, dir string) { tabled(t, dir) }) })
}

func bits(t *testing.T, build func(t testing.TB, dir string)) {
	dir := filepath.Join(t.TempDir(), "d")
	build(t, dir)
	path := filepath.Join(dir, dossier.ManifestName)
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	want, err := dossier.ReadManifest("m", bytes.NewReader(b))
	require.NoError(t, err)
	for i := 0; i < len(b); i += 3 {
		changed := bytes.Clone(b)
		changed[i] ^= 1 << (i % 8)
		m, err := dossier.ReadManifest("m", bytes.NewReader(changed))
		if err != nil {
			continue
		}
		if !bytes.ContainsAny(b[i:i+1], " \n\t") {
			require.NotEqual(t, want, m, "byte %d", i)
		}
		require.NoError(t, os.WriteFile(path, changed, 0o644))
		if text, status := check(t, dossier.Options{}, dir); status == 0 {
			require.Equal(t, want.Claims, m.Claims, "byte %d: %s", i, text)
			require.Equal(t, want.Problems, m.Problems, "byte %d: %s", i, text)
			require.Equal(t, want.Rows, m.Rows, "byte %d: %s", i, text)
		}
	}
}

func FuzzReadManifest(f *testing.F) {
	f.Add(manifest(f))
	dir := filepath.Join(f.TempDir(), "d")
	tabled(f, dir)
	b, err := os.ReadFile(filepath.Join(dir, dossier.ManifestName))
	require.NoError(f, err)
	f.Add(b)
	f.Add([]byte(`{"schema":"oraccl/dossier/1","tool":"","problems":[],"claims":[],"files":[]}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := dossier.ReadManifest("m", bytes.NewReader(b))
		if err != nil {
			require.NotContains(t, err.Error(), "\n")
			return
		}
		require.NoError(t, m.Validate())
		var first, second bytes.Buffer
		require.NoError(t, m.Write(&first))
		again, err := dossier.ReadManifest("m", bytes.NewReader(first.Bytes()))
		require.NoError(t, err)
		require.Equal(t, m, again)
		require.NoError(t, m.Readme(&second))
		for _, file := range m.Files {
			require.NoError(t, dossier.CheckFileName(file.File))
			require.Equal(t, file.File, filepath.Base(file.File))
		}
	})
}
