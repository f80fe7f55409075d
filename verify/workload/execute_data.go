package workload

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/oraccl/oraccl/model"
	wl "github.com/oraccl/oraccl/model/workload"
	"github.com/oraccl/oraccl/verify"
)

// data executes the runs on symbols (V1, V3, V4, V9) and compares the ends with what is wanted.
func (x *execution) data() (reason string) {
	x.t, x.shapes = newTable(x.l), newTable(nil)
	for _, o := range x.w.Operators {
		for _, t := range []*table{x.t, x.shapes} {
			t.swap[o.Name], t.ordered[o.Name] = o.Commutative, o.Associative && !o.Commutative
		}
	}
	x.wanted = map[int][]bool{}
	total := 0
	for b := range x.l.names {
		total += x.l.count(b) * x.w.Topology.Ranks
		if total > maxSlots {
			return fmt.Sprintf("more than %d cells on all ranks: %v", maxSlots, model.ErrTooLarge)
		}
	}
	for b := range x.l.names {
		x.held = append(x.held, make([]int32, x.l.count(b)*x.w.Topology.Ranks))
		x.wrote = append(x.wrote, make([]model.Time, x.l.count(b)*x.w.Topology.Ranks))
	}
	for i, r := range x.runs {
		if r.program != nil && r.left == 0 {
			x.goals(r)
		}
		for j := range x.transfers(r) {
			t := &r.program.Transfers[j]
			x.events = append(x.events, event{at: r.at + t.Start, reads: true, run: int32(i), index: int32(j)}, event{at: r.at + t.End, run: int32(i), index: int32(j)})
		}
		for m, at := range r.starts {
			x.events = append(x.events, event{at: at, reads: true, run: int32(i), index: int32(-1 - m)})
			for k, a := range x.w.Ops[r.op].Writes {
				until := a.Until
				if until == 0 {
					until = x.w.DurationOn(r.op, m)
				}
				x.events = append(x.events, event{at: at + until, run: int32(i), index: int32(-1 - m), part: int32(k)})
			}
		}
		if !x.work.Go(1) {
			return ""
		}
	}
	slices.SortFunc(x.events, func(a, b event) int {
		if c := cmp.Compare(a.at, b.at); c != 0 {
			return c
		}
		if a.reads != b.reads {
			if b.reads {
				return -1
			}
			return 1
		}
		return cmp.Or(cmp.Compare(a.run, b.run), cmp.Compare(a.index, b.index), cmp.Compare(a.part, b.part))
	})
	for _, e := range x.events {
		if x.full() {
			return ""
		}
		r := x.runs[e.run]
		switch {
		case e.index < 0 && e.reads:
			x.begin(r, int(-1-e.index))
		case e.index < 0:
			x.finish(r, int(-1-e.index), int(e.part), e.at)
		case e.reads:
			x.send(r, int(e.index))
		default:
			x.receive(r, int(e.index), e.at)
		}
	}
	if len(x.wrong) > 0 {
		return ""
	}
	return x.atTheEnd()
}

func (x *execution) transfers(r *run) []model.Transfer {
	if r.program == nil {
		return nil
	}
	return r.program.Transfers
}

// content returns what the cells of a buffer hold on a rank.
func (x *execution) content(buffer, rank, from, to int) []int32 {
	row := x.held[buffer][rank*x.l.count(buffer):]
	list := make([]int32, 0, to-from)
	for c := from; c < to; c++ {
		if row[c] == 0 {
			row[c] = x.t.input(buffer, rank, c)
		}
		list = append(list, row[c])
	}
	x.work.Go(to - from)
	return list
}

// put writes cells of a computation at an instant.
func (x *execution) put(r *run, buffer, rank, from int, values []int32, at model.Time) {
	n := x.l.count(buffer)
	for i, v := range values {
		slot := rank*n + from + i
		if x.wrote[buffer][slot] == at+1 {
			x.report(verify.Wrong(verify.WriteWriteRace, r.name, fmt.Sprintf("two writes to byte %d of %s on rank %d end at %v", x.l.cuts[buffer][from+i], model.Quote(x.l.names[buffer]), rank, at)).AtRank(rank))
		}
		x.wrote[buffer][slot] = at + 1
		x.held[buffer][slot] = v
	}
	x.work.Go(len(values))
}

// at returns the slot of a chunk on a rank, with its input looked at.
func (x *execution) at(r *run, chunk, rank int) *slot {
	n := x.w.Topology.Ranks
	if r.slots == nil {
		r.slots = make([]slot, len(r.problem.Chunks)*n)
		r.carried = make([]load, len(r.program.Transfers))
		for i := range r.program.Transfers {
			t := &r.program.Transfers[i]
			r.slots[int(t.Chunk)*n+int(t.Src)].touches++
			r.slots[int(t.Chunk)*n+int(t.Dst)].touches++
		}
		for k := range r.problem.Chunks {
			for v := range r.problem.Start(k) {
				r.slots[k*n+v].there = true
			}
		}
		if x.wanted[r.op] == nil {
			x.wanted[r.op] = make([]bool, len(r.slots))
			for k := range r.problem.Chunks {
				for v := range r.problem.Goal(k) {
					x.wanted[r.op][k*n+v] = true
				}
			}
		}
		x.work.Go(len(r.slots) + len(r.program.Transfers))
	}
	s := &r.slots[chunk*n+rank]
	if !s.seen {
		s.seen = true
		if i, ok := r.in[rank]; ok {
			b, from, to := x.place(r, chunk, rank)
			s.input = x.content(b, rank, from, to)
			s.low, s.high, s.shape = i, i, x.shapes.input(0, i, 0)
		}
	}
	return s
}

// send is the start of a transfer.
func (x *execution) send(r *run, j int) {
	t := &r.program.Transfers[j]
	s := x.at(r, int(t.Chunk), int(t.Src))
	x.at(r, int(t.Chunk), int(t.Dst))
	if !s.there {
		x.report(verify.Wrong(verify.SendUndefined, r.name, fmt.Sprintf("transfer %d sends chunk %d, of which rank %d has nothing", j, t.Chunk, t.Src)).AtTransfer(j).AtSlot(int(t.Src), int(t.Chunk)))
	}
	r.carried[j] = load{s.shape, s.low, s.high}
}

// receive is the end of a transfer.
func (x *execution) receive(r *run, j int, at model.Time) {
	t := &r.program.Transfers[j]
	k, v := int(t.Chunk), int(t.Dst)
	d := x.at(r, k, v)
	got := r.carried[j]
	if t.Op == model.Reduction {
		if !d.there {
			x.report(verify.Wrong(verify.ReduceUndefined, r.name, fmt.Sprintf("transfer %d adds to chunk %d, of which rank %d has nothing", j, k, v)).AtTransfer(j).AtSlot(v, k))
			return
		}
		o, _ := x.w.OperatorOf(x.w.Ops[r.op].Operator)
		if !o.Elementwise && len(r.problem.Chunks) > 1 {
			x.report(verify.Wrong(verify.WrongTree, r.name, fmt.Sprintf("transfer %d combines chunk %d by %s, whose scalars are those of the whole tensor: not known on rank %d, which has a part of it", j, k, o.Name, v)).AtTransfer(j).AtSlot(v, k))
			return
		}
		if o.Associative && !o.Commutative && got.low != d.high+1 && d.low != got.high+1 {
			x.report(verify.Wrong(verify.WrongTree, r.name, fmt.Sprintf("transfer %d combines members %d to %d with %d to %d by %s, which needs neighbours", j, d.low, d.high, got.low, got.high, o.Name)).AtTransfer(j).AtSlot(v, k))
			return
		}
		left, right := d.shape, got.shape
		if o.Associative && !o.Commutative && got.low < d.low {
			left, right = right, left
		}
		got = load{together(x.shapes, o, left, right), min(got.low, d.low), max(got.high, d.high)}
	}
	if d.written && d.at == at && (t.Op == model.Copy || d.copied) {
		x.report(verify.Wrong(verify.WriteWriteRace, r.name, fmt.Sprintf("two writes to chunk %d on rank %d end at %v", k, v, at)).AtSlot(v, k))
	}
	d.copied = t.Op == model.Copy
	d.shape, d.low, d.high, d.there, d.written, d.at = got.shape, got.low, got.high, true, true, at
	x.leave(r, k, int(t.Src))
	x.leave(r, k, v)
	if r.left--; r.left == 0 {
		x.goals(r)
	}
}

// together combines two values.
func together(t *table, o wl.Operator, a, b int32) int32 {
	if o.Associative && o.Elementwise {
		return t.join(o.Name, a, b)
	}
	return t.tree(o.Name, a, b)
}

// leave counts an access to a slot. After the last one its rank has in its buffer what the slot
// holds, if that is promised, and else nothing that a later operation may rely on.
func (x *execution) leave(r *run, chunk, rank int) {
	s := x.at(r, chunk, rank)
	if s.touches--; s.touches > 0 || s.input == nil || !s.written {
		return
	}
	b, from, to := x.place(r, chunk, rank)
	row := x.held[b][rank*x.l.count(b):]
	if x.wanted[r.op][chunk*x.w.Topology.Ranks+rank] {
		copy(row[from:to], x.values(r, chunk, s.shape))
		return
	}
	for c := from; c < to; c++ {
		row[c] = x.t.other(int32(r.op), int32(r.iteration), int32(rank), int32(c))
	}
}

// values returns what a shape is of the inputs of a chunk, cell by cell.
func (x *execution) values(r *run, chunk int, shape int32) []int32 {
	if m, ok := r.made[chunk]; ok && m.shape == shape {
		return m.values
	}
	n := &x.shapes.nodes[shape]
	var values []int32
	switch n.kind {
	case isInput:
		values = r.slots[chunk*x.w.Topology.Ranks+r.members[n.list[1]]].input
	case isTree:
		a, b := x.values(r, chunk, n.list[0]), x.values(r, chunk, n.list[1])
		for i := range a {
			values = append(values, x.t.tree(x.w.Ops[r.op].Operator, a[i], b[i]))
		}
	default:
		o, _ := x.w.OperatorOf(x.w.Ops[r.op].Operator)
		var of []int32 // operands, one list of cells after the other
		parts := x.shapes.parts(n.word, shape)
		for i := 0; i < len(parts); i += 2 {
			of = append(of, slices.Repeat(parts[i:i+1], int(parts[i+1]))...)
		}
		cells := len(x.values(r, chunk, of[0]))
		for c := range cells {
			list := make([]int32, len(of))
			for i, leaf := range of {
				list[i] = x.values(r, chunk, leaf)[c]
			}
			values = append(values, x.t.total(o.Name, list))
			x.work.Go(len(of))
		}
	}
	if n.kind != isInput {
		if r.made == nil {
			r.made = map[int]made{}
		}
		r.made[chunk] = made{shape, values}
	}
	return values
}

// goals compares what a run leaves with what it is to leave, and forgets its slots.
func (x *execution) goals(r *run) {
	n := x.w.Topology.Ranks
	o, _ := x.w.OperatorOf(x.w.Ops[r.op].Operator)
	if r.slots == nil {
		r.slots = make([]slot, len(r.problem.Chunks)*n)
	}
	var last model.Value
	var leaves []int32
	wanted := int32(-1)
	for k := range r.problem.Chunks {
		same := int32(-1) // what the first rank with the goal has, where all are to have the same
		for v, want := range r.problem.Goal(k) {
			if x.full() {
				return
			}
			s := &r.slots[k*n+v]
			if !s.seen {
				if !onlyOwn(want, v) {
					x.report(verify.Wrong(verify.MissingContribution, r.name, fmt.Sprintf("chunk %d never reaches rank %d", k, v)).AtSlot(v, k))
				}
				continue
			}
			if wanted < 0 || !model.Identical(last, want) {
				leaves = leaves[:0]
				for _, i := range x.places(r, want) {
					leaves = append(leaves, x.shapes.input(0, i, 0))
				}
				wanted, last = leaves[0], want
				switch {
				case o.Associative && o.Elementwise:
					wanted = x.shapes.total(o.Name, leaves)
				case o.Tree != wl.Same:
					var err error
					if wanted, err = grow[int32](x.shapes, o.Name, o.Tree, leaves); err != nil {
						x.report(verify.Wrong(verify.WrongTree, r.name, err.Error()))
						return
					}
				}
				x.work.Go(len(leaves))
			}
			switch {
			case o.Associative && o.Elementwise:
				if s.shape != wanted {
					x.report(x.differs(r, k, v, o.Name, s.shape, leaves))
				}
			case o.Tree == wl.Same:
				if !x.grown(o.Name, s.shape, leaves) {
					x.report(x.differs(r, k, v, o.Name, s.shape, leaves))
				}
				if same < 0 {
					same = s.shape
				}
				if same != s.shape {
					x.report(verify.Wrong(verify.WrongTree, r.name, fmt.Sprintf("chunk %d is combined on rank %d in another order than elsewhere, want one tree for all ranks", k, v)).AtSlot(v, k))
				}
			case s.shape != wanted:
				x.report(verify.Wrong(verify.WrongTree, r.name, fmt.Sprintf("chunk %d on rank %d is %s, want the tree %s: %s", k, v, x.shapes.text(s.shape), o.Tree, x.shapes.text(wanted))).AtSlot(v, k))
			}
		}
	}
	r.slots, r.carried, r.made = nil, nil, nil
}

// places returns where in the group those are whose contributions a value has, each as often as it has it,
// ascending.
func (x *execution) places(r *run, v model.Value) (all []int) {
	for u, count := range v.Terms() {
		for range count {
			all = append(all, r.in[u])
		}
	}
	slices.Sort(all)
	return all
}

// onlyOwn reports whether a value is a rank's own contribution, once.
func onlyOwn(want model.Value, rank int) bool {
	for r, n := range want.Terms() {
		if r != rank || n != 1 {
			return false
		}
	}
	return want.Len() == 1
}

// grown reports whether got is a tree whose leaves are the given ones.
func (x *execution) grown(operator string, got int32, leaves []int32) bool {
	left := map[int32]int{}
	for _, l := range leaves {
		left[l]++
	}
	word := x.shapes.wordOf(operator)
	var walk func(id int32) bool
	walk = func(id int32) bool {
		if left[id] > 0 {
			left[id]--
			return true
		}
		n := x.shapes.nodes[id]
		return x.work.Go(1) && n.kind == isTree && n.word == word && walk(n.list[0]) && walk(n.list[1])
	}
	if !walk(got) {
		return false
	}
	for _, n := range left {
		if n > 0 {
			return false
		}
	}
	return true
}

// differs explains in what a value differs from a combination.
func (x *execution) differs(r *run, chunk, rank int, operator string, got int32, want []int32) verify.Violation {
	wanted := map[int32]int{}
	for _, id := range want {
		parts := x.shapes.parts(x.shapes.wordOf(operator), id)
		for i := 0; i < len(parts); i += 2 {
			wanted[parts[i]] += int(parts[i+1])
		}
	}
	code, what := verify.MissingContribution, "a contribution is missing"
	parts := x.shapes.parts(x.shapes.wordOf(operator), got)
	for i := 0; i < len(parts); i += 2 {
		switch n := wanted[parts[i]]; {
		case n == 0:
			code, what = verify.WrongValue, "something is there that is not wanted"
		case int(parts[i+1]) > n:
			code, what = verify.DoubleContribution, "a contribution is there too often"
		}
	}
	return verify.Wrong(code, r.name, fmt.Sprintf("chunk %d on rank %d: %s: %s", chunk, rank, what, x.shapes.text(got))).AtSlot(rank, chunk)
}

// begin is the start of a computation on a member: it reads.
func (x *execution) begin(r *run, m int) {
	op, v := &x.w.Ops[r.op], r.members[m]
	if r.args == nil {
		r.args, r.own, r.bytes = map[int][]int32{}, map[int][]int32{}, x.l.read(op.Reads)
	}
	for _, a := range op.Reads {
		b, from, to := x.l.cells(a.Region)
		r.args[v] = append(r.args[v], x.content(b, v, from, to)...)
	}
	for _, a := range op.Writes {
		b, from, to := x.l.cells(a.Region)
		r.own[v] = append(r.own[v], x.content(b, v, from, to)...)
	}
}

// finish is when a computation has written a region.
func (x *execution) finish(r *run, m, part int, at model.Time) {
	op, v := &x.w.Ops[r.op], r.members[m]
	o, _ := x.w.OperatorOf(op.Operator)
	args, own := r.args[v], r.own[v]
	first, before := 0, int64(0) // cells and bytes in the regions before this one
	for _, a := range op.Writes[:part] {
		_, from, to := x.l.cells(a.Region)
		first, before = first+to-from, before+a.Size
	}
	b, from, to := x.l.cells(op.Writes[part].Region)
	var values []int32
	for c := from; c < to; c++ {
		i, pos := first+c-from, before+x.l.cuts[b][c]-op.Writes[part].Offset
		switch {
		case op.Function == wl.Scalars:
			n := len(args) / 2
			var of []int32
			for d := range n {
				of = append(of, x.t.scalar(o.Name, args[d], args[n+d], pos))
			}
			values = append(values, x.t.combine(model.Sum.String(), of))
		case !o.Elementwise:
			n := len(own)
			if why := x.scalars(o.Name, own[i], args[i], args[n:], op.Reads[1].Region); why != "" {
				x.report(verify.Wrong(verify.WrongTree, r.name, fmt.Sprintf("combines on rank %d by %s: %s", v, o.Name, why)).AtRank(v))
				return
			}
			values = append(values, x.t.tree(o.Name, own[i], args[i]))
		case op.Function == "" && len(op.Reads) == 0:
			values = append(values, x.t.other(-1, int32(r.op), int32(r.iteration), int32(v), int32(i)))
		case op.Function == "" && op.Operator == "":
			values = append(values, args[i])
		case op.Function == "":
			values = append(values, together(x.t, o, own[i], args[i]))
		default:
			f := x.t.apply(signature(op.Function, sizes(op.Reads)), args, r.bytes, pos)
			if op.Operator != "" {
				f = together(x.t, o, own[i], f)
			}
			values = append(values, f)
		}
		x.work.Go(1 + len(args))
	}
	x.put(r, b, v, from, values, at)
}

// scalars explains why scalars are not those of two operands over their whole tensor, which
// is the buffer that their leaves are from (A3); "" if they are.
func (x *execution) scalars(operator string, a, b int32, got []int32, at wl.Region) string {
	buffer, cell, ok := x.t.leaf(a)
	if !ok {
		return fmt.Sprintf("an operand is %s, want a tree of inputs", x.t.text(a))
	}
	buf, from, _ := x.l.cells(at)
	for i, g := range got {
		var of []int32
		for c := range x.l.count(buffer) {
			p, ok := x.t.moved(a, buffer, cell, c)
			q, also := x.t.moved(b, buffer, cell, c)
			if !ok || !also {
				return "the operands are not trees of inputs at one place"
			}
			of = append(of, x.t.scalar(operator, p, q, x.l.cuts[buf][from+i]-at.Offset))
			x.work.Go(8)
		}
		if g != x.t.combine(model.Sum.String(), of) {
			return fmt.Sprintf("its scalars are not the sum over all of %s of those of %s and %s: they come before it is finished, or from other trees", model.Quote(x.l.names[buffer]), x.t.text(a), x.t.text(b))
		}
	}
	return ""
}

// atTheEnd compares what is there at the end with the goal.
func (x *execution) atTheEnd() (reason string) {
	for gi := range x.w.Goal {
		g := &x.w.Goal[gi]
		b, from, to := x.l.cells(g.Region)
		for _, v := range x.w.Members(g.Group) {
			for i, got := range x.content(b, v, from, to) {
				if x.full() {
					return ""
				}
				at := x.l.cuts[b][from+i] - g.Offset
				want, err := expect[int32](x.w, x.l, x.t, &g.Value, v, at)
				if err != nil {
					return err.Error()
				}
				if got != want {
					x.report(verify.Wrong(verify.WrongValue, fmt.Sprintf("rank %d, byte %d of %s", v, at+g.Offset, model.Quote(g.Buffer)),
						fmt.Sprintf("is %s at the end, want %s", x.t.text(got), x.t.text(want))).AtRank(v))
				}
			}
		}
	}
	return ""
}

// text writes a term in short.
func (t *table) text(id int32) string {
	s := t.write(id, 4)
	if len(s) > 160 {
		s = s[:160] + "..."
	}
	return s
}

func (t *table) write(id int32, depth int) string {
	n := &t.nodes[id]
	if depth == 0 {
		return "..."
	}
	word := t.names[n.word]
	switch n.kind {
	case isInput:
		return fmt.Sprintf("x%d", n.list[1])
	case isOther:
		return "something that no operation promised"
	case isSum:
		s := ""
		for i := 0; i < len(n.list) && i < 16; i += 2 {
			if i > 0 {
				s += " + "
			}
			if n.list[i+1] > 1 {
				s += fmt.Sprintf("%d·", n.list[i+1])
			}
			s += t.write(n.list[i], depth-1)
		}
		if word != model.Sum.String() {
			return word + "(" + s + ")"
		}
		return s
	case isRow:
		s := word + "("
		for i, x := range n.list[:min(len(n.list), 8)] {
			if i > 0 {
				s += " then "
			}
			s += t.write(x, depth-1)
		}
		return s + ")"
	case isTree:
		return "(" + t.write(n.list[0], depth-1) + ", " + t.write(n.list[1], depth-1) + ")"
	}
	list := n.list
	if n.kind == isApplied { // without the sizes of its arguments
		word = word[:strings.LastIndexByte(word, '[')]
	}
	if n.kind == isApplied && len(list) == 1 && t.nodes[list[0]].kind == isTuple {
		all := t.nodes[list[0]].list
		list = nil
		for i := 0; i < len(all); i += 3 {
			list = append(list, all[i])
		}
	}
	s := word + "("
	for i, a := range list {
		if i > 2 {
			return s + ", ...)"
		}
		if i > 0 {
			s += ", "
		}
		s += t.write(a, depth-1)
	}
	return s + ")"
}
