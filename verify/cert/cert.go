// Package cert decides whether a certificate of a lower bound proves what it
// claims: that every right schedule of a problem, timed or in rounds, has a
// makespan of at least Bound. It searches for nothing but shortest paths, uses no
// solver and no floating point, and trusts nothing in a certificate but the problem,
// which is what the claim is about.
//
// Each witness has a function that computes the bound that it yields, and a doc
// comment that proves it: a lemma, then its proof with the reason of every step in
// brackets. The lemmas stand on the semantics of packages model and verify/replay:
//
//	(arrive)  A slot contains a contribution only if it does at the start, or if a
//	          chain of transfers of its chunk, each of which starts when the one
//	          before has ended or later, leads to it from a slot that does.
//	(late)    A transfer starts when every rank on its route has arrived, or later.
//	(hop)     A route falls into hops, from a rank over switches to a rank. A hop
//	          over links 1..l that starts at s begins to occupy link i at
//	          s + α_1 + … + α_{i-1}, and ends at s + Σα + τ or later, where τ >= τ_i
//	          for all i and τ_i = ⌈b·10¹²/B_i⌉ is the time that b bytes take on link i.
//	          Where it may wait at a switch that adds, it begins to occupy the link
//	          behind it by as much later as it waits.
//	(busy)    It occupies link i for τ_i or longer (pipelined), or for α_i + τ_i or
//	          longer (blocking).
//	(round)   In rounds a transfer lies within its round, a link carries one chunk a
//	          round, and a rank sends one chunk and receives one chunk a round.
//	(apart)   Two transfers of different chunks never occupy a link at the same time,
//	          and at no time more of them use a port than it has capacity. What
//	          shares a link at one time is one stream: transfers of one chunk, of
//	          which those with one source are branches of a multicast, with one start,
//	          that part at a switch that copies, behind the link; and those with one
//	          destination are terms of a sum, with one end, that meet at a switch that
//	          adds, before the link; where it has several sources and several
//	          destinations, all occupy the link for one span. So only terms of a sum share the last link of
//	          their routes, and only branches of a multicast the first. Each of them
//	          occupies the link by itself as (busy) has it.
//	(read)    At a switch that adds as model.SumsRead has it, a stream of several transfers
//	          has the links of one rank there, and all its routes have two links: a
//	          multicast is on the link from its source, and a sum on that to its
//	          destination. Branches are copies. No transfer is both a branch and a term. The stream keeps
//	          the other link of that rank busy, too.
//
// Sizes are used from below only: whatever holds for a chunk of b bytes holds for
// a larger one. So a problem without chunks is bounded for every cut at once.
package cert

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/verify"
)

// Engine is the name of this checker in verdicts.
const Engine = "cert"

// Check is CheckIn for a certificate without files beside it.
func Check(ctx context.Context, c *model.Certificate) verify.Verdict { return CheckIn(ctx, c, nil) }

// CheckIn decides whether c proves its bound, where dir holds the files that lie beside
// it. It is Refuted if the witness yields less, or does not fit the problem; a bound below
// what the witness yields is Proved. It is Unknown if a proof is not there, and once ctx is
// done. It takes
// O(chunks·members + links·(nodes + 64)) time or less, and for proofs in files O(formula +
// file).
func CheckIn(ctx context.Context, c *model.Certificate, dir fs.FS) verify.Verdict {
	v := verify.Verdict{Engine: Engine, Claim: "is a certificate of a lower bound"}
	if err := whole(c); err != nil {
		return refuse(v, err)
	}
	v.Claim = Claim(c)
	yield, err := yield(ctx, c)
	if s := stopped(""); errors.As(err, &s) {
		v.Reason = s.Error()
		return v
	}
	if err != nil {
		return refuse(v, err)
	}
	if yield < c.Bound {
		return refuse(v, fmt.Errorf("the %s yields %v (%d ps), less than the bound of %v (%d ps)", c.Witness.Kind(), yield, int64(yield), c.Bound, int64(c.Bound)))
	}
	if w, ok := c.Witness.(model.Refutation); ok {
		return refutation(ctx, c, w, dir)
	}
	v.Outcome = verify.Proved
	return v
}

func refuse(v verify.Verdict, err error) verify.Verdict {
	v.Outcome, v.Reason = verify.Refuted, err.Error()
	v.Violations = []verify.Violation{verify.Wrong(verify.Malformed, "certificate", err.Error())}
	return v
}

// Claim states what a proof of c establishes. c must have a problem.
func Claim(c *model.Certificate) string {
	any := ""
	if c.Problem.Chunks == nil {
		any = ", however it is cut into chunks,"
	}
	if w, ok := c.Witness.(model.Refutation); ok {
		switch rounds := fmt.Sprintf("no schedule of %v has %d rounds or fewer", c.Problem, w.Horizon); {
		case w.Steps > 0:
			return fmt.Sprintf("%s in %d steps or fewer", rounds, w.Steps)
		case w.Epoch == 0:
			return fmt.Sprintf("%s, so that none ends before %v", rounds, c.Bound)
		}
	}
	return fmt.Sprintf("no schedule of %v%s ends before %v", c.Problem, any, c.Bound)
}

// Yield returns the largest bound that the witness of c proves, whatever bound c
// claims. It is MaxTime where the witness shows that there is no schedule at all.
// An error explains why c is no certificate: its problem is meaningless, or the witness
// names what does not exist or proves nothing. Of a proof in a file it is what the proof
// yields if it holds, which CheckIn decides. Once ctx is done it returns an error, too.
func Yield(ctx context.Context, c *model.Certificate) (model.Time, error) {
	if err := whole(c); err != nil {
		return 0, err
	}
	return yield(ctx, c)
}

// whole explains what c lacks to state anything.
func whole(c *model.Certificate) error {
	switch {
	case c == nil || c.Problem == nil:
		return errors.New("problem: missing")
	case c.Bound < 0:
		return fmt.Errorf("bound: %d ps, want 0 or more", int64(c.Bound))
	}
	if err := c.Problem.Validate(); err != nil {
		return fmt.Errorf("problem: %w", err)
	}
	if c.Witness == nil {
		return errors.New("witness: missing")
	}
	return nil
}

// yield is Yield of what is whole.
func yield(ctx context.Context, c *model.Certificate) (model.Time, error) {
	j := newJob(ctx, c.Problem)
	yield, known := rules[c.Witness.Kind()]
	if !known {
		return 0, fmt.Errorf("witness: of unknown type %T", c.Witness)
	}
	return j.unless(yield(j, c.Witness))
}

// stopped is why a check had to stop.
type stopped string

func (s stopped) Error() string { return string(s) }

// unless returns what a check came to, unless it had to stop on the way: then that means
// nothing.
func (j *job) unless(yield model.Time, err error) (model.Time, error) {
	if !j.work.Go(1) {
		return 0, stopped(j.work.Why())
	}
	return yield, err
}

// rank explains why r is no rank of p, if it is none.
func (j *job) rank(name string, r int) error {
	if r < 0 || r >= j.t.Ranks {
		return fmt.Errorf("%s: rank %d does not exist, want 0 to %d", name, r, j.t.Ranks-1)
	}
	return nil
}
