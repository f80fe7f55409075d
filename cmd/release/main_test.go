package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"io"
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

// TestContainerfile: the image has the archive and the directory that is in it.
func TestContainerfile(t *testing.T) {
	text := containerfile(system{"linux", "arm64"})
	require.Contains(t, text, "\nADD oraccl-linux-arm64-full.tar.gz /opt/\n")
	require.Contains(t, text, "\nENV PATH=/opt/oraccl-linux-arm64-full/bin:")
}
