//go:build cgo

package z3_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/verify"
	"github.com/oraccl/oraccl/verify/smt"
	"github.com/oraccl/oraccl/verify/smt/z3"
	"github.com/oraccl/oraccl/verify/verifytest/cases"
)

// uneven makes every chunk's times its own, so that no two queries are the same.
func uneven(c *cases.Case) *cases.Case {
	for i := range c.S.Transfers {
		t := &c.S.Transfers[i]
		t.End -= model.Time(t.Chunk) + 1
	}
	return c
}

// inProgramOrder has every transfer wait for the one before it at both its ranks.
func inProgramOrder(c *cases.Case) *cases.Case {
	last := map[int32]int32{}
	for i := range c.S.Transfers {
		t := &c.S.Transfers[i]
		for _, r := range []int32{t.Src, t.Dst} {
			if j, ok := last[r]; ok {
				c.S.After[i] = append(c.S.After[i], j)
			}
		}
		last[t.Src], last[t.Dst] = int32(i), int32(i)
	}
	return c
}

func BenchmarkCheck(b *testing.B) {
	for _, x := range []struct {
		name string
		c    *cases.Case
	}{
		{"allreduce=ring/ranks=2", cases.RingAllReduce(2, model.Sum, model.Timed)},
		{"allreduce=ring/ranks=8", cases.RingAllReduce(8, model.Sum, model.Timed)},
		{"allreduce=ring/ranks=8/order", cases.RingAllReduce(8, model.Sum, model.Ordered)},
		{"allreduce=ring/ranks=64", cases.RingAllReduce(64, model.Sum, model.Timed)},
		{"allreduce=ring/ranks=64/uneven", uneven(cases.RingAllReduce(64, model.Sum, model.Timed))},
		{"allgather=direct/ranks=256/uneven", uneven(cases.Direct(256, model.Collective{Kind: model.AllGather}, 1, model.Timed))},
		{"allreduce=ring/ranks=8/program", inProgramOrder(cases.RingAllReduce(8, model.Sum, model.Ordered))},
		{"allreduce=ring/ranks=32/program", inProgramOrder(cases.RingAllReduce(32, model.Sum, model.Ordered))},
		{"allreduce=ring/ranks=64/order", cases.RingAllReduce(64, model.Sum, model.Ordered)},
		{"allreduce=ring/ranks=64/max", cases.RingAllReduce(64, model.Max, model.InRounds)},
		{"allreduce=doubling/ranks=256", cases.RecursiveDoubling(256, model.Sum, model.InRounds)},
		{"allreduce=doubling/ranks=256/max", cases.RecursiveDoubling(256, model.Max, model.InRounds)},
		{"broadcast=binomial/ranks=1024", cases.BinomialBroadcast(1024, model.InRounds)},
		{"broadcast=binomial/ranks=1024/order", cases.BinomialBroadcast(1024, model.Ordered)},
		{"alltoall=direct/ranks=64", cases.Direct(64, model.Collective{Kind: model.AllToAll}, 1, model.InRounds)},
	} {
		b.Run(fmt.Sprintf("%s/transfers=%d", x.name, len(x.c.S.Transfers)), func(b *testing.B) {
			backend := z3.New()
			for b.Loop() {
				v := smt.Check(context.Background(), x.c.P, x.c.S, backend, smt.Options{})
				if v.Outcome != verify.Proved {
					b.Fatal(v)
				}
			}
		})
	}
}

// BenchmarkTiny counts how many checks of the smallest kind a second allows.
func BenchmarkTiny(b *testing.B) {
	c := cases.RingAllReduce(3, model.Sum, model.Timed)
	for b.Loop() {
		smt.Check(context.Background(), c.P, c.S, z3.New(), smt.Options{Threads: 1})
	}
}
