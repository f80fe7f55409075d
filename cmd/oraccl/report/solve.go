package report

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/quote"
	"github.com/oraccl/oraccl/solve/certify"
)

// shownTransfers is how many transfers solve prints where it writes no file.
const shownTransfers = 64

// printSchedule lists the transfers in order of time.
func printSchedule(w io.Writer, p *model.Problem, s *model.Schedule) {
	order := make([]int, len(s.Transfers))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int {
		a, b := &s.Transfers[i], &s.Transfers[j]
		return int(min(max(a.Start-b.Start, -1), 1))
	})
	for n, i := range order {
		if n == shownTransfers {
			fmt.Fprintf(w, "… %d more transfers; -o FILE writes them all\n", len(order)-n)
			return
		}
		t := &s.Transfers[i]
		when := fmt.Sprintf("%12s us to %12s us", Micros(t.Start), Micros(t.End))
		if s.Form == model.InRounds {
			when = fmt.Sprintf("round %4d", t.Start)
		}
		fmt.Fprintf(w, "%s  %-6v chunk %d  %d -> %d  over %s\n", when, t.Op, t.Chunk, t.Src, t.Dst, path(p.Topology, s.Routes[t.Route]))
	}
}

// path writes a route as its links and what lies between them.
func path(t *model.Topology, route []int) string {
	text := fmt.Sprintf("link %d", route[0])
	for _, l := range route[1:] {
		text += fmt.Sprintf(", %s, link %d", t.NodeName(t.Links[l].Src), l)
	}
	return text
}

// printTried names what the methods of a portfolio found, the shortest first.
func printTried(w io.Writer, ev *certify.Report) {
	if len(ev.Tried) == 0 {
		return
	}
	all := slices.Clone(ev.Tried)
	slices.SortStableFunc(all, func(a, b certify.Tried) int { return cmp.Compare(a.Makespan, b.Makespan) })
	var text []string
	for _, t := range all {
		text = append(text, fmt.Sprintf("%s %s us", t.Method, Micros(t.Makespan)))
	}
	fmt.Fprintf(w, "Tried: %s.\n", strings.Join(text, ", "))
}

// PrintSolved writes the best of an evaluation, the first of its rows, as text: out is the file
// that it was written to. Without one its transfers follow.
func PrintSolved(w io.Writer, ev *certify.Report, out string) {
	left := ev.LeftOut
	ev.LeftOut = nil // of the methods, only the one that won is of interest
	PrintGap(w, ev)
	printTried(w, ev)
	ev.LeftOut = left
	switch {
	case out != "" && ev.Best() == nil:
		fmt.Fprintf(w, "\n%s is not written: what was found is not proved\n", quote.Name(out))
		return
	case out != "":
		fmt.Fprintf(w, "\nwritten to %s\n", quote.Name(out))
		return
	}
	fmt.Fprintln(w)
	printSchedule(w, ev.Rows[0].Result.Problem, ev.Rows[0].Result.Schedule)
}
