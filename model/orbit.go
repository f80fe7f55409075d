package model

import "fmt"

// Orbit is a schedule of an allgather, reduce-scatter, allreduce or all-to-all in which all
// ranks do the same: what rank 0 does, translated by the elements of an abelian group
// Z_a × Z_b × ..., which are the ranks, numbered with the last coordinate fastest. It
// states ranks·turns transfers in little room.
type Orbit struct {
	Sides  []int   // a, b, ...
	Routes [][]int // from rank 0 to another: a link, or one to a switch and one from it
	Turns  []Turn  // in order of Start
}

// Turn is a transfer of every rank. Rank 0 sends over a route, from Start on and as long as
// it takes, a chunk: of those that rank Owner owns that with number Part (see Parts). Rank v
// sends over the translate of that route (see Translations) that of rank Owner + v.
type Turn struct {
	Route, Owner, Part int32
	Op                 Op
	Start              Time // in rounds: the round
}

// Add returns the sum of two ranks as elements of the group, in O(len(Sides)).
func (o *Orbit) Add(u, v int) int { return o.combine(u, v, 1) }

// Sub returns their difference.
func (o *Orbit) Sub(u, v int) int { return o.combine(u, v, -1) }

func (o *Orbit) combine(u, v, sign int) int {
	sum, stride := 0, 1
	for i := len(o.Sides) - 1; i >= 0; i-- {
		a := o.Sides[i]
		sum += (u%a + sign*(v%a) + a) % a * stride
		u, v, stride = u/a, v/a, stride*a
	}
	return sum
}

// Validate reports the first thing that makes o meaningless for p: a collective that is not
// the same for all ranks, a group that is not the ranks, ranks that own different numbers
// of chunks, routes or turns that name what does not exist or are not in order. p must
// be valid and have chunks. It takes O(turns + chunks).
func (o *Orbit) Validate(p *Problem) error {
	if p.Chunks == nil {
		return ErrNoChunks
	}
	switch p.Collective.Kind {
	case AllGather, ReduceScatter, AllReduce, AllToAll:
	default:
		return wrong("collective", "%v, want allgather, reducescatter, allreduce or alltoall", p.Collective)
	}
	if p.Collective.Group != nil {
		return wrong("collective", "%v among some, want it among all ranks in their order", p.Collective)
	}
	n, product := p.Topology.Ranks, 1
	for i, a := range o.Sides {
		if a < 2 || a > n || product > n {
			return wrong(Element("sides", i), "%d, want 2 or more, with a product of %d", a, n)
		}
		product *= a
	}
	if product != n {
		return wrong("sides", "their product is %d, want as many as there are ranks, %d", product, n)
	}
	if err := o.validateRoutes(p.Topology); err != nil {
		return err
	}
	parts, err := o.parts(p)
	if err != nil {
		return err
	}
	before := Time(0)
	for i, t := range o.Turns {
		place := func() string { return Element("turns", i) }
		switch {
		case t.Route < 0 || int(t.Route) >= len(o.Routes):
			return wrong(place(), "route %d does not exist, want 0 to %d", t.Route, len(o.Routes)-1)
		case t.Owner < 0 || int(t.Owner) >= n:
			return wrong(place(), "rank %d does not exist, want 0 to %d", t.Owner, n-1)
		case t.Part < 0 || int(t.Part) >= len(parts)/n:
			return wrong(place(), "part %d does not exist, want 0 to %d", t.Part, len(parts)/n-1)
		case t.Op > Reduction:
			return wrong(place(), "operation %v does not exist, want copy or reduce", t.Op)
		case t.Start < before:
			return wrong(place(), "starts at %d after one that starts at %d, want order of starts", int64(t.Start), int64(before))
		case t.Start >= MaxEnd/2:
			return wrong(place(), "starts at %d, want a start below %d", int64(t.Start), int64(MaxEnd/2))
		}
		before = t.Start
	}
	return nil
}

func (o *Orbit) validateRoutes(t *Topology) error {
	for i, route := range o.Routes {
		place := Element("routes", i)
		for _, l := range route {
			if l < 0 || l >= len(t.Links) {
				return wrong(place, "link %d does not exist, want 0 to %d", l, len(t.Links)-1)
			}
		}
		if len(route) != 1 && len(route) != 2 {
			return wrong(place, "%d links, want one, or two over a switch", len(route))
		}
		from, to := t.Links[route[0]], t.Links[route[len(route)-1]]
		if from.Src != 0 || !t.IsRank(to.Dst) || to.Dst == 0 || len(route) == 2 && (t.IsRank(from.Dst) || to.Src != from.Dst) {
			return wrong(place, "links %v, want what leads from rank 0 to another, alone or over a switch", route)
		}
	}
	return nil
}

// parts returns the chunks of each rank, one rank after the other.
func (o *Orbit) parts(p *Problem) ([]int32, error) {
	n := p.Topology.Ranks
	if len(p.Chunks)%n != 0 || p.Collective.Kind == AllToAll && len(p.Chunks)/n%n != 0 {
		return nil, wrong("chunks", "%d, want as many for each of %d ranks", len(p.Chunks), n)
	}
	each := len(p.Chunks) / n
	groups, size := n, each // of chunks that must have as many each, one after the other
	if p.Collective.Kind == AllToAll {
		groups, size = n*n, each/n
	}
	parts := make([]int32, len(p.Chunks))
	count := make([]int32, groups)
	for k := range p.Chunks {
		g := 0
		switch from, to := p.Owner(k); p.Collective.Kind {
		case AllGather:
			g = from
		case ReduceScatter:
			g = to
		case AllToAll:
			g = from*n + o.Sub(to, from)
		default:
			g = k / each
		}
		if int(count[g]) == size {
			return nil, wrong("chunks", "rank %d owns more than %d, want as many for each", g*size/each, each)
		}
		parts[g*size+int(count[g])] = int32(k)
		count[g]++
	}
	return parts, nil
}

// Parts returns the chunks that each rank owns in their order: rank r's parts are those from
// r·each on. In an allgather a rank owns what it contributes, in a reduce-scatter what it
// must have at the end, in an allreduce one of as many runs of chunks as there are ranks, and
// in an all-to-all what it sends, by the difference of the receiver, a member of the group,
// to it. Translation by w takes a part of rank r to that of rank r + w with the same number.
// o must be valid for p. It takes O(chunks).
func (o *Orbit) Parts(p *Problem) (parts []int32, each int) {
	parts, err := o.parts(p)
	if err != nil {
		return nil, 0
	}
	return parts, len(parts) / p.Topology.Ranks
}

// Last returns the latest end of a transfer, in rounds the number of rounds. o must be valid
// for p. It takes O(turns + chunks).
func (o *Orbit) Last(p *Problem) Time {
	largest := o.largest(p)
	last := Time(0)
	for _, t := range o.Turns {
		end := t.Start + 1
		if !p.Cost.Synchronous() {
			end = t.Start.Add(p.Topology.Duration(o.Routes[t.Route], largest[t.Part]))
		}
		last = max(last, end)
	}
	return last
}

// largest returns for each part the size of the largest chunk with that number.
func (o *Orbit) largest(p *Problem) []int64 {
	parts, each := o.Parts(p)
	largest := make([]int64, each)
	for i, k := range parts {
		largest[i%each] = max(largest[i%each], p.Chunks[k].Size)
	}
	return largest
}

// Transfers returns how many transfers o states.
func (o *Orbit) Transfers() int64 {
	n := int64(1)
	for _, a := range o.Sides {
		n *= int64(a)
	}
	return n * int64(len(o.Turns))
}

// maxExpanded is how many links the routes of an Expander have at most.
const maxExpanded = 1 << 25

// Expander lists the transfers of an Orbit, in order of their starts.
type Expander struct {
	p          *Problem
	o          *Orbit
	n, each    int
	parts      []int32
	routes     [][]int
	lasts      map[lasting]Time
	turn, rank int // the next one's
}

// lasting is what a duration depends on.
type lasting struct {
	route int32
	size  int64
}

// Expand returns what lists the transfers of o for p. It takes O(links · sides + chunks +
// ranks · routes).
func (o *Orbit) Expand(p *Problem) (*Expander, error) {
	if err := o.Validate(p); err != nil {
		return nil, err
	}
	x := &Expander{p: p, o: o, n: p.Topology.Ranks, lasts: map[lasting]Time{}}
	x.parts, x.each = o.Parts(p)
	moved, err := o.Translations(p.Topology)
	if err != nil {
		return nil, err
	}
	links := 0
	for _, route := range o.Routes {
		links += x.n * len(route)
	}
	if links > maxExpanded {
		return nil, fmt.Errorf("%d routes of each of %d ranks, want at most %d links in all", len(o.Routes), x.n, maxExpanded)
	}
	flat := make([]int, 0, links)
	x.routes = make([][]int, 0, len(o.Routes)*x.n)
	for _, route := range o.Routes {
		for v := range x.n {
			begin := len(flat)
			for _, l := range route {
				flat = append(flat, moved.Link(l, v))
			}
			x.routes = append(x.routes, flat[begin:len(flat):len(flat)])
		}
	}
	return x, nil
}

// Routes returns the routes of the transfers: the translate of route i by rank v has the
// number i·ranks + v.
func (x *Expander) Routes() [][]int { return x.routes }

// Next fills batch with the next transfers and returns how many there were, 0 at the end.
func (x *Expander) Next(batch []Transfer) int {
	n := 0
	row := x.o.Sides[len(x.o.Sides)-1]
	for n < len(batch) && x.turn < len(x.o.Turns) {
		t := &x.o.Turns[x.turn]
		route := x.o.Routes[t.Route]
		step := x.p.Topology.Links[route[len(route)-1]].Dst
		first := x.rank / row * row // within a row only the last coordinate changes
		dst, owner := x.o.Add(first, step), x.o.Add(first, int(t.Owner))
		to, of := dst%row, owner%row
		dst, owner = dst-to, owner-of
		size, end := int64(-1), t.Start+1
		for last := min(first+row, x.rank+len(batch)-n); x.rank < last; x.rank++ {
			j := x.rank - first
			d, w := to+j, of+j
			if d >= row {
				d -= row
			}
			if w >= row {
				w -= row
			}
			k := x.parts[(owner+w)*x.each+int(t.Part)]
			if b := x.p.Chunks[k].Size; b != size && !x.p.Cost.Synchronous() {
				size, end = b, t.Start.Add(x.duration(t.Route, b))
			}
			batch[n] = Transfer{Chunk: k, Src: int32(x.rank), Dst: int32(dst + d), Route: t.Route*int32(x.n) + int32(x.rank), Op: t.Op, Start: t.Start, End: end}
			n++
		}
		if x.rank == x.n {
			x.turn, x.rank = x.turn+1, 0
		}
	}
	return n
}

func (x *Expander) duration(route int32, size int64) Time {
	at := lasting{route, size}
	d, known := x.lasts[at]
	if !known {
		d = x.p.Topology.Duration(x.o.Routes[route], size)
		x.lasts[at] = d
	}
	return d
}

// Schedule returns o as a schedule in memory.
func (o *Orbit) Schedule(p *Problem) (*Schedule, error) {
	x, err := o.Expand(p)
	if err != nil {
		return nil, err
	}
	s := &Schedule{Form: FormFor(p.Cost), Routes: x.routes, Transfers: make([]Transfer, o.Transfers())}
	x.Next(s.Transfers)
	return s, nil
}
