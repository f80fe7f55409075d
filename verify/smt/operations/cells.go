package operations

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/oraccl/oraccl/model"
	wl "github.com/oraccl/oraccl/model/workload"
	"github.com/oraccl/oraccl/verify"
)

// cell is a part of a buffer on a rank that whatever happens moves as a whole.
type cell struct {
	buffer string
	rank   int
	at     int64 // where it begins
}

// write is a time in which a placement, on a rank, makes what a cell holds; the cell is the n-th in its
// chunk or region.
type write struct {
	span
	of    int
	chunk int // or the region
	n     int
}

// divide cuts each buffer where something begins or ends, and what is copied or combined alike in
// both places.
func (f *flow) divide() error {
	cuts := map[string]map[int64]bool{}
	type alike struct {
		a    wl.Region
		b    string
		from int64
	}
	var pairs []alike
	cut := func(buffer string, offset, size int64) {
		if cuts[buffer] == nil {
			cuts[buffer] = map[int64]bool{}
		}
		cuts[buffer][offset], cuts[buffer][offset+size] = true, true
	}
	same := func(a wl.Region, b wl.Region) {
		pairs = append(pairs, alike{a, b.Buffer, b.Offset}, alike{wl.Region{Buffer: b.Buffer, Offset: b.Offset, Size: a.Size}, a.Buffer, a.Offset})
	}
	for i := range f.w.Ops {
		op := &f.w.Ops[i]
		if _, collective := op.Kind.Collective(); collective {
			p := f.w.Problem(i)
			source := wl.Region{Size: p.Space()}
			for m, v := range p.Members() {
				name, at := f.w.BufferOf(i, v)
				for _, c := range p.Chunks {
					cut(name, at+c.Offset, c.Size)
				}
				if m == 0 {
					source.Buffer, source.Offset = name, at
				} else if name != source.Buffer || at != source.Offset {
					same(source, wl.Region{Buffer: name, Offset: at})
				}
			}
			continue
		}
		for _, a := range slices.Concat(op.Reads, op.Writes) {
			cut(a.Buffer, a.Offset, a.Size)
		}
		switch {
		case op.Function == wl.Scalars:
			same(op.Reads[0].Region, op.Reads[1].Region)
		case !f.operator(i).Elementwise:
			same(op.Reads[0].Region, op.Writes[0].Region)
		case op.Function == "":
			for k := range op.Reads {
				same(op.Reads[k].Region, op.Writes[k].Region)
			}
		}
	}
	var within func(at wl.Region, v *wl.Value)
	within = func(at wl.Region, v *wl.Value) {
		if v.Input != nil {
			cut(v.Input.Buffer, v.Input.Offset, at.Size)
			same(at, *v.Input)
		}
		for i := range v.Of {
			if v.Function == "" {
				within(at, &v.Of[i])
			} else if x := inputOf(&v.Of[i]); x != nil {
				cut(x.Buffer, x.Offset, v.Bytes[i])
			}
		}
	}
	for i := range f.w.Goal {
		g := &f.w.Goal[i]
		cut(g.Buffer, g.Offset, g.Size)
		within(g.Region, &g.Value)
	}
	for changed := true; changed; {
		changed = false
		total := 0
		for _, p := range pairs {
			for x := range cuts[p.a.Buffer] {
				if y := p.from + x - p.a.Offset; x >= p.a.Offset && x <= p.a.Offset+p.a.Size && !cuts[p.b][y] {
					cuts[p.b][y], changed = true, true
				}
			}
		}
		for _, c := range cuts {
			total += len(c)
		}
		if total > MaxTerms || f.ctx.Err() != nil {
			return errUndecided(fmt.Sprintf("more than the %d cells that are asked about", MaxTerms))
		}
	}
	f.cuts = map[string][]int64{}
	for name, c := range cuts {
		for x := range c {
			f.cuts[name] = append(f.cuts[name], x)
		}
		slices.Sort(f.cuts[name])
	}
	return nil
}

// inputOf returns the first input of a value that is outside of functions.
func inputOf(v *wl.Value) *wl.Region {
	if v.Input != nil || v.Function != "" {
		return v.Input
	}
	for i := range v.Of {
		if x := inputOf(&v.Of[i]); x != nil {
			return x
		}
	}
	return nil
}

// cells returns the cells of a region on a rank.
func (f *flow) cells(r wl.Region, rank int) (all []cell) {
	for _, x := range f.cuts[r.Buffer] {
		if x >= r.Offset && x < r.Offset+r.Size {
			all = append(all, cell{r.Buffer, rank, x})
		}
	}
	return all
}

// chunk returns the cells of a chunk of a collective on a rank.
func (f *flow) chunk(op, k, rank int) []cell {
	name, at := f.w.BufferOf(op, rank)
	c := f.w.Ops[op].Chunks[k]
	return f.cells(wl.Region{Buffer: name, Offset: at + c.Offset, Size: c.Size}, rank)
}

// accesses lists what writes each cell, and states that no two accesses of which one writes meet, so
// that what ended last before a time is what a cell holds then.
func (f *flow) accesses() error {
	type touch struct {
		span
		of     int
		writes bool
	}
	touches := map[cell][]touch{}
	total := 0
	note := func(list []cell, s span, of int, writes bool, chunk int) {
		for n, c := range list {
			if last := len(touches[c]) - 1; last >= 0 && touches[c][last].of == of {
				touches[c][last].span = touches[c][last].and(s, true)
				touches[c][last].writes = touches[c][last].writes || writes
			} else {
				touches[c] = append(touches[c], touch{s, of, writes})
			}
			if writes {
				f.writes[c] = append(f.writes[c], write{s, of, chunk, n})
			}
			total++
		}
	}
	for i := range f.placed {
		x := &f.placed[i]
		op := &f.w.Ops[x.Op]
		members := f.w.Members(op.Group)
		for m, v := range members {
			if op.Kind != wl.Compute {
				continue
			}
			end := func(a wl.Access) model.Time {
				if a.Until > 0 {
					return x.Starts[m] + a.Until
				}
				return x.on[v].to
			}
			for _, a := range op.Reads {
				note(f.cells(a.Region, v), span{x.Starts[m], end(a)}, i, false, 0)
			}
			for k, a := range op.Writes {
				note(f.cells(a.Region, v), span{x.Starts[m], end(a)}, i, true, k)
			}
		}
		for k, s := range x.slots {
			if slices.Contains(members, k.rank) {
				note(f.chunk(x.Op, k.chunk, k.rank), s, i, x.written[k], k.chunk)
			}
		}
		if total > MaxTerms {
			return errUndecided(fmt.Sprintf("more than the %d accesses to cells that are asked about", MaxTerms))
		}
	}
	for c, list := range touches {
		slices.SortFunc(list, func(a, b touch) int { return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(a.of, b.of)) })
		lastWrite, last := -1, -1
		for i, b := range list {
			before := lastWrite
			if b.writes {
				before = last
			}
			if before >= 0 {
				a := list[before]
				f.q.unless(fmt.Sprintf("(< %d %d)", b.from, a.to), is(verify.ReadWriteRace, fmt.Sprintf("rank %d, byte %d of %s", c.rank, c.at, model.Quote(c.buffer)),
					"%s comes when %s is not over", f.placed[b.of].name, f.placed[a.of].name))
			}
			if last < 0 || b.to > list[last].to {
				last = i
			}
			if b.writes {
				lastWrite = i
			}
		}
	}
	for c := range f.writes {
		slices.SortFunc(f.writes[c], func(a, b write) int { return cmp.Compare(a.to, b.to) })
	}
	return nil
}
