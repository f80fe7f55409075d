package smt

import (
	"fmt"
	"math/big"
	"strings"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/verify"
)

// parseValues reads what get-value prints: ((name value) …), values being
// Booleans or integers of any size. Booleans become 0 and 1.
func parseValues(out string) (map[string]*big.Int, error) {
	values := map[string]*big.Int{}
	fields := strings.Fields(strings.NewReplacer("(", " ", ")", " ").Replace(out))
	for i := 0; i < len(fields); i++ {
		name := fields[i]
		if i++; i == len(fields) {
			return nil, fmt.Errorf("the solver prints no value for %s", name)
		}
		negative := fields[i] == "-"
		if negative {
			if i++; i == len(fields) {
				return nil, fmt.Errorf("the solver prints no value for %s", name)
			}
		}
		v := new(big.Int)
		switch fields[i] {
		case "true":
			v.SetInt64(1)
		case "false":
		default:
			if _, ok := v.SetString(fields[i], 10); !ok {
				return nil, fmt.Errorf("the solver prints %q as the value of %s, want an integer or a Boolean", fields[i], name)
			}
		}
		if negative {
			v.Neg(v)
		}
		values[name] = v
	}
	return values, nil
}

// counterexample turns a model into violations in the words of the field.
func (q *Query) counterexample(values map[string]*big.Int) answer {
	j, ok := values["j"]
	if !ok {
		return answer{err: fmt.Errorf("the solver's model has no j")}
	}
	var a answer
	for n, f := range q.faults {
		if w, ok := values[fmt.Sprintf("w%d", n)]; ok && w.Sign() != 0 {
			a.violations = append(a.violations, q.violation(f, int(j.Int64()), values))
		}
	}
	if len(a.violations) == 0 {
		a.err = fmt.Errorf("the solver answers sat, but its model shows nothing wrong")
	}
	return a
}

// violation describes one fault under a model in which contribution j shows it.
func (q *Query) violation(f fault, j int, values map[string]*big.Int) verify.Violation {
	v := verify.Violation{Code: f.code, Transfer: int(f.transfer), Rank: f.rank, Chunk: q.Chunk}
	if f.transfer >= 0 {
		v.Where = q.about(f.transfer)
	} else {
		v.Where = fmt.Sprintf("rank %d, chunk %d", f.rank, q.Chunk)
	}
	switch {
	case f.code == verify.SendUndefined:
		v.Message = fmt.Sprintf("rank %d holds nothing of chunk %d when it sends it", f.rank, q.Chunk)
	case f.code == verify.ReduceUndefined:
		v.Message = fmt.Sprintf("rank %d holds nothing of chunk %d to add to", f.rank, q.Chunk)
	case f.other >= 0:
		v.Message = fmt.Sprintf("nothing orders it with %s at rank %d's slot", q.about(f.other), f.rank)
	case f.state < 0:
		v.Message = fmt.Sprintf("ends with undefined, want x%d among others: nothing was ever written there", q.anyWanted(f.rank))
	default:
		want := q.wanted(f.rank, j)
		got := values[q.states[f.state].count.text]
		v.Transfer = int(q.blame(f.state, want, values))
		blamed := ""
		if v.Transfer >= 0 {
			blamed = ": " + q.about(int32(v.Transfer))
		}
		switch c := got.Cmp(want); {
		case c < 0 || c == 0: // equal: the slot is undefined
			v.Code = verify.MissingContribution
			v.Message = fmt.Sprintf("ends with %v·x%d, want %v: x%d is missing%s", got, j, want, j, blamed)
		case want.Sign() > 0:
			v.Code = verify.DoubleContribution
			v.Message = fmt.Sprintf("ends with %v·x%d, want %v: x%d is there too often%s", got, j, want, j, blamed)
		default:
			v.Message = fmt.Sprintf("ends with %v·x%d, want none: x%d does not belong there%s", got, j, j, blamed)
		}
	}
	return v
}

// about names a transfer.
func (q *Query) about(i int32) string {
	t := &q.s.Transfers[i]
	return fmt.Sprintf("transfer %d (%v of chunk %d, %d->%d)", i, t.Op, t.Chunk, t.Src, t.Dst)
}

// wanted returns how often rank r must hold contribution j at the end.
func (q *Query) wanted(r, j int) *big.Int {
	for rank, v := range q.p.Goal(q.Chunk) {
		if rank != r {
			continue
		}
		for contributor, n := range v.Terms() {
			if contributor == j {
				return big.NewInt(int64(n))
			}
		}
	}
	return new(big.Int)
}

// anyWanted returns a contribution that rank r must hold at the end.
func (q *Query) anyWanted(r int) int {
	for rank, v := range q.p.Goal(q.Chunk) {
		if rank == r {
			for contributor := range v.Terms() {
				return contributor
			}
		}
	}
	return -1
}

// blame walks back from a version whose count is not what is wanted to the write
// at which it went wrong, or returns -1.
func (q *Query) blame(state int, want *big.Int, values map[string]*big.Int) int32 {
	count := func(at int) *big.Int {
		if at < 0 {
			return new(big.Int)
		}
		return values[q.states[at].count.text]
	}
	wrong := func(at int) bool { return at >= 0 && count(at).Cmp(want)*count(state).Cmp(want) > 0 }
	for {
		v := q.states[state]
		if len(v.writers) == 0 {
			return -1
		}
		next := -1
		for n, i := range v.writers {
			tooMany := count(state).Cmp(want) > 0
			overwrites := q.s.Transfers[i].Op == model.Copy
			switch {
			case wrong(v.added[n]) && (tooMany || overwrites || len(q.states[v.added[n]].writers) > 0):
				next = v.added[n]
			case tooMany && !overwrites && wrong(v.old):
				next = v.old
			}
		}
		if next < 0 || len(q.states[next].writers) == 0 {
			return v.writers[len(v.writers)-1]
		}
		state = next
	}
}
