package foreign

import (
	"context"
	"fmt"
	"slices"

	"github.com/oraccl/oraccl/cmd/oraccl/report"
	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/format/forestcoll"
	"github.com/oraccl/oraccl/model/topo"
	"github.com/oraccl/oraccl/solve/certify"
	"github.com/oraccl/oraccl/verify"
)

// readTrees brings the trees of ForestColl into our terms.
func readTrees(ctx context.Context, t *Truth, asked *model.Problem, file string, b []byte) (*Imported, error) {
	f, err := forestcoll.Read(file, b)
	if err != nil {
		return nil, err
	}
	var by forestcoll.Truth
	if by.Topology, by.Collective, by.Size, err = t.judged(ctx, asked); err != nil {
		return nil, err
	}
	by.Chunks = t.Chunks
	m, err := f.Import(by)
	if err == nil {
		m, err = elsewhere(f, &by, m)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	if by.Topology == nil || len(m.Objections) > 0 {
		return &Imported{Imported: m}, nil
	}
	return &Imported{Imported: m, Claims: func(ctx context.Context) ([]verify.Violation, error) { return nil, busiest(ctx, m) }}, nil
}

// elsewhere tries the networks that a file may be for: where none is given, those that
// ForestColl has, and for MI250 its own numbers of the dies.
func elsewhere(f *forestcoll.File, by *forestcoll.Truth, m *model.Imported) (*model.Imported, error) {
	note := ""
	machines, per := f.Machines()
	candidate := *by
	switch t := by.Topology; {
	case t != nil && (t.Name != "mi250" || len(m.Objections) == 0):
		return m, nil
	case t == nil && per == 8 && f.Passes("NVSwitch"):
		note = "DGX A100: the file does not name its network, and its ranks have such names"
		candidate.Topology, _ = topo.Parse(fmt.Sprintf("dgxa100:%d", machines), topo.Options{})
	case t != nil || per == 16 && machines == 1:
		note = "MI250 with the dies numbered as TE-CCL and ForestColl do"
		candidate.Topology, _ = theirMI250()
	}
	if candidate.Topology == nil {
		return m, nil
	}
	other, err := f.Import(candidate)
	if err != nil || len(other.Objections) > 0 {
		return m, nil
	}
	other.Notes.Add(model.Assumed, "%s", note)
	*by = candidate
	return other, nil
}

// busiest notes how long the link that carries most needs for it, which is what trees that
// are pipelined in small pieces take, except for latencies, and what a certified bound allows.
func busiest(ctx context.Context, m *model.Imported) error {
	p, s := m.Problem, m.Schedule
	load := make([]int64, len(p.Topology.Links))
	for _, x := range s.Transfers {
		for _, l := range s.Routes[x.Route] {
			load[l] += p.Chunks[x.Chunk].Size
		}
	}
	most, at := model.Time(0), 0
	for l, bytes := range load {
		if t := model.TransferTime(bytes, p.Topology.Links[l].Bandwidth); t > most {
			most, at = t, l
		}
	}
	if most == 0 {
		return nil
	}
	l := p.Topology.Links[at]
	note := fmt.Sprintf("the busiest link, %s to %s, needs %s us for what it carries: with pieces small enough, %.2f GB/s of algorithmic bandwidth",
		p.Topology.NodeName(l.Src), p.Topology.NodeName(l.Dst), report.Micros(most), report.Gbps(p.Size, most))
	t := *p.Topology
	t.Links = slices.Clone(t.Links)
	for i := range t.Links {
		t.Links[i].Alpha = 0
	}
	q := *p
	q.Topology, q.Chunks = &t, nil
	c, err := certify.Bound(ctx, &q)
	if err != nil {
		return err
	}
	if c != nil {
		note += fmt.Sprintf("; the certified bound, by %s, allows %.2f", c.Witness.Kind(), report.Gbps(p.Size, c.Bound))
	}
	m.Notes.Add(model.Fact, "%s", note)
	return nil
}
