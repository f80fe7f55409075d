//go:build cgo

package z3_test

import (
	"context"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/verify/smt"
	"github.com/oraccl/oraccl/verify/smt/z3"
)

// TestInterrupt: Ctrl-C reaches Go while several contexts are at work, and after.
func TestInterrupt(t *testing.T) {
	got := make(chan os.Signal, 64)
	signal.Notify(got, os.Interrupt)
	defer signal.Stop(got)
	p, s := ring(48)
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			for ctx.Err() == nil {
				smt.Check(ctx, p, s, z3.New(), smt.Options{Threads: 2})
			}
		})
	}
	for i := range 40 {
		time.Sleep(10 * time.Millisecond) // time for the solvers to begin, and to end, some more queries
		if i == 30 {
			cancel()
			wg.Wait()
		}
		require.NoError(t, syscall.Kill(os.Getpid(), syscall.SIGINT))
		select {
		case <-got:
		case <-time.After(10 * time.Second):
			t.Fatal("the signal was lost")
		}
	}
	cancel()
}
