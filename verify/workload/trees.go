package workload

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/oraccl/oraccl/model"
	wl "github.com/oraccl/oraccl/model/workload"
	"github.com/oraccl/oraccl/verify"
)

// trees checks in which order a program combines contributions, for an operator that is not
// free (V9, A1 to A4). That each contribution is there once has been proved.
func (c *composition) trees(op int, s *model.Schedule) {
	o, _ := c.w.OperatorOf(c.w.Ops[op].Operator)
	p := c.problems[op]
	if o.Free() || !p.Collective.Reduces() {
		return
	}
	wrong := func(k, v int, format string, args ...any) {
		c.report(verify.Wrong(verify.WrongTree, c.w.Ops[op].ID, fmt.Sprintf("chunk %d on rank %d: ", k, v)+fmt.Sprintf(format, args...)).AtSlot(v, k))
	}
	index := map[int]int{}
	for i, v := range p.Members() {
		index[v] = i
	}
	byChunk := make([][]int, len(p.Chunks))
	for j := range s.Transfers {
		byChunk[s.Transfers[j].Chunk] = append(byChunk[s.Transfers[j].Chunk], j)
	}
	leaf := func(i int) string { return fmt.Sprintf("%06d", i) }
	join := func(a, b string) string {
		if o.Commutative && b < a {
			a, b = b, a
		}
		return "(" + a + " " + b + ")"
	}
	for k, list := range byChunk {
		held := map[int]string{} // of an operator that is associative: the first and the last member
		for v := range p.Start(k) {
			held[v] = leaf(index[v])
			if o.Associative && o.Elementwise {
				held[v] += leaf(index[v])
			}
		}
		type step struct {
			at    model.Time
			start bool
			j     int
		}
		var steps []step
		for _, j := range list {
			steps = append(steps, step{s.Transfers[j].Start, true, j}, step{s.Transfers[j].End, false, j})
		}
		slices.SortFunc(steps, func(a, b step) int {
			if d := cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.j, b.j)); a.start == b.start || a.at != b.at {
				return d
			}
			if b.start {
				return -1
			}
			return 1
		})
		on := map[int]string{}
		for _, x := range steps {
			t := &s.Transfers[x.j]
			u, v := int(t.Src), int(t.Dst)
			if x.start {
				on[x.j] = held[u]
				continue
			}
			got := on[x.j]
			switch {
			case t.Op == model.Copy:
				held[v] = got
			case !o.Elementwise && len(p.Chunks) > 1:
				wrong(k, v, "combines a part of the tensor by %s, whose scalars are those of the whole", o.Name)
				return
			case o.Associative && o.Elementwise:
				a, b := held[v], got
				if b < a {
					a, b = b, a
				}
				var last, first int
				fmt.Sscanf(a[6:], "%06d", &last)
				fmt.Sscanf(b[:6], "%06d", &first)
				if last+1 != first {
					wrong(k, v, "combines by %s what are no neighbours in the order of the group", o.Name)
					return
				}
				held[v] = a[:6] + b[6:]
			default:
				if held[v] = join(held[v], got); len(held[v]) > 1<<16 {
					c.reason = fmt.Sprintf("%s: a tree of %d bytes: %v", c.w.Ops[op].ID, len(held[v]), model.ErrTooLarge)
					return
				}
			}
			if !c.work.Go(1 + len(held[v])/8) {
				return
			}
		}
		if o.Associative && o.Elementwise {
			continue
		}
		var of []string
		for i := range p.Members() {
			of = append(of, leaf(i))
		}
		want := ""
		switch o.Tree {
		case wl.Chain:
			want = of[0]
			for _, x := range of[1:] {
				want = join(want, x)
			}
		case wl.Balanced:
			for len(of) > 1 {
				for i := range len(of) / 2 {
					of[i] = join(of[2*i], of[2*i+1])
				}
				of = of[:len(of)/2]
			}
			want = of[0]
		}
		for v := range p.Goal(k) {
			if want == "" { // the same on all ranks
				want = held[v]
			}
			if held[v] != want {
				wrong(k, v, "combined in another order, want %s, by %s", want, o.Name)
				return
			}
		}
	}
}
