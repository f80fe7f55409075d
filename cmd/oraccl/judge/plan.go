package judge

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/oraccl/oraccl/model/files"
	"github.com/oraccl/oraccl/model/format/mscclpp"
	"github.com/oraccl/oraccl/verify/deploy"
	"github.com/oraccl/oraccl/verify/smt"
)

// IsPlan reports whether a file looks like execution plans of MSCCL++.
func IsPlan(ctx context.Context, file string) bool {
	f, err := files.Open(ctx, file)
	if err != nil {
		return false
	}
	defer f.Close()
	head := make([]byte, 1<<12)
	n, _ := io.ReadFull(f, head)
	return mscclpp.Is(head[:n])
}

// readPlan reads and verifies a file of execution plans.
func readPlan(ctx context.Context, file string, by deploy.Options) (*Deployed, error) {
	if by.Root != 0 {
		return nil, fmt.Errorf("--root: %s is an execution plan, of which no collective has a root", file)
	}
	if by.Formulas != nil {
		return nil, fmt.Errorf("--engine %s: %s is an execution plan, about which the engine plan decides alone", smt.Engine, file)
	}
	r, err := files.Open(ctx, file)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	f, err := mscclpp.Read(file, bufio.NewReader(r))
	var syntax *mscclpp.SyntaxError
	switch {
	case errors.As(err, &syntax):
		d := &Deployed{Report: deploy.Unreadable("is an execution plan of MSCCL++", syntax.Line, syntax.Message)}
		d.Report.File = file
		return d, nil
	case err != nil:
		return nil, err
	}
	if c := by.Collective; c != "" {
		if !slices.Contains(mscclpp.Collectives(), c) {
			return nil, fmt.Errorf("--collective %q: of execution plans, want one of %v", c, mscclpp.Collectives())
		}
		f.Collective = c
	}
	if by.Mode != deploy.AsDeclared {
		f.InPlace = by.Mode == deploy.InPlace
	}
	report, err := deploy.CheckPlan(ctx, f.Plan(), by)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	report.File = file
	return &Deployed{Plan: f, Report: report}, nil
}
