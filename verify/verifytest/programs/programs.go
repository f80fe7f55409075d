// Package programs draws tiny concurrent programs, for tests that set one engine
// against another.
package programs

import (
	"math/rand/v2"
	"slices"

	"github.com/oraccl/oraccl/model"
)

// Draw draws a program: of a few steps, with anything in them; or one in which ranks
// send and receive in random orders; or one in which accesses are ordered through
// another rank. Ranks have two cells of input, b, and two of scratch, s.
func Draw(rng *rand.Rand) *model.Program {
	switch rng.IntN(6) {
	case 0:
		return crossed(rng)
	case 1:
		return around(rng)
	}
	return drawn(rng)
}

// drawn draws a tiny program: a few processes that send, receive, copy and add at
// random, some of them made to match.
func drawn(rng *rand.Rand) *model.Program {
	ranks := 1 + rng.IntN(3)
	p := &model.Program{Name: "drawn", Kind: model.Custom, Ranks: ranks, Grain: 1, Inputs: 2}
	for r := range ranks {
		p.Memory = append(p.Memory, 4)
		p.Buffers = append(p.Buffers, []model.Buffer{{Name: "b", Cells: 2}, {Name: "s", Base: 2, Cells: 2}})
		p.Pre = append(p.Pre, []int32{int32(2 * r), int32(2*r + 1), -1, -1})
		p.Post = append(p.Post, []int32{-1, -1, -1, -1})
	}
	kinds := []struct {
		name string
		verb model.Verb
	}{
		{"s", model.Reads | model.Sends}, {"r", model.Receives | model.Writes}, {"rcs", model.Receives | model.Writes | model.Sends},
		{"rrc", model.Receives | model.Reads | model.Writes}, {"rrs", model.Receives | model.Reads | model.Sends},
		{"cpy", model.Reads | model.Writes}, {"re", model.Reads | model.ReadsDst | model.Writes},
	}
	used := map[[4]int]bool{} // ends of connections
	for range 2 + rng.IntN(3) {
		q := model.Process{Rank: rng.IntN(ranks), SendTo: -1, RecvFrom: -1, Channel: rng.IntN(2)}
		for i := range p.Processes {
			if p.Processes[i].Rank == q.Rank {
				q.ID++
			}
		}
		if peer := rng.IntN(ranks); peer != q.Rank && !used[[4]int{q.Rank, peer, q.Channel, 0}] {
			q.SendTo = peer
			used[[4]int{q.Rank, peer, q.Channel, 0}] = true
		}
		if peer := rng.IntN(ranks); peer != q.Rank && !used[[4]int{peer, q.Rank, q.Channel, 1}] {
			q.RecvFrom = peer
			used[[4]int{peer, q.Rank, q.Channel, 1}] = true
		}
		for range 1 + rng.IntN(3) {
			k := kinds[rng.IntN(len(kinds))]
			if k.verb&model.Sends != 0 && q.SendTo < 0 || k.verb&model.Receives != 0 && q.RecvFrom < 0 {
				k = kinds[5+rng.IntN(2)]
			}
			in := model.Instruction{Name: k.name, Verb: k.verb, Label: len(q.Steps), Count: 1, Signals: rng.IntN(3) > 0,
				Src: model.Ref{Buffer: rng.IntN(2), Offset: rng.IntN(2)}, Dst: model.Ref{Buffer: rng.IntN(2), Offset: rng.IntN(2)}}
			if rng.IntN(8) == 0 {
				in.Count, in.Src.Offset, in.Dst.Offset = 2, 0, 0
			}
			if rng.IntN(40) == 0 {
				in.Dst.Offset = 2
			}
			if k.name == "re" && in.Count == 1 && rng.IntN(4) == 0 {
				in.More = []int32{int32(rng.IntN(2))}
			}
			q.Steps = append(q.Steps, in)
		}
		p.Processes = append(p.Processes, q)
	}
	for i := range p.Processes {
		q := &p.Processes[i]
		for j := range q.Steps {
			if rng.IntN(2) > 0 {
				continue
			}
			on := rng.IntN(len(p.Processes))
			if o := &p.Processes[on]; o.Rank == q.Rank && on != i {
				q.Steps[j].Waits = append(q.Steps[j].Waits, model.Wait{Process: o.ID, Step: rng.IntN(len(o.Steps) + rng.IntN(2))})
			}
		}
	}
	return p
}

// crossed draws a program of two or three ranks in a ring, a process each, that send
// and receive equally often in random orders, and perhaps one that copies beside
// them: most of these end, with more or fewer slots.
func crossed(rng *rand.Rand) *model.Program {
	p := drawn(rng)
	for p.Ranks < 2 {
		p = drawn(rng)
	}
	p.Processes = nil
	n := 1 + rng.IntN(3)
	wide := rng.IntN(2)
	for r := range p.Ranks {
		q := model.Process{Rank: r, SendTo: (r + 1) % p.Ranks, RecvFrom: (r + p.Ranks - 1) % p.Ranks}
		send := model.Instruction{Name: "s", Verb: model.Reads | model.Sends, Count: 1 + wide, Signals: true}
		recv := model.Instruction{Name: "r", Verb: model.Receives | model.Writes, Count: 1 + wide, Signals: true, Dst: model.Ref{Buffer: rng.IntN(2)}}
		for range n {
			q.Steps = append(q.Steps, send, recv)
		}
		rng.Shuffle(len(q.Steps), func(i, j int) { q.Steps[i], q.Steps[j] = q.Steps[j], q.Steps[i] })
		if rng.IntN(2) == 0 { // sends first
			slices.SortStableFunc(q.Steps, func(a, b model.Instruction) int { return int(a.Verb&model.Receives) - int(b.Verb&model.Receives) })
		}
		p.Processes = append(p.Processes, q)
		if rng.IntN(3) == 0 {
			p.Processes = append(p.Processes, model.Process{Rank: r, ID: 1, SendTo: -1, RecvFrom: -1, Steps: []model.Instruction{{
				Name: "cpy", Verb: model.Reads | model.Writes, Count: 1, Dst: model.Ref{Buffer: 1}, Waits: []model.Wait{{Step: rng.IntN(2 * n)}}}}})
		}
	}
	return p
}

// around draws a program in which one process of rank 0 sends to rank 1, which sends to
// another process of rank 0: what these do on rank 0 is ordered through rank 1.
func around(rng *rand.Rand) *model.Program {
	p := drawn(rng)
	for p.Ranks < 2 {
		p = drawn(rng)
	}
	at := func() model.Ref { return model.Ref{Buffer: rng.IntN(2), Offset: rng.IntN(2)} }
	local := func() model.Instruction {
		return model.Instruction{Name: "cpy", Verb: model.Reads | model.Writes, Count: 1, Src: at(), Dst: at()}
	}
	send := model.Instruction{Name: "s", Verb: model.Reads | model.Sends, Count: 1, Src: at()}
	recv := model.Instruction{Name: "r", Verb: model.Receives | model.Writes, Count: 1, Dst: at()}
	relay := model.Instruction{Name: "rcs", Verb: model.Receives | model.Writes | model.Sends, Count: 1, Dst: at()}
	first, last := []model.Instruction{send}, []model.Instruction{recv}
	for range rng.IntN(3) {
		first = slices.Insert(first, rng.IntN(len(first)+1), local())
	}
	for range rng.IntN(3) {
		last = slices.Insert(last, rng.IntN(len(last)+1), local())
	}
	p.Processes = []model.Process{
		{Rank: 0, ID: 0, SendTo: 1, RecvFrom: -1, Steps: first},
		{Rank: 0, ID: 1, SendTo: -1, RecvFrom: 1, Steps: last},
		{Rank: 1, ID: 0, SendTo: 0, RecvFrom: 0, Steps: []model.Instruction{relay}},
	}
	return p
}

// Overlaps reports whether an instruction races with itself.
func Overlaps(in *model.Instruction) bool {
	if in.Verb&model.Reads == 0 || in.Verb&model.Writes == 0 || in.Src.Buffer != in.Dst.Buffer {
		return false
	}
	n := 0
	for _, off := range append([]int32{int32(in.Src.Offset)}, in.More...) {
		if d := int(off) - in.Dst.Offset; d != 0 && d < in.Count && -d < in.Count {
			n++
		}
	}
	return n > 0
}
