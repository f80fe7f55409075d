package workload_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/machines"
	"github.com/oraccl/oraccl/model/topo"
	"github.com/oraccl/oraccl/solve/workload"
)

// on returns where a family's example runs, and what it is given.
func on(t *testing.T, example string) (workload.Target, map[string]string) {
	words := strings.Fields(example)
	net, err := topo.Parse(words[0], topo.Options{})
	require.NoError(t, err)
	given := map[string]string{}
	for i := 1; i+1 < len(words); i += 2 {
		given[strings.ReplaceAll(strings.TrimPrefix(words[i], "--"), "-", "_")] = words[i+1]
	}
	return workload.Target{Topology: net, Cost: model.Pipelined, Machines: machines.Ranks(net)}, given
}

// The example of each family makes a workload, and without any of what it needs none.
func TestFamilies(t *testing.T) {
	require.Len(t, workload.Families(), 4)
	for _, f := range workload.Families() {
		target, given := on(t, f.Example)
		text := func(name string) string { return given[name] }
		w, err := f.Make(text, target)
		require.NoError(t, err, f.Name)
		require.NotEmpty(t, w.Goal, f.Name)
		needed := 0
		for _, p := range f.Parameters {
			require.NotEmpty(t, p.Usage, p.Name)
			if !p.Needed() {
				continue
			}
			needed++
			_, err := f.Make(func(name string) string {
				if name == p.Name {
					return ""
				}
				return text(name)
			}, target)
			require.ErrorContains(t, err, "workload "+f.Name+": "+p.Name+": missing")
		}
		require.Positive(t, needed, f.Name)
	}
}

func TestFamiliesRefuse(t *testing.T) {
	for _, c := range []struct{ family, topology, given, want string }{
		{"hierarchical", "full:4", "size 102 per_node 2", "102 bytes in 4 chunks, want a multiple"},
		{"hierarchical", "full:4", "size 64 nodes 3 per_node 2", "3 machines of 2 ranks, want at most the 4 ranks"},
		{"hierarchical", "full:4", "size 64 nodes many", `nodes: "many", want a whole number from 1`},
		{"hierarchical", "full:4", "size 64parsecs per_node 2", "size: size \"64parsecs\""},
		{"hitopk", "full:4", "elements 64 keep 3 pieces 5 per_node 2", "pairs of 24 bytes in 5 pieces, want a multiple"},
		{"summa", "full:4", "side 3 x 1 w 1 y 1", "a grid of 3 by 3 by 1 on 4 ranks"},
		{"summa", "full:4", "side 2 x 1 w 1 y 1 inside out", `inside: "out", want one of rows, columns, depths`},
		{"summa", "full:4", "side 2 x 1 w 1 y 1 multiply soon", "multiply: time"},
		{"adasum", "full:6", "size 6", "6 bytes on 6 ranks, want a power of two"},
		{"adasum", "full:4", "size 64 members 8", "8 members on 4 ranks, want at most as many"},
	} {
		target, _ := on(t, c.topology)
		words := strings.Fields(c.given)
		f, err := workload.FamilyNamed(c.family)
		require.NoError(t, err)
		_, err = f.Make(func(name string) string {
			for i := 0; i < len(words); i += 2 {
				if words[i] == name {
					return words[i+1]
				}
			}
			return ""
		}, target)
		require.ErrorContains(t, err, c.want, "%s %s", c.family, c.given)
	}
	_, err := workload.FamilyNamed("ring")
	require.ErrorContains(t, err, "want one of hierarchical, hitopk, summa, adasum")
}
