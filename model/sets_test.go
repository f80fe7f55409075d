package model_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model"
)

func ExampleSets() {
	s := model.NewSets(5)
	fmt.Println(s.Join(3, 1), s.Join(4, 3), s.Join(1, 4))
	fmt.Println(s.Numbers())
	// Output:
	// true true false
	// [0 1 2 1 1] 3
}

// TestSets: after random joins two numbers are in one set if and only if joins connect them, and sets
// are numbered in the order of their first members.
func TestSets(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 3))
		n := 1 + r.IntN(12)
		s, label := model.NewSets(n), make([]int, n) // label: the least of the set
		for i := range label {
			label[i] = i
		}
		for range r.IntN(n) {
			x, y := r.IntN(n), r.IntN(n)
			a, b := label[x], label[y]
			require.Equal(t, a != b, s.Join(x, y), "seed %d", seed)
			for i := range label {
				if label[i] == max(a, b) {
					label[i] = min(a, b)
				}
			}
		}
		of, count := s.Numbers()
		seen := 0
		for i := range label {
			if label[i] == i {
				require.Equal(t, seen, of[i], "seed %d", seed)
				seen++
			}
			require.Equal(t, of[label[i]], of[i], "seed %d", seed)
		}
		require.Equal(t, seen, count, "seed %d", seed)
	}
}
