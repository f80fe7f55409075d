package mscclpp

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

func place(gpu, tb int) string { return fmt.Sprintf("gpu %d tb %d", gpu, tb) }

// namesV2 are the operations of v2.
var namesV2 = strings.Fields("nop barrier put pws pwsf get copy signal wait flush re res rre rres ppkt rppkt respkt cpkt upkt repkt recpkt recspkt glres gstore gstorepkt rlxsignal rlxwait pipeline sem_acquire sem_release")

// namesV1 gives the operations of v1 their names of v2.
var namesV1 = map[string]string{"nop": "nop", "barrier": "barrier", "put": "put", "pws": "pws", "pwsf": "pwsf", "get": "get", "copy": "copy", "signal": "signal", "wait": "wait", "flush": "flush",
	"re": "re", "rs": "res", "rrc": "rre", "rrcs": "rres", "ppkt": "ppkt", "rppkt": "rppkt", "rspkt": "respkt", "cpkt": "upkt", "tpkt": "cpkt", "rpkt": "repkt", "glres": "glres"}

// drafts are names that only drafts of a format had, or that the language writes and no
// release reads.
var drafts = map[string]string{
	"rrs": "a draft of v1", "tpkt": "v2 of July 2025, where it was what cpkt is now", "ucpkt": "a draft of v2", "rrc": "v1, and drafts of v2", "rrcs": "v1, and drafts of v2",
	"rspkt": "v1, and drafts of v2", "rpkt": "v1, and drafts of v2", "rs": "v1", "glre": "what the plan language writes, and no release reads",
}

// ops reads operations; inner ones are those of a pipeline.
func (r *reader) ops(s *scope, list []*node, inner bool) []Op {
	var all []Op
	for i, n := range list {
		if r.err != nil {
			return nil
		}
		s.ops++
		o := r.op(s, n, fmt.Sprintf("%s op %d", place(s.gpu, s.block.ID), i))
		if inner && o.Name == "pipeline" {
			r.fail(n.line, "a pipeline in a pipeline: the executor does not nest them")
		}
		all = append(all, o)
	}
	return all
}

func (r *reader) op(s *scope, n *node, where string) Op {
	f := s.f
	o := Op{Line: n.line, As: r.text(r.need(n, "name"), "name"), Parts: 1}
	if r.err != nil {
		return o
	}
	where = fmt.Sprintf("%s (%s)", where, o.As)
	known := slices.Contains(namesV2, o.As)
	o.Name = o.As
	if f.Version == V1 {
		o.Name, known = namesV1[o.As], namesV1[o.As] != ""
	}
	if !known {
		if d := drafts[o.As]; d != "" {
			f.refuse(n.line, "%s: operation %s, which is known to %s alone", where, o.As, d)
		} else {
			f.refuse(n.line, "%s: there is no operation %q", where, o.As)
		}
		o.Name = "nop"
		return o
	}
	if f.Version == V1 {
		r.opV1(s, &o, n, where)
	} else {
		r.opV2(s, &o, n, where)
	}
	if r.err == nil {
		f.limits(&o, where)
	}
	return o
}

func (r *reader) opV2(s *scope, o *Op, n *node, where string) {
	f := s.f
	if c := r.get(n, "channel_type"); c != nil {
		kind, ok := r.channelType(c, "channel_type")
		if !ok {
			f.refuse(c.line, "%s: a channel of type %q", where, r.text(c, "channel_type"))
		}
		o.Type = kind
	}
	for _, x := range r.wholes(r.get(n, "channel_ids"), "channel_ids", 0, math.MaxInt32) {
		ids := s.ids[o.Type]
		if x >= len(ids) {
			f.fault("bad-reference", true, n.line, where, "names channel %d of type %v, and the threadblock has %d", x, o.Type, len(ids))
			continue
		}
		if ids[x] >= 0 {
			o.Channels = append(o.Channels, ids[x])
		}
	}
	o.Src, o.Dst = r.refs(s, o, r.get(n, "src_buff"), "src_buff", where), r.refs(s, o, r.get(n, "dst_buff"), "dst_buff", where)
	if t := r.get(n, "tbg_info"); t != nil {
		o.Part, o.Parts = int(r.whole(r.need(t, "tb_id"), "tb_id", 0, 0, math.MaxInt32)), int(r.whole(r.need(t, "tbg_size"), "tbg_size", 1, 1, math.MaxInt32))
		if o.Part >= o.Parts {
			f.fault("bad-reference", true, t.line, where, "is part %d of %d", o.Part, o.Parts)
			o.Part = o.Parts - 1
		}
	}
	if x := r.get(n, "reduce_op"); x != nil {
		switch name := r.text(x, "reduce_op"); name {
		case "sum", "":
		case "max", "min":
			o.Max, o.Min = name == "max", name == "min"
			f.fault("kernel-departs", false, n.line, where, "reduce_op is %s, which the kernel does not read: it adds", name)
		default:
			f.refuse(x.line, "%s: reduce_op %q", where, name)
		}
	}
	switch o.Name {
	case "barrier":
		o.Barrier, o.Blocks = int(r.whole(r.need(n, "barrier_id"), "barrier_id", 0, 0, math.MaxInt32)), int(r.whole(r.need(n, "num_threadblocks"), "num_threadblocks", 1, 0, math.MaxInt32))
	case "sem_acquire", "sem_release":
		o.Sems = r.wholes(r.need(n, "semaphore_ids"), "semaphore_ids", 0, math.MaxInt32)
		for i, x := range o.Sems {
			if have := len(f.GPUs[s.gpu].Semaphores); x >= have {
				f.fault("bad-reference", true, n.line, where, "names semaphore %d, and the rank has %d", x, have)
				o.Sems = o.Sems[:i]
				break
			}
		}
	case "pipeline":
		c := r.need(n, "iter_context")
		o.Unit, o.Chunks = r.whole(r.need(c, "unit_size"), "unit_size", 1, 1, maxUnit), int(r.whole(r.need(c, "num_chunks"), "num_chunks", 1, 1, maxChunks))
		o.Ops = r.ops(s, r.list(r.need(n, "ops"), "ops"), true)
	}
}

// refs reads references of v2.
func (r *reader) refs(s *scope, o *Op, n *node, key, where string) []Ref {
	var all []Ref
	for _, e := range r.list(n, key) {
		x := Ref{Rank: s.gpu, Index: int(r.whole(r.need(e, "index"), "index", 0, 0, maxChunks)), Size: int(r.whole(r.need(e, "size"), "size", 1, 0, maxChunks))}
		switch {
		case e.has("buffer_id"):
			id := int(r.whole(r.get(e, "buffer_id"), "buffer_id", 0, 0, math.MaxInt32))
			x.Remote = true
			if have := s.remotes[o.Type]; id < len(have) && have[id].rank >= 0 {
				x.Rank, x.Buffer = have[id].rank, have[id].buffer
			} else {
				s.f.fault("bad-reference", true, e.line, where, "names remote buffer %d for access by %v, and the threadblock has %d", id, o.Type, len(have))
				continue
			}
		case e.has("switch_channel_id"):
			id := int(r.whole(r.get(e, "switch_channel_id"), "switch_channel_id", 0, 0, math.MaxInt32))
			have := s.ids[Switch]
			if id >= len(have) || have[id] < 0 {
				s.f.fault("bad-reference", true, e.line, where, "names switch channel %d, and the threadblock has %d", id, len(have))
				continue
			}
			x.Rank, x.Channel, x.Buffer = -1, have[id], s.f.GPUs[s.gpu].Channels[have[id]].Buffer
		default:
			x.Buffer = r.buffer(r.need(e, "type"), "type")
		}
		all = append(all, x)
	}
	return all
}

// opV1 reads what an operation of v1 says into the terms of v2.
func (r *reader) opV1(s *scope, o *Op, n *node, where string) {
	f := s.f
	if c := r.get(n, "ctype"); c != nil {
		kind, ok := r.channelType(c, "ctype")
		if !ok {
			f.refuse(c.line, "%s: a channel of type %q", where, r.text(c, "ctype"))
		}
		o.Type = kind
	}
	count := int(r.whole(r.get(n, "cnt"), "cnt", 0, 0, maxChunks))
	field := func(key string) byte { return r.buffer(r.need(n, key), key) }
	local := func(buff, off string) Ref {
		return Ref{Buffer: field(buff), Rank: s.gpu, Index: int(r.whole(r.need(n, off), off, 0, 0, maxChunks)), Size: count}
	}
	list := func(key string) []Ref {
		var all []Ref
		for _, e := range r.list(r.get(n, key), key) {
			all = append(all, Ref{Buffer: r.buffer(r.need(e, "buff"), "buff"), Rank: s.gpu, Index: int(r.whole(r.need(e, "off"), "off", 0, 0, maxChunks)), Size: count})
		}
		return all
	}
	// far reads channels with offsets at their other ends.
	far := func(cids, buff, side string) []Ref {
		var all []Ref
		if !n.has(cids) {
			return nil
		}
		t := [2]byte{}
		if o.Type != Switch {
			b := r.need(n, buff)
			t = [2]byte{r.buffer(r.need(b, "src"), "src"), r.buffer(r.need(b, "dst"), "dst")}
		} else {
			b := field(side)
			t = [2]byte{b, b}
		}
		for _, e := range r.list(r.get(n, cids), cids) {
			id := int(r.whole(r.need(e, "id"), "id", 0, 0, math.MaxInt32))
			have := s.v1[t][o.Type]
			if id >= len(have) || have[id] < 0 {
				f.fault("bad-reference", true, e.line, where, "names channel %d of type %v from %c to %c, and the threadblock has %d", id, o.Type, t[0], t[1], len(have))
				continue
			}
			c := &f.GPUs[s.gpu].Channels[have[id]]
			x := Ref{Buffer: t[1], Rank: c.Peer, Remote: true, Index: int(r.whole(r.get(e, "off"), "off", 0, 0, maxChunks)), Size: count}
			if o.Type == Switch {
				x.Rank, x.Remote, x.Channel = -1, false, have[id]
				x.Index = int(r.whole(r.need(n, strings.TrimSuffix(side, "buff")+"off"), "off", 0, 0, maxChunks))
			}
			o.Channels = append(o.Channels, have[id])
			all = append(all, x)
		}
		return all
	}
	switch o.Name {
	case "barrier":
		o.Barrier, o.Blocks = int(r.whole(r.need(n, "barrier_id"), "barrier_id", 0, 0, math.MaxInt32)), int(r.whole(r.need(n, "nthread_blocks"), "nthread_blocks", 1, 0, math.MaxInt32))
	case "signal", "flush":
		far("o_cids", "o_buff", "dstbuff")
	case "wait":
		far("i_cids", "i_buff", "srcbuff")
	case "put", "pws", "pwsf", "ppkt":
		o.Src, o.Dst = list("srcs"), far("o_cids", "o_buff", "dstbuff")
	case "get":
		o.Src, o.Dst = far("i_cids", "i_buff", "srcbuff"), list("dsts")
	case "copy", "upkt", "cpkt":
		o.Src, o.Dst = []Ref{local("srcbuff", "srcoff")}, []Ref{local("dstbuff", "dstoff")}
	case "re", "repkt", "res", "respkt":
		o.Src = append([]Ref{local("srcbuff", "srcoff")}, list("srcs")...)
		o.Dst = append([]Ref{local("dstbuff", "dstoff")}, far("o_cids", "o_buff", "dstbuff")...)
	case "rre", "rres":
		o.Src = append([]Ref{local("srcbuff", "srcoff")}, far("i_cids", "i_buff", "srcbuff")...)
		o.Dst = append([]Ref{local("dstbuff", "dstoff")}, far("o_cids", "o_buff", "dstbuff")...)
	case "rppkt":
		o.Src, o.Dst = list("srcs"), far("o_cids", "o_buff", "dstbuff")
	case "glres":
		o.Src, o.Dst = far("i_cids", "i_buff", "srcbuff"), far("o_cids", "o_buff", "dstbuff")
	}
}

// limits finds what does not fit the executor's arrays, which it writes past.
func (f *File) limits(o *Op, where string) {
	over := func(n, room int, what string) {
		if n > room {
			f.fault("runtime-limit", true, o.Line, where, "has %d %s, and the executor has room for %d", n, what, room)
		}
	}
	over(len(o.Src), 10, "sources")
	over(len(o.Dst), 10, "destinations")
	if o.Name == "signal" || o.Name == "wait" || o.Name == "rlxsignal" || o.Name == "rlxwait" {
		if len(o.Channels) > 8 {
			f.fault("kernel-departs", false, o.Line, where, "has %d channels, and the executor has room for 8: it writes past it, and reads them back from there", len(o.Channels))
		}
		over(len(o.Channels), 16, "channels")
	} else {
		over(len(o.Channels), 8, "channels")
	}
	over(len(o.Sems), 16, "semaphores")
	if o.Name == "barrier" {
		over(o.Barrier+1, 16, "barriers before and at the one that it names")
	}
}

// shape is what an operation must refer to: how many of each at least, and of what kind.
// L is local, R remote, S a switch; a capital alone is one, with a star any number.
var shapes = map[string]struct{ src, dst string }{
	"put": {"L+", "R+"}, "pws": {"L+", "R+"}, "pwsf": {"L+", "R+"}, "get": {"R+", "L+"}, "copy": {"L", "L"},
	"re": {"LL+", "L"}, "res": {"LL+", "LR+"}, "rre": {"LR+", "L"}, "rres": {"LR+", "LR+"},
	"cpkt": {"L", "L"}, "upkt": {"L", "L"}, "ppkt": {"L+", "R+"}, "rppkt": {"L", "R+"},
	"repkt": {"LL+", "L"}, "respkt": {"LL+", "LR+"}, "recpkt": {"LL+", "LL"}, "recspkt": {"LL+", "LLR+"},
	"glres": {"S", "S"}, "gstore": {"L", "S"}, "gstorepkt": {"L", "S"},
}

// fits reports whether references are of a shape.
func fits(shape string, refs []Ref) bool {
	i := 0
	is := func(k byte) bool {
		if i >= len(refs) {
			return false
		}
		switch x := refs[i]; k {
		case 'S':
			return x.Rank < 0
		case 'R':
			return x.Remote
		default:
			return x.Rank >= 0 && !x.Remote
		}
	}
	for p := 0; p < len(shape); p++ {
		if shape[p] == '+' {
			for is(shape[p-1]) {
				i++
			}
			continue
		}
		if !is(shape[p]) {
			return false
		}
		i++
	}
	return i == len(refs)
}

// aligned checks what the operations refer to.
func (f *File) aligned() {
	for g := range f.GPUs {
		for b := range f.GPUs[g].Blocks {
			f.each(f.GPUs[g].Blocks[b].Ops, func(i int, o *Op) {
				where := fmt.Sprintf("%s op %d (%s)", place(g, f.GPUs[g].Blocks[b].ID), i, o.As)
				s, data := shapes[o.Name]
				if !data {
					return
				}
				if !fits(s.src, o.Src) || !fits(s.dst, o.Dst) {
					f.fault("bad-reference", true, o.Line, where, "has %s and %s, want sources %s and destinations %s (L local, R remote, S switch, + one or more)", kinds(o.Src), kinds(o.Dst), s.src, s.dst)
					o.Name = "nop"
					return
				}
				paired := o.Name == "put" || o.Name == "pws" || o.Name == "pwsf" || o.Name == "get" || o.Name == "ppkt"
				if paired && len(o.Src) != len(o.Dst) {
					f.fault("bad-reference", true, o.Line, where, "has %d sources and %d destinations", len(o.Src), len(o.Dst))
					o.Name = "nop"
					return
				}
				for k, x := range slices.Concat(o.Src, o.Dst) {
					want := o.Src[0].Size
					if paired {
						want = o.Dst[k%len(o.Dst)].Size
					}
					if x.Size != want {
						f.fault("bad-reference", true, o.Line, where, "moves %d chunks from or to %d", want, x.Size)
						o.Name = "nop"
						return
					}
				}
			})
		}
	}
}

func kinds(refs []Ref) string {
	text := ""
	for _, x := range refs {
		switch {
		case x.Rank < 0:
			text += "S"
		case x.Remote:
			text += "R"
		default:
			text += "L"
		}
	}
	if text == "" {
		return "none"
	}
	return text
}

// each visits operations, and those in pipelines, with the number of the outer one.
func (f *File) each(ops []Op, visit func(int, *Op)) {
	for i := range ops {
		visit(i, &ops[i])
		for j := range ops[i].Ops {
			visit(i, &ops[i].Ops[j])
		}
	}
}
