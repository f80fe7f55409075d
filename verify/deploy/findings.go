package deploy

import (
	"fmt"
	"slices"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/verify"
)

// Level is how grave a finding is.
type Level uint8

// The levels. A note is about what no runtime reaches, an error refutes.
const (
	Note Level = iota
	Warning
	Error
)

// String returns "note", "warning" or "error".
func (l Level) String() string { return []string{"note", "warning", "error"}[l] }

// Finding is something to show in a file.
type Finding struct {
	Level   Level
	Code    verify.Code
	Line    int
	Where   string // may be empty
	Message string
	Times   int // how often the code was found, where not all are reported; of the first of its code, else 0
}

// String returns the code, the place, the message, and how many more there are.
func (f Finding) String() string {
	text := string(f.Code) + ": "
	if f.Where != "" {
		text += f.Where + ": "
	}
	text += f.Message
	if f.Times > 1 {
		text += fmt.Sprintf(" (and %d more)", f.Times-1)
	}
	return text
}

// find lists what the verdict has, and what may matter beside it.
func (r *Report) find() {
	level := Error
	if r.Verdict.Outcome == verify.Unknown {
		level = Warning
	}
	for _, v := range r.Verdict.Violations {
		r.Findings = append(r.Findings, Finding{level, v.Code, v.Line, v.Where, v.Message, 0})
	}
	if r.Grade() == model.NoRoom {
		for _, x := range reasons(r.loaders()) {
			has := "has"
			if len(x.who) > 1 {
				has = "have"
			}
			r.Findings = append(r.Findings, Finding{Warning, verify.WouldNotLoad, x.Line, "", fmt.Sprintf("no runtime loads it as it is built: %s %s no room for it: line %d: %s", listed(x.who), has, x.Line, x.Message), 0})
		}
	}
	for i := range r.Calls {
		r.slotsFinding(&r.Calls[i])
	}
	r.conditions()
	slices.SortStableFunc(r.Findings, func(a, b Finding) int { return int(b.Level) - int(a.Level) })
	seen := map[verify.Code]bool{}
	for i := range r.Findings {
		if f := &r.Findings[i]; seen[f.Code] {
			f.Times = 0
		} else {
			seen[f.Code] = true
		}
	}
}

// slotsFinding notes that a call deadlocks at some sizes, and warns if a runtime picks the
// schedule for them.
func (r *Report) slotsFinding(c *Call) {
	if c.Slots.Least == 0 || c.Slots.Safe == Any {
		return
	}
	f := Finding{Level: Note, Code: verify.TooFewSlots, Line: r.Schedule.Line, Message: c.Slots.describe(r.Schedule.Protocol)}
	if len(r.Calls) > 1 {
		f.Where = c.String()
	}
	var picked []string
	largest := int64(0)
	for _, l := range r.loaders() {
		switch s := l.Selection; {
		case s.Never != "" || c.InPlace && !s.InPlace || !c.InPlace && !s.OutOfPlace:
		case s.Max < 0 || s.Max > c.Slots.Safe/r.shares():
			picked = append(picked, l.Runtime)
		default:
			largest = max(largest, s.Max)
		}
	}
	switch {
	case len(picked) == 1:
		f.Level, f.Message = Warning, f.Message+", and "+picked[0]+" picks it there"
	case len(picked) > 1:
		f.Level, f.Message = Warning, f.Message+", and "+listed(picked)+" pick it there"
	case largest > 0:
		f.Message += fmt.Sprintf("; no runtime picks it for more than %d bytes", largest)
	default:
		f.Message += "; no runtime picks it"
	}
	r.Findings = append(r.Findings, f)
}

// conditions warns of what does not refute: of ranks that add in different orders once.
func (r *Report) conditions() {
	times := map[verify.Code]int{}
	for i := range r.Calls {
		c := &r.Calls[i]
		for code, n := range c.Order.Counts {
			times[code] += n
		}
		for _, v := range c.Order.Conditions {
			if v.Code == verify.RankOrder && slices.ContainsFunc(r.Findings, func(f Finding) bool { return f.Code == v.Code }) {
				continue
			}
			r.Findings = append(r.Findings, Finding{Warning, v.Code, v.Line, v.Where + r.whose(c), v.Message, 0})
		}
	}
	for i := range r.Findings {
		if f := &r.Findings[i]; f.Level < Error {
			f.Times = times[f.Code]
		}
	}
}

// Warnings are the codes that findings which do not refute may have.
func Warnings() []verify.Code {
	return []verify.Code{verify.WouldNotLoad, verify.TooFewSlots, verify.RankOrder, verify.RemoteOrder, verify.ClobberedInput, verify.LateSignal, verify.IdleOwner,
		verify.RelaxedOrder, verify.NextLaunch, verify.SharedChannel, verify.PacketTwice, verify.KernelDeparts, verify.SizeLimit}
}
