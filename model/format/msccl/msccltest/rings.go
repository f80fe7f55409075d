package msccltest

import (
	"fmt"
	"slices"
	"strings"

	"github.com/oraccl/oraccl/model/format/msccl"
)

// Rings writes an allreduce along a ring of n ranks, with this many channels.
func Rings(n, channels int) string {
	var b strings.Builder
	fmt.Fprintf(&b, `<algo name="ring" proto="Simple" nchannels="%d" nchunksperloop="%d" ngpus="%d" coll="allreduce" inplace="1" outofplace="0" minBytes="0" maxBytes="0">`+"\n", channels, n*channels, n)
	for r := range n {
		fmt.Fprintf(&b, `<gpu id="%d" i_chunks="%d" o_chunks="0" s_chunks="0">`+"\n", r, n*channels)
		for c := range channels {
			fmt.Fprintf(&b, `<tb id="%d" send="%d" recv="%d" chan="%d">`+"\n", c, (r+1)%n, (r+n-1)%n, c)
			s := 0
			step := func(kind string, chunk int) {
				fmt.Fprintf(&b, `<step s="%d" type="%s" srcbuf="i" srcoff="%[3]d" dstbuf="i" dstoff="%[3]d" cnt="1" depid="-1" deps="-1" hasdep="0"/>`+"\n", s, kind, c*n+(chunk+2*n)%n)
				s++
			}
			step("s", r)
			for i := 1; i < n-1; i++ {
				step("rrs", r-i)
			}
			step("rrcs", r-n+1)
			for i := range n - 2 {
				step("rcs", r-i)
			}
			step("r", r-n+2)
			fmt.Fprintln(&b, "</tb>")
		}
		fmt.Fprintln(&b, "</gpu>")
	}
	fmt.Fprintln(&b, "</algo>")
	return b.String()
}

// Doubling is an allgather by recursive doubling as compilers replicate it in two
// instances: either waits for its own receives only, and sends what the other has
// received too.
func Doubling(ranks int) *msccl.Algo {
	a := New("doubling", "allgather", ranks, 2*ranks, 2)
	for r := range ranks {
		var peers []int
		for c := 1; c < ranks; c *= 2 {
			peers = append(peers, r^c)
		}
		slices.Sort(peers)
		id := func(c, i int) int { return 2*slices.Index(peers, r^c) + i }
		for _, peer := range peers {
			c := peer ^ r
			for i := range 2 {
				from := func(rank int) int { return rank/c*c*2 + i*c }
				send := Step(msccl.Send, Bo, from(r), Bo, from(r), c)
				if c > 1 {
					send = After(send, id(c/2, i), 1)
				}
				var steps []msccl.Step
				for b := 1; b < c/2; b *= 2 {
					steps = append(steps, After(Step(msccl.Nop, Bi, -1, Bo, -1, 0), id(b, i), 1))
				}
				steps = append(steps, send, Signalling(Step(msccl.Recv, Bo, from(peer), Bo, from(peer), c)))
				AddTB(a, r, peer, peer, i, steps...)
			}
		}
		for j := range a.GPUs[r].TBs { // receives are the last steps
			for k := range a.GPUs[r].TBs[j].Steps {
				if s := &a.GPUs[r].TBs[j].Steps[k]; s.DepID >= 0 {
					s.Deps = int32(len(a.GPUs[r].TBs[s.DepID].Steps) - 1)
				}
			}
		}
	}
	return a
}

// Copy returns a file that shares nothing with a.
func Copy(a *msccl.Algo) *msccl.Algo {
	c := *a
	c.GPUs = slices.Clone(a.GPUs)
	for i := range c.GPUs {
		c.GPUs[i].TBs = slices.Clone(c.GPUs[i].TBs)
		for j := range c.GPUs[i].TBs {
			c.GPUs[i].TBs[j].Steps = slices.Clone(c.GPUs[i].TBs[j].Steps)
		}
	}
	return &c
}
