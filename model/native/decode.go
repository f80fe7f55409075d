package native

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/oraccl/oraccl/model"
)

// decoder reads JSON strictly: every key must be known and occur once, numbers
// must be whole and in range, and nothing may follow the document. It stops at
// the first error, which names file, line, column and path. It goes over the
// bytes once and allocates only what the values need. What may be nested in what
// is fixed by the schema, so that no document can drive it deep.
type decoder struct {
	name string
	b    []byte
	pos  int
	path []step
	key  []byte // of the object member that is read, until it is known

	cut   int                                   // a problem's number of chunks, where it gives no list
	named func(string) (*model.Topology, error) // builds the topology of a name; nil: names are refused
}

// step is a key or, with key "", an index.
type step struct {
	key   string
	index int
}

// syntaxError is how a decoder leaves the depth of the document; decode catches it.
type syntaxError struct{ err error }

// decode reads all of r, calls read on it for a value, and check for what the
// document as a whole must keep to. Errors of both have a position.
func decode[T any](name string, r io.Reader, read func(*decoder) T, check func(*decoder, T) error) (v T, err error) {
	var b bytes.Buffer
	if sized, ok := r.(interface{ Len() int }); ok { // bytes.Reader, strings.Reader
		b.Grow(sized.Len() + bytes.MinRead)
	}
	if _, err := b.ReadFrom(r); err != nil {
		return v, fmt.Errorf("%s: %w", name, err)
	}
	d := &decoder{name: name, b: b.Bytes()}
	defer func() {
		switch e := recover().(type) {
		case nil:
		case syntaxError:
			var none T
			v, err = none, e.err
		default:
			panic(e)
		}
	}()
	v = read(d)
	d.space()
	if d.pos < len(d.b) {
		d.fail("data after the end of the document, want one document a file")
	}
	if err := check(d, v); err != nil {
		d.failAt(locate(d.b, err), "%w", err)
	}
	return v, nil
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
			where = model.Element(where, s.index)
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

// field is a key that an object may have.
type field struct {
	name     string
	required bool
	read     func()
}

// object reads an object with the given fields, in any order.
func (d *decoder) object(what string, fields []field) {
	d.space()
	start := d.pos
	seen, guess := uint64(0), 0
	d.members(what, func(at int) {
		i := guess // a file mostly has its keys in one order
		if i >= len(fields) || fields[i].name != string(d.key) {
			for i = 0; i < len(fields) && fields[i].name != string(d.key); i++ {
			}
		}
		if i == len(fields) {
			d.failAt(at, "unknown key %s, want %s", model.Quote(string(d.key)), names(fields))
		}
		if seen&(1<<i) != 0 {
			d.failAt(at, "key %q occurs twice, want it once", d.key)
		}
		seen |= 1 << i
		guess = i + 1
		d.enter(step{key: fields[i].name})
		fields[i].read()
		d.leave()
	})
	for i, f := range fields {
		if f.required && seen&(1<<i) == 0 {
			d.failAt(start, "key %q is missing, want it in %s", f.name, what)
		}
	}
}

// dictionary reads an object whose keys are free, but occur once each.
func (d *decoder) dictionary(what string, value func(key string)) {
	seen := map[string]bool{}
	d.members(what, func(at int) {
		key := string(d.key)
		if err := model.CheckName(key); err != nil || key == "" {
			d.failAt(at, "key %s, want a name", model.Quote(key))
		}
		if seen[key] {
			d.failAt(at, "key %q occurs twice, want it once", key)
		}
		seen[key] = true
		d.enter(step{key: key})
		value(key)
		d.leave()
	})
}

// members reads an object: for each member it sets d.key, moves to the value, and
// calls value with the position of the key.
func (d *decoder) members(what string, value func(at int)) {
	d.expect('{', what)
	for first := true; d.next() != '}'; first = false {
		if !first {
			d.expect(',', "a comma or }")
			d.space()
		}
		at := d.pos
		d.key = d.quoted("a key")
		d.expect(':', "a colon after the key")
		d.space()
		value(at)
	}
	d.pos++
}

// array reads an array and calls element for each of its elements.
func (d *decoder) array(what string, element func(i int)) {
	d.expect('[', what)
	for i := 0; d.next() != ']'; i++ {
		if i > 0 {
			d.expect(',', "a comma or ]")
			d.space()
		}
		d.enter(step{index: i})
		element(i)
		d.leave()
	}
	d.pos++
}

func (d *decoder) enter(s step) { d.path = append(d.path, s) }
func (d *decoder) leave()       { d.path = d.path[:len(d.path)-1] }

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

// schema reads the value of the key "schema" and insists on want.
func (d *decoder) schema(want string) func() {
	return func() {
		at := d.pos
		if got := d.text("a schema"); got != want {
			d.failAt(at, "%s, want %q", model.Quote(got), want)
		}
	}
}

// SchemaOf returns the schema that a JSON document names, such as
// "oraccl/schedule/1", or "" if it names none at its top level. It does not read
// what follows; the Read functions do.
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
