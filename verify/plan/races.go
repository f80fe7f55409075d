package plan

import (
	"context"
	"fmt"
	"slices"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/verify"
)

// access is an access of a move to bytes of a space.
type access struct {
	move       int
	start, end int64 // bytes of the space
	from       int64 // where the move's first element is; of packets, of payload
	buffer     int
	write      bool
	packet     bool
}

// accesses lists what the moves do with memory, by space. Empty spans, and those out of bounds,
// of which bounds says so, are left out.
func (g *graph) accesses() map[int][]access {
	all := map[int][]access{}
	for i := range g.moves {
		m := &g.moves[i]
		p := g.plans[m.launch]
		add := func(s model.PlanSpan, write bool) {
			if s.Size <= 0 || !sound(p, s) {
				return
			}
			x := p.Buffers[s.Buffer]
			a := access{i, x.Base + s.Start, x.Base + s.Start + s.Size, x.Base + s.Start, s.Buffer, write, s.Packet}
			if s.Packet {
				a.start, a.end, a.from = 2*s.Start, 2*(s.Start+s.Size), s.Start
			}
			all[x.Space] = append(all[x.Space], a)
		}
		for _, s := range m.Srcs {
			add(s, false)
		}
		for _, d := range m.Dsts {
			add(d, true)
		}
	}
	for _, list := range all {
		slices.SortFunc(list, func(a, b access) int {
			switch {
			case a.start != b.start:
				return int(min(1, max(-1, a.start-b.start)))
			}
			return a.move - b.move
		})
	}
	return all
}

// pair is two accesses that must be ordered; both questions are about them.
type pair struct {
	a, b access
	q    int // a before b; q+1 is b before a
}

// place names a move.
func (g *graph) place(i int) string {
	m := &g.moves[i]
	return g.plans[m.launch].Blocks[m.block].Place(m.op)
}

func (g *graph) line(i int) int {
	m := &g.moves[i]
	return g.plans[m.launch].Blocks[m.block].Ops[m.op].Line
}

// at is a violation at a move.
func (g *graph) at(code verify.Code, i int, format string, args ...any) verify.Violation {
	return verify.Wrong(code, g.place(i), fmt.Sprintf(format, args...)).AtLine(g.line(i)).AtRank(g.moves[i].rank)
}

// maxPairs is how many pairs of accesses are compared at most.
const maxPairs = 1 << 24

// races finds conflicting accesses that are not ordered. Of one launch all are looked at but
// packets, which have rules of their own; between launches those to scratch.
func (g *graph) races(ctx context.Context, between bool) (wrong, weak []verify.Violation, enough bool) {
	work := verify.Begin(ctx, maxPairs<<4)
	var pairs []pair
	var questions []question
	spaces := g.accesses()
	var names []int
	for s := range spaces {
		names = append(names, s)
	}
	slices.Sort(names)
	for _, s := range names {
		list := spaces[s]
		var active []access
		for _, b := range list {
			if !work.Go(len(active) + 1) {
				return nil, nil, false
			}
			active = slices.DeleteFunc(active, func(a access) bool { return a.end <= b.start })
			for _, a := range active {
				if !a.write && !b.write {
					continue
				}
				x, y := &g.moves[a.move], &g.moves[b.move]
				p := g.plans[0].Buffers[a.buffer]
				if between {
					if x.launch == y.launch || p.User {
						continue
					}
					first, second := a, b
					if x.launch > y.launch {
						first, second = b, a
					}
					if !second.write {
						continue
					}
					pairs = append(pairs, pair{first, second, len(questions)})
					questions = append(questions, question{from: g.moves[first.move].done, to: g.moves[second.move].begin})
					continue
				}
				if x.launch != y.launch {
					continue
				}
				switch {
				case a.packet != b.packet:
					if len(wrong) < verify.MaxViolations {
						wrong = append(wrong, g.at(verify.PacketMixed, b.move, "and %s use bytes of scratch of gpu %d, from %d on, one as packets and one as they are", g.place(a.move), p.Rank, b.start))
					}
					continue
				case a.packet: // a read waits for a write, and run finds second writes; a proxy reads what must be there
					if !(x.proxy && !a.write) && !(y.proxy && !b.write) {
						continue
					}
				case a.move == b.move:
					if a.start != b.start && len(wrong) < verify.MaxViolations {
						wrong = append(wrong, g.at(raceCode(a, b), a.move, "one of its threads uses bytes of %s of gpu %d, from %d on, that another one writes", p.Name, p.Rank, b.start-p.Base))
					}
					continue
				}
				pairs = append(pairs, pair{a, b, len(questions)})
				questions = append(questions, question{from: x.done, to: y.begin}, question{from: y.done, to: x.begin})
				if len(pairs) > maxPairs {
					return nil, nil, false
				}
			}
			active = append(active, b)
		}
	}
	g.answer(ctx, questions)
	if ctx.Err() != nil {
		return nil, nil, false
	}
	// A proxy reads packets that must be there. Those that are written twice with the same, which
	// run reports, are there after the first time.
	there := map[access]bool{}
	for _, x := range pairs {
		if x.a.packet && !between {
			if x.a.write && x.a.start <= x.b.start && x.b.end <= x.a.end && questions[x.q].weak {
				there[x.b] = true
			}
			if x.b.write && x.b.start <= x.a.start && x.a.end <= x.b.end && questions[x.q+1].weak {
				there[x.a] = true
			}
		}
	}
	for _, x := range pairs {
		if x.a.packet && (there[x.a] || there[x.b]) {
			continue
		}
		if between {
			if q := questions[x.q]; !q.weak && !g.aligned(x.a, x.b) && len(wrong) < 1 {
				p := g.plans[0].Buffers[x.a.buffer]
				wrong = append(wrong, g.at(verify.NextLaunch, x.b.move, "writes scratch of gpu %d, which %s of the launch before may still use", p.Rank, g.place(x.a.move)))
			}
			continue
		}
		a, b, q := x.a, x.b, questions[x.q]
		if back := questions[x.q+1]; back.weak {
			a, b, q = b, a, back
		}
		needsStrong := a.write && !(a.packet && g.moves[b.move].proxy)
		p := g.plans[0].Buffers[a.buffer]
		what := func(a access) string {
			if a.write {
				return "writes"
			}
			return "reads"
		}
		if q.weak && (q.strong || !needsStrong) {
			continue
		}
		one := g.sameThread(a, b) || g.sameThread(b, a)
		if one {
			continue
		}
		ordered := q.weak
		if !ordered {
			switch {
			case g.aligned(x.a, x.b):
				ordered, needsStrong = true, x.a.write
			case g.aligned(x.b, x.a):
				ordered, needsStrong = true, x.b.write
			}
		}
		switch {
		case ordered && !needsStrong:
		case ordered:
			if len(weak) < verify.MaxViolations {
				weak = append(weak, g.at(verify.RelaxedOrder, b.move, "%s %s of gpu %d, which %s writes; execution orders them, and nothing makes the one see the other", what(b), p.Name, p.Rank, g.place(a.move)))
			}
		default:
			if len(wrong) < verify.MaxViolations {
				wrong = append(wrong, g.at(raceCode(a, b), b.move, "%s %s of gpu %d from byte %d on, which %s %s, and nothing orders the two", what(b), p.Name, p.Rank, max(a.start, b.start)-p.Base, g.place(a.move), what(a)))
			}
		}
	}
	return wrong, weak, true
}

func raceCode(a, b access) verify.Code {
	if a.write && b.write {
		return verify.WriteWriteRace
	}
	return verify.ReadWriteRace
}

// sameThread reports whether each byte that both use is used by one thread in both, first in a.
// Element e of any move of a threadblock is moved by thread e modulo the number of threads.
func (g *graph) sameThread(a, b access) bool {
	x, y := &g.moves[a.move], &g.moves[b.move]
	return !x.proxy && !y.proxy && x.launch == y.launch && x.block == y.block && (x.op < y.op || x.op == y.op && x.part < y.part) && x.Grain == y.Grain && a.from == b.from && a.packet == b.packet
}

// aligned reports whether each element of a that b uses as well is used by a first, by what
// orders elements and not whole moves: packets, and that a thread does its elements of one
// move before those of the next.
func (g *graph) aligned(a, b access) bool {
	y := &g.moves[b.move]
	// offsets in the moves, of bytes of payload
	low, high := max(a.start, b.start), min(a.end, b.end)
	scale := int64(1)
	if a.packet {
		scale = 2
	}
	lowA, highA := low/scale-a.from, high/scale-a.from
	shift := a.from - b.from // offset in b minus offset in a, of the same byte
	return g.reaches(a.move, lowA, highA, 0, shift, y, 0)
}

// reaches reports whether bytes low to high of move m, which are by away from those that were
// asked about, are moved before the same bytes of y.
func (g *graph) reaches(m int, low, high, by, want int64, y *move, depth int) bool {
	x := &g.moves[m]
	if depth > 0 && &g.moves[m] == y {
		return by == want
	}
	if has(g.from(x.done, true), y.begin) {
		return true
	}
	if depth > 8 {
		return false
	}
	var covered []slot
	try := func(next int, low, high, by int64) {
		if low < high && !slices.ContainsFunc(covered, func(s slot) bool { return s.start <= low-by && high-by <= s.end }) && g.reaches(next, low, high, by, want, y, depth+1) {
			covered = append(covered, slot{next, low - by, high - by})
		}
	}
	if !has(g.from(x.begin, true), y.done) {
		return false
	}
	for _, r := range g.reads[m] { // start and end are where the written and the read slots begin
		d := r.start - r.end
		n := g.moves[r.move].Bytes()
		try(r.move, max(low+d, 0), min(high+d, n), by+d)
	}
	if !x.proxy {
		for next := m + 1; next < len(g.moves); next++ {
			z := &g.moves[next]
			if z.launch != x.launch || z.block != x.block || g.events[z.begin].segment != g.events[x.begin].segment {
				break
			}
			if !z.proxy && z.Grain == x.Grain {
				try(next, low, min(high, z.Bytes()), by)
			}
		}
	}
	slices.SortFunc(covered, func(a, b slot) int { return int(min(1, max(-1, a.start-b.start))) })
	at := low - by
	for _, c := range covered {
		if c.start > at {
			return false
		}
		at = max(at, c.end)
	}
	return at >= high-by
}

// handshakes finds accesses to a buffer of the caller of another rank, or by a proxy, before
// that rank is known to have started, or when it may have ended.
func (g *graph) handshakes(ctx context.Context) (wrong, weak []verify.Violation) {
	type asked struct {
		access
		q int
	}
	var all []asked
	var questions []question
	spaces := g.accesses()
	var names []int
	for s := range spaces {
		names = append(names, s)
	}
	slices.Sort(names)
	for _, s := range names {
		for _, a := range spaces[s] {
			m := &g.moves[a.move]
			p := g.plans[0].Buffers[a.buffer]
			if !p.User || m.rank == p.Rank && !m.proxy {
				continue
			}
			all = append(all, asked{a, len(questions)})
			questions = append(questions, question{from: g.start[m.launch][p.Rank], to: m.begin}, question{from: m.done, to: g.end[m.launch][p.Rank]})
		}
	}
	g.answer(ctx, questions)
	slices.SortStableFunc(all, func(a, b asked) int { return a.move - b.move })
	count := map[verify.Code]int{}
	say := func(to *[]verify.Violation, v verify.Violation) {
		if count[v.Code]++; count[v.Code] <= verify.MaxViolations/2 {
			*to = append(*to, v)
		}
	}
	for _, a := range all {
		m := &g.moves[a.move]
		p := g.plans[0].Buffers[a.buffer]
		verb := "reads"
		if a.write {
			verb = "writes"
		}
		whose := fmt.Sprintf("%s %s of gpu %d", verb, map[string]string{"i": "the input", "o": "the output"}[p.Name], p.Rank)
		if !questions[a.q].weak {
			say(&wrong, g.at(verify.EntryHandshake, a.move, "%s before that rank is known to have started", whose))
		}
		switch q := questions[a.q+1]; {
		case q.strong || q.weak && !a.write:
		case q.weak:
			say(&weak, g.at(verify.RelaxedOrder, a.move, "%s; only what orders execution and not memory is between that and the end of the rank", whose))
		case !a.write && g.endsAfter(a.access, g.end[m.launch][p.Rank]):
		default:
			say(&wrong, g.at(verify.ExitHandshake, a.move, "%s, which may have ended by then", whose))
		}
	}
	return wrong, weak
}

// endsAfter reports whether all that an access reads is read before an event.
func (g *graph) endsAfter(a access, e int) bool {
	y := &move{begin: e, done: e}
	return g.reaches(a.move, a.start-a.from, a.end-a.from, 0, 0, y, 0)
}
