package model

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"math/bits"
	"strconv"
	"strings"
	"unicode/utf8"
)

// decoder reads JSON strictly: every key must be known and occur once, numbers
// must be whole and in range, and nothing may follow the document. It stops at
// the first error, which names file, line, column and path. It goes over the
// bytes once and allocates only what the values need.
type decoder struct {
	name string
	b    []byte
	pos  int
	path []step
}

// step is a key or, with key "", an index.
type step struct {
	key   string
	index int
}

// syntaxError is how a decoder leaves the depth of the document; decode catches it.
type syntaxError struct{ err error }

// decode reads all of r and calls read on it.
func decode(name string, r io.Reader, read func(*decoder)) (err error) {
	b, err := io.ReadAll(r)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	d := &decoder{name: name, b: b}
	defer func() {
		switch e := recover().(type) {
		case nil:
		case syntaxError:
			err = e.err
		default:
			panic(e)
		}
	}()
	read(d)
	d.space()
	if d.pos < len(d.b) {
		d.path = nil
		d.fail("data after the end of the document, want one document a file")
	}
	return nil
}

// fail ends the decoding at the current position.
func (d *decoder) fail(format string, args ...any) { d.failAt(d.pos, format, args...) }

func (d *decoder) failAt(pos int, format string, args ...any) {
	before := d.b[:min(pos, len(d.b))]
	line := 1 + bytes.Count(before, []byte("\n"))
	column := len(before) - bytes.LastIndexByte(before, '\n')
	where := ""
	for _, s := range d.path {
		switch {
		case s.key == "":
			where += fmt.Sprintf("[%d]", s.index)
		case where == "":
			where = s.key
		default:
			where += "." + s.key
		}
	}
	if where != "" {
		where += ": "
	}
	panic(syntaxError{fmt.Errorf("%s:%d:%d: %s%w", d.name, line, column, where, fmt.Errorf(format, args...))})
}

func (d *decoder) space() {
	for d.pos < len(d.b) && strings.IndexByte(" \t\r\n", d.b[d.pos]) >= 0 {
		d.pos++
	}
}

// next skips white space and returns the byte there, 0 at the end.
func (d *decoder) next() byte {
	d.space()
	if d.pos == len(d.b) {
		return 0
	}
	return d.b[d.pos]
}

// found describes what is at the current position, for messages.
func (d *decoder) found() string {
	d.space()
	if d.pos >= len(d.b) {
		return "the end of the file"
	}
	end := d.pos
	for end < len(d.b) && end < d.pos+24 && strings.IndexByte(" \t\r\n,:]}", d.b[end]) < 0 {
		end++
	}
	return strconv.Quote(string(d.b[d.pos:max(end, d.pos+1)]))
}

func (d *decoder) expect(c byte, what string) {
	if d.next() != c {
		d.fail("%s, want %s", d.found(), what)
	}
	d.pos++
}

// field is a key that an object may have.
type field struct {
	name     string
	required bool
	read     func()
}

// object reads an object with the given fields, in any order.
func (d *decoder) object(what string, fields []field) {
	start := d.pos
	d.expect('{', what)
	seen := uint64(0)
	d.path = append(d.path, step{})
	for first := true; ; first = false {
		if d.next() == '}' {
			d.pos++
			break
		}
		if !first {
			d.expect(',', "a comma or } after the value")
			d.space()
		}
		at := d.pos
		key := d.text("a key")
		d.path[len(d.path)-1].key = key
		i := 0
		for i < len(fields) && fields[i].name != key {
			i++
		}
		if i == len(fields) {
			d.path = d.path[:len(d.path)-1]
			d.failAt(at, "unknown key %q, want %s", key, names(fields))
		}
		if seen&(1<<i) != 0 {
			d.path = d.path[:len(d.path)-1]
			d.failAt(at, "key %q occurs twice, want it once", key)
		}
		seen |= 1 << i
		d.expect(':', "a colon after the key")
		d.space()
		fields[i].read()
	}
	d.path = d.path[:len(d.path)-1]
	for i, f := range fields {
		if f.required && seen&(1<<i) == 0 {
			d.failAt(start, "key %q is missing from %s", f.name, what)
		}
	}
}

func names(fields []field) string {
	var list []string
	for _, f := range fields {
		list = append(list, f.name)
	}
	if len(list) == 1 {
		return list[0]
	}
	return strings.Join(list[:len(list)-1], ", ") + " or " + list[len(list)-1]
}

// array reads an array and calls element for each of its elements.
func (d *decoder) array(what string, element func(i int)) {
	d.expect('[', what)
	d.path = append(d.path, step{})
	for i := 0; ; i++ {
		if d.next() == ']' {
			d.pos++
			break
		}
		if i > 0 {
			d.expect(',', "a comma or ] after the element")
			d.space()
		}
		d.path[len(d.path)-1].index = i
		element(i)
	}
	d.path = d.path[:len(d.path)-1]
}

// text reads a string.
func (d *decoder) text(what string) string {
	d.space()
	start := d.pos
	if d.next() != '"' {
		d.fail("%s, want %s, a string", d.found(), what)
	}
	escaped := false
	for d.pos++; ; d.pos++ {
		switch {
		case d.pos >= len(d.b):
			d.failAt(start, "string without an end")
		case d.b[d.pos] == '\\':
			escaped = true
			d.pos++
			continue
		case d.b[d.pos] < 0x20:
			d.fail("control character in a string")
		case d.b[d.pos] != '"':
			continue
		}
		break
	}
	d.pos++
	raw := d.b[start:d.pos]
	if !utf8.Valid(raw) {
		d.failAt(start, "string is not UTF-8")
	}
	if !escaped {
		return string(raw[1 : len(raw)-1])
	}
	var s string
	if err := json.Unmarshal(raw, &s); err != nil {
		d.failAt(start, "string with a wrong escape")
	}
	return s
}

// boolean reads true or false.
func (d *decoder) boolean() bool {
	d.space()
	for _, v := range []bool{true, false} {
		if word := strconv.FormatBool(v); bytes.HasPrefix(d.b[d.pos:], []byte(word)) {
			d.pos += len(word)
			return v
		}
	}
	d.fail("%s, want true or false", d.found())
	return false
}

// whole reads a whole number from least to most.
func (d *decoder) whole(least, most int64) int64 {
	d.space()
	start := d.pos
	negative := d.next() == '-'
	if negative {
		d.pos++
	}
	u, ok := d.digits(start, least, most)
	limit := uint64(math.MaxInt64)
	if negative {
		limit++
	}
	v := int64(u)
	if negative {
		v = -v
	}
	if !ok || u > limit || v < least || v > most {
		d.failAt(start, "%s is out of range, want %d to %d", d.b[start:min(d.pos, start+24)], least, most)
	}
	return v
}

// digits reads decimal digits; ok is false if they exceed 64 bits.
func (d *decoder) digits(start int, least, most int64) (u uint64, ok bool) {
	from := d.pos
	ok = true
	for ; d.pos < len(d.b) && '0' <= d.b[d.pos] && d.b[d.pos] <= '9'; d.pos++ {
		hi, lo := bits.Mul64(u, 10)
		sum, carry := bits.Add64(lo, uint64(d.b[d.pos]-'0'), 0)
		ok = ok && hi == 0 && carry == 0
		u = sum
	}
	following := byte(0)
	if d.pos < len(d.b) {
		following = d.b[d.pos]
	}
	if d.pos == from || following == '.' || following == 'e' || following == 'E' || d.b[from] == '0' && d.pos > from+1 {
		d.pos = start
		d.fail("%s, want a whole number from %d to %d", d.found(), least, most)
	}
	return u, ok
}

// unsigned reads a whole number from 0 to 2⁶⁴-1.
func (d *decoder) unsigned() uint64 {
	d.space()
	start := d.pos
	u, ok := d.digits(start, 0, math.MaxInt64)
	if !ok {
		d.failAt(start, "number is out of range, want 0 to 2^64-1")
	}
	return u
}

// ints reads an array of whole numbers.
func (d *decoder) ints(what string, least, most int64) []int {
	list := []int{}
	d.array(what, func(int) { list = append(list, int(d.whole(least, most))) })
	return list
}

// parsed reads a string and hands it to one of this package's parsers.
func parsed[T any](d *decoder, what string, parse func(string) (T, error)) T {
	d.space()
	at := d.pos
	v, err := parse(d.text(what))
	if err != nil {
		d.failAt(at, "%w", err)
	}
	return v
}

// schema reads the value of the key "schema" and insists on want.
func (d *decoder) schema(want string) func() {
	return func() {
		d.space()
		at := d.pos
		if got := d.text("the schema"); got != want {
			d.failAt(at, "schema %q, want %q", got, want)
		}
	}
}

// SchemaOf returns the schema that a JSON document names, such as
// "oraccl/schedule/1", or "" if it names none at its top level. It does not read
// the rest; the Read functions do.
func SchemaOf(b []byte) string {
	d := json.NewDecoder(bytes.NewReader(b))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return ""
	}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return ""
		}
		if key == "schema" {
			v, _ := d.Token()
			s, _ := v.(string)
			return s
		}
		var skipped json.RawMessage
		if d.Decode(&skipped) != nil {
			return ""
		}
	}
	return ""
}
