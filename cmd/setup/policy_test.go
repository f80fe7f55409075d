package main

import (
	"fmt"
	"go/ast"
	"go/build/constraint"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// What this file states is policy: it is not edited to make a build pass.

const (
	root   = "../.."
	module = "github.com/oraccl/oraccl/"
)

// policy states what the packages of a directory, and those below it without a row
// of their own, may import beside the standard library. A name stands for a
// package and all below it; names without a dot in their first part are ours.
// Test files are exempt, except that what may not know each other never does,
// not even in a test.
var policy = []struct {
	dir    string
	may    string // blank-separated; a final "." takes the package alone
	cgo    bool   // has Go files that import "C"
	solver bool   // may need cgo to build, itself or through what it imports
}{
	{dir: ".", may: "model. model/topo solve solve/certify verify verify/smt", solver: true},
	{dir: "model"},
	{dir: "model/files"},
	{dir: "model/native", may: "model. model/workload"},
	{dir: "model/pace", may: "model. model/components"},
	{dir: "model/components"},
	{dir: "model/topo", may: "model."},
	{dir: "model/traffic", may: "model."},
	{dir: "model/ways", may: "model."},
	{dir: "model/workload", may: "model."},
	{dir: "model/format", may: "model. model/ways"},
	{dir: "model/format/nccllog", may: "model. model/ways model/pace"}, // sums and multicasts of switches have no form without times
	{dir: "model/format/export", may: "model. model/ways model/streams"},
	{dir: "model/format/compact", may: "model. model/native"},
	{dir: "model/format/slots", may: "model. model/ways model/components"},
	{dir: "model/format/msccl", may: "model. model/ways model/format/slots"},
	{dir: "model/format/mscclpp", may: "model. model/course model/format/slots"},
	{dir: "model/course", may: "model."},
	{dir: "model/streams", may: "model."},
	{dir: "model/format/msccl/msccltest", may: "model. model/format/msccl"},
	{dir: "model/format/schedules", may: "model. model/files model/native model/format/compact"},
	{dir: "model/format/topologies", may: "model. model/files model/native model/topo model/traffic model/instance model/join model/format"},
	{dir: "model/instance", may: "model. model/machines model/topo model/traffic"},
	{dir: "model/join", may: "model."},
	{dir: "model/machines", may: "model."},
	{dir: "model/lint", may: "model."},
	{dir: "model/table", may: "model. model/instance model/quote"},

	{dir: "solve", may: "model. model/workload solve gonum.org/v1/gonum golang.org/x/sync"},
	{dir: "solve/solvetest", may: "model solve github.com/stretchr/testify"},
	{dir: "solve/lp"},
	{dir: "solve/lp/highs", may: "solve/lp. github.com/lanl/highs", cgo: true, solver: true},
	{dir: "solve/exact", may: "model. solve", solver: true},
	{dir: "solve/workload/exact", may: "model. model/workload solve solve/lp. solve/lp/highs solve/sat", solver: true},
	{dir: "solve/workload/modulo", may: "model. model/workload solve solve/lp. solve/lp/highs", solver: true},
	{dir: "solve/crossover/exact", may: "model. solve/crossover solve/lp. solve/lp/highs", solver: true},
	{dir: "solve/dual", may: "model. solve", solver: true},
	{dir: "solve/arborescence", may: "model. solve", solver: true},
	{dir: "solve/broadcast", may: "model. solve", solver: true},
	{dir: "solve/oneshot", may: "model. solve", solver: true},
	{dir: "solve/meeting", may: "solve", solver: true},
	{dir: "solve/quotient", may: "model. solve", solver: true},
	{dir: "solve/overtime", may: "model. solve", solver: true},
	{dir: "solve/forest", may: "model. solve", solver: true},
	{dir: "solve/certify", may: "model. model/native model/pace model/workload solve verify", solver: true},
	{dir: "solve/certify/pareto", may: "model. solve verify", solver: true},
	{dir: "solve/certify/streamed", may: "model. solve verify", solver: true},
	{dir: "solve/certify/proofs", may: "model. model/workload solve/certify verify verify/dossier", solver: true},
	{dir: "solve/fluid", may: "model. solve gonum.org/v1/gonum", solver: true},

	{dir: "verify", may: "model. model/native model/workload verify"},
	{dir: "verify/dossier", may: "model. model/files model/native model/pace model/workload model/quote model/instance model/table model/topo model/traffic verify"},
	{dir: "verify/smt/z3", may: "model. verify github.com/mitchellh/go-z3", cgo: true, solver: true},

	{dir: "cmd/oraccl/chart", may: "gonum.org/v1/plot"},
	{dir: "cmd/oraccl/diagram", may: "model. model/machines"},
	{dir: "cmd/oraccl", may: "model solve. solve/certify solve/lp/highs verify cmd/oraccl/built cmd/oraccl/calibrate cmd/oraccl/chart cmd/oraccl/convert cmd/oraccl/diagram cmd/oraccl/drawing cmd/oraccl/effect cmd/oraccl/exit cmd/oraccl/experiment cmd/oraccl/foreign cmd/oraccl/judge cmd/oraccl/machine cmd/oraccl/manual cmd/oraccl/report cmd/oraccl/session cmd/oraccl/slurm cmd/oraccl/usage cmd/oraccl/view cmd/oraccl/sweep cmd/oraccl/turns github.com/spf13/cobra", solver: true},
	{dir: "cmd/oraccl/built"},
	{dir: "cmd/oraccl/calibrate", may: "model"},
	{dir: "model/fit"},
	{dir: "cmd/oraccl/convert", may: "model solve/assign solve/certify verify cmd/oraccl/built cmd/oraccl/exit cmd/oraccl/judge cmd/oraccl/report", solver: true},
	{dir: "cmd/oraccl/drawing", may: "model solve. solve/certify verify cmd/oraccl/exit cmd/oraccl/foreign cmd/oraccl/judge cmd/oraccl/report cmd/oraccl/view", solver: true},
	{dir: "cmd/oraccl/effect", may: "model. model/instance solve."},
	{dir: "cmd/oraccl/exit", may: "verify."},
	{dir: "cmd/oraccl/foreign", may: "model solve/certify verify cmd/oraccl/exit cmd/oraccl/report", solver: true},
	{dir: "cmd/oraccl/judge", may: "model solve/certify verify cmd/oraccl/exit cmd/oraccl/foreign cmd/oraccl/machine golang.org/x/sync", solver: true},
	{dir: "cmd/oraccl/machine", may: "model/files"},
	{dir: "cmd/oraccl/report", may: "model. model/files model/fit model/format/trace model/lint model/machines model/quote solve. solve/certify verify cmd/oraccl/built cmd/oraccl/calibrate cmd/oraccl/chart cmd/oraccl/exit cmd/oraccl/machine", solver: true},
	{dir: "cmd/oraccl/session", may: "model. model/quote solve. cmd/oraccl/exit github.com/schollz/progressbar golang.org/x/term"},
	{dir: "cmd/oraccl/manual", may: "model solve. verify"},
	{dir: "cmd/oraccl/experiment", may: "model solve verify cmd/oraccl/built cmd/oraccl/chart cmd/oraccl/experiment/expression cmd/oraccl/experiment/report cmd/oraccl/slurm cmd/oraccl/strict cmd/oraccl/turns testdata/published go.yaml.in/yaml/v3", solver: true},
	{dir: "cmd/oraccl/experiment/expression", may: "model."},
	{dir: "cmd/oraccl/experiment/report", may: "model/files model/quote"},
	{dir: "cmd/oraccl/view", may: "model"},
	{dir: "cmd/oraccl/slurm", may: "model/files model/quote"},
	{dir: "cmd/oraccl/sweep", may: "model. model/files model/instance model/table model/traffic model/format/topologies cmd/oraccl/slurm cmd/oraccl/strict go.yaml.in/yaml/v3 golang.org/x/sync"},
	{dir: "cmd/oraccl/turns", may: "model. model/files model/format/trace model/native model/quote model/topo model/workload solve/crossover solve/crossover/exact solve/certify/workloads solve/certify/proofs verify. verify/workload cmd/oraccl/built cmd/oraccl/exit cmd/oraccl/judge cmd/oraccl/report", solver: true},
	{dir: "cmd/oraccl/usage", may: "model. model/instance solve/certify cmd/oraccl/exit cmd/oraccl/manual github.com/spf13/cobra", solver: true},
	{dir: "cmd/oraccl/strict", may: "go.yaml.in/yaml/v3"},
	{dir: "cmd/oraccl/sweep/compute", may: "model solve verify cmd/oraccl/built cmd/oraccl/session cmd/oraccl/slurm cmd/oraccl/sweep. github.com/schollz/progressbar golang.org/x/term", solver: true},
	{dir: "cmd/oraccl/sweep/driver", may: "model verify cmd/oraccl/built cmd/oraccl/chart cmd/oraccl/exit cmd/oraccl/report cmd/oraccl/slurm cmd/oraccl/sweep", solver: true},
	{dir: "cmd/oraccl-check", may: "model verify cmd/oraccl/built"},
	{dir: "cmd/oraccl-site", may: "model. model/files model/native verify. cmd/licences cmd/oraccl/built cmd/oraccl/view"},
	{dir: "cmd/licences", may: "model/files"},
	{dir: "cmd/browser", may: "github.com/chromedp github.com/stretchr/testify"},
	{dir: "cmd/proofs", may: "model solve/sat verify"},
	{dir: "cmd/release", may: "model/files cmd/licences"},
	{dir: "cmd/soak"},
	{dir: "cmd/setup", may: "solve/lp solve/lp/highs verify/smt verify/smt/z3", solver: true},
}

// topLevel is what the top directory holds beside names that begin with a dot.
var topLevel = []string{"model", "solve", "verify", "cmd", "proofs", "testdata", "go.mod", "go.sum", "README.md", "Makefile", "LICENSE", "doc.go", "oraccl.go", "example_test.go"}

// notCommitted is what building leaves there.
var notCommitted = []string{"vendor", "bin", "demo", "repro"}

// arrows are the imports that not even a test may have.
var arrows = []struct{ from, to string }{
	{"model", "solve"}, {"model", "verify"}, {"model", "cmd"},
	{"verify", "solve"}, {"verify", "cmd"},
	{"solve", "verify"}, {"solve", "cmd"},
}

// usersProgram holds the examples of the library: programs as its users write them, which read
// files of any format.
const usersProgram = "example_test.go"

// forTests are the rooms that only tests enter, with all below them.
var forTests = []string{"verify/verifytest", "solve/solvetest", "cmd/browser"}

// aboveMethods is the room of solve that no method may know, itself and what is below it.
const aboveMethods = "solve/certify"

// knowsBoth reports whether a package may know both the methods and the verifiers.
func knowsBoth(dir string) bool { return under(dir, aboveMethods) }

type source struct {
	dir, name string
	test      bool
	imports   []string // of ours without the module's path
	doc       string   // the package comment
}

// sources parses every Go file of ours, whatever its build constraints, except for
// those that only keep tools in go.mod.
func sources(t *testing.T) []source {
	var all []source
	set := token.NewFileSet()
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel := filepath.ToSlash(strings.TrimPrefix(strings.TrimPrefix(p, root), "/"))
		if d.IsDir() {
			if base := d.Name(); p != root && (strings.HasPrefix(base, ".") || base == "testdata" || slices.Contains(notCommitted, rel)) {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(p, ".go") {
			return nil
		}
		f, err := parser.ParseFile(set, p, nil, parser.ImportsOnly|parser.ParseComments)
		if err != nil {
			return err
		}
		if forTools(f) {
			return nil
		}
		s := source{dir: path.Dir(rel), name: rel, test: strings.HasSuffix(rel, "_test.go"), doc: f.Doc.Text()}
		for _, i := range f.Imports {
			name, err := strconv.Unquote(i.Path.Value)
			if err != nil {
				return err
			}
			s.imports = append(s.imports, strings.TrimPrefix(name, module))
		}
		all = append(all, s)
		return nil
	})
	require.NoError(t, err)
	require.Greater(t, len(all), 20, "few Go files: is this the top directory? %s", root)
	return all
}

func forTools(f *ast.File) bool {
	for _, group := range f.Comments {
		for _, c := range group.List {
			if expr, err := constraint.Parse(c.Text); err == nil && expr.String() == "tools" {
				return true
			}
		}
	}
	return false
}

// under reports whether name is dir or below it.
func under(name, dir string) bool { return name == dir || strings.HasPrefix(name, dir+"/") }

// rule returns the index of the row of policy for dir: the longest that fits.
func rule(dir string) int {
	best := -1
	for i, p := range policy {
		if under(dir, p.dir) && (best < 0 || len(p.dir) > len(policy[best].dir)) {
			best = i
		}
	}
	return best
}

// ours reports whether name is a package of this module.
func ours(name string) bool {
	first, _, _ := strings.Cut(name, "/")
	return slices.Contains([]string{"model", "solve", "verify", "cmd"}, first)
}

func standard(name string) bool {
	first, _, _ := strings.Cut(name, "/")
	return !strings.Contains(first, ".") && !ours(name)
}

func allowed(may, name string) bool {
	for _, m := range strings.Fields(may) {
		if exact, ok := strings.CutSuffix(m, "."); ok {
			if name == exact {
				return true
			}
		} else if under(name, m) {
			return true
		}
	}
	return false
}

func TestImports(t *testing.T) {
	for _, s := range sources(t) {
		i := rule(s.dir)
		if i < 0 {
			t.Errorf("%s: policy has no row for the directory %s", s.name, s.dir)
			continue
		}
		p := policy[i]
		for _, name := range s.imports {
			for _, a := range arrows {
				if under(s.dir, a.from) && under(name, a.to) && !knowsBoth(s.dir) {
					t.Errorf("%s imports %s: %s must not know %s", s.name, name, a.from, a.to)
				}
			}
			if under(name, aboveMethods) && under(s.dir, "solve") && !under(s.dir, aboveMethods) {
				t.Errorf("%s imports %s, which stands above the methods", s.name, name)
			}
			if i := slices.IndexFunc(forTests, func(dir string) bool { return under(name, dir) }); i >= 0 && !s.test && !under(s.dir, forTests[i]) {
				t.Errorf("%s imports %s, which is for tests", s.name, name)
			}
			switch {
			case name == "C":
				if !p.cgo || s.dir != p.dir {
					t.Errorf("%s imports C: cgo is for solve/lp/highs and verify/smt/z3 alone", s.name)
				}
			case !s.test && !standard(name) && !allowed(p.may, name):
				t.Errorf("%s imports %s: %s may import the standard library and [%s]", s.name, name, p.dir, p.may)
			case strings.Contains(name, "lanl/highs") && s.dir != "solve/lp/highs",
				strings.Contains(name, "mitchellh/go-z3") && s.dir != "verify/smt/z3":
				t.Errorf("%s imports %s: that is for one package alone", s.name, name)
			case under(name, "model/format") && !under(s.dir, "cmd") && !under(s.dir, "model/format") && s.name != usersProgram:
				t.Errorf("%s imports %s: only commands and users' programs read foreign formats", s.name, name)
			}
		}
	}
}

// What does not name a solver in the table has no cgo in it, whatever it is built with.
// With CGO_ENABLED=0 everything builds, without the solvers.
func TestCgoIsConfined(t *testing.T) {
	imports := map[string]map[string]bool{}
	for _, s := range sources(t) {
		if s.test {
			continue
		}
		if imports[s.dir] == nil {
			imports[s.dir] = map[string]bool{}
		}
		for _, name := range s.imports {
			imports[s.dir][name] = true
		}
	}
	var needs func(dir string, via []string) []string // the way to a package with cgo, or nil
	needs = func(dir string, via []string) []string {
		via = append(slices.Clip(via), dir)
		for _, name := range slices.Sorted(maps.Keys(imports[dir])) {
			if name == "C" {
				return via
			}
			if ours(name) {
				if way := needs(name, via); way != nil {
					return way
				}
			}
		}
		return nil
	}
	found := 0
	for _, dir := range slices.Sorted(maps.Keys(imports)) {
		way := needs(dir, nil)
		if way == nil {
			continue
		}
		found++
		if i := rule(dir); i >= 0 && !policy[i].solver {
			t.Errorf("%s needs cgo: %s", dir, strings.Join(way, " -> "))
		}
	}
	require.GreaterOrEqual(t, found, 2, "not even solve/lp/highs and verify/smt/z3 have cgo")
}

func TestEveryPackageHasAComment(t *testing.T) {
	docs := map[string]string{}
	for _, s := range sources(t) {
		if !s.test {
			docs[s.dir] += s.doc
		}
	}
	for _, dir := range slices.Sorted(maps.Keys(docs)) {
		if strings.TrimSpace(docs[dir]) == "" {
			t.Errorf("%s has no package comment", dir)
		}
	}
}

func TestTopDirectory(t *testing.T) {
	entries, err := os.ReadDir(root)
	require.NoError(t, err)
	for _, e := range entries {
		if n := e.Name(); !strings.HasPrefix(n, ".") && !slices.Contains(topLevel, n) && !slices.Contains(notCommitted, n) {
			t.Errorf("%s is in the top directory, want only %v", n, topLevel)
		}
	}
	for _, n := range []string{"model", "solve", "verify", "cmd", "go.mod", "go.sum", "Makefile", "LICENSE"} {
		_, err := os.Stat(filepath.Join(root, n))
		require.NoError(t, err)
	}
	ignored, err := os.ReadFile(filepath.Join(root, ".gitignore"))
	require.NoError(t, err)
	for _, n := range append([]string{".deps"}, notCommitted...) {
		require.Contains(t, string(ignored), "/"+n+"/\n")
	}
}

// host matches a host's name, with or without a scheme. Modules are named by the
// host that keeps them, so those few are no addresses.
var (
	host    = regexp.MustCompile(`[a-z]+://|\b[a-z0-9-]+(\.[a-z0-9-]+)*\.(org|com|net|io|dev|edu|eu|de|uk)\b`)
	modules = regexp.MustCompile(`\bgithub\.com/[a-z]|\bgolang\.org/x/|\bgonum\.org/v1/`)
)

// Set-up takes its mirror from apt's configuration and its modules from Go's: no
// address is written down, and the shells parse what is.
func TestSetUpFiles(t *testing.T) {
	files := []string{"Makefile", ".ci/run"}
	found, err := filepath.Glob(filepath.Join(root, "cmd/setup/*"))
	require.NoError(t, err)
	for _, f := range found {
		files = append(files, "cmd/setup/"+filepath.Base(f))
	}
	scripts := 0
	for _, name := range files {
		text, err := os.ReadFile(filepath.Join(root, name))
		require.NoError(t, err)
		for n, line := range strings.Split(string(text), "\n") {
			if strings.HasSuffix(name, "policy_test.go") && strings.Contains(line, "MustCompile") {
				continue
			}
			if a := host.FindString(modules.ReplaceAllString(line, "")); a != "" && !strings.HasSuffix(name, "imports.go") {
				t.Errorf("%s:%d: %q is an address, want none", name, n+1, a)
			}
		}
		first, _, _ := strings.Cut(string(text), "\n")
		var shells []string
		switch first {
		case "#!/bin/sh":
			shells = []string{"sh", "bash"}
		case "#!/usr/bin/env bash":
			shells = []string{"bash"}
		default:
			if strings.HasPrefix(first, "#!") {
				t.Errorf("%s begins with %q, want /bin/sh or /usr/bin/env bash", name, first)
			}
			continue
		}
		scripts++
		for _, shell := range shells {
			out, err := exec.Command(shell, "-n", filepath.Join(root, name)).CombinedOutput()
			require.NoError(t, err, "%s -n %s: %s", shell, name, out)
		}
		require.Regexp(t, `(?m)^set -eu|^exec `, string(text), "%s goes on after an error", name)
	}
	require.GreaterOrEqual(t, scripts, 3)
}

// The patterns above do what they are for.
func TestPolicyItself(t *testing.T) {
	for _, address := range []string{"https" + "://x", "deb.example" + ".org", "ftp" + "://a", "mirror.example" + ".de/debian"} {
		require.True(t, host.MatchString(modules.ReplaceAllString(address, "")), address)
	}
	for _, none := range []string{"vendor/github.com/lanl/highs", "cmd/setup/setup.sh", "go.mod", "1.10.0", "highs.pc", "a.out"} {
		require.False(t, host.MatchString(modules.ReplaceAllString(none, "")), none)
	}
	for dir, want := range map[string]string{"solve/lp": "solve/lp", "solve/lp/highs": "solve/lp/highs", "solve/tacos": "solve", "solve/lpx": "solve",
		"verify/smt": "verify", "verify/smt/z3": "verify/smt/z3", "cmd/oraccl-check": "cmd/oraccl-check"} {
		require.Equal(t, want, policy[rule(dir)].dir, dir)
	}
	require.Equal(t, -1, rule("tools"))
	require.True(t, allowed("model.", "model"))
	require.False(t, allowed("model.", "model/topo"))
	require.True(t, allowed("solve/lp", "solve/lp/highs"))
	require.False(t, allowed("solve", "solver"))
	require.True(t, standard("go/ast"))
	require.False(t, standard("model/topo"))
	require.False(t, standard("gonum.org/v1/gonum"))
	for i, p := range policy {
		require.Equal(t, i, rule(p.dir), fmt.Sprintf("%s has two rows", p.dir))
	}
}
