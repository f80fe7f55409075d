package sccl

// Within a step of several rounds the file does not say which send is in which round.
// Any assignment that the links can carry means the same, as long as nothing is read in
// a later round than it is overwritten in.

// pickLinks returns the links of the ways that sends take, in order, the parallel ones of a lane in
// turn: none has more sends than rounds if no lane has more than rounds times its links.
func (n *lanes) pickLinks(chosen [][]int) [][]int {
	next := make([]int, len(n.list))
	routes := make([][]int, len(chosen))
	for i, way := range chosen {
		for _, l := range way {
			if links := n.list[l].links; links != nil {
				routes[i] = append(routes[i], links[next[l]%len(links)])
				next[l]++
			}
		}
	}
	return routes
}

// spread gives each of the sends of a step, whose routes are given, a round from 0 to
// rounds-1 such that no link carries two in one, and no port more than its capacity, if it
// can; what it cannot place it puts into the last round. Routes of one link are spread
// exactly; for those of two, over a switch, this is the colouring of a bipartite multigraph,
// which exists whenever no link has more sends than rounds (König), and is found by
// exchanging colours along paths. With longer routes, or ports, it may miss an assignment
// that exists; then fit is false.
func (n *lanes) spread(routes [][]int, rounds int) (at []int, fit bool) {
	short := true
	for _, route := range routes {
		for _, l := range route {
			short = short && len(n.ports[l]) == 0
		}
		short = short && len(route) <= 2
	}
	if short {
		return colour(routes, rounds)
	}
	return n.firstFit(routes, rounds)
}

// colour is spread for routes of one or two links.
func colour(routes [][]int, rounds int) (at []int, fit bool) {
	at = make([]int, len(routes))
	fit = true
	used := map[int]map[int]int{} // link, round: the send there
	least := map[int]int{}        // of a link, no round before it is free
	free := func(link int) int {
		for r := least[link]; r < rounds; r++ {
			if _, taken := used[link][r]; !taken {
				least[link] = r
				return r
			}
		}
		least[link] = rounds
		return -1
	}
	for i, route := range routes {
		first, last := free(route[0]), free(route[len(route)-1])
		if first < 0 || last < 0 {
			at[i], fit = rounds-1, false
			continue
		}
		if len(route) == 2 && first != last {
			if _, taken := used[route[1]][first]; taken {
				for _, l := range exchange(routes, at, used, route[1], first, last) {
					least[l] = min(least[l], first, last)
				}
			}
		}
		at[i] = first
		for _, l := range route {
			if used[l] == nil {
				used[l] = map[int]int{}
			}
			used[l][first] = i
		}
	}
	return at, fit
}

// exchange frees round a on a link by swapping rounds a and b along the path of sends that
// have one of them, beginning with that link. b is free there. It returns the links of the
// path.
func exchange(routes [][]int, at []int, used map[int]map[int]int, link, a, b int) (links []int) {
	var path []int
	for round := a; ; round = a + b - round {
		i, taken := used[link][round]
		if !taken {
			break
		}
		path = append(path, i)
		link = routes[i][0] + routes[i][1] - link // the other end
	}
	for _, i := range path {
		for _, l := range routes[i] {
			delete(used[l], at[i])
		}
		at[i] = a + b - at[i]
	}
	for _, i := range path {
		for _, l := range routes[i] {
			used[l][at[i]] = i
		}
		links = append(links, routes[i]...)
	}
	return links
}

// firstFit is spread for any routes: each send has the first round in which its links and
// ports are free.
func (n *lanes) firstFit(routes [][]int, rounds int) (at []int, fit bool) {
	at = make([]int, len(routes))
	fit = true
	links, ports := map[[2]int]bool{}, map[[2]int]int{} // what is in use in a round
	least := map[int]int{}                              // of a link, no round before it is free
sends:
	for i, route := range routes {
		from := 0
		for _, l := range route {
			for links[[2]int{l, least[l]}] {
				least[l]++
			}
			from = max(from, least[l])
		}
	next:
		for r := from; r < rounds; r++ {
			for _, l := range route {
				if links[[2]int{l, r}] {
					continue next
				}
				for _, p := range n.ports[l] {
					if ports[[2]int{p, r}] >= n.list[p].capacity {
						continue next
					}
				}
			}
			at[i] = r
			for _, l := range route {
				links[[2]int{l, r}] = true
				for _, p := range n.ports[l] {
					ports[[2]int{p, r}]++
				}
			}
			continue sends
		}
		at[i], fit = rounds-1, false
	}
	return at, fit
}
