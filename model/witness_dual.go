package model

// LPDual holds prices of links, ports and ranks at some instants. A chunk that occupies
// a link at an instant pays the link's price there, and all chunks together can pay no
// more than the prices of all that there is. What a chunk pays at least is seen by
// sharing the prices out among its demands: each demand pays at least for the cheapest
// chain of transfers that meets it in time. It is a feasible dual of the linear program
// of flows in time, one flow a demand, in which the flows of one chunk share what they
// occupy; whatever the numbers, the bound that they yield holds.
//
// A price or share is named by the lowest-numbered of the links that are alike: of
// equal ends, latency, bandwidth and ports. It is the price of each of them.
type LPDual struct {
	Instants []Time         `json:"instants_ps" range:"0,"` // ascending, 0 or more
	Links    []InstantPrice `json:"links,omitempty"`        // of a link and those alike
	Ports    []InstantPrice `json:"ports,omitempty"`        // of a port of the topology
	Sends    []InstantPrice `json:"sends,omitempty"`        // under Rounds: of sending from a rank
	Receives []InstantPrice `json:"receives,omitempty"`     // under Rounds: of receiving at a rank
	Groups   []DualGroup    `json:"groups"`
}

var _ = witness(LPDual{})

// InstantPrice is the price of something at one of the instants, in JSON an array of its
// three numbers. Lists of them are in ascending order of what they name, then of the instant.
type InstantPrice struct {
	Of      int   // the link, port or rank
	Instant int   // index of LPDual.Instants
	Price   int64 // 1 to MaxPrice
}

// MaxPrice is the largest price, and MaxPriced how many prices and shares an LPDual
// may have: sums of them are far from overflowing.
const (
	MaxPrice  = 1 << 31
	MaxPriced = 1 << 24
)

// DualGroup holds chunks whose demands share prices out alike.
type DualGroup struct {
	Chunks  []int        `json:"chunks" range:"0,"` // ascending; no chunk is in two groups
	Demands []DualDemand `json:"demands"`
}

// DualDemand is a contribution that a rank needs of each chunk of its group and does not
// have at the start, with its share of the links' prices, the ports' and ranks' prices
// included. nil is all of them, which only a demand that is alone in its group can have.
type DualDemand struct {
	Source int            `json:"source" range:"0,"` // the rank whose contribution it is
	Dest   int            `json:"dest" range:"0,"`   // the rank that needs it
	Shares []InstantPrice `json:"shares,omitempty"`
}

// Kind implements Witness.
func (LPDual) Kind() string { return "lp-dual" }

func (w LPDual) validate(p *Problem) error {
	if p.Chunks == nil {
		return wrong("groups", "the problem has no chunks, want a cut for a witness of this kind")
	}
	for i, t := range w.Instants {
		if t < 0 || t > MaxTime/4 {
			return wrong(Element("instants", i), "%d ps, want 0 to %d", int64(t), int64(MaxTime/4))
		}
		if i > 0 && t <= w.Instants[i-1] {
			return wrong(Element("instants", i), "%d ps after %d ps, want ascending order", int64(t), int64(w.Instants[i-1]))
		}
	}
	ranks := p.Topology.Ranks
	n := len(w.Instants)
	for _, list := range []struct {
		place, what string
		prices      []InstantPrice
		count       int
	}{
		{"links", "link", w.Links, len(p.Topology.Links)}, {"ports", "port", w.Ports, len(p.Topology.Ports)},
		{"sends", "rank", w.Sends, ranks}, {"receives", "rank", w.Receives, ranks},
	} {
		if err := validPrices(list.place, list.what, list.prices, list.count, n); err != nil {
			return err
		}
	}
	if p.Cost != Rounds && len(w.Sends)+len(w.Receives) > 0 {
		return wrong("sends", "prices of sending and receiving under %v, want them under rounds only", p.Cost)
	}
	priced := len(w.Links) + len(w.Ports) + len(w.Sends) + len(w.Receives)
	grouped := make([]bool, len(p.Chunks))
	for i, g := range w.Groups {
		place := Element("groups", i)
		if err := ascending("chunks", "chunk", g.Chunks, len(p.Chunks)); err != nil {
			return Within(place, err)
		}
		for j, k := range g.Chunks {
			if grouped[k] {
				return Within(place, wrong(Element("chunks", j), "chunk %d is in two groups, want it in one", k))
			}
			grouped[k] = true
		}
		for j, d := range g.Demands {
			at := Element("demands", j)
			switch {
			case d.Source < 0 || d.Source >= ranks:
				return Within(place, Within(at, wrong("source", "rank %d does not exist, want 0 to %d", d.Source, ranks-1)))
			case d.Dest < 0 || d.Dest >= ranks:
				return Within(place, Within(at, wrong("dest", "rank %d does not exist, want 0 to %d", d.Dest, ranks-1)))
			case d.Shares == nil && len(g.Demands) > 1:
				return Within(place, Within(at, wrong("shares", "missing, want them where a group has %d demands", len(g.Demands))))
			}
			if err := validPrices("shares", "link", d.Shares, len(p.Topology.Links), n); err != nil {
				return Within(place, Within(at, err))
			}
			priced += len(d.Shares)
		}
	}
	if priced > MaxPriced {
		return wrong("groups", "%d prices and shares in all, want at most %d", priced, MaxPriced)
	}
	return nil
}

// validPrices reports the first of some prices that is out of order or range, or of
// something that does not exist.
func validPrices(place, what string, prices []InstantPrice, count, instants int) error {
	for i, x := range prices {
		at := Element(place, i)
		switch {
		case count == 0:
			return wrong(at, "%s %d does not exist, there are none", what, x.Of)
		case x.Of < 0 || x.Of >= count:
			return wrong(at, "%s %d does not exist, want 0 to %d", what, x.Of, count-1)
		case instants == 0:
			return wrong(at, "instant %d does not exist, there are none", x.Instant)
		case x.Instant < 0 || x.Instant >= instants:
			return wrong(at, "instant %d does not exist, want 0 to %d", x.Instant, instants-1)
		case x.Price < 1 || x.Price > MaxPrice:
			return wrong(at, "price %d, want 1 to %d", x.Price, int64(MaxPrice))
		}
		if i > 0 && (x.Of < prices[i-1].Of || x.Of == prices[i-1].Of && x.Instant <= prices[i-1].Instant) {
			return wrong(at, "%s %d at instant %d after %s %d at instant %d, want ascending order", what, x.Of, x.Instant, what, prices[i-1].Of, prices[i-1].Instant)
		}
	}
	return nil
}
