package sat

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve/sat/cadical"
)

// Decision is the answer to a Question.
type Decision struct {
	Answer   cadical.Answer
	Schedule *model.Schedule // if Satisfiable
	Proof    string          // if Unsatisfiable: the file with the refutation, or "" if none was asked for
	Size     string          // of the formula, in words
}

// Limits bound the work on one question.
type Limits struct {
	Time  time.Duration // wall time; 0: none
	Seed  uint64
	Proof string // file for the refutation; "": none is kept
	// Literals is the largest formula that is taken on; 0: the default, which needs
	// about 2 GB.
	Literals int
}

// defaultLiterals keeps two solvers on one formula within about 2 GB.
const defaultLiterals = 20_000_000

// Decide answers the question. Two solvers work on the formula at the same time, one
// that writes a refutation and one that is quick to find a model; of a formula that can
// be satisfied the model is always that of the second, so that equal seeds give equal
// schedules. Unknown is an answer, not an error.
func (q *Question) Decide(ctx context.Context, o Limits) (Decision, error) {
	f, err := q.encode(ctx)
	switch {
	case ctx.Err() != nil:
		return Decision{}, nil
	case err != nil:
		return Decision{}, err
	}
	d := Decision{Size: fmt.Sprintf("%d variables, %d clauses", f.Vars, f.Clauses())}
	if limit := max(o.Literals, defaultLiterals); f.Literals() > limit {
		return d, fmt.Errorf("sat: %s, %d literals, want at most %d", d.Size, f.Literals(), limit)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	type outcome struct {
		cadical.Result
		err error
	}
	ask := func(ctx context.Context, o cadical.Options) <-chan outcome {
		done := make(chan outcome, 1)
		go func() {
			r, err := cadical.Solve(ctx, f, o)
			done <- outcome{r, err}
		}()
		return done
	}
	proof := o.Proof
	if proof == "" {
		proof = os.DevNull
	}
	hunting, stopHunt := context.WithCancel(ctx)
	proving, stopProof := context.WithCancel(ctx)
	defer stopHunt()
	defer stopProof()
	// The hunter begins with nothing sent anywhere, which finds schedules in half the time.
	hunter := ask(hunting, cadical.Options{TimeLimit: o.Time, Seed: o.Seed, Args: []string{"--sat", "--phase=0"}})
	prover := ask(proving, cadical.Options{TimeLimit: o.Time, Seed: o.Seed, Proof: proof})
	var hunted, proved outcome
	select {
	case hunted = <-hunter:
		if hunted.Answer == cadical.Satisfiable {
			stopProof()
		}
		proved = <-prover // after an unsat without proof, wait for the proof
	case proved = <-prover:
		if proved.Answer == cadical.Unsatisfiable {
			stopHunt()
		}
		hunted = <-hunter
	}
	if err := hunted.err; err != nil {
		return d, err
	}
	if err := proved.err; err != nil {
		return d, err
	}
	switch {
	case hunted.Answer == cadical.Satisfiable:
		d.Answer = cadical.Satisfiable
		d.Schedule, err = f.Schedule(hunted.Model)
	case proved.Answer == cadical.Satisfiable:
		d.Answer = cadical.Satisfiable
		d.Schedule, err = f.Schedule(proved.Model)
	case proved.Answer == cadical.Unsatisfiable:
		d.Answer, d.Proof = cadical.Unsatisfiable, o.Proof
		return d, nil
	}
	if o.Proof != "" {
		os.Remove(filepath.Clean(o.Proof)) // it is of no use
	}
	return d, err
}
