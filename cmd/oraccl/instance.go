package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/files"
	"github.com/oraccl/oraccl/model/native"
	"github.com/oraccl/oraccl/model/topo"
	"github.com/oraccl/oraccl/solve/place"
)

// instance holds the flags that describe a problem; solve, gap and bound share them.
type instance struct {
	alpha, bandwidth string
	collective       string
	root             int
	group            string
	size             string
	chunks           int
	totalChunks      int
	cost             string
	objective        string
	straggler        int
	delay            string
	fail             []string
}

// addFlags declares the flags of an instance.
func (in *instance) addFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&in.collective, "collective", "", "broadcast, scatter, gather, reduce, allgather, reducescatter, allreduce, alltoall, or a JSON `file`")
	f.StringVar(&in.size, "size", "8MiB", "buffer in `bytes` a rank, as NCCL-tests counts (allgather, reducescatter: the larger buffer)")
	f.IntVar(&in.chunks, "chunks", 0, "chunks a rank: `K`·n in all; K for broadcast and reduce, K·n² for alltoall (default: each method's own)")
	f.IntVar(&in.totalChunks, "total-chunks", 0, "chunks in all, `M`, whatever the number of ranks")
	f.StringVar(&in.cost, "cost", "", "cost `model`: blocking, pipelined, rounds (one send and one receive a rank) or link-rounds (one chunk a link); by default pipelined, with --objective rounds link-rounds")
	f.StringVar(&in.objective, "objective", "makespan", "`what` to minimise: makespan or rounds")
	f.IntVar(&in.root, "root", 0, "root `rank` of broadcast, scatter, gather, reduce")
	f.StringVar(&in.group, "group", "", "the `ranks` that take part, such as 0-3,8 (default: all)")
	f.StringVar(&in.alpha, "alpha", "", "latency of a generator's links, a `time` such as 500ns, or one a dimension, separated by commas")
	f.StringVar(&in.bandwidth, "bandwidth", "", "bandwidth of a generator's links, a `rate` such as 50GiB/s, or one a dimension")
	f.IntVar(&in.straggler, "straggler", -1, "`rank` that arrives late, by --delay")
	f.Lookup("straggler").DefValue = "0" // -1 is nobody, which the help need not say
	f.StringVar(&in.delay, "delay", "", "how late: a `time` for --straggler, or a list such as 3=1.2ms,5=0.4ms")
	f.StringSliceVar(&in.fail, "fail", nil, "`what` has failed: link:U-V (both ways) or rank:R; other flags count the ranks that are left, from 0")
}

// problem builds the problem that the flags describe on the topology named topology.
func (in *instance) problem(ctx context.Context, topology string) (*model.Problem, error) {
	t, err := loadTopology(ctx, topology, in.alpha, in.bandwidth)
	if err != nil {
		return nil, err
	}
	if t, err = failed(t, in.fail); err != nil {
		return nil, err
	}
	p := &model.Problem{Topology: t}
	if p.Collective, err = in.loadCollective(ctx, t); err != nil {
		return nil, err
	}
	if p.Size, err = model.ParseBytes(in.size); err != nil {
		return nil, fmt.Errorf("--size: %w", err)
	}
	if in.cost == "" {
		in.cost = map[bool]string{true: "link-rounds", false: "pipelined"}[in.objective == "rounds"]
	}
	if p.Cost, err = model.ParseCostModel(in.cost); err != nil {
		return nil, fmt.Errorf("--cost: %w", err)
	}
	switch in.objective {
	case "makespan":
	case "rounds":
		if !p.Cost.Synchronous() {
			return nil, hinted{fmt.Errorf("--objective rounds: does not go with --cost %v, which has none", p.Cost), "leave --cost out, or say --cost rounds or link-rounds"}
		}
	default:
		return nil, fmt.Errorf("--objective %q: want makespan or rounds", in.objective)
	}
	if p.Release, err = in.release(t.Ranks); err != nil {
		return nil, err
	}
	if err := p.Validate(); err != nil {
		return nil, err
	}
	if err := place.Reachable(p.Topology); err != nil {
		return nil, hinted{err, "a collective needs a path from every rank to every other"}
	}
	if in.chunks < 0 || in.chunks > model.MaxChunks {
		return nil, fmt.Errorf("--chunks %d: want 1 to %d chunks a rank", in.chunks, model.MaxChunks)
	}
	if in.totalChunks != 0 {
		return in.cutInto(p)
	}
	if in.chunks == 0 {
		return p, nil
	}
	n := len(p.Members())
	if c := p.Collective.Kind; c == model.AllToAll && in.chunks*n > model.MaxChunks/n || in.chunks > model.MaxChunks/n {
		return nil, fmt.Errorf("--chunks %d: makes more than %d chunks with %d ranks", in.chunks, model.MaxChunks, n)
	}
	total := p.DefaultChunks(in.chunks)
	if int64(total) > p.Space() {
		return nil, fmt.Errorf("--chunks %d: %d chunks of %d bytes in all, want at least one byte a chunk", in.chunks, total, p.Space())
	}
	p = p.WithChunks(total)
	return p, p.Validate()
}

// loadTopology reads a topology file, or builds the topology of that name.
func loadTopology(ctx context.Context, name, alpha, bandwidth string) (*model.Topology, error) {
	if files.Exists(name) {
		return readFile(ctx, name, func(name string, b []byte) (*model.Topology, error) {
			return readTopology(name, b, alpha, bandwidth)
		})
	}
	t, err := generated(name, alpha, bandwidth)
	if err != nil && strings.ContainsAny(name, "/.") {
		return nil, fmt.Errorf("%s: no such file, nor the name of a topology", name)
	}
	return t, err
}

// generated builds the topology of that name.
func generated(name, alpha, bandwidth string) (*model.Topology, error) {
	var o topo.Options
	for _, s := range splitList(alpha) {
		t, err := model.ParseTime(s)
		if err != nil {
			return nil, fmt.Errorf("--alpha: %w", err)
		}
		o.Alpha = append(o.Alpha, t)
	}
	for _, s := range splitList(bandwidth) {
		r, err := model.ParseRate(s)
		if err != nil {
			return nil, fmt.Errorf("--bandwidth: %w", err)
		}
		o.Bandwidth = append(o.Bandwidth, r)
	}
	return topo.Parse(name, o)
}

// readFile reads a whole file with one of model's readers.
func readFile[T any](ctx context.Context, name string, read func(name string, b []byte) (T, error)) (T, error) {
	b, err := files.Read(ctx, name)
	if err != nil {
		var zero T
		return zero, err
	}
	return read(name, b)
}

func (in *instance) loadCollective(ctx context.Context, t *model.Topology) (model.Collective, error) {
	if in.collective == "" {
		return model.Collective{}, errors.New("--collective: missing, want broadcast, scatter, gather, reduce, allgather, reducescatter, allreduce, alltoall or a JSON file")
	}
	group, err := parseGroup(in.group, t.Ranks)
	if err != nil {
		return model.Collective{}, err
	}
	kind, err := model.ParseKind(in.collective)
	if err == nil && kind != model.Custom {
		return model.Collective{Kind: kind, Root: in.rootFor(kind, group), Group: group}, nil
	}
	if !files.Exists(in.collective) {
		err := fmt.Errorf("--collective %q: no such file; want a file, or broadcast, scatter, gather, reduce, allgather, reducescatter, allreduce or alltoall", in.collective)
		var names []string
		for _, k := range model.Kinds() {
			names = append(names, k.String())
		}
		if near := nearest(in.collective, names); len(near) > 0 {
			return model.Collective{}, hinted{err, "did you mean " + strings.Join(near, " or ") + "?"}
		}
		return model.Collective{}, err
	}
	c, err := readFile(ctx, in.collective, func(name string, b []byte) (*model.Collective, error) {
		return native.ReadCollective(name, bytes.NewReader(b))
	})
	if err != nil {
		return model.Collective{}, err
	}
	if group != nil {
		return model.Collective{}, errors.New("--group: the collective's file says which ranks take part")
	}
	return *c, nil
}

// rootFor returns the root to use: where the group leaves rank 0 out and no root
// was asked for, its first member.
func (in *instance) rootFor(kind model.Kind, group []int) int {
	switch {
	case !kind.Rooted():
		return 0
	case in.root == 0 && len(group) > 0:
		for _, r := range group {
			if r == 0 {
				return 0
			}
		}
		return group[0]
	}
	return in.root
}

// parseGroup reads a list such as "0-3,8". Empty: nil, all ranks.
func parseGroup(s string, ranks int) ([]int, error) {
	if s == "" {
		return nil, nil
	}
	var group []int
	for _, part := range splitList(s) {
		first, last, isRange := strings.Cut(part, "-")
		from, err := strconv.Atoi(first)
		to := from
		if err == nil && isRange {
			to, err = strconv.Atoi(last)
		}
		if err != nil || from > to || from < 0 || to >= ranks {
			return nil, fmt.Errorf("--group %q: want ranks 0 to %d and ranges of them, such as 0-3,8", part, ranks-1)
		}
		for r := from; r <= to; r++ {
			group = append(group, r)
		}
	}
	return group, nil
}

func (in *instance) release(ranks int) ([]model.Time, error) {
	if in.straggler < 0 && in.delay == "" {
		return nil, nil
	}
	release := make([]model.Time, ranks)
	set := func(rank int, delay string) error {
		if rank < 0 || rank >= ranks {
			return fmt.Errorf("rank %d does not exist, want 0 to %d", rank, ranks-1)
		}
		t, err := model.ParseTime(delay)
		if err != nil {
			return err
		}
		release[rank] = t
		return nil
	}
	if in.straggler >= 0 {
		if in.delay == "" {
			return nil, errors.New("--straggler: also needs --delay, how late that rank is")
		}
		if err := set(in.straggler, in.delay); err != nil {
			return nil, fmt.Errorf("--straggler %d --delay %s: %w", in.straggler, in.delay, err)
		}
		return release, nil
	}
	for _, part := range splitList(in.delay) {
		rank, delay, ok := strings.Cut(part, "=")
		r, err := strconv.Atoi(rank)
		if !ok || err != nil {
			return nil, fmt.Errorf("--delay %q: want rank=time, such as 3=1.2ms, or a time with --straggler", part)
		}
		if err := set(r, delay); err != nil {
			return nil, fmt.Errorf("--delay %q: %w", part, err)
		}
	}
	return release, nil
}

func splitList(s string) []string {
	if s == "" {
		return nil
	}
	return strings.Split(s, ",")
}

// gbps returns bytes a time in 10⁹ bytes a second.
func gbps(bytes int64, t model.Time) float64 {
	if t == 0 {
		return 0
	}
	return float64(bytes) * 1e3 / float64(t)
}

// busFactor is what NCCL-tests multiplies algbw by to get busbw.
func busFactor(p *model.Problem) float64 {
	n := float64(len(p.Members()))
	switch p.Collective.Kind {
	case model.AllReduce:
		return 2 * (n - 1) / n
	case model.AllGather, model.ReduceScatter, model.AllToAll, model.Scatter, model.Gather:
		return (n - 1) / n
	}
	return 1
}
