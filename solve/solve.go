// Package solve defines what a method is: something that takes a model.Problem
// and returns a schedule for it, a bound on every schedule, or both, and reports
// why it stopped. The methods are in the packages below.
//
// Nothing here is trusted. A result reaches the user only after the packages
// under verify, which share no code with this one, have agreed.
package solve

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/oraccl/oraccl/model"
)

// Solver is a method.
type Solver interface {
	// Name is the method's name on the command line: "ring", "exact".
	Name() string

	// About states what the method is, for tables and manuals.
	About() About

	// Serves returns nil if the method can work on p, or an error that explains why
	// not, wrapping ErrNotServed. It does no work beyond O(size of p).
	Serves(p *model.Problem) error

	// Solve returns the best schedule that it finds for p. If p has no chunks,
	// the method chooses the cut; else it keeps to p's. It stops when ctx is
	// done or a limit of o is reached, and returns what it has by then: that is
	// a result, not an error. It calls Serves itself. An error means that the
	// question could not be asked or that the backend failed.
	Solve(ctx context.Context, p *model.Problem, o Options) (Result, error)
}

// About describes a method. Its texts are phrases in Markdown; Serves decides at each
// call what About.Serves summarises.
type About struct {
	Serves    string // which collectives, on which networks, up to which size
	Guarantee string // what is certain of the schedules it returns; "none" for heuristics
	Source    string // the paper, or the package where it is new

	// LateOnly marks a method that makes sense only where a rank is late. It runs
	// elsewhere only if it is asked for by name.
	LateOnly bool

	// SwitchesOnly marks a method that serves networks with switches that add or copy, and no others.
	// It is not mentioned elsewhere unless it is asked for by name.
	SwitchesOnly bool

	// ComparisonOnly marks a method that another one always equals or beats where both
	// serve, or that takes long for what it finds. It runs only if it is asked for by name.
	ComparisonOnly bool

	// Quick marks a method that takes milliseconds where it serves some hundred ranks.
	Quick bool

	// Leads reports whether the method usually finds the best schedule for p. Where methods share a time limit it runs
	// before all that are not Quick. nil: no problem is of that kind.
	Leads func(p *model.Problem) bool

	// WarmStart marks a method that begins from Options.Start and returns nothing worse.
	WarmStart bool

	// Uses is which of the options that steer a search have an effect on the method.
	Uses Uses

	// NeedsCut reports whether the method wants the cut of p to be chosen for it where p
	// leaves it open. A caller may then pass bounds that hold for that cut alone. nil: the
	// method chooses the cut of every such problem itself.
	NeedsCut func(p *model.Problem) bool
}

// Uses is a set of options that have an effect on a method.
type Uses uint8

// The options that a method may leave out of account.
const (
	UsesSeed   Uses = 1 << iota // Options.Seed
	UsesTries                   // Options.Tries
	UsesEffort                  // Options.Effort
	UsesUnwind                  // Options.Unwind
)

// AlwaysNeedsCut is About.NeedsCut of a method that never chooses the cut.
func AlwaysNeedsCut(*model.Problem) bool { return true }

// ErrNotServed matches, by errors.Is, the errors of Serves.
var ErrNotServed = errors.New("not served")

// notServed is why a method does not serve a problem.
type notServed string

func (n notServed) Error() string { return string(n) }

func (notServed) Is(target error) bool { return target == ErrNotServed }

// NotServed returns an error that explains why a method does not serve a problem.
func NotServed(format string, args ...any) error {
	return notServed(fmt.Sprintf(format, args...))
}

// Options steer a solver. The zero value is a good choice.
type Options struct {
	// TimeLimit is the wall time after which the solver stops with the best it
	// has. 0: no limit.
	TimeLimit time.Duration

	// Seed makes random choices; equal seeds give equal schedules.
	Seed uint64

	// Threads is the number of threads to use. 0: as many as there are cores.
	Threads int

	// Chunks is the number of chunks a member that a method should cut the
	// buffer into where the problem leaves the cut to it (see
	// model.Problem.DefaultChunks). 0: as the method likes.
	Chunks int

	// Tries is how many attempts with different random choices a method that makes
	// some is to make, keeping the best; equal seeds and tries give equal schedules. It
	// may stop after fewer where no attempt can be better. 0: as the method likes.
	Tries int

	// Effort is how many times its usual work a method that improves its schedules is to put
	// into that; equal seeds, tries and efforts give equal schedules. 0: once;
	// negative: not at all.
	Effort int

	// Unwind asks a method that can do so to plan as if each rank had, in place of its
	// switches, links of its own to this many others, each with that part of the bandwidth.
	// 0: switches are what they are.
	Unwind int

	// MostTransfers is how many transfers the caller has the time to verify, and to write: of longer schedules it has no use. A method may
	// leave it out of account whose schedules are short. 0: any number. See AtMost.
	MostTransfers int

	// Start is a schedule to begin from (a warm start), with its problem, or nil. A
	// method that cannot use one ignores it.
	Start *Result

	// StartFrom is the name of the method that found Start, for notes.
	StartFrom string

	// Bound is a lower bound on the makespan that the caller knows to be true. A
	// method may stop as soon as it reaches it. 0: none.
	Bound model.Time

	// Best is the makespan of what others have found, of any cut: a method that learns that
	// it will find nothing shorter may stop, with what it has. 0: others have nothing.
	Best model.Time

	// Enough is a makespan that satisfies the caller: a method may stop as soon as it
	// reaches it. 0: none does.
	Enough model.Time

	// Scratch is a directory for files that belong to the result, such as proofs. "":
	// a method leaves out what it would put there.
	Scratch string

	// Refute asks for a proof that there is nothing better even where Bound says so.
	Refute bool

	// Progress, if not nil, is called now and then from one goroutine at a time.
	Progress func(Progress)
}

// WarmStart names o.Start in a note: "the warm start (from tacos)".
func (o Options) WarmStart() string {
	if o.StartFrom == "" {
		return "the warm start"
	}
	return "the warm start (from " + o.StartFrom + ")"
}

// Cut returns p with chunks: its own or, where the cut is left to the method, k per member, at
// least one and no more than there are bytes.
func Cut(p *model.Problem, k int) *model.Problem {
	if p.Chunks != nil {
		return p
	}
	return p.WithChunks(int(min(int64(p.DefaultChunks(max(1, k))), p.Space())))
}

// Progress tells how far a solver has come.
type Progress struct {
	Incumbent model.Time // the best makespan so far; 0: none yet
	Bound     model.Time // what the solver believes to be a lower bound; 0: none yet
	Note      string     // what it is doing
}

// Stop explains why a solver stopped.
type Stop uint8

// The reasons to stop.
const (
	// Done: the method came to its end. Heuristics do.
	Done Stop = iota + 1
	// Optimal: the method believes that no schedule is better in the model that
	// it solved. That is the solver's claim, no proof.
	Optimal
	// Infeasible: the method believes that there is no schedule.
	Infeasible
	// TimeLimit: Options.TimeLimit or a deadline was reached.
	TimeLimit
	// Interrupted: the context was cancelled.
	Interrupted
)

// String returns a word for s.
func (s Stop) String() string {
	switch s {
	case Done:
		return "done"
	case Optimal:
		return "solver-optimal"
	case Infeasible:
		return "infeasible"
	case TimeLimit:
		return "time limit"
	case Interrupted:
		return "interrupted"
	}
	return fmt.Sprintf("Stop(%d)", uint8(s))
}

// Result is what a solver has when it stops.
type Result struct {
	Problem  *model.Problem  // the problem with its cut; never nil
	Schedule *model.Schedule // nil: none was found
	Stop     Stop
	Raw      string // the backend's own word for why it stopped, if there is a backend
	Note     string // a remark for the user: parameters chosen, sizes, what was left out

	// Refuted are horizons within which the method says that no schedule of Problem
	// ends, the largest last.
	Refuted []Refuted

	// More goes on where the method stopped, for TimeLimit more, and returns what it has found
	// from its beginning on: at least as good a schedule. Of the options it takes TimeLimit,
	// Bound, Enough and Progress, and may take MostTransfers. It is nil if the method does not know how, or has no more to try.
	More func(ctx context.Context, o Options) (Result, error)

	// Coarser is another schedule, with far fewer transfers, for callers that may have no time to verify Schedule. nil: none.
	Coarser *Result

	// Models are programs that the method solved, or that what it knows answers, for others
	// to solve again: files in Options.Scratch.
	Models []Model
}

// Model is a mixed-integer program in the format MPS. It has a solution if and only if
// there is a schedule, of Problem or of a stage of it, within Horizon epochs of Epoch each,
// or rounds if Epoch is 0, in which every duration is a whole number of epochs, rounded up.
type Model struct {
	File     string
	Epoch    model.Time
	Horizon  int
	Feasible bool // what the method says
}

// Refuted says that no schedule ends within Horizon epochs of Epoch each, or rounds if
// Epoch is 0, or that none does so in Steps steps. Proof is the file with the evidence,
// in the format LRAT, for the formula of section 10 of verify/SPEC.md.
type Refuted struct {
	Epoch   model.Time
	Horizon int
	Steps   int
	Proof   string
}

// Makespan returns the makespan of the schedule, or 0 if there is none.
func (r Result) Makespan() model.Time {
	if r.Schedule == nil {
		return 0
	}
	return r.Problem.Makespan(r.Schedule)
}
