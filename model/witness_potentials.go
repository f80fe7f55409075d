package model

// TimedPotentials holds prices of links that change with time, and for each contribution and each
// rank that needs it what it costs at least to come to each rank by a time. A transfer of a byte serves
// all that it brings to where they would cost more, and together they cost no more by that than the
// transfer pays for its links. It is a feasible dual of the linear program of flows over time of what
// is copied, or added up, on the way.
type TimedPotentials struct {
	Horizon Time         `json:"horizon_ps" range:"0,"` // until when this holds
	Classes []PriceClass `json:"classes"`
	Costs   []TimedCost  `json:"costs"`
	Ways    []CostlyWay  `json:"ways"`
}

// TimedCost is a cost that falls with time. Before its first step it is infinite, and so it is
// without steps.
type TimedCost struct {
	Steps []CostStep `json:"steps"` // ascending in time, descending in cost
}

// CostStep is a cost, per byte, from a time on.
type CostStep struct {
	From Time  `json:"from_ps" range:"0,"`
	Cost int64 `json:"cost" range:"0,"`
}

// CostlyWay is what a rank contributes and another one needs, with what it costs to come to where.
type CostlyWay struct {
	Source int   `json:"source" range:"0,"`
	Dest   int   `json:"dest" range:"0,"`
	Costs  []int `json:"costs" range:"0,"` // for each rank: which of the costs
}

// MaxWays is the largest number of ways, and of costs, that TimedPotentials may have.
const MaxWays = 1 << 16

var _ = witness(TimedPotentials{})

// Kind implements Witness.
func (TimedPotentials) Kind() string { return "timed-potentials" }

func (w TimedPotentials) validate(p *Problem) error {
	if err := (TimedPrices{w.Classes}).validate(p); err != nil {
		return err
	}
	if w.Horizon < 0 || w.Horizon > MaxTime/8 {
		return wrong("horizon_ps", "%d ps, want 0 to %d", int64(w.Horizon), int64(MaxTime/8))
	}
	for i, c := range w.Classes {
		for k, x := range c.Pieces {
			if x.Slope != 0 {
				return Within(Element("classes", i), Within(Element("pieces", k), wrong("slope", "%d, want 0", x.Slope)))
			}
		}
	}
	if len(w.Costs) > MaxWays || len(w.Ways) > MaxWays {
		return wrong("ways", "%d ways and %d costs, want at most %d", len(w.Ways), len(w.Costs), MaxWays)
	}
	for i, c := range w.Costs {
		for k, x := range c.Steps {
			switch {
			case x.From < 0 || x.From > MaxTime/8 || k > 0 && x.From <= c.Steps[k-1].From:
				return Within(Element("costs", i), wrong(Element("steps", k), "from %d ps on, want ascending times up to %d", int64(x.From), int64(MaxTime/8)))
			case x.Cost < 0 || x.Cost > MaxTimedPrice || k > 0 && x.Cost >= c.Steps[k-1].Cost:
				return Within(Element("costs", i), wrong(Element("steps", k), "a cost of %d, want descending costs of 0 to %d", x.Cost, int64(MaxTimedPrice)))
			}
		}
	}
	ranks := p.Topology.Ranks
	known := map[[2]int]bool{}
	for i, x := range w.Ways {
		place := Element("ways", i)
		switch {
		case x.Source < 0 || x.Source >= ranks:
			return Within(place, wrong("source", "rank %d does not exist, want 0 to %d", x.Source, ranks-1))
		case x.Dest < 0 || x.Dest >= ranks || x.Dest == x.Source:
			return Within(place, wrong("dest", "rank %d, want another one of 0 to %d than %d", x.Dest, ranks-1, x.Source))
		case known[[2]int{x.Source, x.Dest}]:
			return Within(place, wrong("dest", "a second way from %d to %d", x.Source, x.Dest))
		case len(x.Costs) != ranks:
			return Within(place, wrong("costs", "%d costs, want one for each of %d ranks", len(x.Costs), ranks))
		}
		known[[2]int{x.Source, x.Dest}] = true
		for r, c := range x.Costs {
			if c < 0 || c >= len(w.Costs) {
				return Within(place, wrong(Element("costs", r), "cost %d does not exist, want 0 to %d", c, len(w.Costs)-1))
			}
		}
	}
	return nil
}
