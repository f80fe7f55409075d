package cert

import (
	"math/big"

	"github.com/oraccl/oraccl/model"
)

// readers returns the bound of an allreduce among n ranks whose only links lead to switches at which
// sums are read and back, all with one bandwidth, those to switches with one latency, those back
// with one, where nobody is late; 0 for other problems. It adds what (passing) does not see: what is
// sent at the start is nobody's but the sender's, and what comes at the end goes no further.
//
// Let λ be the sum of the two latencies, β the bandwidth of a rank's links to all switches, S all
// bytes, and T the makespan of a right schedule. A transfer is early if it starts before λ: nothing
// has arrived by then, so that it carries its source's contribution alone. Streams of several transfers
// are sums with one destination, or multicasts with one source; they are of routes of two links,
// occupy a link of each of their m <= n-1 transfers, one at the other end, and one more of the rank
// there [(read)]. Let a transfer that is alone be a stream with m = 1; it occupies its first and its last
// link. An occupied link stays so for as long as its chunk takes or longer. Shift the times of links
// from switches back by the latency of those to switches: then a transfer occupies its last link no
// sooner than its first, all are occupied between 0 and T-λ, and what a stream occupies beside the
// links of its transfers goes with its last link (sum), or its first (multicast). A blocking schedule
// occupies each link for these times and longer.
//
// Lemma (direct). (n+1)·S/2 <= β·((T-λ) + (n-2)·max(0, T-2λ)).
//
// Proof. Call other transfers than early ones late. Of each byte, let f ranks have no late transfer to
// them. They have n-1 early ones each, one from each other rank. So there are n-f late transfers or
// more, and n + f·(n-2) in all or more; with e of all and l late ones, e + (n-2)·l >= n·(n-1).
// A stream of m transfers occupies m+2 links if m >= 2, which is (n+1)/(n-1) times m or more, and 2
// if m = 1, which is as much or more, since n >= 3. If k >= 1 of them are late, then it occupies k of
// their own and two others from λ on: those at the other end are occupied no sooner than any of
// the stream's. So e transfers of a byte take (n+1)/(n-1) times e of the 2n·(T-λ) that all links are
// there for, and l late ones as much of 2n·(T-2λ). Sum over all bytes. ∎
//
// Lemma (senders). If T < 3λ, (n-1)·S <= β·((T-λ) + n(n-2)/(n-1)·max(0, T-2λ)).
//
// Proof. Call a transfer first if it ends by T-λ. These start by T-2λ, and so are early; and only what they bring can be sent on by a late transfer, which
// starts by T-λ. Take a
// byte, and count its transfers except branches of multicasts: e first ones, e(v) of them to v and o(v) from v, and q(v) of all to v. Let there be M
// multicasts. So it occupies links from ranks q+M times, q being the sum of all q(v) [a transfer that is no branch has
// its first link for itself (apart)].
//
// When an early transfer starts, its source's slot has one contribution. When a late one does, that of u has one contribution, u's or that of the last copy that
// has ended there, and those of the sources of first transfers to u since then, which add up, and are no branches [branches are copies (read)]. At the end
// v's slot has n. It has v's own one, or what the last copy to v brought, and what others brought that add up. Each of these brings one contribution,
// and beside it those of sources of first transfers to ranks other than v. So q(v) is, at least,
//
//	n-1 - (e - e(v) - o(v))   if there is no copy to v [what v contributes is there],
//	n-1 - (e - e(v))          if the last copy is a branch,
//	n - (e - e(v))            if it is none, and counts.
//
// If any last copy is a branch, M >= 1. Else o(v) is positive for some v, if e is. So q+M >= n(n-1) - (n-1)e + 1 if e >= 1, which is
// n(n-1) - n(n-2)/(n-1)·e or more if e <= n-1; and if e >= n, q >= e is. So it is in any case.
//
// All transfers occupy their first links between 0 and T-λ, and first ones, which end by T-λ, between 0 and T-2λ. Sum over all bytes: n(n-1)·S is at most what links from ranks
// are there for until T-λ, and n(n-2)/(n-1) times as much until T-2λ. ∎
//
// Lemma (turning). Let y = min(λ, (T-λ)/2). Then (n-1)·S <= n·β·(y + (T-λ-2y)·(n-1)/(n+1)).
//
// Proof. Charge for the time for which links are occupied: before y, 1-1/(n-1) for links from ranks and
// 1/(n-1) for those back; from T-λ-y on, the other way round; in between, (n-1)/(n+1) for all. What
// links from ranks cost never rises, and what those back cost never falls, since n >= 3. So a sum
// costs as much or more as if it occupied all its links when it occupies its last, and a multicast as
// if when it occupies its first. That is, of m transfers in all, for each instant of its chunk:
//
//	                before y         in between            at the end
//	one transfer    1                2(n-1)/(n+1) >= 1     1
//	a sum           m or more        (m+2)(n-1)/(n+1) >= m 1 + m/(n-1)
//	a multicast     1 + m/(n-1)      m or more             m or more
//
// since m <= n-1. As m >= 2, 1 + m/(n-1) is m at most. Call a multicast that starts before y a
// cast: it is early, and costs 1 + m/(n-1) or more. Call a sum that occupies its last link
// at the end, if only in part, a last sum: it ends after T-y, so that nothing that starts after it
// has time to end, and costs 1 + m/(n-1) or more. Call the transfers of all other streams plain: they
// cost 1 each, or more.
//
// Every byte costs 2(n-1) or more. Let the ranks that v knows at a time be v, the sources of casts to
// v, at any time, and what the source of a plain transfer to v knew when it started, once it has ended.
// What v's slot contains are contributions of ranks that v knows, and of some that last sums to v
// brought, which go no further. If no rank ever knows all, each has a last sum to it, which costs 1 and
// 1/(n-1) for each of its transfers; and each rank has sent a cast or a plain transfer, which costs 1, or
// n-1 transfers in last sums, which cost 1/(n-1) each. These are 2n. Else let f be the first to
// know all. If it does at the start, it has casts from all others, which cost 1 each and 1/(n-1)
// for each transfer; every other rank has a plain transfer or a last sum to it, which costs 1, or
// n-1 transfers of casts. These are 2(n-1). Else f knows all once a plain transfer has ended, at
// t. From each other rank w a chain leads to f, by t, that begins with a cast of w, or a plain
// transfer of w, which costs 1. Every other rank v has a last sum to it, which costs 1, or comes to
// know all at t or later, by a plain transfer to v that ends then. That is none of the former: of
// those, one that does not end at f is followed on its chain, and has ended before t. These are
// 2(n-1), too.
//
// What can be charged is β·n times 2y + 2·(T-λ-2y)·(n-1)/(n+1). ∎
//
// The right sides grow with T, the second since it is n·β·(T-λ)/2 up to T = 3λ.
func (j *job) readers() model.Time {
	p, t := j.p, j.t
	n := int64(t.Ranks)
	if p.Collective.Kind != model.AllReduce || n < 3 || len(p.Members()) != t.Ranks || p.Late() ||
		p.Cost != model.Pipelined && p.Cost != model.Blocking || len(t.Links) != 2*t.Ranks*len(t.Switches) {
		return 0
	}
	var up, down *model.Link
	between := map[[2]int]bool{}
	for i := range t.Links {
		k := &t.Links[i]
		first := &up
		if t.IsRank(k.Dst) {
			first = &down
		}
		if *first == nil {
			*first = k
		}
		if t.IsRank(k.Src) == t.IsRank(k.Dst) || t.Reduces(max(k.Src, k.Dst)) != model.SumsRead || between[[2]int{k.Src, k.Dst}] ||
			k.Alpha != (*first).Alpha || k.Bandwidth != t.Links[0].Bandwidth {
			return 0
		}
		between[[2]int{k.Src, k.Dst}] = true
	}
	if up == nil || down == nil {
		return 0
	}
	lambda := up.Alpha.Add(down.Alpha)
	bytes := new(big.Int)
	for k := range j.items.Chunks {
		if !j.work.Go(1) {
			return 0
		}
		bytes.Add(bytes, big.NewInt(j.size(k)))
	}
	bytes.Mul(bytes, picoBytes)
	beta := new(big.Int).Mul(big.NewInt(up.Bandwidth), big.NewInt(int64(len(t.Switches))))
	need := func(times int64) *big.Int { return new(big.Int).Mul(bytes, big.NewInt(times)) }
	have := func(terms ...[2]int64) *big.Int { // β times the sum of products
		sum := new(big.Int)
		for _, x := range terms {
			sum.Add(sum, new(big.Int).Mul(big.NewInt(x[0]), big.NewInt(x[1])))
		}
		return sum.Mul(sum, beta)
	}
	return leastTime(func(at model.Time) bool {
		span := int64(at - lambda) // T-λ
		if span < 0 {
			return false
		}
		late, both := max(0, span-int64(lambda)), min(2*int64(lambda), span) // T-2λ; 2y
		return have([2]int64{2, span}, [2]int64{2 * (n - 2), late}).Cmp(need(n+1)) >= 0 &&
			(late >= int64(lambda) || have([2]int64{n - 1, span}, [2]int64{n * (n - 2), late}).Cmp(need((n-1)*(n-1))) >= 0) &&
			have([2]int64{n * (n + 1), both}, [2]int64{2 * n * (n - 1), span - both}).Cmp(need(2*(n*n-1))) >= 0
	})
}
