package model

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestUnused: a schedule without a sum or a multicast states what switches could have done; one
// with them, and one that they cannot help, do not.
func TestUnused(t *testing.T) {
	star := func(s Switch) *Topology {
		tp := &Topology{Ranks: 3, Switches: []Switch{s}}
		for r := range 3 {
			tp.Links = append(tp.Links, Link{Src: r, Dst: 3, Bandwidth: 1e12}, Link{Src: 3, Dst: r, Bandwidth: 1e12})
		}
		return tp
	}
	one := Transfer{Src: 0, Dst: 1, End: 1}
	two := []Transfer{one, {Src: 0, Dst: 2, Route: 1, End: 1}}
	apart := []Transfer{one, {Src: 0, Dst: 2, Route: 1, Start: 1, End: 2}}
	sum := []Transfer{{Src: 1, Dst: 0, Op: Reduction, Route: 2, End: 1}, {Src: 2, Dst: 0, Op: Reduction, Route: 3, End: 1}}
	late := []Transfer{sum[0], {Src: 2, Dst: 0, Op: Reduction, Route: 3, Start: 1, End: 2}}
	for _, c := range []struct {
		s     Switch
		kind  Kind
		moves []Transfer
		want  string
	}{
		{Switch{}, Broadcast, apart, ""},
		{Switch{Copies: true}, Broadcast, apart, "does not use switches that copy"},
		{Switch{Copies: true}, Broadcast, two, ""},
		{Switch{Copies: true}, Scatter, apart, ""},
		{Switch{Copies: true}, Reduce, late, ""},
		{Switch{Reduces: SumsTurned}, Reduce, late, "does not use switches that add"},
		{Switch{Reduces: SumsTurned, Operations: OperatorSet(Max)}, Reduce, late, ""},
		{Switch{Reduces: SumsTurned}, Reduce, sum, ""},
		{Switch{Reduces: SumsTurned, Copies: true}, AllReduce, late, "does not use switches that add"},
	} {
		p := &Problem{Topology: star(c.s), Collective: Collective{Kind: c.kind}, Size: 3, Cost: Blocking}
		s := &Schedule{Form: Timed, Routes: [][]int{{0, 3}, {0, 5}, {2, 1}, {4, 1}}, Transfers: c.moves}
		require.Equal(t, c.want, p.Unused(s), "%v, %v", c.s, c.kind)
	}
}
