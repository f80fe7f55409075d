package cases

import "github.com/oraccl/oraccl/model"

// RingAllReduce is reduce-scatter and all-gather around a ring of n ranks, one
// chunk per rank.
func RingAllReduce(n int, op model.Operator, form model.Form) *Case {
	c := New(n, model.Collective{Kind: model.AllReduce, Op: op}, 1, form)
	for i := range 2 * (n - 1) {
		kind := model.Reduction
		if i >= n-1 {
			kind = model.Copy
		}
		for r := range n {
			c.Step(i, ((r-i)%n+n)%n, r, (r+1)%n, kind)
		}
	}
	return c
}

// RecursiveDoubling is an all-reduce of one chunk among n ranks, n a power of two,
// by exchanges at distances 1, 2, 4, ... It has no Ordered form: an exchange is a
// race there.
func RecursiveDoubling(n int, op model.Operator, form model.Form) *Case {
	c := New(n, model.Collective{Kind: model.AllReduce, Op: op}, 1, form)
	c.P = c.P.WithChunks(1)
	for i, d := 0, 1; d < n; i, d = i+1, 2*d {
		for r := range n {
			c.Step(i, 0, r, r^d, model.Reduction)
		}
	}
	return c
}

// BinomialBroadcast sends one chunk from rank 0 to n ranks, doubling.
func BinomialBroadcast(n int, form model.Form) *Case {
	c := New(n, model.Collective{Kind: model.Broadcast}, 1, form)
	for i, d := 0, 1; d < n; i, d = i+1, 2*d {
		for r := 0; r < d && r+d < n; r++ {
			c.Step(i, 0, r, r+d, model.Copy)
		}
	}
	return c
}

// Direct serves each standard collective by transfers straight from where a
// contribution is to where it is wanted; allreduce goes through its first member.
// Each chunk takes a step for each of its transfers, one after the other.
func Direct(n int, col model.Collective, k int, form model.Form) *Case {
	c := New(n, col, k, form)
	for chunk := range c.P.Chunks {
		step := 0
		send := func(src, dst int, op model.Op) {
			if src != dst {
				c.Step(step, chunk, src, dst, op)
				step++
			}
		}
		holders := []int{}
		for r := range c.P.Start(chunk) {
			holders = append(holders, r)
		}
		root := -1
		for r, v := range c.P.Goal(chunk) {
			if v.Len() == 1 {
				j, _ := v.Single()
				send(j, r, model.Copy)
				continue
			}
			if root < 0 {
				root = r
				for _, h := range holders {
					send(h, root, model.Reduction)
				}
			}
			send(root, r, model.Copy)
		}
	}
	return c
}

// Pipeline is a custom collective with counts above one: rank 0 ends with
// x0 + 3·x1 of chunk 0, by three reductions, and rank 2 with the 2·x2 that rank 1
// starts with of chunk 1.
func Pipeline(form model.Form) *Case {
	one, two := model.Multiset(model.Term{Rank: 0, Count: 1}, model.Term{Rank: 1, Count: 3}), model.Multiset(model.Term{Rank: 2, Count: 2})
	c := New(3, model.Collective{Kind: model.Custom, Chunks: 2,
		Pre:  []model.Condition{{Rank: 0, Chunk: 0, Value: model.Unit(0)}, {Rank: 1, Chunk: 0, Value: model.Unit(1)}, {Rank: 1, Chunk: 1, Value: two}},
		Post: []model.Condition{{Rank: 0, Chunk: 0, Value: one}, {Rank: 2, Chunk: 1, Value: two}},
	}, 1, form)
	for i := range 3 {
		c.Step(i, 0, 1, 0, model.Reduction)
	}
	c.Step(0, 1, 1, 2, model.Copy)
	return c
}
