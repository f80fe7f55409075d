package replay

import "github.com/oraccl/oraccl/model"

// Limits that keep small files from taking hours or all memory. What is above one of them
// is unknown.
const (
	// maxUses is of how many links in all the routes of the transfers may be: 4 bytes each.
	maxUses = 1 << 28
	// maxWords is how many words the sets of one chunk may take, or those of all chunks
	// that are being executed.
	maxWords = 1 << 27
	// maxSpans is how many spans of routes are kept rather than computed for each use.
	maxSpans = 1 << 22
	// maxClocks is how many entries vector clocks may have: 4 bytes each.
	maxClocks = 1 << 28
)

// steps returns how many steps a check may take: a thousand times what the package comment
// says, and some seconds for what is small.
func steps(p *model.Problem, s *model.Schedule) int64 {
	words := int64(p.Topology.Ranks+63) / 64
	n := int64(len(p.Topology.Links)+len(p.Topology.Ports)) + int64(len(s.Transfers))*(1+words)
	n += int64(len(p.Collective.Pre)+len(p.Collective.Post)) * words
	for _, route := range s.Routes {
		n += int64(len(route))
	}
	for _, after := range s.After {
		n += int64(len(after))
	}
	return 1<<30 + n<<10
}
