package main

import (
	"errors"
	"fmt"

	"github.com/oraccl/oraccl/model"
)

// cutInto cuts p into as many chunks as --total-chunks says.
func (in *instance) cutInto(p *model.Problem) (*model.Problem, error) {
	m := in.totalChunks
	switch {
	case in.chunks != 0:
		return nil, errors.New("--total-chunks: does not go with --chunks, which says the same otherwise")
	case m < 1 || m > model.MaxChunks:
		return nil, fmt.Errorf("--total-chunks %d: want 1 to %d chunks", m, model.MaxChunks)
	case m%p.Shards() != 0:
		return nil, fmt.Errorf("--total-chunks %d: want a multiple of %d, the parts of the %v that start or end apart", m, p.Shards(), p.Collective.Kind)
	case int64(m) > p.Space():
		return nil, fmt.Errorf("--total-chunks %d: there are %d bytes, want at least one a chunk", m, p.Space())
	}
	p = p.WithChunks(m)
	return p, p.Validate()
}
