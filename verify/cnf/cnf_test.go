package cnf

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/bits"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/verify"
)

// clauses are a formula with the number of its variables.
type clauses struct {
	vars int
	all  [][]int32
}

func formulaOf(t testing.TB, p *model.Problem, w model.Refutation) clauses {
	var c clauses
	size, err := Write(t.Context(), p, w, func(clause []int32) error {
		c.all = append(c.all, cloned(clause))
		return nil
	})
	require.NoError(t, err, "%v", p)
	c.vars = size.Variables
	require.Equal(t, size.Clauses, len(c.all))
	return c
}

func cloned(clause []int32) []int32 { return append([]int32{}, clause...) }

// satisfiable decides by trying the values of a variable after the other, with what follows from
// single literals.
func (c clauses) satisfiable(fixed ...int32) bool {
	value := make([]int8, c.vars+1)
	for _, l := range fixed {
		set(value, l)
	}
	return c.search(value)
}

func set(value []int8, l int32) {
	if l > 0 {
		value[l] = 1
	} else {
		value[-l] = -1
	}
}

func (c clauses) search(value []int8) bool {
	pick := int32(0)
	for again := true; again; {
		again, pick = false, 0
		for _, clause := range c.all {
			open, n, holds := int32(0), 0, false
			for _, l := range clause {
				switch v := value[max(l, -l)]; {
				case v == 0:
					open = l
					n++
				case v > 0 == (l > 0):
					holds = true
				}
			}
			switch {
			case holds:
			case n == 0:
				return false
			case n == 1:
				set(value, open)
				again = true
			default:
				pick = open
			}
		}
	}
	if pick == 0 {
		return true
	}
	for _, l := range []int32{pick, -pick} {
		trial := append([]int8{}, value...)
		if set(trial, l); c.search(trial) {
			return true
		}
	}
	return false
}

// TestAtMost: of every assignment, the counter of section 10.7 lets pass those with at most m
// true.
func TestAtMost(t *testing.T) {
	for n := range 9 {
		for m := range 5 {
			f := &formula{vars: n}
			var c clauses
			f.emit = func(clause []int32) error {
				c.all = append(c.all, cloned(clause))
				return nil
			}
			f.work = verify.Begin(t.Context(), maxSteps)
			xs := make([]int, n)
			for i := range xs {
				xs[i] = i + 1
			}
			require.NoError(t, f.atMost(m, xs))
			c.vars = f.vars
			for mask := range 1 << n {
				var fixed []int32
				for i := range n {
					l := int32(i + 1)
					if mask>>i&1 == 0 {
						l = -l
					}
					fixed = append(fixed, l)
				}
				require.Equal(t, bits.OnesCount(uint(mask)) <= m, c.satisfiable(fixed...), "%d of %d: %b", m, n, mask)
			}
		}
	}
}

// slots is what each rank holds of each chunk: a set of contributions. Written are the slots that
// the step has written so far.
type slots struct {
	holds   [9]uint8
	written uint16
	steps   int
}

// reaches executes all that ranks can do in rounds, and reports whether some of it ends right
// within a number of rounds and of steps, 0: any. It knows direct networks alone.
type reaches struct {
	p     *model.Problem
	ranks int
	goal  map[int]uint8 // by slot
	steps int
}

func mask(v model.Value) (m uint8) {
	for rank := range v.Terms() {
		m |= 1 << rank
	}
	return m
}

func newReaches(p *model.Problem, steps int) (*reaches, slots) {
	x := &reaches{p: p, ranks: p.Topology.Ranks, goal: map[int]uint8{}, steps: steps}
	var s slots
	for k := range p.Chunks {
		for r, v := range p.Start(k) {
			s.holds[k*x.ranks+r] = mask(v)
		}
		for r, v := range p.Goal(k) {
			x.goal[k*x.ranks+r] = mask(v)
		}
	}
	s.steps = 1
	return x, s
}

func (x *reaches) done(s *slots) bool {
	for i, want := range x.goal {
		if s.holds[i] != want {
			return false
		}
	}
	return true
}

// within returns the least number of rounds, or most+1 if it is more than most.
func (x *reaches) within(s slots, most int) int {
	now := map[slots]bool{s: true}
	seen := map[slots]bool{}
	for round := range most + 1 {
		next := map[slots]bool{}
		for s := range now {
			if seen[s] {
				continue
			}
			seen[s] = true
			if x.done(&s) {
				return round
			}
			x.round(s, next)
			if x.steps > 0 && round > 0 && s.steps < x.steps { // a step begins
				s.written = 0
				s.steps++
				x.round(s, next)
			}
		}
		now = next
	}
	return most + 1
}

// message is what a link carries in a round.
type message struct {
	chunk, src, dst int
	add             bool
}

// round adds what can follow a round from s.
func (x *reaches) round(s slots, into map[slots]bool) {
	links := x.p.Topology.Links
	var sent []message
	carries := make([]bool, len(links))
	var choose func(l int)
	choose = func(l int) {
		if l == len(links) {
			if n, ok := x.apply(s, sent); ok {
				into[n] = true
			}
			return
		}
		choose(l + 1)
		carries[l] = true
		defer func() { carries[l] = false }()
		u, v := links[l].Src, links[l].Dst
		if !x.room(carries, sent, u, v) {
			return
		}
		for k := range x.p.Chunks {
			if from := k*x.ranks + u; s.holds[from] == 0 || x.steps > 0 && s.written>>from&1 == 1 {
				continue
			}
			for _, add := range []bool{false, true} {
				if !add && s.holds[k*x.ranks+v] == s.holds[k*x.ranks+u] {
					continue // it changes nothing
				}
				if !add || x.p.Collective.Kind.Reduces() {
					sent = append(sent, message{k, u, v, add})
					choose(l + 1)
					sent = sent[:len(sent)-1]
				}
			}
		}
	}
	choose(0)
}

// room reports whether links may carry something in one round.
func (x *reaches) room(carries []bool, sent []message, u, v int) bool {
	for _, port := range x.p.Topology.Ports {
		n := 0
		for _, l := range port.Links {
			if carries[l] {
				n++
			}
		}
		if n > port.Capacity {
			return false
		}
	}
	for _, m := range sent {
		if x.p.Cost == model.Rounds && (m.src == u || m.dst == v) {
			return false
		}
	}
	return true
}

// apply returns what is held after a round. Two copies, a copy beside a sum, and what would be
// added twice have no place in a right schedule.
func (x *reaches) apply(s slots, sent []message) (slots, bool) {
	n := s
	copied, added := map[int]bool{}, map[int]bool{}
	idempotent := x.p.Collective.Op != model.Sum
	for _, m := range sent {
		to, value := m.chunk*x.ranks+m.dst, s.holds[m.chunk*x.ranks+m.src]
		switch {
		case copied[to] || added[to] && !m.add:
			return n, false
		case !m.add:
			n.holds[to], copied[to] = value, true
		case s.holds[to] == 0 || !idempotent && n.holds[to]&value != 0:
			return n, false
		default:
			n.holds[to] |= value
			added[to] = true
		}
		n.written |= 1 << to
	}
	if x.steps == 0 {
		n.written = 0
	}
	return n, true
}

// drawn is a small problem in rounds on a direct network.
func drawn(r *rand.Rand) *model.Problem {
	kinds := []model.Kind{model.Broadcast, model.Scatter, model.Gather, model.AllGather, model.AllToAll, model.Reduce, model.ReduceScatter, model.AllReduce}
	p := &model.Problem{Collective: model.Collective{Kind: kinds[r.IntN(len(kinds))]}, Size: 36, Cost: model.LinkRounds}
	x := &model.Topology{Ranks: 2 + r.IntN(2)}
	if r.IntN(4) == 0 {
		p.Cost = model.Rounds
	}
	if p.Collective.Kind.Reduces() && r.IntN(3) == 0 {
		p.Collective.Op = model.Max
	}
	link := func(u, v int) { x.Links = append(x.Links, model.Link{Src: u, Dst: v, Alpha: 5, Bandwidth: 1e12}) }
	for u := range x.Ranks {
		for v := range x.Ranks {
			if u != v && (p.Cost == model.Rounds || v == (u+1)%x.Ranks || r.IntN(3) == 0) {
				link(u, v)
			}
		}
	}
	if p.Cost == model.LinkRounds && r.IntN(5) == 0 {
		link(0, 1)
	}
	if p.Cost == model.LinkRounds && r.IntN(3) == 0 {
		port := model.Port{Capacity: 1}
		into, at := r.IntN(2) == 0, r.IntN(x.Ranks)
		for l, k := range x.Links {
			if into && k.Dst == at || !into && k.Src == at {
				port.Links = append(port.Links, l)
			}
		}
		x.Ports = append(x.Ports, port)
	}
	p.Topology = x
	return p
}

// TestAgainstExecution decides formulas of small problems in rounds, and sets them against the
// execution of all that ranks can do: the formula is false for rounds and steps that do not
// suffice, and true for those that do.
func TestAgainstExecution(t *testing.T) {
	r := rand.New(rand.NewPCG(10, 5))
	count := map[string]int{}
	for i := range 260 {
		p := drawn(r)
		n := len(p.Members())
		chunks := 1 + r.IntN(2)
		switch p.Collective.Kind {
		case model.AllToAll:
			if n > 2 {
				continue
			}
			chunks = n * n
		case model.Broadcast, model.Reduce:
		case model.AllReduce:
			chunks = 1
		default:
			chunks = n
		}
		if links := len(p.Topology.Links); p.Collective.Kind.Reduces() && (chunks*links > 8 || chunks == 1 && links > 5) || chunks*links > 15 {
			continue // too much to execute
		}
		p = p.WithChunks(chunks)
		if p.Validate() != nil {
			continue
		}
		steps := 0
		if p.Collective.Kind != model.AllReduce && r.IntN(3) == 0 {
			steps = 1 + r.IntN(2)
		}
		const most = 4
		x, start := newReaches(p, steps)
		least := x.within(start, most)
		for h := 1; h <= min(most, least); h++ {
			c := formulaOf(t, p, model.Refutation{Horizon: h, Steps: steps})
			require.Equal(t, least <= h, c.satisfiable(), "case %d: %v in %d rounds, %d steps, at least %d: links %v, ports %v", i, p, h, steps, least, p.Topology.Links, p.Topology.Ports)
			count[p.Collective.Kind.String()]++
			count[fmt.Sprintf("true %t", least <= h)]++
			if steps > 0 {
				count["steps"]++
			}
		}
	}
	t.Log(count)
	for _, k := range []string{"broadcast", "scatter", "gather", "allgather", "reduce", "reducescatter", "allreduce", "true true", "true false", "steps"} {
		require.Greater(t, count[k], 8, k)
	}
}

// lined is a broadcast along a line of links with latency 100 and a picosecond per byte.
func lined(ranks int, size int64) *model.Problem {
	x := &model.Topology{Name: "line", Ranks: ranks}
	for r := range ranks - 1 {
		x.Links = append(x.Links, model.Link{Src: r, Dst: r + 1, Alpha: 100, Bandwidth: 1e12})
	}
	return &model.Problem{Topology: x, Collective: model.Collective{Kind: model.Broadcast}, Size: size, Cost: model.Pipelined}
}

// TestEpochs: what pipelining along a line takes is known: the last of n chunks of m bytes goes
// off after (n-1)·m, and takes 100 + m on each link. With epochs that divide all of these the
// formula is false below, and true from there on.
func TestEpochs(t *testing.T) {
	for _, x := range []struct {
		ranks, chunks int
		bytes         int64
		epoch         model.Time
	}{{2, 1, 100, 100}, {2, 1, 100, 50}, {2, 3, 100, 100}, {3, 1, 100, 100}, {3, 2, 100, 100}, {4, 2, 100, 100}, {3, 2, 200, 100}, {3, 3, 300, 100}, {2, 2, 50, 50}} {
		p := lined(x.ranks, x.bytes*int64(x.chunks)).WithChunks(x.chunks)
		least := int((model.Time(x.chunks-1)*model.Time(x.bytes) + model.Time(x.ranks-1)*(100+model.Time(x.bytes))) / x.epoch)
		require.False(t, formulaOf(t, p, model.Refutation{Epoch: x.epoch, Horizon: least - 1}).satisfiable(), "%+v", x)
		require.True(t, formulaOf(t, p, model.Refutation{Epoch: x.epoch, Horizon: least}).satisfiable(), "%+v", x)
		late := *p
		late.Release = make([]model.Time, x.ranks)
		late.Release[x.ranks-1] = model.Time(least) * x.epoch // when it would have had everything
		hop := int((100 + model.Time(x.bytes)) / x.epoch)
		require.False(t, formulaOf(t, &late, model.Refutation{Epoch: x.epoch, Horizon: least + hop - 1}).satisfiable(), "late: %+v", x)
	}
}

// TestRefused: what section 10 does not serve is refused by name, and what is too large as such.
func TestRefused(t *testing.T) {
	rounds := func(p *model.Problem) *model.Problem {
		q := *p
		q.Cost = model.LinkRounds
		return &q
	}
	two := lined(2, 100).WithChunks(1)
	back := *two
	both := *two.Topology
	both.Links = append(both.Links, model.Link{Src: 1, Dst: 0, Alpha: 100, Bandwidth: 1e12})
	back.Topology = &both
	of := func(kind model.Kind, cost model.CostModel, change func(p *model.Problem)) *model.Problem {
		p := back
		p.Chunks, p.Collective.Kind, p.Cost = nil, kind, cost
		q := p.WithChunks(p.DefaultChunks(1))
		if change != nil {
			change(q)
		}
		return q
	}
	copies := *two
	hub := model.Topology{Ranks: 2, Switches: []model.Switch{{Name: "s", Copies: true}}, Links: []model.Link{{Src: 0, Dst: 2, Bandwidth: 1}, {Src: 2, Dst: 1, Bandwidth: 1}}}
	copies.Topology = &hub
	for want, x := range map[string]struct {
		p *model.Problem
		w model.Refutation
	}{
		"no chunks":                          {lined(2, 100), model.Refutation{Epoch: 100, Horizon: 1}},
		"horizon 0, want 1 to":               {two, model.Refutation{Epoch: 100}},
		"horizon -1, want 1 to":              {two, model.Refutation{Epoch: 100, Horizon: -1}},
		"horizon 67108865, want 1 to":        {two, model.Refutation{Epoch: 100, Horizon: maxVars + 1}},
		"epochs of 0 ps under pipelined":     {two, model.Refutation{Horizon: 1}},
		"epochs of -5 ps under pipelined":    {two, model.Refutation{Epoch: -5, Horizon: 1}},
		"epochs of 7 ps under link-rounds":   {rounds(two), model.Refutation{Epoch: 7, Horizon: 1}},
		"2 steps under pipelined":            {two, model.Refutation{Epoch: 100, Horizon: 1, Steps: 2}},
		"-2 steps under link-rounds":         {rounds(two), model.Refutation{Horizon: 1, Steps: -2}},
		"an epoch of 201 ps is longer":       {two, model.Refutation{Epoch: 201, Horizon: 1}},
		"switches that copy":                 {&copies, model.Refutation{Epoch: 1, Horizon: 1}},
		"allreduce is served in rounds only": {of(model.AllReduce, model.Pipelined, nil), model.Refutation{Epoch: 100, Horizon: 1}},
		"and without steps":                  {of(model.AllReduce, model.LinkRounds, nil), model.Refutation{Horizon: 2, Steps: 1}},
		"late ranks are served neither":      {of(model.Broadcast, model.LinkRounds, func(p *model.Problem) { p.Release = []model.Time{0, 3} }), model.Refutation{Horizon: 2}},
		"nor in rounds":                      {of(model.Reduce, model.Pipelined, func(p *model.Problem) { p.Release = []model.Time{0, 3} }), model.Refutation{Epoch: 100, Horizon: 2}},
	} {
		_, err := Write(t.Context(), x.p, x.w, func([]int32) error { return nil })
		require.ErrorContains(t, err, want)
		require.Equal(t, strings.HasPrefix(want, "horizon"), errors.Is(err, ErrTooLarge), want)
		require.Error(t, DIMACS(t.Context(), &bytes.Buffer{}, x.p, x.w), want)
	}
}

// TestDIMACS: the text has as many clauses as its head states, of variables that it has, and is
// what Write passes on.
func TestDIMACS(t *testing.T) {
	p, w := lined(4, 400).WithChunks(2), model.Refutation{Epoch: 100, Horizon: 11}
	c := formulaOf(t, p, w)
	var out bytes.Buffer
	require.NoError(t, DIMACS(t.Context(), &out, p, w))
	lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
	require.Equal(t, fmt.Sprintf("p cnf %d %d", c.vars, len(c.all)), lines[0])
	require.Len(t, lines, len(c.all)+1)
	for i, clause := range c.all {
		words := strings.Fields(lines[i+1])
		require.Equal(t, "0", words[len(words)-1])
		require.Len(t, words, len(clause)+1)
		for j, l := range clause {
			got, err := strconv.Atoi(words[j])
			require.NoError(t, err)
			require.Equal(t, int(l), got)
			require.True(t, l != 0 && max(l, -l) <= int32(c.vars))
		}
	}
}

// TestEnds: an error of the one who takes the clauses ends the writing, and so does the context.
func TestEnds(t *testing.T) {
	p, w := lined(4, 400).WithChunks(4), model.Refutation{Epoch: 100, Horizon: 20}
	enough, taken := errors.New("enough"), 0
	_, err := Write(t.Context(), p, w, func([]int32) error {
		if taken++; taken == 5 {
			return enough
		}
		return nil
	})
	require.ErrorIs(t, err, enough)
	require.Equal(t, 5, taken)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = Write(ctx, p, w, func([]int32) error { return nil })
	require.ErrorIs(t, err, context.Canceled)
}
