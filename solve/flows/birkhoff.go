package flows

import (
	"slices"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve/network"
)

// birkhoff returns a schedule of what moves around one switch whose makespan is the larger of the
// greatest sums of bytes that a rank sends and that one receives, at the bandwidth of the links, and the
// latency, plus what rounding adds, at most a picosecond a permutation; with its cut,
// and how many permutations it has. It returns nil where p is no such problem, its cut is not free, or it
// is stopped.
//
// The matrix of bytes is filled up until all rows and columns have one sum. Then it has a
// permutation of positive entries, by Hall's theorem, and so has what is left when it is
// subtracted as often as its least entry allows: at each step an entry becomes zero. Of all permutations one is
// taken whose least entry is largest, so that there are few.
func birkhoff(p *model.Problem, stop func() bool) (*model.Problem, *model.Schedule, int) {
	up, down, bandwidth := star(p)
	if up == nil || !p.Collective.Cuttable() {
		return nil, nil, 0
	}
	whole := p.WithChunks(p.Shards())
	list, err := network.Pairs(whole)
	if err != nil {
		return nil, nil, 0
	}
	n := p.Topology.Ranks
	real, full := square(n), square(n)
	for k, d := range list {
		if d.Src != d.Dst {
			real[d.Src][d.Dst] += whole.Chunks[k].Size
			full[d.Src][d.Dst] += whole.Chunks[k].Size
		}
	}
	rows, columns := make([]int64, n), make([]int64, n)
	for i := range n {
		for j := range n {
			rows[i] += full[i][j]
			columns[j] += full[i][j]
		}
	}
	top := max(slices.Max(rows), slices.Max(columns))
	for i, j := 0, 0; i < n && j < n; {
		more := min(top-rows[i], top-columns[j])
		full[i][j] += more
		rows[i] += more
		columns[j] += more
		if rows[i] == top {
			i++
		} else {
			j++
		}
	}
	type slot struct {
		to    []int32 // by rank, -1 for nowhere
		bytes []int64 // by rank
		most  int64
	}
	var slots []slot
	for left := top; left > 0; {
		if stop() {
			return nil, nil, 0
		}
		to, least := widest(full)
		s := slot{to: make([]int32, n), bytes: make([]int64, n)}
		for i, j := range to {
			full[i][j] -= least
			s.to[i], s.bytes[i] = -1, min(least, real[i][j])
			if s.bytes[i] > 0 {
				s.to[i] = int32(j)
				real[i][j] -= s.bytes[i]
				s.most = max(s.most, s.bytes[i])
			}
		}
		left -= least
		slots = append(slots, s)
		if len(slots)*n > maxPieces {
			return nil, nil, 0
		}
	}
	// Pieces of a pair are taken from its shards in their order.
	type at = network.Pair
	shards := map[at][]int{}
	for k, d := range list {
		shards[d] = append(shards[d], k)
	}
	type piece struct {
		model.Chunk
		slot int // -1: stays
		network.Pair
	}
	var pieces []piece
	taken := make([]int64, len(list))
	for i, s := range slots {
		for r, j := range s.to {
			if j < 0 {
				continue
			}
			pair := at{Src: int32(r), Dst: j}
			for left := s.bytes[r]; left > 0; {
				k := shards[pair][0]
				c := whole.Chunks[k]
				size := min(left, c.Size-taken[k])
				pieces = append(pieces, piece{model.Chunk{Offset: c.Offset + taken[k], Size: size}, i, pair})
				if taken[k] += size; taken[k] == c.Size {
					shards[pair] = shards[pair][1:]
				}
				left -= size
			}
		}
	}
	for k, d := range list {
		if d.Src == d.Dst {
			pieces = append(pieces, piece{whole.Chunks[k], -1, d})
		}
	}
	slices.SortFunc(pieces, func(a, b piece) int { return int(min(max(a.Offset-b.Offset, -1), 1)) })
	q := *p
	q.Chunks = nil
	starts := make([]model.Time, len(slots)+1)
	s := &model.Schedule{Form: model.FormFor(p.Cost)}
	route := map[at]int32{}
	bySlot := make([][]model.Transfer, len(slots))
	for k, x := range pieces {
		q.Chunks = append(q.Chunks, x.Chunk)
		if x.slot < 0 {
			continue
		}
		pair := x.Pair
		id, known := route[pair]
		if !known {
			id = int32(len(s.Routes))
			route[pair] = id
			s.Routes = append(s.Routes, []int{up[x.Src], down[x.Dst]})
		}
		bySlot[x.slot] = append(bySlot[x.slot], model.Transfer{Chunk: int32(k), Src: x.Src, Dst: x.Dst, Route: id, Op: model.Copy})
	}
	for i, list := range bySlot {
		free := map[int32]model.Time{} // by rank: a slot may have several pieces of a pair, one after the other
		end := starts[i]
		for _, t := range list {
			size := q.Chunks[t.Chunk].Size
			t.Start = max(starts[i], free[t.Src])
			free[t.Src] = t.Start + model.TransferTime(size, bandwidth)
			t.End = t.Start + p.Topology.Duration(s.Routes[t.Route], size)
			end = max(end, free[t.Src])
			s.Transfers = append(s.Transfers, t)
		}
		starts[i+1] = end
	}
	return &q, s, len(slots)
}

func square(n int) [][]int64 {
	m := make([][]int64, n)
	for i := range m {
		m[i] = make([]int64, n)
	}
	return m
}

// star returns the links of each rank to and from the only switch, all of one bandwidth, and those of
// one direction of one latency, without ports, under pipelined; or nil.
func star(p *model.Problem) (up, down []int, bandwidth int64) {
	t := p.Topology
	if p.Cost != model.Pipelined || len(t.Switches) != 1 || len(t.Ports) > 0 || len(t.Links) != 2*t.Ranks || t.Ranks < 2 {
		return nil, nil, 0
	}
	up, down = slices.Repeat([]int{-1}, t.Ranks), slices.Repeat([]int{-1}, t.Ranks)
	for l, k := range t.Links {
		switch {
		case k.Bandwidth != t.Links[0].Bandwidth:
			return nil, nil, 0
		case t.IsRank(k.Src) && !t.IsRank(k.Dst):
			up[k.Src] = l
		case !t.IsRank(k.Src) && t.IsRank(k.Dst):
			down[k.Dst] = l
		default:
			return nil, nil, 0
		}
	}
	for r := range t.Ranks {
		if up[r] < 0 || down[r] < 0 || t.Links[up[r]].Alpha != t.Links[up[0]].Alpha || t.Links[down[r]].Alpha != t.Links[down[0]].Alpha {
			return nil, nil, 0
		}
	}
	return up, down, t.Links[0].Bandwidth
}

// widest returns a permutation of a matrix whose rows and columns have one positive sum, by row
// the column, whose least entry is as large as that of any: by bisection over the entries, with a matching
// for each (Hopcroft and Karp would be quicker; augmenting paths do for some hundred ranks).
func widest(m [][]int64) (to []int, least int64) {
	var values []int64
	for _, row := range m {
		for _, v := range row {
			if v > 0 {
				values = append(values, v)
			}
		}
	}
	slices.Sort(values)
	values = slices.Compact(values)
	low, high := 0, len(values)-1
	to = matched(m, values[0])
	for low < high {
		mid := (low + high + 1) / 2
		if t := matched(m, values[mid]); t != nil {
			to, low = t, mid
		} else {
			high = mid - 1
		}
	}
	return to, values[low]
}

// matched returns a permutation of entries of at least some size, by augmenting paths, or nil.
func matched(m [][]int64, least int64) []int {
	n := len(m)
	to, from := slices.Repeat([]int{-1}, n), slices.Repeat([]int{-1}, n)
	seen := make([]int, n)
	var augment func(i, mark int) bool
	augment = func(i, mark int) bool {
		for j, v := range m[i] {
			if v < least || seen[j] == mark {
				continue
			}
			if seen[j] = mark; from[j] < 0 || augment(from[j], mark) {
				to[i], from[j] = j, i
				return true
			}
		}
		return false
	}
	for i := range n {
		for j, v := range m[i] { // greedily at first
			if v >= least && from[j] < 0 {
				to[i], from[j] = j, i
				break
			}
		}
		if to[i] < 0 && !augment(i, i+1) {
			return nil
		}
	}
	return to
}
