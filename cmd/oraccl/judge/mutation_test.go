package judge

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model/format/msccl"
	"github.com/oraccl/oraccl/model/format/msccl/msccltest"
	"github.com/oraccl/oraccl/verify"
	"github.com/oraccl/oraccl/verify/deploy"
)

// judgeAlgo verifies a file that is in memory.
func judgeAlgo(a *msccl.Algo) *Deployed {
	return judgeDeployment(a, deploy.Options{})
}

// mutation is a kind of single change. It is tried at every step, or at every
// threadblock, gpu or file; change reports whether there is something to change.
type mutation struct {
	name string
	step func(a *msccl.Algo, g *msccl.GPU, t *msccl.TB, i int) bool
	tb   func(a *msccl.Algo, g *msccl.GPU, j int) bool
	gpu  func(a *msccl.Algo, i int) bool
	file func(a *msccl.Algo) bool
	// same is why such a change may leave the meaning as it is; "": it never does.
	same string
}

func onStep(f func(s *msccl.Step) bool) func(*msccl.Algo, *msccl.GPU, *msccl.TB, int) bool {
	return func(_ *msccl.Algo, _ *msccl.GPU, t *msccl.TB, i int) bool { return f(&t.Steps[i]) }
}

var mutations = []mutation{
	{name: "dependency dropped", step: onStep(func(s *msccl.Step) bool {
		had := s.DepID >= 0
		s.DepID, s.Deps = -1, -1
		return had
	})},
	{name: "dependency on the step before", same: "the step before does not signal, and the wait is for the same one as before", step: onStep(func(s *msccl.Step) bool {
		s.Deps--
		return s.DepID >= 0 && s.Deps >= 0
	})},
	{name: "dependency on the step after", same: "the step after signals too, and does not wait for this one", step: onStep(func(s *msccl.Step) bool {
		s.Deps++
		return s.DepID >= 0
	})},
	{name: "dependency on another threadblock", step: func(_ *msccl.Algo, g *msccl.GPU, t *msccl.TB, i int) bool {
		s := &t.Steps[i]
		if s.DepID < 0 {
			return false
		}
		s.DepID = (s.DepID + 1) % int32(len(g.TBs))
		return len(g.TBs) > 1
	}},
	{name: "dependency added", same: "it is for a step that comes before anyway, or does no harm", step: func(_ *msccl.Algo, g *msccl.GPU, t *msccl.TB, i int) bool {
		s := &t.Steps[i]
		if s.DepID >= 0 || len(g.TBs) < 2 {
			return false
		}
		s.DepID, s.Deps = (int32(t.ID)+1)%int32(len(g.TBs)), 0
		return true
	}},
	{name: "hasdep taken away", same: "a step that signals later is waited for instead, or nothing waits for it", step: onStep(func(s *msccl.Step) bool {
		had := s.HasDep == 1
		s.HasDep = 0
		return had
	})},
	{name: "hasdep given", same: "a signal that nothing needs; it releases nobody too early, since waits are for steps that signal", step: onStep(func(s *msccl.Step) bool {
		had := s.HasDep == 1 || s.Type == msccl.Nop
		s.HasDep = 1
		return !had
	})},
	{name: "step removed", step: func(_ *msccl.Algo, _ *msccl.GPU, t *msccl.TB, i int) bool {
		was := t.Steps[i].Type
		t.Steps = slices.Delete(t.Steps, i, i+1)
		return was != msccl.Nop
	}},
	{name: "nop removed", step: func(_ *msccl.Algo, _ *msccl.GPU, t *msccl.TB, i int) bool {
		was := t.Steps[i].Type
		t.Steps = slices.Delete(t.Steps, i, i+1)
		return was == msccl.Nop
	}},
	{name: "nop without a dependency added", same: "it is dropped and not numbered, as the runtimes do", step: func(_ *msccl.Algo, _ *msccl.GPU, t *msccl.TB, i int) bool {
		t.Steps = slices.Insert(t.Steps, i, msccltest.Step(msccl.Nop, msccltest.Bi, 0, msccltest.Bi, 0, 0))
		return true
	}},
	{name: "step doubled", same: "a copy that is made twice", step: func(_ *msccl.Algo, _ *msccl.GPU, t *msccl.TB, i int) bool {
		t.Steps = slices.Insert(t.Steps, i, t.Steps[i])
		return t.Steps[i].Type != msccl.Nop
	}},
	{name: "steps swapped", same: "the two are of equal meaning, or independent: a send and a receive of different chunks, two additions to one sum, two nops",
		step: func(_ *msccl.Algo, _ *msccl.GPU, t *msccl.TB, i int) bool {
			if i+1 == len(t.Steps) {
				return false
			}
			t.Steps[i], t.Steps[i+1] = t.Steps[i+1], t.Steps[i]
			return true
		}},
	{name: "source offset up", step: onStep(func(s *msccl.Step) bool { s.SrcOff++; return readsSource(s) })},
	{name: "source offset down", step: onStep(func(s *msccl.Step) bool { s.SrcOff--; return readsSource(s) })},
	{name: "destination offset up", step: onStep(func(s *msccl.Step) bool { s.DstOff++; return writesDestination(s) })},
	{name: "destination offset down", step: onStep(func(s *msccl.Step) bool { s.DstOff--; return writesDestination(s) })},
	{name: "remote source address", same: "the runtimes do not read the source of what is received", step: onStep(func(s *msccl.Step) bool {
		s.SrcOff++
		return s.Type == msccl.Recv || s.Type == msccl.RecvCopySend
	})},
	{name: "remote destination address", same: "the runtimes do not read the destination of what is only sent", step: onStep(func(s *msccl.Step) bool {
		s.DstOff++
		return s.Type == msccl.Send || s.Type == msccl.RecvReduceSend
	})},
	{name: "source buffer", same: "in place i and o are the same memory", step: onStep(func(s *msccl.Step) bool { s.Src = (s.Src + 1) % 3; return readsSource(s) })},
	{name: "destination buffer", same: "in place i and o are the same memory", step: onStep(func(s *msccl.Step) bool { s.Dst = (s.Dst + 1) % 3; return writesDestination(s) })},
	{name: "count up", same: "of re that are joined the last one's count holds for all", step: onStep(func(s *msccl.Step) bool { s.Count++; return s.Type != msccl.Nop })},
	{name: "count down", same: "of re that are joined the last one's count holds for all",
		step: onStep(func(s *msccl.Step) bool { s.Count--; return s.Type != msccl.Nop })},
	{name: "reduce becomes copy", step: onStep(func(s *msccl.Step) bool {
		to, ok := map[msccl.Type]msccl.Type{msccl.RecvReduceCopy: msccl.Recv, msccl.RecvReduceCopySend: msccl.RecvCopySend, msccl.RecvReduceSend: msccl.RecvCopySend, msccl.Reduce: msccl.Copy}[s.Type]
		s.Type = to
		return ok
	})},
	{name: "copy becomes reduce", step: onStep(func(s *msccl.Step) bool {
		to, ok := map[msccl.Type]msccl.Type{msccl.Recv: msccl.RecvReduceCopy, msccl.RecvCopySend: msccl.RecvReduceCopySend, msccl.Copy: msccl.Reduce}[s.Type]
		s.Type = to
		return ok
	})},
	{name: "sends no more, or copies too", same: "what is written too is overwritten before it is read, or is what is there",
		step: onStep(func(s *msccl.Step) bool {
			to, ok := map[msccl.Type]msccl.Type{msccl.RecvCopySend: msccl.Recv, msccl.RecvReduceCopySend: msccl.RecvReduceCopy, msccl.RecvReduceSend: msccl.RecvReduceCopySend, msccl.RecvReduceCopy: msccl.RecvReduceSend}[s.Type]
			s.Type = to
			return ok
		})},
	{name: "send becomes receive", step: onStep(func(s *msccl.Step) bool { was := s.Type; s.Type = msccl.Recv; return was == msccl.Send })},
	{name: "receive becomes send", step: onStep(func(s *msccl.Step) bool { was := s.Type; s.Type = msccl.Send; return was == msccl.Recv })},
	{name: "number of a step", same: "the runtimes count steps themselves", step: onStep(func(s *msccl.Step) bool { s.S = (s.S + 1) % 64; return true })},
	{name: "send peer", step: nil, tb: func(a *msccl.Algo, g *msccl.GPU, j int) bool {
		t := &g.TBs[j]
		t.Send = other(a, g, t.Send)
		return t.Send >= 0
	}},
	{name: "receive peer", tb: func(a *msccl.Algo, g *msccl.GPU, j int) bool {
		t := &g.TBs[j]
		t.Recv = other(a, g, t.Recv)
		return t.Recv >= 0
	}},
	{name: "channel", same: "a threadblock without a connection", tb: func(_ *msccl.Algo, g *msccl.GPU, j int) bool {
		g.TBs[j].Channel++
		return true
	}},
	{name: "channel split", tb: func(_ *msccl.Algo, g *msccl.GPU, j int) bool {
		t := &g.TBs[j]
		half := len(t.Steps) / 2
		if half == 0 || t.Send < 0 && t.Recv < 0 {
			return false
		}
		g.TBs = append(g.TBs, msccl.TB{ID: len(g.TBs), Send: t.Send, Recv: t.Recv, Channel: 7, Steps: slices.Clone(t.Steps[half:])})
		g.TBs[j].Steps = g.TBs[j].Steps[:half]
		return true
	}},
	{name: "threadblock split", same: "", tb: func(_ *msccl.Algo, g *msccl.GPU, j int) bool {
		t := &g.TBs[j]
		half := len(t.Steps) / 2
		if half == 0 || t.Send < 0 && t.Recv < 0 || t.Steps[half].Type == msccl.Nop {
			return false
		}
		both := func(part []msccl.Step) (sends, recvs bool) {
			for _, s := range part {
				sends, recvs = sends || s.Type.Sends(), recvs || s.Type.Receives()
			}
			return sends, recvs
		}
		s1, r1 := both(t.Steps[:half])
		s2, r2 := both(t.Steps[half:])
		g.TBs = append(g.TBs, msccl.TB{ID: len(g.TBs), Send: t.Send, Recv: t.Recv, Channel: t.Channel, Steps: slices.Clone(t.Steps[half:])})
		g.TBs[j].Steps = g.TBs[j].Steps[:half]
		return s1 && s2 || r1 && r2
	}},
	{name: "threadblock removed", tb: func(_ *msccl.Algo, g *msccl.GPU, j int) bool {
		g.TBs = slices.Delete(g.TBs, j, j+1)
		return true
	}},
	{name: "threadblock's number", same: "nothing waits for either", tb: func(_ *msccl.Algo, g *msccl.GPU, j int) bool {
		if j+1 == len(g.TBs) {
			return false
		}
		g.TBs[j].ID, g.TBs[j+1].ID = g.TBs[j+1].ID, g.TBs[j].ID
		return true
	}},
	{name: "threadblocks in another order", same: "they are known by their numbers", tb: func(_ *msccl.Algo, g *msccl.GPU, j int) bool {
		if j+1 == len(g.TBs) {
			return false
		}
		g.TBs[j], g.TBs[j+1] = g.TBs[j+1], g.TBs[j]
		return true
	}},
	{name: "gpu removed", gpu: func(a *msccl.Algo, i int) bool { a.GPUs = slices.Delete(a.GPUs, i, i+1); return true }},
	{name: "gpus in another order", same: "they are known by their numbers", gpu: func(a *msccl.Algo, i int) bool {
		j := (i + 1) % len(a.GPUs)
		a.GPUs[i], a.GPUs[j] = a.GPUs[j], a.GPUs[i]
		return true
	}},
	{name: "gpus' numbers exchanged", gpu: func(a *msccl.Algo, i int) bool {
		j := (i + 1) % len(a.GPUs)
		a.GPUs[i].ID, a.GPUs[j].ID = a.GPUs[j].ID, a.GPUs[i].ID
		return true
	}},
	{name: "scratch shrunk", gpu: func(a *msccl.Algo, i int) bool { a.GPUs[i].Scratch--; return a.GPUs[i].Scratch >= 0 }},
	{name: "chunks a loop doubled", file: func(a *msccl.Algo) bool { a.ChunksPerLoop *= 2; return true }},
	{name: "a rank more", file: func(a *msccl.Algo) bool { a.Ranks++; return true }},
	{name: "a rank fewer", file: func(a *msccl.Algo) bool { a.Ranks--; return true }},
	{name: "another collective", file: func(a *msccl.Algo) bool {
		a.Coll = map[string]string{"allreduce": "alltoall", "alltoall": "allreduce", "allgather": "reducescatter", "reducescatter": "allgather"}[a.Coll]
		return true
	}},
	{name: "in place or not", same: "every chunk is sent before another one takes its place", file: func(a *msccl.Algo) bool { a.InPlace, a.OutPlace = a.OutPlace, a.InPlace; return true }},
	{name: "another protocol", same: "the result does not depend on it; slots and sizes do", file: func(a *msccl.Algo) bool { a.Proto = "LL"; return true }},
	{name: "another name", same: "it is a name", file: func(a *msccl.Algo) bool { a.Name += "!"; return true }},
}

func readsSource(s *msccl.Step) bool {
	return s.Type != msccl.Nop && s.Type != msccl.Recv && s.Type != msccl.RecvCopySend
}

func writesDestination(s *msccl.Step) bool {
	return s.Type != msccl.Nop && s.Type != msccl.Send && s.Type != msccl.RecvReduceSend
}

// other returns another peer, or -1.
func other(a *msccl.Algo, g *msccl.GPU, peer int) int {
	if peer < 0 {
		return -1
	}
	for p := (peer + 1) % a.Ranks; p != peer; p = (p + 1) % a.Ranks {
		if p != g.ID {
			return p
		}
	}
	return -1
}

// mutants returns all single changes of a kind.
func (m *mutation) mutants(a *msccl.Algo) []*msccl.Algo {
	var all []*msccl.Algo
	try := func(change func(c *msccl.Algo) bool) {
		if c := msccltest.Copy(a); change(c) {
			all = append(all, c)
		}
	}
	if m.file != nil {
		try(m.file)
	}
	for i := range a.GPUs {
		if m.gpu != nil {
			try(func(c *msccl.Algo) bool { return m.gpu(c, i) })
		}
		for j := range a.GPUs[i].TBs {
			if m.tb != nil {
				try(func(c *msccl.Algo) bool { return m.tb(c, &c.GPUs[i], j) })
			}
			for k := range a.GPUs[i].TBs[j].Steps {
				if m.step != nil {
					try(func(c *msccl.Algo) bool { return m.step(c, &c.GPUs[i], &c.GPUs[i].TBs[j], k) })
				}
			}
		}
	}
	return all
}

// runs is how often the dumb interpreter carries out what was proved.
const runs = 12

// fails returns what goes wrong in a few runs of the dumb interpreter, or "".
func fails(a *msccl.Algo, rng *rand.Rand) string {
	for _, in := range []bool{true, false} {
		if in != a.InPlace && in == a.OutPlace {
			continue
		}
		for range runs {
			if bad := msccltest.Run(a, in, rng); bad != "" {
				return bad
			}
		}
	}
	return ""
}

// TestMutations changes right files in one place each. What is refuted is refuted; what
// is proved must be of a kind that may be without effect, for the reason given, and must
// come out right in runs of an interpreter that shares nothing with the verifier.
func TestMutations(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 1))
	refuted, equivalent, observed, all := 0, 0, 0, 0
	for i := range mutations {
		m := &mutations[i]
		n, same := 0, 0
		for _, base := range msccltest.Bases() {
			if i == 0 {
				require.Equal(t, verify.Proved, judgeAlgo(base).Report.Verdict.Outcome, "%s: %+v", base.Name, judgeAlgo(base).Report.Verdict.Violations)
				require.Empty(t, fails(base, rng), base.Name)
			}
			for _, c := range m.mutants(base) {
				n++
				d := judgeAlgo(c)
				switch d.Report.Verdict.Outcome {
				case verify.Refuted:
					refuted++
					if n%8 == 0 && string(d.Report.Kind) != "reject" && string(d.Report.Kind) != "shared-connection" && base.Ranks == c.Ranks && base.ChunksPerLoop == c.ChunksPerLoop {
						if all++; fails(c, rng) != "" {
							observed++
						}
					}
				case verify.Proved:
					same++
					require.NotEmpty(t, m.same, "%s, %s: proved, and nothing says that this may be", base.Name, m.name)
					require.Empty(t, fails(c, rng), "%s, %s", base.Name, m.name)
				default:
					t.Fatalf("%s, %s: %v: %s", base.Name, m.name, d.Report.Verdict.Outcome, d.Report.Verdict.Reason)
				}
			}
		}
		require.Positive(t, n, m.name)
		equivalent += same
		if same > 0 {
			t.Logf("%-36s %4d of %4d without effect: %s", m.name, same, n, m.same)
			continue
		}
		require.Empty(t, m.same, "%s: the reason is not needed", m.name)
		t.Logf("%-36s all %4d refuted", m.name, n)
	}
	t.Logf("%d kinds, %d mutants: %d refuted, %d without effect; of %d refuted ones %d went wrong in %d runs in random orders", len(mutations), refuted+equivalent, refuted, equivalent, all, observed, runs)
	require.GreaterOrEqual(t, len(mutations), 20)
	require.Greater(t, observed, all/2)
}

// TestDumbDeployed carries out deployed files that are proved, in random orders.
func TestDumbDeployed(t *testing.T) {
	dir := os.Getenv("ORACCL_DATA")
	if dir == "" {
		t.Skip("left out: ORACCL_DATA does not name the directory of the shared data")
	}
	dir = filepath.Join(dir, "msccl")
	files, err := filepath.Glob(filepath.Join(dir, "*.xml"))
	require.NoError(t, err)
	rng := rand.New(rand.NewPCG(6, 2))
	right := 0
	for _, file := range files {
		d, err := ReadDeployed(t.Context(), file, deploy.Options{})
		require.NoError(t, err)
		if d.Report.Verdict.Outcome != verify.Proved {
			continue
		}
		for _, m := range d.Report.Calls {
			require.Empty(t, msccltest.Run(d.Algo, m.InPlace, rng), file)
			right++
		}
	}
	t.Log(fmt.Sprint(right, " proved ones are right in a random order"))
	require.Positive(t, right)
}
