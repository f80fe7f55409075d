package main

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model"
)

// TestGreedyServes: what the flags of a problem can say, the greedy method serves, for every
// collective under both cost models with times, proved by both engines and no better than
// the bound: links that fail, a rank that does, ranks that are late, several chunks a rank,
// groups, links of different speeds, switches with ports and without.
func TestGreedyServes(t *testing.T) {
	for _, in := range []struct {
		topology string
		instance
	}{
		{"dgx1", instance{fail: []string{"link:0-3"}}},
		{"dgx1", instance{fail: []string{"rank:7"}, chunks: 2}},
		{"dgx1", instance{delay: "3=40us,5=0.4ms"}},
		{"mesh:3x3", instance{fail: []string{"link:4-5", "rank:0"}, bandwidth: "50GiB/s,75GiB/s", delay: "2=3us"}},
		{"mesh:2x3", instance{bandwidth: "80GiB/s,35GiB/s", alpha: "500ns,2us", chunks: 3}},
		{"uniring:5", instance{delay: "0=1ms", chunks: 2}},
		{"switch:6", instance{fail: []string{"rank:2"}, straggler: 1, delay: "20us"}},
		{"fattree:2x3x2", instance{fail: []string{"link:6-8"}, chunks: 2}},
		{"dgx2", instance{group: "0-3,8", straggler: 8, delay: "5us"}},
		{"ndv2:2", instance{group: "1,3,8-10", fail: []string{"rank:5"}}},
		{"dragonfly:2x2x2", instance{delay: "1=7us,6=1us"}},
	} {
		for _, kind := range model.Kinds() {
			for _, cost := range []string{"blocking", "pipelined"} {
				asked := in.instance
				asked.collective, asked.cost, asked.objective, asked.size = kind.String(), cost, "makespan", "777KB"
				if asked.straggler == 0 {
					asked.straggler = -1
				}
				p, err := asked.problem(t.Context(), in.topology)
				where := fmt.Sprintf("%v %s on %s with %+v", kind, cost, in.topology, asked)
				require.NoError(t, err, where)
				if p.Chunks == nil {
					p = p.WithChunks(p.DefaultChunks(1))
				}
				_, err = greedily(p, 1)
				require.NoError(t, err, where)
			}
		}
	}
}
