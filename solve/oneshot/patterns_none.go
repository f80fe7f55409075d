//go:build !cgo

package oneshot

import "github.com/oraccl/oraccl/model"

// patterns are none: this build has no solver for linear programs.
type patterns struct{ exhausted bool }

func (*search) patterned([]*plan, *mixer, model.Time) bool { return false }

func (*patterns) more() {}

func (*patterns) mixing(int) *mixing { return nil }

func (*search) wholePlans() []*plan { return nil }

func wasGrouped(*model.Problem) bool { return false }

type offer struct{}

// balanced is not called where there are no patterns.
func (*search) balanced([]*plan, []int) ([]*course, []int) { return nil, nil }
