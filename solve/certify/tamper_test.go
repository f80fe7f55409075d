package certify

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/topo"
	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/solve/sat"
	"github.com/oraccl/oraccl/solve/sat/cadical"
	"github.com/oraccl/oraccl/verify"
	"github.com/oraccl/oraccl/verify/cert"
)

// TestTamperedProofs flips bits of proofs, and changes what certificates say of them: the
// hash gives away the former, even if it is made to fit most of them, and the formula the
// latter.
func TestTamperedProofs(t *testing.T) {
	tp, err := topo.Parse("dgx1", topo.Options{})
	require.NoError(t, err)
	p := &model.Problem{Topology: tp, Collective: model.Collective{Kind: model.AllGather}, Size: 24 << 10, Cost: model.LinkRounds}
	p = p.WithChunks(p.DefaultChunks(3))
	file := filepath.Join(t.TempDir(), "no.lrat")
	d, err := (&sat.Question{Problem: p, Horizon: 4, Steps: 2}).Decide(context.Background(), sat.Limits{Proof: file})
	require.NoError(t, err)
	require.Equal(t, cadical.Unsatisfiable, d.Answer)
	c, err := RefutationOf(context.Background(), p, solve.Refuted{Horizon: 4, Steps: 2, Proof: file})
	require.NoError(t, err)
	proof, err := os.ReadFile(file)
	require.NoError(t, err)
	check := func(c *model.Certificate, proof []byte) verify.Outcome {
		return cert.CheckIn(context.Background(), c, fstest.MapFS{"no.lrat": &fstest.MapFile{Data: proof}}).Outcome
	}
	require.Equal(t, verify.Proved, check(c, proof))
	require.Equal(t, verify.Unknown, cert.Check(context.Background(), c).Outcome)
	for _, cut := range []int{0, 1, len(proof) / 2, len(proof)} { // a disk that fails says nothing of the proof
		require.Equal(t, verify.Unknown, cert.CheckIn(context.Background(), c, failing{proof[:cut]}).Outcome, "after %d bytes", cut)
	}

	r := rand.New(rand.NewPCG(1, 1))
	resealed := 0
	for range 400 {
		bad := append([]byte(nil), proof...)
		bad[r.IntN(len(bad))] ^= 1 << r.IntN(8)
		require.Equal(t, verify.Refuted, check(c, bad))
		w := c.Witness.(model.Refutation)
		hash := sha256.Sum256(bad)
		w.SHA256 = hex.EncodeToString(hash[:])
		if check(&model.Certificate{Problem: p, Bound: c.Bound, Witness: w}, bad) == verify.Proved {
			resealed++ // another right proof: a deletion left out, say
		}
	}
	require.Less(t, resealed, 150)

	for name, change := range map[string]func(c *model.Certificate, w *model.Refutation){
		"a round more": func(_ *model.Certificate, w *model.Refutation) { w.Horizon++ },
		"a round less": func(_ *model.Certificate, w *model.Refutation) { w.Horizon-- },
		"a step more":  func(_ *model.Certificate, w *model.Refutation) { w.Steps++ },
		"any steps":    func(_ *model.Certificate, w *model.Refutation) { w.Steps = 0 },
		"in epochs":    func(_ *model.Certificate, w *model.Refutation) { w.Epoch, w.Steps = 1000, 0 },
		"a bound":      func(c *model.Certificate, _ *model.Refutation) { c.Bound = 1 },
		"fewer chunks": func(c *model.Certificate, _ *model.Refutation) { c.Problem = p.WithChunks(16) },
		"another one": func(c *model.Certificate, _ *model.Refutation) {
			q := *p
			q.Collective.Kind = model.AllToAll
			c.Problem = q.WithChunks(64)
		},
		"in single ports": func(c *model.Certificate, _ *model.Refutation) { q := *p; q.Cost = model.Rounds; c.Problem = &q },
		"another file":    func(_ *model.Certificate, w *model.Refutation) { w.Proof = "other.lrat" },
		"a path":          func(_ *model.Certificate, w *model.Refutation) { w.Proof = "../no.lrat" },
		"no hash":         func(_ *model.Certificate, w *model.Refutation) { w.SHA256 = "" },
		"a switch between": func(c *model.Certificate, _ *model.Refutation) {
			q := *p
			s := *q.Topology
			s.Switches = []model.Switch{{Name: "s", Copies: true}}
			q.Topology = &s
			c.Problem = &q
		},
	} {
		bad := *c
		w := c.Witness.(model.Refutation)
		change(&bad, &w)
		bad.Witness = w
		require.NotEqual(t, verify.Proved, check(&bad, proof), name)
	}
}

// failing is a directory of a file that cannot be read to its end.
type failing struct{ begin []byte }

func (f failing) Open(string) (fs.File, error) { return &failingFile{begin: f.begin}, nil }

type failingFile struct {
	fs.File
	begin []byte
}

func (f *failingFile) Read(p []byte) (int, error) {
	if len(f.begin) == 0 {
		return 0, errors.New("input/output error")
	}
	n := copy(p, f.begin)
	f.begin = f.begin[n:]
	return n, nil
}

func (*failingFile) Close() error { return nil }
