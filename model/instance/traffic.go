package instance

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/traffic"
)

var errNoPermutation = errors.New("--permutation: goes with --collective permutation, which needs it: 1,0,3,2 or shift:K, reverse or transpose")

// Spelled divides a collective such as alltoallv:moe.csv or permutation:shift:1 into its name and
// what the name needs: a file of sizes, or where ranks send. It is false for other words, and
// for a name alone.
func Spelled(collective string) (name, needs string, ok bool) {
	name, needs, ok = strings.Cut(collective, ":")
	return name, needs, ok && needs != "" && traffic.Is(name)
}

// unfolded returns the flags with what Spelled divides in flags of its own.
func (in *Flags) unfolded(files Files) (*Flags, error) {
	name, needs, ok := Spelled(in.Collective)
	if !ok || files.Exists(in.Collective) {
		return in, nil
	}
	flag, value := "--sizes", &in.Sizes
	if name == "permutation" {
		flag, value = "--permutation", &in.Permutation
	}
	if *value != "" {
		return nil, fmt.Errorf("--collective %s: states %s itself, want it once", in.Collective, flag)
	}
	out := *in
	out.Collective = name
	if flag == "--sizes" {
		out.Sizes = needs
	} else {
		out.Permutation = needs
	}
	return &out, nil
}

// traffic returns a collective of package traffic. group is nil for all ranks, size what halos and
// permutations move to one rank where no file says so.
func (in *Flags) traffic(files Files, t *model.Topology, group []int, size int64) (model.Collective, error) {
	name := in.Collective
	members := group
	if group == nil {
		for r := range t.Ranks {
			members = append(members, r)
		}
	}
	if in.Root != 0 && !traffic.Rooted(name) {
		return model.Collective{}, fmt.Errorf("--root: %s has no root", name)
	}
	if (in.Permutation != "") != (name == "permutation") {
		return model.Collective{}, errNoPermutation
	}
	c, err := in.fromSizes(files, t, members, group == nil, size)
	if err != nil {
		return model.Collective{}, err
	}
	c.Group = group
	return *c, nil
}

func (in *Flags) fromSizes(files Files, t *model.Topology, members []int, all bool, size int64) (*model.Collective, error) {
	name, n := in.Collective, len(members)
	var table *traffic.Table
	var err error
	if in.Sizes != "" {
		if table, err = files.Sizes(in.Sizes); err != nil {
			return nil, err
		}
	}
	file := func(err error) error { return fmt.Errorf("%s: %w", in.Sizes, err) }
	switch name {
	case "permutation":
		if table != nil {
			return nil, errors.New("--sizes: a permutation moves --size from each rank; alltoallv takes a matrix")
		}
		to, err := traffic.Permutation(in.Permutation, n)
		if err != nil {
			return nil, fmt.Errorf("--permutation %w", err)
		}
		return traffic.Permute(members, to, size)
	case "halo", "halo-corners":
		dims := t.Grid()
		if dims == nil || !all {
			return nil, fmt.Errorf("--collective %s: wants all ranks of a mesh or torus, which %s is not", name, t.Name)
		}
		bytes := []int64{size}
		if name == "halo-corners" {
			bytes = slices.Repeat(bytes, len(dims))
		}
		if table != nil {
			if bytes, err = table.Vector(1, len(dims)); err != nil {
				return nil, file(err)
			}
		}
		return traffic.Halo(name, dims, t.Closed(dims), bytes)
	}
	switch {
	case table == nil:
		return nil, fmt.Errorf("--sizes: missing, want a CSV file: %s has sizes of its own", name)
	case traffic.Rooted(name) && !slices.Contains(members, in.rootOf(members)):
		return nil, fmt.Errorf("--root: rank %d is not in the group", in.Root)
	case traffic.Pairwise(name):
		bytes, err := table.Matrix(n)
		if err != nil {
			return nil, file(err)
		}
		c, err := traffic.AllToAll(members, bytes)
		if err != nil {
			err = file(err)
		}
		return c, err
	}
	bytes, err := table.Vector(n, n)
	if err != nil {
		return nil, file(err)
	}
	c, err := traffic.PerMember(name, members, in.rootOf(members), bytes)
	if err != nil {
		err = file(err)
	}
	return c, err
}

// rootOf returns the root among some members: the first of them where rank 0 is none and no root
// was asked for.
func (in *Flags) rootOf(members []int) int {
	if in.Root == 0 && !slices.Contains(members, 0) {
		return members[0]
	}
	return in.Root
}
