package instance_test

import (
	"errors"
	"flag"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/instance"
	"github.com/oraccl/oraccl/model/topo"
	"github.com/oraccl/oraccl/model/traffic"
)

// oneFile has one topology and one collective.
type oneFile struct{}

func (oneFile) Exists(name string) bool { return name == "mine.json" || name == "ours.json" }

func (oneFile) Topology(name, alpha, bandwidth string) (*model.Topology, error) {
	if alpha != "" || bandwidth != "" {
		return nil, errors.New("has links of its own")
	}
	return topo.Parse("ring:3", topo.Options{})
}

func (oneFile) Collective(name string) (*model.Collective, error) {
	return &model.Collective{Kind: model.Broadcast, Root: 1}, nil
}

func (oneFile) Problem(name string) (*model.Problem, error) {
	t, err := topo.Parse("ring:3", topo.Options{})
	return &model.Problem{Topology: t, Collective: model.Collective{Kind: model.AllGather}, Size: 9, Cost: model.Blocking}, err
}

func (oneFile) Sizes(name string) (*traffic.Table, error) {
	text, ok := map[string]string{
		"matrix.csv": "0,1,2\n3,0,0\n5KiB,0,9\n", "pairs.csv": "src,dst,bytes\n0,2,7\n", "vector.csv": "4,0,6\n", "faces.csv": "8\n2\n",
		"none.csv": "0,0,0\n0,0,0\n0,0,0\n",
	}[name]
	if !ok {
		return nil, errors.New("no such file")
	}
	return traffic.Read(name, strings.NewReader(text))
}

func TestProblem(t *testing.T) {
	for name, x := range map[string]struct {
		topology string
		args     []string
		want     string // the problem, or the error after "error: "
	}{
		"defaults":            {"dgx1", []string{"--collective", "allgather"}, "allgather of 8 MiB, 8 ranks, on dgx1, pipelined"},
		"chunks":              {"ring:4", []string{"--collective", "allgather", "--chunks", "2", "--size", "1KiB", "--cost", "rounds"}, "allgather of 1 KiB in 8 chunks, 4 ranks, on ring:4, rounds"},
		"total chunks":        {"ring:4", []string{"--collective", "allgather", "--total-chunks", "12"}, "allgather of 8 MiB in 12 chunks, 4 ranks, on ring:4, pipelined"},
		"rounds":              {"ring:4", []string{"--collective", "reduce", "--root", "2", "--objective", "rounds"}, "reduce to rank 2 of 8 MiB, 4 ranks, on ring:4, link-rounds"},
		"a group":             {"ring:4", []string{"--collective", "broadcast", "--group", "1-2"}, "broadcast from rank 1 of 8 MiB, 2 ranks, on ring:4, pipelined"},
		"late":                {"ring:4", []string{"--collective", "allreduce", "--delay", "1=5us"}, "allreduce of 8 MiB, 4 ranks, on ring:4, pipelined, with late ranks"},
		"a straggler":         {"ring:4", []string{"--collective", "allreduce", "--straggler", "3", "--delay", "5us"}, "allreduce of 8 MiB, 4 ranks, on ring:4, pipelined, with late ranks"},
		"failed":              {"full:4", []string{"--collective", "allgather", "--fail", "rank:3"}, "allgather of 8 MiB, 3 ranks, on full:4 without rank:3, pipelined"},
		"files":               {"mine.json", []string{"--collective", "ours.json"}, "broadcast from rank 1 of 8 MiB, 3 ranks, on ring:3, pipelined"},
		"file with wires":     {"mine.json", []string{"--collective", "allgather", "--alpha", "1us"}, "error: has links of its own"},
		"no such topology":    {"none:3", []string{"--collective", "allgather"}, `error: topology "none:3": unknown`},
		"no such file":        {"none.json", []string{"--collective", "allgather"}, "error: none.json: no such file, nor the name of a topology"},
		"no collective":       {"ring:4", nil, "error: --collective: missing"},
		"no such collective":  {"ring:4", []string{"--collective", "gether"}, `error: --collective "gether": no such file`},
		"a size":              {"ring:4", []string{"--collective", "allgather", "--size", "x"}, "error: --size: "},
		"a cost":              {"ring:4", []string{"--collective", "allgather", "--cost", "x"}, "error: --cost: "},
		"an objective":        {"ring:4", []string{"--collective", "allgather", "--objective", "x"}, `error: --objective "x": want makespan or rounds`},
		"rounds without any":  {"ring:4", []string{"--collective", "allgather", "--objective", "rounds", "--cost", "blocking"}, "error: --objective rounds: does not go with --cost blocking"},
		"a latency":           {"ring:4", []string{"--collective", "allgather", "--alpha", "x"}, "error: --alpha: "},
		"a bandwidth":         {"ring:4", []string{"--collective", "allgather", "--bandwidth", "x"}, "error: --bandwidth: "},
		"a wrong group":       {"ring:4", []string{"--collective", "allgather", "--group", "3-9"}, `error: --group "3-9": want ranks 0 to 3`},
		"a group of a file":   {"ring:4", []string{"--collective", "ours.json", "--group", "0-1"}, "error: --group: the collective's file states which ranks take part"},
		"straggler, not late": {"ring:4", []string{"--collective", "allgather", "--straggler", "1"}, "error: --straggler: also needs --delay"},
		"no such straggler":   {"ring:4", []string{"--collective", "allgather", "--straggler", "9", "--delay", "1us"}, "error: --straggler 9 --delay 1us: rank 9 does not exist"},
		"no such delay":       {"ring:4", []string{"--collective", "allgather", "--delay", "1us"}, `error: --delay "1us": want rank=time`},
		"too many chunks":     {"ring:4", []string{"--collective", "allgather", "--chunks", "9", "--size", "8"}, "error: --chunks 9: 36 chunks of 8 bytes in all"},
		"chunks below 0":      {"ring:4", []string{"--collective", "allgather", "--chunks", "-1"}, "error: --chunks -1: want 1 to"},
		"both chunks":         {"ring:4", []string{"--collective", "allgather", "--chunks", "1", "--total-chunks", "4"}, "error: --total-chunks: does not go with --chunks"},
		"uneven chunks":       {"ring:4", []string{"--collective", "allgather", "--total-chunks", "6"}, "error: --total-chunks 6: want a multiple of 4"},
		"cut apart":           {"line:4", []string{"--collective", "allgather", "--fail", "link:1-2"}, "error: --fail link:1-2: cuts line:4 apart: no link leads from ranks 0-1 to ranks 2-3 any more"},
		"alltoallv":           {"ring:3", []string{"--collective", "alltoallv", "--sizes", "matrix.csv"}, "custom alltoallv of 5126 B, 3 ranks, on ring:3, pipelined"},
		"pairs":               {"ring:4", []string{"--collective", "alltoallv", "--sizes", "pairs.csv"}, "custom alltoallv of 7 B, 4 ranks, on ring:4, pipelined"},
		"cut uneven":          {"ring:3", []string{"--collective", "alltoallv", "--sizes", "matrix.csv", "--chunks", "2"}, "custom alltoallv of 5126 B in 5 chunks, 3 ranks"},
		"allgatherv":          {"ring:3", []string{"--collective", "allgatherv", "--sizes", "vector.csv"}, "custom allgatherv of 10 B, 3 ranks"},
		"reducescatterv":      {"full:4", []string{"--collective", "reducescatterv", "--sizes", "vector.csv", "--group", "1-3"}, "custom reducescatterv of 10 B, 3 ranks"},
		"gatherv":             {"ring:3", []string{"--collective", "gatherv", "--sizes", "vector.csv", "--root", "1"}, "custom gatherv of 10 B, 3 ranks"},
		"scatterv":            {"ring:3", []string{"--collective", "scatterv", "--sizes", "vector.csv"}, "custom scatterv of 6 B, 3 ranks"},
		"halo":                {"mesh:3x3", []string{"--collective", "halo", "--size", "10"}, "custom halo of 240 B, 9 ranks"},
		"halo with corners":   {"mesh:3x3", []string{"--collective", "halo", "--sizes", "faces.csv"}, "custom halo of 224 B, 9 ranks"},
		"halo-corners":        {"torus:3x3", []string{"--collective", "halo-corners", "--size", "10"}, "custom halo-corners of 720 B, 9 ranks"},
		"permutation":         {"ring:4", []string{"--collective", "permutation", "--permutation", "shift:1", "--size", "10"}, "custom permutation of 40 B, 4 ranks"},
		"no halo":             {"dgx1", []string{"--collective", "halo"}, "error: --collective halo: wants all ranks of a mesh or torus, which dgx1 is not"},
		"no sizes":            {"ring:3", []string{"--collective", "alltoallv"}, "error: --sizes: missing, want a CSV file"},
		"sizes of others":     {"ring:3", []string{"--collective", "allgather", "--sizes", "vector.csv"}, "error: --sizes: allgather has equal shards"},
		"no such sizes":       {"ring:3", []string{"--collective", "alltoallv", "--sizes", "x.csv"}, "error: no such file"},
		"sizes of a few":      {"ring:4", []string{"--collective", "alltoallv", "--sizes", "matrix.csv"}, "error: matrix.csv: 3 rows of 3 numbers, want 4 of 4"},
		"all zero":            {"ring:3", []string{"--collective", "alltoallv", "--sizes", "none.csv"}, "error: none.csv: no rank has a byte for another one"},
		"a size beside sizes": {"ring:3", []string{"--collective", "alltoallv", "--sizes", "matrix.csv", "--size", "1MiB"}, "error: --size 1MiB: the sizes are 5126 bytes in all"},
		"root of all":         {"ring:3", []string{"--collective", "alltoallv", "--sizes", "matrix.csv", "--root", "1"}, "error: --root: alltoallv has no root"},
		"stray permutation":   {"ring:3", []string{"--collective", "allgather", "--permutation", "shift:1"}, "error: --permutation: goes with --collective permutation"},
		"wrong permutation":   {"ring:3", []string{"--collective", "permutation", "--permutation", "1,1,2"}, `error: --permutation "1", number 2: want each member once`},
		"a file":              {"", []string{"--problem", "p.json", "--chunks", "2"}, "allgather of 9 B in 6 chunks, 3 ranks, on ring:3, blocking"},
		"rounds of a file":    {"", []string{"--problem", "p.json", "--objective", "rounds"}, "error: --objective rounds: does not go with the cost model of p.json, blocking"},
		"no such link":        {"ring:4", []string{"--collective", "allgather", "--fail", "link:0-2"}, "no link joins"},
	} {
		var f instance.Flags
		set := flag.NewFlagSet(name, flag.ContinueOnError)
		f.Define(set)
		f.DefineCut(set)
		f.DefineFile(set)
		set.Func("fail", instance.FailUsage, func(s string) error { f.Fail = instance.List(s); return nil })
		require.NoError(t, set.Parse(x.args), name)
		p, err := f.Problem(oneFile{}, x.topology)
		got := fmt.Sprint("error: ", err)
		if err == nil {
			require.NoError(t, p.Validate(), name)
			got = p.String()
		}
		require.Contains(t, got, x.want, name)
	}
	one := &model.Topology{Name: "one way", Ranks: 2, Links: []model.Link{{Src: 0, Dst: 1, Bandwidth: 1}}}
	f := instance.Flags{Collective: "allgather", Size: "8", Straggler: -1}
	_, err := f.Problem(given{one}, "mine.json")
	require.ErrorContains(t, err, "rank 1 cannot reach rank 0 on one way")
	var hinted *instance.Error
	require.ErrorAs(t, err, &hinted)
	require.Contains(t, hinted.Hint, "from every rank to every other")
	_, err = instance.LoadTopology(given{one}, "mine.json", "", "")
	require.NoError(t, err)
}

// given is a file with a topology.
type given struct{ t *model.Topology }

func (given) Exists(name string) bool                            { return name == "mine.json" }
func (g given) Topology(_, _, _ string) (*model.Topology, error) { return g.t, nil }
func (given) Collective(string) (*model.Collective, error)       { return nil, errors.New("none") }
func (given) Problem(string) (*model.Problem, error)             { return nil, errors.New("none") }
func (given) Sizes(string) (*traffic.Table, error)               { return nil, errors.New("none") }
