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

// TestUntyped: a schedule with sums at two switches that have no type in common has none.
func TestUntyped(t *testing.T) {
	tp := &Topology{Ranks: 6, Switches: []Switch{{Reduces: SumsRead}, {Reduces: SumsRead}}}
	for r := range 6 {
		tp.Links = append(tp.Links, Link{Src: r, Dst: 6 + r/3, Bandwidth: 1e9}, Link{Src: 6 + r/3, Dst: r, Bandwidth: 1e9})
	}
	s := &Schedule{Form: Timed}
	sum := func(root, a, b int) { // at the root, of what it, a and b have
		for _, r := range []int{a, b} {
			s.Routes = append(s.Routes, []int{2 * r, 2*root + 1})
			s.Transfers = append(s.Transfers, Transfer{Src: int32(r), Dst: int32(root), Op: Reduction, Route: int32(len(s.Routes) - 1), End: 1000})
		}
	}
	sum(0, 1, 2)
	sum(3, 4, 5)
	p := &Problem{Topology: tp, Collective: Collective{Kind: AllReduce}, Size: 1}
	for _, c := range []struct {
		first, second DTypes
		of            DType
		typed         bool
	}{
		{0, 0, AnyDType, true},
		{DTypeSet(FP16), 0, AnyDType, true},
		{DTypeSet(FP16, BF16), DTypeSet(BF16), AnyDType, true},
		{DTypeSet(FP16), DTypeSet(BF16), AnyDType, false},
		{DTypeSet(FP16), DTypeSet(BF16), FP16, true}, // the verifiers refuse the other sum
	} {
		tp.Switches[0].Types[Sum], tp.Switches[1].Types[Sum] = c.first, c.second
		p.Collective.DType = c.of
		require.Equal(t, c.typed, p.Untyped(s) == "", "%v", c)
	}
	s.Transfers = s.Transfers[:3] // one sum, and what is sent alone
	tp.Switches[0].Types[Sum], tp.Switches[1].Types[Sum], p.Collective.DType = DTypeSet(FP16), DTypeSet(BF16), AnyDType
	require.Empty(t, p.Untyped(s))
}
