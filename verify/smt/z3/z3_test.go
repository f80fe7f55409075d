//go:build cgo

package z3_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/verify"
	"github.com/oraccl/oraccl/verify/smt"
	"github.com/oraccl/oraccl/verify/smt/z3"
)

// ring returns the ring all-reduce of n ranks in n chunks.
func ring(n int) (*model.Problem, *model.Schedule) {
	t := &model.Topology{Name: fmt.Sprintf("ring of %d", n), Ranks: n}
	s := &model.Schedule{Form: model.InRounds}
	for i := range n {
		t.Links = append(t.Links, model.Link{Src: i, Dst: (i + 1) % n, Bandwidth: 1e9})
		s.Routes = append(s.Routes, []int{i})
	}
	p := &model.Problem{Topology: t, Collective: model.Collective{Kind: model.AllReduce}, Size: int64(n) << 10, Cost: model.Rounds}
	for round := range 2 * (n - 1) {
		op := model.Reduction
		if round >= n-1 {
			op = model.Copy
		}
		for r := range n {
			s.Transfers = append(s.Transfers, model.Transfer{
				Chunk: int32((r - round + 2*n) % n), Src: int32(r), Dst: int32((r + 1) % n), Route: int32(r), Op: op,
				Start: model.Time(round), End: model.Time(round + 1),
			})
		}
	}
	return p.WithChunks(n), s
}

func TestRing(t *testing.T) {
	for _, n := range []int{2, 3, 8, 64} {
		p, s := ring(n)
		start := time.Now()
		v := smt.Check(context.Background(), p, s, z3.New(), smt.Options{})
		t.Logf("%d ranks: %v", n, time.Since(start))
		require.Equal(t, verify.Proved, v.Outcome, "%+v", v)
		s.Transfers = s.Transfers[:len(s.Transfers)-1]
		v = smt.Check(context.Background(), p, s, z3.New(), smt.Options{})
		require.Equal(t, verify.Refuted, v.Outcome)
		require.Equal(t, verify.MissingContribution, v.Violations[0].Code, "%+v", v)
	}
}

// TestExamples runs the example of every code that concerns the data.
func TestExamples(t *testing.T) {
	elsewhere := map[verify.Code]bool{
		verify.LinkOverlap: true, verify.PortOverload: true, verify.NoSuchLink: true,
		verify.TooFast: true, verify.TooSlow: true, verify.BeforeRelease: true, verify.StaleSum: true,
	}
	for _, code := range verify.Codes() {
		e, _ := verify.Explain(code)
		if e.Example.Schedule == nil { // a code of concurrent programs
			continue
		}
		v := smt.Check(context.Background(), e.Example.Problem, e.Example.Schedule, z3.New(), smt.Options{})
		if elsewhere[code] {
			require.Equal(t, verify.Proved, v.Outcome, "%s is not about the data: %+v", code, v)
			continue
		}
		require.Equal(t, verify.Refuted, v.Outcome, "%s: %+v", code, v)
		require.Equal(t, code, v.Violations[0].Code, "%+v", v)
	}
}
