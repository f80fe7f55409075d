package sweep

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/oraccl/oraccl/model/files"
)

// Grid is what a sweep runs over: the product of its axes. In a file it is YAML: a key an
// axis with one value or a list of them, and the options that all cells share.
//
//	topologies: [ring:8, "mesh:4x4"]
//	collectives: allreduce
//	sizes: [64KiB..16MiB*4]
//	methods: [tacos, ring, rhd]
type Grid struct {
	Topologies  Axis `yaml:"topologies"`  // names or files
	Fails       Axis `yaml:"fails"`       // entries of --fail, joined by commas; "none": nothing failed
	Alphas      Axis `yaml:"alphas"`      // latencies of a generator's links; "default": its own
	Bandwidths  Axis `yaml:"bandwidths"`  // as alphas
	Collectives Axis `yaml:"collectives"` // names or files
	Costs       Axis `yaml:"costs"`       // cost models
	Sizes       Axis `yaml:"sizes"`       // bytes per rank; A..B doubles from A to B, A..B*K multiplies by K
	Chunks      Axis `yaml:"chunks"`      // a rank; "auto": each method's own
	Delays      Axis `yaml:"delays"`      // how late the straggler is; 0: not at all
	Seeds       Axis `yaml:"seeds"`
	Methods     Axis `yaml:"methods"`

	Straggler Single `yaml:"straggler"`  // the rank that the delays are for, by default 0
	TimeLimit Single `yaml:"time_limit"` // of a cell: bound, method and proofs
	CellLimit Single `yaml:"cell_limit"` // of a cell in all; by default none
	Tries     Single `yaml:"tries"`      // of methods that make random choices; 0: their own
	Effort    Single `yaml:"effort"`     // how many times their work such methods put into repairs; -1: none
	Dual      Single `yaml:"dual"`       // whether to look for bounds of kind lp-dual, too
}

// Axis is a list of values. A scalar in a file is a list of one.
type Axis []Value

// Value is a value as it is written, with the place where: "grid.yaml:3: sizes" or
// "--sizes".
type Value struct{ Text, Place string }

// Single is an option that is no axis; the zero Value: not given.
type Single Value

// At returns an error that names the place of v.
func (v Value) At(err error) error { return fmt.Errorf("%s: %w", v.Place, err) }

// UnmarshalYAML reads a scalar or a list of scalars.
func (a *Axis) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	nodes := []*yaml.Node{n}
	if n.Kind == yaml.SequenceNode {
		nodes = n.Content
		if len(nodes) == 0 {
			return fmt.Errorf("line %d: an empty list, want at least one value", n.Line)
		}
	}
	*a = nil
	for _, n := range nodes {
		v, err := scalar(n)
		if err != nil {
			return err
		}
		*a = append(*a, v)
	}
	return nil
}

// UnmarshalYAML reads a scalar.
func (s *Single) UnmarshalYAML(n *yaml.Node) error {
	v, err := scalar(n)
	*s = Single(v)
	return err
}

func scalar(n *yaml.Node) (Value, error) {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	if n.Kind != yaml.ScalarNode || n.Tag == "!!null" {
		return Value{}, fmt.Errorf("line %d: want a value, or a list of values", n.Line)
	}
	return Value{n.Value, strconv.Itoa(n.Line)}, nil
}

// maxGridFile limits the size of a grid's file, in bytes.
const maxGridFile = 1 << 20

// ReadGrid reads a grid. Unknown keys and keys given twice are errors; errors name file
// and line.
func ReadGrid(name string, r io.Reader) (*Grid, error) {
	b, err := io.ReadAll(io.LimitReader(r, maxGridFile+1))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if len(b) > maxGridFile {
		return nil, fmt.Errorf("%s: more than %d bytes, want a small file", name, maxGridFile)
	}
	d := yaml.NewDecoder(bytes.NewReader(b))
	d.KnownFields(true)
	g := &Grid{}
	if err := d.Decode(g); errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%s:1: an empty file, want a grid: topologies, collectives, methods and what else is to vary", name)
	} else if err != nil {
		return nil, placed(name, err)
	}
	if err := d.Decode(&yaml.Node{}); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%s: more than one document, want one grid", name)
	}
	for _, a := range g.axes() {
		for i := range *a.value {
			v := &(*a.value)[i]
			v.Place = name + ":" + v.Place + ": " + a.name
		}
	}
	for _, o := range g.options() {
		if o.value.Place != "" {
			o.value.Place = name + ":" + o.value.Place + ": " + o.name
		}
	}
	return g, nil
}

// OpenGrid reads the grid in a file.
func OpenGrid(ctx context.Context, name string) (*Grid, error) {
	f, err := files.Open(ctx, name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return ReadGrid(name, f)
}

var (
	yamlLine    = regexp.MustCompile(`^(?:yaml: )?(?:unmarshal errors:\s*)?line (\d+): (.*)`)
	yamlUnknown = regexp.MustCompile(`^field (\S+) not found in type \S+`)
)

// placed puts the file's name and the line before what the reader of YAML says.
func placed(name string, err error) error {
	text := err.Error()
	var te *yaml.TypeError
	if errors.As(err, &te) && len(te.Errors) > 0 {
		text = te.Errors[0]
	}
	text, _, _ = strings.Cut(text, "\n")
	m := yamlLine.FindStringSubmatch(text)
	if m == nil {
		return fmt.Errorf("%s: %s", name, strings.TrimPrefix(text, "yaml: "))
	}
	what := m[2]
	if u := yamlUnknown.FindStringSubmatch(what); u != nil {
		g := &Grid{}
		var keys []string
		for _, a := range g.axes() {
			keys = append(keys, a.name)
		}
		for _, o := range g.options() {
			keys = append(keys, o.name)
		}
		what = fmt.Sprintf("unknown key %q, want one of %s", u[1], strings.Join(keys, ", "))
	}
	if strings.HasPrefix(what, "cannot unmarshal") {
		what = "want keys with values, such as topologies: [ring:4, ring:8]"
	}
	return fmt.Errorf("%s:%s: %s", name, m[1], what)
}

// named is an axis or an option with its name in files and on the command line.
type named[T any] struct {
	name  string
	value T
}

// axes returns the axes in the order in which a sweep runs over them, the last fastest.
func (g *Grid) axes() []named[*Axis] {
	return []named[*Axis]{
		{"topologies", &g.Topologies}, {"fails", &g.Fails}, {"alphas", &g.Alphas}, {"bandwidths", &g.Bandwidths},
		{"collectives", &g.Collectives}, {"costs", &g.Costs}, {"sizes", &g.Sizes}, {"chunks", &g.Chunks},
		{"delays", &g.Delays}, {"seeds", &g.Seeds}, {"methods", &g.Methods},
	}
}

func (g *Grid) options() []named[*Single] {
	return []named[*Single]{{"straggler", &g.Straggler}, {"time_limit", &g.TimeLimit}, {"cell_limit", &g.CellLimit}, {"tries", &g.Tries}, {"effort", &g.Effort}, {"dual", &g.Dual}}
}

// Set gives an axis or an option the values of the flag of that name, in place of what it has.
func (g *Grid) Set(flag string, values []string) {
	for _, a := range g.axes() {
		if a.name == flag {
			*a.value = nil
			for _, text := range values {
				*a.value = append(*a.value, Value{text, "--" + flag})
			}
		}
	}
	for _, o := range g.options() {
		if o.name == strings.ReplaceAll(flag, "-", "_") {
			*o.value = Single{values[0], "--" + flag}
		}
	}
}

// duration reads a positive time such as 10s.
func duration(s string) (time.Duration, error) {
	d, err := time.ParseDuration(s)
	if err != nil || d <= 0 {
		return 0, fmt.Errorf("%q: want a time above zero, such as 30s", s)
	}
	return d, nil
}
