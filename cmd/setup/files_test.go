package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// opening are the functions of the standard library that open what has a name, or may
// leave a directory by a link. A user's file is opened by model/files.
var opening = map[string][]string{
	"os":        {"Open", "OpenFile", "ReadFile", "DirFS", "OpenRoot", "OpenInRoot", "Stdin"},
	"io/ioutil": {"ReadFile", "ReadAll", "ReadDir"},
	"syscall":   {"Open"},
}

// mayOpen are the files that open something themselves, how often, and what: nothing that
// a user names. A line is added when that is so, and for no other reason.
var mayOpen = map[string]struct {
	times int
	what  string
}{
	"model/files/files.go":               {4, "this is where users' files are opened"},
	"model/files/write.go":               {1, "a device, to write to"},
	"model/files/glob.go":                {1, "names below a directory, of which nothing is read"},
	"cmd/oraccl/main.go":                 {1, "standard input, for model/files"},
	"cmd/oraccl-check/main.go":           {1, "standard input, for model/files"},
	"cmd/oraccl/machine/memory.go":       {2, "what the system says of memory"},
	"cmd/oraccl/machine/system_linux.go": {1, "what the system says of this process"},
	"cmd/oraccl/experiment/made.go":      {1, "this program"},
	"solve/certify/refutation.go":        {2, "proofs that a solver wrote into a directory of its own"},
	"verify/dossier/writer.go":           {2, "the directory of a dossier, to write into, and proofs that a solver wrote"},
	"cmd/proofs/lrat.go":                 {1, "a proof that a solver wrote"},
	"cmd/proofs/coq.go":                  {2, "proofs of ours"},
	"solve/sat/cadical/cadical.go":       {1, "a proof that a solver wrote"},
	"cmd/oraccl/sweep/compute/worker.go": {1, "a worker's standard input, a pipe from the sweep"},
	"cmd/soak/main.go":                   {1, "test files of ours, for their names"},
	"cmd/oraccl/sweep/claim.go":          {1, "a lock, of which nothing is read"},
	"cmd/oraccl/sweep/store.go":          {1, "a directory, to make it durable"},
}

func TestUsersFilesAreOpenedInOnePlace(t *testing.T) {
	found := map[string][]string{}
	for _, s := range sources(t) {
		if s.test {
			continue
		}
		set := token.NewFileSet()
		f, err := parser.ParseFile(set, filepath.Join(root, s.name), nil, 0)
		require.NoError(t, err)
		found[s.name] = append(found[s.name], openings(f)...)
	}
	for name, uses := range found {
		if may := mayOpen[name]; len(uses) != may.times {
			t.Errorf("%s uses %v: it may use %d of them (%s); what a user names is opened by model/files", name, uses, may.times, may.what)
		}
	}
	for name, may := range mayOpen {
		require.Len(t, found[name], may.times, "%s: mayOpen says that it opens %d things", name, may.times)
	}
}

// openings returns the uses of opening in a file.
func openings(f *ast.File) []string {
	names := map[string]string{} // of packages in this file
	for _, i := range f.Imports {
		path := strings.Trim(i.Path.Value, `"`)
		name := path[strings.LastIndexByte(path, '/')+1:]
		if i.Name != nil {
			name = i.Name.Name
		}
		names[name] = path
	}
	var uses []string
	ast.Inspect(f, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok {
			if p, ok := s.X.(*ast.Ident); ok && slices.Contains(opening[names[p.Name]], s.Sel.Name) {
				uses = append(uses, p.Name+"."+s.Sel.Name)
			}
		}
		return true
	})
	return uses
}

func TestOpeningsAreSeen(t *testing.T) {
	f, err := parser.ParseFile(token.NewFileSet(), "x.go", `package x
import ("os"; system "os"; old "io/ioutil")
func f() { os.Open("a"); g := system.ReadFile; g("b"); old.ReadFile("c"); os.Create("d"); var os struct{}; _ = os }`, 0)
	require.NoError(t, err)
	require.Equal(t, []string{"os.Open", "system.ReadFile", "old.ReadFile"}, openings(f))
}
