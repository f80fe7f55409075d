package main

import (
	"errors"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/cmd/oraccl/exit"
	"github.com/oraccl/oraccl/cmd/oraccl/manual"
	"github.com/oraccl/oraccl/cmd/oraccl/usage"
)

// verbsBelow returns cmd and what is below it, in the order of the help, without the topics
// of the manual.
func verbsBelow(cmd *cobra.Command) []*cobra.Command {
	var all []*cobra.Command
	for _, c := range cmd.Commands() {
		if c.GroupID != usage.Topics && (c.IsAvailableCommand() || c.Name() == "help") {
			all = append(append(all, c), verbsBelow(c)...)
		}
	}
	return all
}

// notShown are the examples whose output is not in the manual: it is long, is another part of
// the manual, or differs from machine to machine.
var notShown = regexp.MustCompile(`^oraccl help|^oraccl version|--json$|^oraccl explain$|^oraccl topo list$|^oraccl sweep cells`)

// shownLines is how many lines of an example's output the manual has.
const shownLines = 16

// executed runs the lines of an example, one after the other, in a directory of their own.
// Lines of oraccl may say that something is refuted; nothing may fail.
func executed(t *testing.T, cmd *cobra.Command) []manual.Run {
	dir := t.TempDir()
	var runs []manual.Run
	for _, line := range strings.Split(cmd.Example, "\n") {
		command, ok := strings.CutPrefix(line, "  ")
		require.True(t, ok && strings.TrimSpace(command) == command, "%s: example %q: want two spaces and a command", cmd.CommandPath(), line)
		sh := exec.Command("sh", "-c", command)
		sh.Dir = dir
		out, err := sh.CombinedOutput()
		var ended *exec.ExitError
		if err != nil && !(errors.As(err, &ended) && ended.ExitCode() == exit.Refuted && strings.Contains(string(out), "REFUTED ")) {
			require.NoError(t, err, "%s: $ %s\n%s", cmd.CommandPath(), command, out)
		}
		run := manual.Run{Line: command}
		if !notShown.MatchString(command) {
			lines := strings.SplitAfter(string(out), "\n")
			if len(lines) > shownLines+1 {
				lines = append(lines[:shownLines], "...\n")
			}
			run.Output = strings.Join(lines, "")
		}
		runs = append(runs, run)
	}
	return runs
}

// sameLines returns a text in which lines that differ from one of the old text in the times
// taken alone are as they were, so that a change shows what has changed.
func sameLines(old, text string) string {
	was := map[string]string{}
	for _, line := range strings.Split(old, "\n") {
		was[normal(line)] = line
	}
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if before, ok := was[normal(line)]; ok && regexp.MustCompile(`TIME|solved in`).MatchString(normal(line)) {
			lines[i] = before
		}
	}
	return strings.Join(lines, "\n")
}

// TestManual executes every line of every command's example, and compares MANUAL.md with
// what the program says. With UPDATE=1 it writes MANUAL.md.
func TestManual(t *testing.T) {
	root := newRoot()
	root.InitDefaultHelpCmd()
	var shown []manual.Verb
	begin := time.Now()
	for _, cmd := range verbsBelow(root) {
		require.NotEmpty(t, cmd.Example, "%s has no example", cmd.CommandPath())
		require.Regexp(t, `(?m)^  `+regexp.QuoteMeta(cmd.CommandPath())+`( |$)`, cmd.Example, "no line of the example of %s calls it", cmd.CommandPath())
		require.NotEmpty(t, cmd.Short, cmd.CommandPath())
		require.NotRegexp(t, `\.$`, cmd.Short, cmd.CommandPath())
		cmd.InitDefaultHelpFlag()
		started := time.Now()
		shown = append(shown, manual.Verb{
			Path: cmd.CommandPath(), Short: cmd.Short, Long: cmd.Long, Usage: cmd.UseLine(), Flags: cmd.LocalFlags().FlagUsages(), Examples: executed(t, cmd),
		})
		t.Logf("%s: %v", cmd.CommandPath(), time.Since(started).Round(time.Millisecond))
	}
	t.Logf("in all %v", time.Since(begin).Round(time.Millisecond))
	for _, name := range []string{"oraccl gap", "oraccl topo show", "oraccl help"} {
		require.True(t, slices.ContainsFunc(shown, func(v manual.Verb) bool { return v.Path == name }), name)
	}
	document, err := manual.Book(shown, manualTopics())
	require.NoError(t, err)
	for _, link := range regexp.MustCompile(`\]\(([^)]+)\)`).FindAllStringSubmatch(document, -1) {
		if heading, here := strings.CutPrefix(link[1], "#"); here {
			require.Contains(t, document, "\n### "+strings.ReplaceAll(heading, "-", " ")+"\n", link[0])
			continue
		}
		_, err := os.Stat(link[1])
		require.NoError(t, err, link[0])
	}
	if os.Getenv("UPDATE") != "" {
		old, _ := os.ReadFile("MANUAL.md")
		require.NoError(t, os.WriteFile("MANUAL.md", []byte(sameLines(string(old), document)), 0o644))
	}
	b, err := os.ReadFile("MANUAL.md")
	require.NoError(t, err)
	require.Equal(t, normal(string(b)), normal(document), "UPDATE=1 writes MANUAL.md")
}
