package msccltest

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/oraccl/oraccl/model/format/msccl"
)

// A dumb interpreter of MSCCL-IR, written from what the runtimes do and sharing no
// code with the program that the verifier is given: threadblocks take turns at
// random, data are maps of contributions, flags are numbers that only grow. It finds
// out what goes wrong in some runs, not that nothing does.

// datum is how often each contribution (rank, chunk) is in a chunk; nil: undefined.
type datum map[[2]int]int

// dumbTB is a threadblock at work.
type dumbTB struct {
	gpu, id, send, recv, channel int
	steps                        []dumbStep
	at, flag                     int
}

type dumbStep struct {
	msccl.Step
	number int
	deps   [][2]int // threadblock, number
	more   []int32  // re that are joined
}

// dumb is a file at work.
type dumb struct {
	a     *msccl.Algo
	tbs   []*dumbTB
	cells [][]datum // i and o as they alias, then s
	in    bool
	fifos map[[3]int][][]datum
}

// prepare reads the steps as the runtimes number them.
func prepare(a *msccl.Algo) []*dumbTB {
	var tbs []*dumbTB
	for _, g := range a.GPUs {
		for _, t := range g.TBs {
			d := &dumbTB{gpu: g.ID, id: t.ID, send: t.Send, recv: t.Recv, channel: t.Channel, flag: -1}
			var deps [][2]int
			number := 0
			for _, s := range t.Steps {
				if s.DepID >= 0 {
					deps = append(deps, [2]int{int(s.DepID), int(s.Deps)})
				}
				if s.Type == msccl.Nop {
					if s.DepID >= 0 {
						number++
					}
					continue
				}
				if last := len(d.steps) - 1; last >= 0 && s.Type == msccl.Reduce && s.DepID == -1 && d.steps[last].Type == msccl.Reduce &&
					d.steps[last].HasDep == 0 && d.steps[last].Src == s.Src && d.steps[last].Dst == s.Dst && d.steps[last].DstOff == s.DstOff {
					d.steps[last].more = append(d.steps[last].more, s.SrcOff)
					d.steps[last].HasDep, d.steps[last].Count = s.HasDep, s.Count
					d.steps[last].number = number
					number++
					continue
				}
				d.steps = append(d.steps, dumbStep{Step: s, number: number, deps: deps})
				number++
				deps = nil
			}
			tbs = append(tbs, d)
		}
	}
	return tbs
}

// place returns the cell of a chunk, or nil beyond the buffer.
func (d *dumb) place(gpu int, b msccl.Buf, off int) *datum {
	n := d.a.ChunksPerLoop
	share := n / d.a.Ranks
	size, base := n, 0
	switch coll := strings.ReplaceAll(d.a.Coll, "_", ""); {
	case b == msccl.Scratch:
		size, base = 0, 2*n
		for _, g := range d.a.GPUs {
			if g.ID == gpu {
				size = g.Scratch
			}
		}
	case coll == "allgather" && b == msccl.Input:
		if size = share; d.in {
			base = n + gpu*share
		}
	case coll == "reducescatter" && b == msccl.Output:
		if size, base = share, n; d.in {
			base = gpu * share
		}
	case b == msccl.Output && (coll == "allgather" || !d.in):
		base = n
	}
	if off < 0 || off >= size {
		return nil
	}
	return &d.cells[gpu][base+off]
}

// Run carries out a file once, in an order drawn from rng, and returns what goes
// wrong, or "".
func Run(a *msccl.Algo, inPlace bool, rng *rand.Rand) string {
	d := &dumb{a: a, tbs: prepare(a), in: inPlace, fifos: map[[3]int][][]datum{}}
	coll := strings.ReplaceAll(a.Coll, "_", "")
	for range a.Ranks {
		d.cells = append(d.cells, make([]datum, 2*a.ChunksPerLoop+1000))
	}
	inputs := a.ChunksPerLoop
	if coll == "allgather" {
		inputs /= a.Ranks
	}
	for r := range a.Ranks {
		for c := range inputs {
			*d.place(r, msccl.Input, c) = datum{{r, c}: 1}
		}
	}
	order := rng.Perm(len(d.tbs)) // who goes first where several may
	for {
		if rng.IntN(4) == 0 {
			rng.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
		}
		moved := false
		for _, i := range order {
			if d.able(d.tbs[i]) {
				if bad := d.step(d.tbs[i]); bad != "" {
					return bad
				}
				moved = true
				break
			}
		}
		if !moved {
			break
		}
	}
	for _, t := range d.tbs {
		if t.at < len(t.steps) {
			return fmt.Sprintf("gpu %d tb %d waits for ever", t.gpu, t.id)
		}
	}
	for k, f := range d.fifos {
		if len(f) > 0 {
			return fmt.Sprintf("left in %v", k)
		}
	}
	return d.wrong(coll)
}

func (d *dumb) able(t *dumbTB) bool {
	if t.at == len(t.steps) {
		return false
	}
	s := &t.steps[t.at]
	for _, dep := range s.deps {
		if !slices.ContainsFunc(d.tbs, func(o *dumbTB) bool { return o.gpu == t.gpu && o.id == dep[0] && o.flag >= dep[1] }) {
			return false
		}
	}
	return !s.Type.Receives() || len(d.fifos[[3]int{t.recv, t.gpu, t.channel}]) > 0
}

func (d *dumb) step(t *dumbTB) string {
	s := &t.steps[t.at]
	n := int(s.Count)
	sum := make([]datum, n)
	for c := range sum {
		sum[c] = datum{}
	}
	add := func(c int, v datum) bool {
		for k, x := range v {
			sum[c][k] += x
		}
		return v != nil
	}
	if s.Type.Receives() {
		k := [3]int{t.recv, t.gpu, t.channel}
		message := d.fifos[k][0]
		d.fifos[k] = d.fifos[k][1:]
		if len(message) != n {
			return "a message of another length"
		}
		for c, v := range message {
			add(c, v)
		}
	}
	var reads []int32
	if s.Type != msccl.Recv && s.Type != msccl.RecvCopySend {
		reads = append([]int32{s.SrcOff}, s.more...)
	}
	writes := s.Type != msccl.Send && s.Type != msccl.RecvReduceSend
	for c := range n {
		for _, off := range reads {
			cell := d.place(t.gpu, s.Src, int(off)+c)
			if cell == nil {
				return "reads beyond"
			}
			if !add(c, *cell) {
				return "reads nothing"
			}
		}
		if writes {
			cell := d.place(t.gpu, s.Dst, int(s.DstOff)+c)
			if cell == nil {
				return "writes beyond"
			}
			if s.Type == msccl.Reduce && !add(c, *cell) {
				return "adds to nothing"
			}
		}
	}
	for c := range n {
		if writes {
			*d.place(t.gpu, s.Dst, int(s.DstOff)+c) = maps.Clone(sum[c])
		}
	}
	if s.Type.Sends() {
		k := [3]int{t.gpu, t.send, t.channel}
		d.fifos[k] = append(d.fifos[k], sum)
	}
	if s.HasDep != 0 {
		t.flag = s.number
	}
	t.at++
	return ""
}

// wrong states which output is wrong.
func (d *dumb) wrong(coll string) string {
	n, ranks := d.a.ChunksPerLoop, d.a.Ranks
	share := n / ranks
	outputs := n
	if coll == "reducescatter" {
		outputs = share
	}
	for r := range ranks {
		for c := range outputs {
			want := datum{}
			for q := range ranks {
				switch coll {
				case "allreduce":
					want[[2]int{q, c}] = 1
				case "reducescatter":
					want[[2]int{q, r*share + c}] = 1
				case "allgather":
					want[[2]int{c / share, c % share}] = 1
				case "alltoall":
					want[[2]int{c / share, r*share + c%share}] = 1
				default:
					return "collective " + coll
				}
			}
			if got := *d.place(r, msccl.Output, c); got == nil || !maps.Equal(got, want) {
				return fmt.Sprintf("gpu %d o[%d] is %v, want %v", r, c, got, want)
			}
		}
	}
	return ""
}
