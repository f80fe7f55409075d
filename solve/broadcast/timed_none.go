//go:build !cgo

package broadcast

import (
	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve"
)

// timed is a search over the trees with times of a linear program, for which this build has no solver.
type timed struct{}

func newTimed(*model.Problem, solve.Options) *timed { return nil }

func (*timed) run(*solve.Budget) solve.Result { return solve.Result{} }
