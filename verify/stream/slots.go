package stream

import (
	"github.com/oraccl/oraccl/model"
)

// slots says of every rank and chunk whether it is defined, and keeps what is on its way.
type slots struct {
	words int      // in the row of a rank
	bits  []uint64 // in tiles of 8 ranks by 64 chunks, a line of the cache each: see word
	owner []int32  // by chunk: the rank that it starts at
	left  int64    // slots that are not defined

	queues []queue // one a duration
	number map[model.Time]int32
	recent int32   // the queue used last
	heap   []int32 // queues that are not empty, that with the earliest end on top
	batch  []slot  // what has ended at one instant
	again  []slot  // of that what was defined already

	trees // of reducing collectives, where a slot is defined that was written by a copy
}

// slot names a rank and a chunk. Of what is on its way to be added the chunk is complemented.
type slot struct{ rank, chunk int32 }

// flight is a transfer on its way.
type flight struct {
	end model.Time
	slot
}

const flightSize = 16 // bytes

// queue holds flights of one duration, which end in the order in which they start.
type queue struct {
	lasts  model.Time
	ring   []flight // its length is a power of two
	head   uint32
	length uint32
}

func (q *queue) first() *flight { return &q.ring[q.head&uint32(len(q.ring)-1)] }

func (q *queue) push(f flight) {
	if int(q.length) == len(q.ring) {
		ring := make([]flight, max(16, 2*len(q.ring)))
		for i := range q.length {
			ring[i] = q.ring[(q.head+i)&uint32(len(q.ring)-1)]
		}
		q.ring, q.head = ring, 0
	}
	q.ring[(q.head+q.length)&uint32(len(q.ring)-1)] = f
	q.length++
}

func newSlots(p *model.Problem) slots {
	ranks, chunks := p.Topology.Ranks, len(p.Chunks)
	s := slots{words: (chunks + 63) / 64, owner: make([]int32, chunks), number: map[model.Time]int32{}, recent: -1}
	s.bits = make([]uint64, (ranks+7)/8*8*s.words)
	s.left = int64(ranks) * int64(chunks)
	if reduces(p.Collective.Kind) {
		s.trees = newTrees(p, &s)
		return s
	}
	for k := range p.Chunks {
		for r := range p.Start(k) { // just one, for the collectives that are served
			s.owner[k] = int32(r)
			s.bits[s.word(int32(r), int32(k))] |= 1 << (k & 63)
			s.left--
		}
	}
	return s
}

// word returns where the bit of a slot is. Neighbours often carry neighbouring chunks, of
// which this keeps many in a line.
func (s *slots) word(rank, chunk int32) int {
	return (int(rank>>3)*s.words+int(chunk>>6))<<3 + int(rank&7)
}

func (s *slots) defined(rank, chunk int32) bool {
	return s.bits[s.word(rank, chunk)]>>(chunk&63)&1 != 0
}

// launch notes that a chunk will be written at a rank, after so long from the latest start.
func (s *slots) launch(end, lasts model.Time, rank, chunk int32) {
	i := s.recent
	if i < 0 || s.queues[i].lasts != lasts {
		i = s.queueOf(lasts)
	}
	q := &s.queues[i]
	q.push(flight{end, slot{rank, chunk}})
	if q.length == 1 {
		s.heap = append(s.heap, i)
		s.rise(len(s.heap) - 1)
	}
}

func (s *slots) queueOf(lasts model.Time) int32 {
	i, known := s.number[lasts]
	if !known {
		i = int32(len(s.queues))
		s.number[lasts] = i
		s.queues = append(s.queues, queue{lasts: lasts})
	}
	s.recent = i
	return i
}

func (s *slots) before(i, j int32) bool { return s.queues[i].first().end < s.queues[j].first().end }

func (s *slots) rise(i int) {
	for up := (i - 1) / 2; i > 0 && s.before(s.heap[i], s.heap[up]); i, up = up, (up-1)/2 {
		s.heap[i], s.heap[up] = s.heap[up], s.heap[i]
	}
}

func (s *slots) sink() {
	for i := 0; ; {
		least := i
		for _, down := range [2]int{2*i + 1, 2*i + 2} {
			if down < len(s.heap) && s.before(s.heap[down], s.heap[least]) {
				least = down
			}
		}
		if least == i {
			return
		}
		s.heap[i], s.heap[least] = s.heap[least], s.heap[i]
		i = least
	}
}

// land writes what ends up to a time, instant after instant, and calls race for slots that
// are written more than once at one instant (SPEC 5.2).
func (s *slots) land(until model.Time, race func(end model.Time, x slot)) {
	for len(s.heap) > 0 {
		now := s.queues[s.heap[0]].first().end
		if now > until {
			return
		}
		s.batch, s.again = s.batch[:0], s.again[:0]
		for len(s.heap) > 0 {
			q := &s.queues[s.heap[0]]
			if q.first().end != now {
				break
			}
			s.take(q, now)
			if q.length == 0 {
				last := len(s.heap) - 1
				s.heap[0] = s.heap[last]
				s.heap = s.heap[:last]
			}
			s.sink()
		}
		if len(s.again) > 0 {
			s.races(func(x slot) { race(now, x) })
		}
	}
}

// take writes what ends now in a queue.
func (s *slots) take(q *queue, now model.Time) {
	mask := uint32(len(q.ring) - 1)
	for q.length > 0 {
		f := &q.ring[q.head&mask]
		if f.end != now {
			break
		}
		q.head++
		q.length--
		if f.chunk < 0 {
			s.arrive(slot{f.rank, ^f.chunk})
			continue
		}
		w, bit := &s.bits[s.word(f.rank, f.chunk)], uint64(1)<<(f.chunk&63)
		s.batch = append(s.batch, f.slot)
		if *w&bit != 0 {
			s.again = append(s.again, f.slot)
			continue
		}
		*w |= bit
		s.left--
	}
}

// races finds the slots that occur twice in the batch: the second time they were defined,
// so that they are in again. What is there once was defined before.
func (s *slots) races(report func(slot)) {
	count := make(map[slot]int, len(s.again))
	for _, x := range s.again {
		count[x] = 0
	}
	for _, x := range s.batch {
		if n, in := count[x]; in {
			count[x] = n + 1
			if n == 1 {
				report(x)
			}
		}
	}
}
