package experiment

import (
	"context"

	"github.com/oraccl/oraccl/cmd/oraccl/experiment/expression"
)

// Measure computes for a line what a file cannot express. It gets the fields of the instance
// and the arguments of the run, and returns a record with the named fields. Those that rows
// read by themselves are method, proved, kind, seconds and reason.
type Measure struct {
	About   string
	Fields  []string
	Beyond  string // what it rests on that no dossier holds; "": nothing
	compute func(ctx context.Context, x *Runner, s spec) (expression.Record, error)
}

// measures returns the measures by name. Each is in a file of its own.
func measures() map[string]*Measure {
	return map[string]*Measure{
		"frontier": frontier(), "least-steps": leastSteps(), "point": point(), "rounds-per-chunk": perChunk(),
		"breakeven": breakeven(), "crossover": sharedJobs(), "workload": operations(),
		"spread":     spread(),
		"throughput": throughput(),
	}
}
