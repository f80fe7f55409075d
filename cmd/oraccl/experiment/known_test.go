package experiment

import (
	"io/fs"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/testdata/published"
)

// TestKnown: every experiment of the program is well formed, and so is each line of its
// tables; no table is without an experiment.
func TestKnown(t *testing.T) {
	tables, err := fs.Glob(published.Tables, "*/*.csv")
	require.NoError(t, err)
	var used []string
	for _, f := range Known() {
		require.NotEmpty(t, f.Title)
		require.NotEmpty(t, f.Source)
		for _, full := range []bool{false, true} {
			x := &Runner{Full: full, Store: &Store{}}
			x.begin(f)
			base, err := x.base()
			require.NoError(t, err)
			for _, s := range f.Sections {
				lines, err := x.lines(base, s)
				require.NoError(t, err)
				require.NotEmpty(t, lines, "%s: section %s", f.Name, s.Name)
				if s.Table != "" {
					used = append(used, s.Table)
				}
				for _, l := range lines {
					for _, r := range s.Compute {
						_, err := x.spec(l, s, r)
						require.NoError(t, err)
					}
				}
			}
		}
	}
	require.Subset(t, used, tables)
	require.Subset(t, tables, used)
}

// TestTECCL: the time of a schedule is that of its epochs, and of the variants one is left
// for each instance.
func TestTECCL(t *testing.T) {
	f, err := Named("teccl")
	require.NoError(t, err)
	x := &Runner{Store: &Store{}}
	x.begin(f)
	base, err := x.base()
	require.NoError(t, err)
	n := 0
	for _, s := range f.Sections {
		lines, err := x.lines(base, s)
		require.NoError(t, err)
		if s.Name == "times" || s.Name == "ranks" {
			n += len(lines)
		}
		if s.Table != "teccl/output_provided.csv" {
			continue
		}
		for _, l := range lines {
			epoch, _ := l.scope.Names["epoch_us"].Float()
			epochs, _ := l.scope.Names["epochs"].Float()
			value, _ := l.scope.Names["value"].Float()
			require.InDelta(t, epoch*epochs, value, 1e-6*value, l.place)
		}
	}
	require.Equal(t, 5*11, n)
}

// TestForestcollNetworks: nodes and links are those of the authors' topologies.py.
func TestForestcollNetworks(t *testing.T) {
	for name, want := range map[string][3]int{ // ranks, switches, links
		"a100:1":  {8, 1, 16},
		"a100:2":  {16, 2 + 16 + 2, 2*16 + 2*32},
		"mi250:1": {16, 0, 56},
		"mi250:2": {32, 1, 2*56 + 64},
	} {
		n, err := forestcollNetwork(name)
		require.NoError(t, err)
		require.Equal(t, want, [3]int{n.Ranks, len(n.Switches), len(n.Links)}, name)
	}
	for _, name := range []string{"a100", "a100:0", "a100:17", "h100:2", "mi250:x"} {
		_, err := forestcollNetwork(name)
		require.ErrorContains(t, err, "want a100:N or mi250:N", name)
	}
	// A die of an MI250 has links of 350 GB/s in all, by AMD's count of 7.
	n, err := forestcollNetwork("mi250:1")
	require.NoError(t, err)
	for r, links := range n.Out() {
		sum := int64(0)
		for _, l := range links {
			sum += n.Links[l].Bandwidth
		}
		require.LessOrEqual(t, sum, int64(350e9), "die %d", r)
	}
}
