package rocmsmi

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model"
)

// text writes what rocm-smi --showtopo prints.
func text(hops, kinds [][]string) string {
	var b strings.Builder
	b.WriteString("\n============================ ROCm System Management Interface ============================\n")
	table := func(title string, rows [][]string) {
		if rows == nil {
			return
		}
		fmt.Fprintf(&b, "================================ %s ================================\n       ", title)
		for i := range rows {
			fmt.Fprintf(&b, "GPU%d         ", i)
		}
		for i, r := range rows {
			fmt.Fprintf(&b, "\nGPU%d   %s  ", i, strings.Join(r, "            "))
		}
		b.WriteString("\n\n")
	}
	table("Weight between two GPUs", [][]string{{"0", "15"}, {"15", "0"}})
	table("Hops between two GPUs", hops)
	table("Link Type between two GPUs", kinds)
	b.WriteString("======================================= Numa Nodes =======================================\nGPU[0]\t\t: (Topology) Numa Node: 0\n=================================== End of ROCm SMI Log ===================================\n")
	return b.String()
}

func TestRead(t *testing.T) {
	path := [][]string{{"0", "1", "2"}, {"1", "0", "1"}, {"2", "1", "0"}}
	xgmi := [][]string{{"0", "XGMI", "XGMI"}, {"XGMI", "0", "XGMI"}, {"XGMI", "XGMI", "0"}}
	mixed := [][]string{{"0", "XGMI", "PCIE"}, {"XGMI", "0", "PCIE"}, {"PCIE", "PCIE", "0"}}
	require.True(t, Is([]byte(text(path, xgmi))))
	require.False(t, Is([]byte("GPU0 X NV1")))

	tp, err := Read("dir/a.txt", []byte(text(path, xgmi)), Options{Alpha: -1})
	require.NoError(t, err)
	require.Equal(t, "a.txt", tp.Name)
	require.Equal(t, []model.Link{{Src: 0, Dst: 1, Alpha: DefaultAlpha, Bandwidth: 48e9}, {Src: 1, Dst: 0, Alpha: DefaultAlpha, Bandwidth: 48e9},
		{Src: 1, Dst: 2, Alpha: DefaultAlpha, Bandwidth: 48e9}, {Src: 2, Dst: 1, Alpha: DefaultAlpha, Bandwidth: 48e9}}, tp.Links, "two hops are two links")
	require.Len(t, tp.Notes, 2)

	tp, err = Read("a.txt", []byte(text(nil, mixed)), Options{Alpha: 1000, Bandwidth: 1e9})
	require.NoError(t, err)
	require.Len(t, tp.Links, 2+6)
	require.Equal(t, model.Link{Src: 2, Dst: 3, Alpha: 500, Bandwidth: 12e9}, tp.Links[6])
	require.Contains(t, fmt.Sprint(tp.Notes.Strings()), "to one switch")
	require.Contains(t, fmt.Sprint(tp.Notes.Strings()), "no table of hops")
	tp, err = Read("a.txt", []byte(text(nil, [][]string{{"0"}})), Options{Alpha: -1})
	require.NoError(t, err)
	require.Equal(t, 1, tp.Ranks)

	for want, bad := range map[string]string{
		"has no table":                "nothing",
		"want XGMI or PCIE":           text(nil, [][]string{{"0", "NVL"}, {"XGMI", "0"}}),
		"2 entries for 1 GPUs":        text(nil, [][]string{{"0", "XGMI"}}),
		"which has PCIE back":         text(nil, [][]string{{"0", "PCIE"}, {"XGMI", "0"}}),
		"has 1 rows, that of types 2": text([][]string{{"0"}}, [][]string{{"0", "XGMI"}, {"XGMI", "0"}}),
		"want a number of hops":       text([][]string{{"0", "x"}, {"1", "0"}}, [][]string{{"0", "XGMI"}, {"XGMI", "0"}}),
		"a second table":              text(path, xgmi) + text(path, xgmi),
		"row of GPU2, want GPU1":      strings.Replace(text(nil, xgmi), "GPU1   XGMI", "GPU2   XGMI", 1),
	} {
		_, err := Read("a.txt", []byte(bad), Options{Alpha: -1})
		require.ErrorContains(t, err, want)
		require.ErrorContains(t, err, "a.txt: ")
	}
}

// FuzzRead: whatever is read is a valid topology, or an error of one line.
func FuzzRead(f *testing.F) {
	f.Add([]byte(text([][]string{{"0", "1"}, {"1", "0"}}, [][]string{{"0", "XGMI"}, {"XGMI", "0"}})))
	f.Add([]byte(text(nil, [][]string{{"0", "PCIE"}, {"PCIE", "0"}})))
	f.Fuzz(func(t *testing.T, b []byte) {
		tp, err := Read("x", b, Options{Alpha: -1})
		if err != nil {
			require.NotContains(t, err.Error(), "\n")
			return
		}
		require.NoError(t, tp.Validate())
	})
}
