package order

import (
	"sort"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/verify"
)

// Slots returns how many transfers a channel must be able to hold so that no
// process waits for ever, if a transfer carries at most perTransfer chunks (0: any
// number, an instruction is one transfer). It is 0 if no number is enough, and where
// Deadlock, Matching and Bounds are not all proved. It executes the program without its data
// O(log instructions) times.
//
// More slots never hurt: an execution with fewer is one with more.
func (r *Report) Slots(perTransfer int) int {
	for _, o := range []verify.Outcome{r.Deadlock, r.Matching, r.Bounds} {
		if o != verify.Proved {
			return 0
		}
	}
	most := 0
	for i := range r.m.channels {
		n := 0
		for _, e := range r.m.channels[i].sends {
			ev := r.m.events[e]
			n += transfers(r.m.p.Processes[ev.proc].Steps[ev.step].Count, perTransfer)
		}
		most = max(most, n)
	}
	return 1 + sort.Search(max(most-1, 0), func(n int) bool { return r.Completes(n+1, perTransfer) })
}

// MaxCount returns the largest number of chunks that an instruction moves to
// another rank, or 0.
func (r *Report) MaxCount() int {
	n := 0
	if r.m == nil {
		return n
	}
	for i := range r.m.p.Processes {
		for j := range r.m.p.Processes[i].Steps {
			if s := &r.m.p.Processes[i].Steps[j]; s.Verb&(model.Sends|model.Receives) != 0 {
				n = max(n, s.Count)
			}
		}
	}
	return n
}

func transfers(count, perTransfer int) int {
	if perTransfer <= 0 {
		return min(count, 1)
	}
	return (count + perTransfer - 1) / perTransfer
}

// Completes reports whether all processes end if a channel holds at most slots
// transfers of at most perTransfer chunks (0: any number). It is for programs of which
// Deadlock, Matching and Bounds are proved.
func (r *Report) Completes(slots, perTransfer int) bool {
	m := r.m
	type fifo struct {
		held             int
		sender, receiver int32 // that waits, or -1
	}
	fifos := make([]fifo, len(m.channels))
	for i := range fifos {
		fifos[i] = fifo{0, -1, -1}
	}
	pc, piece := make([]int32, len(m.pc)), make([]int32, len(m.pc))
	sleepers := map[int32][]int32{}
	ready := make([]int32, len(pc))
	for i := range ready {
		ready[i] = int32(i)
	}
	done := 0
	for len(ready) > 0 {
		proc := ready[len(ready)-1]
		ready = ready[:len(ready)-1]
		steps := m.p.Processes[proc].Steps
	process:
		for int(pc[proc]) < len(steps) {
			s := &steps[pc[proc]]
			me := m.first[proc] + pc[proc]
			if w := m.waitOf[me]; w >= 0 && piece[proc] == 0 {
				for _, t := range m.waits[w] {
					if t.step < 0 {
						break process
					}
					if pc[t.proc] <= t.step {
						sleepers[m.first[t.proc]+t.step] = append(sleepers[m.first[t.proc]+t.step], proc)
						break process
					}
				}
			}
			if s.Verb&(model.Sends|model.Receives) != 0 {
				for n := transfers(s.Count, perTransfer); int(piece[proc]) < n; piece[proc]++ {
					if s.Verb&model.Receives != 0 && fifos[m.in[proc]].held == 0 {
						fifos[m.in[proc]].receiver = proc
						break process
					}
					if s.Verb&model.Sends != 0 && fifos[m.out[proc]].held == slots {
						fifos[m.out[proc]].sender = proc
						break process
					}
					if s.Verb&model.Receives != 0 {
						f := &fifos[m.in[proc]]
						f.held--
						if f.sender >= 0 {
							ready, f.sender = append(ready, f.sender), -1
						}
					}
					if s.Verb&model.Sends != 0 {
						f := &fifos[m.out[proc]]
						f.held++
						if f.receiver >= 0 {
							ready, f.receiver = append(ready, f.receiver), -1
						}
					}
				}
			}
			pc[proc]++
			piece[proc] = 0
			ready = append(ready, sleepers[me]...)
			delete(sleepers, me)
		}
		if int(pc[proc]) == len(steps) {
			done++
		}
	}
	return done == len(pc)
}
