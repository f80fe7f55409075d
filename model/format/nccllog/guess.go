package nccllog

import (
	"fmt"
	"math/bits"
	"regexp"
	"strconv"

	"github.com/oraccl/oraccl/model"
)

// machines are the named machines whose GPUs all reach each other inside, with as many NICs as GPUs.
var machines = regexp.MustCompile(`^(?:dgxa100|dgxh100|dgx2|mi300x)(?::([0-9]+))?$`)

// Guess returns what NCCL's search would find on a named machine, a network that package topo names: a
// channel for each GPU of a host, whose ring enters and leaves the host at another GPU, and its trees
// between hosts. It is a model: where there is a log, that tells.
func Guess(t *model.Topology) (*Log, error) {
	m := machines.FindStringSubmatch(t.Name)
	if m == nil {
		return nil, fmt.Errorf("%s is none of the machines for which NCCL's choice is modelled: want dgxa100, dgxh100, dgx2 or mi300x, or a log (--nccl-log)", t.Name)
	}
	hosts := 1
	if m[1] != "" {
		hosts, _ = strconv.Atoi(m[1])
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
