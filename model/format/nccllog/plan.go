package nccllog

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/ways"
)

// Chunks of the protocol Simple with the default buffer (NCCL_BUFFSIZE, 4 MiB): a step of a ring moves
// half of it, in two slices, of which each is passed on when it is there.
const (
	slice    = 1 << 20
	maxPiece = 1 << 12 // pieces of a rank's part on a channel, beyond which they become larger
	treeMost = 2 << 20 // of a tree; less where a tree is deep and the data is little
	treeMin  = 32 << 10
)

// maxTransfers limits what is made.
const maxTransfers = model.MaxHeld / 4

// Plan is a schedule that NCCL would run.
type Plan struct {
	Problem  *model.Problem
	Schedule *model.Schedule
	Order    *model.Precedence
	Note     string
}

// Ring returns what NCCL's ring algorithm does for p over the channels of the log. It is for allreduce,
// allgather, reducescatter and broadcast.
func (l *Log) Ring(p *model.Problem) (*Plan, error) {
	if err := l.fits(p); err != nil {
		return nil, err
	}
	channels := slices.Sorted(maps.Keys(l.Rings))
	if len(channels) == 0 {
		return nil, errors.New("no ring of all ranks in the log")
	}
	n, kind := l.Ranks, p.Collective.Kind
	parts := n
	if kind == model.Broadcast {
		parts = 1
	}
	wide, err := atMost(p, len(channels), parts)
	if err != nil {
		return nil, err
	}
	channels = channels[:wide]
	pieces := piecesOf(p.Size, int64(len(channels)*parts), slice)
	for int64(len(channels))*int64(parts)*int64(pieces)*int64(2*n) > maxTransfers && pieces > 1 {
		pieces = (pieces + 1) / 2
	}
	b := newBuilder(p, parts*len(channels)*pieces)
	for i, c := range channels {
		order := l.Rings[c]
		at := make([]int, n)
		for k, r := range order {
			at[r] = k
		}
		// chunk returns the piece of the part that ends up at a rank
		chunk := func(rank, piece int) int { return (rank*len(channels)+i)*pieces + piece }
		step := 2 // slices of a chunk
		for first := 0; first < pieces; first += step {
			last := min(pieces, first+step)
			switch kind {
			case model.Broadcast:
				from := at[p.Collective.Root]
				for t := range n - 1 {
					for piece := first; piece < last; piece++ {
						b.send(i, i*pieces+piece, order[(from+t)%n], order[(from+t+1)%n], model.Copy, 0)
					}
				}
				continue
			case model.AllGather:
				b.around(i, order, 0, n-1, first, last, chunk)
			case model.ReduceScatter:
				b.around(i, order, n-1, 0, first, last, chunk)
			default:
				b.around(i, order, n-1, n-1, first, last, chunk)
			}
		}
	}
	return b.plan(fmt.Sprintf("NCCL's rings over %d channels, %d pieces of %s on each", len(channels), pieces, bytesOf(p.Size/int64(parts*len(channels)*pieces))))
}

// around has every part go around a ring: for some steps it is added up, ending at the rank that it
// belongs to, and for others it is copied from there.
func (b *builder) around(channel int, order []int, reduce, gather, first, last int, chunk func(rank, piece int) int) {
	n := len(order)
	for t := range reduce + gather {
		for k := range n { // rank order[k] sends to the next one
			var owner int // position of the part that it sends
			op := model.Reduction
			if t < reduce { // ends after n-1 steps at its owner, having begun one behind it
				owner = ((k-1-t)%n + n) % n
			} else {
				owner, op = ((k-(t-reduce))%n+n)%n, model.Copy
			}
			for piece := first; piece < last; piece++ {
				b.send(channel, chunk(order[owner], piece), order[k], order[(k+1)%n], op, 0)
			}
		}
	}
}

// Tree returns what NCCL's tree algorithm does for p, an allreduce: on each channel up a tree and
// down again, in pieces that follow each other.
func (l *Log) Tree(p *model.Problem) (*Plan, error) {
	if err := l.fits(p); err != nil {
		return nil, err
	}
	if p.Collective.Kind != model.AllReduce {
		return nil, fmt.Errorf("NCCL's trees serve allreduce, not %v", p.Collective.Kind)
	}
	channels := slices.Sorted(maps.Keys(l.Trees))
	if len(channels) == 0 {
		return nil, errors.New("no trees in the log")
	}
	wide, err := atMost(p, len(channels), 1)
	if err != nil {
		return nil, err
	}
	channels = channels[:wide]
	depth := 0
	type tree struct {
		up    []int
		order []int // children before parents
	}
	var trees []tree
	for _, c := range channels {
		up, err := l.parents(c)
		if err != nil {
			return nil, err
		}
		order, deep, err := climb(up)
		if err != nil {
			return nil, fmt.Errorf("the tree of channel %d: %w", c, err)
		}
		depth = max(depth, deep)
		trees = append(trees, tree{up, order})
	}
	size := int64(treeMost)
	share := p.Size / int64(len(channels))
	for _, x := range []struct {
		times int64
		least int64
	}{{8, 128 << 10}, {4, 64 << 10}, {1, treeMin}} {
		for share/size < x.times*int64(depth) && size > x.least {
			size /= 2
		}
	}
	pieces := piecesOf(p.Size, int64(len(channels)), size)
	for int64(len(channels))*int64(pieces)*int64(2*l.Ranks) > maxTransfers && pieces > 1 {
		pieces = (pieces + 1) / 2
	}
	b := newBuilder(p, len(channels)*pieces)
	for piece := range pieces {
		for i, t := range trees {
			for _, r := range t.order {
				if t.up[r] >= 0 {
					b.send(i, i*pieces+piece, r, t.up[r], model.Reduction, 0)
				}
			}
			for _, r := range slices.Backward(t.order) {
				if t.up[r] >= 0 {
					b.send(i, i*pieces+piece, t.up[r], r, model.Copy, 1+r)
				}
			}
		}
	}
	return b.plan(fmt.Sprintf("NCCL's trees over %d channels, %d deep, %d pieces of %s on each", len(channels), depth, pieces, bytesOf(p.Size/int64(len(channels)*pieces))))
}

// parents returns the parent of each rank in a channel's tree: those that no line of the rank states,
// from the lines of the others.
func (l *Log) parents(c int) ([]int, error) {
	list := l.Trees[c]
	up := slices.Repeat([]int{-2}, l.Ranks)
	for r, m := range list {
		if m.Known {
			if m.Up >= l.Ranks {
				return nil, fmt.Errorf("the tree of channel %d: rank %d is below rank %d, and there are %d", c, r, m.Up, l.Ranks)
			}
			up[r] = max(m.Up, -1)
		}
	}
	var missing []string
	for r, m := range list {
		for _, d := range m.Down {
			if d >= l.Ranks {
				return nil, fmt.Errorf("the tree of channel %d: rank %d is above rank %d, and there are %d", c, r, d, l.Ranks)
			}
			if up[d] == -2 {
				up[d] = r
			} else if up[d] != r {
				return nil, fmt.Errorf("the tree of channel %d: rank %d says that it is above rank %d, which says that it is below %d", c, r, d, up[d])
			}
		}
	}
	for r := range up {
		if up[r] == -2 {
			missing = append(missing, fmt.Sprint(r))
		}
	}
	if len(missing) > 0 {
		return nil, fmt.Errorf("the tree of channel %d: no line (Trees […]) of ranks %s, nor of those above them: the log is cut off or not of all ranks", c, strings.Join(missing, ", "))
	}
	return up, nil
}

// climb returns the ranks with children before their parents, and the depth of the tree.
func climb(up []int) (order []int, depth int, err error) {
	level := make([]int, len(up))
	roots := 0
	for r := range up {
		steps := 0
		for at := r; up[at] >= 0; at = up[at] {
			if steps++; steps > len(up) {
				return nil, 0, fmt.Errorf("rank %d is below itself", r)
			}
		}
		if level[r] = steps; steps == 0 {
			roots++
		}
		depth = max(depth, steps)
	}
	if roots != 1 {
		return nil, 0, fmt.Errorf("%d roots, want one", roots)
	}
	for r := range up {
		order = append(order, r)
	}
	slices.SortStableFunc(order, func(a, b int) int { return level[b] - level[a] })
	return order, depth, nil
}

// fits returns an error where p is none that such plans are for.
func (l *Log) fits(p *model.Problem) error {
	switch k := p.Collective.Kind; {
	case k != model.AllReduce && k != model.AllGather && k != model.ReduceScatter && k != model.Broadcast:
		return fmt.Errorf("NCCL's rings and trees are for allreduce, allgather, reducescatter and broadcast, not %v", k)
	case l.Ranks != p.Topology.Ranks:
		return fmt.Errorf("the log is of %d ranks, and %s has %d", l.Ranks, p.Topology.Name, p.Topology.Ranks)
	case len(p.Members()) != l.Ranks:
		return fmt.Errorf("the log is of %d ranks, and %d take part", l.Ranks, len(p.Members()))
	case p.Cost.Synchronous():
		return fmt.Errorf("NCCL knows no rounds: want --cost pipelined or blocking, not %v", p.Cost)
	case l.Ranks < 2:
		return errors.New("the log is of one rank")
	}
	return nil
}

// atMost returns how many of some channels are used, which is fewer where some would have no byte of each of some parts.
func atMost(p *model.Problem, channels, parts int) (int, error) {
	if p.Size < int64(parts) {
		return 0, fmt.Errorf("%d bytes, want at least %d, one for each part", p.Size, parts)
	}
	return int(min(int64(channels), p.Size/int64(parts))), nil
}

// piecesOf returns into how many equal pieces each of several shares of a size is cut so that none is
// larger than most.
func piecesOf(size, shares, most int64) int {
	return int(min(max(1, (size+shares*most-1)/(shares*most)), maxPiece))
}

func bytesOf(n int64) string {
	switch {
	case n >= 1<<20 && n%(1<<10) == 0:
		return fmt.Sprintf("%.4g MiB", float64(n)/(1<<20))
	case n >= 1<<10:
		return fmt.Sprintf("%.4g KiB", float64(n)/(1<<10))
	}
	return fmt.Sprintf("%d bytes", n)
}

// builder writes a plan down, send after send, as the ranks do them.
type builder struct {
	p        *model.Problem
	s        *model.Schedule
	o        *model.Precedence
	shortest *ways.Shortest
	routes   map[[2]int]int32
	last     map[[4]int]int32 // the last send of a rank on a channel and lane to another one
	writes   map[[2]int][]int32
	reads    map[[2]int][]int32
	missing  string
}

func newBuilder(p *model.Problem, chunks int) *builder {
	return &builder{p: p.WithChunks(chunks), s: &model.Schedule{Form: model.Ordered}, o: &model.Precedence{}, shortest: ways.NewShortest(p.Topology),
		routes: map[[2]int]int32{}, last: map[[4]int]int32{}, writes: map[[2]int][]int32{}, reads: map[[2]int][]int32{}}
}

// send has a rank send a chunk to another one, after what it sent there before on the channel.
func (b *builder) send(channel, chunk, src, dst int, op model.Op, lane int) {
	id, ok := b.routes[[2]int{src, dst}]
	if !ok {
		route := b.shortest.Route(src, dst)
		if route == nil {
			b.missing = fmt.Sprintf("%s has no link and no way over switches from rank %d to rank %d", b.p.Topology.Name, src, dst)
			return
		}
		id = int32(len(b.s.Routes))
		b.routes[[2]int{src, dst}] = id
		b.s.Routes = append(b.s.Routes, route)
	}
	t := int32(len(b.s.Transfers))
	b.s.Transfers = append(b.s.Transfers, model.Transfer{Chunk: int32(chunk), Src: int32(src), Dst: int32(dst), Route: id, Op: op})
	ended := slices.Clone(b.writes[[2]int{src, chunk}])
	var left, begun []int32
	if before, ok := b.last[[4]int{channel, src, dst, lane}]; ok {
		left = []int32{before}
	}
	b.last[[4]int{channel, src, dst, lane}] = t
	b.reads[[2]int{src, chunk}] = append(b.reads[[2]int{src, chunk}], t)
	to := [2]int{dst, chunk}
	begun = slices.Clone(b.reads[to])
	if op == model.Copy {
		begun = append(begun, b.writes[to]...)
		b.writes[to], b.reads[to] = []int32{t}, nil
	} else {
		b.writes[to] = append(b.writes[to], t)
	}
	b.o.Ended, b.o.Left, b.o.Begun = append(b.o.Ended, ended), append(b.o.Left, left), append(b.o.Begun, begun)
}

// plan returns what was written.
func (b *builder) plan(note string) (*Plan, error) {
	if b.missing != "" {
		return nil, errors.New(b.missing)
	}
	b.s.After = b.o.Ended
	return &Plan{b.p, b.s, b.o, note + ", protocol Simple"}, nil
}
