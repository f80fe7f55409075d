package main

import (
	"bytes"
	"compress/gzip"
	"os"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

// clock are the times that a run takes, which are not those of another.
var clock = regexp.MustCompile(` +[0-9.]+ m?s\b`)

// TestForms: whatever reads a file reads it from standard input, from a pipe, compressed by gzip,
// and, if it is text, with a byte order mark, and answers the same. It walks the verbs: each that
// reads files has a row.
func TestForms(t *testing.T) {
	hosts, err := os.ReadFile("../../testdata/nccl/two-hosts-mixed.log")
	require.NoError(t, err)
	t.Chdir(t.TempDir())
	write := func(name, text string) { require.NoError(t, os.WriteFile(name, []byte(text), 0o600)) }
	made := func(args string) string {
		t.Helper()
		var out, said bytes.Buffer
		require.Zero(t, run(strings.Fields(args), &out, &said), "%s: %s", args, &said)
		return out.String()
	}
	made("solve ring:4 --collective allgather --method ring -o good.json")
	made("solve ring:4 --collective allgather --method ring -o good.oraccl")
	made("convert good.json --to msccl -o good.xml")
	made("convert good.json --to mscclpp -o good.plan.json")
	made("bound ring:4 --collective allgather --write-problem problem.json")
	made("crossover a=7ms/4ms b=5ms/6ms -o turns.json")
	write("sccl.json", scclFile)
	write("topology.json", made("topo show ring:4 --json"))
	write("sizes.csv", "0,8MiB\n8MiB,0\n")
	write("nccl.log", string(hosts))
	write("grid.yaml", "topologies: ring:4\ncollectives: allgather\nsizes: 1MiB\nmethods: ring\n")
	write("times.csv", "src,dst,bytes,seconds\n0,1,1e4,1.71e-6\n1,2,1e5,5.2e-6\n0,2,1e6,4.15e-5\n1,0,1e7,4.013e-4\n")
	made("convert good.json --to chakra -o made")
	require.NoError(t, os.Rename("made.0.et", "made.et")) // its name tells the rank
	rows := []struct{ file, args string }{
		{"good.json", "verify FILE"}, {"good.oraccl", "verify FILE"}, {"good.oraccl", "verify FILE --engine stream"}, {"good.xml", "verify FILE"}, {"good.plan.json", "verify FILE"},
		{"sccl.json", "verify FILE"}, {"turns.json", "verify FILE"}, {"problem.json", "verify good.json --problem FILE"}, {"topology.json", "verify good.xml --topology FILE --collective allgather"},
		{"good.json", "view FILE --no-bound -o out.svg"}, {"good.plan.json", "view FILE -o out.html"},
		{"good.xml", "convert FILE --to goal"}, {"good.oraccl", "convert FILE --to chrome -o out.trace.json"}, {"good.json", "check FILE"},
		{"topology.json", "topo FILE"}, {"topology.json", "topo show FILE --json"}, {"topology.json", "topo lint FILE"},
		{"topology.json", "topo join FILE ring:4 --nic 50GB/s --nic-latency 1us -o joined.json"}, {"times.csv", "topo fit ring:3 --measured FILE -o measured.json"},
		{"topology.json", "solve FILE --collective allgather --method ring"}, {"problem.json", "solve --problem FILE --method ring"},
		{"good.json", "gap ring:4 --collective allgather --methods ring --schedule FILE"}, {"problem.json", "gap --problem FILE --methods ring"},
		{"nccl.log", "gap dgxh100:2 --collective allreduce --size 1MiB --methods ring --nccl-log FILE"},
		{"topology.json", "bound FILE --collective allgather"}, {"sizes.csv", "bound full:2 --collective alltoallv --sizes FILE"},
		{"topology.json", "throughput FILE --collective allgather"},
		{"grid.yaml", "sweep FILE --dir results"},
		{"made.et", "trace FILE --values"},
		{"topology.json", "workload hierarchical FILE --size 64 --per-node 2"}, {"topology.json", "workload hitopk FILE --elements 64 --keep 2 --per-node 2"},
		{"topology.json", "workload summa FILE --side 2 --x 8 --w 8 --y 8"}, {"topology.json", "workload adasum FILE --size 64"},
	}
	other := map[string]string{ // what reads files as no user names them, or as others do
		"sweep cells": "its list is the driver's",
		"repro":       "a table lies beside its experiment, in a directory",
		"crossover":   "its file is a trace, which trace reads",
	}
	walked := map[string]bool{}
	for _, r := range rows {
		verb, _, err := newRoot().Find(strings.Fields(r.args))
		require.NoError(t, err)
		walked[strings.TrimPrefix(verb.CommandPath(), "oraccl ")] = true
	}
	for _, r := range reading {
		if _, ok := other[r[0]]; !ok {
			require.True(t, walked[r[0]], "%s has no row", r[0])
		}
	}
	for _, row := range rows {
		plain, err := os.ReadFile(row.file)
		require.NoError(t, err)
		answer := func(name string) (int, string) {
			require.NoError(t, os.RemoveAll("results")) // where a sweep keeps what it has
			var stdout, stderr bytes.Buffer
			status := run(strings.Fields(strings.ReplaceAll(row.args, "FILE", name)), &stdout, &stderr)
			if status != 0 {
				return status, stdout.String() + stderr.String()
			}
			named := regexp.MustCompile(`(?m)(^|[ "(])` + regexp.QuoteMeta(name) + `([ ",:;)]|$)`)
			text := clock.ReplaceAllString(named.ReplaceAllString(stdout.String(), "${1}FILE${2}"), "")
			return 0, strings.Join(strings.Fields(text), " ") // columns are as wide as names
		}
		status, want := answer(row.file)
		require.Zero(t, status, "%s: %s", row.args, want)
		same := func(form, name string) {
			t.Helper()
			status, got := answer(name)
			require.Zero(t, status, "%s, %s: %s", row.args, form, got)
			require.Equal(t, want, got, "%s, %s", row.args, form)
		}

		stdin := os.Stdin
		os.Stdin, err = os.Open(row.file)
		require.NoError(t, err)
		same("standard input", "-")
		require.NoError(t, os.Stdin.Close())
		os.Stdin = stdin

		require.NoError(t, syscall.Mkfifo("a.fifo", 0o600))
		go func() { _ = os.WriteFile("a.fifo", plain, 0o600) }()
		same("a pipe", "a.fifo")
		require.NoError(t, os.Remove("a.fifo"))

		var packed bytes.Buffer
		z := gzip.NewWriter(&packed)
		_, err = z.Write(plain)
		require.NoError(t, err)
		require.NoError(t, z.Close())
		write("packed."+row.file+".gz", packed.String())
		same("gzip", "packed."+row.file+".gz")
		if utf8.Valid(plain) && !bytes.HasPrefix(plain, []byte("oraccl")) { // others are no text
			write("marked."+row.file, "\ufeff"+string(plain))
			same("a byte order mark", "marked."+row.file)
		}
	}
}
