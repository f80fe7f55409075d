package topo

import (
	"fmt"
	"strings"

	"github.com/oraccl/oraccl/model"
)

var meshFamily = Family{"mesh", "mesh:AxB[xC...]", "a mesh of any dimension, one link each way between neighbours", byDefault,
	func(arg string, o Options) (*model.Topology, error) { return shaped(arg, "mesh:AxB[xC...]", o, Mesh) }}

var torusFamily = Family{"torus", "torus:AxB[xC...]", "a mesh with wrap-around links", byDefault,
	func(arg string, o Options) (*model.Topology, error) { return shaped(arg, "torus:AxB[xC...]", o, Torus) }}

func shaped(arg, syntax string, o Options, build func([]int, []Wire) (*model.Topology, error)) (*model.Topology, error) {
	dims, err := sizes(arg, syntax, 1, maxDims, 2)
	if err != nil {
		return nil, err
	}
	wires, err := o.wires(len(dims), "dimensions")
	if err != nil {
		return nil, err
	}
	return build(dims, wires)
}

// Mesh builds a mesh with the given sizes, each at least 1, and a kind of link for
// each dimension. Neighbours have one link each way.
func Mesh(sizes []int, wires []Wire) (*model.Topology, error) {
	return grid("mesh", sizes, wires, false)
}

// Torus builds a mesh with wrap-around links. A dimension of size 2 has one link
// each way, not two.
func Torus(sizes []int, wires []Wire) (*model.Topology, error) {
	return grid("torus", sizes, wires, true)
}

func grid(name string, sizes []int, wires []Wire, wrap bool) (*model.Topology, error) {
	if len(sizes) != len(wires) {
		return nil, fmt.Errorf("%d kinds of link for %d dimensions, want one for each", len(wires), len(sizes))
	}
	ranks := int64(1)
	for i, n := range sizes {
		if n < 1 {
			return nil, fmt.Errorf("dimension %d is %d, want at least 1", i+1, n)
		}
		if ranks *= int64(n); ranks > model.MaxNodes {
			return nil, fmt.Errorf("has more than %d ranks, want at most that", model.MaxNodes)
		}
	}
	links := int64(0)
	for _, n := range sizes {
		pairs := int64(n - 1) // of neighbours in a row
		if wrap && n > 2 {
			pairs++
		}
		links += 2 * ranks / int64(n) * pairs
	}
	b, err := newBuilder(ranks, links)
	if err != nil {
		return nil, err
	}
	stride := int(ranks) // between ranks that are neighbours in the dimension
	for i, n := range sizes {
		stride /= n
		for v := range int(ranks) {
			at := v / stride % n
			switch {
			case at+1 < n:
				b.duplex(v, v+stride, wires[i])
			case wrap && n > 2:
				b.duplex(v, v-at*stride, wires[i])
			}
		}
	}
	return b.done("%s:%s", name, strings.ReplaceAll(strings.Trim(fmt.Sprint(sizes), "[]"), " ", "x"))
}
