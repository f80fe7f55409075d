package cert

import "github.com/oraccl/oraccl/model"

// curve is a function of time that is linear from the start of each piece to the next one, and
// constant in the last. It has no value before the first piece.
type curve []piece

// piece is the value of a curve from a time on.
type piece struct {
	from  model.Time
	price int64 // at from
	slope int64 // per picosecond
}

func (p piece) at(t model.Time) int64 { return p.price + p.slope*int64(t-p.from) }

// at returns the value at t; never before the curve begins.
func (c curve) at(t model.Time) (value int64, never bool) {
	for i := len(c) - 1; i >= 0; i-- {
		if c[i].from <= t {
			return c[i].at(t), false
		}
	}
	return 0, true
}

// then appends a piece, if it is not how the last one goes on. It replaces one that has no length.
func (c curve) then(p piece) curve {
	if n := len(c); n > 0 {
		last := c[n-1]
		if last.from == p.from {
			return c[:n-1].then(p)
		}
		if last.slope == p.slope && last.at(p.from) == p.price {
			return c
		}
	}
	return append(c, p)
}

// falls appends a curve that never rises: what p is until a time, but no more than the least value
// so far, and returns that value at the end. Where p crosses it between two whole times, the
// line from the one to the other is taken, which is lower.
func (c curve) falls(p piece, until model.Time, least int64) (curve, int64) {
	end := p.at(until)
	switch {
	case p.slope >= 0:
		least = min(least, p.price)
		return c.then(piece{p.from, least, 0}), least
	case least <= end:
		return c.then(piece{p.from, least, 0}), least
	case p.price > least:
		return c.cross(piece{p.from, least, 0}, p, p.price-least, until), end
	}
	return c.then(p), end
}

// pays returns, for each time t, the least of what c and prices have come to at any time s with
// open <= s <= t-lag, exactly at whole times, and between them that or less. Neither c nor prices
// may end with a slope.
// The result is appended to sum, which must be empty.
func (c curve) pays(sum, prices curve, open, lag model.Time) curve {
	start := max(c[0].from, open)
	i, k := 0, 0
	least := int64(1) << 62
	for {
		for i+1 < len(c) && c[i+1].from <= start {
			i++
		}
		for k+1 < len(prices) && prices[k+1].from <= start {
			k++
		}
		p := piece{start, c[i].at(start) + prices[k].at(start), c[i].slope + prices[k].slope}
		until := model.MaxTime
		if i+1 < len(c) {
			until = c[i+1].from
		}
		if k+1 < len(prices) {
			until = min(until, prices[k+1].from)
		}
		if until == model.MaxTime {
			sum = sum.then(piece{start, min(least, p.price), 0})
			break
		}
		sum, least = sum.falls(p, until, least)
		start = until
	}
	for i := range sum {
		sum[i].from += lag
	}
	return sum
}

// least returns the lower of two curves, exactly at whole times, and between them that or less. It
// reports whether that is not c all along. The result is appended to low, which must be empty.
func (c curve) least(low, d curve) (curve, bool) {
	if len(c) == 0 {
		return append(low, d...), len(d) > 0
	}
	start := min(c[0].from, d[0].from)
	i, k, changed := 0, 0, false
	for start < model.MaxTime {
		for i+1 < len(c) && c[i+1].from <= start {
			i++
		}
		for k+1 < len(d) && d[k+1].from <= start {
			k++
		}
		until := model.MaxTime
		for _, at := range []model.Time{c[i].from, d[k].from} {
			if at > start {
				until = min(until, at)
			}
		}
		if i+1 < len(c) {
			until = min(until, c[i+1].from)
		}
		if k+1 < len(d) {
			until = min(until, d[k+1].from)
		}
		switch {
		case d[k].from > start:
			low = low.then(c[i].onward(start))
		case c[i].from > start:
			low, changed = low.then(d[k].onward(start)), true
		default:
			var lower bool
			low, lower = low.lower(c[i].onward(start), d[k].onward(start), until)
			changed = changed || lower
		}
		start = until
	}
	return low, changed
}

// onward returns the piece from a later time on.
func (p piece) onward(from model.Time) piece { return piece{from, p.at(from), p.slope} }

// lower appends the lower of two pieces that begin at one time, until another; and reports
// whether that is ever the second one.
func (c curve) lower(p, q piece, until model.Time) (curve, bool) {
	if until == model.MaxTime {
		if q.price < p.price {
			return c.then(q), true
		}
		return c.then(p), false
	}
	begin, end := q.price-p.price, q.at(until)-p.at(until)
	switch {
	case begin >= 0 && end >= 0:
		return c.then(p), false
	case begin <= 0 && end <= 0:
		return c.then(q), true
	case begin > 0: // p, then q
		return c.cross(p, q, begin, until), true
	}
	return c.cross(q, p, -begin, until), true
}

// cross appends p and, from where they meet, q, which begins as much higher as over tells. If that
// is between two whole times, it appends the line from the one to the other.
func (c curve) cross(p, q piece, over int64, until model.Time) curve {
	closing := p.slope - q.slope // greater than 0, for they meet
	c = c.then(p)
	meet := p.from + model.Time(over/closing)
	if over%closing != 0 {
		c = c.then(piece{meet, p.at(meet), q.at(meet+1) - p.at(meet)})
		meet++
	}
	if meet < until {
		c = c.then(q.onward(meet))
	}
	return c
}
