package export

import (
	"bufio"
	"fmt"
	"io"

	"github.com/oraccl/oraccl/model"
)

// GOAL writes a schedule as GOAL: for each rank its sends, receives and computations, with
// what each requires. Sizes are in bytes, computations in nanoseconds, rounded up; a
// reduction takes none. Tags are the indices of transfers.
func GOAL(w io.Writer, p *model.Problem, s *model.Schedule) error {
	g, err := newProgram(p, s)
	if err != nil {
		return err
	}
	b := bufio.NewWriter(w)
	fmt.Fprintf(b, "num_ranks %d\n", p.Topology.Ranks)
	for r := range p.Topology.Ranks {
		fmt.Fprintf(b, "\nrank %d {\n", r)
		for i, n := range g.rank(r) {
			switch n.kind {
			case send:
				t := &s.Transfers[n.transfer]
				fmt.Fprintf(b, "l%d: send %db to %d tag %d\n", i+1, p.Chunks[t.Chunk].Size, t.Dst, n.transfer)
			case receive:
				t := &s.Transfers[n.transfer]
				fmt.Fprintf(b, "l%d: recv %db from %d tag %d\n", i+1, p.Chunks[t.Chunk].Size, t.Src, n.transfer)
			case arrive:
				fmt.Fprintf(b, "l%d: calc %d\n", i+1, (int64(p.ReleaseOf(r))+999)/1000)
			default:
				fmt.Fprintf(b, "l%d: calc 0\n", i+1)
			}
			for _, d := range n.deps {
				fmt.Fprintf(b, "l%d requires l%d\n", i+1, d+1)
			}
		}
		fmt.Fprintln(b, "}")
	}
	return b.Flush()
}
