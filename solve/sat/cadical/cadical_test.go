package cadical

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// clauses is a formula.
type clauses [][]int

func (c clauses) Variables() int {
	n := 0
	for _, clause := range c {
		for _, l := range clause {
			n = max(n, l, -l)
		}
	}
	return n
}

func (c clauses) WriteDIMACS(w io.Writer) error {
	fmt.Fprintf(w, "p cnf %d %d\n", c.Variables(), len(c))
	for _, clause := range c {
		for _, l := range clause {
			fmt.Fprint(w, l, " ")
		}
		if _, err := fmt.Fprintln(w, 0); err != nil {
			return err
		}
	}
	return nil
}

// pigeons says that n+1 pigeons sit in n holes, no two in one.
func pigeons(n int) clauses {
	at := func(p, h int) int { return p*n + h + 1 }
	var c clauses
	for p := range n + 1 {
		var somewhere []int
		for h := range n {
			somewhere = append(somewhere, at(p, h))
			for q := range p {
				c = append(c, []int{-at(p, h), -at(q, h)})
			}
		}
		c = append(c, somewhere)
	}
	return c
}

func TestModel(t *testing.T) {
	r, err := Solve(context.Background(), clauses{{1, 2}, {-1}, {3, -2}}, Options{})
	require.NoError(t, err)
	require.Equal(t, Result{Satisfiable, []bool{false, false, true, true}}, r)
}

// TestRefutation has the proof checked by somebody else's program.
func TestRefutation(t *testing.T) {
	dir := t.TempDir()
	cnf, proof := filepath.Join(dir, "p.cnf"), filepath.Join(dir, "p.lrat")
	f := pigeons(6)
	r, err := Solve(context.Background(), f, Options{Proof: proof})
	require.NoError(t, err)
	require.Equal(t, Unsatisfiable, r.Answer)
	require.NoError(t, write(t.Context(), cnf, f))
	out, err := exec.Command("lrat-check", cnf, proof).CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Contains(t, string(out), "VERIFIED")
}

func TestLimit(t *testing.T) {
	r, err := Solve(context.Background(), pigeons(14), Options{TimeLimit: 50 * time.Millisecond})
	require.NoError(t, err)
	require.Equal(t, Unknown, r.Answer)
}

func TestNoProgram(t *testing.T) {
	t.Setenv("ORACCL_CADICAL", filepath.Join(t.TempDir(), "none"))
	require.Error(t, probe(candidates()[0]))
	old := filepath.Join(t.TempDir(), "old")
	require.NoError(t, os.WriteFile(old, []byte("#!/bin/sh\nexit 20\n"), 0o755))
	require.ErrorContains(t, probe(old), "writes no LRAT")
}
