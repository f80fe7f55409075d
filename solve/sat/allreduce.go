package sat

import "github.com/oraccl/oraccl/solve/hop"

// sums holds the variables of an allreduce: section 10.6. Each is the first of a
// block.
type sums struct {
	ranks, horizon int
	arcs           int
	val            Lit // by chunk, rank, contribution and round from 1 on
	moves          Lit // by chunk, arc and round: copy, then add
	via            Lit // by chunk, arc, round and contribution
	got            Lit // by chunk and round from 1 on
}

// valAt is not to be asked for round 0, where a rank has its own contribution.
func (s *sums) valAt(k, v, j, t int) Lit {
	return s.val + Lit(((k*s.ranks+v)*s.ranks+j)*s.horizon+t-1)
}

func (s *sums) copyOf(k, a, t int) Lit { return s.moves + Lit(2*((k*s.arcs+a)*s.horizon+t)) }

func (s *sums) addOf(k, a, t int) Lit { return s.copyOf(k, a, t) + 1 }

func (s *sums) viaOf(k, a, t, j int) Lit {
	return s.via + Lit(((k*s.arcs+a)*s.horizon+t)*s.ranks+j)
}

func (s *sums) gotAt(k, t int) Lit { return s.got + Lit(k*s.horizon+t-1) }

// maybe is a literal, or a truth value if it is 0.
type maybe struct {
	lit  Lit
	true bool
}

func (m maybe) not() maybe { return maybe{-m.lit, !m.true} }

// orElse adds a clause, but leaves it out if something in it is true.
func (e *Formula) orElse(all ...maybe) {
	from := len(e.lits)
	for _, m := range all {
		switch {
		case m.lit != 0:
			e.lits = append(e.lits, m.lit)
		case m.true:
			e.lits = e.lits[:from]
			return
		}
	}
	e.end()
}

// allReduce makes all of section 10.6.
func (e *Formula) allReduce() error {
	t := e.p.Topology
	e.bundles = hop.Bundles(t)
	var err error
	if e.arcs, err = arcsOf(t, e.p.Cost, e.bundles); err != nil {
		return err
	}
	e.into = make([][]int, t.Ranks)
	for a := range e.arcs {
		e.into[e.arcs[a].Dst] = append(e.into[e.arcs[a].Dst], a)
	}
	h, n, chunks := e.q.Horizon, t.Ranks, len(e.p.Chunks)
	s := &sums{ranks: n, horizon: h, arcs: len(e.arcs)}
	e.sums = s
	for _, block := range []struct {
		first *Lit
		size  []int
	}{{&s.val, []int{chunks, n, n, h}}, {&s.moves, []int{chunks, len(e.arcs), h, 2}}, {&s.via, []int{chunks, len(e.arcs), h, n}}, {&s.got, []int{chunks, h}}} {
		size := 1
		for _, d := range block.size {
			if d > 0 && size > maxVars/d {
				e.Vars = maxVars + 1
				return e.full()
			}
			size *= d
		}
		*block.first = e.Block(size)
		if err := e.full(); err != nil {
			return err
		}
	}
	for k := range chunks {
		for round := range h {
			for v := range n {
				e.round(k, v, round)
			}
			if err := e.full(); err != nil {
				return err
			}
		}
	}
	for k := range chunks {
		for v := range n {
			for j := range n {
				e.Add(s.valAt(k, v, j, h))
			}
		}
	}
	if err := e.inOrder(); err != nil {
		return err
	}
	if err := e.limits(e.moving); err != nil {
		return err
	}
	if err := e.atMost(e.q.Transfers); err != nil || !e.q.Trees {
		return err
	}
	return e.trees()
}

// atMost says how many transfers there are at most, as they count, any number if that is 0.
func (e *Formula) atMost(transfers int) error {
	if transfers == 0 {
		return nil
	}
	var moves []Lit
	var costs []int
	for k := range e.p.Chunks {
		for a, x := range e.arcs {
			for t := range e.q.Horizon {
				cost := 1
				if e.q.Cost != nil {
					cost = e.q.Cost(x.Src, x.Dst, t)
				}
				if cost > 0 {
					moves, costs = append(moves, e.sums.copyOf(k, a, t), e.sums.addOf(k, a, t)), append(costs, cost, cost)
				}
			}
		}
	}
	if e.q.Cost == nil {
		e.AtMost(transfers, moves)
	} else {
		e.AtMostWeight(transfers, moves, costs)
	}
	return e.full()
}

// trees says that of each chunk only whole sums are copied, that each rank sends its part
// on at most once, and that some rank, the root, does not. So there is one root: a second
// rank with the whole sum would have it of all others, the first included, which would
// each have sent their part.
func (e *Formula) trees() error {
	s, h := e.sums, e.q.Horizon
	for k := range e.p.Chunks {
		for a, x := range e.arcs {
			for t := range h {
				for j := range s.ranks {
					e.orElse(maybe{lit: -s.copyOf(k, a, t)}, e.has0(k, x.Src, j, t))
				}
			}
		}
		root := e.Block(s.ranks)
		for r := range s.ranks {
			var sent []Lit
			for a, x := range e.arcs {
				for t := range h {
					if x.Src == r {
						sent = append(sent, s.addOf(k, a, t))
						e.Add(-(root + Lit(r)), -s.addOf(k, a, t))
					}
				}
			}
			e.AtMost(1, sent)
		}
		for r := range s.ranks {
			e.lits = append(e.lits, root+Lit(r))
		}
		e.end()
		if err := e.full(); err != nil {
			return err
		}
	}
	return nil
}

// has is whether rank v has contribution j of chunk k when round t begins.
func (e *Formula) has0(k, v, j, t int) maybe {
	if t == 0 {
		return maybe{true: v == j}
	}
	return maybe{lit: e.sums.valAt(k, v, j, t)}
}

// round makes the clauses 1 to 8 of one chunk, rank and round.
func (e *Formula) round(k, v, t int) {
	s, into, n := e.sums, e.into[v], e.sums.ranks
	copyOf := func(a int) maybe { return maybe{lit: s.copyOf(k, a, t)} }
	addOf := func(a int) maybe { return maybe{lit: s.addOf(k, a, t)} }
	at := func(rank, j int) maybe { return e.has0(k, rank, j, t) }
	then := func(j int) maybe { return maybe{lit: s.valAt(k, v, j, t+1)} }
	for i, a := range into {
		for _, b := range into[i+1:] {
			e.orElse(copyOf(a).not(), copyOf(b).not())
		}
	}
	for _, a := range into {
		for _, b := range into {
			e.orElse(copyOf(a).not(), addOf(b).not())
		}
	}
	for _, a := range into {
		u := e.arcs[a].Src
		for j := range n {
			e.orElse(copyOf(a).not(), at(u, j).not(), then(j))
			e.orElse(copyOf(a).not(), at(u, j), then(j).not())
		}
	}
	for _, a := range into {
		for j := range n {
			e.orElse(addOf(a).not(), at(e.arcs[a].Src, j).not(), then(j))
		}
	}
	if !e.p.Collective.Op.Idempotent() {
		for _, a := range into {
			for j := range n {
				e.orElse(addOf(a).not(), at(e.arcs[a].Src, j).not(), at(v, j).not())
			}
		}
		for i, a := range into {
			for _, b := range into[i+1:] {
				for j := range n {
					e.orElse(addOf(a).not(), addOf(b).not(), at(e.arcs[a].Src, j).not(), at(e.arcs[b].Src, j).not())
				}
			}
		}
	}
	for j := range n {
		clause := []maybe{at(v, j).not()}
		for _, a := range into {
			clause = append(clause, copyOf(a))
		}
		e.orElse(append(clause, then(j))...)
	}
	for _, a := range into {
		for j := range n {
			via := maybe{lit: s.viaOf(k, a, t, j)}
			e.orElse(via.not(), copyOf(a), addOf(a))
			e.orElse(via.not(), at(e.arcs[a].Src, j))
		}
	}
	for j := range n {
		clause := []maybe{then(j).not(), at(v, j)}
		for _, a := range into {
			clause = append(clause, maybe{lit: s.viaOf(k, a, t, j)})
		}
		e.orElse(clause...)
	}
}

// inOrder says that chunks which are alike come to rank 0 in the order of their
// numbers.
func (e *Formula) inOrder() error {
	s, h, into := e.sums, e.q.Horizon, e.into[0]
	got := func(k, t int) maybe {
		if t == 0 {
			return maybe{}
		}
		return maybe{lit: s.gotAt(k, t)}
	}
	for k := range e.p.Chunks {
		for t := range h {
			for _, a := range into {
				e.orElse(maybe{lit: -s.copyOf(k, a, t)}, got(k, t+1))
				e.orElse(maybe{lit: -s.addOf(k, a, t)}, got(k, t+1))
			}
			e.orElse(got(k, t).not(), got(k, t+1))
			clause := []maybe{got(k, t+1).not(), got(k, t)}
			for _, a := range into {
				clause = append(clause, maybe{lit: s.copyOf(k, a, t)}, maybe{lit: s.addOf(k, a, t)})
			}
			e.orElse(clause...)
		}
	}
	for k := 1; k < len(e.p.Chunks); k++ {
		if e.p.Chunks[k].Size != e.p.Chunks[k-1].Size {
			continue
		}
		for t := 1; t <= h; t++ {
			e.orElse(got(k, t).not(), got(k-1, t))
		}
	}
	return e.full()
}

// moving lists the copies and additions of round t over arcs with places, by chunk and
// arc.
func (e *Formula) moving(t int, places func(hop.Bundled) []int) []Lit {
	var lits []Lit
	for k := range e.p.Chunks {
		for a := range e.arcs {
			if len(places(e.arcs[a])) > 0 {
				lits = append(lits, e.sums.copyOf(k, a, t), e.sums.addOf(k, a, t))
			}
		}
	}
	return lits
}
