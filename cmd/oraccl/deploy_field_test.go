package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/cmd/oraccl/exit"
	"github.com/oraccl/oraccl/cmd/oraccl/judge"
	"github.com/oraccl/oraccl/cmd/oraccl/report"
	"github.com/oraccl/oraccl/model/format/msccl"
	"github.com/oraccl/oraccl/verify"
	"github.com/oraccl/oraccl/verify/deploy"
)

// doubling is an allgather by recursive doubling as compilers replicate it in two
// instances: either waits for its own receives only, and sends what the other has
// received too.
func doubling(ranks int) *msccl.Algo {
	a := fileOf("doubling", "allgather", ranks, 2*ranks, 2)
	for r := range ranks {
		var peers []int
		for c := 1; c < ranks; c *= 2 {
			peers = append(peers, r^c)
		}
		slices.Sort(peers)
		id := func(c, i int) int { return 2*slices.Index(peers, r^c) + i }
		for _, peer := range peers {
			c := peer ^ r
			for i := range 2 {
				from := func(rank int) int { return rank/c*c*2 + i*c }
				send := st(msccl.Send, bo, from(r), bo, from(r), c)
				if c > 1 {
					send = on(send, id(c/2, i), 1)
				}
				var steps []msccl.Step
				for b := 1; b < c/2; b *= 2 {
					steps = append(steps, on(st(msccl.Nop, bi, -1, bo, -1, 0), id(b, i), 1))
				}
				steps = append(steps, send, signalling(st(msccl.Recv, bo, from(peer), bo, from(peer), c)))
				addTB(a, r, peer, peer, i, steps...)
			}
		}
		for j := range a.GPUs[r].TBs { // receives are the last steps
			for k := range a.GPUs[r].TBs[j].Steps {
				if s := &a.GPUs[r].TBs[j].Steps[k]; s.DepID >= 0 {
					s.Deps = int32(len(a.GPUs[r].TBs[s.DepID].Steps) - 1)
				}
			}
		}
	}
	return a
}

// TestRaceExample: what the one execution that is taken makes of a race, which is how
// the kind reports whether the result can be seen to be wrong.
func TestRaceExample(t *testing.T) {
	for ranks, kind := range map[int]string{4: "race", 8: "race+wrong", 16: "race+wrong"} {
		d := judgeAlgo(doubling(ranks))
		require.Equal(t, verify.Refuted, d.Report.Verdict.Outcome)
		require.Equal(t, kind, string(d.Report.Kind), "%d ranks: %+v", ranks, d.Report.Verdict.Violations)
	}
}

// TestRejectFirst: what no runtime can read is rejected, whatever it would do; what has
// too much of something is judged by what it does.
func TestRejectFirst(t *testing.T) {
	wrong := exchangeAll(4)
	wrong.GPUs[2].TBs[3].Steps[0].SrcOff = 0
	require.Equal(t, "wrong", string(judgeAlgo(wrong).Report.Kind))
	for name, change := range map[string]func(a *msccl.Algo){
		"cnt":    func(a *msccl.Algo) { a.GPUs[1].TBs[0].Steps[0].Count = 72 },
		"hasdep": func(a *msccl.Algo) { a.GPUs[1].TBs[0].Steps[0].HasDep = 2 },
		"proto":  func(a *msccl.Algo) { a.Proto = "LL64" },
	} {
		a := copyAlgo(wrong)
		change(a)
		d := judgeAlgo(a)
		require.Equal(t, verify.Refuted, d.Report.Verdict.Outcome, name)
		require.Equal(t, "reject", string(d.Report.Kind), name)
	}
	for name, change := range map[string]func(a *msccl.Algo){"declared": few, "channels": many} {
		a := copyAlgo(wrong)
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
	a := copyAlgo(exchangeAll(4))
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
	pairs := exchangeAll(40) // 39 threadblocks on a channel
	pairs.HasOutPlace = false
	d = judgeAlgo(pairs)
	require.Equal(t, verify.Proved, d.Report.Verdict.Outcome, "%+v", d.Report.Verdict.Violations)
	require.Contains(t, report.Remarks(d.Report, &noFilter)[0], "more than 32 threadblocks are on channel 0")
	a = copyAlgo(exchangeAll(4)) // a wait for threadblock 132, which 8 bits do not hold
	a.GPUs[0].Scratch = 131
	for i := range 130 {
		addTB(a, 0, -1, -1, 0, signalling(st(msccl.Copy, bi, 0, bs, i, 1)))
	}
	addTB(a, 0, -1, -1, 0, on(st(msccl.Copy, bs, 128, bs, 130, 1), 132, 0))
	d = judgeAlgo(a)
	require.Equal(t, verify.Proved, d.Report.Verdict.Outcome, "%+v", d.Report.Verdict.Violations)
	require.Contains(t, strings.Join(report.Remarks(d.Report, &noFilter), " "), "depid=132 does not fit the runtime's 8 bits")
	a = copyAlgo(exchangeAll(4))
	few(a)
	require.Equal(t, "reject", string(judgeAlgo(a).Report.Kind))
}

// TestGuessBackward: a custom collective by which every rank gets what the next one has.
func TestGuessBackward(t *testing.T) {
	const ranks = 5
	a := fileOf("backward", "custom", ranks, 2, 1)
	a.InPlace, a.OutPlace = false, true
	for r := range ranks {
		var steps []msccl.Step
		send, recv := -1, -1
		if r > 0 {
			send, steps = r-1, append(steps, st(msccl.Send, bi, 0, bo, 0, 2))
		}
		if r < ranks-1 {
			recv, steps = r+1, append(steps, st(msccl.Recv, bi, 0, bo, 0, 2))
		}
		addTB(a, r, send, recv, 0, steps...)
	}
	d := judgeAlgo(a)
	require.Equal(t, verify.Proved, d.Report.Verdict.Outcome, "%+v", d.Report.Verdict.Violations)
	require.Equal(t, "alltonextbackward", d.Report.Collective)
	forward := judgeDeployment(a, deploy.Options{Collective: "alltonext"})
	require.Equal(t, "wrong", string(forward.Report.Kind))
}

// judgeDeployment is judgeAlgo with flags.
func judgeDeployment(a *msccl.Algo, by deploy.Options) *judge.Deployed {
	d, err := judge.Algo(context.Background(), a.File, a, by)
	if err != nil {
		panic(err)
	}
	return d
}

// TestVerbsAgree: verify, convert and view have one verdict on a file, for every size of the
// buffer.
func TestVerbsAgree(t *testing.T) {
	outcomes := map[int]int{}
	wrong := copyAlgo(exchangeAll(4))
	wrong.GPUs[2].TBs[3].Steps[0].SrcOff = 0
	for _, a := range []*msccl.Algo{allPairsOf(8, 8), halving(), gatherRing(4), scatterRing(4), exchangeAll(4), wrong} {
		dir := t.TempDir()
		file := filepath.Join(dir, "file.xml")
		for _, proto := range []string{"Simple", "LL"} {
			a.Proto = proto
			var b bytes.Buffer
			require.NoError(t, a.Write(&b))
			require.NoError(t, os.WriteFile(file, b.Bytes(), 0o644))
			for _, size := range []string{"", "4KiB", "64KiB", "1MiB", "32MiB", "33554496", "1GiB"} {
				var flags []string
				if size != "" {
					flags = []string{"--size", size}
				}
				where := fmt.Sprintf("%s, %s, size %q", a.Name, proto, size)
				verified, verdict, _ := call(append([]string{"verify", file}, flags...)...)
				outcomes[verified]++
				converted, _, _ := call(append([]string{"convert", file, "--to", "oraccl", "-o", filepath.Join(dir, "file.json")}, flags...)...)
				require.Equal(t, verified, converted, "%s\n%s", where, verdict)
				seen, _, _ := call(append([]string{"view", file, "--no-bound", "-o", filepath.Join(dir, "file.html")}, flags...)...)
				require.Equal(t, verified, seen, "%s\n%s", where, verdict)
			}
		}
	}
	t.Log(outcomes)
	require.Greater(t, outcomes[exit.Done], 20)
	require.Greater(t, outcomes[exit.Refuted], 10)
	// the case that was found in the field, of the shape of RCCL's allreduce-allpairs-8n-simple
	r := judgeAlgo(allPairsOf(8, 8)).Report
	require.Equal(t, "needs 1 buffer slot per connection, 8 for large buffers; Simple has 2, so it may deadlock above 32 MiB", r.Sentence(&r.Calls[0]))
}

// noFilter is what is shown where no flag is given.
var noFilter = report.NewFilter()

// TestRelease: what is printed does not need what is released, whatever the verdict.
func TestRelease(t *testing.T) {
	odd := copyAlgo(exchangeAll(4))
	odd.GPUs[2].TBs[3].Steps[0].SrcOff = 0
	raced := doubling(8)
	crowd := copyAlgo(exchangeAll(4))
	many(crowd)
	stuck := copyAlgo(halving())
	stuck.GPUs[0].TBs[0].Channel = 5
	for _, a := range []*msccl.Algo{halving(), allPairs(4), odd, raced, crowd, stuck} {
		d := judgeDeployment(copyAlgo(a), deploy.Options{Size: 1 << 20})
		printed := func() string {
			var b strings.Builder
			report.PrintDeployed(&b, d.Report, &noFilter)
			for _, format := range []string{"json", "sarif", "github"} {
				require.NoError(t, report.PrintAllDeployed(&b, []*deploy.Report{d.Report}, 1, format, &noFilter))
			}
			return b.String()
		}
		before := printed()
		d.Report.Release()
		require.Equal(t, before, printed(), a.Name)
	}
}
