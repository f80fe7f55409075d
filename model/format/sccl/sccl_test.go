package sccl

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/oraccl/oraccl/model"
)

// part is a contribution of a test file.
func part(pre, post string, addr int) string {
	return fmt.Sprintf(`{"msccl_type":"chunk","pre":[%s],"post":[%s],"addr":%d}`, pre, post, addr)
}

// fullLinks is the matrix of n nodes with a link between any two.
func fullLinks(n int) string {
	links := make([][]int, n)
	for i := range links {
		links[i] = make([]int, n)
		for j := range links[i] {
			if i != j {
				links[i][j] = 1
			}
		}
	}
	b, _ := json.Marshal(links)
	return string(b)
}

// text makes a file of n nodes; each step is its rounds and its sends.
func text(name string, n, chunks int, network, links, switches string, parts []string, steps ...string) string {
	return fmt.Sprintf(`{"msccl_type":"algorithm","name":"a","instance":{"msccl_type":"instance","steps":%d,"extra_rounds":0,"chunks":%d,"pipeline":null},
"steps":[%s],
"collective":{"msccl_type":"collective","name":"%s","nodes":%d,"chunks":[%s],"triggers":{},"runtime_name":"x"},
"topology":{"msccl_type":"topology","name":"%s","switches":[%s],"links":%s}}`,
		len(steps), chunks, strings.Join(steps, ","), name, n, strings.Join(parts, ","), network, switches, links)
}

func step(rounds int, sends string) string {
	return fmt.Sprintf(`{"msccl_type":"step","rounds":%d,"sends":[%s]}`, rounds, sends)
}

func read(t *testing.T, s string) *File {
	t.Helper()
	require.True(t, Is([]byte(s)))
	f, err := Read("a.json", []byte(s))
	require.NoError(t, err)
	return f
}

// The allreduce of two nodes, composed: both reduce, each to one address, then copy back.
var composed = text("Allreduce(n=2)", 2, 1, "x", fullLinks(2), "", []string{part("0", "0,1", 0), part("1", "0,1", 0)},
	step(1, "[0,1,0],[1,0,1]"), step(1, "[0,0,1],[1,1,0]"))

func TestComposedAllreduce(t *testing.T) {
	m, err := read(t, composed).Import(Truth{})
	require.NoError(t, err)
	require.Empty(t, m.Objections)
	require.Len(t, m.Problem.Chunks, 2)
	require.NoError(t, m.Schedule.Validate(m.Problem))
	var ops []model.Op
	for _, x := range m.Schedule.Transfers {
		ops = append(ops, x.Op)
	}
	require.Equal(t, []model.Op{model.Reduction, model.Reduction, model.Copy, model.Copy}, ops)
	require.Equal(t, "step 2, send 1: [0, 0, 1]", m.Source(2))
}

func TestEarlyFiles(t *testing.T) {
	_, err := read(t, strings.ReplaceAll(composed, "msccl_type", "sccl_type")).Import(Truth{})
	require.NoError(t, err)
}

// TestAddresses: what a composed allreduce lost has still to be there, and what is asked for counts.
func TestAddresses(t *testing.T) {
	lost := strings.ReplaceAll(strings.ReplaceAll(composed, ",[1,0,1]", ""), ",[1,1,0]", "")
	m, err := read(t, lost).Import(Truth{})
	require.NoError(t, err)
	require.Len(t, m.Problem.Chunks, 2, "two nodes with one chunk a shard")
	m, err = read(t, composed).Import(Truth{Chunks: 3})
	require.NoError(t, err)
	require.Len(t, m.Problem.Chunks, 6)

	direct := text("Allreduce(n=2)", 2, 1, "x", fullLinks(2), "", []string{part("0", "0,1", 0), part("1", "0,1", 0)}, step(1, "[0,1,0],[0,0,1]"))
	m, err = read(t, direct).Import(Truth{})
	require.NoError(t, err)
	require.Len(t, m.Problem.Chunks, 1, "nothing is overwritten: one address is all there is")
	require.Equal(t, model.Reduction, m.Schedule.Transfers[0].Op)
}

func TestAllToAllAddresses(t *testing.T) {
	f := text("Alltoall(n=2)", 2, 1, "x", fullLinks(2), "", nil, step(1, "[1,1,0],[2,0,1]"))
	m, err := read(t, f).Import(Truth{})
	require.NoError(t, err)
	for i, want := range [][2]int{{1, 0}, {0, 1}} { // address d·n+s goes from s to d
		from, to := m.Problem.Owner(int(m.Schedule.Transfers[i].Chunk))
		require.Equal(t, want, [2]int{from, to})
	}
}

func TestObjections(t *testing.T) {
	line := `[[0,1,0],[1,0,1],[0,1,0]]`
	for name, test := range map[string]struct {
		file  string
		truth Truth
		code  string
		where string
	}{
		"no link":        {text("Broadcast(n=3,root=0)", 3, 1, "x", line, "", nil, step(1, "[0,0,1],[0,0,2]")), Truth{}, "no-such-link", "step 1, send 2: [0, 0, 2]"},
		"no address":     {text("Broadcast(n=3,root=0)", 3, 1, "x", line, "", nil, step(1, "[3,0,1]")), Truth{}, "malformed", "step 1, send 1: [3, 0, 1]"},
		"shared":         {text("Broadcast(n=3,root=1)", 3, 1, "x", line, `[[1],[0,2],1,"out"]`, nil, step(1, "[0,1,0],[0,1,2]")), Truth{}, "port-overload", "step 1"},
		"same step":      {text("Broadcast(n=3,root=0)", 3, 2, "x", line, "", nil, step(2, "[1,0,1],[0,0,1],[0,1,2],[1,1,2]")), Truth{}, "send-undefined", ""},
		"scan from none": {text("Scan(n=2)", 2, 1, "x", fullLinks(2), "", []string{part("0", "0,1", 0), part("0", "0,1", 1), part("1", "1", 1)}, step(1, "[0,1,0]")), Truth{}, "send-undefined", "step 1, send 1: [0, 1, 0]"},
	} {
		m, err := read(t, test.file).Import(test.truth)
		require.NoError(t, err, name)
		require.NotEmpty(t, m.Objections, name)
		require.Equal(t, test.code, m.Objections[0].Code, name)
		require.Contains(t, m.Objections[0].Where, test.where, name)
	}
}

// TestStale: an exchange of two addresses in two rounds may be read in any order only if
// both sides take the same, and a step that cannot be split into rounds is undecided.
func TestStale(t *testing.T) {
	parts := []string{part("0", "0,1", 0), part("1", "0,1", 0), part("0", "0,1", 1), part("1", "0,1", 1)}
	m, err := read(t, text("Allreduce(n=2)", 2, 2, "x", fullLinks(2), "", parts, step(2, "[0,0,1],[1,0,1],[0,1,0],[1,1,0]"))).Import(Truth{})
	require.NoError(t, err)
	require.Empty(t, m.Undecided)
	m, err = read(t, text("Allreduce(n=2)", 2, 2, "x", fullLinks(2), "", parts, step(2, "[0,0,1],[1,0,1],[1,1,0],[0,1,0]"))).Import(Truth{})
	require.NoError(t, err)
	require.Contains(t, m.Undecided, "reads what the same step overwrites")
}

func TestMalformed(t *testing.T) {
	for name, test := range map[string]struct{ file, want string }{
		"truncated":   {composed[:len(composed)-40], "unexpected EOF"},
		"twice":       {composed + composed, "one document"},
		"pipelined":   {strings.Replace(composed, `"pipeline":null`, `"pipeline":1`, 1), "pipelined"},
		"no rounds":   {strings.Replace(composed, `"rounds":1`, `"rounds":0`, 1), "step 1: 0 rounds"},
		"no node":     {strings.Replace(composed, "[0,1,0]", "[0,7,0]", 1), "step 1, send 1: 7"},
		"two numbers": {strings.Replace(composed, "[0,1,0]", "[0,1]", 1), "2 numbers"},
		"itself":      {strings.Replace(composed, "[0,1,0]", "[0,1,1]", 1), "to itself"},
		"not whole":   {strings.Replace(composed, "[0,1,0]", "[0.5,1,0]", 1), "0.5"},
		"nodes":       {strings.Replace(composed, `"nodes":2`, `"nodes":3`, 1), "3 nodes, want 2"},
		"ragged":      {strings.Replace(composed, "[[0,1],[1,0]]", "[[0,1],[1]]", 1), "row 1"},
		"absurd":      {strings.Replace(composed, `"rounds":1`, `"rounds":99999999`, 1), "want 1 to"},
		"switch":      {strings.Replace(composed, `"switches":[]`, `"switches":[[[0],[1],0,"s"]]`, 1), "switch 0"},
	} {
		_, err := Read("a.json", []byte(test.file))
		require.ErrorContains(t, err, test.want, name)
		require.ErrorContains(t, err, "a.json: ", name)
	}
	require.False(t, Is([]byte(`{"schema": "oraccl/schedule/1"}`)))
	require.False(t, Is([]byte(`{"x": {"msccl_type": "algorithm"}}`)))
	require.False(t, Is([]byte(`{"msccl_type": "topology"}`)))
}

// TestSpread: whenever no link has more sends than rounds, all get a round without overlap.
func TestSpread(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 6).Draw(t, "nodes")
		rounds := rapid.IntRange(1, 5).Draw(t, "rounds")
		var routes [][]int
		in, out := make([]int, n), make([]int, n)
		for range rapid.IntRange(0, n*rounds).Draw(t, "sends") {
			u, v := rapid.IntRange(0, n-1).Draw(t, "u"), rapid.IntRange(0, n-1).Draw(t, "v")
			if out[u] < rounds && in[v] < rounds {
				out[u]++
				in[v]++
				routes = append(routes, []int{u, n + v})
			}
		}
		at, fit := colour(routes, rounds)
		require.True(t, fit)
		used := map[[2]int]bool{}
		for i, route := range routes {
			for _, l := range route {
				require.False(t, used[[2]int{l, at[i]}], "two sends on a link in a round")
				used[[2]int{l, at[i]}] = true
			}
		}
		for _, r := range at {
			require.True(t, 0 <= r && r < rounds)
		}
	})
}

// FuzzRead: whatever a file says, reading it ends in an error or in what can be judged.
func FuzzRead(f *testing.F) {
	f.Add([]byte(composed))
	f.Add([]byte(text("Scan(n=2)", 2, 1, "x", fullLinks(2), `[[0],[1],1,"s"]`, []string{part("0", "0,1", 0), part("1", "1", 0)}, step(1, "[0,0,1]"))))
	f.Add([]byte(text("Alltoall(n=2)", 2, 2, "x", fullLinks(2), "", nil, step(3, "[4,1,0],[2,0,1],[5,1,0]"))))
	f.Fuzz(func(t *testing.T, b []byte) {
		file, err := Read("f", b)
		if err != nil || len(b) > 1<<12 || file.Chunks > 1<<10 || len(file.Steps) > 0 && file.Steps[0].Rounds > 1<<10 {
			return
		}
		m, err := file.Import(Truth{})
		if err != nil || len(m.Objections) > 0 {
			return
		}
		require.NoError(t, m.Schedule.Validate(m.Problem))
	})
}
