package oneshot

import (
	"cmp"
	"math/rand/v2"
	"slices"

	"github.com/oraccl/oraccl/model"
)

// Limits of hubs.
const (
	fewHubbed  = 4 // members
	mostHubbed = 64
	mostHubs   = 10
	hubWork    = 1 << 16 // for each number of hubs and each weight: members times members times hubs times random sets from which a search begins
)

// hubNote is what is said of plans with hubs.
const hubNote = "sums of neighbours exchanged by ranks among them"

// hubWeights are how many hops, of all between hubs, a hop of the longest way is worth, in parts of the members.
var hubWeights = []float64{0.03, 0.3, 3}

// hubs are members at which those nearest to them add up; these exchange their sums, each with each other one, and then sums go back.
type hubs struct {
	list    []int
	longest float64 // way from a member to its hub, from this to another one, and from that to a member there
	between float64 // all ways between hubs
	around  float64 // the squares of all ways from and to others
}

// hubSearch looks for hubs.
type hubSearch struct {
	*search
	far [][]float64 // from one member to another one, in latencies of the quickest link
	r   *rand.Rand
}

// hubPlans returns plans with hubs for a network whose ranks are the members, without switches: for each number of hubs those that local
// search finds, of few hops and soon over. Groups of neighbours need not be equal, and need not tile a torus.
//
// It takes O(n k) time for each of O(n k) changes of k hubs among n members, again as long as one is for the better.
func (s *search) hubPlans() (plans []*plan) {
	n := s.n()
	if !hubbed(s.p) {
		return nil
	}
	h := s.hubSearch(17)
	var known []*hubs
	for k := 2; k <= min(mostHubs, n/2); k++ {
		for _, weight := range hubWeights {
			cost := func(x *hubs) float64 { return x.between + x.around + weight*float64(n)*x.longest }
			var best *hubs
			for range max(2, hubWork/(n*n*k)) {
				if s.over() {
					return plans
				}
				if x := h.settle(h.r.Perm(n)[:k], cost); best == nil || cost(x) < cost(best) {
					best = x
				}
			}
			if !slices.ContainsFunc(known, func(x *hubs) bool { return x.longest <= best.longest && x.between <= best.between }) {
				known = append(known, best)
				plans = append(plans, s.hubPlan(best.list))
			}
		}
	}
	return plans
}

// hubSearch returns what looks for hubs, with random numbers of some kind.
func (s *search) hubSearch(kind uint64) *hubSearch {
	n := s.n()
	h := &hubSearch{search: s, r: rand.New(rand.NewPCG(kind, uint64(n)))}
	least := length(s.p.Topology, &s.p.Topology.Links[0])
	for i := range s.p.Topology.Links {
		least = min(least, length(s.p.Topology, &s.p.Topology.Links[i]))
	}
	for u := range n {
		h.far = append(h.far, make([]float64, n))
		for v := range n {
			h.far[u][v] = float64(s.guide.between(u, v)) / float64(least)
		}
	}
	return h
}

// hubbed reports whether there are plans with hubs for a problem.
func hubbed(p *model.Problem) bool {
	n := len(p.Members())
	return n == p.Topology.Nodes() && n >= fewHubbed && n <= mostHubbed
}

// settle improves hubs by moving one of them as long as that costs less.
func (h *hubSearch) settle(list []int, cost func(*hubs) float64) *hubs {
	now := h.measure(list)
	for again := true; again; {
		again = false
		for i := range list {
			for v := range h.far {
				if slices.Contains(now.list, v) {
					continue
				}
				moved := slices.Clone(now.list)
				moved[i] = v
				if x := h.measure(moved); cost(x) < cost(now)-1e-6 {
					now, again = x, true
				}
			}
		}
	}
	return now
}

// measure returns hubs with what they take.
func (h *hubSearch) measure(list []int) *hubs {
	x := &hubs{list: list}
	in, out := make([]float64, len(list)), make([]float64, len(list)) // of the farthest served
	for v := range h.far {
		near, back := 0, 0
		for i, u := range list {
			if h.far[v][u] < h.far[v][list[near]] {
				near = i
			}
			if h.far[u][v] < h.far[list[back]][v] {
				back = i
			}
		}
		x.around += h.far[v][list[near]]*h.far[v][list[near]] + h.far[list[back]][v]*h.far[list[back]][v]
		in[near], out[back] = max(in[near], h.far[v][list[near]]), max(out[back], h.far[list[back]][v])
	}
	for i, u := range list {
		for j, v := range list {
			if i != j {
				x.longest = max(x.longest, in[i]+h.far[u][v]+out[j])
				x.between += h.far[u][v]
			}
		}
	}
	return x
}

// hubPlan returns the plan with hubs.
func (s *search) hubPlan(list []int) *plan {
	g := s.guide
	all := make([]int, s.n())
	for v := range all {
		all[v] = v
	}
	first := func(int) int { return list[0] }
	up := g.forest(all, list, first, g.between)
	down := g.forest(all, list, first, func(u, v int) int64 { return g.between(v, u) })
	slices.Reverse(down)
	for i, w := range down {
		down[i] = pair{from: w.to, to: w.from}
	}
	var across []pair
	for _, u := range list {
		for _, v := range list {
			if u != v {
				across = append(across, pair{from: u, to: v})
			}
		}
	}
	slices.SortStableFunc(across, func(a, b pair) int { return cmp.Compare(g.between(b.from, b.to), g.between(a.from, a.to)) })
	return &plan{
		layout: &layout{member: make([]int, s.n())},
		note:   hubNote,
		lists:  [][]step{{{phase: collecting, pairs: up}, {phase: exchanging, pairs: across}, {phase: spreading, pairs: down}}},
		turns:  [][]state{make([]state, 3)},
	}
}
