// Package sccl reads the algorithms that SCCL and msccl-tools write as JSON (Cai et al.,
// "Synthesizing optimal collective algorithms", PPoPP 2021): steps of one or more rounds,
// each with sends of an address from a node to a node. It decides what such a file means
// as a schedule for a given collective on a given topology, not whether that is right.
//
// A step reads what was there before it. A link of bandwidth b, or b parallel links, carry
// b sends a round. What arrives at a node is added to what the node holds of the address,
// where the collective combines; the one exception is an allreduce that was composed of a
// reduce-scatter and an all-gather: there a complete sum overwrites a partial one. Such an
// allreduce has n·C addresses, C being the chunks of its instance, though the collective in
// its file has only C of them.
package sccl

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"

	"github.com/oraccl/oraccl/model"
)

// Tool is the name of those who write such files.
const Tool = "SCCL"

// File is what a file says.
type File struct {
	Name       string
	Steps      []Step
	Chunks     int // of the instance: addresses a shard
	Collective Collective
	Links      [][]int // [dst][src]: how many sends a round
	Network    string  // name of the topology
	Switches   []Group
}

// Step is a step: all its sends read what was there before it.
type Step struct {
	Rounds int
	Sends  []Send
}

// Send moves an address.
type Send struct{ Addr, Src, Dst int }

// Collective is what the file says that it performs.
type Collective struct {
	Name  string
	Nodes int
	Parts []Part // its "chunks": contributions
}

// Part is a contribution: where it is at first, where it must be in the end, and the
// address that it shares with those that it is combined with.
type Part struct {
	Pre, Post []int
	Addr      int
}

// Group is a bandwidth that the links from some nodes to others share.
type Group struct {
	Srcs, Dsts []int
	Bandwidth  int
	Name       string
}

// Limits on what is read, so that an absurd file is refused.
const (
	maxNodes  = 4096
	maxRounds = 1 << 20
	maxSends  = 1 << 24
)

// Is reports whether a JSON document is such a file: an object whose key msccl_type, or in
// early ones sccl_type, is "algorithm".
func Is(b []byte) bool {
	b = bytes.TrimLeft(b, " \t\r\n")
	if len(b) == 0 || b[0] != '{' || !bytes.Contains(b, []byte(`sccl_type"`)) {
		return false
	}
	d := json.NewDecoder(bytes.NewReader(b))
	if _, err := d.Token(); err != nil {
		return false
	}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return false
		}
		var value json.RawMessage
		if d.Decode(&value) != nil {
			return false
		}
		if key == "msccl_type" || key == "sccl_type" {
			return string(value) == `"algorithm"`
		}
	}
	return false
}

// document is the file as JSON has it.
type document struct {
	Type     string `json:"msccl_type"`
	Early    string `json:"sccl_type"`
	Name     string
	Instance *struct {
		Chunks   int
		Pipeline *int
	}
	Steps []struct {
		Rounds int
		Sends  [][]json.Number
	}
	Collective *struct {
		Name   string
		Nodes  int
		Chunks []struct {
			Pre, Post []int
			Addr      int
		}
	}
	Topology *struct {
		Name     string
		Links    [][]int
		Switches [][]json.RawMessage
	}
}

// Read reads a file. Errors name the file and the place in it.
func Read(name string, b []byte) (*File, error) {
	var d document
	decoder := json.NewDecoder(bytes.NewReader(b))
	if err := decoder.Decode(&d); err != nil {
		return nil, fmt.Errorf("%s: %s%w", name, line(b, decoder.InputOffset()), err)
	}
	if decoder.More() {
		return nil, fmt.Errorf("%s: %sdata after the end of the document, want one document a file", name, line(b, decoder.InputOffset()))
	}
	f, err := d.file()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return f, nil
}

func line(b []byte, offset int64) string {
	return fmt.Sprintf("line %d: ", 1+bytes.Count(b[:min(offset, int64(len(b)))], []byte("\n")))
}

func (d *document) file() (*File, error) {
	switch {
	case d.Type != "algorithm" && d.Early != "algorithm":
		return nil, fmt.Errorf("msccl_type is %.40q, want \"algorithm\"", d.Type)
	case d.Instance == nil || d.Collective == nil || d.Topology == nil:
		return nil, fmt.Errorf("has no instance, collective or topology, want all three")
	case d.Instance.Pipeline != nil:
		return nil, fmt.Errorf("instance: is pipelined, want one whose steps do not overlap")
	case d.Instance.Chunks < 1 || d.Instance.Chunks > maxSends:
		return nil, fmt.Errorf("instance: %d chunks, want 1 to %d", d.Instance.Chunks, maxSends)
	}
	n := len(d.Topology.Links)
	if n < 1 || n > maxNodes {
		return nil, fmt.Errorf("topology: %d nodes, want 1 to %d", n, maxNodes)
	}
	if d.Collective.Nodes != n {
		return nil, fmt.Errorf("collective: %d nodes, want %d, as many as the topology has", d.Collective.Nodes, n)
	}
	f := &File{Name: d.Name, Chunks: d.Instance.Chunks, Links: d.Topology.Links, Network: d.Topology.Name,
		Collective: Collective{Name: d.Collective.Name, Nodes: n}}
	for i, row := range f.Links {
		if len(row) != n {
			return nil, fmt.Errorf("topology: row %d of the links has %d entries, want %d", i, len(row), n)
		}
		for j, b := range row {
			if b < 0 || b > 1<<16 {
				return nil, fmt.Errorf("topology: link from %d to %d has bandwidth %d, want 0 to %d", j, i, b, 1<<16)
			}
		}
	}
	for i, c := range d.Collective.Chunks {
		if c.Addr < 0 || c.Addr > maxSends {
			return nil, fmt.Errorf("collective: chunk %d has address %d, want 0 to %d", i, c.Addr, maxSends)
		}
		for _, list := range [][]int{c.Pre, c.Post} {
			for _, r := range list {
				if r < 0 || r >= n {
					return nil, fmt.Errorf("collective: chunk %d names node %d, want 0 to %d", i, r, n-1)
				}
			}
		}
		f.Collective.Parts = append(f.Collective.Parts, Part{c.Pre, c.Post, c.Addr})
	}
	if err := d.steps(f, n); err != nil {
		return nil, err
	}
	return f, d.switches(f, n)
}

func (d *document) steps(f *File, n int) error {
	rounds, sends := 0, 0
	for i, s := range d.Steps {
		if s.Rounds < 1 || s.Rounds > maxRounds {
			return fmt.Errorf("step %d: %d rounds, want 1 to %d", i+1, s.Rounds, maxRounds)
		}
		rounds += s.Rounds
		sends += len(s.Sends)
		if rounds > maxRounds || sends > maxSends {
			return fmt.Errorf("step %d: more than %d rounds or %d sends so far, want at most that", i+1, maxRounds, maxSends)
		}
		step := Step{Rounds: s.Rounds}
		for j, send := range s.Sends {
			// TACCL writes the time and the link after the three that count.
			if len(send) != 3 && len(send) != 5 {
				return fmt.Errorf("step %d, send %d: %d numbers, want address, source and destination", i+1, j+1, len(send))
			}
			var v [3]int
			for k := range v {
				x, err := strconv.Atoi(send[k].String())
				if err != nil || x < 0 || x > maxSends || k > 0 && x >= n {
					return fmt.Errorf("step %d, send %d: %.40s, want an address, and nodes from 0 to %d", i+1, j+1, send[k], n-1)
				}
				v[k] = x
			}
			if v[1] == v[2] {
				return fmt.Errorf("step %d, send %d: from node %d to itself, want another", i+1, j+1, v[1])
			}
			step.Sends = append(step.Sends, Send{v[0], v[1], v[2]})
		}
		f.Steps = append(f.Steps, step)
	}
	return nil
}

func (d *document) switches(f *File, n int) error {
	for i, s := range d.Topology.Switches {
		var g Group
		ok := len(s) == 4
		for k, into := range []any{&g.Srcs, &g.Dsts, &g.Bandwidth, &g.Name} {
			ok = ok && json.Unmarshal(s[k], into) == nil
		}
		for _, r := range append(append([]int{}, g.Srcs...), g.Dsts...) {
			ok = ok && r >= 0 && r < n
		}
		if !ok || g.Bandwidth < 1 {
			return fmt.Errorf("topology: switch %d, want its sources, destinations, bandwidth and name", i)
		}
		f.Switches = append(f.Switches, g)
	}
	return nil
}

var collectiveName = regexp.MustCompile(`^([A-Za-z]+)\(n=[0-9]+(?:,root=([0-9]+))?\)`)

var kinds = map[string]model.Kind{
	"Broadcast": model.Broadcast, "Scatter": model.Scatter, "Gather": model.Gather, "Reduce": model.Reduce,
	"Allgather": model.AllGather, "ReduceScatter": model.ReduceScatter, "Allreduce": model.AllReduce, "Alltoall": model.AllToAll,
}

// Performs returns the collective that the file names, with its root; ok is false for
// one that has no standard name, such as a scan.
func (f *File) Performs() (c model.Collective, ok bool) {
	m := collectiveName.FindStringSubmatch(f.Collective.Name)
	if m == nil {
		return c, false
	}
	c.Kind, ok = kinds[m[1]]
	if m[2] != "" {
		c.Root, _ = strconv.Atoi(m[2])
	}
	return c, ok && c.Root < len(f.Links)
}
