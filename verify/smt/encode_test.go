package smt

import (
	"cmp"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/verify/verifytest/cases"
)

var update = flag.Bool("update", false, "rewrite the golden scripts")

func TestGolden(t *testing.T) {
	for name, c := range map[string]*cases.Case{
		"allreduce-ring3-timed":     cases.RingAllReduce(3, model.Sum, model.Timed),
		"allreduce-doubling4-max":   cases.RecursiveDoubling(4, model.Max, model.InRounds),
		"custom-counts-rounds":      cases.Pipeline(model.InRounds),
		"broadcast-binomial4-order": cases.BinomialBroadcast(4, model.Ordered),
	} {
		got, err := Script(c.P, c.S)
		require.NoError(t, err)
		path := filepath.Join("testdata", name+".smt2")
		if *update {
			require.NoError(t, os.WriteFile(path, []byte(got), 0o644))
		}
		want, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Equal(t, string(want), got, name)
	}
}

// broken reports whether a goal over contributions is refuted, by evaluating its
// terms for each contribution alone, which decides linear forms.
func broken(t *testing.T, q *Query) bool {
	g := q.Goals[len(q.Goals)-1]
	require.NotNil(t, g.data)
	any := false
	require.NoError(t, newTracer(q, g).units(func(_ int, v *values) { any = any || v.truth(g.refute) }))
	return any
}

// TestAgainstExecution sets the formulas, evaluated, against execution.
func TestAgainstExecution(t *testing.T) {
	right, wrong := 0, 0
	for seed := range uint64(6000) {
		c := cases.Random(rand.New(rand.NewPCG(seed, 1)))
		codes := c.Codes()
		e, err := NewEncoder(c.P, c.S)
		require.NoError(t, err)
		for _, forPeople := range []bool{false, true} {
			got := false
			for k := range c.P.Chunks {
				got = broken(t, e.encode(k, forPeople, &Terms{})) || got
			}
			require.Equal(t, len(codes) > 0, got, "seed %d: %v: %v\n%+v", seed, c.P, codes, c.S)
		}
		if len(codes) == 0 {
			right++
		} else {
			wrong++
		}
	}
	t.Logf("%d right, %d wrong", right, wrong)
	require.Greater(t, right, 1000)
	require.Greater(t, wrong, 1000)
}

// TestSizeIsLinear says that a query grows with the transfers of its chunk.
func TestSizeIsLinear(t *testing.T) {
	size := func(n int) int {
		c := cases.RingAllReduce(n, model.Sum, model.Timed)
		q, err := Encode(c.P, c.S, 0)
		require.NoError(t, err)
		return len(q.Goals[0].Question().Script)
	}
	require.Less(t, size(64), 10*size(8))
}

// TestCanonical says that chunks which go the same way read the same, and others
// do not.
func TestCanonical(t *testing.T) {
	script := func(c *cases.Case, k int) string {
		e, err := NewEncoder(c.P, c.S)
		require.NoError(t, err)
		var b strings.Builder
		for _, g := range e.encode(k, false, &Terms{}).Goals {
			b.WriteString(g.Question().Script)
		}
		return b.String()
	}
	for _, form := range []model.Form{model.Timed, model.InRounds, model.Ordered} {
		c := cases.RingAllReduce(5, model.Sum, form)
		for k := range c.P.Chunks {
			require.Equal(t, script(c, 0), script(c, k), "%v, chunk %d", form, k)
		}
		c.S.Transfers[0].Op ^= 1
		require.NotEqual(t, script(c, 1), script(c, int(c.S.Transfers[0].Chunk)))
	}
	// All that a query depends on shows in its text: every change that changes
	// what Execute says of a chunk changes the text as well.
	for seed := range uint64(500) {
		rng := rand.New(rand.NewPCG(seed, 2))
		c := cases.Random(rng)
		by := map[string]bool{}
		for k := range c.P.Chunks {
			e, err := NewEncoder(c.P, c.S)
			require.NoError(t, err)
			q := e.encode(k, false, &Terms{})
			text := fmt.Sprint(script(c, k), q.Goals[0].unknowns)
			refuted, seen := by[text]
			if seen {
				require.Equal(t, refuted, broken(t, q), "seed %d", seed)
			}
			by[text] = broken(t, q)
		}
	}
}

// TestTermsAgain says that a query does not depend on what its terms were before.
func TestTermsAgain(t *testing.T) {
	again := &Terms{}
	for seed := range uint64(100) {
		c := cases.Random(rand.New(rand.NewPCG(seed, 3)))
		e, err := NewEncoder(c.P, c.S)
		require.NoError(t, err)
		for k := range c.P.Chunks {
			fresh := e.encode(k, false, &Terms{}).Goals[0].Question()
			require.Equal(t, fresh, e.encode(k, false, again).Goals[0].Question(), "seed %d, chunk %d", seed, k)
		}
	}
}

func TestEncodeRefuses(t *testing.T) {
	c := cases.RingAllReduce(3, model.Sum, model.Timed)
	_, err := Encode(c.P, c.S, 3)
	require.ErrorContains(t, err, "chunk 3")
	uncut := *c.P
	uncut.Chunks = nil
	_, err = Encode(&uncut, c.S, 0)
	require.ErrorIs(t, err, model.ErrNoChunks)
	c.S.Transfers[0].Src = 7
	_, err = Encode(c.P, c.S, 0)
	require.ErrorContains(t, err, "transfers[0]")
	_, err = Script(c.P, c.S)
	require.ErrorContains(t, err, "transfers[0]")
	_, err = Encode(&model.Problem{}, c.S, 0)
	require.ErrorContains(t, err, "problem")
}

func TestMultiset(t *testing.T) {
	value := func(v model.Value) multiset {
		m := multiset{}
		for r, n := range v.Terms() {
			m[r] = bigInt(n)
		}
		return m
	}
	for want, v := range map[string]model.Value{
		"nothing":         {},
		"x3":              model.Unit(3),
		"x0+x1+x2":        model.Once([]int{2, 1, 0}),
		"x0+…+x7":         model.Once([]int{0, 1, 2, 3, 4, 5, 6, 7}),
		"x0+2·x1+x2":      model.Multiset(model.Term{Rank: 0, Count: 1}, model.Term{Rank: 1, Count: 2}, model.Term{Rank: 2, Count: 1}),
		"x0+2·x1+x3+…+x6": model.Multiset(model.Term{Rank: 0, Count: 1}, model.Term{Rank: 1, Count: 2}, model.Term{Rank: 3, Count: 1}, model.Term{Rank: 4, Count: 1}, model.Term{Rank: 5, Count: 1}, model.Term{Rank: 6, Count: 1}),
	} {
		require.Equal(t, want, value(v).String())
	}
}

// TestForm says that chunks of one form have one question, be they of one schedule or of two that differ a little.
func TestForm(t *testing.T) {
	same := 0
	for seed := range uint64(1500) {
		rng := rand.New(rand.NewPCG(seed, 4))
		c := cases.Random(rng)
		question := map[identity]Question{}
		check := func(p *model.Problem, s *model.Schedule) {
			e, err := NewEncoder(p, s)
			if err != nil {
				return // the change has made it malformed
			}
			x := &former{Encoder: e}
			for k := range p.Chunks {
				q, accesses, n := e.begin(k, false)
				id := x.form(q, accesses, n)
				e.state(q, accesses, n, &Terms{}, false)
				asked := q.Goals[0].Question()
				if before, known := question[id]; known {
					same++
					require.Equal(t, before, asked, "seed %d, chunk %d", seed, k)
				}
				question[id] = asked
			}
		}
		check(c.P, c.S)
		for range 4 {
			if len(c.S.Transfers) == 0 {
				break
			}
			s := *c.S
			s.Transfers = slices.Clone(c.S.Transfers)
			switch x := &s.Transfers[rng.IntN(len(s.Transfers))]; rng.IntN(5) {
			case 0:
				x.Op ^= 1
			case 1:
				x.Start++
			case 2:
				x.End++
			case 3:
				x.Src, x.Dst = x.Dst, x.Src
			default:
				x.Chunk = int32(rng.IntN(len(c.P.Chunks)))
			}
			check(c.P, &s)
		}
	}
	require.Greater(t, same, 1000)
}

// TestInstants: the numbers of instants are in the order of times, equal where these are, and leave none out; times that do not ascend have
// none.
func TestInstants(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		times := rapid.SliceOf(rapid.Int64Range(0, 20)).Draw(t, "times")
		var list []access
		for _, at := range times {
			list = append(list, access{at: model.Time(at)})
		}
		if !slices.IsSorted(times) {
			require.Panics(t, func() { instants(list) })
			slices.SortFunc(list, func(a, b access) int { return cmp.Compare(a.at, b.at) })
		}
		instants(list)
		seen := map[int32]bool{}
		for _, a := range list {
			seen[a.instant] = true
			for _, b := range list {
				require.Equal(t, cmp.Compare(a.at, b.at), cmp.Compare(a.instant, b.instant))
			}
		}
		for n := range int32(len(seen)) {
			require.True(t, seen[n])
		}
	})
}

// TestLaterChunks: chunks whose events come in one order have one form, however long these take.
func TestLaterChunks(t *testing.T) {
	c := cases.New(3, model.Collective{Kind: model.Broadcast}, 2, model.Timed)
	c.Send(0, 0, 1, model.Copy, 0, 10)
	c.Send(0, 1, 2, model.Copy, 10, 20)
	c.Send(1, 0, 1, model.Copy, 10, 25)
	c.Send(1, 1, 2, model.Copy, 25, 100)
	e, err := NewEncoder(c.P, c.S)
	require.NoError(t, err)
	var forms []identity
	for k := range 2 {
		q, accesses, n := e.begin(k, false)
		forms = append(forms, (&former{Encoder: e}).form(q, accesses, n))
	}
	require.Equal(t, forms[0], forms[1])
}

// TestFormTells says that each thing on which a question depends is part of the form: chunks that differ in it alone
// have other forms.
func TestFormTells(t *testing.T) {
	type send struct {
		src, dst int
		op       model.Op
		from, to model.Time
	}
	type goal struct {
		rank int
		v    model.Value
	}
	type chunk struct {
		sends []send
		start map[int]model.Value // instead of the own contribution
		goal  goal
	}
	some := func(terms ...model.Term) model.Value { return model.Multiset(terms...) }
	add := model.Reduction
	two := goal{2, some(model.Term{Rank: 0, Count: 1}, model.Term{Rank: 1, Count: 1})}
	pair := []send{{0, 2, add, 0, 10}, {1, 2, add, 5, 15}}
	chain := []send{{0, 1, add, 0, 10}, {1, 2, add, 10, 20}, {2, 0, add, 20, 30}}
	for name, c := range map[string][2]chunk{
		"source":       {{sends: chain, goal: two}, {sends: []send{chain[0], chain[1], {1, 0, add, 20, 30}}, goal: two}},
		"destination":  {{sends: chain, goal: two}, {sends: []send{chain[0], chain[1], {2, 1, add, 20, 30}}, goal: two}},
		"operation":    {{sends: pair, goal: two}, {sends: []send{pair[0], {1, 2, model.Copy, 5, 15}}, goal: two}},
		"start":        {{sends: chain, goal: two}, {sends: []send{chain[0], {1, 2, add, 11, 20}, chain[2]}, goal: two}},
		"end":          {{sends: pair, goal: two}, {sends: []send{pair[0], {1, 2, add, 5, 10}}, goal: two}},
		"own read":     {{sends: pair, goal: two}, {sends: []send{{0, 2, add, 0, 15}, {1, 2, add, 5, 10}}, goal: two}},
		"at the start": {{sends: pair, goal: two}, {sends: pair, start: map[int]model.Value{0: model.Unit(1)}, goal: two}},
		"wanted":       {{sends: pair, goal: two}, {sends: pair, goal: goal{2, some(model.Term{Rank: 0, Count: 1}, model.Term{Rank: 2, Count: 1})}}},
		"how often":    {{sends: pair, goal: two}, {sends: pair, goal: goal{2, some(model.Term{Rank: 0, Count: 2}, model.Term{Rank: 1, Count: 1})}}},
		"wanted where": {{sends: pair, goal: two}, {sends: pair, goal: goal{1, two.v}}},
	} {
		t.Run(name, func(t *testing.T) {
			var forms []identity
			var asked []Question
			for _, x := range c {
				col := model.Collective{Kind: model.Custom, Chunks: 1}
				for r := range 3 {
					v, other := x.start[r]
					if !other {
						v = model.Unit(r)
					}
					col.Pre = append(col.Pre, model.Condition{Rank: r, Value: v})
				}
				col.Post = []model.Condition{{Rank: x.goal.rank, Value: x.goal.v}}
				made := cases.New(3, col, 1, model.Timed)
				for _, s := range x.sends {
					made.Send(0, s.src, s.dst, s.op, s.from, s.to)
				}
				e, err := NewEncoder(made.P, made.S)
				require.NoError(t, err)
				q, accesses, n := e.begin(0, false)
				forms = append(forms, (&former{Encoder: e}).form(q, accesses, n))
				e.state(q, accesses, n, &Terms{}, false)
				asked = append(asked, q.Goals[0].Question())
			}
			require.NotEqual(t, asked[0], asked[1], "the questions are the same: the test is of no use")
			require.NotEqual(t, forms[0], forms[1])
		})
	}
}
