package workload

import (
	"testing"

	"github.com/stretchr/testify/require"

	wl "github.com/oraccl/oraccl/model/workload"
)

// Names that look like what the algebra writes of others do not make two values one.
func TestNamesDoNotJoinValues(t *testing.T) {
	for _, associative := range []bool{false, true} {
		a := newAlgebra(&wl.Workload{Operators: []wl.Operator{{Name: "p", Associative: associative}, {Name: "p#", Associative: associative}}}, nil)
		x, y := a.input(0, 0, 0), a.input(0, 1, 0)
		other := a.combine("p#", []word{x, y})
		require.NotEqual(t, a.combine("p", []word{x, y, x}), a.combine("p", []word{other, x}))
		require.NotEqual(t, a.apply("f", []word{x}, []int64{1}, 0), a.apply("f\"@0 "+string(x), nil, nil, 0))
		require.NotEqual(t, a.apply("f", []word{x}, []int64{1}, 0), a.apply("f@0 "+string(x), nil, nil, 0))
		require.NotEqual(t, a.tree("p", x, y), a.tree("p("+string(x)+","+string(y)+")", x, y))
	}
}
