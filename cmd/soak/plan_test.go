package main

import (
	"fmt"

	"testing"

	"github.com/oraccl/oraccl/verify"
	"github.com/oraccl/oraccl/verify/verifytest/plans"
)

// TestSoakPlans sets verify/plan against an exploration of all orders of threads, on small plans
// that come of right ones by random changes.
func TestSoakPlans(t *testing.T) {
	often := map[string]float64{"decided": 0.4, "right": 0.05}
	soak(t, 200, often, func(c *trial) error {
		p := plans.Draw(c.Rand)
		decided, right, differs := plans.Compare(t.Context(), p, 8_000)
		if differs != "" {
			return fmt.Errorf("%s\n%s", differs, verify.Example{Plan: p}.Text())
		}
		if decided {
			c.count("decided")
		}
		if right {
			c.count("right")
		}
		return nil
	})
}
