// Package instance makes the problem that the flags of a command describe: a topology by
// name or from a file, what has failed of it, a collective, a size and so on. It reads no
// file itself: Files does.
package instance

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/machines"
	"github.com/oraccl/oraccl/model/topo"
	"github.com/oraccl/oraccl/model/traffic"
)

// Flags describe a problem, as the words of a command line do. Those that Define and
// DefineCut declare have their values; Fail is the caller's to declare.
type Flags struct {
	Alpha, Bandwidth string   // of a generator's links
	Scale            string   // an efficiency of all links, or of classes
	NoInNetwork      bool     // switches only forward
	Fail             []string // link:U-V or rank:R
	File             string   // a problem; "": it is described by the rest

	Collective  string // a name or a file; or a name of package traffic with its sizes, see Spelled
	Sizes       string // a file of the sizes of a collective of package traffic
	Permutation string // of the collective permutation
	Root        int
	Group       string // ranks, such as 0-3,8; "": all
	DType       string // the type of the numbers; "": not stated
	Size        string
	Cost        string // "": by Objective
	Straggler   int    // -1: nobody is late by Delay alone
	Delay       string

	Objective   string // makespan or rounds; "" is makespan
	Chunks      int    // a rank; 0: the cut is left open
	TotalChunks int    // 0: see Chunks
}

// FlagSet declares flags, as those of package flag and of others do.
type FlagSet interface {
	StringVar(p *string, name, value, usage string)
	IntVar(p *int, name string, value int, usage string)
	BoolVar(p *bool, name string, value bool, usage string)
}

// Define declares the flags that describe what is asked for on a topology.
func (f *Flags) Define(set FlagSet) {
	set.StringVar(&f.Collective, "collective", "", "broadcast, scatter, gather, reduce, allgather, reducescatter, allreduce, alltoall, one of "+strings.Join(traffic.Names(), ", ")+", or a JSON `file`; alltoallv:FILE.csv and permutation:shift:1 stand for two flags")
	set.StringVar(&f.Size, "size", DefaultSize, "buffer in `bytes` per rank, as NCCL-tests counts (allgather, reducescatter: the larger buffer; halo, permutation: what goes to one rank)")
	set.StringVar(&f.Sizes, "sizes", "", "CSV `file` of bytes: for alltoallv a matrix, senders by receivers; for allgatherv and the like a number for each rank; for halo one for each number of coordinates that differ")
	set.StringVar(&f.Permutation, "permutation", "", "with --collective permutation: `where` each rank sends: 1,0,3,2 or shift:K, reverse or transpose")
	set.StringVar(&f.DType, "dtype", "", "element `type` of the buffer, for switches that add some alone: fp16, bf16, fp32, int32 and others (default: one that they add)")
	set.StringVar(&f.Cost, "cost", "", "cost `model`: blocking, pipelined, rounds (one send and one receive per rank) or link-rounds (one chunk per link); by default pipelined")
	set.IntVar(&f.Root, "root", 0, "root `rank` of broadcast, scatter, gather, reduce, gatherv, scatterv")
	set.StringVar(&f.Group, "group", "", "the `ranks` that take part, such as 0-3,8, machine:1, rail:0 or a group's name (default: all)")
	f.DefineWires(set)
	set.IntVar(&f.Straggler, "straggler", -1, "`rank` that arrives late, by --delay")
	set.StringVar(&f.Delay, "delay", "", "how late: a `time` for --straggler, or a list of ranks and times such as 3=1.2ms,5=0.4ms")
}

// DefineWires declares the flags that set what links are like.
func (f *Flags) DefineWires(set FlagSet) {
	set.StringVar(&f.Alpha, "alpha", "", "latency of the links of a named topology: a `time` such as 500ns, or one per dimension, separated by commas; of any topology, that of each link of some classes: nvlink=350ns,nic=1.3us")
	set.StringVar(&f.Bandwidth, "bandwidth", "", "bandwidth of the links of a named topology: a `rate` such as 50GiB/s, or one per dimension; of any topology, that of each link of some classes: nic=25GB/s")
	set.StringVar(&f.Scale, "scale", "", "measured `efficiency`, by which the bandwidths of all links, or of some classes, are multiplied: 0.9 or nvlink=0.9,nic=0.85")
	set.BoolVar(&f.NoInNetwork, "no-in-network", false, "take the switches as ones that neither add nor multicast")
}

// DefineCut declares the flags that describe how the buffer is cut into chunks, and what is
// to be minimised.
func (f *Flags) DefineCut(set FlagSet) {
	set.IntVar(&f.Chunks, "chunks", 0, "chunks per rank: `K`·n in all; K for broadcast and reduce, K·n² for alltoall (default: each method's own)")
	set.IntVar(&f.TotalChunks, "total-chunks", 0, "`M` chunks in total, for any number of ranks")
	set.StringVar(&f.Objective, "objective", "makespan", "`what` to minimise: makespan or rounds, with which --cost is link-rounds by default")
}

// DefineFile declares the flag that names the file of a whole problem.
func (f *Flags) DefineFile(set FlagSet) {
	set.StringVar(&f.File, "problem", "", "the problem of this JSON `file`, instead of TOPO, --collective and the rest but the cut and the objective")
}

// The usage of --fail, and the default of --size.
const (
	FailUsage   = "`what` has failed: link:U-V (both ways) or rank:R; other flags count the ranks that are left, from 0"
	DefaultSize = "8MiB"
)

// Error is an error with a way out.
type Error struct {
	error
	Hint string
}

// Unwrap returns the error without the hint.
func (e *Error) Unwrap() error { return e.error }

// UnknownCollectiveError is the error for a collective that is neither a kind nor a file.
type UnknownCollectiveError struct{ Name string }

func (e *UnknownCollectiveError) Error() string {
	return fmt.Sprintf("--collective %q: no such file; want a file, or broadcast, scatter, gather, reduce, allgather, reducescatter, allreduce, alltoall, %s", e.Name, strings.Join(traffic.Names(), ", "))
}

// Files reads the files that flags name.
type Files interface {
	Exists(name string) bool
	// Topology reads the topology of a file; alpha and bandwidth are those of the flags.
	Topology(name, alpha, bandwidth string) (*model.Topology, error)
	Collective(name string) (*model.Collective, error)
	Problem(name string) (*model.Problem, error)
	Sizes(name string) (*traffic.Table, error)
}

// Problem returns the problem that the flags describe on a topology, by name or from a file, or
// that of the file in.File, where topology is not used. Errors name the flag that is wrong.
func (in *Flags) Problem(files Files, topology string) (*model.Problem, error) {
	var p *model.Problem
	var err error
	if in.File != "" {
		p, err = in.fromFile(files)
	} else {
		p, err = in.described(files, topology)
	}
	if err != nil {
		return nil, err
	}
	if err := connected(p.Topology); err != nil {
		return nil, &Error{err, "a collective needs a path from every rank to every other"}
	}
	if in.Chunks < 0 || in.Chunks > model.MaxChunks {
		return nil, fmt.Errorf("--chunks %d: want 1 to %d chunks per rank", in.Chunks, model.MaxChunks)
	}
	if in.TotalChunks != 0 {
		return in.cutInto(p)
	}
	if in.Chunks == 0 {
		return p, nil
	}
	n := len(p.Members())
	if c := p.Collective.Kind; c == model.AllToAll && in.Chunks*n > model.MaxChunks/n || in.Chunks > model.MaxChunks/n {
		return nil, fmt.Errorf("--chunks %d: makes more than %d chunks with %d ranks", in.Chunks, model.MaxChunks, n)
	}
	total := p.DefaultChunks(in.Chunks)
	if total > model.MaxChunks {
		return nil, fmt.Errorf("--chunks %d: makes %d chunks, want at most %d", in.Chunks, total, model.MaxChunks)
	}
	if int64(total) > p.Space() {
		return nil, fmt.Errorf("--chunks %d: %d chunks of %d bytes in all, want at least one byte a chunk", in.Chunks, total, p.Space())
	}
	p = p.WithChunks(total)
	return p, p.Validate()
}

// fromFile returns the problem of the file that the flags name.
func (in *Flags) fromFile(files Files) (*model.Problem, error) {
	p, err := files.Problem(in.File)
	if err != nil {
		return nil, err
	}
	if p.Chunks != nil && (in.Chunks != 0 || in.TotalChunks != 0) {
		return nil, fmt.Errorf("--chunks: %s cuts the buffer into %d chunks itself", in.File, len(p.Chunks))
	}
	if in.Objective == "rounds" && !p.Cost.Synchronous() {
		return nil, fmt.Errorf("--objective rounds: does not go with the cost model of %s, %v, which has none", in.File, p.Cost)
	}
	return p, objectiveKnown(in.Objective)
}

func objectiveKnown(name string) error {
	if name != "" && name != "makespan" && name != "rounds" {
		return fmt.Errorf("--objective %q: want makespan or rounds", name)
	}
	return nil
}

// described returns the problem that the flags describe, without a cut.
func (in *Flags) described(files Files, topology string) (*model.Problem, error) {
	in, err := in.unfolded(files)
	if err != nil {
		return nil, err
	}
	t, err := LoadTopology(files, topology, in.Alpha, in.Bandwidth)
	if err == nil {
		t, err = Scaled(t, in.Scale)
	}
	if err != nil {
		return nil, err
	}
	if t, err = Failed(t, in.Fail); err != nil {
		return nil, err
	}
	if t, err = Forwarding(t, in.NoInNetwork); err != nil {
		return nil, err
	}
	p := &model.Problem{Topology: t}
	size, wrong := model.ParseBytes(in.Size)
	if p.Collective, err = in.collective(files, t, size); err != nil {
		return nil, err
	}
	if in.DType != "" {
		if p.Collective.DType, err = model.ParseDType(in.DType); err != nil {
			return nil, fmt.Errorf("--dtype: %w", err)
		}
	}
	if p.Size = size; wrong != nil {
		return nil, fmt.Errorf("--size: %w", wrong)
	}
	if ends := p.Collective.Ends; ends != nil {
		sum := ends[len(ends)-1]
		if in.sized() && in.Size != DefaultSize && p.Size != sum {
			return nil, fmt.Errorf("--size %s: the sizes are %d bytes in all", in.Size, sum)
		}
		p.Size = sum
	}
	cost := in.Cost
	if cost == "" {
		cost = map[bool]string{true: "link-rounds", false: "pipelined"}[in.Objective == "rounds"]
	}
	if p.Cost, err = model.ParseCostModel(cost); err != nil {
		return nil, fmt.Errorf("--cost: %w", err)
	}
	if err := objectiveKnown(in.Objective); err != nil {
		return nil, err
	}
	if in.Objective == "rounds" && !p.Cost.Synchronous() {
		return nil, &Error{fmt.Errorf("--objective rounds: does not go with --cost %v, which has none", p.Cost), "leave --cost out, or say --cost rounds or link-rounds"}
	}
	if p.Release, err = in.release(t.Ranks); err != nil {
		return nil, err
	}
	return p, p.Validate()
}

// LoadTopology reads a topology file, or builds the topology of that name.
func LoadTopology(files Files, name, alpha, bandwidth string) (*model.Topology, error) {
	if ranges, err := (&Flags{Alpha: alpha, Bandwidth: bandwidth}).Ranges(); err != nil {
		return nil, err
	} else if len(ranges) > 0 {
		return nil, ranges[0].Refused()
	}
	if files.Exists(name) {
		return files.Topology(name, alpha, bandwidth)
	}
	t, err := Generated(name, alpha, bandwidth)
	if err != nil && strings.ContainsAny(name, "/.") {
		return nil, fmt.Errorf("%s: no such file, nor the name of a topology", name)
	}
	return t, err
}

// Generated builds the topology of that name, with the values of --alpha and --bandwidth.
func Generated(name, alpha, bandwidth string) (*model.Topology, error) {
	alpha, bandwidth, classes := ByClass(alpha, bandwidth)
	var o topo.Options
	for _, s := range List(alpha) {
		t, err := model.ParseTime(s)
		if err != nil {
			return nil, fmt.Errorf("--alpha: %w", err)
		}
		o.Alpha = append(o.Alpha, t)
	}
	for _, s := range List(bandwidth) {
		r, err := model.ParseRate(s)
		if err != nil {
			return nil, fmt.Errorf("--bandwidth: %w", err)
		}
		o.Bandwidth = append(o.Bandwidth, r)
	}
	t, err := topo.Parse(name, o)
	if err != nil {
		return nil, err
	}
	return classes(t)
}

// sized reports whether the sizes of the collective are in a file, where it has sizes.
func (in *Flags) sized() bool { return in.Sizes != "" || !traffic.Is(in.Collective) }

// collective returns the collective that the flags name.
func (in *Flags) collective(files Files, t *model.Topology, size int64) (model.Collective, error) {
	if in.Collective == "" {
		return model.Collective{}, errors.New("--collective: missing, want broadcast, scatter, gather, reduce, allgather, reducescatter, allreduce, alltoall or a JSON file")
	}
	group, err := parseGroup(in.Group, t)
	if err != nil {
		return model.Collective{}, err
	}
	if traffic.Is(in.Collective) && !files.Exists(in.Collective) {
		return in.traffic(files, t, group, size)
	}
	kind, err := model.KindNamed(in.Collective)
	standard := err == nil && kind != model.Custom
	switch {
	case !standard && !files.Exists(in.Collective):
		return model.Collective{}, &UnknownCollectiveError{in.Collective}
	case in.Sizes != "":
		return model.Collective{}, fmt.Errorf("--sizes: %s has equal shards, or states its sizes itself", in.Collective)
	case in.Permutation != "":
		return model.Collective{}, errNoPermutation
	case standard:
		if in.Root != 0 && !kind.Rooted() {
			return model.Collective{}, fmt.Errorf("--root: %v has no root", kind)
		}
		return model.Collective{Kind: kind, Root: in.rootFor(kind, group), Group: group}, nil
	}
	c, err := files.Collective(in.Collective)
	if err != nil {
		return model.Collective{}, err
	}
	if in.Root != 0 {
		return model.Collective{}, errors.New("--root: the collective's file names its root, if it has one")
	}
	if group != nil {
		return model.Collective{}, errors.New("--group: the collective's file states which ranks take part")
	}
	if in.DType != "" {
		return model.Collective{}, errors.New("--dtype: the collective's file states the type of its elements")
	}
	return *c, nil
}

// rootFor returns the root to use: where the group leaves rank 0 out and no root
// was asked for, its first member.
func (in *Flags) rootFor(kind model.Kind, group []int) int {
	switch {
	case !kind.Rooted():
		return 0
	case in.Root == 0 && len(group) > 0:
		for _, r := range group {
			if r == 0 {
				return 0
			}
		}
		return group[0]
	}
	return in.Root
}

// parseGroup reads a list such as "0-3,8", or "machine:1" or "rail:0", of which package machines tells which
// ranks they are, or the name of a group of t. Empty: nil, all ranks.
func parseGroup(s string, t *model.Topology) ([]int, error) {
	ranks := t.Ranks
	if s == "" {
		return nil, nil
	}
	var group []int
	for _, part := range List(s) {
		named, is, err := namedGroup(part, t)
		if err != nil {
			return nil, err
		}
		if is {
			group = append(group, named...)
			continue
		}
		first, last, isRange := strings.Cut(part, "-")
		from, err := strconv.Atoi(first)
		to := from
		if err == nil && isRange {
			to, err = strconv.Atoi(last)
		}
		if err != nil || from > to || from < 0 || to >= ranks {
			return nil, fmt.Errorf("--group %q: want ranks 0 to %d and ranges of them, such as 0-3,8, or machine:0 or rail:0, or a group of the topology's file", part, ranks-1)
		}
		for r := from; r <= to; r++ {
			group = append(group, r)
		}
	}
	return group, nil
}

// namedGroup returns the ranks of machine:I or rail:I, or of a group of that name; is is false for
// other words.
func namedGroup(s string, t *model.Topology) (ranks []int, is bool, err error) {
	what, number, _ := strings.Cut(s, ":")
	if g := t.GroupNamed(s); g != nil {
		return g.Ranks, true, nil
	}
	var list [][]int
	switch what {
	case "machine":
		list = machines.Ranks(t)
	case "rail":
		if list = machines.Rails(t); list == nil {
			return nil, true, fmt.Errorf("--group %q: %s has no rails, which need two or more machines of one size", s, t.Name)
		}
	default:
		return nil, false, nil
	}
	i, err := strconv.Atoi(number)
	if err != nil || i < 0 || i >= len(list) {
		return nil, true, fmt.Errorf("--group %q: want %s:0 to %s:%d, which %s has", s, what, what, len(list)-1, t.Name)
	}
	return list[i], true, nil
}

// release returns when each rank arrives, nil if nobody is late.
func (in *Flags) release(ranks int) ([]model.Time, error) {
	if in.Straggler < 0 && in.Delay == "" {
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
	if in.Straggler >= 0 {
		if in.Delay == "" {
			return nil, errors.New("--straggler: also needs --delay, how late that rank is")
		}
		if err := set(in.Straggler, in.Delay); err != nil {
			return nil, fmt.Errorf("--straggler %d --delay %s: %w", in.Straggler, in.Delay, err)
		}
		return release, nil
	}
	for _, part := range List(in.Delay) {
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

// List splits a list at its commas; "" has no elements.
func List(s string) []string {
	if s == "" {
		return nil
	}
	return strings.Split(s, ",")
}

// cutInto cuts p into as many chunks as --total-chunks says.
func (in *Flags) cutInto(p *model.Problem) (*model.Problem, error) {
	m := in.TotalChunks
	switch {
	case in.Chunks != 0:
		return nil, errors.New("--total-chunks: does not go with --chunks, which says the same otherwise")
	case m < 1 || m > model.MaxChunks:
		return nil, fmt.Errorf("--total-chunks %d: want 1 to %d chunks", m, model.MaxChunks)
	case m%p.Shards() != 0:
		return nil, fmt.Errorf("--total-chunks %d: want a multiple of %d, the parts of the %v that start or end apart", m, p.Shards(), p.Collective.Kind)
	case int64(m) > p.Space():
		return nil, fmt.Errorf("--total-chunks %d: there are %d bytes, want at least one per chunk", m, p.Space())
	}
	p = p.WithChunks(m)
	return p, p.Validate()
}
