//go:build !cgo

package z3

import (
	"context"

	"github.com/oraccl/oraccl/verify/smt"
)

// Backend decides nothing: this build was made without cgo.
type Backend struct{}

// New returns the backend.
func New() Backend { return Backend{} }

// Version returns "not in this build".
func Version() string { return "not in this build" }

// Name returns "z3 (not in this build)".
func (Backend) Name() string { return "z3 (not in this build)" }

// Solve leaves the question undecided.
func (Backend) Solve(context.Context, smt.Question) (smt.Answer, error) {
	return smt.Answer{Reason: "Z3 is not in this build, which was made without cgo; make build makes one that has it"}, nil
}
