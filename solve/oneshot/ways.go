package oneshot

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/solve/heap"
)

// pair is a way from one member to another, in members.
type pair struct {
	from, to int
	route    int32 // index of ways.routes
}

// ways holds a route of least latency for each pair of members. Of routes with equal latency it
// is one that adds least to the sum of the squares of the times for which links are busy, those
// apart for which what passes is not as far on its way: they come one after the other.
type ways struct {
	routes [][]int
	pairs  []pair
}

// Each route is chosen again while the others stay, in passes; and all of that is done in several
// orders, of which the best is taken.
const (
	passes = 4
	orders = 12
	// maxRouted is up to how many pairs times links there are several orders, and maxPaired up to
	// how many each pair has a search through all of the network; beyond, one through the shortest ways.
	maxRouted = 1 << 16
	maxPaired = 1 << 21
)

// newWays returns ways for pairs of members, which it numbers. It stops early when the budget is
// spent; then some routes are missing.
func newWays(b *solve.Budget, p *model.Problem, pairs []pair) *ways {
	w := &ways{pairs: pairs}
	for i := range w.pairs {
		w.pairs[i].route = int32(i)
	}
	tries := orders
	if len(w.pairs)*len(p.Topology.Links) > maxRouted {
		tries = 1
	}
	order := slices.Clone(w.pairs)
	r := rand.New(rand.NewPCG(1, uint64(len(pairs))))
	least := math.Inf(1)
	for i := range tries {
		if i > 0 && b.Spent() {
			break
		}
		if routes, load := routed(b, p, order); load < least {
			w.routes, least = routes, load
		}
		r.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
	}
	return w
}

// everyPair returns the pairs of n members, by distance, so that no two that follow meet.
func everyPair(n int) (pairs []pair) {
	for d := 1; d < n; d++ {
		for i := range n {
			pairs = append(pairs, pair{from: i, to: (i + d) % n})
		}
	}
	return pairs
}

// routed chooses routes for pairs in an order. It returns the sum of the squares of the links'
// loads, too, in which the greatest load counts most.
func routed(b *solve.Budget, p *model.Problem, order []pair) (routes [][]int, load float64) {
	t, members := p.Topology, p.Members()
	x := newRouter(t, t.Out())
	routes = make([][]int, len(order))
	lightest := x.lightest
	if len(order)*len(t.Links) > maxPaired {
		lightest = newShortest(p, x).lightest
	}
	for range passes {
		changed := false
		for _, q := range order {
			if b.Spent() {
				return routes, 0
			}
			old := routes[q.route]
			x.use(old, -1)
			route := lightest(members[q.from], members[q.to])
			x.use(route, 1)
			routes[q.route], changed = route, changed || !slices.Equal(route, old)
		}
		if !changed {
			break
		}
	}
	var busy []float64
	for l, list := range x.used {
		for _, s := range list {
			busy = append(busy, s.routes*x.slowness(l))
		}
	}
	slices.Sort(busy) // sums of floats depend on their order
	for _, b := range busy {
		load += b * b
	}
	most := busy[len(busy)-1]
	return routes, load + most*most*float64(len(busy))
}

// fastest returns the bandwidth of the fastest link.
func fastest(t *model.Topology) (bandwidth float64) {
	for i := range t.Links {
		bandwidth = max(bandwidth, float64(t.Links[i].Bandwidth))
	}
	return bandwidth
}

// label is how a node is reached.
type label struct {
	node, link int // the last link
	alpha      model.Time
	relays     int
	load       float64
}

// Before orders a heap: the nearest comes first, then what has the fewest ranks on the way, then the least load.
func (a label) Before(b label) bool {
	return cmp.Or(cmp.Compare(a.alpha, b.alpha), cmp.Compare(a.relays, b.relays), cmp.Compare(a.load, b.load), cmp.Compare(a.node, b.node), cmp.Compare(a.link, b.link)) < 0
}

// stage is how many routes use a link at some way from where they begin.
type stage struct {
	at     model.Time
	routes float64
}

// router chooses routes.
type router struct {
	t       *model.Topology
	out     [][]int
	fastest float64
	used    [][]stage // by link
}

func newRouter(t *model.Topology, out [][]int) *router {
	return &router{t: t, out: out, fastest: fastest(t), used: make([][]stage, len(t.Links))}
}

// forget takes all routes away.
func (x *router) forget() {
	for l := range x.used {
		x.used[l] = x.used[l][:0]
	}
}

// slowness returns how many times longer a link takes for a byte than the fastest one.
func (x *router) slowness(link int) float64 { return x.fastest / float64(x.t.Links[link].Bandwidth) }

// use adds a route to those that are used, or takes one away.
func (x *router) use(route []int, more float64) {
	at := model.Time(0)
	for _, l := range route {
		i := slices.IndexFunc(x.used[l], func(s stage) bool { return s.at == at })
		if i < 0 {
			i = len(x.used[l])
			x.used[l] = append(x.used[l], stage{at: at})
		}
		x.used[l][i].routes += more
		at = at.Add(x.t.Links[l].Alpha)
	}
}

// cost returns what one route more over a link adds to the sum of squares.
func (x *router) cost(link int, at model.Time) float64 {
	slow := x.slowness(link)
	for _, s := range x.used[link] {
		if s.at == at {
			return (2*s.routes + 1) * slow * slow
		}
	}
	return slow * slow
}

// lightest returns the route of least latency between two ranks; of these one with the fewest
// ranks on the way, then with the least load.
func (x *router) lightest(from, to int) []int { return x.back(x.reach(from, to), to) }

// reach returns for each node the last link of the lightest route from a rank, -1 where none is
// known, and -2 for the rank itself: of those up to another one. Dijkstra's algorithm.
func (x *router) reach(from, to int) []int {
	by := slices.Repeat([]int{-1}, x.t.Nodes())
	queue := heap.Heap[label]{{node: from, link: -2}}
	for len(queue) > 0 && by[to] == -1 {
		at := queue.Pop()
		if by[at.node] != -1 {
			continue
		}
		by[at.node] = at.link
		for _, i := range x.out[at.node] {
			l := &x.t.Links[i]
			if by[l.Dst] != -1 {
				continue
			}
			next := label{node: l.Dst, link: i, alpha: at.alpha.Add(l.Alpha), relays: at.relays, load: at.load + x.cost(i, at.alpha)}
			if x.t.IsRank(l.Dst) {
				next.relays++
			}
			queue.Push(next)
		}
	}
	return by
}

// shortest finds routes among the shortest ways.
type shortest struct {
	loads  *router
	guide  *guide
	number []int     // of the member at a rank
	seen   []int     // by node: the last search that came there
	cost   []float64 // by node: of the lightest way from there on, in that search
	next   []int     // its first link
	search int
}

func newShortest(p *model.Problem, x *router) *shortest {
	n := p.Topology.Nodes()
	y := &shortest{loads: x, guide: newGuide(p, nil), number: make([]int, n), seen: make([]int, n), cost: make([]float64, n), next: make([]int, n)}
	for v, r := range p.Members() {
		y.number[r] = v
	}
	return y
}

// lightest returns the route with the least load of the shortest ways between two members' ranks. It takes time in the order of the links on these.
func (y *shortest) lightest(from, to int) (route []int) {
	y.search++
	y.look(from, y.number[to], 0)
	for v := from; v != to; v = y.loads.t.Links[y.next[v]].Dst {
		route = append(route, y.next[v])
	}
	return route
}

// look returns what the lightest way costs from a node on, some time after it began.
func (y *shortest) look(node, to int, at model.Time) float64 {
	if node == y.guide.members[to] {
		return 0
	}
	if y.seen[node] == y.search {
		return y.cost[node]
	}
	least := math.Inf(1)
	for _, l := range y.guide.nearer(node, to) {
		k := &y.loads.t.Links[l]
		if c := y.loads.cost(l, at) + y.look(k.Dst, to, at.Add(k.Alpha)); c < least {
			least, y.next[node] = c, l
		}
	}
	y.seen[node], y.cost[node] = y.search, least
	return least
}

// back follows last links back from a node.
func (x *router) back(by []int, to int) (route []int) {
	for v := to; by[v] >= 0; v = x.t.Links[by[v]].Src {
		route = append(route, by[v])
	}
	slices.Reverse(route)
	return route
}
