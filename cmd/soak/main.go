// Command soak runs the random tests and the fuzz targets of this module for a given time in all,
// divided among them, prints how many cases each of them tried, and fails if one does.
//
//	go run ./cmd/soak [-time 10m | -each 10s] [-run REGEXP] [-first SEED]
//
// A random test is one called TestSoak…: it takes the flags -soak.time, how long it goes on,
// and -soak.first, the seed of its first case, and prints the number of its cases after
// "soak:". The tests of this directory set the verifiers against implementations of
// verify/SPEC.md that are as plain as can be: an executor of schedules, a search for the
// best schedules of tiny problems, an interpreter of MSCCL-IR. In a plain "go test" they
// take seconds.
//
// The time is divided into two halves, one for the random tests and one for the fuzz targets;
// building comes on top. Run it in the top directory of the module. The exit status is 0 if
// nothing fails, 1 if something does, and 2 if it is not run to its end.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("soak", flag.ContinueOnError)
	flags.SetOutput(stderr)
	total := flags.Duration("time", 10*time.Minute, "`time` to try in all")
	each := flags.Duration("each", 0, "`time` to try each; 0: its part of -time")
	match := flags.String("run", "", "only those whose name matches this regular `expression`")
	first := flags.Uint64("first", 1, "`seed` of the first case of each random test")
	if err := flags.Parse(args); errors.Is(err, flag.ErrHelp) {
		return 0
	} else if err != nil {
		return 2
	}
	all, err := chosen(".", *match)
	if flags.NArg() > 0 {
		err = fmt.Errorf("argument %q: want flags alone", flags.Arg(0))
	}
	if err != nil {
		fmt.Fprintf(stderr, "soak: error: %v\n", err)
		return 2
	}
	divide(all, *total, *each)
	failed := 0
	for i := range all {
		t := &all[i]
		if ctx.Err() != nil {
			break
		}
		fmt.Fprintf(stdout, "%s in %s for %v\n", t.name, t.dir, t.time)
		switch t.try(ctx, *first); {
		case t.outcome == "FAILED":
			failed++
			fmt.Fprintf(stdout, "%s\n", t.output)
		case !t.fuzz():
			fmt.Fprintf(stdout, "  %s\n", ofTest.Find(t.output))
		}
	}
	table(stdout, all)
	switch {
	case failed > 0:
		fmt.Fprintf(stdout, "%d of %d failed\n", failed, len(all))
		return 1
	case ctx.Err() != nil:
		fmt.Fprintln(stderr, "soak: error: interrupted")
		return 2
	}
	return 0
}

// target is a test, or a fuzz target.
type target struct {
	dir, name string
	time      time.Duration

	ran     time.Duration
	cases   string // how many; empty: unknown
	outcome string // "ok", "FAILED", "interrupted"; empty: it did not run
	output  []byte
}

// fuzz reports whether t is a fuzz target.
func (t *target) fuzz() bool { return strings.HasPrefix(t.name, "Fuzz") }

var declared = regexp.MustCompile(`(?m)^func (TestSoak\w*)\(t \*testing\.T\)|^func (Fuzz\w+)\(f \*testing\.F\)`)

// chosen returns the targets below a directory whose names match, tests first. There is at
// least one.
func chosen(root, match string) ([]target, error) {
	pattern, err := regexp.Compile(match)
	if err != nil {
		return nil, fmt.Errorf("-run: %w", err)
	}
	var tests, fuzzers []target
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && path != root && (strings.HasPrefix(d.Name(), ".") || d.Name() == "vendor" || d.Name() == "testdata") {
			return filepath.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(path, "_test.go") {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, m := range declared.FindAllSubmatch(text, -1) {
			t := target{dir: "./" + filepath.ToSlash(filepath.Dir(path)), name: string(m[1]) + string(m[2])}
			switch {
			case !pattern.MatchString(t.name):
			case t.fuzz():
				fuzzers = append(fuzzers, t)
			default:
				tests = append(tests, t)
			}
		}
		return nil
	})
	if err == nil && len(tests)+len(fuzzers) == 0 {
		err = fmt.Errorf("no TestSoak and no Fuzz matches %q here, want the top directory of the module", match)
	}
	return append(tests, fuzzers...), err
}

// divide gives each target its time: each, or if that is 0 an equal part of the half of total
// that its kind has, or of the whole where there is one kind.
func divide(all []target, total, each time.Duration) {
	count := map[bool]int{}
	for i := range all {
		count[all[i].fuzz()]++
	}
	for i := range all {
		t := &all[i]
		if t.time = each; each == 0 {
			t.time = max(time.Second, (total / time.Duration(len(count)*count[t.fuzz()])).Round(time.Second))
		}
	}
}

var (
	ofTest = regexp.MustCompile(`soak: (\d+) cases.*`)
	ofFuzz = regexp.MustCompile(`execs: (\d+) `)
	// ofSeeds is what there is of a fuzz target that has not come to the end of the cases
	// that it knows: on a busy machine, in a short time.
	ofSeeds = regexp.MustCompile(`gathering baseline coverage: ([1-9]\d*)/`)
)

// try runs a target for its time.
func (t *target) try(ctx context.Context, first uint64) {
	timeout := fmt.Sprintf("-timeout=%v", t.time+10*time.Minute) // for what does not end
	args := []string{"test", "-count=1", "-v", timeout, "-run=^" + t.name + "$", t.dir, fmt.Sprintf("-soak.time=%v", t.time), fmt.Sprintf("-soak.first=%d", first)}
	if t.fuzz() {
		args = []string{"test", timeout, "-run=^$", "-fuzz=^" + t.name + "$", fmt.Sprintf("-fuzztime=%v", t.time), "-fuzzminimizetime=100x", t.dir}
	}
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 10 * time.Second
	begin := time.Now()
	var err error
	t.output, err = cmd.CombinedOutput()
	t.ran, t.cases = time.Since(begin), counted(t.output, t.fuzz())
	switch {
	case ctx.Err() != nil:
		t.outcome = "interrupted"
	case err != nil:
		t.outcome = "FAILED"
	case t.cases == "": // a test that tries nothing is no test
		t.outcome = "FAILED"
		t.output = append(t.output, "soak: it does not print how many cases it tried\n"...)
	default:
		t.outcome = "ok"
	}
}

// counted returns the number of cases that go test printed last.
func counted(output []byte, fuzz bool) string {
	patterns := []*regexp.Regexp{ofTest}
	if fuzz {
		patterns = []*regexp.Regexp{ofFuzz, ofSeeds}
	}
	for _, pattern := range patterns {
		if all := pattern.FindAllSubmatch(output, -1); all != nil {
			return string(all[len(all)-1][1])
		}
	}
	return ""
}

// table prints how many cases each target tried.
func table(out io.Writer, all []target) {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(out)
	fmt.Fprintln(w, "cases\twall s\t\t")
	for _, t := range all {
		fmt.Fprintf(w, "%s\t%.0f\t%s\t  %s %s\n", t.cases, t.ran.Seconds(), cmp.Or(t.outcome, "not run"), t.name, t.dir)
	}
	w.Flush()
}
