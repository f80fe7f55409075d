package operations

import (
	"cmp"
	"fmt"
	"math/big"
	"slices"

	"github.com/oraccl/oraccl/model"
	wl "github.com/oraccl/oraccl/model/workload"
	"github.com/oraccl/oraccl/verify"
	"github.com/oraccl/oraccl/verify/smt"
)

// times asks about releases, routes, durations and edges (V2, V5, V6).
func (e *encoder) times() error {
	q := &question{}
	q.put("(define-fun larger ((a Int) (b Int)) Int (ite (< a b) b a))\n")
	if e.s.Period > 0 {
		q.declare("p", 0, "Int")
		q.declare("q", 0, "Int")
	}
	for i := range e.placed {
		x := &e.placed[i]
		for _, v := range sorted(x.on) {
			at, release := x.on[v].from, e.w.ReleaseOf(x.Op, v)
			q.unless(fmt.Sprintf("(< %d %d)", at, release), is(verify.BeforeRelease, x.name, "begins on rank %d at %v, before its release at %v", v, at, release))
		}
		if x.program != nil {
			e.transfers(q, x)
		}
	}
	for _, edge := range e.w.Edges {
		for k, to := range e.of[edge.To] {
			e.edge(q, edge, k, to)
		}
	}
	return e.ask(q)
}

// transfers states that routes lead on, and what transfers take.
func (e *encoder) transfers(q *question, x *placed) {
	topology := e.w.Topology
	for j := range x.program.Transfers {
		t := &x.program.Transfers[j]
		route := x.program.Routes[t.Route]
		node, ends := []int{int(t.Src)}, ""
		var broken []string
		for _, l := range route {
			broken = append(broken, fmt.Sprintf("(distinct %d %d)", topology.Links[l].Src, node[len(node)-1]))
			node = append(node, topology.Links[l].Dst)
		}
		for _, v := range node {
			ends += fmt.Sprintf(" %d", v)
		}
		broken = append(broken, fmt.Sprintf("(distinct %d %d)", t.Dst, node[len(node)-1]))
		if len(node) > 1 {
			broken = append(broken, "(not (distinct"+ends+"))")
		}
		q.unless(or(broken...), is(verify.NoSuchLink, x.name, "transfer %d: its route is no path from rank %d to rank %d", j, t.Src, t.Dst))
		sum := fmt.Sprintf("%d", t.Start)
		for _, hop := range e.hops(route) {
			slowest := ""
			for _, l := range hop {
				d := fmt.Sprintf("%d", e.carries(q, x.problem.Chunks[t.Chunk].Size, topology.Links[l].Bandwidth))
				sum += fmt.Sprintf(" %d", topology.Links[l].Alpha)
				if slowest == "" {
					slowest = d
				} else if slowest != d {
					slowest = fmt.Sprintf("(larger %s %s)", slowest, d)
				}
			}
			sum += " " + slowest
		}
		q.unless(fmt.Sprintf("(< %d (+ %s))", t.End, sum), is(verify.TooFast, x.name, "transfer %d ends at %v, before it can", j, t.End))
		q.unless(fmt.Sprintf("(> %d (+ %s))", t.End, sum), is(verify.TooSlow, x.name, "transfer %d ends at %v, later than it does", j, t.End))
	}
}

// hops divides a route where it visits ranks: each part is carried cut-through.
func (e *encoder) hops(route []int) (all [][]int) {
	from := 0
	for i, l := range route {
		if i == len(route)-1 || e.w.Topology.IsRank(e.w.Topology.Links[l].Dst) {
			all = append(all, route[from:i+1])
			from = i + 1
		}
	}
	return all
}

// carries returns how long a link carries a number of bytes, in whole picoseconds rounded up, and states
// that it is.
func (e *encoder) carries(q *question, bytes, bandwidth int64) model.Time {
	all := new(big.Int).Mul(big.NewInt(bytes), big.NewInt(int64(model.Second)))
	d, rest := new(big.Int).DivMod(all, big.NewInt(bandwidth), new(big.Int))
	if rest.Sign() > 0 {
		d.Add(d, big.NewInt(1))
	}
	if !d.IsInt64() || d.Int64() > int64(model.MaxTime) {
		return model.MaxTime
	}
	if q != nil {
		q.unless(fmt.Sprintf("(not (and (<= %v (* %d %v)) (< (* %d (- %v 1)) %v)))", all, bandwidth, d, bandwidth, d, all),
			is(verify.Malformed, "durations", "%d bytes at %d bytes per second do not take %v ps", bytes, bandwidth, d))
	}
	return model.Time(d.Int64())
}

// edge states that iteration k of the end of an edge waits for its origin. In a periodic workload the
// end is in period p and the origin in period q, any two that fit; only one copy of the origin can.
func (e *encoder) edge(q *question, edge wl.Edge, k, to int) {
	n := e.w.Iterations(edge.From)
	from := k - edge.Height
	before := "(< %d %d)"
	if T := e.s.Period; T > 0 {
		copy := ((from % n) + n) % n
		before = fmt.Sprintf("(and (<= 0 p) (<= 0 q) (= (+ %d (* %d p)) (+ %d (* %d q))) (< (+ %%d (* %d p)) (+ %%d (* %d q))))", k, n, copy+edge.Height, n, T, T)
		from = copy
	} else if from < 0 {
		return
	}
	x, y := &e.placed[e.of[edge.From][from]], &e.placed[to]
	wait := func(v, u int, at, ready model.Time) {
		q.unless(fmt.Sprintf(before, at, ready), is(verify.BeforeDependency, y.name, "begins on rank %d at %v, before %s is ready on rank %d, at %v", v, at, x.name, u, ready))
	}
	ready := func(u int) model.Time {
		if edge.FromStart {
			return x.on[u].from + edge.Offset
		}
		return x.on[u].to
	}
	origins, ends := e.w.Members(e.w.Ops[edge.From].Group), e.w.Members(e.w.Ops[edge.To].Group)
	switch edge.Scope {
	case wl.ByRank:
		for _, v := range ends {
			if slices.Contains(origins, v) {
				wait(v, v, y.on[v].from, ready(v))
			}
		}
	case wl.ByAll:
		for _, v := range ends {
			for _, u := range origins {
				wait(v, u, y.on[v].from, ready(u))
			}
		}
	case wl.ByChunk:
		for _, meets := range e.meeting(edge) {
			for _, v := range ends {
				a, before := x.slots[slot{v, meets[0]}]
				b, after := y.slots[slot{v, meets[1]}]
				if before && after {
					wait(v, v, b.from, a.to)
				}
			}
		}
	}
}

// meeting returns the chunks of the two ends of an edge of scope chunk that overlap in their buffer.
func (e *encoder) meeting(edge wl.Edge) (pairs [][2]int) {
	a, b := &e.w.Ops[edge.From], &e.w.Ops[edge.To]
	for i, x := range a.Chunks {
		for j, y := range b.Chunks {
			from, to := a.Buffer.Offset+x.Offset, b.Buffer.Offset+y.Offset
			if from < to+y.Size && to < from+x.Size {
				pairs = append(pairs, [2]int{i, j})
			}
		}
	}
	return pairs
}

// use is a time in which a placement uses something, and how much of it.
type use struct {
	span
	of     int
	amount int64
}

// resources asks about links and ports (V2), computations (V6) and memory (V8).
func (e *encoder) resources() error {
	topology := e.w.Topology
	links := make([][]use, len(topology.Links))
	ranks := make([][]use, topology.Ranks)
	for i := range e.placed {
		x := &e.placed[i]
		if e.w.Ops[x.Op].Kind == wl.Compute {
			for v, s := range x.on {
				ranks[v] = append(ranks[v], use{s, i, e.w.Ops[x.Op].Bytes})
			}
		}
		if x.program == nil {
			continue
		}
		for j := range x.program.Transfers {
			t := &x.program.Transfers[j]
			at := x.At + t.Start
			for _, hop := range e.hops(x.program.Routes[t.Route]) {
				slowest := model.Time(0)
				for _, l := range hop {
					slowest = max(slowest, e.carries(nil, x.problem.Chunks[t.Chunk].Size, topology.Links[l].Bandwidth))
				}
				for _, l := range hop {
					busy := slowest
					if e.w.Cost == model.Blocking {
						busy += topology.Links[l].Alpha
					}
					links[l] = append(links[l], use{span{at, at + busy}, i, 1})
					at += topology.Links[l].Alpha
				}
				at += slowest
			}
		}
	}
	for l, list := range links {
		if err := e.atMost(list, 1, verify.LinkOverlap, fmt.Sprintf("link %d", l)); err != nil || len(e.wrong) > 0 {
			return err
		}
	}
	for i, port := range topology.Ports {
		var list []use
		for _, l := range port.Links {
			list = append(list, links[l]...)
		}
		if err := e.atMost(list, port.Capacity, verify.PortOverload, fmt.Sprintf("port %d", i)); err != nil || len(e.wrong) > 0 {
			return err
		}
	}
	for v, list := range ranks {
		if err := e.atMost(list, 1, verify.ComputeOverlap, fmt.Sprintf("rank %d", v)); err != nil || len(e.wrong) > 0 {
			return err
		}
		if e.w.Memory == nil {
			continue
		}
		if err := e.fits(list, v); err != nil || len(e.wrong) > 0 {
			return err
		}
	}
	return nil
}

// instant begins a question with an unknown instant t, of the first period if there are periods.
func (e *encoder) instant() *question {
	q := &question{unknowns: []string{"t"}}
	q.declare("t", 0, "Int")
	if e.s.Period > 0 {
		q.put("(assert (and (<= 0 t) (< t %d)))\n", e.s.Period)
		q.assumed = true
	}
	return q
}

// under returns conditions, each of which holds if a use is under way at the instant t, with the
// uses: one for each period in which it may have begun.
func (e *encoder) under(list []use) (conditions []string, of []use) {
	slices.SortFunc(list, func(a, b use) int {
		return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(a.to, b.to), cmp.Compare(a.of, b.of))
	})
	for _, u := range list {
		T := e.s.Period
		if T == 0 {
			conditions, of = append(conditions, fmt.Sprintf("(and (<= %d t) (< t %d))", u.from, u.to)), append(of, u)
			continue
		}
		for k := u.from / T; k*T < u.to && len(of) <= MaxConditions; k++ {
			conditions, of = append(conditions, fmt.Sprintf("(and (<= %d (+ t %d)) (< (+ t %d) %d))", u.from, k*T, k*T, u.to)), append(of, u)
		}
	}
	return conditions, of
}

// atMost asks whether at some instant more of list are under way than a number: conditions count, one
// use after the other, up to one more than that.
func (e *encoder) atMost(list []use, most int, code verify.Code, where string) error {
	conditions, of := e.under(list)
	if len(conditions) <= most {
		return nil
	}
	if len(conditions)*(most+1) > MaxTerms {
		return errUndecided(fmt.Sprintf("%s is used %d times, %d at once: more than are asked about", where, len(conditions), most))
	}
	q := e.instant()
	count := make([]string, most+2) // count[l]: at least l of those so far
	for l := range count {
		count[l] = "false"
	}
	count[0] = "true"
	var more []string
	for _, c := range conditions {
		now := q.define("Bool", c)
		if last := and(now, count[most]); count[most] != "false" {
			more = append(more, q.define("Bool", last))
		}
		for l := most; l > 0; l-- {
			if term := now; count[l-1] != "false" {
				if l > 1 {
					term = and(now, count[l-1])
				}
				if count[l] != "false" {
					term = or(count[l], term)
				}
				count[l] = q.define("Bool", term)
			}
		}
	}
	q.unless(or(more...), func(a smt.Assignment) verify.Violation {
		at := a["t"]
		names := ""
		for i, u := range of {
			shift := model.Time(0)
			if T := e.s.Period; T > 0 {
				first := i
				for first > 0 && of[first-1] == u {
					first--
				}
				shift = (u.from/T + model.Time(i-first)) * T
			}
			if now := new(big.Int).Add(at, big.NewInt(int64(shift))); now.Cmp(big.NewInt(int64(u.from))) >= 0 && now.Cmp(big.NewInt(int64(u.to))) < 0 && len(names) < 200 {
				if names != "" {
					names += ", "
				}
				names += e.placed[u.of].name
			}
		}
		return verify.Wrong(code, where, fmt.Sprintf("at %v ps it is used by %s, want at most %d at once", at, names, most))
	})
	return e.ask(q)
}

// fits asks whether at some instant the computations under way on a rank and what is resident need more
// memory than it has.
func (e *encoder) fits(list []use, v int) error {
	need := int64(0)
	for _, j := range e.w.Jobs {
		need += j.Resident
	}
	q := e.instant()
	conditions, of := e.under(list)
	sum := fmt.Sprint(need)
	for i, c := range conditions {
		sum += fmt.Sprintf(" (ite %s %d 0)", q.define("Bool", c), of[i].amount)
	}
	q.unless(fmt.Sprintf("(< %d (+ %s 0))", e.w.Memory[v], sum), func(a smt.Assignment) verify.Violation {
		return verify.Wrong(verify.OutOfMemory, fmt.Sprintf("rank %d", v), fmt.Sprintf("at %v ps more is needed than its %d bytes", a["t"], e.w.Memory[v])).AtRank(v)
	})
	return e.ask(q)
}
