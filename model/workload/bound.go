package workload

import "github.com/oraccl/oraccl/model"

// Bound is a lower bound on the makespan of a workload, or, if it is periodic, on its period,
// with what it rests on. It is a statement: package verify/workload values it, and has the lemmas.
//
//	compute   Rank: the sum of its computations
//	cut       Nodes: what must enter this set of nodes over all links into it
//	iteration Ops has a computation and collectives that its job's next iteration waits for, on
//	          Rank: what must enter or leave it after the first of them is ready
//	chain     Ops has operations of which each waits for the end of the one before, on Rank: the
//	          sum of the least times of each; periodic: a cycle, divided by its height
//	waiting   Ops has the computation and the collective of one job, then those of another one: the
//	          first waits on Rank while the other one computes, and while it has the only link there
//	flow      Ops has the computation and the collective of each of some jobs: on Rank all computations and
//	          one entry, or one computation and all entries, one after the other
//	volume    Parts of the nodes: what must pass between them over all links into one
//	late      Ops are collectives that Rank, which is late, has contributions to that all members need: how they spread
//	order     Ops as of flow: the least end over all orders of computations and entries
type Bound struct {
	Kind  string
	Rank  int
	Nodes []int   // of cut
	Parts [][]int // of volume: each rank is in one of them
	Ops   []int   // of the other kinds: indices of operations
	Value model.Time
}

// Certificate is a bound on a workload.
type Certificate struct {
	Workload *Workload
	Bound    Bound
}
