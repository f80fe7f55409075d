package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/oraccl/oraccl/cmd/oraccl/built"
	"github.com/oraccl/oraccl/cmd/oraccl/exit"
	"github.com/oraccl/oraccl/cmd/oraccl/session"
	"github.com/oraccl/oraccl/cmd/oraccl/sweep"
	"github.com/oraccl/oraccl/model/quote"
	"github.com/oraccl/oraccl/model/table"
	"github.com/oraccl/oraccl/model/topo"
	"github.com/oraccl/oraccl/solve/certify"
	"github.com/oraccl/oraccl/verify"
	"github.com/oraccl/oraccl/verify/dossier"
)

// sweeping holds the flags of sweep.
type sweeping struct {
	grid    sweep.Grid
	axes    map[string]*[]string
	options map[string]*string
	dir     string
	workers int
	threads int
	noTimes bool
	list    bool
	retry   bool
	proofs  bool
	slurm   slurm
}

func newSweep() *cobra.Command {
	var s sweeping
	cmd := &cobra.Command{
		Use:   "sweep [GRID.yaml] --dir DIR",
		Short: "A table of instances and methods, every schedule proved; can be interrupted and resumed",
		Long: `sweep runs every method on every instance of a grid of topologies, sizes, chunks,
delays and more. It verifies each schedule by replay and by SMT and certifies each bound.
It writes DIR/table.csv and DIR/table.jsonl, one row per cell, and figures: makespan and
bandwidth by size, gap and synthesis time by ranks, with the fitted exponent, and Pareto
fronts of transfers and makespan.

The grid is a file, or flags, or both; a flag replaces the list in the file. The file
has a key for each axis, with a value or a list of values:

  topologies: [ring:4, ring:8, "mesh:4x4"]
  collectives: [allgather, allreduce]
  sizes: 64KiB..16MiB*4        # 64KiB, 256KiB, 1MiB, 4MiB, 16MiB; without *4 it doubles
  chunks: [auto, 1, 4]         # per rank; auto: each method's own
  methods: [tacos, ring, rhd]  # or all

and optionally fails, alphas, bandwidths, costs, delays, seeds, and for all cells
straggler, time_limit, cell_limit, tries, effort, dual. Rows come in the order of the
axes topologies, fails, alphas, bandwidths, collectives, costs, sizes, chunks, delays,
seeds, methods, the last one fastest.

Every finished cell is kept in DIR at once. After Ctrl-C, a kill or a power cut the same
command computes the missing cells; with a changed grid it computes the new ones. Several
sweeps may share one DIR. If a cell fails, its row gives the reason, and the sweep goes on:
cells run in processes of their own, so that one may exhaust memory or crash a solver.
--retry computes cells that failed again.

With --proofs every cell also keeps its schedule and its certificate, and DIR/proofs has all
of them with the table: check DIR, or oraccl-check DIR, makes every instance again from its
words, and accepts the table only if every number in it follows.

The last two columns, solved_ns and verified_ns, are measured times. All other columns
are reproducible, unless a cell reaches its time limit. --no-times omits the two.

With --on slurm an array of Slurm tasks computes the cells, on machines that share DIR
and the working directory. If a node is lost, the same command submits only the missing
cells, and waits for jobs that exist already.`,
		Example: "  oraccl sweep --topologies ring:4,ring:8 --collectives allgather --sizes 64KiB..1MiB*4 --methods tacos,ring,direct --dir results\n" +
			"  printf 'topologies: [ring:4, ring:8]\\ncollectives: allreduce\\nmethods: [ring, rhd]\\n' > grid.yaml\n" +
			"  oraccl sweep grid.yaml --dir more -j 2\n" +
			"  oraccl sweep grid.yaml --dir array --on slurm --submit=false --slurm-args '--partition=long --time=2:00:00'",
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return s.run(cmd, args) },
	}
	s.addFlags(cmd)
	s.slurm.addFlags(cmd)
	cmd.AddCommand(newSweepCells(), newSweepWorker())
	return cmd
}

// gridFlags are the flags of the axes, with what they hold. Those in repeated take one value
// each time, since a value may have commas.
var gridFlags = []struct{ name, usage string }{
	{"topologies", "names or files of topologies"},
	{"fails", "what has failed, such as link:0-1,rank:3, or none; repeat the flag for another `case`"},
	{"alphas", "latencies of the links of a named topology, one or one per dimension; repeat the flag for another `case`"},
	{"bandwidths", "bandwidths of the links of a named topology; repeat the flag for another `case`"},
	{"collectives", "collectives, or files of them"},
	{"costs", "cost models: pipelined (the default), blocking, rounds, link-rounds"},
	{"sizes", "buffers in bytes per rank, such as 1MiB or 64KiB..16MiB*4 (default 8MiB)"},
	{"chunks", "chunks per rank, or auto (the default): each method's own"},
	{"delays", "how late the straggler is, such as 0 or 1ms"},
	{"seeds", "seeds of random choices (default 1)"},
	{"methods", "methods, or all"},
}

var repeated = []string{"fails", "alphas", "bandwidths"}

func (s *sweeping) addFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	s.axes, s.options = map[string]*[]string{}, map[string]*string{}
	for _, g := range gridFlags {
		if slices.Contains(repeated, g.name) {
			s.axes[g.name] = f.StringArray(g.name, nil, g.usage)
		} else {
			s.axes[g.name] = f.StringSlice(g.name, nil, g.usage)
		}
	}
	s.options["straggler"] = f.String("straggler", "", "the `rank` that --delays are for (default 0)")
	s.options["time-limit"] = f.String("time-limit", "", "wall `time` for each cell: bound, method and proofs (default 1m)")
	s.options["cell-limit"] = f.String("cell-limit", "", "wall `time` for a cell in all, after which it counts as failed (default: none)")
	s.options["tries"] = f.String("tries", "", "tacos: how many `seeds` to try, keeping the best schedule (default: its own)")
	s.options["effort"] = f.String("effort", "", "effort of improving schedules, in `times` the default; -1 for none (default: 1)")
	s.options["dual"] = f.String("dual", "", "look for bounds of kind lp-dual, too, up to 10 s an instance; then bounds may depend on the machine's speed")
	f.Lookup("dual").NoOptDefVal = "true"
	f.StringVar(&s.dir, "dir", "", "the `directory` of finished cells and of the table")
	f.IntVarP(&s.workers, "workers", "j", runtime.NumCPU(), "how many cells to compute at once (default: as many as cores)")
	f.Lookup("workers").DefValue = "0" // the help is the same on all machines
	f.IntVar(&s.threads, "threads", 0, "threads for each of them (default: the cores, shared out)")
	f.BoolVar(&s.noTimes, "no-times", false, "leave the columns solved_ns and verified_ns out of the table")
	f.BoolVar(&s.retry, "retry", false, "compute the cells that failed again")
	f.BoolVar(&s.proofs, "proofs", false, "keep schedules and certificates, and write DIR/proofs, from which check decides the whole table")
	f.BoolVar(&s.list, "list", false, "print the cells and what is kept of them, and compute nothing")
}

// cells reads the grid and expands it.
func (s *sweeping) cells(cmd *cobra.Command, args []string) ([]sweep.Cell, error) {
	if len(args) == 1 {
		g, err := sweep.OpenGrid(cmd.Context(), args[0])
		if err != nil {
			return nil, err
		}
		s.grid = *g
	}
	var flags sweep.Grid
	into := map[string]*sweep.Axis{
		"topologies": &flags.Topologies, "fails": &flags.Fails, "alphas": &flags.Alphas, "bandwidths": &flags.Bandwidths,
		"collectives": &flags.Collectives, "costs": &flags.Costs, "sizes": &flags.Sizes, "chunks": &flags.Chunks,
		"delays": &flags.Delays, "seeds": &flags.Seeds, "methods": &flags.Methods,
	}
	options := map[string]*sweep.Single{"straggler": &flags.Straggler, "time-limit": &flags.TimeLimit, "cell-limit": &flags.CellLimit, "tries": &flags.Tries, "effort": &flags.Effort, "dual": &flags.Dual}
	for name, axis := range into {
		if cmd.Flags().Changed(name) {
			*axis = sweep.Values("--"+name, *s.axes[name])
		}
	}
	for name, o := range options {
		if cmd.Flags().Changed(name) {
			*o = sweep.Single{Text: *s.options[name], Place: "--" + name}
		}
	}
	s.grid.Override(&flags)
	return s.grid.Expand(cmd.Context(), sweepNames())
}

// sweepNames are the words that a grid may use.
func sweepNames() sweep.Names {
	n := sweep.Names{Default: func(late bool) []string {
		var names []string
		for _, m := range certify.Methods() {
			if about := m.About(); !about.ComparisonOnly && (late || !about.LateOnly) {
				names = append(names, m.Name())
			}
		}
		return names
	}}
	for _, m := range certify.Methods() {
		n.Methods = append(n.Methods, m.Name())
	}
	for _, f := range topo.List() {
		n.Families = append(n.Families, f.Syntax[:strings.IndexAny(f.Syntax+":", ":[")]) // dgxh100 of dgxh100[:N]
	}
	return n
}

func (s *sweeping) run(cmd *cobra.Command, args []string) error {
	switch {
	case s.dir == "":
		return errors.New("--dir: missing, want the directory to keep finished cells in")
	case s.workers < 1:
		return fmt.Errorf("-j %d: want 1 or more", s.workers)
	case s.threads < 0:
		return fmt.Errorf("--threads %d: want 0 or more", s.threads)
	}
	if err := s.slurm.check(); err != nil {
		return err
	}
	cells, err := s.cells(cmd, args)
	if err != nil {
		return err
	}
	if s.proofs {
		for i := range cells {
			cells[i].Proofs = true
		}
		if err := checkProofs(filepath.Join(s.dir, dossier.ProofsDir)); err != nil {
			return err
		}
	}
	store, err := sweep.Open(s.dir, built.Tool())
	if err != nil {
		return err
	}
	if s.list {
		return listCells(cmd.OutOrStdout(), store, cells)
	}
	if s.retry {
		if err := store.Forget(cells, table.Failed, table.Contradicted); err != nil {
			return err
		}
	}
	missing, err := store.Missing(cells)
	if err != nil {
		return err
	}
	if s.slurm.on == "" {
		err = s.local(cmd, store, missing)
	} else {
		var written bool
		if written, err = s.slurm.run(cmd, store, missing); written {
			return err
		}
	}
	interrupted := errors.Is(err, context.Canceled)
	if err != nil && !interrupted {
		return err
	}
	left, err := store.Missing(missing)
	if err != nil {
		return err
	}
	if len(left) > 0 {
		why := "some are missing"
		if interrupted {
			why = "interrupted"
		}
		fmt.Fprintf(cmd.ErrOrStderr(), "oraccl: %s: %d of %d cells are kept in %s; the same command goes on from there\n", why, len(cells)-len(left), len(cells), s.dir)
		return exit.Status(exit.Unknown)
	}
	return s.finish(cmd, store, cells, len(missing))
}

// local computes cells on this machine.
func (s *sweeping) local(cmd *cobra.Command, store *sweep.Store, missing []sweep.Cell) error {
	workers := min(s.workers, max(1, len(missing)))
	threads := s.threads
	if threads == 0 {
		threads = max(1, runtime.NumCPU()/workers)
	}
	x := newWorkers(store, workers, threads)
	defer x.close()
	session.Of(cmd.Context()).Quiet() // there is a bar
	bar := newSweepBar(cmd.ErrOrStderr(), len(missing))
	defer bar.end()
	return store.Run(cmd.Context(), missing, workers, x.compute, func(_ *sweep.Cell, r *table.Row) { bar.add(r) })
}

// finish writes the table, and prints what is in it.
func (s *sweeping) finish(cmd *cobra.Command, store *sweep.Store, cells []sweep.Cell, computed int) error {
	kept, err := store.Rows(cells)
	if err != nil {
		return err
	}
	rows := make([]table.Row, len(kept))
	for i := range kept {
		rows[i] = kept[i].Row
		if r := &rows[i]; r.Status == table.Proved {
			if err := verify.Below(r.MakespanPs, r.BoundPs, r.Bound); err != nil {
				return fmt.Errorf("%s %s %s: %w", r.Topology, r.Collective, r.Method, err)
			}
		}
	}
	if err := s.write(cmd.Context(), store, cells, kept, rows); err != nil {
		var damaged *damagedError
		if !errors.As(err, &damaged) {
			return err
		}
		if derr := store.Drop(damaged.cell); derr != nil {
			return derr
		}
		fmt.Fprintf(cmd.ErrOrStderr(), "oraccl: %s; the same command computes the cell again\n", quote.Line(err.Error()))
		return exit.Status(exit.Unknown)
	}
	out := cmd.OutOrStdout()
	count := map[table.Status]int{}
	for i := range rows {
		count[rows[i].Status]++
	}
	fmt.Fprintf(out, "%d cells: %d proved, %d unsupported, %d failed, %d refuted; %d computed now, %d kept from before\n", len(rows),
		count[table.Proved], count[table.Unsupported], count[table.Failed], count[table.Refuted], computed, len(rows)-computed)
	printReasons(out, rows)
	drawn, err := drawSweep(s.dir, rows)
	if err != nil {
		return err
	}
	dir := strings.TrimRight(s.dir, "/")
	fmt.Fprintf(out, "written to %s/table.csv and %s/table.jsonl", dir, dir)
	switch len(drawn) {
	case 0:
	case 1:
		fmt.Fprintf(out, ", drawn in %s/%s", dir, drawn[0])
	default:
		fmt.Fprintf(out, ", drawn in %d figures beside them", len(drawn))
	}
	fmt.Fprintln(out)
	if s.proofs {
		fmt.Fprintf(out, "proofs are in %s/%s; oraccl check %s decides the table\n", dir, dossier.ProofsDir, shellQuoted(dir))
	}
	if i := slices.IndexFunc(rows, func(r table.Row) bool { return r.Status == table.Contradicted }); i >= 0 {
		r := &rows[i]
		return fmt.Errorf("cells with contradictory verdicts: %d, the first of them %s %s %s: %s", count[table.Contradicted], r.Topology, r.Collective, r.Method, r.Reason)
	}
	if count[table.Refuted] > 0 {
		return exit.Status(exit.Refuted)
	}
	return nil
}

// write writes the table, and its proofs if they are wanted.
func (s *sweeping) write(ctx context.Context, store *sweep.Store, cells []sweep.Cell, kept []sweep.Kept, rows []table.Row) error {
	done, err := store.Writing(ctx)
	if err != nil {
		return err
	}
	defer done()
	if err := store.Tables(rows, !s.noTimes); err != nil || !s.proofs {
		return err
	}
	return writeTableProofs(ctx, store, cells, kept, !s.noTimes)
}

// shownReasons is how many different reasons sweep prints; the table has them all.
const shownReasons = 8

// printReasons lists why cells have no verdict, the most frequent reason first, with the
// methods that it is of.
func printReasons(w io.Writer, rows []table.Row) {
	count := map[string]int{}
	methods := map[string][]string{}
	var order []string
	for i := range rows {
		r := &rows[i]
		if r.Status == table.Proved {
			continue
		}
		text := string(r.Status) + ": " + r.Reason
		if count[text] == 0 {
			order = append(order, text)
		}
		count[text]++
		if !slices.Contains(methods[text], r.Method) {
			methods[text] = append(methods[text], r.Method)
		}
	}
	slices.SortStableFunc(order, func(a, b string) int { return count[b] - count[a] })
	for i, text := range order {
		if i == shownReasons {
			fmt.Fprintf(w, "  and %d other reasons\n", len(order)-i)
			return
		}
		fmt.Fprintf(w, "  %d %s (%s)\n", count[text], text, strings.Join(methods[text], ", "))
	}
}

// listCells prints a line a cell: what is kept of it, the name under which it is kept, and
// its canonical text.
func listCells(w io.Writer, store *sweep.Store, cells []sweep.Cell) error {
	kept := 0
	for i := range cells {
		r, ok, err := store.Get(&cells[i])
		if err != nil {
			return err
		}
		state := "missing"
		if ok {
			state, kept = string(r.Status), kept+1
		}
		if _, err := fmt.Fprintf(w, "%s\t%s\t%s\n", state, cells[i].Key(), cells[i].Text()); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(w, "%d cells, %d of them kept\n", len(cells), kept)
	return err
}
