package cert

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/verify"
	"github.com/oraccl/oraccl/verify/cnf"
	"github.com/oraccl/oraccl/verify/lrat"
)

var _ = rule(Kind{
	Shows:  "there is no schedule within a number of rounds, or of epochs of equal length",
	Holds:  "a refutation of the formula of section 10 of the specification, in the format LRAT, in a file beside it",
	Needs:  "what section 10.1 does not refuse: no switches that copy, no late ranks with reductions or in rounds",
	Cut:    true,
	Lemmas: "horizon",
}, func(j *job, w model.Refutation) (model.Time, error) {
	if err := (&model.Certificate{Problem: j.p, Witness: w}).Validate(); err != nil {
		return 0, err
	}
	return j.refuted(w), nil
})

// refuted returns what section 10.1 of the specification says of a horizon without
// schedule.
//
// Lemma (horizon). If the formula of section 10 is false, every right schedule lasts
// (H+1)·τ or longer, or has H+1 rounds in which something is moved.
//
// Proof. Section 10 [10.2, 10.3 and 10.6 each show that a schedule within the horizon
// makes the formula true]. In rounds, each of these lasts as long as the quickest hop of
// the smallest chunk, or longer [(round)].
func (j *job) refuted(w model.Refutation) model.Time {
	switch {
	case w.Steps > 0:
		return 0
	case w.Epoch > 0:
		return w.Epoch.Mul(int64(w.Horizon) + 1)
	}
	least := j.p.Chunks[0].Size
	for _, c := range j.p.Chunks {
		least = min(least, c.Size)
	}
	return j.hop(least, j.fromRank).Mul(int64(w.Horizon) + 1)
}

// refutation checks the proof of w, which lies in dir.
func refutation(ctx context.Context, c *model.Certificate, w model.Refutation, dir fs.FS) verify.Verdict {
	v := verify.Verdict{Engine: Engine, Claim: Claim(c)}
	if dir == nil {
		v.Reason = fmt.Sprintf("the proof %s is not at hand", w.Proof)
		return v
	}
	var unread unreadable
	switch err := followProof(ctx, c.Problem, w, dir); {
	case err == nil:
		v.Outcome = verify.Proved
	case ctx.Err() != nil && errors.Is(err, ctx.Err()):
		v.Reason = verify.Stopped(ctx)
	case errors.As(err, &unread), errors.Is(err, cnf.ErrTooLarge), errors.Is(err, lrat.ErrTooLarge):
		v.Reason = err.Error()
	default:
		return refuse(v, fmt.Errorf("%s: %w", w.Proof, err))
	}
	return v
}

// followProof makes the formula, and refutes it by the proof that lies in dir. It reads the
// proof twice: first for which clauses it names, so that no others are kept.
func followProof(ctx context.Context, p *model.Problem, w model.Refutation, dir fs.FS) error {
	var named *lrat.Set
	if err := reading(dir, w.Proof, func(proof io.Reader) (err error) {
		named, err = lrat.Named(ctx, proof)
		return err
	}); err != nil {
		return err
	}
	checker, clauses := lrat.New(), uint64(0)
	size, err := cnf.Write(ctx, p, w, func(clause []int32) error {
		if clauses++; len(clause) > 0 && !named.Has(clauses) {
			checker.Skip()
			return nil
		}
		return checker.Add(clause)
	})
	if err != nil {
		return err
	}
	if err := checker.Variables(size.Variables); err != nil {
		return err
	}
	return reading(dir, w.Proof, func(proof io.Reader) error {
		hash := sha256.New()
		if err := checker.Refute(ctx, io.TeeReader(proof, hash)); err != nil {
			return err
		}
		if got := hex.EncodeToString(hash.Sum(nil)); !strings.EqualFold(got, w.SHA256) {
			return fmt.Errorf("has SHA-256 %s, want %s", got, w.SHA256)
		}
		return nil
	})
}

// reading opens a file for a function.
func reading(dir fs.FS, name string, read func(io.Reader) error) error {
	f, err := dir.Open(name)
	if err != nil {
		return unreadable{err}
	}
	defer f.Close()
	in := &source{Reader: f}
	if err = read(in); in.err != nil {
		return unreadable{in.err}
	}
	return err
}

// unreadable is why a proof cannot be read, which says nothing of the proof.
type unreadable struct{ error }

func (u unreadable) Error() string { return fmt.Sprintf("the proof cannot be read: %v", u.error) }

// source keeps the error that ends its reading, if that is not the end of the file.
type source struct {
	io.Reader
	err error
}

func (s *source) Read(p []byte) (int, error) {
	n, err := s.Reader.Read(p)
	if err != nil && err != io.EOF {
		s.err = err
	}
	return n, err
}
