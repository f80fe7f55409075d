package mscclpp

import "slices"

// Shares is an allreduce or an allgather over one switch that adds and copies: the owner of a chunk
// reads its sum at the switch, if it is an allreduce, and stores it to all ranks at once.
type Shares struct {
	Ranks  int
	Owners []int // of chunks of equal size; of an allgather in the order of its output
}

// FromShares returns a plan of v2 in which ranks do that by multimem: a glres (load, reduce, store) for
// an allreduce, a gstore for an allgather. An error is a *NotServedError.
//
// Each threadblock carries out a piece of its rank's share. A rank's memory may be used between
// its start and its end alone, so all ranks signal to all before, which need not order memory, and
// after. Where a rank has more peers than a threadblock has channels, each threadblock signals to some of
// the peers, and barriers put them together. Which chunks are whose does not matter to an
// allreduce, so those of a rank lie side by side.
func FromShares(s Shares, h Header) (*Written, error) {
	if h.Collective != "allreduce" && h.Collective != "allgather" {
		return nil, refuse("switches add and copy for an allreduce or an allgather; no operation that a release reads makes a sum at a switch and leaves it at one rank, as %s needs it (glre is written by the plan language alone)", h.Collective)
	}
	if h.LL {
		return nil, refuse("switches neither add packets nor copy them (gstorepkt stores them as plain data); want the protocol Simple")
	}
	if s.Ranks < 2 || len(s.Owners) < s.Ranks {
		return nil, refuse("%d ranks and %d chunks, want two ranks at least, and a chunk for each", s.Ranks, len(s.Owners))
	}
	peers := s.Ranks - 1
	parties := (peers + maxRefsTB - 1) / maxRefsTB // threadblocks that together signal to all
	if parties > maxBlocks {
		return nil, refuse("a rank has %d peers, and %d threadblocks of %d channels each reach fewer", peers, maxBlocks, maxRefsTB)
	}
	counts, blocks, err := s.counts(h, parties)
	if err != nil {
		return nil, err
	}
	total := 0
	for _, n := range counts {
		total += n
	}
	if total > maxChunks {
		return nil, refuse("%d chunks, at most %d", total, maxChunks)
	}
	w := &Written{h: h}
	src, dst := byte('i'), byte('i')
	if !h.InPlace {
		dst = 'o'
	}
	if h.Collective == "allgather" {
		src, dst = 'o', 'o'
		if !h.InPlace {
			src = 'i'
		}
	}
	var group []int
	for r := range s.Ranks {
		group = append(group, r)
	}
	start := 0
	for r := range s.Ranks {
		g := &gpuJSON{ID: r, Input: total, Output: total, Blocks: []*blockJSON{}, Channels: []channelJSON{}, Remote: []remoteJSON{}, Semaphores: []struct{}{}}
		if h.Collective == "allgather" {
			g.Input = counts[r]
		}
		var list []int // of the channels
		for b := range blocks {
			low, high := counts[r]*b/blocks, counts[r]*(b+1)/blocks
			mine := group[:0:0]
			for _, q := range group {
				if q != r && (parties == 1 || (q-r+s.Ranks)%s.Ranks%parties == b) {
					mine = append(mine, q)
				}
			}
			if len(mine) > maxRefsTB {
				return nil, refuse("a threadblock of rank %d has %d channels, at most %d", r, len(mine), maxRefsTB)
			}
			x := multimem{j: &blockJSON{ID: b, Ops: []opJSON{}, Remote: []remoteIDJSON{}}, peers: len(mine), blocks: blocks, meet: parties > 1}
			ids := idsJSON{Type: Memory.String()}
			for range mine {
				ids.IDs = append(ids.IDs, len(list)+len(ids.IDs))
			}
			list = append(list, mine...)
			of := idsJSON{Type: Switch.String(), IDs: []int{0}}
			if h.Collective == "allreduce" && src != dst {
				of.IDs = append(of.IDs, 1)
			}
			x.j.Channels = []idsJSON{of}
			if len(mine) > 0 {
				x.j.Channels = []idsJSON{ids, of}
			}
			x.sync("rlxsignal")
			x.sync("rlxwait")
			x.join()
			if high > low {
				at, size, first, last := start+low, high-low, 0, len(of.IDs)-1
				o := opJSON{Name: "glres", Type: Switch.String(), Reduce: "sum", Src: []refJSON{{Switch: &first, Index: at, Size: size}}}
				if h.Collective == "allgather" {
					from := at
					if src == 'i' {
						from = low
					}
					o = opJSON{Name: "gstore", Type: Switch.String(), Src: []refJSON{near(spot{src, from}, size)}}
				}
				o.Dst = []refJSON{{Switch: &last, Index: at, Size: size}}
				x.j.Ops = append(x.j.Ops, o)
			}
			x.join()
			x.sync("signal")
			x.sync("wait")
			g.Blocks = append(g.Blocks, x.j)
		}
		if len(list) > maxChannelID {
			return nil, refuse("rank %d has %d channels, at most %d", r, len(list), maxChannelID)
		}
		if len(list) > 0 {
			g.Channels = append(g.Channels, channelJSON{Type: Memory.String(), Peers: list})
		}
		for k, buffer := range []byte{src, dst} {
			if k == 0 && (h.Collective == "allgather" || src == dst) {
				continue
			}
			g.Channels = append(g.Channels, channelJSON{Type: Switch.String(), Buffer: string(buffer), Groups: []groupJSON{{Size: total, Ranks: group}}})
		}
		start += counts[r]
		w.gpus = append(w.gpus, g)
	}
	return w, nil
}

// counts returns how many chunks each rank has in the plan, and how many threadblocks share them:
// as few chunks as do.
func (s Shares) counts(h Header, parties int) (counts []int, blocks int, err error) {
	counts = make([]int, s.Ranks)
	for _, r := range s.Owners {
		counts[r]++
	}
	if h.Collective == "allgather" {
		for c, r := range s.Owners {
			if r != c/(len(s.Owners)/s.Ranks) {
				return nil, 0, refuse("rank %d stores a chunk of another rank to all, want each to store its own", r)
			}
		}
	}
	if blocks = parties; blocks == 1 {
		blocks = min(maxShares, slices.Max(counts))
	}
	even := !slices.ContainsFunc(counts, func(n int) bool { return n != counts[0] })
	for r := range counts {
		if even {
			counts[r] = blocks // one for each threadblock
		} else {
			counts[r] *= blocks // as many for each
		}
	}
	return counts, blocks, nil
}

// maxShares is how many threadblocks of a rank read sums at most.
const maxShares = 16

// multimem writes a threadblock.
type multimem struct {
	j             *blockJSON
	peers, blocks int
	meet          bool // signals of several threadblocks reach all peers together
}

// join orders what is before and after, in all threadblocks that signal to peers.
func (x *multimem) join() {
	if x.meet {
		x.j.Ops = append(x.j.Ops, opJSON{Name: "barrier", Barrier: new(int), Blocks: x.blocks})
		return
	}
	x.j.Ops = append(x.j.Ops, opJSON{Name: "nop"})
}

// sync signals to the peers, or waits for them.
func (x *multimem) sync(name string) {
	for k := 0; k < x.peers; k += maxIDs {
		o := opJSON{Name: name, Type: Memory.String()}
		for p := k; p < min(k+maxIDs, x.peers); p++ {
			o.Channels = append(o.Channels, p)
		}
		x.j.Ops = append(x.j.Ops, o)
	}
}
