package assign

import "github.com/oraccl/oraccl/model"

// stays reports whether a slot is written where it lies at the beginning. It goes by the
// name of the output then, whose reads RCCL orders after what a step has waited for.
func (f *flow) stays(member, chunk int32) bool {
	return f.inPlace && f.wanted[f.slot(member, chunk)]
}

// read returns where a slot lies for a reader, before its first write or after.
func (f *flow) read(member, chunk int32, first bool) model.Ref {
	if first && !f.stays(member, chunk) {
		return model.Ref{Buffer: input, Offset: f.inputOf(int(chunk))}
	}
	return f.write(member, chunk)
}

// write returns where a slot lies once it is written: in the output, if it must be
// there at the end, else in scratch, so that no input is overwritten that the caller
// may need.
func (f *flow) write(member, chunk int32) model.Ref {
	w := &f.work[f.slot(member, chunk)]
	if w.Buffer < 0 {
		*w = f.take(int(member), f.size[chunk])
	}
	return *w
}

// instructions states what the steps do, and where. It hands out scratch again.
func (f *flow) instructions(steps []step) []model.Instruction {
	clear(f.used)
	for i := range f.work {
		if f.work[i].Buffer == scratch {
			f.work[i].Buffer = -1
		}
	}
	aside := map[int32]model.Ref{} // where a message was received to be relayed, or staged
	list := make([]model.Instruction, len(steps))
	for i := range steps {
		s, in := &steps[i], &list[i]
		in.Count = f.size[s.chunk]
		switch s.kind {
		case fills:
			in.Name, in.Src, in.Dst = "cpy", f.read(s.member, s.chunk, true), f.write(s.member, s.chunk)
		case readies:
			in.Name, in.Src, in.Dst = "cpy", f.read(s.member, s.chunk, true), f.write(s.member, s.chunk)
		case settles:
			in.Name, in.Src, in.Dst = "cpy", aside[s.recv], f.write(s.member, s.chunk)
			if f.messages[s.recv].op == model.Reduction {
				in.Name = "re"
			}
		case stages:
			aside[s.recv] = f.take(int(s.member), in.Count)
			in.Name, in.Dst = "r", aside[s.recv]
		case moves:
			f.move(s, in, aside)
		}
		in.Verb = verbs[in.Name]
		switch {
		case in.Verb&model.Reads == 0:
			in.Src = in.Dst
		case in.Verb&model.Writes == 0:
			in.Dst = in.Src
		}
	}
	return list
}

// verbs are the instructions that MSCCL-IR has.
var verbs = map[string]model.Verb{
	"s":    model.Reads | model.Sends,
	"r":    model.Receives | model.Writes,
	"rcs":  model.Receives | model.Writes | model.Sends,
	"rrc":  model.Receives | model.Reads | model.Writes,
	"rrs":  model.Receives | model.Reads | model.Sends,
	"rrcs": model.Receives | model.Reads | model.Writes | model.Sends,
	"cpy":  model.Reads | model.Writes,
	"re":   model.Reads | model.ReadsDst | model.Writes,
}

// move states what a step does that receives, sends, or both.
func (f *flow) move(s *step, in *model.Instruction, aside map[int32]model.Ref) {
	switch {
	case s.recv < 0:
		x := &f.messages[s.send]
		in.Name = "s"
		if x.prev >= 0 {
			in.Src = aside[x.prev]
		} else {
			in.Src = f.read(s.member, s.chunk, x.first)
		}
		return
	case !f.messages[s.recv].last:
		aside[s.recv] = f.take(int(s.member), in.Count)
		in.Name, in.Dst = "r", aside[s.recv]
	case f.messages[s.recv].op == model.Copy:
		in.Name, in.Dst = "r", f.write(s.member, s.chunk)
	case s.send >= 0 && f.messages[s.recv].passes:
		in.Name, in.Src = "rrs", f.read(s.member, s.chunk, f.messages[s.recv].fresh)
		return
	default:
		in.Name, in.Src, in.Dst = "rrc", f.read(s.member, s.chunk, f.messages[s.recv].fresh), f.write(s.member, s.chunk)
	}
	if s.send >= 0 {
		in.Name = map[string]string{"r": "rcs", "rrc": "rrcs"}[in.Name]
	}
}
