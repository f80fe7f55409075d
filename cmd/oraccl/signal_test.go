package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/cmd/oraccl/exit"
	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/topo"
	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/solve/certify"
)

// binary is the program, built once.
var binary = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "oraccl-test-")
	if err != nil {
		return "", err
	}
	name := filepath.Join(dir, "oraccl")
	out, err := exec.Command("go", "build", "-o", name, ".").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%w: %s", err, out)
	}
	return name, nil
})

// lines is stderr, in which a test waits for a phase.
type lines struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// slowest is how long the program may take to end on a busy machine. On an idle one it takes
// less than a second.
const slowest = 6 * time.Second

// TestSignalEndsEveryPhase starts verbs on instances that take minutes, waits until a phase
// has begun, and sends SIGTERM: the program ends with status 3, and what was found by then
// is printed and written.
func TestSignalEndsEveryPhase(t *testing.T) {
	oraccl, err := binary()
	require.NoError(t, err)
	for _, c := range []struct {
		name  string
		setup string // a line that is run before
		line  string
		phase string // a line of ORACCL_PROGRESS=lines
		after time.Duration
		out   string // what stdout says, or stderr
		file  string // what is written, and is right
	}{
		{name: "bound", line: "bound full:512 --collective alltoall", phase: "bounding", out: "interrupted"},
		{name: "bound JSON", line: "bound torus:48x48 --collective allgather --json", phase: "bounding", after: time.Second, out: `"stopped": "interrupted"|interrupted`},
		{name: "gap, bounds", line: "gap full:512 --collective alltoall --methods direct", phase: "bounding", out: "alltoall of 8 MiB, 512 ranks"},
		{name: "gap, exact", line: "gap torus:3x4 --collective alltoall --size 16MiB --methods direct,exact --time-limit 10m", phase: "exact: solving",
			out: `(?s)direct +144 .*Stopped early: it was interrupted|direct +144 .*had not ended`},
		{name: "solve, exact", line: "solve torus:3x4 --collective alltoall --size 16MiB --method exact --time-limit 10m -o best.json", phase: "exact: solving",
			out: "the warm start .* is better", file: "best.json"},
		{name: "solve, sat", line: "solve mesh:3x4 --collective allreduce --objective rounds --method sat --time-limit 10m -o best.json", phase: "sat: solving",
			after: 300 * time.Millisecond, out: "written to best.json", file: "best.json"},
		{name: "solve, placing", line: "solve torus:16x16 --collective allgather --size 256MiB --method direct --time-limit 10m", phase: "direct: solving", after: 100 * time.Millisecond, out: "direct: found no schedule: interrupted"},
		{name: "solve, forest", line: "solve torus:7x7 --collective allreduce --method forest --time-limit 10m", phase: "forest: solving", out: "(?s)allreduce .* 49 ranks.*interrupted"},
		{name: "solve, verifying", line: "solve mesh:10x10 --collective allreduce --size 64MiB --chunks 3 --method tacos --time-limit 10m -o best.json", phase: "tacos: verifying",
			out: "written to best.json", file: "best.json"},
		{name: "verify", setup: "solve mesh:12x12 --collective allreduce --size 64MiB --chunks 4 --method ring -o ring.json --time-limit 15s", line: "verify ring.json --engine smt", phase: "verify",
			after: 300 * time.Millisecond, out: "UNKNOWN"},
		{name: "throughput", line: "throughput torus:8x8 --collective allreduce", phase: "computing the fluid limit", after: 300 * time.Millisecond, out: "not found: it was interrupted"},
		{name: "frontier", line: "solve mesh:4x4 --collective alltoall --objective rounds --pareto --chunks 2", phase: "sat: 1 chunks", out: "undecided: .*interrupted|Stopped early"},
		{name: "sweep", line: "sweep --topologies torus:3x4 --collectives alltoall --sizes 16MiB --chunks 1 --methods direct,exact --time-limit 10m --workers 1 --dir results", phase: "sweep",
			after: 2 * time.Second, out: "interrupted: [01] of 2 cells are kept"},
		{name: "repro", line: "repro forestcoll -o report", phase: "repro", after: time.Second, out: "interrupted in forestcoll"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			if c.setup != "" {
				cmd := exec.Command(oraccl, strings.Fields(c.setup)...)
				cmd.Dir = dir
				out, err := cmd.CombinedOutput()
				var ended *exec.ExitError
				require.True(t, err == nil || errors.As(err, &ended) && ended.ExitCode() == exit.Unknown, "%s", out)
			}
			var stdout bytes.Buffer
			var stderr lines
			cmd := exec.Command(oraccl, strings.Fields(c.line)...)
			cmd.Dir, cmd.Env = dir, append(os.Environ(), "ORACCL_PROGRESS=lines")
			cmd.Stdout, cmd.Stderr = &stdout, &stderr
			require.NoError(t, cmd.Start())
			ended := make(chan error, 1)
			go func() { ended <- cmd.Wait() }()
			require.Eventually(t, func() bool { return strings.Contains(stderr.String(), "oraccl: "+c.phase) }, time.Minute, 10*time.Millisecond, "no phase %q", c.phase)
			time.Sleep(c.after)
			begin := time.Now()
			require.NoError(t, cmd.Process.Signal(syscall.SIGTERM), "%s has ended: the instance is too small\n%s%s", c.line, &stdout, &stderr)
			select {
			case err := <-ended:
				t.Logf("ended %v after the signal", time.Since(begin).Round(10*time.Millisecond))
				var ended *exec.ExitError
				require.ErrorAs(t, err, &ended, "%s%s", &stdout, &stderr)
				require.Equal(t, exit.Unknown, ended.ExitCode(), "%s%s", &stdout, &stderr)
			case <-time.After(slowest):
				_ = cmd.Process.Kill()
				<-ended
				t.Fatalf("runs on %v after the signal\n%s%s", slowest, &stdout, &stderr)
			}
			require.Regexp(t, c.out, stdout.String()+stderr.String())
			if c.file != "" {
				out, err := exec.Command(oraccl, "verify", "--engine", "replay", filepath.Join(dir, c.file)).CombinedOutput()
				require.NoError(t, err, "%s", out)
				require.Regexp(t, regexp.MustCompile(`^PROVED`), string(out))
			}
		})
	}
}

// TestTimeLimitIsForAll: bounds, methods and proofs together end with the time limit.
func TestTimeLimitIsForAll(t *testing.T) {
	oraccl, err := binary()
	require.NoError(t, err)
	for _, line := range []string{
		"gap torus:20x20 --collective alltoall --time-limit 2s --json",
		"bound full:256 --collective alltoall --time-limit 1s --json",
		"throughput torus:8x8 --collective allreduce --time-limit 1s --json",
		"solve mesh:11x12 --collective alltoall --time-limit 2s --json",
	} {
		t.Run(strings.Fields(line)[0], func(t *testing.T) {
			t.Parallel()
			limit, err := time.ParseDuration(regexp.MustCompile(`--time-limit (\S+)`).FindStringSubmatch(line)[1])
			require.NoError(t, err)
			begin := time.Now()
			cmd := exec.Command(oraccl, strings.Fields(line)...)
			var stdout, stderr bytes.Buffer
			cmd.Stdout, cmd.Stderr = &stdout, &stderr
			err = cmd.Run()
			took := time.Since(begin)
			t.Logf("%v: %v", limit, took.Round(10*time.Millisecond))
			require.Less(t, took, limit+slowest, "%s", &stderr)
			var ended *exec.ExitError
			require.ErrorAs(t, err, &ended, "%s", &stdout)
			require.Equal(t, exit.Unknown, ended.ExitCode(), "%s%s", &stdout, &stderr)
			if stdout.Len() > 0 { // there may be no bound at all in the time
				var j struct {
					Stopped string // why the evaluation ended; else why the method of a row did
					Rows    []struct{ Stop string }
				}
				require.NoError(t, json.Unmarshal(stdout.Bytes(), &j), "%s", &stdout)
				if strings.Contains(stderr.String(), "told to") {
					return // on a machine so busy that the program had to be ended
				}
				if j.Stopped == "" && len(j.Rows) > 0 {
					j.Stopped = j.Rows[0].Stop
				}
				require.Equal(t, solve.TimeLimit.String(), j.Stopped)
			}
		})
	}
}

// TestSharesOfTheTime: every method gets its share of one time limit, and what is found is
// reported after each.
func TestSharesOfTheTime(t *testing.T) {
	p := &model.Problem{Topology: topology(t, "ring:4"), Collective: model.Collective{Kind: model.AllGather}, Size: 4 << 20, Cost: model.Pipelined}
	var limits []time.Duration
	reports := 0
	ring, err := certify.MethodsNamed("ring")
	require.NoError(t, err)
	greedy := func(name string) solve.Solver { return &sleeper{Solver: ring[0], name: name, limits: &limits} }
	e := &certify.Evaluator{Methods: []solve.Solver{greedy("a"), greedy("b"), greedy("c")}, Named: true, Progress: certify.Silent{},
		Options: solve.Options{TimeLimit: 3 * time.Second}, Found: func(*certify.Report) { reports++ }}
	begin := time.Now()
	ev, err := e.Evaluate(context.Background(), p)
	require.NoError(t, err)
	require.Less(t, time.Since(begin), 3*time.Second+certify.Grace+slowest)
	require.Len(t, limits, 3)
	for _, l := range limits {
		require.Less(t, l, 2*time.Second)
		require.Greater(t, l, 300*time.Millisecond)
	}
	require.Len(t, ev.Rows, 3)
	require.Equal(t, 4, reports, "one with the bound alone, and one for each row")
}

// sleeper is a method that uses all of its time.
type sleeper struct {
	solve.Solver
	name   string
	limits *[]time.Duration
}

func (s *sleeper) Name() string { return s.name }

func (s *sleeper) Solve(ctx context.Context, p *model.Problem, o solve.Options) (solve.Result, error) {
	*s.limits = append(*s.limits, o.TimeLimit)
	b, cancel := o.Budget(ctx)
	defer cancel()
	<-b.Context().Done()
	r, err := s.Solver.Solve(context.WithoutCancel(ctx), p, solve.Options{})
	r.Stop = b.Stop()
	return r, err
}

// topology returns the topology of that name.
func topology(t *testing.T, name string) *model.Topology {
	tp, err := topo.Parse(name, topo.Options{})
	require.NoError(t, err)
	return tp
}
