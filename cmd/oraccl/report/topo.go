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
		switch s.Reduces {
		case model.SumsRead:
			fmt.Fprintf(w, "%s adds: ranks read sums, their own contribution included%s\n", t.NodeName(t.Ranks+i), sums(s))
		case model.SumsTurned:
			fmt.Fprintf(w, "%s adds, and sends sums on in the same pass%s\n", t.NodeName(t.Ranks+i), sums(s))
		}
	}
	for _, p := range t.Ports {
		links := slices.Clone(p.Links)
		fmt.Fprintf(w, "port %s: at most %d at a time over links %v\n", p.Name, p.Capacity, links)
	}
	PrintNotes(w, t.Notes)
	return nil
}

// sums returns how many chunks a switch adds up at one time, where that is limited.
func sums(s model.Switch) string {
	if s.Sums == 0 {
		return ""
	}
	return fmt.Sprintf(", of at most %d chunks at one time", s.Sums)
}
