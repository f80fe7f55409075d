package model

import (
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// ringOf returns n ranks in a ring, links i: i to i+1.
func ringOf(n int) *Topology {
	t := &Topology{Name: fmt.Sprintf("ring%d", n), Ranks: n}
	for i := range n {
		t.Links = append(t.Links, Link{i, (i + 1) % n, 1000, 1e9})
	}
	return t
}

// conditions writes what a chunk's pre- or postcondition says: "2: 0+1, 3: 2*1".
func conditions(seq func(yield func(int, Value) bool)) string {
	var parts []string
	for r, v := range seq {
		var terms []string
		for rank, n := range v.Terms() {
			if n != 1 {
				terms = append(terms, fmt.Sprintf("%d*%d", n, rank))
				continue
			}
			terms = append(terms, fmt.Sprint(rank))
		}
		parts = append(parts, fmt.Sprintf("%d: %s", r, strings.Join(terms, "+")))
	}
	return strings.Join(parts, ", ")
}

// Every collective among the ranks 3, 0, 2 of four, in that order, with the root 2:
// what is where, chunk by chunk.
func TestStartAndGoal(t *testing.T) {
	group := []int{3, 0, 2}
	for _, c := range []struct {
		kind   Kind
		chunks int
		want   []string // "start | goal"
	}{
		{Broadcast, 2, []string{"2: 2 | 3: 2, 0: 2, 2: 2", "2: 2 | 3: 2, 0: 2, 2: 2"}},
		{Scatter, 3, []string{"2: 2 | 3: 2", "2: 2 | 0: 2", "2: 2 | 2: 2"}},
		{Gather, 3, []string{"3: 3 | 2: 3", "0: 0 | 2: 0", "2: 2 | 2: 2"}},
		{Reduce, 1, []string{"3: 3, 0: 0, 2: 2 | 2: 3+0+2"}},
		{AllGather, 6, []string{
			"3: 3 | 3: 3, 0: 3, 2: 3", "3: 3 | 3: 3, 0: 3, 2: 3", "0: 0 | 3: 0, 0: 0, 2: 0", "0: 0 | 3: 0, 0: 0, 2: 0", "2: 2 | 3: 2, 0: 2, 2: 2", "2: 2 | 3: 2, 0: 2, 2: 2",
		}},
		{ReduceScatter, 3, []string{"3: 3, 0: 0, 2: 2 | 3: 3+0+2", "3: 3, 0: 0, 2: 2 | 0: 3+0+2", "3: 3, 0: 0, 2: 2 | 2: 3+0+2"}},
		{AllReduce, 1, []string{"3: 3, 0: 0, 2: 2 | 3: 3+0+2, 0: 3+0+2, 2: 3+0+2"}},
		{AllToAll, 9, []string{
			"3: 3 | 3: 3", "3: 3 | 0: 3", "3: 3 | 2: 3", "0: 0 | 3: 0", "0: 0 | 0: 0", "0: 0 | 2: 0", "2: 2 | 3: 2", "2: 2 | 0: 2", "2: 2 | 2: 2",
		}},
	} {
		p := &Problem{Topology: ringOf(4), Collective: Collective{Kind: c.kind, Group: group}, Size: 3000, Cost: Pipelined}
		if c.kind.Rooted() {
			p.Collective.Root = 2
		}
		require.NoError(t, p.Validate())
		p = p.WithChunks(c.chunks)
		require.NoError(t, p.Validate())
		for k := range p.Chunks {
			require.Equal(t, c.want[k], conditions(p.Start(k))+" | "+conditions(p.Goal(k)), "%v chunk %d", c.kind, k)
			for range p.Start(k) {
				break // an iterator that is left early
			}
			for range p.Goal(k) {
				break
			}
		}
	}
	all := (&Problem{Topology: ringOf(3), Collective: Collective{Kind: ReduceScatter}, Size: 3, Cost: Rounds}).WithChunks(3)
	require.Equal(t, "0: 0, 1: 1, 2: 2 | 1: 0+1+2", conditions(all.Start(1))+" | "+conditions(all.Goal(1)))

	custom := &Problem{Topology: ringOf(3), Size: 10, Cost: Rounds, Chunks: []Chunk{{0, 1}, {1, 9}}, Collective: Collective{Kind: Custom, Chunks: 2,
		Pre:  []Condition{{0, 0, Unit(0)}, {1, 0, Unit(1)}, {2, 1, Unit(2)}},
		Post: []Condition{{2, 0, Multiset(Term{1, 2}, Term{0, 1})}, {0, 1, Unit(2)}}}}
	require.NoError(t, custom.Validate())
	require.Equal(t, "0: 0, 1: 1 | 2: 0+2*1", conditions(custom.Start(0))+" | "+conditions(custom.Goal(0)))
	require.Equal(t, "2: 2 | 0: 2", conditions(custom.Start(1))+" | "+conditions(custom.Goal(1)))
	require.Equal(t, []int{0, 1}, []int{custom.Shard(0), custom.Shard(1)}, "a chunk of a custom collective is its own shard, whatever its size")
}

func TestDefaultChunksAndSpace(t *testing.T) {
	for kind, want := range map[Kind][3]int64{ // with k = 2 among 3: chunks, shards, space of 30 bytes
		Broadcast: {2, 1, 30}, Reduce: {2, 1, 30}, Scatter: {6, 3, 30}, Gather: {6, 3, 30}, AllGather: {6, 3, 30},
		ReduceScatter: {6, 3, 30}, AllReduce: {6, 1, 30}, AllToAll: {18, 9, 90},
	} {
		p := &Problem{Topology: ringOf(4), Collective: Collective{Kind: kind, Group: []int{0, 1, 2}}, Size: 30}
		require.Equal(t, want, [3]int64{int64(p.DefaultChunks(2)), int64(p.Shards()), p.Space()}, kind.String())
	}
}

// Cut divides as evenly as whole bytes allow, without a gap, also where the product
// of size and number exceeds 64 bits.
func TestCut(t *testing.T) {
	p := &Problem{Topology: ringOf(3), Collective: Collective{Kind: Broadcast}, Size: 10}
	require.Equal(t, []Chunk{{0, 3}, {3, 3}, {6, 4}}, p.Cut(3))
	rapid.Check(t, func(t *rapid.T) {
		p.Size = rapid.Int64Range(1, MaxSize).Draw(t, "size")
		n := rapid.IntRange(1, 1000).Draw(t, "chunks")
		at := int64(0)
		for i, c := range p.Cut(n) {
			require.Equal(t, at, c.Offset)
			require.GreaterOrEqual(t, c.Size, p.Size/int64(n))
			require.LessOrEqual(t, c.Size, p.Size/int64(n)+1)
			exact := new(big.Int).Mul(big.NewInt(p.Size), big.NewInt(int64(i)))
			require.Equal(t, exact.Div(exact, big.NewInt(int64(n))).Int64(), c.Offset)
			at += c.Size
		}
		require.Equal(t, p.Size, at)
	})
}

// Shard against looking at every shard, for chunks of any sizes.
func TestShardAgainstSearch(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		kind := rapid.SampledFrom([]Kind{Broadcast, Scatter, Gather, AllGather, ReduceScatter, AllReduce, AllToAll}).Draw(t, "kind")
		p := &Problem{Topology: ringOf(rapid.IntRange(2, 9).Draw(t, "ranks")), Collective: Collective{Kind: kind}, Cost: Pipelined}
		p.Size = rapid.OneOf(rapid.Int64Range(int64(p.Shards()), 200), rapid.Int64Range(1<<36, 1<<40)).Draw(t, "size")
		p.Chunks = drawChunks(t, p)
		require.NoError(t, p.Validate())
		n, space := p.Shards(), big.NewInt(p.Space())
		for k, c := range p.Chunks {
			want := -1
			for s := range n {
				from := new(big.Int).Div(new(big.Int).Mul(space, big.NewInt(int64(s))), big.NewInt(int64(n))).Int64()
				to := new(big.Int).Div(new(big.Int).Mul(space, big.NewInt(int64(s+1))), big.NewInt(int64(n))).Int64()
				if from <= c.Offset && c.Offset+c.Size <= to {
					want = s
				}
			}
			require.Equal(t, want, p.Shard(k))
			from, to := p.Owner(k)
			switch kind {
			case Scatter, ReduceScatter:
				require.Equal(t, [2]int{-1, want}, [2]int{from, to})
			case Gather, AllGather:
				require.Equal(t, [2]int{want, -1}, [2]int{from, to})
			case AllToAll:
				require.Equal(t, [2]int{want / p.Topology.Ranks, want % p.Topology.Ranks}, [2]int{from, to})
			default:
				require.Equal(t, [2]int{-1, -1}, [2]int{from, to})
			}
		}
	})
}

// What a cut may not do, one change each.
func TestProblemValidate(t *testing.T) {
	good := func() *Problem {
		return (&Problem{Topology: ringOf(3), Collective: Collective{Kind: AllGather}, Size: 10, Cost: Pipelined}).WithChunks(3)
	}
	require.NoError(t, good().Validate())
	for want, change := range map[string]func(p *Problem){
		"topology: missing":         func(p *Problem) { p.Topology = nil },
		"topology.ranks: 0, want 1": func(p *Problem) { p.Topology.Ranks = 0 },
		"topology.links[1].dst: node 3 does not exist, want 0 to 2": func(p *Problem) { p.Topology.Links[1].Dst = 3 },
		"collective.kind: 77 does not exist":                        func(p *Problem) { p.Collective.Kind = 77 },
		"collective.op: 7 does not exist":                           func(p *Problem) { p.Collective.Op = 7 },
		"collective.group: empty":                                   func(p *Problem) { p.Collective.Group = []int{} },
		"collective.root: 1, want none for allgather":               func(p *Problem) { p.Collective.Root = 1 },
		"cost: missing":                func(p *Problem) { p.Cost = 0 },
		"size: 0 bytes":                func(p *Problem) { p.Size = 0 },
		"size: 1125899906842625 bytes": func(p *Problem) { p.Size = MaxSize + 1 },
		"size: 2 bytes for 3 shards":   func(p *Problem) { p.Size, p.Chunks = 2, nil },
		"size: 2 bytes for 3 shards, want at least one byte a shard": func(p *Problem) {
			p.Size, p.Chunks = 2, []Chunk{{0, 1}, {1, 1}} // shards 1 and 2; nobody would own shard 0
		},
		"release: 2 times":       func(p *Problem) { p.Release = []Time{0, 0} },
		"release[1]: -1 ps":      func(p *Problem) { p.Release = []Time{0, -1, 0} },
		"chunks: 0, want 1":      func(p *Problem) { p.Chunks = []Chunk{} },
		"chunks[1]: offset 4":    func(p *Problem) { p.Chunks[1].Offset = 4 },
		"chunks[1]: size 0":      func(p *Problem) { p.Chunks[1].Size = 0 },
		"chunks[1]: size -3":     func(p *Problem) { p.Chunks[1].Size = -3 },
		"chunks[2]: ends beyond": func(p *Problem) { p.Chunks[2].Size = 1 << 62 },
		"chunks: they cover 6":   func(p *Problem) { p.Chunks = p.Chunks[:2] },
		"chunks[0]: bytes 0 to 4 straddle two shards, want an end at 3 or before": func(p *Problem) {
			p.Chunks = []Chunk{{0, 4}, {4, 6}}
		},
		"collective: alltoall among 3000 members has 9000000 shards": func(p *Problem) {
			*p = Problem{Topology: ringOf(3000), Collective: Collective{Kind: AllToAll}, Size: 3000, Cost: Pipelined}
		},
		"size: 1125899906842624 bytes a member of 3": func(p *Problem) {
			*p = Problem{Topology: ringOf(3), Collective: Collective{Kind: AllToAll}, Size: MaxSize, Cost: Pipelined}
		},
		"size: 10 bytes take more than": func(p *Problem) {
			for i := range 3 {
				p.Topology.Links[i].Bandwidth = 1
			}
			p.Topology.Ranks = MaxNodes
			p.Collective.Group = []int{0, 1, 2}
		},
	} {
		p := good()
		change(p)
		require.ErrorContains(t, p.Validate(), want)
	}
}

func TestCollectiveValidate(t *testing.T) {
	good := func() *Collective {
		return &Collective{Kind: Custom, Group: []int{2, 0}, Chunks: 2,
			Pre: []Condition{{0, 0, Unit(0)}, {2, 0, Unit(2)}, {0, 1, Unit(0)}}, Post: []Condition{{2, 0, Once([]int{0, 2})}}}
	}
	require.NoError(t, good().validate(3))
	for want, change := range map[string]func(c *Collective){
		"group[1]: rank 3 does not exist":                  func(c *Collective) { c.Group[1] = 3 },
		"group[1]: rank 2 is named twice":                  func(c *Collective) { c.Group[1] = 2 },
		"root: 2, want none":                               func(c *Collective) { c.Root = 2 },
		"chunks: missing":                                  func(c *Collective) { c.Chunks = 0 },
		"chunks: -1":                                       func(c *Collective) { c.Chunks = -1 },
		"post: empty":                                      func(c *Collective) { c.Post = nil },
		"pre[0].rank: rank 1 is not in the group":          func(c *Collective) { c.Pre[0].Rank = 1 },
		"pre[2].chunk: chunk 2 does not exist":             func(c *Collective) { c.Pre[2].Chunk = 2 },
		"pre[1].contributions: empty":                      func(c *Collective) { c.Pre[1].Value = Value{} },
		"pre[1].contributions: rank 1 is not in the group": func(c *Collective) { c.Pre[1].Value = Unit(1) },
		"post[0].contributions: rank 0 0 times":            func(c *Collective) { c.Post[0].Value = Value{terms: []Term{{0, 0}}} },
		"post[0].contributions: rank 0 1 times":            func(c *Collective) { c.Post[0].Value = Value{terms: []Term{{0, 1}, {0, 1}}} },
		"pre[1]: rank 0, chunk 0 is named twice":           func(c *Collective) { c.Pre[1].Rank = 0 },
		"pre[1]: rank 0, chunk 0 is out of order":          func(c *Collective) { slices.Reverse(c.Pre[:2]) },
		"pre: allreduce has its conditions by itself":      func(c *Collective) { c.Kind, c.Chunks = AllReduce, 0 },
		"post: allreduce has its conditions by itself":     func(c *Collective) { c.Kind, c.Chunks, c.Pre = AllReduce, 0, nil },
		"chunks: allreduce has none of its own":            func(c *Collective) { c.Kind = AllReduce },
		"root: rank 1 is not in the group":                 func(c *Collective) { *c = Collective{Kind: Reduce, Group: []int{0, 2}, Root: 1} },
	} {
		c := good()
		change(c)
		require.ErrorContains(t, c.validate(3), want)
	}
}

func TestTopologyValidate(t *testing.T) {
	good := func() *Topology {
		return &Topology{Ranks: 2, Switches: []Switch{{Name: "a"}, {Copies: true}, {}},
			Links: []Link{{0, 2, 0, 1}, {2, 1, 5, 9}, {0, 1, 0, 1}}, Ports: []Port{{"p", []int{0, 2}, 1}, {"", []int{1, 2}, 2}}}
	}
	require.NoError(t, good().Validate())
	for want, change := range map[string]func(p *Topology){
		"ranks: -1, want 1": func(p *Topology) { p.Ranks = -1 },
		"switches[1].name: \"a\" is that of switches[0]":       func(p *Topology) { p.Switches[1].Name = "a" },
		"switches[1].name: name \"\\n\" has characters":        func(p *Topology) { p.Switches[1].Name = "\n" },
		"name: name \"\\xff\" is not UTF-8":                    func(p *Topology) { p.Name = "\xff" },
		"name: name of 2000 bytes":                             func(p *Topology) { p.Name = strings.Repeat("n", 2000) },
		"links[0].src: node -1 does not exist, want 0 to 4":    func(p *Topology) { p.Links[0].Src = -1 },
		"links[0].dst: node 5 does not exist, want 0 to 4":     func(p *Topology) { p.Links[0].Dst = 5 },
		"links[1].dst: node 1 is the source too":               func(p *Topology) { p.Links[1].Src = 1 },
		"links[1].alpha: -1 ps":                                func(p *Topology) { p.Links[1].Alpha = -1 },
		"links[1].alpha: 9223372036854775807 ps":               func(p *Topology) { p.Links[1].Alpha = MaxTime },
		"links[1].bandwidth: 0 bytes per second":               func(p *Topology) { p.Links[1].Bandwidth = 0 },
		"ports[0].capacity: 0":                                 func(p *Topology) { p.Ports[0].Capacity = 0 },
		"ports[1].name: \"p\" is that of ports[0]":             func(p *Topology) { p.Ports[1].Name = "p" },
		"ports[0].links: empty":                                func(p *Topology) { p.Ports[0].Links = nil },
		"ports[0].links[1]: link 3 does not exist":             func(p *Topology) { p.Ports[0].Links[1] = 3 },
		"ports[0].links[1]: link 0 is named twice":             func(p *Topology) { p.Ports[0].Links[1] = 0 },
		"ports[0].links: they neither all leave nor all enter": func(p *Topology) { p.Ports[0].Links[1] = 1 },
	} {
		p := good()
		change(p)
		require.ErrorContains(t, p.Validate(), want)
	}
}

// TestTopologyAdds: a switch that ranks read sums at has one link each way to a rank, alike.
func TestTopologyAdds(t *testing.T) {
	good := func(r Reducing) *Topology {
		return &Topology{Ranks: 2, Switches: []Switch{{Name: "a", Copies: true, Reduces: r, Sums: 2}},
			Links: []Link{{0, 2, 1, 5}, {2, 0, 2, 5}, {1, 2, 1, 7}, {2, 1, 2, 7}}}
	}
	for _, r := range []Reducing{SumsRead, SumsTurned} {
		require.NoError(t, good(r).Validate())
		got, err := ParseReducing(r.String())
		require.NoError(t, err)
		require.Equal(t, r, got)
	}
	for want, change := range map[string]func(p *Topology){
		"switches[0].reduces: Reducing(3), want read or turn": func(p *Topology) { p.Switches[0].Reduces = 3 },
		"switches[0].sums: -1, want 0 to":                     func(p *Topology) { p.Switches[0].Sums = -1 },
		"want none at a switch that does not add":             func(p *Topology) { p.Switches[0].Reduces = NoReducing },
		"computed, want none at a switch that does not add": func(p *Topology) {
			p.Switches[0].Reduces, p.Switches[0].Sums, p.Switches[0].Operations = NoReducing, 0, OperatorSet(Max)
		},
		"types: 1, want a set of element types": func(p *Topology) { p.Switches[0].Types[Sum] = 1 },
		"types: max of bf16, want types of what it computes: sum": func(p *Topology) {
			p.Switches[0].Operations, p.Switches[0].Types[Max] = OperatorSet(Sum), DTypeSet(BF16)
		},
		"types: sum of fp16, bf16, want none at a switch that does not add": func(p *Topology) {
			p.Switches[0] = Switch{Name: "a", Types: [4]DTypes{DTypeSet(BF16, FP16)}}
		},
		"read, with two links from rank 1, want one":     func(p *Topology) { p.Links = append(p.Links, p.Links[2]) },
		"read, with two links to rank 0, want one":       func(p *Topology) { p.Links = append(p.Links, p.Links[1]) },
		"read, with latencies of 1ps and 3ps from ranks": func(p *Topology) { p.Links[2].Alpha = 3 },
		"read, with latencies of 2ps and 0s to ranks":    func(p *Topology) { p.Links[3].Alpha = 0 },
		"of equal bandwidth at rank 1":                   func(p *Topology) { p.Links[3].Bandwidth = 8 },
		"without a link each way":                        func(p *Topology) { p.Links = p.Links[:3] },
	} {
		p := good(SumsRead)
		change(p)
		require.ErrorContains(t, p.Validate(), want)
	}
	w := good(SumsRead)
	w.Switches[0].Operations, w.Switches[0].Types[Sum] = OperatorSet(Sum, Max), DTypeSet(FP16, Int32)
	for want, c := range map[string]Collective{
		"": {DType: Int32}, "computes sum, max, not min": {Op: Min, DType: Int32}, "computes sum of fp16, int32, not of bf16": {DType: BF16},
	} {
		require.Equal(t, want, w.Switches[0].Computes(&c))
		require.Equal(t, want == "", w.Adds(2, &c) == SumsRead)
	}
	require.Empty(t, w.Switches[0].Computes(&Collective{}), "not stated: one of those")
	require.Empty(t, w.Switches[0].Computes(&Collective{Op: Max, DType: BF16}), "all maxima")
	for e := FP8E4M3; e <= Uint64; e++ {
		got, err := ParseDType(e.String())
		require.NoError(t, err)
		require.Equal(t, e, got)
	}
	_, err := ParseDType("bfloat")
	require.ErrorContains(t, err, `element type "bfloat": want fp8-e4m3, `)
	_, err = ParseReducing("add")
	require.ErrorContains(t, err, `reduces "add": want read or turn`)
	v, adds := good(SumsTurned).Reducer()
	require.Equal(t, []any{2, true, SumsTurned, NoReducing}, []any{v, adds, good(SumsTurned).Reduces(2), good(SumsTurned).Reduces(1)})
	require.Equal(t, []Switch{{Name: "a", Copies: true}}, good(SumsRead).Reversed().Switches)
}

func TestTopologyParts(t *testing.T) {
	tp := &Topology{Name: "t", Ranks: 2, Switches: []Switch{{Name: "a", Copies: true}, {}}, Links: []Link{{0, 2, 1, 1}, {2, 1, 2, 2}, {0, 2, 3, 3}}, Ports: []Port{{"p", []int{0, 2}, 1}}}
	require.Equal(t, [][]int{{0, 2}, {}, {1}, {}}, tp.Out())
	require.Equal(t, [][]int{{}, {1}, {0, 2}, {}}, tp.In())
	require.Equal(t, [][]int{{0}, nil, {0}}, tp.PortsOf())
	require.Equal(t, []bool{false, false, true, false}, []bool{tp.Copies(0), tp.Copies(1), tp.Copies(2), tp.Copies(3)})
	require.Equal(t, "rank 1|switch a|switch 3|node 4|node -1", strings.Join([]string{tp.NodeName(1), tp.NodeName(2), tp.NodeName(3), tp.NodeName(4), tp.NodeName(-1)}, "|"))
	back := tp.Reversed()
	require.Equal(t, Link{2, 0, 1, 1}, back.Links[0])
	require.False(t, back.Copies(2))
	require.True(t, tp.Copies(2), "the original is not touched")
	require.Equal(t, tp.Out(), back.In())
	require.NoError(t, back.Validate())
	require.False(t, tp.Equal(back))
}

func TestValues(t *testing.T) {
	unit, once, twice := Unit(3), Once([]int{4, 3}), Multiset(Term{4, 2}, Term{3, 1})
	require.True(t, unit.Equal(Multiset(Term{3, 1})))
	require.True(t, once.Equal(Multiset(Term{3, 1}, Term{4, 1})))
	require.False(t, once.Equal(twice))
	require.False(t, unit.Equal(once))
	require.False(t, unit.Equal(Unit(4)))
	require.True(t, Identical(once, once))
	require.False(t, Identical(once, Once([]int{4, 3})))
	r, single := unit.Single()
	require.True(t, single)
	require.Equal(t, 3, r)
	_, single = once.Single()
	require.False(t, single)
	require.Equal(t, map[int]int{3: 1, 4: 2}, maps.Collect(twice.Terms()))
	require.Equal(t, []int{1, 2, 2, 0}, []int{unit.Len(), once.Len(), twice.Len(), Value{}.Len()})
}

func TestSameUpToCut(t *testing.T) {
	make := func() *Problem {
		return &Problem{Topology: ringOf(3), Collective: Collective{Kind: AllGather}, Size: 30, Cost: Pipelined}
	}
	p := make()
	require.True(t, p.SameUpToCut(p.WithChunks(3)))
	require.False(t, p.WithChunks(3).SameUpToCut(p))
	require.False(t, p.WithChunks(3).SameUpToCut(p.WithChunks(6)))
	for name, same := range map[string]struct {
		change func(q *Problem)
		same   bool
	}{
		"the name":          {func(q *Problem) { q.Topology.Name = "other" }, true},
		"the group, all":    {func(q *Problem) { q.Collective.Group = []int{0, 1, 2} }, true},
		"the group's order": {func(q *Problem) { q.Collective.Group = []int{1, 0, 2} }, false},
		"no one late":       {func(q *Problem) { q.Release = []Time{0, 0, 0} }, true},
		"one late":          {func(q *Problem) { q.Release = []Time{0, 0, 1} }, false},
		"size":              {func(q *Problem) { q.Size++ }, false},
		"cost":              {func(q *Problem) { q.Cost = Blocking }, false},
		"operator":          {func(q *Problem) { q.Collective.Op = Max }, false},
		"kind":              {func(q *Problem) { q.Collective.Kind = Gather }, false},
		"a link":            {func(q *Problem) { q.Topology.Links[1].Alpha++ }, false},
		"fewer ranks":       {func(q *Problem) { q.Topology = ringOf(2); q.Release = []Time{0, 0} }, false},
		"more ranks":        {func(q *Problem) { q.Topology = ringOf(4) }, false},
		"a port":            {func(q *Problem) { q.Topology.Ports = []Port{{"", []int{0}, 1}} }, false},
	} {
		q := make()
		same.change(q)
		require.Equal(t, same.same, p.SameUpToCut(q), name)
		require.Equal(t, same.same, q.SameUpToCut(p), name)
	}
}

func TestProblemString(t *testing.T) {
	p := &Problem{Topology: ringOf(4), Collective: Collective{Kind: Broadcast, Root: 2}, Size: 8 << 20, Cost: Pipelined, Release: []Time{0, 1, 0, 0}}
	require.Equal(t, "broadcast from rank 2 of 8 MiB, 4 ranks, on ring4, pipelined, with late ranks", p.String())
	require.Equal(t, "broadcast from rank 2 of 8 MiB in 1 chunk, 4 ranks, on ring4, pipelined, with late ranks", p.WithChunks(1).String())
	q := &Problem{Topology: ringOf(4), Collective: Collective{Kind: Gather, Group: []int{0, 1}}, Size: 10, Cost: Rounds, Release: []Time{0, 0, 0, 0}}
	require.Equal(t, "gather to rank 0 of 10 B in 2 chunks, 2 ranks, on ring4, rounds", q.WithChunks(2).String())
}
