package main

import (
	"encoding/csv"
	"fmt"
	"io"
	"path/filepath"

	"github.com/oraccl/oraccl/cmd/oraccl/chart"
)

// writeWhole writes the figure, without a chart where it has no series, and returns what
// was written.
func (g *figure) writeWhole(dir string) (string, error) {
	if len(g.chart.Series) > 0 {
		return g.name + ".{csv,svg}", g.write(dir)
	}
	return g.name + ".csv", writeFile(filepath.Join(dir, g.name+".csv"), func(w io.Writer) error { return csv.NewWriter(w).WriteAll(g.table) })
}

// collectivesFigure has every method's time over the bound, a network and collective for
// each place on the horizontal axis.
func (x *tacosStudy) collectivesFigure(all []*contest) *figure {
	g := &figure{name: "collectives", chart: chart.Chart{Title: fmt.Sprintf("Time over the certified bound (%s a rank, %s, %s, %s)", x.share, x.alpha, x.bandwidth, x.cost), YName: "times the bound", LogY: true}}
	head := []string{"topology", "bandwidth", "npus", "collective", "bound_us", "bound_kind", "tacos_us", "tacos_s"}
	for _, name := range tacosBaselines {
		head = append(head, name+"_us")
	}
	g.table = [][]string{append(head, "best_baseline", "best_baseline_over_tacos", "code_us")}
	for i, c := range all {
		at := float64(i)
		g.chart.Places = append(g.chart.Places, c.network.topology+map[bool]string{true: " het."}[c.network.bandwidth != ""]+", "+c.collective)
		bandwidth := c.network.bandwidth
		if bandwidth == "" {
			bandwidth = x.bandwidth
		}
		r := []string{c.network.topology, bandwidth, fmt.Sprint(c.npus), c.collective, micros(c.bound.Bound), c.bound.Witness.Kind(), micros(c.greedy.makespan), decimal(c.greedy.solving.Seconds())}
		g.line("tacos", at, c.over(c.greedy.makespan))
		for _, b := range c.baselines {
			if b == nil {
				r = append(r, "")
				continue
			}
			r = append(r, micros(b.makespan))
			g.line(b.method, at, c.over(b.makespan))
		}
		if b := c.quickest(); b != nil {
			r = append(r, b.method, decimal(float64(b.makespan)/float64(c.greedy.makespan)))
		} else {
			r = append(r, "", "")
		}
		if c.code != nil {
			r = append(r, fmt.Sprint(c.code.micros))
			g.line("authors' code", at, c.code.micros*1e6/float64(c.bound.Bound))
		} else {
			r = append(r, "")
		}
		g.table = append(g.table, r)
	}
	return g
}
