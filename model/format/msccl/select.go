package msccl

import (
	"fmt"

	"github.com/oraccl/oraccl/model"
)

// Selection returns for which calls a runtime picks the file, if it loads it. Sizes are
// those of the larger buffer, but of a gather or scatter of the smaller one.
func (a *Algo) Selection(r Runtime) model.Selection {
	s := model.Selection{Min: a.MinBytes, Max: a.MaxBytes, Multiple: int64(a.ChunksPerLoop), InPlace: a.InPlace, OutOfPlace: a.OutPlace}
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
