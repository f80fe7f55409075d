package main

import (
	"fmt"
	"testing"

	"github.com/oraccl/oraccl/verify"
	"github.com/oraccl/oraccl/verify/smt/operations"
	"github.com/oraccl/oraccl/verify/smt/z3"
	drawn "github.com/oraccl/oraccl/verify/verifytest/operations"
	"github.com/oraccl/oraccl/verify/workload"
)

// elsewhere are the violations that an execution at the times of the schedule does not show.
var elsewhere = map[verify.Code]bool{verify.ReadWriteRace: true, verify.WriteWriteRace: true, verify.Deadlock: true}

// TestSoakWorkloads sets the three engines of workloads against an execution picosecond by picosecond,
// on small workloads that are right or have up to two changes. What they prove, it finds
// right, and so it is at other times that keep the edges; what they refute for something that times
// show, it finds wrong; and each engine decides, as the others do. A third have a period, of which as many are
// executed as reach into each other, and one more.
func TestSoakWorkloads(t *testing.T) {
	soak(t, 400, map[string]float64{"proved": 0.05, "refuted": 0.3, "race": 0.02, "retimed": 0.05, "periodic, proved": 0.01, "periodic, refuted": 0.05}, func(c *trial) error {
		s := drawn.Draw(c.Rand)
		if c.IntN(3) == 0 {
			drawn.Repeat(c.Rand, s)
		}
		for range c.IntN(3) {
			drawn.Mutate(c.Rand, s)
		}
		if s.Validate() != nil {
			c.count("invalid")
			return nil
		}
		_, each, err := workload.Check(t.Context(), s)
		if err != nil {
			return fmt.Errorf("%w: %+v", err, each)
		}
		each = append(each, operations.Check(t.Context(), s, z3.New(), 0))
		v, err := verify.Combine(each...)
		if err != nil {
			return fmt.Errorf("%w: %+v", err, each)
		}
		seed := c.Uint64()
		all := s
		if s.Period > 0 {
			all = drawn.Unroll(s, int(s.Makespan()/s.Period)+2)
			c.count("periodic, " + v.Outcome.String())
		}
		wrong := drawn.Execute(all, seed)
		timely := false
		for _, x := range v.Violations {
			timely = timely || !elsewhere[x.Code]
			if x.Code == verify.ReadWriteRace || x.Code == verify.WriteWriteRace {
				c.count("race")
			}
		}
		c.count(v.Outcome.String())
		switch {
		case v.Outcome == verify.Proved && wrong != "":
			return fmt.Errorf("proved, and wrong: %s", wrong)
		case v.Outcome == verify.Refuted && wrong == "" && timely:
			return fmt.Errorf("refuted, and right: %+v", v.Violations)
		case v.Outcome == verify.Unknown:
			return fmt.Errorf("undecided: %s", v.Reason)
		case v.Outcome == verify.Proved && s.Period == 0:
			for range 3 {
				if wrong := drawn.Retime(s, c.Rand, seed); wrong != "" {
					return fmt.Errorf("proved, and wrong at other times: %s", wrong)
				}
			}
			if len(s.Workload.Goal) > 0 && len(s.Workload.Ops) > 1 {
				c.count("retimed")
			}
		}
		return nil
	})
}
