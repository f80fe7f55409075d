package model

import (
	"fmt"
	"slices"
)

// Orbit is a schedule of an allgather in which all ranks do the same: what rank 0 does,
// translated by the elements of an abelian group Z_a × Z_b × ..., which are the ranks,
// numbered with the last coordinate fastest. It states ranks·turns transfers in little
// room.
type Orbit struct {
	Sides []int  // a, b, ...
	Turns []Turn // in order of Start
}

// Turn is a transfer of every rank. Rank 0 sends over a link that leaves it, from Start to
// End, a chunk: of those that rank Owner owns that with number Part, in their order. Rank
// v sends over the translate of that link (see Translates) that of rank Owner + v.
type Turn struct {
	Link, Owner, Part int32
	Start, End        Time
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

// Validate reports the first thing that makes o meaningless for p: another collective
// than an allgather among all ranks, a group that is not the ranks, ranks that own
// different numbers of chunks, turns that name what does not exist or are not in order. p
// must be valid and have chunks. It takes O(turns + chunks).
func (o *Orbit) Validate(p *Problem) error {
	if p.Chunks == nil {
		return ErrNoChunks
	}
	if p.Collective.Kind != AllGather || p.Collective.Group != nil {
		return wrong("collective", "%v, want allgather among all ranks", p.Collective)
	}
	n, product := p.Topology.Ranks, 1
	for i, a := range o.Sides {
		if a < 2 || a > n || product > n {
			return wrong(element("sides", i), "%d, want 2 or more, with a product of %d", a, n)
		}
		product *= a
	}
	if product != n {
		return wrong("sides", "their product is %d, want as many as there are ranks, %d", product, n)
	}
	parts, err := o.parts(p)
	if err != nil {
		return err
	}
	before := Time(0)
	for i, t := range o.Turns {
		place := element("turns", i)
		switch {
		case t.Link < 0 || int(t.Link) >= len(p.Topology.Links) || p.Topology.Links[t.Link].Src != 0:
			return wrong(place, "link %d, want one that leaves rank 0", t.Link)
		case t.Owner < 0 || int(t.Owner) >= n:
			return wrong(place, "rank %d does not exist, want 0 to %d", t.Owner, n-1)
		case t.Part < 0 || int(t.Part) >= len(parts)/n:
			return wrong(place, "part %d does not exist, want 0 to %d", t.Part, len(parts)/n-1)
		case t.Start < before:
			return wrong(place, "starts at %d after one that starts at %d, want order of starts", int64(t.Start), int64(before))
		case t.End <= t.Start || t.End > maxEnd:
			return wrong(place, "from %d to %d, want an end after the start, of at most %d", int64(t.Start), int64(t.End), int64(maxEnd))
		case p.Cost.Synchronous() && t.End != t.Start+1:
			return wrong(place, "rounds %d to %d, want one round", int64(t.Start), int64(t.End))
		}
		before = t.Start
	}
	return nil
}

// parts returns the chunks of each rank, one rank after the other.
func (o *Orbit) parts(p *Problem) ([]int32, error) {
	n := p.Topology.Ranks
	if len(p.Chunks)%n != 0 {
		return nil, wrong("chunks", "%d, want as many for each of %d ranks", len(p.Chunks), n)
	}
	each := len(p.Chunks) / n
	parts := make([]int32, len(p.Chunks))
	count := make([]int, n)
	for k := range p.Chunks {
		r, _ := p.Owner(k)
		if count[r] == each {
			return nil, wrong("chunks", "rank %d owns more than %d, want as many for each", r, each)
		}
		parts[r*each+count[r]] = int32(k)
		count[r]++
	}
	return parts, nil
}

// Parts returns the chunks of rank r in their order, by number. o must be valid for p. It
// takes O(chunks).
func (o *Orbit) Parts(p *Problem, r int) []int32 {
	parts, err := o.parts(p)
	if err != nil {
		return nil
	}
	each := len(parts) / p.Topology.Ranks
	return parts[r*each : (r+1)*each]
}

// Translates returns for each link that leaves rank 0, in order of index, its translates
// by the rank that they leave: rank v's leads to v + w where rank 0's leads to w, is as
// quick, and of several that are alike it is that of the same place among them. An error
// names a link that has none. There are no other links then, so that every translation
// maps the links onto the links. It takes O(links).
func (o *Orbit) Translates(t *Topology) ([][]int32, error) {
	if len(t.Switches) > 0 || len(t.Ports) > 0 {
		return nil, fmt.Errorf("%s has switches or ports, want links between ranks alone", t.Name)
	}
	type key struct {
		step      int
		alpha     Time
		bandwidth int64
		copy      int
	}
	out := t.Out()
	number := map[key]int{}
	all := make([][]int32, len(out[0]))
	for v, list := range out {
		if len(list) != len(all) {
			return nil, fmt.Errorf("%d links leave rank %d, want %d as from rank 0", len(list), v, len(all))
		}
		seen := map[key]int{}
		for j, l := range list {
			k := t.Links[l]
			c := key{o.Sub(k.Dst, v), k.Alpha, k.Bandwidth, 0}
			c.copy = seen[c]
			seen[key{c.step, c.alpha, c.bandwidth, 0}]++
			if v == 0 {
				number[c] = j
				all[j] = make([]int32, t.Ranks)
			}
			i, known := number[c]
			if !known {
				return nil, fmt.Errorf("link %d from rank %d to rank %d is no translate of one that leaves rank 0", l, v, k.Dst)
			}
			all[i][v] = int32(l)
		}
	}
	return all, nil
}

// Transfers returns how many transfers o states.
func (o *Orbit) Transfers() int64 {
	n := int64(1)
	for _, a := range o.Sides {
		n *= int64(a)
	}
	return n * int64(len(o.Turns))
}

// Expander lists the transfers of an Orbit, in order of their starts. Their routes are
// numbered like the links that they consist of.
type Expander struct {
	o          *Orbit
	n          int
	parts      []int32
	translates map[int32][]int32
	steps      map[int32]int
	turn, rank int // the next one's
}

// Expand returns what lists the transfers of o for p. It takes O(links + chunks).
func (o *Orbit) Expand(p *Problem) (*Expander, error) {
	if err := o.Validate(p); err != nil {
		return nil, err
	}
	x := &Expander{o: o, n: p.Topology.Ranks, translates: map[int32][]int32{}, steps: map[int32]int{}}
	x.parts, _ = o.parts(p)
	all, err := o.Translates(p.Topology)
	if err != nil {
		return nil, err
	}
	for i, l := range p.Topology.Out()[0] {
		x.translates[int32(l)], x.steps[int32(l)] = all[i], p.Topology.Links[l].Dst
	}
	return x, nil
}

// Next fills batch with the next transfers and returns how many there were, 0 at the end.
func (x *Expander) Next(batch []Transfer) int {
	n, each := 0, len(x.parts)/x.n
	row := x.o.Sides[len(x.o.Sides)-1]
	for n < len(batch) && x.turn < len(x.o.Turns) {
		t := &x.o.Turns[x.turn]
		links, step := x.translates[t.Link], x.steps[t.Link]
		first := x.rank / row * row // within a row only the last coordinate changes
		dst, owner := x.o.Add(first, step), x.o.Add(first, int(t.Owner))
		to, of := dst%row, owner%row
		dst, owner = dst-to, owner-of
		for end := min(first+row, x.rank+len(batch)-n); x.rank < end; x.rank++ {
			j := x.rank - first
			d, w := to+j, of+j
			if d >= row {
				d -= row
			}
			if w >= row {
				w -= row
			}
			l := links[x.rank]
			batch[n] = Transfer{Chunk: x.parts[(owner+w)*each+int(t.Part)], Src: int32(x.rank), Dst: int32(dst + d), Route: l, Start: t.Start, End: t.End}
			n++
		}
		if x.rank == x.n {
			x.turn, x.rank = x.turn+1, 0
		}
	}
	return n
}

// Schedule returns o as a schedule in memory.
func (o *Orbit) Schedule(p *Problem) (*Schedule, error) {
	x, err := o.Expand(p)
	if err != nil {
		return nil, err
	}
	s := &Schedule{Form: FormFor(p.Cost), Routes: EachLink(p.Topology), Transfers: make([]Transfer, o.Transfers())}
	s.Transfers = slices.Clip(s.Transfers[:x.Next(s.Transfers)])
	return s, nil
}

// EachLink returns a route over each link alone, in order of index.
func EachLink(t *Topology) [][]int {
	flat := make([]int, len(t.Links))
	routes := make([][]int, len(t.Links))
	for l := range flat {
		flat[l] = l
		routes[l] = flat[l : l+1 : l+1]
	}
	return routes
}
