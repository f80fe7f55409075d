package model

import (
	"errors"
	"fmt"
)

// Deployable is a schedule in a form that runtimes load and carry out, as a reader of
// its format understands it. verify/deploy decides whether it may be deployed.
type Deployable struct {
	Line       int    // of the element that declares it
	Collective string // as the file names it; "custom" if it may be any; "" if it does not say
	Ranks      int
	Chunks     int    // into which runtimes cut the buffer that they count
	Protocol   string // of the connections: "Simple"
	Steps      int    // of all ranks

	// InPlace and OutOfPlace are the calls that it is declared for. Where it is declared
	// for neither, it is read as for calls out of place.
	InPlace, OutOfPlace bool

	// Loadings are what each runtime of the format makes of it.
	Loadings []Loading

	// Program returns what the runtimes carry out. An error that wraps ErrTooLarge says
	// that there is a program, and no room for it; any other one that there is none. It is
	// an *Error where it is about a place of the file.
	Program func(Meaning) (*Program, error)
}

// ErrTooLarge is wrapped by errors about what needs more memory to decide about than is
// allowed.
var ErrTooLarge = errors.New("too large")

// Meaning is what a deployable schedule is read as.
type Meaning struct {
	Collective string // a name of the format; empty: what the file declares
	InPlace    bool
	Root       int // of a broadcast, reduce, gather or scatter, which no file declares
}

// Loading is what a runtime makes of a deployable schedule.
type Loading struct {
	Runtime   string
	Refusals  []Remark // why it would not load the file; none if it would
	Grade     Grade    // of the worst refusal
	Notes     []Remark // what it loads in another sense than was meant, or does not check
	Selection Selection
}

// Remark is something about a line.
type Remark struct {
	Line    int
	Message string
}

// Grade is how far a runtime is from loading a file.
type Grade uint8

// The grades. There is no room for a file that the runtime would load if constants of
// its source and the widths of its fields were larger; one that is refused declares what
// does not fit what it does; one that is unreadable has no meaning to the runtime.
const (
	Loads Grade = iota
	NoRoom
	Refused
	Unreadable
)

// Selection is for which calls a runtime picks a file that it has loaded; for all
// others it silently uses an algorithm of its own.
type Selection struct {
	Min, Max   int64 // bytes of the buffer that the runtime counts, the larger one but of a gather or scatter; Max is -1 where there is no limit
	Multiple   int64 // the buffer's elements are a multiple of this
	InPlace    bool
	OutOfPlace bool
	Never      string // why no call picks it; empty if some do
}

// String returns the selection on one line.
func (s Selection) String() string {
	if s.Never != "" {
		return "never: " + s.Never
	}
	upTo := "any size"
	switch {
	case s.Max >= 0:
		upTo = fmt.Sprintf("%d to %d bytes", s.Min, s.Max)
	case s.Min > 0:
		upTo = fmt.Sprintf("%d bytes and more", s.Min)
	}
	where := "in place"
	switch {
	case s.InPlace && s.OutOfPlace:
		where = "in place and out of place"
	case s.OutOfPlace:
		where = "out of place"
	}
	return fmt.Sprintf("%s, %s, elements a multiple of %d", where, upTo, s.Multiple)
}
