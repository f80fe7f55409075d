package cert

import (
	"context"

	"github.com/oraccl/oraccl/model"
)

// FewestRounds reports whether c, a proved certificate for p or for p with its cut left
// open, shows that no right schedule of p has fewer rounds than s, or where ranks are late
// and c is about the last of them, fewer that begin after it has arrived. Rounds need not be
// equally long, so that this says nothing of time. It takes O(s + chunks·members) time.
func FewestRounds(ctx context.Context, c *model.Certificate, p *model.Problem, s *model.Schedule) bool {
	if !p.Cost.Synchronous() || s.Form != model.InRounds {
		return false
	}
	if w, ok := c.Witness.(model.Spread); ok && p.ReleaseOf(w.Source) == p.LastArrival() {
		least, err := SpreadRounds(ctx, p, w)
		return err == nil && least == p.RoundsAfterArrival(s)
	}
	return LeastRounds(c) == s.Rounds()
}

// LeastRounds returns how many rounds every right schedule has that c, a proved certificate,
// bounds, or 0 if c does not show that. It takes O(chunks + links) time.
func LeastRounds(c *model.Certificate) int {
	if w, ok := c.Witness.(model.Refutation); ok && w.Epoch == 0 && w.Steps == 0 {
		return w.Horizon + 1
	}
	longest := longestRound(c.Problem)
	if longest == 0 {
		return 0
	}
	return int((c.Bound + longest - 1) / longest)
}

// longestRound returns how long a round lasts at most, or 0 if that is not known: under
// link-rounds as long as the largest chunk takes over the slowest hop. Where ranks are
// late, the time of a schedule is not that of its rounds alone.
func longestRound(p *model.Problem) model.Time {
	if p.Cost != model.LinkRounds || p.Chunks == nil || p.Late() {
		return 0
	}
	size := int64(0)
	for _, c := range p.Chunks {
		size = max(size, c.Size)
	}
	longest := model.Time(0)
	for _, l := range p.Topology.Links {
		if !p.Topology.IsRank(l.Src) || !p.Topology.IsRank(l.Dst) {
			return 0 // hops over switches: there may be longer ones
		}
		longest = max(longest, l.Alpha.Add(model.TransferTime(size, l.Bandwidth)))
	}
	return longest
}
