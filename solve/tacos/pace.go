package tacos

import (
	"cmp"
	"slices"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve/events"
	"github.com/oraccl/oraccl/solve/network"
)

// cell is what is known of a chunk at a rank: everything of it lies together in memory, and
// the cells of a rank do, by chunk, since chunks come in their order, about.
type cell struct {
	up, down int32     // lanes of the network; -1 at the root
	urge     [2]uint32 // of the jobs over them: the least goes first; once they have begun, when they end
	pending  int32     // how many have still to send to it
}

// coming is a job, behind its urge, that waits for its lane alone from now on.
type coming struct {
	lane int32
	job  uint64
}

// begun is a job with its start.
type begun struct {
	job   int32
	start model.Time
}

// pace times the transfers of a grove: each starts as soon as its data is there and its
// lane is free, the most urgent one first where several could (list scheduling: Graham,
// "Bounds on multiprocessing timing anomalies", 1969).
//
// Job v·chunks+k is that rank v sends chunk k towards its root, job (ranks+v)·chunks+k that
// it gets it from there. Over a mirrored network time runs backwards, and up and down are
// exchanged.
type pace struct {
	network.Occupancy
	chunks   int
	cells    []cell // by rank and chunk
	out      *network.Exits
	shift    int      // by how many bits times are shifted to be urges
	begun    []begun  // the jobs in the order of their starts
	tracks   []track  // by lane
	leaves   []uint64 // jobs that wait for nothing but a lane, urge before job, sorted
	calendar events.Calendar
	alarms   events.Queue
	due      []model.Time // by lane: its next alarm
	awake    []int32      // lanes to be looked at now
	lines    []int32      // of the calendar, by lane and size class
	over     []int32      // scratch: lanes of what lands
	reached  []uint32
	coming   []coming
	now      model.Time
	end      model.Time // of the last transfer
}

func newPace(n *network.Network, out *network.Exits, cells []cell, shift int) *pace {
	p := &pace{
		Occupancy: network.NewOccupancy(n), chunks: len(n.Problem.Chunks), cells: cells, out: out, shift: shift,
		tracks: make([]track, len(n.Hops)), due: make([]model.Time, len(n.Hops)),
	}
	for l := range n.Hops {
		x := &n.Hops[l]
		p.tracks[l] = track{dst: x.Dst, rate: x.Rate, alpha: x.Alpha, whole: n.Uses[x.Uses].Extra > 0}
		for c := range n.Sizes {
			p.lines = append(p.lines, p.calendar.LineOf(n.Lasts(&n.Hops[l], int32(c))))
		}
	}
	return p
}

// run times all jobs by their urges. It returns false if it is stopped. It takes
// O(jobs·log jobs) where lanes share nothing.
func (p *pace) run(stop func() bool) bool {
	p.reset()
	var landed []int32
	left := 2 * (len(p.cells) - p.chunks)
	for step := 0; left > 0; step++ {
		if step%64 == 0 && stop() {
			return false
		}
		p.match()
		p.now = min(p.calendar.Next(), p.alarms.Next())
		if p.calendar.Next() == p.now {
			landed = p.calendar.Take(landed[:0])
			left -= len(landed)
			p.end = p.now
			p.land(landed)
		}
		for p.alarms.Next() == p.now && p.now < model.MaxTime {
			p.rouse(p.alarms.Take().ID)
		}
	}
	return true
}

// reset has all that waits for nothing wait for its lane.
func (p *pace) reset() {
	p.now, p.end, p.begun = 0, 0, p.begun[:0]
	clear(p.Free)
	clear(p.due)
	p.alarms = p.alarms[:0]
	for l := range p.tracks {
		t := &p.tracks[l]
		t.first, t.ends, t.open = 0, 0, 0
	}
	for at := range p.cells {
		p.cells[at].pending = 0
	}
	for v, at := 0, 0; at < len(p.cells); v++ {
		for k := range p.chunks {
			if l := p.cells[at].up; l >= 0 {
				p.cells[int(p.tracks[l].dst)*p.chunks+k].pending++
			}
			at++
		}
	}
	for at := range p.cells {
		if c := &p.cells[at]; c.pending == 0 && c.up >= 0 {
			p.tracks[c.up].ends++
		}
	}
	count := int32(0)
	for l := range p.tracks {
		t := &p.tracks[l]
		t.first, t.ends, count = count, count, count+t.ends
	}
	p.leaves = slices.Grow(p.leaves[:0], int(count))[:count]
	for at := range p.cells {
		if c := &p.cells[at]; c.pending == 0 && c.up >= 0 {
			t := &p.tracks[c.up]
			p.leaves[t.ends] = uint64(c.urge[0])<<32 | uint64(at)
			t.ends++
		}
	}
	for l := range p.tracks {
		if t := &p.tracks[l]; t.first < t.ends {
			slices.Sort(p.leaves[t.first:t.ends])
			p.rouse(int32(l))
		}
	}
}

func (p *pace) rouse(l int32) {
	if t := &p.tracks[l]; !t.awake {
		t.awake = true
		p.awake = append(p.awake, l)
	}
}

// opens returns when the next transfer over a lane can start.
func (p *pace) opens(l int32) model.Time {
	if p.Private {
		return p.tracks[l].open
	}
	return p.Occupancy.Opens(l)
}

// land ends transfers. What it needs of cells it reads for all of them, one after the other,
// before it does anything with it: so memory is not waited for each time.
func (p *pace) land(jobs []int32) {
	half, chunks := uint32(len(p.cells)), uint32(p.chunks)
	p.over = p.over[:0]
	for _, job := range jobs {
		if at := uint32(job); at < half {
			p.over = append(p.over, p.cells[at].up)
		} else {
			p.over = append(p.over, p.cells[at-half].down)
		}
	}
	p.reached, p.coming = p.reached[:0], p.coming[:0]
	for i, job := range jobs {
		l := p.over[i]
		p.rouse(l)
		at := uint32(job)
		if at >= half {
			p.reached = append(p.reached, at-half)
			continue
		}
		at = uint32(p.tracks[l].dst)*chunks + at%chunks
		c := &p.cells[at]
		if c.pending--; c.pending > 0 {
			continue
		}
		if c.up >= 0 {
			p.coming = append(p.coming, coming{c.up, uint64(c.urge[0])<<32 | uint64(at)})
		} else { // it is the root
			p.reached = append(p.reached, at)
		}
	}
	for _, from := range p.reached {
		v := from / chunks
		k := from - v*chunks
		for i := p.out.First[v]; i < p.out.First[v+1]; i++ {
			l, at := p.out.List[i], uint32(p.out.To[i])*chunks+k
			if c := &p.cells[at]; c.down == l {
				p.coming = append(p.coming, coming{l, uint64(c.urge[1])<<32 | uint64(half+at)})
			}
		}
	}
	for _, x := range p.coming {
		p.enqueue(x.lane, x.job)
	}
}

// match starts what can start now.
func (p *pace) match() {
	if !p.Private { // where lanes share something it matters who goes first
		slices.SortFunc(p.awake, func(a, b int32) int { return cmp.Or(cmp.Compare(p.head(a), p.head(b)), cmp.Compare(a, b)) })
	}
	for _, l := range p.awake {
		p.tracks[l].awake = false
		if p.waits(l) && p.opens(l) <= p.now {
			p.begin(l)
		}
	}
	if !p.Private || p.Patient {
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

// begin has the most urgent job start that waits for an open lane.
func (p *pace) begin(l int32) {
	job := p.dequeue(l)
	at, half := job, 0
	if at >= len(p.cells) {
		at, half = at-len(p.cells), 1
	}
	t, class := &p.tracks[l], p.Class[at%p.chunks]
	var beta model.Time
	if p.Table != nil {
		beta = p.Table[int(t.rate)*len(p.Sizes)+int(class)]
	} else {
		beta = p.Compute(p.Rates[t.rate], p.Sizes[class])
	}
	end := p.now + t.alpha + beta
	switch {
	case !p.Private:
		p.Take(l, p.now, beta)
	case t.whole:
		t.open = end
	default:
		t.open = p.now + beta
	}
	p.begun = append(p.begun, begun{int32(job), p.now})
	p.cells[at].urge[half] = clip(end, p.shift)
	p.calendar.Add(p.lines[int(l)*len(p.Sizes)+int(class)], end, int32(job))
}

// shiftOf returns by how many bits times must be shifted for those up to eight times as
// late to fit into an urge.
func shiftOf(t model.Time) int {
	shift := 0
	for t>>shift >= 1<<29 {
		shift++
	}
	return shift
}

// clip returns a time as an urge.
func clip(t model.Time, shift int) uint32 { return uint32(max(0, min(t>>shift, 1<<32-1))) }
