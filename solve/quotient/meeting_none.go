//go:build !cgo

package quotient

// meet needs a solver.
func (s *search) meet() {}
