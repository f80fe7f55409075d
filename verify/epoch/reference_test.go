package epoch

import (
	"context"
	"flag"
	"math"
	"math/big"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/verify"
	"github.com/oraccl/oraccl/verify/replay"
)

// The properties are checked on the same cases every time, unless -rapid.seed says otherwise.
func init() {
	if err := flag.Set("rapid.seed", "1"); err != nil {
		panic(err)
	}
}

// reference decides what Check decides, epoch after epoch, in the words of SPEC.md 13.2, with
// floating point and for links of which no two are parallel.
func reference(p *model.Problem, s *model.Schedule, in Plan) bool {
	t := p.Topology
	tau, _ := in.Epoch.Float64()
	b, _ := in.Bytes.Float64()
	capacity := func(l int) float64 { return float64(t.Links[l].Bandwidth) * tau / 1e12 / b * 1.000001 }
	kappa := func(l int) int { return int(math.Ceil(1 / capacity(l))) }
	delta := func(l int) int {
		if ratio := float64(t.Links[l].Alpha) / tau; ratio > 0.1 {
			return int(math.Ceil(ratio / 1.000001))
		}
		return 0
	}
	type hop struct {
		link, epoch, chunk, src, start int
	}
	var hops []hop
	arrives := make([]int, len(s.Transfers))
	for i, x := range s.Transfers {
		at := in.Start[i]
		for _, l := range s.Routes[x.Route] {
			hops = append(hops, hop{l, at, int(x.Chunk), int(x.Src), in.Start[i]})
			at += delta(l)
			if t.IsRank(t.Links[l].Src) || !t.IsRank(t.Links[l].Dst) {
				at += kappa(l)
			}
		}
		arrives[i] = at
		if at > in.Epochs {
			return false
		}
	}
	for l := range t.Links {
		for k := range in.Epochs + 1 {
			n := 0
			once := map[hop]bool{}
			for _, h := range hops {
				if h.link != l || h.epoch > k || h.epoch <= k-kappa(l) {
					continue
				}
				if t.Copies(t.Links[l].Dst) && once[h] {
					continue
				}
				once[h] = true
				n++
			}
			if float64(n) > math.Floor(float64(kappa(l))*capacity(l)) {
				return false
			}
		}
	}
	for i, x := range s.Transfers {
		has := false
		for r := range p.Start(int(x.Chunk)) {
			has = has || r == int(x.Src)
		}
		for j, y := range s.Transfers {
			has = has || y.Dst == x.Src && y.Chunk == x.Chunk && arrives[j] <= in.Start[i]
		}
		if !has {
			return false
		}
	}
	return true
}

// TestReference: Check agrees with the reference, and what it proves the replay can execute.
func TestReference(t *testing.T) {
	outcomes := map[bool]int{}
	rapid.Check(t, func(t *rapid.T) {
		p := star(rapid.Bool().Draw(t, "copies"))
		for i := range p.Topology.Links {
			p.Topology.Links[i].Alpha = model.Time(rapid.SampledFrom([]int{0, 50, 100, 300, 1000, 1500}).Draw(t, "alpha")) * model.Nanosecond
			p.Topology.Links[i].Bandwidth = rapid.SampledFrom([]int64{1e9, 2e9, 3e8}).Draw(t, "bandwidth")
		}
		for r := range 3 { // and links from rank to rank
			p.Topology.Links = append(p.Topology.Links, model.Link{Src: r, Dst: (r + 1) % 3, Bandwidth: rapid.SampledFrom([]int64{1e9, 7e8}).Draw(t, "bandwidth")})
		}
		p.Collective.Kind = model.AllGather
		p.Size = 3000
		p = p.WithChunks(3)
		s := &model.Schedule{Form: model.Ordered}
		in := Plan{Epoch: big.NewRat(1e6, 1), Bytes: big.NewRat(1000, 1), Epochs: 30}
		for range rapid.IntRange(1, 7).Draw(t, "transfers") {
			src := rapid.IntRange(0, 2).Draw(t, "src")
			dst := (src + rapid.IntRange(1, 2).Draw(t, "to")) % 3
			route := []int{2 * src, 2*dst + 1}
			if dst == (src+1)%3 && rapid.Bool().Draw(t, "direct") {
				route = []int{6 + src}
			}
			s.Routes = append(s.Routes, route)
			s.Transfers = append(s.Transfers, model.Transfer{Chunk: int32(rapid.IntRange(0, 2).Draw(t, "chunk")), Src: int32(src), Dst: int32(dst), Route: int32(len(s.Routes) - 1)})
			s.After = append(s.After, nil)
			in.Start = append(in.Start, rapid.IntRange(0, 12).Draw(t, "start"))
		}
		want := reference(p, s, in)
		outcomes[want]++
		ordered, _, v := Check(context.Background(), p, s, in)
		require.Equal(t, want, v.Outcome == verify.Proved, "%v", v.Violations)
		if want {
			for _, w := range replay.Check(context.Background(), p, ordered).Violations {
				require.Equal(t, verify.MissingContribution, w.Code, "%v", w) // nothing but what does not come
			}
		}
	})
	t.Logf("%d feasible, %d not", outcomes[true], outcomes[false])
	require.Greater(t, min(outcomes[true], outcomes[false]), 5)
}
