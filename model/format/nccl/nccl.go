// Package nccl reads the topology of a machine that NCCL or RCCL dumps as XML
// (NCCL_TOPO_DUMP_FILE): CPUs, PCI bridges, GPUs with their NVLinks or xGMI links. It
// decides what ranks, switches and links such a file means.
//
// GPUs are ranks; CPUs and PCI bridges above GPUs are switches, and so is the NVSwitch: all
// links to NVSwitches go to one switch node, since what a GPU has towards them is shared
// between its peers. NICs are left out: a file is of one machine. Bandwidths are those that
// NCCL takes, in 10⁹ bytes per second and direction:
//
//	NVLink      count times 18 (sm 60), 20 (70), 20 (80), 12 (86), 20.6 (90), 40.1 (100)
//	xGMI        count times 24, 36 (gfx90a) or 48 (gfx94x, gfx95x)
//	C2C         count times what the file says
//	PCI         width times the lane's 0.1875, 0.375, 0.75, 1.5, 3 or 6 for 2.5 to 64 GT/s;
//	            where the file does not know, 8 GT/s and 16 lanes
//	CPU to CPU  6 to 40 by architecture, vendor and model
//
// A link between two GPUs has the bandwidth of all NVLinks between them. Latencies are not
// in the file; those given stand for a link between GPUs, half of it to or from a switch.
package nccl

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/oraccl/oraccl/model"
)

// DefaultAlpha is the latency between GPUs where none is given. It is an assumption, the
// one that TE-CCL (Liu et al., SIGCOMM 2024) makes for NVLink.
const DefaultAlpha = 700 * model.Nanosecond

// element is an element of the document.
type element struct {
	name     string
	attr     map[string]string
	children []*element
	line     int
}

// Limits on what is read, so that an absurd file is refused.
const (
	maxDepth    = 64
	maxElements = 1 << 16
	maxGPUs     = 1 << 10
	maxCPUs     = 1 << 8
)

// Is reports whether an XML document is such a file: its root is a system.
func Is(b []byte) bool {
	d := xml.NewDecoder(bytes.NewReader(b))
	for {
		t, err := d.Token()
		if err != nil {
			return false
		}
		if e, ok := t.(xml.StartElement); ok {
			return e.Name.Local == "system"
		}
	}
}

// Read reads a file. Errors name the file and the line. alpha is the latency between GPUs,
// DefaultAlpha if it is negative. What was left out and what was assumed is in the notes of
// the topology.
func Read(name string, b []byte, alpha model.Time) (*model.Topology, error) {
	m, err := readWith(name, b, alpha, false)
	if err != nil {
		return nil, err
	}
	return m.Topology, nil
}

// ReadMachine is Read with the NICs of the file, each at the PCI bridge or CPU that it is below, if
// that has GPUs below too. A NIC is no faster than its own PCI link.
func ReadMachine(name string, b []byte, alpha model.Time) (*model.Machine, error) {
	return readWith(name, b, alpha, true)
}

func readWith(name string, b []byte, alpha model.Time, nics bool) (*model.Machine, error) {
	root, err := parse(b)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	given := alpha >= 0
	if !given {
		alpha = DefaultAlpha
	}
	m, err := build(root, alpha, given, nics)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	t := m.Topology
	t.Name = name[strings.LastIndexAny(name, "/\\")+1:]
	if err := t.Validate(); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return m, nil
}

// parse reads the elements of the document, which must be one system.
func parse(b []byte) (*element, error) {
	d := xml.NewDecoder(bytes.NewReader(b))
	var open []*element
	var root *element
	for n := 0; ; {
		t, err := d.Token()
		line, _ := d.InputPos()
		switch {
		case err == io.EOF && root != nil && len(open) == 0:
			return root, nil
		case err != nil:
			var syntax *xml.SyntaxError
			if errors.As(err, &syntax) {
				return nil, fmt.Errorf("line %d: %s", syntax.Line, syntax.Msg)
			}
			return nil, fmt.Errorf("line %d: %w", line, err)
		}
		switch t := t.(type) {
		case xml.StartElement:
			e := &element{name: t.Name.Local, attr: map[string]string{}, line: line}
			for _, a := range t.Attr {
				if _, twice := e.attr[a.Name.Local]; twice {
					return nil, e.wrong("attribute %.40q occurs twice, want it once", a.Name.Local)
				}
				e.attr[a.Name.Local] = a.Value
			}
			if n++; n > maxElements || len(open) >= maxDepth {
				return nil, e.wrong("more than %d elements, or deeper than %d, want at most that", maxElements, maxDepth)
			}
			switch {
			case len(open) > 0:
				parent := open[len(open)-1]
				parent.children = append(parent.children, e)
			case root != nil || e.name != "system":
				return nil, e.wrong("element %.40q, want one system a file", e.name)
			default:
				root = e
			}
			open = append(open, e)
		case xml.EndElement:
			open = open[:len(open)-1]
		case xml.CharData:
			if text := strings.TrimSpace(string(t)); text != "" {
				return nil, fmt.Errorf("line %d: text %.40q, want elements", line, text)
			}
		}
	}
}

func (e *element) wrong(format string, args ...any) error {
	return fmt.Errorf("line %d: %s", e.line, fmt.Sprintf(format, args...))
}
