package plan

import (
	"context"
	"slices"
)

// match adds what waits for signals, and acquires for releases.
//
// A wait passes when as many signals have come as waits were begun on the counter, itself
// included. So signal s is before an event e in every execution if, without s and what is
// after s, there are fewer signals than there are waits on the counter that are before e or
// are e. Where both ends are used in one order this is: the k-th wait is after the k-th signal.
// Else the rule is applied until nothing new comes of it.
func (g *graph) match(ctx context.Context) {
	var rest []*counter
	for i := range g.counters {
		c := &g.counters[i]
		c.shared, c.unfair = g.blocks(c.raises) > 1, g.blocks(c.takes) > 1
		if !g.chain(c.raises) || !g.chain(c.takes) {
			rest = append(rest, c)
			continue
		}
		for k, t := range c.takes {
			if k < c.credit || k-c.credit >= len(c.raises) {
				continue
			}
			g.link(c, c.raises[k-c.credit], t)
		}
	}
	var loose []*channel
	for _, c := range g.channels {
		for i := 1; i < len(c.pushes); i++ {
			if !g.ordered(c.pushes[i-1], c.pushes[i]) {
				loose = append(loose, c)
				break
			}
		}
	}
	known := map[[2]int]bool{}
	for again := len(rest)+len(loose) > 0; again && ctx.Err() == nil; {
		again = false
		g.sort()
		if g.order == nil {
			return
		}
		add := func(a, b int, f func()) {
			if !known[[2]int{a, b}] {
				known[[2]int{a, b}] = true
				again = true
				f()
			}
		}
		for _, c := range loose {
			for i, p := range c.pushes {
				after := g.from(p, true)
				for j, q := range c.pushes {
					if i != j && has(after, q) && !g.ordered(p, q) {
						add(c.done[i], c.effect[j], func() { g.before(c.done[i], c.effect[j]) })
					}
				}
			}
		}
		for _, c := range rest {
			g.rule(c, add)
		}
	}
}

// rule applies the rule of match to a counter.
func (g *graph) rule(c *counter, add func(a, b int, f func())) {
	later := make([]int, len(c.raises)) // how many signals are s or after s
	for i, s := range c.raises {
		after := g.from(s, true)
		for _, x := range c.raises {
			if x == s || has(after, x) {
				later[i]++
			}
		}
	}
	// of each event that may wait for several: the waits that are before it
	before := map[int][]int{}
	for _, t := range c.takes {
		before[t] = append(before[t], t)
		after := g.from(t, true)
		for _, x := range c.takes {
			if has(after, x) && x != t {
				before[x] = append(before[x], t)
			}
		}
		for e := range g.events {
			if k := g.events[e].kind; (k == ended || k == meets) && has(after, e) {
				before[e] = append(before[e], t)
			}
		}
	}
	var events []int
	for e := range before {
		events = append(events, e)
	}
	slices.Sort(events)
	for _, e := range events {
		for i, s := range c.raises {
			if len(c.raises)-later[i] < len(before[e])-c.credit {
				add(s, e, func() {
					if relaxed := c.relaxed[s] || slices.ContainsFunc(before[e], func(t int) bool { return c.relaxed[t] }); relaxed {
						g.weaklyBefore(s, e)
					} else {
						g.before(s, e)
					}
				})
			}
		}
	}
}

func (g *graph) link(c *counter, s, t int) {
	if c.relaxed[s] || c.relaxed[t] {
		g.weaklyBefore(s, t)
	} else {
		g.before(s, t)
	}
}

// chain reports whether events are in one order by what their threads do alone.
func (g *graph) chain(events []int) bool {
	for i := 1; i < len(events); i++ {
		if !g.ordered(events[i-1], events[i]) {
			return false
		}
	}
	return true
}

// blocks is how many threadblocks some events are of.
func (g *graph) blocks(events []int) int {
	seen := map[int]bool{}
	for _, e := range events {
		seen[g.events[e].block] = true
	}
	return len(seen)
}

func has(set []uint64, e int) bool { return set[e/64]>>(e%64)&1 != 0 }

// from returns the events that are after one, by memory or by execution (weak).
func (g *graph) from(e int, weak bool) []uint64 {
	which := 0
	if weak {
		which = 1
	}
	sets := g.cache[e]
	if sets[which] != nil {
		return sets[which]
	}
	set := make([]uint64, (len(g.events)+63)/64)
	stack := []int32{int32(e)}
	for len(stack) > 0 {
		x := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		visit := func(list []int32) {
			for _, to := range list {
				if !has(set, int(to)) {
					set[to/64] |= 1 << (to % 64)
					stack = append(stack, to)
				}
			}
		}
		visit(g.strong[x])
		if weak {
			visit(g.weak[x])
		}
	}
	if len(g.cache) > 1<<26/max(1, len(g.events)) { // half a gigabyte
		clear(g.cache)
	}
	sets[which] = set
	g.cache[e] = sets
	return set
}

// question is whether an event is before another one.
type question struct {
	from, to     int
	strong, weak bool // the answers
}

// answer answers questions: sets of a block of sources are passed on along all edges, once.
func (g *graph) answer(ctx context.Context, all []question) {
	const words = 64
	bySource := map[int][]int{} // questions
	var sources []int
	for i, q := range all {
		if bySource[q.from] == nil {
			sources = append(sources, q.from)
		}
		bySource[q.from] = append(bySource[q.from], i)
	}
	slices.Sort(sources)
	sets := make([]uint64, 2*words*len(g.events))
	for ; len(sources) > 0 && ctx.Err() == nil; sources = sources[min(len(sources), 64*words):] {
		clear(sets)
		part := sources[:min(len(sources), 64*words)]
		n := (len(part) + 63) / 64
		row := func(e int32, which int) []uint64 { i := (2*int(e) + which) * words; return sets[i : i+n] }
		for i, s := range part {
			row(int32(s), 0)[i/64] |= 1 << (i % 64)
			row(int32(s), 1)[i/64] |= 1 << (i % 64)
		}
		for _, e := range g.order {
			strong, weak := row(e, 0), row(e, 1)
			for _, to := range g.strong[e] {
				a, b := row(to, 0), row(to, 1)
				for w := range n {
					a[w] |= strong[w]
					b[w] |= weak[w]
				}
			}
			for _, to := range g.weak[e] {
				b := row(to, 1)
				for w := range n {
					b[w] |= weak[w]
				}
			}
		}
		for i, s := range part {
			for _, q := range bySource[s] {
				to := int32(all[q].to)
				all[q].strong = row(to, 0)[i/64]>>(i%64)&1 != 0
				all[q].weak = row(to, 1)[i/64]>>(i%64)&1 != 0
			}
		}
	}
}
