package sccl

import (
	"fmt"

	"github.com/oraccl/oraccl/model"
)

// Nominal links of a topology that has only bandwidths as small numbers.
const (
	nominalAlpha     = 500 * model.Nanosecond
	nominalBandwidth = 50 << 30
)

// Topology returns the links that the file states, as many parallel ones from a node to
// another as sends may pass in a round, each of 500 ns and 50 GiB/s for want of better.
// What its switches add to that, Import looks after.
func (f *File) Topology() (*model.Topology, error) {
	t := &model.Topology{Name: f.Network, Ranks: len(f.Links)}
	for dst, row := range f.Links {
		for src, b := range row {
			if len(t.Links)+b > model.MaxLinks/16 {
				return nil, fmt.Errorf("topology: more than %d links", model.MaxLinks/16)
			}
			for range b {
				t.Links = append(t.Links, model.Link{Src: src, Dst: dst, Alpha: nominalAlpha, Bandwidth: nominalBandwidth})
			}
		}
	}
	if err := t.Validate(); err != nil {
		return nil, fmt.Errorf("topology: %w", err)
	}
	return t, nil
}

// router finds the ways from a rank to a rank that pass no other rank.
type router struct {
	t      *model.Topology
	out    [][]int
	direct map[[2]int][]int
	by     map[[2]int][]int // routes over switches, one each
}

func newRouter(t *model.Topology) *router {
	r := &router{t: t, out: t.Out(), direct: map[[2]int][]int{}, by: map[[2]int][]int{}}
	for i, l := range t.Links {
		r.direct[[2]int{l.Src, l.Dst}] = append(r.direct[[2]int{l.Src, l.Dst}], i)
	}
	return r
}

// routes returns the parallel links from src to dst, each a route of its own, or else one
// shortest route over switches, or nil.
func (r *router) routes(src, dst int) [][]int {
	pair := [2]int{src, dst}
	var list [][]int
	for _, l := range r.direct[pair] {
		list = append(list, []int{l})
	}
	if list != nil {
		return list
	}
	route, known := r.by[pair]
	if !known {
		route = r.search(src, dst)
		r.by[pair] = route
	}
	if route == nil {
		return nil
	}
	return [][]int{route}
}

func (r *router) search(src, dst int) []int {
	came := map[int]int{} // node to the link by which it was reached
	for queue := []int{src}; len(queue) > 0; queue = queue[1:] {
		for _, l := range r.out[queue[0]] {
			v := r.t.Links[l].Dst
			if _, seen := came[v]; seen || v == src {
				continue
			}
			came[v] = l
			if v == dst {
				var route []int
				for ; v != src; v = r.t.Links[came[v]].Src {
					route = append([]int{came[v]}, route...)
				}
				return route
			}
			if !r.t.IsRank(v) {
				queue = append(queue, v)
			}
		}
	}
	return nil
}
