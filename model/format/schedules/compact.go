// Package schedules reads and writes files of schedules in our formats: JSON, and the compact
// one, whose names end in .oraccl, whole or as they grow.
package schedules

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math"
	"strings"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/files"
	"github.com/oraccl/oraccl/model/format/compact"
	"github.com/oraccl/oraccl/model/native"
)

// CompactSuffix is how the names of files in the compact format end.
const CompactSuffix = ".oraccl"

// MaxLarge is how many transfers of a compact file are read into memory at most, 40 bytes
// each, where they cannot be verified in less.
const MaxLarge = 1 << 26

// Encode writes a solution in the format that the file's name asks for.
func Encode(name string, w io.Writer, s *model.Solution) error {
	if strings.HasSuffix(name, CompactSuffix) {
		return compact.Write(w, s)
	}
	return native.WriteSolution(w, s)
}

// IsCompact reports whether a file begins as a compact one does. A file that cannot be read
// is none.
func IsCompact(ctx context.Context, name string) bool {
	f, err := files.Open(ctx, name)
	if err != nil {
		return false
	}
	defer f.Close()
	head := make([]byte, len(compact.Magic))
	_, err = io.ReadFull(f, head)
	return err == nil && string(head) == compact.Magic
}

// readCompact reads a compact file of at most limit transfers.
func readCompact(ctx context.Context, name string, limit int) (*model.Solution, error) {
	f, err := files.Open(ctx, name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return compact.Read(name, f, limit)
}

// Load reads a schedule file in whatever format it is, a compact one of at
// most limit transfers.
func Load(ctx context.Context, name string, limit int) (*model.Solution, error) {
	if IsCompact(ctx, name) {
		return readCompact(ctx, name, limit)
	}
	b, err := files.Read(ctx, name)
	if err != nil {
		return nil, err
	}
	return native.ReadSolution(name, bytes.NewReader(b))
}

// LeastBytes returns how many bytes the file of a name has at least whose schedule is right
// for p. Of a compact file, which has a few bytes a transfer, and of another format it
// returns 0.
func LeastBytes(name string, p *model.Problem) int64 {
	if strings.HasSuffix(name, CompactSuffix) || strings.HasSuffix(name, ".xml") {
		return 0
	}
	const transfer = 50 // the least in JSON
	if n := leastTransfers(p); n < math.MaxInt64/transfer {
		return n * transfer
	}
	return 0
}

// leastTransfers returns a number of transfers that no schedule of p can do without.
func leastTransfers(p *model.Problem) int64 {
	n := int64(len(p.Members()))
	chunks := int64(len(p.Chunks))
	if p.Chunks == nil {
		chunks = min(int64(p.DefaultChunks(1)), p.Space())
		if c := p.Collective.Kind; c == model.AllReduce {
			chunks = 1
		}
	}
	switch p.Collective.Kind {
	case model.AllGather, model.ReduceScatter, model.Broadcast, model.Reduce:
		return chunks * (n - 1)
	case model.AllReduce:
		return chunks * 2 * (n - 1)
	}
	return 0
}

// Orbit is what a compact file states as the same for all ranks.
type Orbit struct {
	Problem *model.Problem
	Orbit   *model.Orbit
	Partial bool // the run that wrote it was interrupted
}

// OrbitOf returns what a compact file states as the same for all ranks, or nil if it states
// no such thing.
func OrbitOf(ctx context.Context, file string) (*Orbit, error) {
	if !IsCompact(ctx, file) {
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
	o := &Orbit{Problem: r.Solution().Problem, Orbit: r.Orbit()}
	if err := r.End(); errors.Is(err, compact.ErrPartial) {
		o.Partial = true
	} else if err != nil {
		return nil, err
	}
	return o, nil
}
