package symmetry

import (
	"context"
	"flag"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/topo"
)

// Every run draws the same values; -rapid.seed on the command line draws others.
func init() {
	if err := flag.Set("rapid.seed", "1"); err != nil {
		panic(err)
	}
}

type fataler interface {
	Errorf(format string, args ...any)
	FailNow()
}

// requireGroup checks, link by link and with nothing but the topology and the images, that g
// is a group of symmetries, that its subgroups are groups, and what it moves.
func requireGroup(t fataler, tp *model.Topology, g *Group, o Options) {
	key := func(e []int32) string { return fmt.Sprint(e[:tp.Nodes()]) }
	number := map[string]int{}
	for e := range g.Order() {
		number[key(g.Nodes(e))] = e
	}
	require.Len(t, number, g.Order(), "elements are different")
	ports := tp.PortsOf()
	for e := range g.Order() {
		hit := map[int]bool{}
		for l, k := range tp.Links {
			m := g.Link(e, l)
			if hit[m] || tp.Links[m] != (model.Link{Src: g.Node(e, k.Src), Dst: g.Node(e, k.Dst), Alpha: k.Alpha, Bandwidth: k.Bandwidth}) {
				require.Fail(t, "no symmetry", "element %d takes link %d to %d", e, l, m)
			}
			hit[m] = true
			var moved []int
			for _, x := range ports[l] {
				moved = append(moved, g.Port(e, x))
				require.Equal(t, tp.Ports[x].Capacity, tp.Ports[g.Port(e, x)].Capacity)
			}
			slices.Sort(moved)
			require.True(t, slices.Equal(ports[m], moved), "element %d takes link %d to one of other ports", e, l)
			require.False(t, e > 0 && !o.StayingLinks && l == m, "element %d leaves link %d where it is", e, l)
		}
		for v := range tp.Nodes() {
			require.Equal(t, tp.IsRank(v), tp.IsRank(g.Node(e, v)))
			require.Equal(t, tp.Copies(v), tp.Copies(g.Node(e, v)))
			if o.Labels != nil {
				require.Equal(t, o.Labels[v], o.Labels[g.Node(e, v)])
			}
			if e > 0 && tp.IsRank(v) && !o.StayingRanks {
				require.NotEqual(t, v, g.Node(e, v), "element %d leaves rank %d where it is", e, v)
			}
		}
	}
	require.Equal(t, 1, g.Orders()[0])
	require.Equal(t, g.Order(), g.Orders()[len(g.Orders())-1])
	for _, order := range g.Orders() {
		sub := g.Sub(order)
		for i := range min(order, 24) {
			for j := range min(order, 24) {
				k, known := number[key(compose(sub.Nodes(i), sub.Nodes(j)))]
				require.True(t, known && k < order, "a product lies outside")
				for l := range tp.Links {
					if g.Link(k, l) != g.Link(i, g.Link(j, l)) {
						require.Fail(t, "links are not moved as products are", "%d·%d, link %d", i, j, l)
					}
				}
			}
		}
	}
}

// drawTopology draws a small network, often with some symmetry: a sum of random orbits.
func drawTopology(t *rapid.T) *model.Topology {
	ranks := rapid.IntRange(1, 5).Draw(t, "ranks")
	nodes := ranks + rapid.IntRange(0, 2).Draw(t, "switches")
	tp := &model.Topology{Name: "drawn", Ranks: ranks}
	for v := ranks; v < nodes; v++ {
		tp.Switches = append(tp.Switches, model.Switch{Copies: rapid.IntRange(0, 5).Draw(t, "copies") == 0})
	}
	type pair struct{ u, v int }
	p := rapid.Permutation(slices.Collect(func(yield func(int) bool) {
		for v := range nodes {
			if !yield(v) {
				return
			}
		}
	})).Draw(t, "symmetry")
	for range rapid.IntRange(1, 4).Draw(t, "classes") {
		u, v := rapid.IntRange(0, nodes-1).Draw(t, "from"), rapid.IntRange(0, nodes-1).Draw(t, "to")
		if u == v {
			continue
		}
		k := model.Link{Alpha: model.Time(rapid.IntRange(0, 1).Draw(t, "alpha")), Bandwidth: int64(rapid.IntRange(1, 2).Draw(t, "bandwidth"))}
		copies := rapid.SampledFrom([]int{1, 1, 1, 2}).Draw(t, "copies")
		duplex := rapid.Bool().Draw(t, "duplex")
		seen := map[pair]bool{}
		for !seen[pair{u, v}] {
			seen[pair{u, v}] = true
			for range copies {
				k.Src, k.Dst = u, v
				tp.Links = append(tp.Links, k)
				if duplex {
					k.Src, k.Dst = v, u
					tp.Links = append(tp.Links, k)
				}
			}
			u, v = p[u], p[v]
		}
	}
	for range rapid.IntRange(0, 2).Draw(t, "ports") {
		if len(tp.Links) == 0 {
			break
		}
		out := rapid.Bool().Draw(t, "out")
		v := tp.Links[rapid.IntRange(0, len(tp.Links)-1).Draw(t, "at")].Src
		lists := tp.In()
		if out {
			lists = tp.Out()
		}
		var links []int
		for _, l := range lists[v] {
			if rapid.Bool().Draw(t, "in port") {
				links = append(links, l)
			}
		}
		if len(links) > 0 {
			tp.Ports = append(tp.Ports, model.Port{Links: links, Capacity: rapid.IntRange(1, 2).Draw(t, "capacity")})
		}
	}
	return tp
}

// every returns all permutations of the nodes that are symmetries in the sense of the nodes
// alone: as many links of each figures between images, and ports alike. It is brute force.
func every(tp *model.Topology) [][]int {
	between := map[string]int{}
	of := tp.PortsOf()
	for l, k := range tp.Links {
		between[fmt.Sprint(k.Src, k.Dst, k.Alpha, k.Bandwidth, len(of[l]))]++
	}
	var all [][]int
	var place func(p []int)
	place = func(p []int) {
		if len(p) < tp.Nodes() {
			for w := range tp.Nodes() {
				if !slices.Contains(p, w) && tp.IsRank(w) == tp.IsRank(len(p)) && tp.Copies(w) == tp.Copies(len(p)) {
					place(append(slices.Clone(p), w))
				}
			}
			return
		}
		count := map[string]int{}
		for l, k := range tp.Links {
			count[fmt.Sprint(p[k.Src], p[k.Dst], k.Alpha, k.Bandwidth, len(of[l]))]++
		}
		for k, n := range between {
			if count[k] != n {
				return
			}
		}
		all = append(all, p)
	}
	place(nil)
	return all
}

// largestFree returns the order of the largest group among permutations whose elements, but
// the identity, move every rank and every link: of those that two elements generate.
func largestFree(tp *model.Topology, all [][]int) int {
	free := func(p []int) bool {
		for v := range tp.Ranks {
			if p[v] == v {
				return false
			}
		}
		for _, k := range tp.Links {
			if p[k.Src] == k.Src && p[k.Dst] == k.Dst {
				return false
			}
		}
		return true
	}
	times := func(p, q []int) []int {
		r := make([]int, len(p))
		for v := range r {
			r[v] = p[q[v]]
		}
		return r
	}
	var moving [][]int
	for _, p := range all {
		if free(p) {
			moving = append(moving, p)
		}
	}
	most := 1
	for _, p := range moving {
		for _, q := range moving {
			group := map[string][]int{}
			identity := times(p, p)
			for v := range identity {
				identity[v] = v
			}
			queue := [][]int{identity}
			group[fmt.Sprint(identity)] = identity
			ok := true
			for ok && len(queue) > 0 {
				x := queue[0]
				queue = queue[1:]
				for _, g := range [][]int{p, q} {
					y := times(g, x)
					if _, known := group[fmt.Sprint(y)]; known {
						continue
					}
					if !free(y) || len(group) > tp.Ranks {
						ok = false
						break
					}
					group[fmt.Sprint(y)] = y
					queue = append(queue, y)
				}
			}
			if ok {
				most = max(most, len(group))
			}
		}
	}
	return most
}

// TestAgainstBruteForce: what is found is a group, and of small networks without ports the
// largest that moves everything.
func TestAgainstBruteForce(t *testing.T) {
	symmetric := 0
	rapid.Check(t, func(t *rapid.T) {
		tp := drawTopology(t)
		g := Find(context.Background(), tp, Options{})
		requireGroup(t, tp, g, Options{})
		most := largestFree(tp, every(tp))
		if len(tp.Ports) > 0 {
			require.LessOrEqual(t, g.Order(), most)
			return
		}
		require.Equal(t, most, g.Order())
		if most > 1 {
			symmetric++
		}
		for _, o := range []Options{{StayingRanks: true}, {StayingRanks: true, StayingOrbits: true}, {StayingLinks: true}, {Base: g, StayingLinks: true}} {
			more := Find(context.Background(), tp, o)
			requireGroup(t, tp, more, o)
		}
	})
	require.Greater(t, symmetric, 8)
}

// cayley returns the Cayley graph of the group that permutations generate, a link each for
// every generator, its ranks in an order that says nothing.
func cayley(generators ...[]int) *model.Topology {
	key := func(p []int) string { return fmt.Sprint(p) }
	identity := make([]int, len(generators[0]))
	for i := range identity {
		identity[i] = i
	}
	number := map[string]int{key(identity): 0}
	queue := [][]int{identity}
	tp := &model.Topology{Name: "cayley"}
	for i := 0; i < len(queue); i++ {
		for j, g := range generators {
			next := make([]int, len(identity))
			for x := range next {
				next[x] = queue[i][g[x]]
			}
			if _, known := number[key(next)]; !known {
				number[key(next)] = len(queue)
				queue = append(queue, next)
			}
			tp.Links = append(tp.Links, model.Link{Src: i, Dst: number[key(next)], Alpha: model.Time(j), Bandwidth: 1})
		}
	}
	tp.Ranks = len(queue)
	scatter := func(v int) int { return (v*5 + 3) % tp.Ranks }
	for gcd(5, tp.Ranks) != 1 {
		scatter = func(v int) int { return tp.Ranks - 1 - v }
		break
	}
	for i := range tp.Links {
		tp.Links[i].Src, tp.Links[i].Dst = scatter(tp.Links[i].Src), scatter(tp.Links[i].Dst)
	}
	return tp
}

// TestCayleyGraphs: the graph of a group has that group, whether it is abelian or not.
func TestCayleyGraphs(t *testing.T) {
	for name, c := range map[string]struct {
		order      int
		generators [][]int
	}{
		"Z6":           {6, [][]int{{1, 2, 3, 4, 5, 0}}},
		"Z2xZ4":        {8, [][]int{{1, 0, 2, 3, 4, 5}, {0, 1, 3, 4, 5, 2}}},
		"S3":           {6, [][]int{{1, 0, 2}, {1, 2, 0}}},
		"dihedral 8":   {16, [][]int{{1, 2, 3, 4, 5, 6, 7, 0}, {0, 7, 6, 5, 4, 3, 2, 1}}},
		"quaternions":  {8, [][]int{{1, 2, 3, 0, 5, 6, 7, 4}, {4, 7, 6, 5, 2, 1, 0, 3}}},
		"A4":           {12, [][]int{{1, 0, 3, 2}, {1, 2, 0, 3}}},
		"S4":           {24, [][]int{{1, 0, 2, 3}, {1, 2, 3, 0}}},
		"Z7 and cubes": {21, [][]int{{1, 2, 3, 4, 5, 6, 0}, {0, 2, 4, 6, 1, 3, 5}}},
	} {
		t.Run(name, func(t *testing.T) {
			tp := cayley(c.generators...)
			require.Equal(t, c.order, tp.Ranks)
			g := Find(context.Background(), tp, Options{})
			requireGroup(t, tp, g, Options{})
			require.Equal(t, c.order, g.Order())
		})
	}
}

// TestFamilies: the orders found for networks with names. Where ranks outnumber the order,
// the number of links of a class is what it divides.
func TestFamilies(t *testing.T) {
	for name, order := range map[string]int{
		"ring:8": 8, "uniring:12": 12, "line:4": 2, "mesh:4x4": 4, "mesh:5x5": 1, "mesh:32x32": 4, "torus:4x4": 16, "torus:3x5": 15,
		"torus:8x8": 64, "hypercube:4": 16, "hypercube:8": 256, "full:8": 8, "full:64": 64, "switch:12": 12,
		"dgx1": 4, "dgx2:2": 16, "dgxa100:2": 16, "dgxh100:2": 16, "dgxh100:3": 24, "dgxh100:16": 128, "mi250": 4, "mi300x": 8, "ndv2:2": 2, "ndv2:4": 4,
		"dragonfly:3x2x2": 12, "dragonfly:9x4x4": 18, "fattree:4x4": 16, "fattree:8x8": 64, "fattree:4x6x3": 12, "fattree:16x16x8": 128,
		"rfs:2x2x4": 16, "tpuv4:4x4x4": 64, "tpuv4:8x8x8": 512, "tpuv4:2x4x4": 8,
	} {
		t.Run(name, func(t *testing.T) {
			tp, err := topo.Parse(name, topo.Options{})
			require.NoError(t, err)
			g := Find(context.Background(), tp, Options{})
			require.Equal(t, order, g.Order())
			if tp.Ranks <= 64 {
				requireGroup(t, tp, g, Options{})
			}
		})
	}
}

// TestStayingOrbits: reflections of squares, and rotations of cubes about their diagonals, leave ranks where they are but no links.
func TestStayingOrbits(t *testing.T) {
	for name, order := range map[string]int{"mesh:4x4": 8, "mesh:3x3": 4, "torus:4x4": 64, "torus:4x4x4": 192, "ring:8": 16, "mesh:2x4": 4} {
		tp, err := topo.Parse(name, topo.Options{})
		require.NoError(t, err)
		o := Options{StayingRanks: true, StayingOrbits: true}
		g := Find(context.Background(), tp, o)
		requireGroup(t, tp, g, o)
		require.Equal(t, order, g.Order(), name)
	}
}

// TestNumbering: what is found does not depend on numbers.
func TestNumbering(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.SampledFrom([]string{"dgxh100:2", "torus:4x4", "dgx2:2", "fattree:4x4", "dragonfly:3x2x2", "mi250", "hypercube:4"}).Draw(t, "topology")
		tp, err := topo.Parse(name, topo.Options{})
		require.NoError(t, err)
		want := Find(context.Background(), tp, Options{}).Order()
		p := rapid.Permutation(slices.Clone(counting(tp.Ranks))).Draw(t, "numbers")
		for s := range tp.Switches {
			p = append(p, tp.Ranks+s)
		}
		for i := range tp.Links {
			tp.Links[i].Src, tp.Links[i].Dst = p[tp.Links[i].Src], p[tp.Links[i].Dst]
		}
		g := Find(context.Background(), tp, Options{})
		requireGroup(t, tp, g, Options{})
		require.Equal(t, want, g.Order())
	})
}

func counting(n int) []int {
	list := make([]int, n)
	for i := range list {
		list[i] = i
	}
	return list
}

// TestLabels: ranks with labels of their own are not exchanged with others.
func TestLabels(t *testing.T) {
	tp, err := topo.Parse("switch:8", topo.Options{})
	require.NoError(t, err)
	o := Options{Labels: []int{1, 1, 0, 0, 1, 1, 0, 0, 0}}
	g := Find(context.Background(), tp, o)
	requireGroup(t, tp, g, o)
	require.Equal(t, 4, g.Order())

	root := Options{Labels: make([]int, 17), StayingRanks: true}
	tp, err = topo.Parse("torus:4x4", topo.Options{})
	require.NoError(t, err)
	root.Labels[5] = 1
	g = Find(context.Background(), tp, root)
	requireGroup(t, tp, g, root)
	require.GreaterOrEqual(t, g.Order(), 4, "rank 5 stays, what is around it turns")
}

// TestStayingLinks: two machines at one cable. Their ranks are exchanged though that leaves
// the cable where it is.
func TestStayingLinks(t *testing.T) {
	tp := &model.Topology{Name: "cable", Ranks: 8, Switches: make([]model.Switch, 2)}
	for v := range 8 {
		s := 8 + v/4
		tp.Links = append(tp.Links, model.Link{Src: v, Dst: s, Bandwidth: 1}, model.Link{Src: s, Dst: v, Bandwidth: 1})
	}
	tp.Links = append(tp.Links, model.Link{Src: 8, Dst: 9, Bandwidth: 1}, model.Link{Src: 9, Dst: 8, Bandwidth: 1})
	g := Find(context.Background(), tp, Options{})
	requireGroup(t, tp, g, Options{})
	require.Equal(t, 2, g.Order())
	o := Options{Base: g, StayingLinks: true}
	g = Find(context.Background(), tp, o)
	requireGroup(t, tp, g, o)
	require.Equal(t, 8, g.Order())
}

// TestLimits: a search that is cut short returns a group all the same.
func TestLimits(t *testing.T) {
	tp, err := topo.Parse("torus:8x8", topo.Options{})
	require.NoError(t, err)
	g := Find(context.Background(), tp, Options{Work: 1})
	requireGroup(t, tp, g, Options{})
	require.Less(t, g.Order(), 64)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	require.Equal(t, 1, Find(ctx, tp, Options{}).Order())
	require.Equal(t, 1, Trivial(tp).Order())
}

func BenchmarkFind(b *testing.B) {
	for _, name := range []string{"dgxh100:16", "torus:8x8", "fattree:32x32", "full:1024", "dgxh100:128", "ring:1024"} {
		tp, err := topo.Parse(name, topo.Options{})
		require.NoError(b, err)
		b.Run("topo="+name, func(b *testing.B) {
			for b.Loop() {
				b.ReportMetric(float64(Find(context.Background(), tp, Options{}).Order()), "order")
			}
		})
	}
}

// TestWork: groups of large networks are found with little work, also where the first attempts end at smaller ones.
func TestWork(t *testing.T) {
	for _, c := range []struct {
		network string
		order   int
		work    int64
	}{{"tpuv4:8x8x8", 512, 15e6}, {"torus:16x16", 256, 1e6}, {"dgxh100:16", 128, 1e5}} {
		network, err := topo.Parse(c.network, topo.Options{})
		require.NoError(t, err)
		require.Equal(t, c.order, Find(context.Background(), network, Options{Work: c.work}).Order(), c.network)
	}
}

// Nodes of one class have as many links, of the same figures, to each other class, and no symmetry leads out of a class.
func TestClasses(t *testing.T) {
	for _, c := range []struct {
		name    string
		classes int // of ranks
	}{{"ring:5", 1}, {"mesh:3x3", 3}, {"dgxh100:2", 1}, {"mi250", 4}, {"fattree:2x4", 1}, {"line:5", 3}} {
		tp, err := topo.Parse(c.name, topo.Options{})
		require.NoError(t, err)
		class := Classes(tp, nil)
		require.Len(t, class, tp.Nodes()+len(tp.Ports))
		seen := map[int]bool{}
		for _, k := range class[:tp.Ranks] {
			seen[k] = true
		}
		require.Len(t, seen, c.classes, c.name)
		links := make([]map[string]int, tp.Nodes())
		for v := range links {
			links[v] = map[string]int{}
		}
		for _, l := range tp.Links {
			links[l.Src][fmt.Sprint("to", class[l.Dst], l.Alpha, l.Bandwidth)]++
			links[l.Dst][fmt.Sprint("from", class[l.Src], l.Alpha, l.Bandwidth)]++
		}
		for u := range tp.Nodes() {
			for v := range u {
				if class[u] == class[v] {
					require.Equal(t, links[u], links[v], c.name)
				}
			}
		}
		g := Find(context.Background(), tp, Options{StayingRanks: true})
		for e := range g.Order() {
			for v := range tp.Nodes() {
				require.Equal(t, class[v], class[g.Node(e, v)])
			}
		}
	}
	labels := make([]int, 5)
	labels[2] = 1
	tp, err := topo.Parse("ring:5", topo.Options{})
	require.NoError(t, err)
	require.Equal(t, []int{0, 1, 2, 1, 0}, Classes(tp, labels)[:5])
}
