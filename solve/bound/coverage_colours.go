package bound

import (
	"slices"

	"github.com/oraccl/oraccl/model"
)

// paint gives nodes colours, equal ones to nodes that look alike in a few steps' distance.
func (c *covering) paint() {
	c.colour = make([]uint64, c.t.Nodes())
	for v := range c.t.Nodes() {
		switch {
		case c.t.Reduces(v) != model.NoReducing:
			c.colour[v] = 5 + uint64(c.t.Reduces(v))
		case c.t.Copies(v):
			c.colour[v] = 2
		case !c.t.IsRank(v):
			c.colour[v] = 1
		default:
			c.colour[v] = mixed(3, uint64(c.p.ReleaseOf(v)))
		}
	}
	for _, r := range c.members {
		c.colour[r] = mixed(c.colour[r], 4)
	}
	if c.p.Collective.Kind.Rooted() {
		c.colour[c.p.Collective.Root] = mixed(c.colour[c.p.Collective.Root], 5)
	}
	for range 4 {
		c.colour = c.refined(c.colour)
	}
}

// refined returns colours that also tell the links of a node and the colours at their ends.
func (c *covering) refined(colour []uint64) []uint64 {
	next := slices.Clone(colour)
	for i := range c.t.Links {
		l := &c.t.Links[i]
		link := mixed(uint64(l.Alpha), uint64(l.Bandwidth))
		next[l.Src] += mixed(mixed(6, colour[l.Dst]), link) // a sum: in any order
		next[l.Dst] += mixed(mixed(7, colour[l.Src]), link)
	}
	for v := range next {
		next[v] = mixed(next[v], 8)
	}
	return next
}

// mixed returns a number that is another one for other arguments, as good as always.
func mixed(a, b uint64) uint64 {
	x := a*0x9e3779b97f4a7c15 + b
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// look returns a number that is the same for sets that are images of each other under a
// symmetry of the problem, and another one for others, as good as always.
func (c *covering) look(inside []bool) uint64 {
	colour := slices.Clone(c.colour)
	for v, in := range inside {
		if in {
			colour[v] = mixed(colour[v], 9)
		}
	}
	for range 3 {
		colour = c.refined(colour)
	}
	sum := uint64(0)
	for _, x := range colour {
		sum += mixed(x, 10)
	}
	return sum
}
