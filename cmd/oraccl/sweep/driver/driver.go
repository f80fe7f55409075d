// Package driver runs a sweep from its cells to its table: it has missing cells computed,
// writes the table, its figures and its proofs, and prints what is in it.
package driver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/oraccl/oraccl/cmd/oraccl/built"
	"github.com/oraccl/oraccl/cmd/oraccl/exit"
	"github.com/oraccl/oraccl/cmd/oraccl/slurm"
	"github.com/oraccl/oraccl/cmd/oraccl/sweep"
	"github.com/oraccl/oraccl/cmd/oraccl/sweep/compute"
	"github.com/oraccl/oraccl/model/quote"
	"github.com/oraccl/oraccl/model/table"
	"github.com/oraccl/oraccl/verify"
	"github.com/oraccl/oraccl/verify/dossier"
)

// Sweep is what to do with some cells.
type Sweep struct {
	Dir              string       // of finished cells and of the table
	Workers, Threads int          // cells at once, threads for each; 0: the cores, shared out
	Slurm            *slurm.Array // computes cells; nil: this machine
	NoTimes          bool         // the table has no columns of times
	List             bool         // cells are listed, and nothing is computed
	Retry            bool         // cells that failed are computed again
	Proofs           bool         // schedules and certificates are kept, and written beside the table
	Stdout, Stderr   io.Writer
}

// Run computes the cells that are missing and writes the table. What it returns is an
// exit.Status where all there is to state has been printed.
func (s *Sweep) Run(ctx context.Context, cells []sweep.Cell) error {
	if s.Proofs {
		for i := range cells {
			cells[i].Proofs = true
		}
		if err := dossier.Free(filepath.Join(s.Dir, dossier.ProofsDir)); err != nil {
			return fmt.Errorf("--proofs: %w", err)
		}
	}
	store, err := sweep.Open(s.Dir, built.Tool())
	if err != nil {
		return err
	}
	if s.List {
		return listCells(s.Stdout, store, cells)
	}
	if s.Retry {
		if err := store.Forget(cells, table.Failed, table.Contradicted); err != nil {
			return err
		}
	}
	missing, err := store.Missing(cells)
	if err != nil {
		return err
	}
	if s.Slurm == nil {
		err = compute.Local(ctx, store, missing, s.Workers, s.Threads, s.Stderr)
	} else {
		var written bool
		if written, err = compute.Slurm(ctx, s.Slurm, store, missing); written {
			return err
		}
	}
	interrupted := errors.Is(err, context.Canceled)
	if err != nil && !interrupted {
		return err
	}
	left, err := store.Missing(missing)
	if err != nil {
		return err
	}
	if len(left) > 0 {
		why := "some are missing"
		if interrupted {
			why = "interrupted"
		}
		fmt.Fprintf(s.Stderr, "oraccl: %s: %d of %d cells are kept in %s; the same command goes on from there\n", why, len(cells)-len(left), len(cells), quote.Name(s.Dir))
		return exit.Status(exit.Unknown)
	}
	return s.finish(ctx, store, cells, len(missing))
}

// finish writes the table, and prints what is in it.
func (s *Sweep) finish(ctx context.Context, store *sweep.Store, cells []sweep.Cell, computed int) error {
	kept, err := store.Rows(cells)
	if err != nil {
		return err
	}
	rows := make([]table.Row, len(kept))
	for i := range kept {
		rows[i] = kept[i].Row
		if r := &rows[i]; r.Status == table.Proved {
			if err := verify.Below(r.MakespanPs, r.BoundPs, r.Bound); err != nil {
				return fmt.Errorf("%s %s %s: %w", r.Topology, r.Collective, r.Method, err)
			}
		}
	}
	if err := s.write(ctx, store, cells, kept, rows); err != nil {
		var damaged *damagedError
		if !errors.As(err, &damaged) {
			return err
		}
		if derr := store.Drop(damaged.cell); derr != nil {
			return derr
		}
		fmt.Fprintf(s.Stderr, "oraccl: %s; the same command computes the cell again\n", quote.Line(err.Error()))
		return exit.Status(exit.Unknown)
	}
	out := s.Stdout
	count := map[table.Status]int{}
	for i := range rows {
		count[rows[i].Status]++
	}
	fmt.Fprintf(out, "%d cells: %d proved, %d unsupported, %d failed, %d refuted; %d computed now, %d kept from before\n", len(rows),
		count[table.Proved], count[table.Unsupported], count[table.Failed], count[table.Refuted], computed, len(rows)-computed)
	printReasons(out, rows)
	drawn, err := drawSweep(s.Dir, rows)
	if err != nil {
		return err
	}
	dir := strings.TrimRight(s.Dir, "/")
	fmt.Fprintf(out, "written to %s and %s", quote.Name(filepath.Join(dir, "table.csv")), quote.Name(filepath.Join(dir, "table.jsonl")))
	switch len(drawn) {
	case 0:
	case 1:
		fmt.Fprintf(out, ", drawn in %s", quote.Name(filepath.Join(dir, drawn[0])))
	default:
		fmt.Fprintf(out, ", drawn in %d figures beside them", len(drawn))
	}
	fmt.Fprintln(out)
	if s.Proofs {
		fmt.Fprintf(out, "proofs are in %s; oraccl check %s decides the table\n", quote.Name(filepath.Join(dir, dossier.ProofsDir)), quote.Line(slurm.Quoted(dir)))
	}
	if i := slices.IndexFunc(rows, func(r table.Row) bool { return r.Status == table.Contradicted }); i >= 0 {
		r := &rows[i]
		return fmt.Errorf("cells with contradictory verdicts: %d, the first of them %s %s %s: %s", count[table.Contradicted], r.Topology, r.Collective, r.Method, r.Reason)
	}
	if count[table.Refuted] > 0 {
		return exit.Status(exit.Refuted)
	}
	return nil
}

// write writes the table, and its proofs if they are wanted.
func (s *Sweep) write(ctx context.Context, store *sweep.Store, cells []sweep.Cell, kept []sweep.Kept, rows []table.Row) error {
	done, err := store.Writing(ctx)
	if err != nil {
		return err
	}
	defer done()
	if err := store.Tables(rows, !s.NoTimes); err != nil || !s.Proofs {
		return err
	}
	return writeTableProofs(ctx, store, cells, kept, !s.NoTimes)
}

// shownReasons is how many different reasons sweep prints; the table has them all.
const shownReasons = 8

// printReasons lists why cells have no verdict, the most frequent reason first, with the
// methods that it is of.
func printReasons(w io.Writer, rows []table.Row) {
	count := map[string]int{}
	methods := map[string][]string{}
	var order []string
	for i := range rows {
		r := &rows[i]
		if r.Status == table.Proved {
			continue
		}
		text := string(r.Status) + ": " + r.Reason
		if count[text] == 0 {
			order = append(order, text)
		}
		count[text]++
		if !slices.Contains(methods[text], r.Method) {
			methods[text] = append(methods[text], r.Method)
		}
	}
	slices.SortStableFunc(order, func(a, b string) int { return count[b] - count[a] })
	for i, text := range order {
		if i == shownReasons {
			fmt.Fprintf(w, "  and %d other reasons\n", len(order)-i)
			return
		}
		fmt.Fprintf(w, "  %d %s (%s)\n", count[text], text, strings.Join(methods[text], ", "))
	}
}

// listCells prints a line a cell: what is kept of it, the name under which it is kept, and
// its canonical text.
func listCells(w io.Writer, store *sweep.Store, cells []sweep.Cell) error {
	kept := 0
	for i := range cells {
		r, ok, err := store.Get(&cells[i])
		if err != nil {
			return err
		}
		state := "missing"
		if ok {
			state, kept = string(r.Status), kept+1
		}
		if _, err := fmt.Fprintf(w, "%s\t%s\t%s\n", state, cells[i].Key(), cells[i].Text()); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(w, "%d cells, %d of them kept\n", len(cells), kept)
	return err
}
