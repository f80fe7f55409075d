package solve

import (
	"context"
	"slices"

	"github.com/oraccl/oraccl/model"
)

// Mirror is Reverse for methods whose choices depend on the order of links. Where each link of p has a partner that leads
// back, as fast and with the same latency, each link of q is in the place of its partner, so that q has the links of p:
// a reduce takes the very search that a broadcast takes. Then back has the partner of each link, else it is nil.
// It takes O(links) time.
func Mirror(p *model.Problem) (q *model.Problem, back []int, ok bool) {
	if q, ok = Reverse(p); !ok {
		return nil, nil, false
	}
	if back = partners(p.Topology); back == nil {
		return q, nil, true
	}
	t := q.Topology
	reversed := slices.Clone(t.Links)
	for i, l := range back {
		t.Links[i] = reversed[l]
	}
	t.Ports = slices.Clone(t.Ports)
	for i, port := range t.Ports {
		t.Ports[i].Links = renumbered(port.Links, back)
		slices.Sort(t.Ports[i].Links)
	}
	return q, back, true
}

// partners returns for each link of t one that leads back, each for one, with the same latency and bandwidth. It returns nil
// where some links have none.
func partners(t *model.Topology) []int {
	links := map[model.Link][]int{}
	for i, l := range t.Links {
		links[l] = append(links[l], i)
	}
	back := make([]int, len(t.Links))
	for k, list := range links {
		other := k
		other.Src, other.Dst = k.Dst, k.Src
		if len(links[other]) != len(list) {
			return nil
		}
		for n, i := range list {
			back[i] = links[other][n]
		}
	}
	return back
}

// renumbered returns the partners of links.
func renumbered(links, back []int) []int {
	list := make([]int, len(links))
	for i, l := range links {
		list[i] = back[l]
	}
	return list
}

// Unmirrored reads a result of q, where q, back, _ = Mirror(p), backwards as one of p. It changes nothing of r.
func Unmirrored(p *model.Problem, back []int, r Result) Result {
	turned := *p
	turned.Chunks = r.Problem.Chunks
	r.Problem = &turned
	if r.Schedule != nil {
		r.Schedule = ReverseSchedule(&turned, r.Schedule)
		if back != nil {
			for i, route := range r.Schedule.Routes {
				r.Schedule.Routes[i] = renumbered(route, back)
			}
		}
	}
	if r.Coarser != nil {
		coarser := Unmirrored(p, back, *r.Coarser)
		r.Coarser = &coarser
	}
	if more := r.More; more != nil {
		r.More = func(ctx context.Context, o Options) (Result, error) {
			r, err := more(ctx, o)
			if err != nil {
				return r, err
			}
			return Unmirrored(p, back, r), nil
		}
	}
	return r
}
