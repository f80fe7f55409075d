package dossier

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/topo"
	"github.com/oraccl/oraccl/verify"
)

// contradictory are a schedule and a certificate that both checkers are made to accept, and
// that cannot both be right.
func contradictory(t *testing.T) []Finding {
	x, err := topo.Parse("ring:4", topo.Options{})
	require.NoError(t, err)
	p := &model.Problem{Topology: x, Collective: model.Collective{Kind: model.AllGather}, Size: 400, Cost: model.Pipelined}
	cut := p.WithChunks(4)
	proved := verify.Verdict{Outcome: verify.Proved, Claim: "stands"}
	return []Finding{
		{File: "d/s.json", Kind: "schedule", Verdict: proved, problem: cut, digest: Digest(cut), makespan: 9, timed: true},
		{File: "d/c.json", Kind: "certificate", Verdict: proved, problem: p, digest: Digest(p), certificate: &model.Certificate{Problem: p, Bound: 10, Witness: model.Ingress{}}},
	}
}

// TestContradiction: of two checkers that contradict each other neither is believed.
func TestContradiction(t *testing.T) {
	check := func(r *Report) {
		r.settle()
		text, status := r.Text()
		require.Equal(t, 2, status, text)
		require.Contains(t, text, "ERROR d/s.json, d/c.json: a proved schedule of 9ps is below the certified ingress bound of 10ps: ")
		require.Contains(t, text, (&verify.Contradiction{}).Error())
		require.NotRegexp(t, "(?m)^(proved|REFUTED|optimal|gap|claim holds)", text)
		require.NotContains(t, text, "accepted")
		b, status, err := r.JSON()
		require.NoError(t, err)
		require.Equal(t, 2, status)
		require.NotContains(t, string(b), `"verdict": "proved"`)
		require.NotContains(t, string(b), `"verdict": "refuted"`)
	}
	check(&Report{found: contradictory(t)})

	d := &folder{path: "d", m: &Manifest{}, found: contradictory(t), at: map[string]int{"s.json": 0, "c.json": 1}, of: map[string]int{"s.json": 0, "c.json": 1},
		claims: []claimed{{Claim: Claim{Kind: ScheduleClaim, Problem: "p", Schedule: "s.json"}, outcome: verify.Proved}, {Claim: Claim{Kind: BoundClaim, Problem: "p", Certificate: "c.json"}, outcome: verify.Proved}}}
	d.contradictions()
	check(&Report{dossiers: []*folder{d}})
}
