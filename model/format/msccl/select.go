package msccl

import "fmt"

// Selection is for which calls a runtime picks a file that it has loaded; for all
// others it silently uses an algorithm of its own.
type Selection struct {
	Min, Max   int64 // bytes of the larger buffer; Max is -1 where there is no limit
	Multiple   int64 // the larger buffer's elements are a multiple of this
	InPlace    bool
	OutOfPlace bool
	Never      string // why no call picks it; empty if some do
}

// String says it on one line.
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

// Selection says for which calls a runtime picks the file, if it loads it.
func (a *Algo) Selection(r Runtime) Selection {
	s := Selection{Min: a.MinBytes, Max: a.MaxBytes, Multiple: int64(a.ChunksPerLoop), InPlace: a.InPlace, OutOfPlace: a.OutPlace}
	switch r {
	case MSCCL: // minBytes <= n < maxBytes, and one mode
		_, s.Max = a.microsoftRange()
		if s.Max--; s.Max < 0 {
			s.Never = "no size is below maxBytes=0"
		}
		s.OutOfPlace = !a.InPlace
		if s.InPlace && a.Coll == "alltoall" {
			s.Never = "alltoall is out of place only"
		}
	default: // minBytes <= n <= maxBytes, 0 for no limit; a rank's own count is divided
		if s.Max == 0 {
			s.Max = -1
		}
		if !s.InPlace && !s.OutOfPlace {
			s.Never = "inplace and outofplace are both 0"
		}
		if a.Coll == "allgather" || a.Coll == "reducescatter" || a.Coll == "alltoall" {
			s.Multiple *= int64(a.Ranks)
		}
	}
	if s.Never == "" && s.Max >= 0 && s.Max < max(s.Min, 1) {
		s.Never = fmt.Sprintf("no size from minBytes=%d fits maxBytes=%d", a.MinBytes, a.MaxBytes)
	}
	return s
}
