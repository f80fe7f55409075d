package oraccl

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/topo"
	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/solve/certify"
	"github.com/oraccl/oraccl/verify"
	"github.com/oraccl/oraccl/verify/smt"
)

// NewProblem returns the problem of a collective ("allgather", "allreduce", …) with a buffer
// of size bytes per rank, as NCCL-tests counts it, on a topology that package topo names
// ("dgx1", "torus:8x8", …). A transfer occupies a link for as long as its bytes take, and
// arrives a latency later (model.Pipelined); every rank takes part and is there from the start; the root is
// rank 0; the cut of the buffer into chunks is left to the methods. Change the fields of the
// result for anything else.
func NewProblem(topology, collective string, size int64) (*model.Problem, error) {
	t, err := topo.Parse(topology, topo.Options{})
	if err != nil {
		return nil, err
	}
	kind, err := model.ParseKind(collective)
	if err != nil {
		return nil, err
	}
	p := &model.Problem{Topology: t, Collective: model.Collective{Kind: kind}, Size: size, Cost: model.Pipelined}
	return p, p.Validate()
}

// Options choose methods and limit the work. The zero value runs every method that serves
// the problem.
type Options struct {
	Methods   []string       // names, as certify.Methods has them; nil: all that serve the problem, or none if there are Solvers
	Solvers   []solve.Solver // methods of your own
	TimeLimit time.Duration  // wall time for all of it: bounds, methods and proofs; 0: one minute
	Seed      uint64         // of random choices; equal seeds give equal schedules. 0: 1
	Threads   int            // 0: as many as there are cores

	// Given are schedules of your own, or of other tools, that Gap compares with what the methods
	// find. Each is for the problem that Gap gets, with a cut of its own.
	Given []certify.Given
}

// Gap runs methods on a problem. The report has a row for each schedule, verified by exact
// replay and by SMT, the proved ones first and the shortest of them first; the largest lower
// bound that was found, its certificate checked; and why other methods were left out. When
// the time is over, or ctx is done, Gap returns within certify.Grace, and the report has what
// was found by then. An error means that the question could
// not be asked, or that two checkers contradict each other.
func Gap(ctx context.Context, p *model.Problem, o Options) (*certify.Report, error) {
	e, err := o.evaluator()
	if err != nil {
		return nil, err
	}
	defer e.Close()
	return e.Evaluate(ctx, p)
}

// Solve runs methods on a problem and returns the proved schedule with the least makespan,
// beside the bounds that are known for it. If o names no methods, those that usually win
// come first, and the others run only as long as none is proved to be within
// certify.UsuallyEnough of the bound. An error means that there is none, and why, or
// what Gap's error means.
func Solve(ctx context.Context, p *model.Problem, o Options) (*certify.Row, error) {
	e, err := o.evaluator()
	if err != nil {
		return nil, err
	}
	defer e.Close()
	if !e.Named {
		e.Enough = certify.UsuallyEnough
	}
	report, err := e.Evaluate(ctx, p)
	if err != nil {
		return nil, err
	}
	if best := report.Best(); best != nil {
		return best, nil
	}
	var why []string
	for _, r := range report.Rows {
		why = append(why, fmt.Sprintf("%s: %v %s", r.Method, r.Outcome(), r.Verdict.Reason))
	}
	for _, l := range report.LeftOut {
		why = append(why, l.Method+": "+l.Reason)
	}
	return nil, fmt.Errorf("no proved schedule for %v: %s", p, strings.Join(why, "; "))
}

// Verify decides whether s is right for p, by exact replay and by SMT. The verdict is proved
// if replay proves it, even where SMT gives up, as its Basis then tells. An error means that
// the engines contradict each other: one of them is wrong.
func Verify(ctx context.Context, p *model.Problem, s *model.Schedule) (verify.Verdict, error) {
	v, err := certify.Verify(ctx, p, s, smt.Options{}, certify.Engines)
	return v.Verdict, err
}

// Bound returns the largest lower bound on the makespan of every right schedule of p that it
// finds, with a certificate that was checked, or nil if there is none above zero. Where p
// leaves the cut open, the bound holds for every cut.
func Bound(ctx context.Context, p *model.Problem) (*model.Certificate, error) {
	return certify.Bound(ctx, p)
}

// evaluator returns what runs the methods that o asks for. It must be closed.
func (o Options) evaluator() (*certify.Evaluator, error) {
	methods := certify.Methods()
	if o.Methods != nil {
		var err error
		if methods, err = certify.MethodsNamed(o.Methods...); err != nil {
			return nil, err
		}
	} else if o.Solvers != nil {
		methods = nil
	}
	if o.TimeLimit == 0 {
		o.TimeLimit = time.Minute
	}
	scratch, err := os.MkdirTemp("", "oraccl-")
	if err != nil {
		return nil, err
	}
	return &certify.Evaluator{
		Methods: append(methods, o.Solvers...), Named: o.Methods != nil || o.Solvers != nil, Scratch: scratch,
		Options:  solve.Options{TimeLimit: o.TimeLimit, Seed: max(1, o.Seed), Threads: o.Threads},
		SMT:      smt.Options{Timeout: o.TimeLimit, Threads: o.Threads},
		Given:    o.Given,
		Progress: certify.Silent{}, WarmStart: true, ChooseCuts: true,
	}, nil
}
