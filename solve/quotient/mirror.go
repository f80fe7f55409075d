package quotient

import (
	"context"
	"slices"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve"
)

// mirror returns for each link of t the one that leads back, with the same latency and bandwidth, so that each port
// becomes one of equal capacity: then t and its reverse are one network. It returns nil where there is no such
// pairing, or none that takes parallel links in their order. It takes O(links·log links).
func mirror(t *model.Topology) []int {
	type ends struct {
		src, dst  int
		alpha     model.Time
		bandwidth int64
	}
	links := map[ends][]int{}
	for i, l := range t.Links {
		k := ends{l.Src, l.Dst, l.Alpha, l.Bandwidth}
		links[k] = append(links[k], i)
	}
	back := make([]int, len(t.Links))
	for k, list := range links {
		other := links[ends{k.dst, k.src, k.alpha, k.bandwidth}]
		if len(other) != len(list) {
			return nil
		}
		for n, i := range list {
			back[i] = other[n]
		}
	}
	ports := make([][]int, len(t.Links)) // by link
	for i := range t.Ports {
		for _, l := range t.Ports[i].Links {
			ports[l] = append(ports[l], i)
		}
	}
	for i := range t.Ports {
		x := &t.Ports[i]
		turned := make([]int, len(x.Links))
		for n, l := range x.Links {
			turned[n] = back[l]
		}
		same := func(k int) bool {
			y := &t.Ports[k]
			return y.Capacity == x.Capacity && len(y.Links) == len(x.Links) && !slices.ContainsFunc(turned, func(l int) bool { return !slices.Contains(y.Links, l) })
		}
		if len(turned) > 0 && !slices.ContainsFunc(ports[turned[0]], same) {
			return nil
		}
	}
	return back
}

// spreading returns the allgather or broadcast on the network of p whose schedules, read backwards over the links back,
// are schedules of p, a reduce-scatter or reduce; nil for other problems, and where the network is not that of its reverse.
func spreading(p *model.Problem) (q *model.Problem, back []int) {
	if kind := p.Collective.Kind; kind != model.ReduceScatter && kind != model.Reduce {
		return nil, nil
	}
	q, ok := solve.Reverse(p)
	if !ok {
		return nil, nil
	}
	if back = mirror(p.Topology); back == nil {
		return nil, nil
	}
	q.Topology = p.Topology
	return q, back
}

// backwards reads a result of what spreading returns for p as one of p.
func backwards(p *model.Problem, back []int, r solve.Result) solve.Result {
	q := *p
	q.Chunks = r.Problem.Chunks
	r.Problem = &q
	if r.Schedule != nil {
		turned := *r.Schedule
		turned.Routes = make([][]int, len(r.Schedule.Routes))
		for i, route := range r.Schedule.Routes {
			for _, l := range route {
				turned.Routes[i] = append(turned.Routes[i], back[l])
			}
		}
		r.Schedule = solve.ReverseSchedule(&q, &turned)
	}
	if more := r.More; more != nil {
		r.More = func(ctx context.Context, o solve.Options) (solve.Result, error) {
			r, err := more(ctx, o)
			return backwards(p, back, r), err
		}
	}
	return r
}
