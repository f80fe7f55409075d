package classic

import (
	"slices"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve/place"
)

// The ring algorithms (Patarasuk and Yuan, "Bandwidth optimal all-reduce
// algorithms for clusters of workstations", 2009): every member talks to the next
// one in a ring only, n-1 steps for reducescatter and for allgather. Broadcast and
// reduce are pipelined chains.
var ringBuilders = builders{
	model.AllGather:     inRing(ringAllGather),
	model.ReduceScatter: inRing(ringReduceScatter),
	model.AllReduce:     inRing(both(ringReduceScatter, ringAllGather)),
	model.Broadcast:     inRing(chainBroadcast),
	model.Reduce:        inRing(chainReduce),
}

// The bidirectional ring: what a member owns travels both ways round, each half of
// the ring being reached the shorter way.
var bidirectionalBuilders = builders{
	model.AllGather:     inRing(twoWayAllGather),
	model.ReduceScatter: inRing(twoWayReduceScatter),
	model.AllReduce:     inRing(both(twoWayReduceScatter, twoWayAllGather)),
	model.Broadcast:     inRing(twoWayBroadcast),
	model.Reduce:        inRing(twoWayReduce),
}

// inRing has a program written with the members in the order of a ring.
func inRing(build func(*plan)) func(*plan) {
	return func(x *plan) {
		order := ringOrder(x.p.Topology, x.members)
		if slices.Equal(order, x.members) {
			build(x)
			return
		}
		y := *x
		y.members = order
		y.root = 0
		if x.p.Collective.Kind.Rooted() {
			y.root = slices.Index(order, x.p.Collective.Root)
		}
		build(&y)
	}
}

// ringBlocks returns the chunks that belong to each member in the ring's order.
func (x *plan) ringBlocks() [][]int {
	blocks := x.blocks(x.n)
	if x.p.Shards() != x.n {
		return blocks
	}
	byMember := x.p.Members() // shards go by the group's order
	index := make(map[int]int, x.n)
	for i, r := range byMember {
		index[r] = i
	}
	inOrder := make([][]int, x.n)
	for i, r := range x.members {
		inOrder[i] = blocks[index[r]]
	}
	return inOrder
}

func ringAllGather(x *plan) {
	blocks := x.ringBlocks()
	for step := range x.n - 1 {
		var batch []place.Move
		for i := range x.n {
			for _, k := range blocks[(i-step+x.n)%x.n] {
				batch = append(batch, x.move(k, i, i+1, model.Copy))
			}
		}
		x.Batch(batch...)
	}
}

func ringReduceScatter(x *plan) {
	blocks := x.ringBlocks()
	for step := range x.n - 1 {
		var batch []place.Move
		for i := range x.n {
			for _, k := range blocks[(i-step-1+2*x.n)%x.n] {
				batch = append(batch, x.move(k, i, i+1, model.Reduction))
			}
		}
		x.Batch(batch...)
	}
}

func chainBroadcast(x *plan) {
	for _, k := range x.all() {
		for i := range x.n - 1 {
			x.Batch(x.move(k, x.root+i, x.root+i+1, model.Copy))
		}
	}
}

func chainReduce(x *plan) {
	for _, k := range x.all() {
		for i := 1; i < x.n; i++ {
			x.Batch(x.move(k, x.root+i, x.root+i+1, model.Reduction))
		}
	}
}

// halves returns how far a block travels each way round.
func (x *plan) halves() (forth, back int) { return x.n / 2, (x.n - 1) / 2 }

func twoWayAllGather(x *plan) {
	blocks := x.ringBlocks()
	forth, back := x.halves()
	for d := range forth {
		var batch []place.Move
		for o, block := range blocks {
			for _, k := range block {
				batch = append(batch, x.move(k, o+d, o+d+1, model.Copy))
				if d < back {
					batch = append(batch, x.move(k, o-d, o-d-1, model.Copy))
				}
			}
		}
		x.Batch(batch...)
	}
}

func twoWayReduceScatter(x *plan) {
	blocks := x.ringBlocks()
	forth, back := x.halves()
	for d := forth - 1; d >= 0; d-- {
		var batch []place.Move
		for o, block := range blocks {
			for _, k := range block {
				batch = append(batch, x.move(k, o+d+1, o+d, model.Reduction))
				if d < back {
					batch = append(batch, x.move(k, o-d-1, o-d, model.Reduction))
				}
			}
		}
		x.Batch(batch...)
	}
}

func twoWayBroadcast(x *plan) {
	forth, back := x.halves()
	for _, k := range x.all() {
		for d := range forth {
			x.Batch(x.move(k, x.root+d, x.root+d+1, model.Copy))
			if d < back {
				x.Batch(x.move(k, x.root-d, x.root-d-1, model.Copy))
			}
		}
	}
}

func twoWayReduce(x *plan) {
	forth, back := x.halves()
	for _, k := range x.all() {
		for d := forth - 1; d >= 0; d-- {
			x.Batch(x.move(k, x.root+d+1, x.root+d, model.Reduction))
			if d < back {
				x.Batch(x.move(k, x.root-d-1, x.root-d, model.Reduction))
			}
		}
	}
}

// maxRingSteps limits the search for a ring.
const maxRingSteps = 200000

// ringOrder returns the members in an order in which each has a hop to the next,
// and the last to the first, if it finds one: their own order if that is a ring,
// else the first that a depth-first search comes to, which tries neighbours with
// few free neighbours first (Warnsdorff's rule). If it finds none in
// maxRingSteps steps, their own order is what is left.
func ringOrder(t *model.Topology, members []int) []int {
	near := hops(t, members)
	n := len(members)
	isRing := true
	for i := range n {
		isRing = isRing && near[i][(i+1)%n]
	}
	if isRing || n > 512 {
		return members
	}
	order, used, steps := []int{0}, make([]bool, n), 0
	used[0] = true
	freeAround := func(i int) (free int) {
		for j := range n {
			if near[i][j] && !used[j] {
				free++
			}
		}
		return free
	}
	var extend func() bool
	extend = func() bool {
		last := order[len(order)-1]
		if len(order) == n {
			return near[last][0]
		}
		var next []int
		for j := range n {
			if near[last][j] && !used[j] {
				next = append(next, j)
			}
		}
		free := make(map[int]int, len(next))
		for _, j := range next {
			free[j] = freeAround(j)
		}
		slices.SortStableFunc(next, func(a, b int) int { return free[a] - free[b] })
		for _, j := range next {
			if steps++; steps > maxRingSteps {
				return false
			}
			order, used[j] = append(order, j), true
			if extend() {
				return true
			}
			order, used[j] = order[:len(order)-1], false
		}
		return false
	}
	if !extend() {
		return members
	}
	ring := make([]int, n)
	for i, j := range order {
		ring[i] = members[j]
	}
	return ring
}

// hops says from which member to which there is a link, or a path over switches.
func hops(t *model.Topology, members []int) [][]bool {
	index := make(map[int]int, len(members))
	for i, r := range members {
		index[r] = i
	}
	out := t.Out()
	near := make([][]bool, len(members))
	for i, r := range members {
		near[i] = make([]bool, len(members))
		seen := map[int]bool{}
		stack := []int{r}
		for len(stack) > 0 {
			v := stack[len(stack)-1]
			stack = stack[:len(stack)-1]
			for _, l := range out[v] {
				w := t.Links[l].Dst
				if seen[w] || w == r {
					continue
				}
				seen[w] = true
				if j, ok := index[w]; ok {
					near[i][j] = true
				} else if !t.IsRank(w) {
					stack = append(stack, w)
				}
			}
		}
	}
	return near
}
