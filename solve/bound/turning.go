package bound

import (
	"math/big"

	"github.com/oraccl/oraccl/model"
)

// readingRanks returns by when an allreduce can have ended among n equal ranks that read sums at switches and
// have no other way: before two hops have passed only direct transfers are of use, of which it would
// take n·(n-1), each over a link of its own from its source; and what is sent first, and comes last, leaves links idle, unless more is sent. It is 0
// for other problems. See package cert.
func (f *finder) readingRanks() model.Time {
	n := int64(f.t.Ranks)
	if f.p.Collective.Kind != model.AllReduce || n < 3 || len(f.members) != f.t.Ranks || f.p.Late() || f.p.Cost.Synchronous() || len(f.t.Links) == 0 {
		return 0
	}
	for _, s := range f.t.Switches {
		if s.Reduces != model.SumsRead { // which has one link each way to a rank at most
			return 0
		}
	}
	var to, from []model.Time // latencies of links to switches, and back
	degree := make([]int, f.t.Nodes())
	for _, l := range f.t.Links {
		switch {
		case f.t.IsRank(l.Src) == f.t.IsRank(l.Dst) || l.Bandwidth != f.t.Links[0].Bandwidth:
			return 0
		case f.t.IsRank(l.Src):
			to = append(to, l.Alpha)
		default:
			from = append(from, l.Alpha)
		}
		degree[l.Src]++
	}
	for i := range to {
		if to[i] != to[0] || from[i] != from[0] { // as many, since a rank has links both ways
			return 0
		}
	}
	for r := range f.t.Ranks {
		if degree[r] != len(f.t.Switches) {
			return 0
		}
	}
	size := int64(0)
	for i := range f.parts {
		size += f.shape(int32(i)).bytes
	}
	product := func(numbers ...int64) *big.Int {
		all := big.NewInt(1)
		for _, x := range numbers {
			all.Mul(all, big.NewInt(x))
		}
		return all
	}
	hop := int64(to[0] + from[0])
	speed := product(f.t.Links[0].Bandwidth, int64(len(f.t.Switches)))
	// ends returns when the area need is there, at one rate for so long and at another one after it.
	ends := func(need *big.Int, rate, long, after int64) model.Time {
		first := new(big.Int).Mul(speed, product(rate, long))
		begin := hop
		if need.Cmp(first) > 0 {
			need, rate, begin = new(big.Int).Sub(need, first), after, hop+long
		}
		per := new(big.Int).Mul(speed, big.NewInt(rate))
		q, r := new(big.Int).DivMod(need, per, new(big.Int))
		if r.Sign() > 0 {
			q.Add(q, big.NewInt(1))
		}
		if !q.IsInt64() {
			return model.MaxTime
		}
		return model.Time(begin).Add(model.Time(q.Int64()))
	}
	second := int64(model.Second)
	return max(ends(product(n+1, size, second), 2, hop, 2*(n-1)),
		min(model.Time(3*hop), ends(product(n-1, n-1, size, second), n-1, hop, n-1+n*(n-2))),
		ends(product(2, n*n-1, size, second), n*(n+1), 2*hop, 2*n*(n-1)))
}
