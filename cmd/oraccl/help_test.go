package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/cmd/oraccl/convert"
	"github.com/oraccl/oraccl/cmd/oraccl/exit"
	"github.com/oraccl/oraccl/cmd/oraccl/foreign"
	"github.com/oraccl/oraccl/cmd/oraccl/manual"
	"github.com/oraccl/oraccl/model/format/forestcoll"
	"github.com/oraccl/oraccl/model/format/sccl"
	"github.com/oraccl/oraccl/model/format/teccl"
	"github.com/oraccl/oraccl/solve/certify"
)

// said runs one command line and returns its output, its errors and its exit status.
func said(line string) (stdout, stderr string, status int) {
	var out, errs bytes.Buffer
	status = run(strings.Fields(line)[1:], &out, &errs)
	return out.String(), errs.String(), status
}

func TestHelp(t *testing.T) {
	root, _, status := said("oraccl help")
	require.Zero(t, status)
	for _, topic := range manualTopics() {
		require.Contains(t, root, "\n  "+topic.Name+" ")
		text, _, status := said("oraccl help " + topic.Name)
		require.Zero(t, status)
		require.NotEmpty(t, text)
		for _, way := range []string{"oraccl " + topic.Name, "oraccl " + topic.Name + " --help"} {
			same, _, status := said(way)
			require.Zero(t, status)
			require.Equal(t, text, same, way)
		}
		for _, p := range topic.Parts() {
			text, _, status := said("oraccl help " + topic.Name + " " + p.Name)
			require.Zero(t, status)
			require.NotEmpty(t, text)
		}
	}
	gap, _, status := said("oraccl gap --help")
	require.Zero(t, status)
	same, _, status := said("oraccl help gap")
	require.Zero(t, status)
	require.Equal(t, gap, same)
	explained, _, _ := said("oraccl explain deadlock")
	same, _, _ = said("oraccl help violations deadlock")
	require.Equal(t, explained, same)
}

func TestHelpOfWhatIsNot(t *testing.T) {
	for line, want := range map[string]string{
		"oraccl help bouns":               `help: verb or topic "bouns" does not exist; there are .*methods.* hint: did you mean bound or bounds\?`,
		"oraccl help violations deadlok":  `help violations: code "deadlok" does not exist; .* hint: did you mean deadlock\?`,
		"oraccl violations deadlok":       `code "deadlok" does not exist; .* hint: did you mean deadlock\?`,
		"oraccl help topo lst":            `help topo: verb "lst" does not exist; there are fit, join, lint, list, show .*hint: did you mean fit or lint or list\?`,
		"oraccl help gap everything":      `help gap: has no parts, such as "everything"`,
		"oraccl help units parsec":        `help units: has no parts, such as "parsec"`,
		"oraccl help methods zzzzzzzzzzz": `method "zzzzzzzzzzz" does not exist; there are .*tacos\n$`,
	} {
		_, errs, status := said(line)
		require.Equal(t, exit.Failure, status, line)
		require.Regexp(t, "(?s)"+want, strings.ReplaceAll(errs, "\noraccl: hint", " hint"), line)
	}
}

// Every method is documented, and the README's table is that of the methods.
func TestMethodsAreDocumented(t *testing.T) {
	methods := documented()
	var names []string
	for _, m := range methods {
		names = append(names, m.Name)
		require.NotEmpty(t, m.Serves, m.Name)
		require.NotEmpty(t, m.Guarantee, m.Name)
		require.NotEmpty(t, m.Source, m.Name)
		require.NotContains(t, m.Serves+m.Guarantee+m.Source, "\n")
	}
	for _, m := range certify.Methods() {
		require.Contains(t, names, m.Name())
	}
	require.Len(t, names, len(certify.Methods()))

	b, err := os.ReadFile("../../README.md")
	require.NoError(t, err)
	table := regexp.MustCompile(`(?m)^\| method \| serves \|.*\n(\|.*\n)+`)
	want := manual.Markdown([]manual.Block{manual.MethodTable(methods)})
	if os.Getenv("UPDATE") != "" {
		b = table.ReplaceAllLiteral(b, []byte(want))
		require.NoError(t, os.WriteFile("../../README.md", b, 0o644))
	}
	require.Equal(t, want, string(table.Find(b)), "UPDATE=1 writes the table of methods into the README")
}

// What the code can list of formats is in the table.
func TestFormatsAreDocumented(t *testing.T) {
	all := ""
	for _, f := range manual.Formats() {
		all += " " + f.Name + " " + f.Writes
		require.NotEmpty(t, f.Says, f.Name)
		require.NotEmpty(t, f.Reads+f.Writes, f.Name)
	}
	for _, target := range convert.Targets() {
		require.Contains(t, all, "convert --to "+target.Name)
	}
	for _, tool := range []string{sccl.Tool, teccl.Tool, forestcoll.Tool} {
		require.Contains(t, all, " "+tool+" ")
		require.Contains(t, foreign.Tools(), tool)
	}
	flags := newVerify().Flags()
	for _, form := range []string{"sarif", "github"} {
		require.Contains(t, flags.Lookup("format").Usage, form)
		require.Contains(t, all, "verify --format "+form)
	}
	_, errs, status := said("oraccl view a.json -o a.none")
	require.Equal(t, exit.Failure, status)
	kinds := regexp.MustCompile(`\.(\w+)(?:,| or|$)`).FindAllStringSubmatch(strings.TrimSpace(errs), -1)
	require.GreaterOrEqual(t, len(kinds), 3, errs)
	for _, kind := range kinds {
		require.Contains(t, all, "view -o FILE."+kind[1])
	}
	// The flags that the table names exist.
	for _, f := range manual.Formats() {
		for _, words := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(f.Reads+f.Writes, -1) {
			requireFlags(t, "oraccl "+words[1])
		}
	}
}

// The engines that --engine takes, and those of verdicts, are documented.
func TestEnginesAreDocumented(t *testing.T) {
	var names []string
	for _, e := range manual.Engines {
		names = append(names, e[0])
	}
	_, err := enginesNamed("none")
	require.Error(t, err)
	for _, word := range regexp.MustCompile(`\w+`).FindAllString(strings.TrimPrefix(err.Error(), `--engine "none": want `), -1) {
		require.True(t, word == "or" || word == "all" || slices.Contains(names, word), word)
	}
	require.Subset(t, names, certify.Engines)
}

// requireFlags reports whether a command line, without its operands, has a verb and flags of it.
func requireFlags(t *testing.T, line string) {
	words := strings.Fields(line)[1:]
	if words[0] == "oraccl-check" {
		return
	}
	cmd, _, err := newRoot().Find(words)
	require.NoError(t, err, line)
	require.True(t, cmd.HasParent(), line)
	for _, w := range words {
		switch {
		case strings.HasPrefix(w, "--"):
			require.NotNil(t, cmd.Flags().Lookup(w[2:]), line)
		case strings.HasPrefix(w, "-"):
			require.NotNil(t, cmd.Flags().ShorthandLookup(w[1:]), line)
		}
	}
}

// Every variable that the repository reads is documented, except for those of tests alone, and
// none that it does not read.
func TestEnvironmentIsDocumented(t *testing.T) {
	var documented []string
	for _, v := range manual.Environment() {
		documented = append(documented, v.Name)
	}
	read, byTests := map[string]bool{}, map[string]bool{}
	for _, dir := range []string{"cmd", "model", "solve", "verify", "proofs", "Makefile"} {
		require.NoError(t, filepath.WalkDir("../../"+dir, func(path string, d os.DirEntry, err error) error {
			if err != nil || d.IsDir() || filepath.Base(filepath.Dir(path)) == "manual" {
				return err
			}
			if ext := filepath.Ext(path); !slices.Contains([]string{".go", ".sh", ""}, ext) {
				return nil
			}
			b, err := os.ReadFile(path)
			for _, m := range regexp.MustCompile(`(?:[Ee]nv\("|\$\{?)((?:ORACCL_|CHROME)[A-Z_]+)`).FindAllSubmatch(b, -1) {
				if strings.HasSuffix(path, "_test.go") {
					byTests[string(m[1])] = true
				} else {
					read[string(m[1])] = true
				}
			}
			return err
		}))
	}
	require.Contains(t, read, "ORACCL_CADICAL")
	for name := range read {
		require.Contains(t, documented, name)
	}
	for _, name := range documented {
		require.True(t, read[name] || byTests[name] || name == "TMPDIR" || name == "UPDATE", name)
	}
}

// The examples of exit statuses end with them.
func TestExitStatuses(t *testing.T) {
	t.Chdir(t.TempDir())
	_, errs, status := said("oraccl solve ring:4 --collective allgather --method ring -o ag.json")
	require.Zero(t, status, errs)
	statuses := manual.Statuses()
	require.Len(t, statuses, 4)
	for i, s := range statuses {
		require.Equal(t, []int{exit.Done, exit.Refuted, exit.Failure, exit.Unknown}[i], s.Code)
		_, _, status := said(s.Example)
		require.Equal(t, s.Code, status, s.Example)
	}
}
