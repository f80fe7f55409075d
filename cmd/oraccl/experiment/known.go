package experiment

import (
	"context"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/oraccl/oraccl/model/files"
	"github.com/oraccl/oraccl/testdata/published"
)

// Known returns the experiments that are in the program, by name.
func Known() []*File {
	names, err := fs.Glob(published.Tables, "*.yaml")
	if err != nil {
		panic(err) // the pattern is right
	}
	var all []*File
	for _, name := range names {
		r, err := published.Tables.Open(name)
		if err != nil {
			panic(err) // it is in the program
		}
		f, err := Read("testdata/published/"+name, r)
		if err != nil {
			panic(err) // a test reads them all
		}
		f.tables, f.where = published.Tables, "testdata/published"
		all = append(all, f)
	}
	return all
}

// Choose returns the experiments that arguments name: those of the program once each, "all"
// of them, or files, which end in .yaml. The caller calls the returned function when they
// have been run. The error for a name is an *UnknownError.
func Choose(ctx context.Context, args []string) (all []*File, done func(), err error) {
	done = func() {}
	if slices.Equal(args, []string{"all"}) {
		return Known(), done, nil
	}
	for _, name := range args {
		isFile := strings.HasSuffix(name, ".yaml") || strings.HasSuffix(name, ".yml")
		f, end, before := (*File)(nil), func() {}, done
		if isFile {
			f, end, err = Open(ctx, name)
		} else {
			f, err = Named(name)
		}
		if err != nil {
			return nil, done, err
		}
		done = func() { end(); before() }
		there := slices.ContainsFunc(all, func(g *File) bool { return g.Name == f.Name })
		switch {
		case there && isFile:
			return nil, done, fmt.Errorf("%s: two experiments of this name", f.Name)
		case !there:
			all = append(all, f)
		}
	}
	return all, done, nil
}

// Open reads the experiment in a file; its tables are beside it. The caller calls the
// returned function when the experiment has been run.
func Open(ctx context.Context, name string) (*File, func(), error) {
	r, err := files.Open(ctx, name)
	if err != nil {
		return nil, nil, err
	}
	defer r.Close()
	f, err := Read(name, r)
	if err != nil {
		return nil, nil, err
	}
	f.where = filepath.ToSlash(filepath.Dir(name))
	dir, err := files.OpenDir(ctx, f.where)
	if err != nil {
		return nil, nil, err
	}
	f.tables, f.dir = dir, filepath.Dir(name)
	return f, func() { dir.Close() }, nil
}

// Replace has the experiment take its tables from another directory.
func (f *File) Replace(tables fs.FS, where string) { f.tables, f.where = tables, where }

// Named returns the experiment of that name. An error is an *UnknownError.
func Named(name string) (*File, error) {
	unknown := &UnknownError{Name: name}
	for _, f := range Known() {
		if f.Name == name {
			return f, nil
		}
		unknown.Known = append(unknown.Known, f.Name)
	}
	return nil, unknown
}

// UnknownError is the error for a name that no experiment has.
type UnknownError struct {
	Name  string
	Known []string
}

func (e *UnknownError) Error() string {
	return fmt.Sprintf("experiment %q: want one or more of %s, or all or list alone, or a file such as my-paper.yaml", e.Name, strings.Join(e.Known, ", "))
}
