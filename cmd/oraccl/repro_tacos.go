package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/oraccl/oraccl/cmd/oraccl/repro"
	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/instance"
	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/solve/certify"
	"github.com/oraccl/oraccl/verify"
)

// network is one of a comparison's, as --topology and --bandwidth name it.
type network struct {
	Topology  string
	Bandwidth string // "": that of the study
}

func (n network) String() string {
	if n.Bandwidth == "" {
		return n.Topology
	}
	return n.Topology + " " + n.Bandwidth
}

// tacosNetworks are the networks of the comparison, by how many NPUs they have: tori and
// meshes of two and three dimensions, hypercube, mesh with links of two rates, rings of full
// graphs of switches, of three, dragonfly, oversubscribed fat tree, one switch.
var tacosNetworks = map[int][]network{
	16: {{"torus:4x4", ""}, {"torus:2x2x4", ""}, {"mesh:4x4", ""}, {"mesh:2x2x4", ""}, {"hypercube:4", ""}, {"mesh:4x4", "50GiB/s,75GiB/s"},
		{"rfs:2x2x4", "200GiB/s,100GiB/s,50GiB/s"}, {"dragonfly:2x2x4", ""}, {"fattree:4x4x2", ""}, {"switch:16", ""}},
	64: {{"torus:8x8", ""}, {"torus:4x4x4", ""}, {"mesh:8x8", ""}, {"mesh:4x4x4", ""}, {"hypercube:6", ""}, {"mesh:8x8", "50GiB/s,75GiB/s"},
		{"rfs:2x4x8", "200GiB/s,100GiB/s,50GiB/s"}, {"dragonfly:4x4x4", ""}, {"fattree:8x8x4", ""}, {"switch:64", ""}},
	256: {{"torus:16x16", ""}, {"torus:4x8x8", ""}, {"mesh:16x16", ""}, {"mesh:4x8x8", ""}, {"hypercube:8", ""}, {"mesh:16x16", "50GiB/s,75GiB/s"},
		{"rfs:4x8x8", "200GiB/s,100GiB/s,50GiB/s"}, {"dragonfly:4x8x8", ""}, {"fattree:16x16x8", ""}, {"switch:256", ""}},
}

// tacosBaselines are the methods that the greedy one is compared with; rhd is halving and
// doubling for an allreduce, of which recursive doubling is the half that gathers.
var tacosBaselines = []string{"ring", "ring-bidirectional", "direct", "rhd", "recursive-doubling", "double-binary-tree"}

// tacosStudy is the setting of the comparison.
type tacosStudy struct {
	*bench
	npus             []int
	collectives      []string
	share            string // bytes of a rank, which are a chunk
	alpha, bandwidth string
	cost             string
	scaleTo          int // the most NPUs whose synthesis is timed
	smtTo            int // the most transfers that are proved by SMT, too; 0: any number
}

func tacosExperiment() *experiment {
	return &experiment{
		name:   "tacos",
		title:  "TACOS: greedy schedules, baselines, growth with the NPUs",
		source: `Won et al., "TACOS: Topology-Aware Collective Algorithm Synthesizer for Distributed Machine Learning", arXiv:2304.05301`,
		about:  `TACOS matches links and chunks greedily as time goes on. Its code (astra-sim/tacos) gathers only and prints a time, but no schedule that could be verified; what its tests expect and what it said when it was run stand beside ours and the certified bound. The paper's comparison with baselines is in figures whose numbers could not be read: it is made again, on networks of ours.`,
		fill: func(ctx context.Context, b *bench, r *repro.Report) error {
			x := &tacosStudy{bench: b, npus: []int{64}, collectives: []string{"allgather", "allreduce"}, share: "1MiB", alpha: "500ns", bandwidth: "50GiB/s", cost: "blocking", scaleTo: 1024, smtTo: 70_000}
			if b.full {
				x.npus, x.scaleTo, x.smtTo = []int{16, 64, 256}, 4096, 1_100_000
			}
			return x.fill(ctx, r)
		},
	}
}

// problem is a collective on a network, in chunks of a number of bytes, this many a rank.
func (x *tacosStudy) problem(n network, collective, share string, chunks int) (*model.Problem, error) {
	bandwidth := n.Bandwidth
	if bandwidth == "" {
		bandwidth = x.bandwidth
	}
	t, err := instance.Generated(n.Topology, x.alpha, bandwidth)
	if err != nil {
		return nil, err
	}
	bytes, err := model.ParseBytes(share)
	if err != nil {
		return nil, fmt.Errorf("a share: %w", err)
	}
	if bytes < 1 || bytes > 1<<40 {
		return nil, fmt.Errorf("a share of %s: want 1 byte to 1 TiB", share)
	}
	kind, err := model.ParseKind(collective)
	if err != nil || kind.Rooted() || kind == model.Custom {
		return nil, fmt.Errorf("collective %q: want allgather, reducescatter, allreduce or alltoall", collective)
	}
	p := &model.Problem{Topology: t, Collective: model.Collective{Kind: kind}, Size: bytes * int64(t.Ranks)}
	if p.Cost, err = model.ParseCostModel(x.cost); err != nil {
		return nil, fmt.Errorf("cost: %w", err)
	}
	if int64(p.DefaultChunks(chunks)) > p.Space() {
		return nil, fmt.Errorf("a share of %s: want a byte or more a chunk", share)
	}
	p = p.WithChunks(p.DefaultChunks(chunks))
	return p, p.Validate()
}

// contender is a method with its schedule of a problem, proved.
type contender struct {
	Method    string
	Makespan  model.Time
	Transfers int
	Solving   time.Duration
	Replaying time.Duration
	Proved    string // the engines
}

// into sets what a row says of it.
func (c *contender) into(r *repro.Row) {
	r.By, r.Proved, r.Seconds = c.Method, c.Proved, c.Solving.Seconds()
}

// contend runs a method, with this many tries and times the usual effort, and has what it finds proved, by SMT, too, unless there is too much
// of it. It returns nil for a method that does not serve the problem.
func (x *tacosStudy) contend(ctx context.Context, m solve.Solver, p *model.Problem, bound model.Time, kind string, tries, effort int) (*contender, error) {
	if m.Serves(p) != nil {
		return nil, nil
	}
	o := x.Options
	o.Bound, o.Tries, o.Effort = bound, tries, effort
	begin := time.Now()
	r, err := m.Solve(ctx, p, o)
	c := &contender{Method: m.Name(), Solving: time.Since(begin)}
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
	c.Makespan, c.Transfers = r.Makespan(), len(r.Schedule.Transfers)
	used := certify.Engines
	if x.smtTo > 0 && c.Transfers > x.smtTo {
		used = certify.Engines[:1]
	}
	v, err := certify.Verify(ctx, r.Problem, r.Schedule, x.SMT, used)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err == nil {
		c.Proved, err = v.ProvedBy()
	}
	if err == nil {
		err = verify.Below(c.Makespan, bound, kind)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %v: %w", m.Name(), p, err)
	}
	c.Replaying = v.Checking["replay"]
	return c, nil
}

// contest is all methods on one network.
type contest struct {
	Network    network
	NPUs       int
	Collective string
	Bound      model.Time
	Kind       string // of its certificate
	Greedy     *contender
	Baselines  []*contender // nil: does not serve
}

// over is how many times the bound a makespan is.
func (c *contest) over(t model.Time) float64 { return float64(t) / float64(c.Bound) }

// quickest returns the best baseline, or nil.
func (c *contest) quickest() *contender {
	var best *contender
	for _, b := range c.Baselines {
		if b != nil && (best == nil || b.Makespan < best.Makespan) {
			best = b
		}
	}
	return best
}

// certifiedTime returns the best bound of p, which there must be, with its kind.
func certifiedTime(ctx context.Context, p *model.Problem) (model.Time, string, error) {
	c, err := certify.Bound(ctx, p)
	if err != nil {
		return 0, "", err
	}
	if c == nil || c.Bound <= 0 {
		return 0, "", fmt.Errorf("%v: has no bound to compare with", p)
	}
	return c.Bound, c.Witness.Kind(), nil
}

// contest compares all methods on one network.
func (x *tacosStudy) contest(ctx context.Context, n network, collective string) (*contest, error) {
	p, err := x.problem(n, collective, x.share, 1)
	if err != nil {
		return nil, err
	}
	c := &contest{Network: n, NPUs: p.Topology.Ranks, Collective: collective}
	if c.Bound, c.Kind, err = certifiedTime(ctx, p); err != nil {
		return nil, err
	}
	if c.Greedy, err = x.contend(ctx, methodOf("tacos"), p, c.Bound, c.Kind, x.Options.Tries, x.Options.Effort); err != nil {
		return nil, err
	}
	if c.Greedy == nil {
		return nil, fmt.Errorf("tacos: does not serve %v", p)
	}
	for _, name := range tacosBaselines {
		b, err := x.contend(ctx, methodOf(name), p, c.Bound, c.Kind, x.Options.Tries, x.Options.Effort)
		if err != nil {
			return nil, err
		}
		c.Baselines = append(c.Baselines, b)
	}
	return c, nil
}
