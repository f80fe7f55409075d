package certify

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/instance"
)

// TestGreedyServes: what the flags of a problem can say, the greedy method serves, for every
// collective under both cost models with times, proved by both engines and no better than
// the bound: links that fail, a rank that does, ranks that are late, several chunks per rank,
// groups, links of different speeds, switches with ports and without.
func TestGreedyServes(t *testing.T) {
	if testing.Short() {
		t.Skip("left out with -short: it takes long")
	}
	for _, in := range []struct {
		topology string
		instance.Flags
	}{
		{"dgx1", instance.Flags{Fail: []string{"link:0-3"}}},
		{"dgx1", instance.Flags{Fail: []string{"rank:7"}, Chunks: 2}},
		{"dgx1", instance.Flags{Delay: "3=40us,5=0.4ms"}},
		{"mesh:3x3", instance.Flags{Fail: []string{"link:4-5", "rank:0"}, Bandwidth: "50GiB/s,75GiB/s", Delay: "2=3us"}},
		{"mesh:2x3", instance.Flags{Bandwidth: "80GiB/s,35GiB/s", Alpha: "500ns,2us", Chunks: 3}},
		{"uniring:5", instance.Flags{Delay: "0=1ms", Chunks: 2}},
		{"switch:6", instance.Flags{Fail: []string{"rank:2"}, Straggler: 1, Delay: "20us"}},
		{"fattree:2x3x2", instance.Flags{Fail: []string{"link:6-8"}, Chunks: 2}},
		{"dgx2", instance.Flags{Group: "0-3,8", Straggler: 8, Delay: "5us"}},
		{"ndv2:2", instance.Flags{Group: "1,3,8-10", Fail: []string{"rank:5"}}},
		{"dragonfly:2x2x2", instance.Flags{Delay: "1=7us,6=1us"}},
	} {
		for _, kind := range model.Kinds() {
			for _, cost := range []string{"blocking", "pipelined"} {
				asked := in.Flags
				asked.Collective, asked.Cost, asked.Objective, asked.Size = kind.String(), cost, "makespan", "777KB"
				if asked.Straggler == 0 {
					asked.Straggler = -1
				}
				p, err := asked.Problem(noFiles{}, in.topology)
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

// noFiles has no files for flags to name.
type noFiles struct{ instance.Files }

func (noFiles) Exists(string) bool { return false }

func (noFiles) Topology(name, _, _ string) (*model.Topology, error) {
	return nil, fmt.Errorf("%s: no such file", name)
}

func (noFiles) Collective(name string) (*model.Collective, error) {
	return nil, fmt.Errorf("%s: no such file", name)
}
