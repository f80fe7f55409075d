package stragglar

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/solve/place"
)

// maxMoves limits the transfers of one schedule; each takes some 100 bytes here.
const maxMoves = 1 << 23

// general is the construction for any number of ranks and chunks.
type general struct{}

// New returns the general construction: allreduce for any number of ranks and any
// number of chunks m, of which m + ⌈log2 n⌉ - 1 rounds take place after the
// straggler's arrival. Where the cut is free, m is what the cost model favours: more
// chunks are less to wait for, fewer are fewer latencies. See Spread.
func New() solve.Solver { return general{} }

// Name implements solve.Solver.
func (general) Name() string { return "stragglar" }

// Serves implements solve.Solver.
func (general) Serves(p *model.Problem) error {
	n, m := len(p.Members()), max(1, len(p.Chunks))
	switch {
	case p.Collective.Kind != model.AllReduce:
		return solve.NotServed("serves allreduce, not %v", p.Collective.Kind)
	case n < 2:
		return solve.NotServed("serves two ranks or more, not %d", n)
	case 2*n > maxMoves/m:
		return solve.NotServed("would make more than 2^23 transfers for %d ranks and %d chunks", n, m)
	}
	if err := place.Reachable(p.Topology); err != nil {
		return solve.NotServed("%v", err)
	}
	return nil
}

// Solve implements solve.Solver. The straggler is the member that arrives last: see
// hide. Of the options it uses Chunks.
func (g general) Solve(ctx context.Context, p *model.Problem, o solve.Options) (solve.Result, error) {
	if err := g.Serves(p); err != nil {
		return solve.Result{}, err
	}
	n, note := len(p.Members()), ""
	if p.Chunks == nil {
		m := Chunks(p)
		if o.Chunks > 0 {
			m = p.DefaultChunks(o.Chunks)
		}
		p = p.WithChunks(int(min(int64(m), p.Space(), int64(maxMoves/(2*n)))))
		note = fmt.Sprintf("%d chunks", len(p.Chunks))
	}
	owners := RoundRobin(n, len(p.Chunks))
	rounds, err := Spread(n, owners)
	if err != nil {
		return solve.Result{}, fmt.Errorf("stragglar: %w", err)
	}
	return hide(ctx, p, owners, rounds, note)
}

// Chunks returns the number of chunks m >= 1 for which m + ⌈log2 n⌉ - 1 rounds take
// the least time: T(m) = (m+q-1)·(α+βS/m), least for m = √((q-1)βS/α) [equal chunks
// of S/m bytes, over the quickest hop from the first member]. It is at most 4096.
func Chunks(p *model.Problem) int {
	n := len(p.Members())
	q := ceilLog2(n)
	route := quickest(p)
	if route == nil {
		return n - 1
	}
	time := func(m int) model.Time {
		return p.Topology.Duration(route, (p.Size+int64(m)-1)/int64(m)).Mul(int64(m + q - 1))
	}
	alpha := p.Topology.Duration(route, 0)
	beta := p.Topology.Duration(route, p.Size) - alpha
	guess := 4096.0
	if alpha > 0 {
		guess = math.Sqrt(float64(q-1) * float64(beta) / float64(alpha))
	}
	limit := int(min(4096, p.Size, int64(max(1, maxMoves/(2*n)))))
	best := 1
	for _, m := range []int{int(guess) - 1, int(guess), int(guess) + 1, int(guess) + 2} {
		if m = min(max(m, 1), limit); time(m) < time(best) {
			best = m
		}
	}
	return best
}

// quickest returns the hop of one or two links from the first member to a rank that
// takes a byte there first, or nil if there is none.
func quickest(p *model.Problem) []int {
	t := p.Topology
	out := t.Out()
	var best []int
	try := func(route ...int) {
		if t.IsRank(t.Links[route[len(route)-1]].Dst) && (best == nil || t.Duration(route, p.Size) < t.Duration(best, p.Size)) {
			best = route
		}
	}
	for _, l := range out[p.Members()[0]] {
		try(l)
		if v := t.Links[l].Dst; !t.IsRank(v) {
			for _, k := range out[v] {
				try(l, k)
			}
		}
	}
	return best
}

// hide places the whole collective: the ready members' reduce-scatter, a ring that
// leaves the sum of chunk c with ready member owners[c], and then the rounds. The
// straggler is the member that arrives last, the last one of the group where several
// do or none is late. Transfers are placed in their order as early as their data and
// links allow: where the straggler arrives early, its rounds begin as the sums come, or,
// in rounds, where that ends earlier, when all sums are there.
func hide(ctx context.Context, p *model.Problem, owners []int, rounds []Round, note string) (solve.Result, error) {
	ready := slices.Clone(p.Members())
	n, late := len(ready), len(ready)-1
	for i, r := range ready {
		if p.ReleaseOf(r) > p.ReleaseOf(ready[late]) {
			late = i
		}
	}
	straggler := ready[late]
	ready = slices.Delete(ready, late, late+1)

	rank := func(x int) int {
		if x == n-1 {
			return straggler
		}
		return ready[x]
	}
	before := reduceScatter(n-1, owners)
	if s := direct(p, before, rounds, rank); s != nil {
		return solve.Result{Problem: p, Schedule: s, Stop: solve.Done, Note: note}, nil
	}
	write := func(barrier bool) (*model.Schedule, error) {
		program := place.NewProgram(p)
		batch := func(moves []move) {
			b := make([]place.Move, 0, len(moves))
			for _, m := range moves {
				b = append(b, place.Move{Chunk: m.chunk, Src: rank(m.from), Dst: rank(m.to), Op: m.op})
			}
			program.Batch(b...)
		}
		for _, round := range before {
			batch(round)
		}
		if barrier {
			program.Barrier()
		}
		for _, round := range rounds {
			batch(round.moves)
		}
		return program.PlaceInOrder()
	}
	schedule, err := write(false)
	if err != nil {
		return solve.Result{}, solve.NotServed("%v", err)
	}
	if ctx.Err() != nil {
		return solve.Result{Problem: p, Stop: solve.Interrupted}, nil
	}
	if p.Cost.Synchronous() { // a round with the straggler holds up all that comes later
		apart, err := write(true)
		if err != nil {
			return solve.Result{}, solve.NotServed("%v", err)
		}
		if p.Makespan(apart) < p.Makespan(schedule) {
			schedule = apart
		}
	}
	return solve.Result{Problem: p, Schedule: schedule, Stop: solve.Done, Note: note}, nil
}

// direct writes the rounds down as they are, in O(transfers) time, where that is as good
// as placing them: in rounds, where a rank comes to every other over a link or over
// one switch, so that its one send and one receive are all that limits it, and the
// reduce-scatter ends before the straggler arrives. Else it returns nil.
func direct(p *model.Problem, before [][]move, rounds []Round, rank func(int) int) *model.Schedule {
	t := p.Topology
	if p.Cost != model.Rounds || len(t.Ports) > 0 {
		return nil
	}
	s := &model.Schedule{Form: model.InRounds}
	out := t.Out()
	known := map[[2]int]int32{}
	route := func(u, v int) int32 {
		if i, ok := known[[2]int{u, v}]; ok {
			return i
		}
		path := hopTo(t, out, u, v)
		if path == nil {
			return -1
		}
		i := int32(len(s.Routes))
		s.Routes = append(s.Routes, path)
		known[[2]int{u, v}] = i
		return i
	}
	at := model.Time(0)
	write := func(moves []move) bool {
		for _, m := range moves {
			u, v := rank(m.from), rank(m.to)
			r := route(u, v)
			if r < 0 {
				return false
			}
			s.Transfers = append(s.Transfers, model.Transfer{Chunk: int32(m.chunk), Src: int32(u), Dst: int32(v), Route: r, Op: m.op, Start: at, End: at + 1})
		}
		at++
		return true
	}
	for _, moves := range before {
		if !write(moves) {
			return nil
		}
	}
	if p.Makespan(s) > p.ReleaseOf(rank(len(p.Members())-1)) {
		return nil
	}
	for _, round := range rounds {
		if !write(round.moves) {
			return nil
		}
	}
	return s
}

// hopTo returns a route from u to v of one link or two, or nil.
func hopTo(t *model.Topology, out [][]int, u, v int) []int {
	for _, l := range out[u] {
		w := t.Links[l].Dst
		if w == v {
			return []int{l}
		}
		if !t.IsRank(w) {
			if i := slices.IndexFunc(out[w], func(k int) bool { return t.Links[k].Dst == v }); i >= 0 {
				return []int{l, out[w][i]}
			}
		}
	}
	return nil
}

// reduceScatter is the ring among the n ready members: the sum of chunk c ends with
// member owners[c]. Each of its n-1 steps has as many rounds as a member has chunks.
func reduceScatter(n int, owners []int) [][]move {
	blocks := make([][]int, n)
	most := 0
	for c, o := range owners {
		blocks[o] = append(blocks[o], c)
		most = max(most, len(blocks[o]))
	}
	var rounds [][]move
	for step := range n - 1 {
		for part := range most {
			var round []move
			for i := range n {
				if b := blocks[(i-step-1+2*n)%n]; part < len(b) {
					round = append(round, move{b[part], i, (i + 1) % n, model.Reduction})
				}
			}
			rounds = append(rounds, round)
		}
	}
	return rounds
}
