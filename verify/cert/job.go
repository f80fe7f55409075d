package cert

import (
	"context"
	"iter"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/verify"
)

// job is a problem as the checks look at it: as items that have to be moved.
//
// An item is a chunk. Where the problem leaves the cut free, it is a shard: in
// every cut each byte of a shard lies in some chunk, and all chunks of a shard have
// the same pre- and postcondition, so that what is said of the item holds for each
// of its bytes, though not for all at once. A custom collective without chunk sizes
// has its chunks as items, of at least one byte each.
type job struct {
	work  *verify.Work
	p     *model.Problem
	t     *model.Topology
	items *model.Problem // p cut into its items
	free  bool           // an item may be cut further
	near  times          // least latencies from any rank over switches: see arrivals
	far   times          // the same to any rank

	at      []model.Value // by rank: what is there at the start of item loaded-1
	holders []int         // the ranks of at that are not empty
	loaded  int
}

// steps returns how many steps a check may take: some seconds for what is small, and time
// for what large topologies need.
func steps(p *model.Problem) int64 {
	n := len(p.Topology.Links) + len(p.Topology.Ports) + len(p.Collective.Pre) + len(p.Collective.Post)
	return 1<<28 + int64(n)<<18
}

func newJob(ctx context.Context, p *model.Problem) *job {
	j := &job{work: verify.Begin(ctx, steps(p)), p: p, t: p.Topology, items: p, at: make([]model.Value, p.Topology.Ranks)}
	if p.Chunks == nil {
		j.items = p.WithChunks(p.Shards())
		j.free = p.Collective.Cuttable()
	}
	all := make([]model.Time, j.t.Ranks)
	j.near = j.arrivals(j.t, nil, all, 0)
	j.far = j.arrivals(j.t.Reversed(), nil, all, 0)
	return j
}

// size returns how many bytes item k has, at least.
func (j *job) size(k int) int64 {
	if j.p.Chunks == nil && !j.free {
		return 1
	}
	return j.items.Chunks[k].Size
}

// load is what must be moved: sizes of items, with how many transfers of each.
type load struct {
	count map[int64]int64
	least int64 // how many bytes a transfer has, at least
	from  []model.Time
	to    []model.Time
}

// newLoad returns an empty load. from and to collect, for each rank, when something
// of the load is there at first (MaxTime: never), and 0 if it is needed there.
func (j *job) newLoad() *load {
	l := &load{count: map[int64]int64{}, least: model.MaxSize, from: make([]model.Time, j.t.Ranks), to: make([]model.Time, j.t.Ranks)}
	for r := range j.t.Ranks {
		l.from[r], l.to[r] = model.MaxTime, model.MaxTime
	}
	return l
}

// add adds item k, moved times times.
func (j *job) add(l *load, k int, times int64) {
	size := j.size(k)
	l.count[size] += times
	l.least = min(l.least, size)
	if j.free {
		l.least = 1
	}
}

// start yields what ranks have of item k at the start, as work.
func (j *job) start(k int) iter.Seq2[int, model.Value] { return counted(j, j.items.Start(k)) }

// goal yields what ranks must end with of item k, as work.
func (j *job) goal(k int) iter.Seq2[int, model.Value] { return counted(j, j.items.Goal(k)) }

// terms yields the contributions in v and how often they are there, as work.
func (j *job) terms(v model.Value) iter.Seq2[int, int] { return counted(j, v.Terms()) }

// counted yields what list does until the work has ended.
func counted[A, B any](j *job, list iter.Seq2[A, B]) iter.Seq2[A, B] {
	return func(yield func(A, B) bool) {
		for a, b := range list {
			if !j.work.Go(1) || !yield(a, b) {
				return
			}
		}
	}
}

// each calls visit with every item and with what ask returns for it. Chunks of one
// shard have equal conditions, so that ask is called once for all of them.
func (j *job) each(ask func(k int) int64, visit func(k int, n int64)) {
	shard, n := -1, int64(0)
	for k := range j.items.Chunks {
		if !j.work.Go(1) {
			return
		}
		s := k
		if j.p.Collective.Kind != model.Custom {
			s = j.items.Shard(k)
		}
		if s != shard {
			shard, n = s, ask(k)
		}
		visit(k, n)
	}
}

// total returns the load in which item k is moved times(k) times.
func (j *job) total(times func(l *load, k int) int64) *load {
	l := j.newLoad()
	j.each(func(k int) int64 { return times(l, k) }, func(k int, n int64) {
		if n > 0 {
			j.add(l, k, n)
		}
	})
	return l
}

// startsAt notes that something of the load is at rank r at the start.
func (j *job) startsAt(l *load, r int) { l.from[r] = j.p.ReleaseOf(r) }

// endsAt notes that something of the load is needed at rank r.
func (j *job) endsAt(l *load, r int) { l.to[r] = 0 }

// settled reports whether what rank has of item k at the start, if anything, will do
// where want is wanted.
func (j *job) settled(k, rank int, want model.Value) bool {
	if k+1 != j.loaded {
		for _, r := range j.holders {
			j.at[r] = model.Value{}
		}
		j.holders = j.holders[:0]
		for r, v := range j.start(k) {
			j.at[r] = v
			j.holders = append(j.holders, r)
		}
		j.loaded = k + 1
	}
	has := j.at[rank]
	if model.Identical(has, want) {
		return true
	}
	if has.Len() != want.Len() {
		return false
	}
	counts := map[int]int{}
	for c, n := range j.terms(has) {
		counts[c] = n
	}
	for c, n := range j.terms(want) {
		if got := counts[c]; got == 0 || got != n && !j.p.Collective.Op.Idempotent() {
			return false
		}
	}
	return true
}

// needs reports whether rank must end with something of item k that it does not have
// at the start.
func (j *job) needs(k, rank int) bool {
	for r, want := range j.goal(k) {
		if r == rank {
			return !j.settled(k, r, want)
		}
	}
	return false
}
