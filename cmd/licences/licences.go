// Package licences collects the licences of what is linked into a program, for what is given to
// others with it.
package licences

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/oraccl/oraccl/model/files"
)

// Licence is the text of one.
type Licence struct {
	Of   string // what it is for: the path of a module, or a name
	Text string
}

// Of returns the licences of a package and of all that it imports when it is built in an
// environment, such as {"GOOS=js"}: ours, Go's, and those of modules by their paths.
// A module without one is an error.
func Of(ctx context.Context, pkg string, environment []string) ([]Licence, error) {
	list := exec.CommandContext(ctx, "go", "list", "-deps", "-json=Module,Dir", pkg)
	list.Env = append(os.Environ(), environment...)
	var stderr bytes.Buffer
	list.Stderr = &stderr
	out, err := list.Output()
	if err != nil {
		return nil, fmt.Errorf("go list %s: %w: %s", pkg, err, strings.TrimSpace(stderr.String()))
	}
	goroot, err := exec.CommandContext(ctx, "go", "env", "GOROOT").Output()
	if err != nil {
		return nil, fmt.Errorf("go env GOROOT: %w", err)
	}
	dirs := map[string]string{"the Go programming language": strings.TrimSpace(string(goroot))}
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p struct {
			Dir    string
			Module *struct{ Path string }
		}
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, fmt.Errorf("go list: %w", err)
		}
		if p.Module != nil {
			dirs[p.Module.Path] = top(p.Dir, p.Module.Path)
		}
	}
	var all []Licence
	for of, dir := range dirs {
		text, err := find(ctx, dir)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", of, err)
		}
		all = append(all, Licence{of, text})
	}
	slices.SortFunc(all, func(a, b Licence) int { return strings.Compare(a.Of, b.Of) })
	return all, nil
}

// top returns the directory of a module in which a directory of it is.
func top(dir, module string) string {
	if at := strings.LastIndex(dir, filepath.FromSlash(module)); at >= 0 {
		return dir[:at+len(module)]
	}
	for d := dir; d != filepath.Dir(d); d = filepath.Dir(d) {
		if _, err := os.Stat(filepath.Join(d, "go.mod")); err == nil {
			return d
		}
	}
	return dir
}

// find returns the text of the licence in a directory.
func find(ctx context.Context, dir string) (string, error) {
	for _, name := range []string{"LICENSE", "LICENSE.txt", "LICENSE.md", "LICENCE", "COPYING"} {
		if file := filepath.Join(dir, name); files.Exists(file) {
			b, err := files.ReadRegular(ctx, file)
			return string(b), err
		}
	}
	return "", fmt.Errorf("%s holds no licence", dir)
}

// Write writes them one after another.
func Write(w io.Writer, all []Licence) error {
	var b strings.Builder
	for _, l := range all {
		fmt.Fprintf(&b, "%s\n%s\n\n%s\n\n", l.Of, strings.Repeat("=", len(l.Of)), strings.TrimSpace(l.Text))
	}
	_, err := io.WriteString(w, b.String())
	return err
}
