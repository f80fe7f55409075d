package sweep

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/oraccl/oraccl/cmd/oraccl/slurm"
	"github.com/oraccl/oraccl/cmd/oraccl/strict"
	"github.com/oraccl/oraccl/model/files"
)

// list is the file of a job that has its cells, a line each and in no telling order. Task I of
// T computes the lines I, I+T, I+2T and so on, and keeps each cell at once, so that a lost
// node loses what it was computing and nothing else.
const list = "cells.jsonl"

// Job returns what tasks of Slurm run to compute cells: "sweep cells FILE I/T --dir DIR". The
// second result are the cells in the order of the file.
func Job(cells []Cell, tasks int, dir string) (*slurm.Script, []Cell) {
	// By their hashes, so that no task gets all cells of a slow method or a large size.
	cells = slices.Clone(cells)
	slices.SortFunc(cells, func(a, b Cell) int { return strings.Compare(a.Key(), b.Key()) })
	var lines bytes.Buffer
	for i := range cells {
		lines.WriteString(cells[i].Text() + "\n")
	}
	return &slurm.Script{
		Name: "oraccl-sweep", About: fmt.Sprintf("%d cells in %d tasks", len(cells), tasks),
		Args:  []string{"sweep", "cells", slurm.List, slurm.Part, "--dir", dir, "--cpus", slurm.CPUs},
		Tasks: slurm.All(tasks), Of: tasks, List: list, Text: lines.Bytes(),
	}, cells
}

// JobCells returns the cells of a job.
func JobCells(ctx context.Context, j *slurm.Job) ([]Cell, error) { return ReadCells(ctx, j.File(list)) }

// ReadCells reads a file with a cell a line.
func ReadCells(ctx context.Context, name string) ([]Cell, error) {
	f, err := files.Open(ctx, name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var cells []Cell
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, strict.MaxFile)
	for n := 1; lines.Scan(); n++ {
		var c Cell
		d := json.NewDecoder(bytes.NewReader(lines.Bytes()))
		d.DisallowUnknownFields()
		if err := d.Decode(&c); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", name, n, err)
		}
		if c.Text() != lines.Text() {
			return nil, fmt.Errorf("%s:%d: a cell that is not in canonical form", name, n)
		}
		cells = append(cells, c)
	}
	return cells, lines.Err()
}

// Unchanged returns an error if a file that a cell names is no longer what it was.
func Unchanged(ctx context.Context, cells []Cell) error {
	now := make([]Cell, len(cells))
	copy(now, cells)
	for i := range now {
		now[i].Files = nil
	}
	if err := digests(ctx, now); err != nil {
		return err
	}
	for i := range cells {
		for name, sum := range cells[i].Files {
			if now[i].Files[name] != sum {
				return fmt.Errorf("%s: is not what it was when the sweep began; start the sweep again", name)
			}
		}
	}
	return nil
}

// Part returns the part i of n of cells: every n-th, from the i-th on.
func Part(cells []Cell, i, n int) []Cell {
	var part []Cell
	for ; i < len(cells); i += n {
		part = append(part, cells[i])
	}
	return part
}
