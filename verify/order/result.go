package order

import (
	"fmt"

	"github.com/oraccl/oraccl/verify"
)

// result compares what every rank ends with to what it must have, and the orders in
// which ranks combined it.
func (m *machine) result() {
	p := m.p
	if len(p.Wants) == 0 {
		return
	}
	type query struct{ value, want int32 }
	type answer struct {
		code  verify.Code
		terms []term
	}
	known := map[query]answer{}
	first := make([]int32, len(p.Wants)) // the value that a want got first
	firstRank := make([]int, len(p.Wants))
	for i := range first {
		first[i] = undefined
	}
	for r := range p.Ranks {
		for c, want := range p.Post[r] {
			if want < 0 {
				continue
			}
			if !m.work.Go(1) {
				return
			}
			v := m.memory[r][c]
			a, ok := known[query{v, want}]
			if !ok {
				if v == undefined {
					a.code = verify.MissingContribution
				} else {
					a.terms = m.values.expand(v)
					a.code = compare(a.terms, p.Wants[want])
				}
				known[query{v, want}] = a
			}
			if a.code != "" {
				m.wrong(r, int32(c), a.code, a.terms, p.Wants[want])
				continue
			}
			switch {
			case len(p.Wants[want]) < 2:
			case first[want] == undefined:
				first[want], firstRank[want] = v, r
			case first[want] != v:
				_, line := m.written(r, int32(c))
				m.r.condition(verify.Wrong(verify.RankOrder, fmt.Sprintf("%s on gpus %d and %d", m.cell(r, int32(c)), firstRank[want], r),
					fmt.Sprintf("combined as %s on gpu %d and as %s on gpu %d: their last bits may differ", m.tree(first[want]), firstRank[want], m.tree(v), r)).AtSlot(r, c).AtLine(line))
			default:
				if m.r.Consistent == verify.Unknown {
					m.r.Consistent = verify.Proved
				}
			}
		}
	}
	m.r.Result = m.proved(verify.MissingContribution, verify.DoubleContribution, verify.WrongValue)
	switch {
	case m.r.Result == verify.Refuted:
		m.r.Consistent = verify.Unknown
	case m.r.Counts[verify.RankOrder] > 0:
		m.r.Consistent = verify.Refuted
	}
}

// compare returns how a value differs from the wanted contributions, once each.
func compare(terms []term, want []int32) verify.Code {
	code := verify.Code("")
	i := 0
	for _, t := range terms {
		for i < len(want) && want[i] < t.input {
			code, i = verify.MissingContribution, i+1
		}
		if i == len(want) || want[i] != t.input {
			return verify.WrongValue
		}
		if i++; t.count > 1 {
			code = verify.DoubleContribution
		}
	}
	if i < len(want) {
		code = verify.MissingContribution
	}
	return code
}

// wrong notes a wrong result and who wrote it.
func (m *machine) wrong(r int, c int32, code verify.Code, terms []term, want []int32) {
	if m.r.Counts[code] >= perCode {
		m.r.Counts[code]++
		return
	}
	wanted := make([]term, len(want))
	for i, w := range want {
		wanted[i] = term{w, 1}
	}
	holds := "is undefined"
	if terms != nil {
		holds = "ends as " + m.words(terms)
	}
	last, line := m.written(r, c)
	message := fmt.Sprintf("%s, want %s (%s)", holds, m.words(wanted), last)
	m.r.violate(verify.Wrong(code, fmt.Sprintf("gpu %d, %s", r, m.cell(r, c)), message).AtSlot(r, int(c)).AtLine(line))
}

// written returns which instruction wrote a cell last, and its line.
func (m *machine) written(r int, c int32) (by string, line int) {
	e := m.writer[r][c]
	if e < 0 {
		return "never written", 0
	}
	return "last written by " + m.step(m.events[e].proc, m.events[e].step), m.line(m.events[e].proc, m.events[e].step)
}
