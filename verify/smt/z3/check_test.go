//go:build cgo

package z3_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/verify"
	"github.com/oraccl/oraccl/verify/smt"
	"github.com/oraccl/oraccl/verify/smt/z3"
	"github.com/oraccl/oraccl/verify/verifytest"
	"github.com/oraccl/oraccl/verify/verifytest/cases"
)

func check(c *cases.Case) verify.Verdict {
	return smt.Check(context.Background(), c.P, c.S, z3.New(), smt.Options{})
}

var forms = []model.Form{model.Timed, model.InRounds, model.Ordered}

// TestCollectives proves right schedules of every collective, operator, form,
// group and root, and refutes them without any one of their transfers.
func TestCollectives(t *testing.T) {
	for _, kind := range model.Kinds() {
		for i, form := range forms {
			for _, group := range [][]int{nil, {3, 1, 4}} {
				col := model.Collective{Kind: kind, Op: model.Operator((int(kind) + i) % 4), Group: group}
				if kind.Rooted() {
					col.Root = 1
				}
				c := cases.Direct(5, col, 1+i%2, form)
				if i > 0 {
					c.P.Release = []model.Time{0, 5, 0, 7, 1 << 40}
				}
				v := check(c)
				require.Equal(t, verify.Proved, v.Outcome, "%v: %+v", c.P, v)
				require.Empty(t, v.Violations)
				require.Empty(t, v.Reason)
				require.NotEmpty(t, c.S.Transfers)
				if form == model.Ordered {
					continue
				}
				for j := range c.S.Transfers {
					fewer := *c.S
					fewer.Transfers = slices.Delete(slices.Clone(c.S.Transfers), j, j+1)
					v := check(&cases.Case{P: c.P, S: &fewer})
					require.Equal(t, verify.Refuted, v.Outcome, "%v without transfer %d", c.P, j)
				}
			}
		}
	}
}

func TestLarger(t *testing.T) {
	for _, form := range forms {
		for _, op := range []model.Operator{model.Sum, model.Min} {
			for _, n := range []int{2, 3, 8, 16} {
				require.Equal(t, verify.Proved, check(cases.RingAllReduce(n, op, form)).Outcome)
			}
			require.Equal(t, verify.Proved, check(cases.BinomialBroadcast(100, form)).Outcome)
		}
		require.Equal(t, verify.Proved, check(cases.Pipeline(form)).Outcome)
	}
	for _, form := range forms[:2] {
		for _, op := range []model.Operator{model.Prod, model.Max} {
			require.Equal(t, verify.Proved, check(cases.RecursiveDoubling(32, op, form)).Outcome)
		}
	}
}

// TestRefutations reads counterexamples back, word by word.
func TestRefutations(t *testing.T) {
	ring := func() *cases.Case { return cases.RingAllReduce(3, model.Sum, model.InRounds) }
	for _, x := range []struct {
		name   string
		c      *cases.Case
		change func(c *cases.Case)
		want   verify.Violation
	}{
		{"double", ring(), func(c *cases.Case) { c.S.Transfers[9].Op = model.Reduction }, verify.Wrong(verify.DoubleContribution, "rank 1, chunk 0",
			"ends with 2·x0+2·x1+x2, want x0+x1+x2: x0 is added again by transfer 9 (reduce 0→1, round 3)").AtTransfer(9).AtSlot(1, 0)},
		{"missing", ring(), func(c *cases.Case) { c.S.Transfers = slices.Delete(c.S.Transfers, 9, 10) }, verify.Wrong(verify.MissingContribution, "rank 1, chunk 0",
			"ends with x0+x1, want x0+x1+x2: x2 never arrives").AtSlot(1, 0)},
		{"overwritten", ring(), func(c *cases.Case) { c.S.Transfers[4].Op = model.Copy }, verify.Wrong(verify.MissingContribution, "rank 0, chunk 0",
			"ends with x0+x1, want x0+x1+x2: x2 never arrives").AtSlot(0, 0)},
		{"lost", cases.Direct(3, model.Collective{Kind: model.Reduce, Root: 1}, 1, model.InRounds),
			func(c *cases.Case) { c.S.Transfers[1].Op = model.Copy }, verify.Wrong(verify.MissingContribution, "rank 1, chunk 0",
				"ends with x2, want x0+x1+x2: x0 is overwritten by transfer 1 (copy 2→1, round 1)").AtTransfer(1).AtSlot(1, 0)},
		{"wrong", cases.Pipeline(model.Timed), func(c *cases.Case) { c.P.Collective.Post[1].Value = model.Unit(0) }, verify.Wrong(verify.MissingContribution, "rank 2, chunk 1",
			"ends with 2·x2, want x0: x0 never arrives").AtSlot(2, 1)},
		{"unwanted", cases.Pipeline(model.InRounds), func(c *cases.Case) {
			c.P.Collective.Pre[2].Value = model.Multiset(model.Term{Rank: 0, Count: 1}, model.Term{Rank: 2, Count: 2})
		}, verify.Wrong(verify.WrongValue, "rank 2, chunk 1",
			"ends with x0+2·x2, want 2·x2: x0 comes with transfer 3 (copy 1→2, round 0)").AtTransfer(3).AtSlot(2, 1)},
		{"count short", cases.Pipeline(model.InRounds), func(c *cases.Case) { c.S.Transfers = c.S.Transfers[1:] }, verify.Wrong(verify.MissingContribution, "rank 0, chunk 0",
			"ends with x0+2·x1, want x0+3·x1: x1 never arrives 3 times").AtSlot(0, 0)},
		{"count over", cases.Pipeline(model.InRounds), func(c *cases.Case) { c.Send(0, 1, 0, model.Reduction, 7, 8) }, verify.Wrong(verify.DoubleContribution, "rank 0, chunk 0",
			"ends with x0+4·x1, want x0+3·x1: x1 is added again by transfer 4 (reduce 1→0, round 7)").AtTransfer(4).AtSlot(0, 0)},
		{"set", cases.RecursiveDoubling(4, model.Max, model.InRounds), func(c *cases.Case) { c.S.Transfers = c.S.Transfers[:7] }, verify.Wrong(verify.MissingContribution, "rank 1, chunk 0",
			"ends with x0+x1, want x0+…+x3: x2 never arrives").AtSlot(1, 0)},
		{"undefined at the end", cases.BinomialBroadcast(4, model.InRounds), func(c *cases.Case) { c.S.Transfers = c.S.Transfers[:2] }, verify.Wrong(verify.MissingContribution, "rank 3, chunk 0", "ends undefined, want x0").AtSlot(3, 0)},
		{"send undefined", cases.BinomialBroadcast(4, model.InRounds), func(c *cases.Case) { c.S.Transfers[2].Start, c.S.Transfers[2].End = 0, 1 }, verify.Wrong(verify.SendUndefined, "transfer 2",
			"sends chunk 0 from rank 1, which holds nothing of it then (copy 1→3, round 0), want it to have arrived before").AtTransfer(2).AtSlot(1, 0)},
		{"reduce into undefined", cases.BinomialBroadcast(2, model.InRounds), func(c *cases.Case) { c.S.Transfers[0].Op = model.Reduction }, verify.Wrong(verify.ReduceUndefined, "transfer 0",
			"reduces into chunk 0 of rank 1, which holds nothing of it then (reduce 0→1, round 0), want a copy or an earlier value").AtTransfer(0).AtSlot(1, 0)},
		{"write-write race", cases.BinomialBroadcast(2, model.Timed), func(c *cases.Case) {
			c.Send(0, 0, 1, model.Copy, 5, c.S.Transfers[0].End)
		}, verify.Wrong(verify.WriteWriteRace, "rank 1, chunk 0",
			"transfer 0 (copy 0→1, 0s to 21.97152us) and transfer 1 (copy 0→1, 5ps to 21.97152us) both write it at the same instant and not both reduce").AtTransfer(1).AtSlot(1, 0)},
		{"unordered writes", cases.BinomialBroadcast(2, model.Ordered), func(c *cases.Case) { c.Wait(0, 0, 1, model.Copy) }, verify.Wrong(verify.WriteWriteRace, "rank 1, chunk 0",
			"transfer 0 (copy 0→1) and transfer 1 (copy 0→1) both write it, not both reduce, and neither waits for the other").AtTransfer(1).AtSlot(1, 0)},
		{"unordered read", cases.BinomialBroadcast(4, model.Ordered), func(c *cases.Case) { c.S.After[2] = nil }, verify.Wrong(verify.ReadWriteRace, "rank 1, chunk 0",
			"transfer 0 (copy 0→1) and transfer 2 (copy 1→3) write and read it, and neither waits for the other").AtTransfer(2).AtSlot(1, 0)},
		{"exchange without order", cases.RecursiveDoubling(2, model.Sum, model.Ordered), func(c *cases.Case) { c.S.After[1] = nil }, verify.Wrong(verify.ReadWriteRace, "", "")},
	} {
		x.change(x.c)
		v := check(x.c)
		require.Equal(t, verify.Refuted, v.Outcome, "%s: %+v", x.name, v)
		if x.want.Message == "" {
			require.Equal(t, x.want.Code, v.Violations[0].Code, x.name)
			continue
		}
		require.Equal(t, x.want, v.Violations[0], x.name)
	}
}

// TestCauses follows a contribution that is there twice through copies, back to the
// transfer that added it again.
func TestCauses(t *testing.T) {
	c := cases.Direct(4, model.Collective{Kind: model.AllReduce}, 1, model.InRounds)
	c.P = c.P.WithChunks(1)
	c.S.Transfers = slices.DeleteFunc(c.S.Transfers, func(t model.Transfer) bool { return t.Chunk != 0 })
	again := c.Send(0, 2, 0, model.Reduction, 2, 3) // beside the last reduction
	v := check(c)
	require.Equal(t, verify.Refuted, v.Outcome)
	require.Len(t, v.Violations, 4)
	for rank, x := range v.Violations {
		require.Equal(t, verify.Wrong(verify.DoubleContribution, fmt.Sprintf("rank %d, chunk 0", rank),
			fmt.Sprintf("ends with x0+x1+2·x2+x3, want x0+…+x3: x2 is added again by transfer %d (reduce 2→0, round 2)", again)).AtTransfer(int(again)).AtSlot(rank, 0), x)
	}
	// From the start, it is nobody's fault.
	c = cases.Pipeline(model.InRounds)
	c.P.Collective.Post[1].Value = model.Unit(2)
	v = check(c)
	_, is := v.Violations[0].Transfer()
	require.False(t, is)
	require.Equal(t, "ends with 2·x2, want x2: x2 is there too often from the start", v.Violations[0].Message)
}

// TestHarmless proves what looks like a race and is none.
func TestHarmless(t *testing.T) {
	exchange := cases.RecursiveDoubling(2, model.Sum, model.Timed)
	require.Equal(t, verify.Proved, check(exchange).Outcome)
	// Two reductions that end at one instant.
	together := cases.New(3, model.Collective{Kind: model.Reduce}, 1, model.Timed)
	together.Send(0, 1, 0, model.Reduction, 3, 9)
	together.Send(0, 2, 0, model.Reduction, 5, 9)
	require.Equal(t, verify.Proved, check(together).Outcome)
	// The same without times, and a read that waits for both.
	for _, after := range [][]int32{{0, 1}, {0}, {1}, nil} {
		c := cases.New(4, model.Collective{Kind: model.Reduce}, 1, model.Ordered)
		c.P.Collective = model.Collective{Kind: model.Custom, Chunks: 1,
			Pre:  []model.Condition{{Rank: 0, Value: model.Unit(0)}, {Rank: 1, Value: model.Unit(1)}, {Rank: 2, Value: model.Unit(2)}},
			Post: []model.Condition{{Rank: 3, Value: model.Once([]int{0, 1, 2})}}}
		c.Wait(0, 1, 0, model.Reduction)
		c.Wait(0, 2, 0, model.Reduction)
		c.Wait(0, 0, 3, model.Copy, after...)
		want := verify.Refuted
		if len(after) == 2 {
			want = verify.Proved
		}
		require.Equal(t, want, check(c).Outcome, "read after %v", after)
	}
}

// TestManyUnordered compares many accesses with many, through an instant.
func TestManyUnordered(t *testing.T) {
	const n = 20
	build := func() *cases.Case {
		c := cases.New(n, model.Collective{Kind: model.AllReduce}, 1, model.Ordered)
		c.P = c.P.WithChunks(1)
		var all []int32
		for r := 1; r < n; r++ {
			all = append(all, c.Wait(0, r, 0, model.Reduction))
		}
		for r := 1; r < n; r++ {
			c.Wait(0, 0, r, model.Copy, all...)
		}
		return c
	}
	require.Equal(t, verify.Proved, check(build()).Outcome)
	c := build()
	c.S.After[2*n-4] = c.S.After[2*n-4][:n-3] // all but two
	v := check(c)
	require.Equal(t, verify.Refuted, v.Outcome)
	for _, x := range v.Violations {
		require.Equal(t, verify.ReadWriteRace, x.Code)
		at, is := x.Transfer()
		require.True(t, is)
		require.Equal(t, 2*n-4, at)
	}
}

// TestLateTimes puts events where 32 bits do not reach.
func TestLateTimes(t *testing.T) {
	late := func(gap model.Time) *cases.Case {
		c := cases.New(3, model.Collective{Kind: model.Broadcast}, 1, model.Timed)
		c.Send(0, 0, 1, model.Copy, 1, 1<<40)
		c.Send(0, 1, 2, model.Copy, 1<<40+gap, 1<<41+5)
		return c
	}
	require.Equal(t, verify.Proved, check(late(0)).Outcome)
	require.Equal(t, verify.Proved, check(late(1<<33)).Outcome)
	v := check(late(-1))
	require.Equal(t, verify.Refuted, v.Outcome)
	require.Equal(t, verify.SendUndefined, v.Violations[0].Code)
}

// TestLargeCounts doubles a contribution beyond 64 bits.
func TestLargeCounts(t *testing.T) {
	c := cases.New(2, model.Collective{Kind: model.AllReduce}, 1, model.InRounds)
	c.P = c.P.WithChunks(1)
	for i := range 80 {
		c.Send(0, 0, 1, model.Reduction, model.Time(i), model.Time(i)+1)
		c.Send(0, 1, 0, model.Reduction, model.Time(i), model.Time(i)+1)
	}
	v := check(c)
	require.Equal(t, verify.Refuted, v.Outcome)
	require.Contains(t, v.Violations[0].Message, "ends with 604462909807314587353088·x0+604462909807314587353088·x1, want x0+x1")
	require.Equal(t, verify.DoubleContribution, v.Violations[0].Code)
}

// TestAgainstExecution sets Z3's verdict against execution, on random schedules.
func TestAgainstExecution(t *testing.T) {
	right, wrong := 0, 0
	for seed := range uint64(3000) {
		c := cases.Random(rand.New(rand.NewPCG(seed, 3)))
		compare(t, seed, c, &right, &wrong)
	}
	t.Logf("timed and rounds: %d right, %d wrong", right, wrong)
	require.Greater(t, right, 500)
	require.Greater(t, wrong, 500)
}

// TestCounts does so where contributions occur more than once.
func TestCounts(t *testing.T) {
	right, wrong := 0, 0
	for seed := range uint64(1000) {
		c := cases.RandomCounts(rand.New(rand.NewPCG(seed, 5)), model.InRounds)
		compare(t, seed, c, &right, &wrong)
		c = cases.RandomCounts(rand.New(rand.NewPCG(seed, 6)), model.Ordered)
		compare(t, seed, c, &right, &wrong)
	}
	t.Logf("counts: %d right, %d wrong", right, wrong)
	require.Greater(t, right, 500)
	require.Greater(t, wrong, 300)
}

// TestAgainstAllExecutions does so for schedules without times, executed in every
// order that they allow.
func TestAgainstAllExecutions(t *testing.T) {
	right, wrong := 0, 0
	for seed := range uint64(2000) {
		c := cases.RandomOrdered(rand.New(rand.NewPCG(seed, 4)))
		compare(t, seed, c, &right, &wrong)
	}
	t.Logf("order: %d right, %d wrong", right, wrong)
	require.Greater(t, right, 300)
	require.Greater(t, wrong, 300)
}

func compare(t *testing.T, seed uint64, c *cases.Case, right, wrong *int) {
	t.Helper()
	codes, data := c.Codes(), verifytest.Execute(c.P, c.S).Data
	v := smt.Check(context.Background(), c.P, c.S, z3.New(), smt.Options{Threads: 1})
	if len(codes) == 0 {
		*right++
		require.Equal(t, verify.Proved, v.Outcome, "seed %d: %v\n%+v\n%+v", seed, c.P, v, c.S)
		return
	}
	*wrong++
	require.Equal(t, verify.Refuted, v.Outcome, "seed %d: %v: %v\n%+v\n%+v", seed, c.P, codes, v, c.S)
	found := map[verify.Code]bool{}
	for _, x := range v.Violations {
		found[x.Code] = true
		require.NotEmpty(t, x.Message)
		chunk, isChunk := x.Chunk()
		if !data[chunk][verify.SendUndefined] { // what follows from sending something undefined is not determined
			require.Contains(t, codes, x.Code, "seed %d: %v\n%+v\n%+v", seed, c.P, v, c.S)
		}
		rank, isRank := x.Rank()
		at, _ := x.Transfer()
		require.True(t, isChunk && chunk < len(c.P.Chunks) && isRank && rank < c.P.Topology.Ranks && at < len(c.S.Transfers))
	}
	// All kinds are found, unless there are too many to report, or the one
	// execution that shows a race does not show all.
	if len(v.Violations) == verify.MaxViolations || c.S.Form == model.Ordered {
		return
	}
	if slices.Contains(codes, verify.SendUndefined) {
		require.True(t, found[verify.SendUndefined], "seed %d: %v: %v\n%+v\n%+v", seed, c.P, codes, v, c.S)
		return
	}
	require.Len(t, found, len(codes), "seed %d: %v: %v\n%+v\n%+v", seed, c.P, codes, v, c.S)
}

// TestDeterministic says that threads do not change what is reported.
func TestDeterministic(t *testing.T) {
	c := cases.RingAllReduce(8, model.Sum, model.Timed)
	for i := range c.S.Transfers {
		if i%9 == 0 {
			c.S.Transfers[i].Op ^= 1
		}
	}
	first := smt.Check(context.Background(), c.P, c.S, z3.New(), smt.Options{Threads: 1})
	require.Len(t, first.Violations, verify.MaxViolations)
	for threads := range 6 {
		require.Equal(t, first, smt.Check(context.Background(), c.P, c.S, z3.New(), smt.Options{Threads: threads}))
	}
}

// TestChecksInParallel runs a hundred checks at once.
func TestChecksInParallel(t *testing.T) {
	var group sync.WaitGroup
	for i := range 100 {
		group.Go(func() {
			c := cases.RingAllReduce(2+i%5, model.Operator(i%4), forms[i%3])
			want := verify.Proved
			if i%2 == 0 {
				c.S.Transfers[i%len(c.S.Transfers)].Op ^= 1
				want = verify.Refuted
			}
			// An idempotent reduction instead of a copy does no harm.
			if v := check(c); v.Outcome != want && !(c.P.Collective.Op.Idempotent() && v.Outcome == verify.Proved) {
				t.Errorf("check %d: %+v", i, v)
			}
		})
	}
	group.Wait()
}

func TestLimits(t *testing.T) {
	c := cases.RecursiveDoubling(256, model.Sum, model.InRounds)
	v := smt.Check(context.Background(), c.P, c.S, z3.New(), smt.Options{Timeout: time.Millisecond})
	require.Equal(t, verify.Unknown, v.Outcome)
	require.Contains(t, v.Reason, "the time limit was reached")
	ctx, cancel := context.WithCancel(context.Background())
	time.AfterFunc(5*time.Millisecond, cancel)
	v = smt.Check(ctx, c.P, c.S, z3.New(), smt.Options{})
	require.Equal(t, verify.Unknown, v.Outcome)
	require.Contains(t, v.Reason, "interrupted")
}

// TestClaim says that a proof names what it proves.
func TestClaim(t *testing.T) {
	for i, want := range []string{"in the order of events that the schedule's times fix", "in the order of events that the schedule's rounds fix", "in every order of events that the schedule allows"} {
		c := cases.BinomialBroadcast(4, forms[i])
		require.Equal(t, fmt.Sprintf("delivers exactly the contributions of %v, %s", c.P, want), check(c).Claim)
	}
}
