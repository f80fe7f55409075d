package main

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// lookPath is exec.LookPath, which tests replace.
var lookPath = exec.LookPath

// finding is what one program says of one claim.
type finding struct {
	by       string
	expected string
	found    string
	took     time.Duration
	fails    bool // is meant to
	left     bool // was asked to be left out
	missing  bool
}

// good reports whether the program said what was expected.
func (f finding) good() bool { return !f.left && !f.missing && f.found == f.expected }

func (f finding) row(claim string) row {
	r := row{claim, f.by, f.expected, f.found, fmt.Sprintf("%d ms", f.took.Milliseconds()), ""}
	switch {
	case f.left:
		r[3], r[4], r[5] = "-", "", "left out"
	case f.missing:
		r[3], r[4], r[5] = "-", "", "MISSING"
	case !f.good():
		r[5] = "UNEXPECTED"
	case f.fails:
		r[5] = "fails, as it is meant to"
	}
	return r
}

// absent returns the finding for a program that cannot be run, if it cannot.
func (t *tool) absent(expected string) (finding, bool) {
	f := finding{by: t.name, expected: expected, left: t.out, missing: !t.out && t.path == ""}
	return f, f.left || f.missing
}

// obligation asks both provers.
func (c *checker) obligation(ctx context.Context, o obligation) []finding {
	var all []finding
	for _, p := range []struct {
		name string
		args []string
	}{{"z3", []string{"-smt2"}}, {"cvc5", []string{"--incremental", "--lang=smt2"}}} {
		t := c.tool(p.name)
		f, absent := t.absent(strings.Join(o.Expect, " "))
		if !absent {
			begin := time.Now()
			f.fails = o.Fails
			f.found = c.say(ctx, t.path, append(p.args, filepath.Join(c.dir, filepath.FromSlash(o.File)))...)
			f.took = time.Since(begin)
		}
		all = append(all, f)
	}
	return all
}

// say runs a program and returns the words that it prints, shortened. If it is stopped, or
// fails, the words say so.
func (c *checker) say(ctx context.Context, path string, args ...string) string {
	ctx, cancel := context.WithTimeout(ctx, c.limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.WaitDelay = time.Second // for what it has started itself
	out, err := cmd.CombinedOutput()
	said := strings.Join(strings.Fields(string(out)), " ")
	if err != nil {
		if ctx.Err() != nil {
			err = fmt.Errorf("stopped after %v", c.limit)
		}
		said = strings.TrimSpace(fmt.Sprintf("%v: %s", err, said))
	}
	if len(said) > 100 {
		said = said[:97] + "..."
	}
	return said
}
