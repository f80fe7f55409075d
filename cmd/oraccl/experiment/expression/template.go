package expression

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Template is a text with expressions in it: "${ranks} ranks".
type Template struct {
	text  string
	parts []any // string or *Expr
}

// ParseTemplate reads a text with expressions that may call the functions of this package
// and those given. "$${" stands for "${".
func ParseTemplate(text string, own Functions) (*Template, error) {
	t := &Template{text: text}
	for rest := text; rest != ""; {
		before, after, found := strings.Cut(rest, "${")
		if !found {
			t.parts = append(t.parts, rest)
			break
		}
		if strings.HasSuffix(before, "$") {
			t.parts = append(t.parts, before+"{")
			rest = after
			continue
		}
		inside, tail, err := untilBrace(after)
		if err != nil {
			return nil, fmt.Errorf("%q: %w", text, err)
		}
		e, err := Parse(inside, own)
		if err != nil {
			return nil, err
		}
		t.parts = append(t.parts, before, e)
		rest = tail
	}
	return t, nil
}

// untilBrace splits a text at the brace that ends an expression, which may have braces in
// its texts.
func untilBrace(s string) (inside, tail string, err error) {
	quote := byte(0)
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case quote == '"' && c == '\\':
			i++
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '"' || c == '`':
			quote = c
		case c == '}':
			return s[:i], s[i+1:], nil
		}
	}
	return "", "", errors.New("a ${ without its }")
}

// Text returns the template as it was written.
func (t *Template) Text() string { return t.text }

// Uses returns the names that the expressions ask their scope for, once each, sorted.
func (t *Template) Uses() []string {
	var all []string
	for _, p := range t.parts {
		if e, ok := p.(*Expr); ok {
			all = append(all, e.Uses()...)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// Expand returns the text with the values of its expressions.
func (t *Template) Expand(s *Scope) (string, error) {
	var b strings.Builder
	for _, p := range t.parts {
		if e, ok := p.(*Expr); ok {
			v, err := e.Eval(s)
			if err != nil {
				return "", err
			}
			b.WriteString(v.String())
			continue
		}
		b.WriteString(p.(string))
	}
	return b.String(), nil
}
