package main

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/topo"
	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/solve/certify"
)

// TestStoppedIsInWhatIsKept: what is printed of a verb that does not end by itself names the
// reason in JSON and in text, as if it had.
func TestStoppedIsInWhatIsKept(t *testing.T) {
	network, err := topo.Parse("ring:4", topo.Options{})
	require.NoError(t, err)
	ev := &certify.Report{Problem: &model.Problem{Topology: network, Collective: model.Collective{Kind: model.AllGather}, Size: 1 << 20, Cost: model.Pipelined}}
	for why, key := range map[solve.Stop]string{solve.Interrupted: "interrupted", solve.TimeLimit: "time limit"} {
		var out bytes.Buffer
		require.NoError(t, keepSolved(ev.EndedFor(why), &out, true, ""))
		var j struct{ Stopped string }
		require.NoError(t, json.Unmarshal(out.Bytes(), &j))
		require.Equal(t, key, j.Stopped)
		out.Reset()
		require.NoError(t, keepSolved(ev.EndedFor(why), &out, false, ""))
		require.Contains(t, out.String(), "Stopped early: ")
		require.Equal(t, why, ev.EndedFor(why).EndedFor(solve.Interrupted).Stopped, "an earlier reason stays")
	}
	require.Zero(t, ev.Stopped, "the evaluation goes on with it")
}
