package innetwork

import (
	"slices"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve"
)

// form is how chunks pass between machines, or within one.
type form uint8

const (
	star     form = iota // from the home of a chunk to each other machine, and back
	chain                // from machine to machine
	binomial             // along a binomial tree
	exchange             // allreduce: each machine sends its sum to each other one
	turns                // allreduce: as star, and links between machines carry sums and copies in turns
	oneShot              // allreduce in one machine: each rank reads the sum of every chunk
	woven                // allreduce in one machine: reads and writes in turns, as weave has them
)

var formNames = []string{"from the first of a part", "in a chain", "along binomial trees", "each with each", "sums and copies in turns", "each rank reads all sums", "reads and writes in turns"}

func (f form) String() string { return formNames[f] }

// forms returns those that may be of use.
func (x *machines) forms() []form {
	allreduce := x.kind == model.AllReduce
	switch n := len(x.members); {
	case n == 1 && allreduce && x.cost == model.Pipelined:
		return []form{woven, star, oneShot}
	case n == 1 && allreduce:
		return []form{woven, star}
	case n == 1 || x.tree != nil:
		return []form{star}
	case n == 2 && allreduce:
		return []form{exchange, star}
	case n == 2 || x.kind == model.AllGather || x.kind == model.ReduceScatter:
		return []form{star}
	case allreduce:
		return []form{turns, star, binomial, exchange}
	}
	return []form{star, chain, binomial}
}

// parent returns the machine to which machine r sends its sum, and from which it has what is
// sent on, 0 being the home; it is less than r.
func (f form) parent(r int) int {
	switch f {
	case chain:
		return r - 1
	case binomial:
		high := 1
		for 2*high <= r {
			high *= 2
		}
		return r - high
	}
	return 0
}

// place is which links and ranks have to do with a chunk: the plane at which its sums are read,
// the number of the ranks that pass it between machines, and the machine where it begins or ends.
type place struct{ k, plane, owner, home int }

// builder makes one schedule.
type builder struct {
	*machines
	p              *model.Problem
	s              *model.Schedule
	form           form
	inside, across *net
	routes         map[[3]int]int32
}

// schedule returns a schedule of p, or nil if the budget is spent before, or chunks in this form
// would be in each other's sums. Some chunks of each place are apart, first and last: see apart.
func (x *machines) schedule(budget *solve.Budget, p *model.Problem, f form, apart int) *model.Schedule {
	y := x.builder(p, f)
	switch {
	case f == woven && !y.weave(budget) || f == turns && !y.inTurns(budget, apart):
		return nil
	case f == woven || f == turns:
		return y.s
	}
	last := y.apart(apart * len(x.planes) * x.size * len(x.members))
	for k := len(last); k < len(p.Chunks)-len(last); k++ {
		if k&0xff == 0 && budget.Spent() || !y.chunk(k) {
			return nil
		}
	}
	for _, finish := range last {
		finish()
	}
	return y.s
}

// builder returns one that has made nothing yet.
func (x *machines) builder(p *model.Problem, f form) *builder {
	size := largest(p)
	y := &builder{machines: x, p: p, s: &model.Schedule{Form: model.Timed}, form: f, routes: map[[3]int]int32{}}
	y.inside = &net{slot: x.slot(x.insideLinks, size), lines: map[int]*line{}}
	y.across = &net{slot: x.slot(x.acrossLinks, size), lines: map[int]*line{}}
	return y
}

// slot returns how long a chunk may keep any of some links busy.
func (x *machines) slot(links []int, size int64) model.Time {
	slot := model.Time(1)
	for _, l := range links {
		k := x.t.Links[l]
		busy := model.TransferTime(size, k.Bandwidth)
		if x.cost != model.Pipelined {
			busy = busy.Add(k.Alpha)
		}
		slot = max(slot, busy)
	}
	return slot
}

// route returns the route with a key, made of links if it is new.
func (y *builder) route(key [3]int, links func() []int) int32 {
	r, known := y.routes[key]
	if !known {
		r = int32(len(y.s.Routes))
		y.s.Routes = append(y.s.Routes, links())
		y.routes[key] = r
	}
	return r
}

func (y *builder) add(k, src, dst int, op model.Op, route int32, start, end model.Time) {
	y.s.Transfers = append(y.s.Transfers, model.Transfer{Chunk: int32(k), Src: int32(src), Dst: int32(dst), Op: op, Route: route, Start: start, End: end})
}

// placeOf returns the place of chunk k: those of a shard are with its member, others with each
// rank in turn, and in turn with each machine, or the root's.
func (y *builder) placeOf(k int) place {
	c := place{k: k, plane: k % len(y.planes)}
	rest := k / len(y.planes)
	switch y.kind {
	case model.AllGather, model.ReduceScatter:
		from, to := y.p.Owner(k)
		at := y.at[max(from, to)]
		c.home, c.owner = at[0], at[1]
	case model.Broadcast, model.Reduce:
		c.owner, c.home = rest%y.size, y.at[y.p.Collective.Root][0]
	default:
		c.owner, c.home = rest%y.size, rest/y.size%len(y.members)
	}
	return c
}

// chunk adds what moves chunk k, and reports whether that is right.
func (y *builder) chunk(k int) bool {
	c := y.placeOf(k)
	if y.form == oneShot {
		return y.readAll(c)
	}
	ready := make([]model.Time, len(y.members)) // when the owner in a machine has what it sends on
	root := c.owner                             // in the home machine
	if y.kind == model.Broadcast || y.kind == model.Reduce {
		root = y.at[y.p.Collective.Root][1]
	}
	switch {
	case y.kind == model.Broadcast && y.reads:
		ready[c.home] = y.write(c, c.home, root, root, 0)[c.owner]
	case root != c.owner && y.kind == model.Broadcast:
		ready[c.home] = y.move(c, c.home, root, c.owner, model.Copy, 0)
	}
	rootReads := y.kind == model.Reduce && y.reads
	for g := range y.members {
		if y.reduces() && !(rootReads && g == c.home) {
			ready[g] = y.read(c, g, c.owner, c.owner, 0)
		}
	}
	if len(y.members) > 1 && !y.pass(c, ready) {
		return false
	}
	switch {
	case rootReads:
		y.read(c, c.home, root, c.owner, ready[c.home])
	case root != c.owner && y.kind == model.Reduce:
		y.move(c, c.home, c.owner, root, model.Copy, ready[c.home])
	}
	for g := range y.members {
		if y.spreads() && !(y.kind == model.Broadcast && y.reads && g == c.home) {
			has := c.owner
			if g == c.home {
				has = root
			}
			y.write(c, g, c.owner, has, ready[g])
		}
	}
	return true
}

// pass passes a chunk between the owners in the machines: from times on at which they are ready
// to send, to those at which they have what comes to them.
func (y *builder) pass(c place, ready []model.Time) bool {
	n := len(y.members)
	reduces, spreads := y.reduces(), y.spreads()
	switch {
	case y.tree != nil:
		y.turn(c, ready)
		return true
	case y.form == exchange:
		return y.exchange(c, ready)
	}
	machine := func(r int) int { return (c.home + r) % n }
	read := slices.Clone(ready)
	for r := n - 1; reduces && r > 0; r-- {
		g, h := machine(r), machine(y.form.parent(r))
		ready[h] = max(ready[h], y.send(c, g, h, model.Reduction, max(ready[g], y.after(c, g, h, read[h]))))
	}
	for r := 1; spreads && r < n; r++ {
		g, h := machine(y.form.parent(r)), machine(r)
		ready[h] = y.send(c, g, h, model.Copy, ready[g])
	}
	return true
}

// exchange has the owner in each machine send its sum to those in all others. It reports whether
// each has sent it to all before it has one of theirs, of which its slot becomes a part.
func (y *builder) exchange(c place, ready []model.Time) bool {
	n := len(y.members)
	from := slices.Max(ready)
	last, first := make([]model.Time, n), slices.Repeat([]model.Time{model.MaxTime}, n)
	for d := 1; d < n; d++ {
		for g := range n {
			h := (g + d) % n
			end := y.send(c, g, h, model.Reduction, from)
			last[g] = max(last[g], y.s.Transfers[len(y.s.Transfers)-1].Start)
			first[h] = min(first[h], end)
			ready[h] = max(ready[h], end)
		}
	}
	for g := range n {
		if last[g] >= first[g] {
			return false
		}
	}
	return true
}

func (y *builder) tau(k int, links ...int) model.Time {
	tau := model.Time(0)
	for _, l := range links {
		tau = max(tau, model.TransferTime(y.p.Chunks[k].Size, y.t.Links[l].Bandwidth))
	}
	return tau
}

// read has a rank of machine g read the sum of what its ranks hold, or, where its switches do not
// add, has them send it that. What the owner holds, and the reader if it is the owner, is there
// from a time on. It returns when the reader has the sum.
func (y *builder) read(c place, g, reader, owner int, ready model.Time) model.Time {
	if y.size == 1 {
		return ready
	}
	from := func(i int) model.Time {
		if i == owner || reader == owner {
			return ready
		}
		return 0
	}
	if y.reads {
		return y.readFrom(c, g, reader, from)
	}
	end := ready
	for d := 1; d < y.size; d++ {
		i := (reader + d) % y.size
		end = max(end, y.move(c, g, i, reader, model.Reduction, from(i)))
	}
	return end
}

// readFrom has a rank of machine g read the sum of what its ranks hold from some time on each.
func (y *builder) readFrom(c place, g, reader int, from func(i int) model.Time) model.Time {
	x, ranks := &y.planes[c.plane], y.members[g]
	slots, last := make([]int, y.size), 0
	for i := range ranks {
		if i != reader {
			slots[i] = y.inside.take(from(i), x.up[g][i])
			last = max(last, slots[i])
		}
	}
	at := y.inside.take(max(from(reader), model.Time(last)*y.inside.slot), x.up[g][reader], x.down[g][reader])
	end := model.Time(0)
	for i := range ranks {
		if i != reader {
			end = max(end, model.Time(at)*y.inside.slot+y.took(c, g, i, reader))
		}
	}
	for i, r := range ranks {
		if i != reader {
			y.add(c.k, r, ranks[reader], model.Reduction, y.within(c, g, i, reader), model.Time(slots[i])*y.inside.slot, end)
		}
	}
	return end
}

// weave adds what moves all chunks in the one machine, by a timetable that keeps links busy from
// when they have filled until they empty: of n ranks at a switch, in n+1 slots, each sends n
// terms, its own among them, and writes a sum, and each receives a sum and n writes. Sum j is read
// in slot (n+1)·⌊j/n⌋+(j mod n)+1, by rank j mod n, and written d slots later, when it is there:
// that rank's links are taken for these slots. In the rest each rank sends the terms in the order
// of the sums, each as soon as it can, and receives what is written as soon as it can; in between
// it waits at the switch. It reports whether all terms come in time.
//
// They do: in slots up to that of sum j a rank has taken at most one slot for writing in each n+1,
// so that as many are left as there are sums.
func (y *builder) weave(budget *solve.Budget) bool {
	n, slot, ranks := y.size, y.inside.slot, y.members[0]
	largest := 0
	for k, c := range y.p.Chunks {
		if c.Size > y.p.Chunks[largest].Size {
			largest = k
		}
	}
	for plane := range y.planes {
		x := &y.planes[plane]
		later := 0
		for i := range n {
			later = max(later, int((y.took(place{k: largest}, 0, i, 0)+slot-1)/slot), int((y.took(place{k: largest}, 0, 0, i)+slot-1)/slot))
		}
		if later%(n+1) == 0 {
			later++
		}
		sums := (len(y.p.Chunks) - plane + len(y.planes) - 1) / len(y.planes)
		at := func(j int) int { return (n+1)*(j/n) + j%n + 1 }
		for j := range sums {
			for _, k := range []int{at(j), at(j) + later} {
				y.inside.line(x.up[0][j%n]).take(k)
				y.inside.line(x.down[0][j%n]).take(k)
			}
		}
		for j := range sums {
			if j&0xff == 0 && budget.Spent() {
				return false
			}
			c, owner := place{k: plane + j*len(y.planes), plane: plane}, j%n
			end := model.Time(0)
			for i := range n {
				if i != owner {
					end = max(end, model.Time(at(j))*slot+y.took(c, 0, i, owner))
				}
			}
			for i, r := range ranks {
				if i == owner {
					continue
				}
				up, down := y.inside.line(x.up[0][i]), y.inside.line(x.down[0][i])
				term, branch := up.free(0), down.free(at(j)+later)
				if term > at(j) {
					return false
				}
				up.take(term)
				down.take(branch)
				y.add(c.k, r, ranks[owner], model.Reduction, y.within(c, 0, i, owner), model.Time(term)*slot, end)
				y.add(c.k, ranks[owner], r, model.Copy, y.within(c, 0, owner, i), model.Time(at(j)+later)*slot, model.Time(branch)*slot+y.took(c, 0, owner, i))
			}
		}
	}
	return true
}

// readAll has every rank of the one machine read the sum of a chunk. It reports whether each has
// sent what it holds to all before it has the sum.
func (y *builder) readAll(c place) bool {
	first := len(y.s.Transfers)
	ends := make(map[int32]model.Time)
	for i := range y.size {
		reader := (c.owner + i) % y.size
		ends[int32(y.members[0][reader])] = y.read(c, 0, reader, reader, 0)
	}
	for _, t := range y.s.Transfers[first:] {
		if t.Start >= ends[t.Src] {
			return false
		}
	}
	return true
}

// write has a rank of machine g write what it holds from a time on to all of the machine, or send
// it to each, but not to a rank that has it. It returns when each of them has it.
func (y *builder) write(c place, g, writer, has int, ready model.Time) []model.Time {
	at := make([]model.Time, y.size)
	at[writer] = ready
	if y.size == 1 {
		return at
	}
	x := &y.planes[c.plane]
	start := model.Time(0)
	if y.reads {
		start = model.Time(y.inside.take(ready, x.up[g][writer], x.down[g][writer])) * y.inside.slot
	}
	for d := 1; d < y.size; d++ {
		i := (writer + d) % y.size
		switch {
		case y.reads:
			down := model.Time(y.inside.take(start, x.down[g][i])) * y.inside.slot
			at[i] = down + y.took(c, g, writer, i)
			y.add(c.k, y.members[g][writer], y.members[g][i], model.Copy, y.within(c, g, writer, i), start, at[i])
		case i != has:
			at[i] = y.move(c, g, writer, i, model.Copy, ready)
		}
	}
	return at
}

// move sends a chunk from one rank of machine g to another, and returns when it is there.
func (y *builder) move(c place, g, src, dst int, op model.Op, ready model.Time) model.Time {
	x := &y.planes[c.plane]
	start := model.Time(y.inside.take(ready, x.up[g][src], x.down[g][dst])) * y.inside.slot
	end := start + y.took(c, g, src, dst)
	y.add(c.k, y.members[g][src], y.members[g][dst], op, y.within(c, g, src, dst), start, end)
	return end
}

// within returns the route between two ranks of machine g.
func (y *builder) within(c place, g, src, dst int) int32 {
	x := &y.planes[c.plane]
	return y.route([3]int{c.plane, y.members[g][src], y.members[g][dst]}, func() []int { return []int{x.up[g][src], x.down[g][dst]} })
}

// took returns how long a chunk is on its way between two ranks of machine g, if it does not wait.
func (y *builder) took(c place, g, src, dst int) model.Time {
	x := &y.planes[c.plane]
	return y.t.Links[x.up[g][src]].Alpha + y.tau(c.k, x.up[g][src], x.down[g][dst]) + y.t.Links[x.down[g][dst]].Alpha
}

// after returns when a chunk may be sent, so that it comes after a time: what comes while the
// rank reads a sum would be lost, as its slot is in that.
func (y *builder) after(c place, from, to int, read model.Time) model.Time {
	way := y.ways[[2]int{y.members[from][c.owner], y.members[to][c.owner]}]
	return max(0, read-y.t.Duration(way, y.p.Chunks[c.k].Size)+1)
}

// send moves a chunk between ranks of two machines that have the owner's number, and returns
// when it is there.
func (y *builder) send(c place, from, to int, op model.Op, ready model.Time) model.Time {
	src, dst := y.members[from][c.owner], y.members[to][c.owner]
	way := y.ways[[2]int{src, dst}]
	route := y.route([3]int{-1, src, dst}, func() []int { return way })
	start := model.Time(y.across.take(ready, way...)) * y.across.slot
	end := start.Add(y.t.Duration(way, y.p.Chunks[c.k].Size))
	y.add(c.k, src, dst, op, route, start, end)
	return end
}

// turn passes a chunk between the ranks with the owner's number over a tree: the sum of all of
// them to all, or to the one at its home, or what that holds to all.
func (y *builder) turn(c place, ready []model.Time) {
	trees := y.tree[c.owner]
	at := c.k % len(trees)
	tree := &trees[at]
	reduces, spreads := y.reduces(), y.spreads()
	op := model.Copy
	if reduces {
		op = model.Reduction
	}
	var pairs [][2]int
	var links []int
	from := model.Time(0)
	for g := range y.members {
		from = max(from, ready[g])
		for h := range y.members {
			if g != h && (reduces || g == c.home) && (spreads || h == c.home) {
				pairs = append(pairs, [2]int{g, h})
				links = append(append(links, tree.up[g]...), tree.down[h]...)
			}
		}
	}
	if reduces && spreads {
		links = tree.links
	} else {
		slices.Sort(links)
		links = slices.Compact(links)
	}
	start := model.Time(y.across.take(from, links...)) * y.across.slot
	for _, pair := range pairs {
		g, h := pair[0], pair[1]
		src, dst := y.members[g][c.owner], y.members[h][c.owner]
		route := y.route([3]int{-2 - at, src, dst}, func() []int { return slices.Concat(tree.up[g], tree.down[h]) })
		end := start.Add(y.t.Duration(y.s.Routes[route], y.p.Chunks[c.k].Size))
		y.add(c.k, src, dst, op, route, start, end)
		ready[h] = max(ready[h], end)
	}
}
