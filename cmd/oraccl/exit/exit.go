// Package exit states how a run of a command ends: with a status, an error for want of time,
// or an error with a way out.
package exit

import (
	"fmt"
	"slices"

	"github.com/oraccl/oraccl/verify"
)

// The exit statuses.
const (
	Done    = 0 // the claim holds, or the work is done
	Refuted = 1 // the claim is refuted
	Failure = 2 // bad usage, bad input, or a failure
	Unknown = 3 // a limit was reached, and the answer is unknown
)

// Status is an error that carries an exit status and nothing to print: the verb has printed
// what there was to print.
type Status int

func (s Status) Error() string { return fmt.Sprintf("exit status %d", int(s)) }

// Of returns the exit status of an outcome.
func Of(o verify.Outcome) int {
	switch o {
	case verify.Proved:
		return Done
	case verify.Refuted:
		return Refuted
	}
	return Unknown
}

// Worse returns the exit status that tells more: failure over refuted over unknown.
func Worse(a, b int) int {
	order := []int{Done, Unknown, Refuted, Failure}
	return order[max(slices.Index(order, a), slices.Index(order, b))]
}

// LimitReached is an error for want of time: its exit status is Unknown.
type LimitReached struct{ error }

// Early returns err as an error for want of time, whose exit status is Unknown.
func Early(err error) error { return LimitReached{err} }

func (e LimitReached) Unwrap() error { return e.error }

// Hinted is an error with a way out.
type Hinted struct {
	error
	Hint string
}

// Hint returns err with a way out, such as a command that would work.
func Hint(err error, way string) error { return Hinted{err, way} }

func (h Hinted) Unwrap() error { return h.error }
