package sccl

// Within a step of several rounds the file does not say which send is in which round.
// Any assignment that the links can carry means the same, as long as nothing is read in
// a later round than it is overwritten in.

// spread gives each of the sends of a step, whose routes are given, a round from 0 to
// rounds-1 such that no link carries two in one, if it can; what it cannot place it puts
// into the last round. Routes of one link are spread exactly; for those of two, over a
// switch, this is the colouring of a bipartite multigraph, which exists whenever no link
// has more sends than rounds (König), and is found by exchanging colours along paths. With
// longer routes it may miss an assignment that exists; then exact is false.
func spread(routes [][]int, rounds int) (at []int, exact bool) {
	at = make([]int, len(routes))
	exact = true
	for _, route := range routes {
		exact = exact && len(route) <= 2
	}
	used := map[int]map[int]int{} // link, round: the send there
	free := func(link int) int {
		for r := range rounds {
			if _, taken := used[link][r]; !taken {
				return r
			}
		}
		return -1
	}
	put := func(i, round int) {
		at[i] = round
		for _, l := range routes[i] {
			if used[l] == nil {
				used[l] = map[int]int{}
			}
			used[l][round] = i
		}
	}
	for i, route := range routes {
		first, last := free(route[0]), free(route[len(route)-1])
		switch {
		case first < 0 || last < 0:
			at[i] = rounds - 1
			continue
		case exact && len(route) == 2 && first != last:
			if _, taken := used[route[1]][first]; taken {
				exchange(routes, at, used, route[1], first, last)
			}
		case !exact && len(route) > 1:
			first = freeOnAll(route, used, rounds)
		}
		put(i, first)
	}
	return at, exact
}

// exchange frees round a on a link by swapping rounds a and b along the path of sends that
// have one of them, beginning with that link. b is free there.
func exchange(routes [][]int, at []int, used map[int]map[int]int, link, a, b int) {
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
	}
}

// freeOnAll returns the first round in which every link of a longer route is free, or the last.
func freeOnAll(route []int, used map[int]map[int]int, rounds int) int {
	for r := range rounds {
		ok := true
		for _, l := range route {
			if _, taken := used[l][r]; taken {
				ok = false
			}
		}
		if ok {
			return r
		}
	}
	return rounds - 1
}
