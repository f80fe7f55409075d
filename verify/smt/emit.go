package smt

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/oraccl/oraccl/model"
)

// WriteSMT2 writes the claim that Check decides as one stand-alone SMT-LIB 2
// script for any solver: each goal of each chunk in a scope of its own, with
// comments that say what is what and which answer is expected. The schedule is
// right if the answers are as expected throughout.
//
// It returns an error if p or s is invalid, or if there is too much to state: see
// MaxOrder and MaxWritten.
func WriteSMT2(w io.Writer, p *model.Problem, s *model.Schedule) error {
	e, err := NewEncoder(p, s)
	if err != nil {
		return err
	}
	n := 0
	for k := range p.Chunks {
		if n += e.size(k, MaxWritten-n); n > MaxWritten {
			return fmt.Errorf("more than %d accesses, conditions and contributions in them, too many for a file", MaxWritten)
		}
	}
	b := bufio.NewWriter(w)
	head := &text{comments: true}
	head.words(fmt.Sprintf(preamble, Claim(p, s)))
	b.WriteString(head.String())
	b.WriteString("(set-logic QF_LIA)\n")
	if q := e.EncodeOrder(); q != nil {
		if q.TooLarge != "" {
			return errors.New(q.TooLarge)
		}
		q.annotated(b)
	}
	for k := range p.Chunks {
		q := e.Encode(k)
		if q.TooLarge != "" {
			return fmt.Errorf("chunk %d: %s", k, q.TooLarge)
		}
		q.annotated(b)
	}
	return b.Flush()
}

// MaxWritten is how many accesses, conditions and contributions in them there may be of all
// chunks for a file to state them.
const MaxWritten = 1 << 26

// annotated writes the goals of a query, with comments.
func (q *Query) annotated(b *bufio.Writer) {
	for _, g := range q.Goals {
		b.WriteString("\n")
		b.WriteString(g.annotated())
	}
}

// preamble explains a script to its reader.
const preamble = `Claim: the schedule %s.

x3 is rank 3's contribution to the chunk, any value. v3_0 is the first value that
rank 3 holds of the chunk, v3_1 the one after the next write to it, and so on;
d3_1 reports whether v3_1 is defined. Each scope asserts the negated claim, that
some obligation o0, o1, ... is broken: unsat says that none can be. Numbers
compared are times, in picoseconds or rounds from the chunk's first read.
The schedule is right if every (check-sat) answers what the line before it expects.
Z3 needs no options for this file; cvc5 needs --incremental.`

// Script returns what WriteSMT2 writes.
func Script(p *model.Problem, s *model.Schedule) (string, error) {
	var b strings.Builder
	err := WriteSMT2(&b, p, s)
	return b.String(), err
}
