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

// slop is how many bytes a boundary may be off: methods that divide a shard among trees,
// and what a tree carries into chunks, round to whole bytes more than once. It is never
// more than a hundredth of the smallest chunk.
const slop = 4

// Units returns the least number of equal units that the chunks of p are multiples of,
// no more than most of them: boundary k of total lies at byte ⌊k·space/total⌋, as
// model.Problem.Cut has it, and chunks that differ only by the rounding to whole
// bytes count as equal. A program does the same whatever the sizes are: runtimes pick
// it for other ones, too. The error wraps ErrNotServed: there is no such unit.
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
	smallest := p.Chunks[0].Size
	for _, chunk := range p.Chunks {
		smallest = min(smallest, chunk.Size)
	}
	off := uint64(min(slop, smallest/100))
	boundary := func(at int64) (int, bool) { // the nearest, if it is near enough
		k := mulDiv(uint64(at), units, space/2, space)
		back := mulDiv(k, space, 0, units)
		return int(k), max(back, uint64(at))-min(back, uint64(at)) <= off
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

// mulDiv returns ⌊(a·b+c)/d⌋, for a <= d or b <= d, and c < d.
func mulDiv(a, b, c, d uint64) uint64 {
	hi, lo := bits.Mul64(a, b)
	lo, carry := bits.Add64(lo, c, 0)
	q, _ := bits.Div64(hi+carry, lo, d)
	return q
}
