package mscclpp

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/oraccl/oraccl/model"
)

// iterations joins parts that do the same with other chunks, so that a pipeline carries them out:
// each step moves as many chunks as there are parts, in iterations of a fixed size. The parts' chunks must
// then lie side by side. Which chunk of a rank's is sent which way does not matter, so chunks are
// exchanged within a class: those of an allreduce; those of one rank of an allgather or a
// reducescatter; those from one rank to another one of an alltoall. Scratch is laid out again.
//
// It returns what is to be written, of which each loop moves chunks chunks, and the best choices of
// chunks first; an error if no parts are alike.
func (c *composer) iterations() ([]*composer, error) {
	if c.h.LL {
		return nil, refuse("packets are not sent in iterations")
	}
	f := &folder{c: c, parts: make([]fold, c.count), owner: map[datum]int{}}
	if err := f.look(); err != nil {
		return nil, err
	}
	groups := f.groups()
	type choice struct{ chunks, loops, rest int }
	var all []choice
	for _, chunks := range f.sizes(groups) {
		x := choice{chunks: chunks}
		for _, g := range groups {
			m := f.parts[g[0]].count
			if m == 0 || chunks%m != 0 || chunks/m < 2 {
				x.rest += len(g)
				continue
			}
			x.loops += len(g) / (chunks / m)
			x.rest += len(g) % (chunks / m)
		}
		if x.loops > 0 {
			all = append(all, x)
		}
	}
	if len(all) == 0 {
		return nil, refuse("no two of its %d parts do the same with other chunks, so there is nothing to iterate", c.count)
	}
	slices.SortStableFunc(all, func(a, b choice) int {
		return cmp.Or(cmp.Compare(a.rest, b.rest), cmp.Compare(a.loops, b.loops))
	})
	var made []*composer
	for _, x := range all[:min(len(all), maxChoices)] {
		made = append(made, f.fold(groups, x.chunks))
	}
	return made, nil
}

// maxChoices is how many choices of chunks an iteration are tried.
const maxChoices = 8

// datum is a chunk of the caller's: its class, and its number in it.
type datum struct{ class, at int }

// fold is a part as folder sees it.
type fold struct {
	nodes   []int       // in an order that does not depend on which chunks it moves
	count   int         // chunks a step; 0: steps differ, or its chunks are not apart from others'
	low     map[int]int // of each class its first chunk
	high    map[int]int // and the end of the last
	slots   [][]int     // of each rank, where its scratch is, in the order of nodes
	pattern string      // equal for parts that do the same
}

// folder finds parts that are alike.
type folder struct {
	c     *composer
	parts []fold
	owner map[datum]int // part
	depth []int         // of nodes: of what they wait for, and what conflicts with them before, one more than the largest
}

// datum returns which chunk is at an index of a buffer of a rank.
func (f *folder) datum(rank, buffer, index int) datum {
	n := f.c.p.Ranks
	share := max(1, f.c.p.Buffers[rank][buffer].Cells/n)
	switch f.c.h.Collective {
	case "allgather":
		if buffer == 0 {
			return datum{rank, index}
		}
		return datum{index / share, index % share}
	case "reducescatter":
		if buffer == 1 {
			return datum{rank, index}
		}
		return datum{index / share, index % share}
	case "alltoall":
		if buffer == 0 {
			return datum{rank*n + index/share, index % share}
		}
		return datum{index/share*n + rank, index % share}
	}
	return datum{0, index}
}

// index is the inverse of datum.
func (f *folder) index(rank, buffer int, d datum) int {
	n := f.c.p.Ranks
	share := max(1, f.c.p.Buffers[rank][buffer].Cells/n)
	switch f.c.h.Collective {
	case "allgather":
		if buffer == 1 {
			return d.class*share + d.at
		}
	case "reducescatter":
		if buffer == 0 {
			return d.class*share + d.at
		}
	case "alltoall":
		if buffer == 0 {
			return d.class%n*share + d.at
		}
		return d.class/n*share + d.at
	}
	return d.at
}

// reference is where a step reads or writes.
type reference struct{ buffer, offset int }

func (n *step) references() []reference {
	var all []reference
	if n.reads() {
		all = append(all, reference{n.Src.Buffer, n.Src.Offset})
	}
	if n.touches() {
		all = append(all, reference{n.Dst.Buffer, n.Dst.Offset})
	}
	for _, off := range n.More {
		all = append(all, reference{n.Src.Buffer, int(off)})
	}
	return all
}

// look fills in the parts.
func (f *folder) look() error {
	f.depth = make([]int, len(f.c.nodes))
	type cell struct{ rank, at int }
	read, wrote := map[cell]int{}, map[cell]int{} // the depths of the last ones
	for _, i := range f.c.order {
		n := &f.c.nodes[i]
		d := 0
		if n.in != nil {
			d = f.depth[n.in.from] + 1
		}
		var from, to []cell
		for _, x := range n.references() {
			for _, at := range f.c.cells(n.rank, model.Ref{Buffer: x.buffer, Offset: x.offset}, n.Count) {
				from = append(from, cell{n.rank, at})
			}
		}
		if n.Verb&model.Writes != 0 {
			for _, at := range f.c.cells(n.rank, n.Dst, n.Count) {
				to = append(to, cell{n.rank, at})
			}
		}
		for _, x := range from {
			d = max(d, wrote[x]+1)
		}
		for _, x := range to {
			d = max(d, read[x]+1)
		}
		for _, x := range from {
			read[x] = max(read[x], d)
		}
		for _, x := range to {
			wrote[x] = d
		}
		f.depth[i] = d
		p := &f.parts[n.part]
		p.nodes = append(p.nodes, i)
	}
	for i := range f.parts {
		if err := f.part(i); err != nil {
			return err
		}
	}
	for i := range f.parts {
		f.describe(i)
	}
	return nil
}

// part finds which chunks and which scratch a part uses.
func (f *folder) part(number int) error {
	p := &f.parts[number]
	p.count, p.low, p.high, p.slots = f.c.nodes[p.nodes[0]].Count, map[int]int{}, map[int]int{}, make([][]int, f.c.p.Ranks)
	for _, i := range p.nodes {
		n := &f.c.nodes[i]
		if n.Count != p.count {
			p.count = 0
		}
		for _, x := range n.references() {
			if x.buffer == 2 {
				continue
			}
			first, last := f.datum(n.rank, x.buffer, x.offset), f.datum(n.rank, x.buffer, x.offset+n.Count-1)
			if first.class != last.class {
				return refuse("a step moves chunks of several ranks at once, which cannot be iterated")
			}
			if _, ok := p.low[first.class]; !ok {
				p.low[first.class] = first.at
			}
			p.low[first.class], p.high[first.class] = min(p.low[first.class], first.at), max(p.high[first.class], last.at+1)
			for at := first.at; at <= last.at; at++ {
				d := datum{first.class, at}
				if other, ok := f.owner[d]; ok && other != number {
					p.count, f.parts[other].count = 0, 0
				}
				f.owner[d] = number
			}
		}
	}
	return nil
}

// describe finds the pattern of a part.
func (f *folder) describe(number int) {
	p := &f.parts[number]
	var text strings.Builder
	if p.count == 0 {
		fmt.Fprintf(&text, "part %d", number)
		p.pattern = text.String()
		return
	}
	key := func(i int) []int {
		n := &f.c.nodes[i]
		k := []int{f.depth[i], n.rank, int(n.Verb), n.peer, -1}
		if n.in != nil {
			k[4] = f.c.nodes[n.in.from].rank
		}
		for _, x := range n.references() {
			k = append(k, x.buffer)
			if x.buffer != 2 {
				k = append(k, f.datum(n.rank, x.buffer, x.offset).class)
			}
		}
		return k
	}
	keys := map[int][]int{}
	for _, i := range p.nodes {
		keys[i] = key(i)
	}
	slices.SortStableFunc(p.nodes, func(a, b int) int { return slices.Compare(keys[a], keys[b]) })
	position := map[int]int{} // of nodes
	for k, i := range p.nodes {
		position[i] = k
	}
	fmt.Fprintf(&text, "%d chunks;", p.count)
	for _, i := range p.nodes {
		n := &f.c.nodes[i]
		fmt.Fprint(&text, keys[i], " ")
		if n.in != nil {
			fmt.Fprintf(&text, "from %d ", position[n.in.from])
		}
		for _, x := range n.references() {
			at := 0
			if x.buffer == 2 {
				slots := p.slots[n.rank]
				k := slices.Index(slots, x.offset)
				if k < 0 {
					if slices.ContainsFunc(slots, func(y int) bool { return y < x.offset+p.count && x.offset < y+p.count }) {
						p.count = 0 // they overlap
					}
					k = len(slots)
					p.slots[n.rank] = append(slots, x.offset)
				}
				at = k
			} else {
				d := f.datum(n.rank, x.buffer, x.offset)
				if at = d.at - p.low[d.class]; p.count == 0 || at%p.count != 0 {
					p.count = 0
					break
				}
			}
			fmt.Fprintf(&text, "at %d ", at)
		}
		if p.count == 0 {
			p.pattern = fmt.Sprintf("part %d", number)
			return
		}
	}
	p.pattern = text.String()
}

// groups returns the parts that are alike, each in the order of their chunks.
func (f *folder) groups() [][]int {
	index := map[string]int{}
	var all [][]int
	for i := range f.parts {
		k, ok := index[f.parts[i].pattern]
		if !ok {
			k = len(all)
			index[f.parts[i].pattern] = k
			all = append(all, nil)
		}
		all[k] = append(all[k], i)
	}
	return all
}

// sizes lists how many chunks loops might move: all of them as many, so that what holds for a few
// iterations holds for all.
func (f *folder) sizes(groups [][]int) []int {
	seen := map[int]bool{}
	common := 0
	for _, g := range groups {
		m := f.parts[g[0]].count
		if m == 0 || len(g) < 2 {
			continue
		}
		common = gcd(common, len(g)*m)
		for pieces := 1; pieces <= 8 && pieces <= len(g)/2; pieces++ {
			seen[len(g)/pieces*m] = true
		}
	}
	if common > 0 {
		seen[common] = true
	}
	var all []int
	for n := range seen {
		all = append(all, n)
	}
	slices.Sort(all)
	return all
}

func gcd(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// fold joins parts that are alike, chunks chunks in each loop; what is left over stays as it is.
func (f *folder) fold(groups [][]int, chunks int) *composer {
	c := &composer{p: f.c.p, h: f.c.h, chunks: chunks}
	moved := map[datum]int{}   // where chunks of the caller's are now, in their class
	next := map[int]int{}      // of each class: the first place that is free
	scratch := map[datum]int{} // likewise; the class is the rank
	room := make([]int, c.p.Ranks)
	number := make([]int, len(f.parts)) // new ones of parts, from 1 on; 0: it is joined to another one
	for _, g := range groups {
		m := f.parts[g[0]].count
		n := 1
		if m > 0 && chunks%m == 0 && chunks/m > 1 {
			n = chunks / m
		}
		for ; len(g) >= n && n > 1; g = g[n:] {
			p := &f.parts[g[0]]
			c.count++
			number[g[0]] = c.count
			c.loops++
			for class, low := range p.low {
				width := p.high[class] - low
				for k, part := range g[:n] {
					for at := range width {
						moved[datum{class, f.parts[part].low[class] + at}] = next[class] + at/m*chunks + k*m + at%m
					}
				}
				next[class] += n * width
			}
			for r, slots := range p.slots {
				for s := range slots {
					for k, part := range g[:n] {
						for at := range m {
							scratch[datum{r, f.parts[part].slots[r][s] + at}] = room[r] + s*chunks + k*m + at
						}
					}
				}
				room[r] += len(slots) * chunks
			}
		}
		for _, part := range g {
			number[part] = -1 // as it is, after the loops
		}
	}
	for i := range number {
		if number[i] < 0 {
			c.count++
			number[i] = c.count
		}
	}
	// the rest, in the order that it had
	f.rest(moved, next)
	for r := range room {
		for at := range c.p.Buffers[r][2].Cells {
			if _, ok := scratch[datum{r, at}]; !ok {
				scratch[datum{r, at}] = room[r]
				room[r]++
			}
		}
	}
	at := func(rank int, x model.Ref) model.Ref {
		if x.Buffer == 2 {
			x.Offset = scratch[datum{rank, x.Offset}]
			return x
		}
		d := f.datum(rank, x.Buffer, x.Offset)
		x.Offset = f.index(rank, x.Buffer, datum{d.class, moved[d]})
		return x
	}
	kept := make([]int, len(f.c.nodes)) // new numbers of nodes
	for i := range f.c.nodes {
		n := f.c.nodes[i]
		kept[i] = -1
		if number[n.part] == 0 {
			continue
		}
		s := *n.Instruction
		if n.reads() {
			s.Src = at(n.rank, s.Src)
		}
		if n.touches() {
			s.Dst = at(n.rank, s.Dst)
		}
		s.More = slices.Clone(s.More)
		for k, off := range s.More {
			s.More[k] = int32(at(n.rank, model.Ref{Buffer: s.Src.Buffer, Offset: int(off)}).Offset)
		}
		part := number[n.part] - 1
		if part < c.loops {
			s.Count = chunks
		}
		kept[i] = len(c.nodes)
		c.nodes = append(c.nodes, step{Instruction: &s, rank: n.rank, peer: n.peer, part: part})
	}
	for i, k := range kept {
		if m := f.c.nodes[i].out; k >= 0 && m != nil {
			to := kept[m.to]
			sent := &parcel{from: k, to: to, size: c.nodes[k].Count}
			c.nodes[k].out, c.nodes[to].in = sent, sent
		}
	}
	for _, i := range f.c.order {
		if kept[i] >= 0 {
			c.order = append(c.order, kept[i])
		}
	}
	return c
}

// rest gives the chunks of the caller's that are in no loop their places.
func (f *folder) rest(moved map[datum]int, next map[int]int) {
	for r := range f.c.p.Ranks {
		for buffer := range 2 {
			for at := range f.c.p.Buffers[r][buffer].Cells {
				d := f.datum(r, buffer, at)
				if _, ok := moved[d]; !ok {
					moved[d] = next[d.class]
					next[d.class]++
				}
			}
		}
	}
}
