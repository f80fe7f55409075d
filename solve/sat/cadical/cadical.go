// Package cadical asks the SAT solver CaDiCaL (Biere, Faller, Fazekas, Fleury, Froleyks,
// Pollitt, "CaDiCaL 2.0", CAV 2024; here 1.7) whether a formula can be satisfied, as a
// program of its own: it can be stopped at any time, and what it does to its memory is
// its own affair. A refutation is written to a file in the format LRAT (Cruz-Filipe,
// Heule, Hunt, Kaufmann, Schneider-Kamp, "Efficient certified RAT verification", CADE 2017).
//
// The program is that of the environment variable ORACCL_CADICAL, else the first
// "cadical" in PATH, else the one that the set-up put beside oraccl.
package cadical

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Answer is what the solver says. Its zero value is Unknown.
type Answer uint8

// The answers.
const (
	Unknown       Answer = iota // it was stopped before it knew
	Satisfiable                 // there is a model
	Unsatisfiable               // there is a refutation
)

// Formula is what is asked about.
type Formula interface {
	// Variables returns the largest number of a variable.
	Variables() int
	// WriteDIMACS writes the clauses in the format of SAT solvers.
	WriteDIMACS(io.Writer) error
}

// Options steer a run. The zero value is a good choice.
type Options struct {
	TimeLimit time.Duration // wall time, 0: none
	Seed      uint64        // equal seeds give equal runs
	Proof     string        // the file that the refutation is written to; empty: none is written
	Args      []string      // further options of the program
}

// Result is what came of a run.
type Result struct {
	Answer Answer
	Model  []bool // by variable, [0] unused; only if Satisfiable
}

// ErrMissing is wrapped by errors that say that there is no program to run, or none
// that writes LRAT.
var ErrMissing = errors.New("no CaDiCaL that writes LRAT (run make setup, or name one in ORACCL_CADICAL)")

// Find returns the path of the program, having let it refute a formula of two clauses.
// It looks once for each process.
var Find = sync.OnceValues(func() (string, error) {
	var tried []string
	for _, try := range candidates() {
		if err := probe(try); err != nil {
			tried = append(tried, fmt.Sprintf("%s: %v", try, err))
			continue
		}
		return try, nil
	}
	if tried != nil {
		return "", fmt.Errorf("%w: %s", ErrMissing, strings.Join(tried, "; "))
	}
	return "", ErrMissing
})

func candidates() []string {
	if named := os.Getenv("ORACCL_CADICAL"); named != "" {
		return []string{named}
	}
	var all []string
	if path, err := exec.LookPath("cadical"); err == nil {
		all = append(all, path)
	}
	if self, err := os.Executable(); err == nil {
		beside := filepath.Join(filepath.Dir(filepath.Dir(self)), ".deps", "tools", "cadical")
		if _, err := os.Stat(beside); err == nil {
			all = append(all, beside)
		}
	}
	return all
}

// probe asks for a proof that x and not x is false.
func probe(program string) error {
	dir, err := os.MkdirTemp("", "oraccl-cadical-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	cnf, proof := filepath.Join(dir, "no.cnf"), filepath.Join(dir, "no.lrat")
	if err := os.WriteFile(cnf, []byte("p cnf 1 2\n1 0\n-1 0\n"), 0o600); err != nil {
		return err
	}
	out, err := exec.Command(program, "-q", "--lrat", "--no-binary", cnf, proof).CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 20 {
		return fmt.Errorf("does not refute with --lrat: %v %s", err, bytes.TrimSpace(out))
	}
	if written, err := os.ReadFile(proof); err != nil || !bytes.Contains(written, []byte(" 0 ")) {
		return errors.New("writes no LRAT")
	}
	return nil
}

// Solve asks about f. When ctx ends or the limit is reached the answer is Unknown, and
// no error. It keeps the formula in a temporary file and needs disk space for the
// proof.
func Solve(ctx context.Context, f Formula, o Options) (Result, error) {
	program, err := Find()
	if err != nil {
		return Result{}, err
	}
	if o.TimeLimit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, o.TimeLimit)
		defer cancel()
	}
	dir, err := os.MkdirTemp("", "oraccl-cadical-")
	if err != nil {
		return Result{}, fmt.Errorf("cadical: %w", err)
	}
	defer os.RemoveAll(dir)
	cnf := filepath.Join(dir, "formula.cnf")
	if err := write(ctx, cnf, f); err != nil {
		if ctx.Err() != nil {
			return Result{}, nil
		}
		return Result{}, err
	}
	args := append([]string{"-q", fmt.Sprintf("--seed=%d", o.Seed%2_000_000_000)}, o.Args...)
	if o.Proof != "" {
		args = append(args, "--lrat", "--no-binary")
	}
	args = append(args, cnf)
	if o.Proof != "" {
		args = append(args, o.Proof)
	}
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 300 * time.Millisecond
	apart(cmd) // Ctrl-C at the terminal is ours to handle: it ends ctx
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err = cmd.Run()
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit) && exit.ExitCode() == 10:
		m, err := readModel(&stdout, f.Variables())
		return Result{Satisfiable, m}, err
	case errors.As(err, &exit) && exit.ExitCode() == 20:
		return Result{Answer: Unsatisfiable}, nil
	case ctx.Err() != nil || err == nil:
		return Result{}, nil
	}
	return Result{}, fmt.Errorf("cadical: %v: %s", err, strings.Join(strings.Fields(stderr.String()), " "))
}

func write(ctx context.Context, name string, f Formula) error {
	file, err := os.Create(name)
	if err != nil {
		return fmt.Errorf("cadical: %w", err)
	}
	err = f.WriteDIMACS(until{ctx, file})
	return errors.Join(err, file.Close())
}

// until is a writer that fails when its context is done.
type until struct {
	ctx context.Context
	io.Writer
}

func (u until) Write(b []byte) (int, error) {
	if err := u.ctx.Err(); err != nil {
		return 0, err
	}
	return u.Writer.Write(b)
}

// readModel reads lines "v 1 -2 3 ... 0".
func readModel(r io.Reader, variables int) ([]bool, error) {
	m := make([]bool, variables+1)
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		values, ok := strings.CutPrefix(lines.Text(), "v ")
		if !ok {
			continue
		}
		for _, word := range strings.Fields(values) {
			l, err := strconv.Atoi(word)
			if err != nil || max(l, -l) > variables {
				return nil, fmt.Errorf("cadical: %q in the model, want a literal of variables up to %d", word, variables)
			}
			if l > 0 {
				m[l] = true
			}
		}
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("cadical: the model: %w", err)
	}
	return m, nil
}
