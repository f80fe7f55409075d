package trace

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/oraccl/oraccl/model"
)

// elements hands the values of a JSON array to each, one at a time; the opening bracket has been read.
// A comma at the end, and no bracket, are what writers leave that were killed. io.ErrUnexpectedEOF
// means that the last value is cut off.
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
		case errors.Is(err, io.EOF):
			return nil
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
	depth, quoted := 0, false
	for {
		if len(b) >= maxElement {
			return b, fmt.Errorf("more than %d bytes", maxElement)
		}
		b = append(b, c)
		switch {
		case quoted && c == '\\':
			next, err := r.ReadByte()
			if err != nil {
				return b, unexpected(err)
			}
			b = append(b, next)
		case c == '"':
			quoted = !quoted
			if depth == 0 && !quoted {
				return b, nil
			}
		case quoted:
		case c == '{' || c == '[':
			depth++
		case c == '}' || c == ']':
			if depth--; depth <= 0 {
				return b, nil
			}
		}
		if depth == 0 && !quoted { // a number or a word
			next, err := r.Peek(1)
			if errors.Is(err, io.EOF) || err == nil && bytes.IndexByte([]byte(",]} \t\r\n:"), next[0]) >= 0 {
				return b, nil
			}
		}
		var err error
		if c, err = r.ReadByte(); err != nil {
			return b, unexpected(err)
		}
	}
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
					return fmt.Errorf("%s: %w", key, err)
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

// event is a Chrome trace event.
type event struct {
	Name string          `json:"name"`
	Ph   string          `json:"ph"`
	Cat  string          `json:"cat"`
	TS   json.Number     `json:"ts"`
	Dur  json.Number     `json:"dur"`
	PID  json.RawMessage `json:"pid"`
	Args json.RawMessage `json:"args"`
}

// clock turns times in microseconds, which may be since 1970, into times since the first one.
type clock struct {
	set  bool
	from int64
}

func (c *clock) at(text string) (model.Time, bool) {
	whole, fraction, _ := strings.Cut(text, ".")
	var n int64
	if _, err := fmt.Sscanf(whole, "%d", &n); err != nil || len(whole) > 18 {
		return 0, false
	}
	if !c.set {
		c.set, c.from = true, n
	}
	if d := n - c.from; d > int64(model.MaxEnd/model.Microsecond) || d < -int64(model.MaxEnd/model.Microsecond) {
		return 0, false
	}
	rest, ok := decimal("0."+fraction+"0", model.Microsecond)
	return model.Time(n-c.from)*model.Microsecond + rest, ok
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
	if err = t.cutOff(err); err != nil && ctx.Err() == nil {
		return err
	}
	if k.kernels > 0 && len(h.tensors) == 0 {
		k.finish()
	} else if len(h.tensors) == 0 && err == nil {
		return errors.New("an array of events with neither a tensor of Horovod nor a kernel in it")
	} else {
		h.finish()
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
