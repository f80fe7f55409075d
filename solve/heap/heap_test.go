package heap

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

type number int

func (a number) Before(b number) bool { return a < b }

// TestHeap: whatever is pushed and popped between, each pop returns the least value that is left.
func TestHeap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var h Heap[number]
		var left []number
		for _, x := range rapid.SliceOf(rapid.IntRange(-5, 20)).Draw(t, "pushed, or popped if below 0") {
			if x >= 0 {
				h.Push(number(x))
				left = append(left, number(x))
				slices.Sort(left)
			} else if len(left) > 0 {
				require.Equal(t, left[0], h.Pop())
				left = left[1:]
			}
			require.Len(t, h, len(left))
		}
		for _, x := range left {
			require.Equal(t, x, h.Pop())
		}
		require.Empty(t, h)
	})
}
