package native_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/native"
	"github.com/oraccl/oraccl/model/workload"
)

// everyKey has every key of a workload.
const everyKey = `{
  "schema": "oraccl/workload/1",
  "topology": {"name": "pair", "ranks": 2, "links": [
    {"src": 0, "dst": 1, "alpha_ps": 5, "bandwidth_bytes_per_s": 1000000000000},
    {"src": 1, "dst": 0, "alpha_ps": 5, "bandwidth_bytes_per_s": 1000000000000}]},
  "cost": "pipelined",
  "operators": {"adasum": {"associative": false, "commutative": true, "elementwise": false, "tree": "balanced-lsb"}},
  "groups": {"all": [0, 1], "back": [1, 0]},
  "release_ps": [0, 7],
  "memory_bytes": [100, 100],
  "jobs": [{"name": "A", "iterations": 2, "resident_bytes": 10}],
  "ops": [
    {"id": "C", "kind": "compute", "job": "A", "group": "all", "duration_ps": [10, 12], "memory_bytes": 6, "function": "step",
     "reads": [{"buffer": "g", "offset_bytes": 8, "size_bytes": 8}], "writes": [{"buffer": "g", "size_bytes": 8, "until_ps": 4}]},
    {"id": "M", "kind": "allreduce", "job": "A", "group": "all", "size_bytes": 16, "chunks": 2, "buffer": {"buffer": "g"},
     "after": [{"op": "C", "offset_ps": 4, "scope": "rank"}], "schedule": "free"},
    {"id": "S", "kind": "sendrecv", "group": "back", "size_bytes": 8, "chunks": [[0, 3], [3, 5]], "buffer": {"buffer": "x"}, "into": {"buffer": "y", "offset_bytes": 8},
     "release_ps": {"1": 9}, "schedule": {"transfers": [
       {"chunk": 0, "src": 1, "dst": 0, "links": [1], "op": "copy", "start_ps": 0, "end_ps": 8},
       {"chunk": 1, "src": 1, "dst": 0, "links": [1], "op": "copy", "start_ps": 8, "end_ps": 18}]}},
    {"id": "B", "kind": "barrier"}, {"id": "D", "kind": "compute", "duration_ps": 3},
    {"id": "X", "kind": "custom", "size_bytes": 4, "custom": {"kind": "custom", "chunks": 1,
      "pre": [{"rank": 0, "chunk": 0, "contributions": [0]}], "post": [{"rank": 1, "chunk": 0, "contributions": [0]}]}}
  ],
  "edges": [{"from": "M", "to": "C", "scope": "all", "height": 1}, {"from": "B", "to": "D"}],
  "goal": [{"buffer": "y", "offset_bytes": 8, "size_bytes": 8, "group": "all", "value": {"operator": "sum", "over": "all", "of": [
    {"function": "f", "at_bytes": 4, "of": [{"input": {"buffer": "x"}, "rank": 1}], "size_bytes": [8]}]}}]
}`

func readWorkload(s string) (*workload.Workload, error) {
	return native.ReadWorkload("w.json", strings.NewReader(s), nil)
}

// What is written is what was read, and what is read again is written alike.
func TestWorkloadComesBack(t *testing.T) {
	w, err := readWorkload(everyKey)
	require.NoError(t, err)
	var b, c bytes.Buffer
	require.NoError(t, native.WriteWorkload(&b, w))
	if os.Getenv("UPDATE") != "" {
		require.NoError(t, os.WriteFile("testdata/workload-every-key.json", b.Bytes(), 0o644))
	}
	again, err := native.ReadWorkload("again.json", bytes.NewReader(b.Bytes()), nil)
	require.NoError(t, err, b.String())
	require.Equal(t, w, again)
	require.NoError(t, native.WriteWorkload(&c, again))
	require.Equal(t, b.String(), c.String())
	for _, key := range []string{`"until_ps": 4`, `"height": 1`, `"scope": "all"`, `"offset_ps": 4`, `"tree": "balanced-lsb"`, `"resident_bytes": 10`, `"at_bytes": 4`, `[3, 5]`, `"release_ps": {"1": 9}`, `"custom": {`} {
		require.Contains(t, b.String(), key)
	}
}

// Each change of the workload above is refused, with its place and what was expected.
func TestWorkloadRefused(t *testing.T) {
	for _, c := range []struct{ old, with, want string }{
		{`"cost": "pipelined"`, `"cost": "rounds"`, `cost: rounds, want blocking or pipelined`},
		{`"release_ps": [0, 7]`, `"release_ps": [0]`, `release_ps: 1 times, want one for each of 2 ranks`},
		{`"memory_bytes": [100, 100]`, `"memory_bytes": []`, `memory_bytes: 0 sizes`},
		{`"tree": "balanced-lsb"`, `"tree": "bush"`, `operators[0]: tree "bush", want same, balanced-lsb or chain`},
		{`, "tree": "balanced-lsb"`, ``, `operators[0]: adasum is not associative, or not elementwise, and has no tree`},
		{`"adasum": {`, `"sum": {`, `sum is built in`},
		{`"back": [1, 0]`, `"back": [1, 1]`, `groups[1][1]: rank 1 is named twice`},
		{`"back": [1, 0]`, `"back": [1, 2]`, `groups[1][1]: rank 2 does not exist, want 0 to 1`},
		{`"back": [1, 0]`, `"back": []`, `groups[1]: empty`},
		{`"back": [1, 0]`, `"back": [1]`, `ops[2].group: 1 ranks, want two for a sendrecv`},
		{`"iterations": 2`, `"iterations": 0`, `0 is out of range, want 1 to 65536`},
		{`"id": "M", "kind": "allreduce"`, `"id": "M", "kind": "allsum"`, `ops[1].kind: "allsum", want a collective, sendrecv, compute or barrier`},
		{`"id": "X"`, `"id": "B"`, `ops[5]: operation "B" is there twice`},
		{`"group": "all", "size_bytes"`, `"group": "none", "size_bytes"`, `ops[1]: group "none" does not exist`},
		{`"contributions": [0]}], "post"`, `"contributions": [1]}], "post"`, `custom.pre[0]: rank 0 begins with something else than its own`},
		{`"kind": "allreduce", "job": "A"`, `"kind": "allreduce", "job": "Z"`, `ops[1]: job "Z" does not exist`},
		{`"chunks": 2`, `"chunks": 17`, `ops[1].chunks: 17 chunks of 16 bytes`},
		{`[3, 5]`, `[4, 4]`, `ops[2].chunks[1]: offset 4, want 3`},
		{`"duration_ps": [10, 12]`, `"duration_ps": [10, 12, 13]`, `ops[0].duration_ps: 3 times`},
		{`"until_ps": 4`, `"until_ps": 11`, `until 11 ps, want 0 to the shortest duration, 10`},
		{`"offset_ps": 4`, `"offset_ps": 11`, `offset 11 ps, want 0 to the shortest duration of C, 10`},
		{`"after": [{"op": "C"`, `"after": [{"op": "E"`, `ops[1].after[0]: operation "E" does not exist`},
		{`"scope": "all", "height": 1`, `"scope": "all", "height": 0`, `edges: C -> M -> C: each waits for the one before in the same iteration`},
		{`"scope": "all", "height": 1`, `"scope": "chunk", "height": 1`, `scope chunk from M to C, want two collectives`},
		{`{"from": "B", "to": "D"}`, `{"from": "B", "to": "D", "height": 1}, {"from": "B", "to": "C"}`, `of jobs with iterations of their own`},
		{`{"from": "B", "to": "D"}`, `{"from": "B", "to": "D", "offset_ps": 0}`, `an offset from the start of B, want one of a computation only`},
		{`"release_ps": {"1": 9}`, `"release_ps": {"01": 9}`, `rank "01", want a whole number`},
		{`"release_ps": {"1": 9}`, `"release_ps": {"2": 9}`, `release of rank 2, which is not in the group`},
		{`"operator": "sum", "over"`, `"operator": "med", "over"`, `goal[0].value: operator "med" does not exist`},
		{`"size_bytes": [8]`, `"size_bytes": [8, 8]`, `1 arguments and 2 sizes`},
		{`"operator": "sum", "over": "all"`, `"over": "all"`, `want one of input, operator and function`},
		{`"edges"`, `"periodic": true, "edges"`, `a periodic workload has no end, want none`},
		{`"schedule": "free"`, `"schedule": "best"`, `want "free", or an object with transfers`},
		{`"links": [1], "op": "copy", "start_ps": 0`, `"links": [2], "op": "copy", "start_ps": 0`, `link 2 does not exist`},
		{`"schedule": "free"}`, `"schedule": "free", "function": "f"}`, `allreduce has none, nor reads, writes, a function`},
		{`"size_bytes": 16, "chunks"`, `"size_bytes": 16, "operator": "adasum", "into": {"buffer": "z"}, "chunks"`, `allreduce has none, want it with broadcast or sendrecv only`},
	} {
		require.Contains(t, everyKey, c.old)
		_, err := readWorkload(strings.Replace(everyKey, c.old, c.with, 1))
		require.ErrorContains(t, err, c.want, c.with)
		require.NotContains(t, err.Error(), "\n")
	}
}

// A topology may be named where the reader can build it, and only there.
func TestWorkloadNamesItsTopology(t *testing.T) {
	object := everyKey[strings.Index(everyKey, `{"name": "pair"`):strings.Index(everyKey, `,
  "cost"`)]
	of, err := readWorkload(everyKey)
	require.NoError(t, err)
	pair := func(name string) (*model.Topology, error) {
		if name != "pair" {
			return nil, fmt.Errorf("topology %q: unknown", name)
		}
		return of.Topology, nil
	}
	for _, c := range []struct {
		topology string
		named    func(string) (*model.Topology, error)
		want     string // in the error; "": none
	}{
		{object, nil, ""}, {object, pair, ""}, {`"pair"`, pair, ""},
		{`"triple"`, pair, `w.json:3:15: topology: topology "triple": unknown`},
		{`"pair"`, nil, "topology: the name of a topology, which only what schedules a workload can build; want an object here"},
		{`7`, pair, "want a topology"},
	} {
		w, err := native.ReadWorkload("w.json", strings.NewReader(strings.Replace(everyKey, object, c.topology, 1)), c.named)
		if c.want != "" {
			require.ErrorContains(t, err, c.want)
			continue
		}
		require.NoError(t, err)
		require.Equal(t, of, w)
	}
	// A schedule holds the whole of what it is one for.
	b, err := os.ReadFile("../../testdata/workloads/accept/finite.json")
	require.NoError(t, err)
	at, until := bytes.Index(b, []byte(`"topology": {`)), bytes.Index(b, []byte(`"cost"`))
	_, err = native.ReadTimetable("t.json", strings.NewReader(string(b[:at])+`"topology": "pair", `+string(b[until:])))
	require.ErrorContains(t, err, "workload.topology: the name of a topology")
}

// A value that is nested without end is refused where it becomes too deep.
func TestWorkloadDepth(t *testing.T) {
	deep := strings.Repeat(`{"operator": "sum", "of": [`, 100) + strings.Repeat(`]}`, 100)
	_, err := readWorkload(strings.Replace(everyKey, `"value": {`, `"value": `+deep+`, "value": {`, 1))
	require.ErrorContains(t, err, "nested deeper than 16")
}

func FuzzWorkload(f *testing.F) {
	f.Add([]byte(everyKey))
	found, err := filepath.Glob("../../testdata/workloads/accept/*.json")
	require.NoError(f, err)
	require.NotEmpty(f, found)
	found = append(found, "testdata/workload-bound-waiting.json")
	for _, name := range found {
		b, err := os.ReadFile(name)
		require.NoError(f, err)
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if w, err := native.ReadWorkload("f", bytes.NewReader(b), nil); err == nil {
			var out bytes.Buffer
			require.NoError(t, native.WriteWorkload(&out, w))
			again, err := native.ReadWorkload("f", bytes.NewReader(out.Bytes()), nil)
			require.NoError(t, err)
			require.Equal(t, w, again)
		}
		if s, err := native.ReadTimetable("f", bytes.NewReader(b)); err == nil {
			require.NoError(t, native.WriteTimetable(&bytes.Buffer{}, s))
		}
		if c, err := native.ReadWorkloadBound("f", bytes.NewReader(b)); err == nil {
			var out bytes.Buffer
			require.NoError(t, native.WriteWorkloadBound(&out, c))
			again, err := native.ReadWorkloadBound("f", bytes.NewReader(out.Bytes()))
			require.NoError(t, err)
			require.Equal(t, c.Bound, again.Bound)
		}
	})
}
