// Package random makes random numbers that depend on a seed alone, wherever it runs.
package random

import "math/bits"

// Stream is a splitmix64 generator (Steele, Lea and Flood, "Fast splittable
// pseudorandom number generators", OOPSLA 2014): eight bytes of state, so that every
// rank can have one of its own.
type Stream uint64

// Next returns a number.
func (s *Stream) Next() uint64 {
	*s += 0x9e3779b97f4a7c15
	z := uint64(*s)
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// Below returns a number from 0 to n-1. It requires n > 0.
func (s *Stream) Below(n int) int {
	hi, _ := bits.Mul64(s.Next(), uint64(n))
	return int(hi)
}

// New returns the stream with a number, of a seed.
func New(seed, number uint64) Stream {
	s := Stream(seed)
	s = Stream(s.Next() + number*0xd1342543de82ef95)
	return Stream(s.Next())
}
