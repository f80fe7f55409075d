package table

import (
	"fmt"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/instance"
)

// Instance names the instance of a row in the words of the flags, from which Flags makes the
// problem. Its fields are in canonical form, so that two ways to write the same words are
// equal.
type Instance struct {
	Topology   string     `json:"topology"`        // a name or a file
	Whole      string     `json:"whole,omitempty"` // the file of a problem, which the words but Chunks, Seed and Method describe; "": they make it
	Fail       string     `json:"fail,omitempty"`
	Alpha      string     `json:"alpha,omitempty"`
	Bandwidth  string     `json:"bandwidth,omitempty"`
	Collective string     `json:"collective"` // a name or a file, or a name with a file of sizes: see instance.Spelled
	Cost       string     `json:"cost"`
	SizeBytes  int64      `json:"size_bytes"`
	Chunks     int        `json:"chunks,omitempty"` // 0: the method's own
	DelayPs    model.Time `json:"delay_ps,omitempty"`
	Straggler  int        `json:"straggler,omitempty"` // 0 where there is no delay
	Seed       uint64     `json:"seed"`
	Method     string     `json:"method"`
}

// Label returns what a table calls the topology: its name, and what makes it another one
// than usual.
func (in *Instance) Label() string {
	label := in.Topology
	for _, x := range []struct{ word, value string }{{"of", in.Whole}, {"without", in.Fail}, {"alpha", in.Alpha}, {"bandwidth", in.Bandwidth}} {
		if x.value != "" {
			label += " " + x.word + " " + x.value
		}
	}
	return label
}

// Row returns the row that states nothing but which one it is.
func (in *Instance) Row() Row {
	return Row{Topology: in.Label(), Collective: in.Collective, SizeBytes: in.SizeBytes, Chunks: in.Chunks, DelayPs: in.DelayPs, Cost: in.Cost, Method: in.Method, Seed: in.Seed}
}

// Flags returns the flags that describe the instance on in.Topology.
func (in *Instance) Flags() instance.Flags {
	if in.Whole != "" {
		return instance.Flags{File: in.Whole, Chunks: in.Chunks, Objective: "makespan", Straggler: -1}
	}
	f := instance.Flags{Alpha: in.Alpha, Bandwidth: in.Bandwidth, Fail: instance.List(in.Fail), Collective: in.Collective,
		Size: fmt.Sprint(in.SizeBytes), Chunks: in.Chunks, Cost: in.Cost, Objective: "makespan", Straggler: -1}
	if in.DelayPs > 0 {
		f.Straggler, f.Delay = in.Straggler, fmt.Sprintf("%dps", int64(in.DelayPs))
	}
	return f
}
