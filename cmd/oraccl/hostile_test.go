package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// What a hostile input may take of a program that reads it: of processor time, of wall time
// on a machine that has other work, and of memory at any time.
const (
	hostileTime   = 20 * time.Second
	hostileWall   = 90 * time.Second
	hostileMemory = 1 << 30
)

// hostileInput is a line of testdata/hostile/index.tsv.
type hostileInput struct {
	name          string // a file or a directory; below large/: what large.sh makes
	check, verify string // exit statuses of oraccl-check and of oraccl verify, - for not tried
	what          string
}

func hostileInputs(t *testing.T, dir string) []hostileInput {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, "index.tsv"))
	require.NoError(t, err)
	lines := strings.Split(strings.TrimSuffix(string(b), "\n"), "\n")
	require.Equal(t, "name\toraccl-check\toraccl verify\twhat", lines[0])
	var all []hostileInput
	for _, line := range lines[1:] {
		f := strings.Split(line, "\t")
		require.Len(t, f, 4, line)
		all = append(all, hostileInput{f[0], f[1], f[2], f[3]})
	}
	return all
}

// outcome is how a program ended.
type outcome struct {
	status int
	cpu    time.Duration
	memory int64 // the most that it had, bytes
	out    []byte
}

// measured runs a program and returns what it took.
func measured(t *testing.T, program string, args ...string) outcome {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), hostileWall)
	defer cancel()
	self, err := os.Executable()
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "usage.json")
	cmd := exec.CommandContext(ctx, self, append([]string{measuring, file, program}, args...)...)
	out, err := cmd.CombinedOutput()
	require.NoError(t, ctx.Err(), "%q takes more than %v", cmd.Args, hostileWall)
	require.NoError(t, err, "%q: %s", cmd.Args, firstLines(out))
	b, err := os.ReadFile(file)
	require.NoError(t, err)
	var u took
	require.NoError(t, json.Unmarshal(b, &u))
	return outcome{u.Status, u.CPU, u.Memory, out}
}

// took is what a program took.
type took struct {
	Status int
	CPU    time.Duration
	Memory int64
}

// measuring is the argument with which the test's own program runs another one and writes what that took to a file. A process
// counts the memory of the one that it was started from as its own until it runs another program; that of all tests is large.
const measuring = "measuring"

// measure runs a program, writes its usage to a file, and returns 0 if it did.
func measure(file string, args []string) int {
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	err := cmd.Run()
	var ended *exec.ExitError
	if err != nil && !errors.As(err, &ended) {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	s := cmd.ProcessState
	b, err := json.Marshal(took{s.ExitCode(), s.UserTime() + s.SystemTime(), s.SysUsage().(*syscall.Rusage).Maxrss << 10})
	if err == nil {
		err = os.WriteFile(file, b, 0o600)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// TestHostile runs oraccl-check and oraccl verify on every hostile input: each ends with the
// status of the index, within limits of time and memory, and what is in a file writes no
// line of a report and tells the terminal nothing. With -v a table of what each took is printed.
func TestHostile(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("left out with -short: it takes a minute")
	}
	dir, err := filepath.Abs(filepath.Join("..", "..", "testdata", "hostile"))
	require.NoError(t, err)
	oraccl, err := binary()
	require.NoError(t, err)
	check := filepath.Join(t.TempDir(), "oraccl-check")
	build := exec.Command("go", "build", "-o", check, "github.com/oraccl/oraccl/cmd/oraccl-check")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	text, err := build.CombinedOutput()
	require.NoError(t, err, "%s", text)
	large := filepath.Join(t.TempDir(), "large")
	text, err = exec.Command("sh", filepath.Join(dir, "large.sh"), large).CombinedOutput()
	require.NoError(t, err, "%s", text)

	all := hostileInputs(t, dir)
	var named, found []string
	for _, x := range all {
		named = append(named, strings.SplitN(x.name, "/", 2)[0])
	}
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, e := range entries {
		if n := e.Name(); n != "index.tsv" && n != "large.sh" && filepath.Ext(n) != ".lrat" {
			require.Contains(t, named, n, "is not in index.tsv")
			found = append(found, n)
		}
	}
	require.Greater(t, len(found), 60)
	t.Logf("%-28s %-14s %6s %9s %9s  %s", "input", "program", "status", "cpu", "memory", "what")
	for _, x := range all {
		file, isLarge := strings.CutPrefix(x.name, "large/")
		if isLarge {
			name, err := strconv.Unquote(`"` + file + `"`)
			require.NoError(t, err, x.name)
			file = filepath.Join(large, name)
		} else {
			file = filepath.Join(dir, file)
		}
		for _, p := range []struct {
			want string
			args []string
		}{{x.check, []string{check}}, {x.verify, []string{oraccl, "verify"}}} {
			if p.want == "-" {
				continue
			}
			o := measured(t, p.args[0], append(p.args[1:], file)...)
			program := strings.TrimSpace(filepath.Base(p.args[0]) + " " + strings.Join(p.args[1:], " "))
			t.Logf("%-28s %-14s %6d %8.2fs %6d MB  %s", x.name, program, o.status, o.cpu.Seconds(), o.memory>>20, x.what)
			if want, err := strconv.Atoi(p.want); err != nil || o.status != want {
				t.Errorf("%s %s: exit status %d, want %s: %s", program, x.name, o.status, p.want, firstLines(o.out))
			}
			if o.cpu > hostileTime {
				t.Errorf("%s %s takes %v, want at most %v", program, x.name, o.cpu, hostileTime)
			}
			if o.memory > hostileMemory {
				t.Errorf("%s %s needs %d MB, want at most %d", program, x.name, o.memory>>20, hostileMemory>>20)
			}
			require.NotContains(t, string(o.out), "\x1b", "%s %s", program, x.name)
			require.NotContains(t, string(o.out), "\nPROVED optimal", "%s %s", program, x.name)
			require.NotContains(t, string(o.out), "\nproved optimal", "%s %s", program, x.name)
			require.NotContains(t, string(o.out), "goroutine ", "%s %s", program, x.name)
		}
	}
	require.True(t, slices.ContainsFunc(all, func(x hostileInput) bool { return strings.HasPrefix(x.name, "large/") }))
}

func firstLines(b []byte) string {
	return string(b[:min(len(b), 400)])
}
