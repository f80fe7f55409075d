package broadcast

import (
	"cmp"
	"slices"

	"github.com/oraccl/oraccl/model"
)

// machines is ranks in groups of equally many, such as the GPUs of hosts. Each rank has a link to one switch of all and one from
// it, and faster ones to a switch of its group and from there, if the group has two ranks or more. The i-th ranks of all groups
// are a rail.
//
// A broadcast sends most chunks over hubs: the root hands a chunk to a rank of its group, its home. That sends it to the rank
// of its rail in another group, the hub of the chunk, and this one to all others of the rail. What comes to a rank from far it
// hands on in its group. Groups have a chunk in turn, so that all ranks send and receive at all times (see hubs).
//
// Near the end there is no time for two far hops: home sends stars, which are chunks that go from there to all of a rail. What
// has time for two, but not for one in a group after them, is small chunks that each rank sends to every other rank by itself.
type machines struct {
	p       *model.Problem
	groups  [][]int // that of the root first, and the root first in it
	out, in [][]int // by rank: links, the slowest first
	far     course
	near    course
}

// course is what a chunk takes over a switch.
type course struct {
	latency   model.Time
	bandwidth int64
}

func (c course) lasts(bytes int64) model.Time { return model.TransferTime(bytes, c.bandwidth) }

// newMachines returns the machines of a broadcast to all ranks, nil if there are none. Groups have one rank, or an even number:
// then what home has is handed round without a rest (see parcels.home).
func newMachines(p *model.Problem) *machines {
	t, c := p.Topology, newClusters(p)
	if c == nil || p.Cost != model.Pipelined || p.Late() || len(t.Ports) > 0 || len(c.groups) < 3 {
		return nil
	}
	m := &machines{p: p, groups: c.groups, out: c.out, in: t.In()}
	size := len(c.groups[0])
	kinds := 2
	if size == 1 {
		kinds = 1
	}
	if size%2 == 1 && size > 1 || len(t.Links) != 2*kinds*t.Ranks {
		return nil
	}
	for _, ranks := range m.groups {
		for _, v := range ranks {
			if len(m.out[v]) != kinds || len(m.in[v]) != kinds {
				return nil
			}
			for _, links := range [][]int{m.out[v], m.in[v]} {
				slices.SortFunc(links, func(a, b int) int { return cmp.Compare(t.Links[a].Bandwidth, t.Links[b].Bandwidth) })
			}
			for k := range kinds {
				first := m.groups[0][0] // whose links others are like
				if k == 1 {
					first = ranks[0]
				}
				if out := t.Links[m.out[first][k]]; t.IsRank(out.Dst) || t.Links[m.out[v][k]].Dst != out.Dst || t.Links[m.in[v][k]].Src != out.Dst {
					return nil
				}
			}
			if !m.like(v, kinds) {
				return nil
			}
		}
	}
	root := m.groups[0][0]
	m.far = m.course(root, 0)
	if m.near = m.course(root, kinds-1); size > 1 && m.near.bandwidth/int64(size) < m.far.bandwidth {
		return nil
	}
	return m
}

// like reports whether links of a rank are as long and as wide as those of the root.
func (m *machines) like(v, kinds int) bool {
	links, root := m.p.Topology.Links, m.groups[0][0]
	same := func(a, b int) bool {
		return links[a].Alpha == links[b].Alpha && links[a].Bandwidth == links[b].Bandwidth
	}
	for k := range kinds {
		if !same(m.out[v][k], m.out[root][k]) || !same(m.in[v][k], m.in[root][k]) {
			return false
		}
	}
	return true
}

// course returns what a chunk takes over links of a kind.
func (m *machines) course(v, kind int) course {
	out, in := m.p.Topology.Links[m.out[v][kind]], m.p.Topology.Links[m.in[v][kind]]
	return course{out.Alpha + in.Alpha, min(out.Bandwidth, in.Bandwidth)}
}
