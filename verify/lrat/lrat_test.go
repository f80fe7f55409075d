package lrat

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/verify/verifytest/ending"
)

// refute runs the checker on a formula and a proof.
// refute checks a proof, once with the whole formula and once with the clauses that the
// proof names alone, which must come to the same.
func refute(vars int, formula [][]int32, proof string) error {
	named, err := Named(context.Background(), strings.NewReader(proof))
	if err != nil {
		return err
	}
	check := func(all bool) error {
		c := New()
		for i, clause := range formula {
			if !all && len(clause) > 0 && !named.Has(uint64(i+1)) {
				c.Skip()
				continue
			}
			if err := c.Add(clause); err != nil {
				return err
			}
		}
		if err := c.Variables(vars); err != nil {
			return err
		}
		return c.Refute(context.Background(), strings.NewReader(proof))
	}
	whole, part := check(true), check(false)
	if (whole == nil) != (part == nil) && (whole == nil || !strings.Contains(whole.Error(), "is deleted, but")) {
		panic(fmt.Sprintf("with all clauses: %v, with those that are named: %v\n%v\n%s", whole, part, formula, proof))
	}
	return whole
}

var square = [][]int32{{1, 2}, {1, -2}, {-1, 2}, {-1, -2}}

func TestRefute(t *testing.T) {
	for name, c := range map[string]struct{ proof, err string }{
		"right":                     {"5 1 0 1 2 0\n6 0 5 3 4 0\n", ""},
		"no newline at the end":     {"5 1 0 1 2 0\n6 0 5 3 4 0", ""},
		"more after the end":        {"5 1 0 1 2 0\n6 0 5 3 4 0\n7 x", ""},
		"deletion":                  {"5 1 0 1 2 0\n5 d 1 2 0\n6 0 5 3 4 0\n", ""},
		"gap":                       {"50 1 0 1 2 0\n60 0 50 3 4 0\n", ""},
		"empty":                     {"", "line 1: the proof ends without the empty clause"},
		"no empty clause":           {"5 1 0 1 2 0\n", "line 2: the proof ends without the empty clause"},
		"in one step":               {"5 0 1 2 3 4 0\n", "line 1: clause 5: hint 1: the clause is not unit"},
		"hint missing":              {"5 1 0 1 0\n6 0 5 3 4 0\n", "line 1: clause 5: does not follow by propagation from the clauses that are named"},
		"hint of nothing":           {"5 1 0 1 9 0\n", "line 1: clause 5: hint 9: there is no such clause"},
		"hint of itself":            {"5 1 0 5 0\n", "line 1: clause 5: hint 5: there is no such clause"},
		"hint of what is deleted":   {"5 1 0 1 2 0\n5 d 3 0\n6 0 5 3 4 0\n", "line 3: clause 6: hint 3: there is no such clause"},
		"hint after the conflict":   {"5 1 0 1 2 3 0\n", "line 1: clause 5: hint 3 after a clause that is false already"},
		"hint that is true":         {"5 1 0 1 1 2 0\n", "line 1: clause 5: hint 1: the clause is true already"},
		"wrong clause":              {"5 -1 0 1 2 0\n6 0 5 3 4 0\n", "line 1: clause 5: hint 1: the clause is true already"},
		"RAT":                       {"5 1 0 -1 2 0\n", "line 1: clause 5: hint -1: a step by RAT, which refutations here do not need"},
		"tautology":                 {"5 1 -1 0 1 0\n", "line 1: clause 5: has -1 and 1"},
		"unknown variable":          {"5 3 0 1 2 0\n", "line 1: literal 3, want variables 1 to 2"},
		"old number":                {"4 1 0 1 2 0\n", "line 1: clause 4 after clause 4, want ascending numbers"},
		"huge gap":                  {"99999999999 1 0 1 2 0\n99999999999 d 1 2 0\n92233720368547758 0 99999999999 3 4 0\n", ""},
		"huge, deleted":             {"99999999999 1 0 1 2 0\n99999999999 d 99999999999 0\n999999999990 0 99999999999 3 4 0\n", "line 3: clause 999999999990: hint 99999999999: there is no such clause"},
		"huge, old number":          {"99999999999 1 0 1 2 0\n99999999999 2 0 1 3 0\n", "line 2: clause 99999999999 after clause 99999999999, want ascending numbers"},
		"literal twice":             {"5 1 1 1 0 1 2 0\n6 0 5 3 4 0\n", ""},
		"number too large":          {"99999999999999999999 1 0 1 2 0\n", "line 1: a number that is too large"},
		"deleted twice":             {"5 d 1 0\n5 d 1 0\n", "line 2: clause 1 is deleted, but there is none"},
		"deletion among literals":   {"5 1 d 0\n", `line 1: "d" among literals`},
		"deletion among hints":      {"5 1 0 d 0\n", `line 1: clause 5: "d" among hints`},
		"deletion first":            {"d 1 0\n", "line 1: want the number of a clause"},
		"line too short":            {"5 1 0 1 2\n", "line 1: clause 5: the file ends within the line"},
		"line too long":             {"5 1 0 1 2 0 6\n", `line 1: clause 5: '6' after the end of the step`},
		"file too short":            {"5 1 0 1", "line 1: clause 5: the file ends within the line"},
		"letters":                   {"5 1 0 1 2x 0\n", `line 1: clause 5: 'x' after a number`},
		"nothing but a sign":        {"5 - 0 1 2 0\n", `line 1: ' ', want a number`},
		"comment":                   {"c hello\n", `line 1: 'c', want a number`},
		"negative number of clause": {"-5 1 0 1 2 0\n", "line 1: want the number of a clause"},
	} {
		t.Run(name, func(t *testing.T) {
			err := refute(2, square, c.proof)
			if c.err == "" {
				require.NoError(t, err)
				return
			}
			require.EqualError(t, err, c.err)
		})
	}
	require.NoError(t, refute(1, [][]int32{{1}, {}}, ""), "an empty clause refutes by itself")
	require.Error(t, refute(1, [][]int32{{1}}, "2 0 1 0\n"))
	require.Error(t, refute(0, nil, "1 0 0\n"))
	require.EqualError(t, refute(1, [][]int32{{1}, {0}}, ""), "lrat: literal 0 in clause 2")
	require.EqualError(t, refute(maxVars+1, nil, ""), "lrat: too large: 67108865 variables, want 0 to 67108864")
}

// prove refutes a formula by the tree of all assignments, and deletes what it no longer
// needs. It returns false if some assignment satisfies the formula.
func prove(vars int, formula [][]int32, r *rand.Rand) (string, bool) {
	var out strings.Builder
	next := len(formula)
	order := r.Perm(vars)
	var node func(depth int, decided []int32) (int, bool)
	node = func(depth int, decided []int32) (int, bool) {
		var lits []int32
		for _, d := range decided {
			lits = append(lits, -d)
		}
		step := func(hints ...int) int {
			next++
			fmt.Fprintf(&out, "%d %s0 %s0\n", next, join(lits), join(hints))
			return next
		}
		for k, clause := range formula {
			if !slices.ContainsFunc(clause, func(l int32) bool { return !slices.Contains(decided, -l) }) {
				return step(k + 1), true
			}
		}
		if depth == vars {
			return 0, false
		}
		x := int32(order[depth] + 1)
		a, ok := node(depth+1, append(slices.Clone(decided), x))
		if !ok {
			return 0, false
		}
		b, ok := node(depth+1, append(slices.Clone(decided), -x))
		if !ok {
			return 0, false
		}
		id := step(a, b)
		fmt.Fprintf(&out, "%d d %d %d 0\n", id, a, b)
		return id, true
	}
	_, ok := node(0, nil)
	return out.String(), ok
}

func join[T int | int32](numbers []T) string {
	text := ""
	for _, n := range numbers {
		text += fmt.Sprint(n, " ")
	}
	return text
}

// naive accepts a proof if each clause follows by propagation from all clauses that
// are there, and the last one is empty. It shares nothing with the checker.
func naive(formula [][]int32, proof string) bool {
	live := map[string][]int32{}
	for i, clause := range formula {
		if len(clause) == 0 {
			return true
		}
		live[fmt.Sprint(i+1)] = clause
	}
	for line := range strings.Lines(proof) {
		words := strings.Fields(line)
		if len(words) > 1 && words[1] == "d" {
			for _, w := range words[2 : len(words)-1] {
				delete(live, w)
			}
			continue
		}
		zero := slices.Index(words, "0")
		if zero < 1 {
			return false
		}
		var lits []int32
		is := map[int32]bool{}
		for _, w := range words[1:zero] {
			l, err := strconv.Atoi(w)
			if err != nil {
				return false
			}
			lits = append(lits, int32(l))
			is[-int32(l)] = true
		}
		if !falsified(live, is) {
			return false
		}
		if len(lits) == 0 {
			return true
		}
		live[strings.TrimLeft(words[0], "0")] = lits
	}
	return false
}

func falsified(live map[string][]int32, is map[int32]bool) bool {
	for changed := true; changed; {
		changed = false
		for _, clause := range live {
			var free []int32
			done := false
			for _, l := range clause {
				done = done || is[l]
				if !is[l] && !is[-l] && !slices.Contains(free, l) {
					free = append(free, l)
				}
			}
			switch {
			case done:
			case len(free) == 0:
				return true
			case len(free) == 1:
				is[free[0]] = true
				changed = true
			}
		}
	}
	return false
}

// random returns a random formula, which is often false.
func random(r *rand.Rand) (vars int, formula [][]int32) {
	vars = 2 + r.IntN(4)
	for range 5 * vars {
		var clause []int32
		for _, v := range r.Perm(vars)[:1+r.IntN(min(3, vars))] {
			clause = append(clause, int32(v+1)*int32(1-2*r.IntN(2)))
		}
		formula = append(formula, clause)
	}
	return vars, formula
}

// TestMutants changes proofs and formulas, and lets the naive checker judge what is
// accepted.
func TestMutants(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	proved, mutants, accepted := 0, 0, 0
	for mutants < 20000 {
		vars, formula := random(r)
		proof, ok := prove(vars, formula, r)
		if !ok {
			continue
		}
		require.NoError(t, refute(vars, formula, proof), "%v\n%s", formula, proof)
		require.True(t, naive(formula, proof))
		proved++
		for range 50 {
			mutants++
			f, p := formula, proof
			lines := strings.SplitAfter(proof, "\n")
			switch r.IntN(6) {
			case 0: // a bit
				b := []byte(proof)
				b[r.IntN(len(b))] ^= 1 << r.IntN(7)
				p = string(b)
			case 1: // a line less
				i := r.IntN(len(lines))
				p = strings.Join(slices.Delete(lines, i, i+1), "")
			case 2: // two lines exchanged
				i, j := r.IntN(len(lines)), r.IntN(len(lines))
				lines[i], lines[j] = lines[j], lines[i]
				p = strings.Join(lines, "")
			case 3: // a word of another line
				words := strings.Fields(lines[r.IntN(len(lines)-1)])
				i := r.IntN(len(lines) - 1)
				here := strings.Fields(lines[i])
				here[r.IntN(len(here))] = words[r.IntN(len(words))]
				lines[i] = strings.Join(here, " ") + "\n"
				p = strings.Join(lines, "")
			case 4: // the end cut off
				p = proof[:r.IntN(len(proof))]
			case 5: // another formula
				f = slices.Clone(formula)
				k := r.IntN(len(f))
				f[k] = slices.Clone(f[k])
				f[k][r.IntN(len(f[k]))] = int32(1+r.IntN(vars)) * int32(1-2*r.IntN(2))
			}
			if refute(vars, f, p) == nil {
				accepted++
				require.True(t, naive(f, p), "accepted:\n%v\n%s", f, p)
			}
		}
	}
	t.Logf("%d proofs, %d mutants, %d still refute", proved, mutants, accepted)
	// Many are as good as before: without a deletion, or with an unused clause changed.
	require.Less(t, accepted, mutants/2)
	require.Greater(t, proved, 300)
}

// TestCollect has so much deleted that memory is put in order.
func TestCollect(t *testing.T) {
	var proof bytes.Buffer
	wide := make([]int32, 1000)
	for i := range wide {
		wide[i] = int32(i + 2)
	}
	formula := [][]int32{{1}, {-1}}
	id, lits := 3, join(wide)
	for range 3000 {
		fmt.Fprintf(&proof, "%d 1 %s0 1 0\n%d d %d 0\n", id, lits, id, id)
		id++
	}
	fmt.Fprintf(&proof, "%d 0 1 2 0\n", id)
	c := New()
	require.NoError(t, c.Variables(1001))
	for _, clause := range formula {
		require.NoError(t, c.Add(clause))
	}
	require.NoError(t, c.Refute(context.Background(), &proof))
	require.Less(t, cap(c.arena), 4<<20)
}

// TestNumbersCostNothing: what a proof takes does not depend on its numbers, however they
// grow, and neither does the answer.
func TestNumbersCostNothing(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	memory := func(f func()) uint64 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		f()
		runtime.ReadMemStats(&after)
		return after.TotalAlloc - before.TotalAlloc
	}
	growing := "17825873 1 0 1 2 0\n303038866 2 0 1 3 0\n491184688 1 2 0 1 0\n1073741824 0 17825873 3 4 0\n"
	require.Less(t, memory(func() { require.NoError(t, refute(2, square, growing)) }), uint64(1<<20))
	for range 300 {
		vars, formula := random(r)
		proof, ok := prove(vars, formula, r)
		if !ok {
			continue
		}
		number := map[string]string{}
		last := uint64(len(formula))
		var renumbered strings.Builder
		for _, line := range strings.Split(strings.TrimSpace(proof), "\n") {
			words := strings.Fields(line)
			zeros := 0
			for i, w := range words {
				hint := i == 0 || words[1] == "d" || zeros > 0 // a number of a clause, no literal
				if zeros += map[bool]int{true: 1}[w == "0"]; !hint || w == "0" || w == "d" {
					continue
				}
				if id, err := strconv.Atoi(w); err == nil && id > len(formula) {
					if number[w] == "" {
						last += 1 + uint64(r.IntN(3))
						if r.IntN(3) == 0 {
							last += r.Uint64N(1 << (10 + r.IntN(40)))
						}
						number[w] = strconv.FormatUint(last, 10)
					}
					words[i] = number[w]
				}
			}
			fmt.Fprintln(&renumbered, strings.Join(words, " "))
		}
		p := renumbered.String()
		require.Less(t, memory(func() { require.NoError(t, refute(vars, formula, p), "%s\n%s", proof, p) }), uint64(1<<20+100*len(p)))
	}
}

// TestRepeatedLiterals: a clause that has a literal many times does not take longer each
// time that it is named.
func TestRepeatedLiterals(t *testing.T) {
	proof := "5 " + strings.Repeat("1 ", 1<<16) + "0 1 2 0\n"
	var b strings.Builder
	b.WriteString(proof)
	for id := range 1 << 16 {
		fmt.Fprintf(&b, "%d 2 0 5 3 0\n", id+6)
	}
	c := New()
	for _, clause := range square {
		require.NoError(t, c.Add(clause))
	}
	whole := ending.After(-1)
	require.ErrorContains(t, c.Refute(whole, strings.NewReader(b.String())), "line 65538: the proof ends without")
	require.Less(t, whole.Looks(), 1000)
}

func FuzzRefute(f *testing.F) {
	f.Add("5 1 0 1 2 0\n6 0 5 3 4 0\n")
	f.Add("5 1 0 1 2 0\n5 d 1 2 0\n6 0 5 3 4 0\n")
	f.Add("5 -2 1 0 -1 2 0\n")
	satisfiable := [][]int32{{1, 2, 3}, {-1, 2}, {-2, 3}, {1, -3}}
	f.Fuzz(func(t *testing.T, proof string) {
		require.Error(t, refute(3, satisfiable, proof), "refuted what is true")
		if refute(2, square, proof) == nil {
			require.True(t, naive(square, proof))
		}
	})
}

func BenchmarkRefute(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	var formula [][]int32
	for bits := range 1 << 12 {
		var clause []int32
		for v := range 12 {
			clause = append(clause, int32(v+1)*int32(1-2*(bits>>v&1)))
		}
		formula = append(formula, clause)
	}
	proof, _ := prove(12, formula, r)
	b.SetBytes(int64(len(proof)))
	for b.Loop() {
		require.NoError(b, refute(12, formula, proof))
	}
}
