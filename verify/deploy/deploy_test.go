package deploy

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/verify"
	"github.com/oraccl/oraccl/verify/order"
	"github.com/oraccl/oraccl/verify/smt"
	"github.com/oraccl/oraccl/verify/smt/concurrent"
)

// exchange is a schedule that performs the example of a code.
func exchange(code verify.Code) *model.Deployable {
	e, _ := verify.Explain(code)
	return &model.Deployable{Line: 1, Collective: "allreduce", Ranks: e.Example.Program.Ranks, Chunks: 2, Protocol: "Simple", InPlace: true,
		Loadings: []model.Loading{{Runtime: "one"}, {Runtime: "other", Grade: model.NoRoom, Refusals: []model.Remark{{Line: 3, Message: "too much"}}}},
		Program:  func(model.Meaning) (*model.Program, error) { return e.Example.Program, nil }}
}

// TestExamples: the example of a code has it, as an error or as a warning.
func TestExamples(t *testing.T) {
	ran := 0
	for _, code := range verify.Codes() {
		if e, _ := verify.Explain(code); e.Example.Program == nil || code == verify.TooFewSlots {
			continue
		}
		ran++
		r, err := Check(context.Background(), exchange(code), Options{})
		require.NoError(t, err)
		require.NotEmpty(t, r.Findings, code)
		require.Equal(t, code, r.Findings[0].Code)
		require.Equal(t, r.Verdict.Outcome == verify.Refuted, r.Findings[0].Level == Error)
		require.Equal(t, r.Verdict.Outcome == verify.Proved, slices.Contains(Warnings(), code), code)
		require.Equal(t, r.Verdict.Outcome == verify.Proved, r.Kind == order.Pass)
	}
	require.Greater(t, ran, 10)
}

// TestRuntimes: one that is named must load the schedule as it is built.
func TestRuntimes(t *testing.T) {
	for runtime, want := range map[string]verify.Outcome{"": verify.Proved, "one": verify.Proved, "other": verify.Refuted} {
		r, err := Check(context.Background(), exchange(verify.TooFewSlots), Options{Runtime: runtime})
		require.NoError(t, err)
		require.Equal(t, want, r.Verdict.Outcome, runtime)
	}
	d := exchange(verify.TooFewSlots)
	d.Loadings = d.Loadings[1:]
	r, err := Check(context.Background(), d, Options{})
	require.NoError(t, err)
	require.Equal(t, verify.Proved, r.Verdict.Outcome)
	require.Equal(t, "; no runtime loads it as it is built", r.Proviso)
	require.Equal(t, "would-not-load: no runtime loads it as it is built: other has no room for it: line 3: too much", r.Findings[0].String())
	d.Loadings[0].Grade = model.Refused
	r, err = Check(context.Background(), d, Options{})
	require.NoError(t, err)
	require.Equal(t, verify.Refuted, r.Verdict.Outcome)
	require.Equal(t, "would-not-load: line 3: no runtime loads it: too much", r.Verdict.Violations[0].String())
}

// TestOptions: an answer about something else than was meant is none.
func TestOptions(t *testing.T) {
	_, err := Check(context.Background(), exchange(verify.TooFewSlots), Options{Root: 2})
	require.ErrorContains(t, err, "root 2: want 0 to 1")
	_, err = Check(context.Background(), exchange(verify.TooFewSlots), Options{Runtime: "nccl"})
	require.ErrorContains(t, err, `runtime "nccl": does not exist`)
	d := exchange(verify.TooFewSlots)
	d.Loadings = nil
	_, err = Check(context.Background(), d, Options{})
	require.Error(t, err)
	require.Equal(t, model.Unreadable, (&Report{}).Grade())
	stopped, stop := context.WithCancel(context.Background())
	stop()
	r, err := Check(stopped, exchange(verify.TooFewSlots), Options{})
	require.NoError(t, err)
	require.Equal(t, verify.Unknown, r.Verdict.Outcome)
	require.Equal(t, "order undecided: interrupted", r.Verdict.Reason)
	require.Equal(t, verify.Unknown, (&Report{}).Verdict.Outcome)
}

// TestUnreadable: what cannot be read is refuted in its line.
func TestUnreadable(t *testing.T) {
	r := Unreadable("is MSCCL-IR", 7, "a second document begins")
	require.Equal(t, verify.Refuted, r.Verdict.Outcome)
	require.Equal(t, Reject, r.Kind)
	require.Equal(t, []Finding{{Error, verify.Malformed, 7, "line 7", "a second document begins", 0}}, r.Findings)
	require.Equal(t, "malformed: line 7: a second document begins", r.Findings[0].String())
	r.Release()
}

// TestSentence: what the connections need in words.
func TestSentence(t *testing.T) {
	for _, c := range []struct {
		slots Slots
		want  string
	}{
		{Slots{1, 1, 2, Any}, "needs 1 buffer slot per connection; Simple has 2, which is enough for every size"},
		{Slots{1, 2, 2, Any}, "needs 1 buffer slot per connection, 2 for large buffers; Simple has 2, which is enough for every size"},
		{Slots{1, 8, 2, 128 << 20}, "needs 1 buffer slot per connection, 8 for large buffers; Simple has 2, so it may deadlock above 128 MiB"},
		{Slots{3, 3, 2, 0}, "needs 3 buffer slots per connection; Simple has 2, so it may deadlock at every size"},
		{Slots{0, 0, 2, Any}, ""},
		{Slots{1, 1, 0, Any}, ""},
	} {
		r := &Report{Schedule: &model.Deployable{Protocol: "Simple"}}
		require.Equal(t, c.want, r.Sentence(&Call{Slots: c.slots}))
	}
}

// TestPicked: of a gather or scatter the runtimes count a rank's part of the larger buffer.
func TestPicked(t *testing.T) {
	for coll, want := range map[string]bool{"gather": true, "scatter": true, "allgather": false} {
		r := &Report{Schedule: &model.Deployable{Ranks: 4}, Collective: coll, Size: 4096}
		require.Equal(t, want, r.Picked(model.Selection{Min: 1024, Max: 1024}), coll)
		require.False(t, r.Picked(model.Selection{Min: 1024, Max: 1024, Never: "for a reason"}), coll)
		require.True(t, r.Picked(model.Selection{Max: -1}), coll)
	}
}

// TestOnce: ranks that add in different orders are one finding, however many values there
// are and however the file is called.
func TestOnce(t *testing.T) {
	v := func(code verify.Code, where string) verify.Violation {
		return verify.Violation{Code: code, Where: where, Message: "m", Line: 3}
	}
	report := func() *order.Report {
		return &order.Report{Verdict: verify.Verdict{Outcome: verify.Proved, Engine: order.Engine}, Counts: map[verify.Code]int{verify.RankOrder: 9, verify.LateSignal: 2},
			Conditions: []verify.Violation{v(verify.LateSignal, "a"), v(verify.LateSignal, "b"), v(verify.RankOrder, "c"), v(verify.RankOrder, "d")}}
	}
	r := &Report{Schedule: &model.Deployable{}, Loadings: []model.Loading{{Runtime: "any"}}, Calls: []Call{{InPlace: true, Order: report()}, {Order: report()}}}
	require.NoError(t, r.conclude(nil))
	r.find()
	var words []string
	for _, f := range r.Findings {
		require.Equal(t, Warning, f.Level)
		words = append(words, f.String())
	}
	require.Equal(t, []string{
		"late-signal: a, in place: m (and 3 more)", "late-signal: b, in place: m",
		"rank-order: c, in place: m (and 17 more)",
		"late-signal: a, out of place: m", "late-signal: b, out of place: m",
	}, words)
}

// TestContradiction: engines that contradict each other leave nothing established.
func TestContradiction(t *testing.T) {
	proved := verify.Verdict{Engine: order.Engine, Outcome: verify.Proved}
	wrongly := verify.Verdict{Engine: smt.Engine, Outcome: verify.Refuted, Violations: []verify.Violation{{Code: verify.WrongValue, Where: "here", Message: "ends wrong"}}}
	conclude := func(s Slots, formulas concurrent.Report) (*Report, error) {
		r := &Report{Schedule: &model.Deployable{}, Loadings: []model.Loading{{Runtime: "any"}}, Calls: []Call{{Order: &order.Report{Verdict: proved}, Slots: s, Formulas: &formulas}}}
		return r, r.conclude(nil)
	}
	var wrong *verify.Contradiction
	r, err := conclude(Slots{}, concurrent.Report{Verdict: wrongly})
	require.ErrorAs(t, err, &wrong)
	require.Equal(t, verify.Unknown, r.Verdict.Outcome)
	require.Empty(t, r.Verdict.Violations)
	proves := verify.Verdict{Engine: smt.Engine, Outcome: verify.Proved}
	_, err = conclude(Slots{Least: 2}, concurrent.Report{Verdict: proves, Slots: 1})
	require.ErrorAs(t, err, &wrong)
	require.ErrorContains(t, err, "order needs 2 slots, smt 1")
	r, err = conclude(Slots{}, concurrent.Report{Verdict: verify.Verdict{Engine: smt.Engine, Reason: "the time limit was reached"}})
	require.NoError(t, err)
	require.Equal(t, "proved by order; smt undecided: the time limit was reached", r.Verdict.Basis())
	r, err = conclude(Slots{}, concurrent.Report{Verdict: proves})
	require.NoError(t, err)
	require.Equal(t, "proved by order, smt", r.Verdict.Basis())
}

// TestNoProgram: why there is none is told with its place.
func TestNoProgram(t *testing.T) {
	d := exchange(verify.TooFewSlots)
	for _, c := range []struct {
		err         error
		where, what string
	}{
		{&model.Error{Place: "line 7", Err: errors.New("no")}, "line 7", "no"},
		{errors.New("no"), "line 1", "no"},
		{fmt.Errorf("file.xml: %w", &model.Error{Place: "line 7", Err: os.ErrInvalid}), "line 7", "invalid argument"},
	} {
		d.Program = func(model.Meaning) (*model.Program, error) { return nil, c.err }
		r, err := Check(context.Background(), d, Options{})
		require.NoError(t, err)
		require.Equal(t, verify.Refuted, r.Verdict.Outcome)
		require.Equal(t, Reject, r.Kind)
		require.Equal(t, c.where, r.Verdict.Violations[0].Where)
		require.Equal(t, c.what, r.Verdict.Violations[0].Message)
	}
}
