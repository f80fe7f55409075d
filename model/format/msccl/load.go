package msccl

import (
	"fmt"
	"math"
	"slices"

	"github.com/oraccl/oraccl/model"
)

// Runtime is a runtime that deploys files.
type Runtime uint8

// The runtimes: microsoft/msccl, RCCL, and Azure's executor for NCCL
// (msccl-executor-nccl), which reads RCCL's dialect and has limits of its own.
const (
	MSCCL Runtime = iota
	RCCL
	Azure
)

// Runtimes returns all of them.
func Runtimes() []Runtime { return []Runtime{MSCCL, RCCL, Azure} }

// String returns "msccl", "rccl" or "azure".
func (r Runtime) String() string { return []string{"msccl", "rccl", "azure"}[r] }

// ParseRuntime is the inverse of Runtime.String.
func ParseRuntime(s string) (Runtime, error) {
	for _, r := range Runtimes() {
		if r.String() == s {
			return r, nil
		}
	}
	return 0, fmt.Errorf("runtime %q: want msccl, rccl or azure", s)
}

// limits are what a runtime has room for.
type limits struct {
	tbs      int // threadblocks of a rank
	steps    int // instructions of a threadblock, its dependencies, and its re
	channels int
	colls    []string
}

// limitsOf has the limits of microsoft/msccl as of 2023, of RCCL as of October 2024, and of
// Azure's executor as of 2024 and as it is built by default.
var limitsOf = [...]limits{
	MSCCL: {216, 256, 32, []string{"allreduce", "allgather", "reduce", "broadcast", "alltoall", "reduce_scatter", "custom"}},
	RCCL:  {64, 64, 128, rcclColls},
	Azure: {1024, 64, 32, rcclColls},
}

var rcclColls = []string{"reduce", "broadcast", "allreduce", "reducescatter", "allgather", "send", "recv", "gather", "scatter", "alltoall", "alltoallv"}

// What all of them have room for.
const (
	maxPeers    = 32   // threadblocks of a rank on a channel that name a peer to send to, and to receive from
	maxNodes    = 4096 // elements that a rank reads, and one more
	maxChildren = 1024 // elements gpu in algo, tb in gpu and step in tb
)

// maxRanks is how many ranks the runtimes' 16 bits can name.
const maxRanks = 1<<15 - 1

// maxCount is the first cnt that is too large for all runtimes.
const maxCount = 72

// loader collects what is found, not more than a few of each.
type loader struct {
	a *Algo
	l model.Loading
	limits
}

func (c *loader) refuse(line int, format string, args ...any) {
	c.grade(model.Unreadable, line, format, args...)
}

// grade refuses for a reason of some grade.
func (c *loader) grade(g model.Grade, line int, format string, args ...any) {
	c.l.Grade = max(c.l.Grade, g)
	if len(c.l.Refusals) < maxFaults {
		c.l.Refusals = append(c.l.Refusals, model.Remark{Line: line, Message: fmt.Sprintf(format, args...)})
	}
}

// within refuses a number that is not below a limit of the runtime, or is negative.
func (c *loader) within(line int, at, name string, n, limit int) {
	g := model.NoRoom
	if n < 0 {
		g = model.Refused
	}
	c.grade(g, line, "%s: %s=%d, want 0 to %d", at, name, n, limit-1)
}

func (c *loader) note(line int, format string, args ...any) {
	if len(c.l.Notes) < maxFaults {
		c.l.Notes = append(c.l.Notes, model.Remark{Line: line, Message: fmt.Sprintf(format, args...)})
	}
}

// Load reports whether every rank of a runtime would load the file, in time
// proportional to its steps.
func (a *Algo) Load(r Runtime) model.Loading {
	c := &loader{a: a, l: model.Loading{Runtime: r.String(), Selection: a.Selection(r)}, limits: limitsOf[r]}
	for _, m := range a.missing {
		if m.element != "algo" || m.key != "name" || r == MSCCL { // the others do not read it
			c.refuse(m.line, "%v", m)
		}
	}
	for _, g := range []model.Grade{model.Unreadable, model.Refused, model.NoRoom} {
		for _, f := range a.lexical[g] {
			c.grade(g, f.line, "%s", f.message)
		}
	}
	for _, f := range a.lexical[model.Loads] {
		c.note(f.line, "%s", f.message)
	}
	c.head(r)
	c.children(a.Line, "algo", "gpu", len(a.GPUs))
	seen := map[int]int{}
	for i := range a.GPUs {
		g := &a.GPUs[i]
		if line, twice := seen[g.ID]; twice {
			c.refuse(g.Line, "gpu %d again, first in line %d", g.ID, line)
		}
		seen[g.ID] = g.Line
		if g.ID < 0 || g.ID >= a.Ranks {
			c.note(g.Line, "gpu %d is ignored: there are ranks 0 to %d", g.ID, a.Ranks-1)
			continue
		}
		c.gpu(r, g)
	}
	if missing := a.Ranks - len(seen); missing > 0 && a.Ranks > 0 {
		c.note(a.Line, "%d of %d ranks have no gpu element: they take no part", missing, a.Ranks)
	}
	if a.Copies > 0 {
		c.note(a.IgnoredLine, "elements that no runtime knows are ignored, %d in all (<copy>, for one, copies nothing)", a.Copies)
	}
	return c.l
}

// head checks the element algo.
func (c *loader) head(r Runtime) {
	a := c.a
	if !a.lacks("coll") && !slices.Contains(c.colls, a.Coll) {
		c.refuse(a.Line, "coll=%q, want one of %v", a.Coll, c.colls)
	}
	if !a.lacks("proto") && a.Proto != "Simple" && a.Proto != "LL" && a.Proto != "LL128" {
		c.refuse(a.Line, "proto=%q, want Simple, LL or LL128", a.Proto)
	}
	if a.Ranks < 1 || a.Ranks > maxRanks {
		c.refuse(a.Line, "ngpus=%d, want at least 1 and at most %d", a.Ranks, maxRanks)
	}
	if a.ChunksPerLoop < 1 {
		c.refuse(a.Line, "nchunksperloop=%d, want at least 1", a.ChunksPerLoop)
	}
	if a.Channels > c.channels {
		c.note(a.Line, "nchannels=%d, and there are %d at most", a.Channels, c.channels)
	}
	switch r {
	case MSCCL:
		switch minimum, maximum := a.microsoftRange(); {
		case minimum > maximum:
			c.refuse(a.Line, "minBytes=%d above maxBytes=%d", minimum, maximum)
		case minimum < 0:
			c.refuse(a.Line, "minBytes=%d, want none below 0", minimum)
		}
		if a.Threads%32 != 0 {
			c.refuse(a.Line, "nthreads=%d, want a multiple of 32", a.Threads)
		}
		if a.typed {
			c.refuse(a.Line, "<algo> has an attribute rtype or stype, want neither: msccl asks every threadblock for it, and refuses p2p and shm")
		}
	default:
		for _, need := range []struct {
			key   string
			there bool
		}{{"outofplace", a.HasOutPlace}, {"minBytes", a.HasMin}, {"maxBytes", a.HasMax}} {
			if !need.there {
				c.refuse(a.Line, "<algo> has no attribute %s", need.key)
			}
		}
	}
}

// microsoftRange returns minBytes and maxBytes, or what stands for them.
func (a *Algo) microsoftRange() (minimum, maximum int64) {
	minimum, maximum = a.MinBytes, a.MaxBytes
	if !a.HasMax {
		maximum = 1 << 27
	}
	return minimum, maximum
}

// gpu checks what one rank reads.
func (c *loader) gpu(r Runtime, g *GPU) {
	a := c.a
	if g.Scratch < 0 {
		c.refuse(g.Line, "s_chunks=%d, want none below 0", g.Scratch)
	}
	if r == MSCCL {
		in, out := 1, 1
		switch a.Coll {
		case "allgather":
			in = a.Ranks
		case "reduce_scatter":
			out = a.Ranks
		}
		if g.Input > 0 && g.Input*in != a.ChunksPerLoop || g.Output > 0 && g.Output*out != a.ChunksPerLoop {
			c.grade(model.Refused, g.Line, "i_chunks=%d and o_chunks=%d do not fit nchunksperloop=%d of %s on %d ranks", g.Input, g.Output, a.ChunksPerLoop, a.Coll, a.Ranks)
		}
	}
	c.children(g.Line, fmt.Sprintf("gpu %d", g.ID), "tb", len(g.TBs))
	nodes, seen := 1+len(a.GPUs), map[int]bool{}
	sends, recvs := map[int]int{}, map[int]int{}
	for i := range g.TBs {
		t := &g.TBs[i]
		nodes += 1 + len(t.Steps)
		c.children(t.Line, fmt.Sprintf("gpu %d tb %d", g.ID, t.ID), "step", len(t.Steps))
		if seen[t.ID] {
			c.refuse(t.Line, "gpu %d tb %d again, want numbers of their own", g.ID, t.ID)
		}
		seen[t.ID] = true
		c.tb(r, g, t)
		if c.spills(t, sends, recvs) {
			c.grade(model.NoRoom, t.Line, "gpu %d tb %d: more than %d threadblocks are on channel %d, of which %[3]d have a peer", g.ID, t.ID, maxPeers, t.Channel)
		}
		if t.Send >= 0 {
			sends[t.Channel]++
		}
		if t.Recv >= 0 {
			recvs[t.Channel]++
		}
	}
	for id := range len(seen) {
		if !seen[id] {
			c.grade(model.Refused, g.Line, "gpu %d has %d threadblocks but none with id %d, want 0 to %d", g.ID, len(seen), id, len(seen)-1)
			break
		}
	}
	if nodes >= maxNodes {
		c.grade(model.NoRoom, g.Line, "gpu %d reads %d elements, want fewer than %d", g.ID, nodes, maxNodes)
	}
}

// spills reports whether a loader writes behind its lists of peers, which have this many before
// the threadblock by channel. Of every threadblock, whatever it does, the loader counts the
// messages in the two entries that the channel has free, and writes where it finds counts:
// behind the senders lie the receivers of the channel, behind those the senders of the next.
func (c *loader) spills(t *TB, sends, recvs map[int]int) bool {
	return sends[t.Channel] >= maxPeers && (t.Send >= 0 || t.Recv >= 0 || recvs[t.Channel] > 0) ||
		recvs[t.Channel] >= maxPeers && (t.Recv >= 0 || sends[t.Channel+1] > 0 || t.Channel+1 == c.channels)
}

// children refuses an element that has more children than the parser's list holds.
func (c *loader) children(line int, at, of string, n int) {
	if n > maxChildren {
		c.grade(model.NoRoom, line, "%s has %d elements <%s>, want at most %d", at, n, of, maxChildren)
	}
}

// tb checks a threadblock.
func (c *loader) tb(r Runtime, g *GPU, t *TB) {
	at := fmt.Sprintf("gpu %d tb %d", g.ID, t.ID)
	switch {
	case t.ID < 0 || t.ID >= c.tbs:
		c.within(t.Line, at, "id", t.ID, c.tbs)
	case t.Send == g.ID || t.Recv == g.ID:
		c.refuse(t.Line, "%s: is its own peer", at)
	case t.Send < -1 || t.Recv < -1:
		c.refuse(t.Line, "%s: send=%d and recv=%d, want a rank or -1", at, t.Send, t.Recv)
	case t.Send >= c.a.Ranks || t.Recv >= c.a.Ranks:
		c.refuse(t.Line, "%s: send=%d and recv=%d, want ranks below %d", at, t.Send, t.Recv, c.a.Ranks)
	case t.Channel < 0 || t.Channel >= c.channels:
		c.within(t.Line, at, "chan", t.Channel, c.channels)
	}
	if (t.Send >= 0 || t.Recv >= 0) && t.Channel >= c.a.Channels {
		c.note(t.Line, "%s: chan=%d, and nchannels=%d: the runtime connects channels below that only", at, t.Channel, c.a.Channels)
	}
	for i := range t.Steps {
		c.step(r, g, t, &t.Steps[i], at)
	}
	f := fold(t)
	for _, x := range f.refusals {
		c.refuse(x.line, "%s: %s", at, x.message)
	}
	for _, x := range f.notes {
		c.note(x.line, "%s: %s", at, x.message)
	}
	if len(f.steps) > c.steps {
		c.grade(model.NoRoom, t.Line, "%s: %d steps, want at most %d", at, len(f.steps), c.steps)
	}
	if f.waits > c.steps {
		c.grade(model.NoRoom, t.Line, "%s: %d dependencies, want at most %d", at, f.waits, c.steps)
	}
	if f.reductions > c.steps {
		c.grade(model.NoRoom, t.Line, "%s: %d steps of type re, want at most %d", at, f.reductions, c.steps)
	}
}

// step checks what the runtimes check of a step, and what they have no bits for.
func (c *loader) step(r Runtime, g *GPU, t *TB, s *Step, at string) {
	line := int(s.Line)
	switch {
	case s.S < 0 || int(s.S) >= c.steps:
		c.within(line, at, "s", int(s.S), c.steps)
	case s.DepID > math.MaxInt8:
		c.grade(model.NoRoom, line, "%s: depid=%d does not fit the runtime's 8 bits", at, s.DepID)
	case s.Deps > math.MaxInt16:
		c.grade(model.NoRoom, line, "%s: deps=%d does not fit the runtime's 16 bits", at, s.Deps)
	}
	if s.Type == Nop {
		return
	}
	switch {
	case s.Count < 0 || s.Count >= maxCount:
		c.refuse(line, "%s: cnt=%d, want 0 to %d", at, s.Count, maxCount-1)
	case s.Count == 0 && r == MSCCL && (s.Type.Sends() || s.Type.Receives()):
		c.refuse(line, "%s: cnt=0 of a step that sends or receives: the loader counts it before the beginning of a list", at)
	case s.Type.Sends() && t.Send < 0:
		c.refuse(line, "%s: %s sends, and the threadblock has no peer to send to", at, s.Type)
	case s.Type.Receives() && t.Recv < 0:
		c.refuse(line, "%s: %s receives, and the threadblock has no peer to receive from", at, s.Type)
	case s.HasDep != 0 && s.HasDep != 1:
		c.refuse(line, "%s: hasdep=%d, want 0 or 1", at, s.HasDep)
	case s.SrcOff > math.MaxInt16 || s.DstOff > math.MaxInt16:
		c.grade(model.NoRoom, line, "%s: an offset does not fit the runtime's 16 bits", at)
	}
	if s.Type != Recv && s.Type != RecvCopySend && s.Type != RecvReduceCopy {
		c.bounds(g, line, at, "src", s.Src, s.SrcOff)
	}
	if s.Type != Send && s.Type != RecvReduceSend && s.Type != RecvReduceCopy {
		c.bounds(g, line, at, "dst", s.Dst, s.DstOff)
	}
}

// bounds is the runtimes' own check, against what the file declares. They accept -1.
func (c *loader) bounds(g *GPU, line int, at, which string, b Buf, off int32) {
	declared := []int{g.Input, g.Output, g.Scratch}[b]
	if off < -1 || int(off) >= declared {
		c.grade(model.Refused, line, "%s: %soff=%d in %s, which is declared with %d chunks", at, which, off, b, declared)
	}
}
