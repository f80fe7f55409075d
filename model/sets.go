package model

// Sets are disjoint sets of the numbers from 0 up to some number, which are joined over time (union-find:
// Tarjan, "Efficiency of a good but not linear set union algorithm", Journal of the ACM 22, 1975).
type Sets struct {
	parent []int32 // of a number: another one of its set, or itself at the root
}

// NewSets returns n sets of one number each.
func NewSets(n int) *Sets {
	s := &Sets{parent: make([]int32, n)}
	for i := range s.parent {
		s.parent[i] = int32(i)
	}
	return s
}

// root returns the number that stands for the set of x. It halves the path to it.
func (s *Sets) root(x int) int32 {
	i := int32(x)
	for s.parent[i] != i {
		s.parent[i] = s.parent[s.parent[i]]
		i = s.parent[i]
	}
	return i
}

// Join makes one set of the sets of x and y, and reports whether they were two. It takes O(log n) time
// on average over many calls.
func (s *Sets) Join(x, y int) bool {
	i, j := s.root(x), s.root(y)
	s.parent[i] = j
	return i != j
}

// Numbers returns the number of each member's set, and how many sets there are. Sets are numbered from
// 0 on in the order of their first members.
func (s *Sets) Numbers() (of []int, count int) {
	of, number := make([]int, len(s.parent)), make([]int, len(s.parent))
	for x := range of {
		r := s.root(x)
		if number[r] == 0 {
			count++
			number[r] = count
		}
		of[x] = number[r] - 1
	}
	return of, count
}
