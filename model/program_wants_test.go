package model_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model"
)

// TestWantsAreSets: what a program must hold at the end is each contribution once; a list
// with one twice has no meaning, and is refused rather than taken for a set.
func TestWantsAreSets(t *testing.T) {
	for _, test := range []struct {
		want []int32
		ok   bool
	}{
		{nil, true}, {[]int32{0}, true}, {[]int32{0, 1}, true},
		{[]int32{0, 0}, false}, {[]int32{0, 0, 1}, false}, {[]int32{0, 1, 1}, false},
		{[]int32{1, 0}, false}, {[]int32{0, 2}, false}, {[]int32{-1, 0}, false},
	} {
		p := &model.Program{Ranks: 2, Grain: 1, Memory: []int{1, 1}, Buffers: make([][]model.Buffer, 2), Inputs: 1,
			Pre: [][]int32{{0}, {1}}, Post: [][]int32{{-1}, {0}}, Wants: [][]int32{test.want}}
		err := p.Validate()
		if test.ok {
			require.NoError(t, err, "%v", test.want)
		} else {
			require.ErrorContains(t, err, "wants[0]: want ascending contributions below 2, each once", "%v", test.want)
		}
	}
}
