package exact

import (
	"fmt"
	"maps"
	"slices"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve/lp"
	"github.com/oraccl/oraccl/solve/ten"
)

// encoding is the MILP that asks for a schedule within the horizon of a network.
// With F[k,h,t] = 1 iff chunk k enters hop h at epoch t, and B[k,r,t] <= 1 iff
// rank r has chunk k when epoch t begins:
//
//	hold    B[k,r,t] <= B[k,r,t-1] + Σ arrivals of k at r at t
//	send    F[k,h,t] <= B[k,src h,t]
//	once    Σ arrivals of k at r  = 1 if r wants k, <= 1 otherwise
//	link    Σ transfers on the links of a hop at t <= their number
//	port    Σ transfers on a port at t <= its capacity
//
// B is integral by itself once F is. Columns exist only where ten.Network.Window
// allows a transfer. Where switches copy, what passes a link is not a transfer but
// a multicast: see multicasts. It follows TE-CCL (Liu et al., SIGCOMM 2024, section 3) except
// for the objective: here every horizon is a question of feasibility.
type encoding struct {
	*ten.Network
	lp.Model
	*multicasts
	sends []send
	first [][]int                             // by chunk and hop: the index in sends of the first epoch of its window
	worth func(chunk, rank, epoch int) lp.Rat // that a rank has a chunk at an epoch; nil: nothing
	open  bool                                // demands need not be met
}

// send is a column F[k,h,t].
type send struct{ chunk, hop, epoch int }

// size returns how many columns and rows the encoding would have, about.
func size(n *ten.Network) (columns, rows int) {
	for k := range n.Problem.Chunks {
		for h := range n.Hops {
			if first, last := n.Window(k, h); last >= first {
				columns += last - first + 1
				rows += last - first + 1
			}
		}
		for r := range n.Problem.Topology.Ranks {
			if !n.Holds(k, r) && n.Earliest(k, r) <= n.Horizon {
				columns += n.Horizon - n.Earliest(k, r) + 1
				rows += n.Horizon - n.Earliest(k, r) + 2
			}
		}
	}
	return columns, rows + len(n.Hops)*n.Horizon
}

// encode builds the MILP.
func encode(n *ten.Network, w switches) *encoding { return encodeFor(n, w, nil, false) }

// encodeFor builds the MILP that asks for what is worth most; if open, demands need not be
// met within the horizon.
func encodeFor(n *ten.Network, w switches, worth func(chunk, rank, epoch int) lp.Rat, open bool) *encoding {
	e := &encoding{Network: n, worth: worth, open: open}
	if worth != nil {
		e.Sense = lp.Maximise
	}
	p := n.Problem
	e.Name = fmt.Sprintf("%v in %d epochs", p.Collective.Kind, n.Horizon)
	e.first = make([][]int, len(p.Chunks))
	for k := range p.Chunks {
		e.first[k] = make([]int, len(n.Hops))
		for h := range n.Hops {
			first, last := n.Window(k, h)
			e.first[k][h] = len(e.sends)
			for t := first; t <= last; t++ {
				e.AddBinary(fmt.Sprintf("F_%d_%d_%d", k, h, t), lp.Int(0))
				e.sends = append(e.sends, send{k, h, t})
			}
		}
	}
	for k := range p.Chunks {
		e.holding(k)
	}
	e.multicasts = newMulticasts(e, w)
	e.links()
	e.ports()
	e.symmetry()
	return e
}

// column returns the column F[k,h,t], or -1.
func (e *encoding) column(k, h, t int) int {
	first, last := e.Window(k, h)
	if t < first || t > last {
		return -1
	}
	return e.first[k][h] + t - first
}

// holding adds the rows hold, send and once for chunk k.
func (e *encoding) holding(k int) {
	ranks := e.Problem.Topology.Ranks
	into := make([][]int, ranks)
	for h := range e.Hops {
		into[e.Hops[h].Dst] = append(into[e.Hops[h].Dst], h)
	}
	have := make([][]int, ranks) // by rank: the columns B[k,r,t], from the earliest epoch on
	for r := range ranks {
		if !e.open && e.Wants(k, r) && e.Earliest(k, r) > e.Horizon {
			e.AddEQ(fmt.Sprintf("late_%d_%d", k, r), lp.Int(1)) // nothing comes in time: no solution
		}
		if e.Holds(k, r) || e.Earliest(k, r) > e.Horizon {
			continue
		}
		var once []lp.Term
		for t := e.Earliest(k, r); t <= e.Horizon; t++ {
			column := lp.Column{Name: fmt.Sprintf("B_%d_%d_%d", k, r, t), Upper: lp.AtInt(1)}
			if e.worth != nil {
				column.Cost = e.worth(k, r, t)
			}
			b := e.AddColumn(column)
			hold := []lp.Term{lp.T(b, 1)}
			if n := len(have[r]); n > 0 {
				hold = append(hold, lp.T(have[r][n-1], -1))
			}
			for _, h := range into[r] {
				if c := e.column(k, h, t-e.Delay(k, h)); c >= 0 {
					hold = append(hold, lp.T(c, -1))
					once = append(once, lp.T(c, 1))
				}
			}
			have[r] = append(have[r], b)
			e.AddLE("", lp.Int(0), hold...)
		}
		if e.Wants(k, r) && !e.open {
			e.AddEQ(fmt.Sprintf("once_%d_%d", k, r), lp.Int(1), once...)
		} else {
			e.AddLE(fmt.Sprintf("once_%d_%d", k, r), lp.Int(1), once...)
		}
	}
	for h := range e.Hops {
		src := e.Hops[h].Src
		if e.Holds(k, src) {
			continue
		}
		first, last := e.Window(k, h)
		for t := first; t <= last; t++ {
			e.AddLE("", lp.Int(0), lp.T(e.column(k, h, t), 1), lp.T(have[src][t-e.Earliest(k, src)], -1))
		}
	}
}

// links adds a row for each set of equal parallel links and each epoch; a hop over
// switches uses several such sets.
func (e *encoding) links() {
	users := map[int][]*way{} // by the first link of each set of parallel ones
	width := map[int]int{}
	for _, x := range e.ways {
		users[x.link] = append(users[x.link], x)
		width[x.link] = x.width
	}
	for _, l := range slices.Sorted(maps.Keys(e.beside)) {
		width[l] = max(width[l], 1)
	}
	for l := range e.Problem.Topology.Links {
		if width[l] > 0 {
			e.capacity(users[l], e.beside[l], width[l])
		}
	}
}

// ports adds a row for each port and epoch; in rounds every rank has a send and a
// receive port.
func (e *encoding) ports() {
	t := e.Problem.Topology
	at := func(member func(link int) bool, capacity int) {
		var users, beside []*way
		for _, x := range e.ways {
			if slices.ContainsFunc(x.links(), member) {
				users = append(users, x)
			}
		}
		for _, l := range slices.Sorted(maps.Keys(e.beside)) {
			if member(l) {
				beside = append(beside, e.beside[l]...)
			}
		}
		e.capacity(users, beside, capacity)
	}
	for _, port := range t.Ports {
		member := map[int]bool{}
		for _, l := range port.Links {
			member[l] = true
		}
		at(func(l int) bool { return member[l] }, port.Capacity)
	}
	if e.Problem.Cost != model.Rounds {
		return
	}
	for r := range t.Ranks {
		at(func(l int) bool { return t.Links[l].Src == r }, 1)
		at(func(l int) bool { return t.Links[l].Dst == r }, 1)
	}
}

// capacity states that at no epoch more than width of what passes some links, or takes them
// beside its way, is under way.
func (e *encoding) capacity(users, beside []*way, width int) {
	for t := range e.Horizon {
		var terms []lp.Term
		for k := range e.Problem.Chunks {
			for _, x := range users {
				terms = append(terms, e.passing(x, k, t)...)
			}
			for _, x := range beside {
				terms = append(terms, e.under(x.several[k], t, e.longest(x, k))...)
			}
		}
		if len(terms) > width {
			e.AddLE("", lp.Int(int64(width)), terms...)
		}
	}
}

// symmetry orders chunks that are alike, of one size, from one rank, to the same
// ranks: at the first rank that wants them they arrive in order of their numbers.
// Any solution can be brought into that form by renaming them.
func (e *encoding) symmetry() {
	ranks := e.Problem.Topology.Ranks
	for k := 1; k < len(e.Problem.Chunks); k++ {
		alike := e.Problem.Chunks[k].Size == e.Problem.Chunks[k-1].Size
		at := -1
		for r := range ranks {
			alike = alike && e.Holds(k, r) == e.Holds(k-1, r) && e.Wants(k, r) == e.Wants(k-1, r)
			if at < 0 && e.Wants(k, r) {
				at = r
			}
		}
		if !alike || at < 0 {
			continue
		}
		var terms []lp.Term
		for i, s := range e.sends {
			if e.Hops[s.hop].Dst != at || s.chunk != k && s.chunk != k-1 {
				continue
			}
			arrival := int64(s.epoch + e.Delay(s.chunk, s.hop))
			if s.chunk == k {
				arrival = -arrival
			}
			terms = append(terms, lp.T(i, arrival))
		}
		e.AddLE("", lp.Int(0), terms...)
	}
}
