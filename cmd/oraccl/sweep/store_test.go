package sweep

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model/table"
)

func someCells(n int) []Cell {
	var cells []Cell
	for i := range n {
		cells = append(cells, Cell{Instance: table.Instance{Topology: "ring:4", Collective: "allgather", Cost: "pipelined", SizeBytes: int64(i + 1), Method: "ring", Seed: 1}})
	}
	return cells
}

func someRow() table.Row {
	return table.Row{Topology: "ring:4", Ranks: 4, Collective: "allgather", SizeBytes: 1, Chunks: 1, Cost: "pipelined", Method: "ring", Seed: 1, Status: table.Proved,
		MakespanPs: 3000, BoundPs: 2000, Bound: "cut", Transfers: 12, SolvedNs: 5, VerifiedNs: 6}
}

func open(t *testing.T, dir string) *Store {
	t.Helper()
	s, err := Open(dir, "test")
	require.NoError(t, err)
	return s
}

func TestStore(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "new", "dir"))
	c := &someCells(1)[0]
	_, ok, err := s.Get(c)
	require.NoError(t, err)
	require.False(t, ok)
	for _, r := range []table.Row{someRow(), {Topology: "odd, \"name\"\n<b>", Method: "x", Status: table.Failed, Reason: "no\nsuch, thing"}} {
		require.NoError(t, s.Put(c, &r))
		got, ok, err := s.Get(c)
		require.NoError(t, err)
		require.True(t, ok)
		require.Equal(t, r, got)
	}
	b, err := s.GetBound("p")
	require.NoError(t, err)
	require.Nil(t, b)
	require.NoError(t, s.PutBound("p", []byte("{}")))
	b, err = s.GetBound("p")
	require.NoError(t, err)
	require.Equal(t, "{}\n", string(b))
}

// The row of a cell with proofs is there with its evidence alone, and serves the cell without.
func TestEvidence(t *testing.T) {
	s := open(t, t.TempDir())
	plain := someCells(1)[0]
	c, row := plain.withProofs(), someRow()
	has := func(c *Cell) bool {
		ok, err := s.Has(c)
		require.NoError(t, err)
		return ok
	}
	proof := filepath.Join(t.TempDir(), "p")
	require.NoError(t, os.WriteFile(proof, []byte("1 0\n"), 0o644))
	row.Bound = "lrat"
	require.NoError(t, s.Put(c, &row))
	require.False(t, has(c))
	require.NoError(t, s.PutEvidence(c, Evidence{Schedule: []byte("{}")}))
	require.False(t, has(c))
	require.NoError(t, s.PutEvidence(c, Evidence{Certificate: []byte("{}")}))
	require.False(t, has(c))
	require.False(t, has(&plain))
	require.NoError(t, s.PutEvidence(c, Evidence{Proof: proof}))
	require.True(t, has(c))
	require.True(t, has(&plain))
	b, err := os.ReadFile(s.Proof(c))
	require.NoError(t, err)
	require.Equal(t, "1 0\n", string(b), "as it was, without a sum")

	for _, name := range []string{s.path("schedules", c.Key()), s.path("certificates", c.Key()), s.Proof(c)} {
		b, err := os.ReadFile(name)
		require.NoError(t, err)
		require.NoError(t, os.Remove(name))
		require.False(t, has(c), name)
		if name != s.Proof(c) { // the sum of a proof is in its certificate
			require.NoError(t, os.WriteFile(name, flipped(b, 0), 0o644))
			require.False(t, has(c), name)
		}
		require.NoError(t, os.WriteFile(name, b, 0o644))
		require.True(t, has(c), name)
	}
	require.Error(t, s.PutEvidence(c, Evidence{Proof: proof + "x"}))

	require.NoError(t, s.Forget([]Cell{plain}, table.Proved))
	require.False(t, has(c))
	require.NoError(t, s.Put(&plain, &row))
	require.False(t, has(c), "without proofs")
	row.Status, row.BoundPs, row.Bound = table.Failed, 0, ""
	other := someCells(2)[1].withProofs()
	require.NoError(t, s.Put(other, &row))
	require.True(t, has(other), "nothing to prove")
}

// However a file is cut off or changed, it is whole or it is missing.
func TestDamagedFiles(t *testing.T) {
	s := open(t, t.TempDir())
	c, row := &someCells(1)[0], someRow()
	require.NoError(t, s.Put(c, &row))
	name := s.path("cells", c.Key())
	whole, err := os.ReadFile(name)
	require.NoError(t, err)
	for n := range len(whole) {
		for _, b := range [][]byte{whole[:n], append(append([]byte{}, whole[:n]...), whole[n+1:]...), flipped(whole, n), append(append([]byte{}, whole...), whole[:n+1]...)} {
			require.NoError(t, os.WriteFile(name, b, 0o644))
			ok, err := s.Has(c)
			require.NoError(t, err)
			require.False(t, ok, "byte %d", n)
		}
	}
	// A whole file of another cell is none either.
	other := someCells(2)[1]
	require.NoError(t, s.Put(&other, &row))
	b, err := os.ReadFile(s.path("cells", other.Key()))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(name, b, 0o644))
	ok, err := s.Has(c)
	require.NoError(t, err)
	require.False(t, ok)
}

func flipped(b []byte, n int) []byte {
	b = append([]byte{}, b...)
	b[n] ^= 1
	return b
}

// A full disk is an error that names the file; nothing of the file is left.
func TestFullDisk(t *testing.T) {
	s := open(t, t.TempDir())
	c, row := &someCells(1)[0], someRow()
	s.write = func(f *os.File, b []byte) error {
		if _, err := f.Write(b[:len(b)/2]); err != nil {
			return err
		}
		return &os.PathError{Op: "write", Path: f.Name(), Err: syscall.ENOSPC}
	}
	err := s.Run(context.Background(), []Cell{*c}, 2, func(context.Context, int, *Cell) table.Row { return row }, func(*Cell, *table.Row) { t.Error("kept") })
	require.ErrorIs(t, err, syscall.ENOSPC)
	require.EqualError(t, err, s.path("cells", c.Key())+": no space left on device")
	require.ErrorIs(t, s.Tables(nil, true), syscall.ENOSPC)
	require.NoFileExists(t, s.Dir()+"/table.csv")
	ok, err := s.Has(c)
	require.NoError(t, err)
	require.False(t, ok)
	left, err := filepath.Glob(s.Dir() + "/cells/*/.*")
	require.NoError(t, err)
	require.Empty(t, left)
}

func TestUnusableDirectory(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(dir+"/file", nil, 0o644))
	_, err := Open(dir+"/file", "test")
	require.ErrorContains(t, err, dir+"/file")
	require.ErrorContains(t, err, "not a directory")

	s := open(t, dir)
	c, row := &someCells(1)[0], someRow()
	require.NoError(t, os.RemoveAll(dir+"/cells"))
	require.NoError(t, os.WriteFile(dir+"/cells", nil, 0o644))
	require.ErrorContains(t, s.Put(c, &row), dir+"/cells")
	_, err = s.Has(c)
	require.ErrorContains(t, err, dir+"/cells")
}

// Several processes on one directory compute every cell once.
func TestRunTogether(t *testing.T) {
	dir, cells := t.TempDir(), someCells(60)
	var computed, told atomic.Int64
	var group sync.WaitGroup
	for range 3 {
		s := open(t, dir)
		group.Go(func() {
			err := s.Run(context.Background(), cells, 4, func(_ context.Context, _ int, c *Cell) table.Row {
				computed.Add(1)
				time.Sleep(time.Millisecond)
				r := c.Row()
				r.Status = table.Proved
				return r
			}, func(*Cell, *table.Row) { told.Add(1) })
			if err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	require.EqualValues(t, 60, computed.Load())
	require.LessOrEqual(t, int64(60), told.Load())
	rows, err := open(t, dir).Rows(cells)
	require.NoError(t, err)
	require.Len(t, rows, 60)
	for i := range rows {
		require.EqualValues(t, i+1, rows[i].SizeBytes, "the order of the grid")
	}
}

// A cell that another process has claimed is computed here if that one dies.
func TestOtherDies(t *testing.T) {
	dir, cells := t.TempDir(), someCells(3)
	held, err := open(t, dir).claim(&cells[1])
	require.NoError(t, err)
	require.NotNil(t, held)
	s := open(t, dir)
	var order []int64
	require.NoError(t, s.Run(context.Background(), cells, 1, func(_ context.Context, _ int, c *Cell) table.Row { return c.Row() }, func(c *Cell, _ *table.Row) {
		if order = append(order, c.SizeBytes); len(order) == 2 {
			held.release(false)
		}
	}))
	require.Equal(t, []int64{1, 3, 2}, order)
}

func TestPanicIsARow(t *testing.T) {
	s, cells := open(t, t.TempDir()), someCells(2)
	require.NoError(t, s.Run(context.Background(), cells, 1, func(_ context.Context, _ int, c *Cell) table.Row {
		if c.SizeBytes == 1 {
			panic("odd")
		}
		return c.Row()
	}, func(*Cell, *table.Row) {}))
	rows, err := s.Rows(cells)
	require.NoError(t, err)
	require.Equal(t, table.Failed, rows[0].Status)
	require.Regexp(t, `^a defect, please report it: panic: odd`, rows[0].Reason)
}

// What was under way when the context ended is not kept.
func TestCancel(t *testing.T) {
	s, cells := open(t, t.TempDir()), someCells(5)
	ctx, stop := context.WithCancel(context.Background())
	err := s.Run(ctx, cells, 1, func(_ context.Context, _ int, c *Cell) table.Row {
		if c.SizeBytes == 3 {
			stop()
		}
		return c.Row()
	}, func(*Cell, *table.Row) {})
	require.ErrorIs(t, err, context.Canceled)
	missing, err := s.Missing(cells)
	require.NoError(t, err)
	require.Len(t, missing, 3)
}

// Rows of one instance and one cut share the best bound; it must be one.
func TestRowsShareBounds(t *testing.T) {
	s := open(t, t.TempDir())
	var cells []Cell
	for _, chunks := range []int{2, 0} {
		for _, method := range []string{"a", "b"} {
			c := Cell{Instance: table.Instance{Topology: "ring:4", SizeBytes: 1, Chunks: chunks, Method: method}}
			r := c.Row()
			r.Status, r.MakespanPs, r.BoundPs, r.Bound = table.Proved, 10, 5, "cut"
			if method == "b" {
				r.BoundPs, r.Bound = 8, "lrat"
			}
			require.NoError(t, s.Put(&c, &r))
			cells = append(cells, c)
		}
	}
	rows, err := s.Rows(cells)
	require.NoError(t, err)
	var bounds []string
	for _, r := range rows {
		bounds = append(bounds, fmt.Sprint(int64(r.BoundPs), r.Bound))
	}
	require.Equal(t, []string{"8lrat", "8lrat", "5cut", "8lrat"}, bounds)

	c := Cell{Instance: table.Instance{Topology: "ring:4", SizeBytes: 1, Chunks: 2, Method: "c"}}
	r := c.Row()
	r.Status, r.MakespanPs = table.Proved, 7
	require.NoError(t, s.Put(&c, &r))
	rows, err = s.Rows(append(cells, c))
	require.NoError(t, err)
	require.EqualValues(t, 8, rows[4].BoundPs, "above the makespan, which is not for the store to judge")
}

func TestSweepUp(t *testing.T) {
	s := open(t, t.TempDir())
	c, row := &someCells(1)[0], someRow()
	require.NoError(t, s.Put(c, &row))
	dir := filepath.Dir(s.path("cells", c.Key()))
	for _, name := range []string{".new-1", ".new-2"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), nil, 0o644))
	}
	long := time.Now().Add(-2 * writing)
	require.NoError(t, os.Chtimes(filepath.Join(dir, ".new-1"), long, long))
	for _, name := range []string{c.Key(), someCells(2)[1].Key()} {
		require.NoError(t, os.WriteFile(filepath.Join(s.Dir(), "claims", name), nil, 0o644))
	}
	s.sweepUp()
	require.NoFileExists(t, filepath.Join(dir, ".new-1"))
	require.FileExists(t, filepath.Join(dir, ".new-2"), "somebody may be writing it")
	require.NoFileExists(t, filepath.Join(s.Dir(), "claims", c.Key()))
	require.FileExists(t, filepath.Join(s.Dir(), "claims", someCells(2)[1].Key()))
}
