// Package cases makes schedules for the tests of smt and of its backends, right
// ones by hand and wrong ones at random, and executes them the dumb way.
package cases

import (
	"fmt"

	"github.com/oraccl/oraccl/model"
)

// Bytes is the size of every chunk, except for collectives of odd sizes.
const Bytes = 1 << 20

// Switch returns n ranks around one switch: link r leaves rank r, link n+r enters
// it.
func Switch(n int) *model.Topology {
	t := &model.Topology{Name: fmt.Sprintf("switch%d", n), Ranks: n, Switches: []model.Switch{{Name: "s"}}}
	for r := range n {
		t.Links = append(t.Links, model.Link{Src: r, Dst: n, Alpha: 500 * model.Nanosecond, Bandwidth: 50e9})
	}
	for r := range n {
		t.Links = append(t.Links, model.Link{Src: n, Dst: r, Alpha: 500 * model.Nanosecond, Bandwidth: 50e9})
	}
	return t
}

// Case is a problem with a schedule for it.
type Case struct {
	P *model.Problem
	S *model.Schedule

	routes map[[2]int]int32
}

// New returns a case on a switch with n ranks, with c and k chunks per member as
// model.Problem.DefaultChunks counts, and an empty schedule.
func New(n int, c model.Collective, k int, form model.Form) *Case {
	p := &model.Problem{Topology: Switch(n), Collective: c, Cost: model.Pipelined, Size: 1}
	if form == model.InRounds {
		p.Cost = model.Rounds
	}
	chunks := p.DefaultChunks(k)
	if p.Size = int64(chunks) * Bytes; c.Kind == model.AllToAll {
		p.Size /= int64(len(p.Members()))
	}
	s := &model.Schedule{Form: form}
	if form == model.Ordered {
		s.After = [][]int32{}
	}
	return &Case{P: p.WithChunks(chunks), S: s, routes: map[[2]int]int32{}}
}

// Send appends a transfer and returns its index. Its times are InRounds the round
// and the round after, else as given.
func (c *Case) Send(chunk, src, dst int, op model.Op, start, end model.Time) int32 {
	return c.send(chunk, src, dst, op, start, end, nil)
}

// Wait appends a transfer to an Ordered schedule and returns its index.
func (c *Case) Wait(chunk, src, dst int, op model.Op, after ...int32) int32 {
	return c.send(chunk, src, dst, op, 0, 0, after)
}

func (c *Case) send(chunk, src, dst int, op model.Op, start, end model.Time, after []int32) int32 {
	route, ok := c.routes[[2]int{src, dst}]
	if !ok {
		route = int32(len(c.S.Routes))
		c.routes[[2]int{src, dst}] = route
		c.S.Routes = append(c.S.Routes, []int{src, c.P.Topology.Ranks + dst})
	}
	c.S.Transfers = append(c.S.Transfers, model.Transfer{Chunk: int32(chunk), Src: int32(src), Dst: int32(dst), Route: route, Op: op, Start: start, End: end})
	if c.S.Form == model.Ordered {
		c.S.After = append(c.S.After, after)
	}
	return int32(len(c.S.Transfers) - 1)
}

// Step appends a transfer in step i: a round, or in the form Timed a span in which
// every transfer takes as long as the cost model says. An Ordered schedule waits
// for everything of the steps before that touches the slots of the transfer.
func (c *Case) Step(i, chunk, src, dst int, op model.Op) int32 {
	switch c.S.Form {
	case model.InRounds:
		return c.Send(chunk, src, dst, op, model.Time(i), model.Time(i)+1)
	case model.Timed:
		d := c.P.Topology.Duration([]int{src, c.P.Topology.Ranks + dst}, c.P.Chunks[chunk].Size)
		return c.Send(chunk, src, dst, op, d*model.Time(i), d*model.Time(i+1))
	}
	var after []int32
	for j := range c.S.Transfers {
		if t := &c.S.Transfers[j]; int(t.Chunk) == chunk &&
			(int(t.Src) == dst || int(t.Dst) == dst || int(t.Dst) == src) {
			after = append(after, int32(j))
		}
	}
	return c.Wait(chunk, src, dst, op, after...)
}
