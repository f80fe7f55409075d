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
// it counts, and asks Coq for the assumptions of each headline theorem.
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
	for _, x := range c.manifest.Theorems {
		f := finding{by: t.name, expected: closed, found: wrong[x.File]}
		begin := time.Now()
		if f.found == "" {
			query := fmt.Sprintf("From Oraccl Require %s.\nPrint Assumptions %s.%s.\n", x.File, x.File, x.Name)
			if err := os.WriteFile(filepath.Join(scratch, "Assumptions.v"), []byte(query), 0o644); err != nil {
				return err
			}
			out, err := c.coqc(ctx, scratch, "Assumptions.v")
			if f.found = strings.Join(strings.Fields(string(out)), " "); err != nil {
				f.found = lastLine(out, err)
			}
		}
		f.took = time.Since(begin)
		report(x, f)
	}
	return nil
}

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
