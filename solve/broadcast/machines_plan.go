package broadcast

import (
	"cmp"
	"slices"

	"github.com/oraccl/oraccl/model"
)

// plan is how a broadcast over machines is cut and sent. Time is in places of a far hop of a large chunk, in which the ranks
// of home send to one group after the other, over and over again.
type plan struct {
	*machines
	large, small int64 // sizes of chunks
	until        int   // places in which home sends to hubs; 0: there are no hubs except for small chunks
	rounds       int   // of small chunks, one for each rank outside home to be its hub, and one for each rank of home
	stars        []int // by rail

	first  []int // by rail: the place in which what the root has can leave home
	begin  []int // by rail: that of the first star
	behind int   // places from when a hub is sent a chunk until it sends that
}

func (m *machines) others() int { return len(m.groups) - 1 }
func (m *machines) rails() int  { return len(m.groups[0]) }

// place returns how long a place lasts; cycle how long home takes to hand round a chunk of each rail.
func (x *plan) place() model.Time { return x.far.lasts(x.large) }
func (x *plan) cycle() model.Time { return model.Time(x.rails()) * x.near.lasts(x.large) }

// laidOut returns the plan with what is due to the sizes of its chunks, and false if home cannot keep pace with them, or small
// chunks would get in the way of others.
func (x plan) laidOut() (plan, bool) {
	place, n, rails := x.place(), x.others(), x.rails()
	x.first, x.begin = make([]int, rails), make([]int, rails)
	x.behind = 1 + up(x.far.latency, place)
	for i := 1; i < rails; i++ {
		x.first[i] = up(model.Time(i)*x.near.lasts(x.large)+x.near.latency, place)
	}
	early := model.Time(x.rounds*n*rails) * x.far.lasts(x.small)
	for i := range x.begin {
		switch {
		case x.until > 0:
			x.begin[i] = x.until + x.rounds*n
		case i == 0:
			x.begin[i] = up(early, place)
		default:
			x.begin[i] = x.first[i]
			if x.rounds > 0 && (early+model.Time(rails)*x.near.lasts(x.small) > model.Time(x.first[i]+1)*place || x.meets(i, early)) {
				return x, false
			}
		}
	}
	return x, x.small <= x.large && (rails == 1 || x.cycle() <= place)
}

// meets reports whether the first star of a rail comes to some rank while the root still sends it a small chunk, where it sends
// these before anything else, until early.
func (x *plan) meets(rail int, early model.Time) bool {
	n := x.others()
	for at := x.begin[rail]; at < x.begin[rail]+n; at++ {
		after := (x.rails()-1-rail)*n + n - x.turnOf(at) // small chunks that the root sends after the last one to that rank
		if early-model.Time(after)*x.far.lasts(x.small) > model.Time(at)*x.place() {
			return true
		}
	}
	return false
}

// up returns how many of some parts a time takes.
func up(t, part model.Time) int { return int((t + part - 1) / part) }

// hubbed returns how many large chunks of a rail go over hubs.
func (x *plan) hubbed(rail int) int {
	if x.until == 0 {
		return 0
	}
	return max(0, x.until-x.first[rail])
}

// starred returns how many large chunks are stars.
func (x *plan) starred() (sum int64) {
	for _, n := range x.stars {
		sum += int64(n)
	}
	return sum
}

// larges and smalls return how many chunks there are.
func (x *plan) larges() int64 {
	sum := x.starred()
	for i := range x.stars {
		sum += int64(x.hubbed(i))
	}
	return sum
}
func (x *plan) smalls() int64 { return int64(x.rounds * len(x.groups) * x.rails()) }

// turnOf returns the group to which home sends in a place, and target that to which another group does.
func (x *plan) turnOf(place int) int        { return 1 + place%x.others() }
func (x *plan) target(group, place int) int { return (group + x.turnOf(place)) % len(x.groups) }

// holds returns how many bytes chunks can have together.
func (x *plan) holds() int64 { return x.larges()*x.large + x.smalls()*x.small }

// sent returns when all have sent what is no small chunk of a hub.
func (x *plan) sent() model.Time {
	last := 0
	if x.until > 0 {
		last = x.until + x.behind + x.others() - 1
		if x.target(x.turnOf(x.until-1), last-1) == 0 {
			last--
		}
	}
	for i, n := range x.stars {
		last = max(last, x.begin[i]+n*x.others())
	}
	return model.Time(last) * x.place()
}

// turn returns when hubs begin to send the small chunks of a round.
func (x *plan) turn(round int) model.Time {
	at := x.sent()
	for r := range round + 1 {
		come := model.Time((r+1)*x.others()*x.rails()) * x.far.lasts(x.small)
		if x.until > 0 {
			come = model.Time(x.until+(r+1)*x.others()) * x.place()
		}
		if at = max(at, come+x.far.latency); r < round {
			at += x.lastsRound()
		}
	}
	return at
}

// lastsRound returns how long hubs send the small chunks of a round.
func (x *plan) lastsRound() model.Time {
	return model.Time(x.others()*x.rails()) * x.far.lasts(x.small)
}

// lag returns how many cycles after home has begun to hand round a chunk the rank that it has come to sends it on.
func (x *plan) lag() int { return 1 + up(x.near.latency, x.cycle()) }

// ends returns when all is done, or model.MaxTime if a rank of home has its small chunk too late.
func (x *plan) ends() model.Time {
	end := x.sent() + x.far.latency
	if x.rails() > 1 {
		end += x.near.latency + model.Time(x.rails()-1)*x.near.lasts(x.large)
		cycles := 0
		for i, n := range x.stars {
			cycles = max(cycles, x.hubbed(i)+n+x.rounds*len(x.groups))
		}
		handed := model.Time(cycles)*x.cycle() + x.near.latency
		if x.rounds > 0 && handed > x.turn(0) {
			return model.MaxTime
		}
		end = max(end, model.Time(cycles+x.lag()+x.rails()-2)*x.cycle()+x.near.latency)
	}
	if x.rounds > 0 {
		end = max(end, x.turn(x.rounds-1)+x.lastsRound()+x.far.latency)
	}
	return end
}

// planned returns the plan with the fewest chunks that ends soon enough, hardly above a bound, or hardly later than any other, of
// those with a number of chunks at most; false if there is none.
func (m *machines) planned(bound, enough model.Time, most int64) (best plan, found bool) {
	var front []plan // none of which has more chunks than another one that is as soon
	var ends []model.Time
	space := m.p.Space()
	for large := max(1, space/max(1, most)); large <= space; large += 1 + large/fineSizes {
		for rounds := range mostRounds + 1 {
			for _, x := range append(m.withHubs(large, rounds), m.withoutHubs(large, rounds)...) {
				at, count := x.ends(), x.larges()+x.smalls()
				worse := count > most || at == model.MaxTime
				for i := 0; i < len(front) && !worse; i++ {
					worse = ends[i] <= at && front[i].larges()+front[i].smalls() <= count
				}
				if !worse {
					front, ends = append(front, x), append(ends, at)
				}
			}
		}
	}
	if len(front) == 0 {
		return best, false
	}
	first := slices.Min(ends)
	bound = cmp.Or(bound, first)
	limit := max(enough, first+(first-bound)/hardlyLater, bound+bound/hardlyAbove)
	for i, x := range front {
		if ends[i] <= limit && (!found || x.larges()+x.smalls() < best.larges()+best.smalls()) {
			best, found = x, true
		}
	}
	return best, true
}

const (
	// fineSizes is by which part of itself a size of chunks differs from the next one that is tried.
	fineSizes = 16
	// mostRounds is how many rounds of small chunks are tried at most.
	mostRounds = 6
	// hardlyLater is by which part of what a plan is above the bound another one is hardly later, and hardlyAbove by which part
	// of the bound a plan is hardly above it.
	hardlyLater, hardlyAbove = 16, 1000
)

// withHubs returns plans with large chunks of a size that go over hubs, and rounds of small ones: as large as there is time for them
// while the last large ones are handed on in groups.
func (m *machines) withHubs(large int64, rounds int) (list []plan) {
	n, rails := m.others(), m.rails()
	x := plan{machines: m, large: large, rounds: rounds, until: 1, stars: make([]int, rails)}
	if rounds > 0 {
		while := float64(m.near.latency+model.Time(rails)*m.near.lasts(large)) / 1e12 * float64(m.far.bandwidth)
		x.small = min(large, int64(while/float64(rounds*n*rails)))
		if rails == 1 || x.small == 0 {
			return nil
		}
	}
	x, _ = x.laidOut()
	few := max(0, x.behind+n-1-rounds*n) / n
	for stars := few; stars <= few+1; stars++ {
		y := x
		y.stars = make([]int, rails)
		for i := range y.stars {
			y.stars[i] = stars
		}
		y.until = 1
		for i := range y.first {
			y.until = max(y.until, y.first[i])
		}
		lacks := m.p.Space() - y.holds()
		if lacks <= 0 {
			continue
		}
		y.until += int((lacks + large*int64(rails) - 1) / (large * int64(rails)))
		if z, ok := y.fitted(); ok {
			list = append(list, z)
		}
	}
	return list
}

// withoutHubs returns plans with stars of a size, and rounds of small chunks that hold the rest. All rails end about together.
func (m *machines) withoutHubs(large int64, rounds int) (list []plan) {
	n, rails := m.others(), m.rails()
	for count := 1; count <= mostStars; count++ {
		x := plan{machines: m, large: large, rounds: rounds, stars: make([]int, rails)}
		for range 3 { // what the root sends of small chunks leaves less time for its stars
			lacks := m.p.Space() - x.larges()*large
			if rounds > 0 {
				x.small = max(1, (lacks+x.smalls()-1)/x.smalls())
			}
			x, _ = x.laidOut()
			last := slices.Max(x.first) + count*n
			for i := range x.stars {
				x.stars[i] = max(0, last-x.begin[i]) / n
			}
		}
		if x.larges()*large >= m.p.Space()+large*int64(rails) || x.larges() == 0 {
			break
		}
		if y, ok := x.fitted(); ok {
			list = append(list, y)
		}
	}
	return list
}

// mostStars is how many stars of a rail are tried at most where there are no hubs.
const mostStars = 64

// fitted returns a plan with large chunks no larger than they have to be.
func (x plan) fitted() (plan, bool) {
	y := x
	if count := x.larges(); count > 0 {
		y.large = max(1, (x.p.Space()-x.smalls()*x.small+count-1)/count)
	}
	for _, y := range []plan{y, x} {
		if z, ok := y.laidOut(); ok && z.holds() >= x.p.Space() && x.p.Space() >= z.smalls()*z.small+z.larges() {
			return z, true
		}
	}
	return x, false
}

// chunks returns the buffer cut: large ones first, all of about one size, and then the small ones.
func (x *plan) chunks() (list []model.Chunk) {
	small := x.smalls()
	rest := x.p.Space() - small*x.small
	at, count := int64(0), x.larges()
	for k := range count + small {
		size := x.small
		if k < count {
			size = rest/count + min(1, max(0, rest%count-k))
		}
		list = append(list, model.Chunk{Offset: at, Size: size})
		at += size
	}
	return list
}
