package convert

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/oraccl/oraccl/cmd/oraccl/built"
	"github.com/oraccl/oraccl/cmd/oraccl/judge"
	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/files"
	"github.com/oraccl/oraccl/model/format/compact"
	"github.com/oraccl/oraccl/model/format/schedules"
	"github.com/oraccl/oraccl/verify"
	"github.com/oraccl/oraccl/verify/stream"
)

// Streams reports whether a compact file can become another one transfer by transfer, verified
// while it is read: of any size, and one that is the same for all ranks as its transfers.
func Streams(ctx context.Context, file, to, out string) bool {
	if to != "oraccl" || !strings.HasSuffix(out, schedules.CompactSuffix) || !schedules.IsCompact(ctx, file) {
		return false
	}
	f, err := files.Open(ctx, file)
	if err != nil {
		return false
	}
	defer f.Close()
	r, err := compact.NewReader(file, f)
	if err != nil {
		return false // the reader reports why
	}
	_, err = stream.Memory(r.Solution().Problem, r.Solution().Schedule.Form, nil)
	return err == nil
}

// Stream writes the transfers of a compact file to another one, if they are right: if they are
// not, that is a *judge.NotRightError. said gets how much memory that needs, if it is much.
func Stream(ctx context.Context, said io.Writer, file, out string) error {
	var g *schedules.Growing
	v, err := judge.Stream(ctx, said, file, nil, func(sol *model.Solution, batch []model.Transfer) (err error) {
		if g == nil {
			o := model.Origin{Method: "convert", Tool: built.Tool()}
			if g, err = schedules.Create(out, sol.Problem, sol.Schedule.Form, o, sol.Schedule.Routes); err != nil {
				return err
			}
		}
		return g.Write(batch)
	})
	switch {
	case g == nil:
		return err
	case err == nil && v.Partial:
		err = fmt.Errorf("%s: %w", file, compact.ErrPartial)
	case err == nil && v.Verdict.Outcome != verify.Proved:
		err = &judge.NotRightError{File: file, Claim: fmt.Sprint(v.Problem), Verdict: v.Verdict}
	}
	if err != nil {
		if derr := g.Drop(); derr != nil {
			return derr
		}
		return err
	}
	return g.Finish(map[string]string{stream.Engine: verify.Proved.String()})
}
