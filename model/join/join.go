// Package join puts clusters together: machines, each a topology with its NICs, at one switch, on
// rails, or in a fat tree of two levels (Leiserson, IEEE Transactions on Computers 1985, as a
// folded Clos network).
//
// Each NIC has a link to its switch and one back. Where a link between switches would carry several
// transfers at a time, it is as many links: a link carries one.
package join

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/oraccl/oraccl/model"
)

// Fabric is what joins machines.
type Fabric string

// The fabrics.
const (
	Switch  Fabric = "switch"  // one switch for all NICs
	Rails   Fabric = "rails"   // a switch for the first NICs of all machines, one for the second, and so on
	FatTree Fabric = "fattree" // leaf switches with the NICs of some machines each, spine switches above
)

// Fabrics returns the fabrics.
func Fabrics() []Fabric { return []Fabric{Switch, Rails, FatTree} }

// DefaultAlpha is the latency of a NIC's link where none is known. It is an assumption, the one that TE-CCL
// (Liu et al., SIGCOMM 2024) makes for InfiniBand.
const DefaultAlpha = 1300 * model.Nanosecond

// Options set what machines do not state.
type Options struct {
	Bandwidth int64      // of each NIC, bytes per second and direction; 0: as the machine has it
	Alpha     model.Time // of each NIC's link; negative: as the machine has it, or DefaultAlpha
	PerRank   int        // as many NICs at each rank instead of those of the machine; 0: the machine's, or one where it has none

	Fabric Fabric
	// PerLeaf is how many machines a leaf of a fat tree has (0: half of all, rounded up), and
	// Oversubscription how many times more the NICs of a leaf can send than its links to the spines.
	PerLeaf, Oversubscription int
}

// joiner collects the cluster.
type joiner struct {
	o     Options
	t     *model.Topology
	ports []port
	first []int // rank of each machine, and their number
}

// port is a NIC of the cluster.
type port struct {
	machine, index int // of its machine, and there
	node           int
	ranks          []int // that reach it at once
	bandwidth      int64
	alpha          model.Time
}

// Join returns the cluster of some machines, in their order. Its notes are those of the machines, what
// was assumed here, its groups machines and rails; a machine's own groups are in it as m1-NAME.
func Join(machines []model.Machine, o Options) (*model.Topology, error) {
	if len(machines) < 2 {
		return nil, fmt.Errorf("%d machine, want at least two: name it more often, or give --copies", len(machines))
	}
	ranks, nodes, links := 0, 0, 0
	for _, m := range machines {
		ranks += m.Topology.Ranks
		nodes += m.Topology.Nodes()
		links += len(m.Topology.Links)
	}
	if nodes > model.MaxNodes || links > model.MaxLinks/4 {
		return nil, fmt.Errorf("%d nodes and %d links, want at most %d and %d", nodes, links, model.MaxNodes, model.MaxLinks/4)
	}
	if !slices.Contains([]Fabric{Switch, Rails, FatTree}, o.Fabric) {
		return nil, fmt.Errorf("--fabric %q: want switch, rails or fattree", o.Fabric)
	}
	j := &joiner{o: o, t: &model.Topology{Ranks: ranks, Name: name(machines, o.Fabric)}}
	for i := range machines {
		j.first = append(j.first, 0)
		if i > 0 {
			j.first[i] = j.first[i-1] + machines[i-1].Topology.Ranks
		}
	}
	for i := range machines {
		if err := j.add(i, &machines[i]); err != nil {
			return nil, fmt.Errorf("%s: %w", machines[i].Topology.Name, err)
		}
	}
	switch o.Fabric {
	case Switch:
		s := j.node("fabric")
		for _, p := range j.ports {
			j.attach(p, s)
		}
	case Rails:
		rails := map[int]int{}
		for _, p := range j.ports {
			if _, known := rails[p.index]; !known {
				rails[p.index] = j.node(fmt.Sprintf("rail%d", p.index))
			}
			j.attach(p, rails[p.index])
		}
	case FatTree:
		if err := j.fatTree(len(machines)); err != nil {
			return nil, err
		}
	}
	j.groups()
	return j.t, j.t.Validate()
}

// name returns "dgxh100 x 4 on rails".
func name(machines []model.Machine, f Fabric) string {
	var parts []string
	for i := 0; i < len(machines); {
		k := i
		for k < len(machines) && machines[k].Topology.Name == machines[i].Topology.Name {
			k++
		}
		part := machines[i].Topology.Name
		if k > i+1 {
			part += fmt.Sprintf(" x %d", k-i)
		}
		parts, i = append(parts, part), k
	}
	on := map[Fabric]string{Switch: "at one switch", Rails: "on rails", FatTree: "in a fat tree"}[f]
	return model.Few(parts) + " " + on
}

func (j *joiner) node(name string) int {
	j.t.Switches = append(j.t.Switches, model.Switch{Name: name})
	return j.t.Ranks + len(j.t.Switches) - 1
}

func (j *joiner) duplex(u, v int, alpha model.Time, bandwidth int64) {
	j.t.Links = append(j.t.Links, model.Link{Src: u, Dst: v, Alpha: alpha, Bandwidth: bandwidth}, model.Link{Src: v, Dst: u, Alpha: alpha, Bandwidth: bandwidth})
}

func (j *joiner) attach(p port, to int) { j.duplex(p.node, to, p.alpha, p.bandwidth) }

// add adds a machine with its NICs, which are not attached yet.
func (j *joiner) add(i int, m *model.Machine) error {
	t := m.Topology
	base := j.t.Ranks + len(j.t.Switches)
	at := func(v int) int {
		if t.IsRank(v) {
			return j.first[i] + v
		}
		return base + v - t.Ranks
	}
	for k, s := range t.Switches {
		s.Name = fmt.Sprintf("m%d %s", i, cmp.Or(s.Name, fmt.Sprint(k)))
		j.t.Switches = append(j.t.Switches, s)
	}
	links := len(j.t.Links)
	for _, l := range t.Links {
		l.Src, l.Dst = at(l.Src), at(l.Dst)
		j.t.Links = append(j.t.Links, l)
	}
	for _, p := range t.Ports {
		p.Name, p.Links = fmt.Sprintf("m%d %s", i, p.Name), slices.Clone(p.Links)
		for k := range p.Links {
			p.Links[k] += links
		}
		j.t.Ports = append(j.t.Ports, p)
	}
	for _, g := range t.Groups {
		g.Name, g.Kind, g.Ranks = fmt.Sprintf("m%d-%s", i, g.Name), model.OtherGroup, slices.Clone(g.Ranks)
		for k := range g.Ranks {
			g.Ranks[k] += j.first[i]
		}
		j.t.Groups = append(j.t.Groups, g)
	}
	for _, n := range t.Notes {
		j.t.Notes.Add(n.Kind, "%s: %s", t.Name, n.Message)
	}
	nics := m.NICs
	if len(nics) == 0 || j.o.PerRank > 0 {
		nics = nil
		for r := range t.Ranks {
			for range max(1, j.o.PerRank) {
				nics = append(nics, model.NIC{Name: fmt.Sprintf("nic%d", len(nics)), Nodes: []int{r}, Bandwidth: m.NICBandwidth, Alpha: -1})
			}
		}
		if len(m.NICs) > 0 {
			j.t.Notes.Add(model.LeftOut, "%s: its %s, in place of which each GPU has %d", t.Name, model.Count(len(m.NICs), "NIC"), j.o.PerRank)
		} else if j.o.PerRank == 0 {
			j.t.Notes.Add(model.Assumed, "%s: a NIC at each GPU; --nics-per-gpu sets how many", t.Name)
		}
		if j.o.Bandwidth == 0 && m.NICBandwidth > 0 {
			j.t.Notes.Add(model.Assumed, "%s: %v GB/s for each NIC, as %[1]s:2 has them; --nic sets it", t.Name, float64(m.NICBandwidth)/1e9)
		}
	}
	for k, n := range nics {
		p := port{machine: i, index: k, node: at(n.Nodes[0]), bandwidth: cmp.Or(j.o.Bandwidth, n.Bandwidth), alpha: n.Alpha}
		for _, v := range n.Nodes {
			if t.IsRank(v) {
				p.ranks = append(p.ranks, at(v))
			}
		}
		if p.bandwidth == 0 {
			return errors.New("the bandwidth of its NICs is not known, want --nic, such as 50GB/s")
		}
		if j.o.Alpha >= 0 {
			p.alpha = j.o.Alpha
		}
		if p.alpha < 0 {
			p.alpha = DefaultAlpha
			j.t.Notes.Add(model.Assumed, "%s: %v for the link of a NIC; --nic-latency sets it", t.Name, DefaultAlpha)
		}
		if len(n.Nodes) > 1 {
			p.node = j.node(fmt.Sprintf("m%d nic %s", i, n.Name))
			for _, v := range n.Nodes {
				j.duplex(at(v), p.node, 0, p.bandwidth)
			}
			j.t.Notes.Add(model.Assumed, "%s: the GPUs that are nearest to a NIC share it, each at its bandwidth and without latency", t.Name)
		}
		j.ports = append(j.ports, p)
	}
	return nil
}

// fatTree attaches the NICs to leaves and these to spines: as many spines as NICs a leaf, divided by
// the oversubscription and rounded up.
func (j *joiner) fatTree(machines int) error {
	per := j.o.PerLeaf
	if per == 0 {
		per = (machines + 1) / 2
	}
	if per < 1 || per > machines || j.o.Oversubscription < 1 {
		return fmt.Errorf("%d machines a leaf of %d, oversubscribed %d times, want at least 1 of each and no more machines than there are", per, machines, j.o.Oversubscription)
	}
	leaves := make([]int, (machines-1)/per+1)
	count := make([]int, len(leaves))
	widest := int64(0)
	for i := range leaves {
		leaves[i] = j.node(fmt.Sprintf("leaf%d", i))
	}
	for _, p := range j.ports {
		j.attach(p, leaves[p.machine/per])
		count[p.machine/per]++
		widest = max(widest, p.bandwidth)
	}
	if len(leaves) == 1 {
		return nil
	}
	for i := range (slices.Max(count)-1)/j.o.Oversubscription + 1 {
		spine := j.node(fmt.Sprintf("spine%d", i))
		for _, leaf := range leaves {
			j.duplex(leaf, spine, 0, widest)
		}
	}
	j.t.Notes.Add(model.Assumed, "no latency more between leaves and spines, whose links are as fast as the fastest NIC")
	return nil
}

// groups adds each machine as a group, and each rail whose NICs are at ranks.
func (j *joiner) groups() {
	for i, first := range j.first {
		last := j.t.Ranks
		if i+1 < len(j.first) {
			last = j.first[i+1]
		}
		g := model.Group{Name: fmt.Sprintf("machine%d", i), Kind: model.MachineGroup}
		for r := first; r < last; r++ {
			g.Ranks = append(g.Ranks, r)
		}
		j.t.Groups = append(j.t.Groups, g)
	}
	if j.o.Fabric != Rails {
		return
	}
	byRail, rails := map[int][]int{}, 0
	for _, p := range j.ports {
		rails = max(rails, p.index+1)
		byRail[p.index] = append(byRail[p.index], p.ranks...)
	}
	for i := range rails {
		if len(byRail[i]) > 0 {
			j.t.Groups = append(j.t.Groups, model.Group{Name: fmt.Sprintf("rail%d", i), Kind: model.RailGroup, Ranks: byRail[i]})
		}
	}
}
