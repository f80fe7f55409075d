package mscclpp

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
)

// Written is a plan that is to be written.
type Written struct {
	c       *composer
	h       Header
	gpus    []*gpuJSON
	scratch []int // chunks of each rank; of packets, with LL
	plains  []int // with LL, of other data
	blocks  []*builder
	spread  map[[2]int]int // by rank and level: how many of its threadblocks put to several ranks
}

// The format v2, as it is written.
type (
	planJSON struct {
		Name       string     `json:"name"`
		Collective string     `json:"collective"`
		Protocol   string     `json:"protocol"`
		InPlace    bool       `json:"inplace"`
		Reuse      bool       `json:"reuse_resources"`
		GPUs       []*gpuJSON `json:"gpus"`
		Threads    int        `json:"num_threads_per_block"`
		Double     bool       `json:"use_double_scratch_buffer"`
		Align      int        `json:"buffer_alignment"`
		Min        uint64     `json:"min_message_size"`
		Max        uint64     `json:"max_message_size"`
	}
	gpuJSON struct {
		ID         int           `json:"id"`
		Input      int           `json:"input_chunks"`
		Output     int           `json:"output_chunks"`
		Scratch    int           `json:"scratch_chunks"`
		Blocks     []*blockJSON  `json:"threadblocks"`
		Channels   []channelJSON `json:"channels"`
		Remote     []remoteJSON  `json:"remote_buffers"`
		Semaphores []struct{}    `json:"semaphores"`

		peers map[Type][]int // of the channels
	}
	channelJSON struct {
		Type   string      `json:"channel_type"`
		Peers  []int       `json:"connected_to,omitempty"`
		Buffer string      `json:"buffer_type,omitempty"` // of a switch
		Groups []groupJSON `json:"rank_groups,omitempty"`
	}
	groupJSON struct {
		Size  int   `json:"size"`
		Ranks []int `json:"ranks"`
	}
	remoteJSON struct {
		Rank   int      `json:"rank"`
		Type   string   `json:"type"`
		Access []string `json:"access_channel_types"`
	}
	blockJSON struct {
		ID       int            `json:"id"`
		Ops      []opJSON       `json:"ops"`
		Channels []idsJSON      `json:"channels"`
		Remote   []remoteIDJSON `json:"remote_buffer_refs"`
	}
	idsJSON struct {
		Type string `json:"channel_type"`
		IDs  []int  `json:"channel_ids"`
	}
	remoteIDJSON struct {
		Type string `json:"access_channel_type"`
		IDs  []int  `json:"remote_buffer_ids"`
	}
	opJSON struct {
		Name     string    `json:"name"`
		Channels []int     `json:"channel_ids,omitempty"`
		Type     string    `json:"channel_type,omitempty"`
		Src      []refJSON `json:"src_buff,omitempty"`
		Dst      []refJSON `json:"dst_buff,omitempty"`
		Reduce   string    `json:"reduce_op,omitempty"`
		Context  *iterJSON `json:"iter_context,omitempty"`
		Ops      []opJSON  `json:"ops,omitempty"`
		Barrier  *int      `json:"barrier_id,omitempty"`
		Blocks   int       `json:"num_threadblocks,omitempty"`
	}
	iterJSON struct {
		Unit   int64 `json:"unit_size"`
		Chunks int   `json:"num_chunks"`
	}
	refJSON struct {
		Type   string `json:"type,omitempty"`
		Buffer *int   `json:"buffer_id,omitempty"`
		Switch *int   `json:"switch_channel_id,omitempty"`
		Index  int    `json:"index"`
		Size   int    `json:"size"`
	}
)

func newWritten(c *composer) *Written {
	w := &Written{c: c, h: c.h, spread: map[[2]int]int{}}
	for r := range c.p.Ranks {
		b := c.p.Buffers[r]
		w.gpus = append(w.gpus, &gpuJSON{ID: r, Input: b[0].Cells, Output: b[1].Cells, Channels: []channelJSON{}, Remote: []remoteJSON{}, Semaphores: []struct{}{}, peers: map[Type][]int{}})
		w.scratch, w.plains = append(w.scratch, b[2].Cells), append(w.plains, 0)
		if c.h.LL {
			w.scratch[r], w.plains[r] = 0, b[2].Cells
		}
	}
	return w
}

// take returns a fresh place in scratch.
func (w *Written) take(rank, chunks int) spot {
	at := w.scratch[rank]
	w.scratch[rank] += chunks
	return spot{'s', at}
}

// plain is added to the index of a chunk of scratch that holds no packets, in a plan of packets,
// until it is known how many there are of these: they take the room of two each.
const plain = 1 << 20

// temporary is take for what a rank keeps for itself.
func (w *Written) temporary(rank, chunks int) spot {
	if !w.c.h.LL {
		return w.take(rank, chunks)
	}
	at := plain + w.plains[rank]
	w.plains[rank] += chunks
	return spot{'s', at}
}

// via returns how a rank reaches another one.
func (c *composer) via(r, q int) Type {
	if c.h.Machines != nil && c.h.Machines[r] != c.h.Machines[q] {
		return Port
	}
	return Memory
}

// builder writes the operations of a threadblock.
type builder struct {
	w       *Written
	rank    int
	j       *blockJSON
	ids     map[Type][]int // peers of its channels
	remotes map[Type][]remoteJSON
	touched []touch // since the last nop
	waited  bool    // some threads have waited since the last nop
	entered bool    // they have waited for the start of others
	moved   bool    // data were moved by all threads since
	threads map[turn]int
	begin   map[int]int // by level at which this one puts to several ranks: how many threadblocks of the rank before it do
}

// several is the thread of a turn that several have taken at once.
const several = -1

// turn is an end of a channel: what the threads do there must be in one order.
type turn struct {
	signals bool
	kind    Type
	peer    int
}

// touch is an access to memory of the rank.
type touch struct {
	at     spot
	size   int
	write  bool
	packet bool
	grain  int
}

func (b *builder) add(o opJSON) { b.j.Ops = append(b.j.Ops, o) }

func (b *builder) nop() {
	b.add(opJSON{Name: "nop"})
	b.touched, b.waited, b.entered, b.moved = nil, false, false, false
	clear(b.threads)
}

// turns puts a nop before what threads do at channels to some peers, if another thread did
// something at one of them since the last.
func (b *builder) turns(signals bool, kind Type, peers []int) {
	for k, p := range peers {
		if t, ok := b.threads[turn{signals, kind, p}]; ok && t != k {
			b.nop()
			break
		}
	}
	for k, p := range peers {
		if slices.Contains(peers[:k], p) || slices.Contains(peers[k+1:], p) {
			k = several
		}
		b.threads[turn{signals, kind, p}] = k
	}
}

// cell returns where a place lies, so that input and output that are one are one.
func (b *builder) cell(at spot) (space byte, index int) {
	p := b.w.c.p.Buffers[b.rank]
	switch at.buffer {
	case 'i':
		return 'u', p[0].Base + at.index
	case 'o':
		return 'u', p[1].Base + at.index
	}
	return 's', at.index
}

// before puts a nop before accesses, if they need one: after a wait, or after an access to the
// same memory that other threads may have made. Whether another rank has started matters to its
// caller's memory; to its scratch only if it may still be used in the launch before.
func (b *builder) before(all []touch, far ...spot) {
	need := b.waited
	for _, at := range far {
		need = need || b.entered && (at.buffer != 's' || b.w.h.Fence)
	}
	for _, x := range all {
		space, at := b.cell(x.at)
		for _, y := range b.touched {
			space2, at2 := b.cell(y.at)
			if space != space2 || x.packet != y.packet || !x.write && !y.write || at+x.size <= at2 || at2+y.size <= at {
				continue
			}
			if x.packet && y.write && !x.write { // it waits for the packet itself
				continue
			}
			if at == at2 && x.size == y.size && x.grain == y.grain { // the same threads
				continue
			}
			need = true
		}
	}
	if need {
		b.nop()
	}
	b.touched = append(b.touched, all...)
	b.moved = true
}

// channel returns the position of the channel to a peer in the threadblock.
func (b *builder) channel(kind Type, peer int) int {
	i := slices.Index(b.ids[kind], peer)
	if i < 0 {
		i = len(b.ids[kind])
		b.ids[kind] = append(b.ids[kind], peer)
	}
	return i
}

// far returns a reference to memory of another rank.
func (b *builder) far(kind Type, rank int, at spot, size int) refJSON {
	x := remoteJSON{Rank: rank, Type: string(at.buffer), Access: []string{kind.String()}}
	list := b.remotes[kind]
	i := slices.IndexFunc(list, func(y remoteJSON) bool { return y.Rank == x.Rank && y.Type == x.Type })
	if i < 0 {
		i = len(list)
		b.remotes[kind] = append(list, x)
	}
	return refJSON{Buffer: &i, Index: at.index, Size: size}
}

func near(at spot, size int) refJSON {
	return refJSON{Type: string(at.buffer), Index: at.index, Size: size}
}

// sync adds signals to some ranks, or waits for them.
func (b *builder) sync(name string, kind Type, peers []int) {
	for part := range slices.Chunk(peers, maxIDs) {
		b.turns(strings.HasSuffix(name, "signal"), kind, part)
		o := opJSON{Name: name, Type: kind.String()}
		for _, p := range part {
			o.Channels = append(o.Channels, b.channel(kind, p))
		}
		b.add(o)
	}
}

// peersOf returns the peers of messages of a type, ascending, each once.
func (b *builder) peersOf(list []*parcel, kind Type, peer func(*parcel) int) []int {
	var all []int
	for _, m := range list {
		if q := peer(m); b.w.c.via(b.rank, q) == kind && !slices.Contains(all, q) {
			all = append(all, q)
		}
	}
	slices.Sort(all)
	return all
}

// block writes what a rank does in a chapter.
func (w *Written) block(ch *chapter, r, id int) error {
	b := &builder{w: w, rank: r, j: &blockJSON{ID: id, Ops: []opJSON{}, Channels: []idsJSON{}, Remote: []remoteIDJSON{}}, ids: map[Type][]int{}, remotes: map[Type][]remoteJSON{}, threads: map[turn]int{}, begin: map[int]int{}}
	to := func(m *parcel) int { return w.c.nodes[m.to].rank }
	from := func(m *parcel) int { return w.c.nodes[m.from].rank }
	if !w.c.h.LL {
		for _, kind := range []Type{Memory, Port} { // who puts here must know that this rank has started
			b.sync(map[Type]string{Memory: "rlxsignal", Port: "signal"}[kind], kind, b.peersOf(ch.got[r], kind, from))
		}
		for _, kind := range []Type{Memory, Port} {
			peers := b.peersOf(ch.sent[r], kind, to)
			b.sync(map[Type]string{Memory: "rlxwait", Port: "wait"}[kind], kind, peers)
			b.entered = b.entered || len(peers) > 0
		}
	}
	if ch.loop {
		b.pipeline(ch)
	} else {
		b.levels(ch)
	}
	for kind, peers := range b.ids {
		if len(peers) > maxRefsTB {
			return refuse("a threadblock of rank %d has %d channels of type %v, at most %d: a chunk goes to too many ranks there, or comes from too many; a schedule by rings or trees would fit", r, len(peers), kind, maxRefsTB)
		}
	}
	for kind, list := range b.remotes {
		if len(list) > maxRefsTB {
			return refuse("a threadblock of rank %d uses %d remote buffers through %v, at most %d: a chunk goes to too many ranks there; a schedule by rings or trees would fit", r, len(list), kind, maxRefsTB)
		}
	}
	n := len(b.j.Ops)
	for _, o := range b.j.Ops {
		n += len(o.Ops)
	}
	if n > maxOpsTB {
		return refuse("a threadblock of rank %d has %d operations, at most %d; fewer chunks (solve --chunks) or steps would fit", r, n, maxOpsTB)
	}
	w.gpus[r].Blocks = append(w.gpus[r].Blocks, b.j)
	w.blocks = append(w.blocks, b)
	return nil
}

// levels goes through the levels of a chapter.
func (b *builder) levels(ch *chapter) {
	to := func(m *parcel) int { return b.w.c.nodes[m.to].rank }
	from := func(m *parcel) int { return b.w.c.nodes[m.from].rank }
	for level := 0; level <= ch.levels; level++ {
		at := func(list []*parcel) []*parcel {
			return slices.DeleteFunc(slices.Clone(list), func(m *parcel) bool { return m.level != level })
		}
		sent, got := at(ch.sent[b.rank]), at(ch.got[b.rank])
		b.send(sent, to)
		if !b.w.c.h.LL {
			if peers := b.peersOf(sent, Memory, to); len(peers) > 0 {
				if b.moved {
					b.nop()
				}
				b.sync("signal", Memory, peers)
			}
			for _, kind := range []Type{Memory, Port} {
				peers := b.peersOf(got, kind, from)
				b.sync("wait", kind, peers)
				b.waited = b.waited || len(peers) > 0
			}
		}
		var now []local
		for _, l := range ch.locals[b.rank] {
			if l.phase == 2*level+1 {
				now = append(now, l)
			}
		}
		b.local(now)
	}
}

// pipeline adds a loop over the levels of a chapter. Iterations share no memory. What threads did at
// channels before the loop, or in the iteration before, may take a nop: it then stands before
// the loop, or at the end of an iteration.
func (b *builder) pipeline(ch *chapter) {
	before, entered, threads := b.j.Ops, b.entered, maps.Clone(b.threads)
	iteration := func() []opJSON {
		b.j.Ops, b.touched = nil, nil
		b.levels(ch)
		return b.j.Ops
	}
	same := func(x, y opJSON) bool { return x.Name == y.Name }
	b.entered = false
	clear(b.threads)
	ops := iteration()
	if again := iteration(); !slices.EqualFunc(ops, again, same) {
		ops = append(ops, opJSON{Name: "nop"})
	}
	b.waited, b.moved, b.entered, b.threads = false, false, entered, threads
	first := iteration()
	if len(ops) == 0 {
		b.j.Ops = before
		return
	}
	if b.j.Ops = before; !slices.EqualFunc(ops[:min(len(ops), len(first))], first, same) {
		b.nop()
	}
	b.add(opJSON{Name: "pipeline", Context: &iterJSON{b.w.c.h.Unit, b.w.c.chunks}, Ops: ops})
}

// rotate orders what puts one place to several ranks, one after the other: each rank, and each of its threadblocks, begins with another
// one, so that they use different links at a time.
func (b *builder) rotate(sent []*parcel, to func(*parcel) int) {
	if b.w.c.h.LL || len(sent) < 2 || slices.ContainsFunc(sent, func(m *parcel) bool { return m.source() != sent[0].source() }) {
		return
	}
	n, level := b.w.c.p.Ranks, sent[0].level
	begin, known := b.begin[level]
	if !known {
		begin = b.w.spread[[2]int{b.rank, level}]
		b.begin[level] = begin
		b.w.spread[[2]int{b.rank, level}]++
	}
	after := func(m *parcel) int { return ((to(m)-b.rank-1+n)%n + n - 1 - begin%(n-1)) % (n - 1) }
	slices.SortStableFunc(sent, func(x, y *parcel) int { return cmp.Compare(after(x), after(y)) })
}

// send puts messages of one level.
func (b *builder) send(sent []*parcel, to func(*parcel) int) {
	c := b.w.c
	name, grain := "put", 16
	if c.h.LL {
		name, grain = "ppkt", 8
	}
	var memory, port []*parcel
	for _, m := range sent {
		if c.via(b.rank, to(m)) == Memory {
			memory = append(memory, m)
		} else {
			port = append(port, m)
		}
	}
	b.rotate(memory, to)
	// of one buffer, which the kernel takes from the first, and of one size
	kind := func(m *parcel) [2]int { return [2]int{int(m.source().buffer), m.size} }
	slices.SortStableFunc(memory, func(x, y *parcel) int {
		return cmp.Or(cmp.Compare(kind(x)[0], kind(y)[0]), cmp.Compare(kind(x)[1], kind(y)[1]))
	})
	for len(memory) > 0 {
		n := 1
		for n < len(memory) && n < maxRefsOp && kind(memory[n]) == kind(memory[0]) {
			n++
		}
		o := opJSON{Name: name, Type: Memory.String()}
		var all []touch
		var far []spot
		for _, m := range memory[:n] {
			o.Src = append(o.Src, near(m.source(), m.size))
			o.Dst = append(o.Dst, b.far(Memory, to(m), m.dst, m.size))
			b.channel(Memory, to(m))
			all = append(all, touch{m.source(), m.size, false, false, grain})
			far = append(far, m.dst)
		}
		b.before(all, far...)
		b.add(o)
		memory = memory[n:]
	}
	if len(port) == 0 {
		return
	}
	if c.h.LL {
		for _, m := range port {
			stage := b.w.take(b.rank, m.size)
			b.before([]touch{{m.source(), m.size, false, false, 8}, {stage, m.size, true, true, 8}})
			b.add(opJSON{Name: "cpkt", Src: []refJSON{near(m.source(), m.size)}, Dst: []refJSON{near(stage, m.size)}})
			m.src, m.relays = stage, nil
		}
	}
	if b.moved || b.waited || b.entered {
		b.nop()
	}
	put := func(name string, list []*parcel) {
		for part := range slices.Chunk(list, maxIDs) {
			var peers []int
			for _, m := range part {
				peers = append(peers, to(m))
			}
			b.turns(true, Port, peers)
			o := opJSON{Name: name, Type: Port.String()}
			for _, m := range part {
				o.Src = append(o.Src, near(m.source(), m.size))
				o.Dst = append(o.Dst, b.far(Port, to(m), m.dst, m.size))
				o.Channels = append(o.Channels, b.channel(Port, to(m)))
			}
			b.add(o)
		}
	}
	if c.h.LL {
		put("ppkt", port)
		return
	}
	var early, last []*parcel // the last to each peer signals
	seen := map[int]bool{}
	for i := len(port) - 1; i >= 0; i-- {
		if q := to(port[i]); !seen[q] {
			seen[q] = true
			last = append(last, port[i])
		} else {
			early = append(early, port[i])
		}
	}
	put("put", early)
	put("pwsf", last)
	b.waited = true
}

// local adds and copies.
func (b *builder) local(list []local) {
	packet := b.w.c.h.LL
	grain := 16
	if packet {
		grain = 8
	}
	for i := 0; i < len(list); i++ {
		l := list[i]
		for i+1 < len(list) && len(l.srcs) == 1 && len(l.slots) > 0 && len(l.slots)+1 < maxRefsOp { // sums into one place are one
			n := list[i+1]
			if len(n.srcs) != 1 || n.srcs[0] != l.dst || n.dst != l.dst || n.size != l.size || len(n.slots) != 1 {
				break
			}
			l.slots = append(slices.Clone(l.slots), n.slots...)
			i++
		}
		var all []touch
		for _, s := range l.srcs {
			all = append(all, touch{s, l.size, false, false, grain})
		}
		for _, s := range l.slots {
			all = append(all, touch{s.dst, l.size, false, packet, grain})
		}
		all = append(all, touch{l.dst, l.size, true, false, grain})
		o := opJSON{Dst: []refJSON{near(l.dst, l.size)}}
		for _, s := range l.srcs {
			o.Src = append(o.Src, near(s, l.size))
		}
		for _, m := range l.slots {
			o.Src = append(o.Src, near(m.dst, l.size))
		}
		switch {
		case len(o.Src) == 1 && len(l.slots) == 1 && packet:
			o.Name = "upkt"
		case len(o.Src) == 1:
			o.Name = "copy"
			all = withGrain(all, 16)
		case packet && len(l.slots) > 0 && len(l.srcs) == 1:
			o.Name, o.Reduce = "repkt", "sum"
		default:
			o.Name, o.Reduce = "re", "sum"
			all = withGrain(all, 16)
		}
		b.before(all)
		b.add(o)
	}
}

func withGrain(all []touch, grain int) []touch {
	for i := range all {
		all[i].grain = grain
	}
	return all
}

// finish numbers channels and remote buffers of the ranks. The k-th channel of a threadblock to a
// peer is paired with that of the threadblock of the same number there, since both ranks list
// the channels between them by threadblocks.
func (w *Written) finish() error {
	scratch := 0 // the same for all: a rank adds the offset of its own second half to what it writes elsewhere
	for r := range w.gpus {
		scratch = max(scratch, w.scratch[r]+(w.plains[r]+1)/2)
	}
	for r, g := range w.gpus {
		g.Scratch = scratch
		remote := map[string]int{}
		for _, b := range w.blocks {
			if b.rank != r {
				continue
			}
			for _, o := range b.j.Ops { // none is in a pipeline, with packets
				for _, refs := range [][]refJSON{o.Src, o.Dst} {
					for i := range refs {
						if refs[i].Index >= plain {
							refs[i].Index += 2*w.scratch[r] - plain
						}
					}
				}
			}
			for _, kind := range []Type{Memory, Port} {
				if peers := b.ids[kind]; len(peers) > 0 {
					ids := idsJSON{Type: kind.String()}
					for _, p := range peers {
						ids.IDs = append(ids.IDs, len(g.peers[kind]))
						g.peers[kind] = append(g.peers[kind], p)
					}
					b.j.Channels = append(b.j.Channels, ids)
				}
				if list := b.remotes[kind]; len(list) > 0 {
					refs := remoteIDJSON{Type: kind.String()}
					for _, x := range list {
						key := fmt.Sprint(x.Rank, x.Type, kind)
						if _, ok := remote[key]; !ok {
							remote[key] = len(g.Remote)
							g.Remote = append(g.Remote, x)
						}
						refs.IDs = append(refs.IDs, remote[key])
					}
					b.j.Remote = append(b.j.Remote, refs)
				}
			}
		}
		for _, kind := range []Type{Memory, Port} {
			if peers := g.peers[kind]; len(peers) > 0 {
				g.Channels = append(g.Channels, channelJSON{Type: kind.String(), Peers: peers})
				if len(peers) > maxChannelID {
					return refuse("rank %d has %d channels of type %v in %d threadblocks, at most %d; fewer ranks to exchange data with would fit, as rings and trees have them", r, len(peers), kind, len(g.Blocks), maxChannelID)
				}
			}
		}
		if len(g.Remote) > maxChannelID {
			return refuse("rank %d uses %d remote buffers, at most %d; fewer ranks to send to would fit", r, len(g.Remote), maxChannelID)
		}
		if g.Blocks == nil {
			g.Blocks = []*blockJSON{}
		}
	}
	return nil
}

// Write writes the plan for messages of up to max bytes; 0: any.
func (w *Written) Write(to io.Writer, max int64) error {
	j := planJSON{Name: w.h.Name, Collective: w.h.Collective, Protocol: "Simple", InPlace: w.h.InPlace, GPUs: w.gpus, Threads: 1024, Align: 16, Min: uint64(w.h.Min), Max: uint64(max)}
	if w.h.LL {
		j.Protocol, j.Double = "LL", true
	}
	if max == 0 {
		j.Max = math.MaxUint64
	}
	e := json.NewEncoder(to)
	e.SetIndent("", " ")
	return e.Encode(j)
}

// Describe returns how large the plan is: threadblocks of a rank, operations of a threadblock, and chunks of scratch, at most,
// and the bytes of an iteration of its pipelines, or 0.
func (w *Written) Describe() (blocks, ops, scratch int, iterated int64) {
	for _, g := range w.gpus {
		blocks, scratch = max(blocks, len(g.Blocks)), max(scratch, g.Scratch)
		for _, b := range g.Blocks {
			n := len(b.Ops)
			for _, o := range b.Ops {
				n += len(o.Ops)
				if o.Context != nil {
					iterated = o.Context.Unit
				}
			}
			ops = max(ops, n)
		}
	}
	return blocks, ops, scratch, iterated
}
