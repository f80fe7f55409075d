package slurm

import (
	"os"
	"os/exec"
	"path/filepath"
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

func TestRanges(t *testing.T) {
	for want, tasks := range map[string][]int{"0": {0}, "0-4": All(5), "1,3-5,7-8": {1, 3, 4, 5, 7, 8}, "2,9": {2, 9}} {
		require.Equal(t, want, ranges(tasks))
	}
}

func TestScript(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "50% 'odd' $dir")
	s := &Script{Name: "some", About: "3 things", Args: []string{"verb", List, Part, "it's", "--cpus", CPUs, "list"}, Tasks: []int{0, 1, 4}, Of: 5, List: "list", Text: []byte("a\n")}
	j, err := newJob(dir, s, "/o p/oraccl", "/w d")
	require.NoError(t, err)
	b, err := os.ReadFile(j.File("job.sh"))
	require.NoError(t, err)
	text := string(b)
	require.Contains(t, text, "\n#SBATCH --array=0-1,4\n")
	require.Contains(t, text, "\n#SBATCH --chdir=\"/w d\"\n")
	require.Contains(t, text, "/50%% 'odd' $dir/slurm/1/task-%a.out\"\n")
	b, err = os.ReadFile(j.File("list"))
	require.NoError(t, err)
	require.Equal(t, "a\n", string(b))

	// What a shell makes of it: the program with the right words.
	bin := t.TempDir()
	require.NoError(t, os.WriteFile(bin+"/oraccl", []byte("#!/bin/sh\nprintf '%s|' \"$@\"\n"), 0o755))
	require.NoError(t, os.WriteFile(j.File("job.sh"), []byte(strings.ReplaceAll(text, "/o p/", bin+"/")), 0o644))
	cmd := exec.Command("sh", j.File("job.sh"))
	cmd.Env = []string{"SLURM_ARRAY_TASK_ID=1", "SLURM_CPUS_PER_TASK=4", "PATH=" + os.Getenv("PATH")}
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Equal(t, "verb|"+j.File("list")+"|1/5|it's|--cpus|4|list|", string(out))

	again, err := newJob(dir, s, "/bin/oraccl", "/work")
	require.NoError(t, err)
	require.NotEqual(t, j.Dir, again.Dir)
	jobs, err := Jobs(t.Context(), dir)
	require.NoError(t, err)
	require.Empty(t, jobs, "none is submitted")

	for _, bad := range []string{"/a\nb", `/a"b`, `/a\b`} {
		_, err := newJob(dir, s, bad, "/w")
		require.ErrorContains(t, err, "a script for sbatch cannot name it")
	}
}
