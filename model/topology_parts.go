package model

// Parts numbers the sets of nodes that hang together by some of the links, in either direction: it returns
// the number of each node's, from 0 on in the order of their first nodes. It takes O((nodes + links) log nodes)
// time.
func (t *Topology) Parts(with func(l *Link) bool) []int {
	joined := NewSets(t.Nodes())
	for i := range t.Links {
		if l := &t.Links[i]; with(l) {
			joined.Join(l.Src, l.Dst)
		}
	}
	parts, _ := joined.Numbers()
	return parts
}
