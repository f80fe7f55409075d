package verify

import (
	"fmt"
	"slices"
	"strings"

	"github.com/oraccl/oraccl/model"
)

// The examples of execution plans have two ranks, each with 16 bytes of the caller's, u, and 32
// of scratch, s, which hold 16 as packets, and with a channel to the other. Rank r begins with xr
// in u. A buffer is "u0" for u of rank 0; "p0" is scratch of rank 0, as packets.

// planExample makes an example: a list of operations for each of some threadblocks.
func planExample(story string, blocks ...model.PlanBlock) Example {
	p := &model.Plan{Ranks: 2, Message: 16, Inputs: []int{0, 2}, Semaphores: []int{0}}
	for r := range 2 {
		p.Buffers = append(p.Buffers, model.PlanBuffer{Rank: r, Name: "u", Space: 2 * r, Size: 16, User: true}, model.PlanBuffer{Rank: r, Name: "s", Space: 2*r + 1, Size: 32, Packets: 16})
		p.Counters = append(p.Counters, model.PlanCounter{Name: fmt.Sprintf("the channel from gpu %d to gpu %d", r, 1-r), From: r, To: 1 - r})
	}
	p.Blocks = blocks
	return Example{Story: story, Plan: p}
}

// planFile makes an example of a file: a plan of one gpu whose threadblock has one operation, and
// what stands at the top of the file beside the rest.
func planFile(story, top, operation string) Example {
	return Example{Story: story, File: `{"name": "one gpu", "collective": "allreduce", "protocol": "Simple", "inplace": true,` + top + `
"gpus": [{"id": 0, "input_chunks": 1, "output_chunks": 1, "scratch_chunks": 2, "channels": [], "remote_buffers": [],
"threadblocks": [{"id": 0, "channels": [], "ops": [
` + operation + `
]}]}]}
`}
}

// planBlock makes a threadblock of a rank.
func planBlock(rank, id int, ops ...model.PlanOp) model.PlanBlock {
	b := model.PlanBlock{Rank: rank, ID: id, Ops: slices.Clone(ops)}
	for i := range b.Ops {
		b.Ops[i].Label = i
		for k := range b.Ops[i].IDs { // who signals raises the counter that the other rank takes from
			switch b.Ops[i].Verb {
			case model.PlanSignal:
				b.Ops[i].IDs = []int{rank}
			case model.PlanWait:
				b.Ops[i].IDs = []int{1 - rank}
			default:
				b.Ops[i].IDs[k] = 0
			}
		}
	}
	return b
}

// The operations of the examples.
var (
	planSignal  = model.PlanOp{Verb: model.PlanSignal, Name: "signal", IDs: []int{0}}
	planWait    = model.PlanOp{Verb: model.PlanWait, Name: "wait", IDs: []int{0}}
	planRelaxed = model.PlanOp{Verb: model.PlanSignal, Name: "rlxsignal", IDs: []int{0}, Relaxed: true}
	planAwait   = model.PlanOp{Verb: model.PlanWait, Name: "rlxwait", IDs: []int{0}, Relaxed: true}
	planJoin    = model.PlanOp{Verb: model.PlanJoin, Name: "nop"}
)

func planBarrier(blocks int) model.PlanOp {
	return model.PlanOp{Verb: model.PlanBarrier, Name: "barrier", Blocks: blocks}
}

// planMove moves 16 bytes.
func planMove(name, dst string, srcs ...string) model.PlanOp {
	m := model.PlanMove{Dsts: []model.PlanSpan{planSpan(dst)}, Grain: 16}
	for _, s := range srcs {
		m.Srcs = append(m.Srcs, planSpan(s))
	}
	if strings.Contains(dst+srcs[0], "p") {
		m.Grain = 8
	}
	return model.PlanOp{Verb: model.PlanCompute, Name: name, Moves: []model.PlanMove{m}}
}

func planSpan(name string) model.PlanSpan {
	s := model.PlanSpan{Buffer: 2 * int(name[1]-'0'), Size: 16, Packet: name[0] == 'p'}
	if name[0] != 'u' {
		s.Buffer++
	}
	return s
}

// writePlan writes the threadblocks of an example.
func writePlan(b *strings.Builder, p *model.Plan) {
	if p == nil {
		return
	}
	span := func(s model.PlanSpan) string {
		x := p.Buffers[s.Buffer]
		text := fmt.Sprintf("%s of gpu %d", x.Name, x.Rank)
		if s.Packet {
			return "packets in " + text
		}
		return text
	}
	for i := range p.Blocks {
		x := &p.Blocks[i]
		fmt.Fprintf(b, "  gpu %d tb %d\n", x.Rank, x.ID)
		for _, o := range x.Ops {
			fmt.Fprintf(b, "    op %d: %s", o.Label, o.Name)
			for _, m := range o.Moves {
				for k, s := range m.Srcs {
					fmt.Fprintf(b, " %s %s", []string{"from", "and"}[min(k, 1)], span(s))
				}
				for k, d := range m.Dsts {
					fmt.Fprintf(b, " %s %s", []string{"to", "and"}[min(k, 1)], span(d))
				}
			}
			switch o.Verb {
			case model.PlanSignal:
				fmt.Fprintf(b, " to gpu %d", 1-x.Rank)
			case model.PlanWait:
				fmt.Fprintf(b, " for gpu %d", 1-x.Rank)
			case model.PlanBarrier:
				fmt.Fprintf(b, " for %d threadblocks", o.Blocks)
			}
			b.WriteString("\n")
		}
	}
}

// plans is the catalogue of what execution plans have beside the codes of schedules and concurrent
// programs. A test runs the examples.
var plans = []Explanation{
	{BadReference, "an operation or threadblock refers to what is not there, or of another kind than the operation works on; the executor does not check it", "18.2",
		planFile("an operation names channel 3, and its threadblock has no channels", "",
			`{"name": "signal", "channel_type": "memory", "channel_ids": [3]}`)},
	{RuntimeLimit, "the plan exceeds an array of the executor, which writes past its end or divides by zero there, or its threads cannot do what is asked of them", "18.2",
		planFile("barrier 16; the executor has room for 16, from 0 on", "",
			`{"name": "barrier", "barrier_id": 16, "num_threadblocks": 1}`)},
	{SignalBalance, "a channel gets more signals in a launch than are waited for, or a semaphore more releases than acquires, or fewer: the next launch takes what is left over", "18.4",
		planExample("rank 0 signals twice, rank 1 waits once", planBlock(0, 0, planSignal, planSignal), planBlock(1, 0, planWait))},
	{BarrierMismatch, "other threadblocks come to a barrier than it is for, or not equally often", "18.4",
		planExample("a barrier of one threadblock that two come to", planBlock(0, 0, planBarrier(1)), planBlock(0, 1, planBarrier(1)))},
	{EntryHandshake, "a rank uses memory of another rank's caller before that rank is known to have started", "18.6",
		planExample("rank 0 puts to rank 1 and signals", planBlock(0, 0, planMove("put", "u1", "u0"), planJoin, planSignal), planBlock(1, 0, planWait))},
	{ExitHandshake, "a rank, or a proxy, uses memory of a rank's caller when that rank may have ended", "18.6",
		planExample("rank 1 signals that it has started, rank 0 puts to it and nobody waits for that", planBlock(0, 0, planWait, planJoin, planMove("put", "u1", "u0")), planBlock(1, 0, planSignal))},
	{PacketProtocol, "packets are used in a plan of another protocol than LL, for which scratch has no room for flags", "18.7",
		planFile("packets are stored in a plan of the protocol Simple", "",
			`{"name": "cpkt", "src_buff": [{"type": "i", "index": 0, "size": 1}], "dst_buff": [{"type": "s", "index": 0, "size": 1}]}`)},
	{PacketMixed, "bytes of scratch are used as packets and as plain memory, so that a flag may be taken for data or data for a flag", "18.7",
		planExample("a rank stores packets in scratch, and copies from there without waiting for them", planBlock(0, 0, planMove("cpkt", "p0", "u0"), planJoin, planMove("copy", "s0", "u0")))},
	{PacketTwice, "a packet is written twice in a launch, with the same flag: a reader cannot tell which it has (refutes where the two differ)", "18.7",
		planExample("two threadblocks write the same packets", planBlock(0, 0, planMove("cpkt", "p0", "u0")), planBlock(0, 1, planMove("cpkt", "p0", "u0")))},
	{SizeLimit, "no message of a size that is asked for, or of any, divides into the chunks and is within the limits of the plan", "18.8",
		planFile("a plan for messages of up to 8 bytes; a chunk is a multiple of 16", ` "max_message_size": 8,`,
			`{"name": "nop"}`)},
	{RelaxedOrder, "two accesses are ordered by a relaxed signal or a packet alone, which orders execution and does not make memory visible (does not refute)", "18.5",
		planExample("rank 0 puts to rank 1 and ends with a relaxed signal", planBlock(0, 0, planWait, planJoin, planMove("put", "u1", "u0"), planJoin, planRelaxed), planBlock(1, 0, planSignal, planAwait))},
	{NextLaunch, "a launch may write scratch that a slower rank still uses in the launch before (does not refute a launch)", "18.6",
		planExample("rank 0 puts to scratch of rank 1, which copies from there", planBlock(0, 0, planMove("put", "s1", "u0"), planJoin, planSignal), planBlock(1, 0, planWait, planJoin, planMove("copy", "u1", "s1")))},
	{SharedChannel, "several threadblocks raise one counter, or take from one: the first to come is served first (does not refute)", "18.4",
		planExample("two threadblocks of rank 0 signal rank 1", planBlock(0, 0, planSignal), planBlock(0, 1, planSignal), planBlock(1, 0, planWait, planWait))},
	{KernelDeparts, "the kernel does something else than the plan says; the plan is judged by what the kernel does (does not refute)", "18.3",
		planFile("a maximum, for which the kernel adds", "",
			`{"name": "re", "reduce_op": "max", "src_buff": [{"type": "i", "index": 0, "size": 1}, {"type": "i", "index": 0, "size": 1}],
 "dst_buff": [{"type": "s", "index": 0, "size": 1}]}`)},
}
