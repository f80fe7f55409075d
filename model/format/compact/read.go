package compact

import (
	"bufio"
	"bytes"
	"compress/flate"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/native"
)

// ErrPartial is wrapped by what Read returns at the end of a file that is not marked as
// complete.
var ErrPartial = errors.New("the file is partial: its writer did not come to its end")

// errDamaged is wrapped by the other errors about what is in a file.
var errDamaged = errors.New("the file is damaged")

// Reader reads one file.
type Reader struct {
	name    string
	r       *bufio.Reader
	sum     uint32
	offset  int64
	sol     *model.Solution
	ends    []entry
	width   int
	payload []byte
	rest    []byte // of the payload of a block T
	before  byte   // kind of the block before
	group   model.Transfer
	flags   byte
	left    uint64 // transfers of the group
	run     uint64 // of its run
	step    entry
	at      entry
	count   uint64
	last    model.Time
	err     error // of Read from now on

	orbit    *model.Orbit // nil: the file has none
	expander *model.Expander
	expanded bool // all of it
}

// NewReader reads the head of a file; name is for errors. The problem is valid and has
// chunks.
func NewReader(name string, r io.Reader) (*Reader, error) {
	c := &Reader{name: name, r: bufio.NewReaderSize(r, 1<<16)}
	magic := make([]byte, len(Magic))
	if _, err := io.ReadFull(c.r, magic); err != nil || string(magic) != Magic {
		return nil, fmt.Errorf("%s: no compact schedule, want one that begins with %q", name, Magic)
	}
	c.sum = crc32.Update(0, castagnoli, magic)
	c.offset = int64(len(magic))
	kind, payload, err := c.block()
	if err != nil {
		return nil, err
	}
	if kind != 'H' {
		return nil, c.damaged("begins with a block %q, want %q", kind, 'H')
	}
	head, err := c.inflate(payload)
	if err != nil {
		return nil, err
	}
	if c.sol, err = native.ReadSolution(name, bytes.NewReader(head)); err != nil {
		return nil, fmt.Errorf("its head: %w", err)
	}
	c.sol.Schedule.Transfers = nil
	switch form := c.sol.Schedule.Form; {
	case form == model.Ordered:
		return nil, c.damaged("its form is %v, want timed or rounds", form)
	case len(c.sol.Schedule.Routes) > 0:
		return nil, c.damaged("its head has transfers, want none")
	}
	c.width = width(len(c.sol.Problem.Chunks))
	c.before = 'H'
	if next, err := c.r.Peek(1); err == nil && next[0] == 'O' {
		_, payload, err := c.block()
		if err != nil {
			return nil, err
		}
		if err := c.readOrbit(payload); err != nil {
			return nil, err
		}
		c.before = 'O'
	}
	return c, nil
}

// inflated returns how many bytes a head of this many deflated ones may have. The JSON of
// topologies deflates to a thirtieth or more.
func inflated(deflated int) int64 { return min(maxHeader, 1<<22+128*int64(deflated)) }

// inflate returns the head. Memory is taken once it is known how much is needed.
func (c *Reader) inflate(payload []byte) ([]byte, error) {
	limit := inflated(len(payload))
	size, err := io.Copy(io.Discard, io.LimitReader(flate.NewReader(bytes.NewReader(payload)), limit+1))
	switch {
	case err != nil:
		return nil, c.damaged("its head does not inflate: %v", err)
	case size > limit:
		return nil, c.damaged("its head of %d bytes inflates to more than %d, want at most that", len(payload), limit)
	}
	head := make([]byte, size)
	_, err = io.ReadFull(flate.NewReader(bytes.NewReader(payload)), head)
	return head, err
}

// Solution returns the problem, the origin, the form and the routes that have been read
// so far, without transfers. The verdicts in the origin are there at the end; they are a
// remark, as in every file.
func (c *Reader) Solution() *model.Solution { return c.sol }

// damaged returns an error that names the place.
func (c *Reader) damaged(format string, args ...any) error {
	return fmt.Errorf("%s: byte %d: %s: %w", c.name, c.offset, fmt.Sprintf(format, args...), errDamaged)
}

// block reads a block and checks its sum.
func (c *Reader) block() (kind byte, payload []byte, err error) {
	kind, err = c.r.ReadByte()
	if err != nil {
		return 0, nil, c.ended(err)
	}
	length, err := binary.ReadUvarint(c.r)
	if err != nil {
		return 0, nil, c.ended(err)
	}
	if length > maxPayload {
		return 0, nil, c.damaged("a block of %d bytes, want at most %d", length, maxPayload)
	}
	head := binary.AppendUvarint([]byte{kind}, length)
	sum := crc32.Update(c.sum, castagnoli, head)
	var body bytes.Buffer
	if uint64(cap(c.payload)) >= length {
		body = *bytes.NewBuffer(c.payload[:0])
	}
	if n, err := io.CopyN(&body, c.r, int64(length)); err != nil || n < int64(length) {
		return 0, nil, c.ended(err)
	}
	c.payload = body.Bytes()
	sum = crc32.Update(sum, castagnoli, c.payload)
	var stored [4]byte
	if _, err := io.ReadFull(c.r, stored[:]); err != nil {
		return 0, nil, c.ended(err)
	}
	if binary.LittleEndian.Uint32(stored[:]) != sum {
		return 0, nil, c.damaged("the block %q does not match its check", kind)
	}
	c.sum = crc32.Update(sum, castagnoli, stored[:])
	c.offset += int64(len(head)) + int64(length) + 4
	return kind, c.payload, nil
}

// ended returns the error for a file that ends before its block E.
func (c *Reader) ended(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("%s: ends at byte %d after %d transfers: %w", c.name, c.offset, c.count, ErrPartial)
	}
	return fmt.Errorf("%s: byte %d: %w", c.name, c.offset, err)
}

// Read fills batch with the next transfers, in order of their starts, and returns how
// many there were. At the end of a complete file it returns 0 and io.EOF, at that of
// another one an error that wraps ErrPartial. It takes O(len(batch)).
func (c *Reader) Read(batch []model.Transfer) (int, error) {
	n := 0
	if c.orbit != nil && !c.expanded && c.err == nil {
		n, c.err = c.expand(batch)
	}
	for n < len(batch) && c.err == nil {
		if c.left == 0 {
			if len(c.rest) == 0 {
				c.err = c.nextBlock()
				continue
			}
			if c.err = c.nextGroup(); c.err != nil {
				continue
			}
		}
		var more int
		if c.flags&flagRuns != 0 {
			more, c.err = c.fillRuns(batch[n:])
		} else {
			more, c.err = c.fillPlain(batch[n:])
		}
		n += more
		c.count += uint64(more)
	}
	if n > 0 {
		return n, nil
	}
	return 0, c.err
}

// nextBlock reads routes, the next transfers, or the end.
func (c *Reader) nextBlock() error {
	kind, payload, err := c.block()
	if err != nil {
		return err
	}
	before := c.before
	c.before = kind
	switch {
	case kind == 'R' && before != 'T' && before != 'O':
		return c.routes(payload)
	case kind == 'T' && before != 'O':
		if len(payload) == 0 {
			return c.damaged("a block 'T' without transfers")
		}
		c.rest = payload
		return nil
	case kind == 'E':
		return c.end(payload)
	}
	return c.damaged("a block %q after %q", kind, before)
}

// number takes a uvarint of at most limit off b.
func (c *Reader) number(b *[]byte, limit uint64) (uint64, error) {
	v, n := binary.Uvarint(*b)
	if n <= 0 || v > limit {
		return 0, c.damaged("a number is missing, or larger than %d", limit)
	}
	*b = (*b)[n:]
	return v, nil
}

// difference takes a varint off b that leads from a number to one of 0 to limit-1.
func (c *Reader) difference(b *[]byte, from, limit int64) (int64, error) {
	d, n := binary.Varint(*b)
	if n <= 0 || d < -limit || d > limit || from+d < 0 || from+d >= limit {
		return 0, c.damaged("a difference is missing, or does not lead to one of %d", limit)
	}
	*b = (*b)[n:]
	return from + d, nil
}

func (c *Reader) routes(b []byte) error {
	s, links := c.sol.Schedule, c.sol.Problem.Topology.Links
	at := int64(0)
	for len(b) > 0 {
		length, err := c.number(&b, uint64(len(b)))
		if err != nil {
			return err
		}
		if length == 0 {
			return c.damaged("a route without links")
		}
		route := make([]int, length)
		for i := range route {
			if at, err = c.difference(&b, at, int64(len(links))); err != nil {
				return err
			}
			route[i] = int(at)
		}
		s.Routes = append(s.Routes, route)
		c.ends = append(c.ends, entry{int32(links[route[0]].Src), int32(links[route[len(route)-1]].Dst)})
	}
	return nil
}

// nextGroup reads the head of a group.
func (c *Reader) nextGroup() error {
	start, err := c.number(&c.rest, uint64(maxEnd-c.group.Start))
	if err != nil {
		return err
	}
	c.group.Start += model.Time(start)
	lasts, err := c.number(&c.rest, uint64(maxEnd-c.group.Start))
	if err != nil {
		return err
	}
	if lasts == 0 || c.sol.Schedule.Form == model.InRounds && lasts != 1 {
		return c.damaged("a transfer lasts %d, want more than 0, in rounds 1", lasts)
	}
	c.group.End = c.group.Start + model.Time(lasts)
	if len(c.rest) == 0 || c.rest[0] > flagReduce|flagRuns {
		return c.damaged("a group with unknown flags, or none")
	}
	c.flags = c.rest[0]
	c.rest = c.rest[1:]
	c.group.Op = model.Op(c.flags & flagReduce)
	if c.left, err = c.number(&c.rest, maxGroup); err != nil {
		return err
	}
	if c.left == 0 {
		return c.damaged("a group without transfers")
	}
	c.run, c.at = 0, entry{-1, 0}
	if c.flags&flagRuns != 0 {
		c.at.route = 0
	}
	c.last = max(c.last, c.group.End)
	return nil
}

// fillPlain decodes transfers of a group without runs.
func (c *Reader) fillPlain(batch []model.Transfer) (int, error) {
	n := int(min(uint64(len(batch)), c.left))
	chunks := int32(len(c.sol.Problem.Chunks))
	for i := range n {
		route, err := c.difference(&c.rest, int64(c.at.route)+1, int64(len(c.ends)))
		if err != nil {
			return i, err
		}
		if len(c.rest) < c.width {
			return i, c.damaged("a chunk is missing")
		}
		chunk := int32(0)
		for j := range c.width {
			chunk |= int32(c.rest[j]) << (8 * j)
		}
		if chunk >= chunks {
			return i, c.damaged("chunk %d does not exist, want 0 to %d", chunk, chunks-1)
		}
		c.rest = c.rest[c.width:]
		c.at.route = int32(route)
		c.put(&batch[i], c.at.route, chunk)
	}
	c.left -= uint64(n)
	return n, nil
}

// fillRuns decodes transfers of a group with runs.
func (c *Reader) fillRuns(batch []model.Transfer) (int, error) {
	chunks := int64(len(c.sol.Problem.Chunks))
	n := 0
	for n < len(batch) && c.left > 0 {
		if c.run == 0 {
			var err error
			if c.run, err = c.number(&c.rest, c.left); err != nil {
				return n, err
			}
			if c.run == 0 {
				return n, c.damaged("a run without transfers")
			}
			route, err := c.difference(&c.rest, int64(c.at.route), int64(len(c.ends)))
			if err != nil {
				return n, err
			}
			chunk, err := c.difference(&c.rest, int64(c.at.chunk), chunks)
			if err != nil {
				return n, err
			}
			c.step = entry{int32(route) - c.at.route, int32(chunk) - c.at.chunk}
			lastRoute := int64(c.at.route) + int64(c.step.route)*int64(c.run)
			lastChunk := int64(c.at.chunk) + int64(c.step.chunk)*int64(c.run)
			if lastRoute < 0 || lastRoute >= int64(len(c.ends)) || lastChunk < 0 || lastChunk >= chunks {
				return n, c.damaged("a run leads to route %d and chunk %d, want below %d and %d", lastRoute, lastChunk, len(c.ends), chunks)
			}
		}
		m := int(min(uint64(len(batch)-n), c.run))
		for i := range m {
			c.at.route += c.step.route
			c.at.chunk += c.step.chunk
			c.put(&batch[n+i], c.at.route, c.at.chunk)
		}
		n += m
		c.run -= uint64(m)
		c.left -= uint64(m)
	}
	return n, nil
}

func (c *Reader) put(t *model.Transfer, route, chunk int32) {
	*t = c.group
	t.Route, t.Chunk = route, chunk
	t.Src, t.Dst = c.ends[route].route, c.ends[route].chunk
}

// end reads the block E, after which there must be nothing.
func (c *Reader) end(b []byte) error {
	count, err := c.number(&b, 1<<62)
	if err != nil {
		return err
	}
	last, err := c.number(&b, uint64(maxEnd))
	if err != nil {
		return err
	}
	engines, err := c.number(&b, 64)
	if err != nil {
		return err
	}
	if count != c.count || model.Time(last) != c.last {
		return c.damaged("%d transfers up to %d, and at the end it says %d up to %d", c.count, int64(c.last), count, last)
	}
	verdict := map[string]string{}
	for range engines {
		var text [2]string
		for i := range text {
			length, err := c.number(&b, uint64(len(b)))
			if err != nil {
				return err
			}
			if length > uint64(len(b)) || length > 64 {
				return c.damaged("a verdict is cut off")
			}
			text[i], b = string(b[:length]), b[length:]
		}
		verdict[text[0]] = text[1]
	}
	if len(verdict) > 0 {
		c.sol.Origin.Verdict = verdict
	}
	if _, err := c.r.ReadByte(); len(b) > 0 || !errors.Is(err, io.EOF) {
		return c.damaged("goes on after its end")
	}
	return io.EOF
}

// ErrTooMany is wrapped by what Read, the function, returns for more transfers than it
// is to hold in memory.
var ErrTooMany = errors.New("too many transfers to hold in memory")

// Read reads a whole file of at most limit transfers, 40 bytes each. Of a partial file it
// returns what is there, with Origin.Partial set. The solution is valid.
func Read(name string, r io.Reader, limit int) (*model.Solution, error) {
	c, err := NewReader(name, r)
	if err != nil {
		return nil, err
	}
	s := c.sol.Schedule
	s.Transfers = []model.Transfer{}
	batch := make([]model.Transfer, 1<<12)
	for {
		n, err := c.Read(batch)
		s.Transfers = append(s.Transfers, batch[:n]...)
		switch {
		case err == io.EOF:
		case errors.Is(err, ErrPartial):
			c.sol.Origin.Partial = true
		case err != nil:
			return nil, err
		case len(s.Transfers) > limit:
			return nil, fmt.Errorf("%s: more than %d: %w", name, limit, ErrTooMany)
		default:
			continue
		}
		if err := s.Validate(c.sol.Problem); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		return c.sol, nil
	}
}
