package order

import "github.com/oraccl/oraccl/verify"

// Kind is a report in a word.
type Kind string

// The kinds. Of several things that are wrong a report has the kind of the one that the
// others follow from; the kinds are in this order.
const (
	Malformed          Kind = "malformed" // no program at all
	OutOfBounds        Kind = "out-of-bounds"
	Deadlock           Kind = "deadlock" // of a shared connection, in the one execution that was taken
	SharedConnection   Kind = "shared-connection"
	Unmatched          Kind = "unmatched"
	RaceWrong          Kind = "race+wrong" // the result of the one execution that was taken is wrong, too
	Race               Kind = "race"
	Wrong              Kind = "wrong"
	ReadsUninitialised Kind = "reads-uninitialised"
	Pass               Kind = "pass"
	Unknown            Kind = "unknown"
)

// Kind returns what is wrong in a word, Pass of what is proved, and else Unknown.
func (r *Report) Kind() Kind {
	switch {
	case r.Counts[verify.Malformed] > 0:
		return Malformed
	case r.Bounds == verify.Refuted:
		return OutOfBounds
	case r.Counts[verify.Deadlock] > 0:
		return Deadlock
	case r.Ownership == verify.Refuted:
		return SharedConnection
	case r.Matching == verify.Refuted:
		return Unmatched
	case r.Races == verify.Refuted && r.Result == verify.Refuted:
		return RaceWrong
	case r.Races == verify.Refuted:
		return Race
	case r.Result == verify.Refuted:
		return Wrong
	case r.Defined == verify.Refuted:
		return ReadsUninitialised
	case r.Verdict.Outcome == verify.Proved:
		return Pass
	}
	return Unknown
}
