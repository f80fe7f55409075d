package concurrent

import (
	"fmt"
	"slices"
	"strings"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/verify/smt"
)

// encoder knows a program by its steps, numbered from 0 over all processes.
type encoder struct {
	p      *model.Program
	step   []position
	first  []int               // of a process: the number of its first step
	sender []int               // of a step that receives: the step that sends this, or -1
	waits  [][][]int           // of a step: for each wait, the steps that release it
	order  []int               // all steps, each after what must precede it
	sends  [][]int             // of a channel: the steps that send, in order
	recvs  [][]int             // the same, that receive
	parts  map[string][]string // of a sum that has a name
}

type position struct{ proc, step int }

func newEncoder(p *model.Program) (*encoder, error) {
	if err := p.Validate(); err != nil {
		return nil, errUndecided(err.Error())
	}
	if n := p.Steps(); n > MaxSteps {
		return nil, errUndecided(fmt.Sprintf("%d steps, more than the %d that are asked about", n, MaxSteps))
	}
	e := &encoder{p: p}
	process := map[[2]int]int{}
	for i := range p.Processes {
		q := &p.Processes[i]
		process[[2]int{q.Rank, q.ID}] = i
		e.first = append(e.first, len(e.step))
		for j := range q.Steps {
			e.step = append(e.step, position{i, j})
		}
	}
	if err := e.connect(); err != nil {
		return nil, err
	}
	e.waits = make([][][]int, len(e.step))
	for i, at := range e.step {
		q := &p.Processes[at.proc]
		for _, w := range q.Steps[at.step].Waits {
			release := []int{}
			if on, ok := process[[2]int{q.Rank, w.Process}]; ok {
				for j := max(w.Step, 0); j < len(p.Processes[on].Steps); j++ {
					if p.Processes[on].Steps[j].Signals {
						release = append(release, e.first[on]+j)
					}
				}
			}
			e.waits[i] = append(e.waits[i], release)
		}
		if e.outside(q.Rank, e.of(i)) {
			return nil, errUndecided("accesses out of bounds are not asked about: " + e.name(i))
		}
		w := e.writes(i)
		for _, x := range e.reads(i) {
			if x.from != w.from && x.from < w.from+w.n && w.from < x.from+x.n {
				return nil, errUndecided("steps that read what they write elsewhere are not asked about: " + e.name(i))
			}
		}
	}
	return e, nil
}

func (e *encoder) of(i int) *model.Instruction {
	return &e.p.Processes[e.step[i].proc].Steps[e.step[i].step]
}

func (e *encoder) rank(i int) int { return e.p.Processes[e.step[i].proc].Rank }

// connect pairs sends with receives, the k-th with the k-th.
func (e *encoder) connect() error {
	type end struct {
		owner int
		steps []int
	}
	var names [][3]int
	out, in := map[[3]int]*end{}, map[[3]int]*end{}
	add := func(ends map[[3]int]*end, name [3]int, i int) error {
		x := ends[name]
		if x == nil {
			x = &end{owner: e.step[i].proc}
			ends[name] = x
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
		if x.owner != e.step[i].proc {
			return errUndecided("shared connections are not asked about: " + e.name(i))
		}
		x.steps = append(x.steps, i)
		return nil
	}
	for i, at := range e.step {
		q := &e.p.Processes[at.proc]
		if verb := q.Steps[at.step].Verb; verb&model.Sends != 0 {
			if err := add(out, [3]int{q.Rank, q.SendTo, q.Channel}, i); err != nil {
				return err
			}
		}
		if verb := q.Steps[at.step].Verb; verb&model.Receives != 0 {
			if err := add(in, [3]int{q.RecvFrom, q.Rank, q.Channel}, i); err != nil {
				return err
			}
		}
	}
	e.sender = make([]int, len(e.step))
	for i := range e.sender {
		e.sender[i] = -1
	}
	for _, name := range names {
		var sends, recvs []int
		if x := out[name]; x != nil {
			sends = x.steps
		}
		if x := in[name]; x != nil {
			recvs = x.steps
		}
		for k, i := range recvs {
			if k < len(sends) {
				e.sender[i] = sends[k]
				if e.of(sends[k]).Count != e.of(i).Count {
					return errUndecided("messages of unequal length are not asked about: " + e.name(i))
				}
			}
		}
		if len(sends) > len(recvs) {
			return errUndecided("messages that nobody receives are not asked about: " + e.name(sends[len(recvs)]))
		}
		e.sends, e.recvs = append(e.sends, sends), append(e.recvs, recvs)
	}
	return nil
}

// deadlock asks for steps that never happen.
func (e *encoder) deadlock() smt.Question {
	var b strings.Builder
	q := smt.Question{}
	for i := range e.step {
		q.Constants = append(q.Constants, fmt.Sprintf("b%d", i))
		fmt.Fprintf(&b, "(declare-const b%d Bool)\n", i)
	}
	fmt.Fprintf(&b, "(assert (or false %s))\n", strings.Join(q.Constants, " "))
	for i := range e.step {
		if why, always := e.blocked(i); !always {
			fmt.Fprintf(&b, "(assert (=> b%d (or false %s)))\n", i, strings.Join(why, " "))
		}
	}
	q.Script = b.String()
	return q
}

// blocked returns what could keep a step from happening; always says that something
// does.
func (e *encoder) blocked(i int) (why []string, always bool) {
	if e.step[i].step > 0 {
		why = append(why, fmt.Sprintf("b%d", i-1))
	}
	if e.of(i).Verb&model.Receives != 0 {
		if e.sender[i] < 0 {
			return nil, true
		}
		why = append(why, fmt.Sprintf("b%d", e.sender[i]))
	}
	for _, release := range e.waits[i] {
		if len(release) == 0 {
			return nil, true
		}
		var all []string
		for _, j := range release {
			all = append(all, fmt.Sprintf("b%d", j))
		}
		why = append(why, "(and "+strings.Join(all, " ")+")")
	}
	return why, false
}

// maxSlotTerms bounds the formula about slots.
const maxSlotTerms = 200_000

// slots asks for transfers that never happen, in cases: from the largest number of
// slots that could be too few, down to 1. A step with n transfers is n events.
func (e *encoder) slots(per int) (smt.Question, bool) {
	pieces := func(i int) int {
		s := e.of(i)
		switch {
		case s.Verb&(model.Sends|model.Receives) == 0 || s.Count == 0:
			return 1 // a step of its own, without a transfer
		case per == 0:
			return 1
		}
		return (s.Count + per - 1) / per
	}
	moves := func(i int) bool { return e.of(i).Count > 0 }
	event := func(i, k int) string { return fmt.Sprintf("b%d_%d", i, k) }
	last := func(i int) string { return event(i, pieces(i)-1) }
	type place struct {
		channel, index int
	}
	list := func(steps []int) (all []string, at map[string]place) {
		at = map[string]place{}
		for _, i := range steps {
			for k := 0; moves(i) && k < pieces(i); k++ {
				at[event(i, k)] = place{index: len(all)}
				all = append(all, event(i, k))
			}
		}
		return all, at
	}
	most, terms := 0, 0
	outs, ins := map[string]place{}, map[string]place{}
	var sent, received [][]string
	for c := range e.sends {
		s, at := list(e.sends[c])
		for name, x := range at {
			outs[name] = place{c, x.index}
		}
		r, at := list(e.recvs[c])
		for name, x := range at {
			ins[name] = place{c, x.index}
		}
		sent, received = append(sent, s), append(received, r)
		most = max(most, len(s))
		terms += len(s) * len(s) / 2
	}
	if terms > maxSlotTerms {
		return smt.Question{}, false
	}
	var b strings.Builder
	var all []string
	for i := range e.step {
		for k := range pieces(i) {
			all = append(all, event(i, k))
			fmt.Fprintf(&b, "(declare-const %s Bool)\n", event(i, k))
		}
	}
	for s := 1; s < most; s++ {
		fmt.Fprintf(&b, "(declare-const slots%d Bool)\n", s)
	}
	fmt.Fprintf(&b, "(assert (or false %s))\n", strings.Join(all, " "))
	for i := range e.step {
		for k := range pieces(i) {
			var why []string
			switch {
			case k > 0:
				why = append(why, event(i, k-1))
			case e.step[i].step > 0:
				why = append(why, last(i-1))
			}
			if k == 0 {
				for _, release := range e.waits[i] {
					var and []string
					for _, j := range release {
						and = append(and, last(j))
					}
					why = append(why, "(and true "+strings.Join(and, " ")+")")
				}
			}
			if x, ok := ins[event(i, k)]; ok {
				why = append(why, sent[x.channel][x.index])
			}
			if x, ok := outs[event(i, k)]; ok {
				for s := 1; s <= x.index && s < most; s++ {
					why = append(why, fmt.Sprintf("(and slots%d %s)", s, received[x.channel][x.index-s]))
				}
			}
			fmt.Fprintf(&b, "(assert (=> %s (or false %s)))\n", event(i, k), strings.Join(why, " "))
		}
	}
	q := smt.Question{Script: b.String()}
	for s := most - 1; s >= 1; s-- {
		var literals []string
		for t := 1; t < most; t++ {
			if t == s {
				literals = append(literals, fmt.Sprintf("slots%d", t))
			} else {
				literals = append(literals, fmt.Sprintf("(not slots%d)", t))
			}
		}
		q.Cases = append(q.Cases, strings.Join(literals, " "))
	}
	return q, true
}

// arrange puts the steps in an order in which they may happen. There is none only if
// there is a deadlock.
func (e *encoder) arrange() error {
	before := make([][]int, len(e.step)) // of a step: those that come after it
	left := make([]int, len(e.step))
	need := func(i, j int) {
		before[j] = append(before[j], i)
		left[i]++
	}
	for i := range e.step {
		if e.step[i].step > 0 {
			need(i, i-1)
		}
		if e.of(i).Verb&model.Receives != 0 {
			if e.sender[i] < 0 {
				return errUndecided("a step receives what is never sent: " + e.name(i))
			}
			need(i, e.sender[i])
		}
		for _, release := range e.waits[i] {
			if len(release) == 0 {
				return errUndecided("a step waits for what never signals: " + e.name(i))
			}
			need(i, release[0])
		}
	}
	e.order = e.order[:0]
	for i := range e.step {
		if left[i] == 0 {
			e.order = append(e.order, i)
		}
	}
	for k := 0; k < len(e.order); k++ {
		for _, i := range before[e.order[k]] {
			if left[i]--; left[i] == 0 {
				e.order = append(e.order, i)
			}
		}
	}
	if len(e.order) < len(e.step) {
		return errUndecided("the steps have no order")
	}
	return nil
}
