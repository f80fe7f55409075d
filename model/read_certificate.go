package model

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
)

func (d *decoder) certificate() *Certificate {
	c := &Certificate{}
	d.object("a certificate", d.withSchema(CertificateSchema, []field{
		{"problem", true, func() { c.Problem = d.problem("") }},
		{"bound_ps", true, func() { c.Bound = Time(d.whole(0, math.MaxInt64)) }},
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
func (d *decoder) witness() Witness {
	var kind string
	var cut Cut
	var partition Partition
	var prices Prices
	var rank int
	var w Distance
	var dual LPDual
	var no Refutation
	start := d.pos
	found := map[string]int{} // key to the position of its value
	key := func(name string, read func()) field {
		return field{name, false, func() { found[name] = d.pos; read() }}
	}
	d.object("a witness", []field{
		{"kind", true, func() { kind = word(d, "a kind", parseWitnessKind) }},
		key("nodes", func() { cut.Nodes = d.ints("an array of nodes", 0, 2*MaxNodes) }),
		key("from", func() { cut.From = d.ints("an array of ranks", 0, MaxNodes) }),
		key("to", func() { cut.To = d.ints("an array of ranks", 0, MaxNodes) }),
		key("parts", func() {
			partition.Parts = [][]int{}
			d.array("an array of sets of nodes", func(int) {
				partition.Parts = append(partition.Parts, d.ints("an array of nodes", 0, 2*MaxNodes))
			})
		}),
		key("rank", func() { rank = int(d.whole(0, MaxNodes)) }),
		key("prices", func() {
			prices.Links = []int64{}
			d.array("an array of prices", func(int) { prices.Links = append(prices.Links, d.whole(0, math.MaxInt64)) })
		}),
		key("chunk", func() { w.Chunk = int(d.whole(-1, MaxChunks)) }),
		key("shard", func() { w.Shard = int(d.whole(0, MaxChunks)) }),
		key("source", func() { w.Source = int(d.whole(0, MaxNodes)) }),
		key("dest", func() { w.Dest = int(d.whole(0, MaxNodes)) }),
		key("potential_ps", func() { w.Potential = d.times(-math.MaxInt64/2, math.MaxInt64/2) }),
		key("head_ps", func() { w.Head = d.times(-math.MaxInt64/2, math.MaxInt64/2) }),
		key("instants_ps", func() { dual.Instants = d.times(0, MaxTime/4) }),
		key("links", func() { dual.Links = d.instantPrices() }),
		key("ports", func() { dual.Ports = d.instantPrices() }),
		key("sends", func() { dual.Sends = d.instantPrices() }),
		key("receives", func() { dual.Receives = d.instantPrices() }),
		key("groups", func() { dual.Groups = d.dualGroups() }),
		key("epoch_ps", func() { no.Epoch = Time(d.whole(0, int64(MaxTime))) }),
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
		return Ingress{rank}
	case "egress":
		return Egress{rank}
	case "volume":
		return Volume{}
	case "partition":
		return partition
	case "prices":
		return prices
	case "doubling":
		return Doubling{w.Chunk, w.Shard, w.Source}
	case "broadcast":
		return Spread{w.Source}
	case "combine":
		return Combine{w.Dest}
	case "lp-dual":
		return dual
	case "lrat":
		return no
	}
	return w
}
