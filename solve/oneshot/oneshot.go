// Package oneshot holds allreduces of small buffers.
//
// One-shot: every rank sends what it has to every other one, which adds it up. No sum goes on,
// so that all is over after one latency from each rank to each, where two-shot methods, which
// add a part up at its owner and send the sum to all, take two. But each link carries (n-1)/2
// times as much.
//
// The mixture sends a part of the buffer one-shot while the sums of the other part are on their
// way. Let A be the parts that owners add up, B the part that is sent one-shot, and C the
// sums. Each rank sends A, B and C without a pause. Around one switch, with n equal ranks, a
// latency of a from rank to rank, and x for all of the buffer over one link, no allreduce ends
// before
//
//	a + (n-1)x                where (n-1)x <= a: one-shot does that,
//	x + a(2n-3)/(n-1)         where a <= (n-1)x <= na: the mixture comes within (n-1)x/nP
//	                          of that, with P pieces for each owner,
//	a + 2(n-1)x/n             above: two-shot does that, with P pieces for which
//	                          (1-1/P)(n-1)x/n >= a.
//
// The first two are coverages, the third is the volume: see package verify/cert. With several
// switches, to each of which each rank has a link, x is the time over all of its links: see planes.go. Other
// networks have no such formula; the same two methods serve them over ways of least latency.
//
// The hierarchical composition goes along dimensions. On networks of several levels, such as
// machines with switches between them, these are the ranks of a machine and the machines; on grids
// and cubes those of the members' numbers, or of Gray's code of them. It adds up along some of
// them, exchanges sums along the others, and spreads them back (BlueConnect; with one exchanged
// dimension, or all: recursive multiplying: Ruefenacht, Bull and Booth, "Generalisation of
// recursive doubling for allreduce", Parallel Computing 69, 2017). On tori whose sides are powers of
// two sums of neighbours are doubled both ways round, so that all is over after the latencies of the
// diameter with n hops in each: see rings.go. Other sides have, for each number of rounds, an allreduce of one chunk with the fewest
// hops: a table that a SAT solver has found, see table.go. On networks without switches sums of neighbours are also exchanged by a few ranks
// among them, see hubs.go. All chunks are on their way at once, and each begins with another dimension:
// pipelined, on a hypercube of d dimensions with latency a, in which x is the time of the buffer
// over a link, that takes da + x/d in the limit of small pieces where x/d <= a, which is the least:
// a rank needs x/d to send all, and what leaves last needs da to the other end.
//
// Where latencies count, compositions are lists of states: along which dimensions sums are added up, and along which only owners
// have them. A search with labels finds those with few hops for each latency, such as sums that owners send to all at once, and
// each serves backwards, too. In the end each chunk may go by a composition of its own, so that links which one leaves idle
// serve another: a linear program over the times at which links are needed proposes how many chunks follow each, and chunks choose
// compositions and times at prices that grow with what links have to send at the time. Where what a member sends takes a latency or more,
// another linear program, over slots of time, says when a fluid would be sent by each class of hops that are alike, and chunks follow that
// timetable: see timetable.go. Then single chunks are placed again, sooner or later, as long as all are sooner over: see vary.go.
//
// Small networks whose ranks do not fall into dimensions, such as one in which a link or a rank has failed, have patterns instead: allreduces of one
// chunk that a SAT solver finds, each of which costs little at the prices that the linear program has for the links that others keep busy. See
// patterns.go. Where what waits for one link would come too late for others, chunks follow itineraries, which say when each part of a pattern is sent:
// see itinerary.go. Where something has failed, compositions of the whole network serve as well, in all places to which its symmetries move them. See
// lost.go.
package oneshot

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/solve/network"
	"github.com/oraccl/oraccl/solve/place"
)

// All returns the methods of this package.
func All() []solve.Solver {
	return []solve.Solver{&method{name: "oneshot"}, &method{name: "mixed"}, &method{name: "hierarchical"}}
}

// method is one-shot, the mixture, or the composition.
type method struct{ name string }

// Limits of the methods.
const (
	maxMembers   = 256
	maxGrouped   = 512     // members of a composition
	maxManyBytes = 1 << 20 // buffer for more than maxMembers of them: other methods take the time where there is much to send
	maxTransfers = 1 << 18
	maxLedBytes  = 1 << 18 // buffer for which a composition is worth most of the time whatever the latencies
	littleMore   = 1.4     // times the latency
	unevenMore   = 1.125   // the same where direct links are uneven
	maxMixed     = 1 << 21 // transfers that a search for a mixture places in all
	maxComposed  = 1 << 21 // those that a search for a composition does where it leads
	maxBeside    = 1 << 19 // those that it does elsewhere: others need the time

	maxComposition = 1 << 20 // transfers of a composition without images: twice as many of 256 ranks are not verified in the time that is left
	moreImages     = 4       // times as many where chunks have this many images, or more: what is proved of one is proved of all
)

// room returns how many transfers a composition may make of chunks of each of which some images go together.
func (s *search) room(images int) int {
	return s.atMost(maxComposition * min(images, moreImages))
}

// roomOfOne is room where all chunks take the plan of one composition: an eighth more where they have many images, since most of them are alike then, and
// proved together.
func (s *search) roomOfOne(images int) int {
	if images < moreImages {
		return s.room(images)
	}
	return s.atMost(maxComposition / 8 * 9 * moreImages)
}

// atMost returns a number of transfers, or those that there is time to verify, if these are fewer.
func (s *search) atMost(transfers int) int {
	return min(cmp.Or(s.verified, math.MaxInt), transfers)
}

// Name implements solve.Solver.
func (m *method) Name() string { return m.name }

// About implements solve.Solver.
func (m *method) About() solve.About {
	a := solve.About{
		Serves:    "allreduce, timed, no rank late; up to 256 members",
		Guarantee: "optimal around one switch with n equal ranks, and on complete graphs, where all that a rank sends takes a latency or less",
		Source:    "`solve/oneshot`",
		Quick:     m.name != "hierarchical",
	}
	switch m.name {
	case "hierarchical":
		a.Leads = func(p *model.Problem) bool { return leads(p) && m.Serves(p) == nil }
		a.Serves = "allreduce, timed, no rank late, among members that fall into equal groups, or did before a failure, or up to 64 without switches; up to 256 members, or 512 up to 1 MiB"
		a.Guarantee = "pipelined, on hypercubes, and tori of equal sides, a power of two, with equal links: optimal in the limit of small pieces where the buffer takes at most the latency of the diameter over a link"
		a.Source = "Cho et al., BlueConnect, MLSys 2019; Ruefenacht et al. 2017; patterns: Gilmore and Gomory 1961, with CaDiCaL; `solve/oneshot`"
	case "mixed":
		a.Guarantee = "around one switch with equal ranks optimal in the limit of small pieces, for every size"
	}
	return a
}

// leads reports whether a composition is worth most of the time.
func leads(p *model.Problem) bool {
	return p.Size <= maxLedBytes || latent(p) && !network.Irregular(p)
}

// latent reports whether to send and to get the whole buffer takes a member less time than two latencies to the farthest one
// and back, or little more.
func latent(p *model.Problem) bool {
	d := newDistances(p, p.Members()[:1])
	far := int64(0)
	for _, r := range p.Members() {
		far = max(far, d.from[0][r])
	}
	more := littleMore
	if network.Uneven(p) {
		more = unevenMore
	}
	return !slow(p, model.Time(more*float64(far/perPicosecond)))
}

// slow reports whether it takes the first member more than some time to send the whole buffer over all its links.
func slow(p *model.Problem, than model.Time) bool {
	out := 0.0
	for _, l := range p.Topology.Out()[p.Members()[0]] {
		out += float64(p.Topology.Links[l].Bandwidth)
	}
	return float64(p.Size)*1e12 > out*float64(than)
}

// Serves implements solve.Solver.
func (m *method) Serves(p *model.Problem) error {
	n, most := len(p.Members()), maxMembers
	if m.name == "hierarchical" {
		most = maxGrouped
	}
	switch {
	case p.Collective.Kind != model.AllReduce:
		return solve.NotServed("serves allreduce, not %v", p.Collective.Kind)
	case p.Cost.Synchronous():
		return solve.NotServed("serves blocking and pipelined schedules, not those in %v: a rank would send all in one round", p.Cost)
	case p.Late():
		return solve.NotServed("serves ranks that are all there at the start")
	case n > most:
		return solve.NotServed("serves up to %d members, not %d", most, n)
	case n > maxMembers && p.Size > maxManyBytes:
		return solve.NotServed("serves more than %d members up to %s, not %s", maxMembers, model.FormatBytes(maxManyBytes), model.FormatBytes(p.Size))
	case len(p.Chunks)*n*(n-1) > maxTransfers:
		return solve.NotServed("would make %d transfers, more than %d", len(p.Chunks)*n*(n-1), maxTransfers)
	}
	if err := place.Reachable(p.Topology); err != nil {
		return solve.NotServed("%v", err)
	}
	if m.name == "hierarchical" && n > 1 && len(layouts(p)) == 0 {
		if _, rings := torus(p); rings == nil && !hubbed(p) && !wasGrouped(p) {
			return solve.NotServed("serves members that fall into equal groups, or did before some of the network failed, and %d to %d that are all of a network without switches, not %d", fewHubbed, mostHubbed, n)
		}
	}
	return nil
}

// Solve implements solve.Solver. It is deterministic and uses no options but Chunks, Bound, Best,
// Enough, MostTransfers and the time limit.
func (m *method) Solve(ctx context.Context, p *model.Problem, o solve.Options) (solve.Result, error) {
	if err := m.Serves(p); err != nil {
		return solve.Result{}, err
	}
	b, cancel := o.Budget(ctx)
	defer cancel()
	if p.Chunks == nil && o.Chunks > 0 {
		p = solve.Cut(p, o.Chunks)
		if err := m.Serves(p); err != nil {
			return solve.Result{}, err
		}
	}
	if len(p.Members()) == 1 {
		return solve.Result{Problem: solve.Cut(p, 1), Schedule: &model.Schedule{Form: model.Timed}, Stop: solve.Done}, nil
	}
	s := &search{p: p, b: b, bound: max(o.Bound, o.Enough), others: model.MaxTime, most: maxMixed, verified: o.MostTransfers, large: map[int]int64{}}
	if o.Best > 0 {
		s.others = o.Best
	}
	if m.name == "hierarchical" {
		s.most, s.ways = maxComposed, &ways{}
		switch s.leading = leads(p); {
		case !s.leading:
			s.most = maxBeside
		case b.Left() != math.MaxInt64: // the time ends it, if it must
			s.most = 2 * maxComposed
		}
		s.compose(layouts(p))
	} else {
		s.ways = newWays(b, p, everyPair(len(p.Members())))
		s.order = slices.Clone(s.ways.pairs)
	}
	switch {
	case b.Spent(), m.name == "hierarchical":
	case m.name == "mixed" && p.Chunks != nil:
		s.mixCut()
	case m.name == "mixed":
		s.most = mostMixed(p)
		s.mix()
	default:
		s.oneShot()
	}
	stop := solve.Done
	if s.best == nil {
		if stop = b.Stop(); stop == 0 {
			return solve.Result{}, solve.NotServed("found no order in which each rank sends its contribution before others are added to it")
		}
		return solve.Result{Problem: solve.Cut(p, 1), Stop: stop}, nil
	}
	if b.Spent() {
		stop = b.Stop()
	}
	return s.result(stop), nil
}
