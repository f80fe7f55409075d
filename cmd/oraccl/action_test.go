package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestAction: the action annotates what is wrong below a directory, and its status is that of the
// worst file.
func TestAction(t *testing.T) {
	script, err := filepath.Abs("../../.github/actions/verify/verify.sh")
	require.NoError(t, err)
	read := func(name string) string {
		b, err := os.ReadFile(filepath.Join("../..", name))
		require.NoError(t, err)
		return string(b)
	}
	right, wrong := read("testdata/schedules/accept/ring4-allgather-rounds.json"), read("testdata/schedules/reject/ring4-allreduce-pipelined/transfer-0-again-at-the-end.json")
	exchange, deadlock := read("cmd/oraccl-site/example/exchange.xml"), read("cmd/oraccl-site/example/deadlock.xml")
	for name, c := range map[string]struct {
		files  map[string]string
		json   string
		status int
		want   []string
	}{
		"right":      {map[string]string{"a.xml": exchange, "s.json": right}, "*.json", 0, []string{"PROVED performs allgather"}},
		"wrong line": {map[string]string{"b/a.xml": exchange, "b/d.xml": deadlock}, "", 1, []string{"::error file=b/d.xml,line=4,title=deadlock::"}},
		"wrong file": {map[string]string{"a 1,2.json": wrong, "a.xml": exchange}, "a*.json", 1, []string{"::error file=a 1%2C2.json::REFUTED performs allreduce", "%0Adouble-contribution: "}},
		"unreadable": {map[string]string{"a.json": "{", "d.xml": deadlock}, "*.json x*", 2, []string{"::error file=a.json::", "title=deadlock"}},
		"nothing":    {map[string]string{"a.json": right}, "", 2, []string{"::error::no schedules below ."}},
	} {
		dir := t.TempDir()
		for file, text := range c.files {
			require.NoError(t, os.MkdirAll(filepath.Join(dir, filepath.Dir(file)), 0o755))
			require.NoError(t, os.WriteFile(filepath.Join(dir, file), []byte(text), 0o644))
		}
		run := exec.Command("sh", script)
		run.Dir = dir
		run.Env = append(os.Environ(), "DIRECTORY=.", "JSON="+c.json)
		out, err := run.CombinedOutput()
		var ended *exec.ExitError
		require.True(t, err == nil || errors.As(err, &ended), "%s: %v", name, err)
		require.Equal(t, c.status, run.ProcessState.ExitCode(), "%s: %s", name, out)
		for _, text := range c.want {
			require.Contains(t, strings.ReplaceAll(string(out), "./", ""), text, name)
		}
	}
}
