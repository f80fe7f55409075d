// Package epoch decides whether a schedule in epochs is feasible by the rules of TE-CCL
// (Liu et al., SIGCOMM 2024, and its published code), on a topology that is given, not on
// the one that its solver was told, and finds the order that its transfers have.
//
// With epochs of τ and chunks of b bytes, a link of bandwidth B carries B·τ/b chunks an
// epoch; a chunk keeps it busy for κ = ⌈b/(B·τ)⌉ epochs, and arrives δ = ⌈α/τ⌉ epochs
// later, where a latency of at most a tenth of an epoch counts as none. So what leaves a
// rank in epoch k is at the next rank, or the next switch, at the beginning of epoch
// k + κ + δ. A switch passes it on in that epoch, and the link from a switch to a rank
// delays by its δ only: its bandwidth limits how much it carries, but the time was spent
// on the way in. In any κ epochs in a row a link carries at most κ·B·τ/b chunks. Parallel
// links count as one of their bandwidths' sum. What several transfers of a chunk that
// leave a rank in the same epoch share on their way to a switch is carried once where that
// switch copies.
//
// Sizes and epochs went through floating point in such files, so that a part in a million
// is let pass.
package epoch

import (
	"cmp"
	"context"
	"fmt"
	"math/big"
	"slices"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/verify"
)

// Engine is the name of this engine in verdicts.
const Engine = "epochs"

// Plan is when the transfers of a schedule start.
type Plan struct {
	Epoch  *big.Rat // τ, picoseconds
	Bytes  *big.Rat // b, of a chunk
	Epochs int      // after which all must have arrived
	Start  []int    // the epoch of each transfer
	// Volume is what part of b each transfer carries; nil: all carry b. With volumes
	// every link delays by one epoch and δ, the last one from a switch too, and in no
	// epoch do its volumes exceed B·τ/b: so TE-CCL counts where it splits chunks.
	Volume []*big.Rat
}

var (
	// Slack is what sizes and times of such files may be off by, as a factor.
	Slack = big.NewRat(1_000_001, 1_000_000)
	// Threshold is how much of an epoch a latency may be and count as none.
	Threshold = big.NewRat(1, 10)
)

// Check decides whether the transfers of s, started as the plan says, have what they send,
// find room on the links and arrive in time. s is of the form model.Ordered; what its After
// says is ignored. It returns s with the order that follows from the plan, without the
// transfers that bring what is there already, and which transfers of s it kept: this
// schedule is for other engines to decide what it performs. It takes O(n log n) time for n
// transfers and links of their routes. Once ctx is done the outcome is Unknown.
func Check(ctx context.Context, p *model.Problem, s *model.Schedule, plan Plan) (ordered *model.Schedule, kept []int, v verify.Verdict) {
	c := &check{p: p, s: s, plan: plan, pairs: map[[2]int]*pair{}, work: verify.Begin(ctx, 0), v: verify.Verdict{Engine: Engine}}
	c.v.Claim = fmt.Sprintf("fits into %d epochs of %s us", plan.Epochs, micros(plan.Epoch))
	c.links()
	c.travel()
	c.capacity()
	ordered, kept = c.order()
	at, adds := p.Topology.Reducer()
	switch {
	case !c.work.Go(1):
		c.v.Reason, c.v.Violations = c.work.Why(), nil
	case adds:
		c.v.Reason, c.v.Violations = fmt.Sprintf("%s adds: want no sums in switches", p.Topology.NodeName(at)), nil
	case len(c.v.Violations) > 0:
		c.v.Outcome = verify.Refuted
	default:
		c.v.Outcome = verify.Proved
	}
	return ordered, kept, c.v
}

func micros(ps *big.Rat) string { return new(big.Rat).Quo(ps, big.NewRat(1e6, 1)).FloatString(6) }

// pair is the links from a node to a node.
type pair struct {
	src, dst     int
	capacity     *big.Rat // chunks an epoch
	kappa, delta int
	uses         []use
}

type use struct {
	epoch    int
	transfer int
}

type check struct {
	p       *model.Problem
	s       *model.Schedule
	plan    Plan
	pairs   map[[2]int]*pair
	arrival []int // of each transfer: the epoch at whose beginning it is there
	work    *verify.Work
	v       verify.Verdict
}

func (c *check) report(code verify.Code, transfer, rank, chunk int, where, format string, args ...any) {
	if len(c.v.Violations) < verify.MaxViolations {
		c.v.Violations = append(c.v.Violations, verify.Wrong(code, where, fmt.Sprintf(format, args...)).AtTransfer(transfer).AtSlot(rank, chunk))
	}
}

// about names a transfer.
func (c *check) about(i int) string {
	t := &c.s.Transfers[i]
	return fmt.Sprintf("transfer %d (chunk %d, %d->%d, in epoch %d)", i, t.Chunk, t.Src, t.Dst, c.plan.Start[i])
}

// links finds what the links from node to node are in epochs.
func (c *check) links() {
	bandwidth := map[*pair]int64{}
	alpha := map[*pair]model.Time{}
	for _, l := range c.p.Topology.Links {
		key := [2]int{l.Src, l.Dst}
		q := c.pairs[key]
		if q == nil {
			q = &pair{src: l.Src, dst: l.Dst}
			c.pairs[key] = q
		}
		bandwidth[q] += l.Bandwidth
		alpha[q] = max(alpha[q], l.Alpha)
	}
	for _, q := range c.pairs {
		// B bytes per second, τ picoseconds
		q.capacity = new(big.Rat).Mul(big.NewRat(bandwidth[q], 1e12), c.plan.Epoch)
		q.capacity.Quo(q.capacity, c.plan.Bytes)
		q.capacity.Mul(q.capacity, Slack)
		q.kappa = ceil(new(big.Rat).Inv(q.capacity))
		if ratio := new(big.Rat).Quo(big.NewRat(int64(alpha[q]), 1), c.plan.Epoch); ratio.Cmp(Threshold) > 0 {
			q.delta = ceil(ratio.Quo(ratio, Slack))
		}
	}
}

// ceil returns ⌈r⌉, or a number too large for any epoch.
func ceil(r *big.Rat) int {
	const most = 1 << 40
	q := new(big.Int).Add(r.Num(), r.Denom())
	q.Sub(q, big.NewInt(1)).Quo(q, r.Denom())
	if !q.IsInt64() || q.Int64() > most {
		return most
	}
	return int(q.Int64())
}

// travel follows every transfer along its route.
func (c *check) travel() {
	t := c.p.Topology
	c.arrival = make([]int, len(c.s.Transfers))
	late, last := 0, 0
	for i := range c.s.Transfers {
		at := c.plan.Start[i]
		for _, l := range c.s.Routes[c.s.Transfers[i].Route] {
			if !c.work.Go(1) {
				return
			}
			q := c.pairs[[2]int{t.Links[l].Src, t.Links[l].Dst}]
			q.uses = append(q.uses, use{at, i})
			at += q.delta
			switch {
			case c.plan.Volume != nil:
				at++
			case t.IsRank(q.src) || !t.IsRank(q.dst):
				at += q.kappa
			}
		}
		c.arrival[i] = at
		if at > c.plan.Epochs {
			late++
			if at > c.arrival[last] || late == 1 {
				last = i
			}
		}
	}
	if late > 0 {
		x := &c.s.Transfers[last]
		c.report(verify.TooFast, last, int(x.Dst), int(x.Chunk), c.about(last), "arrives when %d epochs are over, the last of %d that are late; want at most %d epochs, as many as the file says that it needs",
			c.arrival[last], late, c.plan.Epochs)
	}
}

// capacity checks that no link carries more than it can.
func (c *check) capacity() {
	t := c.p.Topology
	all := make([]*pair, 0, len(c.pairs))
	for _, q := range c.pairs {
		if len(q.uses) > 0 {
			all = append(all, q)
		}
	}
	slices.SortFunc(all, func(a, b *pair) int { return cmp.Or(cmp.Compare(a.src, b.src), cmp.Compare(a.dst, b.dst)) })
	for _, q := range all {
		if !c.work.Go(len(q.uses)) {
			return
		}
		slices.SortFunc(q.uses, func(a, b use) int { return cmp.Or(cmp.Compare(a.epoch, b.epoch), cmp.Compare(a.transfer, b.transfer)) })
		uses := q.uses
		if c.plan.Volume != nil {
			c.volumes(q)
			continue
		}
		if t.Copies(q.dst) {
			uses = c.multicast(uses)
		}
		most := new(big.Rat).Mul(q.capacity, big.NewRat(int64(q.kappa), 1))
		limit := new(big.Int).Quo(most.Num(), most.Denom())
		first := 0
		for i, u := range uses {
			for uses[first].epoch <= u.epoch-q.kappa {
				first++
			}
			if n := int64(i - first + 1); limit.IsInt64() && n > limit.Int64() {
				x := &c.s.Transfers[u.transfer]
				c.report(verify.LinkOverlap, u.transfer, q.src, int(x.Chunk), c.about(u.transfer),
					"the link from %s to %s has to carry %d chunks in the epochs %d to %d, such as %s; it can carry %d",
					t.NodeName(q.src), t.NodeName(q.dst), n, u.epoch-q.kappa+1, u.epoch, c.about(uses[first].transfer), limit)
				break // one per link
			}
		}
	}
}

// volumes checks that a link carries no more than it can in any epoch.
func (c *check) volumes(q *pair) {
	rounding := big.NewRat(1, 1_000_000) // of a volume
	sum := new(big.Rat)
	for i, u := range q.uses {
		if i == 0 || q.uses[i-1].epoch != u.epoch {
			sum.Neg(q.capacity)
		}
		sum.Add(sum, c.plan.Volume[u.transfer])
		sum.Sub(sum, rounding)
		if sum.Sign() > 0 {
			x := &c.s.Transfers[u.transfer]
			c.report(verify.LinkOverlap, u.transfer, q.src, int(x.Chunk), c.about(u.transfer), "the link from %s to %s has to carry more than the %s chunks in epoch %d that it can carry",
				c.p.Topology.NodeName(q.src), c.p.Topology.NodeName(q.dst), q.capacity.FloatString(3), u.epoch)
			return
		}
	}
}

// multicast counts those that carry one chunk from one rank in one epoch as one.
func (c *check) multicast(uses []use) []use {
	type stream struct{ epoch, src, chunk int }
	seen := map[stream]bool{}
	var once []use
	for _, u := range uses {
		x := &c.s.Transfers[u.transfer]
		key := stream{u.epoch, int(x.Src), int(x.Chunk)}
		if !seen[key] {
			once = append(once, u)
		}
		seen[key] = true
	}
	return once
}
