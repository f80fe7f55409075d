package forestcoll

import (
	"fmt"

	"github.com/oraccl/oraccl/model"
)

// Truth is what the trees of a file are to be judged by.
type Truth struct {
	Topology   *model.Topology   // nil: the links that the file uses, with which nothing is proved
	Collective *model.Collective // nil: allgather; reducescatter and allreduce are the others
	Chunks     int               // of each rank; 0: as many as the file says
	Size       int64             // bytes, as in model.Problem; 0: 64 KiB a chunk
}

// Import puts the file into our terms: a chunk for each tree, as large as its part of the
// root's data, and transfers along its edges in the order that the tree has.
func (f *File) Import(truth Truth) (*model.Imported, error) {
	p := &model.Problem{Topology: truth.Topology, Cost: model.Pipelined, Collective: model.Collective{Kind: model.AllGather}, Size: truth.Size}
	m := &model.Imported{Tool: Tool, Problem: p, Schedule: &model.Schedule{Form: model.Ordered}}
	if truth.Collective != nil {
		p.Collective = *truth.Collective
	}
	switch p.Collective.Kind {
	case model.AllGather, model.ReduceScatter, model.AllReduce:
	default:
		return nil, fmt.Errorf("%v: its trees perform allgather, reducescatter or allreduce", p.Collective)
	}
	if p.Topology == nil {
		t, err := f.own()
		if err != nil {
			return nil, err
		}
		p.Topology = t
		m.Assumed = "the file does not say what network its links are of; --topology does"
		t.Notes.Add(model.Assumed, "links of 50 GiB/s without latency both ways between all neighbours on its paths: the file has no bandwidths")
	}
	rank, _, err := f.ranks(p.Topology.Ranks)
	if err != nil {
		return nil, err
	}
	if truth.Collective == nil {
		m.Notes.Add(model.Assumed, "an allgather: the file does not name its collective; --collective does")
	}
	b := &builder{f: f, m: m, rank: rank, ways: newWays(p.Topology, f, rank), chunk: make([]int, len(f.Trees)), routes: map[string]int32{}}
	if err := b.cut(truth.Chunks); err != nil {
		return nil, err
	}
	for i := range f.Trees {
		b.tree(i)
	}
	m.Source = func(i int) string { return b.from[i] }
	return m, nil
}

type builder struct {
	f      *File
	m      *model.Imported
	rank   map[string]int
	ways   *ways
	chunk  []int // of each tree
	routes map[string]int32
	from   []string // of each transfer
}

// cut gives each tree its part of the data of its root, in the order of the file, and what
// no tree of a rank carries a chunk of its own.
func (b *builder) cut(asked int) error {
	p := b.m.Problem
	n, k := int64(p.Topology.Ranks), int64(b.f.Chunks)
	if asked > 0 {
		k = int64(asked)
	}
	if p.Size == 0 {
		p.Size = n * k << 16
		b.m.Notes.Add(model.Assumed, "64 KiB a chunk: the file has no sizes; --size sets it")
	}
	trees := make([][]int, n)
	for i, t := range b.f.Trees {
		trees[b.rank[t.Root]] = append(trees[b.rank[t.Root]], i)
	}
	for r := range n {
		from, to := p.Size/n*r+p.Size%n*r/n, p.Size/n*(r+1)+p.Size%n*(r+1)/n
		at, done := from, int64(0)
		for _, i := range trees[r] {
			t := &b.f.Trees[i]
			if done += int64(t.Chunks); done > k {
				b.m.Object("malformed", b.name(i), fmt.Sprintf("the trees of its root carry %d chunks so far, want %d in all", done, k))
				done = k
			}
			next := from + (to-from)/k*done + (to-from)%k*done/k
			if next == at {
				if len(b.m.Objections) > 0 {
					break
				}
				return fmt.Errorf("%d bytes are too few for %d chunks per rank, want at least one byte each", p.Size, k)
			}
			b.chunk[i] = len(p.Chunks)
			p.Chunks = append(p.Chunks, model.Chunk{Offset: at, Size: next - at})
			at = next
		}
		if at < to {
			p.Chunks = append(p.Chunks, model.Chunk{Offset: at, Size: to - at})
		}
	}
	return p.Validate()
}

func (b *builder) name(tree int) string {
	t := &b.f.Trees[tree]
	return fmt.Sprintf("line %d: tree %d of %s", t.Line, t.Index, t.Root)
}

// tree makes the transfers of a tree: up it for what reduces, down it for what gathers.
func (b *builder) tree(i int) {
	t := &b.f.Trees[i]
	kind := b.m.Problem.Collective.Kind
	up := map[string][]int32{} // the transfers that arrive at a node on the way up
	if kind != model.AllGather {
		index := make([]int32, len(t.Sends))
		for j := range t.Sends {
			index[j] = b.transfer(i, j, true)
			if index[j] >= 0 {
				up[t.Sends[j].Src] = append(up[t.Sends[j].Src], index[j])
			}
		}
		for j := range t.Sends {
			if index[j] >= 0 {
				b.m.Schedule.After[index[j]] = up[t.Sends[j].Dst]
			}
		}
	}
	if kind == model.ReduceScatter {
		return
	}
	down := map[string][]int32{} // the transfers that bring the chunk to a node
	index := make([]int32, len(t.Sends))
	for j := range t.Sends {
		index[j] = b.transfer(i, j, false)
		if index[j] >= 0 {
			down[t.Sends[j].Dst] = append(down[t.Sends[j].Dst], index[j])
		}
	}
	for j := range t.Sends {
		if index[j] < 0 {
			continue
		}
		after := down[t.Sends[j].Src]
		if t.Sends[j].Src == t.Root && len(up) > 0 {
			after = append(append([]int32{}, after...), up[t.Root]...)
		}
		b.m.Schedule.After[index[j]] = after
	}
}

// transfer adds the transfer of an edge, or, where it has no links, an objection, and
// returns -1.
func (b *builder) transfer(tree, send int, up bool) int32 {
	t, s := b.m.Problem.Topology, &b.f.Trees[tree].Sends[send]
	path := s.Path
	x := model.Transfer{Chunk: int32(b.chunk[tree]), Src: int32(b.rank[s.Src]), Dst: int32(b.rank[s.Dst])}
	if up {
		x.Src, x.Dst, x.Op = x.Dst, x.Src, model.Reduction
		path = make([]string, len(s.Path))
		for i, name := range s.Path {
			path[len(path)-1-i] = name
		}
	}
	where := fmt.Sprintf("line %d: send %s to %s of tree %d of %s", s.Line, s.Src, s.Dst, b.f.Trees[tree].Index, b.f.Trees[tree].Root)
	if len(b.m.Problem.Chunks) == 0 {
		return -1
	}
	route, missing := b.ways.route(path, b.m.Problem.Chunks[x.Chunk].Size)
	if route == nil {
		what := "no link"
		if len(s.Path) > 2 {
			what = "no way over switches"
		}
		b.m.Object("no-such-link", where, fmt.Sprintf("%s has %s from rank %d to rank %d", t.Name, what, missing[0], missing[1]))
		return -1
	}
	key := fmt.Sprint(route)
	id, known := b.routes[key]
	if !known {
		id = int32(len(b.m.Schedule.Routes))
		b.routes[key] = id
		b.m.Schedule.Routes = append(b.m.Schedule.Routes, route)
	}
	x.Route = id
	b.m.Schedule.Transfers = append(b.m.Schedule.Transfers, x)
	b.m.Schedule.After = append(b.m.Schedule.After, nil)
	b.from = append(b.from, where)
	return int32(len(b.m.Schedule.Transfers) - 1)
}
