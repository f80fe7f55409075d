package mscclpp

import (
	"fmt"
	"math"
	"slices"

	"github.com/oraccl/oraccl/model"
)

// The runtimes: releases whose parser and kernel differ. Old is of before December 2024.
const (
	Old  = "mscclpp@0.5"
	Last = "mscclpp@0.7" // the last that reads v1
	Head = "mscclpp@0.10"
)

// Runtimes lists the runtimes by which files are judged.
func Runtimes() []string { return []string{Old, Last, Head} }

// loadings returns what each runtime makes of the file: those of its format, and the others.
func (f *File) loadings() (own, others []model.Loading) {
	for _, name := range Runtimes() {
		l := model.Loading{Runtime: name, Selection: model.Selection{Min: clamp(f.Min), Max: clamp(f.Max), Multiple: 1, InPlace: f.InPlace, OutOfPlace: !f.InPlace}}
		if l.Selection.Max == math.MaxInt64 {
			l.Selection.Max = -1
		}
		switch {
		case f.Version == V2 && name != Head:
			l.Refusals = []model.Remark{{Line: f.Line, Message: "the file has the format v2, which releases up to 0.7 do not read"}}
		case f.Version == V1 && name == Head:
			l.Refusals = []model.Remark{{Line: f.Line, Message: "the file has the format v1, which releases since 0.8 do not read"}}
		default:
			l.Refusals = slices.Clone(f.refusals)
			if name == Last {
				l.Refusals = append(l.Refusals, f.older...)
			}
		}
		if len(l.Refusals) > 0 {
			l.Grade = model.Refused
		}
		if (f.Version == V2) == (name == Head) {
			own = append(own, l)
		} else {
			others = append(others, l)
		}
	}
	return own, others
}

func clamp(b uint64) int64 { return int64(min(b, math.MaxInt64)) }

// Plan returns the file as verify/plan decides about it. It takes time in proportion to the
// file; At of what it returns, in proportion to the operations that are carried out.
func (f *File) Plan() *model.PlanFile {
	p := &model.PlanFile{Line: f.Line, Name: f.Name, Collective: f.Collective, Protocol: f.Protocol, Format: f.Version.String(), Ranks: len(f.GPUs), InPlace: f.InPlace,
		Min: clamp(f.Min), Max: clamp(f.Max), Halves: 1, At: f.at, UnknownMeaning: !slices.Contains(collectives, f.Collective)}
	p.Loadings, p.Others = f.loadings()
	if f.Double {
		p.Halves = 2
	}
	p.Judged = Head
	if f.Version == V1 {
		p.Judged = Last
		if len(f.older) > 0 {
			p.Judged = Old
		}
	}
	for g := range f.GPUs {
		x := &f.GPUs[g]
		chunks := x.Input
		if f.Collective == "allgather" || chunks == 0 {
			chunks = x.Output
		}
		p.Chunks = max(p.Chunks, chunks)
		for b := range x.Blocks {
			f.each(x.Blocks[b].Ops, func(int, *Op) { p.Ops++ })
		}
	}
	p.Faults = slices.Clone(f.faults)
	p.Faults = append(p.Faults, f.departures()...)
	if len(f.refusals) > 0 {
		return p
	}
	f.divide(p)
	return p
}

// multiprocessors is how many threadblocks of 1024 threads run at once on an H100 SXM.
const multiprocessors = 132

// departures are where the kernel does something else than the plan says, and what else the
// executor does not check.
func (f *File) departures() []model.PlanFault {
	var all []model.PlanFault
	add := func(code string, refutes bool, line int, where, format string, args ...any) {
		all = noted(all, model.PlanFault{Code: code, Refutes: refutes, Line: line, Where: where, Message: fmt.Sprintf(format, args...)})
	}
	for g := range f.GPUs {
		x := &f.GPUs[g]
		if f.Version == V2 && (x.Input == 0 || x.Output == 0) {
			add("runtime-limit", true, x.Line, fmt.Sprintf("gpu %d", g), "has %d input chunks and %d output chunks, and the executor divides by both", x.Input, x.Output)
		}
		if a := f.bytes(g, int64(len(f.GPUs)*max(x.Input, 1)*max(x.Output, 1))); x.Input > 0 && x.Output > 0 && a.in/int64(x.Input) != a.out/int64(x.Output) {
			add("bad-reference", true, x.Line, fmt.Sprintf("gpu %d", g), "has %d input chunks and %d output chunks, and in %s on %d ranks those of input and output would not be of one size", x.Input, x.Output, f.Collective, len(f.GPUs))
		}
		if x.Input+x.Output == 0 {
			add("bad-reference", true, x.Line, fmt.Sprintf("gpu %d", g), "has neither input chunks nor output chunks, by which all positions are computed")
		}
		if n := len(x.Blocks); n > multiprocessors {
			add("runtime-limit", false, x.Line, fmt.Sprintf("gpu %d", g), "has %d threadblocks, and a GPU of %d multiprocessors runs as many at once: where others wait for those that do not run yet, it hangs", n, multiprocessors)
		}
		for b := range x.Blocks {
			f.each(x.Blocks[b].Ops, func(i int, o *Op) {
				where := fmt.Sprintf("%s op %d (%s)", place(g, x.Blocks[b].ID), i, o.As)
				switch {
				case o.Name == "get":
					for k := range o.Src {
						if o.Src[k].Index != o.Dst[k].Index {
							add("kernel-departs", false, o.Line, where, "the kernel reads at chunk %d of the remote buffer and writes chunk %d of the local one: it swaps the two", o.Dst[k].Index, o.Src[k].Index)
							break
						}
					}
				case o.Name == "flush" && f.Version == V2:
					add("kernel-departs", false, o.Line, where, "the kernel does nothing; pwsf waits until its own put is done")
				case o.Type == Memory && (o.Name == "pws" || o.Name == "pwsf"):
					add("kernel-departs", false, o.Line, where, "the kernel puts and does not signal on a memory channel")
				case o.Type == Memory && (o.Name == "put" || o.Name == "ppkt"):
					for _, s := range o.Src {
						if s.Buffer != o.Src[0].Buffer {
							add("kernel-departs", false, o.Line, where, "the kernel takes all sources from buffer %c, that of the first", o.Src[0].Buffer)
							break
						}
					}
				}
				if o.Type == Port && (o.Name == "put" || o.Name == "pws" || o.Name == "pwsf" || o.Name == "ppkt" || o.Name == "rppkt") {
					if len(o.Channels) < len(o.Dst) {
						add("bad-reference", true, o.Line, where, "has %d destinations and %d channels to them", len(o.Dst), len(o.Channels))
					}
					for k, c := range o.Channels {
						if k < len(o.Dst) && o.Dst[k].Rank != x.Channels[c].Peer {
							add("bad-reference", true, o.Line, where, "puts to gpu %d through a channel to gpu %d", o.Dst[k].Rank, x.Channels[c].Peer)
						}
					}
				}
				if n := o.threads(); n > f.Threads {
					add("runtime-limit", true, o.Line, where, "thread %d has something to do, and num_threads_per_block is %d", n-1, f.Threads)
				}
				if f.Protocol != "LL" && packets[o.Name] {
					add("packet-protocol", true, o.Line, where, "packets in a plan of protocol %q: scratch is large enough for them with LL alone", f.Protocol)
				}
			})
		}
	}
	f.switches(add)
	return all
}

// threads is how many threads have something to do of their own: the k-th is for the k-th identifier, or
// the k-th destination of a port channel.
func (o *Op) threads() int {
	switch o.Name {
	case "signal", "wait", "rlxsignal", "rlxwait", "flush":
		return len(o.Channels)
	case "sem_acquire", "sem_release":
		return len(o.Sems)
	case "put", "pws", "pwsf", "ppkt", "rppkt":
		if o.Type == Port {
			return len(o.Dst)
		}
	}
	return 0
}

// packets are the operations that use packets.
var packets = map[string]bool{"ppkt": true, "rppkt": true, "respkt": true, "cpkt": true, "upkt": true, "repkt": true, "recpkt": true, "recspkt": true, "gstorepkt": true}

// switches checks that the ranks of a group list it alike: its set-up is collective.
func (f *File) switches(add func(code string, refutes bool, line int, where, format string, args ...any)) {
	groups := make([][]*Channel, len(f.GPUs))
	for g := range f.GPUs {
		for c := range f.GPUs[g].Channels {
			if x := &f.GPUs[g].Channels[c]; x.Type == Switch {
				groups[g] = append(groups[g], x)
			}
		}
	}
	next := make([]int, len(f.GPUs))
	for g := range f.GPUs {
		for next[g] < len(groups[g]) {
			x := groups[g][next[g]]
			if !slices.Contains(x.Ranks, g) {
				add("bad-reference", true, x.Line, fmt.Sprintf("gpu %d", g), "lists a switch whose group %v it is not in", x.Ranks)
				return
			}
			for _, r := range x.Ranks {
				if next[r] >= len(groups[r]) || !slices.Equal(groups[r][next[r]].Ranks, x.Ranks) || groups[r][next[r]].Buffer != x.Buffer {
					add("bad-reference", true, x.Line, fmt.Sprintf("gpu %d", g), "lists a switch of the group %v at a position where gpu %d does not: its set-up waits for ever", x.Ranks, r)
					return
				}
			}
			for _, r := range x.Ranks {
				next[r]++
			}
		}
	}
}

// maxWays is how many ways in which messages divide are told apart.
const maxWays = 256

// divide lists the ways in which messages divide.
//
// A chunk has u units of 16 bytes. Where parts of threadblock groups cut it, an end of a part is
// linear in u for u of one residue modulo the least common multiple of the parts, and two ends
// that are not always equal are in one order from u = parts times that multiple on. So all u
// below are decided one by one, and from there one of each residue. Pipelines are told apart by
// their iterations: see regular.
func (f *File) divide(p *model.PlanFile) {
	n := int64(len(f.GPUs))
	unit := int64(1)
	grain, parts, most := int64(1), int64(1), int64(1) // residues of v1; parts of threadblock groups
	var pipe *Op
	alike := true
	for g := range f.GPUs {
		x := &f.GPUs[g]
		in, out := int64(1), int64(1)
		switch f.Collective {
		case "allgather":
			in = n
		case "reducescatter":
			out = n
		}
		if f.Version == V2 {
			if x.Input > 0 {
				unit = lcm(unit, in*f.Align*int64(x.Input))
			}
			if x.Output > 0 {
				unit = lcm(unit, out*f.Align*int64(x.Output))
			}
		} else {
			if x.Input > 0 {
				unit = lcm(unit, in*16*int64(x.Groups))
				grain = lcm(grain, max(1, int64(x.Input/x.Groups)))
			}
			if x.Input == 0 && x.Output > 0 {
				unit = lcm(unit, out*16*int64(x.Groups))
				grain = lcm(grain, max(1, int64(x.Output/x.Groups)))
			}
		}
		for b := range x.Blocks {
			f.each(x.Blocks[b].Ops, func(_ int, o *Op) {
				parts, most = lcm(parts, int64(o.Parts)), max(most, int64(o.Parts))
				if o.Name == "pipeline" {
					alike = alike && (pipe == nil || o.Unit == pipe.Unit && o.Chunks == pipe.Chunks)
					pipe = o
				}
			})
		}
	}
	p.Unit = unit * grain
	if f.Version == V1 {
		p.Unit = unit
	}
	if p.Unit > 1<<40 {
		p.Faults = append(p.Faults, model.PlanFault{Code: "size-limit", Refutes: true, Line: f.Line, Message: fmt.Sprintf("messages would have to be multiples of %d bytes", p.Unit)})
		return
	}
	low, high, why := f.admitted(p, pipe)
	switch {
	case low > high:
		p.Faults = append(p.Faults, model.PlanFault{Code: "size-limit", Refutes: true, Line: f.Line, Message: fmt.Sprintf("no message from %d to %d bytes divides into the chunks, which takes a multiple of %d; of larger ones %s", f.Min, f.Max, p.Unit, why)})
	case pipe != nil:
		f.pipelines(p, low, high, why, parts*grain == 1 && alike && f.regular())
	case parts*grain == 1:
		p.Sizes = []model.PlanSizes{{Each: low, Min: low, Max: high, Step: p.Unit, Why: why}}
	default:
		cycle := parts * grain
		few := min(cycle*most, maxWays)
		if f.Version == V1 {
			few = min(cycle, maxWays)
		}
		u := low
		for ; u <= high && int64(len(p.Sizes)) < few; u += p.Unit {
			p.Sizes = append(p.Sizes, model.PlanSizes{Each: u, Min: u, Max: u})
		}
		if u <= high && cycle <= maxWays && few >= min(cycle*most, maxWays) && cycle*most <= maxWays || f.Version == V1 && u <= high && cycle <= maxWays {
			for r := int64(0); r < cycle && u <= high; r++ {
				p.Sizes = append(p.Sizes, model.PlanSizes{Each: u, Min: u, Max: high, Step: cycle * p.Unit})
				u += p.Unit
			}
		} else if u <= high {
			why = fmt.Sprintf("messages divide in more than %d ways", maxWays)
		}
		if len(p.Sizes) > 0 {
			p.Sizes[len(p.Sizes)-1].Why = why
		}
	}
}

// admitted returns the messages that the file is for and that the executor can carry out, and why
// larger ones are not among them.
func (f *File) admitted(p *model.PlanFile, pipe *Op) (low, high int64, why string) {
	low = max(p.Unit, (clamp(f.Min)+p.Unit-1)/p.Unit*p.Unit)
	high, why = clamp(f.Max), fmt.Sprintf("max_message_size is %d", f.Max)
	limit := func(fits func(m int64) bool, reason string) {
		if fits(high / p.Unit * p.Unit) {
			return
		}
		a, b := int64(0), high/p.Unit // a fits, b does not
		for a+1 < b {
			if c := a + (b-a)/2; fits(c * p.Unit) {
				a = c
			} else {
				b = c
			}
		}
		high, why = a*p.Unit, reason
	}
	limit(func(m int64) bool {
		if m > 1<<48 {
			return false
		}
		l := &lowering{f: f, p: &model.Plan{}}
		l.memory(m)
		for _, b := range l.p.Buffers {
			if b.Base+b.Size >= 1<<32 || f.Double && b.Size >= 1<<31 && b.Name == "s" {
				return false
			}
		}
		return true
	}, "offsets have 32 bits and wrap at 4 GiB")
	if f.Reuse {
		limit(func(m int64) bool {
			for g := range f.GPUs {
				x := &f.GPUs[g]
				room := int64(64 << 20)
				if f.Double {
					room /= 2
				}
				if x.Scratch > 0 && x.position(f.bytes(g, m), 1) > room/int64(x.Scratch)/16*16 {
					return false
				}
			}
			return true
		}, "chunks outgrow the scratch that plans with reuse_resources share, of which they then use parts in turns, which is not judged")
	}
	if pipe != nil {
		limit(func(m int64) bool { return f.most(m) <= math.MaxUint16 }, "iterations of a pipeline are counted in 16 bits")
	}
	return low, high / p.Unit * p.Unit, why
}

// most is the largest number of iterations of a pipeline, for a message.
func (f *File) most(message int64) int64 {
	n := int64(0)
	for g := range f.GPUs {
		l := &lowering{f: f, g: &f.GPUs[g], size: f.bytes(g, message)}
		for b := range l.g.Blocks {
			f.each(l.g.Blocks[b].Ops, func(_ int, o *Op) {
				if o.Name == "pipeline" {
					n = max(n, l.rounds(o))
				}
			})
		}
	}
	return n
}

const (
	rounds      = 5  // iterations from which on all are alike, if the pipelines are regular
	roundsLoose = 16 // else as many are decided about
)

// pipelines lists messages by the iterations of the pipelines: of each number the smallest
// message and the largest.
func (f *File) pipelines(p *model.PlanFile, low, high int64, why string, regular bool) {
	last := int64(roundsLoose)
	if regular {
		last = rounds
	}
	m := low
	for n := f.most(m); m <= high && n <= last; n = f.most(m) {
		if len(p.Sizes) >= maxWays {
			break
		}
		a, b := m, high+p.Unit // the last of n, and one of more
		for a+p.Unit < b {
			if c := a + (b-a)/2/p.Unit*p.Unit; f.most(c) <= n {
				a = c
			} else {
				b = c
			}
		}
		if a > m {
			p.Sizes = append(p.Sizes, model.PlanSizes{Each: m, Min: m, Max: a, Step: p.Unit})
		}
		p.Sizes = append(p.Sizes, model.PlanSizes{Each: a, Min: a, Max: a})
		m = a + p.Unit
	}
	switch {
	case m > high:
	case regular && len(p.Sizes) > 0:
		p.Sizes = append(p.Sizes, model.PlanSizes{Each: m, Min: m, Max: high, Step: p.Unit})
	case len(p.Sizes) == 0:
		p.Sizes = append(p.Sizes, model.PlanSizes{Each: m, Min: m, Max: m})
		fallthrough
	default:
		why = fmt.Sprintf("pipelines of more than %d iterations are not judged: theirs are not known to be alike", last)
	}
	if len(p.Sizes) > 0 {
		p.Sizes[len(p.Sizes)-1].Why = why
	}
}

// regular reports whether what holds for pipelines of rounds iterations holds for more. They
// all have as many; each access is to the chunks that the iterations divide, and no two overlap
// unless they are to the same; and each counter and semaphore rises in an iteration by as much
// as is taken from it, and outside of pipelines by at most two. Then what an iteration waits for
// comes from the same one or from at most two before it, an order of two accesses of one
// iteration rests on this iteration alone or on what is outside, and all iterations after the
// first two are ordered alike. Accesses of different iterations are to different bytes.
func (f *File) regular() bool {
	type use struct{ up, down, outside int }
	counters, sems := map[[2]int]*use{}, map[[2]int]*use{}
	at := func(m map[[2]int]*use, k [2]int) *use {
		if m[k] == nil {
			m[k] = &use{}
		}
		return m[k]
	}
	l := &lowering{f: f, p: &model.Plan{}, ends: map[[2]int]int{}, waits: map[[2]int]int{}}
	l.pair()
	type key struct {
		rank   int
		buffer byte
	}
	starts := map[key][]int{}
	ok, chunks := true, 1
	for g := range f.GPUs {
		for b := range f.GPUs[g].Blocks {
			for i := range f.GPUs[g].Blocks[b].Ops {
				outer := &f.GPUs[g].Blocks[b].Ops[i]
				visit := func(o *Op, inside bool) {
					for _, c := range o.Channels {
						var k [2]int
						up := false
						switch o.Name {
						case "signal", "rlxsignal", "pws", "pwsf":
							k, up = [2]int{l.ends[[2]int{g, c}]}, true
						case "wait", "rlxwait":
							k = [2]int{l.waits[[2]int{g, c}]}
						default:
							continue
						}
						u := at(counters, k)
						switch {
						case !inside:
							u.outside++
						case up:
							u.up++
						default:
							u.down++
						}
					}
					for _, s := range o.Sems {
						u := at(sems, [2]int{g, s})
						u.outside = f.GPUs[g].Semaphores[s]
						switch {
						case !inside:
							u.outside += 2
						case o.Name == "sem_release":
							u.up++
						default:
							u.down++
						}
					}
					if !inside {
						return
					}
					ok = ok && !packets[o.Name] && o.Name != "barrier" && o.Name != "get"
					for _, x := range slices.Concat(o.Src, o.Dst) {
						ok = ok && x.Size == outer.Chunks && o.Parts == 1
						ranks := []int{x.Rank}
						if x.Rank < 0 {
							ranks = f.GPUs[g].Channels[x.Channel].Ranks
						}
						for _, r := range ranks {
							index, buffer := x.Index, x.Buffer
							if f.InPlace && f.Collective == "allgather" && buffer == 'i' {
								index += r * f.GPUs[r].Input
							}
							if f.InPlace && f.Collective == "reducescatter" && buffer == 'o' {
								index += r * f.GPUs[r].Output
							}
							if f.InPlace && buffer == 'o' {
								buffer = 'i'
							}
							starts[key{r, buffer}] = append(starts[key{r, buffer}], index)
						}
					}
				}
				if outer.Name != "pipeline" {
					visit(outer, false)
				}
				for j := range outer.Ops {
					visit(&outer.Ops[j], true)
					chunks = outer.Chunks
				}
			}
		}
	}
	for _, all := range starts {
		slices.Sort(all)
		for k := 1; k < len(all); k++ {
			ok = ok && (all[k] == all[k-1] || all[k]-all[k-1] >= chunks)
		}
	}
	for _, u := range counters {
		ok = ok && u.up == u.down && (u.up == 0 || u.outside <= 4)
	}
	for _, u := range sems {
		ok = ok && u.up == u.down && (u.up == 0 || u.outside <= 2)
	}
	return ok
}
