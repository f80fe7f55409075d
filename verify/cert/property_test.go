package cert_test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/native"
	"github.com/oraccl/oraccl/verify"
	"github.com/oraccl/oraccl/verify/cert"
)

// drawTiny draws a tiny problem and one of its witnesses.
func drawTiny(t *rapid.T) (*model.Problem, model.Witness) {
	p := tiny(rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 8)))
	if rapid.Bool().Draw(t, "any cut") {
		free := *p
		free.Chunks = nil
		p = &free
	}
	return p, rapid.SampledFrom(witnesses(p)).Draw(t, "witness")
}

// TestYieldIsTheLimit: a witness proves every bound up to its yield and none beyond,
// and what it proves survives being written to a file.
func TestYieldIsTheLimit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, w := drawTiny(t)
		c := &model.Certificate{Problem: p, Witness: w}
		yield, err := cert.Yield(context.Background(), c)
		if err != nil {
			require.Equal(t, verify.Refuted, cert.Check(context.Background(), c).Outcome)
			return
		}
		c.Bound = yield - model.Time(rapid.Int64Range(0, int64(yield)).Draw(t, "less"))
		require.Equal(t, verify.Proved, cert.Check(context.Background(), c).Outcome)
		var b bytes.Buffer
		require.NoError(t, native.WriteCertificate(&b, c))
		again, err := native.ReadCertificate("again", &b)
		require.NoError(t, err)
		require.Equal(t, verify.Proved, cert.Check(context.Background(), again).Outcome)
		if yield < model.MaxTime {
			again.Bound = yield + model.Time(rapid.Int64Range(1, int64(model.MaxTime-yield)).Draw(t, "more"))
			require.Equal(t, verify.Refuted, cert.Check(context.Background(), again).Outcome)
		}
	})
}

// TestEveryCut: what a witness yields where the cut is free it yields, or more, for
// every cut.
func TestEveryCut(t *testing.T) {
	for seed := range uint64(300) {
		p := tiny(rand.New(rand.NewPCG(seed, 9)))
		if p.Collective.Kind == model.Custom {
			continue
		}
		free := *p
		free.Chunks = nil
		for _, w := range witnesses(&free) {
			c := &model.Certificate{Problem: &free, Witness: w}
			most, err := cert.Yield(context.Background(), c)
			if err != nil {
				continue
			}
			for n := p.Shards(); n <= 4*p.Shards() && int64(n) <= p.Space(); n += p.Shards() {
				q := p.WithChunks(n)
				d := &model.Certificate{Problem: q, Witness: inCut(q, w)}
				if d.Witness == nil {
					continue
				}
				yield, err := cert.Yield(context.Background(), d)
				require.NoError(t, err)
				require.LessOrEqual(t, most, yield, "seed %d: %v: %#v", seed, q, d.Witness)
			}
		}
	}
}

// inCut turns a witness for every cut into one for the cut of q, or returns nil.
func inCut(q *model.Problem, w model.Witness) model.Witness {
	first := func(shard int) int {
		for k := range q.Chunks {
			if q.Shard(k) == shard {
				return k
			}
		}
		panic("a shard without a chunk")
	}
	switch w := w.(type) {
	case model.Distance:
		w.Chunk = first(w.Shard)
		return w
	case model.Doubling:
		w.Chunk = first(w.Shard)
		return w
	case model.Prices: // prices per byte are rounded in another way
		return nil
	}
	return w
}

// TestLarge: sizes and times at the limits of what a problem may have overflow nowhere.
func TestLarge(t *testing.T) {
	top := &model.Topology{Name: "slow", Ranks: 3}
	for u := range 3 {
		for v := range 3 {
			if u != v {
				top.Links = append(top.Links, model.Link{Src: u, Dst: v, Alpha: 1000 * model.Second / 1e3, Bandwidth: 2e9})
				top.Links = append(top.Links, model.Link{Src: u, Dst: v, Alpha: 7, Bandwidth: 1<<63 - 1})
			}
		}
	}
	for _, cost := range []model.CostModel{model.Blocking, model.Pipelined, model.Rounds} {
		for _, kind := range model.Kinds() {
			for _, chunks := range []int{0, 9} {
				p := &model.Problem{Topology: top, Collective: model.Collective{Kind: kind}, Size: 1 << 48, Cost: cost, Release: []model.Time{0, 1e6 * model.Second, 0}}
				if chunks > 0 {
					p = p.WithChunks(chunks)
				}
				require.NoError(t, p.Validate())
				for _, w := range witnesses(p) {
					yield, err := cert.Yield(context.Background(), &model.Certificate{Problem: p, Witness: w})
					if err == nil {
						require.GreaterOrEqual(t, yield, model.Time(0), "%v %#v", p, w)
						require.Less(t, yield, model.Time(1)<<61, "%v %#v", p, w)
					}
				}
			}
		}
	}
}

// FuzzCheck reads whatever it is given and insists that Check does not panic and that
// it agrees with Yield.
func FuzzCheck(f *testing.F) {
	files, err := filepath.Glob(filepath.Join(corpus, "*", "*.json"))
	if err != nil || len(files) == 0 {
		f.Fatalf("no test cases: %v", err)
	}
	for _, name := range files {
		b, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		c, err := native.ReadCertificate("fuzz", bytes.NewReader(b))
		if err != nil || c.Problem.Topology.Ranks > 64 || len(c.Problem.Chunks) > 1000 || c.Problem.Shards() > 1000 {
			return
		}
		v := cert.Check(context.Background(), c)
		yield, err := cert.Yield(context.Background(), c)
		require.Equal(t, err == nil && yield >= c.Bound, v.Outcome == verify.Proved)
		require.Equal(t, v.Outcome != verify.Proved, v.Outcome == verify.Refuted)
	})
}

// Three chunks come to rank 2 of a ring over two links, two of them over one: that
// takes twice 100 ns, and the latency of 100 ns.
func ExampleCheck() {
	p := problem("ring:4", model.AllGather, 400, 4, model.Pipelined)
	for _, bound := range []model.Time{300 * model.Nanosecond, 301 * model.Nanosecond} {
		v := cert.Check(context.Background(), &model.Certificate{Problem: p, Bound: bound, Witness: model.Ingress{Rank: 2}})
		fmt.Println(v.Outcome, v.Claim)
		fmt.Println(v.Reason)
	}
	// Output:
	// proved no schedule of allgather of 400 B in 4 chunks, 4 ranks, on ring:4, pipelined ends before 300ns
	//
	// refuted no schedule of allgather of 400 B in 4 chunks, 4 ranks, on ring:4, pipelined ends before 301ns
	// the ingress yields 300ns (300000 ps), less than the bound of 301ns (301000 ps)
}
