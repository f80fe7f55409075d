package experiment

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/oraccl/oraccl/cmd/oraccl/experiment/expression"
	"github.com/oraccl/oraccl/cmd/oraccl/experiment/report"
)

// row makes a row of a line, or returns nil where it has none.
func (x *Runner) row(s *Section, b *RowBlock, l *line) (*report.Row, error) {
	yes, err := x.holds(l, l.scope, b.Only)
	if err != nil || !yes {
		return nil, err
	}
	e := &rowMaker{x: x, l: l, b: b, row: &report.Row{}}
	e.scope = l.scope.In(expression.Record{})
	for _, name := range rowNames {
		e.scope.Names[name] = expression.Value{}
	}
	if !e.published() {
		return nil, e.err
	}
	run := e.ours(s)
	e.judge()
	e.explain(run)
	return e.row, e.err
}

// rowMaker makes one row. After its first error it does nothing.
type rowMaker struct {
	x     *Runner
	l     *line
	b     *RowBlock
	row   *report.Row
	scope *expression.Scope
	err   error
}

func (e *rowMaker) expand(t *text) string {
	if e.err != nil || t == nil {
		return ""
	}
	s, err := t.Expand(e.scope)
	e.err = e.x.at(e.l, t.line, err)
	return s
}

func (e *rowMaker) eval(ex *expr) expression.Value {
	if e.err != nil || ex == nil {
		return expression.Value{}
	}
	v, err := e.x.eval(e.l, e.scope, ex)
	e.err = err
	return v
}

// held returns the texts of the conditions that hold.
func (e *rowMaker) held(all pairs[condition]) (texts []string) {
	for i := range all {
		if c := &all[i].value; e.eval(&c.expr).IsTrue() {
			texts = append(texts, e.expand(&c.text))
		}
	}
	return texts
}

// published sets what was published, and reports whether there is such a line.
func (e *rowMaker) published() bool {
	r := e.row
	r.Instance, r.Quantity = e.expand(e.b.Instance), e.expand(e.b.Quantity)
	e.scope.Names["value"] = expression.Value{}
	found, _ := e.l.scope.Get("said")
	of, _ := found.Record()
	value, printed := of["value"], of["printed"].String()
	if e.b.Published != nil {
		v := e.eval(e.b.Published)
		if is, ok := v.Record(); ok {
			of, value, printed = is, is["value"], is["printed"].String()
		} else {
			value, printed = v, v.String()
		}
		if !v.Known() && e.b.Unpublished == nil {
			return false
		}
	}
	if e.b.Unpublished != nil && (e.b.Published == nil || !value.Known()) {
		r.Verdict, r.Why = report.NotPublished, e.expand(e.b.Unpublished)
		return e.err == nil
	}
	r.Published, r.Source, r.Where, r.Certainty = printed, of["source"].String(), of["where"].String(), of["certainty"].String()
	if r.Published == "" {
		r.Verdict, r.Why = report.NotPublished, of["reason"].String()
	}
	e.scope.Names["value"] = value
	return e.err == nil
}

// ours sets what ours is, and returns the record of the run that it is from.
func (e *rowMaker) ours(s *Section) expression.Record {
	name := e.b.Of
	if all := slices.Sorted(maps.Keys(s.Compute)); name == "" && len(all) > 0 {
		name = all[0]
	}
	v, _ := e.l.scope.Get(name)
	run, _ := v.Record()
	ours, bound := e.eval(e.b.Ours), e.eval(e.b.Bound)
	e.scope.Names["ours"], e.scope.Names["bound"] = ours, bound
	r := e.row
	r.Ours, r.Bound = e.printed(ours), e.printed(bound)
	if ours.Known() {
		r.By, r.Proved = run["method"].String(), run["proved"].String()
		r.Seconds, _ = run["seconds"].Float()
	}
	if r.Bound != "" {
		r.Certificate = run["kind"].String()
	}
	for t, into := range map[*text]*string{e.b.By: &r.By, e.b.Proved: &r.Proved, e.b.Certificate: &r.Certificate} {
		if t != nil {
			*into = e.expand(t)
		}
	}
	if e.b.Seconds != nil {
		r.Seconds, _ = e.eval(e.b.Seconds).Float()
	}
	return run
}

// printed writes a number with the decimals of the row.
func (e *rowMaker) printed(v expression.Value) string {
	if r := v.Rat(); r != nil && e.b.Digits != nil {
		digits := e.expand(e.b.Digits)
		n, err := strconv.Atoi(digits)
		if err != nil || n < 0 || n > 30 {
			e.err = cmp.Or(e.err, e.x.at(e.l, e.b.Digits.line, fmt.Errorf("digits %q: want 0 to 30", digits)))
			return ""
		}
		return r.FloatString(n)
	}
	return v.String()
}

// judge sets the verdict, and its reason where the two are not comparable.
func (e *rowMaker) judge() {
	r, names := e.row, e.scope.Names
	ours, value := names["ours"], names["value"]
	p, number := value.Float()
	o, computed := ours.Float()
	agrees := r.Published != "" && r.Ours == r.Published
	if number && computed {
		tolerance := report.HalfDigit(r.Published)
		if e.b.Tolerance != nil {
			tolerance, _ = e.eval(e.b.Tolerance).Float()
		}
		first := report.Judge(p, o, tolerance, report.Less)
		agrees = first == report.Agrees
		names["less"], names["more"] = expression.Truth(first == report.Better), expression.Truth(first == report.Worse)
	}
	switch {
	case e.err != nil, r.Verdict == report.NotPublished:
	case agrees:
		r.Verdict = report.Agrees
	case e.b.Better == nil && names["less"].IsTrue(), e.b.Better != nil && e.eval(e.b.Better).IsTrue():
		r.Verdict = report.Better
	default:
		r.Verdict = report.Worse
	}
	if r.Verdict != report.NotPublished {
		if reasons := e.held(e.b.NotComparable); len(reasons) > 0 {
			r.Verdict, r.Why = report.NotComparable, reasons[0]
		}
	}
}

// explain adds what the file says of the difference, or why there is nothing of ours.
func (e *rowMaker) explain(run expression.Record) {
	r, names := e.row, e.scope.Names
	reason := run["reason"].String()
	if !names["ours"].Known() && e.b.Ours != nil && r.Verdict != report.NotComparable {
		if r.Verdict != report.NotPublished {
			r.Verdict = report.NotComparable
		}
		if reason != "" {
			r.Why = strings.TrimPrefix(r.Why+"; "+reason, "; ")
		}
	}
	for name, v := range map[string]report.Verdict{"agrees": report.Agrees, "better": report.Better, "worse": report.Worse, "not_comparable": report.NotComparable, "not_published": report.NotPublished} {
		names[name] = expression.Truth(r.Verdict == v)
	}
	if never := e.held(e.b.Never); len(never) > 0 && e.err == nil {
		e.err = e.x.at(e.l, e.b.Never[0].line, fmt.Errorf("%s, %s: %s", r.Instance, r.Quantity, never[0]))
	}
	between := " "
	if r.Verdict == report.NotPublished && r.Why != "" {
		between = "; "
	}
	r.Why = strings.TrimSpace(strings.Join(append(slices.DeleteFunc([]string{r.Why}, func(s string) bool { return s == "" }), e.held(e.b.Why)...), between))
}
