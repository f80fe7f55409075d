package forest

import (
	"context"
	"slices"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve/maxflow"
)

// arc is a way from one node to another, with room for this many trees.
type arc struct {
	from, to int
	room     int64
	route    []int // links
	stream   int   // of a tree: above 0, those with one number are one multicast, or one sum
}

// network is what trees are packed into: source i is the root of trees times weights[i] trees, and
// each of them is to reach all sinks.
type network struct {
	t       *model.Topology
	arcs    []arc
	sources []int
	weights []int64
	sinks   []int
	trees   int64
	flows   maxflow.Network // scratch
}

// all returns how many trees there are to be.
func (w *network) all() (n int64) {
	for _, weight := range w.weights {
		n += w.trees * weight
	}
	return n
}

// missing returns by how many trees the worst sink falls short of all: by the theorem of
// Edmonds the trees exist if it is none.
func (w *network) missing() int64 {
	n := w.t.Nodes()
	g := maxflow.New(n + 1)
	for _, a := range w.arcs {
		if a.room > 0 {
			g.Add(a.from, a.to, a.room)
		}
	}
	for i, s := range w.sources {
		g.Add(n, s, w.trees*w.weights[i])
	}
	all, worst := w.all(), int64(0)
	for _, v := range w.sinks {
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
func (w *network) splitOff(ctx context.Context, v int) error {
	var in, out []int
	entering := int64(0)
	for i, a := range w.arcs {
		switch {
		case a.room == 0:
		case a.to == v:
			in = append(in, i)
			entering += a.room
		case a.from == v:
			out = append(out, i)
		}
	}
	back := map[int]int64{} // by node: what enters from there, which does not go back
	for _, i := range in {
		back[w.arcs[i].from] += w.arcs[i].room
	}
	type share struct {
		in, out int
		room    int64
	}
	var shares []share
	for _, o := range out {
		others := entering - back[w.arcs[o].to]
		for _, i := range in {
			if w.arcs[i].from != w.arcs[o].to && others > 0 {
				part := float64(w.arcs[i].room) * float64(w.arcs[o].room) / float64(others)
				shares = append(shares, share{i, o, int64(part)})
			}
		}
	}
	before := slices.Clone(w.arcs)
	for _, s := range shares {
		w.splice(s.in, s.out, s.room)
	}
	if w.missing() > 0 { // then one by one
		w.arcs = before
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
					w.join(i, o, min(w.arcs[i].room, w.arcs[o].room))
				}
			}
		}
	}
	w.arcs = slices.DeleteFunc(w.arcs, func(a arc) bool { return a.from == v || a.to == v || a.room == 0 })
	return nil
}

// straight reports whether the way over arcs i and o visits no node twice.
func (w *network) straight(i, o int) bool {
	seen := map[int]bool{w.arcs[i].from: true}
	for _, l := range w.arcs[i].route {
		seen[w.t.Links[l].Dst] = true
	}
	for _, l := range w.arcs[o].route {
		if seen[w.t.Links[l].Dst] {
			return false
		}
	}
	return true
}

// join makes of room of arc i and of arc o one arc, or of as much as no sink needs
// otherwise: each cut that loses by it loses one for one, so that what is missing then is
// what was too much.
func (w *network) join(i, o int, room int64) {
	room = min(room, w.arcs[i].room, w.arcs[o].room)
	if room <= 0 {
		return
	}
	before := slices.Clone(w.arcs)
	w.splice(i, o, room)
	if short := w.missing(); short > 0 {
		w.arcs = before
		w.splice(i, o, room-short)
	}
}

// splice makes of room of arc i and of arc o one arc. A loop is of no use, and left out: it
// was only in the way of others.
func (w *network) splice(i, o int, room int64) {
	room = min(room, w.arcs[i].room, w.arcs[o].room)
	if room <= 0 {
		return
	}
	from, to := w.arcs[i].from, w.arcs[o].to
	w.arcs[i].room -= room
	w.arcs[o].room -= room
	if from != to {
		w.arcs = append(w.arcs, arc{from: from, to: to, room: room, route: w.shortcut(slices.Concat(w.arcs[i].route, w.arcs[o].route))})
		w.merge()
	}
}

// merge adds the last arc to one over the same links, if there is one.
func (w *network) merge() {
	end := len(w.arcs) - 1
	last := w.arcs[end]
	for i := range w.arcs[:end] {
		if a := &w.arcs[i]; a.from == last.from && a.to == last.to && slices.Equal(a.route, last.route) {
			a.room += last.room
			w.arcs = w.arcs[:end]
			return
		}
	}
}

// shortcut leaves out the detours of a route that comes to a node twice.
func (w *network) shortcut(route []int) []int {
	last := map[int]int{} // by node: the last link that leaves it
	for i, l := range route {
		last[w.t.Links[l].Src] = i
	}
	var short []int
	for i := 0; i < len(route); i++ {
		i = last[w.t.Links[route[i]].Src]
		short = append(short, route[i])
	}
	return short
}
