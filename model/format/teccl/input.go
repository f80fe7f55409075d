package teccl

import (
	"encoding/json"
	"fmt"

	"github.com/oraccl/oraccl/model"
)

// Input is what an input file of TE-CCL says of its topology: a name with numbers.
type Input struct {
	Name    string // "DGX1", "NDv2", "DGX2", "AMD", "Mesh"
	Chassis int
	Side    int        // of a mesh
	Alpha   model.Time // of the links where the name does not say it
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
	}
	if json.Unmarshal(b, &d) != nil || d.TopologyParams == nil {
		return in, false, nil
	}
	t := d.TopologyParams
	in = Input{Name: t.Name, Chassis: max(t.Chassis, 1), Side: t.Side}
	if len(t.Alpha) > 0 {
		if a := t.Alpha[0]; a < 0 || a > 1000 {
			return in, true, fmt.Errorf("%s: TopologyParams: alpha %v s, want 0 to 1000", name, a)
		}
		in.Alpha = model.Time(t.Alpha[0]*1e12 + 0.5)
	}
	return in, true, nil
}
