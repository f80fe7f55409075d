// Package smi reads the matrix that nvidia-smi topo -m prints: which GPUs have how many
// NVLinks between them, and how far apart they are on PCIe. It decides what links such a
// matrix means.
//
// NV# is a number of links, not a bandwidth; --bandwidth-like options say what one carries.
// Where a GPU would need more links than any GPU has, because every GPU of a group has the
// same number to every other, these are links to an NVSwitch, one switch node, and the
// number is that of a GPU in all. Else two GPUs have one link each way, with the bandwidth
// of all their NVLinks.
//
// PCIe distances say nothing of bandwidth. They are used only where NVLinks do not connect
// all GPUs: then each GPU has a link to a switch for what it shares a PCIe switch with, and
// these to switches for host bridges, NUMA nodes and the system, each as fast as PCIe 3.0
// with 16 lanes.
package smi

import (
	"bytes"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/oraccl/oraccl/model"
)

// Options set what the matrix does not say.
type Options struct {
	Alpha     model.Time // latency between GPUs, half of it to or from a switch; negative: DefaultAlpha
	Bandwidth int64      // of one NVLink, bytes per second and direction; 0: DefaultBandwidth
}

// Defaults: the latency is that which TE-CCL (Liu et al., SIGCOMM 2024) takes for NVLink,
// the bandwidth that of an NVLink of V100, A100 and H100.
const (
	DefaultAlpha     = 700 * model.Nanosecond
	DefaultBandwidth = 25_000_000_000

	pcieBandwidth = 12_000_000_000
	maxGPUs       = 256
	maxNVLinks    = 18 // of one GPU, in any generation so far
)

var (
	escape = regexp.MustCompile("\x1b\\[[0-9;]*[A-Za-z]")
	row    = regexp.MustCompile(`^\s*GPU([0-9]+)\s+(X|NV[0-9]+|PIX|PXB|PHB|NODE|SYS|SOC|PSB)\s`)
	word   = `(?:X|NV[0-9]+|PIX|PXB|PHB|NODE|SYS|SOC|PSB)`
	other  = regexp.MustCompile(`^\s*([A-Za-z]\S*)(?:\s+` + word + `)+\s*$`)
	entry  = regexp.MustCompile(`^(X|NV[0-9]+|PIX|PXB|PHB|NODE|SYS|SOC|PSB)$`)
)

// Is reports whether a text has such a matrix: a row for GPU0.
func Is(b []byte) bool {
	for _, line := range lines(b[:min(len(b), 1<<20)]) {
		if m := row.FindStringSubmatch(line + " "); m != nil && m[1] == "0" {
			return true
		}
	}
	return false
}

// lines returns the lines without what sets colours and underlines.
func lines(b []byte) []string {
	b = bytes.ReplaceAll(escape.ReplaceAll(b, nil), []byte("\r"), nil)
	return strings.Split(string(b), "\n")
}

// Read reads a matrix. Errors name the file and the line. What was left out and what was
// assumed is in the notes of the topology.
func Read(name string, b []byte, o Options) (*model.Topology, error) {
	t, _, err := readWith(name, b, o, false)
	return t, err
}

// ReadMachine is Read with the columns of NICs. A NIC is shared by the GPUs that are nearest to it;
// the matrix has neither its bandwidth nor its latency.
func ReadMachine(name string, b []byte, o Options) (*model.Machine, error) {
	t, others, err := readWith(name, b, o, true)
	if err != nil {
		return nil, err
	}
	m := &model.Machine{Topology: t}
	for c := range others.columns {
		nic := model.NIC{Name: fmt.Sprintf("nic%d", c), Alpha: -1}
		if c < len(others.rows) && len(others.rows[c]) < 40 && model.CheckName(others.rows[c]) == nil {
			nic.Name = others.rows[c]
		}
		best := len(levels)
		for i, row := range others.entries {
			if c >= len(row) {
				continue
			}
			switch at := levelOf(row[c]); {
			case at >= len(levels): // no distance
			case at < best:
				best, nic.Nodes = at, []int{i}
			case at == best:
				nic.Nodes = append(nic.Nodes, i)
			}
		}
		if nic.Nodes != nil {
			m.NICs = append(m.NICs, nic)
		}
	}
	return m, nil
}

func readWith(name string, b []byte, o Options, nics bool) (*model.Topology, rest, error) {
	m, others, err := matrix(b)
	others.joined = nics
	if err == nil {
		var t *model.Topology
		if t, err = build(m, others, o); err == nil {
			t.Name = name[strings.LastIndexAny(name, "/\\")+1:]
			if err = t.Validate(); err == nil {
				return t, others, nil
			}
		}
	}
	return nil, others, fmt.Errorf("%s: %w", name, err)
}

// rest is what a text has besides the entries between GPUs.
type rest struct {
	rows     []string   // names of rows that are not of GPUs: NICs
	columns  int        // entries of GPUs for what is not a GPU
	entries  [][]string // by GPU: of its columns for what is not a GPU
	joined   bool       // they are NICs that are wanted
	matrices int        // other matrices, such as that of topo -p2p
}

// matrix returns the entries between GPUs, which are the first of each row, and the rest.
func matrix(b []byte) (rows [][]string, others rest, err error) {
	var at []int
	for i, line := range lines(b) {
		m := row.FindStringSubmatch(line + " ")
		if m == nil {
			if o := other.FindStringSubmatch(line); o != nil && others.matrices == 0 && len(rows) > 0 {
				others.rows = append(others.rows, o[1])
			}
			continue
		}
		if m[1] == "0" && len(rows) > 0 {
			others.matrices++
		}
		if others.matrices > 0 {
			continue
		}
		if v, err := strconv.Atoi(m[1]); err != nil || v != len(rows) {
			return nil, others, fmt.Errorf("line %d: row of GPU%.10s, want GPU%d", i+1, m[1], len(rows))
		}
		if len(rows) == maxGPUs {
			return nil, others, fmt.Errorf("line %d: more than %d GPUs, want at most that", i+1, maxGPUs)
		}
		rows = append(rows, strings.Fields(line)[1:])
		at = append(at, i+1)
	}
	n := len(rows)
	if n == 0 {
		return nil, others, fmt.Errorf("has no row for GPU0")
	}
	for i, r := range rows {
		if len(r) < n {
			return nil, others, fmt.Errorf("line %d: %d entries for %d GPUs, want one for each", at[i], len(r), n)
		}
		for k := n; k < len(r) && entry.MatchString(r[k]); k++ {
			others.columns = max(others.columns, k-n+1)
		}
		others.entries = append(others.entries, r[n:min(len(r), n+others.columns)])
		rows[i] = r[:n]
		for j, e := range rows[i] {
			switch {
			case !entry.MatchString(e):
				return nil, others, fmt.Errorf("line %d: entry %.20q for GPU%d, want X, NV and a number, PIX, PXB, PHB, NODE or SYS", at[i], e, j)
			case (e == "X") != (i == j):
				return nil, others, fmt.Errorf("line %d: entry %s for GPU%d, want X for the GPU itself and for no other", at[i], e, j)
			case j < i && rows[j][i] != e:
				return nil, others, fmt.Errorf("line %d: GPU%d has %s to GPU%d, which has %s back, want the same", at[i], i, e, j, rows[j][i])
			}
			if v, err := strconv.Atoi(strings.TrimPrefix(e, "NV")); strings.HasPrefix(e, "NV") && (err != nil || v < 1 || v > 1<<10) {
				return nil, others, fmt.Errorf("line %d: entry %.20q, want NV1 to NV%d", at[i], e, 1<<10)
			}
		}
	}
	return rows, others, nil
}
