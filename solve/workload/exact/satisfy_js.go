package exact

import (
	"context"

	wl "github.com/oraccl/oraccl/model/workload"
	"github.com/oraccl/oraccl/solve"
)

// Satisfy asks a SAT solver, which a web page has not (command oraccl-site).
func Satisfy(context.Context, *wl.Schedule, Options) (*Result, error) {
	return nil, solve.NotServed("no SAT solver can be asked in a web page")
}
