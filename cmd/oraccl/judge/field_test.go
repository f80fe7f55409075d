package judge

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/cmd/oraccl/report"
	"github.com/oraccl/oraccl/model/format/msccl"
	"github.com/oraccl/oraccl/model/format/msccl/msccltest"
	"github.com/oraccl/oraccl/verify"
	"github.com/oraccl/oraccl/verify/deploy"
)

// TestRaceExample: what the one execution that is taken makes of a race, which is how
// the kind reports whether the result can be seen to be wrong.
func TestRaceExample(t *testing.T) {
	for ranks, kind := range map[int]string{4: "race", 8: "race+wrong", 16: "race+wrong"} {
		d := judgeAlgo(msccltest.Doubling(ranks))
		require.Equal(t, verify.Refuted, d.Report.Verdict.Outcome)
		require.Equal(t, kind, string(d.Report.Kind), "%d ranks: %+v", ranks, d.Report.Verdict.Violations)
	}
}

// TestRejectFirst: what no runtime can read is rejected, whatever it would do; what has
// too much of something is judged by what it does.
func TestRejectFirst(t *testing.T) {
	wrong := msccltest.ExchangeAll(4)
	wrong.GPUs[2].TBs[3].Steps[0].SrcOff = 0
	require.Equal(t, "wrong", string(judgeAlgo(wrong).Report.Kind))
	for name, change := range map[string]func(a *msccl.Algo){
		"cnt":    func(a *msccl.Algo) { a.GPUs[1].TBs[0].Steps[0].Count = 72 },
		"hasdep": func(a *msccl.Algo) { a.GPUs[1].TBs[0].Steps[0].HasDep = 2 },
		"proto":  func(a *msccl.Algo) { a.Proto = "LL64" },
	} {
		a := msccltest.Copy(wrong)
		change(a)
		d := judgeAlgo(a)
		require.Equal(t, verify.Refuted, d.Report.Verdict.Outcome, name)
		require.Equal(t, "reject", string(d.Report.Kind), name)
	}
	for name, change := range map[string]func(a *msccl.Algo){"declared": few, "channels": many} {
		a := msccltest.Copy(wrong)
		change(a)
		d := judgeAlgo(a)
		require.Equal(t, verify.Refuted, d.Report.Verdict.Outcome, name)
		require.Equal(t, "wrong", string(d.Report.Kind), name)
	}
}

func few(a *msccl.Algo) { a.GPUs[1].Output = 3 }

func many(a *msccl.Algo) {
	for i := range a.GPUs {
		for j := range a.GPUs[i].TBs {
			a.GPUs[i].TBs[j].Channel = 128
		}
	}
}

// TestNoRoom: a right file that no runtime has room for is proved, under the condition
// that one is built for it, unless a runtime is named; what it declares must fit.
func TestNoRoom(t *testing.T) {
	a := msccltest.Copy(msccltest.ExchangeAll(4))
	many(a)
	d := judgeAlgo(a)
	require.Equal(t, verify.Proved, d.Report.Verdict.Outcome, "%+v", d.Report.Verdict.Violations)
	require.Contains(t, d.Report.Proviso, "no runtime loads it as it is built")
	require.Contains(t, report.Remarks(d.Report, &noFilter)[0], "chan=128, want 0 to 31")
	require.Equal(t, deploy.Warning, d.Report.Findings[0].Level)
	require.Equal(t, verify.WouldNotLoad, d.Report.Findings[0].Code)
	for _, r := range msccl.Runtimes() {
		d := judgeDeployment(a, deploy.Options{Runtime: r.String()})
		require.Equal(t, verify.Refuted, d.Report.Verdict.Outcome)
		require.Equal(t, "reject", string(d.Report.Kind))
	}
	pairs := msccltest.ExchangeAll(40) // 39 threadblocks on a channel
	pairs.HasOutPlace = false
	d = judgeAlgo(pairs)
	require.Equal(t, verify.Proved, d.Report.Verdict.Outcome, "%+v", d.Report.Verdict.Violations)
	require.Contains(t, report.Remarks(d.Report, &noFilter)[0], "more than 32 threadblocks are on channel 0")
	a = msccltest.Copy(msccltest.ExchangeAll(4)) // a wait for threadblock 132, which 8 bits do not hold
	a.GPUs[0].Scratch = 131
	for i := range 130 {
		msccltest.AddTB(a, 0, -1, -1, 0, msccltest.Signalling(msccltest.Step(msccl.Copy, msccltest.Bi, 0, msccltest.Bs, i, 1)))
	}
	msccltest.AddTB(a, 0, -1, -1, 0, msccltest.After(msccltest.Step(msccl.Copy, msccltest.Bs, 128, msccltest.Bs, 130, 1), 132, 0))
	d = judgeAlgo(a)
	require.Equal(t, verify.Proved, d.Report.Verdict.Outcome, "%+v", d.Report.Verdict.Violations)
	require.Contains(t, strings.Join(report.Remarks(d.Report, &noFilter), " "), "depid=132 does not fit the runtime's 8 bits")
	a = msccltest.Copy(msccltest.ExchangeAll(4))
	few(a)
	require.Equal(t, "reject", string(judgeAlgo(a).Report.Kind))
}

// TestGuessBackward: a custom collective by which every rank gets what the next one has.
func TestGuessBackward(t *testing.T) {
	const ranks = 5
	a := msccltest.New("backward", "custom", ranks, 2, 1)
	a.InPlace, a.OutPlace = false, true
	for r := range ranks {
		var steps []msccl.Step
		send, recv := -1, -1
		if r > 0 {
			send, steps = r-1, append(steps, msccltest.Step(msccl.Send, msccltest.Bi, 0, msccltest.Bo, 0, 2))
		}
		if r < ranks-1 {
			recv, steps = r+1, append(steps, msccltest.Step(msccl.Recv, msccltest.Bi, 0, msccltest.Bo, 0, 2))
		}
		msccltest.AddTB(a, r, send, recv, 0, steps...)
	}
	d := judgeAlgo(a)
	require.Equal(t, verify.Proved, d.Report.Verdict.Outcome, "%+v", d.Report.Verdict.Violations)
	require.Equal(t, "alltonextbackward", d.Report.Collective)
	forward := judgeDeployment(a, deploy.Options{Collective: "alltonext"})
	require.Equal(t, "wrong", string(forward.Report.Kind))
}

// judgeDeployment is judgeAlgo with flags.
func judgeDeployment(a *msccl.Algo, by deploy.Options) *Deployed {
	d, err := Algo(context.Background(), a.File, a, by)
	if err != nil {
		panic(err)
	}
	return d
}

// noFilter is what is shown where no flag is given.
var noFilter = report.NewFilter()

// TestRelease: what is printed does not need what is released, whatever the verdict.
func TestRelease(t *testing.T) {
	odd := msccltest.Copy(msccltest.ExchangeAll(4))
	odd.GPUs[2].TBs[3].Steps[0].SrcOff = 0
	raced := msccltest.Doubling(8)
	crowd := msccltest.Copy(msccltest.ExchangeAll(4))
	many(crowd)
	stuck := msccltest.Copy(msccltest.Halving())
	stuck.GPUs[0].TBs[0].Channel = 5
	for _, a := range []*msccl.Algo{msccltest.Halving(), msccltest.AllPairs(4), odd, raced, crowd, stuck} {
		d := judgeDeployment(msccltest.Copy(a), deploy.Options{Size: 1 << 20})
		printed := func() string {
			var b strings.Builder
			report.PrintDeployed(&b, d.Report, &noFilter)
			for _, format := range []string{"json", "sarif", "github"} {
				require.NoError(t, report.PrintAllDeployed(&b, []*deploy.Report{d.Report}, nil, 1, format, &noFilter))
			}
			return b.String()
		}
		before := printed()
		d.Report.Release()
		require.Equal(t, before, printed(), a.Name)
	}
}
