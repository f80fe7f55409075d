package nccllog

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/pace"
	"github.com/oraccl/oraccl/model/ways"
)

// nvlsChannels is how many channels NCCL has for NVLS where a log does not say, up to 2.26 on H100.
const nvlsChannels = 16

// maxStreamed limits the transfers of a plan with sums in switches: what is beyond has larger pieces.
const maxStreamed = 1 << 15

// NVLS returns what NCCL's algorithms NVLS, on one host, and NVLSTree, on several, do for p, an
// allreduce, where ranks read sums at the switches of each host (model.SumsRead). In each host the heads
// of the log each read the sum of a part of the buffer; between hosts the heads of a part are a tree, on every
// second channel another one, along which sums go up and the result comes down; then each head writes what it
// has to all GPUs of its host.
func (l *Log) NVLS(ctx context.Context, p *model.Problem) (*Plan, error) {
	if err := l.fits(p); err != nil {
		return nil, err
	}
	switch {
	case p.Collective.Kind != model.AllReduce:
		return nil, fmt.Errorf("NVLS between heads serves allreduce, not %v", p.Collective.Kind)
	case len(l.Heads) == 0:
		return nil, errors.New("no heads (NVLS Head  0:  0  8) in the log")
	}
	n, err := l.hosts(p)
	if err != nil {
		return nil, err
	}
	channels := l.NVLSChannels
	if channels == 0 {
		channels = nvlsChannels
	}
	heads := len(l.Heads)
	if channels, err = atMost(p, channels, heads); err != nil {
		return nil, err
	}
	size := l.nvlsChunk(p.Size, int64(channels*heads))
	pieces := piecesOf(p.Size, int64(channels*heads), size)
	each := 2*(p.Topology.Ranks-len(n.hosts)) + 2*(len(n.hosts)-1) // transfers of a chunk
	for channels*heads*pieces*each > maxStreamed && pieces > 1 {
		pieces = (pieces + 1) / 2
	}
	n.problem = p.WithChunks(channels * heads * pieces)
	n.done = make([][]int32, channels*heads*pieces)
	depth := 0
	for piece := range pieces {
		for c := range channels {
			for h := range heads {
				chunk := (c*heads+h)*pieces + piece
				var before []int32
				if piece > 0 {
					before = n.done[chunk-1]
				}
				depth = max(depth, n.chunk(int32(chunk), c, l.Heads[h], before))
			}
		}
	}
	if n.missing != "" {
		return nil, errors.New(n.missing)
	}
	s, err := pace.Streams(ctx, n.problem, n.streams)
	if err != nil {
		return nil, err
	}
	across := ""
	if len(n.hosts) > 1 {
		across = fmt.Sprintf(", between %d hosts in two trees, %d deep", len(n.hosts), depth)
	}
	note := fmt.Sprintf("NCCL's %s over %d channels: %d GPUs of a host read sums at its switch and write to all%s; pieces of %s", l.NVLSName(), channels, heads, across, bytesOf(p.Size/int64(channels*heads*pieces)))
	return &Plan{Problem: n.problem, Schedule: s, Note: note + ", protocol Simple"}, nil
}

// NVLSName is the algorithm that NVLS returns the plan of: "NVLSTree" on several hosts.
func (l *Log) NVLSName() string {
	if len(l.Heads) > 0 && len(l.Heads[0]) > 1 {
		return "NVLSTree"
	}
	return "NVLS"
}

// nvlsChunk returns how many bytes NCCL passes on at a time, of a number of bytes, and of operations side by side.
func (l *Log) nvlsChunk(bytes, operations int64) int64 {
	size := int64(128 << 10)
	steps := []struct{ times, least int64 }{{64, 64 << 10}, {8, 32 << 10}, {2, 16 << 10}}
	if len(l.Heads[0]) > 1 {
		steps = []struct{ times, least int64 }{{4, 64 << 10}, {1, 32 << 10}}
	}
	for _, x := range steps {
		if bytes < x.times*operations*size && size > x.least {
			size = x.least
		}
	}
	return size
}

// nvls is the making of a plan with sums in switches.
type nvls struct {
	problem  *model.Problem
	hosts    [][]int // the ranks of each
	host     []int   // of a rank
	at       []int   // the switch of a host
	link     map[[2]int]int
	shortest *ways.Shortest
	streams  []pace.Stream
	done     [][]int32 // by chunk and host: the last stream
	missing  string
}

// hosts finds the ranks of each host, which are those at the switch of its head, and that all heads of a host are at
// one switch.
func (l *Log) hosts(p *model.Problem) (*nvls, error) {
	t := p.Topology
	x := &nvls{host: make([]int, t.Ranks), link: map[[2]int]int{}, shortest: ways.NewShortest(t)}
	for i := range x.host {
		x.host[i] = -1
	}
	adds := map[int]int{} // by rank: its switch
	for i, k := range t.Links {
		x.link[[2]int{k.Src, k.Dst}] = i
		if t.IsRank(k.Src) && t.Adds(k.Dst, &p.Collective) == model.SumsRead {
			if s := t.Switches[k.Dst-t.Ranks]; s.Sums > 0 || !s.Copies {
				return nil, fmt.Errorf("%s: switch %s adds %d sums at a time, or does not copy", t.Name, s.Name, s.Sums)
			}
			if before, is := adds[k.Src]; !is || k.Dst < before {
				adds[k.Src] = k.Dst
			}
		}
	}
	for g, r := range l.Heads[0] {
		v, ok := adds[r]
		if !ok {
			return nil, fmt.Errorf("%s: at no switch of rank %d ranks read sums: the machines named -nvls have such switches", t.Name, r)
		}
		var ranks []int
		for i := range t.Ranks {
			if at, is := adds[i]; is && at == v {
				if x.host[i] >= 0 {
					return nil, fmt.Errorf("the heads of hosts %d and %d are at one switch", x.host[i], g)
				}
				x.host[i] = g
				ranks = append(ranks, i)
			}
		}
		x.hosts, x.at = append(x.hosts, ranks), append(x.at, v)
	}
	for i, g := range x.host {
		if g < 0 {
			return nil, fmt.Errorf("rank %d is at the switch of no head", i)
		}
	}
	for h, list := range l.Heads {
		for g, r := range list {
			if len(list) != len(x.hosts) || x.host[r] != g {
				return nil, fmt.Errorf("head %d: want a rank of each of %d hosts, and rank %d is of host %d", h, len(x.hosts), r, x.host[r])
			}
		}
	}
	return x, nil
}

func (x *nvls) add(s pace.Stream) int32 {
	x.streams = append(x.streams, s)
	return int32(len(x.streams) - 1)
}

// over returns the routes between a rank of host g and all others of it, to it or from it.
func (x *nvls) over(g, rank int, to bool) (routes [][]int) {
	for _, r := range x.hosts[g] {
		switch v := x.at[g]; {
		case r == rank:
		case to:
			routes = append(routes, []int{x.link[[2]int{r, v}], x.link[[2]int{v, rank}]})
		default:
			routes = append(routes, []int{x.link[[2]int{rank, v}], x.link[[2]int{v, r}]})
		}
	}
	return routes
}

// move adds that a head sends to another one.
func (x *nvls) move(chunk int32, src, dst int, op model.Op, ended, landed []int32) int32 {
	route := x.shortest.Route(src, dst)
	if route == nil {
		x.missing = fmt.Sprintf("no link and no way over switches from rank %d to rank %d", src, dst)
	}
	return x.add(pace.Stream{Chunk: chunk, Op: op, Routes: [][]int{route}, Ended: ended, Landed: landed})
}

// chunk adds what is done with a chunk, whose heads are given, on a channel, when the stream before has ended in each
// host; nil: at once. It returns how deep its tree is.
func (x *nvls) chunk(chunk int32, channel int, heads []int, before []int32) (depth int) {
	n := len(heads)
	sums, below := make([][]int32, n), make([][]int, n) // sums: what is in the slot of a head when it sends it
	root := 0
	for g := range n {
		if len(x.hosts[g]) > 1 {
			s := pace.Stream{Chunk: chunk, Op: model.Reduction, Routes: x.over(g, heads[g], true)}
			if before != nil {
				s.Ended = []int32{before[g]}
			}
			sums[g] = []int32{x.add(s)}
		}
		if up := parent(g, n, channel%2 == 1); up >= 0 {
			below[up] = append(below[up], g)
		} else {
			root = g
		}
	}
	var climb func(g, level int)
	climb = func(g, level int) {
		depth = max(depth, level)
		read := sums[g]
		for _, child := range below[g] {
			climb(child, level+1)
			sums[g] = append(slices.Clone(sums[g]), x.move(chunk, heads[child], heads[g], model.Reduction, sums[child], read))
		}
	}
	climb(root, 0)
	done := make([]int32, n)
	x.done[chunk] = done
	var descend func(g int, has []int32)
	descend = func(g int, has []int32) {
		for _, child := range below[g] {
			descend(child, []int32{x.move(chunk, heads[g], heads[child], model.Copy, has, nil)})
		}
		if len(x.hosts[g]) > 1 {
			done[g] = x.add(pace.Stream{Chunk: chunk, Op: model.Copy, Routes: x.over(g, heads[g], false), Ended: has})
		} else {
			done[g] = has[0]
		}
	}
	descend(root, sums[root])
	return depth
}
