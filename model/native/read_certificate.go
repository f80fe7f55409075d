package native

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/oraccl/oraccl/model"
)

func (d *decoder) certificate() *model.Certificate {
	c := &model.Certificate{}
	d.object("a certificate", d.withSchema(CertificateSchema, []field{
		{"problem", true, func() { c.Problem = d.problem("") }},
		{"bound_ps", true, func() { c.Bound = model.Time(d.whole(0, math.MaxInt64)) }},
		{"witness", true, func() { c.Witness = d.witness() }},
	}))
	return c
}

// witnessKeys says which keys the witnesses of each kind have beside "kind". Those
// with a question mark may be absent.
var witnessKeys = map[string][]string{
	"cut":       {"nodes", "from?", "to?"},
	"ingress":   {"rank"},
	"egress":    {"rank"},
	"volume":    {},
	"partition": {"parts"},
	"prices":    {"prices"},
	"distance":  {"chunk", "shard", "source", "dest", "potential_ps", "head_ps?"},
	"doubling":  {"chunk", "shard", "source"},
	"broadcast": {"source"},
	"combine":   {"dest"},
	"lp-dual":   {"instants_ps", "links?", "ports?", "sends?", "receives?", "groups"},
	"lrat":      {"epoch_ps", "horizon", "steps?", "proof", "sha256"},
}

func parseWitnessKind(s string) (string, error) {
	if _, known := witnessKeys[s]; !known {
		return "", fmt.Errorf("witness of kind %q: want cut, ingress, egress, volume, partition, prices, distance, doubling, broadcast, combine, lp-dual or lrat", s)
	}
	return s, nil
}

// witness reads the evidence: an object whose key "kind" says what else it has.
func (d *decoder) witness() model.Witness {
	var kind string
	var cut model.Cut
	var partition model.Partition
	var prices model.Prices
	var rank int
	var w model.Distance
	var dual model.LPDual
	var no model.Refutation
	start := d.pos
	found := map[string]int{} // key to the position of its value
	key := func(name string, read func()) field {
		return field{name, false, func() { found[name] = d.pos; read() }}
	}
	d.object("a witness", []field{
		{"kind", true, func() { kind = word(d, "a kind", parseWitnessKind) }},
		key("nodes", func() { cut.Nodes = d.ints("an array of nodes", 0, 2*model.MaxNodes) }),
		key("from", func() { cut.From = d.ints("an array of ranks", 0, model.MaxNodes) }),
		key("to", func() { cut.To = d.ints("an array of ranks", 0, model.MaxNodes) }),
		key("parts", func() {
			partition.Parts = [][]int{}
			d.array("an array of sets of nodes", func(int) {
				partition.Parts = append(partition.Parts, d.ints("an array of nodes", 0, 2*model.MaxNodes))
			})
		}),
		key("rank", func() { rank = int(d.whole(0, model.MaxNodes)) }),
		key("prices", func() {
			prices.Links = []int64{}
			d.array("an array of prices", func(int) { prices.Links = append(prices.Links, d.whole(0, math.MaxInt64)) })
		}),
		key("chunk", func() { w.Chunk = int(d.whole(-1, model.MaxChunks)) }),
		key("shard", func() { w.Shard = int(d.whole(0, model.MaxChunks)) }),
		key("source", func() { w.Source = int(d.whole(0, model.MaxNodes)) }),
		key("dest", func() { w.Dest = int(d.whole(0, model.MaxNodes)) }),
		key("potential_ps", func() { w.Potential = d.times(-math.MaxInt64/2, math.MaxInt64/2) }),
		key("head_ps", func() { w.Head = d.times(-math.MaxInt64/2, math.MaxInt64/2) }),
		key("instants_ps", func() { dual.Instants = d.times(0, model.MaxTime/4) }),
		key("links", func() { dual.Links = d.instantPrices() }),
		key("ports", func() { dual.Ports = d.instantPrices() }),
		key("sends", func() { dual.Sends = d.instantPrices() }),
		key("receives", func() { dual.Receives = d.instantPrices() }),
		key("groups", func() { dual.Groups = d.dualGroups() }),
		key("epoch_ps", func() { no.Epoch = model.Time(d.whole(0, int64(model.MaxTime))) }),
		key("horizon", func() { no.Horizon = int(d.whole(1, math.MaxInt32)) }),
		key("steps", func() { no.Steps = int(d.whole(0, math.MaxInt32)) }),
		key("proof", func() { no.Proof = d.text("a file name") }),
		key("sha256", func() { no.SHA256 = d.text("64 hexadecimal digits") }),
	})
	for _, name := range witnessKeys[kind] {
		name, optional := strings.CutSuffix(name, "?")
		if _, ok := found[name]; !ok && !optional {
			d.failAt(start, "key %q is missing, want it in a witness of kind %q", name, kind)
		}
		delete(found, name)
	}
	for _, name := range slices.Sorted(maps.Keys(found)) {
		d.failAt(found[name], "key %q does not belong to a witness of kind %q", name, kind)
	}
	switch kind {
	case "cut":
		return cut
	case "ingress":
		return model.Ingress{Rank: rank}
	case "egress":
		return model.Egress{Rank: rank}
	case "volume":
		return model.Volume{}
	case "partition":
		return partition
	case "prices":
		return prices
	case "doubling":
		return model.Doubling{Chunk: w.Chunk, Shard: w.Shard, Source: w.Source}
	case "broadcast":
		return model.Spread{Source: w.Source}
	case "combine":
		return model.Combine{Dest: w.Dest}
	case "lp-dual":
		return dual
	case "lrat":
		return no
	}
	return w
}
