package model

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Witness is the evidence of a Certificate. It is a struct, and its JSON has the key
// "kind" and a key for each of its fields, named in the field's tag; fields with
// "omitempty" may be absent. The tags "range" and "pattern" are for the JSON Schema; what a
// witness may be validate decides. Only this package has witnesses: WitnessOf knows them all.
type Witness interface {
	// Kind returns the name used in files and on the command line: "cut".
	Kind() string

	// validate reports the first thing in the witness that does not exist in p or is
	// out of range. It takes O(p + witness) time.
	validate(p *Problem) error
}

// witnesses has a witness of each kind. Each kind's file adds its own.
var witnesses = map[string]Witness{}

// witness makes a kind known. It returns w.
func witness(w Witness) Witness {
	if witnesses[w.Kind()] != nil {
		panic("two witnesses of kind " + w.Kind())
	}
	witnesses[w.Kind()] = w
	return w
}

// WitnessOf returns the zero witness of a kind.
func WitnessOf(kind string) (Witness, error) {
	if w := witnesses[kind]; w != nil {
		return w, nil
	}
	kinds := WitnessKinds()
	last := len(kinds) - 1
	return nil, fmt.Errorf("witness of kind %s: want %s or %s", Quote(kind), strings.Join(kinds[:last], ", "), kinds[last])
}

// WitnessKinds returns the kinds of witnesses, sorted.
func WitnessKinds() []string { return slices.Sorted(maps.Keys(witnesses)) }

// rankExists returns an error if r, which stands at place, is no rank of p.
func rankExists(p *Problem, place string, r int) error {
	if r < 0 || r >= p.Topology.Ranks {
		return wrong(place, "rank %d does not exist, want 0 to %d", r, p.Topology.Ranks-1)
	}
	return nil
}

// contributionExists returns an error if p has no such chunk (-1: a problem without
// chunks), shard or rank.
func contributionExists(p *Problem, chunk, shard, source int) error {
	switch {
	case chunk < -1 || chunk >= len(p.Chunks):
		return wrong("chunk", "chunk %d does not exist, want -1 (none) to %d", chunk, len(p.Chunks)-1)
	case shard < 0 || shard >= p.Shards():
		return wrong("shard", "shard %d does not exist, want 0 to %d", shard, p.Shards()-1)
	}
	return rankExists(p, "source", source)
}

// ascending reports the first of a list of nodes or ranks that does not exist or is
// out of order.
func ascending(place, what string, list []int, n int) error {
	for i, v := range list {
		if v < 0 || v >= n {
			return wrong(Element(place, i), "%s %d does not exist, want 0 to %d", what, v, n-1)
		}
		if i > 0 && v <= list[i-1] {
			return wrong(Element(place, i), "%s %d after %s %d, want ascending order", what, v, what, list[i-1])
		}
	}
	return nil
}
