package main

import (
	"fmt"

	"github.com/oraccl/oraccl/cmd/oraccl/chart"
	"github.com/oraccl/oraccl/cmd/oraccl/report"
)

// collectivesFigure has every method's time over the bound, a network and collective for
// each place on the horizontal axis.
func (x *tacosStudy) collectivesFigure(all []*contest, code []*codeRun) *figure {
	g := &figure{name: "collectives", chart: chart.Chart{Title: fmt.Sprintf("Time over the certified bound (%s a rank, %s, %s, %s)", x.share, x.alpha, x.bandwidth, x.cost), YName: "times the bound", LogY: true}}
	head := []string{"topology", "bandwidth", "npus", "collective", "bound_us", "bound_kind", "tacos_us", "tacos_s"}
	for _, name := range tacosBaselines {
		head = append(head, name+"_us")
	}
	g.table = [][]string{append(head, "best_baseline", "best_baseline_over_tacos", "code_us")}
	for i, c := range all {
		at := float64(i)
		g.chart.Places = append(g.chart.Places, c.Network.Topology+map[bool]string{true: " het."}[c.Network.Bandwidth != ""]+", "+c.Collective)
		bandwidth := c.Network.Bandwidth
		if bandwidth == "" {
			bandwidth = x.bandwidth
		}
		r := []string{c.Network.Topology, bandwidth, fmt.Sprint(c.NPUs), c.Collective, report.Micros(c.Bound), c.Kind, report.Micros(c.Greedy.Makespan), decimal(c.Greedy.Solving.Seconds())}
		g.line("tacos", at, c.over(c.Greedy.Makespan))
		for _, b := range c.Baselines {
			if b == nil {
				r = append(r, "")
				continue
			}
			r = append(r, report.Micros(b.Makespan))
			g.line(b.Method, at, c.over(b.Makespan))
		}
		if b := c.quickest(); b != nil {
			r = append(r, b.Method, decimal(float64(b.Makespan)/float64(c.Greedy.Makespan)))
		} else {
			r = append(r, "", "")
		}
		if run := codeRunOf(code, c.Network); run != nil && c.Collective == "allgather" {
			r = append(r, run.Value)
			g.line("authors' code", at, run.Number*1e6/float64(c.Bound))
		} else {
			r = append(r, "")
		}
		g.table = append(g.table, r)
	}
	return g
}
