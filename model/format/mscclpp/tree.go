package mscclpp

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
)

const (
	maxDepth = 32      // of nesting; the formats have eight levels
	maxNodes = 1 << 24 // values in a file
)

// node is a value of JSON with its line.
type node struct {
	line  int
	value any // string, json.Number, bool, nil, []*node, or *object
}

type object struct {
	keys   []string
	values map[string]*node
}

// parser makes a tree of a file.
type parser struct {
	file  string
	b     []byte
	d     *json.Decoder
	pos   int // up to which lines are counted
	line  int
	nodes int
}

func (p *parser) fail(format string, args ...any) error {
	return &SyntaxError{p.file, p.at(), fmt.Sprintf(format, args...)}
}

// at returns the line of what was read last.
func (p *parser) at() int {
	end := min(int(p.d.InputOffset()), len(p.b))
	if end > p.pos {
		p.line += bytes.Count(p.b[p.pos:end], []byte("\n"))
		p.pos = end
	}
	return p.line
}

func parse(file string, b []byte) (*node, error) {
	p := &parser{file: file, b: b, d: json.NewDecoder(bytes.NewReader(b)), line: 1}
	p.d.UseNumber()
	n, err := p.read(0)
	if err != nil {
		return nil, err
	}
	if _, err := p.d.Token(); !errors.Is(err, io.EOF) {
		return nil, p.fail("something follows the plan, want the end of the file")
	}
	return n, nil
}

func (p *parser) token() (json.Token, error) {
	t, err := p.d.Token()
	var syntax *json.SyntaxError
	switch {
	case err == nil:
		return t, nil
	case errors.As(err, &syntax):
		return nil, p.fail("is no JSON: %v", err)
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return nil, p.fail("ends too early, want JSON")
	}
	return nil, p.fail("is no JSON: %v", err)
}

func (p *parser) read(depth int) (*node, error) {
	t, err := p.token()
	if err != nil {
		return nil, err
	}
	return p.value(t, depth)
}

func (p *parser) value(t json.Token, depth int) (*node, error) {
	n := &node{line: p.at()}
	if p.nodes++; p.nodes > maxNodes {
		return nil, p.fail("more than %d values", maxNodes)
	}
	delim, ok := t.(json.Delim)
	if !ok {
		n.value = t
		return n, nil
	}
	if depth++; depth > maxDepth {
		return nil, p.fail("values are nested more than %d deep", maxDepth)
	}
	if delim == '[' {
		list := []*node{}
		for p.d.More() {
			e, err := p.read(depth)
			if err != nil {
				return nil, err
			}
			list = append(list, e)
		}
		n.value = list
	} else {
		o := &object{values: map[string]*node{}}
		for p.d.More() {
			t, err := p.token()
			if err != nil {
				return nil, err
			}
			key, _ := t.(string)
			if o.values[key] != nil {
				return nil, p.fail("%q is there twice in an object", key)
			}
			e, err := p.read(depth)
			if err != nil {
				return nil, err
			}
			o.keys, o.values[key] = append(o.keys, key), e
		}
		n.value = o
	}
	_, err := p.token() // the closing one
	return n, err
}

// what names the kind of a value.
func (n *node) what() string {
	switch n.value.(type) {
	case string:
		return "a string"
	case json.Number:
		return "a number"
	case bool:
		return "a Boolean"
	case nil:
		return "null"
	case []*node:
		return "an array"
	}
	return "an object"
}

// reader takes a tree apart. The first error stays.
type reader struct {
	file    string
	version Version
	err     error
}

func (r *reader) fail(line int, format string, args ...any) {
	if r.err == nil {
		r.err = &SyntaxError{r.file, line, fmt.Sprintf(format, args...)}
	}
}

// has reports whether an object has a key.
func (n *node) has(key string) bool {
	o, ok := n.value.(*object)
	return ok && o.values[key] != nil
}

// get returns the value of a key, or nil.
func (r *reader) get(n *node, key string) *node {
	o, ok := n.value.(*object)
	if !ok {
		r.fail(n.line, "%s where an object with %q must be", n.what(), key)
		return nil
	}
	return o.values[key]
}

// need returns the value of a key that must be there.
func (r *reader) need(n *node, key string) *node {
	v := r.get(n, key)
	if v == nil {
		r.fail(n.line, "an object has no field %q", key)
		return &node{line: n.line}
	}
	return v
}

func (r *reader) text(n *node, key string) string {
	if n == nil {
		return ""
	}
	s, ok := n.value.(string)
	if !ok {
		r.fail(n.line, "%s is %s, want a string", key, n.what())
	}
	return s
}

func (r *reader) truth(n *node, key string) bool {
	if n == nil {
		return false
	}
	b, ok := n.value.(bool)
	if !ok {
		r.fail(n.line, "%s is %s, want true or false", key, n.what())
	}
	return b
}

// whole returns a number from low to high; nil is byDefault.
func (r *reader) whole(n *node, key string, byDefault, low, high int64) int64 {
	if n == nil {
		return byDefault
	}
	x, ok := n.value.(json.Number)
	if !ok {
		r.fail(n.line, "%s is %s, want a number", key, n.what())
		return byDefault
	}
	i, err := strconv.ParseInt(string(x), 10, 64)
	if err != nil || i < low || i > high {
		r.fail(n.line, "%s is %s, want a whole number from %d to %d", key, x, low, high)
		return byDefault
	}
	return i
}

// bytes is whole for a size, which may have 64 bits.
func (r *reader) bytes(n *node, key string, byDefault uint64) uint64 {
	if n == nil {
		return byDefault
	}
	x, ok := n.value.(json.Number)
	if !ok {
		r.fail(n.line, "%s is %s, want a number", key, n.what())
		return byDefault
	}
	i, err := strconv.ParseUint(string(x), 10, 64)
	if err != nil {
		r.fail(n.line, "%s is %s, want a whole number from 0 to %d", key, x, uint64(math.MaxUint64))
	}
	return i
}

func (r *reader) list(n *node, key string) []*node {
	if n == nil {
		return nil
	}
	l, ok := n.value.([]*node)
	if !ok {
		r.fail(n.line, "%s is %s, want an array", key, n.what())
	}
	return l
}

func (r *reader) wholes(n *node, key string, low, high int64) []int {
	var all []int
	for _, e := range r.list(n, key) {
		all = append(all, int(r.whole(e, key, 0, low, high)))
	}
	return all
}
