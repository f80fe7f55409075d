package nccllog

import (
	"fmt"
	"slices"
	"strings"

	"github.com/oraccl/oraccl/model"
)

// Beside states what the log says of p that is in neither its rings nor its trees: which algorithm the tuner
// chose for about as many bytes, and that sums are formed in switches, which other schedules do.
func (l *Log) Beside(p *model.Problem) (said []string) {
	var near *Choice
	apart := func(c *Choice) float64 { return float64(max(c.Bytes, p.Size)) / float64(max(1, min(c.Bytes, p.Size))) }
	for i := range l.Choices {
		if c := &l.Choices[i]; strings.EqualFold(c.Collective, p.Collective.Kind.String()) && (near == nil || apart(c) < apart(near)) {
			near = c
		}
	}
	adds := l.Adds
	if near != nil {
		text := fmt.Sprintf("the tuner chose %s, protocol %s, for %s of %d bytes", near.Algorithm, near.Protocol, near.Collective, near.Bytes)
		if near.Micros != "" {
			text += fmt.Sprintf(", which it expects to take %s us", near.Micros)
		}
		said = append(said, text)
		adds = adds || strings.HasPrefix(near.Algorithm, "nvls")
		if near.Algorithm == "pat" {
			said = append(said, "pat is the method pat")
		}
	}
	if p.Collective.Kind != model.AllReduce && p.Collective.Kind != model.AllGather && p.Collective.Kind != model.ReduceScatter {
		return said
	}
	sums := slices.ContainsFunc(p.Topology.Switches, func(s model.Switch) bool { return s.Reduces != 0 })
	switch {
	case adds && sums && len(l.Heads) == 0:
		said = append(said, "NVLS: NVSwitches add up and multicast (NVLink SHARP), and the log does not say at which GPUs (NVLS Head …): the method in-network does so, too")
	case adds && sums:
	case adds:
		said = append(said, "NVLS: NVSwitches can add up and multicast (NVLink SHARP), which is not in this network: machines with -nvls have it, and the method in-network")
	}
	if l.CollNet || near != nil && strings.HasPrefix(near.Algorithm, "collnet") {
		if sums {
			said = append(said, "CollNet: switches between hosts add up (SHARP): the method in-network is near what they can do")
		} else {
			said = append(said, "CollNet: switches between hosts add up (SHARP), which is not in this network: machines with +sharp have it, and the method in-network")
		}
	}
	return said
}
