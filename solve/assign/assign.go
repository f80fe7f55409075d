// Package assign turns a schedule into concurrent processes: threadblocks, each with
// at most one rank to send to and one to receive from, the channels between them,
// places in buffers for what the transfers move, and waits between the threadblocks
// of a rank. The result is a model.Program, which formats of deployable schedules
// are written from.
//
// Its processes can neither race nor wait for each other for ever:
//
// A transfer becomes a message a hop, and a message a send and a receive. Two accesses
// to one slot (a rank's copy of a chunk, wherever it lies) conflict if one of them
// writes. Conflicting accesses are ordered as the schedule orders them, and all accesses
// get positions in one total order that extends this order, with every send before its
// receive. Whatever else is decided keeps to the positions: the steps of a threadblock
// ascend; the messages of a connection are received in the order in which they are sent;
// a step waits only for steps before it. Where a program must be right in place and out of
// place, input and output of a slot count as one, whether they are or not.
//
// No race: between conflicting accesses in one threadblock stands the threadblock's own
// order, between those in two a wait, or a chain of waits and threadblocks on the same
// rank; never does a rank rely on an order that comes about through another one. Every
// value that is not in a slot (what is relayed, what was received before it may be added)
// has a place in scratch of its own.
//
// No deadlock, with two messages to a connection: suppose that no step can go on, and
// let X be the one with the lowest position among those that are not over. What precedes
// X in its threadblock and what X waits for have lower positions, and are over. If X
// receives, then its message has been sent. If X sends, then of the messages sent on
// its connection those are not received whose receive has a higher position than X; the
// messages of a connection are chosen such that this is one at most, so that there is
// room. So X can go on. Messages of several units fall into as many parts as the
// runtime likes; each of them is received in the very next position (if need be into
// scratch, to be added or copied when its turn comes), by a step that does nothing else.
// Then all that the receive has to wait for is over when the send begins, and they
// proceed together, with any room at all.
package assign

import (
	"errors"
	"fmt"

	"github.com/oraccl/oraccl/model"
)

// Limits are what a runtime has room for.
type Limits struct {
	Threadblocks int // a rank
	Steps        int // a threadblock; a step that waits for k > 1 others counts k
	Channels     int
	Peers        int // threadblocks a rank that send on one channel, and that receive
	Elements     int // ranks, threadblocks and steps that a rank reads
	Chunks       int // of a buffer, in units
	Count        int // units that a step moves
}

// Options steer Assign.
type Options struct {
	Limits Limits
	// InPlace and OutOfPlace say for which calls the program must be right: those in
	// which output and input share their memory, as the collective has it, and those in
	// which the input is kept; one of them, or both.
	InPlace, OutOfPlace bool
}

// ErrNotServed is wrapped by errors that explain why a schedule has no program.
var ErrNotServed = errors.New("cannot be assigned to threadblocks")

// ErrLimit is wrapped, beside ErrNotServed, where a larger limit might do.
var ErrLimit = fmt.Errorf("%w", ErrNotServed)

func tooSmall(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{ErrLimit}, args...)...)
}

func refuse(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{ErrNotServed}, args...)...)
}

// Assign returns a program that performs what a schedule does, which must be right for p: the first of Each.
func Assign(p *model.Problem, s *model.Schedule, o Options) (first *model.Program, err error) {
	err = Each(p, s, o, func(q *model.Program) bool {
		first = q
		return false
	})
	return first, err
}

// way is how a program is made of a schedule.
type way struct {
	timed   bool // steps are in the order of the schedule's times, and else at levels: times in which every message takes 1
	eager   bool // every receive is a step of its own; else a send of the same that follows at once is one step with it
	apart   bool // messages over different links between two members take different channels
	ordered bool // what a member sends over a link it sends in the order of the steps, whatever the threadblocks
}

// ways returns the ways in which a program can be made. Those come first that have fewer steps, and take from the schedule nothing but
// what comes after what. Only where messages over different links cannot take different channels do they share them.
func ways(apart bool) (list []way) {
	for _, timed := range []bool{false, true} {
		for _, ordered := range []bool{false, true} {
			for _, eager := range []bool{false, true} {
				list = append(list, way{timed, eager, apart, ordered})
			}
		}
	}
	return list
}

// Each calls yield with programs that perform what a schedule does, which must be right for p, until it returns
// false. They differ in what a runtime that does not know the times of the schedule does at once, and which of
// them takes least is for the caller to find out. Rank i of a program is member i of p's group. Chunks are counted in units, of which
// p's chunks are multiples: see Units. Errors wrap ErrNotServed, if there is no program: p is not one of the
// eight standard collectives (or an alltoall in place), a rank takes part that is no member, chunks have no common
// unit, or some limit does not suffice (ErrLimit).
//
// A program takes O(n·log n + n·t) time for n messages and t threadblocks a rank, times the
// number of attempts, of which there are a few where limits are tight.
func Each(p *model.Problem, s *model.Schedule, o Options, yield func(*model.Program) bool) error {
	l, err := newLayout(p, o)
	if err != nil {
		return err
	}
	f, err := newFlow(p, s, l, way{})
	if err != nil {
		return err
	}
	if err := f.fits(o.Limits); err != nil {
		return err
	}
	var first error
	for _, apart := range []bool{true, false} {
		if apart && !f.parallel() {
			continue
		}
		any, failed := false, 0
		for _, way := range ways(apart) {
			if !way.eager && l.most > 1 || way.timed && s.Form == model.Ordered {
				continue
			}
			f, err := newFlow(p, s, l, way)
			if err != nil {
				return err
			}
			q, err := f.program(o.Limits)
			if err != nil {
				if first == nil {
					first = err
				}
				if failed++; !any && failed == mostFailed {
					break
				}
				continue
			}
			if any = true; !yield(q) {
				return nil
			}
		}
		if any {
			return nil
		}
	}
	return first
}

// mostFailed is how many ways are tried before it is clear that there is no room for the others either: they come after those with fewer
// steps.
const mostFailed = 2

// program makes the program, with fewer messages a connection where threadblocks have too many steps.
func (f *flow) program(l Limits) (*model.Program, error) {
	steps := f.steps()
	var first error
	for room := l.Steps; room >= 4; room = room * 3 / 4 {
		c, err := connect(f, steps, l, room)
		over := false
		if err == nil {
			if over, err = c.wait(l); err == nil {
				return c.program(), nil
			}
		}
		if first == nil {
			first = err
		}
		if !over {
			break
		}
	}
	return nil, first
}
