package main

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/cmd/oraccl/effect"
	"github.com/oraccl/oraccl/cmd/oraccl/usage"
)

// alwaysEffective are the flags that change what a verb does, prints or writes whatever else
// is given, by verb. A flag that is in neither this list nor the table of package effect
// fails the test: it has to be thought about.
var alwaysEffective = map[string][]string{
	"crossover":             {"topology", "jobs", "rates", "iterations", "switch", "output", "picture", "proofs", "write-workload", "time-limit", "json"},
	"workload hierarchical": {"size", "parts", "nodes", "per-node", "cost", "output"},
	"workload hitopk":       {"elements", "keep", "value", "index", "select", "scatter", "pieces", "nodes", "per-node", "cost", "output"},
	"workload summa":        {"side", "depth", "x", "w", "y", "multiply", "chunks", "inside", "pass", "cost", "output"},
	"workload adasum":       {"size", "members", "scalars", "dot", "combine", "cost", "output"},
	"solve":                 {"problem", "collective", "size", "cost", "straggler", "delay", "alpha", "bandwidth", "fail", "group", "chunks", "objective", "time-limit", "threads", "json", "pareto"},
	"gap":                   {"problem", "collective", "size", "cost", "delay", "fail", "chunks", "objective", "time-limit", "threads", "json", "methods", "proofs", "plot", "schedule", "max-gap", "nccl-log", "fits"},
	"bound":                 {"problem", "collective", "size", "cost", "delay", "fail", "chunks", "objective", "time-limit", "json", "output", "write-problem"},
	"throughput":            {"problem", "collective", "size", "cost", "delay", "fail", "chunks", "objective", "time-limit", "json", "output"},
	"topo show":             {"scale", "fail", "json", "matrix", "output"},
	"topo join":             {"scale", "copies", "nic", "nic-latency", "nics-per-gpu", "fabric", "output", "json"},
	"topo lint":             {"problem", "scale", "fail", "json", "claim", "claim-busbw"},
	"topo fit":              {"measured", "pair", "output", "plot"},
	"check":                 {"json", "topology", "max-gap"},
	"verify":                {"engine", "json", "max-gap", "no-bound"},
	"view":                  {"output"},
	"convert":               {"to", "output"},
	"trace":                 {"json", "plot"},
	"repro":                 {},
	"sweep":                 {"problems", "topologies", "fails", "alphas", "bandwidths", "collectives", "costs", "sizes", "chunks", "delays", "seeds", "methods", "time-limit", "cell-limit", "tries", "effort", "dual", "dir", "list", "proofs"},
	"sweep cells":           {"dir", "cpus"},
	"sweep worker":          {"dir", "scratch", "threads"},
}

// readsFiles are the verbs that read files whatever they are given.
var readsFiles = []string{"topo fit", "crossover", "trace", "verify", "view", "convert", "check", "sweep", "sweep cells", "sweep worker"}

// TestFlagsHaveEffect walks over all flags of all commands: each has an effect always, or is
// in the table with the condition under which it is refused.
func TestFlagsHaveEffect(t *testing.T) {
	root := newRoot()
	root.InitDefaultHelpCmd()
	inTable := func(verb, flag string) bool {
		return slices.ContainsFunc(effect.Rules(), func(r effect.Rule) bool {
			return slices.Contains(r.Verbs, verb) && slices.Contains(r.Flags, flag)
		})
	}
	seen, verbs := 0, map[string]*cobra.Command{}
	var walk func(cmd *cobra.Command)
	walk = func(cmd *cobra.Command) {
		verb := strings.TrimPrefix(cmd.CommandPath(), "oraccl ")
		if cmd.GroupID != usage.Topics && cmd.Name() != "completion" {
			verbs[verb] = cmd
			for _, c := range cmd.Commands() {
				walk(c)
			}
		}
		if cmd.GroupID == usage.Topics || !cmd.Runnable() || cmd.Name() == "completion" {
			return
		}
		all := pflag.NewFlagSet(verb, pflag.ContinueOnError)
		all.AddFlagSet(cmd.InheritedFlags())
		all.AddFlagSet(cmd.Flags())
		all.VisitAll(func(f *pflag.Flag) {
			if f.Name == "help" {
				return
			}
			seen++
			always := slices.Contains(alwaysEffective[verb], f.Name) || f.Name == "max-file-size" && slices.Contains(readsFiles, verb)
			require.True(t, always || inTable(verb, f.Name), "--%s of %s: is neither always effective nor in the table of cmd/oraccl/effect", f.Name, verb)
		})
	}
	walk(root)
	require.Greater(t, seen, 120)
	for verb, flags := range alwaysEffective {
		require.Contains(t, verbs, verb)
		for _, name := range flags {
			require.NotNil(t, verbs[verb].Flags().Lookup(name), "%s has no --%s", verb, name)
		}
	}
	for _, r := range effect.Rules() {
		for _, verb := range r.Verbs {
			require.Contains(t, verbs, verb)
			for _, name := range r.Flags {
				flags := verbs[verb].Flags()
				require.True(t, flags.Lookup(name) != nil || root.PersistentFlags().Lookup(name) != nil, "%s has no --%s", verb, name)
			}
		}
	}
}

// TestUselessFlags: the command line of every rule is refused, with the flag and the reason,
// and is accepted, or refused for something else, without the flag.
func TestUselessFlags(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	write := func(name, text string) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	}
	write("collective.json", `{"schema": "oraccl/collective/1", "kind": "broadcast", "root": 1}`)
	write("other.json", `{"1-Epoch_Duration": 1e-06, "3-Epochs_Required": 1, "4-Collective_Finish_Time": 1e-06, "5-Algo_Bandwidth": 200.0, "7-Flows": ["Chunk 0 from 0 traveled over 0->1 in epoch 0"]}`)
	write("topology.json", `{"schema": "oraccl/topology/1", "name": "x", "ranks": 2, "links": [{"src": 0, "dst": 1, "alpha_ps": 1, "bandwidth_bytes_per_s": 1}]}`)
	write("problem.json", `{"schema": "oraccl/problem/1", "topology": {"name": "x", "ranks": 2, "links": [{"src": 0, "dst": 1, "alpha_ps": 1, "bandwidth_bytes_per_s": 1},
		{"src": 1, "dst": 0, "alpha_ps": 1, "bandwidth_bytes_per_s": 1}]}, "collective": {"kind": "allgather"}, "size_bytes": 2, "cost": "pipelined"}`)
	write("profile.json", `{"traceEvents": [{"ph": "X", "cat": "kernel", "name": "k", "ts": 1, "dur": 2, "pid": 0, "tid": 0}]}`)
	write("sizes.csv", "0,1,1,1\n1,0,1,1\n1,1,0,1\n1,1,1,0\n")
	for _, args := range []string{
		"bound ring:4 --collective allgather -o bound.json",
		"solve ring:4 --collective allgather --method ring -o ours.json",
		"solve ring:4 --collective allgather --method ring -o msccl.xml",
	} {
		var stdout, stderr bytes.Buffer
		require.Zero(t, run(strings.Fields(args), &stdout, &stderr), stderr.String())
	}
	for _, r := range effect.Rules() {
		require.True(t, (r.Why == nil) == (r.Where != ""), r.Example)
		args := strings.Fields(r.Example)
		at := slices.Index(args, "--"+r.Flags[0])
		require.Positive(t, at, r.Example)
		var stdout, stderr bytes.Buffer
		require.Equal(t, 2, run(args, &stdout, &stderr), "%s: %s", r.Example, stdout.String())
		require.Contains(t, stderr.String(), r.Flags[0], r.Example)
		if r.Why == nil {
			continue
		}
		require.Regexp(t, `^oraccl: error: --`+r.Flags[0]+`: .*\S`, stderr.String(), r.Example)
		cmd, rest, err := newRoot().Find(args)
		require.NoError(t, err)
		require.NoError(t, cmd.ParseFlags(rest))
		require.ErrorContains(t, commandLine(cmd, cmd.Flags().Args()).Useless(), "--"+r.Flags[0]+": ", r.Example)
		end := at + 2
		if f := cmd.Flags().Lookup(r.Flags[0]); end > len(args) || f != nil && f.NoOptDefVal != "" {
			end = at + 1
		}
		args = slices.Delete(slices.Clone(args), at, end)
		cmd, rest, err = newRoot().Find(args)
		require.NoError(t, err)
		require.NoError(t, cmd.ParseFlags(rest), "%v", args)
		require.NoError(t, commandLine(cmd, cmd.Flags().Args()).Useless(), "%v", args)
	}
}
