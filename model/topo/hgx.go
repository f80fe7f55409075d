package topo

import (
	"fmt"
	"strings"

	"github.com/oraccl/oraccl/model"
)

var dgxA100Family = Family{"dgxa100", "dgxa100[:N]", "NVIDIA DGX A100: N chassis of 8 A100 at an NVSwitch, a 200 Gb/s NIC a rank",
	"NVIDIA WP-10083-001; latencies are assumptions", machine(maxChassis, DGXA100)}

var dgxH100Family = Family{"dgxh100", "dgxh100[:N[:rails+spine+sharp]]", "NVIDIA DGX H100: N chassis of 8 H100 at an NVSwitch, a 400 Gb/s NIC a rank; no sums in NVSwitches",
	"NVIDIA DU-10487; latencies are assumptions", dgxH100.build(false)}

var dgxH100NVLSFamily = Family{"dgxh100-nvls", "dgxh100-nvls[:N[:rails+spine+sharp]]", "dgxh100 with NVLink SHARP: ranks read sums at the NVSwitch, and multicast over it",
	"as dgxh100; NVIDIA's PTX ISA, multimem", dgxH100.build(true)}

var dgxB200Family = Family{"dgxb200", "dgxb200[:N[:rails+spine+sharp]]", "NVIDIA DGX B200: N chassis of 8 B200 at an NVSwitch, a 400 Gb/s NIC a rank; no sums in NVSwitches",
	"NVIDIA DGX B200 datasheet; latencies are assumptions", dgxB200.build(false)}

var dgxB200NVLSFamily = Family{"dgxb200-nvls", "dgxb200-nvls[:N[:rails+spine+sharp]]", "dgxb200 with NVLink SHARP: ranks read sums at the NVSwitch, and multicast over it",
	"as dgxb200; NVIDIA's PTX ISA, multimem", dgxB200.build(true)}

const maxChassis = 1024

// DGXA100 builds DGX A100 chassis: 8 A100 at one NVSwitch node, 300 GB/s a
// direction (12 NVLinks of 25 GB/s), and, with more than one chassis, a NIC of 200
// Gb/s a rank at one non-blocking fabric, a switch node that stands for all rails.
// Source: NVIDIA, "NVIDIA DGX A100 System Architecture", WP-10083-001 (2020). The
// latencies are assumptions, those of DGX2: 0.7 us from rank to rank through the
// NVSwitch, 2.6 us through the fabric.
func DGXA100(chassis int) (*model.Topology, error) {
	return dgxA100.chassis(chassis, false, fabric{})
}

// DGXH100 builds DGX H100 chassis: 8 H100 at one NVSwitch node, 450 GB/s a
// direction (18 NVLinks of 25 GB/s), and, with more than one chassis, a NIC of 400
// Gb/s a rank at one non-blocking fabric, a switch node that stands for all rails.
// Source: NVIDIA, "NVIDIA DGX H100 User Guide", DU-10487. The NVSwitches' multicast
// and in-network reduction are not modelled: dgxh100-nvls has them. The latencies are
// assumptions, as for DGXA100.
func DGXH100(chassis int) (*model.Topology, error) { return dgxH100.chassis(chassis, false, fabric{}) }

// computes is what switches of NVLink SHARP and of SHARP compute: neither multiplies. PTX's
// multimem.ld_reduce has add, min and max (and bitwise operations, which are none of the model's).
var computes = model.OperatorSet(model.Sum, model.Min, model.Max)

// integers are the types that both add.
const integers = 1<<model.Int32 | 1<<model.Int64 | 1<<model.Uint32 | 1<<model.Uint64

// nvlsTypes are the types that NCCL has NVLink SHARP add, in its release 2.19 (NCCL_NVLS_SUPPORTS in
// src/include/device.h): of fp32 and fp64 sums alone. That multimem.ld_reduce of sm_100 has fp8, too
// (PTX ISA 8.6), NCCL did not use then, and neither is it assumed here.
var nvlsTypes = byOperator(integers|1<<model.FP16|1<<model.BF16|1<<model.FP32|1<<model.FP64, integers|1<<model.FP16|1<<model.BF16)

// sharpTypes are the types of SHARPv3, which Quantum-2 switches have (enum sharp_datatype in sharp_coll.h
// of NVIDIA's SHARP 3). That they compute all three of each is an assumption.
var sharpTypes = byOperator(sharp, sharp)

const sharp = integers | 1<<model.FP16 | 1<<model.BF16 | 1<<model.FP32 | 1<<model.FP64 | 1<<model.Int8 | 1<<model.Int16 | 1<<model.Uint8 | 1<<model.Uint16

// byOperator returns the types of sums, and those of minima and maxima.
func byOperator(sums, others model.DTypes) (types [model.Max + 1]model.DTypes) {
	types[model.Sum], types[model.Min], types[model.Max] = sums, others, others
	return types
}

// hgx is a machine of 8 ranks at an NVSwitch node, with a NIC a rank.
type hgx struct {
	name        string
	nvlink, nic int64 // bytes per second and direction, of a rank
}

var (
	dgxA100 = hgx{"dgxa100", 300 * gb, 25 * gb}
	dgxH100 = hgx{"dgxh100", 450 * gb, 50 * gb}
	dgxB200 = hgx{"dgxb200", 900 * gb, 50 * gb} // 18 NVLinks of 50 GB/s a direction, ConnectX-7
)

// NICBandwidth returns the bandwidth of the NIC that each rank of a named topology of one machine has,
// in bytes per second and direction, and 0 for other names: several of it by name have such NICs.
func NICBandwidth(name string) int64 {
	for _, m := range []hgx{dgxA100, dgxH100, dgxB200} {
		if strings.TrimSuffix(strings.TrimSuffix(name, ":1"), "-nvls") == m.name {
			return m.nic
		}
	}
	return 0
}

// fabric is how the NICs of several machines are linked.
type fabric struct {
	rails bool // the NICs of equal ranks of the machines at a switch of their own
	spine bool // rails that a second level of switches links, with all their bandwidth
	sharp bool // its switches add and multicast in one pass, as Quantum-2 switches do (SHARPv3)
}

// build returns the build function of a family: N machines, and options of their fabric.
func (m hgx) build(nvls bool) func(string, Options) (*model.Topology, error) {
	return func(arg string, o Options) (*model.Topology, error) {
		arg, options, hasOptions := strings.Cut(arg, ":")
		var f fabric
		for _, option := range strings.Split(options, "+") {
			switch {
			case !hasOptions:
			case option == "rails":
				f.rails = true
			case option == "spine":
				f.rails, f.spine = true, true
			case option == "sharp":
				f.sharp = true
			default:
				return nil, fmt.Errorf("option %s, want rails, spine or sharp", model.Quote(option))
			}
		}
		return machine(maxChassis, func(chassis int) (*model.Topology, error) {
			if chassis == 1 && hasOptions {
				return nil, fmt.Errorf("options %s of the network between machines, want two machines or more", options)
			}
			return m.chassis(chassis, nvls, f)
		})(arg, o)
	}
}

func (m hgx) chassis(chassis int, nvls bool, f fabric) (*model.Topology, error) {
	if chassis < 1 || chassis > maxChassis {
		return nil, fmt.Errorf("%d chassis, want 1 to %d", chassis, maxChassis)
	}
	b, err := newBuilder(8*int64(chassis), 32*int64(chassis)+16)
	if err != nil {
		return nil, err
	}
	for c := range chassis {
		s := b.star(fmt.Sprintf("nvswitch%d", c), 8*c, 8, Wire{nvlinkAlpha, m.nvlink})
		if nvls {
			b.adds(s, model.SumsRead)
		}
	}
	if chassis > 1 {
		b.fabric(m.nic, f)
	}
	name := m.name
	if nvls {
		name += "-nvls"
	}
	return b.done("%s", chassisName(name, chassis))
}

// fabric links machines of 8 ranks.
func (b *builder) fabric(nic int64, f fabric) {
	first := len(b.Switches)
	if !f.rails {
		b.star("fabric", 0, b.Ranks, Wire{2 * ibAlpha, nic})
	} else {
		var rails []int
		for rail := range 8 {
			s := b.node(fmt.Sprintf("rail%d", rail))
			for v := rail; v < b.Ranks; v += 8 {
				b.duplex(v, s, Wire{ibAlpha, nic})
			}
			rails = append(rails, s)
		}
		if f.spine {
			spine := b.node("spine")
			for _, s := range rails {
				b.duplex(s, spine, Wire{ibAlpha / 2, nic * int64(b.Ranks/8)})
			}
		}
	}
	if f.sharp {
		for i := first; i < len(b.Switches); i++ {
			b.adds(b.Ranks+i, model.SumsTurned)
		}
	}
}

// adds makes switch v one that copies and adds.
func (b *builder) adds(v int, how model.Reducing) {
	s := &b.Switches[v-b.Ranks]
	s.Copies, s.Reduces, s.Operations, s.Types = true, how, computes, sharpTypes
	if how == model.SumsRead {
		s.Types = nvlsTypes
	}
}

var gb200Family = Family{"gb200", "gb200:nvl72", "NVIDIA GB200 NVL72: 72 B200 at 18 NVSwitches, an NVLink of 50 GB/s from each to each; no sums in NVSwitches",
	"NVIDIA GB200 NVL72 datasheet; latencies are assumptions", gb200(false)}

var gb200NVLSFamily = Family{"gb200-nvls", "gb200-nvls:nvl72", "gb200 with NVLink SHARP: ranks read sums at the NVSwitches, and multicast over them",
	"as gb200; NVIDIA's PTX ISA, multimem", gb200(true)}

// gb200 returns the build function of a rack of 72 GPUs, whose 18 NVLinks of 50 GB/s a
// direction lead to 18 NVSwitches, one to each. The latencies are assumptions, as for DGXA100.
func gb200(nvls bool) func(string, Options) (*model.Topology, error) {
	return func(arg string, o Options) (*model.Topology, error) {
		if err := o.none(); err != nil {
			return nil, err
		}
		if arg != "nvl72" {
			return nil, fmt.Errorf("%s, want gb200:nvl72", model.Quote(arg))
		}
		b, err := newBuilder(72, 2*18*72)
		if err != nil {
			return nil, err
		}
		for i := range 18 {
			s := b.star(fmt.Sprintf("nvswitch%d", i), 0, 72, Wire{nvlinkAlpha, 50 * gb})
			if nvls {
				b.adds(s, model.SumsRead)
			}
		}
		if nvls {
			return b.done("gb200-nvls:nvl72")
		}
		return b.done("gb200:nvl72")
	}
}

// chassisName returns the name of a number of chassis: "dgx2" for one, "dgx2:2".
func chassisName(family string, chassis int) string {
	if chassis == 1 {
		return family
	}
	return fmt.Sprintf("%s:%d", family, chassis)
}
