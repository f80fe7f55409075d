// Package lint states what is suspicious about the description of a topology, before
// any work is spent on it: things that model.Topology.Validate accepts, since they
// have a meaning, but hardly the one that was intended.
//
// An error is what no machine is like, or what makes every collective over all ranks
// impossible. A warning is what some machines are like, and many mistakes. Explain returns
// what each code means.
//
// The class of a link is what its ends are: rank or switch. Links are directed, and
// named by their number in the topology. Findings come sorted: errors first, then in
// the order of Codes, then by place.
package lint

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/oraccl/oraccl/model"
)

// Code names a kind of finding: see Explain.
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

// IsError reports whether a finding with code c is an error; else it is a warning.
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

// links writes the numbers of links behind the noun.
func links(numbers []int) string { return number(numbers, "link ", "links ") + list(numbers) }

// number picks the word for one, or that for several.
func number(numbers []int, one, several string) string {
	if len(numbers) == 1 {
		return one
	}
	return several
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
