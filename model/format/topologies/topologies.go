// Package topologies reads a topology from a file of any format that is known: ours, those of
// NCCL, nvidia-smi and rocm-smi, and inputs of TE-CCL. So commands read what their flags name.
package topologies

import (
	"bytes"
	"context"
	"fmt"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/files"
	"github.com/oraccl/oraccl/model/format/nccl"
	"github.com/oraccl/oraccl/model/format/rocmsmi"
	"github.com/oraccl/oraccl/model/format/smi"
	"github.com/oraccl/oraccl/model/format/teccl"
	"github.com/oraccl/oraccl/model/instance"
	"github.com/oraccl/oraccl/model/native"
	"github.com/oraccl/oraccl/model/topo"
	"github.com/oraccl/oraccl/model/traffic"
)

// Files reads the files that flags name, under a context that ends reads: see files.With.
type Files struct{ Context context.Context }

// Exists implements instance.Files.
func (Files) Exists(name string) bool { return files.Exists(name) }

// Topology implements instance.Files.
func (f Files) Topology(name, alpha, bandwidth string) (*model.Topology, error) {
	b, err := files.Read(f.Context, name)
	if err != nil {
		return nil, err
	}
	alpha, bandwidth, classes := instance.ByClass(alpha, bandwidth)
	t, err := Read(name, b, alpha, bandwidth)
	if err != nil {
		return nil, err
	}
	return classes(t)
}

// Collective implements instance.Files.
func (f Files) Collective(name string) (*model.Collective, error) {
	b, err := files.Read(f.Context, name)
	if err != nil {
		return nil, err
	}
	return native.ReadCollective(name, bytes.NewReader(b))
}

// Problem implements instance.Files.
func (f Files) Problem(name string) (*model.Problem, error) {
	b, err := files.Read(f.Context, name)
	if err != nil {
		return nil, err
	}
	return native.ReadProblem(name, bytes.NewReader(b))
}

// Sizes implements instance.Files.
func (f Files) Sizes(name string) (*traffic.Table, error) {
	b, err := files.Read(f.Context, name)
	if err != nil {
		return nil, err
	}
	return traffic.Read(name, bytes.NewReader(b))
}

// Machine reads a machine with its NICs, by name or from a file: of what NCCL dumps or nvidia-smi prints the
// file's; a name, and files of ours, have none, but a name may tell their bandwidth.
func (f Files) Machine(name, alpha, bandwidth string) (*model.Machine, error) {
	if !f.Exists(name) {
		t, err := instance.LoadTopology(f, name, alpha, bandwidth)
		return &model.Machine{Topology: t, NICBandwidth: topo.NICBandwidth(name)}, err
	}
	b, err := files.Read(f.Context, name)
	if err != nil {
		return nil, err
	}
	var m *model.Machine
	alpha, bandwidth, classes := instance.ByClass(alpha, bandwidth)
	t, err := read(name, b, alpha, bandwidth, &m)
	if m == nil {
		m = &model.Machine{Topology: t}
	}
	if err != nil {
		return nil, err
	}
	m.Topology, err = classes(m.Topology)
	return m, err
}

// Read reads the topology of a file: ours, what NCCL dumps, what nvidia-smi topo -m or
// rocm-smi --showtopo prints, or
// that of an input of TE-CCL. alpha and bandwidth are the values of the flags of these names,
// for formats that lack them; "" where they are not given. Errors name the file or the flag.
func Read(name string, b []byte, alpha, bandwidth string) (*model.Topology, error) {
	return read(name, b, alpha, bandwidth, nil)
}

// read is Read; where m is not nil and the format has NICs, it sets m instead of returning a topology.
func read(name string, b []byte, alpha, bandwidth string, m **model.Machine) (_ *model.Topology, err error) {
	first := bytes.TrimLeft(b, " \t\r\n\ufeff")
	dump := bytes.HasPrefix(first, []byte("<")) && nccl.Is(b)
	matrix := !bytes.HasPrefix(first, []byte("{")) && !dump && smi.Is(b)
	rocm := !bytes.HasPrefix(first, []byte("{")) && !dump && !matrix && rocmsmi.Is(b)
	if bandwidth != "" && !matrix && !rocm || alpha != "" && !matrix && !rocm && !dump {
		what := "--alpha and --bandwidth set the links of a named topology; this is a file with links of its own"
		if dump {
			what = "--bandwidth sets the links of a named topology; this is a file with bandwidths of its own"
		}
		return nil, fmt.Errorf("%s: %s", name, what)
	}
	o := smi.Options{Alpha: -1} // the default of the format
	if alpha != "" {
		if o.Alpha, err = model.ParseTime(alpha); err != nil {
			return nil, fmt.Errorf("--alpha: %w", err)
		}
	}
	if bandwidth != "" {
		if o.Bandwidth, err = model.ParseRate(bandwidth); err != nil {
			return nil, fmt.Errorf("--bandwidth: %w", err)
		}
	}
	switch {
	case dump && m != nil:
		*m, err = nccl.ReadMachine(name, b, o.Alpha)
		return nil, err
	case matrix && m != nil:
		*m, err = smi.ReadMachine(name, b, o)
		return nil, err
	case dump:
		return nccl.Read(name, b, o.Alpha)
	case rocm:
		return rocmsmi.Read(name, b, rocmsmi.Options{Alpha: o.Alpha, Bandwidth: o.Bandwidth})
	case matrix:
		return smi.Read(name, b, o)
	case bytes.HasPrefix(first, []byte("<")):
		return nil, fmt.Errorf("%s: is XML, but no topology of NCCL, whose root element is system", name)
	}
	if in, ok, err := teccl.ReadInput(name, b); ok || err != nil {
		if err != nil {
			return nil, err
		}
		return topologyOf(name, in)
	}
	return native.ReadTopology(name, bytes.NewReader(b))
}

// topologyOf returns the topology that an input of TE-CCL names, as it really is.
func topologyOf(name string, in teccl.Input) (*model.Topology, error) {
	var ours string
	var o topo.Options
	switch in.Name {
	case "NDv2":
		ours = fmt.Sprintf("ndv2:%d", in.Chassis)
	case "DGX2":
		ours = "dgx2:2" // it has no other
	case "DGX1":
		ours = "dgx1"
	case "AMD":
		ours = "mi250"
	case "Mesh":
		ours = fmt.Sprintf("mesh:%dx%d", in.Side, in.Side)
		o = topo.Options{Alpha: []model.Time{in.Alpha}, Bandwidth: []int64{100e9}}
	default:
		return nil, fmt.Errorf("%s: topology %.40q, want one of NDv2, DGX1, DGX2, AMD or Mesh, as TE-CCL has them", name, in.Name)
	}
	if in.Chassis > 1 && (in.Name == "DGX1" || in.Name == "AMD" || in.Name == "Mesh") {
		return nil, fmt.Errorf("%s: %d chassis of %s, want 1", name, in.Chassis, in.Name)
	}
	t, err := topo.Parse(ours, o)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	t.Notes.Add(model.Assumed, "the links of %s: the file has the name %s and no links", ours, in.Name)
	if in.Name == "Mesh" {
		t.Notes.Add(model.Assumed, "100 GB/s for each link, as in TE-CCL's code")
	}
	if in.Name == "Mesh" && in.Alphas == 0 {
		t.Notes.Add(model.Assumed, "no latency: the file has none")
	}
	if used := map[bool]int{true: 1}[in.Name == "Mesh"]; in.Alphas > used {
		t.Notes.Add(model.LeftOut, "%d of the file's %d latencies", in.Alphas-used, in.Alphas)
	}
	if in.Copies != nil && *in.Copies && len(t.Switches) > 0 {
		t.Notes.Add(model.LeftOut, "switch_copy: the switches of %s do not copy", ours)
	}
	if len(in.Others) > 0 {
		t.Notes.Add(model.LeftOut, "%s: only the topology is read", model.Few(in.Others))
	}
	return t, nil
}
