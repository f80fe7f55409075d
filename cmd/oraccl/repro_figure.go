package main

import (
	"bytes"

	"github.com/oraccl/oraccl/cmd/oraccl/chart"
	"github.com/oraccl/oraccl/cmd/oraccl/repro"
)

// into adds a figure to a report; without series, its table alone.
func (g *figure) into(r *repro.Report) error {
	f := &repro.Figure{Name: g.name, Title: g.chart.Title, Table: g.table}
	if len(g.chart.Series) > 0 {
		var b bytes.Buffer
		if err := g.chart.WriteSVG(&b); err != nil {
			return err
		}
		f.SVG = b.Bytes()
	}
	r.Figures = append(r.Figures, f)
	return nil
}

// keptFigure is a figure as the store has it.
type keptFigure struct {
	Name  string
	Table [][]string
	Chart chart.Chart
}

// keepFigure draws a figure, or takes it from the store.
func keepFigure(b *bench, key string, draw func() (*figure, error)) (*figure, error) {
	k, err := keep(b, key, func() (*keptFigure, error) {
		g, err := draw()
		if err != nil {
			return nil, err
		}
		return &keptFigure{g.name, g.table, g.chart}, nil
	})
	if err != nil {
		return nil, err
	}
	return &figure{k.Name, k.Table, k.Chart}, nil
}
