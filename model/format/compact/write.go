package compact

import (
	"bytes"
	"compress/flate"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"maps"
	"slices"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/native"
)

// Magic is what every file begins with.
const Magic = "\x89oraccl\n"

const (
	blockSize  = 1 << 18 // payloads are written when they have grown to this
	maxGroup   = 1 << 20 // transfers in a group
	maxPayload = 1 << 30
	maxHeader  = 1 << 30 // bytes, inflated
	maxEnd     = model.MaxTime / 2

	flagReduce = 1
	flagRuns   = 2
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// entry is a transfer within its group.
type entry struct{ route, chunk int32 }

// key is what the transfers of a group have in common beside their start.
type key struct {
	end model.Time
	op  model.Op
}

type group struct {
	key
	entries []entry
}

// Writer writes one file. Transfers of one start may be reordered.
type Writer struct {
	w      io.Writer
	p      *model.Problem
	form   model.Form
	ends   []entry // of each route: source and destination
	width  int     // bytes of a chunk
	sum    uint32
	err    error
	buf    []byte // the payload of the block T being made
	frame  []byte
	start  model.Time  // of the groups being made
	groups []group     // those of one start
	number map[key]int // of each of them
	recent int         // the group written to last
	spare  [][]entry   // memory for groups
	slots  []int32     // by route: 1 + chunk, while a group is sorted
	at     model.Time  // start of the group before
	count  uint64
	last   model.Time
	closed bool
}

// NewWriter begins a file with a problem that has chunks, a form other than Ordered, an
// origin, whose verdicts Close adds, and all routes that transfers will have. It takes
// O(size of the problem and the routes) time and memory.
func NewWriter(w io.Writer, p *model.Problem, form model.Form, o model.Origin, routes [][]int) (*Writer, error) {
	if form != model.Timed && form != model.InRounds {
		return nil, fmt.Errorf("compact: form %v, want timed or rounds; JSON has them all", form)
	}
	c := &Writer{w: w, p: p, form: form, width: width(len(p.Chunks)), ends: make([]entry, len(routes)), slots: make([]int32, len(routes)), number: map[key]int{}}
	head, err := deflate(&model.Solution{Problem: p, Origin: o, Schedule: &model.Schedule{Form: form}})
	if err != nil {
		return nil, err
	}
	c.raw([]byte(Magic))
	c.block('H', head)
	var buf []byte
	before := 0
	for i, route := range routes {
		if len(route) == 0 {
			return nil, fmt.Errorf("compact: route %d is empty, want at least one link", i)
		}
		buf = binary.AppendUvarint(buf, uint64(len(route)))
		for _, l := range route {
			if l < 0 || l >= len(p.Topology.Links) {
				return nil, fmt.Errorf("compact: route %d: link %d does not exist, want 0 to %d", i, l, len(p.Topology.Links)-1)
			}
			buf = binary.AppendVarint(buf, int64(l-before))
			before = l
		}
		c.ends[i] = entry{int32(p.Topology.Links[route[0]].Src), int32(p.Topology.Links[route[len(route)-1]].Dst)}
		if len(buf) > blockSize {
			c.block('R', buf)
			buf, before = buf[:0], 0
		}
	}
	if len(buf) > 0 {
		c.block('R', buf)
	}
	return c, c.err
}

// deflate returns the head of a file: by repeats, unless there are this many that a reader would
// take it for an attack.
func deflate(s *model.Solution) ([]byte, error) {
	var head bytes.Buffer
	for _, level := range []int{flate.BestSpeed, flate.HuffmanOnly} {
		head.Reset()
		z, err := flate.NewWriter(&head, level)
		if err != nil {
			return nil, err
		}
		text := &counter{Writer: z}
		if err := native.WriteSolution(text, s); err != nil {
			return nil, err
		}
		if err := z.Close(); err != nil {
			return nil, err
		}
		if text.bytes <= inflated(head.Len()) {
			return head.Bytes(), nil
		}
	}
	return nil, fmt.Errorf("compact: the problem takes more than %d bytes", inflated(head.Len()))
}

// counter counts what is written.
type counter struct {
	io.Writer
	bytes int64
}

func (c *counter) Write(b []byte) (int, error) {
	n, err := c.Writer.Write(b)
	c.bytes += int64(n)
	return n, err
}

// width returns how many bytes hold a number below n.
func width(n int) int {
	w := 1
	for ; n > 256; n = (n + 255) / 256 {
		w++
	}
	return w
}

// raw writes bytes of the file.
func (c *Writer) raw(b []byte) {
	if c.err == nil {
		c.sum = crc32.Update(c.sum, castagnoli, b)
		_, c.err = c.w.Write(b)
	}
}

func (c *Writer) block(kind byte, payload []byte) {
	c.frame = append(c.frame[:0], kind)
	c.frame = binary.AppendUvarint(c.frame, uint64(len(payload)))
	c.frame = append(c.frame, payload...)
	c.raw(c.frame)
	c.raw(binary.LittleEndian.AppendUint32(nil, c.sum))
}

// Write appends transfers. Starts must not decrease, within a call or from one to the
// next, and source and destination must be the ends of the route. It takes O(transfers),
// and O(t·log t) for t transfers of one start that are few and not in order of route.
func (c *Writer) Write(batch []model.Transfer) error {
	for i := range batch {
		t := &batch[i]
		if err := c.check(t); err != nil {
			if c.err == nil {
				c.err = fmt.Errorf("compact: transfer %d: %w", c.count, err)
			}
			return c.err
		}
		if t.Start != c.start {
			c.endGroups()
			c.start = t.Start
		}
		g := c.groupOf(key{t.End, t.Op})
		g.entries = append(g.entries, entry{t.Route, t.Chunk})
		if len(g.entries) == maxGroup {
			c.endGroup(g)
			g.entries = g.entries[:0]
		}
		c.last = max(c.last, t.End)
		c.count++
	}
	return c.err
}

// groupOf returns the group with a key.
func (c *Writer) groupOf(k key) *group {
	if c.recent < len(c.groups) && c.groups[c.recent].key == k {
		return &c.groups[c.recent]
	}
	i, known := c.number[k]
	if !known {
		i = len(c.groups)
		g := group{key: k}
		if n := len(c.spare); n > 0 {
			g.entries, c.spare = c.spare[n-1], c.spare[:n-1]
		}
		c.groups = append(c.groups, g)
		c.number[k] = i
	}
	c.recent = i
	return &c.groups[i]
}

// check explains why a transfer cannot be written.
func (c *Writer) check(t *model.Transfer) error {
	switch {
	case c.closed:
		return errors.New("the file is closed")
	case t.Start < c.start:
		return fmt.Errorf("starts at %d after one that starts at %d, want order of starts", int64(t.Start), int64(c.start))
	case t.End <= t.Start || t.End > maxEnd:
		return fmt.Errorf("from %d to %d, want an end after the start, of at most %d", int64(t.Start), int64(t.End), int64(maxEnd))
	case t.Route < 0 || int(t.Route) >= len(c.ends):
		return fmt.Errorf("route %d does not exist, want 0 to %d", t.Route, len(c.ends)-1)
	case c.ends[t.Route] != entry{t.Src, t.Dst}:
		return fmt.Errorf("from rank %d to rank %d over a route from node %d to node %d, want its ends", t.Src, t.Dst, c.ends[t.Route].route, c.ends[t.Route].chunk)
	case t.Chunk < 0 || int(t.Chunk) >= len(c.p.Chunks):
		return fmt.Errorf("chunk %d does not exist, want 0 to %d", t.Chunk, len(c.p.Chunks)-1)
	case t.Op > model.Reduction:
		return fmt.Errorf("operation %v does not exist, want copy or reduce", t.Op)
	}
	return nil
}

// endGroups puts the groups into the file.
func (c *Writer) endGroups() {
	for i := range c.groups {
		g := &c.groups[i]
		if len(g.entries) > 0 {
			c.endGroup(g)
		}
		if len(c.spare) < 16 {
			c.spare = append(c.spare, g.entries[:0])
		}
	}
	c.groups = c.groups[:0]
	clear(c.number)
}

// endGroup puts a group into the block, and the block into the file if it is full.
func (c *Writer) endGroup(g *group) {
	c.sort(g)
	flags := byte(0)
	if g.op == model.Reduction {
		flags |= flagReduce
	}
	if 6*runs(g.entries) <= len(g.entries)*(1+c.width) {
		flags |= flagRuns
	}
	c.buf = binary.AppendUvarint(c.buf, uint64(c.start-c.at))
	c.buf = binary.AppendUvarint(c.buf, uint64(g.end-c.start))
	c.buf = append(c.buf, flags)
	c.buf = binary.AppendUvarint(c.buf, uint64(len(g.entries)))
	if flags&flagRuns != 0 {
		c.writeRuns(g.entries)
	} else {
		c.writePlain(g.entries)
	}
	c.at = c.start
	if len(c.buf) >= blockSize {
		c.block('T', c.buf)
		c.buf = c.buf[:0]
	}
}

// sort puts a group in order of route: so differences are small.
func (c *Writer) sort(g *group) {
	byRoute := func(a, b entry) int { return int(a.route) - int(b.route) }
	if slices.IsSortedFunc(g.entries, byRoute) {
		return
	}
	if len(g.entries) < len(c.slots)/8 {
		slices.SortStableFunc(g.entries, byRoute)
		return
	}
	rest := g.entries[:0]
	for _, e := range g.entries { // of several of one route all but the first stay at the front
		if c.slots[e.route] == 0 {
			c.slots[e.route] = e.chunk + 1
		} else {
			rest = append(rest, e)
		}
	}
	all := g.entries[:len(rest)]
	for r, k := range c.slots {
		if k > 0 {
			all = append(all, entry{int32(r), k - 1})
			c.slots[r] = 0
		}
	}
	g.entries = all
	if len(rest) > 0 {
		slices.SortStableFunc(g.entries, byRoute)
	}
}

// runs counts the arithmetic progressions of a group.
func runs(entries []entry) int {
	n := 0
	var at, step entry
	for _, e := range entries {
		if d := (entry{e.route - at.route, e.chunk - at.chunk}); n == 0 || d != step {
			n, step = n+1, d
		}
		at = e
	}
	return n
}

func (c *Writer) writeRuns(entries []entry) {
	var at, step entry
	length := 0
	end := func() {
		if length > 0 {
			c.buf = binary.AppendUvarint(c.buf, uint64(length))
			c.buf = binary.AppendVarint(c.buf, int64(step.route))
			c.buf = binary.AppendVarint(c.buf, int64(step.chunk))
		}
	}
	for _, e := range entries {
		if d := (entry{e.route - at.route, e.chunk - at.chunk}); length == 0 || d != step {
			end()
			length, step = 0, d
		}
		length++
		at = e
	}
	end()
}

func (c *Writer) writePlain(entries []entry) {
	before := int32(-1)
	for _, e := range entries {
		c.buf = binary.AppendVarint(c.buf, int64(e.route)-int64(before)-1)
		before = e.route
		for i := range c.width {
			c.buf = append(c.buf, byte(e.chunk>>(8*i)))
		}
	}
}

// Size returns how many bytes a file with this many transfers has at most, about: where groups
// are small their heads count too.
func Size(p *model.Problem, transfers int64) int64 {
	return transfers*int64(1+width(len(p.Chunks))) + 64*int64(len(p.Topology.Links)) + 1<<20
}

// Transfers returns how many transfers have been written.
func (c *Writer) Transfers() uint64 { return c.count }

// Close marks the file as complete, with the verdicts on it by engine. It does not close
// the writer below. Without it the file is partial.
func (c *Writer) Close(verdict map[string]string) error {
	if c.closed {
		return c.err
	}
	if err := c.Flush(); err != nil {
		return err
	}
	end := binary.AppendUvarint(nil, c.count)
	end = binary.AppendUvarint(end, uint64(c.last))
	end = binary.AppendUvarint(end, uint64(len(verdict)))
	for _, engine := range slices.Sorted(maps.Keys(verdict)) {
		for _, s := range []string{engine, verdict[engine]} {
			end = binary.AppendUvarint(end, uint64(len(s)))
			end = append(end, s...)
		}
	}
	c.block('E', end)
	c.closed = true
	return c.err
}

// Write writes a whole schedule with its problem. It takes O(t·log t) time for t
// transfers, and memory for a copy of them unless they are in order of their starts.
func Write(w io.Writer, s *model.Solution) error {
	o := s.Origin
	o.Verdict = nil
	c, err := NewWriter(w, s.Problem, s.Schedule.Form, o, s.Schedule.Routes)
	if err != nil {
		return err
	}
	list := s.Schedule.Transfers
	byTime := func(a, b model.Transfer) int {
		switch {
		case a.Start != b.Start:
			return int(min(max(a.Start-b.Start, -1), 1))
		case a.End != b.End:
			return int(min(max(a.End-b.End, -1), 1))
		}
		return int(a.Op) - int(b.Op)
	}
	if !slices.IsSortedFunc(list, byTime) {
		list = slices.Clone(list)
		slices.SortStableFunc(list, byTime)
	}
	if err := c.Write(list); err != nil {
		return err
	}
	if o.Partial {
		return c.Flush()
	}
	return c.Close(s.Origin.Verdict)
}

// Flush writes what there is to the writer below. The file stays partial.
func (c *Writer) Flush() error {
	c.endGroups()
	if len(c.buf) > 0 {
		c.block('T', c.buf)
		c.buf = c.buf[:0]
	}
	return c.err
}
