//go:build !cgo

package oneshot

import "github.com/oraccl/oraccl/model"

// program is nothing here.
type program struct{}

// mix finds nothing: this build has no solver for linear programs.
func (*mixer) mix(model.Time) ([]float64, float64) { return nil, 0 }
