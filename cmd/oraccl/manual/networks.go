package manual

import (
	"fmt"
	"slices"
	"strings"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/topo"
)

// examples has a topology of each family of model/topo.
var examples = map[string]string{
	"ring": "ring:8", "uniring": "uniring:8", "line": "line:8", "mesh": "mesh:4x4", "torus": "torus:4x4", "hypercube": "hypercube:3",
	"full": "full:8", "switch": "switch:8:copies", "fattree": "fattree:4x4x2", "dragonfly": "dragonfly:3x2x2", "rfs": "rfs:2x4x8",
	"dgx1": "dgx1", "ndv2": "ndv2:2", "dgx2": "dgx2:2", "dgxa100": "dgxa100:2", "dgxh100": "dgxh100:2", "dgxh100-nvls": "dgxh100-nvls:2:rails+sharp", "dgxb200": "dgxb200",
	"dgxb200-nvls": "dgxb200-nvls", "gb200": "gb200:nvl72", "gb200-nvls": "gb200-nvls:nvl72", "mi250": "mi250", "mi300x": "mi300x", "tpuv4": "tpuv4:4x4x4",
}

func topologiesTopic() Topic {
	return Topic{
		Name:  "topologies",
		Short: "The named networks: parameters, figures and their sources",
		Body: func() ([]Block, error) {
			names := Table{Head: []string{"name", "network", "figures from"}}
			built := Table{Head: []string{"example", "ranks", "switches", "links", "ports", "latency and bandwidth of a link"}}
			for _, f := range topo.List() {
				from := f.Source
				if strings.HasPrefix(from, "generator") {
					from = "" // said below
				}
				names.Rows = append(names.Rows, []string{"`" + f.Syntax + "`", f.Summary, from})
				if examples[f.Name] == "" {
					continue // a test says so
				}
				t, err := topo.Parse(examples[f.Name], topo.Options{})
				if err != nil {
					return nil, err
				}
				built.Rows = append(built.Rows, []string{"`" + t.Name + "`", fmt.Sprint(t.Ranks), fmt.Sprint(len(t.Switches)), fmt.Sprint(len(t.Links)), fmt.Sprint(len(t.Ports)), figures(t)})
			}
			return []Block{
				Para("Wherever a topology is wanted, a name will do, or a file (`oraccl help formats`). What stands in brackets may be left out. " +
					"The links of a named topology are as `--alpha` and `--bandwidth` say: one value for all, or one for each dimension of a mesh, torus or hypercube, " +
					"for each tier of a fat tree (ranks, spines), dragonfly (groups, routers, ranks) or rfs (rings, full graphs, switches), separated by commas. A machine's cannot be set; a file's can."),
				names,
				Para(fmt.Sprintf("By default the links of a named topology have %v and %s. Bandwidths are of one link in one direction; the latency of a switch's network is that from rank to rank. "+
					"Built with their defaults:", topo.DefaultAlpha, rate(topo.DefaultBandwidth))),
				built,
				Para("Links are directed. Ranks of meshes, tori and hypercubes are numbered with the last coordinate running fastest. " +
					"`oraccl topo show NAME` lists the links, `--json` writes a file to change."),
				Para("Switches that add have `reduces` in a file: `read` where ranks read sums and multicast over them, `turn` where what was added goes on to other switches, or to several " +
					"ranks in the same pass; and may have `sums`, how many chunks one of them adds up at one time, `operations`, what it computes, and `types`, by operator, with which types of numbers. " +
					"`--dtype` states that of a buffer; a buffer without one is taken to be of a type that the switches compute with. `oraccl help formats` has the syntax, section 4.3 of the specification the rules. " +
					"The names without `-nvls` and `sharp` are of the same machines without sums and multicasts in switches, which `--no-in-network` leaves out of any topology. " +
					"`in-network`, `forest`, `tacos` and `exact` make schedules with sums and multicasts; methods that let ranks do all additions note that they do not use switches that add."),
				adding,
			}, nil
		},
	}
}

// adding is what named networks suppose of switches that add.
var adding = Table{
	Head: []string{"switch", "`reduces`", "`operations`", "`types`", "documented", "assumed here"},
	Rows: [][]string{
		{"NVSwitch of H100 and B200 (NVLink SHARP)", "`read`", "sum, min, max",
			"fp16, bf16, and integers of 32 and 64 bits; sums of fp32 and fp64, too",
			"NVIDIA, PTX ISA, `multimem.ld_reduce`, `multimem.st`, `multimem.red`: load with reduction from, and store to, all replicas of an address; add, min and max, and bitwise operations, which are none of the collectives' here; the types: `NCCL_NVLS_SUPPORTS` of NCCL 2.19",
			"no fp8, which B200 adds and NCCL 2.19 does not have it add; any set of ranks with the one that reads or writes; terms and branches wait in the switch, without a limit; no limit of sums at one time; the rate of a link, and its latency, as without sums"},
		{"Quantum-2 (SHARPv3)", "`turn`", "sum, min, max",
			"fp16, bf16, fp32, fp64, and integers of 8, 16, 32 and 64 bits",
			"Graham et al., COM-HPC 2016: aggregation trees of switches, whose root sends the result to all; the types: `sharp_coll.h` of NVIDIA's SHARP 3",
			"the operations, and that each serves all of these types; any tree, no limit of sums at one time, the rate of a link, no time for additions"},
	},
}

// figures lists the kinds of links of t.
func figures(t *model.Topology) string {
	var kinds []string
	for _, l := range t.Links {
		kind := fmt.Sprintf("%v, %s", l.Alpha, rate(l.Bandwidth))
		if !slices.Contains(kinds, kind) {
			kinds = append(kinds, kind)
		}
	}
	return strings.Join(kinds, "; ")
}

// rate writes a bandwidth in the unit in which it is a whole number.
func rate(b int64) string {
	if b%(1<<30) == 0 {
		return fmt.Sprintf("%d GiB/s", b>>30)
	}
	return fmt.Sprintf("%g GB/s", float64(b)/1e9)
}

// meanings states what the collectives do, in a phrase each.
var meanings = map[model.Kind]string{
	model.Broadcast:     "the root's buffer goes to all",
	model.Scatter:       "a part of the root's buffer goes to each",
	model.Gather:        "a part of each goes to the root",
	model.Reduce:        "the sum of all buffers goes to the root",
	model.AllGather:     "a part of each goes to all",
	model.ReduceScatter: "a part of the sum of all buffers goes to each",
	model.AllReduce:     "the sum of all buffers goes to all",
	model.AllToAll:      "a part of each goes to each",
}

func collectivesTopic(busFactor func(*model.Problem) float64) Topic {
	return Topic{
		Name:  "collectives",
		Short: "The collectives: sizes, chunks, data at the start and at the end",
		Body: func() ([]Block, error) {
			counts := Table{Head: []string{"collective", "meaning", "shards", "chunks with --chunks K", "bytes in all", "busbw / algbw"}}
			states := Table{Head: []string{"collective", "chunk", "at the start", "at the end"}}
			for _, k := range model.Kinds() {
				p := func(n int) *model.Problem {
					return &model.Problem{Topology: &model.Topology{Ranks: n}, Collective: model.Collective{Kind: k}, Size: 840}
				}
				inN := func(f func(*model.Problem) float64) string { return formula(f(p(2)), f(p(5))) }
				counts.Rows = append(counts.Rows, []string{
					"`" + k.String() + "`", meanings[k],
					inN(func(p *model.Problem) float64 { return float64(p.Shards()) }),
					strings.TrimSuffix("K·"+inN(func(p *model.Problem) float64 { return float64(p.DefaultChunks(1)) }), "·1"),
					strings.TrimSuffix("size·"+inN(func(p *model.Problem) float64 { return float64(p.Space()) / float64(p.Size) }), "·1"),
					inN(busFactor),
				})
				three := p(3)
				three = three.WithChunks(three.DefaultChunks(1))
				c := min(1, len(three.Chunks)-1)
				states.Rows = append(states.Rows, []string{"`" + k.String() + "`", fmt.Sprintf("%d of %d", c, len(three.Chunks)), state(three.Start(c)), state(three.Goal(c))})
			}
			return []Block{
				Para("A name may be written as other tools write it: `all_gather`, `AllGather`, `reduce-scatter`. `--size` is the buffer of a rank as NCCL-tests counts it; for an allgather, a gather, a scatter or a reducescatter that is the larger buffer, n times what one rank contributes or gets. " +
					"n ranks take part: all, or those of `--group`, in its order. `--root` is the root of a broadcast, scatter, gather or reduce."),
				counts,
				Para("A shard is a part of the buffer that starts or ends apart from the others; a chunk never straddles two. `--total-chunks M` cuts into M chunks in all, a multiple of the shards. " +
					"algbw is size / makespan in 10⁹ bytes per second; busbw is NCCL-tests'."),
				Para("What three ranks hold of a chunk with K = 1, root 0, xR being the contribution of rank R; the rest is undefined at the start and does not matter at the end:"),
				states,
				Para("A reduction is a sum unless a file says `prod`, `min` or `max`; `min` and `max` may have a contribution twice. " +
					"Any other pattern is a custom collective: `--collective FILE` with its chunks, its `pre` and its `post` (`oraccl help json collective`). " +
					"With `sizes`, the bytes of each chunk, these are shards, which methods cut as they like, and `--chunks K` cuts the largest into K and the others into no larger ones; " +
					"without them the problem's cut is the only one. The size of a custom collective is all its bytes, and its algbw all its bytes / makespan."),
				Para("Collectives with sizes of their own are made by name. `--sizes FILE` is CSV: bytes, or such as 64KiB, 0 for none; lines that begin with # and empty ones are left out. " +
					"In one word, which sweeps take too, a name has its file, or where ranks send: `alltoallv:moe.csv`, `permutation:shift:1`."),
				Table{Head: []string{"collective", "sizes", "meaning"}, Rows: [][]string{
					{"`alltoallv`", "n rows of n numbers, or lines `src,dst,bytes` under that heading", "rank i has the number in row i, column j, for rank j"},
					{"`allgatherv`, `reducescatterv`", "n numbers", "as without v, with a part for each rank that is as large as its number"},
					{"`gatherv`, `scatterv`", "n numbers", "the same to, or from, `--root`"},
					{"`halo`, `halo-corners`", "none, or up to d numbers", "on a mesh or torus of d dimensions: `--size` to each neighbour in one dimension, or with the corners to each that is at most one away in all; " +
						"with `--sizes` the first number to those that differ in one coordinate, the second to those in two, and so on"},
					{"`permutation`", "none", "`--size` from each rank to the one that `--permutation` names: `1,0,3,2`, `shift:K`, `reverse` or `transpose`"},
				}},
				Para("`--problem FILE` takes the whole problem from a file (`oraccl help json problem`), which `bound --write-problem FILE` makes; the flags for the cut and the objective remain. " +
					"`view --problem FILE` and `verify --problem FILE` hold a schedule against another problem than its own, and `sweep --problems FILE` makes a table of several. " +
					"`--group` takes ranks, and `machine:1` or `rail:0` of a cluster: machines are the parts that no switch outside them joins, a rail has the ranks with one place in all machines. " +
					"A file may have `groups` of its own (`oraccl help json topology`), as `topo join` writes them: then its machines and rails are those, and `--group NAME` takes any of them."),
			}, nil
		},
	}
}

// formula names a function of the number of ranks n by its values at 2 and 5.
func formula(two, five float64) string {
	for _, f := range []struct {
		text      string
		two, five float64
	}{{"1", 1, 1}, {"n", 2, 5}, {"n²", 4, 25}, {"(n-1)/n", 0.5, 0.8}, {"2(n-1)/n", 1, 1.6}} {
		if two == f.two && five == f.five {
			return f.text
		}
	}
	return fmt.Sprintf("%g for 2 ranks, %g for 5", two, five)
}

// state writes what ranks hold of a chunk.
func state(holds func(func(int, model.Value) bool)) string {
	var order []string
	ranks := map[string][]string{}
	for r, v := range holds {
		var terms []string
		for c, count := range v.Terms() {
			for range count {
				terms = append(terms, fmt.Sprintf("x%d", c))
			}
		}
		value := strings.Join(terms, "+")
		if ranks[value] == nil {
			order = append(order, value)
		}
		ranks[value] = append(ranks[value], fmt.Sprint(r))
	}
	var all []string
	for _, value := range order {
		all = append(all, fmt.Sprintf("rank %s: %s", words(ranks[value]), value))
	}
	return strings.Join(all, "; ")
}
