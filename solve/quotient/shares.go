package quotient

import (
	"math"

	"github.com/oraccl/oraccl/model"
)

// shares are which parts of the buffer of an allreduce have their roots at which ranks; nil: all members have as much.
type shares struct {
	of []float64 // by rank: as a part of what one has that has most
}

// counts returns how many parts each rank has if one that has most has as many as a cut, and how many there are in all.
func (x *shares) counts(c cut) (by []int, all int) {
	for _, part := range x.of {
		n := int(math.Round(part*float64(c.parts))) << c.halved
		by, all = append(by, n), all+n
	}
	return by, all
}

// owned returns by rank the chunks of p, cut so, that have their roots at it.
func (x *shares) owned(c cut, p *model.Problem) [][]int {
	by, _ := x.counts(c)
	own, at := make([][]int, len(by)), 0
	for _, v := range p.Members() {
		for range by[v] {
			own[v] = append(own[v], at)
			at++
		}
	}
	return own
}
