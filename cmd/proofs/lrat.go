package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/files"
	"github.com/oraccl/oraccl/model/native"
	"github.com/oraccl/oraccl/model/topo"
	"github.com/oraccl/oraccl/solve/sat"
	"github.com/oraccl/oraccl/solve/sat/cadical"
	"github.com/oraccl/oraccl/verify"
	"github.com/oraccl/oraccl/verify/cert"
	"github.com/oraccl/oraccl/verify/cnf"
)

// A rank that completes an allreduce after the straggler's arrival spreads what the
// straggler alone has of m chunks to all n ranks: the broadcast of m chunks, in which
// no more is asked for. So what is refuted for the broadcast is for the allreduce.

// problem returns the broadcast of r, in rounds, over one switch.
func (r refutation) problem() (*model.Problem, error) {
	t, err := topo.Parse(fmt.Sprintf("switch:%d", r.Ranks), topo.Options{})
	if err != nil {
		return nil, err
	}
	p := &model.Problem{Topology: t, Collective: model.Collective{Kind: model.Broadcast, Root: r.Ranks - 1}, Size: int64(r.Chunks) << 10, Cost: model.Rounds}
	p = p.WithChunks(r.Chunks)
	return p, p.Validate()
}

// refutation checks one, with our checker and with another.
func (c *checker) refutation(ctx context.Context, r refutation) []finding {
	ours := finding{by: "oraccl-check", expected: "proved"}
	theirs, noOther := c.tool("lrat-check").absent("verified")
	if f, absent := c.tool("cadical").absent("proved"); absent && r.File == "" {
		return []finding{f}
	}
	begin := time.Now()
	certificate, dir, err := c.certificate(ctx, r)
	ours.took = time.Since(begin)
	if err != nil {
		ours.found = err.Error()
		return []finding{ours}
	}
	begin = time.Now()
	beside, err := files.OpenDir(ctx, dir)
	if err != nil {
		ours.found = err.Error()
		return []finding{ours}
	}
	defer beside.Close()
	v := cert.CheckIn(context.Background(), certificate, beside)
	ours.took += time.Since(begin)
	if ours.found = v.Outcome.String(); v.Outcome != verify.Proved {
		ours.found += ": " + v.Reason
	}
	if !noOther {
		begin = time.Now()
		theirs.found = c.lratCheck(ctx, certificate, dir)
		theirs.took = time.Since(begin)
	}
	if r.File == "" { // it can be large
		if err := os.Remove(filepath.Join(dir, certificate.Witness.(model.Refutation).Proof)); err != nil {
			ours.found = err.Error()
		}
	}
	return []finding{ours, theirs}
}

// certificate reads the certificate that is kept, or makes one again, and returns the
// directory of its proof.
func (c *checker) certificate(ctx context.Context, r refutation) (*model.Certificate, string, error) {
	p, err := r.problem()
	if err != nil {
		return nil, "", err
	}
	if r.File != "" {
		name := filepath.Join(c.dir, filepath.FromSlash(r.File))
		b, err := files.ReadRegular(ctx, name)
		if err != nil {
			return nil, "", err
		}
		kept, err := native.ReadCertificate(name, bytes.NewReader(b))
		if err != nil {
			return nil, "", err
		}
		if w, ok := kept.Witness.(model.Refutation); !ok || w.Horizon != r.Rounds || !sameProblem(kept.Problem, p) {
			return nil, "", fmt.Errorf("%s: is of something else than the manifest says", name)
		}
		return kept, filepath.Dir(name), nil
	}
	file := filepath.Join(c.scratch, fmt.Sprintf("broadcast-%d-%d.lrat", r.Ranks, r.Chunks))
	d, err := (&sat.Question{Problem: p, Horizon: r.Rounds}).Decide(ctx, sat.Limits{Time: c.limit, Seed: 1, Proof: file})
	switch {
	case err != nil:
		return nil, "", err
	case d.Answer == cadical.Satisfiable:
		return nil, "", errors.New("there is a schedule")
	case d.Answer != cadical.Unsatisfiable:
		return nil, "", fmt.Errorf("open after %v", c.limit)
	}
	made, err := certificateOf(p, r.Rounds, file)
	return made, c.scratch, err
}

// certificateOf returns the certificate of a proof in a file.
func certificateOf(p *model.Problem, horizon int, file string) (*model.Certificate, error) {
	proof, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer proof.Close()
	hash := sha256.New()
	if _, err := io.Copy(hash, proof); err != nil {
		return nil, err
	}
	made := &model.Certificate{Problem: p, Witness: model.Refutation{Horizon: horizon, Proof: filepath.Base(file), SHA256: hex.EncodeToString(hash.Sum(nil))}}
	made.Bound, err = cert.Yield(context.Background(), made)
	return made, err
}

// sameProblem compares two problems as they are written.
func sameProblem(a, b *model.Problem) bool {
	var x, y bytes.Buffer
	return native.WriteProblem(&x, a) == nil && native.WriteProblem(&y, b) == nil && bytes.Equal(x.Bytes(), y.Bytes())
}

// lratCheck has the other checker follow the proof against the formula that the
// specification makes of the problem.
func (c *checker) lratCheck(ctx context.Context, certificate *model.Certificate, dir string) string {
	w := certificate.Witness.(model.Refutation)
	formula := filepath.Join(c.scratch, "formula.cnf")
	out, err := os.Create(formula)
	if err != nil {
		return err.Error()
	}
	if err := errors.Join(cnf.DIMACS(context.Background(), out, certificate.Problem, w), out.Close()); err != nil {
		return err.Error()
	}
	ctx, cancel := context.WithTimeout(ctx, c.limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, c.tool("lrat-check").path, formula, filepath.Join(dir, w.Proof))
	cmd.WaitDelay = time.Second
	said, err := cmd.CombinedOutput()
	for line := range strings.Lines(string(said)) {
		if strings.TrimSpace(line) == "c VERIFIED" {
			return "verified"
		}
	}
	return fmt.Sprintf("not verified: %v", err)
}
