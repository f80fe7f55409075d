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

// About implements solve.Solver.
func (general) About() solve.About {
	return solve.About{
		Serves:    "allreduce with a late rank, any number of ranks n and chunks m",
		Guarantee: "m + ⌈log2 n⌉ - 1 rounds after the straggler's arrival on a switch, which no schedule beats",
		Source:    "`solve/stragglar`, after Devraj et al.",
		LateOnly:  true,
	}
}

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

// Solve implements solve.Solver. Of the options it uses Chunks. It tries several plans and
// returns the quickest: see plans. In the simplest the straggler is the member that arrives
// last, and all others reduce before that. Where several are late, there is one for all who
// arrive since a time together; and where the cut is free, some of the buffer can be left
// to an ordinary allreduce.
func (g general) Solve(ctx context.Context, p *model.Problem, o solve.Options) (solve.Result, error) {
	if err := g.Serves(p); err != nil {
		return solve.Result{}, err
	}
	b, cancel := o.Budget(ctx)
	defer cancel()
	ctx = b.Context()
	var best solve.Result
	var failed error
	for _, x := range plans(p, o) {
		if b.Spent() && best.Schedule != nil {
			break
		}
		plan, err := x(ctx)
		if err != nil {
			return solve.Result{}, fmt.Errorf("stragglar: %w", err)
		}
		if plan == nil {
			continue // ctx has ended, or there is no such plan
		}
		r, err := plan.place(ctx)
		if err != nil { // another plan may have no exchanges that cannot be
			failed = err
			continue
		}
		if best.Schedule == nil || r.Schedule != nil && r.Makespan() < best.Makespan() {
			best = r
		}
	}
	switch {
	case best.Problem == nil && failed != nil:
		return solve.Result{}, failed
	case best.Problem == nil:
		best = solve.Result{Problem: p, Stop: solve.Done}
	}
	if stop := b.Stop(); stop != 0 {
		best.Stop = stop
	}
	return best, nil
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
