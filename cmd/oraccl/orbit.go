package main

import (
	"context"
	"fmt"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/format/schedules"
	"github.com/oraccl/oraccl/solve/certify"
	"github.com/oraccl/oraccl/verify/orbit"
)

// judgeOrbit verifies a schedule that is the same for all ranks by looking at one.
func judgeOrbit(ctx context.Context, file string, o *schedules.Orbit, asked *model.Problem) (verifyJSON, error) {
	if o == nil {
		return verifyJSON{}, fmt.Errorf("%s: states transfers, not what is the same for all ranks, which --engine orbit is for", file)
	}
	p := o.Problem
	if asked != nil {
		var err error
		if p, err = askedFor(file, asked, p); err != nil {
			return verifyJSON{}, err
		}
	}
	v := orbit.Check(ctx, p, o.Orbit)
	j := verifyToJSON(file, p, &model.Schedule{Form: model.FormFor(p.Cost)}, certify.Alone(v), []string{orbit.Engine})
	j.MakespanPs = v.Makespan
	j.remark(o.Partial)
	return j, nil
}
