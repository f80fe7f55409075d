package workloads

import (
	"github.com/oraccl/oraccl/model"
	wl "github.com/oraccl/oraccl/model/workload"
	place "github.com/oraccl/oraccl/solve/workload"
)

// Families returns the families of workloads that Make makes.
func Families() []place.Family { return place.Families() }

// Make returns the workload of a family on a topology. given has what is given of each parameter, "" being
// nothing, machines the ranks of each machine.
func Make(family string, given func(parameter string) string, t *model.Topology, cost model.CostModel, machines [][]int) (*wl.Workload, error) {
	f, err := place.FamilyNamed(family)
	if err != nil {
		return nil, err
	}
	return f.Make(given, place.Target{Topology: t, Cost: cost, Machines: machines})
}
