package flows

import (
	"math"
	"math/rand/v2"
	"slices"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/solve/network"
)

// router chooses ways for chunks.
type router struct {
	*network.Network
	exits   *network.Exits
	demands []network.Pair
	paths   [][]int32 // by chunk: hops, the last one first
	load    []float64 // by resource, in seconds
	rng     *rand.Rand

	price                []float64 // by resource, of a second
	reference, steepness float64   // the load whose price is 1, and how steeply prices rise
}

func newRouter(n *network.Network, list []network.Pair, seed uint64) *router {
	return &router{Network: n, exits: network.NewExits(n), demands: list, paths: make([][]int32, len(list)), load: make([]float64, n.Resources),
		price: make([]float64, n.Resources), rng: rand.New(rand.NewPCG(seed, uint64(len(list))))}
}

const (
	turns      = 16      // how often all ways are chosen again, at most
	searches   = 1 << 12 // searches for ways a turn, about: where there are more chunks, some of a source are chosen at once
	flattest   = 10.0    // how steeply prices rise with the loads, in the first turn
	steepest   = 80.0    // and in the last
	near       = 1e-3    // which part of a load does not matter
	idleTurns  = 4       // as many that gain less end the search
	preference = 1e-3    // what a second counts beside a second on the most loaded link
)

// plan returns a schedule of p, which has chunks, or nil if it is stopped. None ends before goal.
func plan(p *model.Problem, seed uint64, goal model.Time, stop func() bool) (*model.Schedule, error) {
	n := network.New(p, false)
	list, err := network.Pairs(p)
	if err != nil {
		return nil, err
	}
	r := newRouter(n, list, seed)
	switch found := r.routed(goal, stop); {
	case !found && stop():
		return nil, nil
	case !found:
		return nil, solve.NotServed("a rank cannot reach one that wants what it has")
	}
	return newDispatch(r).run(stop), nil
}

// routed chooses all ways, the best of several turns. It returns false if it is stopped before all
// have one, or if there is none. It ends early where no link is busy much longer than goal, or where
// some turns were of no use.
func (r *router) routed(goal model.Time, stop func() bool) bool {
	sources, groups := r.groups(true), r.groups(false)
	var best [][]int32
	least, idle := math.Inf(1), 0
	enough := float64(goal) / float64(model.Second) * (1 + near)
	for turn := range turns {
		most := slices.Max(r.load)
		r.reference, r.steepness = most, flattest+(steepest-flattest)*float64(turn)/(turns-1)
		for i := range r.price {
			r.setPrice(int32(i))
		}
		groups := groups
		if turn == 0 { // nothing has a load: only times count, which are the same for all of a source
			groups = sources
		}
		r.rng.Shuffle(len(groups), func(i, j int) { groups[i], groups[j] = groups[j], groups[i] })
		for _, group := range groups {
			if stop() {
				if turn == 0 {
					return false
				}
				break
			}
			for _, k := range group {
				r.add(k, -1)
			}
			if !r.choose(group) {
				return false
			}
		}
		most = slices.Max(r.load)
		if idle++; most < least*(1-near) {
			idle = 0
		}
		if most < least {
			least = most
			best = append(best[:0], r.paths...)
		}
		if least <= enough || idle == idleTurns || stop() {
			break
		}
	}
	r.paths = best
	return true
}

// groups divides the chunks that move into some for each source, that go together: all of it, or about as
// many that there are searches of them.
func (r *router) groups(whole bool) [][]int {
	bySource := make([][]int, r.Problem.Topology.Ranks)
	count := 0
	for k, d := range r.demands {
		if d.Src != d.Dst {
			bySource[d.Src] = append(bySource[d.Src], k)
			count++
		}
	}
	size := (count-1)/searches + 1
	if whole {
		size = max(1, count)
	}
	var groups [][]int
	for _, list := range bySource {
		r.rng.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
		for part := range slices.Chunk(list, size) {
			groups = append(groups, part)
		}
	}
	return groups
}

// setPrice sets what a second on a resource costs, by its load.
func (r *router) setPrice(i int32) {
	if r.reference == 0 {
		return
	}
	r.price[i] = math.Exp(r.steepness * (r.load[i] - r.reference) / r.reference)
}

// seconds returns how long a hop keeps its links busy for a number of bytes.
func (r *router) seconds(h *network.Hop, bytes int64) float64 {
	return float64(bytes) / float64(r.Rates[h.Rate])
}

// add adds the way of a chunk to the loads, as often as sign says.
func (r *router) add(k int, sign float64) {
	for _, l := range r.paths[k] {
		h := &r.Hops[l]
		t := sign * r.seconds(h, r.Problem.Chunks[k].Size)
		for _, u := range r.Network.Uses[h.Uses:h.UsesEnd] {
			for _, place := range r.Choices[u.Choice:u.ChoiceEnd] {
				r.load[place] += t / float64(u.ChoiceEnd-u.Choice)
				r.setPrice(place)
			}
		}
	}
}

// choose gives some chunks of one source the cheapest ways at the prices of now, and adds them.
func (r *router) choose(group []int) bool {
	total := int64(0)
	for _, k := range group {
		total += r.Problem.Chunks[k].Size
	}
	typical := max(1, total/int64(len(group)))
	s := r.demands[group[0]].Src
	goals := make(map[int32]bool, len(group))
	for _, k := range group {
		goals[r.demands[k].Dst] = true
	}
	via := r.cheapest(s, goals, typical)
	for _, k := range group {
		var path []int32
		for v := r.demands[k].Dst; v != s; v = r.Hops[path[len(path)-1]].Src {
			if via[v] < 0 {
				return false
			}
			path = append(path, via[v])
		}
		r.paths[k] = path
		r.add(k, 1)
	}
	return true
}

// cost returns what a number of bytes pay for a hop at the prices of now.
func (r *router) cost(l int32, bytes int64) float64 {
	h := &r.Hops[l]
	t := r.seconds(h, bytes)
	c := preference * (t + float64(h.Alpha)/float64(model.Second))
	for _, u := range r.Network.Uses[h.Uses:h.UsesEnd] {
		sum := 0.0
		for _, place := range r.Choices[u.Choice:u.ChoiceEnd] {
			sum += r.price[place]
		}
		c += t * sum / float64(u.ChoiceEnd-u.Choice)
	}
	return c
}

// cheapest returns for each of the ranks in goals the last hop of the cheapest way of a number of bytes
// from one rank, or -1, and so for each rank on such a way, by Dijkstra's algorithm in
// O(ranks² + hops). It ends when the goals are reached, which it removes.
func (r *router) cheapest(from int32, goals map[int32]bool, bytes int64) []int32 {
	n := r.Problem.Topology.Ranks
	via, dist, done := make([]int32, n), make([]float64, n), make([]bool, n)
	for v := range via {
		via[v], dist[v] = -1, math.Inf(1)
	}
	for dist[from] = 0; ; {
		v := -1
		for u := range dist {
			if !done[u] && !math.IsInf(dist[u], 1) && (v < 0 || dist[u] < dist[v]) {
				v = u
			}
		}
		if v < 0 {
			return via
		}
		done[v] = true
		if delete(goals, int32(v)); len(goals) == 0 {
			return via
		}
		for i := r.exits.First[v]; i < r.exits.First[v+1]; i++ {
			l, to := r.exits.List[i], r.exits.To[i]
			if done[to] {
				continue
			}
			if c := dist[v] + r.cost(l, bytes); c < dist[to] {
				dist[to], via[to] = c, l
			}
		}
	}
}
