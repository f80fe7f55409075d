//go:build !js

package main

import (
	"runtime"
	"slices"

	"github.com/spf13/cobra"
)

// gridFlags are the flags of the axes, with what they hold. Those in repeated take one value
// each time, since a value may have commas.
var gridFlags = []struct{ name, usage string }{
	{"problems", "`files` of whole problems, in place of topologies, collectives and the rest but chunks, seeds and methods"},
	{"topologies", "names or files of topologies"},
	{"fails", "what has failed, such as link:0-1,rank:3, or none; repeat the flag for another `case`"},
	{"alphas", "latencies of the links of a named topology, one or one per dimension; repeat the flag for another `case`"},
	{"bandwidths", "bandwidths of the links of a named topology; repeat the flag for another `case`"},
	{"collectives", "collectives, or files of them; those with sizes of their own as alltoallv:FILE.csv, permutation:shift:1, halo"},
	{"costs", "cost models: pipelined (the default), blocking, rounds, link-rounds"},
	{"sizes", "buffers in bytes per rank, such as 1MiB or 64KiB..16MiB*4 (default 8MiB); a collective with sizes of its own has but those"},
	{"chunks", "chunks per rank, or auto (the default): each method's own"},
	{"delays", "how late the straggler is, such as 0 or 1ms"},
	{"seeds", "seeds of random choices (default 1)"},
	{"methods", "methods, or all"},
}

// optionFlags are the flags of what all cells share.
var optionFlags = []struct{ name, usage string }{
	{"straggler", "the `rank` that --delays are for (default 0)"},
	{"time-limit", "wall `time` for each cell: bound, method and proofs (default 1m)"},
	{"cell-limit", "wall `time` for a cell in all, after which it counts as failed (default: none)"},
	{"tries", "tacos: how many `seeds` to try, keeping the best schedule (default: its own)"},
	{"effort", "effort of improving schedules, in `times` the default; -1 for none (default: 1)"},
	{"dual", "look for bounds of kind lp-dual, too, up to 10 s an instance; then bounds may depend on the machine's speed"},
}

// repeated are the flags that take one value each time, since a value may have commas.
var repeated = []string{"fails", "alphas", "bandwidths"}

func (s *sweeping) addFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	for _, g := range gridFlags {
		if slices.Contains(repeated, g.name) {
			f.StringArray(g.name, nil, g.usage)
		} else {
			f.StringSlice(g.name, nil, g.usage)
		}
	}
	for _, o := range optionFlags {
		f.String(o.name, "", o.usage)
	}
	f.Lookup("dual").NoOptDefVal = "true"
	f.StringVar(&s.Dir, "dir", "", "the `directory` of finished cells and of the table")
	f.IntVarP(&s.Workers, "workers", "j", runtime.NumCPU(), "how many cells to compute at once (default: as many as cores)")
	f.Lookup("workers").DefValue = "0" // the help is the same on all machines
	f.IntVar(&s.Threads, "threads", 0, "threads for each of them (default: the cores, shared out)")
	f.BoolVar(&s.NoTimes, "no-times", false, "leave the columns solved_ns and verified_ns out of the table")
	f.BoolVar(&s.Retry, "retry", false, "compute the cells that failed again")
	f.BoolVar(&s.Proofs, "proofs", false, "keep schedules and certificates, and write DIR/proofs, from which check decides the whole table")
	f.BoolVar(&s.List, "list", false, "print the cells and what is kept of them, and compute nothing")
	s.slurm.addFlags(cmd, "cell")
}
