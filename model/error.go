package model

import (
	"fmt"
	"strconv"
)

// Error is an error about one part of a value.
type Error struct {
	Place string // the part, in the words of the value's file: "problem.topology.links[3].src"
	Err   error  // what is wrong there, and what was wanted
}

// Error returns "place: what is wrong, want what".
func (e *Error) Error() string { return e.Place + ": " + e.Err.Error() }

// Unwrap returns what is wrong.
func (e *Error) Unwrap() error { return e.Err }

// wrong returns an error about one place of a value.
func wrong(place, format string, args ...any) error {
	return &Error{place, fmt.Errorf(format, args...)}
}

// Within returns err, which is about a value, as an error about the value whose part that
// one is; nil for nil.
func Within(part string, err error) error {
	if e, ok := err.(*Error); ok {
		return &Error{part + "." + e.Place, e.Err}
	}
	if err == nil {
		return nil
	}
	return &Error{part, err}
}

// Element names an element of a list: "links[3]".
func Element(list string, i int) string { return list + "[" + strconv.Itoa(i) + "]" }
