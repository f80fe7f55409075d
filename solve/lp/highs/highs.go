// Package highs asks the HiGHS solver for good or optimal values of an
// lp.Model, and for a bound on all of them.
//
// HiGHS computes in floating point, within tolerances of about 1e-6. Nothing
// that comes back is proved: the caller rounds the values (lp.Model.Round),
// re-checks them exactly (lp.Model.Check), and takes a bound as a hint unless
// it is proved otherwise (lp.Model.DualBound).
//
// This is the only package that uses github.com/lanl/highs, and the only one
// under solve with cgo. That binding builds the solver's object and sets its
// options; a small C++ shim loads, runs and stops it, because the binding's own
// Solve frees the solver while it still reads from it and loses the incumbent
// and the bound of a run that was stopped. An exception on one of HiGHS' worker
// threads (Options.Threads > 1) still ends the process; one on its main thread
// becomes an error.
//
// Without cgo the package builds, and Solve returns ErrNotInBuild.
package highs

import (
	"errors"
	"fmt"
	"io"
	"math"
	"time"

	"github.com/oraccl/oraccl/solve/lp"
)

// ErrNotInBuild is why a program that was built without cgo solves no model.
var ErrNotInBuild = errors.New("HiGHS is not in this build, which was made without cgo; make build makes one that has it")

// Options steer a run. The zero value asks for a proven optimum, however long it takes.
type Options struct {
	// TimeLimit is the wall time after which the run stops with the best it has;
	// a deadline of the context counts likewise. 0: no limit.
	TimeLimit time.Duration

	// Threads is the number of threads. 0: one, so that the same model gets the
	// same answer on every machine; HiGHS gains little from more.
	Threads int

	// MIPGap is the relative gap, |objective-bound| / |objective|, at which a MIP
	// counts as optimal. Besides, an absolute gap of 1e-6 always does.
	MIPGap float64

	// Seed makes the solver's random choices.
	Seed uint64

	// NodeLimit is the number of branch-and-bound nodes after which a MIP stops.
	// Unlike TimeLimit it gives the same answer on every machine. 0: no limit.
	NodeLimit int

	// Start has a value for every column from which to begin: a MIP takes it for
	// its first incumbent if it is feasible, else for a hint, or not at all. nil:
	// the start vector of the model, if it has one.
	Start []float64

	// Cutoff, if not nil, demands an objective at least as good, which prunes the
	// search. If there is nothing as good, the status is Infeasible. The cutoff
	// is a row of the model that is solved: let it be worse than the value looked
	// for by more than the tolerance.
	Cutoff *float64

	// Target, if not nil, stops a MIP at an incumbent that is at least as good,
	// for instance one that reaches a bound known to the caller.
	Target *float64

	// Method is the way to solve an LP: "simplex", "ipm" or "pdlp". "": HiGHS chooses.
	Method string

	// Progress, if not nil, is called about ten times a second while the solver
	// runs, from the goroutine that called Solve. The solver does not wait for it.
	Progress func(Progress)

	// Log, if not nil, receives what HiGHS prints, from the same goroutine. Its
	// errors are ignored.
	Log io.Writer
}

// Progress tells how far a run has come.
type Progress struct {
	Elapsed      time.Duration
	Incumbents   int     // improving solutions found so far; the start is one if it was taken
	Objective    float64 // of the latest of them; only if Incumbents > 0
	DualBound    float64 // infinite as long as there is none
	Nodes        int64   // of branch and bound
	LPIterations int64
}

// Result is what a run has when it stops. What was found before a limit or a
// cancellation is in it.
type Result struct {
	Status    Status
	RawStatus string // the solver's own word for Status

	// HasSolution says that Values are feasible within the tolerances; else
	// Values is nil, and Objective is no number.
	HasSolution bool
	Objective   float64
	Values      []float64 // one a column

	// DualBound is what the solver believes no values can beat: a lower bound on
	// the objective of Minimise, an upper bound for Maximise. It is infinite (-Inf
	// for Minimise, +Inf for Maximise) where the solver knows of none. For
	// Infeasible without a cutoff it is infinite the other way round.
	DualBound float64

	// Gap is |Objective-DualBound| / |Objective|: 0 if they are equal, +Inf if
	// there is no solution or no bound.
	Gap float64

	// RowDuals and ReducedCosts are those of an LP without a cutoff, else nil: the
	// rate at which the optimum grows with a row's active bound and with a
	// column's. RowDuals are multipliers for lp.Model.DualBound.
	RowDuals, ReducedCosts []float64

	Nodes        int64 // of branch and bound
	LPIterations int64
	Elapsed      time.Duration

	// Rounded says how many numbers of the model have no exact float64. The
	// solver saw a model that differs from the one given in this many places.
	Rounded int
}

// validate returns an error if an option is out of its range.
func (o *Options) validate(m *lp.Model) error {
	switch {
	case o.TimeLimit < 0:
		return fmt.Errorf("time limit %v, want >= 0", o.TimeLimit)
	case o.Threads < 0 || o.Threads > maxThreads:
		return fmt.Errorf("%d threads, want 0 to %d", o.Threads, maxThreads)
	case !(o.MIPGap >= 0): // not a number either
		return fmt.Errorf("MIP gap %v, want >= 0", o.MIPGap)
	case o.NodeLimit < 0 || o.NodeLimit > math.MaxInt32:
		return fmt.Errorf("node limit %d, want 0 to %d", o.NodeLimit, math.MaxInt32)
	case o.Cutoff != nil && !finite(*o.Cutoff):
		return fmt.Errorf("cutoff %v, want a finite number", *o.Cutoff)
	case o.Target != nil && !finite(*o.Target):
		return fmt.Errorf("target %v, want a finite number", *o.Target)
	case o.Method != "" && o.Method != "simplex" && o.Method != "ipm" && o.Method != "pdlp":
		return fmt.Errorf("method %q, want simplex, ipm or pdlp", o.Method)
	case o.Start != nil && len(o.Start) != m.NumColumns():
		return fmt.Errorf("start has %d values for %d columns", len(o.Start), m.NumColumns())
	case m.Start != nil && len(m.Start) != m.NumColumns():
		return fmt.Errorf("the model's start has %d values for %d columns", len(m.Start), m.NumColumns())
	}
	return nil
}

// maxThreads keeps a slip of the pen from starting a million threads.
const maxThreads = 1024

func finite(x float64) bool { return !math.IsInf(x, 0) && !math.IsNaN(x) }
