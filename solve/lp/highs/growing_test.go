//go:build cgo

package highs

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/oraccl/oraccl/solve/lp"
)

// TestGrowing adds columns to a program and compares each optimum with that of the program as a whole.
func TestGrowing(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	room := []float64{3, 5, 2, 8}
	g, err := NewGrowing(room)
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	var costs []float64
	var columns [][]float64
	for n := range 12 {
		cost, entries := 1+float64(rng.IntN(5)), make([]float64, len(room))
		var rows []int32
		var values []float64
		for i := range entries {
			if x := float64(rng.IntN(4)); x > 0 || i == n%len(room) {
				entries[i] = x + 1
				rows, values = append(rows, int32(i)), append(values, x+1)
			}
		}
		if err := g.Add(cost, rows, values); err != nil {
			t.Fatal(err)
		}
		costs, columns = append(costs, cost), append(columns, entries)
		got, err := g.Maximise(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		m := &lp.Model{Sense: lp.Maximise}
		rowTerms := make([][]lp.Term, len(room))
		for j, c := range costs {
			m.AddNonNegative("", lp.Int(int64(c)))
			for i, v := range columns[j] {
				if v != 0 {
					rowTerms[i] = append(rowTerms[i], lp.T(j, int64(v)))
				}
			}
		}
		for i, terms := range rowTerms {
			m.AddLE("", lp.Int(int64(room[i])), terms...)
		}
		want, err := Simplex(t.Context(), m)
		if err != nil {
			t.Fatal(err)
		}
		if math.Abs(got.Objective-want.Objective) > 1e-6 || len(got.Values) != n+1 || len(got.RowDuals) != len(room) {
			t.Fatalf("with %d columns: %g, %d values, %d prices; the whole program has %g", n+1, got.Objective, len(got.Values), len(got.RowDuals), want.Objective)
		}
		dual := 0.0
		for i, y := range got.RowDuals {
			dual += y * room[i]
		}
		if math.Abs(dual-got.Objective) > 1e-6 {
			t.Fatalf("prices %v are worth %g, want %g", got.RowDuals, dual, got.Objective)
		}
	}
}

// TestGrowingRows adds rows and columns to a program by turns and compares each optimum with that of one that had all rows
// at once.
func TestGrowingRows(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	room := []float64{4}
	g, err := NewGrowing(room)
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	var costs []float64
	entries := [][]float64{{}} // by row, column
	for range 20 {
		var rows, columns []int32
		var values []float64
		for i := range entries {
			v := 1 + float64(rng.IntN(4))
			rows, values, entries[i] = append(rows, int32(i)), append(values, v), append(entries[i], v)
		}
		costs = append(costs, 1+float64(rng.IntN(5)))
		if err := g.Add(costs[len(costs)-1], rows, values); err != nil {
			t.Fatal(err)
		}
		if _, err := g.Maximise(t.Context()); err != nil {
			t.Fatal(err)
		}
		values = nil
		row := make([]float64, len(costs))
		for j := range costs {
			if rng.IntN(2) == 0 {
				row[j] = float64(1 + rng.IntN(9))
				columns, values = append(columns, int32(j)), append(values, row[j])
			}
		}
		room, entries = append(room, float64(rng.IntN(6))), append(entries, row)
		if err := g.AddRow(room[len(room)-1], columns, values); err != nil {
			t.Fatal(err)
		}
		got, err := g.Maximise(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		whole, err := NewGrowing(room)
		if err != nil {
			t.Fatal(err)
		}
		for j, c := range costs {
			rows, values = nil, nil
			for i := range entries {
				if v := entries[i][j]; v != 0 {
					rows, values = append(rows, int32(i)), append(values, v)
				}
			}
			if err := whole.Add(c, rows, values); err != nil {
				t.Fatal(err)
			}
		}
		want, err := whole.Maximise(t.Context())
		whole.Close()
		if err != nil {
			t.Fatal(err)
		}
		if math.Abs(got.Objective-want.Objective) > 1e-6 || len(got.RowDuals) != len(room) {
			t.Fatalf("with %d rows: %g, %d prices; the whole program has %g", len(room), got.Objective, len(got.RowDuals), want.Objective)
		}
	}
}

// TestGrowingChanges changes the room of rows and the greatest values of columns, and compares each optimum with that of a program that had these from
// the start, where a row of its own limits a column.
func TestGrowingChanges(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	const rows, columns = 4, 9
	g, err := NewGrowing(slices.Repeat([]float64{1}, rows))
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	entries, costs := make([][]float64, columns), make([]float64, columns)
	all := []int32{0, 1, 2, 3}
	for j := range entries {
		for range rows {
			entries[j] = append(entries[j], 1+rng.Float64()*4)
		}
		costs[j] = 1 + rng.Float64()
		if err := g.Add(costs[j], all, entries[j]); err != nil {
			t.Fatal(err)
		}
	}
	for range 30 {
		room := make([]float64, rows+columns)
		for i := range rows {
			room[i] = rng.Float64() * 9
			if err := g.SetRoom(i, room[i]); err != nil {
				t.Fatal(err)
			}
		}
		for j := range columns {
			room[rows+j] = float64(rng.IntN(3)) / 2
			if err := g.SetMost(j, room[rows+j]); err != nil {
				t.Fatal(err)
			}
		}
		got, err := g.Maximise(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		whole, err := NewGrowing(room)
		if err != nil {
			t.Fatal(err)
		}
		for j := range columns {
			if err := whole.Add(costs[j], append(slices.Clone(all), int32(rows+j)), append(slices.Clone(entries[j]), 1)); err != nil {
				t.Fatal(err)
			}
		}
		want, err := whole.Maximise(t.Context())
		whole.Close()
		if err != nil {
			t.Fatal(err)
		}
		if math.Abs(got.Objective-want.Objective) > 1e-6 {
			t.Fatalf("room %v: %g, the program that had it from the start has %g", room, got.Objective, want.Objective)
		}
	}
	for _, err := range []error{g.SetRoom(rows, 1), g.SetRoom(-1, 1), g.SetRoom(0, math.NaN()), g.SetMost(columns, 1), g.SetMost(0, -1), g.SetMost(0, math.NaN())} {
		if err == nil {
			t.Error("a row or a column that is not there, or what is no limit, was taken")
		}
	}
}

// TestGrowingEnds looks at what is refused: a column out of range, a context that is done, a solver that was closed.
func TestGrowingEnds(t *testing.T) {
	if _, err := NewGrowing([]float64{math.Inf(1)}); err == nil {
		t.Error("endless room was taken")
	}
	g, err := NewGrowing([]float64{1})
	if err != nil {
		t.Fatal(err)
	}
	if r, err := g.Maximise(t.Context()); err != nil || r.Objective != 0 {
		t.Errorf("without columns: %v, %v", r, err)
	}
	if err := g.Add(1, []int32{0}, []float64{1e20}); err == nil {
		t.Error("an entry of 1e20 was taken")
	}
	if err := g.Add(1, []int32{0}, []float64{1}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Nanosecond)
	defer cancel()
	<-ctx.Done()
	if _, err := g.Maximise(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("after the limit: %v", err)
	}
	if err := g.AddRow(math.NaN(), []int32{0}, []float64{1}); err == nil {
		t.Error("room that is no number was taken")
	}
	if err := g.AddRow(1, []int32{0}, []float64{1e-20}); err == nil {
		t.Error("an entry of 1e-20 was taken")
	}
	g.Close()
	g.Close()
	if err := g.Add(1, []int32{0}, []float64{1}); err == nil {
		t.Error("a solver that was closed took a column")
	}
	if err := g.AddRow(1, []int32{0}, []float64{1}); err == nil {
		t.Error("a solver that was closed took a row")
	}
	if g.SetRoom(0, 1) == nil || g.SetMost(0, 1) == nil {
		t.Error("a solver that was closed took a limit")
	}
}

// TestGrowingGoesOn: a program that was told to stop, before it is run or while it is, is solved when it is run again.
func TestGrowingGoesOn(t *testing.T) {
	const n = 500
	rng := rand.New(rand.NewPCG(2, 2))
	room := make([]float64, n)
	for i := range room {
		room[i] = 1 + rng.Float64()
	}
	g, err := NewGrowing(room)
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	for range n {
		rows, entries := []int32{}, []float64{}
		for i := range int32(n) {
			if rng.IntN(4) == 0 {
				rows, entries = append(rows, i), append(entries, rng.Float64()+0.1)
			}
		}
		if err := g.Add(1, rows, entries); err != nil {
			t.Fatal(err)
		}
	}
	g.interrupt()
	stopped := 0
	for limit := time.Millisecond; limit < 20*time.Millisecond; limit += time.Millisecond {
		ctx, cancel := context.WithTimeout(t.Context(), limit)
		_, err := g.Maximise(ctx)
		if cancel(); err == nil {
			break
		}
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Fatal(err)
		}
		stopped++
	}
	t.Logf("stopped %d times", stopped)
	r, err := g.Maximise(t.Context())
	if err != nil || r.Objective <= 0 {
		t.Fatalf("%g, %v", r.Objective, err)
	}
}
