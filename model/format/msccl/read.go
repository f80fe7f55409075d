package msccl

import (
	"io"
	"slices"
	"strconv"
	"strings"
)

// maxElements is how many steps, threadblocks and gpus a file may have.
const maxElements = 1 << 24

// Read reads a file; name is for errors. An error is a *SyntaxError: the file is no
// XML, no MSCCL-IR, or has a word where a number must be. What is merely not there,
// out of range or too much is for Load. It takes time and memory in proportion to
// the file, which it reads as a stream and gives up at the first error.
func Read(name string, r io.Reader) (*Algo, error) {
	d := &decoder{scanner: newScanner(name, r), a: &Algo{File: name}}
	if err := d.algo(); err != nil {
		return nil, err
	}
	d.a.lexical = d.lexical
	return d.a, nil
}

type decoder struct {
	*scanner
	a *Algo
}

// missed notes an attribute that is not there, or where the runtimes do not see it.
func (d *decoder) missed(key string) {
	if len(d.a.missing) < maxFaults {
		late := slices.ContainsFunc(d.attrs, func(x attribute) bool { return x.key == key })
		d.a.missing = append(d.a.missing, missing{d.tagLine, d.name, key, late})
	}
}

// get returns the value of an attribute that the runtimes see.
func (d *decoder) get(key string) (string, bool) {
	for i := range d.attrs {
		if d.attrs[i].key == key && d.attrs[i].slot < roomAttrs {
			return d.attrs[i].value, true
		}
	}
	return "", false
}

// need returns a needed attribute.
func (d *decoder) need(key string) string {
	v, ok := d.get(key)
	if !ok {
		d.missed(key)
	}
	return v
}

// whole parses a number as the runtimes do (strtol with base 0), but insists that
// all of the text is one.
func (d *decoder) whole(key, text string, bits int) (int64, error) {
	if len(text) <= 4 { // nearly all are
		if n, err := strconv.Atoi(text); err == nil && (text[0] != '0' || len(text) == 1) {
			return int64(n), nil
		}
	}
	trimmed := strings.TrimLeft(text, " \t\n\r\v\f")
	digits := strings.ToLower(strings.TrimLeft(trimmed, "+-"))
	if strings.ContainsAny(digits, "_ob") && !strings.HasPrefix(digits, "0x") || strings.Contains(digits, "_") {
		digits = "" // Go has more kinds of literals than C
	}
	n, err := strconv.ParseInt(trimmed, 0, bits)
	if err != nil || digits == "" {
		return 0, d.fail(d.tagLine, "%s=%q in <%s>, want a whole number of %d bits", key, text, d.name, bits)
	}
	return n, nil
}

// number puts a needed whole number into v.
func number[T int | int32](d *decoder, key string, v *T) error {
	text, ok := d.get(key)
	if !ok {
		d.missed(key)
		return nil
	}
	n, err := d.whole(key, text, 32)
	*v = T(n)
	return err
}

// optional is number for an attribute that may be absent.
func (d *decoder) optional(key string, v *int64, there *bool) error {
	text, ok := d.get(key)
	if !ok {
		return nil
	}
	n, err := d.whole(key, text, 64)
	*v, *there = n, true
	return err
}

// first returns the first error.
func first(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func (d *decoder) algo() error {
	if _, err := d.next(); err != nil {
		return err
	}
	if d.name != "algo" {
		return d.fail(d.tagLine, "root element <%s>, want <algo>", d.name)
	}
	a := d.a
	a.Line = d.tagLine
	a.Name, a.Proto, a.Coll = d.need("name"), d.need("proto"), d.need("coll")
	var in int
	var out, threads int64
	var hasThreads bool
	if err := first(number(d, "nchannels", &a.Channels), number(d, "nchunksperloop", &a.ChunksPerLoop), number(d, "ngpus", &a.Ranks),
		number(d, "inplace", &in), d.optional("outofplace", &out, &a.HasOutPlace), d.optional("nthreads", &threads, &hasThreads),
		d.optional("minBytes", &a.MinBytes, &a.HasMin), d.optional("maxBytes", &a.MaxBytes, &a.HasMax)); err != nil {
		return err
	}
	a.InPlace, a.OutPlace, a.Threads = in != 0, out != 0, int(threads)
	for _, key := range []string{"rtype", "stype"} {
		_, has := d.get(key)
		a.typed = a.typed || has
	}
	if err := d.children(map[string]func() error{"gpu": d.gpu}); err != nil {
		return err
	}
	_, err := d.next() // nothing follows
	return err
}

// children reads the elements in the one that was opened last: those named by read,
// others not at all.
func (d *decoder) children(read map[string]func() error) error {
	depth := len(d.stack)
	for {
		kind, err := d.next()
		if err != nil {
			return err
		}
		if kind == closed {
			return nil
		}
		f := read[d.name]
		if f == nil {
			d.a.Copies++
			if d.a.IgnoredLine == 0 {
				d.a.IgnoredLine = d.tagLine
			}
			f = d.skip
		} else if d.a.Elements++; d.a.Elements > maxElements {
			return d.fail(d.tagLine, "more than %d elements", maxElements)
		}
		if err := f(); err != nil {
			return err
		}
		if len(d.stack) != depth {
			return d.fail(d.line, "elements are not nested")
		}
	}
}

// skip reads to the end of the element that was opened last.
func (d *decoder) skip() error {
	for depth := len(d.stack); ; {
		kind, err := d.next()
		if err != nil {
			return err
		}
		if kind == closed && len(d.stack) < depth {
			return nil
		}
	}
}

func (d *decoder) gpu() error {
	g := GPU{Line: d.tagLine}
	if err := first(number(d, "id", &g.ID), number(d, "i_chunks", &g.Input), number(d, "o_chunks", &g.Output), number(d, "s_chunks", &g.Scratch)); err != nil {
		return err
	}
	if err := d.children(map[string]func() error{"tb": func() error { return d.tb(&g) }}); err != nil {
		return err
	}
	d.a.GPUs = append(d.a.GPUs, g)
	return nil
}

func (d *decoder) tb(g *GPU) error {
	t := TB{Line: d.tagLine}
	if err := first(number(d, "id", &t.ID), number(d, "send", &t.Send), number(d, "recv", &t.Recv), number(d, "chan", &t.Channel)); err != nil {
		return err
	}
	if err := d.children(map[string]func() error{"step": func() error { return d.step(&t) }}); err != nil {
		return err
	}
	g.TBs = append(g.TBs, t)
	return nil
}

func (d *decoder) step(t *TB) error {
	s := Step{Line: int32(d.tagLine)}
	kind := slices.Index(typeNames, d.need("type"))
	if kind < 0 {
		v, there := d.get("type")
		if there {
			return d.fail(d.tagLine, "instruction type %q; want s, r, rcs, rrc, rrs, rrcs, re, cpy or nop", v)
		}
		kind = 0
	}
	s.Type = Type(kind)
	if err := first(d.buffer("srcbuf", &s.Src), d.buffer("dstbuf", &s.Dst),
		number(d, "s", &s.S), number(d, "srcoff", &s.SrcOff), number(d, "dstoff", &s.DstOff), number(d, "cnt", &s.Count),
		number(d, "depid", &s.DepID), number(d, "deps", &s.Deps), number(d, "hasdep", &s.HasDep)); err != nil {
		return err
	}
	t.Steps = append(t.Steps, s)
	ignored, first := d.a.Copies, d.a.IgnoredLine
	if err := d.children(nil); err != nil {
		return err
	}
	if d.a.Copies > ignored {
		d.odd(int(s.Line), "an element inside a step: the runtimes' parser crashes on it")
		d.a.Copies, d.a.IgnoredLine = ignored, first
	}
	return nil
}

func (d *decoder) buffer(key string, b *Buf) error {
	v, ok := d.get(key)
	if !ok {
		d.missed(key)
		return nil
	}
	i := slices.Index(bufNames, v)
	if i < 0 {
		return d.fail(d.tagLine, "%s=%q, want i, o or s", key, v)
	}
	*b = Buf(i)
	return nil
}
