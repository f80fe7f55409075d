// Package effect decides which flags of a command line have no effect, so that they can be
// refused: a flag that is ignored makes its user believe what is not so. Every flag that does
// not always have an effect is in one table, with the condition and a command line that is
// refused for it.
package effect

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/instance"
	"github.com/oraccl/oraccl/solve"
)

// Line is a command line after its flags were read.
type Line struct {
	Verb  string                   // without the program: "topo lint"
	Args  []string                 // without flags
	Given func(flag string) bool   // whether a flag was given
	Value func(flag string) string // of a flag, its default if it was not given

	Exists func(name string) bool                 // whether there is such a file
	IsDir  func(name string) bool                 // whether it is a directory
	Uses   func(method string) (solve.Uses, bool) // what a method makes use of; false: there is no such method
}

// Rule is about flags that have no effect under a condition.
type Rule struct {
	Verbs []string // "" is every verb
	Flags []string
	// Why returns why a flag that was given has no effect, or "" if it has. It is nil where
	// that depends on what files hold: then the package Where refuses the flag.
	Why     func(l *Line, flag string) string
	Where   string
	Example string // a command line, without the program, that is refused for the first flag
}

// Useless returns an error about the first flag that was given and has no effect.
func (l *Line) Useless() error {
	for _, r := range Rules() {
		if r.Why == nil || !slices.Contains(r.Verbs, l.Verb) {
			continue
		}
		for _, flag := range r.Flags {
			if !l.Given(flag) {
				continue
			}
			if why := r.Why(l, flag); why != "" {
				return fmt.Errorf("--%s: %s", flag, why)
			}
		}
	}
	return nil
}

// problem are the verbs that describe a problem with flags, and described those of them that
// take it from a file, too.
var (
	described = []string{"solve", "gap", "bound", "throughput", "topo lint"}
	problem   = append(slices.Clone(described), "check")
)

// foreign are the verbs that read schedules of other tools, and the flags that say what these
// are to be judged by.
var (
	foreign = []string{"verify", "view", "convert"}
	truth   = []string{"topology", "alpha", "bandwidth", "collective", "size", "root", "chunks"}
)

// Rules returns the table.
func Rules() []Rule {
	return []Rule{
		// The problem.
		{Verbs: problem, Flags: []string{"root"}, Why: rootless, Example: "bound ring:4 --root 1 --collective allgather"},
		{Verbs: []string{"solve", "gap", "bound", "throughput"}, Flags: []string{"total-chunks"}, Where: "model/instance", Example: "bound ring:4 --collective allgather --total-chunks 4 --chunks 1"},
		{Verbs: problem, Flags: []string{"group"}, Where: "model/instance", Example: "bound ring:4 --group 0-1 --collective collective.json"},
		{Verbs: problem, Flags: []string{"dtype"}, Where: "model/instance", Example: "bound ring:4 --dtype bf16 --collective collective.json"},
		{Verbs: problem, Flags: []string{"straggler"}, Where: "model/instance", Example: "bound ring:4 --collective allgather --straggler 1"},
		{Verbs: described, Flags: []string{"collective", "size", "sizes", "permutation", "dtype", "cost", "root", "group", "alpha", "bandwidth", "scale", "no-in-network", "straggler", "delay", "fail"},
			Why: without("problem", "the file of --problem states it"), Example: "bound --problem problem.json --collective allgather"},
		{Verbs: problem, Flags: []string{"sizes", "permutation"}, Where: "model/instance", Example: "bound ring:4 --sizes sizes.csv --collective allgather"},
		{Verbs: append([]string{"topo", "topo show"}, problem...), Flags: []string{"alpha", "bandwidth"}, Where: "model/format/topologies, model/topo", Example: "topo show topology.json --alpha 1us"},
		{Verbs: append([]string{"topo show", "topo join"}, problem...), Flags: []string{"no-in-network"}, Where: "model/instance", Example: "bound ring:4 --no-in-network --collective allgather"},
		{Verbs: []string{"topo lint"}, Flags: []string{"collective", "root", "group", "size", "sizes", "permutation", "dtype", "cost", "straggler", "delay", "chunks", "total-chunks", "objective"},
			Why: unclaimed, Example: "topo lint ring:4 --collective allgather"},
		{Verbs: []string{"check"}, Flags: []string{"collective", "size", "sizes", "permutation", "dtype", "cost", "root", "group", "alpha", "bandwidth", "scale", "no-in-network", "straggler", "delay", "fail"}, Where: "verify/dossier",
			Example: "check bound.json --collective allgather"},
		{Verbs: []string{"check"}, Flags: []string{"documents"}, Why: noDirectory, Example: "check bound.json --documents"},
		{Verbs: []string{"topo join"}, Flags: []string{"machines-per-leaf", "oversubscription"}, Why: noTree, Example: "topo join ring:3 --copies 2 --nic 1GB/s --machines-per-leaf 2"},
		{Verbs: []string{"topo join"}, Flags: []string{"alpha", "bandwidth"}, Where: "model/format/topologies, model/topo", Example: "topo join topology.json --copies 2 --nic 1GB/s --alpha 1us"},
		{Verbs: []string{"topo"}, Flags: []string{"alpha", "bandwidth", "scale", "no-in-network", "fail", "json", "matrix", "output"}, Why: noTopology, Example: "topo --alpha 1us"},
		{Verbs: append([]string{"topo", "topo show", "topo join", "workload hierarchical", "workload hitopk", "workload summa", "workload adasum"}, problem...), Flags: []string{"max-file-size"}, Why: noFile, Example: "bound ring:4 --max-file-size 1GiB --collective allgather"},
		{Verbs: []string{"topo list", "version", "explain", "help", "man"}, Flags: []string{"max-file-size"}, Why: always("no file is read"), Example: "topo list --max-file-size 1GiB"},

		// Methods.
		{Verbs: []string{"solve", "gap"}, Flags: []string{"seed", "tries", "effort", "unwind"}, Why: unused, Example: "solve ring:4 --collective allgather --method ring --seed 7"},
		{Verbs: []string{"solve"}, Flags: []string{"output", "method", "tries", "effort", "unwind", "total-chunks", "fits"}, Why: pareto,
			Example: "solve ring:4 --collective allgather --objective rounds --pareto --output x.json"},
		{Verbs: []string{"solve"}, Flags: []string{"proofs"}, Why: needs("pareto", "for one problem there is gap --proofs, and several are proved"), Example: "solve ring:4 --collective allgather --proofs out"},

		// Schedules of other tools.
		{Verbs: foreign, Flags: []string{"alpha", "bandwidth"}, Why: needs("topology", "its links are set"), Example: "verify other.json --alpha 1us"},
		{Verbs: foreign, Flags: []string{"root"}, Why: rootless, Example: "verify other.json --root 1 --collective allgather"},
		{Verbs: foreign, Flags: []string{"root"}, Where: "cmd/oraccl", Example: "verify msccl.xml --root 1"},
		{Verbs: foreign, Flags: truth, Where: "cmd/oraccl", Example: "verify ours.json --topology ring:4"},
		{Verbs: []string{"verify"}, Flags: []string{"chunks", "problem"}, Where: "cmd/oraccl", Example: "verify msccl.xml --chunks 2"},
		{Verbs: []string{"verify"}, Flags: []string{"time-limit"}, Where: "cmd/oraccl", Example: "verify msccl.xml --time-limit 1s"},
		{Verbs: []string{"view"}, Flags: []string{"problem"}, Where: "cmd/oraccl", Example: "view msccl.xml --problem problem.json -o x.html"},
		{Verbs: []string{"view", "convert"}, Flags: []string{"chunks"}, Where: "cmd/oraccl", Example: "convert msccl.xml --to oraccl --chunks 2"},
		{Verbs: []string{"verify"}, Flags: []string{"inplace", "runtime", "format", "warnings", "fail-on"}, Where: "cmd/oraccl", Example: "verify ours.json --inplace"},

		{Verbs: []string{"gap"}, Flags: []string{"nccl"}, Why: without("nccl-log", "the log tells what NCCL chose"), Example: "gap ring:4 --collective allreduce --nccl --nccl-log nccl.log"},

		// Traces.
		{Verbs: []string{"trace"}, Flags: []string{"steps"}, Where: "cmd/oraccl", Example: "trace profile.json --steps 1..2"},
		{Verbs: []string{"trace"}, Flags: []string{"values"}, Why: without("json", "--json prints every quantity"), Example: "trace log.txt --values --json"},

		// What a verb does.
		{Verbs: []string{"verify"}, Flags: []string{"time-limit"}, Why: withoutSMT("the smt engine alone has a limit"), Example: "verify ours.json --time-limit 1s --engine replay"},
		{Verbs: []string{"verify"}, Flags: []string{"emit-smt2"}, Why: withoutFormulas, Example: "verify ours.json --emit-smt2 x.smt2 --engine stream"},
		{Verbs: []string{"verify"}, Flags: []string{"format"}, Why: otherFormat, Example: "verify msccl.xml --format sarif --json"},
		{Verbs: []string{"view"}, Flags: []string{"no-bound"}, Why: traceEvents, Example: "view ours.json --no-bound -o x.json"},
		{Verbs: []string{"convert"}, Flags: []string{"runtime", "proto", "inplace"}, Why: to("msccl", "mscclpp"), Example: "convert ours.json --runtime rccl --to goal"},
		{Verbs: []string{"convert"}, Flags: []string{"unit", "pairs"}, Why: to("goal"), Example: "convert ours.json --unit 1ps --to chrome"},
		{Verbs: []string{"repro"}, Flags: []string{"full", "output", "workers", "part", "on", "slurm-args", "tasks", "submit", "poll", "proofs", "published", "time-limit", "seed", "threads", "tries", "effort", "unwind", "max-file-size"}, Why: listing, Example: "repro list --full"},
		{Verbs: []string{"sweep"}, Flags: []string{"workers", "threads", "no-times", "retry", "on", "slurm-args", "tasks", "submit", "poll"}, Why: without("list", "nothing is computed with --list"),
			Example: "sweep --topologies ring:4 --collectives allgather --dir out --list --workers 2"},
		{Verbs: []string{"repro"}, Flags: []string{"slurm-args", "tasks", "submit", "poll"}, Why: notOnSlurm, Example: "repro tacos -o out --slurm-args x"},
		{Verbs: []string{"repro"}, Flags: []string{"workers", "threads"}, Why: onSlurm, Example: "repro tacos -o out --on slurm --workers 2"},
		{Verbs: []string{"repro"}, Flags: []string{"part"}, Why: partOfSlurm, Example: "repro tacos -o out --on slurm --part 0/2"},
		{Verbs: []string{"repro"}, Flags: []string{"poll"}, Why: notSubmitted, Example: "repro tacos -o out --on slurm --submit=false --poll 1s"},
		{Verbs: []string{"sweep"}, Flags: []string{"slurm-args", "tasks", "submit", "poll"}, Why: notOnSlurm, Example: "sweep --topologies ring:4 --collectives allgather --dir out --slurm-args x"},
		{Verbs: []string{"sweep"}, Flags: []string{"workers", "threads"}, Why: onSlurm, Example: "sweep --topologies ring:4 --collectives allgather --dir out --on slurm --workers 2"},
		{Verbs: []string{"sweep"}, Flags: []string{"poll"}, Why: notSubmitted, Example: "sweep --topologies ring:4 --collectives allgather --dir out --on slurm --submit=false --poll 1s"},
		{Verbs: []string{"sweep"}, Flags: []string{"straggler"}, Why: nobodyLate, Example: "sweep --topologies ring:4 --collectives allgather --dir out --straggler 2"},
	}
}

// always returns the reason whatever else is given.
func always(why string) func(*Line, string) string {
	return func(*Line, string) string { return why }
}

// needs returns that a flag goes with another one.
func needs(other, so string) func(*Line, string) string {
	return func(l *Line, _ string) string {
		if l.Given(other) {
			return ""
		}
		return fmt.Sprintf("goes with --%s, with which %s", other, so)
	}
}

// without returns why a flag has no effect beside another one.
func without(other, why string) func(*Line, string) string {
	return func(l *Line, _ string) string {
		if !l.Given(other) {
			return ""
		}
		return why
	}
}

// rootless: a collective without a root, or of a file, which names its own.
func rootless(l *Line, _ string) string {
	name := l.Value("collective")
	kind, err := model.KindNamed(name)
	switch {
	case name == "":
		return "" // of what a file performs, or there is an error to come
	case err != nil && !l.Exists(name):
		return "" // an error of its own
	case err != nil || kind == model.Custom:
		return "the collective's file names its root, if it has one"
	case !kind.Rooted():
		return fmt.Sprintf("%v has no root", kind)
	}
	return ""
}

// unused: no method that was named makes use of it.
func unused(l *Line, flag string) string {
	list := l.Value("methods")
	if l.Verb == "solve" {
		list = l.Value("method")
	}
	if list == "" || list == "best" {
		return ""
	}
	use := map[string]solve.Uses{"seed": solve.UsesSeed, "tries": solve.UsesTries, "effort": solve.UsesEffort, "unwind": solve.UsesUnwind}[flag]
	for _, name := range strings.Split(list, ",") {
		if uses, known := l.Uses(name); !known || uses&use != 0 {
			return "" // an unknown method is an error of its own
		}
	}
	return fmt.Sprintf("%s makes no use of it", strings.ReplaceAll(list, ",", ", "))
}

// pareto: what the search for a frontier does not look at.
func pareto(l *Line, flag string) string {
	if l.Value("pareto") != "true" {
		return ""
	}
	switch flag {
	case "output":
		return "--pareto finds several schedules; --proofs DIR writes them"
	case "fits":
		return "--pareto writes no schedule for a runtime"
	case "total-chunks":
		return "does not go with --pareto, which tries several numbers of chunks per rank"
	}
	return "--pareto searches with sat alone"
}

// named reports whether an argument or the collective names a file.
func named(l *Line) bool {
	_, sizes, _ := instance.Spelled(l.Value("collective"))
	return slices.ContainsFunc(append([]string{sizes, l.Value("collective"), l.Value("sizes"), l.Value("problem"), l.Value("topology")}, l.Args...), l.Exists)
}

// noFile: neither the topology nor the collective is a file.
func noFile(l *Line, _ string) string {
	if l.Verb == "check" || len(l.Args) == 0 || l.Given("schedule") || l.Given("nccl-log") || named(l) {
		return ""
	}
	return fmt.Sprintf("no file is read: %s is a name", l.Args[0])
}

// unclaimed: nothing is claimed of what the flag describes.
func unclaimed(l *Line, _ string) string {
	if l.Given("claim") || l.Given("claim-busbw") {
		return ""
	}
	return "goes with --claim or --claim-busbw, with which what it describes is judged"
}

// noTree: what joins machines is no fat tree.
func noTree(l *Line, _ string) string {
	if l.Value("fabric") == "fattree" {
		return ""
	}
	return "goes with --fabric fattree"
}

// noTopology: topo by itself prints its help.
func noTopology(l *Line, _ string) string {
	if len(l.Args) > 0 {
		return ""
	}
	return "goes with a topology, such as ring:4"
}

// noDirectory: only directories are dossiers.
func noDirectory(l *Line, _ string) string {
	if slices.ContainsFunc(l.Args, l.IsDir) {
		return ""
	}
	return "is for directories; a file stands for itself"
}

// withoutSMT: an engine other than smt was chosen.
func withoutSMT(why string) func(*Line, string) string {
	return func(l *Line, _ string) string {
		if e := l.Value("engine"); slices.Contains([]string{"replay", "stream", "orbit"}, e) {
			return fmt.Sprintf("--engine %s: %s", e, why)
		}
		return ""
	}
}

// withoutFormulas: engines that read a file without holding it write no formulas.
func withoutFormulas(l *Line, _ string) string {
	if e := l.Value("engine"); e == "stream" || e == "orbit" {
		return fmt.Sprintf("--engine %s holds no schedule to write formulas of; want replay, smt or all", e)
	}
	return ""
}

// otherFormat: --json chooses the form already.
func otherFormat(l *Line, _ string) string {
	if f := l.Value("format"); l.Value("json") == "true" && f != "json" {
		return fmt.Sprintf("%s does not go with --json, which is --format json", f)
	}
	return ""
}

// traceEvents: trace events have no bound.
func traceEvents(l *Line, _ string) string {
	if filepath.Ext(l.Value("output")) != ".json" {
		return ""
	}
	return "trace events (.json) have no bound"
}

// to returns that a flag of convert is for one format.
func to(formats ...string) func(*Line, string) string {
	return func(l *Line, _ string) string {
		if slices.Contains(formats, l.Value("to")) {
			return ""
		}
		return "is for --to " + strings.Join(formats, " and ")
	}
}

// listing: repro list prints names.
func listing(l *Line, _ string) string {
	if len(l.Args) == 1 && l.Args[0] == "list" {
		return "nothing is computed by repro list"
	}
	return ""
}

// notOnSlurm: this machine computes.
func notOnSlurm(l *Line, _ string) string {
	if l.Given("on") {
		return ""
	}
	return "goes with --on slurm"
}

// onSlurm: the array's tasks have cores of their own.
func onSlurm(l *Line, _ string) string {
	if l.Value("on") == "" {
		return ""
	}
	return "Slurm gives a task its cores; --slurm-args '--cpus-per-task=4' asks for more"
}

// partOfSlurm: the tasks have their parts by their numbers.
func partOfSlurm(l *Line, _ string) string {
	if l.Value("on") == "" {
		return ""
	}
	return "with --on slurm each task has its own part"
}

// notSubmitted: what is not submitted is not waited for.
func notSubmitted(l *Line, _ string) string {
	if l.Value("submit") == "true" {
		return ""
	}
	return "with --submit=false nothing is waited for"
}

// nobodyLate: no grid file and no delays.
func nobodyLate(l *Line, _ string) string {
	if len(l.Args) > 0 || l.Given("delays") {
		return ""
	}
	return "goes with --delays, how late that rank is"
}
