package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/files"
	"github.com/oraccl/oraccl/model/native"
	"github.com/oraccl/oraccl/verify"
	"github.com/oraccl/oraccl/verify/cert"
	"github.com/oraccl/oraccl/verify/dossier"
)

// provedName is the program that asks the proved functions.
const provedName = "oraccl-check-proved"

// differs is the answer under which documents are counted whose lines are not the same.
const differs = "otherwise than oraccl-check"

// provedChecker builds the checker of the functions that Coq has written, in the scratch
// directory where theorems compiled them, and compares its answers about documents with
// those of ours. It reports for each directory and answer how many documents have it, and of
// the directory c.also that none has another line with ours.
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
		of, differing, err := c.compare(ctx, program, c.also)
		if err != nil {
			report(c.also, failed(err))
		} else {
			want := maps.Clone(of) // no more is asked than that ours agree
			delete(want, differs)
			count(c.also, want, of, differing, time.Since(begin), report)
		}
	}
	for _, d := range c.manifest.Documents {
		begin := time.Now()
		dir, err := c.directory(ctx, d)
		if err != nil {
			report(d.Dir, failed(err))
			continue
		}
		of, differing, err := c.compare(ctx, program, dir)
		if err != nil {
			report(d.Dir, failed(err))
			continue
		}
		count(d.Dir, d.Answers, of, differing, time.Since(begin), report)
	}
}

// directory returns the directory of documents; of those that are changed copies it writes them.
func (c *checker) directory(ctx context.Context, d documents) (string, error) {
	if d.ChangedFrom == nil {
		return filepath.Join(c.dir, filepath.FromSlash(d.Dir)), nil
	}
	var from []string
	for _, dir := range d.ChangedFrom {
		from = append(from, filepath.Join(c.dir, filepath.FromSlash(dir)))
	}
	into := filepath.Join(c.scratch, d.Dir)
	return into, changed(ctx, into, from...)
}

// count reports how many documents of a directory have each answer, and how many were to.
func count(dir string, want, of map[string]int, differing []string, took time.Duration, report func(claim string, f finding)) {
	asked := map[string]bool{differs: true}
	for _, list := range []map[string]int{want, of} {
		for answer := range list {
			asked[answer] = true
		}
	}
	for _, answer := range slices.Sorted(maps.Keys(asked)) {
		f := finding{by: provedName, expected: strconv.Itoa(want[answer]), found: strconv.Itoa(of[answer]), took: took}
		if answer == differs && len(differing) > 0 {
			f.found += ": " + strings.Join(differing, "; ")
		}
		report(dir+": "+answer, f)
	}
}

// readers are the files of the reader, each after those that it needs.
var readers = []string{"valid.ml", "words.ml", "main.ml"}

// buildProved compiles the reader with what Coq has written.
func (c *checker) buildProved(ctx context.Context) (string, error) {
	dir := filepath.Join(c.scratch, "coq")
	for _, name := range readers {
		reader, err := files.ReadRegular(ctx, filepath.Join(c.dir, "checker", name))
		if err != nil {
			return "", err
		}
		if err := os.WriteFile(filepath.Join(dir, name), reader, 0o644); err != nil {
			return "", err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, c.limit)
	defer cancel()
	args := slices.Concat([]string{"ocamlopt", "-package", "zarith,yojson", "-linkpkg", "-w", "-a", "proved.mli", "proved.ml"}, readers, []string{"-o", provedName})
	cmd := exec.CommandContext(ctx, c.tool("ocamlfind").path, args...)
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

// compare runs the program and ours on a directory, and returns how often the program has
// which answer, and every document of which ours have another line.
func (c *checker) compare(ctx context.Context, program, dir string) (of map[string]int, differing []string, err error) {
	limited, cancel := context.WithTimeout(ctx, c.limit)
	defer cancel()
	status := 0
	out, err := exec.CommandContext(limited, program, "--documents", dir).Output()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) && exit.Exited() {
		status = exit.ExitCode()
	} else if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", provedName, err)
	}
	report, err := dossier.Check(ctx, []string{dir}, dossier.Options{Documents: true})
	if err != nil {
		return nil, nil, err
	}
	text, oursStatus := report.Text()
	theirs, ours := answersIn(string(out)), answersIn(text)
	of = map[string]int{}
	for _, name := range slices.Sorted(maps.Keys(theirs)) {
		t, o := theirs[name], ours[name]
		counted, ok := t.beside(o)
		if !ok {
			counted, ok = t.accounted(ctx, name, o)
		}
		if ok {
			of[counted]++
			continue
		}
		differing = append(differing, fmt.Sprintf("%s: %v, and ours: %v", strings.TrimPrefix(name, dir+"/"), t, o))
	}
	for _, name := range slices.Sorted(maps.Keys(ours)) {
		if _, ok := theirs[name]; !ok {
			differing = append(differing, fmt.Sprintf("%s: no answer, and ours: %v", strings.TrimPrefix(name, dir+"/"), ours[name]))
		}
	}
	unserved := slices.ContainsFunc(slices.Collect(maps.Values(theirs)), func(a answer) bool { return a.verdict == "unknown" })
	if status != oursStatus && !unserved {
		differing = append(differing, fmt.Sprintf("exit status %d, and ours: %d", status, oursStatus))
	}
	if n := len(differing); n > 0 {
		of[differs] = n
	}
	return of, differing, nil
}

// answer is what a checker prints of a document.
type answer struct{ verdict, claim, why string }

func (a answer) String() string {
	if a.verdict == "" {
		return "no answer"
	}
	return strings.TrimSuffix(a.verdict+" "+a.claim+" ("+a.why+")", " ()")
}

// line matches the line of a document: its verdict, its name, where in it an error is, and
// its claim.
var line = regexp.MustCompile(`^(proved|REFUTED|unknown|ERROR|not looked at|read) ("(?:[^"\\]|\\.)*"|\S+?)(?::\d+)*: (.*)$`)

// answersIn returns the answers in what a checker prints, by the names of the documents.
func answersIn(text string) map[string]answer {
	list := map[string]answer{}
	last := ""
	for l := range strings.Lines(text) {
		l = strings.TrimSuffix(l, "\n")
		why, indented := strings.CutPrefix(l, "  ")
		switch m := line.FindStringSubmatch(l); {
		case indented && last != "":
			if a := list[last]; a.why == "" {
				a.why = why
				list[last] = a
			}
		case m != nil && m[2] != "claim":
			last = m[2]
			list[last] = answer{verdict: m[1], claim: m[3]}
		default:
			last = ""
		}
	}
	return list
}

// beside returns the answer of the proved checker as it is counted, and whether that of ours
// can be beside it: the same verdict on the same claim; why something cannot be read, or
// is refuted, each says in its own words. Of what the proved checker does not serve
// only the claim is the same.
func (a answer) beside(ours answer) (counted string, ok bool) {
	switch a.verdict {
	case "unknown":
		return a.why, strings.HasPrefix(a.why, "not served: ") && (strings.HasPrefix(ours.claim, a.claim) || a.why == "not served: workloads")
	case "not looked at":
		return a.verdict, ours.verdict == "" || ours.verdict == "read"
	case "ERROR":
		return a.verdict, ours.verdict == "ERROR"
	}
	return a.verdict, a.verdict == ours.verdict && a.claim == ours.claim
}

// stronger is the answer of which it is known why the proved checker shows more.
const stronger = "proved, and ours: REFUTED, but proved as kind coverage or of all ranks"

// accounted returns as what an answer about the certificate in a file is counted that differs from
// ours, if it is known why. A rule that is proved may be weaker than ours. Of the kinds cut, egress and ingress it
// may show more, since it asks about coverage, too, and of a cut about all ranks; then ours must prove the same bound by
// a certificate of that kind, or by the cut without from and to.
func (a answer) accounted(ctx context.Context, name string, ours answer) (counted string, ok bool) {
	if a.claim != ours.claim {
		return "", false
	}
	b, err := files.ReadRegular(ctx, name)
	if err != nil {
		return "", false
	}
	c, err := native.ReadCertificate(name, bytes.NewReader(b))
	if err != nil {
		return "", false
	}
	if a.verdict == "REFUTED" && ours.verdict == "proved" {
		return fmt.Sprintf("REFUTED, since the rule %s that is proved is weaker than ours%s", c.Witness.Kind(), where(c.Problem)), true
	}
	return stronger, a.verdict == "proved" && ours.verdict == "REFUTED" && byCoverage(ctx, c)
}

// where names what a rule may be weaker at.
func where(p *model.Problem) string {
	late := ""
	if p.Late() {
		late = ", with late ranks"
	}
	if slices.ContainsFunc(p.Topology.Switches, func(s model.Switch) bool { return s.Copies || s.Reduces != model.NoReducing }) {
		return " where a switch copies or adds" + late
	}
	if p.Cost.Synchronous() {
		return fmt.Sprintf(" under %v%s", p.Cost, late)
	}
	return late
}

// byCoverage reports whether the bound of a certificate of kind cut, egress or ingress is proved by the coverage of
// what its witness has entered, for all ranks that it names or for one of them, or by its cut for all ranks.
func byCoverage(ctx context.Context, c *model.Certificate) bool {
	var entered model.Coverage
	var to []int
	others := func(nodes ...int) (list []int) {
		for v := range c.Problem.Topology.Nodes() {
			if !slices.Contains(nodes, v) {
				list = append(list, v)
			}
		}
		return list
	}
	switch w := c.Witness.(type) {
	case model.Ingress:
		entered, to = model.Coverage{Nodes: []int{w.Rank}}, []int{w.Rank}
	case model.Egress:
		entered, to = model.Coverage{Nodes: others(w.Rank)}, c.Problem.Members()
	case model.Cut:
		entered, to = model.Coverage{Nodes: others(w.Nodes...), From: w.From, To: w.To}, w.To
		if to == nil {
			to = c.Problem.Members()
		}
	}
	shows := func(w model.Witness) bool {
		d := *c
		d.Witness = w
		return cert.Check(ctx, &d).Outcome == verify.Proved
	}
	if w, restricted := c.Witness.(model.Cut); restricted && shows(model.Cut{Nodes: w.Nodes}) {
		return true
	}
	return entered.Nodes != nil && (shows(entered) || slices.ContainsFunc(to, func(v int) bool {
		one := entered
		one.To = []int{v}
		return shows(one)
	}))
}
