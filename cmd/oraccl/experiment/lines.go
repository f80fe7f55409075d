package experiment

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/oraccl/oraccl/cmd/oraccl/experiment/expression"
)

// lines returns the lines of a section for which its condition holds, with nothing computed.
func (x *Runner) lines(base *expression.Scope, s *Section) ([]*line, error) {
	var all []*line
	var err error
	if s.Table != "" {
		all, err = x.published(base, s)
	} else {
		all = gridOf(base, s)
	}
	if err != nil {
		return nil, err
	}
	var kept []*line
	for _, l := range all {
		for name := range s.Compute {
			l.scope.Names[name] = expression.Value{}
		}
		for name := range s.Join {
			l.scope.Names[name] = expression.Value{}
		}
		l.scope.Names["verdict"] = expression.Value{}
		if err := x.define(l, l.scope, s.Define); err != nil {
			return nil, err
		}
		yes, err := x.holds(l, l.scope, s.Only)
		if err != nil {
			return nil, err
		}
		if yes {
			kept = append(kept, l)
		}
	}
	if s.Least == nil {
		return kept, nil
	}
	return leastOf(kept, s.Least), nil
}

// leastOf keeps, of lines that are equal in some columns, the one with the least value, in
// the place of the first.
func leastOf(all []*line, by *least) []*line {
	var kept []*line
	at := map[string]int{}
	for _, l := range all {
		key := keyOf(l, by.By)
		i, known := at[key]
		if !known {
			at[key], kept = len(kept), append(kept, l)
			continue
		}
		v, vok := l.scope.Names[by.Value].Float()
		w, wok := kept[i].scope.Names[by.Value].Float()
		if vok && (!wok || v < w) {
			kept[i] = l
		}
	}
	return kept
}

func keyOf(l *line, columns []string) string {
	key := ""
	for _, name := range columns {
		key += l.scope.Names[name].String() + "\x00"
	}
	return key
}

// published reads the table of a section.
func (x *Runner) published(base *expression.Scope, s *Section) ([]*line, error) {
	var columns []string
	for _, c := range s.Columns {
		kind := string(c.value)
		if kind == "text" {
			kind = ""
		}
		columns = append(columns, strings.TrimSuffix(c.key+":"+kind, ":"))
	}
	read, err := load(x.f.tables, path.Clean(s.Table), columns...)
	if err != nil {
		return nil, err
	}
	var all []*line
	for _, p := range read {
		l := &line{base.In(expression.Record{}), p.place}
		names := l.scope.Names
		names["value"] = expression.Value{}
		for name, text := range p.text {
			if text != "" || slices.Contains(common[1:], name) {
				names[name] = expression.Text(text)
			}
		}
		for _, c := range s.Columns {
			if text := p.text[c.key]; text != "" && (c.value == "int" || c.value == "number") {
				if names[c.key], err = expression.ReadNumber(text); err != nil {
					return nil, fmt.Errorf("%s: %s %w", l.place, c.key, err)
				}
			}
		}
		names["said"] = saidOf(names, p.text["value"])
		all = append(all, l)
	}
	if s.Pivot == nil {
		return all, nil
	}
	return pivoted(all, s.Pivot)
}

// pivoted makes one line of those that are equal in some columns. What no line says of a word
// is unknown.
func pivoted(all []*line, by *pivot) ([]*line, error) {
	var kept []*line
	said := map[string]expression.Record{} // by line and word
	words := map[string]bool{}
	for _, l := range all {
		key, word := keyOf(l, by.By), l.scope.Names[by.On].String()
		if said[key] == nil {
			said[key], kept = expression.Record{}, append(kept, l)
		}
		if _, twice := said[key][word]; twice {
			return nil, fmt.Errorf("%s: another line has %s %q, and is equal in %s", l.place, by.On, word, strings.Join(by.By, ", "))
		}
		said[key][word], words[word] = l.scope.Names["said"], true
	}
	for _, l := range kept {
		of := said[keyOf(l, by.By)]
		for word := range words {
			if _, ok := of[word]; !ok {
				of[word] = expression.Value{}
			}
		}
		l.scope.Names["said"], l.scope.Names["value"] = expression.Fields(of), expression.Value{}
	}
	return kept, nil
}

// saidOf is what a line says was published, with where.
func saidOf(names expression.Record, printed string) expression.Value {
	return expression.Fields(expression.Record{
		"value": names["value"], "printed": expression.Text(printed),
		"source": names["source"], "where": names["where"], "certainty": names["certainty"], "reason": names["reason"],
	})
}

// gridOf returns the product of the lists of a section, the last one fastest.
func gridOf(base *expression.Scope, s *Section) []*line {
	all := []expression.Record{{}}
	for _, p := range s.Grid {
		names := map[string]bool{}
		for _, values := range p.value {
			for name := range values {
				names[name] = true
			}
		}
		var next []expression.Record
		for _, so := range all {
			for _, values := range p.value {
				r := maps.Clone(so)
				for name := range names {
					v := expression.Value{}
					if value, ok := values[name]; ok {
						v = expression.Text(value)
						if n, err := expression.ReadNumber(value); err == nil {
							v = n
						}
					}
					if name == "" {
						name = p.key
					}
					r[name] = v
				}
				next = append(next, r)
			}
		}
		all = next
	}
	var lines []*line
	for _, r := range all {
		lines = append(lines, &line{scope: base.In(r)})
	}
	return lines
}

// find returns the names of the line that is joined to l, unknown where there is none.
func (j *join) find(lines []*line, l *line) expression.Value {
	var found *line
	for _, m := range lines {
		same := true
		for there, here := range j.By {
			same = same && m.scope.Names[there].String() == l.scope.Names[here].String()
		}
		if !same {
			continue
		}
		if found == nil {
			found = m
		}
		if j.Greatest == "" {
			break
		}
		v, known := m.scope.Names[j.Greatest].Float()
		if w, _ := found.scope.Names[j.Greatest].Float(); known && v > w {
			found = m
		}
	}
	if found == nil {
		return expression.Value{}
	}
	return expression.Fields(found.scope.Names)
}
