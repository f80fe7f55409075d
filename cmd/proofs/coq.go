package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// closed is what Coq prints for a theorem that rests on no axiom.
const closed = "Closed under the global context"

// unproved matches what would let a file in Coq claim something without a proof.
var unproved = regexp.MustCompile(`(?m)^\s*(Admitted|Axioms?|Parameters?|Conjectures?)\b|\badmit\b`)

// coqFiles returns the files of the development, in an order in which each comes after those
// that it needs.
func coqFiles(dir string) ([]string, error) {
	name := filepath.Join(dir, "coq", "_CoqProject")
	b, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	var files []string
	for line := range strings.Lines(string(b)) {
		if line = strings.TrimSpace(line); strings.HasSuffix(line, ".v") {
			files = append(files, line)
		}
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("%s: names no file", name)
	}
	return files, nil
}

// theorems compiles the development in a scratch directory, so that nothing that lies beside
// it counts, and asks Coq for the assumptions of the headline theorems.
func (c *checker) theorems(ctx context.Context, report func(theorem, finding)) error {
	t := c.tool("coqc")
	if f, absent := t.absent(closed); absent {
		for _, x := range c.manifest.Theorems {
			report(x, f)
		}
		return nil
	}
	files, err := coqFiles(c.dir)
	if err != nil {
		return err
	}
	scratch := filepath.Join(c.scratch, "coq")
	if err := os.MkdirAll(scratch, 0o755); err != nil {
		return err
	}
	wrong := map[string]string{} // by file: why it proves nothing
	broken := ""                 // the first file that does not compile: those after it may need it
	for _, file := range files {
		text, err := os.ReadFile(filepath.Join(c.dir, "coq", file))
		if err != nil {
			return err
		}
		name := strings.TrimSuffix(file, ".v")
		switch found := unproved.FindString(string(text)); {
		case found != "":
			wrong[name] = "has " + strings.TrimSpace(found)
		case broken != "":
			wrong[name] = broken + " does not compile"
		default:
			if err := os.WriteFile(filepath.Join(scratch, file), text, 0o644); err != nil {
				return err
			}
			if out, err := c.coqc(ctx, scratch, file); err != nil {
				wrong[name], broken = lastLine(out, err), file
			}
		}
	}
	begin := time.Now()
	var names []string // of those whose files compile
	for _, x := range c.manifest.Theorems {
		if wrong[x.File] == "" {
			names = append(names, x.File+"."+x.Name)
		}
	}
	found, err := c.assumptions(ctx, scratch, names)
	if err != nil {
		return err
	}
	took := time.Since(begin) / time.Duration(max(1, len(names)))
	for _, x := range c.manifest.Theorems {
		f := finding{by: t.name, expected: closed, found: wrong[x.File]}
		if f.found == "" {
			f.found, f.took = found[x.File+"."+x.Name], took
		}
		report(x, f)
	}
	return nil
}

// assumptions asks Coq what theorems rest on, all of them at once; and if it does not answer
// that, each by itself, so that the answer names the one that is wrong.
func (c *checker) assumptions(ctx context.Context, dir string, theorems []string) (map[string]string, error) {
	found := map[string]string{}
	if len(theorems) == 0 {
		return found, nil
	}
	var query strings.Builder
	for _, x := range theorems {
		file, _, _ := strings.Cut(x, ".")
		fmt.Fprintf(&query, "From Oraccl Require %s.\nGoal True. idtac \"%s %s\". Abort.\nPrint Assumptions %s.\n", file, about, x, x)
	}
	if err := os.WriteFile(filepath.Join(dir, "Assumptions.v"), []byte(query.String()), 0o644); err != nil {
		return nil, err
	}
	out, err := c.coqc(ctx, dir, "Assumptions.v")
	if err != nil && len(theorems) == 1 {
		found[theorems[0]] = lastLine(out, err)
		return found, nil
	}
	if err != nil {
		for _, x := range theorems {
			one, err := c.assumptions(ctx, dir, []string{x})
			if err != nil {
				return nil, err
			}
			found[x] = one[x]
		}
		return found, nil
	}
	for _, answer := range strings.Split(string(out), about+" ")[1:] {
		x, rest, _ := strings.Cut(answer, "\n")
		found[strings.TrimSpace(x)] = strings.Join(strings.Fields(rest), " ")
	}
	return found, nil
}

// about marks the answer about a theorem.
const about = "ASSUMPTIONS OF"

func (c *checker) coqc(ctx context.Context, dir, file string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, c.limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, c.tool("coqc").path, "-q", "-Q", ".", "Oraccl", file)
	cmd.Dir = dir
	return cmd.CombinedOutput()
}

// lastLine returns the last line that a program that failed printed, or why it
// failed.
func lastLine(out []byte, err error) string {
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	if last := lines[len(lines)-1]; last != "" {
		return last
	}
	return err.Error()
}
