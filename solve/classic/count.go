package classic

import (
	"math/bits"

	"github.com/oraccl/oraccl/model"
)

// transfers returns how many transfers m makes for p, which is not custom. If the cut of p is
// open it is that of Solve without Options.Chunks.
func (m *method) transfers(p *model.Problem) int64 {
	n, chunks := len(p.Members()), int64(len(p.Chunks))
	if p.Chunks == nil {
		k := 1
		if m.parts != nil {
			k = m.parts(p)
		}
		chunks = int64(p.DefaultChunks(k))
	}
	switch p.Collective.Kind {
	case model.AllToAll, model.Scatter, model.Gather: // as many chunks have each distance to go
		hops := n - 1
		if m.relays {
			hops = 0
			for d := range n {
				hops += bits.OnesCount(uint(d))
			}
		}
		return chunks / int64(n) * int64(hops)
	case model.AllReduce:
		if m.exchanges != nil {
			return chunks * int64(m.exchanges(n))
		}
		return chunks * 2 * int64(n-1)
	}
	return chunks * int64(n-1)
}

// doublings is how often the chunks of recursive doubling are sent among n members.
func doublings(n int) int {
	steps := bits.Len(uint(n)) - 1
	q := 1 << steps
	return q*steps + 2*(n-q)
}

// multiplyings is doublings for recursive multiplying.
func multiplyings(n int) int {
	q, radices := multiplied(n)
	sends := 2 * (n - q)
	for _, r := range radices {
		sends += q * (r - 1)
	}
	return sends
}
