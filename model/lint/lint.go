// Package lint says what is suspicious about the description of a topology, before
// any work is spent on it: things that model.Topology.Validate accepts, since they
// have a meaning, but hardly the one that was intended.
//
// An error is what no machine is like, or what makes every collective over all ranks
// impossible. A warning is what some machines are like, and many mistakes. These are
// the codes:
//
//	unreachable       error    some ranks cannot be reached from others: the set of nodes
//	                           that no link leaves, or enters, is named
//	units             error    a latency or bandwidth is 10³, 10⁶, 10⁹, 2¹⁰, 2²⁰ or 2³⁰
//	                           times that of three quarters of the links of its class, or
//	                           such a part of it: a unit was mixed up
//	row-wrap          error    a mesh in which the last rank of a row is linked to the first
//	                           of the next, as happens where i is linked to i+1 throughout
//	bits              warning  a bandwidth is 8 times that of its class, or an eighth: bits
//	                           were taken for bytes
//	binary-units      warning  a bandwidth is (1024/1000)^k of that of its class, k = 1, 2, 3,
//	                           or the inverse: GB were taken for GiB
//	rate              warning  a bandwidth under 1 MB/s or over 1 PB/s
//	one-way           warning  nothing leads back from the end of a link to where it begins
//	asymmetric        warning  the links from one node to another are together faster, or
//	                           have other latencies, than those back
//	rank-as-switch    warning  a rank with three neighbours or more that reach one another
//	                           through it alone: a switch that was counted among the ranks
//	switch-as-rank    warning  a switch whose links are those of some rank, figure by figure:
//	                           a rank that was counted among the switches
//	isolated-switch   warning  a switch that nothing enters or nothing leaves
//	parallel          warning  parallel links of different bandwidths or latencies
//	zero-latency      warning  some links have no latency, and others have one
//	huge-latency      warning  a latency of more than 10 ms
//	duplicate-port    warning  two ports over the same links
//	idle-port         warning  a port that lets all its links be used at once
//
// The class of a link is what its ends are: rank or switch. Links are directed, and
// named by their number in the topology. Findings come sorted: errors first, then in
// the order above, then by place.
package lint

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/oraccl/oraccl/model"
)

// Code names a kind of finding: see the package comment.
type Code string

// The codes, errors first.
const (
	Unreachable    Code = "unreachable"
	Units          Code = "units"
	RowWrap        Code = "row-wrap"
	Bits           Code = "bits"
	BinaryUnits    Code = "binary-units"
	Rate           Code = "rate"
	OneWay         Code = "one-way"
	Asymmetric     Code = "asymmetric"
	RankAsSwitch   Code = "rank-as-switch"
	SwitchAsRank   Code = "switch-as-rank"
	IsolatedSwitch Code = "isolated-switch"
	Parallel       Code = "parallel"
	ZeroLatency    Code = "zero-latency"
	HugeLatency    Code = "huge-latency"
	DuplicatePort  Code = "duplicate-port"
	IdlePort       Code = "idle-port"
)

// codes is the order in which findings come; the first three are errors.
var codes = []Code{Unreachable, Units, RowWrap, Bits, BinaryUnits, Rate, OneWay, Asymmetric, RankAsSwitch,
	SwitchAsRank, IsolatedSwitch, Parallel, ZeroLatency, HugeLatency, DuplicatePort, IdlePort}

const errorCodes = 3

// Codes returns all codes, errors first.
func Codes() []Code { return slices.Clone(codes) }

// IsError says whether a finding with code c is an error; else it is a warning.
func (c Code) IsError() bool { return slices.Index(codes, c) < errorCodes }

// Finding is something suspicious and its place.
type Finding struct {
	Code  Code
	Nodes []int  // concerned, ascending; may be empty
	Links []int  // concerned, ascending; may be empty
	Ports []int  // concerned, ascending; may be empty
	Text  string // what is wrong and what would be expected, in a line
}

// maxNamed is how many nodes or links a text names one by one.
const maxNamed = 8

// Check returns what is suspicious about t, or the error of t.Validate. It takes
// O((nodes + links) log links) time, and for rank-as-switch and row-wrap
// O(candidates · links) with at most maxCandidates candidates.
func Check(t *model.Topology) ([]Finding, error) {
	if err := t.Validate(); err != nil {
		return nil, err
	}
	l := &linter{t: t, out: t.Out(), in: t.In()}
	l.reachable()
	l.units()
	l.rowWrap()
	l.pairs()
	l.nodes()
	l.latencies()
	l.ports()
	slices.SortStableFunc(l.found, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(slices.Index(codes, a.Code), slices.Index(codes, b.Code)),
			slices.Compare(a.Nodes, b.Nodes), slices.Compare(a.Links, b.Links), slices.Compare(a.Ports, b.Ports))
	})
	return l.found, nil
}

// Errors returns how many of the findings are errors.
func Errors(found []Finding) int {
	n := 0
	for _, f := range found {
		if f.Code.IsError() {
			n++
		}
	}
	return n
}

type linter struct {
	t       *model.Topology
	out, in [][]int
	found   []Finding
}

func (l *linter) add(f Finding, format string, args ...any) {
	slices.Sort(f.Nodes)
	slices.Sort(f.Links)
	slices.Sort(f.Ports)
	f.Text = fmt.Sprintf(format, args...)
	l.found = append(l.found, f)
}

// list names numbers: "3, 4, 5 and 17 more".
func list(numbers []int) string {
	s := ""
	for i, n := range numbers {
		if i == maxNamed && len(numbers) > maxNamed+1 {
			return fmt.Sprintf("%s and %d more", s, len(numbers)-i)
		}
		if i > 0 {
			s += ", "
		}
		s += fmt.Sprint(n)
	}
	return s
}

// neighbours returns the nodes that a link leads to from v or from to v, ascending.
func (l *linter) neighbours(v int) []int {
	var all []int
	for _, i := range l.out[v] {
		all = append(all, l.t.Links[i].Dst)
	}
	for _, i := range l.in[v] {
		all = append(all, l.t.Links[i].Src)
	}
	slices.Sort(all)
	return slices.Compact(all)
}
