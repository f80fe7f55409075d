package native_test

import (
	"fmt"
	"os"

	"github.com/oraccl/oraccl/model/native"
)

// A schedule file holds its problem, so that nothing else is needed to judge it.
func ExampleReadSolution() {
	f, err := os.Open("testdata/schedule-timed.json")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer f.Close()
	s, err := native.ReadSolution("schedule-timed.json", f)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(s.Problem)
	for _, t := range s.Schedule.Transfers {
		fmt.Printf("%v chunk %d over %d→%d from %v to %v\n", t.Op, t.Chunk, t.Src, t.Dst, t.Start, t.End)
	}
	fmt.Println("makespan", s.Problem.Makespan(s.Schedule))
	// Output:
	// broadcast from rank 0 of 1000 B in 1 chunk, 3 ranks, on triangle, pipelined
	// copy chunk 0 over 0→1 from 0s to 1.001us
	// copy chunk 0 over 1→2 from 1.001us to 2.002us
	// makespan 2.002us
}
