package sweep

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/oraccl/oraccl/cmd/oraccl/strict"
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
	Problems    Axis `yaml:"problems"`    // files of whole problems, in place of the axes from topologies to delays, but chunks
	Topologies  Axis `yaml:"topologies"`  // names or files
	Fails       Axis `yaml:"fails"`       // entries of --fail, joined by commas; "none": nothing failed
	Alphas      Axis `yaml:"alphas"`      // latencies of a generator's links; "default": its own
	Bandwidths  Axis `yaml:"bandwidths"`  // as alphas
	Collectives Axis `yaml:"collectives"` // names or files; names with what they need: alltoallv:moe.csv, permutation:shift:1, halo
	Costs       Axis `yaml:"costs"`       // cost models
	Sizes       Axis `yaml:"sizes"`       // bytes per rank; A..B doubles from A to B, A..B*K multiplies by K; not for collectives with sizes of their own
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
	n = strict.Aliased(n)
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
	text, err := strict.Scalar(n, "a value, or a list of values")
	return Value{text, strconv.Itoa(strict.Aliased(n).Line)}, err
}

// ReadGrid reads a grid. Unknown keys and keys given twice are errors; errors name file
// and line.
func ReadGrid(name string, r io.Reader) (*Grid, error) {
	g := &Grid{}
	err := strict.Decode(name, r, g, strict.Kind{One: "one grid", Want: "a grid: topologies, collectives, methods and what else is to vary", Shape: "keys with values, such as topologies: [ring:4, ring:8]"})
	if err != nil {
		return nil, err
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

// named is an axis or an option with its name in files and on the command line.
type named[T any] struct {
	name  string
	value T
}

// axes returns the axes in the order in which a sweep runs over them, the last fastest.
func (g *Grid) axes() []named[*Axis] {
	return []named[*Axis]{
		{"problems", &g.Problems}, {"topologies", &g.Topologies}, {"fails", &g.Fails}, {"alphas", &g.Alphas}, {"bandwidths", &g.Bandwidths},
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
