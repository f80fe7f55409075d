package certify

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/verify"
	"github.com/oraccl/oraccl/verify/replay"
	"github.com/oraccl/oraccl/verify/smt"
	"github.com/oraccl/oraccl/verify/smt/z3"
)

// Engines are the verifiers that every schedule passes, in the order of columns.
var Engines = []string{"replay", "smt"}

// Backend answers the smt engine's queries.
var Backend = z3.New()

// engine decides about a schedule in memory.
type engine = func(ctx context.Context, p *model.Problem, s *model.Schedule, o smt.Options) verify.Verdict

// asked has the engines by name.
var asked = map[string]engine{
	"replay": func(ctx context.Context, p *model.Problem, s *model.Schedule, _ smt.Options) verify.Verdict {
		return replay.Check(ctx, p, s)
	},
	"smt": func(ctx context.Context, p *model.Problem, s *model.Schedule, o smt.Options) verify.Verdict {
		return smt.Check(ctx, p, s, Backend, o)
	},
}

// ReplaceEngine puts another engine in the place of one, for tests of what happens when
// engines contradict each other. It returns what undoes that.
func ReplaceEngine(name string, by engine) (restore func()) {
	was := asked[name]
	asked[name] = by
	return func() { asked[name] = was }
}

// Verification is what the engines make of a schedule.
type Verification struct {
	Verdict  verify.Verdict            // of all together
	Verdicts map[string]verify.Verdict // by engine
	Checking map[string]time.Duration  // by engine
}

// Alone is what one engine makes of a schedule, of those that are asked alone.
func Alone(v verify.Verdict) Verification {
	all, _ := verify.Combine(v) // there is none to contradict it
	return Verification{Verdict: all, Verdicts: map[string]verify.Verdict{v.Engine: v}}
}

// ask asks an engine for its verdict.
func (v *Verification) ask(ctx context.Context, engine string, p *model.Problem, s *model.Schedule, o smt.Options) {
	start := time.Now()
	v.Verdicts[engine] = asked[engine](ctx, p, s, o)
	v.Checking[engine] += time.Since(start)
}

// combine sets the verdict of all from those of the named engines. An error means that they
// contradict each other.
func (v *Verification) combine(engines []string) (err error) {
	var all []verify.Verdict
	for _, engine := range engines {
		all = append(all, v.Verdicts[engine])
	}
	v.Verdict, err = verify.Combine(all...)
	return err
}

// Verify asks the named engines for their verdicts. An error means that they contradict
// each other.
func Verify(ctx context.Context, p *model.Problem, s *model.Schedule, o smt.Options, engines []string) (Verification, error) {
	v := Verification{Verdicts: map[string]verify.Verdict{}, Checking: map[string]time.Duration{}}
	for _, engine := range engines {
		v.ask(ctx, engine, p, s, o)
	}
	err := v.combine(engines)
	return v, err
}

// ProvedBy names the engines that proved a schedule, and those that gave up, or returns an
// error if it is not proved.
func (v *Verification) ProvedBy() (string, error) {
	switch v.Verdict.Outcome {
	case verify.Proved:
		return strings.TrimPrefix(v.Verdict.Basis(), "proved by "), nil
	case verify.Refuted:
		return "", fmt.Errorf("the schedule is refuted: %v", v.Violations())
	}
	return "", fmt.Errorf("the schedule is not proved: %s", v.Verdict.Reason)
}

// Violations lists what the engines found, each with its engine, sorted.
func (v *Verification) Violations() []string {
	var all []string
	for engine, of := range v.Verdicts {
		for _, violation := range of.Violations {
			all = append(all, engine+": "+violation.String())
		}
	}
	slices.Sort(all)
	return all
}
