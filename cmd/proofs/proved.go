package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/oraccl/oraccl/model/files"
	"github.com/oraccl/oraccl/model/native"
	"github.com/oraccl/oraccl/verify"
	"github.com/oraccl/oraccl/verify/cert"
	"github.com/oraccl/oraccl/verify/replay"
)

// provedName is the program that asks the proved functions.
const provedName = "oraccl-check-proved"

// differs is the answer under which documents are counted of which ours cannot hold beside
// the proved checker's.
const differs = "otherwise than oraccl-check"

// provedChecker builds the checker of the functions that Coq has written, in the scratch
// directory where theorems compiled them, and compares its answers about documents with
// those of ours. It reports for each directory and answer how many documents have it, and of
// the directory c.also that none has an answer that ours contradict.
func (c *checker) provedChecker(ctx context.Context, report func(claim string, f finding)) {
	if len(c.manifest.Documents) == 0 && c.also == "" {
		return
	}
	all := func(f finding) {
		for _, d := range c.manifest.Documents {
			report(d.Dir, f)
		}
		if c.also != "" {
			report(c.also, f)
		}
	}
	for _, name := range []string{"coqc", "ocamlfind"} {
		if f, absent := c.tool(name).absent("answers"); absent {
			all(f)
			return
		}
	}
	failed := func(err error) finding { return finding{by: provedName, expected: "answers", found: err.Error()} }
	program, err := c.buildProved(ctx)
	if err != nil {
		all(failed(err))
		return
	}
	if c.also != "" {
		begin := time.Now()
		of, example, err := c.compare(ctx, program, c.also)
		if err != nil {
			report(c.also, failed(err))
		} else {
			want := maps.Clone(of) // no more is asked than that ours agree
			delete(want, differs)
			count(c.also, want, of, example, time.Since(begin), report)
		}
	}
	for _, d := range c.manifest.Documents {
		begin := time.Now()
		of, example, err := c.compare(ctx, program, filepath.Join(c.dir, filepath.FromSlash(d.Dir)))
		if err != nil {
			report(d.Dir, failed(err))
			continue
		}
		count(d.Dir, d.Answers, of, example, time.Since(begin), report)
	}
}

// count reports how many documents of a directory have each answer, and how many were to.
func count(dir string, want, of map[string]int, example string, took time.Duration, report func(claim string, f finding)) {
	asked := map[string]bool{differs: true}
	for _, list := range []map[string]int{want, of} {
		for answer := range list {
			asked[answer] = true
		}
	}
	for _, answer := range slices.Sorted(maps.Keys(asked)) {
		f := finding{by: provedName, expected: strconv.Itoa(want[answer]), found: strconv.Itoa(of[answer]), took: took}
		if answer == differs && example != "" {
			f.found += ", such as " + example
		}
		report(dir+": "+answer, f)
	}
}

// buildProved compiles the reader with what Coq has written.
func (c *checker) buildProved(ctx context.Context) (string, error) {
	dir := filepath.Join(c.scratch, "coq")
	reader, err := files.ReadRegular(ctx, filepath.Join(c.dir, "checker", "main.ml"))
	if err != nil {
		return "", err
	}
	if err := os.WriteFile(filepath.Join(dir, "main.ml"), reader, 0o644); err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(ctx, c.limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, c.tool("ocamlfind").path, "ocamlopt", "-package", "zarith,yojson", "-linkpkg", "-w", "-a",
		"proved.mli", "proved.ml", "main.ml", "-o", provedName)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%s cannot be built: %s", provedName, lastLine(out, err))
	}
	built := filepath.Join(dir, provedName)
	if c.keep == "" {
		return built, nil
	}
	if err := os.MkdirAll(filepath.Dir(c.keep), 0o755); err != nil {
		return "", err
	}
	binary, err := files.ReadRegular(ctx, built)
	if err != nil {
		return "", err
	}
	return built, os.WriteFile(c.keep, binary, 0o755)
}

// compare runs the program on every document below a directory, and returns how often it gives
// which answer, and an example of a document of which ours say something else, if there is any.
func (c *checker) compare(ctx context.Context, program, dir string) (of map[string]int, example string, err error) {
	var names []string
	for _, pattern := range []string{"*.json", "*/*.json"} {
		found, err := files.Glob(dir, pattern)
		if err != nil {
			return nil, "", err
		}
		names = append(names, found...)
	}
	if len(names) == 0 {
		return nil, "", fmt.Errorf("%s: no documents", dir)
	}
	limited, cancel := context.WithTimeout(ctx, c.limit)
	defer cancel()
	out, err := exec.CommandContext(limited, program, names...).Output()
	if exit := (*exec.ExitError)(nil); err != nil && (!errors.As(err, &exit) || !exit.Exited()) {
		return nil, "", fmt.Errorf("%s: %w", provedName, err)
	}
	lines := strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
	if len(lines) != len(names) {
		return nil, "", fmt.Errorf("%s: %d answers about %d documents", provedName, len(lines), len(names))
	}
	of = map[string]int{}
	for i, name := range names {
		answer, ok := strings.CutPrefix(lines[i], name+": ")
		if !ok {
			return nil, "", fmt.Errorf("%s: answers %q, want something about %s", provedName, lines[i], name)
		}
		ours, err := judge(ctx, name)
		if err != nil {
			return nil, "", err
		}
		if differ(answer, ours) {
			of[differs]++
			example = fmt.Sprintf("%s: %s, and ours: %v", filepath.Base(name), answer, ours)
			continue
		}
		of[answer]++
	}
	return of, example, nil
}

// differ reports whether an answer of the proved checker and an outcome of ours cannot both
// hold. A bound that is not shown says nothing: the rules that are proved are the weaker
// ones.
func differ(answer string, ours verify.Outcome) bool {
	switch {
	case answer == "proved":
		return ours != verify.Proved
	case answer == "refuted", strings.HasPrefix(answer, "unreadable"):
		return ours != verify.Refuted
	}
	return answer != "not shown" && !strings.HasPrefix(answer, "not served: ")
}

// judge decides about a document as oraccl-check does.
func judge(ctx context.Context, name string) (verify.Outcome, error) {
	b, err := files.ReadRegular(ctx, name)
	if err != nil {
		return 0, err
	}
	var head struct{ Schema string }
	if err := json.Unmarshal(b, &head); err != nil {
		return 0, fmt.Errorf("%s: %w", name, err)
	}
	if head.Schema == native.CertificateSchema {
		d, err := native.ReadCertificate(name, bytes.NewReader(b))
		if err != nil {
			return verify.Refuted, nil
		}
		return cert.CheckIn(ctx, d, os.DirFS(filepath.Dir(name))).Outcome, nil
	}
	s, err := native.ReadSolution(name, bytes.NewReader(b))
	if err != nil {
		return verify.Refuted, nil
	}
	return replay.Check(ctx, s.Problem, s.Schedule).Outcome, nil
}
