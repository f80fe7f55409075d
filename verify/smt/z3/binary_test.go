//go:build cgo

package z3_test

import (
	"math/rand/v2"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/verify"
	"github.com/oraccl/oraccl/verify/smt"
	"github.com/oraccl/oraccl/verify/verifytest/cases"
)

// TestOtherSolvers hands the written scripts to the solvers that are installed as
// programs, and wants the same verdict.
func TestOtherSolvers(t *testing.T) {
	commands := map[string][]string{"z3": {"-in"}, "cvc5": {"--incremental", "--lang=smt2", "-"}}
	for name, args := range commands {
		if _, err := exec.LookPath(name); err != nil {
			t.Logf("left out: the program %s is not installed", name)
			continue
		}
		var list []*cases.Case
		for _, form := range forms {
			list = append(list, cases.RingAllReduce(4, model.Sum, form), cases.BinomialBroadcast(6, form), cases.Pipeline(form))
		}
		list = append(list, cases.RecursiveDoubling(8, model.Max, model.InRounds))
		rng := rand.New(rand.NewPCG(5, 5))
		for range 15 {
			list = append(list, cases.Random(rng), cases.RandomOrdered(rng))
		}
		for i, c := range list {
			script, err := smt.Script(c.P, c.S)
			require.NoError(t, err)
			cmd := exec.Command(name, args...)
			cmd.Stdin = strings.NewReader(script)
			out, err := cmd.CombinedOutput()
			require.NoError(t, err, "%s: %s", name, out)
			want := verify.Refuted
			if expected(t, script) == string(out) {
				want = verify.Proved
			}
			require.NotContains(t, string(out), "unknown")
			require.Equal(t, want, check(c).Outcome, "%s, case %d: %v\n%s", name, i, c.P, out)
		}
	}
}

// expected returns the answers that the comments of a script expect.
func expected(t *testing.T, script string) string {
	t.Helper()
	var b strings.Builder
	for line := range strings.Lines(script) {
		if at := strings.LastIndex(line, ": expect "); at >= 0 && strings.HasPrefix(line, ";") {
			b.WriteString(line[at+len(": expect "):])
		}
	}
	require.Equal(t, strings.Count(script, "\n(check-sat"), strings.Count(b.String(), "\n"))
	return b.String()
}
