package concurrent

import (
	"fmt"
	"slices"
	"strings"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/verify"
	"github.com/oraccl/oraccl/verify/smt"
)

// run is the cells of an access, from a first one.
type run struct{ from, n int }

// reads returns the cells that a step reads, a run for each source, in the order in
// which they are added.
func (e *encoder) reads(i int) []run {
	s, rank := e.of(i), e.rank(i)
	var all []run
	at := func(ref model.Ref, off int) {
		all = append(all, run{e.p.Buffers[rank][ref.Buffer].Base + off*e.p.Grain, s.Count * e.p.Grain})
	}
	if s.Verb&model.ReadsDst != 0 {
		at(s.Dst, s.Dst.Offset)
	}
	if s.Verb&model.Reads != 0 {
		at(s.Src, s.Src.Offset)
		for _, off := range s.More {
			at(s.Src, int(off))
		}
	}
	return all
}

// writes returns the cells that a step writes.
func (e *encoder) writes(i int) run {
	s := e.of(i)
	if s.Verb&model.Writes == 0 {
		return run{}
	}
	return run{e.p.Buffers[e.rank(i)][s.Dst.Buffer].Base + s.Dst.Offset*e.p.Grain, s.Count * e.p.Grain}
}

// outside reports whether a step accesses what is beyond a buffer.
func (e *encoder) outside(rank int, s *model.Instruction) bool {
	beyond := func(ref model.Ref, off int) bool {
		b := &e.p.Buffers[rank][ref.Buffer]
		return s.Count > 0 && (off < 0 || int64(off)+int64(s.Count) > int64(b.Cells/e.p.Grain))
	}
	if s.Verb&(model.Writes|model.ReadsDst) != 0 && beyond(s.Dst, s.Dst.Offset) {
		return true
	}
	return s.Verb&model.Reads != 0 && (beyond(s.Src, s.Src.Offset) || slices.ContainsFunc(s.More, func(off int32) bool { return beyond(s.Src, int(off)) }))
}

// pairs returns the steps, earlier and later along the chosen order, that access a cell
// which one of them writes; of the pairs that others imply, only some.
func (e *encoder) pairs() [][2]int {
	type state struct {
		write int
		reads []int
	}
	cells := make([][]state, e.p.Ranks)
	for r := range cells {
		cells[r] = make([]state, e.p.Memory[r])
		for c := range cells[r] {
			cells[r][c].write = -1
		}
	}
	known := map[[2]int]bool{}
	var pairs [][2]int
	add := func(a, b int) {
		if a >= 0 && e.step[a].proc != e.step[b].proc && !known[[2]int{a, b}] {
			known[[2]int{a, b}] = true
			pairs = append(pairs, [2]int{a, b})
		}
	}
	for _, i := range e.order {
		row := cells[e.rank(i)]
		for _, x := range e.reads(i) {
			for c := x.from; c < x.from+x.n; c++ {
				add(row[c].write, i)
				row[c].reads = append(row[c].reads, i)
			}
		}
		w := e.writes(i)
		for c := w.from; c < w.from+w.n; c++ {
			add(row[c].write, i)
			for _, j := range row[c].reads {
				add(j, i)
			}
			row[c].write, row[c].reads = i, nil
		}
	}
	return pairs
}

// bothWrite reports whether two steps write a cell in common.
func (e *encoder) bothWrite(pair [2]int) bool {
	a, b := e.writes(pair[0]), e.writes(pair[1])
	return a.n > 0 && b.n > 0 && a.from < b.from+b.n && b.from < a.from+a.n
}

// races asks, a case a pair, for an instant at which the later has happened and the
// earlier has not.
func (e *encoder) races(pairs [][2]int) smt.Question {
	var b strings.Builder
	for i := range e.step {
		fmt.Fprintf(&b, "(declare-const d%d Bool)\n", i)
	}
	for i := range e.step {
		if e.step[i].step > 0 {
			fmt.Fprintf(&b, "(assert (=> d%d d%d))\n", i, i-1)
		}
		if e.sender[i] >= 0 {
			fmt.Fprintf(&b, "(assert (=> d%d d%d))\n", i, e.sender[i])
		}
		for _, release := range e.waits[i] {
			fmt.Fprintf(&b, "(assert (=> d%d (or false", i)
			for _, j := range release {
				fmt.Fprintf(&b, " d%d", j)
			}
			b.WriteString(")))\n")
		}
	}
	q := smt.Question{Script: b.String()}
	for _, x := range pairs {
		q.Cases = append(q.Cases, fmt.Sprintf("d%d (not d%d)", x[1], x[0]))
	}
	return q
}

// ending is a cell with something wanted.
type ending struct {
	rank, cell int
	want       []int32
	got        string // the term of its value, "" if it is never written
	bad        string // the name of the formula that says that it is wrong
}

// result asks for inputs for which a cell ends wrong. A value is a term; "" is
// undefined, which needs no formula: whether a cell is written does not depend on
// the inputs.
func (e *encoder) result() (smt.Question, []ending) {
	var b strings.Builder
	e.parts = map[string][]string{}
	memory := make([][]string, e.p.Ranks)
	for i := range e.p.Inputs * e.p.Ranks {
		fmt.Fprintf(&b, "(declare-const x%d Int)\n", i)
	}
	for r := range memory {
		memory[r] = make([]string, e.p.Memory[r])
		for c, in := range e.p.Pre[r] {
			if in >= 0 {
				memory[r][c] = fmt.Sprintf("x%d", in)
			}
		}
	}
	messages := make([][]string, len(e.step)) // of a step that sends
	q := smt.Question{}
	bad := []string{}
	for _, i := range e.order {
		s := e.of(i)
		var parts [][]string
		if e.sender[i] >= 0 {
			parts = append(parts, messages[e.sender[i]])
		}
		for _, x := range e.reads(i) {
			parts = append(parts, memory[e.rank(i)][x.from:x.from+x.n])
			if slices.Contains(parts[len(parts)-1], "") {
				fmt.Fprintf(&b, "(define-fun u%d () Bool true)\n", i)
				bad = append(bad, fmt.Sprintf("u%d", i))
				q.Constants = append(q.Constants, fmt.Sprintf("u%d", i))
				break
			}
		}
		sum := make([]string, s.Count*e.p.Grain)
		for c := range sum {
			var terms []string
			for _, part := range parts {
				terms = append(terms, part[c])
			}
			switch {
			case slices.Contains(terms, "") || len(parts) == 0:
			case len(terms) == 1:
				sum[c] = terms[0]
			default:
				sum[c] = fmt.Sprintf("v%d_%d", i, c)
				fmt.Fprintf(&b, "(define-fun %s () Int (+ %s))\n", sum[c], strings.Join(terms, " "))
				e.parts[sum[c]] = terms
			}
		}
		w := e.writes(i)
		copy(memory[e.rank(i)][w.from:w.from+w.n], sum)
		if s.Verb&model.Sends != 0 {
			messages[i] = sum
		}
	}
	var ends []ending
	for r := range e.p.Ranks {
		for c, want := range e.p.Post[r] {
			if want < 0 {
				continue
			}
			x := ending{rank: r, cell: c, want: e.p.Wants[want], got: memory[r][c], bad: fmt.Sprintf("e%d_%d", r, c)}
			if x.got == "" {
				fmt.Fprintf(&b, "(define-fun %s () Bool true)\n", x.bad)
			} else {
				sum := "0"
				for _, in := range x.want {
					sum += fmt.Sprintf(" x%d", in)
				}
				fmt.Fprintf(&b, "(define-fun %s () Bool (distinct %s (+ %s)))\n", x.bad, x.got, sum)
			}
			bad = append(bad, x.bad)
			q.Constants = append(q.Constants, x.bad)
			ends = append(ends, x)
		}
	}
	fmt.Fprintf(&b, "(assert (or false %s))\n", strings.Join(bad, " "))
	q.Script = b.String()
	return q, ends
}

// wrong reads a wrong result off the solver's model.
func (e *encoder) wrong(a smt.Answer, ends []ending) verify.Violation {
	for _, i := range e.order {
		if v := a.Values[fmt.Sprintf("u%d", i)]; v != nil && v.Sign() > 0 {
			return verify.Wrong(verify.UninitialisedRead, e.name(i), "reads what nothing has written")
		}
	}
	for _, x := range ends {
		if v := a.Values[x.bad]; v == nil || v.Sign() == 0 {
			continue
		}
		where := fmt.Sprintf("gpu %d, cell %d", x.rank, x.cell)
		if x.got == "" {
			return verify.Wrong(verify.MissingContribution, where, "is never written")
		}
		counts := map[string]int{}
		e.expand(x.got, counts)
		code := verify.MissingContribution
		for _, in := range x.want {
			if counts[fmt.Sprintf("x%d", in)] > 1 {
				code = verify.DoubleContribution
			}
			delete(counts, fmt.Sprintf("x%d", in))
		}
		if len(counts) > 0 {
			code = verify.WrongValue
		}
		return verify.Wrong(code, where, fmt.Sprintf("ends with another sum than that of %d contributions for some inputs", len(x.want)))
	}
	return verify.Wrong(verify.MissingContribution, "the end", "some cell ends wrong")
}

// expand counts the contributions in a term, up to 2 each.
func (e *encoder) expand(term string, counts map[string]int) {
	parts, compound := e.parts[term]
	if !compound {
		counts[term] = min(counts[term]+1, 2)
		return
	}
	for _, part := range parts {
		e.expand(part, counts)
	}
}
