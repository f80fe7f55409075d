package convert

import (
	"bytes"
	"context"
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/format/export"
	"github.com/oraccl/oraccl/model/topo"
	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/solve/certify"
	"github.com/oraccl/oraccl/verify"
	"github.com/oraccl/oraccl/verify/replay"
)

// TestConvertMethods: what our methods make is converted to every format, and an order made
// of its times gets times again.
func TestConvertMethods(t *testing.T) {
	for _, test := range []struct {
		topology, method string
		kind             model.Kind
		cost             model.CostModel
	}{
		{"dgx1", "tacos", model.AllReduce, model.Pipelined},
		{"dgx2", "ring", model.AllGather, model.Pipelined},
		{"torus:3x3", "tacos", model.ReduceScatter, model.Blocking},
		{"ring:4", "exact", model.AllGather, model.Pipelined},
		{"switch:8", "double-binary-tree", model.AllReduce, model.Pipelined},
	} {
		topology, err := topo.Parse(test.topology, topo.Options{})
		require.NoError(t, err)
		p := &model.Problem{Topology: topology, Collective: model.Collective{Kind: test.kind}, Size: 1 << 20, Cost: test.cost}
		list, err := certify.MethodsListed(test.method)
		require.NoError(t, err)
		r, err := list[0].Solve(context.Background(), p, solve.Options{Seed: 1, TimeLimit: 5 * time.Second})
		require.NoError(t, err)
		require.Equal(t, verify.Proved, replay.Check(context.Background(), r.Problem, r.Schedule).Outcome)
		require.NoError(t, export.Chrome(io.Discard, r.Problem, r.Schedule))
		require.NoError(t, export.GOAL(io.Discard, r.Problem, r.Schedule, export.GOALOptions{}))
		files := 0
		require.NoError(t, export.Chakra(r.Problem, r.Schedule, func(int) (io.WriteCloser, error) {
			files++
			return closing{&bytes.Buffer{}}, nil
		}))
		require.Equal(t, topology.Ranks, files)

		ordered := inOrder(r.Schedule)
		require.Equal(t, verify.Proved, replay.Check(context.Background(), r.Problem, ordered).Outcome)
		s, err := certify.Timed(context.Background(), r.Problem, ordered, nil)
		require.NoError(t, err)
		require.Equal(t, verify.Proved, replay.Check(context.Background(), r.Problem, s).Outcome)
	}
}

type closing struct{ io.Writer }

func (closing) Close() error { return nil }

// inOrder takes the times of a schedule away: a transfer waits for all that had ended.
func inOrder(s *model.Schedule) *model.Schedule {
	o := &model.Schedule{Form: model.Ordered, Routes: s.Routes, After: make([][]int32, len(s.Transfers))}
	for i, x := range s.Transfers {
		for j, y := range s.Transfers {
			if y.End <= x.Start && (x.Chunk == y.Chunk) {
				o.After[i] = append(o.After[i], int32(j))
			}
		}
		x.Start, x.End = 0, 0
		o.Transfers = append(o.Transfers, x)
	}
	return o
}
