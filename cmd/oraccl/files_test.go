package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/oraccl/oraccl/cmd/oraccl/exit"
	"github.com/oraccl/oraccl/cmd/oraccl/usage"
	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"
)

// reading are the commands with the files that they read, each as "FILE": what comes
// first is the command's path.
var reading = [][]string{
	{"verify", "FILE"},
	{"verify", "FILE", "--engine", "stream"},
	{"verify", "good.json", "--problem", "FILE"},
	{"verify", "sccl.json", "--topology", "FILE"},
	{"verify", "sccl.json", "--collective", "FILE"},
	{"view", "FILE", "-o", "out.html"},
	{"view", "FILE", "-o", "out.svg"},
	{"view", "FILE", "-o", "out.json"},
	{"convert", "FILE", "--to", "oraccl", "-o", "out.oraccl"},
	{"convert", "FILE", "--to", "msccl"},
	{"check", "FILE"},
	{"check", "DIR"},
	{"topo", "FILE"},
	{"topo show", "FILE"},
	{"topo lint", "FILE"},
	{"solve", "FILE", "--collective", "allgather"},
	{"solve", "ring:4", "--collective", "FILE"},
	{"gap", "FILE", "--collective", "allgather"},
	{"bound", "FILE", "--collective", "allgather"},
	{"throughput", "FILE", "--collective", "allgather"},
	{"sweep", "FILE", "--dir", "s"},
	{"sweep", "--topologies", "FILE", "--collectives", "allgather", "--methods", "ring", "--dir", "s"},
	{"sweep", "--topologies", "ring:4", "--collectives", "FILE", "--methods", "ring", "--dir", "s"},
	{"sweep cells", "FILE", "0/1", "--dir", "s"},
	{"repro", "sccl", "--published", "FILE"},
	{"trace", "FILE"},
	{"crossover", "FILE"},
	{"workload hierarchical", "FILE", "--size", "64", "--per-node", "2"},
	{"workload hitopk", "FILE", "--elements", "64", "--keep", "2", "--per-node", "2"},
	{"workload summa", "FILE", "--side", "2", "--x", "8", "--w", "8", "--y", "8"},
	{"workload adasum", "FILE", "--size", "64"},
	{"topo fit", "ring:4", "--measured", "FILE"},
	{"topo join", "FILE", "FILE", "--nic", "50GB/s", "--nic-latency", "1us", "-o", "joined.json"},
	{"gap", "ring:4", "--collective", "allgather", "--schedule", "FILE"},
	{"gap", "ring:4", "--collective", "allgather", "--nccl-log", "FILE"},
	{"gap", "--problem", "FILE"},
}

// readNothing are the commands that read no file of the user's.
var readNothing = []string{"topo list", "explain", "version", "help", "completion", "sweep worker", "sweep merge", "man"}

// TestReadingIsComplete: every command is in one of the two lists.
func TestReadingIsComplete(t *testing.T) {
	listed := map[string]bool{}
	for _, r := range reading {
		listed[r[0]] = true
	}
	for _, name := range readNothing {
		require.False(t, listed[name], name)
		listed[name] = true
	}
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		path := strings.TrimPrefix(c.CommandPath(), "oraccl ")
		if c.HasParent() && c.GroupID != usage.Topics && c.RunE != nil && !listed[path] && !strings.HasPrefix(path, "completion") {
			t.Errorf("%s: want it in the list of commands that read files, or of those that do not", path)
		}
		for _, below := range c.Commands() {
			walk(below)
		}
	}
	walk(newRoot())
}

const scclFile = `{"msccl_type": "algorithm", "name": "x", "instance": {"chunks": 1, "steps": 1, "extra_rounds": 0},
"collective": {"name": "Allgather(n=2)", "nodes": 2, "chunks": []}, "topology": {"name": "Ring(n=2)", "links": [[0,1],[1,0]], "switches": []},
"steps": [{"rounds": 1, "sends": [[0,0,1],[1,1,0]]}]}`

// TestWhatIsNoFile: what is no file, or does not end, is refused at once, by every command that
// reads one, with a name for it.
func TestWhatIsNoFile(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	var out bytes.Buffer
	require.Zero(t, run([]string{"solve", "ring:4", "--collective", "allgather", "--method", "ring", "-o", "good.json"}, &out, &out), &out)
	require.NoError(t, os.WriteFile("sccl.json", []byte(scclFile), 0o600))
	make := map[string]func(name string) error{
		"device": func(name string) error { return os.Symlink("/dev/zero", name) },
		"sparse": func(name string) error {
			if err := os.WriteFile(name, nil, 0o600); err != nil {
				return err
			}
			return os.Truncate(name, 100e9)
		},
		"directory": func(name string) error { return os.Mkdir(name, 0o700) },
	}
	for kind, create := range make {
		for _, ending := range []string{"", ".json", ".oraccl", ".xml"} {
			name := kind + ending
			require.NoError(t, create(name))
			for _, row := range reading {
				args := strings.Fields(row[0])
				var lies string // where the file is
				for _, a := range row[1:] {
					switch a {
					case "FILE":
						a, lies = "./"+name, name
					case "DIR":
						a = filepath.Join("dossier", strings.ReplaceAll(name, ".", "-"))
						lies = filepath.Join(a, "x.json")
						require.NoError(t, os.MkdirAll(a, 0o700))
						require.NoError(t, create(lies))
					}
					args = append(args, a)
				}
				var stdout, stderr bytes.Buffer
				begin := time.Now()
				code := run(args, &stdout, &stderr)
				what := strings.Join(args, " ") + "\n" + stdout.String() + stderr.String()
				require.Equal(t, exit.Failure, code, what)
				require.Less(t, time.Since(begin), 5*time.Second, what)
				require.Contains(t, what, strings.TrimSuffix(lies, "/x.json"))
			}
		}
	}
}

// TestPipes: what a shell makes a file of is one, for every command that reads a schedule or a
// topology, however often it looks.
func TestPipes(t *testing.T) {
	t.Chdir(t.TempDir())
	var out bytes.Buffer
	require.Zero(t, run([]string{"solve", "ring:4", "--collective", "allgather", "--method", "ring", "-o", "good.json"}, &out, &out), &out)
	require.Zero(t, run([]string{"solve", "ring:4", "--collective", "allgather", "--method", "ring", "-o", "good.oraccl"}, &out, &out), &out)
	require.Zero(t, run([]string{"convert", "good.json", "--to", "msccl", "-o", "good.xml"}, &out, &out), &out)
	require.NoError(t, os.WriteFile("sccl.json", []byte(scclFile), 0o600))
	out.Reset()
	require.Zero(t, run([]string{"topo", "show", "ring:4", "--json"}, &out, &out), &out)
	require.NoError(t, os.WriteFile("topo.json", out.Bytes(), 0o600))
	for _, c := range []struct{ file, args string }{
		{"good.json", "verify PIPE"}, {"good.oraccl", "verify PIPE"}, {"good.oraccl", "verify PIPE --engine stream"}, {"good.xml", "verify PIPE"}, {"sccl.json", "verify PIPE"},
		{"good.json", "view PIPE -o out.html"}, {"good.oraccl", "view PIPE -o out.svg"},
		{"good.oraccl", "convert PIPE --to oraccl -o out.oraccl"}, {"good.xml", "convert PIPE --to oraccl -o out.json"}, {"sccl.json", "convert PIPE --to goal"},
		{"good.json", "check PIPE"}, {"topo.json", "topo show PIPE"}, {"topo.json", "bound PIPE --collective allgather"},
	} {
		b, err := os.ReadFile(c.file)
		require.NoError(t, err)
		pipe := "pipe"
		require.NoError(t, syscall.Mkfifo(pipe, 0o600))
		go func() { _ = os.WriteFile(pipe, b, 0o600) }()
		var stdout, stderr bytes.Buffer
		args := strings.Fields(strings.ReplaceAll(c.args, "PIPE", pipe))
		require.Zero(t, run(args, &stdout, &stderr), "%s < %s: %s%s", c.args, c.file, &stdout, &stderr)
		require.NoError(t, os.Remove(pipe))
	}
}
