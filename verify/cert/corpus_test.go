package cert_test

import (
	"bytes"
	"context"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/native"
	"github.com/oraccl/oraccl/model/topo"
	"github.com/oraccl/oraccl/verify"
	"github.com/oraccl/oraccl/verify/cert"
)

var update = flag.Bool("update", false, "write the corpus of certificates again")

const corpus = "../../testdata/certificates"

// entry is a certificate of the corpus. Its links take 1 ns a byte and have a
// latency of 100 ns, so that its bound can be computed by hand; why says how.
type entry struct {
	name    string
	problem *model.Problem
	witness model.Witness
	bound   model.Time // nanoseconds
	why     string
}

func network(name string) *model.Topology {
	t, err := topo.Parse(name, topo.Options{})
	if err != nil {
		panic(err)
	}
	for i := range t.Links {
		t.Links[i].Alpha, t.Links[i].Bandwidth = 100*model.Nanosecond, 1e9
	}
	return t
}

func problem(name string, kind model.Kind, size int64, chunks int, cost model.CostModel) *model.Problem {
	p := &model.Problem{Topology: network(name), Collective: model.Collective{Kind: kind}, Size: size, Cost: cost}
	if chunks > 0 {
		p = p.WithChunks(chunks)
	}
	return p
}

func late(p *model.Problem, rank int, by model.Time) *model.Problem {
	p.Release = make([]model.Time, p.Topology.Ranks)
	p.Release[rank] = by
	return p
}

func entries() []entry {
	const pipelined, blocking, rounds = model.Pipelined, model.Blocking, model.Rounds
	ns := model.Nanosecond
	line := func(times ...model.Time) []model.Time {
		for i := range times {
			times[i] *= ns
		}
		return times
	}
	ndv2 := problem("ring:8", model.AllGather, 800, 8, pipelined)
	for i := range ndv2.Topology.Links { // two chassis of four: the links between them are slow
		if l := &ndv2.Topology.Links[i]; l.Src/4 != l.Dst/4 {
			l.Bandwidth = 1e8
		}
	}
	// No relay is in time, so that what rank 0 sends must be on its links 1 ps before 100 ns,
	// where links are busy with latencies, too, 1 ps before 200 ns. In full:3 links 0 and 2 leave rank 0.
	instant, later := []model.Time{100*ns - 1}, []model.Time{200*ns - 1}
	whole := []model.InstantPrice{{Of: 0, Instant: 0, Price: 1}}
	shared := func(chunks ...int) []model.DualGroup {
		return []model.DualGroup{{Chunks: chunks, Demands: []model.DualDemand{
			{Source: 0, Dest: 1, Shares: whole}, {Source: 0, Dest: 2, Shares: []model.InstantPrice{{Of: 2, Instant: 0, Price: 1}}}}}}
	}
	oneAtATime := problem("full:3", model.Broadcast, 100, 1, pipelined)
	oneAtATime.Topology.Ports = []model.Port{{Name: "out", Links: []int{0, 2}, Capacity: 1}}
	multicast := problem("switch:4", model.Broadcast, 100, 1, rounds)
	multicast.Topology.Switches[0].Copies = true
	return []entry{
		{"cut-ring8-alltoall-any-cut", problem("ring:8", model.AllToAll, 800, 0, pipelined), model.Cut{Nodes: []int{0, 1, 2, 3}}, 900,
			"16 pairs of 100 bytes over 2 links, and the latency"},
		{"cut-line4-alltoall-blocking", problem("line:4", model.AllToAll, 400, 16, blocking), model.Cut{Nodes: []int{0, 1}}, 800,
			"4 chunks of 100 bytes over 1 link, each 100+100"},
		{"cut-to-far-rank", ndv2, model.Cut{Nodes: []int{4, 5, 6, 7}, To: []int{1}}, 2500,
			"4 chunks over 2 slow links, 2 of 1000 on each, the latency, and from rank 3 two links of 200 to rank 1"},
		{"cut-from-far-rank", func() *model.Problem { p := *ndv2; p.Collective.Kind = model.ReduceScatter; return &p }(),
			model.Cut{Nodes: []int{0, 1, 2, 3}, From: []int{1}}, 2500, "the same backwards"},
		{"ingress-ring4-allgather", problem("ring:4", model.AllGather, 400, 4, pipelined), model.Ingress{Rank: 2}, 300,
			"3 chunks over 2 links: 2 of them on one, and the latency"},
		{"ingress-ring4-allgather-any-cut", problem("ring:4", model.AllGather, 400, 0, pipelined), model.Ingress{Rank: 2}, 250,
			"300 bytes over 2 links, and the latency"},
		{"ingress-late-rank", late(problem("ring:4", model.AllGather, 400, 4, blocking), 2, 1000*ns), model.Ingress{Rank: 2}, 1400,
			"2 chunks on one link, 200 each, after it has arrived"},
		{"egress-switch4-scatter", problem("switch:4", model.Scatter, 400, 4, pipelined), model.Egress{Rank: 0}, 500,
			"3 chunks over one link, and the latency to the switch and on from it"},
		{"volume-full4-allreduce", problem("full:4", model.AllReduce, 400, 4, pipelined), model.Volume{}, 300,
			"24 transfers over 12 links, 2 on each, and the latency"},
		{"volume-full4-allreduce-rounds", problem("full:4", model.AllReduce, 400, 4, rounds), model.Volume{}, 1200,
			"24 transfers, 4 a round of 200"},
		{"partition-ring4-allreduce", problem("ring:4", model.AllReduce, 400, 4, pipelined), model.Partition{Parts: [][]int{{0, 1}, {2}, {3}}}, 400,
			"16 transfers over 6 links, 3 on one of them, and the latency"},
		{"partition-ring4-alltoall", problem("ring:4", model.AllToAll, 400, 16, pipelined), model.Partition{Parts: [][]int{{0, 1}, {2}, {3}}}, 300,
			"10 transfers over 6 links, 2 on one of them, and the latency"},
		{"crossing-ring4-allreduce", problem("ring:4", model.AllReduce, 800, 4, pipelined), model.Crossing{Parts: [][]int{{0, 1}, {2, 3}}}, 800,
			"8 transfers over 4 links, 400 on each, and the latency; the first 300, in which nothing can be added up, and the last 300, which cannot be passed on, count for half"},
		{"crossing-ring6-allreduce", problem("ring:6", model.AllReduce, 2400, 24, pipelined), model.Crossing{Parts: [][]int{{0, 3}, {1, 4}, {2, 5}}}, 1200,
			"4 transfers over 12 links, 800 on each, and the latency; 200 at first carry half of their part's contributions, and 200 after them half of another one's, too, which is three quarters; likewise at the end"},
		{"prices-ring5-alltoall-any-cut", problem("ring:5", model.AllToAll, 500, 0, pipelined), model.Prices{Links: slices.Repeat([]int64{1}, 10)}, 400,
			"distances of 1, 1, 2, 2 from each of 5 ranks, 100 each, over 10 links, and the latency"},
		{"timed-prices-switch4-alltoall-any-cut", problem("switch:4", model.AllToAll, 400, 0, pipelined), model.TimedPrices{Classes: []model.PriceClass{
			{Links: []int{0, 2, 4, 6}, Pieces: []model.PricePiece{{To: 300 * ns, Price: 300_000, Slope: -1}}},
			{Links: []int{1, 3, 5, 7}, Pieces: []model.PricePiece{{From: 100 * ns, To: 700 * ns, Slope: 1}}}}}, 500,
			"from each rank 300 bytes leave 150 after the start on average, and come to each 150 before the end, with two latencies between"},
		{"timed-prices-line3-gather-late", late(problem("line:3", model.Gather, 300, 3, pipelined), 2, 50*ns), model.TimedPrices{Classes: []model.PriceClass{
			{Links: []int{3}, Pieces: []model.PricePiece{{To: 1000 * ns, Price: 1}}}}}, 450,
			"100 bytes on the link from rank 2 from 50 on, its latency, and 200 from rank 1 on"},
		{"distance-line4-broadcast", problem("line:4", model.Broadcast, 100, 1, pipelined),
			model.Distance{Dest: 3, Potential: line(0, 200, 400, 600)}, 600, "3 links of 100+100"},
		{"distance-switch4-broadcast", problem("switch:4", model.Broadcast, 100, 1, pipelined),
			model.Distance{Dest: 3, Potential: line(0, 300, 300, 300, 200), Head: line(0, 300, 300, 300, 100)}, 300,
			"two latencies and 100 once: the switch is passed cut-through"},
		{"distance-line4-broadcast-any-cut", problem("line:4", model.Broadcast, 100, 0, blocking),
			model.Distance{Chunk: -1, Dest: 3, Potential: line(0, 101, 202, 303)}, 303, "3 links of 100 and a byte"},
		{"doubling-full8-broadcast", problem("full:8", model.Broadcast, 100, 1, rounds), model.Doubling{}, 600, "3 rounds of 200"},
		{"broadcast-full8", problem("full:8", model.Broadcast, 500, 5, rounds), model.Spread{Source: 0}, 1400, "5-1+3 rounds of 200"},
		{"broadcast-full8-late-allreduce", late(problem("full:8", model.AllReduce, 500, 5, rounds), 3, 1000*ns), model.Spread{Source: 3}, 2400,
			"5-1+3 rounds of 200 after it has arrived"},
		{"broadcast-multicast-switch4", multicast, model.Spread{Source: 0}, 300, "one round: the switch copies"},
		{"coverage-switch4-allreduce-any-cut", problem("switch:4", model.AllReduce, 100, 0, pipelined), model.Coverage{Nodes: []int{2}}, 434,
			"of 3 contributions that rank 2 needs one can be on the link to it from 100 on, all 3 from 100+201 on, and the latency after that is 100: T-200 + 2(T-401) = 300"},
		{"coverage-full4-allreduce-any-cut", problem("full:4", model.AllReduce, 398, 0, pipelined), model.Coverage{Nodes: []int{0}}, 300,
			"over each of 3 links one contribution from the start on, 3 from 100+1 on, the latency after them: 3(T-100 + 2(T-201)) = 3·398"},
		{"coverage-line4-broadcast-blocking", problem("line:4", model.Broadcast, 100, 1, blocking), model.Coverage{Nodes: []int{1, 2, 3}, To: []int{3}}, 600,
			"200 on the link from rank 0, and two links of 200 from rank 1 to rank 3"},
		{"coverage-line4-broadcast-any-cut", problem("line:4", model.Broadcast, 106, 0, pipelined), model.Coverage{Nodes: []int{1, 2, 3}}, 307,
			"what enters serves ranks 1, 2, 3 if it has 100, 201, 302 left: T-100 + T-201 + T-302 = 3·106"},
		{"coverage-late-source", late(problem("ring:4", model.AllGather, 400, 4, pipelined), 2, 1000*ns), model.Coverage{Nodes: []int{0}, From: []int{2}}, 1350,
			"its 100 bytes are at ranks 1 and 3 at 1200, and share two links with a latency of 100"},
		{"coverage-switch4-copies", func() *model.Problem { p := *multicast; p.Cost = pipelined; return &p }(), model.Coverage{Nodes: []int{1, 2, 3, 4}}, 300,
			"100 bytes and a latency occupy the link, and after that another latency: the switch serves all three"},
		{"lp-dual-line3-broadcast", problem("line:3", model.Broadcast, 200, 2, pipelined),
			model.LPDual{Instants: instant, Links: whole, Groups: []model.DualGroup{{Chunks: []int{0, 1}, Demands: []model.DualDemand{{Source: 0, Dest: 1}}}}}, 300,
			"to be at rank 1 before 300 both chunks must pay 1, and there is 1"},
		{"lp-dual-full3-broadcast-blocking", problem("full:3", model.Broadcast, 200, 2, blocking),
			model.LPDual{Instants: later, Links: []model.InstantPrice{{Of: 0, Instant: 0, Price: 1}, {Of: 2, Instant: 0, Price: 1}}, Groups: shared(0, 1)}, 400,
			"to be at ranks 1 and 2 before 400 two chunks must pay 1 on each of two links, and there are 2"},
		{"lp-dual-full3-port", oneAtATime, model.LPDual{Instants: instant, Ports: whole, Groups: shared(0)}, 300,
			"to be at ranks 1 and 2 before 300 the chunk must be on both links, which share a port for one"},
		{"lp-dual-full4-rounds", problem("full:4", model.Broadcast, 200, 2, rounds),
			model.LPDual{Instants: later, Sends: whole, Groups: []model.DualGroup{{Chunks: []int{0, 1}, Demands: []model.DualDemand{{Source: 0, Dest: 1}}}}}, 400,
			"to be at rank 1 before 400 both chunks must pay for what rank 0 sends, and it sends one"},
		{"combine-full8-reduce", problem("full:8", model.Reduce, 500, 5, rounds), model.Combine{Dest: 0}, 1400, "5-1+3 rounds of 200"},
	}
}

func certificate(e entry) *model.Certificate {
	return &model.Certificate{Problem: e.problem, Bound: e.bound * model.Nanosecond, Witness: e.witness}
}

// TestByHand insists on the bounds that entries computes by hand.
func TestByHand(t *testing.T) {
	for _, e := range entries() {
		t.Run(e.name, func(t *testing.T) {
			require.NoError(t, e.problem.Validate())
			c := certificate(e)
			yield, err := cert.Yield(context.Background(), c)
			require.NoError(t, err)
			require.Equal(t, c.Bound, yield, e.why)
			v := cert.Check(context.Background(), c)
			require.Equal(t, verify.Proved, v.Outcome, v.Reason)
			require.Contains(t, v.Claim, "no schedule of")
			c.Bound--
			require.Equal(t, verify.Proved, cert.Check(context.Background(), c).Outcome)
		})
	}
}

// changes are single changes after which a certificate proves its bound no more.
// Each returns false where it cannot be made.
var changes = []struct {
	name string
	make func(c *model.Certificate) bool
}{
	{"bound-higher", func(c *model.Certificate) bool { c.Bound++; return true }},
	{"twice-the-bandwidth", func(c *model.Certificate) bool {
		for i := range c.Problem.Topology.Links {
			c.Problem.Topology.Links[i].Bandwidth *= 2
		}
		return true
	}},
	{"no-latency", func(c *model.Certificate) bool {
		for i := range c.Problem.Topology.Links {
			c.Problem.Topology.Links[i].Alpha = 0
		}
		return true
	}},
	{"nobody-late", func(c *model.Certificate) bool {
		was := c.Problem.Release != nil
		c.Problem.Release = nil
		return was
	}},
	{"other-collective", func(c *model.Certificate) bool {
		c.Problem.Collective.Kind, c.Problem.Collective.Group = model.AllReduce, []int{0}
		return true
	}},
	{"empty-witness", func(c *model.Certificate) bool {
		switch w := c.Witness.(type) {
		case model.Cut:
			c.Witness = model.Cut{From: w.From, To: w.To}
		case model.Coverage:
			c.Witness = model.Coverage{From: w.From, To: w.To}
		case model.Prices:
			c.Witness = model.Prices{Links: make([]int64, len(w.Links))}
		case model.TimedPrices:
			c.Witness = model.TimedPrices{}
		case model.Distance:
			w.Potential = make([]model.Time, len(w.Potential))
			c.Witness = w
		default:
			return false
		}
		return true
	}},
	{"shares-beyond-prices", func(c *model.Certificate) bool {
		w, ok := c.Witness.(model.LPDual)
		if ok = ok && w.Groups[0].Demands[0].Shares != nil; ok {
			g := w.Groups[0]
			g.Demands = slices.Clone(g.Demands)
			g.Demands[0].Shares = []model.InstantPrice{{Of: 0, Instant: 0, Price: 2}}
			w.Groups = []model.DualGroup{g}
			c.Witness = w
		}
		return ok
	}},
	{"chunk-that-does-not-pay", func(c *model.Certificate) bool {
		w, ok := c.Witness.(model.LPDual)
		if ok = ok && len(w.Groups[0].Chunks) == 2; ok {
			w.Groups = []model.DualGroup{{Chunks: []int{1}, Demands: w.Groups[0].Demands}}
			c.Witness = w
		}
		return ok
	}},
	{"port-for-two", func(c *model.Certificate) bool {
		ok := c.Problem.Topology.Ports != nil
		if ok {
			c.Problem.Topology.Ports[0].Capacity = 2
		}
		return ok
	}},
	{"no-such-rank", func(c *model.Certificate) bool {
		switch w := c.Witness.(type) {
		case model.Cut:
			w.Nodes = append(slices.Clone(w.Nodes), 99)
			c.Witness = w
		case model.Coverage:
			w.Nodes = append(slices.Clone(w.Nodes), 99)
			c.Witness = w
		case model.Ingress:
			c.Witness = model.Ingress{Rank: 99}
		case model.Egress:
			c.Witness = model.Egress{Rank: 99}
		case model.Distance:
			w.Dest = 99
			c.Witness = w
		case model.Spread:
			c.Witness = model.Spread{Source: 99}
		case model.Combine:
			c.Witness = model.Combine{Dest: 99}
		default:
			return false
		}
		return true
	}},
	{"all-nodes", func(c *model.Certificate) bool {
		w, ok := c.Witness.(model.Cut)
		w.Nodes = nil
		for v := range c.Problem.Topology.Nodes() {
			w.Nodes = append(w.Nodes, v)
		}
		c.Witness = w
		return ok
	}},
	{"nodes-out-of-order", func(c *model.Certificate) bool {
		w, ok := c.Witness.(model.Cut)
		if ok {
			w.Nodes = slices.Clone(w.Nodes)
			slices.Reverse(w.Nodes)
			c.Witness = w
		}
		return ok
	}},
	{"all-nodes-entered", func(c *model.Certificate) bool {
		w, ok := c.Witness.(model.Coverage)
		w.Nodes = nil
		for v := range c.Problem.Topology.Nodes() {
			w.Nodes = append(w.Nodes, v)
		}
		c.Witness = w
		return ok
	}},
	{"only-from-inside", func(c *model.Certificate) bool {
		w, ok := c.Witness.(model.Coverage)
		if ok {
			w.From = []int{slices.Min(w.Nodes)}
			c.Witness = w
		}
		return ok
	}},
	{"to-the-near-one", func(c *model.Certificate) bool {
		w, ok := c.Witness.(model.Coverage)
		if ok = ok && len(w.Nodes) == 3; ok {
			w.To = []int{1}
			c.Witness = w
		}
		return ok
	}},
	{"no-node-beside", func(c *model.Certificate) bool { // a smaller set lets more pass, or has less to pass
		w, ok := c.Witness.(model.Cut)
		if ok {
			w.Nodes = w.Nodes[:1]
			c.Witness = w
		}
		return ok
	}},
	{"rank-in-no-part", func(c *model.Certificate) bool {
		w, ok := c.Witness.(model.Partition)
		if ok {
			c.Witness = model.Partition{Parts: w.Parts[1:]}
		}
		return ok
	}},
	{"rank-in-two-parts", func(c *model.Certificate) bool {
		w, ok := c.Witness.(model.Partition)
		if ok {
			c.Witness = model.Partition{Parts: append(slices.Clone(w.Parts), []int{0})}
		}
		return ok
	}},
	{"rank-crosses-from-nowhere", func(c *model.Certificate) bool {
		w, ok := c.Witness.(model.Crossing)
		if ok {
			c.Witness = model.Crossing{Parts: w.Parts[1:]}
		}
		return ok
	}},
	{"all-in-one-part", func(c *model.Certificate) bool {
		w, ok := c.Witness.(model.Crossing)
		if ok {
			c.Witness = model.Crossing{Parts: [][]int{slices.Concat(w.Parts...)}}
		}
		return ok
	}},
	{"empty-part", func(c *model.Certificate) bool {
		w, ok := c.Witness.(model.Partition)
		if ok {
			c.Witness = model.Partition{Parts: append(slices.Clone(w.Parts), nil)}
		}
		return ok
	}},
	{"parts-joined", func(c *model.Certificate) bool {
		w, ok := c.Witness.(model.Partition)
		if ok = ok && c.Problem.Collective.Kind == model.AllReduce; ok {
			joined := slices.Sorted(slices.Values(slices.Concat(w.Parts[0], w.Parts[1])))
			c.Witness = model.Partition{Parts: append([][]int{joined}, w.Parts[2:]...)}
		}
		return ok
	}},
	{"potential-higher", func(c *model.Certificate) bool {
		w, ok := c.Witness.(model.Distance)
		if ok {
			w.Potential = slices.Clone(w.Potential)
			w.Potential[1]++
			c.Witness = w
		}
		return ok
	}},
	{"start-higher", func(c *model.Certificate) bool {
		w, ok := c.Witness.(model.Distance)
		if ok {
			w.Potential = slices.Clone(w.Potential)
			for i := range w.Potential {
				w.Potential[i]++
			}
			c.Witness = w
			c.Bound++
		}
		return ok
	}},
	{"head-higher", func(c *model.Certificate) bool {
		w, ok := c.Witness.(model.Distance)
		if ok = ok && w.Head != nil; ok {
			w.Head = slices.Clone(w.Head)
			w.Head[4]++
			c.Witness = w
		}
		return ok
	}},
	{"head-missing", func(c *model.Certificate) bool {
		w, ok := c.Witness.(model.Distance)
		ok = ok && w.Head != nil
		w.Head = nil
		c.Witness = w
		return ok
	}},
	{"not-in-rounds", func(c *model.Certificate) bool {
		was := c.Problem.Cost == model.Rounds
		c.Problem.Cost = model.Pipelined
		return was
	}},
	{"pipelined", func(c *model.Certificate) bool {
		was := c.Problem.Cost == model.Blocking && len(c.Problem.Chunks) > 1
		c.Problem.Cost = model.Pipelined
		return was
	}},
	{"source-is-dest", func(c *model.Certificate) bool {
		w, ok := c.Witness.(model.Distance)
		w.Dest = w.Source
		c.Witness = w
		return ok
	}},
	{"other-source", func(c *model.Certificate) bool { // nobody else holds what all others need
		switch w := c.Witness.(type) {
		case model.Distance:
			w.Source = 2
			c.Witness = w
		case model.Doubling:
			w.Source = 2
			c.Witness = w
		case model.Spread:
			c.Witness = model.Spread{Source: 1}
			return !c.Problem.Late()
		default:
			return false
		}
		return true
	}},
	{"no-such-chunk", func(c *model.Certificate) bool {
		switch w := c.Witness.(type) {
		case model.Distance:
			w.Chunk = 7
			c.Witness = w
		case model.Doubling:
			w.Chunk = 7
			c.Witness = w
		default:
			return false
		}
		return true
	}},
	{"a-dear-link", func(c *model.Certificate) bool {
		w, ok := c.Witness.(model.Prices)
		if ok {
			w.Links = slices.Clone(w.Links)
			w.Links[0] = 10
			c.Witness = w
		}
		return ok
	}},
	{"a-copying-switch", func(c *model.Certificate) bool {
		if _, ok := c.Witness.(model.Doubling); !ok {
			return false
		}
		c.Problem.Topology.Switches = []model.Switch{{Name: "copies", Copies: true}}
		return true
	}},
}

// clone copies a certificate through its file format.
func clone(t testing.TB, c *model.Certificate) *model.Certificate {
	var b bytes.Buffer
	require.NoError(t, native.WriteCertificate(&b, c))
	d, err := native.ReadCertificate("clone", &b)
	require.NoError(t, err)
	return d
}

// TestChanges makes every change to every entry that it can be made to; all must be
// refuted.
func TestChanges(t *testing.T) {
	made := map[string]int{}
	for _, e := range entries() {
		for _, change := range changes {
			c := clone(t, certificate(e))
			if !change.make(c) {
				continue
			}
			made[change.name]++
			v := cert.Check(context.Background(), c)
			require.Equal(t, verify.Refuted, v.Outcome, "%s, %s: %s", e.name, change.name, v.Claim)
			require.NotEmpty(t, v.Reason)
			require.NotEmpty(t, v.Violations)
		}
	}
	for _, change := range changes {
		require.Positive(t, made[change.name], "the change %s is never made", change.name)
	}
}

// TestCorpus checks the files of the corpus: those in accept are proved, those in
// reject, each a change of one of them, are refuted.
func TestCorpus(t *testing.T) {
	if *update {
		writeCorpus(t)
	}
	for dir, want := range map[string]verify.Outcome{"accept": verify.Proved, "reject": verify.Refuted} {
		files, err := filepath.Glob(filepath.Join(corpus, dir, "*.json"))
		require.NoError(t, err)
		require.NotEmpty(t, files, "no test cases in %s", dir)
		for _, name := range files {
			b, err := os.ReadFile(name)
			require.NoError(t, err)
			c, err := native.ReadCertificate(name, bytes.NewReader(b))
			require.NoError(t, err)
			v := cert.Check(context.Background(), c)
			require.Equal(t, want, v.Outcome, "%s: %s %s", name, v.Claim, v.Reason)
		}
	}
}

func writeCorpus(t *testing.T) {
	write := func(dir, name string, c *model.Certificate) {
		if c.Validate() != nil {
			return // its reader refuses it already
		}
		var b bytes.Buffer
		require.NoError(t, native.WriteCertificate(&b, c))
		require.NoError(t, os.MkdirAll(filepath.Join(corpus, dir), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(corpus, dir, name+".json"), b.Bytes(), 0o644))
	}
	for _, e := range entries() {
		write("accept", e.name, certificate(e))
		for _, change := range changes {
			if c := clone(t, certificate(e)); change.make(c) {
				write("reject", e.name+"--"+change.name, c)
			}
		}
	}
}

// TestNoCertificate: what is no certificate at all is refuted too, and nothing panics.
func TestNoCertificate(t *testing.T) {
	p := problem("ring:4", model.AllGather, 400, 4, model.Pipelined)
	wrong := *p
	wrong.Size = -1
	for name, c := range map[string]*model.Certificate{
		"nil":            nil,
		"no problem":     {Bound: 1, Witness: model.Volume{}},
		"no witness":     {Problem: p, Bound: 0},
		"a pointer":      {Problem: p, Witness: &model.Cut{Nodes: []int{1}}},
		"entered twice":  {Problem: p, Witness: model.Coverage{Nodes: []int{1, 1}}},
		"from nowhere":   {Problem: p, Witness: model.Coverage{Nodes: []int{1}, From: []int{9}}},
		"to nowhere":     {Problem: p, Witness: model.Coverage{Nodes: []int{1}, To: []int{-1}}},
		"wrong problem":  {Problem: &wrong, Witness: model.Volume{}},
		"negative bound": {Problem: p, Bound: -1, Witness: model.Volume{}},
		"short prices":   {Problem: p, Witness: model.Prices{Links: []int64{1}}},
		"negative price": {Problem: p, Witness: model.Prices{Links: []int64{1, 1, 1, 1, 1, 1, 1, -1}}},
		"far potential":  {Problem: p, Witness: model.Distance{Chunk: 1, Shard: 1, Source: 1, Potential: []model.Time{model.MaxTime, 0, 0, 0}}},
	} {
		v := cert.Check(context.Background(), c)
		require.Equal(t, verify.Refuted, v.Outcome, name)
		require.NotEmpty(t, v.Reason, name)
		require.False(t, strings.Contains(v.Reason, "%!"), v.Reason)
	}
	// Where nothing has to be done, no witness proves anything, not even nothing.
	alone := *p
	alone.Collective.Group = []int{2}
	for _, w := range witnesses(&alone) {
		require.Equal(t, verify.Refuted, cert.Check(context.Background(), &model.Certificate{Problem: &alone, Witness: w}).Outcome, "%#v", w)
	}
	// Where there is no schedule, a cut without links proves every bound.
	islands := *p
	islands.Topology = &model.Topology{Name: "islands", Ranks: 4}
	require.Equal(t, verify.Proved, cert.Check(context.Background(), &model.Certificate{Problem: &islands, Bound: model.MaxTime, Witness: model.Cut{Nodes: []int{0}}}).Outcome)
	require.Equal(t, verify.Proved, cert.Check(context.Background(), &model.Certificate{Problem: &islands, Bound: model.MaxTime, Witness: model.Coverage{Nodes: []int{0}}}).Outcome)
}
