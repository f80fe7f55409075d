package model

// Prices holds a price for each link. Each chunk has to pay, for the time that it
// occupies links, at least for the cheapest path to a rank that needs it, and all
// links together can sell no more than their time. It is a feasible dual of the
// maximum concurrent flow, of which cuts are special cases.
type Prices struct {
	Links []int64 `json:"prices" range:"0,"` // by link, each >= 0
}

var _ = witness(Prices{})

// Kind implements Witness.
func (Prices) Kind() string { return "prices" }

func (w Prices) validate(p *Problem) error {
	if n := len(p.Topology.Links); len(w.Links) != n {
		return wrong("prices", "%d prices, want one for each of %d links", len(w.Links), n)
	}
	for i, price := range w.Links {
		if price < 0 {
			return wrong(Element("prices", i), "price %d, want 0 or more", price)
		}
	}
	return nil
}
