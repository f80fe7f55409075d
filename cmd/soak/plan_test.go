package main

import (
	"fmt"
	"testing"

	"github.com/oraccl/oraccl/verify"
	"github.com/oraccl/oraccl/verify/verifytest/plans"
)

// TestSoakPlans sets verify/plan against an exploration of all orders of threads, on small plans
// that come of right ones by random changes, for one launch and for two.
func TestSoakPlans(t *testing.T) {
	often := map[string]float64{"decided": 0.4, "right": 0.05, "two launches": 0.02, "wrong in the next launch": 0.002}
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
			twice, wrong, differs := plans.CompareLaunches(t.Context(), p, 40_000)
			if differs != "" {
				return fmt.Errorf("%s\n%s", differs, verify.Example{Plan: p}.Text())
			}
			if twice {
				c.count("two launches")
			}
			if wrong {
				c.count("wrong in the next launch")
			}
		}
		return nil
	})
}
