package trace

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"
	"strconv"

	"github.com/oraccl/oraccl/model"
)

// elements hands the values of a JSON array to each, one at a time; the opening bracket has been read.
// A comma at the end, and no bracket, are what writers leave that were killed: the error is io.EOF then.
// io.ErrUnexpectedEOF means that the last value is cut off.
func elements(ctx context.Context, r *bufio.Reader, each func(raw []byte) error) error {
	var buffer []byte
	for n := 0; ; n++ {
		if n%1024 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		c, err := skipBlank(r)
		for err == nil && c == ',' {
			c, err = skipBlank(r)
		}
		switch {
		case err != nil:
			return err
		case c == ']':
			return nil
		}
		if buffer, err = value(r, c, buffer[:0]); err != nil {
			return fmt.Errorf("element %d: %w", n, err)
		}
		if err := each(buffer); err != nil {
			return fmt.Errorf("element %d: %w", n, err)
		}
	}
}

func skipBlank(r *bufio.Reader) (byte, error) {
	for {
		c, err := r.ReadByte()
		if err != nil || c != ' ' && c != '\t' && c != '\n' && c != '\r' {
			return c, err
		}
	}
}

// value appends a JSON value that begins with c to b.
func value(r *bufio.Reader, c byte, b []byte) ([]byte, error) {
	b = append(b, c)
	var x extent
	_, ended := x.of(b[len(b)-1:])
	for !ended {
		if _, err := r.Peek(1); errors.Is(err, io.EOF) && x.word {
			return b, nil
		} else if err != nil {
			return b, unexpected(err)
		}
		chunk, _ := r.Peek(r.Buffered())
		var n int
		n, ended = x.of(chunk)
		b = append(b, chunk[:n]...)
		_, _ = r.Discard(n)
		if len(b) > maxElement {
			return b, fmt.Errorf("more than %d bytes", maxElement)
		}
	}
	return b, nil
}

// extent finds where a JSON value ends, whose bytes come in pieces.
type extent struct {
	depth                 int
	quoted, escaped, word bool // word: it is a number, true, false or null
}

// of returns how many bytes of a piece are of the value, and whether it ends there.
func (x *extent) of(piece []byte) (int, bool) {
	for i, c := range piece {
		switch {
		case x.escaped:
			x.escaped = false
		case x.quoted:
			switch c {
			case '\\':
				x.escaped = true
			case '"':
				if x.quoted = false; x.depth == 0 {
					return i + 1, true
				}
			}
		case x.word:
			switch c {
			case ',', ']', '}', ' ', '\t', '\r', '\n', ':':
				return i, true
			}
		case c == '"':
			x.quoted = true
		case c == '{' || c == '[':
			x.depth++
		case c == '}' || c == ']':
			if x.depth--; x.depth <= 0 {
				return i + 1, true
			}
		case x.depth == 0:
			x.word = true
		}
	}
	return len(piece), false
}

// fields hands the members of a JSON object to each, and reports whether it is one. What the values are
// is not looked at.
func fields(raw []byte, each func(key, value []byte)) bool {
	at := 0
	next := func() byte { // the next byte that is not blank, 0 at the end
		for ; at < len(raw); at++ {
			if c := raw[at]; c != ' ' && c != '\t' && c != '\n' && c != '\r' {
				at++
				return c
			}
		}
		return 0
	}
	whole := func() []byte { // the value that begins with the last byte
		var x extent
		n, ended := x.of(raw[at-1:])
		from := at - 1
		at += n - 1
		if !ended {
			return nil
		}
		return raw[from:at]
	}
	if next() != '{' {
		return false
	}
	c := next()
	for c != '}' {
		if c != '"' {
			return false
		}
		key := whole()
		if key == nil || next() != ':' || next() == 0 {
			return false
		}
		v := whole()
		if v == nil {
			return false
		}
		each(key[1:len(key)-1], v)
		if c = next(); c == ',' {
			c = next()
		} else if c != '}' {
			return false
		}
	}
	return next() == 0
}

func unexpected(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// members hands the members of a JSON object to each: where that returns true, it has read the
// array that the value is, whose bracket has been read; else the value is passed to rest.
func members(r *bufio.Reader, array func(key string) (bool, error), rest func(key string, raw []byte)) error {
	if c, err := skipBlank(r); err != nil || c != '{' {
		return errors.New("want an object")
	}
	for {
		c, err := skipBlank(r)
		for err == nil && c == ',' {
			c, err = skipBlank(r)
		}
		switch {
		case err != nil:
			return unexpected(err)
		case c == '}':
			return nil
		case c != '"':
			return fmt.Errorf("%q where a key of an object should be", c)
		}
		name, err := value(r, c, nil)
		if err != nil {
			return err
		}
		var key string
		if err := json.Unmarshal(name, &key); err != nil {
			return fmt.Errorf("key %.40q: %w", name, err)
		}
		if c, err = skipBlank(r); err != nil || c != ':' {
			return fmt.Errorf("key %.40q: no value", key)
		}
		if c, err = skipBlank(r); err != nil {
			return unexpected(err)
		}
		if c == '[' {
			if done, err := array(key); done || err != nil {
				if err != nil {
					return fmt.Errorf("%s: %w", key, unexpected(err))
				}
				continue
			}
		}
		raw, err := value(r, c, nil)
		if err != nil {
			return fmt.Errorf("%.40q: %w", key, err)
		}
		rest(key, raw)
	}
}

// event is a Chrome trace event. What it has is valid until the next one is read.
type event struct {
	name, ph, cat []byte // texts
	ts, dur, pid  []byte // numbers
	args          json.RawMessage
}

// read reads an event, and reports whether it is one.
func (e *event) read(raw []byte) bool {
	*e = event{}
	right := true
	text := func(v []byte) []byte {
		if string(v) == "null" {
			return nil
		}
		if len(v) < 2 || v[0] != '"' {
			right = false
			return nil
		}
		if bytes.IndexByte(v, '\\') < 0 {
			return v[1 : len(v)-1]
		}
		var s string
		right = right && json.Unmarshal(v, &s) == nil
		return []byte(s)
	}
	number := func(v []byte) []byte { // some write numbers as texts
		if len(v) >= 2 && v[0] == '"' {
			return v[1 : len(v)-1]
		}
		return v
	}
	return fields(raw, func(key, v []byte) {
		switch string(key) {
		case "name":
			e.name = text(v)
		case "ph":
			e.ph = text(v)
		case "cat":
			e.cat = text(v)
		case "ts":
			e.ts = number(v)
		case "dur":
			e.dur = number(v)
		case "pid":
			e.pid = number(v)
		case "args":
			e.args = v
		}
	}) && right
}

// clock turns times in microseconds, which may be since 1970, into times since the first one.
type clock struct {
	set  bool
	from int64
}

func (c *clock) at(text []byte) (model.Time, bool) {
	if i := bytes.IndexAny(text, "eE"); i >= 0 {
		x, ok := new(big.Rat), false
		if len(text) <= 40 && len(text)-i <= len("e+15") {
			x, ok = x.SetString(string(text))
		}
		if !ok {
			return 0, false
		}
		text = []byte(x.FloatString(6))
	}
	whole, fraction, _ := bytes.Cut(text, []byte("."))
	n, err := strconv.ParseInt(string(whole), 10, 64)
	if err != nil || len(whole) > 18 {
		return 0, false
	}
	if !c.set {
		c.set, c.from = true, n
	}
	if d := n - c.from; d > int64(model.MaxEnd/model.Microsecond) || d < -int64(model.MaxEnd/model.Microsecond) {
		return 0, false
	}
	at, unit := model.Time(n-c.from)*model.Microsecond, model.Microsecond
	if text[0] == '-' {
		unit = -unit
	}
	for _, d := range fraction {
		if d < '0' || d > '9' {
			return 0, false
		}
		unit /= 10
		at += model.Time(d-'0') * unit
	}
	return at, true
}

// readEvents reads an array of trace events: a timeline of Horovod, or, if it has kernels, a profile.
func readEvents(ctx context.Context, t *Trace, r *bufio.Reader) error {
	if _, err := skipBlank(r); err != nil {
		return err
	}
	h, k := newHorovod(t), newKineto(t)
	err := elements(ctx, r, func(raw []byte) error {
		h.event(raw)
		if k.kernels > 0 || len(h.tensors) == 0 {
			k.event(raw)
		}
		return nil
	})
	open := errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
	if err = t.cutOff(err); err != nil && ctx.Err() == nil {
		return err
	}
	if k.kernels > 0 && len(h.tensors) == 0 {
		k.finish()
	} else if len(h.tensors) == 0 && err == nil {
		return errors.New("an array of events with neither a tensor of Horovod nor a kernel in it")
	} else if ferr := h.finish(ctx, open); err == nil {
		err = ferr
	}
	return err
}

// readObject reads a JSON document: a profile, an execution trace, or Chakra's nodes.
func readObject(ctx context.Context, t *Trace, r *bufio.Reader) error {
	k, n, c := newKineto(t), newExecution(t), newChakraGraph()
	profile, nodes, graph := false, false, false
	err := members(r, func(key string) (bool, error) {
		switch key {
		case "traceEvents":
			profile = true
			return true, elements(ctx, r, func(raw []byte) error { k.event(raw); return nil })
		case "nodes":
			nodes = true
			return true, elements(ctx, r, n.node)
		case "workload_graph":
			graph = true
			return true, elements(ctx, r, c.node)
		}
		return false, nil
	}, func(key string, raw []byte) {
		k.top(key, raw)
		n.top(key, raw)
	})
	if err = t.cutOff(err); err != nil && ctx.Err() == nil {
		return err
	}
	switch {
	case profile:
		k.finish()
	case nodes:
		n.finish()
	case graph:
		c.finishJSON(t)
	case err == nil:
		return errors.New("a JSON document with neither traceEvents nor nodes nor workload_graph in it")
	}
	return err
}
