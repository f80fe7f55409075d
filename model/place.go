package model

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// placed is an error that knows which part of a value it is about, in the words of
// the value's file: "problem.topology.links[3].src". Readers turn that into a line
// and a column.
type placed struct {
	place string
	err   error
}

// Error returns "place: what is wrong, want what".
func (p *placed) Error() string { return p.place + ": " + p.err.Error() }

// Unwrap returns what is wrong.
func (p *placed) Unwrap() error { return p.err }

// wrong returns an error about one place of a value.
func wrong(place, format string, args ...any) error {
	return &placed{place, fmt.Errorf(format, args...)}
}

// within says that the value that err is about is the part of another one.
func within(part string, err error) error {
	if p, ok := err.(*placed); ok {
		return &placed{part + "." + p.place, p.err}
	}
	if err == nil {
		return nil
	}
	return &placed{part, err}
}

// element names an element of a list: "links[3]".
func element(list string, i int) string { return list + "[" + strconv.Itoa(i) + "]" }

// locate returns the position in a document of the place that err is about, or of
// the nearest part around it that the document has. The document must be one that
// decode has accepted; a key may carry a unit that the place lacks ("size" is at
// "size_bytes"). It takes O(document) time.
func locate(b []byte, err error) int {
	var p *placed
	if !errors.As(err, &p) {
		return 0
	}
	d := &decoder{b: b}
	d.space()
	at := d.pos
	for _, name := range strings.Split(p.place, ".") {
		name, indices, _ := strings.Cut(name, "[")
		if !d.seekKey(name) {
			return at
		}
		at = d.pos
		if indices == "" {
			continue
		}
		for _, index := range strings.Split(strings.TrimSuffix(indices, "]"), "][") {
			i, _ := strconv.Atoi(index) // placed by element, so a number
			if !d.seekElement(i) {
				return at
			}
			at = d.pos
		}
	}
	return at
}

// seekKey moves into the object at the current position, to the value of a key.
func (d *decoder) seekKey(name string) bool {
	if d.next() != '{' {
		return false
	}
	for d.pos++; d.next() != '}'; {
		key := d.text("a key")
		d.expect(':', "a colon")
		d.space()
		if key == name || strings.HasPrefix(key, name+"_") {
			return true
		}
		d.skip()
		if d.next() == ',' {
			d.pos++
		}
	}
	return false
}

// seekElement moves into the array at the current position, to element i.
func (d *decoder) seekElement(i int) bool {
	if d.next() != '[' {
		return false
	}
	for d.pos++; d.next() != ']'; i-- {
		if i == 0 {
			return true
		}
		d.skip()
		if d.next() == ',' {
			d.pos++
		}
	}
	return false
}

// skip passes the value at the current position.
func (d *decoder) skip() {
	for depth := 0; d.pos < len(d.b); {
		switch c := d.next(); {
		case c == '"':
			d.text("a string")
		case c == '{' || c == '[':
			depth++
			d.pos++
			continue
		case c == '}' || c == ']':
			depth--
			d.pos++
		case c == ',' || c == ':':
			d.pos++
			continue
		default: // a number or a word
			for d.pos < len(d.b) && strings.IndexByte(" \t\r\n,:]}", d.b[d.pos]) < 0 {
				d.pos++
			}
		}
		if depth == 0 {
			return
		}
	}
}
