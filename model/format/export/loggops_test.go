package export

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model"
)

// goalOp is an operation of a GOAL file.
type goalOp struct {
	what        string // send, recv, calc
	size        int64
	peer, tag   int
	cpu, nic    int
	frees       []int
	waits, rank int
}

// parseGOAL reads a file by the grammar of LogGOPSim's txt2bin.
func parseGOAL(t *testing.T, text string) [][]*goalOp {
	t.Helper()
	var ranks [][]*goalOp
	number := func(s string) (v int) {
		_, err := fmt.Sscan(s, &v)
		require.NoError(t, err, s)
		return v
	}
	for _, line := range strings.Split(text, "\n") {
		f := strings.Fields(line)
		switch {
		case len(f) == 0 || f[0] == "num_ranks" || f[0] == "}":
			continue
		case f[0] == "rank":
			require.Equal(t, len(ranks), number(f[1]))
			ranks = append(ranks, nil)
			continue
		}
		all := &ranks[len(ranks)-1]
		if f[1] == "requires" {
			a, b := number(f[0][1:])-1, number(f[2][1:])-1
			(*all)[b].frees = append((*all)[b].frees, a)
			(*all)[a].waits++
			continue
		}
		require.Equal(t, fmt.Sprintf("l%d:", len(*all)+1), f[0])
		op := &goalOp{what: f[1], rank: len(ranks) - 1}
		op.size = int64(number(strings.TrimSuffix(f[2], "b")))
		rest := f[3:]
		for len(rest) > 0 {
			v := number(rest[1])
			switch rest[0] {
			case "to", "from":
				op.peer = v
			case "tag":
				op.tag = v
			case "cpu":
				op.cpu = v
			case "nic":
				require.NotEqual(t, "calc", op.what)
				op.nic = v
			default:
				t.Fatalf("%q", line)
			}
			rest = rest[2:]
		}
		require.Less(t, max(op.cpu, op.nic), 256)
		*all = append(*all, op)
	}
	return ranks
}

// loggopsim executes GOAL as LogGOPSim does (Hoefler, Schneider, Lumsdaine, "LogGOPSim",
// 2010), with o = O = 0 and without a limit S: an operation starts when its CPU and NIC are
// free, a message has the CPU and NIC of its send, and its receive frees what waits for it
// when the first byte arrives, though the CPU is busy until the last. It returns when the
// last CPU is free.
func loggopsim(t *testing.T, ranks [][]*goalOp, x LogGOPS) int64 {
	t.Helper()
	type event struct {
		at   int64
		op   *goalOp
		host int
		msg  bool
		i    int
	}
	var queue []event
	type unit struct{ host, number int }
	cpu, sends, receives := map[unit]int64{}, map[unit]int64{}, map[unit]int64{}
	type match struct{ from, to, tag int }
	posted, arrived := map[match]int{}, map[match]int{}
	free := func(h, i int) {
		op := ranks[h][i]
		at := cpu[unit{h, op.cpu}]
		if op.what == "send" {
			at = max(at, sends[unit{h, op.nic}])
		}
		queue = append(queue, event{at, op, h, false, i})
	}
	for h, all := range ranks {
		for i, op := range all {
			if op.waits == 0 {
				free(h, i)
			}
		}
	}
	left := 0
	finish := func(h, i int) {
		left--
		for _, j := range ranks[h][i].frees {
			if ranks[h][j].waits--; ranks[h][j].waits == 0 {
				free(h, j)
			}
		}
	}
	for _, all := range ranks {
		left += len(all)
	}
	for len(queue) > 0 {
		k := 0
		for i := range queue {
			if queue[i].at < queue[k].at {
				k = i
			}
		}
		e := queue[k]
		queue = append(queue[:k], queue[k+1:]...)
		again := func(at int64) { e.at = at; queue = append(queue, e) }
		c, n := unit{e.host, e.op.cpu}, unit{e.host, e.op.nic}
		last := (e.op.size - 1) * x.G
		switch {
		case e.msg:
			key := match{e.op.rank, e.host, e.op.tag}
			if busy := max(cpu[c], receives[n]); busy > e.at {
				again(busy)
				continue
			}
			cpu[c], receives[n] = e.at+last, e.at+x.G+last
			if i, waiting := posted[key]; waiting {
				finish(e.host, i)
			} else {
				arrived[key] = e.i
			}
		case e.op.what == "send":
			if busy := max(cpu[c], sends[n]); busy > e.at {
				again(busy)
				continue
			}
			sends[n] = e.at + x.G + last
			queue = append(queue, event{e.at + x.L, e.op, e.op.peer, true, e.i})
			finish(e.host, e.i)
		case e.op.what == "recv":
			key := match{e.op.peer, e.host, e.op.tag}
			if _, there := arrived[key]; there {
				finish(e.host, e.i)
			} else {
				posted[key] = e.i
			}
		case cpu[c] > e.at:
			again(cpu[c])
		default:
			cpu[c] = e.at + e.op.size
			finish(e.host, e.i)
		}
	}
	require.Zero(t, left, "operations that never started")
	end := int64(0)
	for _, at := range cpu {
		end = max(end, at)
	}
	return end
}

// uniform is full, with equal links.
func uniform(n int, alpha model.Time, bandwidth int64) *model.Topology {
	t := full(n)
	for i := range t.Links {
		t.Links[i].Alpha, t.Links[i].Bandwidth = alpha, bandwidth
	}
	return t
}

// gather returns an all-gather on n ranks. In a ring everybody passes on to the next what it
// received; else everybody sends what it has to all others at once.
func gather(t *testing.T, topology *model.Topology, ring bool) (*model.Problem, *model.Schedule) {
	t.Helper()
	n := topology.Ranks
	p := &model.Problem{Topology: topology, Collective: model.Collective{Kind: model.AllGather}, Size: int64(n * 1000), Cost: model.Pipelined}
	p = p.WithChunks(n)
	s := &model.Schedule{Form: model.Timed}
	link := map[[2]int]int{}
	for i, l := range topology.Links {
		link[[2]int{l.Src, l.Dst}] = i
		s.Routes = append(s.Routes, []int{i})
	}
	step := topology.Duration([]int{0}, 1000)
	for r := range n {
		for d := 1; d < n; d++ {
			src, dst, start := r, (r+d)%n, model.Time(0)
			if ring {
				src, start = (r+d-1)%n, model.Time(d-1)*step
			}
			s.Transfers = append(s.Transfers, model.Transfer{Chunk: int32(r), Src: int32(src), Dst: int32(dst), Route: int32(link[[2]int{src, dst}]), Start: start, End: start + step})
		}
	}
	require.NoError(t, s.Validate(p))
	return p, s
}

// TestLogGOPS: with the parameters that belong to a file, LogGOPSim's time is the makespan:
// of a ring, where a rank sends and receives one message at a time, and, with a CPU and a NIC
// for each directed pair, of an exchange of all with all at once.
func TestLogGOPS(t *testing.T) {
	run := func(p *model.Problem, s *model.Schedule, o GOALOptions) int64 {
		t.Helper()
		var b bytes.Buffer
		require.NoError(t, GOAL(&b, p, s, o))
		return loggopsim(t, parseGOAL(t, b.String()), NewLogGOPS(p, s, o.unit()))
	}
	ps := GOALOptions{Unit: 1}
	for n := 2; n <= 6; n++ {
		p, s := gather(t, uniform(n, model.Microsecond, 2e9), true)
		x := NewLogGOPS(p, s, 1)
		require.Equal(t, "-L 1000500 -o 0 -g 500 -G 500 -O 0 -S 1000", x.String())
		require.True(t, x.Latency && x.PerByte)
		require.EqualValues(t, p.Makespan(s), run(p, s, ps), "a ring of %d", n)
		require.EqualValues(t, p.Makespan(s), run(p, s, GOALOptions{Unit: 1, Pairs: true}), "a ring of %d with pairs", n)
	}
	p, s := gather(t, uniform(5, model.Microsecond, 2e9), false)
	require.EqualValues(t, p.Makespan(s), run(p, s, GOALOptions{Unit: 1, Pairs: true}), "all at once")
	require.Greater(t, run(p, s, ps), int64(p.Makespan(s)), "one after the other")

	late := *p
	late.Release = make([]model.Time, 5)
	late.Release[3] = 1500*model.Nanosecond + 1
	var b bytes.Buffer
	require.NoError(t, GOAL(&b, &late, s, ps))
	require.Contains(t, b.String(), "calc 1500001\n")
	b.Reset()
	require.NoError(t, GOAL(&b, &late, s, GOALOptions{}))
	require.Contains(t, b.String(), "calc 1501\n")

	p.Topology.Links[3].Alpha *= 2
	p.Topology.Links[3].Bandwidth /= 2
	x := NewLogGOPS(p, s, model.Nanosecond)
	require.False(t, x.Latency || x.PerByte)
	require.Equal(t, "1", x.Exact.RatString())
	require.Equal(t, "-L 2001 -o 0 -g 1 -G 1 -O 0 -S 1000", x.String())

	wide := uniform(2, 0, 1)
	wide.Ranks = 257
	require.ErrorContains(t, GOAL(&b, &model.Problem{Topology: wide, Collective: model.Collective{Kind: model.Broadcast}, Size: 1, Cost: model.Pipelined, Chunks: []model.Chunk{{Size: 1}}}, &model.Schedule{Form: model.Timed}, GOALOptions{Pairs: true}), "257 ranks, want at most 256")
	require.ErrorContains(t, GOAL(&b, p, s, GOALOptions{Unit: -1}), "want more than zero")
}
