package dossier

import (
	"fmt"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/instance"
	wl "github.com/oraccl/oraccl/model/workload"
)

// Asked is the problem that the reader has in mind, for the parts of it that were named.
type Asked struct {
	*model.Problem
	Topology, Collective, Size, Cost, Release bool
}

// NewAsked returns what the flags of a command ask for on a topology, by name or from a file,
// or nil if neither names anything. With a collective the flags describe the whole problem,
// with their defaults, as for the verbs that solve it; without one they describe the topology
// alone. given reports whether a flag was given.
func NewAsked(files instance.Files, topology string, flags *instance.Flags, given func(name string) bool) (*Asked, error) {
	if topology == "" {
		for _, name := range []string{"collective", "size", "sizes", "permutation", "cost", "root", "group", "alpha", "bandwidth", "scale", "straggler", "delay", "fail"} {
			if given(name) {
				return nil, fmt.Errorf("--%s: goes with --topology, which is missing", name)
			}
		}
		return nil, nil
	}
	if flags.Collective != "" {
		p, err := flags.Problem(files, topology)
		return &Asked{Problem: p, Topology: true, Collective: true, Size: true, Cost: true, Release: true}, err
	}
	for _, name := range []string{"size", "sizes", "permutation", "cost", "root", "group", "straggler", "delay"} {
		if given(name) {
			return nil, fmt.Errorf("--%s: goes with --collective, which is missing", name)
		}
	}
	t, err := instance.LoadTopology(files, topology, flags.Alpha, flags.Bandwidth)
	if err == nil {
		t, err = instance.Scaled(t, flags.Scale)
	}
	if err == nil {
		t, err = instance.Failed(t, flags.Fail)
	}
	return &Asked{Problem: &model.Problem{Topology: t}, Topology: true}, err
}

// differs returns in words in what q differs from what was asked, or "".
func (a *Asked) differs(q *model.Problem) string {
	if a.Topology {
		if text := TopologyDifference(a.Problem.Topology, q.Topology); text != "" {
			return text
		}
	}
	if a.Collective {
		if text := CollectiveDifference(a.Problem, q); text != "" {
			return text
		}
	}
	switch {
	case a.Size && a.Problem.Size != q.Size:
		return fmt.Sprintf("size of %d bytes, want %d", q.Size, a.Problem.Size)
	case a.Cost && a.Problem.Cost != q.Cost:
		return fmt.Sprintf("cost model %v, want %v", q.Cost, a.Problem.Cost)
	}
	if a.Release {
		return ReleaseDifference(a.Problem, q)
	}
	return ""
}

// differsWorkload returns in words in what a workload differs from what was asked, or "".
func (a *Asked) differsWorkload(w *wl.Workload) string {
	if a.Topology {
		if text := TopologyDifference(a.Problem.Topology, w.Topology); text != "" {
			return text
		}
	}
	if a.Collective {
		return fmt.Sprintf("a workload of %s, want one collective", model.Count(len(w.Ops), "operation"))
	}
	return ""
}

// left names the parts that were not asked about.
func (a *Asked) left() (list []string) {
	for _, x := range []struct {
		name  string
		asked bool
	}{{"topology", a.Topology}, {"collective", a.Collective}, {"size", a.Size}, {"cost model", a.Cost}, {"arrivals", a.Release}} {
		if !x.asked {
			list = append(list, x.name)
		}
	}
	return list
}
