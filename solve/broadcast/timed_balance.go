//go:build cgo

package broadcast

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/oraccl/oraccl/model"
)

// balance gives each chunk an image of its tree: of some random ones the one whose links were used least until it uses them, by the chunks before
// it. In that one, twins change places: those that were used least send, and get what comes first. It reports whether ctx let it. It takes
// O(images·chunks·ranks) time.
func (g *program) balance(ctx context.Context, all []timedChunk) bool {
	u := newUsage(g, all)
	t := newTwins(g)
	image, next := make([]int32, len(g.hops)), make([]int32, len(g.hops)) // of each hop
	for h := range image {
		image[h] = int32(h)
	}
	var trial []int32
	for k := range all {
		if k%every == 0 && ctx.Err() != nil {
			return false
		}
		x := &all[k]
		u.forget(x.at)
		least := int64(math.MaxInt64)
		for range triedImages {
			if len(g.images) > 0 {
				move := g.images[g.rng.IntN(len(g.images))]
				for h, to := range image {
					next[h] = move[to]
				}
				image, next = next, image
			}
			trial = trial[:0]
			sum := int64(0)
			for i, h := range x.tree.hops {
				trial = append(trial, image[h])
				u.visit(x, i, image[h], func(l int, at model.Time) { sum += int64(u.until(l, at)) })
			}
			if sum < least {
				least = sum
				x.hops = append(x.hops[:0], trial...)
			}
		}
		t.change(x, u)
		for i, h := range x.hops {
			u.visit(x, i, h, u.add)
		}
	}
	return true
}

// triedImages is among how many images of its tree a chunk has one.
const triedImages = 8

// usage is how often links are used, by bins of time.
type usage struct {
	*program
	width  model.Time
	bins   int
	begin  int     // before this bin nothing is asked for any more
	before []int32 // by link: uses before that
	count  []int32 // by link and bin
}

func newUsage(g *program, all []timedChunk) *usage {
	end := model.Time(0)
	for _, x := range all {
		end = max(end, x.at+g.last(x.tree))
	}
	u := &usage{program: g, width: max(1, g.width)}
	u.bins = int(end/u.width) + 1
	u.before, u.count = make([]int32, len(g.p.Topology.Links)), make([]int32, len(g.p.Topology.Links)*u.bins)
	return u
}

// visit visits the links of a hop of a chunk's tree with the times at which it uses them.
func (u *usage) visit(x *timedChunk, branch int, hop int32, f func(l int, at model.Time)) {
	after := u.classes[u.hops[hop].class].after
	for j, l := range u.routes[hop] {
		f(l, x.at+x.tree.at[branch]+after[j])
	}
}

// until returns how often a link is used until the bin of a time is over.
func (u *usage) until(l int, at model.Time) int32 {
	n := u.before[l]
	for _, c := range u.count[l*u.bins+u.begin : l*u.bins+int(at/u.width)+1] {
		n += c
	}
	return n
}

func (u *usage) add(l int, at model.Time) { u.count[l*u.bins+int(at/u.width)]++ }

// forget adds up what is used before a time: only later times are asked for.
func (u *usage) forget(until model.Time) {
	for ; u.begin < int(until/u.width); u.begin++ {
		for l := range u.before {
			u.before[l] += u.count[l*u.bins+u.begin]
		}
	}
}

// twins is which ranks may change places in trees: those at one switch, by one link each way.
type twins struct {
	*program
	classes  [][]int32
	down, up []int              // by rank: its links
	hop      map[string]int32   // from a rank to another, over some links between switches
	moved    map[[3]int32]int32 // by hop and its new ends
	sends    []int32            // by rank, in one tree
	first    []model.Time       // when it does so first
	comes    []model.Time       // when it is reached
	place    []int32            // that it takes
	roles    []int32            // scratch
	free     []int32            // scratch
	changed  []int32            // scratch
}

func newTwins(g *program) *twins {
	p := g.p.Topology
	t := &twins{program: g, down: make([]int, p.Ranks), up: make([]int, p.Ranks), hop: map[string]int32{}, moved: map[[3]int32]int32{},
		sends: make([]int32, p.Ranks), first: make([]model.Time, p.Ranks), comes: make([]model.Time, p.Ranks), place: make([]int32, p.Ranks)}
	out, in := p.Out(), make([][]int, p.Nodes())
	for l := range p.Links {
		in[p.Links[l].Dst] = append(in[p.Links[l].Dst], l)
	}
	number := map[string]int{}
	for _, v := range g.members {
		if int(v) == g.root || len(out[v]) != 1 || len(in[v]) != 1 {
			continue
		}
		t.up[v], t.down[v] = out[v][0], in[v][0]
		a, b := p.Links[t.up[v]], p.Links[t.down[v]]
		a.Src, b.Dst = 0, 0
		key := fmt.Sprint(a, b)
		c, known := number[key]
		if !known {
			c = len(t.classes)
			number[key], t.classes = c, append(t.classes, nil)
		}
		t.classes[c] = append(t.classes[c], v)
	}
	for h := 0; h < len(g.hops) && len(t.classes) > 0; h++ {
		t.hop[t.key(int32(h), g.hops[h].from, g.hops[h].to)] = int32(h)
	}
	return t
}

// key tells apart hops between ranks.
func (t *twins) key(h, from, to int32) string {
	r := t.routes[h]
	return fmt.Sprint(from, to, r[min(1, len(r)-1):len(r)-1])
}

// change has twins change places in the tree of a chunk: one after the other, those that send most first, and of those that send as much the one that is
// reached first, each place goes to the twin whose links were used least until then.
func (t *twins) change(x *timedChunk, u *usage) {
	if len(t.classes) == 0 {
		return
	}
	clear(t.sends)
	for v := range t.place {
		t.place[v] = int32(v)
	}
	for i, h := range x.hops {
		y := &t.hops[h]
		if t.sends[y.from]++; t.sends[y.from] == 1 {
			t.first[y.from] = x.at + x.tree.at[i]
		}
		t.comes[y.to] = x.at + x.tree.at[i] + y.lasts - t.p.Topology.Links[t.routes[h][len(t.routes[h])-1]].Alpha
	}
	for _, class := range t.classes {
		t.roles, t.free = append(t.roles[:0], class...), append(t.free[:0], class...)
		slices.SortStableFunc(t.roles, func(a, b int32) int {
			return cmp.Or(cmp.Compare(t.sends[b], t.sends[a]), cmp.Compare(t.comes[a], t.comes[b]))
		})
		for _, role := range t.roles {
			best, least := 0, int32(math.MaxInt32)
			for i, v := range t.free {
				n := u.until(t.down[v], t.comes[role])
				if t.sends[role] > 0 {
					n += u.until(t.up[v], t.first[role])
				}
				if n < least {
					best, least = i, n
				}
			}
			t.place[role] = t.free[best]
			t.free = slices.Delete(t.free, best, best+1)
		}
	}
	t.changed = t.changed[:0]
	for _, h := range x.hops {
		n := t.move(h, t.place[t.hops[h].from], t.place[t.hops[h].to])
		if n < 0 {
			return
		}
		t.changed = append(t.changed, n)
	}
	copy(x.hops, t.changed)
}

// move returns the hop over the same links between switches as another one, from and to other ranks, -1 if there is none.
func (t *twins) move(h, from, to int32) int32 {
	key := [3]int32{h, from, to}
	n, known := t.moved[key]
	if !known {
		if n, known = t.hop[t.key(h, from, to)]; !known {
			n = -1
		}
		t.moved[key] = n
	}
	return n
}
