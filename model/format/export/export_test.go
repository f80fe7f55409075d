package export

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/oraccl/oraccl/model"
)

// full is n ranks with a link from each to each other, of different speeds.
func full(n int) *model.Topology {
	t := &model.Topology{Name: "full", Ranks: n}
	for i := range n {
		for j := range n {
			if i != j {
				t.Links = append(t.Links, model.Link{Src: i, Dst: j, Alpha: model.Time(i+1) * model.Nanosecond, Bandwidth: int64(1+(i*j+j)%3) * 1e9})
			}
		}
	}
	return t
}

// sum is what a slot holds: how often each rank's contribution; "" is undefined.
type sums map[[2]int32]map[int]int

func (m sums) put(rank, chunk int32, v map[int]int, add bool) {
	w := map[int]int{}
	for k, n := range v {
		w[k] += n
	}
	if add {
		for k, n := range m[[2]int32{rank, chunk}] {
			w[k] += n
		}
	}
	m[[2]int32{rank, chunk}] = w
}

// draw draws a problem in which every rank holds something of every chunk, and a schedule
// without races: transfers start when their links are free, and none ends together with
// another at one slot. It returns what the slots hold in the end.
func draw(t *rapid.T) (*model.Problem, *model.Schedule, sums) {
	n := rapid.IntRange(2, 5).Draw(t, "ranks")
	chunks := rapid.IntRange(1, 3).Draw(t, "chunks")
	p := &model.Problem{Topology: full(n), Collective: model.Collective{Kind: model.AllReduce}, Size: 3000, Cost: model.Pipelined}
	p = p.WithChunks(chunks)
	even := rapid.Bool().Draw(t, "even") // much happens at the same instants
	if even {
		for i := range p.Topology.Links {
			p.Topology.Links[i].Alpha, p.Topology.Links[i].Bandwidth = 0, 1e9
		}
	}
	s := &model.Schedule{Form: model.Timed}
	for i := range p.Topology.Links {
		s.Routes = append(s.Routes, []int{i})
	}
	free := make([]model.Time, len(p.Topology.Links))
	ends := map[[3]int64]bool{}
	for range rapid.IntRange(0, 20).Draw(t, "transfers") {
		l := rapid.IntRange(0, len(free)-1).Draw(t, "link")
		k := rapid.IntRange(0, chunks-1).Draw(t, "chunk")
		link := p.Topology.Links[l]
		length := p.Topology.Duration([]int{l}, p.Chunks[k].Size)
		start := free[l] + model.Time(rapid.IntRange(0, 2000).Draw(t, "wait"))*model.Nanosecond
		step := model.Time(1)
		if even {
			step = length
			start = free[l] + model.Time(rapid.IntRange(0, 2).Draw(t, "steps"))*step
		}
		for ends[[3]int64{int64(link.Dst), int64(k), int64(start + length)}] {
			start += step
		}
		ends[[3]int64{int64(link.Dst), int64(k), int64(start + length)}] = true
		free[l] = start + length
		s.Transfers = append(s.Transfers, model.Transfer{Chunk: int32(k), Src: int32(link.Src), Dst: int32(link.Dst), Route: int32(l),
			Op: model.Op(rapid.IntRange(0, 1).Draw(t, "op")), Start: start, End: start + length})
	}
	return p, s, execute(p, s)
}

func initial(p *model.Problem) sums {
	m := sums{}
	for k := range p.Chunks {
		for r := range p.Topology.Ranks {
			m.put(int32(r), int32(k), map[int]int{r: 1}, false)
		}
	}
	return m
}

// execute executes a schedule by its times: what ends at an instant comes before what starts.
func execute(p *model.Problem, s *model.Schedule) sums {
	m := initial(p)
	type event struct {
		at   model.Time
		ends bool
		i    int
	}
	var events []event
	for i, x := range s.Transfers {
		events = append(events, event{x.Start, false, i}, event{x.End, true, i})
	}
	slices.SortStableFunc(events, func(a, b event) int {
		switch {
		case a.at != b.at:
			return int(min(max(a.at-b.at, -1), 1))
		case a.ends == b.ends:
			return 0
		case a.ends:
			return -1
		}
		return 1
	})
	hand := make([]map[int]int, len(s.Transfers))
	for _, e := range events {
		x := s.Transfers[e.i]
		if e.ends {
			m.put(x.Dst, x.Chunk, hand[e.i], x.Op == model.Reduction)
		} else {
			hand[e.i] = m[[2]int32{x.Src, x.Chunk}]
		}
	}
	return m
}

// simulate executes traces in an order that draws leave open: a node starts when all that it
// waits for has ended; a send takes what is there when it starts, and it and its receive end
// when both have started. It fails where nothing can go on.
func simulate(t *rapid.T, p *model.Problem, s *model.Schedule, all [][]etNode) sums {
	m := initial(p)
	type at struct{ rank, node int }
	left := map[at]bool{}
	done := map[at]bool{}
	started := map[string]bool{}
	hand := map[uint64]map[int]int{}
	held := map[string]map[int]int{}
	var order []at
	for r, nodes := range all {
		for i := range nodes {
			left[at{r, i}] = true
			order = append(order, at{r, i})
		}
	}
	written := map[uint64]bool{} // transfers that have a node for it
	for _, nodes := range all {
		for _, x := range nodes {
			if x.typ == compNode && !strings.HasPrefix(x.name, "hold") && x.name != "arrive" {
				written[transferOf(t, x)] = true
			}
		}
	}
	for len(left) > 0 {
		var ready []at
		for _, a := range order {
			if !left[a] || started[fmt.Sprint(a)] {
				continue
			}
			ok := true
			for _, d := range all[a.rank][a.node].deps {
				ok = ok && done[at{a.rank, int(d - 1)}]
			}
			if ok {
				ready = append(ready, a)
			}
		}
		if len(ready) == 0 {
			t.Fatalf("nothing can go on: %d nodes left", len(left))
		}
		a := ready[rapid.IntRange(0, len(ready)-1).Draw(t, "next")]
		x := all[a.rank][a.node]
		started[fmt.Sprint(a)] = true
		end := func(a at) { delete(left, a); done[a] = true }
		switch x.typ {
		case compNode:
			if x.name != "arrive" {
				i := transferOf(t, x)
				y := s.Transfers[i]
				if strings.HasPrefix(x.name, "hold") {
					held[fmt.Sprint(i)] = m[[2]int32{y.Src, y.Chunk}]
				} else {
					m.put(y.Dst, y.Chunk, hand[i], strings.HasPrefix(x.name, "reduce"))
				}
			}
			end(a)
		case sendNode, recvNode:
			tag := x.attr["comm_tag"].number
			y := s.Transfers[tag]
			if x.typ == sendNode {
				hand[tag] = m[[2]int32{y.Src, y.Chunk}]
				if v, kept := held[fmt.Sprint(tag)]; kept {
					hand[tag] = v
				}
			}
			other := sendNode + recvNode - x.typ
			for _, b := range order {
				o := all[b.rank][b.node]
				if o.typ == other && o.attr["comm_tag"].number == tag && started[fmt.Sprint(b)] {
					end(a)
					end(b)
					if !written[tag] {
						m.put(y.Dst, y.Chunk, hand[tag], false)
					}
				}
			}
		}
	}
	return m
}

func transferOf(t *rapid.T, x etNode) (i uint64) {
	var chunk int
	if _, err := fmt.Sscanf(x.name[strings.Index(x.name, "chunk"):], "chunk %d of transfer %d", &chunk, &i); err != nil {
		t.Fatalf("%s: %v", x.name, err)
	}
	return i
}

// TestTraces: whatever order a simulator takes, traces give what the schedule gives.
func TestTraces(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		p, s, want := draw(r)
		got := simulate(r, p, s, traces(t, p, s))
		require.Equal(t, want, got)
	})
}

// TestExchange: both sides send what they had; a late rank begins with its arrival.
func TestExchange(t *testing.T) {
	p := &model.Problem{Topology: full(2), Collective: model.Collective{Kind: model.AllReduce}, Size: 10, Cost: model.LinkRounds, Release: []model.Time{0, 1500 * model.Nanosecond}}
	p = p.WithChunks(1)
	s := &model.Schedule{Form: model.InRounds, Routes: [][]int{{0}, {1}}, Transfers: []model.Transfer{
		{Dst: 1, Op: model.Reduction, End: 1}, {Src: 1, Route: 1, Op: model.Reduction, End: 1}}}
	all := traces(t, p, s)
	require.Len(t, all[0], 3)
	require.Equal(t, []string{"recv chunk 0 from 1", "send chunk 0 to 1", "reduce chunk 0 of transfer 1"}, names(all[0]))
	require.Equal(t, "arrive", all[1][0].name)
	require.EqualValues(t, 2, all[1][0].duration)
	require.Equal(t, etValue{field: 9}, all[1][0].attr["num_ops"])
	require.Equal(t, etValue{field: 13, number: 1}, all[1][0].attr["tensor_size"])
	require.Equal(t, []uint64{1}, all[1][1].deps)

	var b bytes.Buffer
	require.NoError(t, GOAL(&b, p, s, GOALOptions{}))
	require.Equal(t, `num_ranks 2

rank 0 {
l1: recv 10b from 1 tag 1
l2: send 10b to 1 tag 0
l3: calc 0
l3 requires l1
l3 requires l2
}

rank 1 {
l1: calc 1500
l2: recv 10b from 0 tag 0
l2 requires l1
l3: calc 0
l3 requires l1
l4: send 10b to 0 tag 1
l4 requires l3
l5: calc 0
l5 requires l2
l5 requires l3
}
`, b.String())
}

func names(nodes []etNode) (list []string) {
	for _, x := range nodes {
		list = append(list, x.name)
	}
	return list
}

// TestChrome: the trace is JSON, every transfer is there twice with its arrow, and on no
// row do events overlap.
func TestChrome(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		p, s, _ := draw(r)
		var b bytes.Buffer
		require.NoError(t, Chrome(&b, p, s))
		var trace struct {
			TraceEvents []struct {
				Name, Cat, Ph string
				Ts, Dur       json.Number
				Pid, Tid, ID  int
				Args          map[string]any
			}
		}
		require.NoError(t, json.Unmarshal(b.Bytes(), &trace))
		type row struct{ pid, tid int }
		until := map[row]float64{}
		counts := map[string]int{}
		for _, e := range trace.TraceEvents {
			counts[e.Ph+e.Cat]++
			if e.Ph != "X" {
				continue
			}
			ts, err := e.Ts.Float64()
			require.NoError(t, err)
			dur, err := e.Dur.Float64()
			require.NoError(t, err)
			require.GreaterOrEqual(t, ts, until[row{e.Pid, e.Tid}]-1e-9)
			until[row{e.Pid, e.Tid}] = ts + dur
			x := s.Transfers[int(e.Args["transfer"].(float64))]
			require.EqualValues(t, x.Src, e.Args["src"])
			switch e.Cat {
			case "send":
				require.Equal(t, int(x.Src), e.Pid)
				require.InDelta(t, float64(x.Start+Origin)/1e6, ts, 1e-9)
			case "receive":
				require.Equal(t, int(x.Dst), e.Pid)
				require.InDelta(t, float64(x.End-x.Start)/1e6, dur, 1e-9)
			}
		}
		for _, key := range []string{"Xsend", "Xreceive", "Xlink", "stransfer", "ftransfer"} {
			require.Equal(t, len(s.Transfers), counts[key], key)
		}
	})
}

func TestRefused(t *testing.T) {
	p := (&model.Problem{Topology: full(2), Collective: model.Collective{Kind: model.Broadcast}, Size: 1, Cost: model.Pipelined}).WithChunks(1)
	s := &model.Schedule{Form: model.Ordered, Routes: [][]int{{0}}, Transfers: []model.Transfer{{Dst: 1}}, After: [][]int32{nil}}
	require.ErrorContains(t, GOAL(io.Discard, p, s, GOALOptions{}), "want one with times")
	require.ErrorContains(t, Chrome(io.Discard, p, s), "want one with times")
	require.ErrorContains(t, Chakra(p, s, nil), "want one with times")
}
