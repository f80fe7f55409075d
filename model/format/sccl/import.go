package sccl

import (
	"fmt"

	"github.com/oraccl/oraccl/model"
)

// Truth is what the schedule of a file is to be judged by.
type Truth struct {
	Topology *model.Topology // nil: the links that the file states
	// Collective is what it must perform; nil: what the file names, or, if that has no
	// standard name, what it writes out.
	Collective *model.Collective
	Chunks     int   // addresses a shard, or a rank for allreduce; 0: as the file implies
	Size       int64 // bytes, as in model.Problem; 0: 8 MiB
}

// Import puts the file into our terms: rounds of the cost model model.LinkRounds, each
// send on a direct link or over switches. The file does not say which way, nor in which
// round of a step: what the links can carry in some way, and in some order, is right.
// Import fails where the truth does not fit the file at all.
func (f *File) Import(truth Truth) (*model.Imported, error) {
	b := &builder{f: f, arrived: map[slot]bool{}, m: &model.Imported{Tool: Tool, Schedule: &model.Schedule{Form: model.InRounds}}}
	p := &model.Problem{Topology: truth.Topology, Cost: model.LinkRounds, Size: truth.Size}
	b.m.Problem, b.own = p, truth.Topology == nil
	if b.own {
		t, err := f.Topology()
		if err != nil {
			return nil, err
		}
		p.Topology = t
		b.m.Notes.Add(model.Fact, "the links are those that the file states for %q", f.Network)
		t.Notes.Add(model.Assumed, "%v and 50 GiB/s for each link: the file has how many sends pass in a round", model.Time(nominalAlpha))
	}
	if n := len(f.Links); n > p.Topology.Ranks {
		return nil, fmt.Errorf("the file has %d nodes, %s has %d ranks", n, p.Topology.Name, p.Topology.Ranks)
	}
	if err := b.collective(truth); err != nil {
		return nil, err
	}
	b.compare()
	b.values()
	if err := b.cut(truth.Chunks); err != nil {
		return nil, err
	}
	b.sends()
	if b.own {
		b.switches()
	}
	b.m.Source = func(i int) string { return b.from[i] }
	return b.m, nil
}

type builder struct {
	f   *File
	m   *model.Imported
	own bool // the topology is the file's

	custom    bool // the collective is written out in the file
	composed  bool // an allreduce in which a complete sum overwrites a partial one
	addresses int  // those that the collective has
	ops       [][]model.Op
	from      []string // of each transfer
	arrived   map[slot]bool
}

// name names a send of the file as its reader counts, from 1.
func (b *builder) name(step, send int) string {
	s := b.f.Steps[step].Sends[send]
	return fmt.Sprintf("step %d, send %d: [%d, %d, %d]", step+1, send+1, s.Addr, s.Src, s.Dst)
}

func (b *builder) collective(truth Truth) error {
	named, standard := b.f.Performs()
	switch {
	case truth.Collective != nil:
		b.m.Problem.Collective = *truth.Collective
		if standard && named.Kind != truth.Collective.Kind {
			b.m.Notes.Add(model.Fact, "the file says that it performs %v", named)
		}
	case standard:
		b.m.Problem.Collective = named
	default:
		c, err := b.writtenOut()
		if err != nil {
			return err
		}
		b.m.Problem.Collective = c
		b.custom = true
		b.m.Notes.Add(model.Fact, "what must be where is what the file states for %q", b.f.Collective.Name)
	}
	return nil
}

// compare notes where the file states other links than there are.
func (b *builder) compare() {
	t := b.m.Problem.Topology
	if b.own || len(t.Switches) > 0 {
		return
	}
	count := map[[2]int]int{}
	for _, l := range t.Links {
		count[[2]int{l.Src, l.Dst}]++
	}
	for dst, row := range b.f.Links {
		for src, n := range row {
			if m := count[[2]int{src, dst}]; m != n {
				b.m.Notes.Add(model.Fact, "the file says that %d sends a round go from node %d to node %d; %s has %d links there", n, src, dst, t.Name, m)
				return
			}
		}
	}
}

// writtenOut returns the collective that the file describes contribution by contribution.
// A contribution is known by the first node that holds it.
func (b *builder) writtenOut() (model.Collective, error) {
	c := model.Collective{Kind: model.Custom}
	pre, post := map[slot][]model.Term{}, map[slot][]model.Term{}
	owner := map[slot]bool{} // rank that names a contribution, and address
	for i, part := range b.f.Collective.Parts {
		if len(part.Pre) == 0 {
			return c, fmt.Errorf("collective: chunk %d is nowhere at first, want it at a node", i)
		}
		id := part.Pre[0]
		if owner[slot{id, part.Addr}] {
			return c, fmt.Errorf("collective: node %d has two contributions to address %d; such a collective is not read", id, part.Addr)
		}
		owner[slot{id, part.Addr}] = true
		c.Chunks = max(c.Chunks, part.Addr+1)
		for _, r := range part.Pre {
			pre[slot{r, part.Addr}] = append(pre[slot{r, part.Addr}], model.Term{Rank: id, Count: 1})
		}
		for _, r := range part.Post {
			post[slot{r, part.Addr}] = append(post[slot{r, part.Addr}], model.Term{Rank: id, Count: 1})
		}
	}
	for s, terms := range pre {
		c.Pre = append(c.Pre, model.Condition{Rank: s.rank, Chunk: s.addr, Value: model.Multiset(terms...)})
	}
	for s, terms := range post {
		c.Post = append(c.Post, model.Condition{Rank: s.rank, Chunk: s.addr, Value: model.Multiset(terms...)})
	}
	model.SortConditions(c.Pre)
	model.SortConditions(c.Post)
	return c, nil
}

// cut finds out how many addresses the collective has, and gives the problem its chunks.
func (b *builder) cut(asked int) error {
	p := b.m.Problem
	k := b.f.Chunks
	if asked > 0 {
		k = asked
	}
	most := b.used()
	switch {
	case b.custom:
		b.addresses = p.Collective.Chunks
	case p.Collective.Kind == model.AllReduce && asked == 0 && !b.composed:
		b.addresses = max(k, most)
	default:
		if int64(k)*int64(p.DefaultChunks(1)) > model.MaxChunks {
			return fmt.Errorf("%d chunks a shard: more than %d addresses in all", k, model.MaxChunks)
		}
		b.addresses = p.DefaultChunks(k)
		if b.composed && asked == 0 {
			b.m.Notes.Add(model.Fact, "an allreduce composed of a reduce-scatter and an all-gather with C = %d has %d addresses; the file's collective names %d",
				k, b.addresses, b.named())
		}
	}
	if b.addresses > model.MaxChunks {
		return fmt.Errorf("%d addresses, want at most %d", b.addresses, model.MaxChunks)
	}
	if p.Size == 0 {
		p.Size = max(8<<20, int64(b.addresses))
		b.m.Notes.Add(model.Assumed, "%d bytes: the file has no size; --size sets it", p.Size)
	}
	if p.Space() < int64(b.addresses) {
		return fmt.Errorf("%d bytes for %d addresses, want at least one byte each", p.Space(), b.addresses)
	}
	p.Chunks = p.Cut(b.addresses)
	return p.Validate()
}

// used returns how many addresses the sends need.
func (b *builder) used() int {
	n := 0
	for _, s := range b.f.Steps {
		for _, send := range s.Sends {
			n = max(n, send.Addr+1)
		}
	}
	return n
}

// named returns how many addresses the file's collective has.
func (b *builder) named() int {
	seen := map[int]bool{}
	for _, part := range b.f.Collective.Parts {
		seen[part.Addr] = true
	}
	return len(seen)
}

// chunk returns the chunk of an address. Only alltoall counts differently: address
// (d·n+s)·C+i goes from s to d.
func (b *builder) chunk(addr int) int {
	if b.m.Problem.Collective.Kind != model.AllToAll {
		return addr
	}
	n := len(b.m.Problem.Members())
	per := b.addresses / (n * n)
	pair := addr / per
	return ((pair%n)*n+pair/n)*per + addr%per
}

// sends makes the transfers.
func (b *builder) sends() {
	p, s := b.m.Problem, b.m.Schedule
	net := newLanes(p.Topology)
	ids := map[string]int32{} // of routes
	first := 0                // round
	for i, step := range b.f.Steps {
		var sends []int
		var ends [][2]int
		for j, send := range step.Sends {
			switch {
			case send.Addr >= b.addresses:
				b.m.Object("malformed", b.name(i, j), fmt.Sprintf("address %d does not exist, want 0 to %d", send.Addr, b.addresses-1))
			case len(net.choices(send.Src, send.Dst).ways) == 0 && !net.choices(send.Src, send.Dst).all:
				b.m.Undecided = fmt.Sprintf("%s: %s has no way from rank %d to rank %d of at most %d links; longer ones are not looked for", b.name(i, j), p.Topology.Name, send.Src, send.Dst, maxLinks)
			case len(net.choices(send.Src, send.Dst).ways) == 0:
				b.m.Object("no-such-link", b.name(i, j), fmt.Sprintf("%s has no link from rank %d to rank %d, nor a way over switches", p.Topology.Name, send.Src, send.Dst))
			default:
				sends = append(sends, j)
				ends = append(ends, [2]int{send.Src, send.Dst})
			}
		}
		chosen, can := net.fit(ends, step.Rounds)
		routes := net.pickLinks(chosen)
		rounds, fit := net.spread(routes, step.Rounds)
		if can == impossible {
			b.m.Notes.Add(model.Fact, "step %d: whatever their ways and rounds, its links cannot carry %d sends in %d rounds", i+1, len(sends), step.Rounds)
		}
		if b.m.Undecided == "" && (can == unknown || can == fits && !fit) {
			b.m.Undecided = fmt.Sprintf("step %d: no ways over the switches, and rounds among its %d, were found for its %d sends that the links can carry, though there may be some", i+1, step.Rounds, len(sends))
		}
		b.order(i, sends, rounds)
		for x, j := range sends {
			send := step.Sends[j]
			key := fmt.Sprint(routes[x])
			id, known := ids[key]
			if !known {
				id = int32(len(s.Routes))
				ids[key] = id
				s.Routes = append(s.Routes, routes[x])
			}
			at := model.Time(first + rounds[x])
			s.Transfers = append(s.Transfers, model.Transfer{Chunk: int32(b.chunk(send.Addr)), Src: int32(send.Src), Dst: int32(send.Dst),
				Route: id, Op: b.ops[i][j], Start: at, End: at + 1})
			b.from = append(b.from, b.name(i, j))
		}
		first += step.Rounds
	}
}

type slot struct{ rank, addr int }

// order looks for what is read in a later round of the step than it is written in: there
// the rounds would mean something else than the step does, which reads what was there
// before it. Where nothing is combined, what is overwritten stays the same.
func (b *builder) order(step int, sends, rounds []int) {
	written := map[slot]int{}
	for x, j := range sends {
		send := b.f.Steps[step].Sends[j]
		key := slot{send.Dst, send.Addr}
		if at, also := written[key]; !also || rounds[x] < at {
			written[key] = rounds[x]
		}
	}
	combines := b.m.Problem.Collective.Reduces()
	for x, j := range sends {
		send := b.f.Steps[step].Sends[j]
		key := slot{send.Src, send.Addr}
		switch at, also := written[key]; {
		case !also || at >= rounds[x]:
		case combines && b.m.Undecided == "":
			b.m.Undecided = fmt.Sprintf("%s: reads what the same step overwrites, and the file does not say in which of its %d rounds", b.name(step, j), b.f.Steps[step].Rounds)
		case !combines && !b.holds(key):
			b.m.Object("send-undefined", b.name(step, j), fmt.Sprintf("rank %d holds nothing of address %d before the step", send.Src, send.Addr))
		}
	}
	for key := range written {
		b.arrived[key] = true
	}
}

// holds reports whether a node holds an address, from the start or since a step before.
func (b *builder) holds(s slot) bool {
	if b.arrived[s] {
		return true
	}
	for r := range b.m.Problem.Start(b.chunk(s.addr)) {
		if r == s.rank {
			return true
		}
	}
	return false
}

// switches checks the bandwidths that the file's topology has beside its links: in no step
// may more sends share one than it has rounds times its bandwidth.
func (b *builder) switches() {
	for _, g := range b.f.Switches {
		src, dst := map[int]bool{}, map[int]bool{}
		for _, r := range g.Srcs {
			src[r] = true
		}
		for _, r := range g.Dsts {
			dst[r] = true
		}
		for i, step := range b.f.Steps {
			n := 0
			for _, send := range step.Sends {
				if src[send.Src] && dst[send.Dst] {
					n++
				}
			}
			if n > g.Bandwidth*step.Rounds {
				b.m.Object("port-overload", fmt.Sprintf("step %d", i+1), fmt.Sprintf("%d sends share the bandwidth of %q, want at most %d in %d rounds", n, g.Name, g.Bandwidth*step.Rounds, step.Rounds))
			}
		}
	}
}
