package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/oraccl/oraccl/cmd/oraccl/chart"
	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/solve/bound"
	"github.com/oraccl/oraccl/verify"
	"github.com/oraccl/oraccl/verify/cert"
)

// growth is a family of networks whose synthesis is timed, one try each.
type growth struct {
	name       string
	collective string
	networks   []network
	points     []growthPoint
}

type growthPoint struct {
	network network
	npus    int
	bound   model.Time // 0: none
	ours    *contender
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

// papers are the times of synthesis that the paper names, with all-reduce: for 512
// heterogeneous NPUs 6.09 minutes, for 40 K NPUs 2.52 hours; on another machine.
var papers = []struct{ npus, seconds float64 }{{512, 6.09 * 60}, {40000, 2.52 * 3600}}

// scale times the synthesis by the number of NPUs.
func (x *tacosStudy) scale(ctx context.Context) ([]*growth, error) {
	var all []*growth
	for _, g := range growths() {
		for _, n := range g.networks {
			t, err := loadTopology(n.topology, x.alpha, n.bandwidth)
			if err != nil {
				return nil, err
			}
			if t.Ranks > x.scaleTo {
				continue
			}
			q, err := x.timed(ctx, g, n)
			if err != nil {
				return nil, err
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
func (x *tacosStudy) timed(ctx context.Context, g *growth, n network) (growthPoint, error) {
	q := growthPoint{network: n, code: x.codeRun(n, g.collective)}
	p, err := x.problem(n, g.collective, x.share, 1)
	if err != nil {
		return q, err
	}
	q.npus = p.Topology.Ranks
	c, err := bound.Quick(p)
	if err != nil {
		return q, err
	}
	if c != nil {
		if v := cert.Check(c); v.Outcome != verify.Proved {
			return q, fmt.Errorf("the %s bound of %v failed its check: %s", c.Witness.Kind(), c.Bound, v.Reason)
		}
		q.bound = c.Bound
	}
	o := solve.Options{Seed: x.work.seed, Threads: x.work.threads, Tries: 1}
	for range 3 {
		now, err := x.contend(ctx, methodOf("tacos"), p, q.bound, o, "replay")
		if err != nil {
			return q, err
		}
		if now == nil {
			return q, fmt.Errorf("tacos: does not serve %v", p)
		}
		if q.ours == nil || now.solving < q.ours.solving {
			q.ours = now
		}
		if now.solving > 300*time.Millisecond {
			break
		}
	}
	return q, nil
}

// exponent fits seconds = c·npus^e by least squares of the logarithms, and returns e. It is
// not ok where there are fewer than two numbers of NPUs.
func exponent(npus, seconds []float64) (e float64, ok bool) {
	var x, y float64
	for i := range npus {
		x += math.Log(npus[i]) / float64(len(npus))
		y += math.Log(seconds[i]) / float64(len(npus))
	}
	var xx, xy float64
	for i := range npus {
		dx := math.Log(npus[i]) - x
		xx += dx * dx
		xy += dx * (math.Log(seconds[i]) - y)
	}
	if xx < 1e-9 {
		return 0, false
	}
	return xy / xx, true
}

// fits returns the exponents of ours and of the authors' code, the latter over what it was
// run on, as text; "" where there are too few points.
func (g *growth) fits() (ours, theirs string) {
	var n, s, cn, cs []float64
	for _, q := range g.points {
		n, s = append(n, float64(q.npus)), append(s, q.ours.solving.Seconds())
		if q.code != nil {
			cn, cs = append(cn, float64(q.npus)), append(cs, math.Sqrt(q.code.least*q.code.most))
		}
	}
	if e, ok := exponent(n, s); ok {
		ours = fmt.Sprintf("%.2f", e)
	}
	if e, ok := exponent(cn, cs); ok {
		theirs = fmt.Sprintf("%.2f", e)
	}
	return ours, theirs
}

func printScale(w io.Writer, all []*growth) {
	if len(all) == 0 {
		return
	}
	fmt.Fprint(w, "\nsynthesis, one try; the authors' code on two cores of a shared x86 machine, its times rounded;\nbounds that are quick to find, which for an allreduce can be far off\n\n")
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "family\tcollective\tnetwork\tNPUs\ttransfers\tsynthesis s\treplay s\tover the bound\tauthors' code s\tits time over the bound\t")
	for _, g := range all {
		for _, q := range g.points {
			over, code, theirs := "-", "-", "-"
			if q.bound > 0 {
				over = fmt.Sprintf("%.4f", float64(q.ours.makespan)/float64(q.bound))
			}
			if q.code != nil {
				code = fmt.Sprint(q.code.least)
				if q.code.most != q.code.least {
					code += fmt.Sprintf("-%v", q.code.most)
				}
				if q.bound > 0 {
					theirs = fmt.Sprintf("%.4f", q.code.micros*1e6/float64(q.bound))
				}
			}
			fmt.Fprintf(t, "%s\t%s\t%s\t%d\t%d\t%.4f\t%.4f\t%s\t%s\t%s\t\n", g.name, g.collective, q.network.topology, q.npus, q.ours.transfers, q.ours.solving.Seconds(), q.ours.checking.Seconds(), over, code, theirs)
		}
	}
	t.Flush()
	fmt.Fprintln(w)
	for _, g := range all {
		if ours, theirs := g.fits(); ours != "" {
			fmt.Fprintf(w, "%s, %s: grows with the NPUs to the power %s", g.name, g.collective, ours)
			if theirs != "" {
				fmt.Fprintf(w, "; the authors' code, where it was run: %s", theirs)
			}
			fmt.Fprintln(w)
		}
	}
	fmt.Fprintln(w, "the paper names 365 s for 512 heterogeneous NPUs and 9072 s for 40 K")
}

func scaleFigure(all []*growth) *figure {
	g := &figure{name: "scale", chart: chart.Chart{Title: "Time of the synthesis", XName: "NPUs", YName: "seconds", LogX: true, LogY: true}}
	g.table = [][]string{{"family", "collective", "topology", "bandwidth", "npus", "transfers", "synthesis_s", "replay_s", "makespan_us", "bound_us", "exponent", "code_s_least", "code_s_most", "code_makespan_us", "code_exponent"}}
	for _, f := range all {
		ours, theirs := f.fits()
		name := f.name + ", " + f.collective
		for _, q := range f.points {
			r := []string{f.name, f.collective, q.network.topology, q.network.bandwidth, fmt.Sprint(q.npus), fmt.Sprint(q.ours.transfers), decimal(q.ours.solving.Seconds()), decimal(q.ours.checking.Seconds()), micros(q.ours.makespan), "", ours, "", "", "", ""}
			if q.bound > 0 {
				r[9] = micros(q.bound)
			}
			g.line(name+legend(ours), float64(q.npus), q.ours.solving.Seconds())
			if q.code != nil {
				copy(r[11:], []string{fmt.Sprint(q.code.least), fmt.Sprint(q.code.most), fmt.Sprint(q.code.micros), theirs})
			}
			g.table = append(g.table, r)
		}
	}
	for _, f := range all {
		_, theirs := f.fits()
		for _, q := range f.points {
			if q.code != nil {
				g.line("authors', "+f.name+legend(theirs), float64(q.npus), math.Sqrt(q.code.least*q.code.most))
			}
		}
	}
	for i := range g.chart.Series {
		s := &g.chart.Series[i]
		s.Dashed = strings.HasPrefix(s.Name, "authors'")
	}
	for _, p := range papers {
		g.table = append(g.table, []string{"the paper, arXiv:2304.05301", "allreduce", "", "", fmt.Sprint(p.npus), "", decimal(p.seconds), "", "", "", "", "", "", "", ""})
		g.line(fmt.Sprintf("the paper's, %.0f NPUs", p.npus), p.npus, p.seconds)
	}
	if len(all) == 0 {
		g.table, g.chart.Series = g.table[:1], nil
	}
	return g
}

// legend is what a name in the legend says of an exponent.
func legend(e string) string {
	if e == "" {
		return ""
	}
	return " (^" + e + ")"
}
