package tacos

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/solve/hop"
	"github.com/oraccl/oraccl/solve/improve"
	"github.com/oraccl/oraccl/solve/place"
)

// Switches can be unwound, as the paper does (section on switches): each rank gets links of
// its own to the next d ranks that it reaches over switches, in the order of their numbers and
// from the last on to the first, those last to which it has a direct link too, each with a d-th of the bandwidth and the latency of
// the way. The schedule is synthesised on that network, which has no switches.
//
// A transfer at a d-th of the rate is nothing that the problem knows: a transfer keeps all
// links on its way busy at the rate of the slowest. So of the schedule only the ways and the
// order remain: its transfers go over the switches at full rate, one after the other where
// they share a link, each as early as its data, links and ports allow. Transfers over d shares
// of a link take as long one after the other as they would side by side, but who waits for
// the last of them waits longer than for the first, so that the whole may take longer than it
// was planned to. The schedule is one of the problem itself, to be verified as any other.
//
// Departs from the paper where switches are linked to switches: it unwinds each on its own,
// here all that lie between ranks count as one; what they share inside shows when the
// transfers are timed.

// unwound is a network without switches, each link with the routes that it stands for.
type unwound struct {
	topology *model.Topology
	routes   [][][]int
	turn     []int // of each link: the how manyth it is of its rank, over switches
}

// anyDegree stands for the degree at which each rank has a link to each other that it reaches
// over switches.
const anyDegree = model.MaxNodes

// unwind returns the network of degree d, at least 1. It takes O(hops) time.
func unwind(t *model.Topology, d int) (*unwound, error) {
	u := &unwound{topology: &model.Topology{Name: fmt.Sprintf("%s unwound with degree %d", t.Name, d), Ranks: t.Ranks}}
	number := make([]int, len(t.Links)) // of direct links
	for l := range number {
		number[l] = -1
	}
	add := func(link model.Link, turn int, routes [][]int) {
		u.turn = append(u.turn, turn)
		u.topology.Links = append(u.topology.Links, link)
		u.routes = append(u.routes, routes)
	}
	over := make([][]hop.Hop, t.Ranks) // hops over switches
	beside := map[[2]int]int{}         // 1 for ranks with a direct link, which need no other one first
	for _, h := range hop.All(t) {
		if len(h.Routes[0]) > 1 {
			over[h.Src] = append(over[h.Src], h)
			continue
		}
		beside[[2]int{h.Src, h.Dst}] = 1
		for _, route := range h.Routes {
			number[route[0]] = len(u.topology.Links)
			add(t.Links[route[0]], 0, [][]int{route})
		}
	}
	most := 0
	for r, hops := range over {
		away := func(h hop.Hop) int { return (h.Dst - r + t.Ranks) % t.Ranks }
		slices.SortStableFunc(hops, func(a, b hop.Hop) int {
			return cmp.Or(cmp.Compare(beside[[2]int{r, a.Dst}], beside[[2]int{r, b.Dst}]), cmp.Compare(away(a), away(b)))
		})
		reached, dsts := 0, map[int]bool{}
		for _, h := range hops {
			dsts[h.Dst] = true
		}
		for i := 0; i < len(hops); {
			link := model.Link{Src: r, Dst: hops[i].Dst}
			var routes [][]int
			for ; i < len(hops) && hops[i].Dst == link.Dst; i++ {
				routes = append(routes, hops[i].Routes...)
			}
			if reached++; reached > d {
				continue
			}
			link.Alpha, link.Bandwidth = figures(t, routes[0])
			link.Bandwidth = max(1, link.Bandwidth/int64(min(d, len(dsts))))
			add(link, reached, routes)
		}
		most = max(most, reached)
	}
	switch {
	case most == 0:
		return nil, solve.NotServed("no switch lies between ranks of %s: there is nothing to unwind", t.Name)
	case d > most:
		if d != anyDegree {
			return nil, solve.NotServed("unwound with degree %d: no rank of %s reaches more than %d over switches", d, t.Name, most)
		}
	}
	for _, p := range t.Ports {
		var direct []int
		for _, l := range p.Links {
			if number[l] >= 0 {
				direct = append(direct, number[l])
			}
		}
		if p.Links = direct; len(direct) > 0 {
			u.topology.Ports = append(u.topology.Ports, p)
		}
	}
	return u, nil
}

// figures returns the latency and the bandwidth of a route over switches.
func figures(t *model.Topology, route []int) (alpha model.Time, bandwidth int64) {
	bandwidth = t.Links[route[0]].Bandwidth
	for _, l := range route {
		alpha, bandwidth = alpha.Add(t.Links[l].Alpha), min(bandwidth, t.Links[l].Bandwidth)
	}
	return alpha, bandwidth
}

// rewind makes a schedule of p of one of p on the unwound network. Of transfers that start
// together, those go first that go to the next rank, then those to the one after, so that
// all ranks send and receive at any time. Of several routes the transfers over a link take
// each in turn.
func (u *unwound) rewind(p *model.Problem, s *model.Schedule) (*model.Schedule, error) {
	real := &model.Schedule{Form: s.Form, Transfers: slices.Clone(s.Transfers)}
	first := make([]int, len(u.routes))
	for l, routes := range u.routes {
		first[l] = len(real.Routes)
		real.Routes = append(real.Routes, routes...)
	}
	next := make([]int, len(u.routes))
	for l := range next {
		next[l] = u.topology.Links[l].Src
	}
	slices.SortStableFunc(real.Transfers, func(a, b model.Transfer) int {
		return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(u.turn[s.Routes[a.Route][0]], u.turn[s.Routes[b.Route][0]]), cmp.Compare(a.Route, b.Route))
	})
	for i := range real.Transfers {
		t := &real.Transfers[i]
		l := s.Routes[t.Route][0] // no transfer of a greedy schedule passes a rank
		t.Route = int32(first[l] + next[l]%len(u.routes[l]))
		next[l]++
	}
	program := place.NewProgram(p)
	program.Append(real)
	return program.PlaceInOrder()
}

// maxShifts limits the ranks of networks for whose switches shifts plans.
const maxShifts = 128

// shifts returns a schedule of p that is planned on the network unwound with a link from each
// rank to each other, or nil where it makes none. What all ranks send to the next one, then
// to the one after, and so on, makes no two meet at a switch's port, which a schedule that
// decides rank by rank comes near to, but often does not reach.
func (s solver) shifts(ctx context.Context, p *model.Problem, o solve.Options) *model.Schedule {
	if p.Topology.Ranks > maxShifts || len(p.Topology.Switches) == 0 {
		return nil
	}
	u, err := unwind(p.Topology, anyDegree)
	if err != nil {
		return nil
	}
	o.Unwind, o.Effort, o.Bound, o.Progress, o.Tries = 0, -1, 0, nil, chains
	q := *p
	q.Topology = u.topology
	r, err := s.Solve(ctx, &q, o)
	if err != nil || r.Schedule == nil || r.Stop != solve.Done {
		return nil
	}
	real, err := u.rewind(p, r.Schedule)
	if err != nil {
		return nil // an exchange over one link, say
	}
	return real
}

// solveUnwound synthesises on the network unwound with degree o.Unwind, and repairs what
// comes of that on the network as it is.
func (s solver) solveUnwound(p *model.Problem, o solve.Options, budget *solve.Budget) (solve.Result, error) {
	u, err := unwind(p.Topology, o.Unwind)
	if err != nil {
		return solve.Result{}, err
	}
	inner := o
	inner.Unwind, inner.Effort, inner.Bound, inner.Progress = 0, -1, 0, nil
	q := *p
	q.Topology = u.topology
	r, err := s.Solve(budget.Context(), &q, inner)
	if r.Problem != nil { // with the cut that is chosen
		real := *p
		real.Chunks = r.Problem.Chunks
		p, r.Problem = &real, &real
	}
	if errors.Is(err, solve.ErrNotServed) {
		why, _ := strings.CutSuffix(err.Error(), " ("+solve.ErrNotServed.Error()+")")
		return r, solve.NotServed("%s; a larger degree may do", why)
	}
	if err != nil || r.Schedule == nil {
		return r, err
	}
	if r.Schedule, err = u.rewind(p, r.Schedule); err != nil {
		return r, err
	}
	note := fmt.Sprintf("switches unwound with degree %d", o.Unwind)
	if r.Note != "" {
		note += ", " + r.Note
	}
	r.Note = note
	if r.Stop != solve.Done || o.Effort < 0 {
		return r, nil
	}
	syn, err := newSynthesis(p, budget.Spent)
	if err != nil {
		return r, err
	}
	if syn == nil {
		r.Stop = budget.Stop()
		return r, nil
	}
	b := &best{p: p, progress: o.Progress, floor: max(o.Bound, syn.floor)}
	b.offer(0, r.Schedule)
	if improve.Reroutes(p) && len(r.Schedule.Transfers) <= improve.MaxRerouted && b.makespan > b.floor {
		r.Note += b.repair(syn, 1, improve.Options{Seed: o.Seed, Effort: o.Effort, Threads: budget.Threads(), Stop: budget.Spent})
		r.Schedule = b.schedule
		if b.makespan > b.floor && budget.Spent() {
			r.Stop = budget.Stop()
		}
	}
	return r, nil
}
