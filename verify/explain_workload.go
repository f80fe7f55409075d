package verify

// The codes of workloads. verify/workload has a schedule that shows each.
var workloads = []Explanation{
	{ComputeOverlap, "a rank does two computations at one time", "19.4",
		Example{Story: "two jobs that share a GPU, the second of which begins before the first has ended its step"}},
	{BeforeDependency, "an operation begins before what it waits for is ready", "19.3",
		Example{Story: "an allreduce of gradients that begins on rank 1 while rank 1 still computes them"}},
	{OutOfMemory, "a rank needs more memory than it has", "19.4",
		Example{Story: "three jobs that keep 30 GB each on a GPU of 80 GB"}},
	{WrongTree, "operands are combined in another order than an operator needs that is not associative, or with the scalars of others", "19.6",
		Example{Story: "Adasum of four ranks along a ring, which makes (((1,2),3),0) of the first chunk where ((0,1),(2,3)) is wanted"}},
}
