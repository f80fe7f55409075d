package nccllog

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/topo"
	"github.com/stretchr/testify/require"
)

// written is the log that NCCL would write of l, as all ranks' lines.
func written(l *Log) []string {
	var lines []string
	add := func(r int, format string, args ...any) {
		lines = append(lines, fmt.Sprintf("node%d:%d:%d [%d] NCCL INFO ", r/8, 100+r, 200+r, r%8)+fmt.Sprintf(format, args...))
	}
	for r := range l.Ranks {
		add(r, "comm 0x55%02x rank %d nRanks %d nNodes %d localRanks 8 localRank %d MNNVL 0", r, r, l.Ranks, l.Ranks/8, r%8)
		var trees []string
		for c := range l.Channels {
			m := l.Trees[c][r]
			down := []int{-1, -1, -1}
			k := 0
			for x := range l.Ranks {
				if l.Trees[c][x].Up == r {
					down[k] = x
					k++
				}
			}
			trees = append(trees, fmt.Sprintf("[%d] %d/%d/%d->%d->%d", c, down[0], down[1], down[2], r, m.Up))
		}
		add(r, "Trees %s", strings.Join(trees, " "))
		add(r, "P2P Chunksize set to 131072")
	}
	for c := range l.Channels {
		add(0, "Channel %02d/%02d : %s", c, l.Channels, strings.Trim(fmt.Sprintf("%4d", l.Rings[c]), "[]"))
		add(0, "Channel %02d/0 : 0[0] -> 1[1] via P2P/CUMEM/read", c)
	}
	return append(lines, "node0:100:200 [0] NCCL INFO AllReduce: 1048576 Bytes -> Algo 1 proto 2 time 123.4")
}

func guess(t testing.TB, name string) *Log {
	network, err := topo.Parse(name, topo.Options{})
	require.NoError(t, err)
	l, err := Guess(network)
	require.NoError(t, err)
	return l
}

// TestRead: rings and trees come back from the lines of all ranks, in any order, with what launchers
// put before them.
func TestRead(t *testing.T) {
	for _, name := range []string{"dgxh100", "dgxh100:2", "dgxa100:3", "dgxh100:5"} {
		l := guess(t, name)
		lines := written(l)
		r := rand.New(rand.NewPCG(1, uint64(l.Ranks)))
		r.Shuffle(len(lines), func(i, j int) { lines[i], lines[j] = lines[j], lines[i] })
		for i := range lines {
			lines[i] = []string{"", "7: ", "[1,3]<stdout>:", "2026-01-02T03:04:05 "}[i%4] + lines[i]
		}
		got, err := Read(context.Background(), "x", strings.NewReader("NCCL version 2.21.5+cuda12.4\n"+strings.Join(lines, "\n")))
		require.NoError(t, err, name)
		require.Equal(t, "2.21.5+cuda12.4", got.Version)
		require.Equal(t, l.Ranks, got.Ranks)
		require.Equal(t, l.Rings, got.Rings, name)
		require.Equal(t, []Choice{{"AllReduce", 1048576, "ring", "Simple", "123.4"}}, got.Choices)
		for c := range l.Channels {
			want, err := l.parents(c)
			require.NoError(t, err)
			up, err := got.parents(c)
			require.NoError(t, err)
			require.Equal(t, want, up)
		}
		// without the lines of one rank, its place follows from the others'; without two that are neighbours it does not
		kept := strings.Join(lines, "\n")
		for _, line := range lines {
			if strings.Contains(line, "->3->") {
				kept = strings.Replace(kept, line, "", 1)
			}
		}
		got, err = Read(context.Background(), "x", strings.NewReader(kept))
		require.NoError(t, err)
		up, err := got.parents(0)
		require.NoError(t, err)
		want, _ := l.parents(0)
		require.Equal(t, want, up)
	}
}

func TestCutOff(t *testing.T) {
	l := guess(t, "dgxh100:2")
	var few []string
	for _, line := range written(l) {
		if strings.Contains(line, "localhost") || !strings.Contains(line, "->") || strings.Contains(line, "->9->") {
			few = append(few, line)
		}
	}
	few = append(few, "node0:1:2 [0] NCCL INFO Channel 07/08 : 0 1 2 node0:1:3 [1] NCCL INFO Channel", "node0:1:2 [0] NCCL INFO Channel 07/08 : 0 1 2 5")
	got, err := Read(context.Background(), "x", strings.NewReader(strings.Join(few, "\n")))
	require.NoError(t, err)
	require.Contains(t, fmt.Sprint(got.Notes.Strings()), "2 lines that are cut off or mixed with others")
	_, err = got.parents(0)
	require.ErrorContains(t, err, "the log is cut off or not of all ranks")
	require.Len(t, got.Rings, 8)
	for text, want := range map[string]string{
		"": "no line of NCCL", "hello": "no line of NCCL", "h:1:2 [0] NCCL INFO Bootstrap : Using eth0": "neither rings",
		"<graphs version=\"1\"/>": "no ring in the dump", "<system/>": "no dump of graphs",
	} {
		_, err := Read(context.Background(), "x", strings.NewReader(text))
		require.ErrorContains(t, err, want)
	}
}

func TestGraphs(t *testing.T) {
	l, err := Read(context.Background(), "x", strings.NewReader(`<graphs version="1"><graph id="0" pattern="4" nchannels="2"><channel><gpu dev="0"/><gpu dev="2"/><gpu dev="1"/></channel><channel><gpu dev="0"/><gpu dev="1"/><gpu dev="2"/></channel></graph><graph id="1" pattern="1"/></graphs>`))
	require.NoError(t, err)
	require.Equal(t, map[int][]int{0: {0, 2, 1}, 1: {0, 1, 2}}, l.Rings)
}

// TestGuess: the trees reach every rank, and no host is inside both trees.
func TestGuess(t *testing.T) {
	for hosts := 2; hosts < 20; hosts++ {
		inside := map[int]int{}
		for _, other := range []bool{false, true} {
			children := map[int]int{}
			roots := 0
			for h := range hosts {
				if p := parent(h, hosts, other); p >= 0 {
					children[p]++
				} else {
					roots++
				}
			}
			require.Equal(t, 1, roots, hosts)
			for h, n := range children {
				require.LessOrEqual(t, n, 2)
				if n == 2 {
					inside[h]++
				}
			}
		}
		for h, n := range inside {
			require.Equal(t, 1, n, "%d hosts: host %d", hosts, h)
		}
	}
	_, err := Guess(&model.Topology{Name: "mine", Ranks: 8})
	require.ErrorContains(t, err, "none of the machines")
}

func FuzzRead(f *testing.F) {
	f.Add(strings.Join(written(guess(f, "dgxh100")), "\n"))
	f.Add(`<graphs version="1"><graph id="0" pattern="4"><channel><gpu dev="0"/><gpu dev="1"/></channel></graph></graphs>`)
	f.Add("h:1:2 [0] NCCL INFO Ring 00 : 1 -> 0 -> 1\nh:1:2 [0] NCCL INFO Trees [0] -1->0->1/-1")
	network, err := topo.Parse("full:8", topo.Options{})
	require.NoError(f, err)
	f.Add("h:1:2 [0] NCCL INFO NVLS Head  0:  0\nh:1:2 [0] NCCL INFO NVLS Head  1:  5\nh:1:2 [0] NCCL INFO 8 coll channels, 8 nvls channels, rank 3 nranks 8")
	switches, err := topo.Parse("dgxh100-nvls", topo.Options{})
	require.NoError(f, err)
	f.Fuzz(func(t *testing.T, text string) {
		l, err := Read(context.Background(), "x", strings.NewReader(text))
		if err != nil {
			return
		}
		p := &model.Problem{Topology: network, Collective: model.Collective{Kind: model.AllReduce}, Size: 1 << 20, Cost: model.Pipelined}
		sums := *p
		sums.Topology = switches
		for _, plan := range []func() (*Plan, error){
			func() (*Plan, error) { return l.Ring(p) },
			func() (*Plan, error) { return l.Tree(p) },
			func() (*Plan, error) { return l.NVLS(t.Context(), &sums) },
		} {
			if x, err := plan(); err == nil {
				require.NoError(t, x.Schedule.Validate(x.Problem))
			}
		}
	})
}

// TestGuessDirect: rings over links that nothing shares, each with the one the other way round, and as many as
// there can be on a DGX-1, six.
func TestGuessDirect(t *testing.T) {
	for name, rings := range map[string]int{"dgx1": 6, "mi250": 6, "mi300x": 6} {
		network, err := topo.Parse(name, topo.Options{})
		require.NoError(t, err)
		l, err := Guess(network)
		require.NoError(t, err)
		require.Len(t, l.Rings, rings)
		links := map[[2]int]int{}
		for _, x := range network.Links {
			links[[2]int{x.Src, x.Dst}]++
		}
		for c := range l.Channels {
			ring := l.Rings[c]
			seen := map[int]bool{}
			for i, r := range ring {
				seen[r] = true
				to := ring[(i+1)%len(ring)]
				links[[2]int{r, to}]--
				require.GreaterOrEqual(t, links[[2]int{r, to}], 0, "%s: channel %d shares a link from %d to %d", name, c, r, to)
			}
			require.Len(t, seen, network.Ranks)
			_, depth, err := climb(must(l.parents(c))(t))
			require.NoError(t, err)
			require.Equal(t, network.Ranks-1, depth)
		}
	}
}

func must[T any](x T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		require.NoError(t, err)
		return x
	}
}

// TestLogs reads logs of the shapes that are quoted in public threads: lines of ranks mixed, with what mpirun puts
// before them and NVLS (NVIDIA/nccl issue 1357); of an older NCCL, whose lines of channels end after 20 ranks, cut
// off (514); of RCCL (ROCm/rccl-tests issue 163). Their rings and trees come back.
func TestLogs(t *testing.T) {
	read := func(name string) *Log {
		f, err := os.Open("../../../testdata/nccl/" + name)
		require.NoError(t, err)
		defer f.Close()
		l, err := Read(t.Context(), name, f)
		require.NoError(t, err)
		return l
	}
	trees := func(l *Log, channels int) (all [][]int) {
		for c := range channels {
			up, err := l.parents(c)
			require.NoError(t, err)
			all = append(all, up)
		}
		return all
	}
	fromZero := func(rings map[int][]int) map[int][]int {
		all := map[int][]int{}
		for c, ring := range rings {
			at := slices.Index(ring, 0)
			all[c] = append(slices.Clone(ring[at:]), ring[:at]...)
		}
		return all
	}
	mixed, want := read("two-hosts-mixed.log"), guess(t, "dgxh100:2")
	require.Equal(t, fromZero(want.Rings), mixed.Rings)
	require.Equal(t, trees(want, 8), trees(mixed, 8))
	require.True(t, mixed.Adds)
	require.Equal(t, []Choice{{"AllReduce", 1 << 30, "nvls-tree", "Simple", "4870.5"}}, mixed.Choices)
	require.Empty(t, mixed.Notes)
	require.Equal(t, guess(t, "dgxh100-nvls:2").Heads, mixed.Heads)

	cut, want := read("four-hosts-cut-off.log"), guess(t, "dgxa100:4")
	require.Equal(t, fromZero(want.Rings), cut.Rings, "from the lines of all ranks")
	require.Equal(t, trees(want, 6), trees(cut, 6))
	_, err := cut.parents(7)
	require.ErrorContains(t, err, "of ranks 31, nor of those above them")
	require.Equal(t, []string{"left out: 8 lines that are cut off or mixed with others"}, cut.Notes.Strings())

	rccl := read("rccl-one-host.log")
	require.Equal(t, map[int][]int{0: {0, 1, 2, 3}, 1: {0, 1, 2, 3}}, rccl.Rings)
	require.Equal(t, [][]int{{-1, 0, 1, 2}, {-1, 0, 1, 2}}, trees(rccl, 2))
	require.Equal(t, "2.20.5+hip6.2", rccl.Version)
}

// TestHeads: of a head the longest line stands, since others are cut off; heads that are not of all hosts, or of other
// ranks, are left out, with a note.
func TestHeads(t *testing.T) {
	read := func(lines ...string) *Log {
		text := "h:1:2 [0] NCCL INFO comm 0x1 rank 0 nRanks 4 nNodes 2 localRanks 2\nh:1:2 [0] NCCL INFO Channel 00/01 : 0 1 2 3"
		for _, line := range lines {
			text += "\nh:1:2 [0] NCCL INFO " + line
		}
		l, err := Read(t.Context(), "x", strings.NewReader(text))
		require.NoError(t, err)
		return l
	}
	l := read("NVLS Head  0:  0  2", "NVLS Head  1:  1", "NVLS Head  1:  1  3", "NVLS Head  0:  0", "4 coll channels, 4 collnet channels, 12 nvls channels, 4 p2p channels")
	require.Equal(t, [][]int{{0, 2}, {1, 3}}, l.Heads)
	require.Equal(t, 12, l.NVLSChannels)
	require.True(t, l.Adds)
	require.Equal(t, "NVLSTree", l.NVLSName())
	require.Equal(t, "NVLS", read("NVLS Head  0:  0", "NVLS Head  1:  1").NVLSName())
	for _, x := range []*Log{read("NVLS Head  0:  0  2", "NVLS Head  1:  1"), read("NVLS Head  1:  1  3"), read("NVLS Head  0:  0  4")} {
		require.Empty(t, x.Heads)
		require.Equal(t, []string{"left out: 1 lines that are cut off or mixed with others"}, x.Notes.Strings())
	}
}
