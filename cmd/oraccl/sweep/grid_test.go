package sweep

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/oraccl/oraccl/cmd/oraccl/strict"
	"github.com/stretchr/testify/require"
)

var words = Names{
	Methods: []string{"tacos", "ring", "late"},
	Default: func(late bool) []string {
		if late {
			return []string{"tacos", "late"}
		}
		return []string{"tacos"}
	},
	Families: []string{"ring", "mesh", "dgx1"},
}

func expand(t *testing.T, text string) ([]Cell, error) {
	t.Helper()
	g, err := ReadGrid("g.yaml", strings.NewReader(text))
	if err != nil {
		return nil, err
	}
	return g.Expand(t.Context(), words)
}

func TestExpand(t *testing.T) {
	cells, err := expand(t, `
topologies: [ring:4, dgx1]
collectives: allgather
sizes: [1KiB..16KiB*4, 5]
chunks: [auto, 2]
delays: [0, 1us]
straggler: 3
methods: all
time_limit: 2s
`)
	require.NoError(t, err)
	require.Len(t, cells, 2*4*2*(1+2))
	var got []string
	for _, c := range cells[:7] {
		got = append(got, c.Text())
	}
	require.Equal(t, []string{
		`{"topology":"ring:4","collective":"allgather","cost":"pipelined","size_bytes":1024,"seed":1,"method":"tacos","time_limit_ns":2000000000}`,
		`{"topology":"ring:4","collective":"allgather","cost":"pipelined","size_bytes":1024,"delay_ps":1000000,"straggler":3,"seed":1,"method":"tacos","time_limit_ns":2000000000}`,
		`{"topology":"ring:4","collective":"allgather","cost":"pipelined","size_bytes":1024,"delay_ps":1000000,"straggler":3,"seed":1,"method":"late","time_limit_ns":2000000000}`,
		`{"topology":"ring:4","collective":"allgather","cost":"pipelined","size_bytes":1024,"chunks":2,"seed":1,"method":"tacos","time_limit_ns":2000000000}`,
		`{"topology":"ring:4","collective":"allgather","cost":"pipelined","size_bytes":1024,"chunks":2,"delay_ps":1000000,"straggler":3,"seed":1,"method":"tacos","time_limit_ns":2000000000}`,
		`{"topology":"ring:4","collective":"allgather","cost":"pipelined","size_bytes":1024,"chunks":2,"delay_ps":1000000,"straggler":3,"seed":1,"method":"late","time_limit_ns":2000000000}`,
		`{"topology":"ring:4","collective":"allgather","cost":"pipelined","size_bytes":4096,"seed":1,"method":"tacos","time_limit_ns":2000000000}`,
	}, got)
	require.Equal(t, "dgx1", cells[24].Topology)
	require.EqualValues(t, 5, cells[23].SizeBytes)
	keys := map[string]bool{}
	for i := range cells {
		keys[cells[i].Key()] = true
	}
	require.Len(t, keys, len(cells))
}

// One cell written in two ways is one cell.
func TestCanonical(t *testing.T) {
	a, err := expand(t, "topologies: ring:4\ncollectives: allgather\nsizes: 1MiB\nmethods: ring\ndelays: 0\nstraggler: 2\n")
	require.NoError(t, err)
	b, err := expand(t, "topologies: [ring:4]\ncollectives: [allgather]\nsizes: [1048576]\nmethods: [tacos, ring]\nchunks: auto\ncosts: pipelined\nseeds: 1\nfails: none\nalphas: default\ntime_limit: 60s\n")
	require.NoError(t, err)
	require.Equal(t, a[0], b[1])
	require.Equal(t, a[0].Key(), b[1].Key())
}

func TestLabel(t *testing.T) {
	cells, err := expand(t, "topologies: ring:4\nfails: [none, 'link:0-1,rank:3']\nalphas: [default, 1us]\nbandwidths: '1GB/s,2GB/s'\ncollectives: allgather\nmethods: ring\n")
	require.NoError(t, err)
	var labels []string
	for _, c := range cells {
		labels = append(labels, c.Label())
	}
	require.Equal(t, []string{"ring:4 bandwidth 1GB/s,2GB/s", "ring:4 alpha 1us bandwidth 1GB/s,2GB/s",
		"ring:4 without link:0-1,rank:3 bandwidth 1GB/s,2GB/s", "ring:4 without link:0-1,rank:3 alpha 1us bandwidth 1GB/s,2GB/s"}, labels)
}

func TestGridErrors(t *testing.T) {
	const rest = "collectives: allgather\nmethods: ring\n"
	for _, c := range []struct{ text, want string }{
		{"", "g.yaml:1: an empty file"},
		{"# nothing\n", "g.yaml:1: an empty file"},
		{"topologies: ring:4\ntopology: ring:8\n", `g.yaml:2: unknown key "topology", want one of problems, topologies, fails, `},
		{"topologies: ring:4\ntopologies: ring:8\n", "g.yaml:2: mapping key \"topologies\" already defined at line 1"},
		{"topologies: [ring:4\n", "g.yaml:"},
		{"topologies: ring:4\n\tsizes: 1\n", "g.yaml:2: "},
		{"a: &a [*a]\n", "g.yaml:"},
		{"topologies: []\n", "g.yaml:1: an empty list"},
		{"topologies:\n- ring:4\n- {a: b}\n", "g.yaml:3: want a value"},
		{"topologies:\n- ring:4\n-\n", "g.yaml:3: want a value"},
		{"- ring:4\n", "g.yaml:1: "},
		{"topologies: ring:4\n---\ntopologies: ring:4\n", "g.yaml: more than one document"},
		{rest, "topologies: none given"},
		{"topologies: ring:4\nmethods: ring\n", "collectives: none given"},
		{"topologies: ring:4\ncollectives: allgather\n", "methods: none given"},
		{"topologies: [ring:4,\n rign:8]\n" + rest, `g.yaml:2: topologies: "rign:8": no such file, nor`},
		{"topologies: ring:4\ncollectives: gossip\nmethods: ring\n", `g.yaml:2: collectives: "gossip"`},
		{"topologies: ring:4\ncollectives: allgather\nmethods: [ring, foo]\n", `g.yaml:3: methods: "foo": want all, or one or more of tacos, ring, late`},
		{"topologies: ring:4\ncollectives: allgather\nmethods: [ring, all]\n", `g.yaml:3: methods: "all" beside other methods`},
		{"topologies: ring:4\nsizes: 8Mib\n" + rest, `g.yaml:2: sizes: size "8Mib"`},
		{"topologies: ring:4\nsizes: 1MiB..1KiB\n" + rest, "g.yaml:2: sizes: \"1MiB..1KiB\": want a range that goes up"},
		{"topologies: ring:4\nsizes: 0..1KiB\n" + rest, "g.yaml:2: sizes: "},
		{"topologies: ring:4\nsizes: 1..2*1\n" + rest, "g.yaml:2: sizes: "},
		{"topologies: ring:4\nsizes: [1KiB, 4KiB,\n 1024]\n" + rest, `g.yaml:3: sizes: "1024" is there already (g.yaml:2: sizes "1KiB")`},
		{"topologies: ring:4\nchunks: -1\n" + rest, "g.yaml:2: chunks: "},
		{"topologies: ring:4\ndelays: soon\n" + rest, "g.yaml:2: delays: "},
		{"topologies: ring:4\nseeds: 1.5\n" + rest, "g.yaml:2: seeds: "},
		{"topologies: ring:4\ncosts: cheap\n" + rest, "g.yaml:2: costs: "},
		{"topologies: ring:4\ntime_limit: 0s\n" + rest, "g.yaml:2: time_limit: "},
		{"topologies: ring:4\ntime_limit: [1s]\n" + rest, "g.yaml:2: want a value"},
		{"topologies: ring:4\ntries: x\n" + rest, "g.yaml:2: tries: "},
		{"topologies: ring:4\neffort: -2\n" + rest, "g.yaml:2: effort: "},
		{"topologies: ring:4\ncell_limit: 1\n" + rest, "g.yaml:2: cell_limit: "},
		{"topologies: ring:4\ndual: maybe\n" + rest, "g.yaml:2: dual: "},
		{"topologies: ring:4\nsizes: 1..4TiB\nseeds: [" + seeds(2000) + "]\nchunks: [" + seeds(20) + "]\n" + rest, "the grid has more than 1048576 cells"},
	} {
		_, err := expand(t, c.text)
		require.ErrorContains(t, err, c.want, "%s", c.text)
		require.NotContains(t, err.Error(), "\n")
		require.NotContains(t, err.Error(), "sweep.Grid", "%s", c.text)
	}
	_, err := ReadGrid("g.yaml", strings.NewReader(strings.Repeat(" ", strict.MaxFile+1)))
	require.ErrorContains(t, err, "g.yaml: more than")
	_, err = OpenGrid(t.Context(), "nowhere.yaml")
	require.EqualError(t, err, "nowhere.yaml: no such file or directory")
}

func seeds(n int) string {
	var b strings.Builder
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(string(rune('1'+i/1000%9)) + string(rune('0'+i/100%10)) + string(rune('0'+i/10%10)) + string(rune('0'+i%10)))
	}
	return b.String()
}

func TestFlagsOverride(t *testing.T) {
	g, err := ReadGrid("g.yaml", strings.NewReader("topologies: ring:4\ncollectives: allgather\nmethods: [ring, tacos]\ntries: 3\n"))
	require.NoError(t, err)
	g.Set("methods", []string{"late"})
	g.Set("time-limit", []string{"3s"})
	cells, err := g.Expand(t.Context(), words)
	require.NoError(t, err)
	require.Len(t, cells, 1)
	require.Equal(t, "late", cells[0].Method)
	require.Equal(t, 3, cells[0].Tries)
	require.EqualValues(t, 3e9, cells[0].TimeLimit)

	g.Set("methods", []string{"x"})
	_, err = g.Expand(t.Context(), words)
	require.ErrorContains(t, err, `--methods: "x"`)
}

// A file that a cell names and that changes makes another cell.
func TestFilesAreHashed(t *testing.T) {
	name := filepath.Join(t.TempDir(), "t.json")
	text := "topologies: [" + name + ", ring:4]\ncollectives: allgather\nmethods: ring\n"
	require.NoError(t, os.WriteFile(name, []byte("a"), 0o644))
	a, err := expand(t, text)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(name, []byte("b"), 0o644))
	b, err := expand(t, text)
	require.NoError(t, err)
	require.NotEqual(t, a[0].Key(), b[0].Key())
	require.Equal(t, a[1].Key(), b[1].Key())
	require.Nil(t, a[1].Files)
}

// Collectives with sizes of their own have one size, that of their file; problems have all but
// the cut, the seed and the method.
func TestUneven(t *testing.T) {
	dir := t.TempDir()
	csv, problem := filepath.Join(dir, "m.csv"), filepath.Join(dir, "p.json")
	require.NoError(t, os.WriteFile(csv, []byte("0,1,2,3\n4,0,5,6\n7,8,0,9\n10,11,12,0\n"), 0o644))
	require.NoError(t, os.WriteFile(problem, []byte(`{"schema":"oraccl/problem/1","topology":{"name":"pair","ranks":2,"links":[
		{"src":0,"dst":1,"alpha_ps":1,"bandwidth_bytes_per_s":1000},{"src":1,"dst":0,"alpha_ps":1,"bandwidth_bytes_per_s":1000}]},
		"collective":{"kind":"broadcast"},"size_bytes":8,"cost":"blocking"}`), 0o644))

	cells, err := expand(t, "topologies: ring:4\ncollectives: [\"alltoallv:"+csv+"\", \"permutation:shift:1\"]\nsizes: [1KiB, 2KiB]\nmethods: tacos\n")
	require.NoError(t, err)
	require.Len(t, cells, 3, "one of the matrix, two of the permutation")
	require.EqualValues(t, 78, cells[0].SizeBytes)
	require.NotEmpty(t, cells[0].Files[csv])
	require.EqualValues(t, 2048, cells[2].SizeBytes)
	p, err := cells[0].Problem(t.Context())
	require.NoError(t, err)
	require.Equal(t, "alltoallv", p.Collective.Name)
	require.EqualValues(t, 78, p.Size)

	before := cells[0].Key()
	require.NoError(t, os.WriteFile(csv, []byte("0,1,2,3\n4,0,5,6\n7,8,0,9\n10,11,11,1\n"), 0o644))
	require.ErrorContains(t, Unchanged(t.Context(), cells), "m.csv: is not what it was")
	cells, err = expand(t, "topologies: ring:4\ncollectives: \"alltoallv:"+csv+"\"\nmethods: tacos\n")
	require.NoError(t, err)
	require.NotEqual(t, before, cells[0].Key())

	cells, err = expand(t, "problems: "+problem+"\nchunks: [auto, 2]\nmethods: tacos\n")
	require.NoError(t, err)
	require.Len(t, cells, 2)
	require.Equal(t, `pair of `+problem, cells[1].Label())
	require.Equal(t, "blocking", cells[1].Cost)
	p, err = cells[1].Problem(t.Context())
	require.NoError(t, err)
	require.Len(t, p.Chunks, 2)

	for text, want := range map[string]string{
		"problems: " + problem + "\ncosts: blocking\nmethods: tacos\n":       "g.yaml:2: costs: does not go with problems, whose files state it",
		"problems: " + problem + "\nstraggler: 1\nmethods: tacos\n":          "g.yaml:2: straggler: does not go with problems",
		"problems: none.json\nmethods: tacos\n":                              `g.yaml:1: problems: "none.json": no such file`,
		"problems: " + csv + "\nmethods: tacos\n":                            "m.csv",
		"topologies: ring:4\ncollectives: alltoallw:x.csv\nmethods: tacos\n": `g.yaml:2: collectives: "alltoallw:x.csv": no such file`,
		"problems: [" + problem + ", " + problem + "]\nmethods: tacos\n":     "is there already",
	} {
		_, err := expand(t, text)
		require.ErrorContains(t, err, want, text)
	}
}

func FuzzReadGrid(f *testing.F) {
	f.Add("topologies: [ring:4, dgx1]\nsizes: 1KiB..1MiB*4\ncollectives: allgather\nmethods: all\n")
	f.Add("a: &a [*a]")
	f.Add("topologies: &x ring:4\ncollectives: *x\n")
	f.Fuzz(func(t *testing.T, text string) {
		g, err := ReadGrid("g.yaml", strings.NewReader(text))
		if err != nil {
			require.Contains(t, err.Error(), "g.yaml")
			return
		}
		if cells, err := g.Expand(t.Context(), words); err == nil {
			require.NotEmpty(t, cells)
		}
	})
}
