package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestArchives: an archive holds the files with their modes and bytes, and equal files make
// equal archives.
func TestArchives(t *testing.T) {
	list := []file{{"LICENSES.txt", []byte("free"), 0o644}, {"bin/oraccl", bytes.Repeat([]byte("x"), 1<<16), 0o755}}
	for name, pack := range map[string]func(io.Writer, string, []file) error{"tar": tarball, "zip": zipped} {
		var a, b bytes.Buffer
		require.NoError(t, pack(&a, "oraccl-linux-amd64", list))
		require.NoError(t, pack(&b, "oraccl-linux-amd64", list))
		require.Equal(t, a.Bytes(), b.Bytes(), name)
		var found []file
		if name == "tar" {
			z, err := gzip.NewReader(&a)
			require.NoError(t, err)
			r := tar.NewReader(z)
			for h, err := r.Next(); err != io.EOF; h, err = r.Next() {
				require.NoError(t, err)
				data, err := io.ReadAll(r)
				require.NoError(t, err)
				found = append(found, file{h.Name, data, h.Mode})
			}
		} else {
			r, err := zip.NewReader(bytes.NewReader(a.Bytes()), int64(a.Len()))
			require.NoError(t, err)
			for _, f := range r.File {
				e, err := f.Open()
				require.NoError(t, err)
				data, err := io.ReadAll(e)
				require.NoError(t, err)
				found = append(found, file{f.Name, data, int64(f.Mode().Perm())})
			}
		}
		require.Len(t, found, 2)
		for i := range list {
			require.Equal(t, file{"oraccl-linux-amd64/" + list[i].name, list[i].data, list[i].mode}, found[i], name)
		}
	}
}

// TestContainerfile: the image has all of the source that the repository has, and vendor/.
func TestContainerfile(t *testing.T) {
	text, err := os.ReadFile("Containerfile")
	require.NoError(t, err)
	copied := map[string]bool{}
	for line := range strings.Lines(string(text)) {
		words := strings.Fields(line)
		if len(words) < 3 || words[0] != "COPY" || strings.HasPrefix(words[1], "--") {
			continue
		}
		for _, name := range words[1 : len(words)-1] {
			copied[name] = true
			if info, err := os.Stat(filepath.Join("../..", name)); err == nil && info.IsDir() {
				require.Equal(t, name, words[len(words)-1], "a directory is copied as what it is called")
			}
		}
	}
	list, err := os.ReadDir("../..")
	require.NoError(t, err)
	for _, e := range list {
		if name := e.Name(); !strings.HasPrefix(name, ".") && !slices.Contains([]string{"bin", "demo", "repro"}, name) { // which .gitignore has
			require.True(t, copied[name], "%s is not copied into the image", name)
		}
	}
	require.True(t, copied["vendor"], "with which it is built without a network")
}
