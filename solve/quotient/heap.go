package quotient

// heap is a binary heap of values, the one that is before all others first. It is that of
// package container/heap without the allocation of an interface for each value.
type heap[T interface{ Before(T) bool }] []T

func (h *heap[T]) push(x T) {
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

func (h *heap[T]) pop() T {
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
