// Package rocmsmi reads what rocm-smi --showtopo prints: which GPUs are joined by xGMI or PCIe, over
// how many hops. It decides what links such a text means.
//
// Two GPUs whose link type is XGMI, and which are one hop apart, have a link each way; what is
// farther goes over other GPUs. The text has neither bandwidths nor latencies nor NICs, and not
// how many xGMI links are between two GPUs: what one pair has in all is an option. PCIe is used only where
// xGMI does not connect all GPUs: then all are at one switch, as fast as PCIe 3.0 with 16 lanes.
package rocmsmi

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/oraccl/oraccl/model"
)

// Options set what the text does not say.
type Options struct {
	Alpha     model.Time // latency between GPUs, half of it to or from a switch; negative: DefaultAlpha
	Bandwidth int64      // of the xGMI links between two GPUs, bytes per second and direction; 0: DefaultBandwidth
}

// Defaults: the latency is that which TE-CCL (Liu et al., SIGCOMM 2024) takes for NVLink, the bandwidth that
// which RCCL takes for an xGMI link of gfx94x.
const (
	DefaultAlpha     = 700 * model.Nanosecond
	DefaultBandwidth = 48_000_000_000

	pcieBandwidth = 12_000_000_000
	maxGPUs       = 256
)

var (
	title = regexp.MustCompile(`^=+ *(.*?) *=+$`)
	row   = regexp.MustCompile(`^GPU([0-9]+)\s+(.*)$`)
)

const (
	types = "Link Type between two GPUs"
	hops  = "Hops between two GPUs"
)

// Is reports whether a text has a table of link types.
func Is(b []byte) bool { return strings.Contains(string(b[:min(len(b), 1<<20)]), types) }

// table is a table of the text, by row.
type table struct {
	rows [][]string
	at   []int // lines
}

// tables reads the tables that are of use, by title.
func tables(b []byte) (map[string]*table, error) {
	all := map[string]*table{}
	var open *table
	for i, line := range strings.Split(strings.ReplaceAll(string(b), "\r", ""), "\n") {
		line = strings.TrimSpace(line)
		if m := title.FindStringSubmatch(line); m != nil {
			open = nil
			if m[1] == types || m[1] == hops {
				if all[m[1]] != nil {
					return nil, fmt.Errorf("line %d: a second table %q, want one", i+1, m[1])
				}
				open = &table{}
				all[m[1]] = open
			}
			continue
		}
		m := row.FindStringSubmatch(line)
		if open == nil || m == nil || strings.HasPrefix(m[2], "GPU") { // or the heading
			continue
		}
		if n, err := strconv.Atoi(m[1]); err != nil || n != len(open.rows) {
			return nil, fmt.Errorf("line %d: row of GPU%.10s, want GPU%d", i+1, m[1], len(open.rows))
		}
		if len(open.rows) == maxGPUs {
			return nil, fmt.Errorf("line %d: more than %d GPUs, want at most that", i+1, maxGPUs)
		}
		open.rows = append(open.rows, strings.Fields(m[2]))
		open.at = append(open.at, i+1)
	}
	return all, nil
}

// Read reads a text. Errors name the file and the line. What was left out and what was assumed is
// in the notes of the topology.
func Read(name string, b []byte, o Options) (*model.Topology, error) {
	t, err := build(b, o)
	if err == nil {
		t.Name = name[strings.LastIndexAny(name, "/\\")+1:]
		if err = t.Validate(); err == nil {
			return t, nil
		}
	}
	return nil, fmt.Errorf("%s: %w", name, err)
}

func build(b []byte, o Options) (*model.Topology, error) {
	all, err := tables(b)
	if err != nil {
		return nil, err
	}
	kinds, far := all[types], all[hops]
	if kinds == nil || len(kinds.rows) == 0 {
		return nil, fmt.Errorf("has no table %q with a row for GPU0", types)
	}
	n := len(kinds.rows)
	if far != nil && len(far.rows) != n {
		return nil, fmt.Errorf("the table of hops has %d rows, that of types %d, want as many", len(far.rows), n)
	}
	for i, r := range kinds.rows {
		if len(r) != n {
			return nil, fmt.Errorf("line %d: %d entries for %d GPUs, want one for each", kinds.at[i], len(r), n)
		}
		for j, e := range r {
			switch {
			case e != "0" && e != "XGMI" && e != "PCIE", (e == "0") != (i == j):
				return nil, fmt.Errorf("line %d: entry %.20q for GPU%d, want XGMI or PCIE, and 0 for the GPU itself", kinds.at[i], e, j)
			case j < i && kinds.rows[j][i] != e:
				return nil, fmt.Errorf("line %d: GPU%d has %s to GPU%d, which has %s back, want the same", kinds.at[i], i, e, j, kinds.rows[j][i])
			}
		}
		if far == nil {
			continue
		}
		if len(far.rows[i]) != n {
			return nil, fmt.Errorf("line %d: %d entries for %d GPUs, want one for each", far.at[i], len(far.rows[i]), n)
		}
		for j, e := range far.rows[i] {
			if v, err := strconv.Atoi(e); err != nil || v < 0 || v > 64 || (v == 0) != (i == j) {
				return nil, fmt.Errorf("line %d: entry %.20q for GPU%d, want a number of hops, and 0 for the GPU itself", far.at[i], e, j)
			}
		}
	}
	t := &model.Topology{Ranks: n}
	given := o
	if o.Alpha < 0 {
		o.Alpha = DefaultAlpha
	}
	if o.Bandwidth == 0 {
		o.Bandwidth = DefaultBandwidth
	}
	for i := range n {
		for j := range n {
			if kinds.rows[i][j] == "XGMI" && (far == nil || far.rows[i][j] == "1") {
				t.Links = append(t.Links, model.Link{Src: i, Dst: j, Alpha: o.Alpha, Bandwidth: o.Bandwidth})
			}
		}
	}
	linked := len(t.Links) > 0
	byPCIe := !joined(t)
	if byPCIe {
		t.Switches = []model.Switch{{Name: "pci"}}
		for r := range n {
			t.Links = append(t.Links, model.Link{Src: r, Dst: n, Alpha: o.Alpha / 2, Bandwidth: pcieBandwidth},
				model.Link{Src: n, Dst: r, Alpha: o.Alpha - o.Alpha/2, Bandwidth: pcieBandwidth})
		}
		t.Notes.Add(model.Assumed, "12 GB/s for each link over PCIe, to one switch: the text has distances alone")
	} else if strings.Contains(fmt.Sprint(kinds.rows), "PCIE") {
		t.Notes.Add(model.LeftOut, "paths over PCIe: xGMI connects all GPUs")
	}
	if given.Alpha < 0 && n > 1 {
		t.Notes.Add(model.Assumed, "%v between GPUs, half of it to or from a switch: the text has no latencies; --alpha sets it", o.Alpha)
	}
	if given.Bandwidth == 0 && linked {
		t.Notes.Add(model.Assumed, "%d GB/s and direction between two GPUs over xGMI: the text has no bandwidths; --bandwidth sets it", o.Bandwidth/1_000_000_000)
	}
	if far == nil && linked {
		t.Notes.Add(model.Assumed, "one hop between GPUs that xGMI joins: the text has no table of hops")
	}
	return t, nil
}

// joined reports whether the links, which are there in both directions, join all ranks.
func joined(t *model.Topology) bool {
	out := t.Out()
	seen := make([]bool, t.Ranks)
	seen[0] = true
	count := 1
	for queue := []int{0}; len(queue) > 0; queue = queue[1:] {
		for _, l := range out[queue[0]] {
			if v := t.Links[l].Dst; !seen[v] {
				seen[v] = true
				count++
				queue = append(queue, v)
			}
		}
	}
	return count == t.Ranks
}
