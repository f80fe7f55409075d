package native

import (
	"errors"
	"strconv"
	"strings"

	"github.com/oraccl/oraccl/model"
)

// locate returns the position in a document of the place that err is about, or of
// the nearest part around it that the document has. The document must be one that
// decode has accepted; a key may carry a unit that the place lacks ("size" is at
// "size_bytes"). It takes O(document) time.
func locate(b []byte, err error) int {
	var p *model.Error
	if !errors.As(err, &p) {
		return 0
	}
	d := &decoder{b: b}
	d.space()
	at := d.pos
	for _, name := range strings.Split(p.Place, ".") {
		name, indices, _ := strings.Cut(name, "[")
		if !d.seekKey(name) {
			return at
		}
		at = d.pos
		if indices == "" {
			continue
		}
		for _, index := range strings.Split(strings.TrimSuffix(indices, "]"), "][") {
			i, _ := strconv.Atoi(index) // written by Element, so a number
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
