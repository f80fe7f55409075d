package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestNamesStayOnTheirLine: a name of a file with a line break and an escape sequence writes
// no line of any verb's output, and tells the terminal nothing, whether the file is read,
// written or missing.
func TestNamesStayOnTheirLine(t *testing.T) {
	t.Chdir(t.TempDir())
	t.Setenv("ORACCL_PROGRESS", "lines")
	const evil = "a\nPROVED optimal\x1b[31m[x"
	call := func(args ...string) {
		t.Helper()
		var stdout, stderr bytes.Buffer
		run(args, &stdout, &stderr)
		out := stdout.String() + stderr.String()
		require.NotContains(t, out, "\x1b", "%q", args)
		for _, line := range strings.Split(out, "\n") {
			require.False(t, strings.HasPrefix(line, "PROVED optimal"), "%q: %s", args, out)
		}
	}
	var stdout, stderr bytes.Buffer
	require.Zero(t, run([]string{"topo", "show", "ring:3", "--json"}, &stdout, &stderr))
	network, schedule := evil+".json", "s"+evil+".json"
	require.NoError(t, os.WriteFile(network, stdout.Bytes(), 0o644))
	problem := []string{"--collective", "allgather", "--size", "3KiB"}
	for _, verb := range [][]string{{"topo", "show"}, {"topo", "lint"}} {
		call(append(verb, network)...)
		call(append(verb, "no"+network)...)
	}
	call(append([]string{"bound", network, "-o", "b" + evil}, problem...)...)
	call(append([]string{"throughput", network, "-o", "t" + evil}, problem...)...)
	call(append([]string{"gap", network, "--methods", "ring", "--proofs", "d" + evil, "--plot", "p" + evil + ".svg"}, problem...)...)
	call(append([]string{"solve", network, "--method", "ring", "-o", schedule}, problem...)...)
	call(append([]string{"solve", network, "--method", "ring", "-o", evil + ".oraccl"}, problem...)...)
	call(append([]string{"solve", network, "--method", "ring", "-o", evil + ".xml"}, problem...)...)
	for _, out := range []string{"b" + evil, "t" + evil, "d" + evil, "p" + evil + ".svg", schedule, evil + ".oraccl", evil + ".xml"} {
		_, err := os.Stat(out)
		require.NoError(t, err, "%q", out)
	}
	for _, file := range []string{schedule, evil + ".oraccl", evil + ".xml", network, "no" + schedule} {
		call("verify", file)
		call("verify", file, schedule)
		call("check", file)
		call("view", file, "-o", evil+".svg", "--no-bound")
		call("view", file, "-o", evil+".json.json")
		for _, format := range []string{"oraccl", "goal", "chakra", "msccl"} {
			call("convert", file, "--to", format, "-o", "c"+evil)
		}
	}
	call("verify", evil+".xml", "--format", "github", "--warnings", "all")
	call("verify", evil+".xml", "--format", "sarif")
	call("check", "d"+evil)
	call("check", filepath.Join("d"+evil, "none"))
	call("verify", schedule, "--problem", evil+".xml")
	call("verify", schedule, "--emit-smt2", "e"+evil)
	call("bound", "ring:3", "--collective", network)
	call("repro", evil+".yaml")
	call("sweep", evil+".yaml", "--dir", "sweep"+evil)
	call("sweep", "--topologies", network, "--collectives", "allgather", "--sizes", "3KiB", "--methods", "ring", "--dir", "sweep"+evil, "--list")
}
