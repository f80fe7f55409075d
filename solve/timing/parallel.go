package timing

import (
	"cmp"
	"slices"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve/events"
	"github.com/oraccl/oraccl/solve/network"
)

// Jobs are transfers over hops, numbered from 0, and what each waits for.
type Jobs interface {
	// Count returns how many jobs there are.
	Count() int
	// Chunk returns the chunk of a job.
	Chunk(job int32) int32
	// Ready calls yield for every job that waits for nothing but its hop, with the hop and the
	// job's key: its priority, of which the least goes first, in the upper half, and the job in
	// the lower. It is called twice, with nothing in between.
	Ready(yield func(hop int32, key uint64))
	// Began is called for each job in the order of their starts, with its start and its end.
	Began(job int32, start, end model.Time)
	// Ended appends to hops the hop of each of the jobs, which have ended now, and to ready those
	// that from now on wait for nothing but their hop.
	Ended(jobs, hops []int32, ready []Waiting) ([]int32, []Waiting)
}

// Waiting is a job, by its key, that waits for nothing but its hop.
type Waiting struct {
	Hop int32
	Key uint64
}

// Parallel times jobs, all together: time goes from event to event, and whenever a hop is free
// the job with the least priority starts of those that wait for it alone (list scheduling:
// Graham, "Bounds on multiprocessing timing anomalies", SIAM Journal on Applied Mathematics 17,
// 1969; the parallel schedule generation scheme of project scheduling). Over a mirrored network
// time runs backwards.
type Parallel struct {
	network.Occupancy
	End model.Time // of the last job

	jobs     Jobs
	arrivals *network.Arrivals // nil: all ranks are there at once
	hops     []hop
	first    []uint64 // keys of the jobs that wait for nothing from the beginning, by hop, sorted
	calendar events.Calendar
	alarms   events.Queue // of hops
	due      []model.Time // by hop: its next alarm
	awake    []int32      // hops to be looked at now
	lines    []int32      // of the calendar, by hop and size class
	landed   []int32      // scratch
	over     []int32
	ready    []Waiting
	now      model.Time
	longest  model.Time // of the transfers of a round
}

// NewParallel prepares the times of jobs over the hops of a network.
func NewParallel(n *network.Network, jobs Jobs) *Parallel {
	p := &Parallel{Occupancy: network.NewOccupancy(n), jobs: jobs, hops: make([]hop, len(n.Hops)), due: make([]model.Time, len(n.Hops))}
	for l := range n.Hops {
		x := &n.Hops[l]
		p.hops[l] = hop{rate: x.Rate, alpha: x.Alpha, whole: n.Uses[x.Uses].Extra > 0}
		for c := range n.Sizes {
			p.lines = append(p.lines, p.calendar.LineOf(n.Lasts(x, int32(c))))
		}
	}
	return p
}

// Run times all jobs. It returns false if stop returns true, or if some wait for ever. It takes
// O(jobs·log jobs) where hops share nothing.
func (p *Parallel) Run(stop func() bool) bool {
	p.reset()
	left := p.jobs.Count()
	for step := 0; left > 0; step++ {
		if step%64 == 0 && stop() {
			return false
		}
		if p.arrivals != nil {
			p.arrivals.Admit(p.now, p.rouseAround)
		}
		p.match()
		next := min(p.calendar.Next(), p.alarms.Next())
		if p.arrivals != nil {
			if p.arrivals.Turns() {
				p.arrivals.Turn(p.longest)
				p.longest = 0
			} else {
				next = min(next, p.arrivals.Next())
			}
		}
		if next == model.MaxTime {
			if p.arrivals != nil && len(p.arrivals.Absent) > 0 {
				continue // in rounds: the clock has gone on
			}
			return false
		}
		p.now = next
		if p.calendar.Next() == next {
			p.landed = p.calendar.Take(p.landed[:0])
			left -= len(p.landed)
			p.End = next
			p.land()
		}
		for p.alarms.Next() == next {
			p.rouse(p.alarms.Take().ID)
		}
	}
	return true
}

// reset has all jobs that wait for nothing wait for their hops.
func (p *Parallel) reset() {
	p.now, p.End = 0, 0
	clear(p.Free)
	clear(p.due)
	p.alarms = p.alarms[:0]
	if n := p.Network; n.Problem.Late() && !n.Mirrored {
		a := network.NewArrivals(n.Problem, n.Problem.Release)
		p.arrivals = &a
	}
	for l := range p.hops {
		x := &p.hops[l]
		x.first, x.ends, x.open, x.ready = 0, 0, 0, x.ready[:0]
	}
	p.jobs.Ready(func(l int32, _ uint64) { p.hops[l].ends++ })
	count := int32(0)
	for l := range p.hops {
		x := &p.hops[l]
		x.first, x.ends, count = count, count, count+x.ends
	}
	p.first = slices.Grow(p.first[:0], int(count))[:count]
	p.jobs.Ready(func(l int32, key uint64) {
		x := &p.hops[l]
		p.first[x.ends] = key
		x.ends++
	})
	for l := range p.hops {
		if x := &p.hops[l]; x.first < x.ends {
			slices.Sort(p.first[x.first:x.ends])
			p.rouse(int32(l))
		}
	}
}

func (p *Parallel) rouse(l int32) {
	if x := &p.hops[l]; !x.awake {
		x.awake = true
		p.awake = append(p.awake, l)
	}
}

// rouseAround has the hops into and out of a rank looked at, which has arrived now.
func (p *Parallel) rouseAround(rank int32) {
	for l := p.Into[rank]; l < p.Into[rank+1]; l++ {
		p.rouse(l)
	}
	for _, v := range p.Onward[rank] {
		for l := p.Into[v]; l < p.Into[v+1]; l++ {
			p.rouse(l)
		}
	}
}

// opens returns when the next transfer over a hop can start.
func (p *Parallel) opens(l int32) model.Time {
	if p.Private {
		return p.hops[l].open
	}
	return p.Opens(l)
}

// land ends transfers.
func (p *Parallel) land() {
	p.over, p.ready = p.jobs.Ended(p.landed, p.over[:0], p.ready[:0])
	for _, l := range p.over {
		p.rouse(l)
	}
	for _, x := range p.ready {
		p.enqueue(x.Hop, x.Key)
	}
}

// match starts what can start now.
func (p *Parallel) match() {
	if !p.Private { // where hops share something it matters who goes first
		slices.SortFunc(p.awake, func(a, b int32) int { return cmp.Or(cmp.Compare(p.head(a), p.head(b)), cmp.Compare(a, b)) })
	}
	for _, l := range p.awake {
		p.hops[l].awake = false
		if p.waits(l) && p.opens(l) <= p.now && p.present(l) {
			p.begin(l)
		}
	}
	if !p.Private || p.Patient || p.arrivals != nil {
		for _, l := range p.awake {
			if !p.waits(l) {
				continue
			}
			if at := p.opens(l); at > p.now && (p.due[l] <= p.now || p.due[l] > at) {
				p.due[l] = at
				p.alarms.Add(events.Event{At: at, ID: l})
			}
		}
	}
	p.awake = p.awake[:0]
}

// present reports whether both ranks of a hop have arrived.
func (p *Parallel) present(l int32) bool {
	return p.arrivals == nil || p.arrivals.Present[p.Hops[l].Src] && p.arrivals.Present[p.Hops[l].Dst]
}

// begin has the first job start that waits for an open hop.
func (p *Parallel) begin(l int32) {
	job := p.dequeue(l)
	x, k := &p.hops[l], p.jobs.Chunk(job)
	class := p.Class[k]
	var beta model.Time
	if p.Table != nil {
		beta = p.Table[int(x.rate)*len(p.Sizes)+int(class)]
	} else {
		beta = p.Compute(p.Rates[x.rate], p.Sizes[class])
	}
	end := p.now + x.alpha + beta
	switch {
	case !p.Private:
		p.Take(l, p.now, beta)
	case x.whole:
		x.open = end
	default:
		x.open = p.now + beta
	}
	p.jobs.Began(job, p.now, end)
	p.calendar.Add(p.lines[int(l)*len(p.Sizes)+int(class)], end, job)
	if p.arrivals != nil && p.arrivals.Turns() {
		n := p.Network
		p.longest = max(p.longest, n.Problem.Topology.Duration(n.Routes[n.Hops[l].Route], n.Problem.Chunks[k].Size))
	}
}
