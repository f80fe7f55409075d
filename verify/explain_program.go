package verify

import (
	"fmt"
	"slices"
	"strings"

	"github.com/oraccl/oraccl/model"
)

// The examples of concurrent programs have ranks with two cells of input and
// output, b, and two of scratch, s. Rank r begins with xr[0] and xr[1] in b.

// exampleOf makes an example of a program; wants[r] names, for the cells of b of rank
// r, the ranks whose contribution to the cell must be there at the end ("01" for a
// sum of two), or is "" for a cell that does not matter.
func exampleOf(story string, wants [][2]string, processes ...model.Process) Example {
	p := &model.Program{Name: "example", Kind: model.Custom, Ranks: len(wants), Grain: 1, Inputs: 2, Processes: processes}
	for r, want := range wants {
		p.Memory = append(p.Memory, 4)
		p.Buffers = append(p.Buffers, []model.Buffer{{Name: "b", Cells: 2}, {Name: "s", Base: 2, Cells: 2}})
		p.Pre = append(p.Pre, []int32{int32(2 * r), int32(2*r + 1), -1, -1})
		post := []int32{-1, -1, -1, -1}
		for cell, ranks := range want {
			if ranks == "" {
				continue
			}
			var w []int32
			for _, c := range ranks {
				w = append(w, 2*(c-'0')+int32(cell))
			}
			i := slices.IndexFunc(p.Wants, func(v []int32) bool { return slices.Equal(v, w) })
			if i < 0 {
				i, p.Wants = len(p.Wants), append(p.Wants, w)
			}
			post[cell] = int32(i)
		}
		p.Post = append(p.Post, post)
	}
	return Example{Story: story, Program: p}
}

// tb makes a process with a connection to one peer, or to none (-1).
func tb(rank, id, peer int, steps ...model.Instruction) model.Process {
	for i := range steps {
		steps[i].Label = i
	}
	return model.Process{Rank: rank, ID: id, SendTo: peer, RecvFrom: peer, Steps: steps}
}

// The instructions of the examples; a place is a letter and a digit: "b0".
func send(src string) model.Instruction {
	return model.Instruction{Name: "s", Verb: model.Reads | model.Sends, Count: 1, Src: place(src)}
}

func recv(dst string) model.Instruction {
	return model.Instruction{Name: "r", Verb: model.Receives | model.Writes, Count: 1, Dst: place(dst)}
}

func add(dst string) model.Instruction { // what is received
	return model.Instruction{Name: "rrc", Verb: model.Receives | model.Reads | model.Writes, Count: 1, Src: place(dst), Dst: place(dst)}
}

func local(dst, src string) model.Instruction {
	return model.Instruction{Name: "cpy", Verb: model.Reads | model.Writes, Count: 1, Src: place(src), Dst: place(dst)}
}

func place(name string) model.Ref {
	return model.Ref{Buffer: strings.IndexByte("bs", name[0]), Offset: int(name[1] - '0')}
}

func chunks(in model.Instruction, n int) model.Instruction {
	in.Count = n
	return in
}

func after(in model.Instruction, process, step int) model.Instruction {
	in.Waits = []model.Wait{{Process: process, Step: step}}
	return in
}

func signals(in model.Instruction) model.Instruction {
	in.Signals = true
	return in
}

// kept makes the first cell of a rank one that must not be written.
func kept(e Example, rank int) Example {
	e.Program.Kept = make([][]bool, e.Program.Ranks)
	e.Program.Kept[rank] = []bool{true, false, false, false}
	return e
}

// writeProgram writes the processes of an example.
func writeProgram(b *strings.Builder, p *model.Program) {
	if p == nil {
		return
	}
	ref := func(r model.Ref) string { return fmt.Sprintf("%s[%d]", p.Buffers[0][r.Buffer].Name, r.Offset) }
	for i := range p.Processes {
		q := &p.Processes[i]
		fmt.Fprintf(b, "  gpu %d tb %d", q.Rank, q.ID)
		if q.SendTo >= 0 {
			fmt.Fprintf(b, ", with gpu %d", q.SendTo)
		}
		b.WriteString("\n")
		for _, s := range q.Steps {
			fmt.Fprintf(b, "    step %d: %s", s.Label, s.Name)
			if s.Verb&model.Reads != 0 {
				b.WriteString(" from " + ref(s.Src))
			}
			if s.Verb&model.Writes != 0 {
				b.WriteString(" to " + ref(s.Dst))
			}
			if s.Count != 1 {
				fmt.Fprintf(b, ", %d chunks", s.Count)
			}
			for _, w := range s.Waits {
				fmt.Fprintf(b, ", after step %d of tb %d", w.Step, w.Process)
			}
			if s.Signals {
				b.WriteString(", signals")
			}
			b.WriteString("\n")
		}
	}
}

// programs is the catalogue of what concurrent programs have beside the codes that
// schedules have too. A test runs the examples.
var programs = []Explanation{
	{Deadlock, "processes wait for each other for ever, or for what never comes", "12.4",
		exampleOf("two ranks that swap a chunk, and both receive first", [][2]string{{"1", ""}, {"0", ""}},
			tb(0, 0, 1, recv("s0"), send("b0"), local("b0", "s0")), tb(1, 0, 0, recv("s0"), send("b0"), local("b0", "s0")))},
	{NeverSignalled, "a step waits for a step that signals nothing, nor does one after it", "12.4",
		exampleOf("a copy to s[0] and one from there that waits for it, but it does not signal", [][2]string{{"0", ""}},
			tb(0, 0, -1, local("s0", "b0")), tb(0, 1, -1, after(local("b0", "s0"), 0, 0)))},
	{UnmatchedSend, "a message is sent and never received", "12.2",
		exampleOf("rank 0 sends two chunks, rank 1 receives one", [][2]string{{}, {"0", ""}},
			tb(0, 0, 1, send("b0"), send("b1")), tb(1, 0, 0, recv("b0")))},
	{CountMismatch, "a step receives a message of another length than was sent", "12.2",
		exampleOf("rank 0 sends two chunks as one message, rank 1 receives two messages", [][2]string{{}, {"0", ""}},
			tb(0, 0, 1, chunks(send("b0"), 2)), tb(1, 0, 0, recv("b0")))},
	{SharedConnection, "two threadblocks of a rank use one end of a connection", "12.2",
		exampleOf("two threadblocks send to rank 1 on one channel", [][2]string{{}, {"0", "0"}},
			tb(0, 0, 1, send("b0")), tb(0, 1, 1, send("b1")), tb(1, 0, 0, recv("b0"), recv("b1")))},
	{OutOfBounds, "a step reads or writes beyond the end of a buffer", "12.1",
		exampleOf("rank 1 receives to the third chunk of a buffer of two", [][2]string{{}, {}},
			tb(0, 0, 1, send("b0")), tb(1, 0, 0, recv("b2")))},
	{UninitialisedRead, "a step reads what nothing has written", "12.5",
		exampleOf("rank 0 sends scratch that it never filled", [][2]string{{}, {}},
			tb(0, 0, 1, send("s0")), tb(1, 0, 0, recv("s0")))},
	{WouldNotLoad, "no runtime that is asked about would load the file", "12.7",
		Example{Story: "an <algo> without the attribute coll; the runtimes' parsers refuse it and use another algorithm"}},
	{RankOrder, "ranks add the same contributions in different orders, so that their last bits may differ (does not refute)", "12.6",
		exampleOf("three ranks that each add the others' chunks to their own as they come", [][2]string{{"012", ""}, {"012", ""}, {"012", ""}},
			append(broadcastAll(3), adders(3)...)...)},
	{ClobberedInput, "a step writes the caller's input, out of place (does not refute)", "12.6",
		kept(exampleOf("rank 1 receives into its input", [][2]string{{}, {"0", ""}},
			tb(0, 0, 1, send("b0")), tb(1, 0, 0, recv("b0"))), 1)},
	{LateSignal, "a step waits for one that does not signal, and is released by a later one only (does not refute)", "12.6",
		exampleOf("the first of two copies does not signal, the second does", [][2]string{{"0", "0"}},
			tb(0, 0, -1, local("s0", "b0"), signals(local("s1", "b1"))), tb(0, 1, -1, after(local("b0", "s0"), 0, 0)))},
	{IdleOwner, "a threadblock names a connection that another one uses, and does not use it (does not refute)", "12.6",
		exampleOf("two threadblocks have rank 1 as their peer on one channel, and one has no steps", [][2]string{{}, {"0", ""}},
			tb(0, 0, 1, send("b0")), tb(0, 1, 1), tb(1, 0, 0, recv("b0")))},
	{RemoteOrder, "two accesses to a cell of a rank are ordered by messages through other ranks only, which not every runtime promises (does not refute)", "12.6",
		exampleOf("rank 0 sends b[0], and another of its threadblocks receives the answer into b[0]", [][2]string{{"1", ""}, {}},
			oneWay(tb(0, 0, 1, send("b0"))), oneWay(tb(0, 1, 1, recv("b0"))), tb(1, 0, 0, recv("s0"), send("b0")))},
	{TooFewSlots, "with the slots that a connection has, processes wait for each other for ever at some sizes of the buffer (refutes for a size that is asked for)", "12.4",
		exampleOf("two ranks that both send two messages before they receive any, over connections with one slot", [][2]string{{"1", "1"}, {"0", "0"}},
			tb(0, 0, 1, send("b0"), send("b1"), recv("b0"), recv("b1")), tb(1, 0, 0, send("b0"), send("b1"), recv("b0"), recv("b1")))},
}

// oneWay takes the connection from a process that its first step does not use.
func oneWay(p model.Process) model.Process {
	if p.Steps[0].Verb&model.Sends != 0 {
		p.RecvFrom = -1
	} else {
		p.SendTo = -1
	}
	return p
}

// broadcastAll sends b[0] from each of n ranks to each other: process p of a rank,
// p < n-1, has the rank p+1 further as its peer, to send.
func broadcastAll(n int) []model.Process {
	var ps []model.Process
	for r := range n {
		for d := 1; d < n; d++ {
			p := tb(r, d-1, (r+d)%n, signals(send("b0")))
			p.RecvFrom = -1
			ps = append(ps, p)
		}
	}
	return ps
}

// adders adds what each of n ranks receives to b[0], from the next rank first.
func adders(n int) []model.Process {
	var ps []model.Process
	for r := range n {
		for d := 1; d < n; d++ {
			in := signals(add("b0"))
			for w := range n - 1 { // after all sends
				in.Waits = append(in.Waits, model.Wait{Process: w})
			}
			if d > 1 {
				in.Waits = append(in.Waits, model.Wait{Process: n + d - 2})
			}
			p := tb(r, n-1+d, (r+d)%n, in)
			p.SendTo = -1
			ps = append(ps, p)
		}
	}
	return ps
}
