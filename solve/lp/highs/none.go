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

// PrintToStderr does nothing.
func PrintToStderr() {}

// Solve returns ErrNotInBuild.
func Solve(context.Context, *lp.Model, Options) (Result, error) { return Result{}, ErrNotInBuild }

// Growing is a linear program that grows; this build has none.
type Growing struct{}

// NewGrowing returns ErrNotInBuild.
func NewGrowing([]float64) (*Growing, error) { return nil, ErrNotInBuild }

// Add returns ErrNotInBuild.
func (*Growing) Add(float64, []int32, []float64) error { return ErrNotInBuild }

// AddRow returns ErrNotInBuild.
func (*Growing) AddRow(float64, []int32, []float64) error { return ErrNotInBuild }

// SetRoom returns ErrNotInBuild.
func (*Growing) SetRoom(int, float64) error { return ErrNotInBuild }

// SetMost returns ErrNotInBuild.
func (*Growing) SetMost(int, float64) error { return ErrNotInBuild }

// Maximise returns ErrNotInBuild.
func (*Growing) Maximise(context.Context) (Result, error) { return Result{}, ErrNotInBuild }

// Close does nothing.
func (*Growing) Close() {}
