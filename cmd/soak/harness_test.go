package main

import (
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

var (
	soakTime  = flag.Duration("soak.time", 0, "how long each of the tests TestSoak… tries random cases; 0: a few seconds")
	soakFirst = flag.Uint64("soak.first", 1, "seed of the first case")
)

// trial is one random case of a test. Equal seeds are equal cases.
type trial struct {
	*rand.Rand
	seed   uint64
	counts map[string]int
}

// count notes that something happened, so that the test can tell that it happens often.
func (c *trial) count(what string) { c.counts[what]++ }

// budget returns how hard to search in this case: now and then harder in a long run.
func (c *trial) budget() int {
	if *soakTime > 0 && c.IntN(10) == 0 {
		return 30_000
	}
	return 2000
}

// soak calls one with the seeds from -soak.first on, on all cores: short seeds in a short run,
// a quarter of them with -short, else as many as it gets through in -soak.time. It prints the number of cases, what they
// counted, and how to repeat the first that failed. often names what must have been counted,
// and its least number per case.
func soak(t *testing.T, short int, often map[string]float64, one func(c *trial) error) {
	t.Helper()
	if testing.Short() {
		short = (short + 3) / 4
	}
	var (
		next   atomic.Uint64
		failed atomic.Bool
		mu     sync.Mutex
		counts = map[string]int{}
		errs   = map[uint64]error{}
		cases  int
		group  sync.WaitGroup
		begin  = time.Now()
	)
	for range runtime.GOMAXPROCS(0) {
		group.Go(func() {
			for !failed.Load() {
				n := next.Add(1) - 1
				if *soakTime == 0 && n >= uint64(short) || *soakTime > 0 && time.Since(begin) >= *soakTime {
					return
				}
				c := &trial{rand.New(rand.NewPCG(*soakFirst+n, 0x50a4)), *soakFirst + n, map[string]int{}}
				err := c.try(one)
				mu.Lock()
				cases++
				for what, n := range c.counts {
					counts[what] += n
				}
				if err != nil {
					errs[c.seed] = err
					failed.Store(true)
				}
				mu.Unlock()
			}
		})
	}
	group.Wait()
	var list []string
	for _, what := range slices.Sorted(maps.Keys(counts)) {
		list = append(list, fmt.Sprintf("%d %s", counts[what], what))
	}
	t.Logf("soak: %d cases in %v: %s", cases, time.Since(begin).Round(time.Second/10), strings.Join(list, ", "))
	for _, seed := range slices.Sorted(maps.Keys(errs)) {
		t.Fatalf("seed %d (once more: go test ./cmd/soak -run '^%s$' -soak.first %d -soak.time 1ms): %v", seed, t.Name(), seed, errs[seed])
	}
	if cases < 100 { // too few to tell
		return
	}
	for _, what := range slices.Sorted(maps.Keys(often)) {
		if share := float64(counts[what]) / float64(cases); share < often[what] {
			t.Errorf("%q happened in a share of %.3f of the cases, want %.3f or more", what, share, often[what])
		}
	}
}

// try calls one; a panic is an error.
func (c *trial) try(one func(c *trial) error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v\n%s", r, debug.Stack())
		}
	}()
	return one(c)
}
