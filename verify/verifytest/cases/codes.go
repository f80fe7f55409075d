package cases

import (
	"slices"

	"github.com/oraccl/oraccl/verify"
	"github.com/oraccl/oraccl/verify/verifytest"
)

// races are the codes beside which nothing else counts in a chunk: they leave its values open.
var races = []verify.Code{verify.WriteWriteRace, verify.ReadWriteRace}

// ends are the codes of what a slot holds in the end, the gravest first.
var ends = []verify.Code{verify.MissingContribution, verify.DoubleContribution, verify.WrongValue}

// Codes returns the codes of what the reference finds wrong with the data, sorted, each once; none
// means right. Of a chunk with a race only the races count, and of what is wrong in a slot in the
// end only the gravest: what is missing, then what is there too often.
func (c *Case) Codes() []verify.Code {
	f := verifytest.Execute(c.P, c.S)
	all := verifytest.Codes{}
	raced := make([]bool, len(c.P.Chunks))
	for k, found := range f.Data {
		raced[k] = slices.ContainsFunc(races, func(code verify.Code) bool { return found[code] })
		for code := range found {
			if slices.Contains(races, code) || !raced[k] && !slices.Contains(ends, code) {
				all[code] = true
			}
		}
	}
	for slot, found := range f.Ends {
		if i := slices.IndexFunc(ends, func(code verify.Code) bool { return found[code] }); !raced[slot.Chunk] {
			all[ends[i]] = true
		}
	}
	return all.Sorted()
}
