package model

import (
	"fmt"
	"slices"
	"strings"
)

// Switch is a node that forwards and holds nothing.
type Switch struct {
	Name string
	// Copies says that the switch can send what enters it to several of its
	// links at once (multicast).
	Copies bool
	// Reduces is whether, and how, the switch adds what enters it over several of its
	// links, and sends on the sum.
	Reduces Reducing
	// Sums is how many chunks the switch can add up at one time; 0: any number.
	Sums int
	// Operations are what the switch computes of what it adds; none: whatever is asked for.
	Operations Operators
	// Types are, by operator, the types of numbers with which it computes that; none: all.
	Types [Max + 1]DTypes
}

// Computes returns why the switch does not compute what a collective asks for, "" if it does:
// "computes sum, max, not prod" or "computes sum of fp16, bf16, not of int8". It says nothing of
// whether it adds.
func (s *Switch) Computes(c *Collective) (why string) {
	switch types := s.Types[c.Op]; {
	case s.Operations != 0 && s.Operations>>c.Op&1 == 0:
		return fmt.Sprintf("computes %v, not %v", s.Operations, c.Op)
	case types != 0 && c.DType != AnyDType && !types.Has(c.DType):
		return fmt.Sprintf("computes %v of %v, not of %v", c.Op, types, c.DType)
	}
	return ""
}

// Operators is a set of operators.
type Operators uint8

// OperatorSet returns the set of some operators.
func OperatorSet(ops ...Operator) (s Operators) {
	for _, o := range ops {
		s |= 1 << o
	}
	return s
}

// List returns the members in the order of their declaration.
func (s Operators) List() (ops []Operator) {
	for o := Sum; o <= Max; o++ {
		if s>>o&1 == 1 {
			ops = append(ops, o)
		}
	}
	return ops
}

// String returns the names of the members: "sum, max".
func (s Operators) String() string {
	var names []string
	for _, o := range s.List() {
		names = append(names, o.String())
	}
	return strings.Join(names, ", ")
}

// Reducing is how a switch adds: as SPEC 4.3 has it.
type Reducing uint8

// How switches add.
const (
	// NoReducing: the switch does not add.
	NoReducing Reducing = iota
	// SumsRead: a rank reads the sum of what ranks at the switch hold, its own among it, and a
	// rank that writes to several ranks at the switch writes to itself, too: a reducing load
	// and a multicast store, as NVLink SHARP has them (multimem.ld_reduce and multimem.st of
	// NVIDIA's PTX ISA, section "multimem"). A sum is not multicast in one pass.
	SumsRead
	// SumsTurned: sums pass on from switch to switch, and where a switch copies it sends what it
	// has added to several links in the same pass: aggregation trees, as those of Graham et
	// al., "Scalable Hierarchical Aggregation Protocol (SHArP)", COM-HPC 2016.
	SumsTurned
)

var reducingNames = []string{"", "read", "turn"}

// String returns the name used in files: "read", and "" for NoReducing.
func (r Reducing) String() string {
	if int(r) < len(reducingNames) {
		return reducingNames[r]
	}
	return fmt.Sprintf("Reducing(%d)", uint8(r))
}

// ParseReducing is the inverse of Reducing.String, without NoReducing.
func ParseReducing(s string) (Reducing, error) {
	if i := slices.Index(reducingNames, s); i > 0 {
		return Reducing(i), nil
	}
	return 0, fmt.Errorf("reduces %s: want read or turn", Quote(s))
}

// Copies reports whether node v is a switch that can copy.
func (t *Topology) Copies(v int) bool {
	return v >= t.Ranks && t.Switches[v-t.Ranks].Copies
}

// Reduces returns how node v adds; ranks are no switches, and have NoReducing.
func (t *Topology) Reduces(v int) Reducing {
	if v < t.Ranks {
		return NoReducing
	}
	return t.Switches[v-t.Ranks].Reduces
}

// Adds returns how node v adds in a collective: as Reduces has it, if it computes what c asks for.
func (t *Topology) Adds(v int, c *Collective) Reducing {
	if v < t.Ranks {
		return NoReducing
	}
	if s := &t.Switches[v-t.Ranks]; s.Computes(c) == "" {
		return s.Reduces
	}
	return NoReducing
}

// Reducer returns the first switch that adds, as a node.
func (t *Topology) Reducer() (v int, ok bool) {
	i := slices.IndexFunc(t.Switches, func(s Switch) bool { return s.Reduces != NoReducing })
	return t.Ranks + i, i >= 0
}

// validateReducing explains what is wrong with how switch i adds: see SumsRead, of which a
// rank's own contribution goes there and back over links that are alike. own holds, for
// each rank and switch that SumsRead, its links to and from it. It takes O(links of i) time.
func (t *Topology) validateReducing(i int, out, in [][]int) error {
	s := &t.Switches[i]
	switch {
	case s.Reduces > SumsTurned:
		return wrong("reduces", "%v, want read or turn", s.Reduces)
	case s.Sums < 0 || s.Sums > MaxNodes:
		return wrong("sums", "%d, want 0 to %d", s.Sums, MaxNodes)
	case s.Sums > 0 && s.Reduces == NoReducing:
		return wrong("sums", "%d, want none at a switch that does not add", s.Sums)
	case s.Operations >= 1<<(Max+1):
		return wrong("operations", "%d, want a set of operators", s.Operations)
	case s.Operations != 0 && s.Reduces == NoReducing:
		return wrong("operations", "%v computed, want none at a switch that does not add", s.Operations)
	}
	for op, types := range s.Types {
		switch op := Operator(op); {
		case types == 0:
		case types&^(1<<(Uint64+1)-2) != 0:
			return wrong("types", "%d, want a set of element types", types)
		case s.Reduces == NoReducing:
			return wrong("types", "%v of %v, want none at a switch that does not add", op, types)
		case s.Operations != 0 && s.Operations>>op&1 == 0:
			return wrong("types", "%v of %v, want types of what it computes: %v", op, types, s.Operations)
		}
	}
	if s.Reduces != SumsRead {
		return nil
	}
	v := t.Ranks + i
	up, down := map[int]Link{}, map[int]Link{} // by rank
	for _, side := range []struct {
		links []int
		by    map[int]Link
		rank  func(Link) int
		way   string
	}{{in[v], up, func(l Link) int { return l.Src }, "from"}, {out[v], down, func(l Link) int { return l.Dst }, "to"}} {
		first := Link{Alpha: -1}
		for _, l := range side.links {
			k := t.Links[l]
			r := side.rank(k)
			if !t.IsRank(r) {
				continue
			}
			if _, twice := side.by[r]; twice {
				return wrong("reduces", "read, with two links %s rank %d, want one: a switch for each plane", side.way, r)
			}
			if first.Alpha >= 0 && k.Alpha != first.Alpha {
				return wrong("reduces", "read, with latencies of %v and %v %s ranks, want one", first.Alpha, k.Alpha, side.way)
			}
			side.by[r], first = k, k
		}
	}
	for _, l := range append(slices.Clone(in[v]), out[v]...) {
		r := min(t.Links[l].Src, t.Links[l].Dst)
		if !t.IsRank(r) {
			continue
		}
		a, there := up[r]
		b, back := down[r]
		if !there || !back || a.Bandwidth != b.Bandwidth {
			return wrong("reduces", "read, without a link each way of equal bandwidth at rank %d, want both: what a rank reads has its own in it", r)
		}
	}
	return nil
}

// InNetwork returns a transfer that a switch which adds takes for one with others, of one chunk:
// they end at one rank at one time, and add, or begin at one with one link, at one time. s must
// be valid. Where no switch adds there is none. It takes O(transfers) time.
func (p *Problem) InNetwork(s *Schedule) (transfer int, ok bool) {
	if _, adds := p.Topology.Reducer(); !adds {
		return 0, false
	}
	return p.Joined(s)
}

// Joined returns a transfer that some switch takes for one with others, as InNetwork does, whether
// it adds or copies. s must be valid. It takes O(transfers) time.
func (p *Problem) Joined(s *Schedule) (transfer int, ok bool) {
	if s.Form == Ordered {
		return 0, false
	}
	type end struct {
		chunk, link int
		at          Time
	}
	sums, casts := map[end]bool{}, map[end]bool{}
	for i := range s.Transfers {
		t := &s.Transfers[i]
		route := s.Routes[t.Route]
		into := end{int(t.Chunk), route[len(route)-1], t.End}
		from := end{int(t.Chunk), route[0], t.Start}
		if t.Op == Reduction && sums[into] || casts[from] {
			return i, true
		}
		sums[into], casts[from] = t.Op == Reduction, true
	}
	return 0, false
}

// Unused states what switches could do for p and do not in s: "does not use switches that add",
// or that copy, and "" if s has a sum or a multicast, or no switch could help. It says nothing of
// custom collectives that do not reduce. s must be valid. It takes O(links + transfers) time.
func (p *Problem) Unused(s *Schedule) string {
	does := ""
	for i, w := range p.Topology.Switches {
		switch kind := p.Collective.Kind; {
		case p.Collective.Reduces() && p.Topology.Adds(p.Topology.Ranks+i, &p.Collective) != NoReducing:
			does = "add"
		case does == "" && w.Copies && (kind == AllReduce || kind == AllGather || kind == Broadcast):
			does = "copy"
		}
	}
	if does == "" || len(p.Members()) < 3 && does == "copy" {
		return ""
	}
	if _, used := p.Joined(s); used {
		return ""
	}
	return "does not use switches that " + does
}

// Untyped states that no type of numbers is one with which all switches compute that add in s, where
// the collective names none, and is "" else. s must be valid. It takes O(transfers) time.
func (p *Problem) Untyped(s *Schedule) string {
	if _, adds := p.InNetwork(s); !adds || p.Collective.DType != AnyDType {
		return ""
	}
	type end struct {
		chunk, link int
		at          Time
	}
	type meeting struct {
		of end
		v  int
	}
	first, types := map[meeting]int{}, ^DTypes(0)
	for i := range s.Transfers {
		t := &s.Transfers[i]
		route := s.Routes[t.Route]
		for _, l := range route {
			v := p.Topology.Links[l].Dst
			if t.Op != Reduction || p.Topology.Adds(v, &p.Collective) == NoReducing {
				continue
			}
			m := meeting{end{int(t.Chunk), route[len(route)-1], t.End}, v}
			if was, known := first[m]; !known {
				first[m] = l
			} else if sums := p.Topology.Switches[v-p.Topology.Ranks].Types[p.Collective.Op]; was != l && sums != 0 {
				types &= sums
			}
		}
	}
	if types != 0 {
		return ""
	}
	return "no type of numbers is one that all its switches add: --dtype states which it is"
}
