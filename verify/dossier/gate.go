package dossier

import (
	"fmt"
	"slices"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/quote"
	"github.com/oraccl/oraccl/verify"
)

// beyond is a schedule whose gap is larger than Options.MaxGap, or not known.
type beyond struct {
	schedule string     // "": none is there that is proved
	gap      *model.Gap // nil: not known
}

// words states why a schedule does not pass.
func (b beyond) words() string {
	switch {
	case b.schedule == "":
		return "no proved schedule is there"
	case b.gap == nil:
		return fmt.Sprintf("%s: no certificate of a bound above zero for every cut is there for its problem", quote.Name(b.schedule))
	}
	return fmt.Sprintf("%s is %v above the bound for every cut", quote.Name(b.schedule), *b.gap)
}

// gated returns what does not pass Options.MaxGap: of documents that stand for themselves any schedule, and
// of a dossier, which has the schedules of all methods, the shortest ones of each problem.
func (r *Report) gated() []beyond {
	most := r.options.MaxGap
	if most == nil {
		return nil
	}
	all, any := gate(r.found, *most, true)
	for _, d := range r.dossiers {
		list, there := gate(d.found, *most, false)
		all, any = append(all, list...), any || there
	}
	if !any {
		all = append(all, beyond{})
	}
	return all
}

// gate returns which of the proved schedules, or of the shortest ones of each problem, are beyond most, and
// whether there are any that are proved.
func gate(found []Finding, most model.Gap, each bool) (all []beyond, any bool) {
	stands := func(f *Finding) bool {
		return (f.Kind == "schedule" || f.Kind == "timetable") && f.Err == nil && f.disowned == "" && f.Verdict.Outcome == verify.Proved
	}
	least := map[string]model.Time{} // by problem
	for i := range found {
		if f := &found[i]; stands(f) && f.ends() > 0 {
			if at, ok := least[f.digest]; !ok || f.ends() < at {
				least[f.digest] = f.ends()
			}
		}
	}
	known := conclusions(found)
	for i := range found {
		f := &found[i]
		if !stands(f) {
			continue
		}
		any = true
		if !each && f.ends() != least[f.digest] {
			continue
		}
		b := beyond{schedule: f.File}
		at := slices.IndexFunc(known, func(c Conclusion) bool {
			return c.Schedule == f.File && (c.EveryCut || f.workload != nil) && c.Bound > 0
		})
		if at >= 0 {
			g := model.GapOf(known[at].Makespan, known[at].Bound)
			if g <= most {
				continue
			}
			b.gap = &g
		}
		all = append(all, b)
	}
	return all, any
}
