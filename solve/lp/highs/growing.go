//go:build cgo

package highs

// #include "shim.h"
import "C"

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"time"

	"github.com/oraccl/oraccl/solve/lp"
)

// Growing is a linear program whose columns are found one after the other, as column generation finds them (Dantzig and Wolfe,
// "Decomposition principle for linear programs", Operations Research 8, 1960):
//
//	maximise Σ_j cost_j·x_j, where Σ_j a_ij·x_j <= room_i for every row i, and x >= 0.
//
// Each run begins at the basis of the one before. Rows may be found one after the other, too. It is not for use by several goroutines at a time.
type Growing struct {
	s    *solver
	a    *arrays // what results are read by
	lost bool    // a run did not stop: the solver is no longer ours
}

// NewGrowing returns a program with rows and no columns. It is closed when it is no longer reached; Close frees it before.
func NewGrowing(room []float64) (*Growing, error) {
	a := &arrays{sense: lp.Maximise, rows: len(room), rowL: slices.Repeat([]float64{math.Inf(-1)}, len(room)), rowU: slices.Clone(room),
		begin: make([]int32, len(room)), index: []int32{}, value: []float64{}}
	for i, r := range room {
		if math.IsNaN(r) || math.Abs(r) >= infinite {
			return nil, fmt.Errorf("highs: row %d has room %g, want a number below %g", i, r, infinite)
		}
	}
	s, err := load(a, Options{Method: "simplex"})
	if err != nil {
		return nil, fmt.Errorf("highs: %w", err)
	}
	if err := s.raw.SetIntOption("simplex_strategy", primal); err != nil {
		s.close()
		return nil, fmt.Errorf("highs: %w", err)
	}
	g := &Growing{s: s, a: a}
	runtime.SetFinalizer(g, (*Growing).Close) // of a search that never goes on
	return g, nil
}

// primal is HiGHS's number of the primal simplex method: a basis stays feasible when columns are added.
const primal = 4

// Add adds a column with its entries in some rows, no row twice.
func (g *Growing) Add(cost float64, rows []int32, entries []float64) error {
	if g.lost {
		return errLost
	}
	if err := inRange("row", rows, entries); err != nil {
		return err
	}
	if C.hx_add_column(g.s.h, C.double(cost), C.int32_t(len(rows)), ints(rows), doubles(entries)) == -1 {
		return errors.New("highs: HiGHS refused a column")
	}
	g.a.cost = append(g.a.cost, cost)
	return nil
}

// AddRow adds a row with its entries in some columns, no column twice, as if it had been there from the start.
func (g *Growing) AddRow(room float64, columns []int32, entries []float64) error {
	if g.lost {
		return errLost
	}
	if math.IsNaN(room) || math.Abs(room) >= infinite {
		return fmt.Errorf("highs: a row has room %g, want a number below %g", room, infinite)
	}
	if err := inRange("column", columns, entries); err != nil {
		return err
	}
	if C.hx_add_row(g.s.h, C.double(room), C.int32_t(len(columns)), ints(columns), doubles(entries)) == -1 {
		return errors.New("highs: HiGHS refused a row")
	}
	g.a.rows++
	g.a.rowL, g.a.rowU = append(g.a.rowL, math.Inf(-1)), append(g.a.rowU, room)
	return nil
}

// SetRoom changes the room of a row.
func (g *Growing) SetRoom(row int, room float64) error {
	switch {
	case g.lost:
		return errLost
	case row < 0 || row >= g.a.rows:
		return fmt.Errorf("highs: room for row %d of %d", row, g.a.rows)
	case math.IsNaN(room) || math.Abs(room) >= infinite:
		return fmt.Errorf("highs: row %d has room %g, want a number below %g", row, room, infinite)
	case C.hx_set_row(g.s.h, C.int32_t(row), C.double(room)) == -1:
		return errors.New("highs: HiGHS refused the room of a row")
	}
	g.a.rowU[row] = room
	return nil
}

// SetMost changes the greatest value of a column, which is none at first.
func (g *Growing) SetMost(column int, most float64) error {
	switch {
	case g.lost:
		return errLost
	case column < 0 || column >= len(g.a.cost):
		return fmt.Errorf("highs: most of column %d of %d", column, len(g.a.cost))
	case !(most >= 0 && most < infinite):
		return fmt.Errorf("highs: column %d is at most %g, want a number from 0 to %g", column, most, infinite)
	case C.hx_set_column(g.s.h, C.int32_t(column), C.double(most)) == -1:
		return errors.New("highs: HiGHS refused the greatest value of a column")
	}
	return nil
}

// inRange returns an error if the solver would not take an entry for what it is.
func inRange(what string, places []int32, entries []float64) error {
	for i, v := range entries {
		if x := math.Abs(v); !(x > smallCoef && x < largeCoef) {
			return fmt.Errorf("highs: %g in %s %d is out of the solver's range (%g, %g)", v, what, places[i], smallCoef, largeCoef)
		}
	}
	return nil
}

// Maximise returns the optimum with the prices of rows (RowDuals), or an error: if ctx is done before, its own. Then it may be called
// again.
func (g *Growing) Maximise(ctx context.Context) (Result, error) {
	switch {
	case g.lost:
		return Result{}, errLost
	case ctx.Err() != nil:
		return Result{}, fmt.Errorf("highs: %w", ctx.Err())
	case len(g.a.cost) == 0:
		return Result{Status: Optimal, HasSolution: true, Values: []float64{}, RowDuals: make([]float64, g.a.rows)}, nil
	}
	C.hx_go(g.s.ctl)
	done := g.s.start()
	select {
	case out := <-done:
		return g.optimum(out)
	case <-ctx.Done():
	}
	g.interrupt()
	select {
	case <-done:
	case <-time.After(grace):
		g.lost = true
		go func() {
			<-done
			g.s.close()
		}()
	}
	return Result{}, fmt.Errorf("highs: %w", ctx.Err())
}

// interrupt tells the run that is on its way to stop.
func (g *Growing) interrupt() { C.hx_stop(g.s.ctl) }

// optimum returns the result of a run that was not stopped.
func (g *Growing) optimum(out outcome) (Result, error) {
	r, err := g.s.result(g.a, out)
	if err == nil && (r.Status != Optimal || r.RowDuals == nil) {
		err = fmt.Errorf("the solver says %s", r.RawStatus)
	}
	if err != nil {
		return Result{}, fmt.Errorf("highs: %w", err)
	}
	return r, nil
}

// Close frees the solver. It may be called again, and of nil.
func (g *Growing) Close() {
	if g != nil && !g.lost {
		g.s.close()
		g.lost = true
	}
}

var errLost = errors.New("highs: the solver was closed, or did not stop when it should")
