package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/files"
	"github.com/oraccl/oraccl/model/format/compact"
	"github.com/oraccl/oraccl/solve/certify"
	"github.com/oraccl/oraccl/verify/orbit"
)

// orbited is what a compact file states as the same for all ranks.
type orbited struct {
	problem *model.Problem
	orbit   *model.Orbit
	partial bool
}

// orbitOf returns what a compact file states as the same for all ranks, or nil if it states
// no such thing.
func orbitOf(ctx context.Context, file string) (*orbited, error) {
	if !isCompact(ctx, file) {
		return nil, nil
	}
	f, err := files.Open(ctx, file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	r, err := compact.NewReader(file, f)
	if err != nil || r.Orbit() == nil {
		return nil, err
	}
	o := &orbited{problem: r.Solution().Problem, orbit: r.Orbit()}
	if err := r.End(); errors.Is(err, compact.ErrPartial) {
		o.partial = true
	} else if err != nil {
		return nil, err
	}
	return o, nil
}

// judgeOrbit verifies a schedule that is the same for all ranks by looking at one.
func judgeOrbit(ctx context.Context, file string, o *orbited, asked *model.Problem) (verifyJSON, error) {
	if o == nil {
		return verifyJSON{}, fmt.Errorf("%s: states transfers, not what is the same for all ranks, which --engine orbit is for", file)
	}
	p := o.problem
	if asked != nil {
		var err error
		if p, err = askedFor(file, asked, p); err != nil {
			return verifyJSON{}, err
		}
	}
	v := orbit.Check(ctx, p, o.orbit)
	j := verifyToJSON(file, p, &model.Schedule{Form: model.FormFor(p.Cost)}, certify.Alone(v), []string{orbit.Engine})
	j.MakespanPs = v.Makespan
	j.remark(o.partial)
	return j, nil
}
