// Package arborescence packs trees into the links of a network: from each root as many as a share of the fluid limit
// asks for, each over all ranks that are to be reached. Links are scaled to hold whole trees, switches are removed by
// splitting off (Mader, 1978), and trees are packed by Edmonds' theorem ("Edge-disjoint branchings", 1973), as in
// ForestColl (Zhao et al., arXiv:2402.06787).
package arborescence

import (
	"context"
	"slices"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve/maxflow"
)

// arc is a way from one node to another, with room for this many trees.
type Arc struct {
	From, To int
	Room     int64
	Route    []int // links
	Stream   int   // of a tree: above 0, those with one number are one multicast, or one sum
}

// network is what trees are packed into: source i is the root of trees times weights[i] trees, and
// each of them is to reach all sinks.
type Network struct {
	Topology *model.Topology
	Arcs     []Arc
	sources  []int
	weights  []int64
	Sinks    []int
	Trees    int64
	flows    maxflow.Network // scratch
}

// all returns how many trees there are to be.
func (w *Network) all() (n int64) {
	for _, weight := range w.weights {
		n += w.Trees * weight
	}
	return n
}

// missing returns by how many trees the worst sink falls short of all: by the theorem of
// Edmonds the trees exist if it is none.
func (w *Network) missing() int64 {
	n := w.Topology.Nodes()
	g := maxflow.New(n + 1)
	for _, a := range w.Arcs {
		if a.Room > 0 {
			g.Add(a.From, a.To, a.Room)
		}
	}
	for i, s := range w.sources {
		g.Add(n, s, w.Trees*w.weights[i])
	}
	all, worst := w.all(), int64(0)
	for _, v := range w.Sinks {
		g.Reset()
		worst = max(worst, all-g.MaxFlow(n, v))
	}
	return worst
}

// splitOff removes a node that is no sink: each unit of room into it is joined to one out
// of it, such that no sink falls short (Mader, "A reduction method for edge-connectivity in
// graphs", 1978; for directed graphs Bang-Jensen, Frank and Jackson, "Preserving and
// increasing local edge-connectivity in mixed graphs", 1995). Where as much enters each
// node as leaves it that is always possible.
//
// First each way in gets an equal part of each way out, so that ranks around a switch
// become neighbours of one another and trees stay flat; then what is left is joined as it
// comes, ways that go straight on first. It ends early with the error of ctx.
func (w *Network) splitOff(ctx context.Context, v int) error {
	var in, out []int
	entering := int64(0)
	for i, a := range w.Arcs {
		switch {
		case a.Room == 0:
		case a.To == v:
			in = append(in, i)
			entering += a.Room
		case a.From == v:
			out = append(out, i)
		}
	}
	back := map[int]int64{} // by node: what enters from there, which does not go back
	for _, i := range in {
		back[w.Arcs[i].From] += w.Arcs[i].Room
	}
	type share struct {
		in, out int
		room    int64
	}
	var shares []share
	for _, o := range out {
		others := entering - back[w.Arcs[o].To]
		for _, i := range in {
			if w.Arcs[i].From != w.Arcs[o].To && others > 0 {
				part := float64(w.Arcs[i].Room) * float64(w.Arcs[o].Room) / float64(others)
				shares = append(shares, share{i, o, int64(part)})
			}
		}
	}
	before := slices.Clone(w.Arcs)
	for _, s := range shares {
		w.splice(s.in, s.out, s.room)
	}
	if w.missing() > 0 { // then one by one
		w.Arcs = before
		for _, s := range shares {
			if err := ctx.Err(); err != nil {
				return err
			}
			w.join(s.in, s.out, s.room)
		}
	}
	for _, straight := range []bool{true, false} {
		for _, o := range out {
			if err := ctx.Err(); err != nil {
				return err
			}
			for _, i := range in {
				if straight == w.straight(i, o) {
					w.join(i, o, min(w.Arcs[i].Room, w.Arcs[o].Room))
				}
			}
		}
	}
	w.Arcs = slices.DeleteFunc(w.Arcs, func(a Arc) bool { return a.From == v || a.To == v || a.Room == 0 })
	return nil
}

// straight reports whether the way over arcs i and o visits no node twice.
func (w *Network) straight(i, o int) bool {
	seen := map[int]bool{w.Arcs[i].From: true}
	for _, l := range w.Arcs[i].Route {
		seen[w.Topology.Links[l].Dst] = true
	}
	for _, l := range w.Arcs[o].Route {
		if seen[w.Topology.Links[l].Dst] {
			return false
		}
	}
	return true
}

// join makes of room of arc i and of arc o one arc, or of as much as no sink needs
// otherwise: each cut that loses by it loses one for one, so that what is missing then is
// what was too much.
func (w *Network) join(i, o int, room int64) {
	room = min(room, w.Arcs[i].Room, w.Arcs[o].Room)
	if room <= 0 {
		return
	}
	before := slices.Clone(w.Arcs)
	w.splice(i, o, room)
	if short := w.missing(); short > 0 {
		w.Arcs = before
		w.splice(i, o, room-short)
	}
}

// splice makes of room of arc i and of arc o one arc. A loop is of no use, and left out: it
// was only in the way of others.
func (w *Network) splice(i, o int, room int64) {
	room = min(room, w.Arcs[i].Room, w.Arcs[o].Room)
	if room <= 0 {
		return
	}
	from, to := w.Arcs[i].From, w.Arcs[o].To
	w.Arcs[i].Room -= room
	w.Arcs[o].Room -= room
	if from != to {
		w.Arcs = append(w.Arcs, Arc{From: from, To: to, Room: room, Route: w.shortcut(slices.Concat(w.Arcs[i].Route, w.Arcs[o].Route))})
		w.merge()
	}
}

// merge adds the last arc to one over the same links, if there is one.
func (w *Network) merge() {
	end := len(w.Arcs) - 1
	last := w.Arcs[end]
	for i := range w.Arcs[:end] {
		if a := &w.Arcs[i]; a.From == last.From && a.To == last.To && slices.Equal(a.Route, last.Route) {
			a.Room += last.Room
			w.Arcs = w.Arcs[:end]
			return
		}
	}
}

// shortcut leaves out the detours of a route that comes to a node twice.
func (w *Network) shortcut(route []int) []int {
	last := map[int]int{} // by node: the last link that leaves it
	for i, l := range route {
		last[w.Topology.Links[l].Src] = i
	}
	var short []int
	for i := 0; i < len(route); i++ {
		i = last[w.Topology.Links[route[i]].Src]
		short = append(short, route[i])
	}
	return short
}
