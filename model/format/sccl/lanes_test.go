package sccl

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/oraccl/oraccl/model"
)

// network is a topology of links between nodes of which those from ranks on are switches.
func network(ranks, switches int, links ...[2]int) *model.Topology {
	t := &model.Topology{Name: "net", Ranks: ranks, Switches: make([]model.Switch, switches)}
	for _, l := range links {
		t.Links = append(t.Links, model.Link{Src: l[0], Dst: l[1], Bandwidth: 1e9})
	}
	return t
}

// both is links both ways.
func both(links ...[2]int) [][2]int {
	for _, l := range slices.Clone(links) {
		links = append(links, [2]int{l[1], l[0]})
	}
	return links
}

// TestSwitches: all ways over switches count, with all their parallel links; what they cannot
// carry is refuted, and what is too hard to find is undecided.
func TestSwitches(t *testing.T) {
	rails := func(ranks, switches, parallel int) *model.Topology {
		var links [][2]int
		for r := range ranks {
			for s := range switches {
				for range parallel {
					links = append(links, [2]int{r, ranks + s})
				}
			}
		}
		return network(ranks, switches, both(links...)...)
	}
	twoStages := network(4, 4, both([2]int{0, 4}, [2]int{1, 4}, [2]int{2, 5}, [2]int{3, 5}, [2]int{4, 6}, [2]int{4, 7}, [2]int{5, 6}, [2]int{5, 7})...)
	port := rails(2, 2, 1)
	port.Ports = []model.Port{{Links: []int{0, 1}, Capacity: 1}} // what leaves rank 0
	copying := rails(3, 1, 1)
	copying.Switches[0].Copies = true
	ag := "Broadcast(n=%d,root=0)"
	for name, test := range map[string]struct {
		topology *model.Topology
		chunks   int
		steps    []string
		want     string // "": right
	}{
		"two sends, two switches":               {rails(2, 2, 1), 2, []string{step(1, "[0,0,1],[1,0,1]")}, ""},
		"three sends, two switches":             {rails(2, 2, 1), 3, []string{step(1, "[0,0,1],[1,0,1],[2,0,1]")}, "overlap"},
		"three sends in two rounds":             {rails(2, 2, 1), 3, []string{step(2, "[0,0,1],[1,0,1],[2,0,1]")}, ""},
		"one switch, two parallel links":        {rails(2, 1, 2), 2, []string{step(1, "[0,0,1],[1,0,1]")}, ""},
		"one switch, three sends":               {rails(2, 1, 2), 3, []string{step(1, "[0,0,1],[1,0,1],[2,0,1]")}, "overlap"},
		"a link and a switch":                   {network(2, 1, append(both([2]int{0, 2}, [2]int{1, 2}), [2]int{0, 1})...), 2, []string{step(1, "[0,0,1],[1,0,1]")}, ""},
		"two stages, over both switches":        {twoStages, 2, []string{step(2, "[0,0,1],[1,0,1]"), step(2, "[0,0,2],[0,1,3],[1,0,2],[1,1,3]")}, ""},
		"two stages, more than the upper links": {twoStages, 2, []string{step(2, "[0,0,1],[1,0,1]"), step(1, "[0,0,2],[0,1,3],[1,0,2],[1,1,3]")}, "overlap"},
		"a port of two links":                   {port, 2, []string{step(1, "[0,0,1],[1,0,1]")}, "port"},
		"a port of two links, in two rounds":    {port, 2, []string{step(2, "[0,0,1],[1,0,1]")}, ""},
		"a switch that copies":                  {copying, 1, []string{step(1, "[0,0,1],[0,0,2]")}, "undecided"},
	} {
		n := test.topology.Ranks
		links := make([][]int, n)
		for i := range links {
			links[i] = make([]int, n)
		}
		f := read(t, text(fmt.Sprintf(ag, n), n, test.chunks, "x", fmt.Sprint(jsonOf(links)), "", nil, test.steps...))
		m, err := f.Import(Truth{Topology: test.topology})
		require.NoError(t, err, name)
		require.Empty(t, m.Objections, name)
		require.NoError(t, m.Schedule.Validate(m.Problem), name)
		if test.want == "undecided" {
			require.Contains(t, m.Undecided, "there may be some", name)
			continue
		}
		require.Empty(t, m.Undecided, name)
		require.Equal(t, test.want, conflict(m), name)
	}
}

func jsonOf(links [][]int) string {
	text := "["
	for i, row := range links {
		if i > 0 {
			text += ","
		}
		text += "["
		for j, v := range row {
			if j > 0 {
				text += ","
			}
			text += fmt.Sprint(v)
		}
		text += "]"
	}
	return text + "]"
}

// conflict names what is used by more transfers in a round than it can be: "overlap" for a
// link, "port", or "".
func conflict(m *model.Imported) string {
	link, port := map[[2]int]int{}, map[[2]int]int{}
	for _, x := range m.Schedule.Transfers {
		for _, l := range m.Schedule.Routes[x.Route] {
			if link[[2]int{l, int(x.Start)}]++; link[[2]int{l, int(x.Start)}] > 1 {
				return "overlap"
			}
			for i, p := range m.Problem.Topology.Ports {
				if slices.Contains(p.Links, l) {
					if port[[2]int{i, int(x.Start)}]++; port[[2]int{i, int(x.Start)}] > p.Capacity {
						return "port"
					}
				}
			}
		}
	}
	return ""
}

// TestAgainstAllAssignments sets the choice of ways and rounds against one that tries all:
// what is found is right, and what is called impossible is.
func TestAgainstAllAssignments(t *testing.T) {
	count := map[string]int{}
	rapid.Check(t, func(t *rapid.T) {
		ranks, switches := rapid.IntRange(2, 4).Draw(t, "ranks"), rapid.IntRange(1, 3).Draw(t, "switches")
		var links [][2]int
		for u := range ranks + switches {
			for v := range ranks + switches {
				likely := 3
				if u < ranks == (v < ranks) { // between two ranks, or two switches
					likely = 1
				}
				for u != v && rapid.IntRange(0, 4).Draw(t, "link") < likely {
					links = append(links, [2]int{u, v})
				}
			}
		}
		tp := network(ranks, switches, links...)
		out := tp.Out()[rapid.IntRange(0, ranks-1).Draw(t, "port")]
		if len(out) > 1 && rapid.IntRange(0, 3).Draw(t, "with a port") == 0 {
			tp.Ports = []model.Port{{Links: out, Capacity: rapid.IntRange(1, 2).Draw(t, "capacity")}}
		}
		rounds := rapid.IntRange(1, 2).Draw(t, "rounds")
		net := newLanes(tp)
		var pairs, sends [][2]int
		for u := range ranks {
			for v := range ranks {
				if u != v && len(net.choices(u, v).ways) > 0 {
					pairs = append(pairs, [2]int{u, v})
				}
			}
		}
		for range rapid.IntRange(0, min(5, 5*len(pairs))).Draw(t, "sends") {
			sends = append(sends, rapid.SampledFrom(pairs).Draw(t, "send"))
		}
		chosen, can := net.fit(sends, rounds)
		routes := net.pickLinks(chosen)
		at, fit := net.spread(routes, rounds)
		possible := assignable(tp, sends, rounds)
		switch {
		case can == impossible:
			require.False(t, possible, "sends %v over %v, ports %v, in %d rounds", sends, links, tp.Ports, rounds)
			count["impossible"]++
		case can == fits && fit:
			m := &model.Imported{Problem: &model.Problem{Topology: tp}, Schedule: &model.Schedule{Routes: routes}}
			for i := range routes {
				m.Schedule.Transfers = append(m.Schedule.Transfers, model.Transfer{Route: int32(i), Start: model.Time(at[i])})
				require.Equal(t, sends[i], [2]int{tp.Links[routes[i][0]].Src, tp.Links[routes[i][len(routes[i])-1]].Dst})
			}
			require.Empty(t, conflict(m))
			require.True(t, possible)
			count["fits"]++
		default:
			count[fmt.Sprintf("undecided, possible %v", possible)]++
		}
	})
	t.Logf("%v", count)
	require.Positive(t, count["fits"])
	require.Positive(t, count["impossible"])
}

// assignable tries every way and every round for every send.
func assignable(tp *model.Topology, sends [][2]int, rounds int) bool {
	link, port := map[[2]int]bool{}, map[[2]int]int{}
	var try func(k int) bool
	try = func(k int) bool {
		if k == len(sends) {
			return true
		}
		for r := range rounds {
			on := map[int]bool{}
			var walk func(at int) bool
			walk = func(at int) bool {
				if at == sends[k][1] {
					return try(k + 1)
				}
				if at != sends[k][0] && tp.IsRank(at) || on[at] {
					return false
				}
				on[at] = true
				defer delete(on, at)
			links:
				for i, l := range tp.Links {
					if l.Src != at || link[[2]int{i, r}] {
						continue
					}
					for j, p := range tp.Ports {
						if slices.Contains(p.Links, i) && port[[2]int{j, r}] >= p.Capacity {
							continue links
						}
					}
					take := func(by int) {
						link[[2]int{i, r}] = by > 0
						for j, p := range tp.Ports {
							if slices.Contains(p.Links, i) {
								port[[2]int{j, r}] += by
							}
						}
					}
					take(1)
					if walk(l.Dst) {
						return true
					}
					take(-1)
				}
				return false
			}
			if walk(sends[k][0]) {
				return true
			}
		}
		return false
	}
	return try(0)
}

// TestManySends: a step of as many sends as a large file has takes no time to speak of.
func TestManySends(t *testing.T) {
	const n, rounds = 32, 400
	var links [][2]int
	for r := range n {
		for s := range 4 {
			links = append(links, [2]int{r, n + s})
		}
	}
	net := newLanes(network(n, 4, both(links...)...))
	var sends [][2]int
	for range 4 * rounds {
		for r := range n {
			sends = append(sends, [2]int{r, (r + 1 + len(sends)%(n-1)) % n})
		}
	}
	in := make([]int, n)
	sends = slices.DeleteFunc(sends, func(s [2]int) bool { in[s[1]]++; return in[s[1]] > 4*rounds })
	chosen, can := net.fit(sends, rounds)
	require.Equal(t, fits, can)
	_, fit := net.spread(net.pickLinks(chosen), rounds)
	require.True(t, fit)
}
