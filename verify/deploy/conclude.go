package deploy

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/verify"
	"github.com/oraccl/oraccl/verify/order"
)

// conclude is the one place that accepts: every call is proved, a runtime loads the schedule,
// or would if it were built with more room, and the size that was asked about does not
// deadlock. meaning is why the schedule has no program, or nil.
func (r *Report) conclude(meaning error) error {
	var parts []verify.Verdict
	kind := order.Pass
	for i := range r.Calls {
		c := &r.Calls[i]
		v, err := c.joined()
		if err != nil {
			return err
		}
		k := c.Order.Kind()
		if r.Guess != "" && k == order.Wrong {
			v.Outcome, v.Reason = verify.Unknown, "coll=custom: what is wrong may be what is meant"
		}
		if v.Outcome == verify.Unknown {
			k = order.Unknown
		}
		for j := range v.Violations {
			v.Violations[j].Where += r.whose(c)
		}
		if kind == order.Pass || kind == order.Unknown && v.Outcome == verify.Refuted {
			kind = k
		}
		parts = append(parts, v)
	}
	all := verify.All(parts...)
	all.Claim, all.Engine = r.claim(), engines(parts, all.Outcome)
	grade := r.Grade()
	switch {
	case grade >= model.Refused:
		if all.Outcome != verify.Refuted || grade == model.Unreadable {
			kind, all.Reason = Reject, ""
		}
		all.Outcome = verify.Refuted
		all.Violations = append(all.Violations, r.refusals()...)
	case errors.Is(meaning, model.ErrTooLarge):
		all.Outcome, all.Reason, kind = verify.Unknown, meaning.Error(), order.Unknown
	case meaning != nil:
		all.Outcome, kind = verify.Refuted, Reject
		all.Violations = append(all.Violations, r.meaningless(meaning))
	default:
		if few := r.tooFew(); len(few) > 0 {
			if all.Outcome != verify.Refuted {
				all.Outcome, all.Reason, kind = verify.Refuted, "", order.Deadlock
			}
			all.Violations = append(all.Violations, few...)
		}
	}
	r.Verdict, r.Kind = all, kind
	r.Proviso = r.proviso()
	return nil
}

// engines names those that established an outcome, each once.
func engines(parts []verify.Verdict, o verify.Outcome) string {
	var names []string
	for _, v := range parts {
		for _, name := range strings.Split(v.Engine, ", ") {
			if v.Outcome == o && name != "" && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return strings.Join(names, ", ")
}

// joined is the verdict of the engines that were asked.
func (c *Call) joined() (verify.Verdict, error) {
	if c.Formulas == nil {
		return verify.Combine(c.Order.Verdict)
	}
	if a, b := c.Slots.Least, c.Formulas.Slots; a > 0 && b > 0 && a != b {
		return verify.Verdict{}, &verify.Contradiction{What: fmt.Sprintf("order needs %d slots, smt %d", a, b)}
	}
	v, err := verify.Combine(c.Order.Verdict, c.Formulas.Verdict)
	if first := c.Order.Verdict.Violations; len(first) > 0 && err == nil {
		v.Violations = slices.Clone(first) // smt finds the same
	}
	return v, err
}

// whose names a call, after a comma, if there are several.
func (r *Report) whose(c *Call) string {
	if len(r.Calls) < 2 {
		return ""
	}
	return ", " + c.String()
}

// claim states what is proved or refuted.
func (r *Report) claim() string {
	coll := strings.ReplaceAll(r.Collective, "_", "")
	if coll == "" {
		coll = "a collective"
	}
	if len(r.Calls) == 0 {
		return fmt.Sprintf("performs %s on %s", coll, count(r.Schedule.Ranks, "rank"))
	}
	var where []string
	for i := range r.Calls {
		where = append(where, r.Calls[i].String())
	}
	text := fmt.Sprintf("performs %s %s on %s, in %s, whatever order the threadblocks run in", coll, strings.Join(where, " and "), count(r.Schedule.Ranks, "rank"), count(r.Schedule.Chunks, "chunk"))
	if r.Size > 0 {
		text += ", with a buffer of " + model.FormatBytes(r.Size)
	}
	return text
}

// count writes a number of things.
func count(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

// proviso is what the claim of a proved schedule goes on with: it holds with as many slots,
// up to this size, with ranks that may differ in the last bits.
func (r *Report) proviso() string {
	if r.Verdict.Outcome != verify.Proved {
		return ""
	}
	text := ""
	slots, safe := 0, int64(Any)
	for _, c := range r.Calls {
		switch s := c.Slots; {
		case s.Safe == 0:
			slots = max(slots, s.Least)
		case s.Safe > 0 && (safe == Any || s.Safe < safe):
			safe = s.Safe
		}
	}
	if slots > 0 {
		text += fmt.Sprintf(", with %d or more slots per connection", slots)
	} else if safe > 0 && r.Size == 0 {
		text += ", up to " + model.FormatBytes(safe)
	}
	if r.Consistent() == verify.Refuted {
		text += "; ranks may differ in the last bits"
	}
	if r.Grade() == model.NoRoom {
		text += "; no runtime loads it as it is built"
	}
	return text
}

// refusals returns why the runtimes refuse the schedule, which all of them do: the first
// reason of each, and of several with the same one, one.
func (r *Report) refusals() []verify.Violation {
	var all []verify.Violation
	for _, x := range reasons(r.Loadings) {
		text := listed(x.who) + " refuse it: "
		switch {
		case len(x.who) == len(r.Schedule.Loadings):
			text = "no runtime loads it: "
		case len(x.who) == 1:
			text = x.who[0] + " refuses it: "
		}
		all = append(all, verify.Wrong(verify.WouldNotLoad, fmt.Sprintf("line %d", x.Line), text+x.Message).AtLine(x.Line))
	}
	return all
}

// reason is why some runtimes refuse a schedule.
type reason struct {
	model.Remark
	who []string
}

// reasons returns the first reason of each of some runtimes that refuse a schedule.
func reasons(all []model.Loading) []reason {
	var list []reason
	for _, l := range all {
		i := slices.IndexFunc(list, func(x reason) bool { return x.Remark == l.Refusals[0] })
		if i < 0 {
			i, list = len(list), append(list, reason{Remark: l.Refusals[0]})
		}
		list[i].who = append(list[i].who, l.Runtime)
	}
	return list
}

// meaningless is the violation of a schedule without a program.
func (r *Report) meaningless(err error) verify.Violation {
	v := verify.Wrong(verify.WouldNotLoad, fmt.Sprintf("line %d", r.Schedule.Line), err.Error()).AtLine(r.Schedule.Line)
	var placed *model.Error
	if errors.As(err, &placed) {
		v.Where, v.Message = placed.Place, placed.Err.Error()
	}
	return v
}

// listed writes a list in words: "a, b and c".
func listed(words []string) string {
	if n := len(words); n > 1 {
		return strings.Join(words[:n-1], ", ") + " and " + words[n-1]
	}
	return strings.Join(words, "")
}
