package model

// Parts numbers the sets of nodes that hang together by some of the links, in either direction: it returns
// the number of each node's, from 0 on in the order of their first nodes. It takes O((nodes + links) log nodes)
// time.
func (t *Topology) Parts(with func(l *Link) bool) []int {
	root := make([]int, t.Nodes())
	for v := range root {
		root[v] = v
	}
	find := func(v int) int {
		for root[v] != v {
			root[v] = root[root[v]]
			v = root[v]
		}
		return v
	}
	for i := range t.Links {
		if l := &t.Links[i]; with(l) {
			u, v := find(l.Src), find(l.Dst)
			root[max(u, v)] = min(u, v)
		}
	}
	parts, count := make([]int, len(root)), 0
	for v := range root {
		if first := find(v); first < v {
			parts[v] = parts[first]
		} else {
			parts[v] = count
			count++
		}
	}
	return parts
}
