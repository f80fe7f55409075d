package measured

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var texts = []string{
	"# size count type redop root time algbw busbw #wrong time algbw busbw #wrong\n 1048576 262144 float sum -1 100.5 10.43 18.25 0 90.1 11.64 20.37 0\n",
	"0: # size count type redop root time algbw busbw error\n0: 2097152 524288 float none -1 50.25 41.73 41.73 0\n",
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
		"time algbw busbw\n":                "no row with a size",
		"algbw busbw\n1 1 float 1 1 1 0\n":  "line 2: a row before the head",
		"# size count type time algbw busbw error\n1000000 1 float 100 20 20 0\n":     "line 2: algbw is 20 GB/s, and 1e+06 bytes in 100 us are 10.00",
		"# size count type time algbw busbw error\n1000000 1 float sum 100 10 10 0\n": "line 2: 8 columns, and the head names 7",
		"# size count type time algbw busbw error\n1000000 1 float ten 10 10 0\n":     "line 2: want a time, algbw and busbw in columns 4 to 6",
		"# OSU MPI Bi-Directional Bandwidth Test v7\n# Size Bandwidth\n1 2\n":         "both directions",
	} {
		_, err := Read("x", strings.NewReader(text))
		require.ErrorContains(t, err, want, text)
	}
}

// TestVersions reads the heads of several versions of nccl-tests and rccl-tests, times without a decimal point,
// errors that are not counted, and what launchers put before lines.
func TestVersions(t *testing.T) {
	for text, want := range map[string]struct {
		seconds    []float64
		factor     float64
		collective string
	}{
		// 2.4 to 2.10: no root, and the largest error
		"# out-of-place in-place\n# size count type redop time algbw busbw error time algbw busbw error\n# (B) (elements) (us) (GB/s) (GB/s) (us) (GB/s) (GB/s)\n  4194304 1048576 float sum 210.0 19.97 37.45 1e-07 200.0 20.97 39.32 1e-07\n": {[]float64{210e-6, 200e-6}, 1.875, ""},
		// of sendrecv_perf there was no redop either
		"./build/sendrecv_perf -g 2\n# size count type time algbw busbw error time algbw busbw error\n 37748744 37748744 uint8 11732 3.22 3.22 0e+00 11698 3.23 3.23 3e+02\n": {[]float64{11732e-6, 11698e-6}, 1, "sendrecv"},
		// broadcast_perf with its root
		"# Collective test starting: broadcast_perf\n# size count type root time algbw busbw error\n 1000000 250000 float 0 100.0 10.00 10.00 N/A\n": {[]float64{100e-6}, 1, "broadcast"},
		// times of five digits have no decimal point; errors in place are not counted
		"# size count type redop root time algbw busbw #wrong time algbw busbw #wrong\n 536870912 134217728 float sum -1 10052 53.41 93.46 0 9676.9 55.48 97.09 N/A\n": {[]float64{10052e-6, 9676.9e-6}, 1.75, ""},
		// mpirun --timestamp-output and --tag-output
		"Thu Jul 18 15:41:05 2024<stdout>:#  size count type redop root time algbw busbw #wrong time algbw busbw #wrong\nThu Jul 18 15:41:05 2024<stdout>: 4194304 1048576 float sum -1 210.0 19.97 37.45 0 200.0 20.97 39.32 0\n": {[]float64{210e-6, 200e-6}, 1.875, ""},
		"[1,0]<stdout>:# size count type redop root time algbw busbw #wrong\n[1,0]<stdout>:4194304 1048576 float sum -1 210.0 19.97 37.45 0\n":                                                                                     {[]float64{210e-6}, 1.875, ""},
		// cut off
		"# size count type redop root time algbw busbw #wrong time algbw busbw #wrong\n 4194304 1048576 float sum -1 210.0 19.97 37.45 0 200.0 20.97 39.32 0\n 8388608 2097152 float sum -1 410.0 20.4": {[]float64{210e-6, 200e-6}, 1.875, ""},
	} {
		x, err := Read("x", strings.NewReader(text))
		require.NoError(t, err, text)
		require.Len(t, x.Samples, len(want.seconds), text)
		for i, s := range x.Samples {
			require.InEpsilon(t, want.seconds[i], s.Seconds, 1e-9, text)
		}
		require.InDelta(t, want.factor, x.Factor, 0.005, text)
		require.Equal(t, want.collective, x.Collective, text)
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
