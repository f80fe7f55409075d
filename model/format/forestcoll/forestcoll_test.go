package forestcoll

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model"
)

// node and hub are names as ForestColl writes them.
func node(a, b int) string { return fmt.Sprintf("(%d, 'GPU', %d)", a, b) }
func hub(a int) string     { return fmt.Sprintf("(%d, 'NVSwitch', 0)", a) }

func send(path ...string) string {
	return fmt.Sprintf(`<send src="%s" dst="%s" path="%s"/>`, path[0], path[len(path)-1], strings.Join(path, ","))
}

func tree(root string, chunks int, sends ...string) string {
	return fmt.Sprintf("  <tree root=\"%s\" index=\"0\" nchunks=\"%d\" height=\"1\">\n    %s\n  </tree>\n", root, chunks, strings.Join(sends, "\n    "))
}

func file(k int, trees ...string) string {
	return fmt.Sprintf("<Algo nchunkspernode=\"%d\">\n%s</Algo>\n", k, strings.Join(trees, ""))
}

// machines is n machines of two ranks at a switch, and all at a second, slower one.
func machines(n int) *model.Topology {
	t := &model.Topology{Name: "machines", Ranks: 2 * n}
	for range n + 1 {
		t.Switches = append(t.Switches, model.Switch{})
	}
	for r := range 2 * n {
		for _, s := range [][2]int{{2*n + r/2, 100}, {3 * n, 10}} {
			b := int64(s[1]) * 1e9
			t.Links = append(t.Links, model.Link{Src: r, Dst: s[0], Bandwidth: b}, model.Link{Src: s[0], Dst: r, Bandwidth: b})
		}
	}
	return t
}

// two is the trees of two machines of two: to the neighbour, and over the network.
func two() string {
	var trees []string
	for a := range 2 {
		for b := range 2 {
			trees = append(trees, tree(node(a, b), 1,
				send(node(a, b), hub(a), node(a, 1-b)),
				send(node(a, b), "(-1, 'IB', 0)", node(1-a, b)),
				send(node(1-a, b), hub(1-a), node(1-a, 1-b))))
		}
	}
	return file(1, trees...)
}

func read(t *testing.T, s string) *File {
	t.Helper()
	require.True(t, Is([]byte(s)))
	f, err := Read("a.xml", []byte(s))
	require.NoError(t, err)
	return f
}

func TestDown(t *testing.T) {
	m, err := read(t, two()).Import(Truth{Topology: machines(2)})
	require.NoError(t, err)
	require.Empty(t, m.Objections)
	require.Empty(t, m.Assumed)
	require.NoError(t, m.Schedule.Validate(m.Problem))
	require.Len(t, m.Schedule.Transfers, 12)
	require.Equal(t, [][]int32{nil, nil, {1}}, m.Schedule.After[:3])
	for _, x := range m.Schedule.Transfers {
		want := 6 // the second switch
		if x.Src/2 == x.Dst/2 {
			want = 4 + int(x.Src/2)
		}
		require.Equal(t, want, m.Problem.Topology.Links[m.Schedule.Routes[x.Route][0]].Dst)
	}
	require.Contains(t, m.Source(1), "line 4: send (0, 'GPU', 0) to (1, 'GPU', 0)")
}

func TestUp(t *testing.T) {
	c := &model.Collective{Kind: model.AllReduce}
	m, err := read(t, two()).Import(Truth{Topology: machines(2), Collective: c})
	require.NoError(t, err)
	require.NoError(t, m.Schedule.Validate(m.Problem))
	require.Len(t, m.Schedule.Transfers, 24)
	// Up: the far one last arrives at its parent, which sends on; down: the root waits for both.
	require.Equal(t, [][]int32{nil, {2}, nil, {0, 1}, {0, 1}, {4}}, m.Schedule.After[:6])
	require.Equal(t, model.Reduction, m.Schedule.Transfers[2].Op)
	require.Equal(t, model.Copy, m.Schedule.Transfers[3].Op)
	_, err = read(t, two()).Import(Truth{Topology: machines(2), Collective: &model.Collective{Kind: model.AllToAll}})
	require.ErrorContains(t, err, "allgather, reducescatter or allreduce")
}

// TestChunks: a tree gets its part of the data of its root, and what no tree carries stays.
func TestChunks(t *testing.T) {
	f := read(t, file(3, tree("0", 2, send("0", "1")), tree("1", 3, send("1", "0"))))
	m, err := f.Import(Truth{Topology: &model.Topology{Name: "pair", Ranks: 2, Links: []model.Link{{Src: 0, Dst: 1, Bandwidth: 1}, {Src: 1, Dst: 0, Bandwidth: 1}}}, Size: 60})
	require.NoError(t, err)
	require.Equal(t, []model.Chunk{{Offset: 0, Size: 20}, {Offset: 20, Size: 10}, {Offset: 30, Size: 30}}, m.Problem.Chunks)
	m, err = f.Import(Truth{Chunks: 2})
	require.NoError(t, err)
	require.Equal(t, "malformed", m.Objections[0].Code)
	require.Contains(t, m.Objections[0].Message, "carry 3 chunks so far, want 2")
	_, err = f.Import(Truth{Size: 2})
	require.ErrorContains(t, err, "too few")
}

// TestMissingRank: the ranks of machines keep their numbers where one of them is left out.
func TestMissingRank(t *testing.T) {
	f := read(t, file(1, tree(node(1, 0), 1, send(node(1, 0), hub(1), node(1, 1))), tree(node(0, 1), 1, send(node(0, 1), "(-1, 'IB', 0)", node(1, 1)))))
	m, err := f.Import(Truth{Topology: machines(2)})
	require.NoError(t, err)
	require.EqualValues(t, 2, m.Schedule.Transfers[0].Src)
	require.EqualValues(t, 1, m.Schedule.Transfers[1].Src)
	_, err = f.Import(Truth{Topology: &model.Topology{Ranks: 3}})
	require.ErrorContains(t, err, "has 4 ranks, want at most 3")
}

func TestMachines(t *testing.T) {
	f := read(t, two())
	machines, per := f.Machines()
	require.Equal(t, [2]int{2, 2}, [2]int{machines, per})
	require.True(t, f.Passes("NVSwitch"))
	require.False(t, f.Passes("mlx5"))
	machines, per = read(t, file(1, tree("0", 1, send("0", "1")))).Machines()
	require.Equal(t, [2]int{}, [2]int{machines, per})
}

func TestNoLink(t *testing.T) {
	m, err := read(t, two()).Import(Truth{Topology: &model.Topology{Name: "row", Ranks: 4, Links: []model.Link{{Src: 0, Dst: 1, Bandwidth: 1}}}})
	require.NoError(t, err)
	require.Equal(t, "no-such-link", m.Objections[0].Code)
	require.Contains(t, m.Objections[0].Message, "row has no way over switches from rank 0 to rank 1")
	require.Contains(t, m.Objections[0].Where, "line 3")
}

// TestManySwitches: a network of hundreds of switches, and no way, is searched at once.
func TestManySwitches(t *testing.T) {
	const n = 300
	net := &model.Topology{Name: "clique", Ranks: 2, Switches: make([]model.Switch, n)}
	for i := range n {
		net.Links = append(net.Links, model.Link{Src: 0, Dst: 2 + i, Bandwidth: 1e9})
		for j := range n {
			if i != j {
				net.Links = append(net.Links, model.Link{Src: 2 + i, Dst: 2 + j, Bandwidth: 1e9})
			}
		}
	}
	m, err := read(t, file(1, tree("0", 1, send("0", "x", "1")))).Import(Truth{Topology: net})
	require.NoError(t, err)
	require.Equal(t, "no-such-link", m.Objections[0].Code)
}

// TestOwn: without a topology nothing is proved.
func TestOwn(t *testing.T) {
	m, err := read(t, two()).Import(Truth{})
	require.NoError(t, err)
	require.NoError(t, m.Schedule.Validate(m.Problem))
	require.Contains(t, m.Assumed, "--topology")
}

func TestMalformed(t *testing.T) {
	good := two()
	for name, test := range map[string]struct{ file, want string }{
		"truncated": {good[:len(good)-20], "a.xml: line "},
		"twice":     {good + good, "one per file"},
		"text":      {strings.Replace(good, "<tree", "hello <tree", 1), "line 2: text \"hello\""},
		"nested":    {strings.Replace(good, "<send", "<tree", 1), "element"},
		"no chunks": {strings.Replace(good, `nchunks="1"`, `nchunks="0"`, 1), "nchunks of tree"},
		"path":      {strings.Replace(good, "IB', 0),(1, 'GPU', 0)", "IB', 0),(1, 'GPU', 1)", 1), "want one from"},
		"entities":  {`<!DOCTYPE x [<!ENTITY a "b">]>` + strings.Replace(good, `root="(`, `root="&a;(`, 1), "entity"},
	} {
		_, err := Read("a.xml", []byte(test.file))
		require.ErrorContains(t, err, test.want, name)
	}
	for _, s := range []string{`<algo name="x" nchunksperloop="2"/>`, `<system version="1"/>`, ``, `{}`} {
		require.False(t, Is([]byte(s)), s)
	}
}

// FuzzRead: whatever a file says, reading it ends in an error or in what can be judged.
func FuzzRead(f *testing.F) {
	f.Add([]byte(two()))
	f.Add([]byte(file(3, tree("0", 2, send("0", "1")), tree("1", 3, send("1", "x", "0")))))
	f.Fuzz(func(t *testing.T, b []byte) {
		file, err := Read("f", b)
		if err != nil {
			return
		}
		for _, truth := range []Truth{{}, {Topology: machines(2)}, {Topology: machines(2), Collective: &model.Collective{Kind: model.AllReduce}}} {
			m, err := file.Import(truth)
			if err != nil || len(m.Objections) > 0 {
				continue
			}
			if err := m.Schedule.Validate(m.Problem); err != nil { // a circle of sends, which a verifier refutes
				require.ErrorContains(t, err, "waits for itself")
			}
		}
	})
}
