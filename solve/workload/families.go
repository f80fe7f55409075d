package workload

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/oraccl/oraccl/model"
	wl "github.com/oraccl/oraccl/model/workload"
)

// ParameterKind is what a parameter counts.
type ParameterKind uint8

// The kinds of parameters.
const (
	Count    ParameterKind = iota // a whole number from 1 on
	Bytes                         // a size, as model.ParseBytes reads it, from 1 on
	Duration                      // a time, as model.ParseTime reads it, from 1 ps on
	Choice                        // one of Choices
)

// Parameter is what a family is told.
type Parameter struct {
	Name    string // words with _ between them
	Kind    ParameterKind
	Usage   string
	Default string   // "": none
	Choices []string // of a Choice
	Open    bool     // it may be left out though it has no default: Usage states which value holds then
}

// Target is where a workload is to run.
type Target struct {
	Topology *model.Topology
	Cost     model.CostModel
	Machines [][]int // the ranks of each machine; nil: not known
}

// Family is a kind of workload that is made from parameters.
type Family struct {
	Name, Summary string
	Source        string // whose
	Example       string // a topology and parameters, as flags
	Parameters    []Parameter
	make          func(v *values, on Target) (*wl.Workload, error)
}

var (
	nodesOf = Parameter{Name: "nodes", Kind: Count, Open: true, Usage: "the `number` of machines, of consecutive ranks; default: those of the topology"}
	perNode = Parameter{Name: "per_node", Kind: Count, Open: true, Usage: "the `number` of ranks of each machine; default: those of the topology"}
)

// Families returns all families.
func Families() []Family {
	return []Family{
		{"hierarchical", "an allreduce in three steps: reducescatter in each machine, allreduce between machines, allgather in each machine", "NCCL, Horovod", "dgxh100:2 --size 16MiB",
			[]Parameter{
				{Name: "size", Kind: Bytes, Usage: "`bytes` of the buffer, a multiple of the chunks"},
				{Name: "parts", Kind: Count, Default: "1", Usage: "the `number` of chunks into which a rank's part of a machine's part is cut"},
				nodesOf, perNode},
			func(v *values, on Target) (*wl.Workload, error) {
				nodes := v.nodes(on)
				size, parts := v.number("size"), v.number("parts")
				if v.err != nil {
					return nil, v.err
				}
				return Hierarchical(on.Topology, on.Cost, nodes, size, int(parts))
			}},
		{"hitopk", "top-k sparsification in machines: dense reducescatter, selection, allgather of pairs between machines and in them, addition", "HiTopKComm, arXiv:2010.10458", "dgxh100:2 --elements 4194304 --keep 512",
			[]Parameter{
				{Name: "elements", Kind: Count, Usage: "the `number` of elements of the gradient, a multiple of the ranks of a machine"},
				{Name: "keep", Kind: Count, Usage: "the `number` of elements that a rank keeps of its part"},
				{Name: "value", Kind: Bytes, Default: "4", Usage: "`bytes` of an element"},
				{Name: "index", Kind: Bytes, Default: "4", Usage: "`bytes` of an index"},
				{Name: "select", Kind: Duration, Default: "1us", Usage: "`time` that the selection takes"},
				{Name: "scatter", Kind: Duration, Default: "1us", Usage: "`time` that all additions take"},
				{Name: "pieces", Kind: Count, Default: "1", Usage: "the `number` of chunks into which the pairs of a rank are cut"},
				nodesOf, perNode},
			func(v *values, on Target) (*wl.Workload, error) {
				x := &TopK{Nodes: v.nodes(on), Elements: v.number("elements"), Value: v.number("value"), Index: v.number("index"), Keep: v.number("keep"),
					Select: v.time("select"), Scatter: v.time("scatter"), Pieces: int(v.number("pieces"))}
				if v.err != nil {
					return nil, v.err
				}
				return x.Workload(on.Topology, on.Cost)
			}},
		{"summa", "a 2.5-D matrix product on a grid [side, side, depth], with its backward pass", "SUMMA2.5-LM, Tesseract, arXiv:2105.14500", "dgxh100:2 --side 2 --depth 4 --x 1MiB --w 4MiB --y 1MiB --multiply 50us",
			[]Parameter{
				{Name: "side", Kind: Count, Usage: "the `number` of rows, and of columns, of the grid"},
				{Name: "depth", Kind: Count, Default: "1", Usage: "the `number` of layers of the grid, each with a part of the batch"},
				{Name: "x", Kind: Bytes, Usage: "`bytes` of a rank's block of the activations X"},
				{Name: "w", Kind: Bytes, Usage: "`bytes` of a rank's block of the weights W"},
				{Name: "y", Kind: Bytes, Usage: "`bytes` of a rank's block of the result Y"},
				{Name: "multiply", Kind: Duration, Default: "1us", Usage: "`time` of the product of two blocks"},
				{Name: "chunks", Kind: Count, Default: "1", Usage: "the `number` of chunks of a block"},
				{Name: "inside", Kind: Choice, Choices: []string{"rows", "columns", "depths"}, Default: "rows", Usage: "which `lines` of the grid have ranks of consecutive numbers, and so are in one machine: rows, columns or depths"},
				{Name: "pass", Kind: Choice, Choices: []string{"forward", "both"}, Default: "forward", Usage: "which `pass`: forward, the product alone, or both, with the gradients of X and W and their sum over the depth"}},
			func(v *values, on Target) (*wl.Workload, error) {
				x := &Grid{Side: int(v.number("side")), Depth: int(v.number("depth")), Inside: Line(v.choice("inside")), X: v.number("x"), W: v.number("w"), Y: v.number("y"),
					Multiply: v.time("multiply"), Chunks: int(v.number("chunks")), Backward: v.choice("pass") == 1}
				if v.err != nil {
					return nil, v.err
				}
				return x.Workload(on.Topology, on.Cost)
			}},
		{"adasum", "Adasum by recursive vector halving, whose operator is neither associative nor elementwise", "Maleki et al., arXiv:2006.02924", "full:8 --size 1MiB",
			[]Parameter{
				{Name: "size", Kind: Bytes, Usage: "`bytes` of the tensor, a multiple of the members"},
				{Name: "members", Kind: Count, Open: true, Usage: "the `number` of ranks, from 0 on, a power of two; default: all"},
				{Name: "scalars", Kind: Bytes, Default: "24", Usage: "`bytes` of the three scalars"},
				{Name: "dot", Kind: Duration, Default: "1us", Usage: "`time` in which a rank computes its scalars"},
				{Name: "combine", Kind: Duration, Default: "1us", Usage: "`time` in which a rank combines two operands"}},
			func(v *values, on Target) (*wl.Workload, error) {
				members := int64(on.Topology.Ranks)
				if v.given["members"] != "" {
					members = v.number("members")
				}
				size, scalars, dot, combine := v.number("size"), v.number("scalars"), v.time("dot"), v.time("combine")
				if v.err != nil {
					return nil, v.err
				}
				if members > int64(on.Topology.Ranks) {
					return nil, fmt.Errorf("%d members on %d ranks, want at most as many", members, on.Topology.Ranks)
				}
				return Adasum(on.Topology, on.Cost, int(members), size, scalars, dot, combine)
			}},
	}
}

// FamilyNamed returns the family of a name.
func FamilyNamed(name string) (*Family, error) {
	var known []string
	for _, f := range Families() {
		if f.Name == name {
			return &f, nil
		}
		known = append(known, f.Name)
	}
	return nil, fmt.Errorf("workload %s: want one of %s", model.Quote(name), strings.Join(known, ", "))
}

// Needed reports whether a parameter must be given.
func (p *Parameter) Needed() bool { return !p.Open && p.Default == "" }

// Make returns the workload of a family. given has what is given of each parameter, as text; "" is nothing.
func (f *Family) Make(given func(name string) string, on Target) (*wl.Workload, error) {
	v := &values{f, map[string]string{}, nil}
	for _, p := range f.Parameters {
		v.given[p.Name] = given(p.Name)
	}
	w, err := f.make(v, on)
	if err != nil {
		return nil, fmt.Errorf("workload %s: %w", f.Name, err)
	}
	return w, nil
}

// values reads what is given; the first that is wrong is kept.
type values struct {
	family *Family
	given  map[string]string
	err    error
}

// text returns what is given of a parameter, or its default.
func (v *values) text(name string) (*Parameter, string) {
	p := &v.family.Parameters[slices.IndexFunc(v.family.Parameters, func(p Parameter) bool { return p.Name == name })]
	if given := v.given[name]; given != "" {
		return p, given
	}
	return p, p.Default
}

// wrong notes an error about a parameter.
func (v *values) wrong(name string, err error) {
	if v.err == nil {
		v.err = fmt.Errorf("%s: %w", name, err)
	}
}

// number returns a count or a size.
func (v *values) number(name string) int64 {
	p, text := v.text(name)
	n, err := strconv.ParseInt(text, 10, 64)
	most := int64(model.MaxNodes)
	if p.Kind == Bytes || name == "elements" || name == "keep" {
		most = model.MaxSize
	}
	if p.Kind == Bytes {
		n, err = model.ParseBytes(text)
	}
	switch {
	case text == "":
		v.wrong(name, fmt.Errorf("missing, want %s", strings.ReplaceAll(p.Usage, "`", "")))
	case err != nil && p.Kind == Bytes:
		v.wrong(name, err)
	case err != nil || n < 1 || n > most:
		v.wrong(name, fmt.Errorf("%s, want a whole number from 1 to %d", model.Quote(text), most))
	default:
		return n
	}
	return 1
}

// time returns a duration.
func (v *values) time(name string) model.Time {
	_, text := v.text(name)
	t, err := model.ParseTime(text)
	if err == nil && (t < 1 || t > model.MaxRelease) {
		err = fmt.Errorf("%s, want 1 ps to %v", model.Quote(text), model.MaxRelease)
	}
	if err != nil {
		v.wrong(name, err)
		return 1
	}
	return t
}

// choice returns the index of a choice.
func (v *values) choice(name string) int {
	p, text := v.text(name)
	i := slices.Index(p.Choices, text)
	if i < 0 {
		v.wrong(name, fmt.Errorf("%s, want one of %s", model.Quote(text), strings.Join(p.Choices, ", ")))
	}
	return max(0, i)
}

// nodes returns the ranks of machines of which there are as many as is asked for.
func (v *values) nodes(on Target) [][]int {
	if v.given["nodes"] == "" && v.given["per_node"] == "" {
		if len(on.Machines) == 0 {
			v.wrong("per_node", fmt.Errorf("missing: it is not known which ranks of %s are in one machine", on.Topology.Name))
			return [][]int{{0}}
		}
		return on.Machines
	}
	per := int64(on.Topology.Ranks)
	if v.given["per_node"] != "" {
		per = v.number("per_node")
	}
	n := max(1, int64(on.Topology.Ranks)/per)
	if v.given["nodes"] != "" {
		n = v.number("nodes")
		if v.given["per_node"] == "" {
			per = max(1, per/n)
		}
	}
	if n*per > int64(on.Topology.Ranks) {
		v.wrong("nodes", fmt.Errorf("%d machines of %d ranks, want at most the %d ranks of %s", n, per, on.Topology.Ranks, on.Topology.Name))
		return [][]int{{0}}
	}
	var all [][]int
	for a := range int(n) {
		var ranks []int
		for i := range int(per) {
			ranks = append(ranks, a*int(per)+i)
		}
		all = append(all, ranks)
	}
	return all
}
