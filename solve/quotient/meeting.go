//go:build cgo

package quotient

import (
	"cmp"
	"context"
	"math"
	"slices"
	"time"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve/ejection"
	"github.com/oraccl/oraccl/solve/lp/highs"
	"github.com/oraccl/oraccl/solve/meeting"
)

// Limits of patterns.
const (
	mostMeeting = 1 << 18 // transfers
	fewerParts  = 0.02    // of machines' time is what parts are worth, a half of them half of that
	meetingCuts = 16      // cuts that are weighed
	// leastMeetingGap is how far the first plans, for which there is one of probePart parts of the usual work, are from the bound at least where there
	// are few latencies in that, and largeMeetingGap where there are more.
	leastMeetingGap, fewMeetingLatencies, largeMeetingGap = 0.02, 36, 0.1
	probePart                                             = 8
	// meetingEnd is how many times the bound the end of the first program is, about, and latestEnd up to how many times it is put off.
	meetingEnd, latestEnd = 1.02, 1.15
	wideBins              = 10   // what bins are worth that are as wide as all of the time
	fewMeetingRows        = 800  // rows of a program more are worth as much as a fiftieth of the end
	mostDivided           = 8    // bins in the longest time that divides all latencies
	mostMeetingBins       = 100  // in all
	nearlyWhole           = 0.97 // of the buffer, carried by patterns that are placed
	lowWhole              = 0.8  // the same, if there is no time for more, and the least for which the next program's end is estimated
	meetingShare          = 2    // one of as many parts of the time is for programs
	meetingSpare          = 16   // one of as many parts of the time is spare at either end
)

// amples is how many times the buffer programs are to carry, in turn: it leaves room for what is placed.
var amples = []float64{1.02, 1.03}

// earlies is by which parts of a bin hops begin before their times at most, in each of some placements.
var earlies = []float64{0, 0.1, 0, 0.25}

// meet has an allreduce take the patterns of a linear program (see package meeting), if latencies count and the first few plans are far from the bound, and
// ejections make that shorter. Then it does so again with those of a program that carries more, or ends later: they leave more room.
func (s *search) meet() {
	if s.meetings == 0 && s.ejecting == nil {
		if !s.meets() {
			return
		}
		until := s.work + s.usual/probePart
		for _, t := range s.trials {
			if s.work < until {
				s.spend(t, 1)
			}
		}
		least := leastMeetingGap
		if s.latencies() > fewMeetingLatencies {
			least = largeMeetingGap
		}
		if s.gap() < least {
			return
		}
	}
	for ; s.meetings < len(amples) && s.ctx.Err() == nil && !s.near(); s.meetings++ {
		if s.ejecting == nil {
			if s.ejecting = s.newMeeting(amples[s.meetings]); s.ejecting == nil {
				break
			}
			s.sought, s.ejecting.again = true, s.meetings < len(amples)-1
		}
		if s.eject(); s.ctx.Err() != nil { // it may go on
			return
		}
		s.ejecting = nil
	}
}

// meets reports whether there may be an allreduce to be made of patterns. Over switches a rank reaches many by one hop, and roots and twins are not
// enough: others are nearer to the bound there.
func (s *search) meets() bool {
	if len(s.p.Topology.Switches) > 0 || s.p.Collective.Kind != model.AllReduce || s.p.Cost.Synchronous() || s.p.Chunks != nil || s.o.Effort < 0 || len(s.shops) == 0 || s.bound == 0 || s.near() || highs.Available() != nil {
		return false
	}
	return s.latencies() < manyLatencies && len(s.p.Members()) <= maxLed
}

// latencies returns how many latencies of a hop there are in the bound.
func (s *search) latencies() float64 {
	first := s.shops[0].s
	return float64(s.bound) / float64(first.time(&first.ways[0], 1, 1).lasts)
}

// newMeeting returns ejections that begin with the patterns of a program that is to carry enough, nil if there are none that end soon enough.
func (s *search) newMeeting(enough float64) *ejecting {
	shop := s.widest()
	if s.ctx.Err() != nil {
		return nil
	}
	x := s.meetingCut(shop)
	if x == nil {
		return nil
	}
	ctx := s.ctx
	if end, limited := ctx.Deadline(); limited {
		share, cancel := context.WithTimeout(ctx, time.Until(end)/meetingShare)
		defer cancel()
		ctx = share
	}
	switch {
	case s.patterns != nil && !s.patterns.solve(ctx, enough):
		return nil
	case s.patterns == nil:
		if s.patterns = s.newPatterns(ctx, x, enough); s.patterns == nil {
			return nil
		}
	}
	return s.place(x)
}

// place puts patterns on grids in some ways, and returns ejections that begin with the one whose plan is the shortest when it is justified; nil if grids
// would be too large, or the search is stopped before there is one.
func (s *search) place(x *ejecting) *ejecting {
	for _, early := range earlies {
		if s.ctx.Err() != nil {
			break
		}
		g := x.placed(s.patterns, early)
		if g == nil {
			return nil
		}
		if x.g == nil {
			x.g = g
		}
		if g.Missing() > 0 {
			continue
		}
		y := g.plan()
		y.justifyAll(s.ctx)
		if x.t.keep(y) {
			x.g = g
			s.note(x.t)
		}
	}
	if x.g == nil {
		return nil
	}
	x.e = ejection.NewSearch(x.g.Grid, x.t.rng)
	return x
}

// patterns are those of a program.
type patterns struct {
	program *meeting.Program
	list    []meeting.Pattern
	whole   float64 // how many times the buffer they carry; 0: the program was not solved yet
	most    int     // bins
}

// solve solves the program until it carries enough, with more bins if it cannot, and reports whether that is nearly all of the buffer, or most of it if
// there is no time for more. Of a program that was solved before, patterns are to carry more than they do.
func (of *patterns) solve(ctx context.Context, enough float64) bool {
	for {
		before := of.whole
		list, whole, err := of.program.Solve(ctx, nearlyWhole, enough)
		of.list, of.whole = list, whole
		switch {
		case err != nil:
			return false
		case whole > nearlyWhole && whole > before:
			return true
		case ctx.Err() != nil:
			return whole > lowWhole
		}
		// Patterns carry about as much as there are bins more than the least.
		now, least := of.program.Bins, meeting.Least(of.program.Instance)
		bins := least + int(math.Ceil(float64(now-least)*nearlyWhole/max(of.program.Most(), lowWhole)))
		bins = max(bins, now+1+now/mostMeetingBins)
		if bins > of.most {
			return whole > nearlyWhole
		}
		later, err := of.program.Later(bins - now)
		of.program.Close()
		if of.program, of.whole = later, 0; err != nil {
			return false
		}
	}
}

// newPatterns returns those of the first program that carries nearly all of the buffer, and up to enough of it, nil if none does before it ends too late.
func (s *search) newPatterns(ctx context.Context, x *ejecting, enough float64) *patterns {
	t := x.t
	g := x.grid()
	for i := range g.parts {
		g.parts[i].root = int(t.x.s.reps[0])
	}
	if slices.ContainsFunc(g.s.lanes, func(n int32) bool { return n != 1 }) || !g.open(slices.Repeat([]int32{-1}, len(t.parts)), x.pairs, 1) {
		return nil
	}
	in := meeting.Instance{Shop: g.shop, Class: slices.Repeat([]int32{-1}, s.p.Topology.Ranks), Parts: len(t.parts)}
	for _, u := range t.x.s.reps {
		if !g.s.member[u] {
			continue
		}
		for v, c := range g.s.class {
			if c == g.s.class[u] {
				in.Class[v] = int32(len(in.Roots))
			}
		}
		in.Roots = append(in.Roots, u)
	}
	bound := float64(x.raster.Up(s.bound))
	in.Bin, in.Bins = binsUntil(bound, x.raster.Slots, g.s.hopping())
	if in.Bins == 0 || float64(g.shop.Machines*in.Bins)*in.Bin > mostSlots {
		return nil
	}
	most := int(latestEnd * bound / in.Bin)
	if in.Bins = max(in.Bins, meeting.Least(in)); in.Bins > most {
		return nil
	}
	program, err := meeting.New(in, t.rng)
	if err != nil {
		return nil
	}
	of := &patterns{program: program, most: most}
	if !of.solve(ctx, enough) {
		of.program.Close()
		return nil
	}
	return of
}

// grid returns a grid without a shop, whose parts may have other roots.
func (x *ejecting) grid() *grid {
	return &grid{s: x.t.x.s, parts: slices.Clone(x.t.parts), raster: x.raster, ops: []model.Op{model.Copy, model.Reduction}}
}

// hopping returns how many hops there are, each with its images.
func (s *shop) hopping() (n int) {
	for _, list := range s.out {
		to := map[int32]bool{}
		for _, st := range list {
			to[st.to] = true
		}
		n += len(to)
	}
	return n
}

// binsUntil returns the slots of a bin, of which some are the unit of all latencies, and the number of bins that end soon after a bound; 0 if there
// is none. A program has half as many rows as there are hops and bins.
func binsUntil(bound float64, unit model.Time, hops int) (bin float64, bins int) {
	least := math.Inf(1)
	for parts := range model.Time(mostDivided) {
		w := float64(unit) / float64(parts+1)
		if w < 1 {
			break
		}
		for n := int(bound / w); ; n++ {
			end := float64(n) * w / bound
			if end > latestEnd || n > mostMeetingBins {
				break
			}
			off := 100 * (end - meetingEnd)
			if cost := off*off/4 + float64(n*hops/2)/fewMeetingRows + wideBins/float64(n); end > 1 && cost < least {
				least, bin, bins = cost, w, n
			}
		}
	}
	return bin, bins
}

// meetingCut returns the cut and the slots for patterns: into many parts, of which each is the image of another one; nil if there is none.
func (s *search) meetingCut(shop int) (best *ejecting) {
	x := s.shops[shop]
	members, order := len(s.p.Members()), x.s.g.Order()
	most := 1
	for s.transfers(x, most+1) <= mostMeeting && (most+1)*members/order*s.p.Topology.Ranks <= mostEjected {
		most++
	}
	shard := float64(s.p.Space()) / float64(max(1, s.p.DefaultChunks(1)))
	cost := func(k int) float64 { // what chunks of whole bytes waste
		each := shard / float64(k)
		return math.Ceil(each)/each - 1 + fewerParts*float64(most-k)/float64(most)
	}
	var cuts []int
	for k := most; k > most/2; k-- {
		cuts = append(cuts, k)
	}
	slices.SortStableFunc(cuts, func(k, l int) int { return cmp.Compare(cost(k), cost(l)) })
	least := mostWaste
	for _, k := range cuts[:min(len(cuts), meetingCuts)] {
		t := s.newTrial(shop, cut{parts: k, ratio: 1}, anywhere)
		if t == nil {
			continue
		}
		if t.divide(); len(t.parts)%2 != 0 {
			continue
		}
		t.x = t.x.exchanging()
		r, waste := s.rasterOf(t)
		if waste += fewerParts * float64(most-k) / float64(most); r.Slots > 0 && waste < least {
			best, least = &ejecting{t: t, raster: r, pairs: halvedPairs(nil, len(t.parts)/2)}, waste
		}
	}
	return best
}

// booking is a hop of a pattern that a part takes.
type booking struct {
	slot, part, dir int32
	meeting.Hop
}

// placed returns a grid of parts that take patterns, or nil if it would be too large. Hops are placed in the order of the times that they have, of both
// directions at once, each no earlier than a part of a bin before its time.
func (x *ejecting) placed(of *patterns, early float64) *grid {
	g := x.grid()
	list, late := x.deal(of)
	twins := slices.Repeat([]int32{-1}, len(x.t.parts))
	for i, pair := range x.pairs {
		for _, k := range pair {
			g.parts[k].root, twins[k] = int(list[i].Root), list[i].Twin
		}
	}
	end := int32(math.Ceil(of.program.Bin * float64(of.program.Bins)))
	spare := end/meetingSpare + 2
	if !g.open(twins, x.pairs, end+2*spare) || g.shop.Machines*int(g.shop.Horizon) > mostSlots {
		return nil
	}
	g.Grid = ejection.New(*g.shop)
	var order []booking
	for i, p := range list {
		for dir := range int32(2) {
			for _, h := range p.Hops[dir] {
				at := float64(h.Bin)*of.program.Bin + late[i]
				if dir == 1 { // slots count from the end, and so do those after the begin of a bin
					at = float64(h.Bin+1)*of.program.Bin - late[i]
				}
				order = append(order, booking{spare + int32(at), int32(i), dir, h})
				g.Want(g.Job(i, dir, h.Rank))
			}
		}
	}
	slices.SortStableFunc(order, func(a, b booking) int { return cmp.Compare(a.slot, b.slot) })
	for _, y := range order {
		g.book(y, int32(of.program.Bin*early))
	}
	return g
}

// book does a job as soon as it can be done from its slot on, or a little before it, over one of the arcs from its parent or, if that gets its part too
// late, from any rank.
func (g *grid) book(y booking, early int32) {
	k := g.Job(int(y.part), y.dir, y.Rank)
	arcs := g.Arcs[y.dir][y.Rank]
	first, by := int32(-1), int32(0)
	try := func(i int) {
		from := g.Ready(k, int32(i))
		if from == ejection.Nowhere {
			return
		}
		last := g.Horizon - g.Ways[y.dir][g.Kinds[y.part]][arcs[i].Way].Lasts
		if at := g.Opens(k, int32(i), max(from, y.slot-early), last); at >= 0 && (first < 0 || at < first) {
			first, by = at, int32(i)
		}
	}
	for i := range arcs {
		if arcs[i].Parent == arcs[y.By].Parent {
			try(i)
		}
	}
	for i := 0; first < 0 && i < len(arcs); i++ {
		try(i)
	}
	if first >= 0 {
		g.Do(k, by, first)
	}
}

// deal gives each pair of parts a pattern, in the order in which they meet, and tells how many slots after the begin of its bin that is.
func (x *ejecting) deal(of *patterns) (list []*meeting.Pattern, late []float64) {
	slices.SortStableFunc(of.list, func(a, b meeting.Pattern) int { return cmp.Compare(a.Meets, b.Meets) })
	n, owed := len(x.pairs), 0.5
	for i := range of.list {
		p := &of.list[i]
		for owed += p.Share / of.whole * float64(n); owed >= 1 && len(list) < n; owed-- {
			list = append(list, p)
		}
	}
	for len(list) < n { // rounded away
		list = append(list, list[len(list)-1])
	}
	for len(late) < n {
		first := len(late)
		same := 1
		for first+same < n && list[first+same].Meets == list[first].Meets {
			same++
		}
		for _, at := range x.t.rng.Perm(same) {
			late = append(late, (float64(at)+0.5)*of.program.Bin/float64(same))
		}
	}
	return list, late
}
