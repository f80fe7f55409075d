package oneshot

// doors are ways out of groups and into others that differ: the members with some digits are the ones from which another group is
// near, and those with other digits are where one comes in. Each set of owners goes by one of them.
type doors struct {
	within uint       // the dimensions of groups
	pairs  [][2][]int // digits of who sends, and of who gets
}

// crossed reports whether the sums of groups have been exchanged.
func (d *doors) crossed(x state) bool { return x.summed&^d.within != 0 }

// digits returns the digits of the owners that go by a door.
func (d *doors) digits(door int, at state) []int {
	if d.crossed(at) {
		return d.pairs[door][1]
	}
	return d.pairs[door][0]
}

// doors returns plans in which the sum of each group is collected where a door leads out, is sent to the doors in, those of the
// other groups and its own, and is spread from there. They are for layouts whose last dimensions tell groups between
// which a way from one member to another one is shorter than every way from a member to its peer, such as machines whose links lead
// from one rank to another rank of the next one. It takes O(n²) time for each dimension.
func (s *search) doors(x *layout) (plans []*plan) {
	all := uint(1)<<len(x.radix) - 1
	for within := uint(1); within < all; within = 2*within + 1 {
		y := *x
		if y.doors = s.doorsOf(x, within); y.doors != nil {
			plans = append(plans, &plan{layout: &y, turns: [][]state{{{within, within}, {all, within}, {all, 0}}}})
		}
	}
	return plans
}

// doorsOf returns the doors of the groups of members that differ in the digits of some dimensions alone, nil where peers are as near.
func (s *search) doorsOf(x *layout, within uint) *doors {
	size := x.product(within)
	groups := len(x.member) / size
	d, nearest, peers := &doors{within: within}, int64(-1), int64(-1)
	for a := range size {
		for b := range size {
			far := int64(0)
			for g := range groups {
				for h := range groups {
					if g != h {
						far = max(far, s.guide.between(x.member[g*size+a], x.member[h*size+b]))
					}
				}
			}
			switch {
			case a == b && (peers < 0 || far < peers):
				peers = far
			case a != b && (nearest < 0 || far < nearest):
				nearest, d.pairs = far, nil
			}
			if a != b && far == nearest {
				d.pairs = append(d.pairs, [2][]int{x.digitsOf(a), x.digitsOf(b)})
			}
		}
	}
	if nearest < 0 || nearest >= peers {
		return nil
	}
	return d
}

// digitsOf returns the digits that make a number.
func (x *layout) digitsOf(number int) (digits []int) {
	for _, r := range x.radix {
		digits = append(digits, number%r)
		number /= r
	}
	return digits
}
