package quotient

import (
	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve/ejection"
)

// rounded is an allgather in rounds, where all hops have one latency. In each round a link takes a few chunks at most, and a rank sends
// on what came in the rounds before. Then each chunk is cut into many parts, and each link takes the first parts of all its chunks of a
// round, then the second ones, and so on: so what arrives last of a part goes on soon, and a round lasts little longer than a latency.
//
// Rounds leave out when in a round a chunk is sent, which is most of what a search among slots has to decide, and cost no time where
// the least rounds there can be are wholly used.
type rounded struct {
	x       *shop
	chunks  int        // of a rank
	pieces  int        // parts of a chunk
	each    int        // as many chunks a link takes in a round
	rounds  int        // in which hops start
	latency model.Time // of a hop
	piece   model.Time // a link is busy with a part for so long
}

// Limits of rounds.
const (
	mostRoundChunks = 13      // of a rank
	roundsWork      = 1 << 17 // of ejections for one job
	mostRoundsWork  = 1 << 26
	roundsMissed    = 2 // searches in vain
	fewestPieces    = 8
	fewestBytes     = 16     // of a part
	mostRoundJobs   = 1 << 7 // of one part a rank that stands for others
	roundsHorizon   = 4      // times the rounds in which all may be done at first
)

// window returns for how long links are busy in a round.
func (r *rounded) window() model.Time { return r.piece * model.Time(r.each*r.pieces) }

// period returns how long after a round the next one begins: what was sent last of each part is there by then.
func (r *rounded) period() model.Time {
	return max(r.window(), r.latency+r.piece*model.Time(r.each))
}

// end returns when all is over.
func (r *rounded) end() model.Time {
	return model.Time(r.rounds-1)*r.period() + r.window() + r.latency
}

// ideal returns when all would be over if parts were as small as can be.
func (r *rounded) ideal() model.Time {
	return model.Time(r.rounds-1)*max(r.window(), r.latency) + r.window() + r.latency
}

// roundsSearch is a search for an allgather in rounds, which goes on where its context ended it.
type roundsSearch struct {
	r *rounded
	t *trial
	g *ejection.Grid
	e *ejection.Search
}

// inRounds tries allgathers in rounds, of few chunks first, as long as they are sooner over than the best plan. It is not done where
// symmetries move all ranks, since then few hops are left to choose.
func (s *search) inRounds() {
	if s.p.Collective.Kind != model.AllGather || s.p.Chunks != nil || s.p.Cost.Synchronous() || s.p.Late() || s.jobs() < manyJobs || s.jobs() > mostRoundJobs || len(s.shops[0].s.reps) == 1 {
		return
	}
	before := s.work
	s.probe()
	if s.budget += s.work - before; s.gap() <= largeGap || s.best == nil {
		return
	}
	x, least := s.shops[0].s, 0
	for _, u := range x.reps {
		if x.member[u] {
			least = max(least, x.farthest(int(u)))
		}
	}
	for k, missed := 2, 0; k <= mostRoundChunks && missed < roundsMissed && !s.near(); k++ {
		for r := s.fewer(k, least); r != nil && s.ctx.Err() == nil; r = s.fewer(k, least) {
			if !s.tryRounds(r) {
				missed++
				break
			}
		}
		if s.ctx.Err() != nil {
			return
		}
	}
}

// fewer returns the allgather of some chunks in some number of rounds that is over sooner than the best plan, and takes most in a round; nil if
// there is none, or it would be over before the bound.
func (s *search) fewer(chunks, rounds int) (best *rounded) {
	x := s.shops[0].s
	members := int64(max(1, s.p.DefaultChunks(1)))
	whole := (s.p.Space() + members - 1) / members
	for each := 1; each <= chunks; each++ {
		pieces := fewestPieces
		for s.transfers(s.shops[0], 2*pieces*chunks) <= mostRefined && int64(2*pieces*chunks*fewestBytes) <= whole {
			pieces *= 2
		}
		r := &rounded{x: x, chunks: chunks, pieces: pieces, each: each, rounds: rounds}
		if !r.times(whole) || float64(s.bound) > fewLatencies*float64(r.latency) {
			return nil
		}
		if r.ideal() >= s.bound && float64(r.end()) < float64(s.best.best.end)*worthHalving {
			best = r
		}
	}
	return best
}

// times finds how long hops of parts last, and reports whether that is the same for all, which take one machine each.
func (r *rounded) times(whole int64) bool {
	size := (whole + int64(r.chunks*r.pieces) - 1) / int64(r.chunks*r.pieces)
	for w := range r.x.ways {
		way := &r.x.ways[w]
		tm := r.x.time(way, size, size)
		if w == 0 {
			r.piece, r.latency = tm.stride, tm.lasts-tm.stride
		}
		if len(way.visits) != 1 || way.batches > 1 || r.x.lanes[way.visits[0].machine] != 1 || tm.stride != r.piece || tm.lasts != r.piece+r.latency {
			return false
		}
	}
	return int64(r.chunks*r.pieces) <= whole
}

// tryRounds looks for an allgather in rounds, and reports whether it finds one.
func (s *search) tryRounds(r *rounded) bool {
	if x := s.rounds; x == nil || *x.r != *r {
		t := s.newTrial(0, cut{parts: r.chunks * r.pieces, ratio: 1}, anywhere)
		if t == nil {
			return false
		}
		g := r.grid()
		s.rounds = &roundsSearch{r: r, t: t, g: g, e: ejection.NewSearch(g, t.rng)}
	}
	x := s.rounds
	most, before := min(mostRoundsWork, roundsWork*int64(r.chunks)*s.jobs())-x.e.Work, x.e.Work
	whole := x.e.Run(s.ctx, most, int32(r.rounds))
	s.work += x.e.Work - before
	s.budget += x.e.Work - before
	if !whole || x.g.Lasts() > int32(r.rounds) {
		return false
	}
	if x.t.divide(); len(x.t.parts) != len(x.g.Roots)*r.pieces {
		return false
	}
	x.t.keep(r.plan(x.g, x.t.x.s, x.t.parts))
	s.trials = append(s.trials, x.t)
	s.note(x.t)
	return true
}

// grid returns the grid whose slots are rounds. It has each machine as often as that takes chunks in a round.
func (r *rounded) grid() *ejection.Grid {
	x := r.x
	shop := ejection.Shop{Ranks: x.t.Ranks, Machines: len(x.lanes) * r.each, Horizon: int32(roundsHorizon * r.rounds), Arcs: make([][][]ejection.Arc, 1)}
	into := make([][]ejection.Arc, x.t.Ranks)
	for v, list := range x.arcs(model.Copy) {
		for _, a := range list {
			for i := range r.each {
				into[v] = append(into[v], ejection.Arc{Parent: a.Parent, Step: a.Step, Way: a.Way*int32(r.each) + int32(i)})
			}
		}
	}
	var ways []ejection.Way
	for w := range x.ways {
		for i := range r.each {
			m := x.ways[w].visits[0].machine*int32(r.each) + int32(i)
			ways = append(ways, ejection.Way{Stays: []ejection.Stay{{Machine: m, Width: 1}}, Lasts: 1})
		}
	}
	shop.Arcs[0], shop.Ways = into, [][][]ejection.Way{{ways}}
	for range r.chunks {
		for _, u := range x.reps {
			if x.member[u] {
				shop.Roots, shop.Kinds = append(shop.Roots, u), append(shop.Kinds, 0)
			}
		}
	}
	g := ejection.New(shop)
	for part, root := range shop.Roots {
		for v, member := range x.member {
			if member && int32(v) != root {
				g.Want(g.Job(part, 0, int32(v)))
			}
		}
	}
	return g
}

// plan returns what is done on a grid, with each chunk in its parts.
func (r *rounded) plan(g *ejection.Grid, s *shop, parts []part) *plan {
	y := &plan{s: s, parts: parts}
	roots := len(g.Roots) / r.chunks
	for _, h := range g.Hops() {
		a := &g.Arcs[0][h.Rank][h.By]
		number, root := h.Part/roots, h.Part%roots
		at := model.Time(h.Start)*r.period() + r.piece*model.Time(int(a.Way)%r.each)
		for i := range r.pieces {
			y.jobs = append(y.jobs, job{part: int32((number*r.pieces+i)*roots + root), src: a.Parent, dst: h.Rank, step: a.Step, start: at + r.piece*model.Time(i*r.each)})
		}
	}
	y.early(y.waits(), nil)
	return y
}
