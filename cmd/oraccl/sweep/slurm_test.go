package sweep

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestArguments(t *testing.T) {
	for in, want := range map[string][]string{
		"":                          nil,
		"  ":                        nil,
		"-p x":                      {"-p", "x"},
		" --a=b\t--c ":              {"--a=b", "--c"},
		`--comment="a  b" -n1`:      {"--comment=a  b", "-n1"},
		`'' "" x`:                   {"", "", "x"},
		`'say "x"' "it's"`:          {`say "x"`, "it's"},
		`--constraint='[a|b]'--x`:   {"--constraint=[a|b]--x"},
		"--exclude=n[1-3],n9\n-N 2": {"--exclude=n[1-3],n9", "-N", "2"},
	} {
		got, err := Arguments(in)
		require.NoError(t, err, in)
		require.Equal(t, want, got, in)
	}
	for _, in := range []string{`"`, `a'b`, `"a' b`} {
		_, err := Arguments(in)
		require.Error(t, err, in)
	}
}

// The parts of a job are all its cells, each once.
func TestParts(t *testing.T) {
	s, cells := open(t, t.TempDir()), someCells(23)
	j, err := s.WriteJob(cells, 5, "/bin/oraccl", "/work")
	require.NoError(t, err)
	read, err := ReadCells(t.Context(), j.File("cells.jsonl"))
	require.NoError(t, err)
	require.Equal(t, j.Cells, read)
	var all []Cell
	for i := range 5 {
		part := Part(read, i, 5)
		require.InDelta(t, 23.0/5, len(part), 1)
		all = append(all, part...)
	}
	slices.SortFunc(all, func(a, b Cell) int { return int(a.SizeBytes - b.SizeBytes) })
	require.Equal(t, cells, all)

	again, err := s.WriteJob(cells, 5, "/bin/oraccl", "/work")
	require.NoError(t, err)
	require.NotEqual(t, j.Dir, again.Dir)
	jobs, err := s.Jobs(context.Background())
	require.NoError(t, err)
	require.Empty(t, jobs, "none is submitted")
}

func TestScript(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "50% 'odd' $dir")
	s := open(t, dir)
	j, err := s.WriteJob(someCells(3), 2, "/o p/oraccl", "/w d")
	require.NoError(t, err)
	b, err := os.ReadFile(j.File("job.sh"))
	require.NoError(t, err)
	text := string(b)
	require.Contains(t, text, "\n#SBATCH --array=0-1\n")
	require.Contains(t, text, "\n#SBATCH --chdir=\"/w d\"\n")
	require.Contains(t, text, "/50%% 'odd' $dir/slurm/1/task-%a.out\"\n")

	// What a shell makes of it: the program with the right words.
	bin := t.TempDir()
	require.NoError(t, os.WriteFile(bin+"/oraccl", []byte("#!/bin/sh\nprintf '%s|' \"$@\"\n"), 0o755))
	require.NoError(t, os.WriteFile(j.File("job.sh"), []byte(strings.ReplaceAll(text, "/o p/", bin+"/")), 0o644))
	cmd := exec.Command("sh", j.File("job.sh"))
	cmd.Env = []string{"SLURM_ARRAY_TASK_ID=1", "SLURM_CPUS_PER_TASK=4", "PATH=" + os.Getenv("PATH")}
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Equal(t, "sweep|cells|"+j.File("cells.jsonl")+"|1/2|--dir|"+dir+"|--cpus|4|", string(out))

	for _, bad := range []string{"/a\nb", `/a"b`, `/a\b`} {
		_, err := s.WriteJob(someCells(1), 1, bad, "/w")
		require.ErrorContains(t, err, "a script for sbatch cannot name it")
	}
}

func TestReadCells(t *testing.T) {
	name := filepath.Join(t.TempDir(), "cells.jsonl")
	whole := someCells(2)[0].Text() + "\n"
	for text, want := range map[string]string{
		whole + "{\n": name + ":2: ",
		whole + strings.Replace(whole, `"topology"`, `"topologie"`, 1): name + `:2: json: unknown field "topologie"`,
		strings.Replace(whole, ":", ": ", 1):                           name + ":1: a cell that is not in canonical form",
	} {
		require.NoError(t, os.WriteFile(name, []byte(text), 0o644))
		_, err := ReadCells(t.Context(), name)
		require.ErrorContains(t, err, want)
	}
	_, err := ReadCells(t.Context(), name+"x")
	require.ErrorContains(t, err, "cells.jsonlx: no such file")
}

// The script that asks a real Slurm is one that bash reads.
func TestSlurmTestIsAScript(t *testing.T) {
	out, err := exec.Command("bash", "-n", "slurm-test.sh").CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Empty(t, string(out))
}
