package measured

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var texts = []string{
	"# size count type redop root time algbw busbw\n 1048576 262144 float sum -1 100.5 10.43 18.25 0 90.1 11.6 20.3 0\n",
	"0: 2097152 524288 float none -1 50.25 41.7 41.7 0\n# busbw algbw\n",
	"# OSU MPI Bandwidth Test v7.1\n# Size      Bandwidth (MB/s)\n1 2.5\n1048576 12000.5\n",
	"P2P=Enabled Bandwidth (P2P Writes) Matrix (GB/s)\n   D\\D     0      1\n     0 900 40\n     1 41 900\n",
	"src,dst,bytes,seconds\n0,1,10,1e-6\n",
}

func TestRead(t *testing.T) {
	a, err := Read("a", strings.NewReader(texts[0]))
	require.NoError(t, err)
	require.Len(t, a.Samples, 2)
	require.InEpsilon(t, 100.5e-6, a.Samples[0].Seconds, 1e-12)
	require.InEpsilon(t, 90.1e-6, a.Samples[1].Seconds, 1e-12)
	require.Equal(t, -1, a.Samples[0].Src)
	require.EqualValues(t, 1048576, a.Samples[0].Bytes)
	require.InDelta(t, 1.75, a.Factor, 0.001)
	require.Equal(t, 2, a.Runs)
	a, err = Read("b", strings.NewReader(texts[1]))
	require.NoError(t, err)
	require.EqualValues(t, 1, a.Factor)
	a, err = Read("c", strings.NewReader(texts[2]))
	require.NoError(t, err)
	require.Equal(t, "bandwidth", a.What)
	require.InEpsilon(t, 1048576/12000.5e6, a.Samples[1].Seconds, 1e-12)
	a, err = Read("d", strings.NewReader(texts[3]))
	require.NoError(t, err)
	require.Equal(t, []Sample{{0, 1, 1e9, 1. / 40, "line 3"}, {1, 0, 1e9, 1. / 41, "line 4"}}, a.Samples)
	for text, want := range map[string]string{
		"":                                  "no table that is known",
		"src,dst,bytes,seconds\n0,0,1,1\n":  "line 2: want two different ranks",
		"src,dst,bytes,seconds\n0,1,1,-1\n": "line 2: want",
		"src,bytes,seconds\n":               "no column dst",
		"algbw busbw\n":                     "no row with a size",
		"# OSU MPI Bi-Directional Bandwidth Test v7\n# Size Bandwidth\n1 2\n": "both directions",
	} {
		_, err := Read("x", strings.NewReader(text))
		require.ErrorContains(t, err, want, text)
	}
}

func FuzzRead(f *testing.F) {
	for _, text := range texts {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		x, err := Read("x", strings.NewReader(text))
		if err != nil {
			return
		}
		for _, s := range x.Samples {
			require.Greater(t, s.Seconds, 0.0)
			require.GreaterOrEqual(t, s.Bytes, 0.0)
		}
	})
}
