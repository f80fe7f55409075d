package nccl

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/oraccl/oraccl/model"
)

// gpu is a rank to be.
type gpu struct {
	e     *element
	pci   *element // that it is in
	bus   string   // PCI bus id, in lower case
	above *switchNode
	up    int64 // bandwidth to what is above
	cpu   *switchNode
	rank  int
	index int // in the order of the file
}

// switchNode is a CPU or a PCI bridge.
type switchNode struct {
	name   string
	above  *switchNode
	up     int64
	cpu    *element
	e      *element // of a PCI bridge
	useful bool     // has GPUs below
	node   int
}

// net is a NIC's port.
type net struct {
	e     *element
	above *switchNode // the PCI device or CPU that it is at
}

type builder struct {
	alpha model.Time
	gpus  []*gpu
	nodes []*switchNode // parents before children
	t     *model.Topology

	nets   []net
	joined bool // NICs are wanted, too

	guess    assumed
	out      omitted
	order    string // what ranks are numbered by: "rank", "dev", or "" for the order of the file
	switches int    // NVSwitches that the file tells apart
}

// build makes the topology; given reports whether the latency was asked for.
func build(root *element, alpha model.Time, given, nics bool) (*model.Machine, error) {
	b := &builder{alpha: alpha, t: &model.Topology{}, joined: nics}
	cpus := 0
	for _, c := range root.children {
		if c.name != "cpu" {
			continue
		}
		if cpus++; cpus > maxCPUs {
			return nil, c.wrong("more than %d CPUs, want at most that", maxCPUs)
		}
		n := &switchNode{name: "cpu" + c.attr["numaid"], cpu: c}
		b.nodes = append(b.nodes, n)
		if err := b.below(c, n, n); err != nil {
			return nil, err
		}
	}
	if len(b.gpus) == 0 {
		return nil, root.wrong("has no gpu elements: a file that says only where PCI devices are is completed by NCCL when it runs; want what it writes then (NCCL_TOPO_DUMP_FILE)")
	}
	if err := b.ranks(); err != nil {
		return nil, err
	}
	b.place()
	b.pci()
	b.cpus()
	if err := b.links(); err != nil {
		return nil, err
	}
	m := &model.Machine{Topology: b.t}
	if nics {
		var err error
		if m.NICs, err = b.nics(); err != nil {
			return nil, err
		}
	}
	b.notes(root, given)
	return m, nil
}

// nics returns the NICs of the file: see ReadMachine.
func (b *builder) nics() ([]model.NIC, error) {
	var list []model.NIC
	away := 0
	for _, n := range b.nets {
		name := cmp.Or(n.e.attr["name"], fmt.Sprintf("net%d", len(list)))
		nic := model.NIC{Name: fmt.Sprintf("%.40q", name), Alpha: -1}
		if model.CheckName(name) == nil && len(name) < 40 {
			nic.Name = name
		}
		if n.e.attr["speed"] != "" {
			speed, err := n.e.number("speed", 1, 1<<30) // in 10⁶ bits a second
			if err != nil {
				return nil, err
			}
			nic.Bandwidth = speed * 1e6 / 8
		}
		if us, err := strconv.ParseFloat(n.e.attr["latency"], 64); err == nil && us > 0 && us < 1e6 {
			nic.Alpha = model.Time(us * float64(model.Microsecond))
		}
		at := n.above
		for ; at != nil && !at.useful; at = at.above {
			if nic.Bandwidth > 0 && at.up > 0 {
				nic.Bandwidth = min(nic.Bandwidth, at.up)
			}
		}
		if at == nil {
			away++
			continue
		}
		nic.Nodes = []int{at.node}
		list = append(list, nic)
	}
	if away > 0 {
		b.t.Notes.Add(model.LeftOut, "%s at CPUs without GPUs", model.Count(away, "NIC"))
	}
	if len(list) > 0 {
		b.t.Notes.Add(model.Fact, "NICs are at the PCI bridges or CPUs that the file has them below")
	}
	return list, nil
}

// below walks down from a CPU or PCI bridge.
func (b *builder) below(e *element, above, cpu *switchNode) error {
	for _, c := range e.children {
		if c.name == "nic" {
			for _, n := range c.children {
				if n.name == "net" {
					b.nets = append(b.nets, net{n, above})
				}
			}
		}
		if c.name != "pci" {
			continue
		}
		up, err := pciBandwidth(c)
		if err != nil {
			return err
		}
		bus := strings.ToLower(c.attr["busid"])
		bridge := &switchNode{name: "pci " + bus, above: above, up: up, e: c}
		at := len(b.nodes)
		b.nodes = append(b.nodes, bridge)
		has := false
		for _, g := range c.children {
			if g.name != "gpu" {
				continue
			}
			if len(b.gpus) >= maxGPUs {
				return g.wrong("more than %d GPUs, want at most that", maxGPUs)
			}
			b.gpus = append(b.gpus, &gpu{e: g, pci: c, bus: bus, above: above, up: up, cpu: cpu, index: len(b.gpus)})
			for n := above; n != nil && !n.useful; n = n.above {
				n.useful = true
			}
			has = true
		}
		if has { // the device is the GPU; nothing is below it
			b.nodes = slices.Delete(b.nodes, at, at+1)
			continue
		}
		if err := b.below(c, bridge, cpu); err != nil {
			return err
		}
	}
	return nil
}

// ranks numbers the GPUs: by rank where all have one, else by device.
func (b *builder) ranks() error {
	seen := map[string]bool{}
	for _, g := range b.gpus {
		if g.bus == "" || seen[g.bus] {
			return g.e.wrong("its PCI device has bus id %.40q, want one of its own", g.bus)
		}
		seen[g.bus] = true
	}
	for _, key := range []string{"rank", "dev"} {
		taken := map[int64]bool{}
		all := true
		for _, g := range b.gpus {
			v, err := g.e.number(key, 0, 1<<20)
			all = all && err == nil && !taken[v]
			taken[v] = true
			g.rank = int(v)
		}
		if all {
			b.order = key
			break
		}
		for _, g := range b.gpus {
			g.rank = g.index
		}
	}
	slices.SortFunc(b.gpus, func(x, y *gpu) int { return cmp.Compare(x.rank, y.rank) })
	for i, g := range b.gpus {
		g.rank = i
	}
	return nil
}

// place gives the switches their nodes.
func (b *builder) place() {
	b.t.Ranks = len(b.gpus)
	for _, n := range b.nodes {
		if n.useful {
			n.node = b.addSwitch(n.name)
		}
	}
}

func (b *builder) addSwitch(name string) int {
	b.t.Switches = append(b.t.Switches, model.Switch{Name: name})
	return b.t.Ranks + len(b.t.Switches) - 1
}

// link adds a link. Between GPUs it has all of the latency; to or from a switch half.
func (b *builder) link(src, dst int, bandwidth int64) {
	alpha := b.alpha
	switch {
	case src >= b.t.Ranks && dst >= b.t.Ranks, dst >= b.t.Ranks:
		alpha /= 2
	case src >= b.t.Ranks:
		alpha -= alpha / 2
	}
	b.t.Links = append(b.t.Links, model.Link{Src: src, Dst: dst, Alpha: alpha, Bandwidth: bandwidth})
}

func (b *builder) duplex(u, v int, bandwidth int64) {
	b.link(u, v, bandwidth)
	b.link(v, u, bandwidth)
}

// pci links GPUs and bridges with what is above them.
func (b *builder) pci() {
	for _, g := range b.gpus {
		b.duplex(g.rank, g.above.node, g.up)
		if !states(g.pci) {
			b.guess.pci++
		}
	}
	for _, n := range b.nodes {
		if n.useful && n.above != nil {
			if !states(n.e) {
				b.guess.pci++
			}
			b.duplex(n.node, n.above.node, n.up)
		}
	}
}

// cpus links every CPU with every other.
func (b *builder) cpus() {
	var all []*switchNode
	for _, n := range b.nodes {
		if n.useful && n.cpu != nil {
			all = append(all, n)
		}
	}
	for _, n := range all {
		bandwidth, known := cpuBandwidth(n.cpu)
		if !known && len(all) > 1 {
			b.guess.cpu++
		}
		for _, m := range all {
			if n != m {
				b.link(n.node, m.node, bandwidth)
			}
		}
	}
}

// links adds the NVLinks, xGMI and C2C links of the GPUs.
func (b *builder) links() error {
	byBus := map[string]*gpu{}
	for _, g := range b.gpus {
		byBus[g.bus] = g
	}
	nvswitch, seen := -1, map[string]bool{}
	type pair struct{ src, dst int }
	sum := map[pair]int64{}
	var order []pair
	add := func(src, dst int, bandwidth int64) {
		key := pair{src, dst}
		if sum[key] == 0 {
			order = append(order, key)
		}
		sum[key] += bandwidth
	}
	for _, g := range b.gpus {
		for _, e := range g.e.children {
			switch e.name {
			case "nvlink", "xgmi":
				count, err := e.number("count", 1, 1<<10)
				if err != nil {
					return err
				}
				each, known, err := linkBandwidth(g.e, e.name)
				if err != nil {
					return err
				}
				switch {
				case known:
				case e.name == "xgmi":
					b.guess.xgmi += int(count)
				default:
					b.guess.nvlink += int(count)
				}
				target, class := strings.ToLower(e.attr["target"]), strings.ToLower(e.attr["tclass"])
				switch {
				case strings.HasPrefix(class, "0x068001") && g.cpu != nil:
					add(g.rank, g.cpu.node, count*each)
					add(g.cpu.node, g.rank, count*each)
				case strings.HasPrefix(class, "0x0680") || strings.HasPrefix(target, "ffff"):
					if nvswitch < 0 {
						nvswitch = b.addSwitch("nvswitch")
					}
					seen[target] = true
					add(g.rank, nvswitch, count*each)
					add(nvswitch, g.rank, count*each)
				case byBus[target] == g:
					return e.wrong("links a GPU to itself")
				case byBus[target] != nil:
					add(g.rank, byBus[target].rank, count*each)
				default:
					if name := fmt.Sprintf("%.40q", target); !slices.Contains(b.out.targets, name) {
						b.out.targets = append(b.out.targets, name)
					}
				}
			case "c2c":
				count, err := e.number("count", 1, 1<<10)
				if err != nil {
					return err
				}
				each, err := e.number("bw", 1, 1<<24) // in 10⁶ bytes per second
				if err != nil {
					return err
				}
				add(g.rank, g.cpu.node, count*each*1e6)
				add(g.cpu.node, g.rank, count*each*1e6)
			}
		}
	}
	b.switches = len(seen)
	for _, key := range order {
		b.link(key.src, key.dst, sum[key])
	}
	return nil
}
