package dossier

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/oraccl/oraccl/model/files"
)

// ProofsDir is the directory in that of a sweep with the dossier of its table.
const ProofsDir = "proofs"

// The directories in that of a sweep with its cells and bounds; they tell that it is one.
const (
	cellsDir  = "cells"
	boundsDir = "bounds"
)

// ErrNoProofs is wrapped by the error for the directory of a sweep without a dossier.
var ErrNoProofs = errors.New("a sweep that kept no proofs: sweep --proofs keeps them")

// sweep checks the directory of a sweep, and returns false if path is none: the dossier of the
// table, and that the table beside it is the same.
func (r *Report) sweep(ctx context.Context, path string) (bool, error) {
	is := func(name string, mode fs.FileMode) bool {
		info, err := os.Lstat(filepath.Join(path, name))
		return err == nil && info.Mode().Type() == mode
	}
	proofs := filepath.Join(path, ProofsDir)
	if is(ManifestName, 0) || !is(cellsDir, fs.ModeDir) || !is(boundsDir, fs.ModeDir) {
		return false, nil
	}
	if !is(ProofsDir, fs.ModeDir) || !is(filepath.Join(ProofsDir, ManifestName), 0) {
		return false, fmt.Errorf("%s: %w", path, ErrNoProofs)
	}
	if err := r.folder(ctx, proofs); err != nil {
		return false, err
	}
	d := r.dossiers[len(r.dossiers)-1]
	if len(d.m.Rows) == 0 {
		d.fault(ManifestName, "it claims no rows of a table, want those of %s", path)
		return true, nil
	}
	dir, err := files.OpenDir(ctx, path)
	if err != nil {
		return false, err
	}
	defer dir.Close()
	for _, name := range []string{TableCSV, TableJSONL} {
		b, err := dir.ReadFile(name)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			d.fault("../"+name, "missing")
		case ctx.Err() != nil:
			d.stopped = true
		case err != nil:
			d.fault("../"+name, "it cannot be read: %v", err)
		case d.bad[name] != "":
			d.fault("../"+name, "not compared: %s is not as it should be", name)
		default:
			if sum := sha256.Sum256(b); hex.EncodeToString(sum[:]) != d.files[name].SHA256 { // which the file in proofs has
				d.fault("../"+name, "it is not the table that %s claims", proofs)
			} else if d.status() == 0 {
				d.tables = append(d.tables, "../"+name)
			}
		}
	}
	entries, err := fs.ReadDir(dir, ".")
	if err != nil {
		return false, err
	}
	for _, e := range entries {
		if name := e.Name(); !slices.Contains([]string{TableCSV, TableJSONL, ProofsDir}, name) {
			d.passed = append(d.passed, "../"+name)
		}
	}
	return true, nil
}
