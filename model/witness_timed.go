package model

// TimedPrices holds prices of links that change with time. Every byte pays, for each link on its
// way, the link's price at the time at which it passes, and all links together sell no more than
// their bandwidth over time. It is a feasible dual of the linear program of flows over time, of
// which Prices is the case in which nothing changes.
type TimedPrices struct {
	Classes []PriceClass `json:"classes"`
}

// PriceClass holds links that have equal prices at all times: those of the pieces, and 0 between
// and after them.
type PriceClass struct {
	Links  []int        `json:"links" range:"0,"` // ascending; no link is in two classes
	Pieces []PricePiece `json:"pieces"`           // ascending, disjoint
}

// PricePiece is a price, per byte, that is linear in time.
type PricePiece struct {
	From  Time  `json:"from_ps" range:"0,"`
	To    Time  `json:"to_ps" range:"0,"`
	Price int64 `json:"price" range:"0,"` // at From
	Slope int64 `json:"slope,omitempty"`  // per picosecond
}

// MaxTimedPrice is the largest price that a link may have at any time.
const MaxTimedPrice = 1 << 40

var _ = witness(TimedPrices{})

// Kind implements Witness.
func (TimedPrices) Kind() string { return "timed-prices" }

func (w TimedPrices) validate(p *Problem) error {
	priced := make([]bool, len(p.Topology.Links))
	pieces := 0
	for i, c := range w.Classes {
		place := Element("classes", i)
		if err := ascending("links", "link", c.Links, len(p.Topology.Links)); err != nil {
			return Within(place, err)
		}
		for k, l := range c.Links {
			if priced[l] {
				return Within(place, wrong(Element("links", k), "link %d is in two classes, want it in one", l))
			}
			priced[l] = true
		}
		last := Time(0)
		for k, x := range c.Pieces {
			if err := x.validate(last); err != nil {
				return Within(place, Within(Element("pieces", k), err))
			}
			last = x.To
		}
		if pieces += len(c.Pieces); pieces > MaxPriced {
			return Within(place, wrong("pieces", "%d pieces up to here, want at most %d", pieces, MaxPriced))
		}
	}
	return nil
}

// validate reports what is wrong with a piece that must not begin before a time.
func (x PricePiece) validate(after Time) error {
	switch {
	case x.From < after || x.From > MaxTime/8:
		return wrong("from_ps", "%d ps, want %d, where the piece before ends, to %d", int64(x.From), int64(after), int64(MaxTime/8))
	case x.To <= x.From || x.To > MaxTime/8:
		return wrong("to_ps", "%d ps, want more than %d, up to %d", int64(x.To), int64(x.From), int64(MaxTime/8))
	case x.Price < 0 || x.Price > MaxTimedPrice:
		return wrong("price", "price %d, want 0 to %d", x.Price, int64(MaxTimedPrice))
	}
	length := int64(x.To - x.From)
	if x.Slope > (MaxTimedPrice-x.Price)/length || x.Slope < -(x.Price/length) {
		return wrong("slope", "%d per ps for %d ps from a price of %d on, want prices of 0 to %d", x.Slope, length, x.Price, int64(MaxTimedPrice))
	}
	return nil
}
