package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/verify"
	"github.com/oraccl/oraccl/verify/smt"
)

// network is one of a comparison's, as --topology and --bandwidth name it.
type network struct {
	topology  string
	bandwidth string // "": that of the study
}

func (n network) String() string {
	if n.bandwidth == "" {
		return n.topology
	}
	return n.topology + " " + n.bandwidth
}

// tacosNetworks are the networks of the comparison, by how many NPUs they have: tori and
// meshes of two and three dimensions, hypercube, mesh with links of two rates, dragonfly,
// oversubscribed fat tree, one switch.
var tacosNetworks = map[int][]network{
	16: {{"torus:4x4", ""}, {"torus:2x2x4", ""}, {"mesh:4x4", ""}, {"mesh:2x2x4", ""}, {"hypercube:4", ""}, {"mesh:4x4", "50GiB/s,75GiB/s"},
		{"dragonfly:2x2x4", ""}, {"fattree:4x4x2", ""}, {"switch:16", ""}},
	64: {{"torus:8x8", ""}, {"torus:4x4x4", ""}, {"mesh:8x8", ""}, {"mesh:4x4x4", ""}, {"hypercube:6", ""}, {"mesh:8x8", "50GiB/s,75GiB/s"},
		{"dragonfly:4x4x4", ""}, {"fattree:8x8x4", ""}, {"switch:64", ""}},
	256: {{"torus:16x16", ""}, {"torus:4x8x8", ""}, {"mesh:16x16", ""}, {"mesh:4x8x8", ""}, {"hypercube:8", ""}, {"mesh:16x16", "50GiB/s,75GiB/s"},
		{"dragonfly:4x8x8", ""}, {"fattree:16x16x8", ""}, {"switch:256", ""}},
}

// tacosBaselines are the methods that the greedy one is compared with; rhd is halving and
// doubling for an allreduce, of which recursive doubling is the half that gathers.
var tacosBaselines = []string{"ring", "ring-bidirectional", "direct", "rhd", "recursive-doubling", "double-binary-tree"}

// tacosStudy is the setting of the comparison.
type tacosStudy struct {
	npus             []int
	collectives      []string
	share            string // bytes of a rank, which are a chunk
	alpha, bandwidth string
	cost             string
	scaleTo          int
	both             bool // engines
	work             effort
	out              string
}

func newReproTACOS() *cobra.Command {
	x := &tacosStudy{}
	cmd := &cobra.Command{
		Use:   "tacos",
		Short: "TACOS's comparisons: baselines, the bound, growth with the NPUs",
		Long: `tacos compares the greedy method with the baselines of the TACOS paper (Won et al.,
arXiv:2304.05301) and with the certified bound, one chunk a rank, and measures how the
time of its synthesis grows with the number of NPUs. Every schedule is replayed, with
--both-engines proved by SMT, too; one that is not proved ends the comparison.

Networks and sizes are ours, where the paper's cannot be had. The authors' code
(astra-sim/tacos v1.3.0) stands beside ours where it was run in the same setting; it
prints a time, but no schedule that could be verified.

With -o it writes three tables and two charts: collectives, the time of every method
over the bound; claims, heterogeneous meshes, where not all that the authors' code says
can be achieved; scale, the time of the synthesis.`,
		Example: "  oraccl repro tacos -o figures --npus 16 --collectives allgather --tries 4 --scale-to 0",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return x.run(cmd.Context(), cmd.OutOrStdout()) },
	}
	f := cmd.Flags()
	f.IntSliceVar(&x.npus, "npus", []int{64}, "numbers of `ranks` of the networks: 16, 64, 256")
	f.StringSliceVar(&x.collectives, "collectives", []string{"allgather", "allreduce"}, "the `collectives` to compare")
	f.StringVar(&x.share, "share", "1MiB", "`bytes` of a rank's chunk; the buffer is as many times that as there are ranks")
	f.StringVar(&x.alpha, "alpha", "500ns", "latency of a link, a `time`")
	f.StringVar(&x.bandwidth, "bandwidth", "50GiB/s", "bandwidth of a link, a `rate`, where a network has none of its own")
	f.StringVar(&x.cost, "cost", "blocking", "cost `model`, blocking or pipelined")
	f.IntVar(&x.scaleTo, "scale-to", 1024, "largest number of `ranks` whose synthesis is timed, up to 4096; 0: none")
	f.BoolVar(&x.both, "both-engines", false, "have every compared schedule proved by SMT, too")
	x.work.addFlags(cmd)
	f.StringVarP(&x.out, "output", "o", "", "write tables (CSV) and charts (SVG) to this `directory`")
	return cmd
}

// problem is a collective on a network, in chunks of a number of bytes, so many a rank.
func (x *tacosStudy) problem(n network, collective, share string, chunks int) (*model.Problem, error) {
	bandwidth := n.bandwidth
	if bandwidth == "" {
		bandwidth = x.bandwidth
	}
	t, err := loadTopology(n.topology, x.alpha, bandwidth)
	if err != nil {
		return nil, err
	}
	bytes, err := model.ParseBytes(share)
	if err != nil {
		return nil, fmt.Errorf("--share: %w", err)
	}
	if bytes < 1 || bytes > 1<<40 {
		return nil, fmt.Errorf("--share %s: want 1 byte to 1 TiB", share)
	}
	kind, err := model.ParseKind(collective)
	if err != nil || kind.Rooted() || kind == model.Custom {
		return nil, fmt.Errorf("--collectives %q: want allgather, reducescatter, allreduce or alltoall", collective)
	}
	p := &model.Problem{Topology: t, Collective: model.Collective{Kind: kind}, Size: bytes * int64(t.Ranks)}
	if p.Cost, err = model.ParseCostModel(x.cost); err != nil {
		return nil, fmt.Errorf("--cost: %w", err)
	}
	if int64(p.DefaultChunks(chunks)) > p.Space() {
		return nil, fmt.Errorf("--share %s: want a byte or more a chunk", share)
	}
	p = p.WithChunks(p.DefaultChunks(chunks))
	return p, p.Validate()
}

// contender is a method with its schedule of a problem, verified.
type contender struct {
	method    string
	makespan  model.Time
	transfers int
	solving   time.Duration
	checking  time.Duration // all engines
}

// contend runs a method and has what it finds verified. It returns nil for a method that
// does not serve the problem.
func (x *tacosStudy) contend(ctx context.Context, m solve.Solver, p *model.Problem, bound model.Time, o solve.Options, engines ...string) (*contender, error) {
	if m.Serves(p) != nil {
		return nil, nil
	}
	o.Bound = bound
	begin := time.Now()
	r, err := m.Solve(ctx, p, o)
	c := &contender{method: m.Name(), solving: time.Since(begin)}
	switch {
	case errors.Is(err, solve.ErrNotServed):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("%s: %w", m.Name(), err)
	case r.Schedule == nil:
		return nil, fmt.Errorf("%s: found no schedule of %v: %v", m.Name(), p, r.Stop)
	case !p.SameUpToCut(r.Problem):
		return nil, fmt.Errorf("%s: answered another problem: %v", m.Name(), r.Problem)
	}
	verdicts, took := verifyAll(ctx, r.Problem, r.Schedule, smt.Options{Timeout: x.work.timeLimit, Threads: x.work.threads}, engines)
	for _, engine := range engines {
		if v := verdicts[engine]; v.Outcome != verify.Proved {
			return nil, fmt.Errorf("%s: %v: %v by %s: %s", m.Name(), p, v.Outcome, engine, v.Reason)
		}
		c.checking += took[engine]
	}
	c.makespan, c.transfers = r.Makespan(), len(r.Schedule.Transfers)
	if c.makespan < bound {
		return nil, fmt.Errorf("%s: a proved schedule of %v is below the certified bound of %v: one of the two checkers is wrong; please report this", m.Name(), c.makespan, bound)
	}
	return c, nil
}

// contest is all methods on one network.
type contest struct {
	network    network
	npus       int
	collective string
	bound      *model.Certificate
	greedy     *contender
	baselines  []*contender // nil: does not serve
	code       *codeRun     // the authors', or nil
}

// over is how many times the bound a makespan is.
func (c *contest) over(t model.Time) float64 { return float64(t) / float64(c.bound.Bound) }

// quickest returns the best baseline, or nil.
func (c *contest) quickest() *contender {
	var best *contender
	for _, b := range c.baselines {
		if b != nil && (best == nil || b.makespan < best.makespan) {
			best = b
		}
	}
	return best
}

// contest compares all methods on one network.
func (x *tacosStudy) contest(ctx context.Context, n network, collective string) (*contest, error) {
	p, err := x.problem(n, collective, x.share, 1)
	if err != nil {
		return nil, err
	}
	c := &contest{network: n, npus: p.Topology.Ranks, collective: collective}
	if c.bound, err = certified(ctx, p); err != nil {
		return nil, err
	}
	if c.bound == nil || c.bound.Bound <= 0 {
		return nil, fmt.Errorf("%v: has no bound to compare with", p)
	}
	o := solve.Options{TimeLimit: x.work.timeLimit, Seed: x.work.seed, Threads: x.work.threads, Tries: x.work.tries}
	used := engines
	if !x.both {
		used = engines[:1]
	}
	if c.greedy, err = x.contend(ctx, methodOf("tacos"), p, c.bound.Bound, o, used...); err != nil {
		return nil, err
	}
	if c.greedy == nil {
		return nil, fmt.Errorf("tacos: does not serve %v", p)
	}
	for _, name := range tacosBaselines {
		b, err := x.contend(ctx, methodOf(name), p, c.bound.Bound, o, used...)
		if err != nil {
			return nil, err
		}
		c.baselines = append(c.baselines, b)
	}
	c.code = x.codeRun(n, collective)
	return c, nil
}

// check says what is wrong with the setting.
func (x *tacosStudy) check() error {
	for _, n := range x.npus {
		if tacosNetworks[n] == nil {
			return fmt.Errorf("--npus %d: want 16, 64 or 256", n)
		}
	}
	if len(x.npus) == 0 || len(x.collectives) == 0 {
		return errors.New("--npus, --collectives: want one or more")
	}
	if x.scaleTo < 0 || x.scaleTo > 4096 {
		return fmt.Errorf("--scale-to %d: want 0 to 4096", x.scaleTo)
	}
	if x.cost != "blocking" && x.cost != "pipelined" {
		return fmt.Errorf("--cost %q: want blocking or pipelined", x.cost)
	}
	if x.work.timeLimit <= 0 || x.work.threads < 0 {
		return fmt.Errorf("--time-limit %v, --threads %d: want more than zero, and 0 or more", x.work.timeLimit, x.work.threads)
	}
	return x.work.checkTries()
}

func (x *tacosStudy) run(ctx context.Context, w io.Writer) error {
	if err := x.check(); err != nil {
		return err
	}
	slices.Sort(x.npus)
	x.npus = slices.Compact(x.npus)
	var all []*contest
	for _, collective := range x.collectives {
		for _, npus := range x.npus {
			for _, n := range tacosNetworks[npus] {
				c, err := x.contest(ctx, n, collective)
				if err != nil {
					return err
				}
				all = append(all, c)
			}
		}
	}
	x.print(w, all)
	claims, err := x.claims(ctx)
	if err != nil {
		return err
	}
	printClaims(w, claims)
	scale, err := x.scale(ctx)
	if err != nil {
		return err
	}
	printScale(w, scale)
	if x.out == "" {
		return nil
	}
	if err := os.MkdirAll(x.out, 0o755); err != nil {
		return fmt.Errorf("--output: %w", err)
	}
	for _, g := range []*figure{x.collectivesFigure(all), claimsTable(claims), scaleFigure(scale)} {
		written, err := g.writeWhole(x.out)
		if err != nil {
			return err
		}
		fmt.Fprintf(w, "wrote %s\n", filepath.Join(x.out, written))
	}
	return nil
}

// print writes the table of times over the bound.
func (x *tacosStudy) print(w io.Writer, all []*contest) {
	by := "replay"
	if x.both {
		by = "replay and by SMT"
	}
	fmt.Fprintf(w, "%s a rank, one chunk, links of %s and %s where none is named, %s\ntimes of the certified bound that a schedule takes; every schedule proved by %s\n\n", x.share, x.alpha, x.bandwidth, x.cost, by)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(t, "network\tcollective\tbound us\ttacos\t")
	for _, name := range tacosBaselines {
		fmt.Fprintf(t, "%s\t", name)
	}
	fmt.Fprintln(t, "best baseline / tacos\tauthors' code\t")
	for _, c := range all {
		fmt.Fprintf(t, "%v\t%s\t%s\t%.3f\t", c.network, c.collective, micros(c.bound.Bound), c.over(c.greedy.makespan))
		for _, b := range c.baselines {
			if b == nil {
				fmt.Fprint(t, "-\t")
				continue
			}
			fmt.Fprintf(t, "%.3f\t", c.over(b.makespan))
		}
		if b := c.quickest(); b != nil {
			fmt.Fprintf(t, "%.2f\t", float64(b.makespan)/float64(c.greedy.makespan))
		} else {
			fmt.Fprint(t, "-\t")
		}
		if c.code != nil {
			fmt.Fprintf(t, "%.3f\t\n", c.code.micros*1e6/float64(c.bound.Bound))
		} else {
			fmt.Fprint(t, "-\t\n")
		}
	}
	t.Flush()
}
