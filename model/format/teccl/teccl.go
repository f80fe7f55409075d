// Package teccl reads the schedules that TE-CCL writes as JSON (Liu et al., "Rethinking
// machine learning collective communication as a multi-commodity flow problem", SIGCOMM
// 2024, and its published code): flows, each a chunk over a link, or over switches, in an
// epoch. It decides what such a file means as a schedule on a given topology, not whether
// that is right.
//
// The file names neither topology nor collective nor size. Its nodes are numbers; where the
// topology has switches they stand first, in each chassis. The size follows from the
// algorithmic bandwidth that it claims: ranks times a chunk, over the time that it needs.
package teccl

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"regexp"
	"strconv"
	"strings"
)

// Tool is the name of those who write such files.
const Tool = "TE-CCL"

// File is what a file says.
type File struct {
	Epoch     float64 // seconds
	Epochs    int     // that it needs
	Finish    float64 // seconds; 0: not said
	Bandwidth float64 // algorithmic, in 10⁹ bytes per second; 0: not said
	Flows     []Flow
	Paths     []Path // those of flows with volumes: how parts of chunks go on
}

// Path is the way of a part of a chunk from its source to a destination.
type Path struct {
	Chunk, Source, Dest int
	Hops                []Flow
}

// Flow is a chunk on its way from a node over switches, if any, to a node.
type Flow struct {
	Chunk, Source int // the chunk is the Chunk-th of node Source
	From, To      int
	Via           []int // switches
	Epoch         int
	Volume        *big.Rat // part of the chunk, or nil: all of it
	Line          int
}

// String writes the flow as the file does.
func (f Flow) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "Chunk %d from %d traveled over %d->%d", f.Chunk, f.Source, f.From, f.To)
	if f.Volume != nil {
		v, _ := f.Volume.Float64()
		fmt.Fprintf(&b, " with volume %v", v)
	}
	fmt.Fprintf(&b, " in epoch %d", f.Epoch)
	for i, v := range f.Via {
		if i == 0 {
			fmt.Fprintf(&b, " via switches %d", v)
		} else {
			fmt.Fprintf(&b, " -> %d", v)
		}
	}
	return b.String()
}

// Limits on what is read, so that an absurd file is refused.
const (
	maxNode  = 1 << 16
	maxEpoch = 1 << 30
	maxFlows = 1 << 24
)

var flowsKey = regexp.MustCompile(`"[0-9]+-Flows"\s*:`)

// Is reports whether a JSON document is such a file: it has an epoch duration and flows.
func Is(b []byte) bool {
	b = bytes.TrimLeft(b, " \t\r\n")
	return len(b) > 0 && b[0] == '{' && bytes.Contains(b, []byte(`"1-Epoch_Duration"`)) && flowsKey.Match(b)
}

// Read reads a file. Errors name the file and the line.
func Read(name string, b []byte) (*File, error) {
	r := &reader{b: b, d: json.NewDecoder(bytes.NewReader(b))}
	f, err := r.file()
	if err != nil {
		return nil, fmt.Errorf("%s: line %d: %w", name, r.line(), err)
	}
	return f, nil
}

// reader walks through the document, and knows the line.
type reader struct {
	b     []byte
	d     *json.Decoder
	at    int64 // up to where lines are counted
	lines int
}

func (r *reader) line() int {
	to := min(r.d.InputOffset(), int64(len(r.b)))
	if to > r.at {
		r.lines += bytes.Count(r.b[r.at:to], []byte("\n"))
		r.at = to
	}
	return r.lines + 1
}

func (r *reader) file() (*File, error) {
	f := &File{}
	if t, err := r.d.Token(); err != nil {
		return nil, err
	} else if t != json.Delim('{') {
		return nil, fmt.Errorf("%v, want an object", t)
	}
	seen := map[string]bool{}
	for r.d.More() {
		t, err := r.d.Token()
		if err != nil {
			return nil, err
		}
		_, key, numbered := strings.Cut(t.(string), "-") // in an object, keys are strings
		if !numbered {
			key = ""
		}
		if key != "" && seen[key] {
			return nil, fmt.Errorf("key %.40q occurs twice, want it once", t)
		}
		seen[key] = true
		switch key {
		case "Epoch_Duration":
			f.Epoch, err = r.number(1e-15, 1e6)
		case "Epochs_Required":
			var v float64
			v, err = r.number(0, maxEpoch)
			f.Epochs = int(v)
			if err == nil && float64(f.Epochs) != v {
				err = fmt.Errorf("%v epochs, want a whole number", v)
			}
		case "Collective_Finish_Time":
			f.Finish, err = r.number(0, 1e9)
		case "Algo_Bandwidth":
			f.Bandwidth, err = r.number(0, 1e9)
		case "Flows":
			err = r.flows(f)
		case "Chunk paths", "chunk paths":
			err = r.paths(f)
		default:
			var skipped json.RawMessage
			err = r.d.Decode(&skipped)
		}
		if err != nil {
			return nil, err
		}
	}
	if _, err := r.d.Token(); err != nil {
		return nil, err
	}
	switch {
	case r.d.More():
		return nil, fmt.Errorf("data after the end of the document, want one document a file")
	case !seen["Epoch_Duration"] || !seen["Epochs_Required"] || !seen["Flows"]:
		return nil, fmt.Errorf("1-Epoch_Duration, 3-Epochs_Required or 7-Flows is missing, want all three")
	}
	return f, nil
}

func (r *reader) number(least, most float64) (float64, error) {
	var v float64
	if err := r.d.Decode(&v); err != nil {
		return 0, err
	}
	if math.IsNaN(v) || v < least || v > most {
		return 0, fmt.Errorf("%v is out of range, want %v to %v", v, least, most)
	}
	return v, nil
}

func (r *reader) flows(f *File) error {
	if t, err := r.d.Token(); err != nil {
		return err
	} else if t != json.Delim('[') {
		return fmt.Errorf("flows: %v, want a list", t)
	}
	for r.d.More() {
		var s string
		if err := r.d.Decode(&s); err != nil {
			return err
		}
		flow, err := parseFlow(s)
		if err != nil {
			return err
		}
		flow.Line = r.line()
		if f.Flows = append(f.Flows, flow); len(f.Flows) > maxFlows {
			return fmt.Errorf("more than %d flows, want at most that", maxFlows)
		}
	}
	_, err := r.d.Token()
	return err
}

var flowText = regexp.MustCompile(`^Chunk (\d+) from (\d+) traveled over (\d+)->(\d+)(?: with volume ([0-9.eE+-]+))? in epoch (\d+)(?: via switches ([0-9 >-]+))?$`)

func parseFlow(s string) (Flow, error) {
	m := flowText.FindStringSubmatch(s)
	if m == nil {
		return Flow{}, fmt.Errorf("flow %.80q, want one such as \"Chunk 0 from 3 traveled over 3->1 in epoch 2 via switches 0\"", s)
	}
	var f Flow
	for i, into := range map[int]*int{1: &f.Chunk, 2: &f.Source, 3: &f.From, 4: &f.To, 6: &f.Epoch} {
		limit := maxNode
		if i == 1 || i == 6 {
			limit = maxEpoch
		}
		v, err := strconv.Atoi(m[i])
		if err != nil || v > limit {
			return Flow{}, fmt.Errorf("flow %.80q: %s is out of range, want 0 to %d", s, m[i], limit)
		}
		*into = v
	}
	if f.From == f.To {
		return Flow{}, fmt.Errorf("flow %.80q: goes from a node to itself, want another", s)
	}
	if m[5] != "" {
		v, err := strconv.ParseFloat(m[5], 64)
		if err != nil || !(v > 1e-9) || v > 1+1e-6 {
			return Flow{}, fmt.Errorf("flow %.80q: volume %s, want more than 0 and at most 1", s, m[5])
		}
		f.Volume = digits(v, 9)
	}
	if m[7] != "" {
		for _, part := range strings.Split(m[7], "->") {
			v, err := strconv.Atoi(strings.TrimSpace(part))
			if err != nil || v > maxNode || len(f.Via) >= 16 {
				return Flow{}, fmt.Errorf("flow %.80q: switches %q, want numbers with arrows between them", s, m[7])
			}
			f.Via = append(f.Via, v)
		}
	}
	return f, nil
}

// digits returns v to n significant decimal digits: what was a short decimal before it went
// through floating point is that again.
func digits(v float64, n int) *big.Rat {
	r, _ := new(big.Rat).SetString(strconv.FormatFloat(v, 'e', n-1, 64))
	return r
}
