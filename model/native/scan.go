package native

import (
	"bytes"
	"encoding/json"
	"math"
	"math/bits"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/oraccl/oraccl/model"
)

// This file has the parts of a document that contain no others: numbers, strings,
// true and false.

func (d *decoder) space() {
	for d.pos < len(d.b) {
		switch d.b[d.pos] {
		case ' ', '\t', '\r', '\n':
			d.pos++
		default:
			return
		}
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
	switch d.next() {
	case 0:
		if d.pos == len(d.b) {
			return "the end of the file"
		}
	case '{':
		return "an object"
	case '[':
		return "an array"
	case '"':
		return "a string"
	}
	end := d.pos
	for end < len(d.b) && end < d.pos+model.MaxQuote && strings.IndexByte(" \t\r\n,:]}", d.b[end]) < 0 {
		end++
	}
	token := string(d.b[d.pos:max(end, d.pos+1)])
	if word := strings.Trim(token, "+-.0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"); word == "" {
		return token
	}
	return strconv.Quote(token)
}

func (d *decoder) expect(c byte, what string) {
	if d.next() != c {
		d.fail("%s, want %s", d.found(), what)
	}
	d.pos++
}

// quoted reads a string and returns its bytes, which belong to the document
// unless they had escapes.
func (d *decoder) quoted(what string) []byte {
	if d.next() != '"' {
		d.fail("%s, want a string, %s", d.found(), what)
	}
	start, escaped, ascii := d.pos, false, true
	for d.pos++; ; d.pos++ {
		if d.pos >= len(d.b) {
			d.failAt(start, "string without an end, want a closing quote")
		}
		c := d.b[d.pos]
		if c == '"' {
			break
		}
		switch {
		case c == '\\':
			escaped = true
			d.pos++
		case c < 0x20:
			d.fail("control character in a string, want it escaped")
		case c >= utf8.RuneSelf:
			ascii = false
		}
	}
	d.pos++
	raw := d.b[start:d.pos]
	if !ascii && !utf8.Valid(raw) {
		d.failAt(start, "string is not UTF-8")
	}
	if !escaped {
		return raw[1 : len(raw)-1]
	}
	var s string
	if err := json.Unmarshal(raw, &s); err != nil {
		d.failAt(start, "string with an escape that JSON does not have")
	}
	return []byte(s)
}

// text reads a string.
func (d *decoder) text(what string) string { return string(d.quoted(what)) }

// label reads a string that can be printed on a line.
func (d *decoder) label(what string) string {
	at := d.pos
	s := d.text(what)
	if err := model.CheckName(s); err != nil {
		d.failAt(at, "%w", err)
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
	u, ok := d.digits(start, least, uint64(most))
	limit := uint64(math.MaxInt64)
	if negative {
		limit++
	}
	v := int64(u)
	if negative {
		v = -v
	}
	if !ok || u > limit || v < least || v > most {
		d.failAt(start, "%s is out of range, want %d to %d", shorten(d.b[start:d.pos]), least, most)
	}
	return v
}

// unsigned reads a whole number from 0 to 2⁶⁴-1.
func (d *decoder) unsigned() uint64 {
	d.space()
	start := d.pos
	u, ok := d.digits(start, 0, math.MaxUint64)
	if !ok {
		d.failAt(start, "%s is out of range, want 0 to %d", shorten(d.b[start:d.pos]), uint64(math.MaxUint64))
	}
	return u
}

// digits reads decimal digits; ok is false if they exceed 64 bits.
func (d *decoder) digits(start int, least int64, most uint64) (u uint64, ok bool) {
	from := d.pos
	ok = true
	for ; d.pos < len(d.b) && '0' <= d.b[d.pos] && d.b[d.pos] <= '9'; d.pos++ {
		hi, lo := bits.Mul64(u, 10)
		sum, carry := bits.Add64(lo, uint64(d.b[d.pos]-'0'), 0)
		ok = ok && hi == 0 && carry == 0
		u = sum
	}
	whole := d.pos == len(d.b) || strings.IndexByte(" \t\r\n,]}", d.b[d.pos]) >= 0
	if d.pos == from || !whole || d.b[from] == '0' && d.pos > from+1 {
		d.pos = start
		d.fail("%s, want a whole number from %d to %d", d.found(), least, most)
	}
	return u, ok
}

// shorten returns a number as it is written, or its beginning.
func shorten(number []byte) string {
	if len(number) > model.MaxQuote {
		return string(number[:model.MaxQuote]) + "..."
	}
	return string(number)
}

// ints reads an array of whole numbers.
func (d *decoder) ints(what string, least, most int64) []int {
	list := []int{}
	d.array(what, func(int) { list = append(list, int(d.whole(least, most))) })
	return list
}

// times reads an array of times.
func (d *decoder) times(least, most model.Time) []model.Time {
	list := []model.Time{}
	d.array("an array of times", func(int) { list = append(list, model.Time(d.whole(int64(least), int64(most)))) })
	return list
}

// word reads one of the words that have a value.
func word[T any](d *decoder, what string, parse func(string) (T, error)) T {
	d.space()
	at := d.pos
	s := d.quoted(what)
	if len(s) > model.MaxQuote {
		d.failAt(at, "a string of %d bytes, want %s", len(s), what)
	}
	v, err := parse(string(s))
	if err != nil {
		d.failAt(at, "%w", err)
	}
	return v
}
