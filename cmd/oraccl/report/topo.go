package report

import (
	"fmt"
	"io"
	"slices"
	"text/tabwriter"

	"github.com/oraccl/oraccl/model"
)

// PrintTopology writes one line a node pair and kind of link: parallel links are
// counted.
func PrintTopology(w io.Writer, t *model.Topology) error {
	fmt.Fprintf(w, "%s: %d ranks, %d switches, %d links, %d ports\n\n", t.Name, t.Ranks, len(t.Switches), len(t.Links), len(t.Ports))
	count := map[model.Link]int{}
	var kinds []model.Link
	for _, l := range t.Links {
		if count[l] == 0 {
			kinds = append(kinds, l)
		}
		count[l]++
	}
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, "from\tto\tlinks\tlatency\tbandwidth GB/s each")
	for _, l := range kinds {
		fmt.Fprintf(tw, "%s\t%s\t%d\t%v\t%.3f\n", t.NodeName(l.Src), t.NodeName(l.Dst), count[l], l.Alpha, float64(l.Bandwidth)/1e9)
	}
	if err := tw.Flush(); err != nil {
		return err
	}
	for i, s := range t.Switches {
		if s.Copies {
			fmt.Fprintf(w, "%s copies\n", t.NodeName(t.Ranks+i))
		}
	}
	for _, p := range t.Ports {
		links := slices.Clone(p.Links)
		fmt.Fprintf(w, "port %s: at most %d at a time over links %v\n", p.Name, p.Capacity, links)
	}
	PrintNotes(w, t.Notes)
	return nil
}
