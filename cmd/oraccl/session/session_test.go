package session

import (
	"bytes"
	"context"
	"testing"
	"time"

	"github.com/oraccl/oraccl/cmd/oraccl/exit"
	"github.com/oraccl/oraccl/solve"
	"github.com/stretchr/testify/require"
)

// TestEndKeeps: a verb that does not end is ended, after what it found has been written.
func TestEndKeeps(t *testing.T) {
	var stderr bytes.Buffer
	codes := make(chan int, 1)
	s := New(&stderr, func(code int) { codes <- code })
	ctx, cancel := context.WithCancel(context.Background())
	ctx, done := s.Limited(s.In(ctx), time.Hour)
	defer done()
	s.Begin("stuck", &solve.Options{})
	kept, cleaned := make(chan string, 2), false
	s.Keep(func(solve.Stop) error { kept <- "an old schedule"; return nil })
	s.Keep(func(why solve.Stop) error { kept <- "the best schedule, " + why.String(); return nil })
	s.atEnd(func() { cleaned = true })
	begin := time.Now()
	cancel()
	require.Equal(t, exit.Unknown, <-codes)
	require.GreaterOrEqual(t, time.Since(begin), Patience)
	require.Equal(t, "the best schedule, interrupted", <-kept)
	require.Empty(t, kept)
	require.True(t, cleaned)
	require.Contains(t, stderr.String(), "stuck: solving had not ended 900ms after it was told to")
	require.ErrorIs(t, ctx.Err(), context.Canceled)
}

// TestEndWaits: the program is not ended while a verb prints, and what is printed is not
// printed again.
func TestEndWaits(t *testing.T) {
	var stderr bytes.Buffer
	codes := make(chan int, 1)
	s := New(&stderr, func(code int) { codes <- code })
	ctx, done := s.Limited(s.In(context.Background()), 10*time.Millisecond)
	defer done()
	s.Keep(func(solve.Stop) error { t.Error("printed twice"); return nil })
	require.NoError(t, s.Report(func() error {
		<-ctx.Done()
		time.Sleep(Patience + 300*time.Millisecond)
		require.Empty(t, codes)
		return nil
	}))
	require.Equal(t, exit.Unknown, <-codes)
}

// TestSessionIsQuiet: a run that ends in time is not disturbed.
func TestSessionIsQuiet(t *testing.T) {
	var stderr bytes.Buffer
	s := New(&stderr, func(int) { t.Error("ended") })
	_, done := s.Limited(s.In(context.Background()), 50*time.Millisecond)
	done()
	time.Sleep(Patience + 200*time.Millisecond)
	require.Empty(t, stderr.String())
}

// TestEndNamesTheLimit: what is kept is told that it is for want of time.
func TestEndNamesTheLimit(t *testing.T) {
	codes, kept := make(chan int, 1), make(chan solve.Stop, 1)
	s := New(&bytes.Buffer{}, func(code int) { codes <- code })
	_, done := s.Limited(s.In(context.Background()), 10*time.Millisecond)
	defer done()
	s.Keep(func(why solve.Stop) error { kept <- why; return nil })
	require.Equal(t, exit.Unknown, <-codes)
	require.Equal(t, solve.TimeLimit, <-kept)
}

// TestPhasesStayOnTheirLine: names of files in phases write no other line.
func TestPhasesStayOnTheirLine(t *testing.T) {
	t.Setenv("ORACCL_PROGRESS", "lines")
	var out bytes.Buffer
	s := New(&out, nil)
	s.Show(&out)
	s.Note("reading a\nPROVED\x1b[31m")
	require.Equal(t, "oraccl: reading a\\nPROVED\\x1b[31m\n", out.String())
}
