package foreign

import (
	"context"
	"fmt"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/format/syccl"
)

// readSyCCL brings the best schedule of a result of SyCCL into our terms.
func readSyCCL(ctx context.Context, t *Truth, asked *model.Problem, file string, b []byte) (*Imported, error) {
	f, err := syccl.Read(file, b)
	if err != nil {
		return nil, err
	}
	var by syccl.Truth
	if by.Topology, by.Collective, by.Size, err = t.judged(ctx, asked); err != nil {
		return nil, err
	}
	if t.Chunks != 0 {
		return nil, fmt.Errorf("--chunks: %s has as many chunks as it states", file)
	}
	m, err := f.Import(by)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return &Imported{Imported: m}, nil
}
