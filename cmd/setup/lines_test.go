package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// mostLines is how many lines the command may have beside its tests. It is thin: flags in,
// library, report. What it would have to decide belongs to a package, and what it would have
// to write to cmd/oraccl/report.
const mostLines = 3500

func TestCommandIsThin(t *testing.T) {
	names, err := filepath.Glob(filepath.Join(root, "cmd/oraccl/*.go"))
	require.NoError(t, err)
	lines, files := 0, 0
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		b, err := os.ReadFile(name)
		require.NoError(t, err)
		lines += bytes.Count(b, []byte("\n"))
		files++
	}
	require.Greater(t, files, 10, "few files: is this the command's directory?")
	require.LessOrEqual(t, lines, mostLines, "cmd/oraccl has %d lines in %d files", lines, files)
}

// What README says of how many lines must be trusted is so, within a twentieth.
func TestTrustedLinesAreCounted(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(root, "README.md"))
	require.NoError(t, err)
	_, row, found := strings.Cut(string(page), "| what is trusted |")
	require.True(t, found)
	row, _, _ = strings.Cut(row, "\n")
	stated := regexp.MustCompile(`some ([0-9 ]+) lines`).FindAllStringSubmatch(row, -1)
	trusted := [][]string{
		{"verify/replay/*.go", "verify/cert/*.go", "verify/hops/*.go", "verify/cnf/*.go", "verify/lrat/*.go"},
		{"model/*.go", "model/native/*.go"},
		{"proofs/checker/*.ml"},
	}
	require.Len(t, stated, len(trusted))
	for i, patterns := range trusted {
		lines := 0
		for _, pattern := range patterns {
			names, err := filepath.Glob(filepath.Join(root, pattern))
			require.NoError(t, err)
			require.NotEmpty(t, names, pattern)
			for _, name := range names {
				if !strings.HasSuffix(name, "_test.go") {
					b, err := os.ReadFile(name)
					require.NoError(t, err)
					lines += bytes.Count(b, []byte("\n"))
				}
			}
		}
		said, err := strconv.Atoi(strings.ReplaceAll(stated[i][1], " ", ""))
		require.NoError(t, err)
		require.InEpsilon(t, lines, said, 0.05, "%v: README states %d lines", patterns, said)
	}
}

// TestCobraIsForTheCommand: only the command, and the package that explains its command line, know
// how command lines are read.
func TestCobraIsForTheCommand(t *testing.T) {
	users := 0
	for _, s := range sources(t) {
		for _, name := range s.imports {
			if !under(name, "github.com/spf13/cobra") {
				continue
			}
			users++
			require.Contains(t, []string{"cmd/oraccl", "cmd/oraccl/usage"}, s.dir, "%s imports %s", s.name, name)
		}
	}
	require.Positive(t, users)
}
