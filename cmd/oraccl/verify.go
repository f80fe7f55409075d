package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/oraccl/oraccl/cmd/oraccl/exit"
	"github.com/oraccl/oraccl/cmd/oraccl/foreign"
	"github.com/oraccl/oraccl/cmd/oraccl/report"
	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/files"
	"github.com/oraccl/oraccl/model/format/compact"
	"github.com/oraccl/oraccl/model/format/schedules"
	"github.com/oraccl/oraccl/model/native"
	"github.com/oraccl/oraccl/solve/certify"
	"github.com/oraccl/oraccl/verify"
	"github.com/oraccl/oraccl/verify/epoch"
	"github.com/oraccl/oraccl/verify/orbit"
	"github.com/oraccl/oraccl/verify/smt"
	"github.com/oraccl/oraccl/verify/stream"
)

// The JSON of verify, schema oraccl/verify/1; one object a file.
type verifyJSON struct {
	Schema     string            `json:"schema"`
	File       string            `json:"file"`
	Verdict    string            `json:"verdict"`
	Claim      string            `json:"claim"`
	MakespanPs model.Time        `json:"makespan_ps"`
	Engines    map[string]string `json:"engines"`
	Properties map[string]string `json:"properties"`
	Reason     string            `json:"reason,omitempty"`
	Violations []violationJSON   `json:"violations"`
	Format     string            `json:"format,omitempty"` // who else writes such files
	Notes      []string          `json:"notes,omitempty"`

	outcome verify.Outcome // what Verdict says
}

type violationJSON struct {
	Code    string `json:"code"`
	Engine  string `json:"engine"`
	Where   string `json:"where"`
	Message string `json:"message"`
}

func newVerify() *cobra.Command {
	var engine, problem, emit string
	var timeLimit time.Duration
	var asJSON bool
	var by foreign.Truth
	var deploy deployFlags
	cmd := &cobra.Command{
		Use:   "verify FILE...",
		Short: "Prove or refute that a schedule performs its collective",
		Long: `verify reports whether schedules are feasible and correct.

The replay engine executes a schedule exactly; the smt engine states the claim about
the data as formulas, and Z3 refutes their negation. A schedule is refuted if either
refutes it. If the smt engine gives up, the replay alone can prove it, and the output
names both. If the two contradict each other, one of them has a defect: that is an
error, with exit status 2.

Schedules of other tools are recognised by their content: ` + foreign.Tools() + `.
They are judged by --topology and --collective, or else by the real topology and
collective whose names they state, not by the description in the file.

Compact files (.oraccl) of more than 4 million transfers are verified by the stream
engine, where it serves them, with a memory limit that is known in advance.

MSCCL-IR (XML), as files, lists or directories, is verified by the order engine. It
decides whether a file is correct for every order in which its threadblocks can run,
which runtimes load it, for which calls they select it, and up to which size its
connections have enough slots. Other findings are warnings, or notes if no runtime is
affected.`,
		Example: "  oraccl solve ring:4 --collective allgather --method ring -o ag.json\n" +
			"  oraccl verify ag.json\n" +
			"  oraccl verify ag.json --engine smt --emit-smt2 ag.smt2\n" +
			"  oraccl solve ring:4 --collective allreduce --method ring -o ar.xml\n" +
			"  oraccl verify ar.xml --size 1GiB --fail-on warning",
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			args, worst, err := deploy.run(cmd, args, &by, asJSON, engine, emit, timeLimit)
			if err != nil || len(args) == 0 {
				return deploy.end(worst, err)
			}
			chosen, err := enginesNamed(engine)
			if err != nil {
				return err
			}
			if emit != "" && len(args) > 1 {
				return fmt.Errorf("--emit-smt2: goes with one file, not %d", len(args))
			}
			var asked *model.Problem
			if problem != "" {
				if asked, err = readFile(cmd.Context(), problem, readProblem); err != nil {
					return err
				}
			}
			v := &verifying{cmd, asked, by, chosen, timeLimit, emit, asJSON}
			for _, file := range args {
				s, err := v.file(file)
				if err != nil && len(args) == 1 {
					return err
				}
				if err != nil { // the other files are still of interest
					report.Line(cmd.ErrOrStderr(), "oraccl: error: %v", err)
					s = exit.Failure
				}
				if s == exit.Done && cmd.Context().Err() != nil { // not by every engine that was asked
					s = exit.Unknown
				}
				worst = exit.Worse(worst, s)
			}
			if worst != exit.Done {
				return exit.Status(worst)
			}
			return nil
		},
	}
	f := cmd.Flags()
	f.StringVar(&engine, "engine", "all", "the `engine`: replay, smt, stream (in bounded memory, while the file is read; for copies, and for sums along trees), orbit (of schedules that are the same for all ranks) or all")
	f.StringVar(&problem, "problem", "", "verify against the problem in this `file`, not the one that the schedule's file states")
	f.StringVar(&emit, "emit-smt2", "", "write the smt engine's formulas to this `file`, for Z3, cvc5 and others")
	f.DurationVar(&timeLimit, "time-limit", time.Minute, "wall `time` for the smt engine")
	f.BoolVar(&asJSON, "json", false, "print JSON, schema oraccl/verify/1, one object a line")
	by.Define(cmd.Flags())
	deploy.addFlags(cmd)
	return cmd
}

func readProblem(name string, b []byte) (*model.Problem, error) {
	return native.ReadProblem(name, bytes.NewReader(b))
}

func enginesNamed(engine string) ([]string, error) {
	switch engine {
	case "all":
		return certify.Engines, nil
	case "replay", "smt", stream.Engine, orbit.Engine:
		return []string{engine}, nil
	case "order":
		return nil, fmt.Errorf("--engine order: is for MSCCL-IR, where it is the only one; want replay, smt, stream, orbit or all")
	}
	return nil, fmt.Errorf("--engine %q: want replay, smt, stream, orbit or all", engine)
}

// verifyFile verifies one file, prints the verdict and returns the exit status.
func verifyFile(cmd *cobra.Command, file string, asked *model.Problem, chosen []string, limit time.Duration, emit string, asJSON bool) (int, error) {
	j, err := judgeFile(cmd, file, asked, chosen, limit, emit)
	if err != nil {
		return 0, err
	}
	if asJSON {
		b, err := json.Marshal(j)
		if err != nil {
			return 0, err
		}
		fmt.Fprintln(cmd.OutOrStdout(), string(b))
	} else {
		printVerdict(cmd.OutOrStdout(), j)
	}
	return exit.Of(j.outcome), nil
}

// judgeFile verifies one file: while it is read where that is asked for or the file is
// large, else in memory.
func judgeFile(cmd *cobra.Command, file string, asked *model.Problem, chosen []string, limit time.Duration, emit string) (verifyJSON, error) {
	streaming := slices.Contains(chosen, stream.Engine)
	o, err := schedules.OrbitOf(cmd.Context(), file)
	if err != nil {
		return verifyJSON{}, err
	}
	if slices.Contains(chosen, orbit.Engine) || slices.Equal(chosen, certify.Engines) && o != nil && o.Orbit.Transfers() > model.MaxHeld {
		return judgeOrbit(cmd.Context(), file, o, asked)
	}
	if streaming && schedules.IsCompact(cmd.Context(), file) {
		return judgeStream(cmd, file, asked)
	}
	sol, err := schedules.Load(cmd.Context(), file, model.MaxHeld)
	if errors.Is(err, compact.ErrTooMany) && slices.Equal(chosen, certify.Engines) && emit == "" {
		var j verifyJSON
		if j, err = judgeStream(cmd, file, asked); !errors.Is(err, stream.ErrNotServed) && (err != nil || j.outcome != verify.Unknown || cmd.Context().Err() != nil) {
			return j, err
		}
		sol, err = schedules.Load(cmd.Context(), file, schedules.MaxLarge)
	} else if errors.Is(err, compact.ErrTooMany) {
		sol, err = schedules.Load(cmd.Context(), file, schedules.MaxLarge)
	}
	if err != nil {
		return verifyJSON{}, err
	}
	p, s := sol.Problem, sol.Schedule
	if asked != nil {
		if p, err = askedFor(file, asked, p); err != nil {
			return verifyJSON{}, err
		}
		if err := s.Validate(p); err != nil {
			return verifyJSON{}, fmt.Errorf("%s: does not fit the problem asked: %w", file, err)
		}
	}
	if emit != "" {
		if err := files.Write(emit, func(w io.Writer) error { return smt.WriteSMT2(w, p, s) }); err != nil {
			return verifyJSON{}, err
		}
	}
	var j verifyJSON
	if streaming {
		v, err := streamHeld(cmd.Context(), cmd.ErrOrStderr(), p, s)
		if err != nil {
			return verifyJSON{}, fmt.Errorf("%s: %w", file, err)
		}
		j = verifyToJSON(file, p, s, certify.Alone(v), chosen)
	} else {
		v, err := certify.Verify(cmd.Context(), p, s, smt.Options{Timeout: limit}, chosen)
		if err != nil {
			return verifyJSON{}, fmt.Errorf("%s: %w", file, err)
		}
		j = verifyToJSON(file, p, s, v, chosen)
	}
	j.remark(sol.Origin.Partial)
	return j, nil
}

// judgeStream verifies a compact file while it is read.
func judgeStream(cmd *cobra.Command, file string, asked *model.Problem) (verifyJSON, error) {
	v, err := verifyStream(cmd, file, asked, nil)
	if err != nil {
		return verifyJSON{}, err
	}
	j := verifyToJSON(file, v.problem, &model.Schedule{Form: v.form}, certify.Alone(v.verdict), []string{stream.Engine})
	j.MakespanPs = v.verdict.Makespan
	j.remark(v.partial)
	return j, nil
}

// remark notes that a file is partial, if so.
func (j *verifyJSON) remark(partial bool) {
	if partial {
		j.Reason = strings.TrimPrefix(j.Reason+"; the file is marked as partial", "; ")
	}
}

func verifyToJSON(file string, p *model.Problem, s *model.Schedule, by certify.Verification, chosen []string) verifyJSON {
	verdicts := by.Verdicts
	j := verifyJSON{
		Schema: "oraccl/verify/1", File: file, Verdict: by.Verdict.Outcome.String(), Claim: verify.Claim(p, s), Reason: by.Verdict.Reason,
		outcome:    by.Verdict.Outcome,
		MakespanPs: p.Makespan(s), Engines: map[string]string{}, Properties: map[string]string{}, Violations: []violationJSON{}, Notes: p.Topology.Notes.Strings(),
	}
	for _, engine := range chosen {
		v := verdicts[engine]
		j.Engines[engine] = v.Outcome.String()
		for _, violation := range v.Violations {
			j.Violations = append(j.Violations, violationJSON{string(violation.Code), engine, violation.Where, violation.Message})
		}
	}
	if by.Verdict.Decides != nil { // no engine that was asked decides the whole
		j.Claim = by.Verdict.Claim
	}
	if by.Verdict.Outcome == verify.Proved && j.Reason != "" {
		j.Reason = by.Verdict.Basis()
	}
	for name, codes := range properties {
		j.Properties[name] = propertyOutcome(codes, verdicts, chosen)
	}
	return j
}

// properties groups the codes by what they are about.
var properties = map[string][]verify.Code{
	"result":   {verify.MissingContribution, verify.DoubleContribution, verify.WrongValue, verify.SendUndefined, verify.ReduceUndefined},
	"races":    {verify.ReadWriteRace, verify.WriteWriteRace},
	"capacity": {verify.LinkOverlap, verify.PortOverload},
	"timing":   {verify.TooFast, verify.TooSlow, verify.BeforeRelease},
	"routes":   {verify.NoSuchLink},
}

// propertyOutcome is refuted if an engine found a violation of it, proved if the
// replay, the stream or the orbit proved the whole, and else unknown: a refuted schedule may have more
// wrong with it than was reported.
func propertyOutcome(codes []verify.Code, verdicts map[string]verify.Verdict, chosen []string) string {
	for _, engine := range chosen {
		for _, v := range verdicts[engine].Violations {
			if slices.Contains(codes, v.Code) {
				return verify.Refuted.String()
			}
		}
	}
	for _, engine := range []string{"replay", stream.Engine, orbit.Engine} {
		if v, ran := verdicts[engine]; ran && v.Outcome == verify.Proved {
			return verify.Proved.String()
		}
	}
	return verify.Unknown.String()
}

func printVerdict(w io.Writer, j verifyJSON) {
	report.Line(w, "%s %s", strings.ToUpper(j.Verdict), j.Claim)
	seen := map[string]bool{}
	for _, v := range j.Violations {
		if at := v.Code + v.Where; !seen[at] { // the engines find the same; the first one's words will do
			report.Line(w, "%s: %s: %s", v.Code, v.Where, v.Message)
			seen[at] = true
		}
	}
	if j.Reason != "" {
		report.Line(w, "%s", j.Reason)
	}
	var said []string
	for _, engine := range slices.Concat([]string{"import", epoch.Engine}, certify.Engines, []string{stream.Engine, orbit.Engine}) {
		if o, ran := j.Engines[engine]; ran {
			said = append(said, engine+" "+o)
		}
	}
	if j.MakespanPs > 0 {
		said = append(said, "makespan "+report.Micros(j.MakespanPs)+" us")
	}
	fmt.Fprintln(w, strings.Join(said, ", "))
	if j.outcome == verify.Refuted && len(j.Violations) > 0 {
		fmt.Fprintf(w, "oraccl explain %s says more\n", j.Violations[0].Code)
	}
	for _, n := range j.Notes {
		report.Line(w, "note: %s", n)
	}
}
