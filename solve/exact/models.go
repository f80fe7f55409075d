package exact

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/solve/hop"
	"github.com/oraccl/oraccl/solve/ten"
)

// keep writes the program of a network's horizon into the directory for files that belong
// to the result, if there is one. Where things may wait in a switch it would not tell what it is
// for, and is left out.
func (r *run) keep(n *ten.Network, epoch model.Time, feasible bool) error {
	if r.options.Scratch == "" || n.Horizon < 1 || r.w.reading() {
		return nil
	}
	unit, word := "rounds", "feasible"
	if epoch > 0 {
		unit = fmt.Sprintf("epochs-of-%d-ps", int64(epoch))
	}
	if !feasible {
		word = "infeasible"
	}
	m := solve.Model{
		File:  fmt.Sprintf("milp-%v-%d-chunks-%d-%s-%s.mps", n.Problem.Collective.Kind, len(n.Problem.Chunks), n.Horizon, unit, word),
		Epoch: epoch, Horizon: n.Horizon, Feasible: feasible,
	}
	f, err := os.Create(filepath.Join(r.options.Scratch, m.File))
	if err != nil {
		return fmt.Errorf("the program is not kept: %w", err)
	}
	err = encode(n, r.w).WriteMPS(f)
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return fmt.Errorf("the program is not kept: %w", err)
	}
	r.models = append(r.models, m)
	return nil
}

// shorter keeps the program of the most epochs that are over before end, a bound: it has no
// solution, or its schedule would end before the bound.
func (r *run) shorter(end model.Time) ([]solve.Model, error) {
	q := forward(r.p)
	if q == nil || r.p.Collective.Kind == model.AllReduce {
		return nil, nil
	}
	r.w = switchesOf(r.p, q)
	hops := hop.All(q.Topology)
	epoch := grids(q, hops)[0]
	if epoch == 0 {
		return nil, nil // rounds need not be equally long
	}
	n := ten.New(q, hops, epoch, int((end-1)/epoch))
	if columns, _ := size(n); columns > maxColumns {
		return nil, nil
	}
	err := r.keep(n, epoch, false)
	return r.models, err
}
