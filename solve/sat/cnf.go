// Package sat states in propositional logic that a problem has a schedule of at
// most this many epochs or rounds: the formula of section 10 of verify/SPEC.md,
// clause by clause in the order given there. A refutation of the formula is a
// proof that there is no such schedule.
//
// An epoch lasts Question.Epoch picoseconds; under the synchronous cost models it
// is a round, and Question.Epoch is 0.
package sat

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"strconv"
)

// Limits of section 10.1.
const (
	maxArcs     = 1 << 16
	maxVars     = 1 << 26
	maxLiterals = 1 << 28
)

// Lit is a variable, numbered from 1, or minus that: its negation.
type Lit int32

// CNF is a conjunction of clauses, all in one arena.
type CNF struct {
	Vars int
	ctx  context.Context // of the encoding; nil: none
	lits []Lit
	ends []int32 // of each clause in lits
}

// Variables returns the number of variables.
func (c *CNF) Variables() int { return c.Vars }

// Clauses returns the number of clauses.
func (c *CNF) Clauses() int { return len(c.ends) }

// Literals returns the number of literals in all clauses.
func (c *CNF) Literals() int { return len(c.lits) }

// Clause returns clause i, counted from 0. The caller must not change it.
func (c *CNF) Clause(i int) []Lit {
	from := int32(0)
	if i > 0 {
		from = c.ends[i-1]
	}
	return c.lits[from:c.ends[i]]
}

// Block numbers n variables that follow one another and returns the first.
func (c *CNF) Block(n int) Lit {
	first := Lit(c.Vars + 1)
	c.Vars += n
	return first
}

// Add adds the clause that one of lits is true.
func (c *CNF) Add(lits ...Lit) {
	c.lits = append(c.lits, lits...)
	c.end()
}

func (c *CNF) end() { c.ends = append(c.ends, int32(len(c.lits))) }

// full reports whether a limit is passed, or the context is done; it is asked often enough
// that nothing overflows between two questions.
func (c *CNF) full() error {
	if c.ctx != nil && c.ctx.Err() != nil {
		return c.ctx.Err()
	}
	if c.Vars > maxVars || len(c.lits) > maxLiterals {
		return fmt.Errorf("too large: %d variables and %d literals so far, want at most %d and %d", c.Vars, len(c.lits), maxVars, maxLiterals)
	}
	return nil
}

// AtMost states that at most m of xs are true: section 10.7. It takes O(m·len(xs))
// clauses.
func (c *CNF) AtMost(m int, xs []Lit) {
	n := len(xs)
	switch {
	case n <= m:
		return
	case m == 0:
		for _, x := range xs {
			c.Add(-x)
		}
		return
	case m == 1 && n <= 6:
		for i, x := range xs {
			for _, y := range xs[i+1:] {
				c.Add(-x, -y)
			}
		}
		return
	}
	if n-1 > maxVars/m {
		c.Vars = maxVars + 1 // full says so
		return
	}
	first := c.Block((n - 1) * m)
	s := func(i, j int) Lit { return first + Lit((i-1)*m+j-1) } // both from 1
	c.Add(-xs[0], s(1, 1))
	for j := 2; j <= m; j++ {
		c.Add(-s(1, j))
	}
	for i := 2; i < n; i++ {
		x := xs[i-1]
		c.Add(-x, s(i, 1))
		c.Add(-s(i-1, 1), s(i, 1))
		for j := 2; j <= m; j++ {
			c.Add(-x, -s(i-1, j-1), s(i, j))
			c.Add(-s(i-1, j), s(i, j))
		}
		c.Add(-x, -s(i-1, m))
	}
	c.Add(-xs[n-1], -s(n-1, m))
}

// AtMostWeight states that the weights of those of xs that are true, each at least 1, add up to m at most: as AtMost, with steps as long
// as the weights. It takes O(m·len(xs)) clauses.
func (c *CNF) AtMostWeight(m int, xs []Lit, weights []int) {
	var lits []Lit
	var of []int
	sum := 0
	for i, x := range xs {
		if weights[i] > m {
			c.Add(-x)
			continue
		}
		lits, of = append(lits, x), append(of, weights[i])
		sum += weights[i]
	}
	n := len(lits)
	if sum <= m {
		return
	}
	if n > maxVars/m {
		c.Vars = maxVars + 1 // full says so
		return
	}
	first := c.Block(n * m)
	s := func(i, j int) Lit { return first + Lit(i*m+j-1) } // the first i+1 weigh j or more
	for i, x := range lits {
		w := of[i]
		for j := 1; j <= m; j++ {
			if j <= w {
				c.Add(-x, s(i, j))
			} else if i > 0 {
				c.Add(-x, -s(i-1, j-w), s(i, j))
			}
			if i > 0 {
				c.Add(-s(i-1, j), s(i, j))
			}
		}
		if i > 0 {
			c.Add(-x, -s(i-1, m-w+1))
		}
	}
}

// WriteDIMACS writes c in the format of SAT solvers.
func (c *CNF) WriteDIMACS(w io.Writer) error {
	out := bufio.NewWriterSize(w, 1<<16)
	fmt.Fprintf(out, "p cnf %d %d\n", c.Vars, c.Clauses())
	var line []byte
	for i := range c.ends {
		line = line[:0]
		for _, l := range c.Clause(i) {
			line = append(strconv.AppendInt(line, int64(l), 10), ' ')
		}
		line = append(line, '0', '\n')
		if _, err := out.Write(line); err != nil {
			return fmt.Errorf("cnf: %w", err)
		}
	}
	if err := out.Flush(); err != nil {
		return fmt.Errorf("cnf: %w", err)
	}
	return nil
}
