package verify_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/oraccl/oraccl/verify"
)

// say is a verdict of an engine; smt decides the data alone.
func say(engine string, o verify.Outcome, codes ...verify.Code) verify.Verdict {
	v := verify.Verdict{Engine: engine, Outcome: o, Claim: engine + "'s claim"}
	if engine == "smt" {
		v.Decides = verify.Data
	}
	if o == verify.Unknown {
		v.Reason = "the time limit was reached"
	} else {
		v.Makespan = 7
	}
	for _, c := range codes {
		v.Violations = append(v.Violations, verify.Violation{Code: c, Where: "transfer 1", Message: "is wrong"})
	}
	return v
}

func TestCombine(t *testing.T) {
	const proved, refuted, unknown = verify.Proved, verify.Refuted, verify.Unknown
	for name, x := range map[string]struct {
		verdicts []verify.Verdict
		want     verify.Outcome
		basis    string
		claim    string
	}{
		"nobody":             {nil, unknown, "unknown", ""},
		"replay alone":       {[]verify.Verdict{say("replay", proved)}, proved, "proved by replay", "replay's claim"},
		"smt alone":          {[]verify.Verdict{say("smt", proved)}, proved, "proved by smt", "smt's claim"},
		"both prove":         {[]verify.Verdict{say("smt", proved), say("replay", proved)}, proved, "proved by smt, replay", "replay's claim"},
		"smt gives up":       {[]verify.Verdict{say("replay", proved), say("smt", unknown)}, proved, "proved by replay; smt undecided: the time limit was reached", "replay's claim"},
		"replay gives up":    {[]verify.Verdict{say("replay", unknown), say("smt", proved)}, unknown, "unknown; replay undecided: the time limit was reached", "replay's claim"},
		"replay alone gives": {[]verify.Verdict{say("replay", unknown)}, unknown, "unknown; replay undecided: the time limit was reached", "replay's claim"},
		"both refute":        {[]verify.Verdict{say("replay", refuted, verify.WrongValue), say("smt", refuted, verify.WrongValue)}, refuted, "refuted by replay, smt", "replay's claim"},
		"no data":            {[]verify.Verdict{say("replay", refuted, verify.LinkOverlap), say("smt", proved)}, refuted, "refuted by replay", "replay's claim"},
		"smt refutes":        {[]verify.Verdict{say("replay", unknown), say("smt", refuted, verify.WrongValue)}, refuted, "refuted by smt; replay undecided: the time limit was reached", "replay's claim"},
		"stream for replay":  {[]verify.Verdict{say("replay", unknown), say("stream", proved)}, proved, "proved by stream; replay undecided: the time limit was reached", "replay's claim"},
	} {
		v, err := verify.Combine(x.verdicts...)
		require.NoError(t, err, name)
		require.Equal(t, x.want, v.Outcome, name)
		require.Equal(t, x.basis, v.Basis(), name)
		require.Equal(t, x.claim, v.Claim, name)
		slices.Reverse(x.verdicts)
		v, err = verify.Combine(x.verdicts...)
		require.NoError(t, err, name)
		require.Equal(t, x.want, v.Outcome, name)
	}
}

func TestContradictions(t *testing.T) {
	slow := say("stream", verify.Proved)
	slow.Makespan++
	for name, verdicts := range map[string][]verify.Verdict{
		"replay proves":      {say("replay", verify.Proved), say("smt", verify.Refuted, verify.WrongValue)},
		"smt proves":         {say("replay", verify.Refuted, verify.LinkOverlap, verify.WrongValue), say("smt", verify.Proved)},
		"malformed":          {say("replay", verify.Refuted, verify.Malformed), say("smt", verify.Proved)},
		"among three":        {say("stream", verify.Unknown), say("replay", verify.Proved), say("order", verify.Refuted, verify.Deadlock)},
		"without a reason":   {say("replay", verify.Refuted), say("smt", verify.Proved)},
		"different makespan": {say("replay", verify.Proved), slow},
	} {
		for range 2 {
			v, err := verify.Combine(verdicts...)
			var c *verify.Contradiction
			require.ErrorAs(t, err, &c, name)
			require.ErrorContains(t, err, "please report this", name)
			require.Equal(t, verify.Verdict{}, v, name)
			slices.Reverse(verdicts)
		}
	}
}

// TestCombineSound: whatever the verdicts, the outcome is that of the worst engine, unless
// engines contradict each other; and the order does not matter.
func TestCombineSound(t *testing.T) {
	codes := append(slices.Clone(verify.Data), verify.LinkOverlap, verify.TooFast, verify.PortOverload)
	rapid.Check(t, func(r *rapid.T) {
		var list []verify.Verdict
		for i := range rapid.IntRange(0, 4).Draw(r, "engines") {
			v := say(fmt.Sprint("e", i), verify.Outcome(rapid.IntRange(0, 2).Draw(r, "outcome")))
			if rapid.Bool().Draw(r, "partial") {
				v.Decides = rapid.SliceOfNDistinct(rapid.SampledFrom(codes), 1, 4, rapid.ID).Draw(r, "decides")
			}
			if v.Outcome == verify.Refuted {
				found := codes
				if v.Decides != nil {
					found = v.Decides
				}
				v.Violations = []verify.Violation{{Code: rapid.SampledFrom(found).Draw(r, "code")}}
			}
			list = append(list, v)
		}
		has := func(o verify.Outcome) bool {
			return slices.ContainsFunc(list, func(v verify.Verdict) bool { return v.Outcome == o })
		}
		v, err := verify.Combine(list...)
		switch {
		case err != nil:
			require.True(r, has(verify.Proved) && has(verify.Refuted))
			require.Equal(r, verify.Unknown, v.Outcome)
		case has(verify.Refuted):
			require.Equal(r, verify.Refuted, v.Outcome)
		case !has(verify.Unknown) && len(list) > 0:
			require.Equal(r, verify.Proved, v.Outcome)
		case !has(verify.Proved):
			require.Equal(r, verify.Unknown, v.Outcome)
		}
		for i := range list { // a refutation is never lost, and never stands against a proof of the same
			for _, x := range list[i].Violations {
				for _, w := range list {
					if w.Outcome == verify.Proved && (w.Decides == nil || slices.Contains(w.Decides, x.Code)) {
						require.Error(r, err)
					}
				}
			}
		}
		again := slices.Clone(list)
		slices.Reverse(again)
		w, werr := verify.Combine(again...)
		require.Equal(r, err == nil, werr == nil)
		require.Equal(r, v.Outcome, w.Outcome)
	})
}

func TestAll(t *testing.T) {
	proved, refuted, unknown := say("epoch", verify.Proved), say("replay", verify.Refuted, verify.WrongValue), say("replay", verify.Unknown)
	require.Equal(t, verify.Unknown, verify.All().Outcome)
	require.Equal(t, "proved by epoch, replay", verify.All(proved, say("replay", verify.Proved)).Basis())
	require.Equal(t, "refuted by replay; the time limit was reached", verify.All(unknown, proved, refuted).Basis())
	require.Equal(t, verify.Refuted, verify.All(proved, refuted, unknown).Outcome)
	require.Equal(t, verify.Unknown, verify.All(proved, unknown).Outcome)
	require.Equal(t, "epoch's claim", verify.All(proved, unknown).Claim)
	require.Len(t, verify.All(refuted, refuted).Violations, 2)
}

func TestBelow(t *testing.T) {
	require.NoError(t, verify.Below(10, 10, "cut"))
	require.NoError(t, verify.Below(11, 10, "cut"))
	err := verify.Below(9, 10, "cut")
	var c *verify.Contradiction
	require.True(t, errors.As(err, &c))
	require.ErrorContains(t, err, "a proved schedule of 9ps is below the certified cut bound of 10ps")
}
