package bound

import (
	"fmt"
	"slices"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve"
)

// finder is a problem with what the search for bounds asks of it again and again.
type finder struct {
	budget  *solve.Budget // of the search under way: when it is spent, the best so far is the answer
	p       *model.Problem
	t       *model.Topology
	members []int
	out, in [][]int
	lead    []model.Time // least latency from any rank over switches, by node
	tail    []model.Time // the same to any rank
	portOf  []int        // by link, -1 for none
	copies  bool         // some switch does
	adds    bool         // some switch does
	groups  []group      // scratch of doneBy, by port
	used    []int        // and the ports that are in use there
	parted  [][]int      // the parts that partition found, nil for none

	// A standard collective has at first each contribution where it comes from and
	// nowhere else. So a part goes from one rank, or from every member, to one rank,
	// or to every member. So is a custom collective that asks the same of all its parts.
	kind           model.Kind // a standard one with parts as these, though of other sizes; else Custom
	fromAll, toAll bool
	custom         []conditions // by part; nil unless kind is Custom
	parts          []part
	shapes         []shape
	bySrc, byDst   [][]int32 // by rank: parts that go from, or to, it
	free           bool      // the cut is free: only the bytes of a part are known
}

// part is what a problem is made of: a shard with the chunks that it is cut into, or
// a chunk of a custom collective.
type part struct {
	src, dst int32 // where it goes from and to, if that is one rank
	shape    int32
	first    int32 // its first chunk, or its number where there are no chunks
}

// shape is what the chunks of a part look like; most parts look the same.
type shape struct {
	sizes  []sized
	chunks int64
	bytes  int64
	least  int64 // bytes of the smallest piece: of a chunk, or 1 where the cut is free
	most   int64 // bytes of the largest piece that there surely is
}

// sized is a number of chunks of a size.
type sized struct{ size, n int64 }

// conditions are the pre- and postcondition of a part of a custom collective.
type conditions struct {
	src, dst  []int
	pre, post []model.Value
}

// newFinder returns a finder, or nil if the budget is spent before it is ready.
func newFinder(budget *solve.Budget, p *model.Problem) *finder {
	f := &finder{budget: budget, p: p, t: p.Topology, members: p.Members(), out: p.Topology.Out(), in: p.Topology.In()}
	f.free = p.Chunks == nil && p.Collective.Cuttable()
	f.makeParts()
	f.makeShapes()
	if f.budget.Spent() {
		return nil
	}
	zero := make([]model.Time, f.t.Ranks)
	f.lead = f.reach(zero, 0, false, false).head
	f.tail = f.reach(zero, 0, true, false).head
	f.portOf = slices.Repeat([]int{-1}, len(f.t.Links))
	for i, port := range f.t.Ports {
		for _, l := range port.Links {
			if f.portOf[l] < 0 {
				f.portOf[l] = i
			}
		}
	}
	f.groups = make([]group, max(len(f.t.Ports), f.t.Ranks))
	f.copies = slices.ContainsFunc(f.t.Switches, func(s model.Switch) bool { return s.Copies })
	_, f.adds = f.t.Reducer()
	return f
}

func (f *finder) makeParts() {
	c := &f.p.Collective
	f.parts = make([]part, f.p.Shards())
	f.bySrc, f.byDst = make([][]int32, f.t.Ranks), make([][]int32, f.t.Ranks)
	f.kind = c.Kind
	n := len(f.members)
	shards := f.p
	if len(f.p.Chunks) > len(f.parts) {
		shards = f.p.WithChunks(len(f.parts))
	}
	for s := range f.parts {
		if s&0xffff == 0 && f.budget.Spent() {
			return
		}
		q := &f.parts[s]
		q.src, q.dst = int32(c.Root), int32(c.Root)
		switch c.Kind {
		case model.Scatter, model.ReduceScatter:
			q.dst = int32(f.members[s])
		case model.Gather, model.AllGather:
			q.src = int32(f.members[s])
		case model.AllToAll:
			q.src, q.dst = int32(f.members[s/n]), int32(f.members[s%n])
		case model.Custom:
			var d conditions
			for r, v := range shards.Start(s) {
				d.src, d.pre = append(d.src, r), append(d.pre, v)
			}
			for r, v := range shards.Goal(s) {
				d.dst, d.post = append(d.dst, r), append(d.post, v)
			}
			f.custom = append(f.custom, d)
		}
	}
	if c.Kind == model.Custom {
		f.likeStandard()
	}
	f.fromAll = f.kind.Reduces()
	f.toAll = f.kind == model.Broadcast || f.kind == model.AllGather || f.kind == model.AllReduce
	for s := range f.parts {
		q := &f.parts[s]
		f.bySrc[q.src] = append(f.bySrc[q.src], int32(s))
		f.byDst[q.dst] = append(f.byDst[q.dst], int32(s))
	}
}

// likeStandard makes a custom collective one of a standard kind, if each of its parts goes from
// one rank to one, from one to all members, or is summed up from all members at one.
func (f *finder) likeStandard() {
	single := func(ranks []int, values []model.Value) (int, bool) { // one rank with its own contribution
		if len(ranks) != 1 {
			return 0, false
		}
		r, ok := values[0].Single()
		return ranks[0], ok && r == ranks[0]
	}
	every := func(ranks []int, ok func(i int) bool) bool {
		if len(ranks) != len(f.members) {
			return false
		}
		for i := range ranks {
			if !ok(i) {
				return false
			}
		}
		return true
	}
	kind := model.Custom
	for i := range f.custom {
		d, q := &f.custom[i], &f.parts[i]
		var is model.Kind
		src, moved := single(d.src, d.pre)
		same := func(k int) bool { r, ok := d.post[k].Single(); return ok && r == src }
		switch {
		case moved && len(d.dst) == 1 && same(0):
			is, q.src, q.dst = model.AllToAll, int32(src), int32(d.dst[0])
		case moved && every(d.dst, same):
			is, q.src = model.AllGather, int32(src)
		case len(d.dst) == 1 && d.post[0].Equal(model.Once(f.members)) &&
			every(d.src, func(k int) bool { r, ok := d.pre[k].Single(); return ok && r == d.src[k] }):
			is, q.dst = model.ReduceScatter, int32(d.dst[0])
		default:
			return
		}
		if i > 0 && is != kind {
			return
		}
		kind = is
	}
	f.kind, f.custom = kind, nil
}

// makeShapes counts the chunks of each part.
func (f *finder) makeShapes() {
	chunks := f.p.Chunks
	if chunks == nil {
		chunks = f.p.Cut(len(f.parts))
	}
	known := map[string]int32{}
	for k := 0; k < len(chunks) && !f.budget.Spent(); {
		s := f.shardOf(k)
		var h shape
		first := k
		for ; k < len(chunks) && f.shardOf(k) == s; k++ {
			size := chunks[k].Size
			if f.p.Chunks == nil && !f.free {
				size = 1 // of a custom chunk without a size
			}
			h.chunks++
			h.bytes += size
			if i := slices.IndexFunc(h.sizes, func(z sized) bool { return z.size == size }); i >= 0 {
				h.sizes[i].n++
			} else {
				h.sizes = append(h.sizes, sized{size, 1})
			}
		}
		h.least, h.most = h.sizes[0].size, 0
		for _, z := range h.sizes {
			h.least, h.most = min(h.least, z.size), max(h.most, z.size)
		}
		if f.free {
			h.least, h.most = 1, 1
		}
		key := fmt.Sprint(h.sizes)
		i, ok := known[key]
		if !ok {
			i = int32(len(f.shapes))
			known[key] = i
			f.shapes = append(f.shapes, h)
		}
		f.parts[s].shape, f.parts[s].first = i, int32(first)
	}
}

// shardOf returns the part that a chunk lies in.
func (f *finder) shardOf(k int) int {
	if f.p.Chunks == nil {
		return k
	}
	return f.p.Shard(k)
}

// from returns the parts that have something at a rank at first, of a standard
// collective.
func (f *finder) from(r int) []int32 { return f.some(r, f.fromAll, f.bySrc) }

// to returns the parts of which a rank needs something, of a standard collective.
func (f *finder) to(r int) []int32 { return f.some(r, f.toAll, f.byDst) }

func (f *finder) some(r int, all bool, one [][]int32) []int32 {
	switch {
	case !all:
		return one[r]
	case !slices.Contains(f.members, r):
		return nil
	}
	list := make([]int32, len(f.parts))
	for i := range list {
		list[i] = int32(i)
	}
	return list
}

// load is what must pass some links.
type load struct {
	count int64 // transfers
	bytes int64
	least int64
	sizes []sized
	known map[int64]int // index into sizes, by size
	src   []bool        // ranks that have something of it at first; nil if nobody asks
	dst   []bool        // ranks that need something of it
	since model.Time    // when its transfers can start at the earliest
}

func (f *finder) newLoad() *load {
	return &load{src: make([]bool, f.t.Ranks), dst: make([]bool, f.t.Ranks)}
}

// add adds a part, moved times times.
func (l *load) add(h *shape, times int64) {
	if l.count == 0 || h.least < l.least {
		l.least = h.least
	}
	l.count += times * h.chunks
	l.bytes += times * h.bytes
	for _, z := range h.sizes {
		i, known := l.known[z.size]
		if !known {
			if l.known == nil {
				l.known = map[int64]int{}
			}
			i = len(l.sizes)
			l.known[z.size] = i
			l.sizes = append(l.sizes, sized{size: z.size})
		}
		l.sizes[i].n += times * z.n
	}
}

func (f *finder) shape(i int32) *shape { return &f.shapes[f.parts[i].shape] }

// scope is a set of nodes with the ranks whose contributions and needs count; nil
// for all.
type scope struct {
	inside   []bool
	from, to []bool
}

// starts reports whether a contribution of rank r counts and is inside.
func (s *scope) starts(r int) bool { return s.inside[r] && (s.from == nil || s.from[r]) }

// ends reports whether a need of rank r counts and is outside.
func (s *scope) ends(r int) bool { return !s.inside[r] && (s.to == nil || s.to[r]) }

// leaving adds to l what must leave the scope's nodes.
func (f *finder) leaving(s *scope, l *load) {
	if f.custom != nil {
		for i := range f.parts {
			f.leavingCustom(s, i, l)
		}
		return
	}
	starts := slices.ContainsFunc(f.members, s.starts)
	ends := slices.ContainsFunc(f.members, s.ends)
	if f.fromAll && !starts || f.toAll && !ends {
		return
	}
	add := func(i int32) {
		q := &f.parts[i]
		if !f.fromAll && !s.starts(int(q.src)) || !f.toAll && !s.ends(int(q.dst)) {
			return
		}
		l.add(f.shape(i), 1)
		if l.src != nil {
			l.src[q.src], l.dst[q.dst] = l.src[q.src] || !f.fromAll, l.dst[q.dst] || !f.toAll
		}
	}
	f.around(s, add)
	if l.src == nil || l.count == 0 {
		return
	}
	for _, r := range f.members {
		l.src[r] = l.src[r] || f.fromAll && s.starts(r)
		l.dst[r] = l.dst[r] || f.toAll && s.ends(r)
	}
}

// around calls visit for parts among which all are that leave a scope: those from
// inside, those to outside, or all, as is least work.
func (f *finder) around(s *scope, visit func(i int32)) {
	ends := 0
	for _, r := range f.members {
		if s.ends(r) {
			ends++
		}
	}
	switch {
	case !f.toAll && (f.fromAll || 2*ends < len(f.members)):
		for _, r := range f.members {
			if s.ends(r) {
				for _, i := range f.byDst[r] {
					visit(i)
				}
			}
		}
	case !f.fromAll:
		for _, r := range f.members {
			if s.starts(r) {
				for _, i := range f.bySrc[r] {
					visit(i)
				}
			}
		}
	default:
		for i := range f.parts {
			visit(int32(i))
		}
	}
}

// leavingCustom is leaving for one part of a custom collective.
func (f *finder) leavingCustom(s *scope, i int, l *load) {
	d := &f.custom[i]
	outside, leaves := map[int]bool{}, map[int]bool{}
	for j, r := range d.src {
		for c := range d.pre[j].Terms() {
			if !s.inside[r] {
				outside[c] = true
			}
		}
	}
	for j, r := range d.dst {
		for c := range d.post[j].Terms() {
			if s.ends(r) && (s.from == nil || s.from[c]) && !outside[c] {
				leaves[c] = true
				if l.dst != nil {
					l.dst[r] = true
				}
			}
		}
	}
	if len(leaves) == 0 {
		return
	}
	l.add(f.shape(int32(i)), 1)
	for j, r := range d.src {
		for c := range d.pre[j].Terms() {
			if leaves[c] && l.src != nil {
				l.src[r] = true
			}
		}
	}
}

// unsettled reports whether a rank must end with something of part i that it does not
// have at first.
func (f *finder) unsettled(i int32, rank int) bool {
	if f.custom == nil {
		q := &f.parts[i]
		return f.fromAll && len(f.members) > 1 || !f.fromAll && int(q.src) != rank
	}
	d := &f.custom[i]
	to, at := slices.Index(d.dst, rank), slices.Index(d.src, rank)
	if to < 0 {
		return false
	}
	if at < 0 || d.pre[at].Len() != d.post[to].Len() {
		return true
	}
	counts := map[int]int{}
	for c, n := range d.pre[at].Terms() {
		counts[c] = n
	}
	for c, n := range d.post[to].Terms() {
		if counts[c] == 0 || counts[c] != n && !f.p.Collective.Op.Idempotent() {
			return true
		}
	}
	return false
}
