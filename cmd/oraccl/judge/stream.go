package judge

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/oraccl/oraccl/cmd/oraccl/machine"
	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/files"
	"github.com/oraccl/oraccl/model/format/compact"
	"github.com/oraccl/oraccl/verify"
	"github.com/oraccl/oraccl/verify/stream"
)

// Streamed is what is decided about a file that was verified while it was read.
type Streamed struct {
	Problem *model.Problem
	Form    model.Form
	Verdict verify.Verdict
	Partial bool // the run that wrote the file was interrupted
}

// Stream verifies a compact file of any size while it is read, against the problem
// asked, or its own if that is nil. It returns an error that wraps stream.ErrNotServed if
// that cannot be. said gets how much memory it needs, if that is much. Each, if not nil, is passed the transfers too, with the problem, form and
// routes, and must not keep them.
func Stream(ctx context.Context, said io.Writer, file string, asked *model.Problem, each func(*model.Solution, []model.Transfer) error) (*Streamed, error) {
	f, err := files.Open(ctx, file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	r, err := compact.NewReader(file, f)
	if err != nil {
		return nil, err
	}
	v := &Streamed{Problem: r.Solution().Problem, Form: r.Solution().Schedule.Form}
	if asked != nil {
		if v.Problem, err = AskedFor(file, asked, v.Problem); err != nil {
			return nil, err
		}
	}
	var check *stream.Checker
	batch := make([]model.Transfer, 1<<14)
	for i := 0; ; i++ {
		n, err := r.Read(batch)
		if check == nil { // now the routes have been read
			need, serr := stream.Memory(v.Problem, v.Form, r.Solution().Schedule.Routes)
			if serr != nil {
				return nil, serr
			}
			if serr := machine.EnoughMemory(said, "verifying", need); serr != nil {
				return nil, serr
			}
			if check, serr = stream.New(ctx, v.Problem, v.Form, r.Solution().Schedule.Routes); serr != nil {
				return nil, serr
			}
		}
		if each != nil {
			if eerr := each(r.Solution(), batch[:n]); eerr != nil {
				return nil, eerr
			}
		}
		more := check.Add(batch[:n])
		switch {
		case errors.Is(err, compact.ErrPartial):
			v.Partial = true
		case err != nil && err != io.EOF:
			return nil, err
		case err == nil && more && i%64 == 0 && ctx.Err() != nil:
			return nil, fmt.Errorf("%s: interrupted", file)
		case err == nil && more:
			continue
		}
		v.Verdict = check.Verdict()
		return v, nil
	}
}

// streamHeld has a schedule in memory verified as a stream. It writes to w how much memory
// that needs, if that is much.
func streamHeld(ctx context.Context, w io.Writer, p *model.Problem, s *model.Schedule) (verify.Verdict, error) {
	need, err := stream.Memory(p, s.Form, s.Routes)
	if err != nil {
		return verify.Verdict{}, err
	}
	if err := machine.EnoughMemory(w, "verifying", need); err != nil {
		return verify.Verdict{}, err
	}
	check, err := stream.New(ctx, p, s.Form, s.Routes)
	if err != nil {
		return verify.Verdict{}, err
	}
	list := slices.Clone(s.Transfers)
	slices.SortStableFunc(list, func(a, b model.Transfer) int { return cmp.Compare(a.Start, b.Start) })
	check.Add(list)
	return check.Verdict(), nil
}

// AskedFor returns the problem asked with the chunks of the file's own where it has none.
func AskedFor(file string, asked, own *model.Problem) (*model.Problem, error) {
	q := *asked
	if q.Chunks == nil {
		q.Chunks = own.Chunks
	}
	if err := q.Validate(); err != nil {
		return nil, fmt.Errorf("%s: its chunks do not fit the problem asked: %w", file, err)
	}
	return &q, nil
}
