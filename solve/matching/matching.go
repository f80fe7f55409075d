// Package matching finds a matching of maximum weight in a general graph: Edmonds's
// blossom algorithm ("Maximum matching and a polyhedron with 0,1-vertices", 1965) in
// the form with dual variables that Galil describes ("Efficient algorithms for finding
// maximum matching in graphs", ACM Computing Surveys 18, 1986).
//
// The primal is a matching, the dual a price for every vertex and for every blossom, a
// set of an odd number of vertices. An edge is tight if the prices of what it touches
// and lies in add up to its weight. Alternating trees of tight edges grow from all free
// vertices at once; an odd cycle shrinks into a blossom; where a tree meets another
// one, the matching grows; where nothing is tight, the prices change until something
// is. When the price of the free vertices is zero no matching is heavier.
package matching

import (
	"fmt"
	"math"
)

// Edge is an edge between two different vertices.
type Edge struct {
	U, V   int
	Weight int64 // more than zero
}

// maxVertices limits the memory: some 100 bytes for a pair of vertices.
const maxVertices = 2048

// Max returns a matching of maximum weight among n vertices, numbered from 0: for each
// vertex the other end of its edge, -1 for none. Of parallel edges the heaviest counts.
// With cardinality it has maximum weight among those with most edges. An error names
// the edge that is not one, or that there are too many vertices. It is deterministic, and
// takes O(n³) time and O(n²) memory.
func Max(n int, edges []Edge, cardinality bool) ([]int, error) {
	s, err := prepare(n, edges, cardinality)
	if err != nil {
		return nil, err
	}
	for s.phase() {
	}
	mate := make([]int, n)
	for v := range mate {
		mate[v] = s.match[v+1] - 1
	}
	return mate, nil
}

// prepare returns the search at its beginning: no edge is matched, all vertices have
// half the largest weight as their price.
func prepare(n int, edges []Edge, cardinality bool) (*search, error) {
	if n < 0 || n > maxVertices {
		return nil, fmt.Errorf("%d vertices, want 0 to %d", n, maxVertices)
	}
	heaviest := int64(0)
	for i, e := range edges {
		switch {
		case min(e.U, e.V) < 0 || max(e.U, e.V) >= n || e.U == e.V:
			return nil, fmt.Errorf("edge %d: between %d and %d, want two vertices of 0 to %d", i, e.U, e.V, n-1)
		case e.Weight <= 0 || e.Weight > math.MaxInt64/int64(8*(n+2)):
			return nil, fmt.Errorf("edge %d: weight %d, want 1 to %d", i, e.Weight, math.MaxInt64/int64(8*(n+2)))
		}
		heaviest = max(heaviest, e.Weight)
	}
	extra := int64(0)
	if cardinality { // then one edge more outweighs all that the others can lose
		extra = heaviest * int64(n/2+1)
	}
	s := newSearch(n)
	for _, e := range edges {
		u, v, w := e.U+1, e.V+1, e.Weight+extra
		if w > s.at(u, v).w {
			*s.at(u, v), *s.at(v, u) = link{u, v, w}, link{v, u, w}
		}
	}
	for v := 1; v <= n; v++ {
		s.price[v] = heaviest + extra
	}
	return s, nil
}
