package files

import (
	"io/fs"
	"os"
	"path/filepath"
)

// Glob returns the names below a directory that match a pattern of path/filepath, each with
// the directory, sorted. The directory is no pattern, whatever marks its name has; if it does
// not exist there are none.
func Glob(dir, pattern string) ([]string, error) {
	found, err := fs.Glob(os.DirFS(dir), filepath.ToSlash(pattern))
	for i, name := range found {
		found[i] = filepath.Join(dir, filepath.FromSlash(name))
	}
	return found, err
}
