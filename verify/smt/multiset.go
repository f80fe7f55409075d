package smt

import (
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strings"

	"github.com/oraccl/oraccl/model"
)

// multiset is how often each rank's contribution is in a value.
type multiset map[int]*big.Int

// String writes the multiset as a sum: "x0+2·x1+x2". Of four or more neighbours
// that are there once only the first and the last are named: "x0+…+x7".
func (m multiset) String() string {
	if len(m) == 0 {
		return "nothing"
	}
	ranks := slices.Sorted(maps.Keys(m))
	once := func(i int) bool { return m[ranks[i]].IsInt64() && m[ranks[i]].Int64() == 1 }
	var terms []string
	for i := 0; i < len(ranks); i++ {
		if !once(i) {
			terms = append(terms, fmt.Sprintf("%v·x%d", m[ranks[i]], ranks[i]))
			continue
		}
		end := i
		for end+1 < len(ranks) && ranks[end+1] == ranks[end]+1 && once(end+1) {
			end++
		}
		terms = append(terms, fmt.Sprintf("x%d", ranks[i]))
		if end >= i+3 {
			terms = append(terms, "…", fmt.Sprintf("x%d", ranks[end]))
			i = end
		}
	}
	return strings.Join(terms, "+")
}

// short returns what transfer i is: "reduce 1→0, round 1".
func short(s *model.Schedule, i int32) string {
	t := &s.Transfers[i]
	switch text := fmt.Sprintf("%v %d→%d", t.Op, t.Src, t.Dst); s.Form {
	case model.Timed:
		return fmt.Sprintf("%s, %v to %v", text, t.Start, t.End)
	case model.InRounds:
		return fmt.Sprintf("%s, round %d", text, int64(t.Start))
	default:
		return text
	}
}
