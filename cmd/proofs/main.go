// Command proofs checks everything in the directory proofs: the obligations in SMT-LIB
// with Z3 and with cvc5, and that small numbers of ranks cannot do with a round less,
// by refutations that CaDiCaL writes and two checkers of LRAT follow, and the theorems in
// Coq, which must rest on no axiom. The functions that are proved there it has Coq write in
// OCaml, builds a checker of them, and compares what that says of documents with what ours
// do. It prints a table and fails if anything comes out other than the manifest says. It
// decides nothing itself but whether the answers are the expected ones.
//
//	go run ./cmd/proofs [-without NAME,...] [-time-limit 2m] [-checker FILE] [-also DIRECTORY] [DIRECTORY]
//
// A program that is missing is a failure, unless -without names it; then the table says
// that it was left out. The exit status is 0 if all is as expected, 1 if not, 2 if the
// manifest cannot be used or a program is missing.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("proofs", flag.ContinueOnError)
	flags.SetOutput(stderr)
	without := flags.String("without", "", "`programs` to go without: z3, cvc5, cadical (and with it all refutations that are made again), lrat-check, coqc, ocamlfind")
	limit := flags.Duration("time-limit", 2*time.Minute, "wall `time` for each query and each refutation")
	keep := flags.String("checker", "", "`file` to keep the proved checker in")
	also := flags.String("also", "", "`directory` of more documents, such as a dossier, about which the proved checker and ours must not differ")
	if err := flags.Parse(args); errors.Is(err, flag.ErrHelp) {
		return 0
	} else if err != nil {
		return 2
	}
	dir := "proofs"
	switch flags.NArg() {
	case 0:
	case 1:
		dir = flags.Arg(0)
	default:
		fmt.Fprintln(stderr, "proofs: error: want one directory")
		return 2
	}
	c, err := newChecker(dir, *without, *limit)
	if err != nil {
		fmt.Fprintf(stderr, "proofs: error: %v\n", err)
		return 2
	}
	defer c.close()
	c.keep, c.also = *keep, *also
	return c.all(ctx, stdout)
}

// tool is a program that checks, or that makes what is checked.
type tool struct {
	name    string
	version []string // arguments that make it print its version, if any do
	out     bool     // was asked to be left out
	path    string   // empty: it is not there
}

// checker holds what a run needs.
type checker struct {
	dir      string
	manifest *manifest
	limit    time.Duration
	tools    []*tool
	scratch  string
	keep     string // where the proved checker is to stay, if anywhere
	also     string // more documents to compare its answers about, if any
}

func newChecker(dir, without string, limit time.Duration) (*checker, error) {
	if limit <= 0 {
		return nil, fmt.Errorf("-time-limit %v: want more than zero", limit)
	}
	c := &checker{dir: dir, limit: limit, tools: []*tool{
		{name: "z3", version: []string{"--version"}}, {name: "cvc5", version: []string{"--version"}},
		{name: "cadical", version: []string{"--version"}}, {name: "lrat-check"},
		{name: "coqc", version: []string{"--version"}}, {name: "ocamlfind", version: []string{"ocamlopt", "-version"}},
	}}
	for _, name := range strings.FieldsFunc(without, func(r rune) bool { return r == ',' }) {
		i := slices.IndexFunc(c.tools, func(t *tool) bool { return t.name == name })
		if i < 0 {
			return nil, fmt.Errorf("-without %q: want z3, cvc5, cadical, lrat-check, coqc, ocamlfind or some of them", name)
		}
		c.tools[i].out = true
	}
	var err error
	if c.manifest, err = readManifest(dir); err != nil {
		return nil, err
	}
	for _, t := range c.tools {
		t.path = find(t.name)
	}
	c.scratch, err = os.MkdirTemp("", "oraccl-proofs-")
	return c, err
}

func (c *checker) close() { os.RemoveAll(c.scratch) }

func (c *checker) tool(name string) *tool {
	return c.tools[slices.IndexFunc(c.tools, func(t *tool) bool { return t.name == name })]
}

// all checks everything, prints the table and returns the exit status.
func (c *checker) all(ctx context.Context, w io.Writer) int {
	rows := []row{{"claim", "by", "expected", "found", "time", ""}}
	var failed, missing []string
	failing := 0
	add := func(claim string, f finding) {
		rows = append(rows, f.row(claim))
		switch {
		case f.missing:
			missing = append(missing, f.by)
		case !f.left && !f.good():
			failed = append(failed, fmt.Sprintf("%s by %s: %s", claim, f.by, f.found))
		}
	}
	for _, o := range c.manifest.Obligations {
		if o.Fails {
			failing++
		}
		for _, f := range c.obligation(ctx, o) {
			add(o.File, f)
		}
	}
	for _, h := range c.manifest.Refutations {
		for _, f := range c.refutation(ctx, h) {
			add(h.name(), f)
		}
	}
	err := c.theorems(ctx, func(x theorem, f finding) { add("coq/"+x.File+".v "+x.Name, f) })
	if err != nil {
		failed = append(failed, err.Error())
	}
	c.provedChecker(ctx, add)
	printTable(w, rows)
	c.printTools(ctx, w)
	fmt.Fprintf(w, "%d obligations, of which %d is meant to fail, %d refutations, and %d theorems\n", len(c.manifest.Obligations), failing, len(c.manifest.Refutations), len(c.manifest.Theorems))
	for _, t := range c.tools {
		if t.out {
			fmt.Fprintf(w, "LEFT OUT as was asked: %s\n", t.name)
		}
	}
	slices.Sort(missing)
	for _, name := range slices.Compact(missing) {
		fmt.Fprintf(w, "MISSING: %s (make setup installs it where packages can be had; -without %s goes without)\n", name, name)
	}
	for _, f := range failed {
		fmt.Fprintf(w, "UNEXPECTED: %s\n", f)
	}
	switch {
	case len(failed) > 0:
		return 1
	case len(missing) > 0:
		return 2
	}
	fmt.Fprintln(w, "all as expected")
	return 0
}

// find returns the path of a program: in PATH, or where the set-up puts those that
// cannot go anywhere else.
func find(name string) string {
	if path, err := lookPath(name); err == nil {
		return path
	}
	path, err := filepath.Abs(filepath.Join(".deps", "tools", name))
	if err != nil {
		return ""
	}
	if info, err := os.Stat(path); err != nil || info.IsDir() {
		return ""
	}
	return path
}
