package main

import (
	"fmt"

	"github.com/oraccl/oraccl/model/format/msccl"
	"github.com/oraccl/oraccl/verify"
)

// protocol is how the runtimes move data: how many transfers the sender may be ahead
// within a machine, and the bytes of a transfer with the default buffers.
type protocol struct {
	slots    int
	transfer int64
}

var protocols = map[string]protocol{
	"Simple": {2, 2 << 20},
	"LL":     {8, 32 << 10},
	"LL128":  {8, 576000},
}

// mostChunks is how many chunks a transfer carries at most.
const mostChunks = 71

// sizes is what a mode needs of its connections.
type sizes struct {
	protocol
	step, chunk int   // least slots if a step is one transfer, and if a chunk is; 0 if none is enough
	safe        int64 // largest buffer without a deadlock: -1 for any, 0 for none
}

// sizesOf finds the least number of slots, and the sizes that the protocol's number
// is enough for: a transfer carries as many chunks as fit, so that large buffers
// need more of them.
func (d *deployed) sizesOf(m mode) *sizes {
	s := &sizes{protocol: protocols[d.algo.Proto], safe: -1}
	s.step = m.report.Slots(0)
	s.chunk = m.report.Slots(1)
	if s.slots == 0 || s.step == 0 {
		return s
	}
	most := min(m.report.MaxCount(), mostChunks)
	for n := most; n >= 1; n-- {
		if m.report.Completes(s.slots, n) {
			continue
		}
		if s.safe = 0; n < most {
			s.safe = s.transfer / int64(n+1) * int64(d.algo.ChunksPerLoop)
		}
		break
	}
	return s
}

// perTransfer is how many chunks a transfer carries for a size of the buffer.
func (d *deployed) perTransfer(size int64) int {
	chunk := max(1, size/int64(max(1, d.algo.ChunksPerLoop)))
	return int(min(max(protocols[d.algo.Proto].transfer/chunk, 1), mostChunks))
}

// tooFew refutes a size that was asked about, if some step waits for ever there.
func (d *deployed) tooFew() {
	p, known := protocols[d.algo.Proto]
	if d.asked == 0 || !known {
		return
	}
	for _, m := range d.modes {
		if n := d.perTransfer(d.asked); m.sizes.step > 0 && !m.report.Completes(p.slots, n) {
			d.bad = append(d.bad, verify.Violation{Code: verify.TooFewSlots, Where: fmt.Sprintf("buffer of %d bytes, %v", d.asked, m), Transfer: -1, Rank: -1, Chunk: -1,
				Message: fmt.Sprintf("%s is %d transfers ahead at most and a transfer has room for %d of these chunks: threadblocks wait for ever", d.algo.Proto, p.slots, n)})
		}
	}
}

// conditions says in words what a proof depends on.
func (d *deployed) conditions() []string {
	var all []string
	say := func(m mode, format string, args ...any) {
		text := fmt.Sprintf(format, args...)
		if len(d.modes) > 1 {
			text = m.String() + ": " + text
		}
		all = append(all, text)
	}
	if d.guessed != "" {
		all = append(all, d.guessed)
	}
	if d.grade() == msccl.NoRoom {
		for _, l := range d.loads {
			if l.Grade == msccl.NoRoom {
				all = append(all, fmt.Sprintf("no runtime loads it as it is built: %v has no room for it: line %d: %s", l.Runtime, l.Refusals[0].Line, l.Refusals[0].Message))
			}
		}
	}
	for _, m := range d.modes {
		s := m.sizes
		if s.step > 0 && s.safe == 0 {
			say(m, "needs %d slots a connection, and %s has %d between GPUs of a machine: deadlocks there at every size", s.step, d.algo.Proto, s.slots)
		} else if s.step > 0 && s.safe > 0 {
			text := fmt.Sprintf("safe up to %s with the %d slots of %s; above, a connection needs up to %d", binaryBytes(s.safe), s.slots, d.algo.Proto, s.chunk)
			for _, l := range d.loads {
				if sel := d.algo.Selection(l.Runtime); len(l.Refusals) == 0 && sel.Never == "" && (sel.Max < 0 || sel.Max > s.safe) {
					text += fmt.Sprintf("; %v would pick it for more", l.Runtime)
				}
			}
			say(m, "%s", text)
		}
		if n := m.report.RemoteOnly; n > 0 {
			say(m, "%d pairs of accesses are ordered only through other ranks, which LL and RCCL's fences do not promise", n)
		}
		seen := map[verify.Code]bool{}
		for _, c := range m.report.Conditions { // the first of each kind
			if n := m.report.Counts[c.Code]; !seen[c.Code] {
				seen[c.Code] = true
				text := fmt.Sprintf("%s: %s: %s", c.Code, c.Where, c.Message)
				if n > 1 {
					text += fmt.Sprintf(" (and %d more)", n-1)
				}
				say(m, "%s", text)
			}
		}
	}
	return all
}

// provisos is what a verdict says beside "proved": it holds with so many slots, up to
// this size, but for the last bits.
func (d *deployed) provisos() string {
	text := ""
	if d.outcome != verify.Proved {
		return text
	}
	slots, safe, differ := 0, int64(-1), false
	for _, m := range d.modes {
		switch {
		case m.sizes.safe == 0:
			slots = max(slots, m.sizes.step)
		case m.sizes.safe > 0 && (safe < 0 || m.sizes.safe < safe):
			safe = m.sizes.safe
		}
		differ = differ || m.report.Consistent == verify.Refuted
	}
	if slots > 0 {
		text += fmt.Sprintf(", with %d or more slots a connection", slots)
	} else if safe > 0 {
		text += ", up to " + binaryBytes(safe)
	}
	if differ {
		text += "; ranks may differ in the last bits"
	}
	if d.grade() == msccl.NoRoom {
		text += "; no runtime loads it as it is built"
	}
	return text
}

// binaryBytes writes a size with the largest binary unit that it is a multiple of.
func binaryBytes(n int64) string {
	for i, unit := range []string{"GiB", "MiB", "KiB"} {
		if size := int64(1) << (30 - 10*i); n >= size && n%size == 0 {
			return fmt.Sprintf("%d %s", n/size, unit)
		}
	}
	return fmt.Sprintf("%d bytes", n)
}
