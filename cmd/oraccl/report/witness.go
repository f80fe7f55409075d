package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/oraccl/oraccl/model"
)

// Describe explains a bound: a sentence without its capital letter and its full stop.
func Describe(c *model.Certificate) string {
	t := c.Problem.Topology
	switch w := c.Witness.(type) {
	case model.Cut:
		text := fmt.Sprintf("what must leave %s fills the links out of %s", nodeSet(t, w.Nodes), pronoun(len(w.Nodes)))
		if w.From != nil {
			text += ", after it has come from " + nodeSet(t, w.From)
		}
		if w.To != nil {
			text += ", before it goes on to " + nodeSet(t, w.To)
		}
		return text
	case model.Coverage:
		text := fmt.Sprintf("what enters %s early is a sum of few contributions, and what enters late serves few ranks there", nodeSet(t, w.Nodes))
		if len(w.Nodes) == 1 {
			text = fmt.Sprintf("what enters %s early is a sum of few contributions", nodeSet(t, w.Nodes))
			if !c.Problem.Collective.Kind.Reduces() {
				text = fmt.Sprintf("what must enter %s comes to the links into it one after another", nodeSet(t, w.Nodes))
			}
		} else if !c.Problem.Collective.Kind.Reduces() {
			text = fmt.Sprintf("what enters %s late serves few ranks there", nodeSet(t, w.Nodes))
		}
		if w.First {
			text = fmt.Sprintf("what leaves the others for %s early is a sum of few contributions", nodeSet(t, w.Nodes))
			if !c.Problem.Collective.Kind.Reduces() {
				text = fmt.Sprintf("what leaves the others for %s late serves few ranks", nodeSet(t, w.Nodes))
			}
		}
		if w.From != nil {
			text += "; counted is what comes from " + nodeSet(t, w.From)
		}
		if w.To != nil {
			text += "; counted is what goes to " + nodeSet(t, w.To)
		}
		return text
	case model.Ingress:
		return fmt.Sprintf("what rank %d must receive fills the links into it", w.Rank)
	case model.Egress:
		return fmt.Sprintf("what must leave rank %d fills the links out of it", w.Rank)
	case model.Volume:
		return "all needed transfers together fill the links into (or out of) the ranks"
	case model.Partition:
		return fmt.Sprintf("all needed transfers between %d parts of the network fill the links between the parts", len(w.Parts))
	case model.Crossing:
		return fmt.Sprintf("what leaves one of %d parts of the network early carries few of its contributions, and what enters one late reaches few of its ranks", len(w.Parts))
	case model.Prices:
		return "at these link prices the demands cost more than all links can supply by that time"
	case model.TimedPrices:
		return "at these link prices, which change with time, the demands cost more than all links can sell by that time"
	case model.TimedPotentials:
		return "at these link prices, which change with time, what serves several ranks pays for all of them together, and that is more than all links can sell by that time"
	case model.Distance:
		return fmt.Sprintf("what rank %d contributes has to travel to rank %d", w.Source, w.Dest)
	case model.Doubling:
		return fmt.Sprintf("the ranks that hold what rank %d contributes at most double in each round", w.Source)
	case model.Spread:
		return fmt.Sprintf("rank %d sends one chunk per round of what only it has, and the last chunk has to spread by doubling", w.Source)
	case model.Refutation:
		switch {
		case w.Steps > 0:
			return fmt.Sprintf("no schedule has %d rounds in %d steps", w.Horizon, w.Steps)
		case w.Epoch == 0:
			return fmt.Sprintf("no schedule has %d rounds", w.Horizon)
		}
		return fmt.Sprintf("no schedule has %d epochs of %v", w.Horizon, w.Epoch)
	case model.Combine:
		return fmt.Sprintf("rank %d receives one chunk per round, and the first complete chunk has to be combined by doubling", w.Dest)
	case model.LPDual:
		return fmt.Sprintf("at these link prices, which change at %d instants, the demands cost more than all links can supply", len(w.Instants))
	}
	return c.Witness.Kind()
}

// limitName names what a bound of a kind counts.
func limitName(kind string) string {
	if name := map[string]string{
		"cut": "traffic out of a set of nodes", "ingress": "traffic into a rank", "egress": "traffic out of a rank",
		"volume": "total traffic", "coverage": "contributions that can have met", "partition": "traffic between parts", "crossing": "traffic between parts over time", "prices": "link prices", "timed-prices": "link prices over time", "timed-potentials": "link prices over time", "lp-dual": "link prices over time",
		"broadcast": "spreading from one rank", "combine": "combining at one rank", "lrat": "a refuted formula",
	}[kind]; name != "" {
		return name
	}
	return kind // distance, doubling
}

// Limit explains a bound: "Limit: total traffic. All needed transfers ...".
func Limit(c *model.Certificate) string {
	why := Describe(c)
	return fmt.Sprintf("Limit%s: %s. %s.", ChunksOf(c.Problem, " with"), limitName(c.Witness.Kind()), strings.ToUpper(why[:1])+why[1:])
}

// printLimits explains bounds, after a blank line; one that repeats the reason of another is
// left out.
func printLimits(w io.Writer, all []*model.Certificate) {
	said := map[string]bool{}
	for _, c := range all {
		if c == nil || said[Describe(c)] {
			continue
		}
		if len(said) == 0 {
			fmt.Fprintln(w)
		}
		said[Describe(c)] = true
		fmt.Fprintln(w, Limit(c))
	}
}

// ChunksOf returns the number of chunks of p after a word, " with 8 chunks", or "" if its cut is
// open.
func ChunksOf(p *model.Problem, word string) string {
	switch n := len(p.Chunks); n {
	case 0:
		return ""
	case 1:
		return word + " 1 chunk"
	default:
		return fmt.Sprintf("%s %d chunks", word, n)
	}
}

func pronoun(n int) string {
	if n == 1 {
		return "it"
	}
	return "them"
}

// nodeSet names a few nodes, or counts many.
func nodeSet(t *model.Topology, nodes []int) string {
	if len(nodes) == 1 {
		return t.NodeName(nodes[0])
	}
	if len(nodes) <= 8 {
		return "the nodes " + strings.Trim(strings.ReplaceAll(fmt.Sprint(nodes), " ", ", "), "[]")
	}
	return fmt.Sprintf("a set of %d nodes", len(nodes))
}

func boundLine(c *model.Certificate) string {
	if c == nil {
		return "bound  none found"
	}
	return fmt.Sprintf("bound  %s us  by %s, %s; certificate checked", Micros(c.Bound), c.Witness.Kind(), HoldsFor(c))
}

// HoldsFor names the cuts that a bound holds for.
func HoldsFor(c *model.Certificate) string {
	if cut := ChunksOf(c.Problem, "for"); cut != "" {
		return cut
	}
	return "for every number of chunks"
}
