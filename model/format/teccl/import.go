package teccl

import (
	"fmt"
	"math/big"
	"slices"

	"github.com/oraccl/oraccl/model"
)

// Truth is what the schedule of a file is to be judged by.
type Truth struct {
	Topology   *model.Topology
	Collective *model.Collective // nil: allgather, or alltoall where flows have volumes
	Chunks     int               // a rank, or a pair of ranks; 0: as many as the flows have
	Size       int64             // bytes, as in model.Problem; 0: what the bandwidth claimed implies
}

// Plan is when the transfers of an imported schedule start, in epochs.
type Plan struct {
	Epoch  *big.Rat   // picoseconds
	Bytes  *big.Rat   // of a chunk
	Epochs int        // that the file says it needs
	Start  []int      // the epoch of each transfer
	Volume []*big.Rat // what part of the chunk it is; nil: all of each
}

// Import puts the file into our terms: transfers without order or time, and the plan that
// says when they start. What the order is follows from when they arrive, which is for a
// verifier to say.
func (f *File) Import(truth Truth) (*model.Imported, *Plan, error) {
	t := truth.Topology
	p := &model.Problem{Topology: t, Cost: model.Pipelined}
	m := &model.Imported{Tool: Tool, Problem: p, Schedule: &model.Schedule{Form: model.Ordered}}
	number := f.numbering(t)
	if number == nil {
		return nil, nil, fmt.Errorf("the file has %d nodes, %s has %d, ranks and switches", f.Nodes(), t.Name, t.Nodes())
	}
	plan := &Plan{Epoch: new(big.Rat).Mul(digits(f.Epoch, 12), big.NewRat(1e12, 1)), Epochs: f.Epochs}
	switch {
	case truth.Collective != nil:
		p.Collective = *truth.Collective
	case f.volumes():
		p.Collective = model.Collective{Kind: model.AllToAll}
	default:
		p.Collective = model.Collective{Kind: model.AllGather}
	}
	if truth.Collective == nil {
		m.Notes.Add(model.Assumed, "an %v: the file does not name its collective; --collective does", p.Collective.Kind)
	}
	if k := p.Collective.Kind; k != model.AllGather && k != model.AllToAll {
		return nil, nil, fmt.Errorf("%v: its schedules are all-gathers and all-to-alls", p.Collective)
	}
	c := &importer{f: f, m: m, plan: plan, number: number}
	if err := c.size(truth); err != nil {
		return nil, nil, err
	}
	c.claims()
	c.idle()
	if err := c.transfers(); err != nil {
		return nil, nil, err
	}
	m.Source = func(i int) string { return c.from[i].name() }
	return m, plan, nil
}

// volumes reports whether flows have volumes, as those of all-to-alls do.
func (f *File) volumes() bool {
	return slices.ContainsFunc(f.Flows, func(x Flow) bool { return x.Volume != nil })
}

// fluid reports whether flows are parts of chunks.
func (f *File) fluid() bool {
	return slices.ContainsFunc(f.Flows, func(x Flow) bool { return x.Volume != nil && x.Volume.Cmp(big.NewRat(9999, 10000)) < 0 })
}

type importer struct {
	f      *File
	m      *model.Imported
	plan   *Plan
	number []int
	chunks int    // a rank, or a pair of ranks
	from   []Flow // of each transfer
	links  links
	routes map[string]int32
}

// size finds the chunks and how large they are.
func (c *importer) size(truth Truth) error {
	p, n := c.m.Problem, int64(c.m.Problem.Topology.Ranks)
	most := 0
	for _, flow := range c.f.Flows {
		most = max(most, flow.Chunk+1)
	}
	c.chunks = max(most, 1)
	if p.Collective.Kind == model.AllToAll { // chunk c of a rank is for its (c mod n)-th
		c.chunks = max(1, int((int64(most)+n-1)/n))
	}
	if truth.Chunks > 0 {
		c.chunks = truth.Chunks
	}
	if int64(c.chunks) > model.MaxChunks/n/n {
		return fmt.Errorf("%d chunks per rank: more than %d in all", c.chunks, model.MaxChunks)
	}
	per := n * int64(c.chunks) // chunks of a rank's buffer
	switch {
	case truth.Size > 0:
		p.Size = truth.Size
		c.plan.Bytes = big.NewRat(truth.Size, per)
	case c.f.Bandwidth > 0 && c.f.Epochs > 0:
		// bandwidth = ranks · chunk / time
		v := c.f.Bandwidth * 1e9 * c.f.Epoch * float64(c.f.Epochs) / float64(n)
		if v*float64(per) > model.MaxSize || v*float64(per) < 1 {
			return fmt.Errorf("5-Algo_Bandwidth: %v GB/s makes chunks of %v bytes, want a size that can be", c.f.Bandwidth, v)
		}
		c.plan.Bytes = digits(v, 9)
		whole := new(big.Rat).Mul(c.plan.Bytes, big.NewRat(per, 1))
		whole.Add(whole, big.NewRat(1, 2))
		p.Size = new(big.Int).Quo(whole.Num(), whole.Denom()).Int64()
		c.m.Notes.Add(model.Assumed, "%d bytes: the size at which the bandwidth that the file claims is that of its time; --size sets it", max(p.Size, per))
	default:
		return fmt.Errorf("5-Algo_Bandwidth is missing, so that nothing says how large the chunks are")
	}
	if p.Size < per {
		p.Size = per // chunks of less than a byte; the plan has their true size
	}
	p.Chunks = p.Cut(p.DefaultChunks(c.chunks))
	return p.Validate()
}

// claims checks what the file says of itself against itself.
func (c *importer) claims() {
	f := c.f
	if want := f.Epoch * float64(f.Epochs); f.Finish != 0 && (f.Finish < want*(1-1e-9) || f.Finish > want*(1+1e-9)) {
		c.m.Object("malformed", "4-Collective_Finish_Time", fmt.Sprintf("%v s, want %v s, %d epochs of %v s", f.Finish, want, f.Epochs, f.Epoch))
	}
}

// idle finds ranks that the file leaves out: they neither send nor receive.
func (c *importer) idle() {
	t := c.m.Problem.Topology
	takes := make([]bool, t.Nodes())
	via := make([]int, t.Nodes())
	for _, flow := range c.f.Flows {
		takes[c.number[flow.From]] = true
		takes[c.number[flow.To]] = true
		for _, v := range flow.Via {
			via[c.number[v]]++
		}
	}
	for _, r := range c.m.Problem.Members() {
		switch {
		case takes[r]:
		case via[r] > 0:
			c.m.Object("missing-contribution", t.NodeName(r), fmt.Sprintf("is neither source nor destination of any flow, so that nothing of it reaches others and nothing reaches it: the file takes it for a switch, in %d flows, and %s has no switch there", via[r], t.Name))
		default:
			c.m.Object("missing-contribution", t.NodeName(r), "is neither source nor destination of any flow, so that nothing of it reaches others and nothing reaches it")
		}
	}
}

// chunk returns the chunk of the problem that is the c-th of a rank; ok is false where
// there is no such chunk. Of an all-to-all it is for the rank c modulo their number.
func (c *importer) chunk(owner, number int) (chunk int, ok bool) {
	n := c.m.Problem.Topology.Ranks
	if c.m.Problem.Collective.Kind == model.AllToAll {
		return (owner*n+number%n)*c.chunks + number/n, number < n*c.chunks
	}
	return owner*c.chunks + number, number < c.chunks
}

// transfers makes the transfers, each over the links that its flow names.
func (c *importer) transfers() error {
	t := c.m.Problem.Topology
	c.links, c.routes = linksOf(t), map[string]int32{}
	if c.f.fluid() {
		if c.f.Paths == nil {
			c.m.Undecided = "flows carry parts of chunks, and no chunk paths say how they go on"
			return nil
		}
		return c.split()
	}
	for _, flow := range c.f.Flows {
		if owner := c.number[flow.Source]; t.IsRank(owner) {
			chunk, ok := c.chunk(owner, flow.Chunk)
			if !ok {
				c.m.Object("malformed", flow.name(), fmt.Sprintf("chunk %d does not exist with %d chunks per rank or pair", flow.Chunk, c.chunks))
				continue
			}
			c.transfer(flow, chunk, nil)
		} else {
			c.atSwitch(flow)
		}
	}
	return nil
}

func (c *importer) atSwitch(flow Flow) {
	if c.m.Undecided == "" {
		c.m.Undecided = flow.name() + ": begins or ends at a switch; only flows from rank to rank are read"
	}
}

// transfer adds the transfer of a flow, of a part of its chunk or, if that is nil, of all of it.
func (c *importer) transfer(flow Flow, chunk int, volume *big.Rat) {
	t, s := c.m.Problem.Topology, c.m.Schedule
	for _, v := range append([]int{flow.From, flow.To}, flow.Via...) {
		if v >= len(c.number) {
			c.m.Object("no-such-link", flow.name(), fmt.Sprintf("%s has no node %d", t.Name, v))
			return
		}
	}
	src, dst := c.number[flow.From], c.number[flow.To]
	if !t.IsRank(src) || !t.IsRank(dst) {
		c.atSwitch(flow)
		return
	}
	route, missing := c.links.route(flow, c.number)
	if route == nil {
		c.m.Object("no-such-link", flow.name(), fmt.Sprintf("%s has no link from %s to %s%s", t.Name, t.NodeName(missing[0]), t.NodeName(missing[1]), numbered(t, c.number)))
		return
	}
	key := fmt.Sprint(route)
	id, known := c.routes[key]
	if !known {
		id = int32(len(s.Routes))
		c.routes[key] = id
		s.Routes = append(s.Routes, route)
	}
	s.Transfers = append(s.Transfers, model.Transfer{Chunk: int32(chunk), Src: int32(src), Dst: int32(dst), Route: id})
	s.After = append(s.After, nil)
	c.plan.Start = append(c.plan.Start, flow.Epoch)
	c.from = append(c.from, flow)
	if volume != nil {
		c.plan.Volume = append(c.plan.Volume, volume)
	}
}
