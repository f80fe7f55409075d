package stragglar

import (
	"fmt"
	"math/bits"
	"slices"

	"github.com/oraccl/oraccl/model"
)

// The general construction: after the straggler's arrival n ranks, of any number,
// complete m chunks, of any number, in m + ⌈log2 n⌉ - 1 rounds. That is optimal: the
// straggler can send but one chunk a round for the first time, and the last of them
// then has to double its holders ⌈log2 n⌉ times (Bar-Noy and Kipnis, "Broadcasting
// multiple messages in simultaneous send/receive systems", Discrete Applied
// Mathematics 55, 1994, for broadcasting; here the way back of the straggler's link
// carries what the others have summed).
//
// The ready ranks are 0..N-1, N = n-1; the straggler is Z = n-1. Chunks are numbered
// from 1. Those below 1 are virtual: everybody has them, and their transfers are left
// out, which gives the start-up for nothing. Let q = ⌈log2 n⌉, r = n - 2^(q-1).

// spreading is the state before round u. The ready ranks are divided into the classes
// P_1..P_{q-1} and the base B, |P_j| = 2^(j-1), |B| = r, and
//
//	(I1) chunk u-j, 1 <= j < q, is complete at exactly the ranks of P_j, and at Z;
//	(I2) every rank of B has every chunk up to u-q, the old ones;
//	(I3) every rank x of P_j has every old chunk but one, lack[x];
//	(I4) each old chunk that is not virtual is lacked by at most r-1 ranks.
//
// So every rank lacks q-1 of the chunks that came in: that is what the last q-1
// rounds bring. Where r = 1, for n = 2^p+1, P_{q-1} has one rank less and B one more
// until the last chunk has come in, and (I4) holds with 2 in place of r-1.
type spreading struct {
	n, m, q, r int
	owners     []int   // by chunk: the rank that has the ready ranks' sum of it
	class      [][]int // P_j at j; 0 is not used
	base       []int
	lack       []int // by rank
	due        []int // by rank: in how many rounds it is owner next, if that is less than q
	rounds     []Round
	now        []move
}

// ceilLog2 returns ⌈log2 n⌉.
func ceilLog2(n int) int { return bits.Len(uint(n - 1)) }

// RoundRobin returns the order of owners in which the ready ranks of n take turns, for
// m chunks: the one in which an ordinary reduce-scatter leaves them. Three ranks have
// an order of their own: see three.
func RoundRobin(n, m int) []int {
	owners := make([]int, m)
	for c := range owners {
		switch {
		case n != 3:
			owners[c] = c % (n - 1)
		case c >= 1 && c <= max(1, m/2):
			owners[c] = 1
		}
	}
	return owners
}

// checkOwners returns an error that names the rule which the owners break. Any q
// successive owners must differ, so that each can be in the base when its turn comes.
func checkOwners(n int, owners []int) error {
	if n < 2 {
		return fmt.Errorf("%d ranks, want 2 or more", n)
	}
	if len(owners) == 0 {
		return fmt.Errorf("no chunks, want one or more")
	}
	last := make([]int, n-1)
	for c, o := range owners {
		if o < 0 || o >= n-1 {
			return fmt.Errorf("chunk %d is owned by %d, want a ready rank, 0 to %d", c, o, n-2)
		}
		if q := ceilLog2(n); n > 3 && last[o] > 0 && c+1-last[o] < q {
			return fmt.Errorf("rank %d owns chunks %d and %d, want a distance of ⌈log2 n⌉ = %d or more", o, last[o]-1, c, q)
		}
		last[o] = c + 1
	}
	switch n {
	case 3:
		s := 1
		for s < len(owners) && owners[s] != owners[0] {
			s++
		}
		if len(owners) > 1 && s == 1 || slices.ContainsFunc(owners[s:], func(o int) bool { return o != owners[0] }) {
			return fmt.Errorf("owners %v, want A, then B once or more, then A, for 3 ranks", owners)
		}
	case 5:
		for c := 4; c < len(owners); c++ {
			if owners[c] != owners[c-4] {
				return fmt.Errorf("chunk %d is owned by %d, want %d, the owner of chunk %d: 5 ranks take turns", c, owners[c], owners[c-4], c-4)
			}
		}
	}
	return nil
}

// Spread returns the rounds after the arrival for n ranks and len(owners) chunks:
// len(owners) + ⌈log2 n⌉ - 1 of them. owners[c] is the ready rank, 0 to n-2, that has
// the ready ranks' sum of chunk c; any ⌈log2 n⌉ successive ones must differ, 3 and 5
// ranks have orders of their own. For even n each round is a matching of pairs which
// exchange. It takes O(n·m) time and memory, the size of what it returns.
func Spread(n int, owners []int) ([]Round, error) {
	if err := checkOwners(n, owners); err != nil {
		return nil, err
	}
	q := ceilLog2(n)
	s := &spreading{n: n, m: len(owners), q: q, owners: owners, lack: make([]int, n), due: make([]int, n)}
	switch {
	case n == 2:
		for u := 1; u <= s.m; u++ {
			s.exchange(u)
			s.end()
		}
		return s.rounds, nil
	case n == 3:
		return s.three(), nil
	case n == 5:
		return s.five(), nil
	}
	s.r = n - 1<<(q-1)
	if s.r == 1 {
		s.powerPlusOne()
		return s.rounds, nil
	}
	s.begin(s.r, 1<<(q-2))
	for u := 1; u <= s.m; u++ {
		s.step(u)
	}
	for i := 1; i < q-1; i++ {
		s.finish(i)
	}
	s.last()
	return s.rounds, nil
}

// begin divides the ready ranks: those that own first are in the base, the next in
// P_{q-1}, and so on. Each rank of a class lacks a virtual chunk of its own.
func (s *spreading) begin(base, top int) {
	var order []int
	seen := make([]bool, s.n-1)
	for _, o := range s.owners {
		if !seen[o] {
			seen[o] = true
			order = append(order, o)
		}
	}
	for x, was := range seen {
		if !was {
			order = append(order, x)
		}
	}
	for i, x := range order {
		s.lack[x] = -s.n - s.q - i
	}
	s.base, order = order[:base:base], order[base:]
	s.class = make([][]int, s.q)
	for j := s.q - 1; j >= 1; j-- {
		size := 1 << (j - 1)
		if j == s.q-1 {
			size = top
		}
		s.class[j], order = order[:size:size], order[size:]
	}
}

// send writes a copy of chunk u down, if it is not virtual.
func (s *spreading) send(from, to, u int) {
	if u >= 1 {
		s.now = append(s.now, move{u - 1, from, to, model.Copy})
	}
}

// swap writes down that x gets a of y, and y gets b of x.
func (s *spreading) swap(x, y, a, b int) {
	s.send(y, x, a)
	s.send(x, y, b)
}

// exchange is what the straggler does in round u: it and the owner give each other
// their sums of chunk u.
func (s *spreading) exchange(u int) int {
	z, o := s.n-1, s.owners[u-1]
	s.now = append(s.now, move{u - 1, z, o, model.Reduction}, move{u - 1, o, z, model.Reduction})
	return o
}

func (s *spreading) end() {
	s.rounds = append(s.rounds, Round{s.now})
	s.now = nil
}

// urgent returns the ranks with those first that own one of the chunks u+1..u+q-1,
// by ascending chunk, and the others in the order they had. Ranks that stay in the
// base, or come to high classes, are in the base again in time: of those that own
// u+2 and later there are at most q-2, and P_{q-2} feeds 2^(q-3) >= q-2 places.
func (s *spreading) urgent(ranks []int, u int) []int {
	list := make([]int, 0, len(ranks))
	for c := u + 1; c <= min(u+s.q-1, s.m); c++ {
		if s.due[s.owners[c-1]] == 0 {
			s.due[s.owners[c-1]] = c - u
		}
	}
	for _, x := range ranks {
		if s.due[x] > 0 {
			list = append(list, x)
		}
	}
	slices.SortFunc(list, func(x, y int) int { return s.due[x] - s.due[y] })
	for _, x := range ranks {
		if s.due[x] == 0 {
			list = append(list, x)
		}
	}
	for c := u + 1; c <= min(u+s.q-1, s.m); c++ {
		s.due[s.owners[c-1]] = 0
	}
	return list
}

func without(list []int, x int) []int {
	return slices.DeleteFunc(slices.Clone(list), func(y int) bool { return y == x })
}

// step is a round u <= m, for r >= 2. With a = max(0, (r-2)/2), which is between
// max(0, r-1-Q) and min(Q-1, r-2) for Q = 2^(q-2):
//
//	B without the owner = X_B (a) + Y_B (r-1-a),  P_{q-1} = V_q (a+1) + X_P (Q-1-a),
//	P_1 + .. + P_{q-2} = V_s (r-2-a) + Y_s (Q-r+1+a).
//
// A rank of P_j, j < q-1, sends u-j to one of X = X_B + X_P, |X| = Q-1; one of P_{q-1}
// sends u-q+1 to one of Y = Y_B + Y_s, |Y| = Q; one of B sends what it lacks to one of
// V = V_q + V_s, |V| = r-1. For even n, X_B and V_s, Y_B and V_q, X_P and Y_s are
// paired, and each pair exchanges. After it P'_1 is the owner, P'_{j+1} is P_j and
// who got u-j, B' is Y_B + V_q; the owner, X_B and V_s lack u-q+1, X_P and Y_s what
// they lacked.
func (s *spreading) step(u int) {
	o := s.exchange(u)
	a := (s.r - 2) / 2
	base := s.urgent(without(s.base, o), u)
	yb, xb := base[:s.r-1-a], base[s.r-1-a:]
	top := s.urgent(s.class[s.q-1], u)
	vq, xp := top[:a+1], top[a+1:]
	next := make([][]int, s.q)
	next[1] = []int{o}
	s.lack[o] = u - s.q + 1
	s.move(u, 0, -1, xb, yb, vq, xp, s.r-2-a, next)
}

// finish is round m+i, 1 <= i < q-1. Z now has everything: it is one more rank of
// P_i, which has 2^i then, and nobody owns. With a = r/2, between max(0, r-Q) and
// min(Q, r-1):
//
//	B = X_B (a) + Y_B (r-a),  P_{q-1} = V_q (a) + X_P (Q-a),
//	P_i + .. + P_{q-2} without Z = V_s (r-1-a) + Y_s (Q-r+a),
//
// and one rank of the base has nobody to send to.
func (s *spreading) finish(i int) {
	a := s.r / 2
	yb, xb := s.base[:s.r-a], s.base[s.r-a:]
	vq, xp := s.class[s.q-1][:a], s.class[s.q-1][a:]
	s.move(s.m+i, i, s.n-1, xb, yb, vq, xp, s.r-1-a, make([][]int, s.q))
}

// move is what step and finish have in common. z >= 0 is a rank that sends with class
// low and does not move up.
func (s *spreading) move(u, low, z int, xb, yb, vq, xp []int, small int, next [][]int) {
	var senders, of []int // the ranks of P_1..P_{q-2}, the highest class first, and their classes
	for j := s.q - 2; j >= max(1, low); j-- {
		for _, x := range s.class[j] {
			senders, of = append(senders, x), append(of, j)
		}
	}
	if z >= 0 {
		senders, of = append([]int{z}, senders...), append([]int{low}, of...)
	}
	x := s.urgent(slices.Concat(xb, xp), u)
	inBase := map[int]bool{}
	for _, b := range xb {
		inBase[b] = true
	}
	var pairedXB, pairedXP []int // what of the senders is paired with whom
	toXB, toXP := []int{}, []int{}
	for i, from := range senders {
		s.send(from, x[i], u-of[i])
		if from != z {
			next[of[i]+1] = append(next[of[i]+1], from)
		}
		next[of[i]+1] = append(next[of[i]+1], x[i])
		if inBase[x[i]] {
			pairedXB, toXB = append(pairedXB, from), append(toXB, x[i])
		} else {
			pairedXP, toXP = append(pairedXP, from), append(toXP, x[i])
		}
	}
	fresh := u - s.q + 1
	all := make([]int, 0, len(senders))
	for _, p := range slices.Concat(pairedXB, pairedXP) {
		if p != z {
			all = append(all, p)
		}
	}
	vs, ys := all[:small], all[small:]
	if s.n%2 == 0 {
		for i, v := range pairedXB {
			if v != z {
				s.send(toXB[i], v, s.lack[v])
			}
		}
		for i, y := range pairedXP {
			if y != z {
				s.send(toXP[i], y, fresh)
			}
		}
		for i, v := range vq {
			s.swap(v, yb[i], s.lack[v], fresh)
		}
	} else {
		from := slices.Concat(xb, yb)
		for i, v := range slices.Concat(vs, vq) {
			s.send(from[i], v, s.lack[v])
		}
		from = slices.Concat(xp, vq)
		for i, y := range slices.Concat(ys, yb) {
			s.send(from[i], y, fresh)
		}
	}
	for _, v := range vs {
		s.lack[v] = fresh
	}
	for _, b := range xb {
		s.lack[b] = fresh
	}
	s.base, s.class = slices.Concat(yb, vq), next
	s.end()
}

// last is round m+q-1. P_{q-1} and Z are 2^(q-1) ranks, and lack one chunk each, but
// Z. Each rank of the base is paired with one of P_{q-1}, of those that lack the same
// the most numerous first: it gives what the other lacks, and gets chunk m. Of the k
// that are left no more than half, of an odd k no more than (k+1)/2 with Z among
// them, lack the same, so that each can be served by the one k/2 places, or that many
// places, further in the list ordered by what they lack. Z comes last.
func (s *spreading) last() {
	groups := map[int][]int{}
	var keys []int
	for _, x := range s.class[s.q-1] {
		if groups[s.lack[x]] == nil {
			keys = append(keys, s.lack[x])
		}
		groups[s.lack[x]] = append(groups[s.lack[x]], x)
	}
	// Buckets of groups by size, so that taking from the largest takes no search.
	bySize := make([][]int, len(s.class[s.q-1])+1)
	largest := 0
	for _, k := range keys {
		bySize[len(groups[k])] = append(bySize[len(groups[k])], k)
		largest = max(largest, len(groups[k]))
	}
	z := s.n - 1
	for _, b := range s.base {
		for largest > 0 && len(bySize[largest]) == 0 {
			largest--
		}
		if largest == 0 { // for n = 2^q the base has one rank more than P_{q-1}
			s.send(z, b, s.m)
			continue
		}
		bucket := bySize[largest]
		k := bucket[len(bucket)-1]
		bySize[largest] = bucket[:len(bucket)-1]
		g := groups[k]
		x := g[len(g)-1]
		groups[k] = g[:len(g)-1]
		bySize[largest-1] = append(bySize[largest-1], k)
		s.swap(x, b, s.lack[x], s.m)
	}
	slices.SortStableFunc(keys, func(a, b int) int { return len(groups[b]) - len(groups[a]) })
	var rest []int
	for _, k := range keys {
		rest = append(rest, groups[k]...)
	}
	if len(rest) > 0 {
		shift := len(groups[keys[0]])
		if rest = append(rest, z); len(rest)%2 == 0 {
			shift = len(rest) / 2
		}
		for i, x := range rest {
			if x != z {
				s.send(rest[(i+shift)%len(rest)], x, s.lack[x])
			}
		}
	}
	s.end()
}

// powerPlusOne is the construction for n = 2^p+1, p >= 3, where r = 1. Until the last
// chunk is in, B has two ranks and P_{q-1} has Q-1. One rank e of P_{q-2} sends an old
// chunk in place of a new one, to v1 of P_{q-1}, which comes to the base, or to v2 of
// a lower class; the base rank that does not own serves the other. Of v1 and v2 one
// lacks what e has, since no more than two ranks lack the same.
func (s *spreading) powerPlusOne() {
	top := 1<<(s.q-2) - 1
	s.begin(2, top)
	for u := 1; u <= s.m; u++ {
		o := s.exchange(u)
		b := without(s.base, o)[0]
		p := s.urgent(s.class[s.q-1], u)
		v1, xp := p[0], p[1:]
		e := s.class[s.q-2][0]
		next := make([][]int, s.q)
		next[1], next[s.q-1] = []int{o}, []int{e}
		v2, i := -1, 0
		ys := []int{b}
		for j := s.q - 2; j >= 1; j-- {
			for _, x := range s.class[j] {
				if x == e {
					continue
				}
				if v2 < 0 {
					v2 = x
				}
				s.send(x, xp[i], u-j)
				next[j+1] = append(next[j+1], x, xp[i])
				i++
			}
		}
		for j := 1; j < s.q-1; j++ {
			for _, x := range s.class[j] {
				if x != v2 {
					ys = append(ys, x)
				}
			}
		}
		if s.lack[v1] != s.lack[e] {
			s.send(e, v1, s.lack[v1])
			s.send(b, v2, s.lack[v2])
		} else {
			s.send(b, v1, s.lack[v1])
			s.send(e, v2, s.lack[v2])
		}
		fresh := u - s.q + 1
		for i, from := range s.class[s.q-1] {
			s.send(from, ys[i], fresh)
		}
		s.lack[o], s.lack[v2] = fresh, fresh
		s.base, s.class = []int{b, v1}, next
		s.end()
	}
	// Round m+1 is like finish with a = 1: P_{q-1} and one of the base take what the
	// classes have, and the base is left with one rank.
	u, z := s.m+1, s.n-1
	b1, b2 := s.base[0], s.base[1]
	senders, of := []int{z}, []int{1}
	for j := 1; j < s.q-1; j++ {
		for _, x := range s.class[j] {
			senders, of = append(senders, x), append(of, j)
		}
	}
	fresh := u - s.q + 1
	next := make([][]int, s.q)
	for i, x := range slices.Concat([]int{b1}, s.class[s.q-1]) {
		s.send(senders[i], x, u-of[i])
		next[of[i]+1] = append(next[of[i]+1], x)
		if senders[i] != z {
			next[of[i]+1] = append(next[of[i]+1], senders[i])
		}
	}
	v2 := senders[1]
	s.send(b1, v2, s.lack[v2])
	ys := append([]int{b2}, senders[2:]...)
	for i, from := range s.class[s.q-1] {
		s.send(from, ys[i], fresh)
	}
	s.lack[v2], s.lack[b1] = fresh, fresh
	s.base, s.class = []int{b2}, next
	s.end()
	for i := 2; i < s.q-1; i++ {
		s.finish(i)
	}
	s.last()
}

// three is the schedule for 3 ranks, whose owners are A, then B s-1 times, then A.
// Until round s chunks go Z→A→B, and B sends its sums to Z a round ahead; from then on
// they go Z→B→A, and A sends its sums.
func (s *spreading) three() []Round {
	a, z := s.owners[0], 2
	b := 1 - a
	if s.m == 1 {
		s.exchange(1)
		s.end()
		s.send(a, b, 1)
		s.end()
		return s.rounds
	}
	turn := 1
	for turn < s.m && s.owners[turn] == b {
		turn++
	}
	sum := func(from, to, u int) { s.now = append(s.now, move{u - 1, from, to, model.Reduction}) }
	for u := 1; u <= s.m; u++ {
		switch {
		case u == 1:
			sum(z, a, 1)
			sum(b, z, 2)
		case u < turn:
			s.send(z, a, u)
			sum(b, z, u+1)
			s.send(a, b, u-1)
		default:
			s.send(z, b, u)
			if u > turn {
				s.send(b, a, u-1)
			}
			if u < s.m {
				sum(a, z, u+1)
			} else {
				s.send(a, z, 1) // Z has not seen chunk 1 complete
			}
		}
		s.end()
	}
	s.send(a, b, turn-1)
	s.send(b, a, s.m)
	s.end()
	return s.rounds
}

// five is the schedule for 5 ranks: every round is the same, except for the turn of the
// ranks. The owners take turns.
func (s *spreading) five() []Round {
	turn := slices.Clone(s.owners[:min(4, s.m)])
	for x := range 4 {
		if !slices.Contains(turn, x) {
			turn = append(turn, x)
		}
	}
	at := func(u, i int) int { return turn[(u-1+i)%4] }
	for u := 1; u <= s.m; u++ {
		s.exchange(u)
		s.send(at(u, 3), at(u, 1), u-1)
		s.send(at(u, 1), at(u, 2), u-3)
		s.send(at(u, 2), at(u, 3), u-4)
		s.end()
	}
	p := func(i int) int { return at(s.m+1, i) }
	s.swap(p(0), p(1), s.m-2, s.m-1)
	s.swap(p(2), p(3), s.m, s.m-3)
	s.end()
	s.swap(p(0), p(2), s.m, s.m-2)
	s.swap(p(1), p(3), s.m, s.m-1)
	s.end()
	return s.rounds
}
