package cnf

import "math"

// vector is a block of variables with up to four indices.
type vector struct {
	first int
	size  [4]int
}

func (f *formula) vector(a, b, c, d int) (vector, error) {
	n := int64(1)
	for _, s := range []int{a, b, c, d} {
		if s > 0 && n > math.MaxInt32/int64(s) {
			return vector{}, tooLarge("more than %d variables", maxVars)
		}
		n *= int64(s)
	}
	first, err := f.number(int(n))
	return vector{first, [4]int{a, b, c, d}}, err
}

func (v vector) at(a, b, c, d int) int {
	return v.first + ((a*v.size[1]+b)*v.size[2]+c)*v.size[3] + d
}

// contributions holds the variables of section 10.6.
type contributions struct {
	val  vector // chunk, rank, contribution, round-1
	move vector // chunk, arc, round, 0 copy or 1 add
	via  vector // chunk, arc, round, contribution
	got  vector // chunk, round-1
}

// allReduce writes the formula of section 10.6.
func (f *formula) allReduce() error {
	chunks, ranks, arcs, h := len(f.p.Chunks), f.t.Ranks, len(f.arcs), f.horizon
	v := &contributions{}
	var err error
	for _, block := range []struct {
		to         *vector
		a, b, c, d int
	}{{&v.val, chunks, ranks, ranks, h}, {&v.move, chunks, arcs, h, 2}, {&v.via, chunks, arcs, h, ranks}, {&v.got, chunks, h, 1, 1}} {
		if *block.to, err = f.vector(block.a, block.b, block.c, block.d); err != nil {
			return err
		}
	}
	for k := range chunks {
		for t := range h {
			for r := range ranks {
				if f.receive(v, k, t, r); f.failed != nil {
					return f.failed
				}
			}
		}
	}
	for k := range chunks {
		for r := range ranks {
			for j := range ranks {
				f.value(v, +1, k, r, j, h)
				f.end()
			}
		}
	}
	f.order(v)
	if f.failed != nil {
		return f.failed
	}
	return f.capacities(func(epoch int, over []int, take func(k, a int, uses func(place int) bool, l int)) {
		always := func(int) bool { return true }
		for k := range chunks {
			for _, a := range over {
				take(k, a, always, v.move.at(k, a, epoch, 0))
				take(k, a, always, v.move.at(k, a, epoch, 1))
			}
		}
	})
}

// value adds val(k,r,j,t), or with sign -1 its negation, to a clause.
func (f *formula) value(v *contributions, sign, k, r, j, t int) {
	switch {
	case t > 0:
		f.lit(sign * v.val.at(k, r, j, t-1))
	case (r == j) == (sign > 0):
		f.satisfied = true
	}
}

// receive writes the clauses 1 to 8 of a chunk, a round and a rank.
func (f *formula) receive(v *contributions, k, t, r int) {
	into, ranks := f.into[r], f.t.Ranks
	copyBy := func(a int) int { return v.move.at(k, a, t, 0) }
	addBy := func(a int) int { return v.move.at(k, a, t, 1) }
	for i := range into {
		for j := i + 1; j < len(into); j++ {
			f.say(-copyBy(into[i]), -copyBy(into[j]))
		}
	}
	for _, a := range into {
		for _, b := range into {
			f.say(-copyBy(a), -addBy(b))
		}
	}
	for _, a := range into {
		for j := range ranks {
			f.lit(-copyBy(a))
			f.value(v, -1, k, f.arcs[a].from, j, t)
			f.value(v, +1, k, r, j, t+1)
			f.end()
			f.lit(-copyBy(a))
			f.value(v, +1, k, f.arcs[a].from, j, t)
			f.value(v, -1, k, r, j, t+1)
			f.end()
		}
	}
	for _, a := range into {
		for j := range ranks {
			f.lit(-addBy(a))
			f.value(v, -1, k, f.arcs[a].from, j, t)
			f.value(v, +1, k, r, j, t+1)
			f.end()
		}
	}
	if !f.p.Collective.Op.Idempotent() {
		f.once(v, k, t, r)
	}
	for j := range ranks {
		f.value(v, -1, k, r, j, t)
		for _, a := range into {
			f.lit(copyBy(a))
		}
		f.value(v, +1, k, r, j, t+1)
		f.end()
	}
	for _, a := range into {
		for j := range ranks {
			via := v.via.at(k, a, t, j)
			f.say(-via, copyBy(a), addBy(a))
			f.lit(-via)
			f.value(v, +1, k, f.arcs[a].from, j, t)
			f.end()
		}
	}
	for j := range ranks {
		f.value(v, -1, k, r, j, t+1)
		f.value(v, +1, k, r, j, t)
		for _, a := range into {
			f.lit(v.via.at(k, a, t, j))
		}
		f.end()
	}
}

// once writes clause 5: nothing is added twice.
func (f *formula) once(v *contributions, k, t, r int) {
	into := f.into[r]
	for _, a := range into {
		for j := range f.t.Ranks {
			f.lit(-v.move.at(k, a, t, 1))
			f.value(v, -1, k, f.arcs[a].from, j, t)
			f.value(v, -1, k, r, j, t)
			f.end()
		}
	}
	for i, a := range into {
		for _, b := range into[i+1:] {
			for j := range f.t.Ranks {
				f.lit(-v.move.at(k, a, t, 1))
				f.lit(-v.move.at(k, b, t, 1))
				f.value(v, -1, k, f.arcs[a].from, j, t)
				f.value(v, -1, k, f.arcs[b].from, j, t)
				f.end()
			}
		}
	}
}

// order writes what orders chunks that are alike.
func (f *formula) order(v *contributions) {
	got := func(sign, k, t int) {
		switch {
		case t > 0:
			f.lit(sign * v.got.at(k, t-1, 0, 0))
		case sign < 0:
			f.satisfied = true
		}
	}
	for k := range f.p.Chunks {
		for t := range f.horizon {
			for _, a := range f.into[0] {
				for op := range 2 {
					f.lit(-v.move.at(k, a, t, op))
					got(+1, k, t+1)
					f.end()
				}
			}
			got(-1, k, t)
			got(+1, k, t+1)
			f.end()
			got(-1, k, t+1)
			got(+1, k, t)
			for _, a := range f.into[0] {
				f.lit(v.move.at(k, a, t, 0))
				f.lit(v.move.at(k, a, t, 1))
			}
			f.end()
		}
	}
	for k := 1; k < len(f.p.Chunks); k++ {
		if f.p.Chunks[k].Size != f.p.Chunks[k-1].Size {
			continue
		}
		for t := 1; t <= f.horizon; t++ {
			got(-1, k, t)
			got(+1, k-1, t)
			f.end()
		}
	}
}
