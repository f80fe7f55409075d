package replay_test

import (
	"fmt"
	"slices"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/verify"
	"github.com/oraccl/oraccl/verify/verifytest"
)

// reference decides what Check decides, in the simplest way that follows SPEC.md. It returns
// the codes of all violations.
func reference(p *model.Problem, s *model.Schedule) map[verify.Code]bool {
	if p.Validate() != nil {
		return map[verify.Code]bool{verify.Malformed: true}
	}
	return verifytest.Execute(p, s).All()
}

// concernsData reports whether a violation is one of the data, which the smt engine
// must find too.
func concernsData(c verify.Code) bool {
	return slices.Contains([]verify.Code{
		verify.MissingContribution, verify.DoubleContribution, verify.WrongValue, verify.SendUndefined,
		verify.ReduceUndefined, verify.ReadWriteRace, verify.WriteWriteRace, verify.Malformed,
	}, c)
}

// sortedCodes lists a set of codes.
func sortedCodes(codes map[verify.Code]bool) []string {
	var list []string
	for c := range codes {
		list = append(list, fmt.Sprint(c))
	}
	slices.Sort(list)
	return list
}
