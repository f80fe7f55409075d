package cases

import (
	"fmt"
	"slices"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/verify"
)

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

// Execute runs a Timed schedule, or one InRounds, instant by instant, and returns
// the codes of what is wrong, sorted, each once; none means right. Of a chunk with
// a race only the race counts.
func (c *Case) Execute() []verify.Code {
	s := start(c.P)
	found := make([]map[verify.Code]bool, len(c.P.Chunks))
	for k := range found {
		found[k] = map[verify.Code]bool{}
	}
	end := model.Time(0)
	for _, t := range c.S.Transfers {
		end = max(end, t.End)
	}
	flying := make([][]int, len(c.S.Transfers))
	for now := model.Time(0); now <= end; now++ {
		for k := range c.P.Chunks {
			for r := range c.P.Topology.Ranks {
				writers, copies := c.writers(r, k, now)
				if len(writers) > 1 && copies > 0 {
					found[k][verify.WriteWriteRace] = true
				}
				for _, i := range writers {
					s[r][k] = apply(c.S.Transfers[i].Op, s[r][k], flying[i], found[k])
				}
			}
		}
		for i, t := range c.S.Transfers {
			if t.Start == now {
				if flying[i] = slices.Clone(s[t.Src][t.Chunk]); flying[i] == nil {
					found[t.Chunk][verify.SendUndefined] = true
				}
			}
		}
	}
	all := map[verify.Code]bool{}
	for k := range c.P.Chunks {
		if found[k][verify.WriteWriteRace] {
			all[verify.WriteWriteRace] = true
			continue
		}
		c.judge(s, k, found[k])
		for code := range found[k] {
			all[code] = true
		}
	}
	return sorted(all)
}

// writers returns the transfers that write a slot at an instant, and how many of
// them copy.
func (c *Case) writers(r, k int, now model.Time) (list []int, copies int) {
	for i, t := range c.S.Transfers {
		if t.End == now && int(t.Dst) == r && int(t.Chunk) == k {
			list = append(list, i)
			if t.Op == model.Copy {
				copies++
			}
		}
	}
	return list, copies
}

// apply returns what a slot holds after a write, and notes what is wrong with it.
func apply(op model.Op, old, got []int, found map[verify.Code]bool) []int {
	if op == model.Copy {
		return slices.Clone(got)
	}
	if old == nil {
		found[verify.ReduceUndefined] = true
	}
	if old == nil {
		return nil
	}
	sum := slices.Clone(old) // unchanged by what is undefined, which is noted where it is read
	for j, n := range got {
		sum[j] += n
	}
	return sum
}

// judge compares what is there in the end with what is wanted.
func (c *Case) judge(s state, k int, found map[verify.Code]bool) {
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
	codes := []verify.Code{}
	for c := range found {
		codes = append(codes, c)
	}
	slices.Sort(codes)
	return codes
}

// ExecuteAll runs an Ordered schedule in every order of its transfers' starts and
// ends that the waits allow, and returns what Execute does, of all of them. A pair
// of conflicting accesses that comes in both orders is a race. It panics if without
// a race some executions are right and others are not: package smt argues that
// this cannot be.
func (c *Case) ExecuteAll() []verify.Code {
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
			for k, codes := range c.replay(trace) {
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
				if code := c.conflict(x, y, k); code != "" && seen[pair{x, y}] && seen[pair{y, x}] {
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
func (c *Case) conflict(x, y, k int) verify.Code {
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
func (c *Case) replay(trace []int) []map[verify.Code]bool {
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
		c.judge(s, k, found[k])
	}
	return found
}
