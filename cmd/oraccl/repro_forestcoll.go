package main

import (
	"context"
	"fmt"
	"math/big"
	"strconv"
	"strings"

	"github.com/oraccl/oraccl/cmd/oraccl/report"
	"github.com/oraccl/oraccl/cmd/oraccl/repro"
	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve/certify"
)

func forestcollExperiment() *experiment {
	return &experiment{
		name:   "forestcoll",
		title:  "ForestColl's optimal rates of all-gather",
		source: `Zhao et al., "ForestColl: throughput-optimal collective communications on heterogeneous network fabrics", arXiv:2402.06787`,
		about: `The optimal algorithmic bandwidth of an all-gather is the least, over cuts, of what the links that leave the cut carry to the shards that must leave it. Ours is exact: by minimum cuts in whole numbers, by linear programs, which must agree, and by a certificate of the cut that is checked on its own. The networks are those of the authors' topologies.py, without latencies, as there.

Beside the rate, which no schedule exceeds, is what a schedule of 1 GB comes to that packs trees of at most 128 chunks per rank.`,
		fill: forestcollRates,
	}
}

const forestcollBytes = 1_000_000_000

// keptRate is a rate, and a schedule that comes near it.
type keptRate struct {
	Algbw    string // GB/s, two decimals
	Fraction string // seconds of a byte
	Cut      string
	Kind     string // of the certificate
	Found    *found
}

func forestcollRates(ctx context.Context, b *bench, r *repro.Report) error {
	rates, err := repro.Load(b.tables, "forestcoll/allgather.csv", "network", "value:number")
	if err != nil {
		return err
	}
	s := &repro.Section{Name: "allgather", Title: "All-gather", Table: b.table("forestcoll/allgather.csv")}
	g := &figure{name: "allgather"}
	g.chart.Title, g.chart.YName = "Algorithmic bandwidth of an all-gather of 1 GB", "GB/s"
	g.table = [][]string{{"network", "published_gbps", "optimal_gbps", "seconds_per_byte", "schedule_gbps", "schedule_us", "method"}}
	for _, p := range rates {
		name := p.Text("network")
		t, err := forestcollNetwork(name)
		if err != nil {
			return fmt.Errorf("%s:%d: %w", p.File, p.Line, err)
		}
		if t.Ranks > 32 && !b.full {
			row := p.Row(name, "optimal GB/s")
			row.Why += "; ours is computed with --full"
			s.Rows = append(s.Rows, row)
			continue
		}
		k, err := keep(b, "forestcoll "+name, func() (*keptRate, error) { return b.forestcollRate(ctx, t) })
		if err != nil {
			return err
		}
		row := p.Row(name, "optimal GB/s")
		row.Ours, row.Bound, row.Certificate = k.Algbw, k.Algbw, k.Kind
		row.By = "minimum cuts, linear programs"
		if p.Value != "" {
			ours, _ := strconv.ParseFloat(k.Algbw, 64)
			row.Verdict = repro.Judge(p.Number, ours, repro.HalfDigit(p.Value), repro.More)
			if row.Why = fmt.Sprintf("Exactly 1/(%s) bytes per second.", k.Fraction); row.Verdict != repro.Agrees {
				row.Why = "Ours is exact and certified, so that the network is not the same or theirs is wrong."
			}
		}
		near := &repro.Row{Instance: name, Quantity: "GB/s of a schedule of 1 GB", Ours: fmt.Sprintf("%.2f", report.Gbps(forestcollBytes, k.Found.Makespan)), Bound: k.Algbw, Certificate: k.Kind,
			Verdict: repro.NotPublished, Why: fmt.Sprintf("What the authors publish are measurements on machines. Ours has %d chunks and takes as long as at the optimal rate.", k.Found.Chunks)}
		if k.Found.Makespan > k.Found.Bound {
			near.Why = strings.Replace(near.Why, "as long as", percent(float64(k.Found.Makespan), float64(k.Found.Bound))+" longer than", 1)
		}
		k.Found.into(near)
		s.Rows = append(s.Rows, row, near)
		at := float64(len(g.chart.Places))
		g.chart.Places = append(g.chart.Places, name)
		g.line("optimal, certified", at, mustFloat(k.Algbw))
		g.line("a schedule of ours", at, report.Gbps(forestcollBytes, k.Found.Makespan))
		if p.Value != "" {
			g.line("ForestColl's code", at, p.Number)
		}
		g.table = append(g.table, []string{name, p.Value, k.Algbw, k.Fraction, near.Ours, report.Micros(k.Found.Makespan), k.Found.Method})
	}
	r.Sections = []*repro.Section{s}
	return g.into(r)
}

func mustFloat(s string) float64 {
	v, err := strconv.ParseFloat(s, 64)
	if err != nil {
		panic(err)
	}
	return v
}

// forestcollRate computes the rate in two ways, has it certified, and looks for a schedule.
func (b *bench) forestcollRate(ctx context.Context, t *model.Topology) (*keptRate, error) {
	p := &model.Problem{Topology: t, Collective: model.Collective{Kind: model.AllGather}, Size: forestcollBytes, Cost: model.Pipelined}
	if err := p.Validate(); err != nil {
		return nil, err
	}
	limit, err := certify.Throughput(ctx, p)
	if err != nil {
		return nil, err
	}
	perByte := limit.Exact
	if limit.Status != certify.FluidExact || len(limit.By) < 2 && limit.Note == "" {
		return nil, fmt.Errorf("%s: the rate is not exact by two computations", t.Name)
	}
	gb := new(big.Rat).Inv(new(big.Rat).Mul(perByte, big.NewRat(1e9, 1)))
	k := &keptRate{Algbw: gb.FloatString(2), Fraction: perByte.RatString(), Kind: limit.Bound.Witness.Kind()}
	// The certificate bounds the time of the whole buffer, rounded up to a picosecond.
	exact := new(big.Rat).Mul(perByte, new(big.Rat).SetInt64(forestcollBytes))
	exact.Mul(exact, big.NewRat(1e12, 1))
	if bound := new(big.Rat).SetInt64(int64(limit.Bound.Bound)); bound.Cmp(exact) < 0 || bound.Cmp(exact.Add(exact, big.NewRat(1, 1))) > 0 {
		return nil, fmt.Errorf("%s: the certified bound of %v is not that of the rate", t.Name, limit.Bound.Bound)
	}
	k.Found, err = b.best(ctx, p, "forest,tacos")
	return k, err
}

// forestcollNetwork builds a network of topologies.py: a100:N, N boxes of 8 GPUs at an
// NVSwitch of 300 GB/s with a NIC of 25 GB/s a GPU, those of even and of odd GPUs at a
// switch each; mi250:N, N boxes of 16 dies with links of 50 GB/s, and 16 GB/s a die to one
// switch.
func forestcollNetwork(name string) (*model.Topology, error) {
	family, count, _ := strings.Cut(name, ":")
	boxes, err := strconv.Atoi(count)
	if err != nil || boxes < 1 || boxes > 16 {
		return nil, fmt.Errorf("network %q: want a100:N or mi250:N", name)
	}
	switch family {
	case "a100":
		return forestcollA100(name, boxes)
	case "mi250":
		return forestcollMI250(name, boxes)
	}
	return nil, fmt.Errorf("network %q: want a100:N or mi250:N", name)
}

const gigabyte = 1_000_000_000

// wiring is a topology that is being built, of links without latencies.
type wiring struct{ model.Topology }

func (w *wiring) node(name string) int {
	w.Switches = append(w.Switches, model.Switch{Name: name})
	return w.Ranks + len(w.Switches) - 1
}

func (w *wiring) duplex(u, v int, bandwidth int64) {
	w.Links = append(w.Links, model.Link{Src: u, Dst: v, Bandwidth: bandwidth}, model.Link{Src: v, Dst: u, Bandwidth: bandwidth})
}

func forestcollA100(name string, boxes int) (*model.Topology, error) {
	w := &wiring{model.Topology{Name: "forestcoll " + name, Ranks: 8 * boxes}}
	var rails [2]int
	if boxes > 1 {
		rails = [2]int{w.node("ib0"), w.node("ib1")}
	}
	for a := range boxes {
		s := w.node(fmt.Sprintf("nvswitch%d", a))
		for g := range 8 {
			w.duplex(8*a+g, s, 300*gigabyte)
			if boxes > 1 {
				nic := w.node(fmt.Sprintf("nic%d-%d", a, g))
				w.duplex(8*a+g, nic, 25*gigabyte)
				w.duplex(nic, rails[g%2], 25*gigabyte)
			}
		}
	}
	return &w.Topology, w.Validate()
}

// forestcollDies says how many links there are between two dies of a box.
var forestcollDies = [][3]int{
	{0, 1, 4}, {0, 4, 2}, {0, 8, 1}, {1, 5, 1}, {1, 9, 1}, {1, 10, 1}, {2, 3, 4}, {2, 6, 1}, {2, 9, 1}, {2, 10, 1},
	{3, 7, 2}, {3, 11, 1}, {4, 5, 4}, {4, 6, 1}, {5, 6, 1}, {5, 7, 1}, {6, 7, 4}, {8, 9, 4}, {8, 12, 2}, {9, 13, 1},
	{10, 11, 4}, {10, 14, 1}, {11, 15, 2}, {12, 13, 4}, {12, 14, 1}, {13, 14, 1}, {13, 15, 1}, {14, 15, 4},
}

func forestcollMI250(name string, boxes int) (*model.Topology, error) {
	w := &wiring{model.Topology{Name: "forestcoll " + name, Ranks: 16 * boxes}}
	for a := range boxes {
		for _, l := range forestcollDies {
			w.duplex(16*a+l[0], 16*a+l[1], int64(l[2])*50*gigabyte)
		}
	}
	if boxes > 1 {
		s := w.node("ib")
		for g := range w.Ranks {
			w.duplex(g, s, 16*gigabyte)
		}
	}
	return &w.Topology, w.Validate()
}
