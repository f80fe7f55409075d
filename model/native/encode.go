package native

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"strconv"
)

// encoder writes JSON with one object of a list a line, so that files can be
// read, compared and edited with tools for text.
type encoder struct {
	w     *bufio.Writer
	depth int
}

func encode(w io.Writer, write func(*encoder)) error {
	e := &encoder{w: bufio.NewWriterSize(w, 1<<16)}
	write(e)
	e.w.WriteByte('\n')
	return e.w.Flush()
}

func (e *encoder) raw(s string) { e.w.WriteString(s) }

func (e *encoder) newline() {
	e.w.WriteByte('\n')
	for range e.depth {
		e.w.WriteString("  ")
	}
}

// member is a key with what writes its value; inline ones stay on their line.
type member struct {
	key   string
	write func()
}

// block writes an object with one member per line.
func (e *encoder) block(members ...member) {
	e.raw("{")
	e.depth++
	for i, m := range members {
		if i > 0 {
			e.raw(",")
		}
		e.newline()
		e.raw(strconv.Quote(m.key) + ": ")
		m.write()
	}
	e.depth--
	e.newline()
	e.raw("}")
}

// lines writes an array with an element a line.
func (e *encoder) lines(n int, element func(i int)) {
	if n == 0 {
		e.raw("[]")
		return
	}
	e.raw("[")
	e.depth++
	for i := range n {
		if i > 0 {
			e.raw(",")
		}
		e.newline()
		element(i)
	}
	e.depth--
	e.newline()
	e.raw("]")
}

// text writes a string. Unlike json.Marshal it leaves <, > and & as they are.
func (e *encoder) text(s string) {
	var b bytes.Buffer
	j := json.NewEncoder(&b)
	j.SetEscapeHTML(false)
	j.Encode(s) // strings always encode
	e.w.Write(bytes.TrimSuffix(b.Bytes(), []byte("\n")))
}

func (e *encoder) number(v int64) {
	e.w.Write(strconv.AppendInt(e.w.AvailableBuffer(), v, 10))
}

func list[T ~int | ~int32 | ~int64](e *encoder, values []T) {
	e.raw("[")
	for i, v := range values {
		if i > 0 {
			e.raw(", ")
		}
		e.number(int64(v))
	}
	e.raw("]")
}

func textMember(e *encoder, key, value string) member {
	return member{key, func() { e.text(value) }}
}

func numberMember(e *encoder, key string, value int64) member {
	return member{key, func() { e.number(value) }}
}
