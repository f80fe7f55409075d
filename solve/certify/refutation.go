package certify

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/verify"
	"github.com/oraccl/oraccl/verify/cert"
)

// CutKey names the cut of p, by a hash: of a million chunks it is still short.
func CutKey(p *model.Problem) string {
	h := sha256.New()
	var b []byte
	for i, c := range p.Chunks {
		b = binary.LittleEndian.AppendUint64(b, uint64(c.Offset))
		b = binary.LittleEndian.AppendUint64(b, uint64(c.Size))
		if len(b) >= 1<<12 || i == len(p.Chunks)-1 {
			h.Write(b)
			b = b[:0]
		}
	}
	return string(h.Sum(nil))
}

// keepRefuted checks the proof of the largest horizon that a result refutes, and keeps it
// if it is the best for its cut. A proof that the checker does not accept is a defect, and
// an error.
func (e *Evaluator) keepRefuted(ctx context.Context, result solve.Result) error {
	if len(result.Refuted) == 0 {
		return nil
	}
	e.Progress.Note("checking a proof")
	c, err := RefutationOf(ctx, result.Problem, result.Refuted[len(result.Refuted)-1])
	if ctx.Err() != nil {
		return nil // there is no time to check it
	}
	if err != nil {
		return err
	}
	key := CutKey(result.Problem)
	if known := e.Horizons[key]; known != nil && known.Bound >= c.Bound {
		return nil
	}
	if err := CheckRefutation(ctx, c, e.Scratch); ctx.Err() != nil {
		return nil
	} else if err != nil {
		return err
	}
	if e.Horizons == nil {
		e.Horizons = map[string]*model.Certificate{}
	}
	e.Horizons[key] = c
	return nil
}

// RefutationOf returns the certificate of a horizon that was refuted, with the largest
// bound that it yields, unchecked.
func RefutationOf(ctx context.Context, p *model.Problem, r solve.Refuted) (*model.Certificate, error) {
	proof, err := os.Open(r.Proof)
	if err != nil {
		return nil, err
	}
	defer proof.Close()
	hash := sha256.New()
	if _, err := io.Copy(hash, until{ctx, proof}); err != nil {
		return nil, err
	}
	c := &model.Certificate{Problem: p, Witness: model.Refutation{Epoch: r.Epoch, Horizon: r.Horizon, Steps: r.Steps,
		Proof: filepath.Base(r.Proof), SHA256: hex.EncodeToString(hash.Sum(nil))}}
	c.Bound, err = cert.Yield(ctx, c)
	return c, err
}

// until is a reader that fails when its context is done.
type until struct {
	ctx context.Context
	io.Reader
}

func (u until) Read(b []byte) (int, error) {
	if err := u.ctx.Err(); err != nil {
		return 0, err
	}
	return u.Reader.Read(b)
}

// CheckRefutation checks a certificate whose proof lies in dir.
func CheckRefutation(ctx context.Context, c *model.Certificate, dir string) error {
	if v := cert.CheckIn(ctx, c, os.DirFS(dir)); v.Outcome != verify.Proved {
		return fmt.Errorf("the proof that %s failed its check and is not used: %s", v.Claim, v.Reason)
	}
	return nil
}

// ProofSize returns the size of the file with the proof of c, 0 if there is none.
func (e *Evaluator) ProofSize(c *model.Certificate) int64 {
	if w, ok := c.Witness.(model.Refutation); ok {
		if info, err := os.Stat(filepath.Join(e.Scratch, w.Proof)); err == nil {
			return info.Size()
		}
	}
	return 0
}
