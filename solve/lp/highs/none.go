//go:build !cgo

package highs

import (
	"context"

	"github.com/oraccl/oraccl/solve/lp"
)

// Available returns ErrNotInBuild: this build was made without cgo.
func Available() error { return ErrNotInBuild }

// Version returns "not in this build".
func Version() string { return "not in this build" }

// Solve returns ErrNotInBuild.
func Solve(context.Context, *lp.Model, Options) (Result, error) { return Result{}, ErrNotInBuild }
