package sccl

import (
	"fmt"

	"github.com/oraccl/oraccl/model"
)

// values decides of every send whether it adds to what is at its destination or
// overwrites it, and finds sends of what is not there. It executes the steps, one
// address at a time, in time proportional to sends times nodes.
func (b *builder) values() {
	b.ops = make([][]model.Op, len(b.f.Steps))
	byAddr := map[int][][2]int{}
	var addrs []int
	for i, step := range b.f.Steps {
		b.ops[i] = make([]model.Op, len(step.Sends))
		for j, send := range step.Sends {
			if byAddr[send.Addr] == nil {
				addrs = append(addrs, send.Addr)
			}
			byAddr[send.Addr] = append(byAddr[send.Addr], [2]int{i, j})
		}
	}
	combines := b.m.Problem.Collective.Reduces()
	for _, a := range addrs {
		if combines {
			b.combine(a, byAddr[a])
		}
	}
}

// sum is how often each contribution is in what a node holds; nil: nothing was ever there.
type sum []uint8

func (s sum) complete() bool {
	for _, n := range s {
		if n != 1 {
			return false
		}
	}
	return true
}

// combine executes the sends of one address of a collective that combines.
func (b *builder) combine(addr int, sends [][2]int) {
	n := len(b.f.Links)
	held := make([]sum, n)
	if b.custom {
		for _, part := range b.f.Collective.Parts {
			if part.Addr != addr {
				continue
			}
			for _, r := range part.Pre {
				if held[r] == nil {
					held[r] = make(sum, n)
				}
				held[r][part.Pre[0]] = 1
			}
		}
	} else {
		for r := range held {
			held[r] = make(sum, n)
			held[r][r] = 1
		}
	}
	whole := b.m.Problem.Collective.Kind == model.AllReduce
	for len(sends) > 0 {
		step, k := sends[0][0], 0
		for k < len(sends) && sends[k][0] == step {
			k++
		}
		before := make(map[int]sum, k) // what the destinations held; reads are of that
		value := func(r int) sum {
			if v, changed := before[r]; changed {
				return v
			}
			return held[r]
		}
		for _, x := range sends[:k] {
			send := b.f.Steps[x[0]].Sends[x[1]]
			v, old := value(send.Src), value(send.Dst)
			switch {
			case v == nil:
				b.m.Object("send-undefined", b.name(x[0], x[1]), fmt.Sprintf("rank %d holds nothing of address %d when it sends it", send.Src, addr))
			case old == nil || whole && v.complete() && !old.complete():
				b.composed = b.composed || old != nil
				before[send.Dst] = old
				held[send.Dst] = append(sum(nil), v...)
			default:
				b.ops[x[0]][x[1]] = model.Reduction
				before[send.Dst] = old
				held[send.Dst] = plus(held[send.Dst], v)
			}
		}
		sends = sends[k:]
	}
}

// plus adds what arrives, up to a count that is wrong for sure.
func plus(a, b sum) sum {
	c := make(sum, len(a))
	for i := range c {
		c[i] = min(a[i]+b[i], 100)
	}
	return c
}
