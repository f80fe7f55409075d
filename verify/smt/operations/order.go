package operations

import (
	"cmp"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strings"

	"github.com/oraccl/oraccl/model"
	wl "github.com/oraccl/oraccl/model/workload"
	"github.com/oraccl/oraccl/verify"
	"github.com/oraccl/oraccl/verify/smt"
)

// deadlock asks whether libraries in which each rank enters its collectives one after the other can
// wait for each other for ever (V7). Unknowns: stuck_i, whether collective i never happens; m_i, in a
// periodic workload, in which period. One that is stuck has on some rank the one that begins next
// before it stuck, in a period in which that begins earlier.
func (e *encoder) deadlock() error {
	type begin struct {
		at, from model.Time // from: without whole periods
		of       int
	}
	type link struct{ rank, before int }
	by := map[int][]begin{}
	for i := range e.placed {
		members := e.w.Members(e.w.Ops[e.placed[i].Op].Group)
		if e.placed[i].program == nil || len(members) < 2 {
			continue
		}
		for _, v := range members {
			at := e.placed[i].on[v].from
			from := at
			if T := e.s.Period; T > 0 {
				from = at % T
			}
			by[v] = append(by[v], begin{at, from, i})
		}
	}
	q := &question{}
	before := map[int][]string{}
	links := map[int][]link{}
	for _, v := range sorted(by) {
		list := by[v]
		slices.SortFunc(list, func(a, b begin) int { return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(a.of, b.of)) })
		var last []begin // those that begin next before
		if e.s.Period > 0 {
			for _, b := range list {
				if b.from == list[len(list)-1].from {
					last = append(last, b)
				}
			}
		}
		for i := 0; i < len(list); {
			j := i
			for j < len(list) && list[j].from == list[i].from {
				j++
			}
			for _, b := range list[i:j] {
				for _, a := range last {
					term := fmt.Sprintf("stuck%d", a.of)
					if T := e.s.Period; T > 0 {
						term = fmt.Sprintf("(and %s (< (+ %d (* %d m%d)) (+ %d (* %d m%d))))", term, a.at, T, a.of, b.at, T, b.of)
					}
					links[b.of] = append(links[b.of], link{v, a.of})
					if !slices.Contains(before[b.of], term) {
						before[b.of] = append(before[b.of], term)
					}
				}
			}
			last = list[i:j]
			i = j
		}
	}
	all := map[int]bool{}
	for _, list := range by {
		for _, b := range list {
			all[b.of] = true
		}
	}
	var stuck []string
	for _, i := range sorted(all) {
		stuck = append(stuck, q.declare(fmt.Sprintf("stuck%d", i), 0, "Bool"))
		if q.unknowns = append(q.unknowns, stuck[len(stuck)-1]); e.s.Period > 0 {
			q.unknowns = append(q.unknowns, q.declare(fmt.Sprintf("m%d", i), 0, "Int"))
		}
	}
	for _, i := range sorted(all) {
		q.put("(assert (=> stuck%d %s))\n", i, or(before[i]...))
	}
	q.assumed = true
	q.unless(or(stuck...), func(a smt.Assignment) verify.Violation {
		period := func(i int) *big.Int {
			if x := a[fmt.Sprintf("m%d", i)]; x != nil {
				return x
			}
			return new(big.Int)
		}
		time := func(i, v int) *big.Int {
			at := new(big.Int).Mul(period(i), big.NewInt(int64(e.s.Period)))
			return at.Add(at, big.NewInt(int64(e.placed[i].on[v].from)))
		}
		var path, ranks []int
		for _, i := range sorted(all) {
			if a[fmt.Sprintf("stuck%d", i)].Sign() != 0 {
				path = append(path, i)
				break
			}
		}
		for len(path) > 0 && !slices.Contains(path[:len(path)-1], path[len(path)-1]) {
			i := path[len(path)-1]
			k := slices.IndexFunc(links[i], func(l link) bool {
				return a[fmt.Sprintf("stuck%d", l.before)].Sign() != 0 && time(l.before, l.rank).Cmp(time(i, l.rank)) < 0
			})
			if k < 0 {
				break
			}
			path, ranks = append(path, links[i][k].before), append(ranks, links[i][k].rank)
		}
		var all []string
		for k := len(path) - 1; k > 0 && (k == len(path)-1 || path[k] != path[len(path)-1]); k-- {
			all = append(all, fmt.Sprintf("rank %d begins %s before %s", ranks[k-1], e.placed[path[k]].name, e.placed[path[k-1]].name))
		}
		return verify.Wrong(verify.Deadlock, "collectives", strings.Join(all, ", ")+": ranks that enter one after the other wait for each other for ever")
	})
	return e.ask(q)
}

// access is what an operation does with a region on a rank.
type access struct {
	op     int
	region wl.Region
	writes bool
	until  model.Time // after the start of a computation; 0: its end
	chunk  int        // of a collective; else -1
}

// races asks whether any timing that keeps the edges lets two accesses to one place be under way at
// once, of which one writes (19.7). Where no operation waits for all ranks of another one, each rank
// is a question of its own.
func (e *encoder) races() error {
	on := make([][]access, e.w.Topology.Ranks)
	for i := range e.w.Ops {
		e.accesses(i, on)
	}
	together := slices.ContainsFunc(e.w.Edges, func(x wl.Edge) bool { return x.Scope == wl.ByAll })
	if !together {
		for v := range on {
			if err := e.counts(on, []int{v}); err != nil || len(e.wrong) > 0 {
				return err
			}
		}
		return nil
	}
	var all []int
	for v := range on {
		all = append(all, v)
	}
	return e.counts(on, all)
}

// accesses adds what operation i does with the buffers of its ranks, whichever program it has.
func (e *encoder) accesses(i int, on [][]access) {
	op := &e.w.Ops[i]
	if op.Kind == wl.Compute {
		for _, v := range e.w.Members(op.Group) {
			for _, a := range op.Reads {
				on[v] = append(on[v], access{i, a.Region, false, a.Until, -1})
			}
			for _, a := range op.Writes {
				on[v] = append(on[v], access{i, a.Region, true, a.Until, -1})
			}
		}
	}
	touched := map[slot]bool{} // and written
	for _, p := range e.of[i] {
		x := &e.placed[p]
		for k := range x.slots {
			touched[k] = touched[k] || x.written[k]
		}
	}
	members := e.w.Members(op.Group)
	for k, writes := range touched {
		if slices.Contains(members, k.rank) {
			name, offset := e.w.BufferOf(i, k.rank)
			c := op.Chunks[k.chunk]
			on[k.rank] = append(on[k.rank], access{i, wl.Region{Buffer: name, Offset: offset + c.Offset, Size: c.Size}, writes, 0, k.chunk})
		}
	}
}

// counter makes the question about races on some ranks.
type counter struct {
	*encoder
	q      *question
	single bool // one rank: names have no rank, so that equal ranks are one question
	byTime map[int][]model.Time
}

// event names a count: how many iterations of an operation have come to a point on a rank.
func (c *counter) event(op, v int, point string) string {
	name := fmt.Sprintf("n%d%s", op, point)
	if !c.single {
		name += fmt.Sprintf("r%d", v)
	}
	if key := "declare " + name; c.q.names[key] == "" {
		c.q.declare(name, 0, "Int")
		if c.s.Period == 0 {
			c.q.put("(assert (and (<= 0 %s) (<= %s %d)))\n", name, name, c.w.Iterations(op))
		}
	}
	return name
}

// after states that a point comes after another one, some iterations before.
func (c *counter) after(later, earlier string, height int) {
	c.q.put("(assert (<= %s (+ %s %d)))\n", later, earlier, height)
}

// done returns the count of what is over a time after the start of a computation: the last point that
// is known and not later.
func (c *counter) done(op, v int, after model.Time) string {
	point := "b"
	for _, t := range c.byTime[op] {
		if t <= after {
			point = fmt.Sprintf("u%d", t)
		}
	}
	return c.event(op, v, point)
}

// counts asks about the accesses on some ranks.
func (e *encoder) counts(on [][]access, ranks []int) error {
	c := &counter{encoder: e, q: &question{}, single: len(ranks) == 1, byTime: map[int][]model.Time{}}
	c.q.assumed = true
	for i := range e.w.Ops {
		for _, a := range slices.Concat(e.w.Ops[i].Reads, e.w.Ops[i].Writes) {
			if a.Until > 0 && !slices.Contains(c.byTime[i], a.Until) {
				c.byTime[i] = append(c.byTime[i], a.Until)
			}
		}
		slices.Sort(c.byTime[i])
	}
	chunked := map[int]map[slot]bool{} // operations whose chunks wait, or are waited for, by themselves
	for _, edge := range e.w.Edges {
		if edge.Scope == wl.ByChunk {
			for _, i := range []int{edge.From, edge.To} {
				if chunked[i] == nil {
					chunked[i] = map[slot]bool{}
					for _, p := range e.of[i] {
						for k := range e.placed[p].slots {
							chunked[i][k] = true
						}
					}
				}
			}
		}
	}
	for _, v := range ranks {
		for i := range e.w.Ops {
			if !slices.Contains(e.w.Members(e.w.Ops[i].Group), v) {
				continue
			}
			last := c.event(i, v, "b")
			for _, t := range c.byTime[i] {
				next := c.event(i, v, fmt.Sprintf("u%d", t))
				c.after(next, last, 0)
				last = next
			}
			c.after(c.event(i, v, "e"), last, 0)
			for _, k := range slices.SortedFunc(maps.Keys(chunked[i]), func(a, b slot) int { return cmp.Compare(a.chunk, b.chunk) }) {
				if k.rank == v {
					b, end := c.event(i, v, fmt.Sprintf("c%db", k.chunk)), c.event(i, v, fmt.Sprintf("c%de", k.chunk))
					c.after(b, c.event(i, v, "b"), 0)
					c.after(end, b, 0)
					c.after(c.event(i, v, "e"), end, 0)
				}
			}
		}
	}
	for _, edge := range e.w.Edges {
		c.edge(edge, ranks, chunked)
	}
	return c.pairs(on, ranks, chunked)
}

// edge states what an edge makes of counts.
func (c *counter) edge(edge wl.Edge, ranks []int, chunked map[int]map[slot]bool) {
	origins, ends := c.w.Members(c.w.Ops[edge.From].Group), c.w.Members(c.w.Ops[edge.To].Group)
	ready := func(v int) string {
		if edge.FromStart {
			return c.done(edge.From, v, edge.Offset)
		}
		return c.event(edge.From, v, "e")
	}
	for _, v := range ranks {
		if !slices.Contains(ends, v) {
			continue
		}
		switch edge.Scope {
		case wl.ByAll:
			for _, u := range origins {
				c.after(c.event(edge.To, v, "b"), ready(u), edge.Height)
			}
		case wl.ByRank:
			if slices.Contains(origins, v) {
				c.after(c.event(edge.To, v, "b"), ready(v), edge.Height)
			}
		case wl.ByChunk:
			for _, meets := range c.meeting(edge) {
				if chunked[edge.From][slot{v, meets[0]}] && chunked[edge.To][slot{v, meets[1]}] {
					c.after(c.event(edge.To, v, fmt.Sprintf("c%db", meets[1])), c.event(edge.From, v, fmt.Sprintf("c%de", meets[0])), edge.Height)
				}
			}
		}
	}
}

// pairs asks about all pairs of accesses to one place, of which one writes.
func (c *counter) pairs(on [][]access, ranks []int, chunked map[int]map[slot]bool) error {
	type pair struct {
		a, b access
		rank int
	}
	var pairs []pair
	var cases []string
	asked := map[string]bool{}
	for _, v := range ranks {
		points := func(a access) (begin, end string) {
			if a.chunk >= 0 && chunked[a.op] != nil {
				return c.event(a.op, v, fmt.Sprintf("c%db", a.chunk)), c.event(a.op, v, fmt.Sprintf("c%de", a.chunk))
			}
			if a.until > 0 {
				return c.event(a.op, v, "b"), c.event(a.op, v, fmt.Sprintf("u%d", a.until))
			}
			return c.event(a.op, v, "b"), c.event(a.op, v, "e")
		}
		// least names that an access of an iteration is under way when that of the n-th after it has
		// begun.
		least := func(a access, n int, b access) string {
			_, end := points(a)
			begin, _ := points(b)
			name := fmt.Sprintf("w%d%s%s", n, end, begin)
			if c.q.names["declare "+name] == "" {
				c.q.declare(name, 0, "Bool")
				c.q.put("(assert (=> %s (< (+ %s %d) %s)))\n", name, end, n, begin)
			}
			return name
		}
		list := on[v]
		slices.SortStableFunc(list, func(a, b access) int {
			return cmp.Or(strings.Compare(a.region.Buffer, b.region.Buffer), cmp.Compare(a.region.Offset, b.region.Offset), cmp.Compare(a.op, b.op), cmp.Compare(a.chunk, b.chunk))
		})
		for i, a := range list {
			for _, b := range list[i:] {
				if b.region.Buffer != a.region.Buffer || b.region.Offset >= a.region.Offset+a.region.Size {
					break
				}
				if !a.writes && !b.writes {
					continue
				}
				var texts []string
				if a.op != b.op {
					texts = []string{least(a, 0, a) + " " + least(b, 0, b)}
				} else if c.s.Period > 0 || c.w.Iterations(a.op) > 1 { // one iteration of it, and the next one
					texts = []string{least(a, 1, b), least(b, 1, a)}
				}
				for _, text := range texts {
					if !asked[text] {
						asked[text] = true
						pairs, cases = append(pairs, pair{a, b, v}), append(cases, text)
					}
				}
			}
		}
	}
	if len(cases) == 0 {
		return nil
	}
	if len(cases) > MaxConditions || len(c.q.names) > MaxTerms {
		return errUndecided(fmt.Sprintf("%d pairs of accesses, more than the %d that are asked about", len(cases), MaxConditions))
	}
	a, err := c.solve(smt.Question{Script: c.q.String()})
	if err != nil {
		return err
	}
	if a.Status != smt.Sat {
		return errUndecided("the edges contradict each other, so that they prove nothing")
	}
	if a, err = c.solve(smt.Question{Script: c.q.String(), Cases: cases}); err != nil || a.Status == smt.Unsat {
		return err
	}
	p := pairs[a.Case]
	code := verify.ReadWriteRace
	if p.a.writes && p.b.writes {
		code = verify.WriteWriteRace
	}
	c.wrong = append(c.wrong, verify.Wrong(code, fmt.Sprintf("rank %d, %s from byte %d", p.rank, model.Quote(p.a.region.Buffer), max(p.a.region.Offset, p.b.region.Offset)),
		fmt.Sprintf("%s and %s may be under way at once", c.w.Ops[p.a.op].ID, c.w.Ops[p.b.op].ID)).AtRank(p.rank))
	return nil
}
