//go:build cgo

package concurrent_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/verify"
	"github.com/oraccl/oraccl/verify/order"
	"github.com/oraccl/oraccl/verify/smt/concurrent"
	"github.com/oraccl/oraccl/verify/smt/z3"
	"github.com/oraccl/oraccl/verify/verifytest/programs"
)

// wanted makes what a program really ends with what it must end with, in some cells,
// and something else in others.
func wanted(rng *rand.Rand, p *model.Program) {
	p.Wants = [][]int32{{0}, {1}, {0, 1}}
	for in := int32(2); in < int32(p.Inputs*p.Ranks); in++ {
		p.Wants = append(p.Wants, []int32{in}, []int32{0, in}, []int32{1, in})
	}
	for r := range p.Ranks {
		for c := range p.Post[r] {
			p.Post[r][c] = int32(rng.IntN(2*len(p.Wants)) - len(p.Wants))
			p.Post[r][c] = max(p.Post[r][c], -1)
		}
	}
	for range 4 { // settle for what comes out
		violations := order.Check(context.Background(), p).Verdict.Violations
		for _, v := range violations {
			rank, isRank := v.Rank()
			chunk, isChunk := v.Chunk()
			if isRank && isChunk && (v.Code == verify.MissingContribution || v.Code == verify.DoubleContribution || v.Code == verify.WrongValue) && rng.IntN(8) > 0 {
				p.Post[rank][chunk] = -1
			}
		}
	}
}

// TestAgainstOrder sets the formulas against the execution, on random
// programs, which the execution's own tests set against every interleaving.
func TestAgainstOrder(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 4))
	seen := map[string]int{}
	for i := range 3000 {
		p := programs.Draw(rng)
		wanted(rng, p)
		r := order.Check(context.Background(), p)
		per := rng.IntN(2)
		c := concurrent.Check(context.Background(), p, z3.New(), concurrent.Options{Transfers: per})
		at := fmt.Sprintf("program %d: %+v\norder: %+v\nformulas: %+v", i, p.Processes, r, c)
		if c.Deadlock == verify.Unknown {
			seen["not asked"]++
			require.NotEmpty(t, c.Verdict.Reason)
			require.Equal(t, verify.Refuted, r.Verdict.Outcome, at)
			continue
		}
		require.Equal(t, r.Deadlock, c.Deadlock, at)
		if r.Deadlock == verify.Refuted {
			seen["deadlock"]++
			continue
		}
		require.Equal(t, r.Slots(per), c.Slots, at)
		require.Equal(t, r.Races, c.Races, at)
		if r.Races == verify.Refuted {
			seen["race"]++
			continue
		}
		bad := r.Result == verify.Refuted || r.Defined == verify.Refuted
		require.Equal(t, bad, c.Result == verify.Refuted, at)
		require.Equal(t, bad, c.Verdict.Outcome == verify.Refuted, at)
		require.Equal(t, !bad, c.Verdict.Outcome == verify.Proved, at)
		if bad {
			seen["wrong"]++
			if code := c.Verdict.Violations[0].Code; code != verify.UninitialisedRead {
				require.Positive(t, r.Counts[code], at)
			}
		} else {
			seen["proved"]++
		}
	}
	t.Log(seen)
	for _, kind := range []string{"deadlock", "race", "wrong", "proved"} {
		require.Greater(t, seen[kind], 40, kind)
	}
}

// TestExamples asks about the examples of the catalogue.
func TestExamples(t *testing.T) {
	asked := 0
	for _, code := range verify.Codes() {
		e, _ := verify.Explain(code)
		if e.Example.Program == nil {
			continue
		}
		r := order.Check(context.Background(), e.Example.Program)
		c := concurrent.Check(context.Background(), e.Example.Program, z3.New(), concurrent.Options{})
		if c.Verdict.Outcome != verify.Unknown {
			asked++
			require.Equal(t, r.Verdict.Outcome, c.Verdict.Outcome, "%s: %+v", code, c)
		} else {
			require.NotEmpty(t, c.Verdict.Reason, code)
		}
	}
	require.GreaterOrEqual(t, asked, 6)
}

// TestScript has another process of the solver read the whole text.
func TestScript(t *testing.T) {
	e, _ := verify.Explain(verify.RankOrder)
	text, err := concurrent.Script(e.Example.Program)
	require.NoError(t, err)
	require.Contains(t, text, "; races: expect unsat")
	path, err := exec.LookPath("z3")
	if err != nil {
		t.Skip("no z3 program: its reading of the text is left out")
	}
	cmd := exec.Command(path, "-in", "-smt2")
	cmd.Stdin = strings.NewReader(text)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
	for _, word := range strings.Fields(string(out)) {
		require.Equal(t, "unsat", word)
	}
}
