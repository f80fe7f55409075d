package highs

import "fmt"

// Status explains why a run stopped. All but Unknown are answers. They are the
// solver's claim, found in floating point, and no proof.
type Status uint8

const (
	// Unknown: the solver gave no answer; Result.RawStatus has its own word.
	Unknown Status = iota
	// Optimal: the values are optimal within the tolerances and Options.MIPGap.
	Optimal
	// Infeasible: no values satisfy the model. With Options.Cutoff: none that are
	// at least as good as the cutoff.
	Infeasible
	// Unbounded: there are feasible values of any quality.
	Unbounded
	// InfeasibleOrUnbounded: one of the two, and the solver stopped before it
	// knew which. A model without costs is never called so, but Infeasible.
	InfeasibleOrUnbounded
	// TimeLimit: Options.TimeLimit or the context's deadline was reached.
	TimeLimit
	// Interrupted: the context was cancelled.
	Interrupted
	// NodeLimit: Options.NodeLimit was reached.
	NodeLimit
	// IterationLimit: a limit on iterations within the solver was reached.
	IterationLimit
	// Target: an incumbent at least as good as Options.Target was found.
	Target
)

var statusNames = [...]string{"unknown", "optimal", "infeasible", "unbounded", "infeasible or unbounded",
	"time limit", "interrupted", "node limit", "iteration limit", "target reached"}

// String returns a word or two for s.
func (s Status) String() string {
	if int(s) < len(statusNames) {
		return statusNames[s]
	}
	return fmt.Sprintf("Status(%d)", uint8(s))
}

// modelStatus is HiGHS' own status: its word for it and ours.
type modelStatus struct {
	name   string
	status Status
}

// modelStatuses is indexed by HiGHS' kHighsModelStatus constants, which are part
// of its ABI; the names are those that it logs.
var modelStatuses = [...]modelStatus{
	0:  {"Not Set", Unknown},
	1:  {"Load error", Unknown},
	2:  {"Model error", Unknown},
	3:  {"Presolve error", Unknown},
	4:  {"Solve error", Unknown},
	5:  {"Postsolve error", Unknown},
	6:  {"Empty", Unknown},
	7:  {"Optimal", Optimal},
	8:  {"Infeasible", Infeasible},
	9:  {"Primal infeasible or unbounded", InfeasibleOrUnbounded},
	10: {"Unbounded", Unbounded},
	11: {"Bound on objective reached", Unknown},
	12: {"Target for objective reached", Target},
	13: {"Time limit reached", TimeLimit},
	14: {"Iteration limit reached", IterationLimit},
	15: {"Unknown", Unknown},
	16: {"Solution limit reached", NodeLimit},
	17: {"Interrupted by user", Interrupted},
	18: {"Memory limit reached", Unknown},
}

func lookUpStatus(code int) modelStatus {
	if code < 0 || code >= len(modelStatuses) {
		return modelStatus{fmt.Sprintf("model status %d", code), Unknown}
	}
	return modelStatuses[code]
}
