package broadcast

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/solve/heap"
	demand "github.com/oraccl/oraccl/solve/network"
	"github.com/oraccl/oraccl/solve/timing"
)

// eager is a broadcast in which each link out of a rank sends as soon as it is free, as in the postal model (Bar-Noy and
// Kipnis, "Designing broadcasting algorithms in the postal model for message-passing systems", Mathematical Systems Theory
// 27, 1994; Karp, Sahay, Santos and Schauser, "Optimal broadcast and summation in the LogP model", SPAA 1993): there are
// no trees before, but those that come of it. A rank sends the chunk that the fewest ranks have or are about to get, to a
// rank of the region where the fewest have it. That is quick where latencies outweigh bandwidths, and needs few chunks.
// Where a region has many ranks, it is quicker to share the work among them: the root sends each chunk to one of its own
// region, and that to one in each other region (see relayed).
type eager struct {
	p       *model.Problem
	near    *neighbours
	board   *timing.Board
	order   order
	have    [][]int32 // by rank: chunks
	got     []int32   // by rank: how many chunks it has or is about to
	missing []bool    // by rank and chunk: it neither has it nor is about to
	holders []int32   // by chunk: ranks that have it or are about to
	holding []int32   // by region and chunk: likewise
	idle    []bool    // by link: its rank had nothing to send
	events  heap.Heap[moment]
	uses    [2]map[*int][]demand.Use // of the two sizes of chunks, by the first link of a route
	result  *model.Schedule
	ranks   []int // scratch
}

// order is which targets of a rank come first.
type order uint8

const (
	nearFirst  order = iota // the nearest
	emptyFirst              // the nearest in regions that have nothing of the chunk
	relayed                 // the same, once another rank of the root's region has the chunk, and none in other regions that have it
)

// moment is when a link out of a rank is free, or a chunk has come to a rank.
type moment struct {
	at          model.Time
	link, chunk int32 // one is -1
	rank        int32
}

// Before orders a heap: the earliest comes first.
func (a moment) Before(b moment) bool {
	if a.at != b.at {
		return a.at < b.at
	}
	return cmp.Or(cmp.Compare(a.link, b.link), cmp.Compare(a.rank, b.rank), cmp.Compare(a.chunk, b.chunk)) < 0
}

// neighbours is which ranks a rank can send to.
type neighbours struct {
	ways    *clusters
	region  []int      // by rank: those of one region are nearest to each other
	ranks   [][]int    // by region
	circles [][]circle // by rank
}

// circle is regions in which there are ranks as far from a rank.
type circle struct {
	latency model.Time
	regions []int
}

// newNeighbours returns the neighbours of the ranks of a broadcast to all ranks over switches, nil if it is no such.
func newNeighbours(p *model.Problem) *neighbours {
	t := p.Topology
	if len(p.Members()) != t.Ranks || len(t.Switches) == 0 {
		return nil
	}
	x := &neighbours{ways: &clusters{p: p, out: t.Out(), ways: map[[2]int][][]int{}}}
	latency := make([][]model.Time, t.Ranks)
	var pairs [][2]int
	for u := range t.Ranks {
		latency[u] = x.latencies(u)
		nearest := slices.Min(latency[u])
		for v, far := range latency[u] {
			if far == nearest && far < model.MaxTime {
				pairs = append(pairs, [2]int{u, v})
			}
		}
	}
	x.region = make([]int, t.Ranks)
	for u := range x.region {
		x.region[u] = -1
	}
	next := make([][]int, t.Ranks)
	for _, p := range pairs {
		next[p[0]], next[p[1]] = append(next[p[0]], p[1]), append(next[p[1]], p[0])
	}
	for u := range t.Ranks {
		if x.region[u] >= 0 {
			continue
		}
		r := len(x.ranks)
		x.region[u], x.ranks = r, append(x.ranks, []int{u})
		for i := 0; i < len(x.ranks[r]); i++ {
			for _, v := range next[x.ranks[r][i]] {
				if x.region[v] < 0 {
					x.region[v], x.ranks[r] = r, append(x.ranks[r], v)
				}
			}
		}
	}
	for u := range t.Ranks {
		byLatency := map[model.Time]map[int]bool{}
		for v, far := range latency[u] {
			if far < model.MaxTime {
				if byLatency[far] == nil {
					byLatency[far] = map[int]bool{}
				}
				byLatency[far][x.region[v]] = true
			}
		}
		var circles []circle
		for far, regions := range byLatency {
			c := circle{latency: far}
			for r := range x.ranks { // each rank begins with another one
				if r = (r + u) % len(x.ranks); regions[r] {
					c.regions = append(c.regions, r)
				}
			}
			circles = append(circles, c)
		}
		slices.SortFunc(circles, func(a, b circle) int { return cmp.Compare(a.latency, b.latency) })
		x.circles = append(x.circles, circles)
	}
	return x
}

// latencies returns how far ranks are from a rank over the fewest links, MaxTime if other ranks are on the way.
func (x *neighbours) latencies(from int) []model.Time {
	t := x.ways.p.Topology
	far := slices.Repeat([]model.Time{model.MaxTime}, t.Nodes())
	seen := make([]bool, t.Nodes())
	seen[from] = true
	for at, links := []int{from}, 0; len(at) > 0 && links < maxSwitchHops; links++ {
		var next []int
		for _, u := range at {
			if u != from && t.IsRank(u) {
				continue
			}
			for _, l := range x.ways.out[u] {
				v := t.Links[l].Dst
				if seen[v] {
					continue
				}
				if far[v] == model.MaxTime {
					next = append(next, v)
				}
				before := model.Time(0)
				if u != from {
					before = far[u]
				}
				far[v] = min(far[v], before.Add(t.Links[l].Alpha))
			}
		}
		for _, v := range next {
			seen[v] = true
		}
		at = next
	}
	far[from] = model.MaxTime
	return far[:t.Ranks]
}

func newEager(p *model.Problem, near *neighbours, o order) *eager {
	t, n := p.Topology, len(p.Chunks)
	e := &eager{p: p, near: near, board: timing.NewBoard(p), order: o, got: make([]int32, t.Ranks), have: make([][]int32, t.Ranks), missing: slices.Repeat([]bool{true}, t.Ranks*n),
		holders: make([]int32, n), holding: make([]int32, len(near.ranks)*n), idle: slices.Repeat([]bool{true}, len(t.Links)),
		result: &model.Schedule{Form: model.FormFor(p.Cost)}}
	e.uses[0], e.uses[1] = map[*int][]demand.Use{}, map[*int][]demand.Use{}
	for k := range p.Chunks {
		e.promise(k, p.Collective.Root)
		e.events.Push(moment{link: -1, chunk: int32(k), rank: int32(p.Collective.Root)})
	}
	return e
}

// promise enters that a rank has a chunk, or is about to.
func (e *eager) promise(chunk, rank int) {
	n := len(e.p.Chunks)
	e.missing[rank*n+chunk] = false
	e.got[rank]++
	e.holders[chunk]++
	e.holding[e.near.region[rank]*n+chunk]++
}

// run returns the schedule, or nil when ctx is done before.
func (e *eager) run(ctx context.Context) *model.Schedule {
	for n := 0; len(e.events) > 0; n++ {
		if n%(every/16) == 0 && ctx.Err() != nil {
			return nil
		}
		m := e.events.Pop()
		v := int(m.rank)
		if m.link >= 0 {
			e.send(v, int(m.link), m.at)
			continue
		}
		e.have[v] = append(e.have[v], m.chunk)
		for _, l := range e.near.ways.out[v] {
			if e.idle[l] {
				e.idle[l] = false
				e.events.Push(moment{m.at, int32(l), -1, m.rank})
			}
		}
	}
	if len(e.result.Transfers) != (len(e.p.Members())-1)*len(e.p.Chunks) {
		return nil // some rank is out of reach
	}
	slices.SortStableFunc(e.result.Transfers, func(a, b model.Transfer) int { return cmp.Compare(a.Start, b.Start) })
	return e.result
}

// sending is a transfer that may be made.
type sending struct {
	to, chunk int
	route     []int
	at        model.Time
}

const (
	// triedChunks is how many chunks are looked at before a rank sends one, and mostTries how many routes for each.
	triedChunks, mostTries = 4, 24
)

// send has a rank send something over a link that is free, if there is anything.
func (e *eager) send(v, link int, now model.Time) {
	best := sending{at: model.MaxTime}
	for i, k := range e.rarest(v) {
		if best.at == now || best.at < model.MaxTime && i >= triedChunks {
			break
		}
		if s := e.target(v, link, int(k), now); s.at < best.at {
			best = s
		}
	}
	if best.at == model.MaxTime {
		e.idle[link] = true
		return
	}
	if best.at > now {
		e.events.Push(moment{best.at, int32(link), -1, int32(v)})
		return
	}
	uses := e.used(best.route, best.chunk)
	e.board.Take(uses, 0, now, 0, nil)
	size := e.p.Chunks[best.chunk].Size
	end := now + e.p.Topology.Duration(best.route, size)
	e.result.Transfers = append(e.result.Transfers, model.Transfer{
		Chunk: int32(best.chunk), Src: int32(v), Dst: int32(best.to), Route: int32(len(e.result.Routes)), Op: model.Copy, Start: now, End: end})
	e.result.Routes = append(e.result.Routes, best.route)
	e.promise(best.chunk, best.to)
	e.events.Push(moment{e.board.Idle(link, now+1), int32(link), -1, int32(v)})
	e.events.Push(moment{end, -1, int32(best.chunk), int32(best.to)})
}

// rarest returns the chunks that a rank has and some other ranks lack, those first that the fewest have.
func (e *eager) rarest(v int) []int32 {
	all := int32(len(e.p.Members()))
	e.have[v] = slices.DeleteFunc(e.have[v], func(k int32) bool { return e.holders[k] == all })
	slices.SortStableFunc(e.have[v], func(a, b int32) int { return cmp.Compare(e.holders[a], e.holders[b]) })
	return e.have[v]
}

// target returns to whom a rank may send a chunk over a link: at once, if to anyone.
func (e *eager) target(v, link, chunk int, now model.Time) sending {
	type goal struct {
		circle, region int
		held           int32
	}
	n := len(e.p.Chunks)
	var goals []goal
	for i, c := range e.near.circles[v] {
		for j := range c.regions {
			if e.order == relayed { // so that no region is always the last
				j = (j + chunk) % len(c.regions)
			}
			r := c.regions[j]
			held := e.holding[r*n+chunk]
			if int(held) < len(e.near.ranks[r]) && (e.order != relayed || i == 0 || held == 0) {
				goals = append(goals, goal{i, r, held})
			}
		}
	}
	empty := e.order == emptyFirst || e.order == relayed && e.holding[e.near.region[v]*n+chunk] > 1
	slices.SortStableFunc(goals, func(a, b goal) int {
		near, held := cmp.Compare(a.circle, b.circle), cmp.Compare(a.held, b.held)
		if empty {
			return cmp.Or(cmp.Compare(min(a.held, 1), min(b.held, 1)), near, held)
		}
		return cmp.Or(near, held)
	})
	best, looks := sending{at: model.MaxTime}, 0
	for _, g := range goals {
		for _, u := range e.turned(e.near.ranks[g.region], v+chunk) {
			if u == v || !e.missing[u*n+chunk] {
				continue
			}
			for _, route := range e.near.ways.routes(v, u) {
				if route[0] != link {
					continue
				}
				looks++
				if at := e.board.First(e.used(route, chunk), 0, now); at < best.at {
					best = sending{u, chunk, route, at}
				}
				if best.at == now || looks == mostTries {
					return best
				}
			}
		}
	}
	return best
}

// turned returns the ranks of a region from one on, and then the first ones; where work is shared, those first that have
// got the fewest chunks. It is overwritten by the next call.
func (e *eager) turned(ranks []int, turn int) []int {
	turn %= len(ranks)
	e.ranks = append(append(e.ranks[:0], ranks[turn:]...), ranks[:turn]...)
	if e.order == relayed {
		slices.SortStableFunc(e.ranks, func(u, v int) int { return cmp.Compare(e.got[u], e.got[v]) })
	}
	return e.ranks
}

// used returns what a chunk uses of the links of a route.
func (e *eager) used(route []int, chunk int) []demand.Use {
	i := 0
	if chunk == len(e.p.Chunks)-1 {
		i = 1
	}
	uses, known := e.uses[i][&route[0]]
	if !known {
		uses = e.board.Uses(route, e.p.Chunks[chunk].Size, nil)
		e.uses[i][&route[0]] = uses
	}
	return uses
}

// soonest returns the best eager schedule of a broadcast to all ranks, over several numbers of chunks, if there is one:
// they are doubled until that gains nothing twice.
func soonest(ctx context.Context, p *model.Problem, o solve.Options) solve.Result {
	best := solve.Result{Problem: solve.Cut(p, 1), Stop: solve.Done}
	near := newNeighbours(p)
	if near == nil || near.slow(p) {
		return best
	}
	winner, last := nearFirst, map[order]model.Time{}
	ends, ways := model.MaxTime, []order{relayed, nearFirst, emptyFirst}
	for pieces, idle := int64(1), 0; idle < 2 && pieces*int64(p.Topology.Ranks) <= mostEager && ctx.Err() == nil; pieces *= 2 {
		idle++
		for _, way := range ways {
			q := *p
			q.Chunks = solve.Evenly(p.Space(), pieces)
			s := newEager(&q, near, way).run(ctx)
			if s == nil {
				continue
			}
			end := q.Makespan(s)
			if last[way] = end; end < ends {
				if end < ends-ends/littleLater {
					idle = 0
				}
				ends, best.Problem, best.Schedule = end, &q, s
				best.Note, winner = fmt.Sprintf("%d chunks, each sent on at once", len(q.Chunks)), way
			}
		}
		if pieces >= manyShared {
			ways = slices.DeleteFunc(ways, func(o order) bool { return last[o] > last[winner]+last[winner]/farBehind })
		}
		if ends <= max(o.Bound, o.Enough) {
			break
		}
	}
	if best.Schedule == nil {
		best.Stop = solve.Stopped(ctx, p).Stop
	}
	return best
}

// farBehind is the part of the best makespan by which an order that is behind is given up, once there are many chunks to share.
const farBehind, manyShared = 25, 4

// slow reports whether the root alone takes so long to send the buffer that latencies hardly count.
func (x *neighbours) slow(p *model.Problem) bool {
	farthest, bandwidth := model.Time(0), 0.0
	for _, circles := range x.circles {
		for _, c := range circles {
			farthest = max(farthest, c.latency)
		}
	}
	for _, l := range x.ways.out[p.Collective.Root] {
		bandwidth += float64(p.Topology.Links[l].Bandwidth)
	}
	return float64(p.Space())/bandwidth*1e12 > slowest*float64(farthest)
}

// slowest is up to how many times the latency to the farthest rank the root may take to send the buffer.
const slowest = 12

// mostEager is how many transfers an eager schedule has at most.
const mostEager = 1 << 17
