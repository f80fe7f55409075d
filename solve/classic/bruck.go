package classic

import (
	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve/place"
)

// Bruck's algorithms (Bruck, Ho, Kipnis, Upfal and Weathersby, "Efficient
// algorithms for all-to-all communications in multiport message-passing systems",
// 1997): ⌈log2 n⌉ steps for every n.
var bruckBuilders = builders{
	model.AllGather: bruckAllGather,
	model.AllToAll:  bruckAllToAll,
}

// In the step with distance d member v has the blocks v..v+d-1, and sends those
// that member v-d lacks there.
func bruckAllGather(x *plan) {
	blocks := x.blocks(x.n)
	for d := 1; d < x.n; d *= 2 {
		var batch []place.Move
		for v := range x.n {
			for b := range min(d, x.n-d) {
				batch = append(batch, x.send(blocks[(v+b)%x.n], v, v-d, model.Copy)...)
			}
		}
		x.Batch(batch...)
	}
}

// A chunk that has to go o places on goes 2^k places in step k if bit k of o is set.
func bruckAllToAll(x *plan) {
	pairs := x.pairs()
	for d := 1; d < x.n; d *= 2 {
		var batch []place.Move
		for from := range x.n {
			for o := 1; o < x.n; o++ {
				if o&d != 0 {
					at := from + o&(d-1)
					batch = append(batch, x.send(pairs[from*x.n+(from+o)%x.n], at, at+d, model.Copy)...)
				}
			}
		}
		x.Batch(batch...)
	}
}
