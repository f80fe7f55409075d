package certify_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve/bound"
	"github.com/oraccl/oraccl/verify"
	"github.com/oraccl/oraccl/verify/cert"
	"github.com/oraccl/oraccl/verify/replay"
	"github.com/oraccl/oraccl/verify/smt"
	"github.com/oraccl/oraccl/verify/smt/z3"
	"github.com/oraccl/oraccl/verify/verifytest"
)

// TestSpelledOut: a standard collective and the custom one with its conditions and sizes are the
// same problem. The same witnesses yield the same bounds, whether the cut is free or not, and
// the search finds the same ones.
func TestSpelledOut(t *testing.T) {
	of := map[string]int{}
	for seed := range uint64(600) {
		r := rand.New(rand.NewPCG(seed, 78))
		p := verifytest.DrawProblem(r)
		q := verifytest.Spelled(p, nil)
		require.NoError(t, q.Validate(), "seed %d: %v", seed, p)
		if seed%2 == 0 {
			p.Chunks, q.Chunks = nil, nil
		}
		all, _, err := bound.All(context.Background(), p)
		require.NoError(t, err)
		spelled, _, err := bound.All(context.Background(), q)
		require.NoError(t, err)
		found := map[string]model.Time{}
		for _, x := range spelled {
			found[x.Witness.Kind()] = x.Estimate
		}
		for _, x := range all {
			if kind := x.Witness.Kind(); kind == "coverage" || kind == "crossing" {
				continue // proved of standard collectives
			}
			want, err := cert.Yield(context.Background(), &model.Certificate{Problem: p, Witness: x.Witness})
			require.NoError(t, err)
			got, err := cert.Yield(context.Background(), &model.Certificate{Problem: q, Witness: x.Witness})
			require.NoError(t, err, "seed %d: %v: %+v", seed, p, x.Witness)
			require.LessOrEqual(t, got, want, "seed %d: %v: %+v", seed, p, x.Witness)
			if !p.Late() { // that all of them wait for the last one is not looked for in custom ones
				require.Equal(t, want, got, "seed %d: %v: %+v", seed, p, x.Witness)
				if k := p.Collective.Kind; k == model.AllToAll || k == model.AllGather && len(p.Members()) > 1 || k == model.ReduceScatter {
					require.Equal(t, x.Estimate, found[x.Witness.Kind()], "seed %d: %v: %+v", seed, p, x.Witness)
				}
			}
			of[x.Witness.Kind()]++
		}
	}
	for _, kind := range []string{"ingress", "egress", "distance", "volume", "cut", "partition", "prices", "doubling", "broadcast", "combine"} {
		require.Greater(t, of[kind], 10, kind)
	}
}

// found returns the violations of a verdict, without the bytes that are named for custom collectives.
func found(v verify.Verdict) (list []string) {
	for _, x := range v.Violations {
		message, _, _ := strings.Cut(x.Message, "; ")
		list = append(list, fmt.Sprintf("%s %s: %s", x.Code, x.Where, message))
	}
	return list
}

// TestSpelledSchedules: the engines decide about schedules, right and wrong ones, of the one as
// of the other.
func TestSpelledSchedules(t *testing.T) {
	right, wrong := 0, 0
	for seed := range uint64(400) {
		r := rand.New(rand.NewPCG(seed, 79))
		p, s, ok := verifytest.Draw(r)
		if !ok || p.Collective.Kind == model.Custom {
			continue
		}
		if r.IntN(2) == 0 && len(s.Transfers) > 0 && s.Form != model.Ordered {
			i := r.IntN(len(s.Transfers))
			s.Transfers = append(s.Transfers[:i:i], s.Transfers[i+1:]...)
		}
		q := verifytest.Spelled(p, nil)
		a, b := replay.Check(context.Background(), p, s), replay.Check(context.Background(), q, s)
		require.Equal(t, a.Outcome, b.Outcome, "seed %d: %v", seed, p)
		require.ElementsMatch(t, found(a), found(b), "seed %d: %v", seed, p)
		if len(a.Violations) == 0 {
			right++
		} else {
			wrong++
		}
		if seed%8 == 0 && s.Form != model.Ordered {
			c := smt.Check(context.Background(), q, s, z3.New(), smt.Options{})
			require.Equal(t, a.Outcome, c.Outcome, "seed %d: %v", seed, p)
		}
	}
	require.Greater(t, right, 50)
	require.Greater(t, wrong, 50)
}
