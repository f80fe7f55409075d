package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/oraccl/oraccl/cmd/oraccl/session"
	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/format/topologies"
	"github.com/oraccl/oraccl/model/instance"
	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/solve/certify"
	"github.com/oraccl/oraccl/verify/smt"
	"github.com/spf13/cobra"
)

// problemFlags holds the flags that describe a problem; solve, gap and bound share them.
type problemFlags struct {
	instance.Flags

	// figure takes of each range in --alpha and --bandwidth the value of the problem; nil: the verb takes no ranges.
	figure func(instance.Range) int64
	ranges []instance.Range
	asked  instance.Flags // with them
}

// addFlags declares the flags of an instance.
func (in *problemFlags) addFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	in.Define(f)
	in.DefineCut(f)
	in.DefineFile(f)
	in.addFail(cmd)
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if in.File != "" {
			return cobra.NoArgs(cmd, args)
		}
		return cobra.ExactArgs(1)(cmd, args)
	}
}

// addCompared declares the flags of an instance without its cut.
func (in *problemFlags) addCompared(cmd *cobra.Command) {
	in.Define(cmd.Flags())
	in.addFail(cmd)
}

func (in *problemFlags) addFail(cmd *cobra.Command) {
	f := cmd.Flags()
	f.Lookup("straggler").DefValue = "0" // -1 is nobody, which the help need not say
	f.StringSliceVar(&in.Fail, "fail", nil, instance.FailUsage)
}

// problem reads the problem of --problem, or builds the one that the flags describe on the topology
// that is the only argument.
func (in *problemFlags) problem(cmd *cobra.Command, args []string) (*model.Problem, error) {
	topology := ""
	if in.File == "" {
		topology = args[0]
	}
	enter(cmd, "reading "+topology+in.File)
	if err := in.pick(); err != nil {
		return nil, err
	}
	p, err := in.Problem(topologies.Files{Context: cmd.Context()}, topology)
	if err == nil && len(in.ranges) > 0 {
		t := *p.Topology
		t.Notes = slices.Clone(t.Notes)
		for _, r := range in.ranges {
			t.Notes.Add(model.Fact, "%s: the schedules and bounds are for %s", r.Words, r.Quantity(in.figure(r)))
		}
		p.Topology = &t
	}
	return p, err
}

// pick puts a value in place of each range.
func (in *problemFlags) pick() (err error) {
	if in.ranges, err = in.Ranges(); err != nil || len(in.ranges) == 0 {
		return err
	}
	if in.figure == nil {
		return in.ranges[0].Refused()
	}
	in.asked = in.Flags
	var values []int64
	for _, r := range in.ranges {
		values = append(values, in.figure(r))
	}
	in.Flags = *in.asked.At(in.ranges, values)
	return nil
}

// uncertain returns the problem for all values of the ranges, nil where there are none.
func (in *problemFlags) uncertain(ctx context.Context, args []string) *certify.Uncertain {
	if len(in.ranges) == 0 {
		return nil
	}
	u := &certify.Uncertain{At: func(values []int64) (*model.Problem, error) {
		return in.asked.At(in.ranges, values).Problem(topologies.Files{Context: ctx}, args[0])
	}}
	for _, r := range in.ranges {
		u.Axes = append(u.Axes, certify.Axis{Words: r.Words, Fast: r.Fast, Slow: r.Slow})
	}
	return u
}

// begin reads the problem of a verb, begins its time limit, and enters its first phase. Call
// the returned function when the verb is done.
func (in *problemFlags) begin(cmd *cobra.Command, args []string, limit time.Duration, phase string) (*model.Problem, context.Context, context.CancelFunc, error) {
	p, err := in.problem(cmd, args)
	if err == nil {
		err = checkTimeLimit(limit)
	}
	if err != nil {
		return nil, nil, nil, err
	}
	ctx, done := session.Of(cmd.Context()).Limited(cmd.Context(), limit)
	enter(cmd, phase)
	return p, ctx, done, nil
}

// loadTopology reads a topology file, or builds the topology of that name.
func loadTopology(ctx context.Context, name, alpha, bandwidth string) (*model.Topology, error) {
	return instance.LoadTopology(topologies.Files{Context: ctx}, name, alpha, bandwidth)
}

// effort holds the flags that say how hard to work.
type effort struct {
	timeLimit time.Duration
	seed      uint64
	threads   int
	tries     int
	times     int // --effort
	unwind    int
}

// addFlags adds the flags with a usual time limit and a remark on it.
func (f *effort) addFlags(cmd *cobra.Command, limit time.Duration, remark string) {
	addTimeLimit(cmd, &f.timeLimit, limit, "wall `time` in total: bounds, methods and proofs"+remark)
	cmd.Flags().Uint64Var(&f.seed, "seed", 1, "seed of random choices; equal seeds give equal schedules")
	cmd.Flags().IntVar(&f.times, "effort", 0, "effort of improving schedules, in `times` the default; -1 for none (default: 1): tacos, forest, paths, cayley, exact, quotient")
	cmd.Flags().IntVar(&f.tries, "tries", 0, "tacos: number of `seeds` to try, of which the best schedule is kept (default: as many as fit a fixed amount of work)")
	cmd.Flags().IntVar(&f.unwind, "unwind", 0, "tacos: plan as if each rank had, in place of switches, links to the next `D` ranks with a D-th of the bandwidth each; "+
		"what comes of that is timed and verified over the switches as they are (default: plan for these)")
	cmd.Flags().IntVar(&f.threads, "threads", 0, "threads to use (default: as many as cores)")
}

// addTimeLimit adds the flag --time-limit with its default.
func addTimeLimit(cmd *cobra.Command, limit *time.Duration, usual time.Duration, usage string) {
	cmd.Flags().DurationVar(limit, "time-limit", usual, usage)
}

// checkTimeLimit refuses what is no limit.
func checkTimeLimit(limit time.Duration) error {
	if limit <= 0 {
		return fmt.Errorf("--time-limit %v: want more than zero", limit)
	}
	return nil
}

// maxTries and maxEffort limit --tries and --effort.
const (
	maxTries  = 1 << 20
	maxEffort = 1 << 20
)

// check returns an error for a flag that is out of range.
func (f *effort) check() error {
	if f.threads < 0 {
		return fmt.Errorf("--threads %d: want 0 or more", f.threads)
	}
	if f.tries < 0 || f.tries > maxTries {
		return fmt.Errorf("--tries %d: want 1 to %d, or 0 for the method's own", f.tries, maxTries)
	}
	if f.times < -1 || f.times > maxEffort {
		return fmt.Errorf("--effort %d: want 1 to %d, -1 for none, or 0 for the method's own", f.times, maxEffort)
	}
	if f.unwind < 0 || f.unwind > model.MaxNodes {
		return fmt.Errorf("--unwind %d: want a degree of 1 to %d, or 0 to leave switches as they are", f.unwind, model.MaxNodes)
	}
	return checkTimeLimit(f.timeLimit)
}

// evaluator returns an evaluator of the named methods, all of them for "".
func (f *effort) evaluator(cmd *cobra.Command, methods string) (*certify.Evaluator, error) {
	if err := f.check(); err != nil {
		return nil, err
	}
	chosen, err := certify.MethodsListed(methods)
	if err != nil {
		return nil, err
	}
	s := session.Of(cmd.Context())
	scratch, err := s.Scratch()
	if err != nil {
		return nil, err
	}
	return &certify.Evaluator{
		Scratch:  scratch,
		Methods:  chosen,
		Named:    methods != "",
		Options:  solve.Options{TimeLimit: f.timeLimit, Seed: f.seed, Threads: f.threads, Tries: f.tries, Effort: f.times, Unwind: f.unwind},
		SMT:      smt.Options{Timeout: f.timeLimit, Threads: f.threads},
		Progress: s,
	}, nil
}

// ofWorkload is what solve, gap and bound do where a workload stands in place of a topology.
type ofWorkload struct {
	flags   []string // that have an effect then
	methods string   // with commas; "": all
	best    bool     // solve: only what is shorter than the best so far is verified, and only that printed
	bound   bool     // bound: no method runs
	out     string   // file of the schedule, or of the bound
	proofs  string
	gate    *model.Gap
	limit   time.Duration
	asJSON  bool
}
