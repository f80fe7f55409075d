package main

import (
	"bytes"
	"context"
	"io"
	"strings"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/files"
	"github.com/oraccl/oraccl/model/format/compact"
	"github.com/oraccl/oraccl/model/native"
)

// compactSuffix is how the names of files in the compact format end.
const compactSuffix = ".oraccl"

// How many transfers of a compact file are read into memory, 40 bytes each: of those that
// can be verified in less, and of others.
const (
	maxHeld  = 1 << 22
	maxLarge = 1 << 26
)

// encodeSolution writes a solution in the format that the file's name asks for.
func encodeSolution(name string, w io.Writer, s *model.Solution) error {
	if strings.HasSuffix(name, compactSuffix) {
		return compact.Write(w, s)
	}
	return native.WriteSolution(w, s)
}

// isCompact reports whether a file begins as a compact one does. A file that cannot be read
// is none.
func isCompact(ctx context.Context, name string) bool {
	f, err := files.Open(ctx, name)
	if err != nil {
		return false
	}
	defer f.Close()
	head := make([]byte, len(compact.Magic))
	_, err = io.ReadFull(f, head)
	return err == nil && string(head) == compact.Magic
}

// readCompact reads a compact file of at most this many transfers.
func readCompact(ctx context.Context, name string, limit int) (*model.Solution, error) {
	f, err := files.Open(ctx, name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return compact.Read(name, f, limit)
}

// loadSolution reads a schedule file in any format, a compact one of at most this many
// transfers.
func loadSolution(ctx context.Context, name string, limit int) (*model.Solution, error) {
	if isCompact(ctx, name) {
		return readCompact(ctx, name, limit)
	}
	return readFile(ctx, name, readSolution)
}

func readSolution(name string, b []byte) (*model.Solution, error) {
	return native.ReadSolution(name, bytes.NewReader(b))
}
