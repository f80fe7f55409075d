package msccl

import (
	"fmt"
	"slices"
	"strings"

	"github.com/oraccl/oraccl/model"
)

// maxCells is how many cells a program may have in all.
const maxCells = 1 << 23

// Collectives returns the names that Meaning.Collective may have: of the runtimes, and
// "alltonext" (rank r+1 gets what r has) and "alltonextbackward".
func Collectives() []string {
	return []string{"allreduce", "allgather", "reducescatter", "alltoall", "broadcast", "reduce", "gather", "scatter", "alltonext", "alltonextbackward", "custom"}
}

// Program returns what the runtimes carry out: steps folded, buffers as they alias,
// and the collective's pre- and postcondition over cells. A chunk is one cell, or
// more where chunks do not fit the ranks' shares. What Load refuses may still have
// a program; an error says that it has none: attributes are missing (name may be, and, where the
// Meaning has a collective, coll and inplace), the collective is unknown, a nop leaves a dependency to a step that cannot take it, or there are
// more than 2^23 cells (model.ErrTooLarge).
//
// A chunk is a chunk of the larger buffer, whatever i_chunks and o_chunks say, and
// so is the size of the buffers. In place, the smaller buffer is the rank's share of
// the larger one.
func (a *Algo) Program(m model.Meaning) (*model.Program, error) {
	coll := strings.ReplaceAll(a.Coll, "_", "")
	if m.Collective != "" {
		coll = strings.ReplaceAll(m.Collective, "_", "")
	}
	if a.Ranks < 1 || a.Ranks > maxRanks || a.ChunksPerLoop < 1 {
		return nil, at(a.Line, "ngpus=%d and nchunksperloop=%d, want at least 1 of each and at most %d ranks", a.Ranks, a.ChunksPerLoop, maxRanks)
	}
	if m.Root < 0 || m.Root >= a.Ranks {
		return nil, fmt.Errorf("root %d, want 0 to %d", m.Root, a.Ranks-1)
	}
	for _, x := range a.missing {
		named := x.element == "algo" && (x.key == "name" || m.Collective != "" && (x.key == "coll" || x.key == "inplace"))
		if !named {
			return nil, at(x.line, "%v", x)
		}
	}
	l, err := a.layout(coll, m)
	if err != nil {
		return nil, err
	}
	p := l.p
	for i := range a.GPUs {
		g := &a.GPUs[i]
		if g.ID < 0 || g.ID >= a.Ranks {
			continue
		}
		if err := a.processes(p, g); err != nil {
			return nil, err
		}
	}
	if err := p.Validate(); err != nil {
		return nil, err
	}
	return p, nil
}

// at returns an error about a line.
func at(line int, format string, args ...any) error {
	return &model.Error{Place: fmt.Sprintf("line %d", line), Err: fmt.Errorf(format, args...)}
}

// Deployable returns the file as verify/deploy decides about it.
func (a *Algo) Deployable() *model.Deployable {
	d := &model.Deployable{Line: a.Line, Collective: a.Coll, Ranks: a.Ranks, Chunks: a.ChunksPerLoop, Protocol: a.Proto,
		InPlace: a.InPlace, OutOfPlace: a.OutPlace, Program: a.Program}
	for i := range a.GPUs {
		for j := range a.GPUs[i].TBs {
			d.Steps += len(a.GPUs[i].TBs[j].Steps)
		}
	}
	for _, r := range Runtimes() {
		d.Loadings = append(d.Loadings, a.Load(r))
	}
	return d
}

// processes adds the threadblocks of a rank to a program.
func (a *Algo) processes(p *model.Program, g *GPU) error {
	numbers := map[int][]int{}
	first := len(p.Processes)
	for j := range g.TBs {
		t := &g.TBs[j]
		f := fold(t)
		if f.undefined > 0 {
			return at(f.undefined, "gpu %d tb %d: %s", g.ID, t.ID, nopNeeds)
		}
		numbers[t.ID] = f.numbers
		p.Processes = append(p.Processes, model.Process{
			Rank: g.ID, ID: t.ID, SendTo: t.Send, RecvFrom: t.Recv, Channel: t.Channel, Line: t.Line, Steps: f.steps,
		})
	}
	for i := first; i < len(p.Processes); i++ {
		for j := range p.Processes[i].Steps {
			waits := p.Processes[i].Steps[j].Waits
			for k, w := range waits { // from a number to an index
				waits[k].Step, _ = slices.BinarySearch(numbers[w.Process], w.Step)
			}
		}
	}
	return nil
}

// layout is a program's memory while it is laid out.
type layout struct {
	p            *model.Program
	total, share int // cells of the larger buffer, and of a rank's share of it
}

// layout makes buffers and conditions.
func (a *Algo) layout(coll string, m model.Meaning) (*layout, error) {
	shared := coll == "allgather" || coll == "reducescatter" || coll == "alltoall"
	grain := 1
	if shared {
		grain = a.Ranks / gcd(a.ChunksPerLoop, a.Ranks)
	}
	total := a.ChunksPerLoop * grain
	scratch := make([]int, a.Ranks)
	cells := 0
	for i := range a.GPUs {
		if g := &a.GPUs[i]; g.ID >= 0 && g.ID < a.Ranks {
			scratch[g.ID] = max(scratch[g.ID], g.Scratch)
			cells += min(max(g.Scratch, 0), maxCells) * grain
		}
	}
	factor := 2
	if coll == "gather" || coll == "scatter" {
		factor = 1 + a.Ranks
	}
	if cells += a.Ranks * factor * min(total, maxCells); total > maxCells || cells > maxCells {
		return nil, fmt.Errorf("%d ranks with buffers of %d chunks, each in %d parts: %w, want at most %d in all", a.Ranks, a.ChunksPerLoop, grain, model.ErrTooLarge, maxCells)
	}
	n := a.Ranks
	l := &layout{total: total, share: total, p: &model.Program{
		Name: a.Name, Ranks: n, Grain: grain, Memory: make([]int, n), Buffers: make([][]model.Buffer, n),
		Pre: make([][]int32, n), Post: make([][]int32, n), Kept: make([][]bool, n),
	}}
	if shared {
		l.share = total / n
	}
	var err error
	if l.p.Kind, err = kindOf(coll); err != nil {
		return nil, at(a.Line, "%w", err)
	}
	for r := range n {
		in, out, alias := l.buffers(coll, r)
		if !m.InPlace {
			alias = -1
		}
		l.rank(r, in, out, alias, scratch[r]*grain)
	}
	l.conditions(coll, m)
	return l, nil
}

func kindOf(coll string) (model.Kind, error) {
	switch coll {
	case "custom", "alltonext", "alltonextbackward", "send", "recv", "alltoallv":
		return model.Custom, nil
	case "":
		return model.Custom, fmt.Errorf("no collective is named, want one of %v", Collectives())
	}
	k, err := model.ParseKind(coll)
	if err != nil {
		return k, fmt.Errorf("collective %q: want one of %v", coll, Collectives())
	}
	return k, nil
}

// buffers returns the cells of the input and output of rank r, and where in the
// larger one the smaller begins when they alias.
func (l *layout) buffers(coll string, r int) (in, out, alias int) {
	switch coll {
	case "allgather":
		return l.share, l.total, r * l.share
	case "reducescatter":
		return l.total, l.share, r * l.share
	case "gather":
		return l.total, l.total * l.p.Ranks, r * l.total
	case "scatter":
		return l.total * l.p.Ranks, l.total, r * l.total
	}
	return l.total, l.total, 0
}

// rank lays out the memory of rank r; alias < 0 is out of place.
func (l *layout) rank(r, in, out, alias, scratch int) {
	p := l.p
	i, o := model.Buffer{Name: "i", Cells: in}, model.Buffer{Name: "o", Cells: out}
	size := max(in, out)
	switch {
	case alias < 0:
		o.Base = in
		size = in + out
	case in < out:
		i.Base = alias
	case in > out:
		o.Base = alias
	}
	p.Memory[r] = size + max(scratch, 0)
	p.Buffers[r] = []model.Buffer{i, o, {Name: "s", Base: size, Cells: max(scratch, 0)}}
	p.Pre[r], p.Post[r] = filled(p.Memory[r]), filled(p.Memory[r])
	if alias < 0 {
		p.Kept[r] = make([]bool, p.Memory[r])
		for c := range in {
			p.Kept[r][c] = true
		}
	}
	p.Inputs = in // the same for all ranks
}

func filled(n int) []int32 {
	s := make([]int32, n)
	for i := range s {
		s[i] = -1
	}
	return s
}

// conditions fills in what the inputs hold and what the outputs must hold.
func (l *layout) conditions(coll string, m model.Meaning) {
	p := l.p
	n := p.Ranks
	for r := range n {
		if (coll == "broadcast" || coll == "scatter") && r != m.Root {
			continue
		}
		for k := range p.Buffers[r][0].Cells {
			p.Pre[r][p.Buffers[r][0].Base+k] = int32(r*p.Inputs + k)
		}
	}
	one := func(r, k, rank, input int) { // out[k] of r must be an input of rank
		p.Post[r][p.Buffers[r][1].Base+k] = int32(len(p.Wants))
		p.Wants = append(p.Wants, []int32{int32(rank*p.Inputs + input)})
	}
	sum := func(input int) int32 { // of all ranks
		want := make([]int32, n)
		for r := range n {
			want[r] = int32(r*p.Inputs + input)
		}
		p.Wants = append(p.Wants, want)
		return int32(len(p.Wants) - 1)
	}
	switch coll {
	case "allreduce", "reduce":
		for k := range l.total {
			w := sum(k)
			for r := range n {
				if coll == "allreduce" || r == m.Root {
					p.Post[r][p.Buffers[r][1].Base+k] = w
				}
			}
		}
	case "reducescatter":
		for k := range l.total {
			p.Post[k/l.share][p.Buffers[k/l.share][1].Base+k%l.share] = sum(k)
		}
	case "allgather", "broadcast", "gather":
		for k := range p.Buffers[0][1].Cells {
			from := k / p.Inputs
			if coll == "broadcast" {
				from = m.Root
			}
			p.Wants = append(p.Wants, []int32{int32(from*p.Inputs + k%p.Inputs)})
			for r := range n {
				if coll != "gather" || r == m.Root {
					p.Post[r][p.Buffers[r][1].Base+k] = int32(len(p.Wants) - 1)
				}
			}
		}
	case "scatter":
		for r := range n {
			for k := range l.total {
				one(r, k, m.Root, r*l.total+k)
			}
		}
	case "alltoall":
		for r := range n {
			for k := range l.total {
				one(r, k, k/l.share, r*l.share+k%l.share)
			}
		}
	case "alltonext":
		for r := 1; r < n; r++ {
			for k := range l.total {
				one(r, k, r-1, k)
			}
		}
	case "alltonextbackward":
		for r := range n - 1 {
			for k := range l.total {
				one(r, k, r+1, k)
			}
		}
	}
}

func gcd(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}
