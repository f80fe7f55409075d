package workload

import (
	"fmt"
	"math/bits"
	"slices"

	"github.com/oraccl/oraccl/model"
	wl "github.com/oraccl/oraccl/model/workload"
)

// name numbers a name.
func name(parts ...any) string {
	s := fmt.Sprint(parts[0])
	for _, p := range parts[1:] {
		s += fmt.Sprint(".", p)
	}
	return s
}

// over is the sum over a group of a buffer's input, at the goal's own place.
func over(group string, buffer string, at int64) wl.Value {
	return wl.Value{Rank: -1, Operator: model.Sum.String(), Over: group, Of: []wl.Value{{Rank: -1, Input: &wl.Region{Buffer: buffer, Offset: at}}}}
}

// cut returns n equal chunks of size bytes; n must divide size.
func cut(size int64, n int) []model.Chunk {
	chunks := make([]model.Chunk, n)
	for i := range chunks {
		chunks[i] = model.Chunk{Offset: int64(i) * (size / int64(n)), Size: size / int64(n)}
	}
	return chunks
}

// Hierarchical returns an allreduce of size bytes among nodes of as many ranks each, in the three
// steps of NCCL's and Horovod's hierarchical allreduce: a reducescatter in each node, an
// allreduce among the ranks that have the same place in theirs, an allgather in each node. A
// rank's part is cut into parts·nodes chunks; size must be a multiple of all chunks.
func Hierarchical(t *model.Topology, cost model.CostModel, nodes [][]int, size int64, parts int) (*wl.Workload, error) {
	m, n := len(nodes), len(nodes[0])
	chunks := n * m * parts
	if size%int64(chunks) != 0 {
		return nil, fmt.Errorf("%d bytes in %d chunks, want a multiple", size, chunks)
	}
	w := &wl.Workload{Topology: t, Cost: cost}
	g := wl.Region{Buffer: "g"}
	for a, ranks := range nodes {
		if len(ranks) != n {
			return nil, fmt.Errorf("node %d has %d ranks, want %d as node 0 has", a, len(ranks), n)
		}
		w.Groups = append(w.Groups, wl.Group{Name: name("node", a), Ranks: ranks})
	}
	for i := range n {
		var ranks []int
		for a := range nodes {
			ranks = append(ranks, nodes[a][i])
		}
		w.Groups = append(w.Groups, wl.Group{Name: name("local", i), Ranks: ranks})
	}
	w.Groups = append(w.Groups, wl.Group{Name: "all", Ranks: slices.Concat(nodes...)})
	for a := range nodes {
		w.Ops = append(w.Ops, wl.Op{ID: name("reducescatter", a), Kind: "reducescatter", Group: name("node", a), Size: size, Chunks: cut(size, chunks), Buffer: g})
	}
	for i := range n {
		w.Ops = append(w.Ops, wl.Op{ID: name("allreduce", i), Kind: "allreduce", Group: name("local", i), Size: size / int64(n), Chunks: cut(size/int64(n), m*parts),
			Buffer: wl.Region{Buffer: "g", Offset: int64(i) * (size / int64(n))}})
	}
	for a := range nodes {
		w.Ops = append(w.Ops, wl.Op{ID: name("allgather", a), Kind: "allgather", Group: name("node", a), Size: size, Chunks: cut(size, chunks), Buffer: g})
		w.After(name("allgather", a), name("reducescatter", a), wl.ByChunk)
		for i := range n {
			w.After(name("allreduce", i), name("reducescatter", a), wl.ByChunk)
			w.After(name("allgather", a), name("allreduce", i), wl.ByChunk)
		}
	}
	w.Goal = []wl.Goal{{Region: wl.Region{Buffer: "g", Size: size}, Group: "all", Value: over("all", "g", 0)}}
	return w, w.Validate()
}

// TopK is HiTopKComm: hierarchical sparsification (Shi et al., "Towards scalable distributed
// training of deep learning on public cloud clusters", MLSys 2021), on nodes of as many ranks
// each.
type TopK struct {
	Nodes    [][]int
	Elements int64 // of the gradient
	Value    int64 // bytes of an element
	Index    int64 // bytes of an index
	Keep     int64 // elements that a rank keeps of its part
	Pieces   int   // chunks into which the pairs of a rank are cut; 0: one
	Select   model.Time
	Scatter  model.Time
}

// Workload returns the operations: a dense reducescatter in each node; the selection of Keep
// elements of each rank's part, an unknown function T; the allgather of the pairs among ranks of the
// same place, then in the node; their addition into the dense result. It is no allreduce: each part
// ends as the sum over nodes of what T kept of the node's sum.
func (x *TopK) Workload(t *model.Topology, cost model.CostModel) (*wl.Workload, error) {
	m, n := len(x.Nodes), len(x.Nodes[0])
	if x.Elements%int64(n) != 0 || x.Keep < 1 {
		return nil, fmt.Errorf("%d elements for %d ranks, of which each keeps %d: want a multiple, and at least one", x.Elements, n, x.Keep)
	}
	dense, pairs := x.Elements*x.Value, x.Keep*(x.Value+x.Index)
	pieces := max(1, x.Pieces)
	if pairs%int64(pieces) != 0 {
		return nil, fmt.Errorf("pairs of %d bytes in %d pieces, want a multiple", pairs, pieces)
	}
	part := dense / int64(n)
	w := &wl.Workload{Topology: t, Cost: cost}
	for a, ranks := range x.Nodes {
		if len(ranks) != n {
			return nil, fmt.Errorf("node %d has %d ranks, want %d as node 0 has", a, len(ranks), n)
		}
		w.Groups = append(w.Groups, wl.Group{Name: name("node", a), Ranks: ranks})
	}
	for i := range n {
		var ranks []int
		for a := range x.Nodes {
			ranks = append(ranks, x.Nodes[a][i])
		}
		w.Groups = append(w.Groups, wl.Group{Name: name("local", i), Ranks: ranks})
	}
	at := func(buffer string, offset, size int64) wl.Access {
		return wl.Access{Region: wl.Region{Buffer: buffer, Offset: offset, Size: size}}
	}
	for a := range x.Nodes {
		w.Ops = append(w.Ops, wl.Op{ID: name("reducescatter", a), Kind: "reducescatter", Group: name("node", a), Size: dense, Chunks: cut(dense, n), Buffer: wl.Region{Buffer: "g"}})
	}
	for i := range n {
		for a := range x.Nodes {
			id := name("select", a, i)
			w.Groups = append(w.Groups, wl.Group{Name: id, Ranks: []int{x.Nodes[a][i]}})
			w.Ops = append(w.Ops, wl.Op{ID: id, Kind: wl.Compute, Group: id, Duration: []model.Time{x.Select}, Function: "T",
				Reads: []wl.Access{at("g", int64(i)*part, part)}, Writes: []wl.Access{at("p", (int64(i)*int64(m)+int64(a))*pairs, pairs)}})
			w.After(id, name("reducescatter", a), wl.ByRank)
		}
		id := name("between", i)
		w.Ops = append(w.Ops, wl.Op{ID: id, Kind: "allgather", Group: name("local", i), Size: int64(m) * pairs, Chunks: cut(int64(m)*pairs, m*pieces),
			Buffer: wl.Region{Buffer: "p", Offset: int64(i) * int64(m) * pairs}})
		for a := range x.Nodes {
			w.After(id, name("select", a, i), wl.ByRank)
		}
	}
	for a := range x.Nodes {
		id := name("within", a)
		w.Ops = append(w.Ops, wl.Op{ID: id, Kind: "allgather", Group: name("node", a), Size: int64(n*m) * pairs, Chunks: cut(int64(n*m)*pairs, n*m*pieces), Buffer: wl.Region{Buffer: "p"}})
		for i := range n {
			w.After(id, name("between", i), wl.ByRank)
		}
	}
	for i := range n { // the parts that are added into nothing are written first
		for a := range x.Nodes {
			id := name("add", i, a)
			op := wl.Op{ID: id, Kind: wl.Compute, Duration: []model.Time{max(1, x.Scatter/model.Time(n*m))}, Function: "scatter",
				Reads: []wl.Access{at("p", (int64(i)*int64(m)+int64(a))*pairs, pairs)}, Writes: []wl.Access{at("out", int64(i)*part, part)}}
			if a > 0 {
				op.Operator = model.Sum.String()
			}
			w.Ops = append(w.Ops, op)
			for b := range x.Nodes {
				w.After(id, name("within", b), wl.ByRank)
			}
			if a > 0 {
				w.After(id, name("add", i, a-1), wl.ByRank)
			}
		}
		v := wl.Value{Rank: -1, Operator: model.Sum.String()}
		for a := range x.Nodes {
			kept := wl.Value{Rank: -1, Function: "T", Of: []wl.Value{over(name("node", a), "g", int64(i)*part)}, Bytes: []int64{part}}
			v.Of = append(v.Of, wl.Value{Rank: -1, Function: "scatter", Of: []wl.Value{kept}, Bytes: []int64{pairs}})
		}
		w.Goal = append(w.Goal, wl.Goal{Region: wl.Region{Buffer: "out", Offset: int64(i) * part, Size: part}, Value: v})
	}
	return w, w.Validate()
}

// Adasum returns Adasum by recursive vector halving among 2^L ranks (Maleki et al., "Scaling
// distributed training with adaptive summation", MLSys 2021): on level l a rank and the one whose
// number differs in bit l exchange the halves that the other one keeps, the 2^(l+1) ranks
// that hold pieces of the same two operands add up their scalars, and combine; then the halves
// come back. scalars is the size of the three scalars; size must be a multiple of the ranks.
func Adasum(t *model.Topology, cost model.CostModel, ranks int, size, scalars int64, dot, combine model.Time) (*wl.Workload, error) {
	if ranks < 2 || ranks&(ranks-1) != 0 || size%int64(ranks) != 0 {
		return nil, fmt.Errorf("%d bytes on %d ranks, want a power of two of ranks, and a multiple of them", size, ranks)
	}
	const operator = "adasum"
	w := &wl.Workload{Topology: t, Cost: cost, Operators: []wl.Operator{{Name: operator, Commutative: true, Tree: wl.Balanced}}}
	var all []int
	for v := range ranks {
		all = append(all, v)
	}
	w.Groups = append(w.Groups, wl.Group{Name: "all", Ranks: all})
	from := make([]int64, ranks) // what each rank works on
	length := size
	before := make([][]string, ranks) // the last operations on each rank
	op := func(o wl.Op, ranks ...int) string {
		if o.Group == "" {
			o.Group = o.ID
			w.Groups = append(w.Groups, wl.Group{Name: o.Group, Ranks: ranks})
		}
		w.Ops = append(w.Ops, o)
		return o.ID
	}
	at := func(buffer string, offset, size int64) wl.Access {
		return wl.Access{Region: wl.Region{Buffer: buffer, Offset: offset, Size: size}}
	}
	for l := 0; 1<<l < ranks; l++ {
		half := length / 2
		got := make([]string, ranks)
		sent := make([]string, ranks)
		for v := range ranks {
			u := v ^ 1<<l
			keep := from[v] // the lower half, where its bit is 0
			if v>>l&1 == 1 {
				keep += half
			}
			id := op(wl.Op{ID: name("exchange", l, v), Kind: wl.SendRecv, Size: half, Chunks: cut(half, 1), Buffer: wl.Region{Buffer: "g", Offset: keep},
				Into: wl.Region{Buffer: name("other", l), Offset: keep}}, u, v)
			got[v], sent[u] = id, id
		}
		for v := range ranks {
			for _, b := range before[v] {
				w.After(got[v], b, wl.ByRank)
				w.After(sent[v], b, wl.ByRank)
			}
		}
		for v := range ranks {
			if v>>l&1 == 1 {
				from[v] += half
			}
		}
		length = half
		block := 2 << l
		for b := 0; b < ranks; b += block {
			group := all[b : b+block]
			id := op(wl.Op{ID: name("scalars", l, b/block), Kind: "allreduce", Size: scalars, Chunks: cut(scalars, 1), Buffer: wl.Region{Buffer: name("s", l)}}, group...)
			for _, v := range group {
				d := op(wl.Op{ID: name("dot", l, v), Kind: wl.Compute, Duration: []model.Time{dot}, Operator: operator, Function: wl.Scalars,
					Reads: []wl.Access{at("g", from[v], length), at(name("other", l), from[v], length)}, Writes: []wl.Access{at(name("s", l), 0, scalars)}}, v)
				w.After(d, got[v], wl.ByRank)
				w.After(id, d, wl.ByRank)
				c := op(wl.Op{ID: name("combine", l, v), Kind: wl.Compute, Duration: []model.Time{combine}, Operator: operator,
					Reads: []wl.Access{at(name("other", l), from[v], length), at(name("s", l), 0, scalars)}, Writes: []wl.Access{at("g", from[v], length)}}, v)
				w.After(c, id, wl.ByRank)
				before[v] = []string{c, sent[v]}
			}
		}
	}
	for bit := bits.Len(uint(ranks)) - 2; bit >= 0; bit-- { // back, the last exchange first
		pieces, last := slices.Clone(from), make([][]string, ranks)
		for v := range ranks {
			u := v ^ 1<<bit
			id := op(wl.Op{ID: name("return", bit, v), Kind: wl.SendRecv, Size: length, Chunks: cut(length, 1), Buffer: wl.Region{Buffer: "g", Offset: pieces[u]}}, u, v)
			for _, b := range slices.Concat(before[v], before[u]) {
				w.After(id, b, wl.ByRank)
			}
			last[v], last[u] = append(last[v], id), append(last[u], id)
		}
		before = last
		for v := range ranks {
			from[v] = min(pieces[v], pieces[v^1<<bit])
		}
		length *= 2
	}
	var clean []wl.Edge // an edge only between operations that share a rank
	for _, e := range w.Edges {
		if e.Scope == wl.ByRank && !share(w.Members(w.Ops[e.From].Group), w.Members(w.Ops[e.To].Group)) {
			continue
		}
		clean = append(clean, e)
	}
	w.Edges = clean
	w.Goal = []wl.Goal{{Region: wl.Region{Buffer: "g", Size: size}, Group: "all",
		Value: wl.Value{Rank: -1, Operator: operator, Over: "all", Tree: wl.Balanced, Of: []wl.Value{{Rank: -1, Input: &wl.Region{Buffer: "g"}}}}}}
	return w, w.Validate()
}

func share(a, b []int) bool {
	for _, x := range a {
		for _, y := range b {
			if x == y {
				return true
			}
		}
	}
	return false
}

// Straggler returns an allreduce for which one rank is late.
func Straggler(p *model.Problem, rank int, by model.Time) *wl.Workload {
	w := wl.Of(p)
	w.Release = make([]model.Time, p.Topology.Ranks)
	w.Release[rank] = by
	return w
}

// Line is a direction of a grid.
type Line uint8

// The directions.
const (
	Rows Line = iota
	Columns
	Depths
)

// Grid is a 2.5-D matrix product on q·q·d ranks: SUMMA2.5-LM (Wang, Xu, Bian and You, "Tesseract",
// arXiv:2105.14500). Where machines have ranks of consecutive numbers, Inside names the lines of the
// grid that are inside of them: with rows, the rank of row i, column j and depth l is j + q(i + q·l).
type Grid struct {
	Side, Depth int
	Inside      Line
	X, W, Y     int64 // bytes of a block of the activations, the weights, and the result
	Multiply    model.Time
	Chunks      int  // into which each broadcast, reduce and allreduce is cut
	Backward    bool // with the gradients of both, the sum over depth among them
}

// Rank returns the rank of a place in the grid.
func (x *Grid) Rank(i, j, l int) int {
	switch x.Inside {
	case Columns:
		return i + x.Side*(j+x.Side*l)
	case Depths:
		return l + x.Depth*(j+x.Side*i)
	}
	return j + x.Side*(i+x.Side*l)
}

// Workload returns the operations. Each rank has its row's blocks of X, its column's of W, in
// order, of which it begins with its own; step k has the k-th broadcast, and all multiply. Y ends
// as Σ_k X[i,k]·W[k,j], and with Backward dX[i,k] as Σ_j dY[i,j]·W[k,j]ᵀ at the rank of column k, and
// dW[k,j] as Σ over rows and depths of Xᵀ·dY at the ranks of row k.
func (x *Grid) Workload(t *model.Topology, cost model.CostModel) (*wl.Workload, error) {
	q, d := x.Side, x.Depth
	if q < 1 || d < 1 || q*q*d > t.Ranks {
		return nil, fmt.Errorf("a grid of %d by %d by %d on %d ranks", q, q, d, t.Ranks)
	}
	for _, size := range []int64{x.X, x.W} {
		if x.Chunks < 1 || size%int64(x.Chunks) != 0 {
			return nil, fmt.Errorf("blocks of %d bytes in %d chunks, want a multiple", size, x.Chunks)
		}
	}
	w := &wl.Workload{Topology: t, Cost: cost}
	var all []int
	group := func(id string, ranks []int) {
		if !slices.ContainsFunc(w.Groups, func(g wl.Group) bool { return g.Name == id }) {
			w.Groups = append(w.Groups, wl.Group{Name: id, Ranks: ranks})
		}
	}
	for l := range d {
		for i := range q {
			var row, column []int
			for j := range q {
				row, column = append(row, x.Rank(i, j, l)), append(column, x.Rank(j, i, l))
				all = append(all, x.Rank(i, j, l))
				group(name("rank", x.Rank(i, j, l)), []int{x.Rank(i, j, l)})
			}
			group(name("row", i, l), row)
			group(name("column", i, l), column)
		}
	}
	group("grid", all)
	at := func(buffer string, k int, size int64) wl.Access {
		return wl.Access{Region: wl.Region{Buffer: buffer, Offset: int64(k) * size, Size: size}}
	}
	collective := func(id string, kind model.Kind, group string, root int, buffer string, k int, size int64) {
		w.Ops = append(w.Ops, wl.Op{ID: id, Kind: wl.Kind(kind.String()), Group: group, Root: root, Size: size, Chunks: cut(size, x.Chunks),
			Buffer: wl.Region{Buffer: buffer, Offset: int64(k) * size}})
	}
	everywhere := func(visit func(i, l int)) {
		for l := range d {
			for i := range q {
				visit(i, l)
			}
		}
	}
	for k := range q {
		everywhere(func(i, l int) {
			collective(name("X", k, i, l), model.Broadcast, name("row", i, l), x.Rank(i, k, l), "X", k, x.X)
			collective(name("W", k, i, l), model.Broadcast, name("column", i, l), x.Rank(k, i, l), "W", k, x.W)
		})
		id := name("multiply", k)
		op := wl.Op{ID: id, Kind: wl.Compute, Group: "grid", Duration: []model.Time{x.Multiply}, Function: "multiply",
			Reads: []wl.Access{at("X", k, x.X), at("W", k, x.W)}, Writes: []wl.Access{at("Y", 0, x.Y)}}
		if k > 0 {
			op.Operator = model.Sum.String()
		}
		w.Ops = append(w.Ops, op)
		everywhere(func(i, l int) {
			w.After(id, name("X", k, i, l), wl.ByRank)
			w.After(id, name("W", k, i, l), wl.ByRank)
		})
		if k > 0 {
			w.After(id, name("multiply", k-1), wl.ByRank)
		}
	}
	input := func(buffer string, k int, size int64, rank int) wl.Value {
		return wl.Value{Rank: rank, Input: &wl.Region{Buffer: buffer, Offset: int64(k) * size}}
	}
	goal := func(rank int, region wl.Region, of []wl.Value) {
		v := wl.Value{Rank: -1, Operator: model.Sum.String(), Of: of}
		w.Goal = append(w.Goal, wl.Goal{Region: region, Group: name("rank", rank), Value: v})
	}
	product := func(function string, a, b wl.Value, sizes ...int64) wl.Value {
		return wl.Value{Rank: -1, Function: function, Of: []wl.Value{a, b}, Bytes: sizes}
	}
	for l := range d {
		for i := range q {
			for j := range q {
				var of []wl.Value
				for k := range q {
					of = append(of, product("multiply", input("X", k, x.X, x.Rank(i, k, l)), input("W", k, x.W, x.Rank(k, j, l)), x.X, x.W))
				}
				goal(x.Rank(i, j, l), wl.Region{Buffer: "Y", Size: x.Y}, of)
			}
		}
	}
	if !x.Backward {
		return w, w.Validate()
	}
	for k := range q {
		for _, g := range []struct {
			name, line, result string
			reads              []wl.Access
			size               int64
			root               func(i, l int) int
		}{
			{"dX", "row", "PX", []wl.Access{at("dY", 0, x.Y), at("W", k, x.W)}, x.X, func(i, l int) int { return x.Rank(i, k, l) }},
			{"dW", "column", "PW", []wl.Access{at("X", k, x.X), at("dY", 0, x.Y)}, x.W, func(j, l int) int { return x.Rank(k, j, l) }},
		} {
			id := name("multiply", g.name, k)
			w.Ops = append(w.Ops, wl.Op{ID: id, Kind: wl.Compute, Group: "grid", Duration: []model.Time{x.Multiply}, Function: g.name, Reads: g.reads, Writes: []wl.Access{at(g.result, k, g.size)}})
			w.After(id, name("multiply", q-1), wl.ByRank)
			everywhere(func(i, l int) {
				reduce := name(g.name, k, i, l)
				collective(reduce, model.Reduce, name(g.line, i, l), g.root(i, l), g.result, k, g.size)
				w.After(reduce, id, wl.ByRank)
			})
		}
		for j := range q {
			var deep []int
			for l := range d {
				deep = append(deep, x.Rank(k, j, l))
			}
			group(name("depth", k, j), deep)
			id := name("depth", k, j)
			collective(id, model.AllReduce, name("depth", k, j), 0, "PW", k, x.W)
			for l := range d {
				w.After(id, name("dW", k, j, l), wl.ByRank)
			}
		}
	}
	for l := range d {
		for a := range q {
			for b := range q {
				var dx, dw []wl.Value // rank (a, b, l) has dX of row a, column b, and dW of row a, column b
				for j := range q {
					dx = append(dx, product("dX", input("dY", 0, x.Y, x.Rank(a, j, l)), input("W", b, x.W, x.Rank(b, j, l)), x.Y, x.W))
					for depth := range d {
						dw = append(dw, product("dW", input("X", a, x.X, x.Rank(j, a, depth)), input("dY", 0, x.Y, x.Rank(j, b, depth)), x.X, x.Y))
					}
				}
				goal(x.Rank(a, b, l), wl.Region{Buffer: "PX", Offset: int64(b) * x.X, Size: x.X}, dx)
				goal(x.Rank(a, b, l), wl.Region{Buffer: "PW", Offset: int64(a) * x.W, Size: x.W}, dw)
			}
		}
	}
	return w, w.Validate()
}
