package report

import (
	"fmt"
	"io"
	"math"
	"slices"
	"text/tabwriter"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/machines"
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
	for _, g := range t.Groups {
		fmt.Fprintf(w, "group %s (%v): ranks %s\n", g.Name, g.Kind, model.RankRanges(g.Ranks))
	}
	PrintNotes(w, t.Notes)
	return nil
}

// maxMatrix is how many ranks a matrix has at most, so that its lines can be read.
const maxMatrix = 64

// PrintMatrix writes, for each pair of ranks, the bandwidth of the widest way among those with the
// fewest links, and how many links that are.
func PrintMatrix(w io.Writer, t *model.Topology) error {
	if t.Ranks > maxMatrix {
		return fmt.Errorf("--matrix: %s has %d ranks, want at most %d", t.Name, t.Ranks, maxMatrix)
	}
	fmt.Fprintf(w, "%s: GB/s of the widest way with the fewest links, and their number\n\n", t.Name)
	tw := tabwriter.NewWriter(w, 0, 0, 1, ' ', tabwriter.AlignRight)
	for d := range t.Ranks {
		fmt.Fprintf(tw, "\t%d", d)
	}
	fmt.Fprintln(tw, "\t")
	out := t.Out()
	for s := range t.Ranks {
		width, far := widest(t, out, s)
		fmt.Fprintf(tw, "%d", s)
		for d := range t.Ranks {
			switch {
			case s == d:
				fmt.Fprint(tw, "\tX")
			case far[d] < 0:
				fmt.Fprint(tw, "\t-")
			default:
				fmt.Fprintf(tw, "\t%.4g/%d", float64(width[d])/1e9, far[d])
			}
		}
		fmt.Fprintln(tw, "\t")
	}
	if err := tw.Flush(); err != nil {
		return err
	}
	if list := machines.Ranks(t); len(list) > 1 {
		for i, ranks := range list {
			fmt.Fprintf(w, "--group machine:%d  ranks %s\n", i, model.RankRanges(ranks))
		}
	}
	for i, ranks := range machines.Rails(t) {
		if len(ranks) < t.Ranks {
			fmt.Fprintf(w, "--group rail:%d  ranks %s\n", i, model.RankRanges(ranks))
		}
	}
	for _, g := range t.Groups {
		if g.Kind == model.OtherGroup {
			fmt.Fprintf(w, "--group %s  ranks %s\n", g.Name, model.RankRanges(g.Ranks))
		}
	}
	PrintNotes(w, t.Notes)
	return nil
}

// widest returns, for each node, how many links it is from a rank, -1 where there is no way, and the
// bandwidth of the narrowest link of the best such way.
func widest(t *model.Topology, out [][]int, from int) (width []int64, far []int) {
	width, far = make([]int64, t.Nodes()), slices.Repeat([]int{-1}, t.Nodes())
	far[from], width[from] = 0, math.MaxInt64
	for queue := []int{from}; len(queue) > 0; queue = queue[1:] {
		v := queue[0]
		for _, l := range out[v] {
			d := t.Links[l].Dst
			if far[d] < 0 {
				far[d] = far[v] + 1
				queue = append(queue, d)
			}
			if far[d] == far[v]+1 {
				width[d] = max(width[d], min(width[v], t.Links[l].Bandwidth))
			}
		}
	}
	return width, far
}

// sums returns what limits what a switch adds: how many chunks at one time, operators, types.
func sums(s model.Switch) (text string) {
	if s.Sums > 0 {
		text = fmt.Sprintf(", of at most %d chunks at one time", s.Sums)
	}
	if s.Operations != 0 {
		text += fmt.Sprintf("; computes %v", s.Operations)
	}
	for op, types := range s.Types {
		if types != 0 {
			text += fmt.Sprintf("; %v of %v", model.Operator(op), types)
		}
	}
	return text
}
