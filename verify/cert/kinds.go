package cert

import "github.com/oraccl/oraccl/model"

// Kind describes a kind of certificate, in a sentence each.
type Kind struct {
	Name   string            // as model.Witness.Kind returns it
	Shows  string            // what it is a proof of
	Holds  string            // what the certificate holds as evidence
	Needs  string            // what the bound needs beside that; empty: nothing
	Costs  []model.CostModel // under which it is one; nil: all
	Cut    bool              // only for a problem with chunks
	Lemmas string            // the lemmas of this package that prove it
}

var everyCost = []model.CostModel{model.Blocking, model.Pipelined, model.Rounds, model.LinkRounds}

// kinds is in the order of the type switch of Yield, files last.
var kinds = []Kind{
	{Name: "cut", Shows: "what ranks in a set have and ranks outside need must pass the links that leave the set",
		Holds: "the set of nodes, and the ranks whose contributions and needs are counted, if not all", Lemmas: "cut, passing"},
	{Name: "ingress", Shows: "what a rank must receive has to pass the links that enter it",
		Holds: "the rank", Lemmas: "cut, passing"},
	{Name: "egress", Shows: "what must leave a rank has to pass the links that leave it",
		Holds: "the rank", Lemmas: "cut, passing"},
	{Name: "volume", Shows: "the transfers that the collective needs in all have to pass the links that enter ranks, and those that leave ranks; for an allreduce with late ranks, n-1+l of each chunk after l of n members have come",
		Holds: "nothing", Lemmas: "combine, late, passing"},
	{Name: "partition", Shows: "the transfers that the collective needs between parts of the network have to pass the links between them; for an allreduce among k parts, 2k-2 of each chunk",
		Holds: "the parts, disjoint sets of nodes that hold every rank", Needs: "no switch in a part copies", Lemmas: "combine between parts, passing"},
	{Name: "prices", Shows: "every chunk pays, for the time on the links on its way, at least the cheapest way, and all links together sell no more than their time",
		Holds: "a price for each link, a dual of the maximum concurrent flow", Lemmas: "prices"},
	{Name: "distance", Shows: "a contribution has to travel from where it is to a rank that needs it",
		Holds: "the contribution, the rank, and the least times at which it can be at each node, a dual of the shortest path", Lemmas: "times, distance"},
	{Name: "doubling", Shows: "the ranks that hold a contribution at most double each round",
		Holds: "the contribution", Needs: "no switch copies", Costs: []model.CostModel{model.Rounds}, Lemmas: "doubling"},
	{Name: "broadcast", Shows: "a rank sends what only it has one chunk a round, and the last one then has to spread by doubling",
		Holds: "the rank", Costs: []model.CostModel{model.Rounds}, Lemmas: "spread"},
	{Name: "combine", Shows: "a rank receives one chunk a round, and the first to be complete there has to be combined by doubling",
		Holds: "the rank", Costs: []model.CostModel{model.Rounds}, Lemmas: "combine in rounds"},
	{Name: "lp-dual", Shows: "at some instants all chunks must pay more for links, ports and ranks than there is, each demand taking the cheapest way in time",
		Holds: "prices at instants, and how demands share them out: a dual of the linear program of flows in time", Cut: true, Lemmas: "instants"},
	{Name: "lrat", Shows: "there is no schedule within a number of rounds, or of epochs of equal length",
		Holds: "a refutation of the formula of section 10 of the specification, in the format LRAT, in a file beside it",
		Needs: "what section 10.1 does not refuse: no switches that copy, no late ranks with reductions or in rounds", Cut: true, Lemmas: "horizon"},
}

// Kinds returns all kinds of certificates.
func Kinds() []Kind {
	all := make([]Kind, len(kinds))
	for i, k := range kinds {
		if k.Costs == nil {
			k.Costs = everyCost
		}
		all[i] = k
	}
	return all
}
