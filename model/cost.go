package model

import (
	"fmt"
	"slices"
)

// CostModel says how long a transfer lasts and how long it keeps its links busy.
type CostModel uint8

// The cost models. Under each a transfer of b bytes over one link lasts
// α + βb, where βb = ⌈b·10¹²/B⌉ ps.
const (
	// Blocking: the link is busy for α + βb. It is TACOS's model.
	Blocking CostModel = iota + 1
	// Pipelined: the link is busy for βb, and the chunk arrives α later. It is
	// the usual α–β model, TE-CCL's and ForestColl's.
	Pipelined
	// Rounds: time passes in synchronous rounds. In one round a rank sends at
	// most once and receives at most once, and a link carries at most one
	// chunk; the round lasts as long as its longest transfer. It is StragglAR's
	// model.
	Rounds
	// LinkRounds: time passes in synchronous rounds. In one round a link carries
	// at most one chunk, however many links a rank has, and a chunk goes no
	// further than to the next rank; the round lasts as long as its longest
	// transfer. It is SCCL's model with as many steps as rounds (Cai et al.,
	// PPoPP 2021).
	LinkRounds
)

// Synchronous reports whether c counts time in rounds.
func (c CostModel) Synchronous() bool { return c == Rounds || c == LinkRounds }

var costNames = []string{"", "blocking", "pipelined", "rounds", "link-rounds"}

// String returns the name used in files and on the command line: "pipelined".
func (c CostModel) String() string {
	if int(c) < len(costNames) && c > 0 {
		return costNames[c]
	}
	return fmt.Sprintf("CostModel(%d)", uint8(c))
}

// ParseCostModel is the inverse of CostModel.String.
func ParseCostModel(s string) (CostModel, error) {
	if i := slices.Index(costNames, s); i > 0 {
		return CostModel(i), nil
	}
	return 0, fmt.Errorf("cost model %q: want blocking, pipelined, rounds or link-rounds", s)
}

// Interval is the half-open span of time [From, To).
type Interval struct{ From, To Time }

// A route is a path of links from a rank to a rank. What passes a switch on the
// way passes it cut-through, with its head forwarded at once and its tail at
// the rate of the slowest link between the two ranks around it. A rank in the
// middle of a route relays store-and-forward, out of a scratch buffer: its own
// slots are not touched.
//
// So a route falls into hops, each from a rank over switches, if any, to a
// rank. A hop over links 1..l lasts Σα + maxβ·b, and its link i is busy from
// the moment the head enters it, Σ_{j<i} α_j into the hop, for maxβ·b
// (pipelined) or α_i + maxβ·b (blocking).

// Duration returns how long a transfer of bytes over route lasts, from its
// start to its arrival: see Route. It takes O(len(route)) time.
func (t *Topology) Duration(route []int, bytes int64) Time {
	var total Time
	for len(route) > 0 {
		hop := t.hop(route)
		alpha, beta := t.hopCost(route[:hop], bytes)
		total = total.Add(alpha).Add(beta)
		route = route[hop:]
	}
	return total
}

// Busy appends to dst, for each link of route in order, the interval, counted
// from the start of the transfer, in which a transfer of bytes keeps that link
// busy. In rounds that is the model Blocking, within one round. It takes
// O(len(route)) time.
func (t *Topology) Busy(cost CostModel, route []int, bytes int64, dst []Interval) []Interval {
	var at Time
	for len(route) > 0 {
		hop := t.hop(route)
		_, beta := t.hopCost(route[:hop], bytes)
		for _, l := range route[:hop] {
			busy := beta
			if cost != Pipelined {
				busy = busy.Add(t.Links[l].Alpha)
			}
			dst = append(dst, Interval{at, at.Add(busy)})
			at = at.Add(t.Links[l].Alpha)
		}
		at = at.Add(beta)
		route = route[hop:]
	}
	return dst
}

// hop returns the number of links up to the first rank on the way.
func (t *Topology) hop(route []int) int {
	for i, l := range route {
		if t.IsRank(t.Links[l].Dst) {
			return i + 1
		}
	}
	return len(route)
}

func (t *Topology) hopCost(links []int, bytes int64) (alpha, beta Time) {
	for _, l := range links {
		alpha = alpha.Add(t.Links[l].Alpha)
		beta = max(beta, TransferTime(bytes, t.Links[l].Bandwidth))
	}
	return alpha, beta
}
