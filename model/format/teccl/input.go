package teccl

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/oraccl/oraccl/model"
)

// Input is what an input file of TE-CCL says of its topology: a name with numbers.
type Input struct {
	Name    string // "DGX1", "NDv2", "DGX2", "AMD", "Mesh"
	Chassis int
	Side    int        // of a mesh
	Alpha   model.Time // of the links where the name does not say it
	Alphas  int        // latencies that the file states
	Copies  *bool      // switch_copy: whether its switches copy; nil: not stated
	Others  []string   // what else the file states: "InstanceParams", and "chunk_size" of TopologyParams
}

// ReadInput reads the topology of an input file, the object TopologyParams; ok is false
// where a JSON document has none.
func ReadInput(name string, b []byte) (in Input, ok bool, err error) {
	var d struct {
		TopologyParams *struct {
			Name    string
			Chassis int
			Alpha   []float64
			Side    int `json:"side_length"`
		}
		InstanceParams struct {
			Copies *bool `json:"switch_copy"`
		}
	}
	if json.Unmarshal(b, &d) != nil || d.TopologyParams == nil {
		return in, false, nil
	}
	t := d.TopologyParams
	in = Input{Name: t.Name, Chassis: max(t.Chassis, 1), Side: t.Side, Alphas: len(t.Alpha), Copies: d.InstanceParams.Copies, Others: others(b)}
	if len(t.Alpha) > 0 {
		if a := t.Alpha[0]; a < 0 || a > 1000 {
			return in, true, fmt.Errorf("%s: TopologyParams: alpha %v s, want 0 to 1000", name, a)
		}
		in.Alpha = model.Time(t.Alpha[0]*1e12 + 0.5)
	}
	return in, true, nil
}

// others names what a file states and is not read, sorted.
func others(b []byte) []string {
	var d map[string]json.RawMessage
	var t map[string]json.RawMessage
	if json.Unmarshal(b, &d) != nil {
		return nil
	}
	var all []string
	for _, key := range slices.Sorted(maps.Keys(d)) {
		if !strings.EqualFold(key, "TopologyParams") {
			all = append(all, fmt.Sprintf("%.40q", key))
			continue
		}
		_ = json.Unmarshal(d[key], &t) // it was read before
		for _, k := range slices.Sorted(maps.Keys(t)) {
			if !slices.ContainsFunc([]string{"name", "chassis", "alpha", "side_length"}, func(read string) bool { return strings.EqualFold(k, read) }) {
				all = append(all, fmt.Sprintf("%.40q of TopologyParams", k))
			}
		}
	}
	return all
}
