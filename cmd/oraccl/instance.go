package main

import (
	"context"
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"github.com/oraccl/oraccl/cmd/oraccl/exit"
	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/format/topologies"
	"github.com/oraccl/oraccl/model/instance"
)

// problemFlags holds the flags that describe a problem; solve, gap and bound share them.
type problemFlags struct{ instance.Flags }

// addFlags declares the flags of an instance.
func (in *problemFlags) addFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	in.Define(f)
	in.DefineCut(f)
	f.Lookup("straggler").DefValue = "0" // -1 is nobody, which the help need not say
	f.StringSliceVar(&in.Fail, "fail", nil, instance.FailUsage)
}

// addCompared declares the flags of an instance without its cut.
func (in *problemFlags) addCompared(cmd *cobra.Command) {
	f := cmd.Flags()
	in.Define(f)
	f.Lookup("straggler").DefValue = "0"
	f.StringSliceVar(&in.Fail, "fail", nil, instance.FailUsage)
}

// problem builds the problem that the flags describe on the topology named topology.
func (in *problemFlags) problem(ctx context.Context, topology string) (*model.Problem, error) {
	p, err := in.Problem(topologies.Files{Context: ctx}, topology)
	var unknown *instance.UnknownCollectiveError
	if errors.As(err, &unknown) {
		var names []string
		for _, k := range model.Kinds() {
			names = append(names, k.String())
		}
		if near := nearest(unknown.Name, names); len(near) > 0 {
			return nil, exit.Hint(err, "did you mean "+strings.Join(near, " or ")+"?")
		}
	}
	return p, err
}

// loadTopology reads a topology file, or builds the topology of that name.
func loadTopology(ctx context.Context, name, alpha, bandwidth string) (*model.Topology, error) {
	return instance.LoadTopology(topologies.Files{Context: ctx}, name, alpha, bandwidth)
}
