package smt

import (
	"cmp"
	"math/bits"
	"slices"
)

// telling is the accesses of a chunk in an order in which a goal can follow the values that are moved. As a rule that is the order of time. But only a part
// of that matters: a transfer reads before it writes, and a slot's accesses come in turns, runs of reads or of reductions, or a copy, whose
// order among themselves changes nothing. So a chunk may be retold: see otherwise.
type telling struct {
	accesses []access
	slots    [][]access // of a chunk that is retold, by number: the same, those to one slot each, in the order of time
}

// retell returns the accesses of a chunk, given in the order of time, retold, and numbers its ranks in the order in which they come up then.
func (e *Encoder) retell(q *Query, accesses []access) (telling, numbering) {
	told := telling{accesses: e.otherwise(q.Chunk, accesses)}
	n := e.number(q, told.accesses, false)
	told.slots = make([][]access, len(q.rank))
	for _, a := range accesses {
		c := n.of(e.rankOf(&a))
		told.slots[c] = append(told.slots[c], a)
	}
	for _, list := range told.slots {
		instants(list)
	}
	return told, n
}

// turn is a phase, as the numbers of its accesses, with its neighbours.
type turn struct {
	list         []int32 // accesses, ascending; later: in the order of their codes
	before, next int32   // turns of the same slot, or -1
	left         int32   // how many of them are still to be told
	open         bool    // those before it have been told
	seen         bool    // when it is looked for where the telling may begin
}

// teller tells the accesses of a chunk in another order.
type teller struct {
	*Encoder
	list  []access // in the order of time
	turns []turn
	of    []int32  // by access: its turn
	own   []int32  // by access: the other end of its transfer
	codes []uint64 // by access: what leads to it, and what it leads to
}

// otherwise returns the accesses of chunk k, given in the order of time, in an order that depends on nothing that does not matter, or nearly: chunks that take
// one tree through other ranks have one, whenever what happens. Each access is told once those it waits for have been told, and those that become free at
// a time in the order of their codes (Kahn, "Topological sorting of large networks", Communications of the ACM 5, 1962). Codes are sums of hashes: equal ones only
// make it less likely that two chunks are found to be alike. It takes O(n log n) time for n accesses.
func (e *Encoder) otherwise(k int, list []access) []access {
	x := e.teller(k, list)
	for i := range x.turns {
		slices.SortStableFunc(x.turns[i].list, x.compare)
	}
	return x.tell(x.sources())
}

// teller returns the accesses of chunk k with their turns and codes.
func (e *Encoder) teller(k int, list []access) *teller {
	x := &teller{Encoder: e, list: list, of: make([]int32, len(list)), own: make([]int32, len(list)), codes: make([]uint64, len(list))}
	x.takeTurns(len(e.transfers[k]))
	x.encode()
	return x
}

// Mark returns a number that chunks of a schedule with times have in common if Check asks one question about them, and others hardly ever, though what they start
// from and what is wanted are left out of account. It takes O(n log n) time for n transfers of the chunk.
func (e *Encoder) Mark(k int) (sum uint64) {
	x := e.teller(k, e.accesses(k))
	for _, code := range x.codes {
		sum += hash(code)
	}
	atOnce := uint64(0) // turns that begin at the instant at which the one before ends
	for i := range x.turns {
		if before := x.turns[i].before; before >= 0 {
			if list := x.turns[before].list; x.list[list[len(list)-1]].at == x.list[x.turns[i].list[0]].at {
				atOnce++
			}
		}
	}
	return sum + hash(atOnce)
}

func (x *teller) compare(a, b int32) int { return cmp.Compare(x.codes[a], x.codes[b]) }

// takeTurns finds the turns, and the two ends of each transfer, of which there are some.
func (x *teller) takeTurns(transfers int) {
	last := slices.Repeat([]int32{-1}, x.p.Topology.Ranks) // by rank: its turn
	read := make([]int32, transfers)                       // by place
	for i := range x.list {
		a, slot := &x.list[i], x.rankOf(&x.list[i])
		t := last[slot]
		if t < 0 || !x.harmless(&x.list[x.turns[t].list[0]], a) {
			last[slot] = int32(len(x.turns))
			x.turns = append(x.turns, turn{before: t, next: -1, open: t < 0})
			if t >= 0 {
				x.turns[t].next = last[slot]
			}
			t = last[slot]
		}
		x.of[i] = t
		x.turns[t].list = append(x.turns[t].list, int32(i))
		x.turns[t].left++
		if a.write {
			x.own[i], x.own[read[a.place]] = read[a.place], int32(i)
		} else {
			read[a.place] = int32(i)
		}
	}
}

// encode finds the codes: of what comes before in time, and of what comes after.
func (x *teller) encode() {
	for _, back := range []bool{false, true} {
		code := make([]uint64, len(x.list))
		sums := make([]uint64, len(x.turns)) // of the codes of a turn, with those of the turns before it
		for n := range x.list {
			i := n
			if back {
				i = len(x.list) - 1 - n
			}
			t := x.of[i]
			neighbour := x.turns[t].before
			if back {
				neighbour = x.turns[t].next
			}
			told := uint64(0)
			if neighbour >= 0 {
				told = hash(sums[neighbour])
			}
			if sums[t] == 0 {
				sums[t] = hash(told + 1)
			}
			if a := &x.list[i]; a.write != back { // it goes on with what its own other end has
				code[i] = hash(code[x.own[i]] + uint64(x.s.Transfers[a.transfer].Op) + 2)
			} else {
				code[i] = hash(told + 5)
			}
			sums[t] += hash(code[i])
			x.codes[i] += hash(code[i])
		}
	}
}

// hash mixes the bits of a number.
func hash(x uint64) uint64 {
	high, low := bits.Mul64(x+0x9e3779b97f4a7c15, 0xd6e8feb86659fd93)
	return high ^ low
}

// sources returns the accesses that wait for none, in the order in which they are found from the last ones back: so those of ranks whose sums
// meet follow one another.
func (x *teller) sources() (list []int32) {
	var queue []int32
	seen := make([]bool, len(x.list))
	see := func(i int32) {
		if !seen[i] {
			seen[i] = true
			queue = append(queue, i)
		}
	}
	for i := len(x.list) - 1; i >= 0; i-- {
		if x.list[i].write && x.turns[x.of[i]].next < 0 {
			see(int32(i))
		}
	}
	slices.SortStableFunc(queue, x.compare)
	for n := 0; n < len(queue); n++ {
		i := queue[n]
		if x.list[i].write {
			see(x.own[i])
		}
		before := x.turns[x.of[i]].before
		if before < 0 {
			if !x.list[i].write {
				list = append(list, i)
			}
			continue
		}
		if t := &x.turns[before]; !t.seen {
			t.seen = true
			for _, j := range t.list {
				see(j)
			}
		}
	}
	return list
}

// tell returns all accesses, from those that wait for none on.
func (x *teller) tell(queue []int32) []access {
	order := make([]access, 0, len(x.list))
	free := make([]bool, len(x.list)) // writes: what they write has been read
	for n := 0; n < len(queue); n++ {
		i := queue[n]
		order = append(order, x.list[i])
		if !x.list[i].write {
			j := x.own[i]
			if free[j] = true; x.turns[x.of[j]].open {
				queue = append(queue, j)
			}
		}
		t := &x.turns[x.of[i]]
		if t.left--; t.left > 0 || t.next < 0 {
			continue
		}
		t = &x.turns[t.next]
		t.open = true
		for _, j := range t.list {
			if !x.list[j].write || free[j] {
				queue = append(queue, j)
			}
		}
	}
	return order
}
