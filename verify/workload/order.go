package workload

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/verify"
)

// order checks that libraries in which each rank enters its collectives one after the other
// do not deadlock (V7): the order in which ranks begin them, with the members of a collective
// as one node, has no cycle.
func (c *composition) order() {
	periods := 1
	if c.s.Period > 0 {
		periods = int(min((c.s.Makespan()-1)/c.s.Period+2, maxEvents))
	}
	type entry struct {
		at   model.Time
		node int
	}
	by := make([][]entry, c.w.Topology.Ranks)
	total := 0
	for i, p := range c.s.Placed {
		members := c.w.Members(c.w.Ops[p.Op].Group)
		if p.Program < 0 || len(members) < 2 {
			continue
		}
		if total += periods * len(members); total > maxEvents {
			c.reason = fmt.Sprintf("%d collectives on ranks in %d periods: %v", total, periods, model.ErrTooLarge)
			return
		}
		for _, v := range members {
			for k := range periods {
				by[v] = append(by[v], entry{c.on[i][v].From + c.s.Period*model.Time(k), k*len(c.s.Placed) + i})
			}
		}
	}
	type arrow struct{ to, rank int }
	next := make([][]arrow, periods*len(c.s.Placed))
	for v, list := range by {
		slices.SortFunc(list, func(a, b entry) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.node, b.node)) })
		for i := 0; i < len(list); {
			j := i
			for j < len(list) && list[j].at == list[i].at {
				j++
			}
			k := j
			for k < len(list) && list[k].at == list[j].at {
				k++
			}
			for _, a := range list[i:j] {
				for _, b := range list[j:k] {
					next[a.node] = append(next[a.node], arrow{b.node, v})
				}
				if !c.work.Go(1 + k - j) {
					return
				}
			}
			i = j
		}
	}
	state := make([]uint8, len(next))
	type step struct{ node, rank, tried int }
	for root := range next {
		if state[root] != 0 {
			continue
		}
		path := []step{{node: root}}
		state[root] = 1
		for len(path) > 0 {
			top := &path[len(path)-1]
			if top.tried == len(next[top.node]) {
				state[top.node] = 2
				path = path[:len(path)-1]
				continue
			}
			a := next[top.node][top.tried]
			top.tried++
			top.rank = a.rank
			switch state[a.to] {
			case 0:
				state[a.to] = 1
				path = append(path, step{node: a.to})
			case 1:
				at := slices.IndexFunc(path, func(s step) bool { return s.node == a.to })
				var all []string
				for i, s := range path[at:] {
					to := a.to
					if at+i+1 < len(path) {
						to = path[at+i+1].node
					}
					all = append(all, fmt.Sprintf("rank %d begins %s before %s", s.rank, c.nodeName(s.node), c.nodeName(to)))
				}
				c.report(verify.Wrong(verify.Deadlock, "collectives", fmt.Sprintf("%s: ranks that enter one after the other wait for each other for ever", strings.Join(all, ", "))))
				return
			}
			if !c.work.Go(1) {
				return
			}
		}
	}
}

// nodeName names a placement in a period.
func (c *composition) nodeName(node int) string {
	name := c.name(node % len(c.s.Placed))
	if k := node / len(c.s.Placed); k > 0 {
		name += fmt.Sprintf(" (period %d)", k)
	}
	return name
}
