package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/oraccl/oraccl/cmd/oraccl/exit"
	"github.com/oraccl/oraccl/cmd/oraccl/foreign"
	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve/certify"
	"github.com/oraccl/oraccl/verify"
	"github.com/oraccl/oraccl/verify/smt"
	"github.com/oraccl/oraccl/verify/stream"
	"github.com/spf13/cobra"
)

// verifyForeign verifies a file of another tool, prints the verdict and returns the exit
// status.
func (v *verifying) verifyForeign(ctx context.Context, file string, b []byte, format *foreign.Format) (int, error) {
	if slices.Contains(v.chosen, stream.Engine) {
		return 0, fmt.Errorf("--engine %s: is for our own files; want replay, smt or all for %s", stream.Engine, file)
	}
	m, err := format.Read(ctx, &v.truth, v.asked, file, b)
	if err != nil {
		return 0, err
	}
	if v.emit != "" {
		return 0, fmt.Errorf("--emit-smt2: %s is not a schedule of ours", file)
	}
	var by certify.Verification
	chosen := v.chosen
	if decided, is := m.Before(); is {
		by, chosen = certify.Alone(decided), []string{decided.Engine}
	} else {
		var before verify.Verdict
		if m.Feasible != nil {
			before = m.Feasible(ctx)
			chosen = append([]string{before.Engine}, chosen...)
		}
		if by, err = certify.Verify(ctx, m.Problem, m.Schedule, smt.Options{Timeout: v.limit}, v.chosen); err != nil {
			return 0, fmt.Errorf("%s: %w", file, err)
		}
		if m.Feasible != nil {
			by.Verdicts[before.Engine] = before
			by.Verdict = verify.All(by.Verdict, before)
		}
	}
	if m.Claims != nil {
		wrong, err := m.Claims(ctx)
		if err != nil {
			return 0, err
		}
		first := by.Verdicts[chosen[0]]
		if len(wrong) > 0 {
			first.Outcome = verify.Refuted
			first.Violations = append(first.Violations[:min(len(first.Violations), verify.MaxViolations-1)], wrong...)
			by.Verdict = verify.All(by.Verdict, verify.Verdict{Outcome: verify.Refuted, Engine: first.Engine, Violations: wrong})
		}
		by.Verdicts[chosen[0]] = first
	}
	if m.Assumed != "" {
		by.Verdict = verify.All(by.Verdict, verify.Verdict{Engine: "import", Reason: m.Assumed})
	}
	for engine, verdict := range by.Verdicts {
		for i, violation := range verdict.Violations {
			if at, ok := violation.Transfer(); ok && m.Source != nil {
				verdict.Violations[i].Message += "; in the file " + m.Source(at)
			}
		}
		by.Verdicts[engine] = verdict
	}
	j := verifyToJSON(file, m.Problem, m.Schedule, by, chosen)
	if j.MakespanPs == 0 && j.outcome == verify.Proved {
		j.MakespanPs = m.Lasts
	}
	j.Format, j.Notes = m.Tool, append(m.Notes.Strings(), j.Notes...)
	return v.print(j)
}

// verifying is one call of verify: what its flags say.
type verifying struct {
	cmd    *cobra.Command
	asked  *model.Problem
	truth  foreign.Truth
	chosen []string
	limit  time.Duration
	emit   string
	asJSON bool
}

// file verifies one file, prints the verdict and returns the exit status.
func (v *verifying) file(file string) (int, error) {
	format, b, err := foreign.Recognise(v.cmd.Context(), file)
	switch {
	case err != nil:
		return 0, err
	case format != nil:
		return v.verifyForeign(v.cmd.Context(), file, b, format)
	case v.truth.Given():
		return 0, exit.Hint(fmt.Errorf("%s: is no schedule of another tool, which --topology, --collective, --size, --root and --chunks are for", file),
			"--problem has our own schedules judged by another problem than theirs")
	}
	return verifyFile(v.cmd, file, v.asked, v.chosen, v.limit, v.emit, v.asJSON)
}

// print writes the verdict on a file of another tool and returns the exit status.
func (v *verifying) print(j verifyJSON) (int, error) {
	if w := v.cmd.OutOrStdout(); v.asJSON {
		b, err := json.Marshal(j)
		if err != nil {
			return 0, err
		}
		fmt.Fprintln(w, string(b))
	} else {
		printVerdict(w, j)
	}
	return exit.Of(j.outcome), nil
}
