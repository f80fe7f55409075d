// Package heap implements a binary heap of values. It is that of package container/heap
// without the allocation of an interface for each value, and with an order that is the
// value's own.
package heap

// Heap is a binary heap of values whose order is total: the one that is before all others
// comes first. The zero value is an empty heap.
type Heap[T interface{ Before(T) bool }] []T

// Push adds a value in O(log n).
func (h *Heap[T]) Push(x T) {
	a := append(*h, x)
	i := len(a) - 1
	for i > 0 {
		p := (i - 1) / 2
		if !x.Before(a[p]) {
			break
		}
		a[i] = a[p]
		i = p
	}
	a[i] = x
	*h = a
}

// Pop removes the first value and returns it, in O(log n). The heap must not be empty.
func (h *Heap[T]) Pop() T {
	a := *h
	first, x := a[0], a[len(a)-1]
	a = a[:len(a)-1]
	*h = a
	if len(a) == 0 {
		return first
	}
	i := 0
	for {
		c := 2*i + 1
		if c >= len(a) {
			break
		}
		if c+1 < len(a) && a[c+1].Before(a[c]) {
			c++
		}
		if !a[c].Before(x) {
			break
		}
		a[i] = a[c]
		i = c
	}
	a[i] = x
	return first
}
