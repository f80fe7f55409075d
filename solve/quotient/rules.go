package quotient

// manyLatencies is after how many of them they count no longer.
const manyLatencies = 250

// fewLatencies is up to how many of them count most.
const fewLatencies = 20

// latency returns the latency of a hop.
func (t *trial) latency() float64 {
	tm := &t.x.s.ways[0].times[0]
	return float64(tm.lasts - tm.stride)
}

// By how much the sums of some parts are over before those of others. While some are still added up, others are gathered, so that
// links need not wait for the first to be gathered after the last was added up.
const (
	mostApart   = 6    // latencies, in rules that have it short
	likelyWide  = 0.75 // the share of rules that have it up to about what all sums take
	beyondApart = 1.2  // of that, at most
)

// apart returns by how much the sum of the first part is over before that of the last in a first attempt: a few latencies, or
// half of what sums take, or all of it where that is not many latencies.
func (t *trial) apart() float64 {
	switch {
	case t.short() && t.rng.IntN(3) > 0:
		return t.half
	case t.short() || !t.many():
		return 2 * t.latency()
	}
	return t.half / 2
}

// short reports whether an allreduce takes few latencies, and many whether there is no time for many attempts. In others sums that
// are far apart gain less than what they keep idle.
func (t *trial) short() bool { return t.half < fewLatencies/2*t.latency() }
func (t *trial) many() bool  { return t.x.s.t.Ranks > maxLed }

// rule draws a rule for sums (0) or gatherings (1): at first one that often does well, later one near
// that of the best plan half of the time.
func (t *trial) rule(i int, allreduce bool) rule {
	draw := t.rng.Float64
	late := 2 * draw()
	if allreduce && i == 0 && draw() < 0.5 {
		late = -late
	}
	r := rule{choices: 2 * draw(), rare: 4 * draw(), long: draw(), late: late, random: 0.3 * draw()}
	if t.spread > 0 && draw() < t.likelyFar() {
		r.far = max(1, float64(t.spread)*draw()*draw())
		r.wait = 0.3 * draw() * draw()
		r.rare = 6*draw() - 3
		r.even = evenWeight * draw() * draw()
	}
	if t.latent && i == 0 && draw() < 0.7 {
		most := mostApart * t.latency()
		if (t.short() || t.many()) && draw() < likelyWide {
			most = max(most, beyondApart*float64(t.sums))
		}
		r.apart = draw() * most
	}
	r.pairs = *t.x.s.mutual && t.latent && i == 0 && draw() < likelyPairs
	if t.rules == nil {
		usual := rule{choices: 1.5, rare: 1, long: 0.5, late: 1.5, random: 0.1}
		if allreduce && i == 0 && t.cut.ratio == 1 {
			usual.late = -1.5 // what is gathered first is added up first
			if t.latent && (t.many() || t.rng.IntN(2) == 0) {
				usual.apart = t.apart()
			}
			usual.pairs = r.pairs
		}
		if t.fitted {
			return rule{rare: -1, late: 1, random: 0.1, far: 0.05 * float64(t.spread), wait: 0.1}
		}
		if t.spread > 0 && !t.wentFar && len(t.parts)*t.x.s.t.Ranks >= costlyJobs {
			t.wentFar = true
			return rule{rare: 3, random: 0.1, far: 0.05 * float64(t.spread), wait: 0.05, even: 3}
		}
		return usual
	}
	if draw() < 0.5 || i >= len(t.rules) {
		return r
	}
	old := t.rules[i]
	if (old.far > 0) != (r.far > 0) {
		return r
	}
	mix := 0.3 * draw()
	blend := func(a, b float64) float64 { return a + mix*(b-a) }
	return rule{
		choices: blend(old.choices, r.choices), rare: blend(old.rare, r.rare), long: blend(old.long, r.long), late: blend(old.late, r.late),
		random: blend(old.random, r.random), wait: blend(old.wait, r.wait), far: blend(old.far, r.far), even: blend(old.even, r.even), apart: blend(old.apart, r.apart),
		pairs: old.pairs,
	}
}

// likelyPairs is the share of rules by which pairs of neighbours exchange sums.
const likelyPairs = 0.6

// costlyJobs is from how many jobs on there is no time for many attempts: then the first has the rule that did best at the first
// attempt on dragonflies, and is the quickest.
const costlyJobs = 1 << 10

// evenWeight is the weight of even loads at most: see rule.
const evenWeight = 5

// likelyFar is the share of rules that have hops over long ways go first: more if that did best.
func (t *trial) likelyFar() float64 {
	if t.rules != nil && t.rules[0].far > 0 {
		return 0.7
	}
	return 0.25
}
