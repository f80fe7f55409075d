package model

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// TestParts: two nodes are in one part if there is a way between them over links that count, and parts are numbered
// by their first nodes.
func TestParts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 8).Draw(t, "nodes")
		top := &Topology{Ranks: n}
		joined := make([][]bool, n)
		for v := range joined {
			joined[v] = make([]bool, n)
			joined[v][v] = true
		}
		for range rapid.IntRange(0, 12).Draw(t, "links") {
			u, v := rapid.IntRange(0, n-1).Draw(t, "src"), rapid.IntRange(0, n-1).Draw(t, "dst")
			fast := rapid.Bool().Draw(t, "fast")
			l := Link{Src: u, Dst: v, Bandwidth: 1}
			if fast {
				l.Bandwidth = 2
				joined[u][v], joined[v][u] = true, true
			}
			top.Links = append(top.Links, l)
		}
		for k := range n {
			for u := range n {
				for v := range n {
					joined[u][v] = joined[u][v] || joined[u][k] && joined[k][v]
				}
			}
		}
		parts, seen := top.Parts(func(l *Link) bool { return l.Bandwidth > 1 }), 0
		for v := range n {
			require.LessOrEqual(t, parts[v], seen)
			seen = max(seen, parts[v]+1)
			for u := range n {
				require.Equal(t, joined[u][v], parts[u] == parts[v])
			}
		}
	})
}
