package cert

import (
	"errors"
	"math/big"

	"github.com/oraccl/oraccl/model"
)

// reading returns the bound of a load whose transfers each pass one of the links in, which
// enter ranks, and one of the links out, which leave ranks, where switches copy and add, all
// of them as model.SumsRead has it.
//
// Lemma (reading). Let no switch have links to more than d ranks, d >= 3, of those that add,
// and let no other one copy. Then n transfers occupy links of ranks in all n·(d+1)/(d-1)
// times or more, a link from rank to rank counting twice.
//
// Proof. Streams of several transfers at such a switch have two links [(read)], and there are
// no others [(apart)]. One of m transfers occupies m+1 links of ranks [a multicast the one
// from its source, and one to each of its m destinations, and a sum likewise], and one more
// [(read)]: these are m+2 for m transfers, m >= 2. A single transfer occupies its first link
// and its last one. Of m >= 2 transfers of a stream the m ends that differ, and the rank at
// the other end, are at the switch, so that m <= d-1, and (m+2)/m >= (d+1)/(d-1), which is 2
// at most. ∎
//
// So (passing) holds for the areas of all these links together. What a stream occupies beside
// its own links comes as long before, or after, what it occupies of them as (read) has it,
// so that windows are widened by that. With d = n and 2n-2 transfers an allreduce of S bytes
// among n ranks with links of B bytes per second each way lasts (n+1)·S/(n·B) or longer.
func (j *job) reading(in, out []int, l *load) (model.Time, error) {
	d := int64(2)
	ranks := map[int]int64{} // by switch that adds
	for _, k := range j.t.Links {
		if j.t.Reduces(k.Src) == model.SumsRead && j.t.IsRank(k.Dst) {
			ranks[k.Src]++
			d = max(d, ranks[k.Src])
		}
	}
	for i, s := range j.t.Switches {
		if s.Reduces == model.SumsTurned || s.Copies && s.Reduces == model.NoReducing {
			return 0, errors.New("topology: switches copy and add, and " + j.t.NodeName(j.t.Ranks+i) + " not for ranks that read, so that what passes a link at one time can count for many transfers")
		}
	}
	if len(l.count) == 0 {
		return 0, errNothing
	}
	lanes := j.widened(append(j.lanes(in, l), j.lanes(out, l)...))
	times, of := d+1, d-1
	if d < 3 {
		times, of = 2, 1
	}
	bytes, occupied := new(big.Int), new(big.Int)
	for size, n := range l.count {
		if !j.work.Go(16 * len(lanes)) {
			break
		}
		bytes.Add(bytes, new(big.Int).Mul(big.NewInt(n), new(big.Int).Mul(big.NewInt(size), picoBytes)))
		occupied.Add(occupied, new(big.Int).Mul(big.NewInt(n), leastArea(lanes, size)))
	}
	bytes.Mul(bytes, big.NewInt(times))
	occupied.Mul(occupied, big.NewInt(times))
	return leastTime(func(t model.Time) bool {
		if !j.work.Go(16 * len(lanes)) {
			return true
		}
		spare, windows := new(big.Int), new(big.Int)
		for i := range lanes {
			a := &lanes[i]
			w := a.window(t)
			windows.Add(windows, product(a.bandwidth, w))
			spare.Add(spare, product(a.bandwidth, max(0, w-a.each)))
		}
		windows.Mul(windows, big.NewInt(of))
		spare.Mul(spare, big.NewInt(of))
		return spare.Cmp(bytes) >= 0 && (j.free || windows.Cmp(occupied) >= 0)
	}), nil
}

// widened returns lanes with windows that hold what a rank's own contribution occupies beside
// those of the streams that it belongs to (read).
func (j *job) widened(lanes []lane) []lane {
	at := map[[2]int]lane{} // by the ends of links of switches that add
	for _, a := range lanes {
		if k := j.t.Links[a.link]; j.t.Reduces(k.Src) == model.SumsRead || j.t.Reduces(k.Dst) == model.SumsRead {
			at[[2]int{k.Src, k.Dst}] = a
		}
	}
	wide := append([]lane(nil), lanes...)
	for i := range wide {
		a := &wide[i]
		k := j.t.Links[a.link]
		b, there := at[[2]int{k.Dst, k.Src}]
		if !there {
			continue
		}
		var begin, end model.Time // how much later than on b
		if j.p.Cost != model.Rounds {
			up, down := k.Alpha, j.t.Links[b.link].Alpha
			sign := model.Time(-1)
			if j.t.IsRank(k.Dst) {
				up, down, sign = down, up, 1
			}
			begin, end = sign*up, sign*up
			if j.p.Cost != model.Pipelined {
				end = sign * down
			}
		}
		a.from = max(0, min(a.from, b.from+begin))
		a.after = max(0, min(a.after, b.after-end))
	}
	return wide
}
