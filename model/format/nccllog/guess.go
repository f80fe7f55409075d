package nccllog

import (
	"fmt"
	"math/bits"
	"regexp"
	"slices"
	"strconv"

	"github.com/oraccl/oraccl/model"
)

// machines are the named machines whose GPUs all reach each other inside, with as many NICs as GPUs.
var machines = regexp.MustCompile(`^(?:dgxa100|dgx[hb][12]00(-nvls)?|dgx2)(?::([0-9]+)(?::[a-z+]+)?)?$`)

// direct are the named machines of one host whose GPUs are joined by links without switches.
var direct = regexp.MustCompile(`^(?:dgx1|mi250|mi300x)$`)

// Guess returns what NCCL's search would find on a named machine, a network that package topo names: a
// channel for each GPU of a host, whose ring enters and leaves the host at another GPU, and its trees
// between hosts; or, where GPUs are joined by links alone, rings over all GPUs that share no link, as many
// as are found, and chains along them. It is a model: where there is a log, that tells.
func Guess(t *model.Topology) (*Log, error) {
	if direct.MatchString(t.Name) && len(t.Switches) == 0 {
		return guessDirect(t)
	}
	m := machines.FindStringSubmatch(t.Name)
	if m == nil {
		return nil, fmt.Errorf("%s is none of the machines for which NCCL's choice is modelled: want dgx1, dgx2, dgxa100, dgxh100, dgxb200, mi250 or mi300x, or a log (--nccl-log)", t.Name)
	}
	hosts := 1
	if m[2] != "" {
		hosts, _ = strconv.Atoi(m[2])
	}
	if hosts < 1 || t.Ranks%hosts != 0 {
		return nil, fmt.Errorf("%s: %d ranks in %d hosts", t.Name, t.Ranks, hosts)
	}
	per := t.Ranks / hosts
	l := &Log{Ranks: t.Ranks, Channels: per, Rings: map[int][]int{}, Trees: map[int][]Member{}}
	l.Notes.Add(model.Assumed, "rings and trees as NCCL's search would choose them, a channel for each GPU of a host: a model, not a log")
	for c := range per {
		var ring []int
		tree := make([]Member, t.Ranks)
		for h := range hosts {
			up, mirrored := -1, c >= per/2
			if p := parent(h, hosts, mirrored); p >= 0 {
				up = p*per + c
			}
			for k := range per {
				r := h*per + ((c-k)%per+per)%per
				ring = append(ring, r)
				tree[r] = Member{Known: true, Up: up}
				up = r // the GPUs of a host are a chain
			}
		}
		l.Rings[c], l.Trees[c] = ring, tree
		if m[1] != "" {
			l.Adds = true
			l.Heads = append(l.Heads, nil)
			for h := range hosts {
				l.Heads[c] = append(l.Heads[c], h*per+c)
			}
		}
	}
	return l, nil
}

// parent returns the parent of a host in one of the two binary trees over n hosts, -1 for its root:
// the lowest bit that is set moves up by one. The other tree is its mirror image where n is even, and
// moved by one where it is odd, so that no host is inside both.
func parent(h, n int, other bool) int {
	up := func(h int) int {
		if h == 0 {
			return -1
		}
		bit := 1 << bits.TrailingZeros(uint(h))
		if p := h ^ bit | bit<<1; p < n {
			return p
		}
		return h ^ bit
	}
	switch {
	case !other:
		return up(h)
	case n%2 == 0:
		if p := up(n - 1 - h); p >= 0 {
			return n - 1 - p
		}
		return -1
	}
	if p := up((h - 1 + n) % n); p >= 0 {
		return (p + 1) % n
	}
	return -1
}

// guessDirect returns rings that share no link, each in both directions, and chains along them.
func guessDirect(t *model.Topology) (*Log, error) {
	n := t.Ranks
	free := make([][]int, n) // links between two ranks that no ring has yet
	for i := range free {
		free[i] = make([]int, n)
	}
	for _, l := range t.Links {
		free[l.Src][l.Dst]++
	}
	rings := packed(free)
	if len(rings) == 0 {
		return nil, fmt.Errorf("%s: no ring over all %d GPUs was found", t.Name, n)
	}
	l := &Log{Ranks: n, Channels: 2 * len(rings), Rings: map[int][]int{}, Trees: map[int][]Member{}}
	l.Notes.Add(model.Assumed, "rings as NCCL's search would choose them, %d that share no link, in both directions, and chains along them for trees: a model, not a log", len(rings))
	for c, ring := range rings {
		back := slices.Clone(ring)
		slices.Reverse(back[1:])
		for k, order := range [][]int{ring, back} {
			tree := make([]Member, n)
			up := -1
			for _, r := range order {
				tree[r] = Member{Known: true, Up: up}
				up = r
			}
			l.Rings[2*c+k], l.Trees[2*c+k] = order, tree
		}
	}
	return l, nil
}

// packSteps limits the search for rings.
const packSteps = 1 << 20

// packed returns rings over all ranks that take no more links between two ranks, in either direction,
// than are free: as many as a search in depth finds in packSteps steps, which goes first where most links are.
func packed(free [][]int) [][]int {
	n, steps := len(free), 0
	most := n
	for i := range free {
		sum := 0
		for j := range free[i] {
			sum += min(free[i][j], free[j][i])
		}
		most = min(most, sum/2)
	}
	var best, now [][]int
	var path []int
	var on []bool
	var extend func()
	begin := func() {
		path, on = []int{0}, make([]bool, n)
		on[0] = true
		extend()
	}
	take := func(i, j, by int) { free[i][j], free[j][i] = free[i][j]-by, free[j][i]-by }
	extend = func() {
		if steps++; steps > packSteps || len(best) == most {
			return
		}
		at := path[len(path)-1]
		if len(path) == n {
			if min(free[at][0], free[0][at]) < 1 {
				return
			}
			ring := slices.Clone(path)
			take(at, 0, 1)
			if now = append(now, ring); len(now) > len(best) {
				best = slices.Clone(now)
			}
			before, were := path, on
			begin()
			path, on = before, were
			now = now[:len(now)-1]
			take(at, 0, -1)
			return
		}
		var next []int
		for j := range n {
			if !on[j] && min(free[at][j], free[j][at]) > 0 {
				next = append(next, j)
			}
		}
		slices.SortStableFunc(next, func(i, j int) int { return free[at][j] - free[at][i] })
		for _, j := range next {
			take(at, j, 1)
			path, on[j] = append(path, j), true
			extend()
			path, on[j] = path[:len(path)-1], false
			take(at, j, -1)
		}
	}
	begin()
	return best
}
