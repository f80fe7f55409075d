package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/native"
	"github.com/oraccl/oraccl/verify"
	"github.com/oraccl/oraccl/verify/cert"
)

const proofs = "../../proofs"

// fake puts programs that say fixed things in the place of provers: by name, a shell
// script; what is not named is missing.
func fake(t *testing.T, scripts map[string]string) {
	dir := t.TempDir()
	for name, script := range scripts {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+script+"\n"), 0o755))
	}
	lookPath = func(name string) (string, error) {
		if _, ok := scripts[name]; ok {
			return filepath.Join(dir, name), nil
		}
		return "", errors.New("missing")
	}
	t.Cleanup(func() { lookPath = exec.LookPath })
}

// small writes a manifest of one obligation, which states what it is meant to say, and one
// refutation that is kept, and returns its directory.
func small(t *testing.T, change func(m *manifest)) string {
	m, err := readManifest(proofs)
	require.NoError(t, err)
	kept := m.Refutations[0]
	require.NotEmpty(t, kept.File)
	m.Obligations, m.Refutations, m.Theorems, m.Documents = m.Obligations[:1], m.Refutations[:1], nil, nil
	dir := t.TempDir()
	copyFile := func(name string) {
		b, err := os.ReadFile(filepath.Join(proofs, name))
		require.NoError(t, err)
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), b, 0o644))
	}
	copyFile(m.Obligations[0].File)
	copyFile(kept.File)
	copyFile(strings.TrimSuffix(kept.File, ".json") + ".lrat")
	if change != nil {
		change(m)
	}
	b, err := json.Marshal(m)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "manifest.json"), b, 0o644))
	return dir
}

const (
	right    = "echo sat; echo unsat"
	verified = "echo 'c VERIFIED'"
)

func TestRun(t *testing.T) {
	for name, c := range map[string]struct {
		scripts map[string]string
		args    []string
		change  func(m *manifest)
		status  int
		say     string
	}{
		"all right":         {scripts: map[string]string{"z3": right, "cvc5": right, "lrat-check": verified}, say: "all as expected"},
		"z3 says sat":       {scripts: map[string]string{"z3": "echo sat; echo sat", "cvc5": right, "lrat-check": verified}, status: 1, say: "UNEXPECTED: "},
		"cvc5 says unknown": {scripts: map[string]string{"z3": right, "cvc5": "echo sat; echo unknown", "lrat-check": verified}, status: 1, say: "sat unknown"},
		"nothing can hold":  {scripts: map[string]string{"z3": "echo unsat; echo unsat", "cvc5": right, "lrat-check": verified}, status: 1, say: "unsat unsat"},
		"right but fails":   {scripts: map[string]string{"z3": right + "; exit 1", "cvc5": right, "lrat-check": verified}, status: 1, say: "exit status 1: sat unsat"},
		"says more":         {scripts: map[string]string{"z3": right, "cvc5": right + "; echo '(error \"x\")'", "lrat-check": verified}, status: 1, say: "UNEXPECTED"},
		"too slow":          {scripts: map[string]string{"z3": right, "cvc5": "exec sleep 9", "lrat-check": verified}, args: []string{"-time-limit", "100ms"}, status: 1, say: "stopped after 100ms"},
		"not verified":      {scripts: map[string]string{"z3": right, "cvc5": right, "lrat-check": "echo 'c NOT VERIFIED'; exit 1"}, status: 1, say: "not verified: exit status 1"},
		"no cvc5":           {scripts: map[string]string{"z3": right, "lrat-check": verified}, status: 2, say: "MISSING: cvc5"},
		"without cvc5":      {scripts: map[string]string{"z3": right, "lrat-check": verified}, args: []string{"-without", "cvc5"}, say: "LEFT OUT as was asked: cvc5"},
		"no cadical": {scripts: map[string]string{"z3": right, "cvc5": right, "lrat-check": verified}, status: 2, say: "MISSING: cadical",
			change: func(m *manifest) { m.Refutations[0].File = "" }},
		"another certificate": {scripts: map[string]string{"z3": right, "cvc5": right, "lrat-check": verified}, status: 1, say: "something else than the manifest says",
			change: func(m *manifest) { m.Refutations[0].Ranks = 4 }},
		"meant to fail": {scripts: map[string]string{"z3": "echo sat; echo sat", "cvc5": "echo sat; echo sat", "lrat-check": verified}, say: "fails, as it is meant to",
			change: func(m *manifest) { m.Obligations[0].Fails, m.Obligations[0].Expect = true, []string{"sat", "sat"} }},
		"holds though meant to fail": {scripts: map[string]string{"z3": right, "cvc5": right, "lrat-check": verified}, status: 1, say: "UNEXPECTED",
			change: func(m *manifest) { m.Obligations[0].Fails, m.Obligations[0].Expect = true, []string{"sat", "sat"} }},
	} {
		t.Run(name, func(t *testing.T) {
			fake(t, c.scripts)
			var out, errs bytes.Buffer
			status := run(context.Background(), append(c.args, small(t, c.change)), &out, &errs)
			require.Equal(t, c.status, status, "%s%s", out.String(), errs.String())
			require.Contains(t, out.String(), c.say)
			require.Equal(t, status == 0, strings.Contains(out.String(), "all as expected"))
		})
	}
}

// What Coq prints of the assumptions decides, and a file that could claim something without
// a proof is not even asked about.
func TestTheorems(t *testing.T) {
	const says = `case $5 in Assumptions.v) echo "ASSUMPTIONS OF A.a"; echo "Closed under the global context";; esac`
	for name, c := range map[string]struct {
		coqc, file, found string
	}{
		"closed":           {says, "Lemma a : True. exact I. Qed.", closed},
		"an axiom is used": {`case $5 in Assumptions.v) echo "ASSUMPTIONS OF A.a"; echo "Axioms: a";; esac`, "Lemma a : True.", "Axioms: a"},
		"no answer":        {"exit 0", "Lemma a : True. exact I. Qed.", ""},
		"not there":        {`case $5 in Assumptions.v) echo "A.a not found"; exit 1;; esac`, "Lemma b : True. exact I. Qed.", "A.a not found"},
		"does not compile": {"echo 'Error: no'; exit 1", "Lemma a : True.", "Error: no"},
		"admitted":         {says, "Lemma a : True.\nAdmitted.", "has Admitted"},
		"an axiom":         {says, "  Axiom a : False.", "has Axiom"},
	} {
		fake(t, map[string]string{"coqc": c.coqc})
		dir := small(t, func(m *manifest) { m.Theorems = []theorem{{File: "A", Name: "a"}} })
		require.NoError(t, os.MkdirAll(filepath.Join(dir, "coq"), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(dir, "coq", "_CoqProject"), []byte("-Q . Oraccl\nA.v\n"), 0o644))
		require.NoError(t, os.WriteFile(filepath.Join(dir, "coq", "A.v"), []byte(c.file), 0o644))
		checks, err := newChecker(dir, "", time.Minute)
		require.NoError(t, err)
		defer checks.close()
		asked := 0
		require.NoError(t, checks.theorems(context.Background(), func(_ theorem, f finding) {
			asked++
			require.Equal(t, c.found, f.found, name)
			require.Equal(t, c.found == closed, f.good(), name)
		}))
		require.Equal(t, 1, asked)
	}
}

// The proved checker's answers are compared with ours, one by one, and counted. Here a script
// stands in for it, which says the same of every document.
func TestProvedChecker(t *testing.T) {
	source, err := filepath.Abs("../../testdata/schedules/accept/ring4-allgather-pipelined.json")
	require.NoError(t, err)
	right, err := os.ReadFile(source)
	require.NoError(t, err)
	wrong := bytes.Replace(right, []byte(`"start_ps": 0`), []byte(`"start_ps": 1`), 1)
	require.NotEqual(t, right, wrong)
	claim := "performs allgather of 960 B in 4 chunks, 4 ranks, on ring4, pipelined"
	for name, c := range map[string]struct {
		says     string // of the file
		document []byte
		answers  map[string]int
		bad      string // the first number that is not the recorded one
	}{
		"both proved":          {"proved FILE: " + claim + ", and ends after ENDS", right, map[string]int{"proved": 1}, ""},
		"both refuted":         {"REFUTED FILE: " + claim + "\\n  why", wrong, map[string]int{"REFUTED": 1}, ""},
		"neither can read":     {"ERROR FILE: why", []byte(`{"schema": "oraccl/schedule/1"}`), map[string]int{"ERROR": 1}, ""},
		"only it proves":       {"proved FILE: " + claim, wrong, map[string]int{"proved": 1}, "and ours: REFUTED"},
		"only it refutes":      {"REFUTED FILE: " + claim, right, nil, "and ours: proved"},
		"only it cannot read":  {"ERROR FILE: x", right, nil, "a.json: ERROR x, and ours: proved"},
		"another claim":        {"proved FILE: performs allgather", right, nil, "and ours: proved performs"},
		"another end":          {"proved FILE: " + claim + ", and ends after 1ps", right, nil, "and ours: proved performs"},
		"no answer":            {"perhaps FILE: " + claim, right, nil, "a.json: no answer, and ours: proved"},
		"fewer than recorded":  {"unknown FILE: " + claim + "\\n  not served: x", right, map[string]int{"proved": 1}, "1"},
		"not served, recorded": {"unknown FILE: " + claim + "\\n  not served: x", right, map[string]int{"not served: x": 1}, ""},
		"unknown":              {"unknown FILE: " + claim + "\\n  perhaps", right, nil, "and ours: proved"},
	} {
		status := map[string]string{"p": "0", "R": "1", "E": "2", "u": "3"}[c.says[:1]]
		says := strings.NewReplacer("FILE", "$2/a.json", "ENDS", "721.5ns").Replace(c.says)
		fake(t, map[string]string{
			"coqc":      "exit 0",
			"ocamlfind": `for last; do :; done; printf '#!/bin/sh\nprintf "` + says + `\\n"; exit ` + status + `\n' >"$last"; chmod 755 "$last"`,
		})
		dir := small(t, func(m *manifest) { m.Documents = []documents{{Dir: "documents", Answers: c.answers}} })
		for _, sub := range []string{"coq", "checker", "documents"} {
			require.NoError(t, os.MkdirAll(filepath.Join(dir, sub), 0o755))
		}
		for _, reader := range readers {
			require.NoError(t, os.WriteFile(filepath.Join(dir, "checker", reader), nil, 0o644))
		}
		require.NoError(t, os.WriteFile(filepath.Join(dir, "documents", "a.json"), c.document, 0o644))
		checks, err := newChecker(dir, "", time.Minute)
		require.NoError(t, err)
		defer checks.close()
		require.NoError(t, os.MkdirAll(filepath.Join(checks.scratch, "coq"), 0o755))
		bad := ""
		checks.provedChecker(context.Background(), func(_ string, f finding) {
			if !f.good() && bad == "" {
				bad = f.found
			}
		})
		if c.bad == "" || c.bad == "1" {
			require.Equal(t, c.bad, bad, name)
		}
		require.Contains(t, bad, c.bad, name)

		checks.manifest.Documents, checks.also = nil, filepath.Join(dir, "documents") // no number is recorded
		bad = ""
		checks.provedChecker(context.Background(), func(_ string, f finding) {
			if !f.good() {
				bad = f.found
			}
		})
		require.Equal(t, strings.Contains(c.bad, "ours"), bad != "", name)
	}
	fake(t, map[string]string{"coqc": "exit 0"})
	checks, err := newChecker(proofs, "", time.Minute)
	require.NoError(t, err)
	defer checks.close()
	asked := 0
	checks.provedChecker(context.Background(), func(_ string, f finding) {
		asked++
		require.True(t, f.missing)
	})
	require.Equal(t, len(checks.manifest.Documents), asked)
	require.NotZero(t, asked)
}

// Changed copies are the same in every run, and of each kind there are some: what ours cannot
// read, what they prove, and what is a picosecond too much, of which coverage proves some.
func TestChanged(t *testing.T) {
	dirs := []string{t.TempDir(), t.TempDir()}
	for _, dir := range dirs {
		require.NoError(t, changed(t.Context(), dir, "../../testdata/certificates/accept", filepath.Join(proofs, "sharing")))
	}
	names, err := filepath.Glob(filepath.Join(dirs[0], "*.json"))
	require.NoError(t, err)
	of := map[string]int{}
	for _, name := range names {
		b, err := os.ReadFile(name)
		require.NoError(t, err)
		again, err := os.ReadFile(filepath.Join(dirs[1], filepath.Base(name)))
		require.NoError(t, err)
		require.Equal(t, b, again)
		_, kind, _ := strings.Cut(strings.TrimSuffix(name[strings.LastIndex(name, "-"):], ".json"), "-")
		of[kind]++
		c, err := native.ReadCertificate(name, bytes.NewReader(b))
		require.Equal(t, kind == "invalid", err != nil, name)
		if err != nil {
			continue
		}
		switch outcome := cert.Check(t.Context(), c).Outcome; kind {
		case "yield":
			require.Equal(t, verify.Proved, outcome, name)
		case "more":
			require.Equal(t, verify.Refuted, outcome, name)
			if byCoverage(t.Context(), c) {
				of["by coverage"]++
			}
		}
	}
	for _, kind := range []string{"invalid", "yield", "more", "any", "by coverage"} {
		require.NotZero(t, of[kind], kind)
	}
	require.Less(t, of["by coverage"], of["more"])
}

// The manifest, the page about the proofs and the files name the same theorems, and no file
// claims anything without a proof.
func TestTheoremsAreNamed(t *testing.T) {
	m, err := readManifest(proofs)
	require.NoError(t, err)
	page, err := os.ReadFile(filepath.Join(proofs, "README.md"))
	require.NoError(t, err)
	files, err := coqFiles(proofs)
	require.NoError(t, err)
	text := map[string]string{}
	for _, file := range files {
		b, err := os.ReadFile(filepath.Join(proofs, "coq", file))
		require.NoError(t, err)
		text[strings.TrimSuffix(file, ".v")] = string(b)
		require.Empty(t, unproved.FindString(string(b)), file)
	}
	there, err := filepath.Glob(filepath.Join(proofs, "coq", "*.v"))
	require.NoError(t, err)
	require.Len(t, files, len(there))
	require.NotEmpty(t, m.Theorems)
	for _, x := range m.Theorems {
		require.Regexp(t, `(?m)^(Theorem|Corollary) `+x.Name+`\b`, text[x.File])
		require.Contains(t, string(page), "| `"+x.File+"."+x.Name+"` | "+x.Claim+" | "+x.Of+" |")
	}
	named := regexp.MustCompile("`([A-Z][A-Za-z]*)\\.([a-z][a-z_0-9]*)`").FindAllStringSubmatch(string(page), -1)
	require.Greater(t, len(named), len(m.Theorems))
	for _, x := range named {
		require.Regexp(t, `(?m)^(Theorem|Corollary|Lemma) `+x[2]+`\b`, text[x[1]], x[0])
	}
}

func TestBadManifests(t *testing.T) {
	fake(t, nil)
	for name, c := range map[string]struct {
		change func(m *manifest)
		say    string
	}{
		"schema":        {func(m *manifest) { m.Schema = "x" }, "want \"oraccl/proofs/1\""},
		"not named":     {func(m *manifest) { m.Obligations = nil }, "is there and not named"},
		"not there":     {func(m *manifest) { m.Obligations = append(m.Obligations, obligation{File: "x.smt2"}) }, "x.smt2: not there"},
		"twice":         {func(m *manifest) { m.Obligations = append(m.Obligations, m.Obligations[0]) }, "named twice"},
		"expects a sat": {func(m *manifest) { m.Obligations[0].Expect = []string{"sat", "sat"} }, "want [sat unsat]"},
		"vacuous":       {func(m *manifest) { m.Obligations[0].Expect = []string{"unsat", "unsat"} }, "want [sat unsat]"},
		"no claim":      {func(m *manifest) { m.Obligations[0].Claim = "" }, "no claim"},
		"no rounds":     {func(m *manifest) { m.Refutations[0].Rounds-- }, "want 2 rounds"},
		"no ranks":      {func(m *manifest) { m.Refutations[0].Ranks = 1 }, "1 ranks"},
		"nothing":       {func(m *manifest) { m.Refutations = nil }, "0 refutations"},
	} {
		var out, errs bytes.Buffer
		require.Equal(t, 2, run(context.Background(), []string{small(t, c.change)}, &out, &errs), name)
		require.Contains(t, errs.String(), c.say, name)
	}
	var out, errs bytes.Buffer
	for _, args := range [][]string{{"-without", "z4"}, {"-time-limit", "0s"}, {"a", "b"}, {filepath.Join(t.TempDir(), "none")}} {
		require.Equal(t, 2, run(context.Background(), args, &out, &errs), "%v", args)
	}
	require.NotContains(t, errs.String(), "goroutine")
}

// Each file of an obligation has its claim in words first, the assumptions, a query, the
// claim denied in one assertion, and another query; nothing that could take an
// assumption back or change what the answers mean.
func TestObligations(t *testing.T) {
	m, err := readManifest(proofs)
	require.NoError(t, err)
	failing := 0
	for _, o := range m.Obligations {
		text, err := os.ReadFile(filepath.Join(proofs, o.File))
		require.NoError(t, err)
		s := string(text)
		require.True(t, strings.HasPrefix(s, "; "), o.File)
		words := strings.Join(strings.Fields(strings.ReplaceAll(strings.ReplaceAll(s, "\n; ", " "), "\n;", " ")), " ")
		require.Contains(t, words, strings.TrimSuffix(o.Claim, "."), o.File)
		require.Contains(t, words, "Models "+o.Models, o.File)
		parts := strings.Split(s, "(check-sat)\n")
		require.Len(t, parts, 3, o.File)
		require.Empty(t, parts[2], o.File)
		require.Equal(t, 1, strings.Count(parts[1], "(assert "), o.File)
		require.Contains(t, parts[1], "(assert (not ", o.File)
		require.Contains(t, parts[0], "(assert ", o.File)
		for _, no := range []string{"(push", "(pop", "(reset", "set-option", "set-info", "forall", "exists", "(exit"} {
			require.NotContains(t, s, no, o.File)
		}
		if o.Fails {
			failing++
		}
	}
	require.Equal(t, 1, failing)
}

// The refutations that are kept are of what the manifest says and are accepted; with a
// line changed they are not.
func TestKept(t *testing.T) {
	c, err := newChecker(proofs, "", time.Minute)
	require.NoError(t, err)
	defer c.close()
	kept := 0
	for _, r := range c.manifest.Refutations {
		if r.File == "" {
			continue
		}
		kept++
		certificate, dir, err := c.certificate(context.Background(), r)
		require.NoError(t, err)
		require.Equal(t, verify.Proved, cert.CheckIn(context.Background(), certificate, os.DirFS(dir)).Outcome)
		w := certificate.Witness.(model.Refutation)
		b, err := os.ReadFile(filepath.Join(dir, w.Proof))
		require.NoError(t, err)
		bad := t.TempDir()
		require.NoError(t, os.WriteFile(filepath.Join(bad, w.Proof), b[:len(b)/2], 0o644))
		require.Equal(t, verify.Refuted, cert.CheckIn(context.Background(), certificate, os.DirFS(bad)).Outcome)
	}
	require.GreaterOrEqual(t, kept, 3)
}
