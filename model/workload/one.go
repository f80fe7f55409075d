package workload

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/oraccl/oraccl/model"
)

// One returns the schedule of one collective among all ranks, with the same transfers at the same times: that which the
// operations of s make together of one buffer, such as the three steps of a hierarchical allreduce. Whether they make it
// is for a verifier to decide. An error states why they cannot be one collective. s must be valid.
func (s *Schedule) One(c model.Collective) (*model.Problem, *model.Schedule, error) {
	w := s.Workload
	if w.Periodic {
		return nil, nil, fmt.Errorf("it goes on for ever, want a workload that ends")
	}
	buffer, _ := w.BufferOf(0, 0)
	edges := []int64{0}
	for i := range w.Ops {
		op := &w.Ops[i]
		_, collective := op.Kind.Collective()
		name, offset := w.BufferOf(i, 0)
		switch {
		case op.Kind == Barrier:
			continue
		case !collective || op.Operator != "" && op.Operator != model.Sum.String():
			return nil, nil, fmt.Errorf("operation %s: want collectives that copy and sum, and barriers", op.ID)
		case name != buffer || op.Into.Buffer != "":
			return nil, nil, fmt.Errorf("operation %s: works on %q, want %q as the first one", op.ID, name, buffer)
		}
		for _, k := range op.Chunks {
			edges = append(edges, offset+k.Offset, offset+k.Offset+k.Size)
		}
	}
	slices.Sort(edges)
	edges = slices.Compact(edges)
	p := &model.Problem{Topology: w.Topology, Cost: w.Cost, Collective: c, Size: edges[len(edges)-1], Release: w.Release}
	for i, from := range edges[:len(edges)-1] {
		p.Chunks = append(p.Chunks, model.Chunk{Offset: from, Size: edges[i+1] - from})
	}
	if err := p.Validate(); err != nil {
		return nil, nil, err
	}
	one := &model.Schedule{Form: model.Timed}
	for _, at := range s.Placed {
		if at.Program < 0 {
			continue
		}
		_, offset := w.BufferOf(at.Op, 0)
		program := s.Programs[at.Program]
		routes := int32(len(one.Routes))
		one.Routes = append(one.Routes, program.Routes...)
		for _, x := range program.Transfers {
			k := w.Ops[at.Op].Chunks[x.Chunk]
			i, _ := slices.BinarySearch(edges, offset+k.Offset)
			if p.Chunks[i].Size != k.Size {
				return nil, nil, fmt.Errorf("operation %s: its chunk %d is cut by another operation, want cuts that agree", w.Ops[at.Op].ID, x.Chunk)
			}
			x.Chunk, x.Route = int32(i), x.Route+routes
			x.Start, x.End = x.Start+at.At, x.End+at.At
			one.Transfers = append(one.Transfers, x)
		}
	}
	slices.SortStableFunc(one.Transfers, func(a, b model.Transfer) int { return cmp.Compare(a.Start, b.Start) })
	return p, one, one.Validate(p)
}
