package main

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/oraccl/oraccl/cmd/oraccl/chart"
	"github.com/oraccl/oraccl/cmd/oraccl/report"
	"github.com/oraccl/oraccl/cmd/oraccl/repro"
	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/instance"
	"github.com/oraccl/oraccl/solve/certify"
)

// growth is a family of networks whose synthesis is timed, one try each.
type growth struct {
	name       string
	collective string
	networks   []network
	points     []*growthPoint
}

type growthPoint struct {
	Network network
	NPUs    int
	Bound   model.Time // 0: none
	Kind    string     // of its certificate
	Ours    *contender
	code    *codeRun
}

// slanted are the links of heterogeneous meshes.
const slanted = "50GiB/s,75GiB/s"

func growths() []*growth {
	family := func(name, collective, bandwidth string, topologies ...string) *growth {
		g := &growth{name: name, collective: collective}
		for _, t := range topologies {
			g.networks = append(g.networks, network{t, bandwidth})
		}
		return g
	}
	return []*growth{
		family("2-D torus", "allgather", "", "torus:8x8", "torus:16x16", "torus:24x24", "torus:32x32", "torus:48x48", "torus:64x64"),
		family("3-D torus", "allgather", "", "torus:4x4x4", "torus:6x6x6", "torus:8x8x8", "torus:10x10x10", "torus:12x12x12", "torus:16x16x16"),
		family("2-D mesh", "allgather", "", "mesh:8x8", "mesh:12x12", "mesh:16x16", "mesh:24x24", "mesh:32x32", "mesh:48x48", "mesh:64x64"),
		family("het. mesh", "allgather", slanted, "mesh:8x8", "mesh:16x16", "mesh:24x24", "mesh:32x32", "mesh:48x48", "mesh:64x64"),
		family("het. mesh", "allreduce", slanted, "mesh:8x8", "mesh:8x16", "mesh:16x16", "mesh:16x32", "mesh:32x32"),
	}
}

// scale times the synthesis by the number of NPUs.
func (x *tacosStudy) scale(ctx context.Context, code []*codeRun) ([]*growth, error) {
	var all []*growth
	for _, g := range growths() {
		for _, n := range g.networks {
			t, err := instance.Generated(n.Topology, x.alpha, n.Bandwidth)
			if err != nil {
				return nil, err
			}
			if t.Ranks > x.scaleTo {
				continue
			}
			q, err := keep(x.bench, fmt.Sprintf("tacos synthesis, %s on %v, %d by smt", g.collective, n, x.smtTo), func() (*growthPoint, error) { return x.timed(ctx, g, n) })
			if err != nil {
				return nil, err
			}
			if g.collective == "allgather" {
				q.code = codeRunOf(code, n)
			}
			g.points = append(g.points, q)
		}
		if len(g.points) > 0 {
			all = append(all, g)
		}
	}
	return all, nil
}

// timed synthesises once, and where that was quick twice more, and keeps the least time.
func (x *tacosStudy) timed(ctx context.Context, g *growth, n network) (*growthPoint, error) {
	q := &growthPoint{Network: n}
	p, err := x.problem(n, g.collective, x.share, 1)
	if err != nil {
		return nil, err
	}
	q.NPUs = p.Topology.Ranks
	c, err := certify.QuickBound(ctx, p)
	if err != nil {
		return nil, err
	}
	if c != nil {
		q.Bound, q.Kind = c.Bound, c.Witness.Kind()
	}
	for range 3 {
		now, err := x.contend(ctx, methodOf("tacos"), p, q.Bound, q.Kind, 1, -1)
		if err != nil {
			return nil, err
		}
		if now == nil {
			return nil, fmt.Errorf("tacos: does not serve %v", p)
		}
		if q.Ours == nil || now.Solving < q.Ours.Solving {
			q.Ours = now
		}
		if now.Solving > 300*time.Millisecond || now.Transfers > 50_000 {
			break
		}
	}
	return q, nil
}

// fits returns the exponents of ours and of the authors' code, the latter over what it was
// run on, as text; "" where there are too few points.
func (g *growth) fits() (ours, theirs string) {
	var n, s, cn, cs []float64
	for _, q := range g.points {
		n, s = append(n, float64(q.NPUs)), append(s, q.Ours.Solving.Seconds())
		if q.code != nil {
			cn, cs = append(cn, float64(q.NPUs)), append(cs, math.Sqrt(q.code.least*q.code.most))
		}
	}
	if _, e, ok := chart.PowerLaw(n, s); ok {
		ours = fmt.Sprintf("%.2f", e)
	}
	if _, e, ok := chart.PowerLaw(cn, cs); ok {
		theirs = fmt.Sprintf("%.2f", e)
	}
	return ours, theirs
}

func scaleFigure(all []*growth, papers []*repro.Published) *figure {
	g := &figure{name: "scale", chart: chart.Chart{Title: "Time of the synthesis", XName: "NPUs", YName: "time of the synthesis", YUnit: chart.Seconds, LogX: true, LogY: true}}
	g.table = [][]string{{"family", "collective", "topology", "bandwidth", "npus", "transfers", "synthesis_s", "replay_s", "makespan_us", "bound_us", "exponent", "code_s_least", "code_s_most", "code_makespan_us", "code_exponent"}}
	for _, f := range all {
		ours, theirs := f.fits()
		name := f.name + ", " + f.collective
		for _, q := range f.points {
			r := []string{f.name, f.collective, q.Network.Topology, q.Network.Bandwidth, fmt.Sprint(q.NPUs), fmt.Sprint(q.Ours.Transfers), decimal(q.Ours.Solving.Seconds()), decimal(q.Ours.Replaying.Seconds()), report.Micros(q.Ours.Makespan), "", ours, "", "", "", ""}
			if q.Bound > 0 {
				r[9] = report.Micros(q.Bound)
			}
			g.line(name, float64(q.NPUs), q.Ours.Solving.Seconds())
			if q.code != nil {
				copy(r[11:], []string{fmt.Sprint(q.code.least), fmt.Sprint(q.code.most), q.code.Value, theirs})
			}
			g.table = append(g.table, r)
		}
	}
	for _, f := range all {
		for _, q := range f.points {
			if q.code != nil {
				g.line("authors', "+f.name+", "+f.collective, float64(q.NPUs), math.Sqrt(q.code.least*q.code.most))
			}
		}
	}
	for i := range g.chart.Series {
		s := &g.chart.Series[i]
		s.Dashed, s.Fit = strings.HasPrefix(s.Name, "authors'"), true
	}
	for _, p := range papers {
		npus, err := strconv.Atoi(p.Text("npus"))
		if err != nil || p.Value == "" || p.Text("quantity") != "synthesis" {
			continue
		}
		g.table = append(g.table, []string{"the paper, arXiv:2304.05301", p.Text("collective"), "", "", fmt.Sprint(npus), "", decimal(p.Number), "", "", "", "", "", "", "", ""})
		g.line(fmt.Sprintf("the paper's, %d NPUs", npus), float64(npus), p.Number)
	}
	if len(all) == 0 {
		g.table, g.chart.Series = g.table[:1], nil
	}
	return g
}
