package overtime

import (
	"slices"

	"github.com/oraccl/oraccl/model"
)

// windows cuts the time until end into most windows or about that: at every time at which something that leaves
// a source at the start can be at a node without waiting, and as long before the end as something takes from
// a node to a destination; or, if these are too many, at the first of the former and the last of the
// latter, with one long window between them. What latencies do to flows is seen near the start and
// near the end: far from both, rates and prices hardly change. Fine windows reach for as long as it takes to
// get from a source to the farthest rank; some are left out if they do not.
//
// The long window is from one time to another, which are equal if there is none.
//
// Any cuts yield prices that hold, since a program with longer windows has more flows: what passes
// a link in a window is at its end in the window of the earliest time at which it can be there.
func (n *network) windows(end model.Time, most int) (cuts []model.Time, from, to model.Time) {
	after, before := n.marks(end, most, false), n.marks(end, most, true)
	cuts = []model.Time{end}
	if len(after)+len(before) <= most+1 {
		cuts = append(cuts, after...)
		for _, at := range before {
			cuts = append(cuts, end-at)
		}
		slices.Sort(cuts)
		return slices.Compact(cuts), 0, 0
	}
	span, fine := min(n.span(), end/2), max(2, (most-1)/2)
	after, before = thinned(after, span, fine), thinned(before, span, fine)
	from, to = min(after[len(after)-1], end/2), end-min(before[len(before)-1], end/2)
	for _, at := range after {
		cuts = append(cuts, min(at, from))
	}
	for _, at := range before {
		cuts = append(cuts, max(end-at, to))
	}
	slices.Sort(cuts)
	return slices.Compact(cuts), from, to
}

// thinned returns the first of some times, a number of them, which reach for span: where they do not, those that are
// nearer to the one before than is even are left out.
func thinned(times []model.Time, span model.Time, number int) []model.Time {
	if number = min(number, len(times)); times[number-1] >= span {
		return times[:number]
	}
	var list []model.Time
	for _, at := range times {
		if len(list) < number && (len(list) == 0 || at >= span*model.Time(len(list))/model.Time(number-1)) {
			list = append(list, at)
		}
	}
	return list
}

// step is arcs that look alike.
type step struct {
	src, dst uint64
	alpha    model.Time
}

// look colours nodes by what the network looks like from there, and finds the steps between colours.
func (n *network) look() {
	colour := make([]uint64, n.p.Topology.Nodes())
	for _, r := range n.p.Members() {
		colour[r] = 1
	}
	if k := n.p.Collective; k.Kind.Rooted() {
		colour[k.Root] = 2
	}
	n.colours = n.refine(colour, n.arcLooks())
	known := map[step]bool{}
	for i := range n.arcs {
		a := &n.arcs[i]
		if s := (step{n.colours[a.src], n.colours[a.dst], a.alpha}); !known[s] {
			known[s] = true
			n.steps = append(n.steps, s)
		}
	}
}

// marks returns the times, up to end, that walks from sources take to nodes without waiting; or backwards those from nodes
// to destinations. It stops at four times the number that is wanted.
func (n *network) marks(end model.Time, most int, back bool) []model.Time {
	at := map[model.Time]map[uint64]bool{0: {}}
	for _, r := range n.p.Members() {
		if k := n.p.Collective; back || !k.Kind.Rooted() || r == k.Root {
			at[0][n.colours[r]] = true
		}
	}
	queue, list := []model.Time{0}, []model.Time(nil)
	for len(queue) > 0 && len(list) < 4*most {
		t := slices.Min(queue)
		queue = slices.DeleteFunc(queue, func(x model.Time) bool { return x == t })
		list = append(list, t)
		for again := true; again; {
			again = false
			for _, s := range n.steps {
				src, dst := s.src, s.dst
				if back {
					src, dst = dst, src
				}
				next := t + s.alpha
				if !at[t][src] || next > end || at[next][dst] {
					continue
				}
				if at[next] == nil {
					at[next] = map[uint64]bool{}
					queue = append(queue, next)
				}
				at[next][dst], again = true, again || next == t
			}
		}
	}
	return list
}

// span returns how long what the root has is on its way to the rank that is farthest from it in
// latencies, or what the first member has. It takes O(links·nodes) time at most, and is known after the first call.
func (n *network) span() model.Time {
	if n.far > 0 {
		return n.far
	}
	from := n.p.Members()[0]
	if n.p.Collective.Kind.Rooted() {
		from = n.p.Collective.Root
	}
	for v, at := range n.latencies(from) {
		if n.p.Topology.IsRank(v) && at < model.MaxTime {
			n.far = max(n.far, at)
		}
	}
	return n.far
}

// arrivals returns, by window, the first one in which what passes a link then can be at its end, for those
// windows of which there is one.
func arrivals(cuts []model.Time, alpha model.Time) (list []int) {
	at := 0
	for _, from := range cuts[:len(cuts)-1] {
		if from+alpha >= cuts[len(cuts)-1] {
			break
		}
		for cuts[at+1] <= from+alpha {
			at++
		}
		list = append(list, at)
	}
	return list
}

// passings returns the windows in which links of a hop are passed, and in which it ends, by the time at which
// it passes the first one: it passes the others, and is at the end, later by the lags. They ascend. Of
// those that differ in the end alone it is the first.
func passings(cuts, lags []model.Time) (list [][]int) {
	end := cuts[len(cuts)-1]
	at := make([]int, len(lags))
	for t := model.Time(0); t+lags[len(lags)-1] < end; {
		next := end
		for i, lag := range lags {
			for cuts[at[i]+1] <= t+lag {
				at[i]++
			}
			next = min(next, cuts[at[i]+1]-lag)
		}
		if n := len(list); n == 0 || !slices.Equal(list[n-1][:len(lags)-1], at[:len(lags)-1]) {
			list = append(list, slices.Clone(at))
		}
		t = next
	}
	return list
}
