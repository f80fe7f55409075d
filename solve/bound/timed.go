package bound

import (
	"cmp"
	"math"
	"slices"

	"github.com/oraccl/oraccl/model"
)

// maxRamped is up to how many pairs of ranks latencies are weighed.
const maxRamped = 1 << 20

// timed returns the best bound of prices that change with time where ranks send and receive over
// switches alone. Let D bytes go over the links out of the members, of B bytes per second in all,
// and over those into them, of B' bytes per second. On average bytes leave D/2B after the start or
// later, and arrive D/2B' before the end or sooner. So T >= D/2B + D/2B' + the average latency of
// their ways. The prices that say that fall by 1 per picosecond on links out of ranks, from D/B at
// first, and rise as fast to D/B' on those into them. It is tried for the pairs of each latency or
// more.
func (f *finder) timed() (model.Time, model.Witness) {
	n := len(f.members)
	if n < 2 || n*n > maxRamped || f.p.Late() {
		return 0, nil
	}
	out, in, ok := f.ends()
	if !ok {
		return 0, nil
	}
	pairs := f.latencies()
	if pairs == nil {
		return 0, nil
	}
	var sent, received float64
	for _, l := range out {
		sent += float64(f.t.Links[l].Bandwidth) / float64(model.Second)
	}
	for _, l := range in {
		received += float64(f.t.Links[l].Bandwidth) / float64(model.Second)
	}
	best, falls, rises := 0.0, 0.0, 0.0
	bytes, weighed := 0.0, 0.0
	for i, x := range pairs {
		bytes += x.bytes
		weighed += x.bytes * float64(x.latency)
		if i+1 < len(pairs) && pairs[i+1].latency == x.latency {
			continue
		}
		if t := bytes/sent/2 + bytes/received/2 + weighed/bytes; t > best {
			best, falls, rises = t, bytes/sent, bytes/received
		}
	}
	// Whole numbers that are a little too small yield a little less.
	t, theta, rise := model.Time(best)-1, model.Time(math.Round(falls)), model.Time(math.Round(rises))
	if t <= rise || theta <= 0 || rise <= 0 || t > model.MaxTime/16 {
		return 0, nil
	}
	var w model.TimedPrices
	w.Classes = append(w.Classes, model.PriceClass{Links: out, Pieces: []model.PricePiece{{To: theta, Price: int64(theta), Slope: -1}}})
	for _, l := range in { // by latency, so that all rise to one price at the end
		alpha := f.t.Links[l].Alpha
		begin := t - rise - alpha
		i := slices.IndexFunc(w.Classes[1:], func(c model.PriceClass) bool { return c.Pieces[0].From == begin })
		if i < 0 {
			if begin < 0 {
				return 0, nil
			}
			i = len(w.Classes) - 1
			w.Classes = append(w.Classes, model.PriceClass{Pieces: []model.PricePiece{{From: begin, To: begin + 2*rise, Slope: 1}}})
		}
		w.Classes[i+1].Links = append(w.Classes[i+1].Links, l)
	}
	return t, w
}

// ends returns the links from members to switches, and those from switches to members, or false
// if members have other links.
func (f *finder) ends() (out, in []int, ok bool) {
	for _, r := range f.members {
		for _, l := range f.out[r] {
			if f.t.IsRank(f.t.Links[l].Dst) {
				return nil, nil, false
			}
			out = append(out, l)
		}
		for _, l := range f.in[r] {
			if f.t.IsRank(f.t.Links[l].Src) {
				return nil, nil, false
			}
			in = append(in, l)
		}
	}
	slices.Sort(out)
	slices.Sort(in)
	return out, in, len(out) > 0 && len(in) > 0
}

// apiece is how many bytes have to go so far.
type apiece struct {
	latency model.Time
	bytes   float64
}

// latencies returns the least latency of each part's way, with its bytes, the greatest first; nil
// if some part has no way, or the time is over.
func (f *finder) latencies() []apiece {
	var list []apiece
	set := make([]bool, f.t.Ranks)
	for _, r := range f.members {
		if f.budget.Spent() {
			return nil
		}
		set[r] = true
		at := f.reach(f.starts(set, false), 0, false, false).full
		set[r] = false
		for _, i := range f.bySrc[r] {
			d := f.parts[i].dst
			if int(d) == r {
				continue
			}
			if at[d] == model.MaxTime {
				return nil
			}
			list = append(list, apiece{at[d], float64(f.shape(i).bytes)})
		}
	}
	slices.SortFunc(list, func(a, b apiece) int { return cmp.Compare(b.latency, a.latency) })
	return list
}
