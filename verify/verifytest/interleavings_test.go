package verifytest_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/verify"
	"github.com/oraccl/oraccl/verify/verifytest/cases"
)

// TestInterleavings sets the reference against the execution of schedules without times in every
// order that they allow.
func TestInterleavings(t *testing.T) {
	right, wrong := 0, 0
	try := func(c *cases.Case, seed uint64) {
		want := executeAll(c)
		require.Equal(t, want, c.Codes(), "seed %d: %v\n%+v", seed, c.P, c.S)
		if len(want) == 0 {
			right++
		} else {
			wrong++
		}
	}
	for seed := range uint64(2000) {
		try(cases.RandomOrdered(rand.New(rand.NewPCG(seed, 4))), seed)
		if seed%2 == 0 {
			try(cases.RandomCounts(rand.New(rand.NewPCG(seed, 6)), model.Ordered), seed)
		}
	}
	t.Logf("%d right, %d wrong", right, wrong)
	require.Greater(t, right, 500)
	require.Greater(t, wrong, 500)
}

// state is S[r][k], nil where undefined: how often each rank's contribution is in
// what rank r holds of chunk k.
type state [][][]int

func start(p *model.Problem) state {
	s := make(state, p.Topology.Ranks)
	for r := range s {
		s[r] = make([][]int, len(p.Chunks))
	}
	for k := range p.Chunks {
		for r, v := range p.Start(k) {
			s[r][k] = counts(p, v)
		}
	}
	return s
}

func counts(p *model.Problem, v model.Value) []int {
	c := make([]int, p.Topology.Ranks)
	for r, n := range v.Terms() {
		c[r] += n
	}
	return c
}

// apply returns what a slot holds after a write, and notes what is wrong with it.
func apply(op model.Op, old, got []int, found map[verify.Code]bool) []int {
	switch {
	case got == nil: // which is noted where it is read
		return old
	case op == model.Copy:
		return slices.Clone(got)
	case old == nil:
		found[verify.ReduceUndefined] = true
		return nil
	}
	sum := slices.Clone(old)
	for j, n := range got {
		sum[j] += n
	}
	return sum
}

// judge compares what is there in the end with what is wanted.
func judge(c *cases.Case, s state, k int, found map[verify.Code]bool) {
	for r, v := range c.P.Goal(k) {
		want, ends := counts(c.P, v), s[r][k]
		code := verify.Code("")
		for j := range want {
			got := 0
			if ends != nil {
				got = ends[j]
			}
			w := want[j]
			if c.P.Collective.Op.Idempotent() {
				got, w = min(got, 1), min(w, 1)
			}
			switch {
			case ends == nil || got < w:
				code = verify.MissingContribution
			case got > w && w > 0 && code != verify.MissingContribution:
				code = verify.DoubleContribution
			case got > w && code == "":
				code = verify.WrongValue
			}
		}
		if code != "" {
			found[code] = true
		}
	}
}

func sorted(found map[verify.Code]bool) []verify.Code {
	var codes []verify.Code
	for c := range found {
		codes = append(codes, c)
	}
	slices.Sort(codes)
	return codes
}

// executeAll runs an Ordered schedule in every order of its transfers' starts and
// ends that the waits allow, and returns the codes of what is wrong in any of them. A pair
// of conflicting accesses that comes in both orders is a race. It panics if without
// a race some executions are right and others are not: package smt argues that
// this cannot be.
func executeAll(c *cases.Case) []verify.Code {
	n := len(c.S.Transfers)
	type pair struct{ x, y int } // events: 2i is the start of i, 2i+1 its end
	seen := map[pair]bool{}
	wrong := make([]map[verify.Code]bool, len(c.P.Chunks)) // what any execution finds
	for k := range wrong {
		wrong[k] = map[verify.Code]bool{}
	}
	executions, failures := 0, make([]int, len(c.P.Chunks))
	trace := make([]int, 0, 2*n)
	done := make([]bool, 2*n)
	var extend func()
	extend = func() {
		if len(trace) == 2*n {
			for i, x := range trace {
				for _, y := range trace[i+1:] {
					seen[pair{x, y}] = true
				}
			}
			executions++
			for k, codes := range replay(c, trace) {
				for code := range codes {
					wrong[k][code] = true
				}
				if len(codes) > 0 {
					failures[k]++
				}
			}
			return
		}
		for x := range 2 * n {
			ready := !done[x] && (x%2 == 0 || done[x-1])
			if ready && x%2 == 0 {
				for _, j := range c.S.After[x/2] {
					ready = ready && done[2*j+1]
				}
			}
			if ready {
				done[x], trace = true, append(trace, x)
				extend()
				done[x], trace = false, trace[:len(trace)-1]
			}
		}
	}
	extend()
	found := map[verify.Code]bool{}
	for k := range c.P.Chunks {
		raced := false
		for x := range 2 * n {
			for y := range x {
				if code := conflict(c, x, y, k); code != "" && seen[pair{x, y}] && seen[pair{y, x}] {
					raced = true
					found[code] = true
				}
			}
		}
		if raced {
			continue
		}
		if failures[k] != 0 && failures[k] != executions {
			panic(fmt.Sprintf("chunk %d: %d of %d executions without a race are wrong: %+v", k, failures[k], executions, c.S))
		}
		for code := range wrong[k] {
			found[code] = true
		}
	}
	return sorted(found)
}

// conflict returns the race that two events on one slot of chunk k make if they
// are unordered, or "".
func conflict(c *cases.Case, x, y, k int) verify.Code {
	a, b := &c.S.Transfers[x/2], &c.S.Transfers[y/2]
	slot := func(t *model.Transfer, x int) int32 {
		if x%2 == 0 {
			return t.Src
		}
		return t.Dst
	}
	switch {
	case x/2 == y/2 || int(a.Chunk) != k || int(b.Chunk) != k || slot(a, x) != slot(b, y) || x%2 == 0 && y%2 == 0:
		return ""
	case x%2 != y%2:
		return verify.ReadWriteRace
	case a.Op == model.Reduction && b.Op == model.Reduction:
		return ""
	}
	return verify.WriteWriteRace
}

// replay runs one order of events and returns what is wrong, by chunk.
func replay(c *cases.Case, trace []int) []map[verify.Code]bool {
	s := start(c.P)
	flying := make([][]int, len(c.S.Transfers))
	found := make([]map[verify.Code]bool, len(c.P.Chunks))
	for k := range found {
		found[k] = map[verify.Code]bool{}
	}
	for _, x := range trace {
		t := &c.S.Transfers[x/2]
		if x%2 == 0 {
			if flying[x/2] = slices.Clone(s[t.Src][t.Chunk]); flying[x/2] == nil {
				found[t.Chunk][verify.SendUndefined] = true
			}
			continue
		}
		s[t.Dst][t.Chunk] = apply(t.Op, s[t.Dst][t.Chunk], flying[x/2], found[t.Chunk])
	}
	for k := range c.P.Chunks {
		judge(c, s, k, found[k])
	}
	return found
}
