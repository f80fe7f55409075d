package smi

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/oraccl/oraccl/model"
)

type builder struct {
	o Options
	t *model.Topology
	m [][]string

	switched int // GPUs whose NVLinks go to an NVSwitch
}

func build(m [][]string, others rest, o Options) (*model.Topology, error) {
	b := &builder{o: o, m: m, t: &model.Topology{Ranks: len(m)}}
	if o.Alpha < 0 {
		b.o.Alpha = DefaultAlpha
	}
	if o.Bandwidth == 0 {
		b.o.Bandwidth = DefaultBandwidth
	}
	if err := b.nvlinks(); err != nil {
		return nil, err
	}
	byPCIe := len(m) > 1 && !b.connected()
	if byPCIe {
		b.pcie()
	}
	b.notes(others, byPCIe, o)
	return b.t, nil
}

// notes writes down what the text has and the topology has not, and the reverse; asked is
// what was asked for, and byPCIe reports whether GPUs are linked by PCIe too.
func (b *builder) notes(others rest, byPCIe bool, asked Options) {
	n := &b.t.Notes
	linked, distances := false, false
	for i, r := range b.m {
		for j := range r {
			linked = linked || b.count(i, j) > 0
			distances = distances || i != j && b.count(i, j) == 0
		}
	}
	if asked.Alpha < 0 && len(b.m) > 1 {
		n.Add(model.Assumed, "%v between GPUs, half of it to or from a switch: the matrix has no latencies; --alpha sets it", b.o.Alpha)
	}
	if asked.Bandwidth == 0 && linked {
		n.Add(model.Assumed, "%d GB/s and direction for one NVLink: the matrix has their number alone; --bandwidth sets it", b.o.Bandwidth/1_000_000_000)
	}
	if b.switched > 0 {
		n.Add(model.Assumed, "NVLinks of %d GPUs go to an NVSwitch, since no GPU has as many as their numbers add up to", b.switched)
	}
	switch {
	case byPCIe:
		n.Add(model.Assumed, "12 GB/s for each link over PCIe, host bridges and between NUMA nodes: the matrix has distances alone")
	case distances:
		n.Add(model.LeftOut, "paths over PCIe: NVLinks connect all GPUs")
	}
	if c := max(len(others.rows), others.columns); c > 0 && !others.joined {
		var names []string
		for _, name := range others.rows {
			names = append(names, fmt.Sprintf("%.40q", name))
		}
		n.Add(model.LeftOut, "%s not of a GPU (%s): the topology is of one machine, without NICs", model.Count(c, "column or row"), cmp.Or(model.Few(names), "without names"))
	}
	if others.matrices > 0 {
		n.Add(model.LeftOut, "%d further matrices in the text", others.matrices)
	}
}

// count returns the number of NVLinks between two GPUs.
func (b *builder) count(i, j int) int64 {
	s, is := strings.CutPrefix(b.m[i][j], "NV")
	if !is {
		return 0
	}
	n, _ := strconv.ParseInt(s, 10, 64) // checked when it was read
	return n
}

func (b *builder) addSwitch(name string) int {
	b.t.Switches = append(b.t.Switches, model.Switch{Name: name})
	return b.t.Ranks + len(b.t.Switches) - 1
}

// toSwitch links a node with a switch each way, half of the latency on the way in.
func (b *builder) toSwitch(v, s int, bandwidth int64) {
	b.t.Links = append(b.t.Links, model.Link{Src: v, Dst: s, Alpha: b.o.Alpha / 2, Bandwidth: bandwidth},
		model.Link{Src: s, Dst: v, Alpha: b.o.Alpha - b.o.Alpha/2, Bandwidth: bandwidth})
}

// nvlinks adds the links of each group of GPUs that NVLinks connect.
func (b *builder) nvlinks() error {
	group := components(len(b.m), func(i, j int) bool { return b.count(i, j) > 0 })
	for _, members := range group {
		if len(members) < 2 {
			continue
		}
		k := b.count(members[0], members[1])
		uniform := true
		most, busy := int64(0), 0
		for _, i := range members {
			sum := int64(0)
			for _, j := range members {
				sum += b.count(i, j)
				uniform = uniform && (i == j || b.count(i, j) == k)
			}
			if sum > most {
				most, busy = sum, i
			}
		}
		switch {
		case most <= maxNVLinks:
			for _, i := range members {
				for _, j := range members {
					if n := b.count(i, j); n > 0 {
						b.t.Links = append(b.t.Links, model.Link{Src: i, Dst: j, Alpha: b.o.Alpha, Bandwidth: n * b.o.Bandwidth})
					}
				}
			}
		case uniform:
			s := b.addSwitch(fmt.Sprintf("nvswitch%d", len(b.t.Switches)))
			for _, i := range members {
				b.toSwitch(i, s, k*b.o.Bandwidth)
			}
			b.switched += len(members)
		default:
			return fmt.Errorf("GPU%d would have %d NVLinks, more than the %d of any GPU, and not the same number to each of its peers, as over an NVSwitch", busy, most, maxNVLinks)
		}
	}
	return nil
}

// components returns the connected components of a relation.
func components(n int, related func(i, j int) bool) [][]int {
	seen := make([]bool, n)
	var all [][]int
	for i := range n {
		if seen[i] {
			continue
		}
		seen[i] = true
		members := []int{i}
		for k := 0; k < len(members); k++ {
			for j := range n {
				if !seen[j] && related(members[k], j) {
					seen[j] = true
					members = append(members, j)
				}
			}
		}
		all = append(all, members)
	}
	return all
}

func (b *builder) connected() bool {
	return len(components(len(b.m), func(i, j int) bool { return b.count(i, j) > 0 })) == 1
}

// level returns how far apart two GPUs are on PCIe. What NVLinks join may be anywhere.
func (b *builder) level(i, j int) int { return levelOf(b.m[i][j]) }

// levelOf returns how far apart an entry says that two devices are on PCIe, 5 where it says nothing of that.
func levelOf(entry string) int {
	switch entry {
	case "PIX", "PSB":
		return 0
	case "PXB":
		return 1
	case "PHB":
		return 2
	case "NODE":
		return 3
	case "SYS", "SOC":
		return 4
	}
	return 5
}

var levels = []string{"pix", "pxb", "phb", "node", "sys"}

// pcie adds a tree of switches: at each level those that are no farther apart share one,
// unless they share one below already. GPUs joined by NVLinks whose distance the matrix
// does not show count as far apart as their group is from others.
func (b *builder) pcie() {
	n := len(b.m)
	top := make([]int, n) // the node that stands for the GPU so far
	for i := range top {
		top[i] = i
	}
	for level, name := range levels {
		for _, members := range components(n, func(i, j int) bool {
			return i != j && (b.level(i, j) <= level || level == len(levels)-1)
		}) {
			tops := map[int]bool{}
			var order []int
			for _, i := range members {
				if !tops[top[i]] {
					tops[top[i]] = true
					order = append(order, top[i])
				}
			}
			if len(order) < 2 {
				continue
			}
			s := b.addSwitch(fmt.Sprintf("%s%d", name, len(b.t.Switches)))
			for _, v := range order {
				b.toSwitch(v, s, pcieBandwidth)
			}
			for _, i := range members {
				top[i] = s
			}
		}
	}
}
