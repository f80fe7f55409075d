// Package overtime looks for prices of links that change with time: bounds that
// know latencies and bandwidths at once, whatever the cut. Find does so for alltoall, scatter and gather, and
// for the rank of a broadcast that is reached last, or that of a reduce whose contribution is (model.TimedPrices);
// FindShared for what is copied, or added up, on its way (model.TimedPotentials).
//
// They are the dual of a flow over time (Ford and Fulkerson, 1958; Hoppe and Tardos, 2000): every
// source sends its bytes through the network, on a link at most its bandwidth at any time, and what
// passes a link is at its end α later. Time is cut into windows with constant rates: see windows.go. If
// they are few the program has more flows, and prices for all of time nevertheless; with all of them it is
// exact (Fleischer and Tardos, 1998). Links and nodes that look alike
// share a column: see colours.go. HiGHS solves the program in floating point, for the largest part
// of all bytes that can arrive in time; if that is less than 1, the prices should show it. Programs of what is copied that
// are too large for that are solved by cuts: see cutting.go. What they
// prove is for verify/cert to say.
//
// Times are picoseconds, bandwidths bytes per picosecond.
package overtime

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/solve/lp/highs"
)

// Limits of what is looked at.
const (
	maxWindows = 96      // into which time is cut
	minWindows = 24      // into which it is cut at least
	maxColumns = 6_000   // of a program
	fewColumns = 3_000   // of one for which time is cut into fewer windows
	maxColours = 1 << 25 // nodes times links, whose colours are found
	programs   = 10      // to be solved
	maxEnds    = 4       // of a broadcast, to each of which all has to flow
	precision  = 3e-4    // relative, of the end that is looked for
)

// Find returns prices that should yield a larger bound than known, and what is expected of them; nil
// if there are none, or none are found before ctx is done. An error means that p is not of a kind
// or size for which this works: solve.ErrNotServed is in it.
func Find(ctx context.Context, p *model.Problem, known model.Time) (*model.TimedPrices, model.Time, error) {
	if err := highs.Available(); err != nil {
		return nil, 0, solve.NotServed("%v", err)
	}
	if err := served(p); err != nil {
		return nil, 0, err
	}
	n := newNetwork(p)
	if known <= 0 || len(n.arcs) == 0 || n.unit == 0 {
		return nil, 0, nil
	}
	if !p.Collective.Kind.Rooted() || p.Collective.Kind == model.Scatter || p.Collective.Kind == model.Gather {
		n.colour(n.demands(nil))
		return n.search(ctx, float64(known))
	}
	var best *model.TimedPrices
	for _, end := range n.ends() {
		n.sources, n.classes = nil, nil
		n.colour(n.demands(&end))
		w, at, err := n.search(ctx, float64(known))
		if err != nil {
			return best, known, err
		}
		if w != nil {
			best, known = w, at
		}
	}
	return best, known, nil
}

// served returns why Find does not serve a problem.
func served(p *model.Problem) error {
	switch k := p.Collective.Kind; {
	case k != model.AllToAll && k != model.Scatter && k != model.Gather && k != model.Broadcast && k != model.Reduce:
		return solve.NotServed("%v: want alltoall, scatter, gather, broadcast or reduce", k)
	case p.Late():
		return solve.NotServed("late ranks")
	case p.Topology.Nodes()*len(p.Topology.Links) > maxColours:
		return solve.NotServed("%d nodes and %d links", p.Topology.Nodes(), len(p.Topology.Links))
	}
	return nil
}

// Serves reports whether Find or FindShared serves a problem.
func Serves(p *model.Problem) bool {
	shared := servedShared(p) == nil || p.Collective.Kind == model.AllReduce && servedShared(fromOne(p)) == nil
	return highs.Available() == nil && (served(p) == nil || shared)
}

// search looks for the latest end by which not all bytes can have arrived, by secants.
func (n *network) search(ctx context.Context, known float64) (*model.TimedPrices, model.Time, error) {
	type tried struct{ end, part float64 }
	var low, high tried
	var best *solution
	end := known * (1 + precision)
	for range programs {
		s, err := n.solve(ctx, model.Time(end))
		if err != nil {
			if best != nil {
				break // what was found holds
			}
			return nil, 0, err
		}
		if s == nil {
			break
		}
		if s.part < 1-1e-6 {
			low, best = tried{end, s.part}, s
		} else {
			high = tried{end, s.part}
		}
		switch {
		case best == nil:
			return nil, 0, nil
		case high.end == 0:
			end = low.end * min(2, 1.001/max(low.part, 0.5))
			continue
		case high.end-low.end < precision*low.end:
			w := best.prices()
			return w, model.Time(low.end), nil
		}
		step := (1 - low.part) / max(high.part-low.part, 1e-9) * (high.end - low.end)
		end = low.end + min(max(step-precision/2*low.end, precision/4*low.end), high.end-low.end-precision/4*low.end)
	}
	if best == nil {
		return nil, 0, nil
	}
	return best.prices(), model.Time(low.end), nil
}

// arc is all links with the same ends and latency.
type arc struct {
	src, dst  int
	alpha     model.Time
	bandwidth float64
	links     []int
	class     int // arcs of a class share their prices
}

// source is one of the ranks that look alike and send.
type source struct {
	rank, alike int
	colour      []uint64  // by node, as it looks from the rank
	bytes       []float64 // by node: what the rank has for it
}

// network is a problem as the program sees it.
type network struct {
	p       *model.Problem
	arcs    []arc
	classes []int // by class: how many arcs it has
	out, in [][]int
	sources []source
	unit    model.Time // divides all latencies
	far     model.Time // span, once that is known
	colours []uint64   // by node
	steps   []step
	mirror  bool // time is read backwards, and links are turned round: a gather is a scatter
}

func newNetwork(p *model.Problem) *network {
	t := p.Topology
	n := &network{p: p, out: make([][]int, t.Nodes()), in: make([][]int, t.Nodes()), mirror: slices.Contains([]model.Kind{model.Gather, model.Reduce, model.ReduceScatter}, p.Collective.Kind)}
	known := map[[3]int64]int{}
	for i, l := range t.Links {
		if n.mirror {
			l.Src, l.Dst = l.Dst, l.Src
		}
		key := [3]int64{int64(l.Src), int64(l.Dst), int64(l.Alpha)}
		a, there := known[key]
		if !there {
			a = len(n.arcs)
			known[key] = a
			n.arcs = append(n.arcs, arc{src: l.Src, dst: l.Dst, alpha: l.Alpha})
			n.out[l.Src], n.in[l.Dst] = append(n.out[l.Src], a), append(n.in[l.Dst], a)
			n.unit = gcd(n.unit, l.Alpha)
		}
		n.arcs[a].bandwidth += float64(l.Bandwidth) / float64(model.Second)
		n.arcs[a].links = append(n.arcs[a].links, i)
	}
	n.look()
	return n
}

// ends returns ranks to which a broadcast flows, of those that look alike from its root one, the
// farthest first.
func (n *network) ends() (list []int) {
	root := n.p.Collective.Root
	colour := n.colours
	far := n.latencies(root)
	seen := map[uint64]bool{colour[root]: true}
	for _, r := range n.p.Members() {
		if !seen[colour[r]] && far[r] < model.MaxTime {
			seen[colour[r]] = true
			list = append(list, r)
		}
	}
	slices.SortStableFunc(list, func(a, b int) int { return cmp.Compare(far[b], far[a]) })
	return list[:min(len(list), maxEnds)]
}

// latencies returns, by node, the least latency of ways from a rank: MaxTime where there is none.
func (n *network) latencies(from int) []model.Time {
	far := slices.Repeat([]model.Time{model.MaxTime}, n.p.Topology.Nodes())
	far[from] = 0
	for queue := []int{from}; len(queue) > 0; queue = queue[1:] {
		for _, i := range n.out[queue[0]] {
			if a := &n.arcs[i]; far[a.src].Add(a.alpha) < far[a.dst] {
				far[a.dst] = far[a.src].Add(a.alpha)
				queue = append(queue, a.dst)
			}
		}
	}
	return far
}

// demands returns, by rank, what it has for each node, or for one; nil where it sends nothing.
func (n *network) demands(only *int) [][]float64 {
	bytes := make([][]float64, n.p.Topology.Ranks)
	items := n.p.WithChunks(n.p.Shards())
	for k, chunk := range items.Chunks {
		for s := range items.Start(k) {
			for d := range items.Goal(k) {
				if s == d {
					continue
				}
				s, d := s, d
				if n.mirror {
					s, d = d, s
				}
				if only != nil && d != *only {
					continue
				}
				if bytes[s] == nil {
					bytes[s] = make([]float64, n.p.Topology.Nodes())
				}
				bytes[s][d] += float64(chunk.Size)
			}
		}
	}
	return bytes
}

// arcLooks returns, by arc, what tells it from others.
func (n *network) arcLooks() []uint64 {
	list := make([]uint64, len(n.arcs))
	for i := range n.arcs {
		a := &n.arcs[i]
		list[i] = join(uint64(a.alpha), uint64(a.bandwidth*float64(model.Second)))
	}
	return list
}

func gcd(a, b model.Time) model.Time {
	for b > 0 {
		a, b = b, a%b
	}
	return a
}

// prices returns prices in whole numbers.
func (s *solution) prices() *model.TimedPrices {
	most := 0.0
	for _, list := range s.price {
		for _, price := range list {
			most = max(most, price)
		}
	}
	if most == 0 {
		return &model.TimedPrices{}
	}
	w := &model.TimedPrices{}
	for c, list := range s.price {
		class := model.PriceClass{}
		alpha := model.Time(0)
		for _, a := range s.arcs {
			if a.class == c {
				alpha = a.alpha
				class.Links = append(class.Links, a.links...)
			}
		}
		for k := range list {
			from, to := s.cuts[k], s.cuts[k+1]
			if s.mirror { // what passes at t passes there α before the end less t
				k = len(list) - 1 - k
				end := s.cuts[len(list)] - alpha
				from, to = max(0, end-s.cuts[k+1]), end-s.cuts[k]
			}
			whole := int64(math.Round(list[k] / most * largest))
			if last := len(class.Pieces) - 1; last >= 0 && class.Pieces[last].To == from && class.Pieces[last].Price == whole {
				class.Pieces[last].To = to
			} else if whole > 0 && from < to {
				class.Pieces = append(class.Pieces, model.PricePiece{From: from, To: to, Price: whole})
			}
		}
		if len(class.Pieces) > 0 {
			slices.Sort(class.Links)
			w.Classes = append(w.Classes, class)
		}
	}
	return w
}

// largest is the largest price: enough that rounding to whole numbers does not matter.
const largest = 1 << 30
