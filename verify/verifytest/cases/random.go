package cases

import (
	"math/rand/v2"
	"slices"

	"github.com/oraccl/oraccl/model"
)

// Random returns a small schedule, Timed or InRounds: a right one of some
// collective, the same with one or two changes, or transfers without plan.
// Start and end are below 40, so that Execute can go from instant to instant.
func Random(rng *rand.Rand) *Case {
	c := randomBase(rng, model.InRounds)
	switch rng.IntN(5) {
	case 0:
		c.scramble(rng)
	case 1, 2: // right
	default:
		for range 1 + rng.IntN(2) {
			c.mutate(rng)
		}
	}
	if rng.IntN(2) == 0 {
		c.loosen(rng)
	}
	return c
}

// RandomOrdered is the same in the form Ordered, with at most four transfers.
func RandomOrdered(rng *rand.Rand) *Case {
	for {
		c := randomBase(rng, model.Ordered)
		if rng.IntN(4) == 0 {
			c.S.Transfers, c.S.After = nil, nil
			for range 1 + rng.IntN(4) {
				var after []int32
				for j := range c.S.Transfers {
					if rng.IntN(3) > 0 {
						after = append(after, int32(j))
					}
				}
				src, dst := c.twoRanks(rng)
				c.Wait(rng.IntN(min(2, len(c.P.Chunks))), src, dst, model.Op(rng.IntN(2)), after...)
			}
		}
		if n := len(c.S.Transfers); n == 0 || n > 4 {
			continue
		}
		for range rng.IntN(3) {
			i := rng.IntN(len(c.S.Transfers))
			switch rng.IntN(3) {
			case 0:
				c.S.Transfers[i].Op ^= 1
			case 1:
				if n := len(c.S.After[i]); n > 0 {
					c.S.After[i] = slices.Delete(slices.Clone(c.S.After[i]), 0, 1+rng.IntN(n))
				}
			default:
				c.retarget(rng, &c.S.Transfers[i])
			}
		}
		return c
	}
}

// randomBase returns a right schedule.
func randomBase(rng *rand.Rand, form model.Form) *Case {
	op := model.Operator(rng.IntN(4))
	if rng.IntN(4) == 0 && form != model.Ordered {
		if rng.IntN(2) == 0 {
			return RecursiveDoubling(4, op, form)
		}
		return RingAllReduce(2+rng.IntN(2), op, form)
	}
	if rng.IntN(6) == 0 {
		return Pipeline(form)
	}
	n := 2 + rng.IntN(3)
	if form == model.Ordered {
		n = 2 + rng.IntN(2)
	}
	kinds := model.Kinds()
	col := model.Collective{Kind: kinds[rng.IntN(len(kinds))], Op: op}
	if n > 2 && rng.IntN(3) == 0 {
		col.Group = rng.Perm(n)[:n-1]
	}
	if col.Kind.Rooted() {
		if col.Root = rng.IntN(n); col.Group != nil {
			col.Root = col.Group[rng.IntN(len(col.Group))]
		}
	}
	return Direct(n, col, 1, form)
}

func (c *Case) twoRanks(rng *rand.Rand) (src, dst int) {
	n := c.P.Topology.Ranks
	src = rng.IntN(n)
	return src, (src + 1 + rng.IntN(n-1)) % n
}

// scramble replaces the transfers by as many without plan.
func (c *Case) scramble(rng *rand.Rand) {
	n := min(8, len(c.S.Transfers)+1)
	c.S.Transfers = nil
	for range n {
		src, dst := c.twoRanks(rng)
		at := model.Time(rng.IntN(4))
		c.Send(rng.IntN(min(2, len(c.P.Chunks))), src, dst, model.Op(rng.IntN(2)), at, at+1)
	}
}

// retarget gives a transfer other ends.
func (c *Case) retarget(rng *rand.Rand, t *model.Transfer) {
	src, dst := c.twoRanks(rng)
	switch rng.IntN(3) {
	case 0:
		src = int(t.Src)
	case 1:
		dst = int(t.Dst)
	}
	if src != dst {
		t.Src, t.Dst = int32(src), int32(dst) // the route no longer fits, which is not looked at
	}
}

// mutate makes one random change to a schedule in rounds.
func (c *Case) mutate(rng *rand.Rand) {
	if len(c.S.Transfers) == 0 {
		return
	}
	i := rng.IntN(len(c.S.Transfers))
	t := &c.S.Transfers[i]
	at := c.S.Transfers[rng.IntN(len(c.S.Transfers))].Start + model.Time(rng.IntN(2))
	switch rng.IntN(7) {
	case 0:
		c.S.Transfers = slices.Delete(c.S.Transfers, i, i+1)
	case 1:
		again := *t
		again.Start, again.End = at, at+1
		c.S.Transfers = append(c.S.Transfers, again)
	case 2:
		t.Op ^= 1
	case 3:
		c.retarget(rng, t)
	case 4:
		t.Chunk = int32(rng.IntN(len(c.P.Chunks)))
	case 5:
		u := &c.S.Transfers[rng.IntN(len(c.S.Transfers))]
		t.Start, t.End, u.Start, u.End = u.Start, u.End, t.Start, t.End
	default:
		t.Start, t.End = at, at+1
	}
}

// loosen makes a schedule in rounds a Timed one: a transfer of round i takes some
// time between 3i and 3i+3, now and then a little too much.
func (c *Case) loosen(rng *rand.Rand) {
	p := *c.P
	p.Cost = model.Blocking
	c.P, c.S.Form = &p, model.Timed
	for i := range c.S.Transfers {
		t := &c.S.Transfers[i]
		from := 3*t.Start + model.Time(rng.IntN(2))
		t.Start, t.End = from, from+1+model.Time(rng.IntN(2))
		if rng.IntN(20) == 0 {
			t.End += 2
		}
	}
}
