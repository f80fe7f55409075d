package assign

import (
	"math/bits"

	"github.com/oraccl/oraccl/model"
)

// cut is where chunks lie, counted in units.
type cut struct {
	total       int // units that the chunks tile
	share       int // units of a shard
	start, size []int
	most        int // the largest size
}

// Units returns the least number of equal units that the chunks of p are multiples of,
// no more than most of them: chunk boundary k of total lies at byte ⌊k·space/total⌋, as
// model.Problem.Cut has it, so that chunks which differ only by the rounding to whole
// bytes count as equal. The error wraps ErrNotServed: there is no such unit.
func Units(p *model.Problem, most int) (total int, err error) {
	c, err := newCut(p, most)
	if err != nil {
		return 0, err
	}
	return c.total, nil
}

func newCut(p *model.Problem, most int) (*cut, error) {
	shards, n := p.Shards(), len(p.Chunks)
	least := (n + shards - 1) / shards * shards
	for total := least; total <= most; total += shards {
		if c, ok := cutInto(p, total); ok {
			c.share = total / shards
			return c, nil
		}
	}
	smallest, largest := p.Chunks[0].Size, p.Chunks[0].Size
	for _, c := range p.Chunks {
		smallest, largest = min(smallest, c.Size), max(largest, c.Size)
	}
	return nil, refuse("%d chunks of %d to %d bytes are no multiples of a common unit of which there are at most %d, want a size that divides more evenly, or other chunks", n, smallest, largest, most)
}

// cutInto counts chunks in units of which there are total.
func cutInto(p *model.Problem, total int) (*cut, bool) {
	c := &cut{total: total, start: make([]int, len(p.Chunks)), size: make([]int, len(p.Chunks))}
	space, units := uint64(p.Space()), uint64(total)
	if len(p.Chunks) == total { // also where some are empty
		equal := true
		for i, chunk := range p.Cut(total) {
			equal = equal && chunk == p.Chunks[i]
			c.start[i], c.size[i] = i, 1
		}
		if c.most = 1; equal {
			return c, true
		}
	}
	if space == 0 {
		return nil, false
	}
	boundary := func(at int64) (int, bool) {
		hi, lo := bits.Mul64(uint64(at), units)
		lo, carry := bits.Add64(lo, space-1, 0)
		k, _ := bits.Div64(hi+carry, lo, space) // at <= space, so that k <= units
		hi, lo = bits.Mul64(k, space)
		back, _ := bits.Div64(hi, lo, units)
		return int(k), back == uint64(at)
	}
	for i, chunk := range p.Chunks {
		from, ok := boundary(chunk.Offset)
		to, ok2 := boundary(chunk.Offset + chunk.Size)
		if !ok || !ok2 || to <= from {
			return nil, false
		}
		c.start[i], c.size[i] = from, to-from
		c.most = max(c.most, to-from)
	}
	return c, true
}
