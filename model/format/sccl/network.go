package sccl

import (
	"fmt"

	"github.com/oraccl/oraccl/model"
)

// Nominal links of a topology that has only bandwidths as small numbers.
const (
	nominalAlpha     = 500 * model.Nanosecond
	nominalBandwidth = 50 << 30
)

// Topology returns the links that the file states, as many parallel ones from a node to
// another as sends may pass in a round, each of 500 ns and 50 GiB/s for want of better.
// What its switches add to that, Import looks after.
func (f *File) Topology() (*model.Topology, error) {
	t := &model.Topology{Name: f.Network, Ranks: len(f.Links)}
	for dst, row := range f.Links {
		for src, b := range row {
			if len(t.Links)+b > model.MaxLinks/16 {
				return nil, fmt.Errorf("topology: more than %d links", model.MaxLinks/16)
			}
			for range b {
				t.Links = append(t.Links, model.Link{Src: src, Dst: dst, Alpha: nominalAlpha, Bandwidth: nominalBandwidth})
			}
		}
	}
	if err := t.Validate(); err != nil {
		return nil, fmt.Errorf("topology: %w", err)
	}
	return t, nil
}
