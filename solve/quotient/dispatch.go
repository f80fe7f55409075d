package quotient

import (
	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve/heap"
)

// dispatch gives the jobs of a plan times: whenever machines are free, the job with the
// least rank starts of those that can (list scheduling; Graham, "Bounds on multiprocessing
// timing anomalies", 1969). It takes O(n·(log n + ways)) for n jobs.
func (x *plan) dispatch(waits [][]int32, rank []float64) {
	s := x.s
	d := &dispatcher{plan: x, rank: rank, free: s.idle(), pools: make([]heap.Heap[ranked], len(s.ways)), dirty: make([]bool, len(s.ways)), way: make([]int32, len(x.jobs))}
	left := make([]int32, len(x.jobs)) // that a job waits for
	next := make([][]int32, len(x.jobs))
	from := make([]model.Time, len(x.jobs))
	for i, list := range waits {
		d.way[i] = s.step(&x.jobs[i]).way
		left[i] = int32(len(list))
		for _, k := range list {
			next[k] = append(next[k], int32(i))
		}
		from[i] = s.step(&x.jobs[i]).wait
		if len(list) == 0 {
			d.events.Push(event{from[i], int32(i), -1})
		}
	}
	d.started = func(i int32) {
		for _, k := range next[i] {
			from[k] = max(from[k], x.jobs[i].end)
			if left[k]--; left[k] == 0 {
				d.events.Push(event{from[k], k, -1})
			}
		}
	}
	x.end = 0
	for len(d.events) > 0 {
		now := d.events[0].at
		for len(d.events) > 0 && d.events[0].at <= now {
			e := d.events.Pop()
			if e.job >= 0 {
				w := d.way[e.job]
				d.pools[w].Push(ranked{rank[e.job], e.job})
				d.mark(w)
				continue
			}
			for _, w := range s.takers[e.machine] {
				d.mark(w)
			}
		}
		d.start(now)
	}
}

func (d *dispatcher) mark(w int32) {
	if !d.dirty[w] && len(d.pools[w]) > 0 {
		d.dirty[w] = true
		d.list = append(d.list, w)
	}
}

// dispatcher is the state of dispatch.
type dispatcher struct {
	*plan
	rank    []float64
	way     []int32 // by job
	free    [][]model.Time
	pools   []heap.Heap[ranked] // by way: jobs that can start
	events  heap.Heap[event]
	dirty   []bool
	list    []int32
	started func(job int32)
}

// event is when a job can start, or a machine may have become free.
type event struct {
	at           model.Time
	job, machine int32 // one of them is -1
}

func (a event) Before(b event) bool {
	if a.at != b.at {
		return a.at < b.at
	}
	if a.job != b.job {
		return a.job < b.job
	}
	return a.machine < b.machine
}

// ranked is a job with its rank.
type ranked struct {
	rank float64
	job  int32
}

func (a ranked) Before(b ranked) bool { return a.rank < b.rank || a.rank == b.rank && a.job < b.job }

// start starts what can start at once on the ways that are marked.
func (d *dispatcher) start(now model.Time) {
	s := d.s
	for {
		best := int32(-1)
		for _, w := range d.list {
			if len(d.pools[w]) == 0 {
				continue
			}
			i := d.pools[w][0].job
			if best >= 0 && (d.rank[i] > d.rank[best] || d.rank[i] == d.rank[best] && i > best) {
				continue
			}
			if ready(d.free, &s.ways[w], s.at(w, &d.parts[d.jobs[i].part])) <= now {
				best = i
			}
		}
		if best < 0 {
			break
		}
		w := d.way[best]
		d.pools[w].Pop()
		j := &d.jobs[best]
		tm := s.at(w, &d.parts[j.part])
		for i, v := range s.ways[w].visits {
			until := now + tm.spans[i].To
			occupy(d.free[v.machine], int(v.lanes), until)
			for _, before := range s.before[v.machine] {
				d.events.Push(event{max(now, until-before), -1, v.machine})
			}
		}
		j.start, j.end = now, now+tm.lasts
		d.end = max(d.end, j.end)
		d.started(best)
	}
	for _, w := range d.list {
		d.dirty[w] = false
	}
	d.list = d.list[:0]
}

// idle returns for each machine that its lanes are free at once.
func (s *shop) idle() [][]model.Time {
	free := make([][]model.Time, len(s.lanes))
	for i, n := range s.lanes {
		free[i] = make([]model.Time, n)
	}
	return free
}

// occupy has the n lanes that are free first busy until then, and keeps them sorted.
func occupy(lanes []model.Time, n int, until model.Time) {
	for i := range n {
		lanes[i] = until
	}
	for i := n - 1; i >= 0; i-- {
		for j := i; j+1 < len(lanes) && lanes[j] > lanes[j+1]; j++ {
			lanes[j], lanes[j+1] = lanes[j+1], lanes[j]
		}
	}
}

// ready returns when a hop can take a way.
func ready(free [][]model.Time, x *way, tm *timing) model.Time {
	at := model.Time(0)
	for i, v := range x.visits {
		at = max(at, free[v.machine][v.lanes-1]-tm.spans[i].From)
	}
	return at
}

// tails returns for each job how long it takes at least from its start to the end of all that
// waits for it.
func (x *plan) tails(waits [][]int32) []model.Time {
	next := make([][]int32, len(x.jobs))
	left := make([]int32, len(x.jobs))
	for i, list := range waits {
		for _, k := range list {
			next[k] = append(next[k], int32(i))
		}
	}
	tail := make([]model.Time, len(x.jobs))
	var stack []int32
	for i := range x.jobs {
		if left[i] = int32(len(next[i])); left[i] == 0 {
			stack = append(stack, int32(i))
		}
	}
	for len(stack) > 0 {
		i := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		st := x.s.step(&x.jobs[i])
		longest, all := model.Time(0), model.Time(0)
		for _, k := range next[i] {
			longest = max(longest, tail[k])
			tm := x.s.at(x.s.step(&x.jobs[k]).way, &x.parts[x.jobs[k].part])
			all += tm.spans[0].To - tm.spans[0].From
		}
		tail[i] = x.s.at(st.way, &x.parts[x.jobs[i].part]).lasts + max(longest, all)
		for _, k := range waits[i] {
			if left[k]--; left[k] == 0 {
				stack = append(stack, k)
			}
		}
	}
	return tail
}
