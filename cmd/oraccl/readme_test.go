package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// normal makes outputs of two runs comparable: times taken and padding differ.
func normal(s string) string {
	s = regexp.MustCompile(`(?m)\d+ ms|\d+\.\d s|\d+ MiB$`).ReplaceAllString(s, "TIME")
	s = regexp.MustCompile(`LRAT, [0-9.]+ k?M?B`).ReplaceAllString(s, "LRAT, SIZE") // as the SAT solver likes
	return strings.TrimSpace(regexp.MustCompile(` +`).ReplaceAllString(s, " "))
}

// TestReadme executes every command of the README's console blocks, in one
// directory, and compares what it prints. With UPDATE=1 it writes the outputs into
// the README.
func TestReadme(t *testing.T) {
	t.Parallel()
	root, err := filepath.Abs("../..")
	require.NoError(t, err)
	b, err := os.ReadFile(root + "/README.md")
	require.NoError(t, err)
	bin, dir := t.TempDir(), t.TempDir()
	for _, name := range []string{"oraccl", "oraccl-check"} {
		out, err := exec.Command("go", "build", "-o", filepath.Join(bin, name), "../"+name).CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
	commands := 0
	block := regexp.MustCompile("(?s)```console\n(.*?)```")
	after := block.ReplaceAllStringFunc(string(b), func(text string) string {
		text = strings.TrimSuffix(strings.TrimPrefix(text, "```console\n"), "```")
		fresh := ""
		for _, part := range strings.Split("\n"+text, "\n$ ")[1:] {
			command, want, _ := strings.Cut(part, "\n")
			cmd := exec.Command("sh", "-c", command)
			cmd.Dir = dir
			cmd.Env = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"))
			got, _ := cmd.CombinedOutput() // some commands are meant to fail; what they print tells
			commands++
			if os.Getenv("UPDATE") == "" {
				require.Equal(t, normal(want), normal(string(got)), "$ %s", command)
			}
			fresh += "$ " + command + "\n" + string(got)
		}
		return "```console\n" + fresh + "```"
	})
	require.GreaterOrEqual(t, commands, 6)
	if os.Getenv("UPDATE") != "" {
		require.NoError(t, os.WriteFile(root+"/README.md", []byte(after), 0o644))
	}
	// The commands of the sh blocks set up a machine and run these tests: here it is
	// enough that make knows them and what the demo ends with.
	for _, line := range regexp.MustCompile("(?s)```sh\n(.*?)```").FindAllStringSubmatch(string(b), -1) {
		for _, command := range strings.Fields(strings.ReplaceAll(line[1], "make ", "")) {
			cmd := exec.Command("make", "-n", command)
			cmd.Dir = root
			out, err := cmd.CombinedOutput()
			require.NoError(t, err, "make -n %s: %s", command, out)
			if command == "demo" {
				require.Contains(t, string(out), "gap dgx1 --collective allreduce --size 8MiB")
			}
		}
	}
}
