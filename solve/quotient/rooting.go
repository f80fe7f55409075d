//go:build cgo

package quotient

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve/lp/highs"
	"github.com/oraccl/oraccl/solve/symmetry"
)

// rooting is a linear program for where an allreduce has the roots of its parts if machines are not alike, as where a GPU of one is lost: how much each class
// of ranks is the root of, and by which trees that goes to all, so that most is carried in the time. A machine sends what it is the root of to all others,
// and the rest to one of them, so one with fewer links is the root of less. Links of a class are alike (see symmetry.Classes) and are one row. Trees
// are found by their prices, and added until none costs less than it brings.
type rooting struct {
	x       *reducing   // with how long hops of what one rank has take, if it is all of the buffer
	parts   []part      // one of each class of members
	count   []float64   // members of it
	row     []int       // by machine
	price   []float64   // by row, of all machines of a class
	ways    []float64   // by way: what it costs now
	columns [][]float64 // by column: the part of the buffer that each class has
	lp      *highs.Growing
	goal    float64 // the time, in picoseconds: that of the longest hop
}

// Limits of what is tried.
const (
	deepCosts = 0.02 // the part of what a tree brings that it is worth less for each hop that ranks are farther from its root
	rootTurns = 200  // programs
	rootGain  = 1e-3 // the part by which a tree costs less than it brings
	uneven    = 0.95 // of what it would have with as much for each member, at most, has some class
)

// findShares returns where the roots of an allreduce whose cut is free should be, nil if all members should have as much, and for how long links are busy
// then, whatever latencies are; 0 if that is not known.
func (s *search) findShares() (*shares, model.Time) {
	p := s.p
	if p.Cost.Synchronous() {
		return nil, 0
	}
	class := symmetry.Classes(p.Topology, s.labels())
	y := newRooting(s.shops[0], p, class)
	roots := y.solve(s.ctx)
	if roots == nil {
		return nil, 0
	}
	by, most, sum, members := map[int]float64{}, 0.0, 0.0, 0.0
	for i, n := range y.count {
		by[class[y.parts[i].root]] = roots[i] / n
		most, sum, members = max(most, roots[i]/n), sum+roots[i], members+n
	}
	list, differ := &shares{of: make([]float64, p.Topology.Ranks)}, false
	for _, v := range p.Members() {
		list.of[v] = by[class[v]] / most
		differ = differ || by[class[v]] < uneven*sum/members
	}
	if !differ {
		list = nil
	}
	return list, model.Time(y.goal / sum)
}

// newRooting returns a program without columns.
func newRooting(x *reducing, p *model.Problem, class []int) *rooting {
	y := &rooting{goal: 1}
	number := map[int]int{}
	for _, v := range p.Members() {
		i, known := number[class[v]]
		if !known {
			i = len(y.parts)
			number[class[v]] = i
			size := max(1, p.Size/int64(x.s.g.Order()))
			y.parts, y.count = append(y.parts, part{root: v, to: -1, size: size, least: size}), append(y.count, 0)
		}
		y.count[i]++
	}
	y.x = x.timed(y.parts)
	for _, w := range y.x.s.ways {
		for _, span := range w.times[0].spans {
			y.goal = max(y.goal, float64(span.To-span.From))
		}
	}
	// machines that serve links of the same classes are alike
	t := p.Topology
	kinds, rows := make([][]int, len(x.s.lanes)), map[string]int{}
	numbers := map[[4]int64]int{}
	for _, w := range x.s.ways {
		for _, v := range w.visits {
			for _, l := range w.links[v.from : v.to+1] {
				k := t.Links[l]
				key := [4]int64{int64(class[k.Src]), int64(class[k.Dst]), int64(k.Alpha), k.Bandwidth}
				if _, known := numbers[key]; !known {
					numbers[key] = len(numbers)
				}
				if n := numbers[key]; !slices.Contains(kinds[v.machine], n) {
					kinds[v.machine] = append(kinds[v.machine], n)
				}
			}
		}
	}
	for m, list := range kinds {
		slices.Sort(list)
		key := fmt.Sprint(list, x.s.lanes[m])
		r, known := rows[key]
		if !known {
			r = len(y.price)
			rows[key] = r
			y.price = append(y.price, 0)
		}
		y.row = append(y.row, r)
	}
	return y
}

// share returns for which part of the time a visit of a way keeps its machine busy.
func (y *rooting) share(w int32, i int) float64 {
	x := &y.x.s.ways[w]
	return y.x.s.share(&x.times[0], i, x.visits[i], y.goal)
}

// solve returns how much of what is carried in the time has its roots in each class, nil if no optimum is found.
func (y *rooting) solve(ctx context.Context) (roots []float64) {
	room := make([]float64, len(y.price))
	for _, r := range y.row {
		room[r]++
	}
	var err error
	if y.lp, err = highs.NewGrowing(room); err != nil {
		return nil
	}
	defer y.lp.Close()
	for range rootTurns {
		if more, err := y.add(); err != nil {
			return nil
		} else if !more {
			break
		}
		r, err := y.lp.Maximise(ctx)
		if err != nil {
			return nil
		}
		copy(y.price, r.RowDuals)
		roots = make([]float64, len(y.parts))
		for i, v := range r.Values {
			for c, part := range y.columns[i] {
				roots[c] += max(0, v) * part
			}
		}
	}
	return roots
}

// add adds trees for each class, and for all with as much for each member, and reports whether there are any that cost less than they bring.
func (y *rooting) add() (more bool, err error) {
	y.ways = make([]float64, len(y.x.s.ways))
	for w := range y.ways {
		for i, v := range y.x.s.ways[w].visits {
			y.ways[w] += y.share(int32(w), i) * y.price[y.row[v.machine]]
		}
	}
	members, worth, all := 0.0, 1.0, make([]float64, len(y.price))
	for _, n := range y.count {
		members += n
	}
	evenly := make([]float64, len(y.parts))
	for c := range y.parts {
		loads := make([]float64, len(y.price))
		deep := (y.grow(c, true, loads) + y.grow(c, false, loads)) / 2
		evenly[c] = y.count[c] / members
		for r, load := range loads {
			all[r] += load * evenly[c]
		}
		worth -= deepCosts * deep * evenly[c]
		own := make([]float64, len(y.parts))
		own[c] = 1
		added, err := y.column(1-deepCosts*deep, loads, own)
		if err != nil {
			return false, err
		}
		more = more || added
	}
	added, err := y.column(worth, all, evenly)
	return more || added, err
}

// column adds a column, if it costs less than it brings.
func (y *rooting) column(worth float64, loads, parts []float64) (added bool, err error) {
	cost := 0.0
	var rows []int32
	var entries []float64
	for r, load := range loads {
		cost += load * y.price[r]
		if load > 0 {
			rows, entries = append(rows, int32(r)), append(entries, load)
		}
	}
	if cost >= worth-rootGain {
		return false, nil
	}
	y.columns = append(y.columns, parts)
	return true, y.lp.Add(worth, rows, entries)
}

// grow adds the loads of a tree to or from the root of a class, which costs little, and returns how many hops ranks are away from it, on average. Hops are
// added one by one, each the one that costs least with what a hop from there is late (Prim; Alpert, Hu, Huang, Kahng, "Prim-Dijkstra tradeoffs for improved
// performance-driven routing tree design", IEEE Transactions on CAD 14, 1995). It takes O(ranks² + hops from all ranks) time.
func (y *rooting) grow(c int, sum bool, loads []float64) (deep float64) {
	s := y.x.s
	if sum {
		s = y.x.r
	}
	n := s.t.Ranks
	type offer struct {
		cost  float64
		way   int32
		depth int
	}
	best, done := make([]offer, n), make([]bool, n)
	members := 0
	for v := range best {
		best[v].cost = math.Inf(1)
		if s.member[v] {
			members++
		}
	}
	total := 0
	for u, left := y.parts[c].root, members-1; ; left-- {
		done[u] = true
		if left == 0 {
			break
		}
		by := s.g.Nodes(int(s.element[u]))
		for i := range s.out[s.class[u]] {
			st := &s.out[s.class[u]][i]
			depth := best[u].depth + 1
			cost := y.ways[st.way] + deepCosts*float64(depth)/float64(2*(members-1))
			if v := by[st.to]; !done[v] && cost < best[v].cost {
				best[v] = offer{cost, st.way, depth}
			}
		}
		u = -1
		for v := range best {
			if s.member[v] && !done[v] && (u < 0 || best[v].cost < best[u].cost) {
				u = v
			}
		}
		total += best[u].depth
		for i, v := range s.ways[best[u].way].visits {
			loads[y.row[v.machine]] += y.share(best[u].way, i)
		}
	}
	return float64(total) / float64(members-1)
}
