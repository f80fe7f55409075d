package model

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// sized returns a problem on two ranks in which rank 0 has shards of these sizes for rank 1.
func sized(sizes ...int64) *Problem {
	c := Collective{Kind: Custom, Name: "moves", Chunks: len(sizes), Ends: EndsOf(sizes)}
	for k := range sizes {
		c.Pre = append(c.Pre, Condition{0, k, Unit(0)})
		c.Post = append(c.Post, Condition{1, k, Unit(0)})
	}
	t := &Topology{Name: "pair", Ranks: 2, Links: []Link{{Src: 0, Dst: 1, Bandwidth: 1e9}}}
	return &Problem{Topology: t, Collective: c, Size: c.Ends[len(sizes)-1], Cost: Pipelined}
}

// TestSizedCut: the chunks of a cut tile the shards, none straddles two, none is larger than one of
// the largest shard's, and a number of chunks that a cut has gives the same cut.
func TestSizedCut(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sizes := rapid.SliceOfN(rapid.Int64Range(1, 50), 1, 8).Draw(t, "sizes")
		p := sized(sizes...)
		require.NoError(t, p.Validate())
		require.Equal(t, sizes, p.Collective.Sizes())
		k := rapid.IntRange(1, 60).Draw(t, "k")
		q := p.WithChunks(p.DefaultChunks(k))
		require.NoError(t, q.Validate())
		require.Len(t, q.Chunks, p.DefaultChunks(k))
		require.Equal(t, q.Chunks, p.Cut(len(q.Chunks)))
		largest, count := int64(0), map[int]int64{}
		for i, c := range q.Chunks {
			s := q.Shard(i)
			require.LessOrEqual(t, c.Offset+c.Size, p.Collective.Ends[s])
			require.GreaterOrEqual(t, c.Offset, p.Collective.Ends[s]-sizes[s])
			largest = max(largest, c.Size)
			count[s]++
			for r, v := range q.Start(i) {
				require.Equal(t, 0, r)
				require.True(t, v.Equal(Unit(0)))
			}
			for r := range q.Goal(i) {
				require.Equal(t, 1, r)
			}
		}
		most := int64(0)
		for _, n := range sizes {
			most = max(most, n)
		}
		require.LessOrEqual(t, largest, (most-1)/int64(k)+1)
		for s, n := range sizes {
			require.LessOrEqual(t, count[s], max(1, n))
		}
		require.Equal(t, p.WithChunks(p.Shards()).Chunks, p.Cut(1), "one chunk a shard is the least")
	})
}

func TestSizedInvalid(t *testing.T) {
	for want, change := range map[string]func(p *Problem){
		"sizes: 1, want one for each of 2 chunks":     func(p *Problem) { p.Collective.Ends = []int64{8} },
		"sizes[1]: 0 bytes, want at least 1":          func(p *Problem) { p.Collective.Ends[1] = 3 },
		"sizes[1]: -1 bytes":                          func(p *Problem) { p.Collective.Ends[1] = 2 },
		"size: 9 bytes, want 8, the sum":              func(p *Problem) { p.Size = 9 },
		"name: \"allgather\" is that of another":      func(p *Problem) { p.Collective.Name = "allgather" },
		"characters that cannot be printed":           func(p *Problem) { p.Collective.Name = "a\nb" },
		"sizes: allgather has equal shards":           func(p *Problem) { p.Collective = Collective{Kind: AllGather, Ends: []int64{4, 8}} },
		"name: allgather has none":                    func(p *Problem) { p.Collective = Collective{Kind: AllGather, Name: "mine"} },
		"chunks[0]: bytes 0 to 4 straddle two shards": func(p *Problem) { p.Chunks = []Chunk{{0, 4}, {4, 4}} },
		"chunks[1]: offset 2, want 3":                 func(p *Problem) { p.Chunks = []Chunk{{0, 3}, {2, 6}} },
		"chunks: they cover 7 bytes, want all 8":      func(p *Problem) { p.Chunks = []Chunk{{0, 3}, {3, 4}} },
	} {
		p := sized(3, 5)
		change(p)
		require.ErrorContains(t, p.Validate(), want)
	}
	p := sized(3, 5)
	p.Collective.Ends = EndsOf([]int64{MaxSize, MaxSize})
	require.ErrorContains(t, p.Validate(), "in all")
	q := sized(3, 5)
	q.Collective.Ends = nil
	require.False(t, sized(3, 5).SameUpToCut(q), "with sizes the cut is free")
	q = sized(3, 5)
	q.Collective.Name = "other"
	require.True(t, sized(3, 5).SameUpToCut(q))
	require.Equal(t, "custom moves of 8 B, 2 ranks, on pair, pipelined", sized(3, 5).String())
}
