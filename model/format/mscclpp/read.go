package mscclpp

import (
	"io"
	"math"
	"slices"
	"strings"

	"github.com/oraccl/oraccl/model"
)

const (
	maxRanks  = 1 << 12
	maxChunks = 1 << 20
	maxUnit   = 1 << 40
)

// Is reports whether JSON looks like an execution plan, of whatever format: its outermost
// object has gpus, and a name or protocol, before anything else of ours.
func Is(b []byte) bool {
	head := string(b[:min(len(b), 4096)])
	return strings.HasPrefix(strings.TrimLeft(head, " \t\r\n\ufeff"), "{") && strings.Contains(head, `"gpus"`) && !strings.Contains(head, `"oraccl/`) &&
		(strings.Contains(head, `"protocol"`) || strings.Contains(head, `"inplace"`))
}

// Read reads a file; name is for errors. An error is a *SyntaxError, or that of r: the file is
// no JSON, or no execution plan. What the runtime's parser refuses beyond that is for Loadings.
// It takes time and memory in proportion to the file.
func Read(name string, src io.Reader) (*File, error) {
	b, err := io.ReadAll(src)
	if err != nil {
		return nil, err
	}
	root, err := parse(name, b)
	if err != nil {
		return nil, err
	}
	r := &reader{file: name}
	f := &File{File: name, Line: root.line}
	r.top(f, root)
	if r.err != nil {
		return nil, r.err
	}
	return f, nil
}

func (r *reader) top(f *File, n *node) {
	gpus := r.list(r.need(n, "gpus"), "gpus")
	if r.err != nil {
		return
	}
	if len(gpus) == 0 || len(gpus) > maxRanks {
		r.fail(n.line, "gpus has %d entries, want 1 to %d", len(gpus), maxRanks)
		return
	}
	switch first := gpus[0]; {
	case first.has("inputChunks"):
		f.Version = V1
	case first.has("input_chunks"):
		f.Version = V2
	default:
		r.fail(first.line, "a gpu has neither input_chunks (v2) nor inputChunks (v1): is no format that a release reads")
		return
	}
	f.Align, f.Threads, f.Max = 16, 1024, math.MaxUint64
	r.version = f.Version
	f.texts(r, n)
	f.InPlace = r.truth(r.need(n, "inplace"), "inplace")
	f.Threads = int(r.whole(r.get(n, "num_threads_per_block"), "num_threads_per_block", 1024, 1, math.MaxInt32))
	f.Double = r.truth(r.get(n, "use_double_scratch_buffer"), "use_double_scratch_buffer")
	f.Min = r.bytes(r.get(n, "min_message_size"), "min_message_size", 0)
	f.Max = r.bytes(r.get(n, "max_message_size"), "max_message_size", math.MaxUint64)
	if f.Version == V2 {
		f.Reuse = r.truth(r.get(n, "reuse_resources"), "reuse_resources")
		f.Align = r.whole(r.get(n, "buffer_alignment"), "buffer_alignment", 16, 1, 1<<20)
	} else {
		f.Double = f.Protocol == "LL" // packet plans always do
	}
	if f.Threads > 1024 {
		f.fault("runtime-limit", true, n.line, "", "num_threads_per_block is %d, and the kernel is compiled for at most 1024", f.Threads)
	}
	if f.Align%16 != 0 {
		f.fault("bad-reference", true, n.line, "", "buffer_alignment is %d, and threads move 16 bytes at a time", f.Align)
	}
	if f.Min > f.Max {
		f.fault("size-limit", true, n.line, "", "min_message_size is %d and max_message_size %d: no message is served", f.Min, f.Max)
	}
	f.GPUs = make([]GPU, len(gpus))
	raws := make([]*rank, len(gpus))
	for i, g := range gpus {
		raws[i] = r.gpu(f, i, g)
		if r.err != nil {
			return
		}
	}
	for i, raw := range raws {
		f.GPUs[i].Blocks = make([]Block, len(raw.blocks))
		for j, b := range raw.blocks {
			r.block(f, raw, i, j, b)
		}
		if r.err != nil {
			return
		}
	}
	f.aligned()
}

// texts reads the names of the file.
func (f *File) texts(r *reader, n *node) {
	if name := r.get(n, "name"); name == nil || name.value == nil {
		f.fault("size-limit", false, n.line, "", "the plan has no name, by which the executor tells plans apart")
	} else {
		f.Name = r.text(name, "name")
	}
	f.Protocol = r.text(r.need(n, "protocol"), "protocol")
	coll := r.get(n, "collective")
	if coll == nil && f.Version == V1 && n.has("colletive") {
		coll = r.get(n, "colletive")
		f.older = append(f.older, model.Remark{Line: coll.line, Message: "the field collective is misspelled colletive, as it was before December 2024"})
	}
	if coll == nil {
		coll = r.need(n, "collective")
	}
	f.Collective = r.text(coll, "collective")
}

// rank is a rank while its threadblocks are read.
type rank struct {
	ids    map[Type][]int // channels of a type, in the order of the file
	triple map[[2]byte]map[Type][]int
	remote []remote
	blocks []*node
}

// remote is a remote buffer of v2.
type remote struct {
	rank   int
	buffer byte
	types  []Type
}

func (r *reader) channelType(n *node, key string) (Type, bool) {
	name := r.text(n, key)
	if r.version == V1 {
		switch name {
		case "sm":
			return Memory, true
		case "proxy":
			return Port, true
		case "nvls":
			return Switch, true
		}
	}
	i := slices.Index(typeNames, name)
	return Type(max(i, 0)), i >= 0
}

func (r *reader) buffer(n *node, key string) byte {
	name := r.text(n, key)
	if r.err == nil && !slices.Contains([]string{"i", "o", "s"}, name) {
		r.fail(n.line, "%s is %q, want i, o or s", key, name)
	}
	if name == "" {
		return 'i'
	}
	return name[0]
}

func (r *reader) gpu(f *File, i int, n *node) *rank {
	g := &f.GPUs[i]
	raw := &rank{ids: map[Type][]int{}, triple: map[[2]byte]map[Type][]int{}}
	g.Line, g.Groups = n.line, 1
	if id := r.whole(r.need(n, "id"), "id", 0, 0, math.MaxInt32); r.err == nil && int(id) != i {
		f.refuse(n.line, "entry %d of gpus has id %d, want %d", i, id, i)
	}
	in, out, scratch := "input_chunks", "output_chunks", "scratch_chunks"
	if f.Version == V1 {
		in, out, scratch = "inputChunks", "outputChunks", "scratchChunks"
		if groups := r.get(n, "chunkGroups"); groups != nil {
			g.Groups = int(r.whole(groups, "chunkGroups", 1, 1, maxChunks))
		} else if len(f.older) < 2 {
			f.older = append(f.older, model.Remark{Line: n.line, Message: "a gpu has no field chunkGroups"})
		}
	}
	g.Input = int(r.whole(r.need(n, in), in, 0, 0, maxChunks))
	g.Output = int(r.whole(r.need(n, out), out, 0, 0, maxChunks))
	g.Scratch = int(r.whole(r.need(n, scratch), scratch, 0, 0, maxChunks))
	for _, c := range r.list(r.need(n, "channels"), "channels") {
		r.channels(f, g, raw, c)
	}
	if f.Version == V2 {
		for _, b := range r.list(r.need(n, "remote_buffers"), "remote_buffers") {
			x := remote{rank: int(r.whole(r.need(b, "rank"), "rank", 0, 0, int64(len(f.GPUs)-1))), buffer: r.buffer(r.need(b, "type"), "type")}
			for _, t := range r.list(r.need(b, "access_channel_types"), "access_channel_types") {
				if kind, ok := r.channelType(t, "access_channel_types"); ok {
					x.types = append(x.types, kind)
				} else {
					f.refuse(t.line, "access by a channel of type %q", t.value)
				}
			}
			raw.remote = append(raw.remote, x)
		}
		for _, s := range r.list(r.get(n, "semaphores"), "semaphores") {
			g.Semaphores = append(g.Semaphores, int(r.whole(r.need(s, "init_value"), "init_value", 0, 0, math.MaxInt32)))
		}
	}
	raw.blocks = r.list(r.need(n, "threadblocks"), "threadblocks")
	return raw
}

// channels reads an entry of the channels of a rank, which is several.
func (r *reader) channels(f *File, g *GPU, raw *rank, n *node) {
	key, groups, peers := "channel_type", "rank_groups", "connected_to"
	if f.Version == V1 {
		key, groups, peers = "type", "rankGroups", "connectedTo"
	}
	kind, ok := r.channelType(r.need(n, key), key)
	if r.err != nil {
		return
	}
	if !ok || kind == None {
		f.refuse(n.line, "a channel of type %q, want memory, port or switch", r.text(r.get(n, key), key))
		return
	}
	add := func(c Channel) {
		c.Line, c.Type = n.line, kind
		i := len(g.Channels)
		g.Channels = append(g.Channels, c)
		raw.ids[kind] = append(raw.ids[kind], i)
		t := [2]byte{c.Src, c.Dst}
		if raw.triple[t] == nil {
			raw.triple[t] = map[Type][]int{}
		}
		raw.triple[t][kind] = append(raw.triple[t][kind], i)
	}
	if kind != Switch {
		c := Channel{}
		if f.Version == V1 {
			c.Src, c.Dst = r.buffer(r.need(n, "srcbuff"), "srcbuff"), r.buffer(r.need(n, "dstbuff"), "dstbuff")
		}
		for _, p := range r.wholes(r.need(n, peers), peers, 0, int64(len(f.GPUs)-1)) {
			c.Peer = p
			add(c)
		}
		return
	}
	field := "buffer_type"
	if f.Version == V1 {
		field = "buff"
	}
	b := r.get(n, field)
	if b == nil {
		f.refuse(n.line, "a channel of type switch has no field %s: a draft of the format", field)
		b = r.need(n, "buff")
	}
	c := Channel{Buffer: r.buffer(b, field)}
	c.Src, c.Dst = c.Buffer, c.Buffer
	for _, s := range r.list(r.need(n, groups), groups) {
		c.Ranks = r.wholes(r.need(s, "ranks"), "ranks", 0, int64(len(f.GPUs)-1))
		if len(c.Ranks) == 0 {
			r.fail(s.line, "a group of a switch has no ranks")
		}
		add(c)
	}
}

// scope is what the operations of a threadblock refer to.
type scope struct {
	f       *File
	gpu     int
	v1      map[[2]byte]map[Type][]int
	ids     map[Type][]int // channels of the rank, by the position in the threadblock
	remotes map[Type][]remote
	block   *Block
	ops     int // including inner ones
}

func (r *reader) block(f *File, raw *rank, gpu, i int, n *node) {
	b := &f.GPUs[gpu].Blocks[i]
	b.Line, b.ID = n.line, int(r.whole(r.need(n, "id"), "id", 0, 0, math.MaxInt32))
	where := place(gpu, b.ID)
	if b.ID != i {
		f.fault("bad-reference", true, n.line, where, "entry %d of threadblocks has id %d: its operations would run with the channels of another", i, b.ID)
	}
	s := &scope{f: f, gpu: gpu, block: b, ids: map[Type][]int{}, remotes: map[Type][]remote{}, v1: map[[2]byte]map[Type][]int{}}
	count := map[Type]int{}
	pick := func(to, from []int, x int, line int, kind Type) []int {
		if x >= len(from) {
			f.fault("bad-reference", true, line, where, "names channel %d of type %v, and the rank has %d", x, kind, len(from))
			return append(to, -1)
		}
		return append(to, from[x])
	}
	key, ids := "channel_type", "channel_ids"
	if f.Version == V1 {
		key, ids = "ctype", "cids"
	}
	for _, c := range r.list(r.need(n, "channels"), "channels") {
		kind, ok := r.channelType(r.need(c, key), key)
		if !ok {
			f.refuse(c.line, "a channel of type %q", r.text(r.get(c, key), key))
		}
		t := [2]byte{}
		if f.Version == V1 {
			t = [2]byte{r.buffer(r.need(c, "src"), "src"), r.buffer(r.need(c, "dst"), "dst")}
		}
		for _, x := range r.wholes(r.need(c, ids), ids, 0, math.MaxInt32) {
			count[kind]++
			if f.Version == V2 {
				s.ids[kind] = pick(s.ids[kind], raw.ids[kind], x, c.line, kind)
				continue
			}
			if s.v1[t] == nil {
				s.v1[t] = map[Type][]int{}
			}
			s.v1[t][kind] = pick(s.v1[t][kind], raw.triple[t][kind], x, c.line, kind)
		}
	}
	for kind, k := range count {
		if k > 16 {
			f.fault("runtime-limit", true, n.line, where, "has %d channels of type %v, and the executor has room for 16", k, kind)
		}
	}
	for _, c := range r.list(r.get(n, "remote_buffer_refs"), "remote_buffer_refs") {
		kind, ok := r.channelType(r.need(c, "access_channel_type"), "access_channel_type")
		if !ok {
			f.refuse(c.line, "access by a channel of type %q", r.text(r.get(c, "access_channel_type"), "access_channel_type"))
		}
		for _, x := range r.wholes(r.need(c, "remote_buffer_ids"), "remote_buffer_ids", 0, math.MaxInt32) {
			if x >= len(raw.remote) || !slices.Contains(raw.remote[x].types, kind) {
				f.fault("bad-reference", true, c.line, where, "names remote buffer %d for access by %v, and the rank has none such", x, kind)
				s.remotes[kind] = append(s.remotes[kind], remote{rank: -1})
				continue
			}
			s.remotes[kind] = append(s.remotes[kind], raw.remote[x])
		}
		if k := len(s.remotes[kind]); k > 16 {
			f.fault("runtime-limit", true, c.line, where, "has %d remote buffers for access by %v, and the executor has room for 16", k, kind)
		}
	}
	b.Ops = r.ops(s, r.list(r.need(n, "ops"), "ops"), false)
	if s.ops > 64 {
		f.refuse(n.line, "%s has %d operations, want at most 64", where, s.ops)
	}
}
