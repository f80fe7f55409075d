// Package innetwork holds allreduces that switches add up.
//
// Where ranks read sums at a switch (model.SumsRead, NVLink SHARP), each rank owns a part of the
// buffer: it reads the sum of that part from all, and writes it to all. With n ranks at links of
// B bytes per second each way this takes (1+1/n)·S/B for S bytes, in the limit of small chunks:
// each rank sends each part once, and its own sum; it receives that sum once, and every part.
// A link carries one chunk at a time, so that time falls into slots. What follows the example of
// NCCL's NVLS and of MSCCL++'s switch channels (Shah et al., "MSCCL++", 2025).
//
// Where switches turn sums round (model.SumsTurned, SHARP: Graham et al., COM-HPC 2016), all ranks
// send at once up a tree, and the sum comes down to all: S/B, and one latency, whatever n is.
//
// Machines whose ranks read sums are put together by the network between them: ranks of equal
// number own a part in common. Each reads its machine's sum, they add these up among each other,
// by a tree of switches or at one of them that sends the sum back, and each writes what
// comes of it to its machine. All chunks are on their way at once, each as early as it can be.
package innetwork

import (
	"context"
	"fmt"
	"slices"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve"
)

// All returns the method of this package.
func All() []solve.Solver { return []solve.Solver{method{}} }

type method struct{}

// maxTransfers limits what is made where the cut is open; a caller's own cut may ask for up
// to model.MaxHeld.
const maxTransfers = 1 << 18

// Name implements solve.Solver.
func (method) Name() string { return "in-network" }

// About implements solve.Solver.
func (method) About() solve.About {
	return solve.About{
		Serves:    "allreduce, timed, no rank late, where switches add: machines at whose switches ranks read sums, trees that turn sums round, or both",
		Guarantee: "in the limit of small chunks (1+1/n)·S/B where n ranks read sums at switches, S/B and one latency at a tree that turns them round",
		Source:    "NCCL's NVLS; Graham et al., COM-HPC 2016; `solve/innetwork`",
		Quick:     true,

		AddingOnly: true,
	}
}

// Serves implements solve.Solver.
func (method) Serves(p *model.Problem) error {
	switch {
	case p.Collective.Kind != model.AllReduce:
		return solve.NotServed("serves allreduce, not %v", p.Collective.Kind)
	case p.Cost.Synchronous():
		return solve.NotServed("serves blocking and pipelined schedules, not those in %v", p.Cost)
	case p.Late():
		return solve.NotServed("serves ranks that are all there at the start")
	case len(p.Members()) < 2:
		return solve.NotServed("one member alone moves nothing")
	}
	for _, port := range p.Topology.Ports {
		if port.Capacity < len(port.Links) {
			return solve.NotServed("serves no ports that limit what uses their links")
		}
	}
	_, err := newMachines(p)
	return err
}

// Solve implements solve.Solver. It is deterministic, and uses no options but Chunks, Bound,
// Enough and the time limit.
func (m method) Solve(ctx context.Context, p *model.Problem, o solve.Options) (solve.Result, error) {
	if err := m.Serves(p); err != nil {
		return solve.Result{}, err
	}
	b, cancel := o.Budget(ctx)
	defer cancel()
	x, err := newMachines(p)
	if err != nil {
		return solve.Result{}, err
	}
	result := solve.Result{Problem: solve.Cut(p, 1), Stop: solve.Done}
	if p.Chunks != nil || o.Chunks > 0 {
		q := solve.Cut(p, o.Chunks)
		if n := len(q.Chunks) * x.each(); n > model.MaxHeld {
			return solve.Result{}, solve.NotServed("would make %d transfers, more than %d", n, model.MaxHeld)
		}
		if s := x.schedule(b, q); s != nil {
			result.Problem, result.Schedule = q, s
		}
	} else {
		x.search(b, p, o, &result)
	}
	if stop := b.Stop(); stop != 0 {
		result.Stop = stop
	}
	result.Note = x.note()
	return result, nil
}

// search tries finer and finer cuts until that is of little use.
func (x *machines) search(b *solve.Budget, p *model.Problem, o solve.Options, result *solve.Result) {
	worse := 0
	for parts := x.owners(); worse < 2 && int64(parts) <= p.Space() && (result.Schedule == nil || parts*x.each() <= maxTransfers); parts *= 2 {
		if parts > model.MaxChunks || parts*x.each() > model.MaxHeld {
			break
		}
		q := p.WithChunks(parts)
		s := x.schedule(b, q)
		if s == nil {
			break
		}
		at, best := q.Makespan(s), model.MaxTime
		if result.Schedule != nil {
			best = result.Makespan()
		}
		if at >= best-best/300 {
			worse++
		}
		if at < best {
			result.Problem, result.Schedule = q, s
		}
		if at <= max(o.Bound, o.Enough) || x.tree != nil && x.size == 1 {
			break // a tree that turns sums round passes every chunk at its links' rate
		}
	}
	if result.Schedule == nil && int64(x.owners()) > p.Space() {
		q := p.WithChunks(int(min(p.Space(), int64(x.owners()))))
		if s := x.schedule(b, q); s != nil {
			result.Problem, result.Schedule = q, s
		}
	}
}

// note states what was put together.
func (x *machines) note() string {
	across := ""
	switch {
	case len(x.members) == 1:
	case x.tree != nil:
		across = fmt.Sprintf("sums of %d turned round in trees", len(x.members))
	default:
		across = fmt.Sprintf("sums of %d machines added up at ranks", len(x.members))
	}
	within := fmt.Sprintf("each of %d ranks reads sums at %d switches", x.size, len(x.planes))
	switch {
	case x.size == 1:
		return across
	case across == "":
		return within
	}
	return within + ", " + across
}

// line is a link as slots that are free or taken: next[k] leads to the first free one from k on.
type line struct{ next []int32 }

func (l *line) free(k int) int {
	for len(l.next) <= k {
		l.next = append(l.next, int32(len(l.next)))
	}
	root := k
	for int(l.next[root]) != root {
		root = int(l.next[root])
		for len(l.next) <= root {
			l.next = append(l.next, int32(len(l.next)))
		}
	}
	for int(l.next[k]) != root {
		k, l.next[k] = int(l.next[k]), int32(root)
	}
	return root
}

// take takes slot k, which must be free.
func (l *line) take(k int) {
	l.free(k + 1)
	l.next[k] = int32(k + 1)
}

// net is links of one kind, whose slots are equally long. A transfer that starts at slot k
// passes each link of its way in that link's slot k, which is later by latencies.
type net struct {
	slot  model.Time
	lines map[int]*line
}

func (n *net) line(l int) *line {
	at := n.lines[l]
	if at == nil {
		at = &line{}
		n.lines[l] = at
	}
	return at
}

// take takes the first slot from a time on in which all of the links are free.
func (n *net) take(ready model.Time, links ...int) int {
	k := int((ready + n.slot - 1) / n.slot)
	for again := true; again; {
		again = false
		for _, l := range links {
			if at := n.line(l).free(k); at != k {
				k, again = at, true
			}
		}
	}
	for _, l := range links {
		n.line(l).take(k)
	}
	return k
}

// builder makes one schedule.
type builder struct {
	*machines
	p              *model.Problem
	s              *model.Schedule
	inside, across *net
	routes         map[[3]int]int32
}

// schedule returns a schedule of p, or nil if the budget is spent before.
func (x *machines) schedule(budget *solve.Budget, p *model.Problem) *model.Schedule {
	size := int64(0)
	for _, c := range p.Chunks {
		size = max(size, c.Size)
	}
	y := &builder{machines: x, p: p, s: &model.Schedule{Form: model.Timed}, routes: map[[3]int]int32{}}
	y.inside = &net{slot: x.slot(x.insideLinks, size), lines: map[int]*line{}}
	y.across = &net{slot: x.slot(x.acrossLinks, size), lines: map[int]*line{}}
	for k := range p.Chunks {
		if k&0xff == 0 && budget.Spent() {
			return nil
		}
		y.chunk(k)
	}
	return y.s
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

// chunk adds what moves chunk k.
func (y *builder) chunk(k int) {
	plane, rest := k%len(y.planes), k/len(y.planes)
	owner, home := rest%y.size, rest/y.size%len(y.members)
	ready := make([]model.Time, len(y.members))
	for g := range y.members {
		ready[g] = y.read(k, plane, g, owner)
	}
	switch {
	case len(y.members) == 1:
	case y.tree != nil:
		at := y.turn(k, owner, plane, slices.Max(ready))
		for g := range ready {
			ready[g] = at
		}
	default:
		at := ready[home]
		for g := range y.members {
			if g != home {
				at = max(at, y.send(k, owner, g, home, model.Reduction, max(ready[g], y.after(k, owner, g, home, ready[home]))))
			}
		}
		ready[home] = at
		for g := range y.members {
			if g != home {
				ready[g] = y.send(k, owner, home, g, model.Copy, at)
			}
		}
	}
	for g := range y.members {
		y.write(k, plane, g, owner, ready[g])
	}
}

func (y *builder) tau(k int, links ...int) model.Time {
	tau := model.Time(0)
	for _, l := range links {
		tau = max(tau, model.TransferTime(y.p.Chunks[k].Size, y.t.Links[l].Bandwidth))
	}
	return tau
}

// read has the owner of a chunk in machine g read the sum of what its ranks hold. It returns
// when the owner has it.
func (y *builder) read(k, plane, g, owner int) model.Time {
	if y.size == 1 {
		return 0
	}
	x, ranks := &y.planes[plane], y.members[g]
	slots, last := make([]int, y.size), 0
	for i := range ranks {
		if i != owner {
			slots[i] = y.inside.take(0, x.up[g][i])
			last = max(last, slots[i])
		}
	}
	at := y.inside.take(model.Time(last)*y.inside.slot, x.up[g][owner], x.down[g][owner])
	down := y.t.Links[x.down[g][owner]]
	end := model.Time(0)
	for i := range ranks {
		if i != owner {
			end = max(end, model.Time(at)*y.inside.slot+y.t.Links[x.up[g][i]].Alpha+y.tau(k, x.up[g][i], x.down[g][owner])+down.Alpha)
		}
	}
	for i, r := range ranks {
		if i == owner {
			continue
		}
		route := y.route([3]int{plane, r, ranks[owner]}, func() []int { return []int{x.up[g][i], x.down[g][owner]} })
		y.add(k, r, ranks[owner], model.Reduction, route, model.Time(slots[i])*y.inside.slot, end)
	}
	return end
}

// write has the owner of a chunk in machine g write it to all of the machine.
func (y *builder) write(k, plane, g, owner int, ready model.Time) {
	if y.size == 1 {
		return
	}
	x, ranks := &y.planes[plane], y.members[g]
	at := y.inside.take(ready, x.up[g][owner], x.down[g][owner])
	start := model.Time(at) * y.inside.slot
	for i, r := range ranks {
		if i == owner {
			continue
		}
		slot := y.inside.take(start, x.down[g][i])
		route := y.route([3]int{plane, ranks[owner], r}, func() []int { return []int{x.up[g][owner], x.down[g][i]} })
		end := model.Time(slot)*y.inside.slot + y.t.Links[x.up[g][owner]].Alpha + y.tau(k, x.up[g][owner], x.down[g][i]) + y.t.Links[x.down[g][i]].Alpha
		y.add(k, ranks[owner], r, model.Copy, route, start, end)
	}
}

// after returns when a chunk may be sent, so that it comes after a time: what comes while the
// rank reads a sum would be lost, as its slot is in that.
func (y *builder) after(k, owner, from, to int, read model.Time) model.Time {
	way := y.ways[[2]int{y.members[from][owner], y.members[to][owner]}]
	return max(0, read-y.t.Duration(way, y.p.Chunks[k].Size)+1)
}

// send moves a chunk between ranks of two machines that have the owner's number, and returns
// when it is there.
func (y *builder) send(k, owner, from, to int, op model.Op, ready model.Time) model.Time {
	src, dst := y.members[from][owner], y.members[to][owner]
	way := y.ways[[2]int{src, dst}]
	route := y.route([3]int{-1, src, dst}, func() []int { return way })
	start := model.Time(y.across.take(ready, way...)) * y.across.slot
	end := start.Add(y.t.Duration(way, y.p.Chunks[k].Size))
	y.add(k, src, dst, op, route, start, end)
	return end
}

// turn adds up what the ranks with the owner's number have of a chunk, in a tree that sends the
// sum to all of them, and returns when they have it.
func (y *builder) turn(k, owner, plane int, ready model.Time) model.Time {
	trees := y.tree[owner]
	at := k % len(trees)
	tree := &trees[at]
	start := model.Time(y.across.take(ready, tree.links...)) * y.across.slot
	end := start
	for g := range y.members {
		for h := range y.members {
			if g == h {
				continue
			}
			src, dst := y.members[g][owner], y.members[h][owner]
			route := y.route([3]int{-2 - at, src, dst}, func() []int { return slices.Concat(tree.up[g], tree.down[h]) })
			end = start.Add(y.t.Duration(y.s.Routes[route], y.p.Chunks[k].Size))
			y.add(k, src, dst, model.Reduction, route, start, end)
		}
	}
	return end
}
