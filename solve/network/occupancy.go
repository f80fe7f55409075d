package network

import "github.com/oraccl/oraccl/model"

// Occupancy is from when on the resources of a network are free, while transfers are put at times
// in the order of their starts.
type Occupancy struct {
	*Network
	Free []model.Time // by resource: from when on
}

// NewOccupancy returns an occupancy in which everything is free.
func NewOccupancy(n *Network) Occupancy {
	return Occupancy{n, make([]model.Time, n.Resources)}
}

// Opens returns the first time at which a transfer can start over a hop.
func (o *Occupancy) Opens(l int32) model.Time {
	x := &o.Hops[l]
	at := model.Time(0)
	for i := x.Uses; i < x.UsesEnd; i++ {
		u := &o.Uses[i]
		at = max(at, o.Free[o.Place(u)]-u.From)
	}
	return at
}

// Place returns the resource that a use would take: of several, that which is free
// first.
func (o *Occupancy) Place(u *Use) int32 {
	best := o.Choices[u.Choice]
	for i := u.Choice + 1; i < u.ChoiceEnd; i++ {
		if r := o.Choices[i]; o.Free[r] < o.Free[best] {
			best = r
		}
	}
	return best
}

// Take has a transfer that starts at a time take what it needs.
func (o *Occupancy) Take(l int32, start, beta model.Time) {
	x := &o.Hops[l]
	for i := x.Uses; i < x.UsesEnd; i++ {
		u := &o.Uses[i]
		o.Free[o.Place(u)] = start + u.From + beta + u.Extra
	}
}
