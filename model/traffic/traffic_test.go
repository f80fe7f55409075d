package traffic

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/oraccl/oraccl/model"
)

// moved returns what a collective moves, as "0>1:5 0>2:7", or an error.
func moved(c *model.Collective) string {
	var list []string
	sizes := c.Sizes()
	for k := range c.Chunks {
		var from, to []string
		for _, d := range c.Pre {
			if d.Chunk == k {
				from = append(from, fmt.Sprint(d.Rank))
			}
		}
		for _, d := range c.Post {
			if d.Chunk == k {
				to = append(to, fmt.Sprint(d.Rank))
			}
		}
		list = append(list, fmt.Sprintf("%s>%s:%d", strings.Join(from, "+"), strings.Join(to, ","), sizes[k]))
	}
	return strings.Join(list, " ")
}

func TestCollectives(t *testing.T) {
	group := []int{3, 0, 5}
	made := func(c *model.Collective, err error) string {
		if err != nil {
			return "error: " + err.Error()
		}
		c.Group = nil
		if err := c.Normalise(9); err != nil {
			return "invalid: " + err.Error()
		}
		return c.Name + " " + moved(c)
	}
	for want, got := range map[string]string{
		"alltoallv 3>0:2 0>5:7 5>3:1":                     made(AllToAll(group, [][]int64{{9, 2, 0}, {0, 0, 7}, {1, 0, 4}})),
		"allgatherv 3>0,3,5:4 5>0,3,5:6":                  made(PerMember("allgatherv", []int{0, 3, 5}, 0, []int64{0, 4, 6})),
		"reducescatterv 0+3+5>0:1 0+3+5>5:2":              made(PerMember("reducescatterv", []int{0, 3, 5}, 0, []int64{1, 0, 2})),
		"gatherv 3>5:1 0>5:2":                             made(PerMember("gatherv", group, 5, []int64{1, 2, 3})),
		"scatterv 5>3:1 5>0:2":                            made(PerMember("scatterv", group, 5, []int64{1, 2, 3})),
		"permutation 3>0:8 0>3:8":                         made(Permute(group, []int{1, 0, 2}, 8)),
		"error: no rank has a byte for another one, want": made(AllToAll(group, [][]int64{{9, 0, 0}, {0, 1, 0}, {0, 0, 4}}))[:47],
		"halo 0>1:5 1>0:5 1>2:5 2>1:5":                    made(Halo("halo", []int{3}, []bool{false}, []int64{5})),
		"halo 0>2:5 0>1:5 1>0:5 1>2:5 2>1:5 2>0:5":        made(Halo("halo", []int{3}, []bool{true}, []int64{5})),
		"halo 0>1:5 1>0:5":                                made(Halo("halo", []int{2}, []bool{true}, []int64{5})),
		"halo 0>1:5 0>2:5 0>3:1 1>0:5 1>3:5 1>2:1 2>3:5 2>0:5 2>1:1 3>2:5 3>1:5 3>0:1": made(Halo("halo", []int{2, 2}, []bool{false, false}, []int64{5, 1})),
	} {
		require.Equal(t, want, got)
	}
	_, err := PerMember("alltoallv", group, 0, []int64{1, 1, 1})
	require.ErrorContains(t, err, "has no part for each member")
	for _, name := range Names() {
		require.True(t, Is(name))
	}
	require.False(t, Is("allgather"))
}

// TestHaloCounts: in a torus of three or more a side every rank has 2d neighbours beside it, and
// 3^d-1 with the corners; each gets as much as it gives.
func TestHaloCounts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		dims := rapid.SliceOfN(rapid.IntRange(3, 5), 1, 3).Draw(t, "dims")
		bytes := rapid.SliceOfN(rapid.Int64Range(1, 9), len(dims), len(dims)).Draw(t, "bytes")
		closed := make([]bool, len(dims))
		n, all := 1, 1
		for i, d := range dims {
			closed[i] = true
			n *= d
			all *= 3
		}
		c, err := Halo("halo-corners", dims, closed, bytes)
		require.NoError(t, err)
		require.Equal(t, n*(all-1), c.Chunks)
		sent, got := make([]int64, n), make([]int64, n)
		sizes := c.Sizes()
		for _, d := range c.Pre {
			sent[d.Rank] += sizes[d.Chunk]
		}
		for _, d := range c.Post {
			got[d.Rank] += sizes[d.Chunk]
		}
		require.Equal(t, sent, got)
		for _, s := range sent {
			require.Equal(t, sent[0], s)
		}
		c, err = Halo("halo", dims, closed, bytes[:1])
		require.NoError(t, err)
		require.Equal(t, 2*len(dims)*n, c.Chunks)
	})
}

func TestRead(t *testing.T) {
	for text, want := range map[string]string{
		"":                              "error: x.csv: empty, want numbers",
		"# nothing\n":                   "error: x.csv: empty, want numbers",
		"1,2\n3\n":                      "error: x.csv:2: 1 numbers, want 2 as in the first line",
		"1,x\n":                         "error: x.csv:1: column 2: ",
		"1,-2\n":                        "error: x.csv:1: column 2: ",
		"1,\"2\n":                       "error: x.csv:1:6: ",
		"src,dst,bytes\n0,1\n":          "error: x.csv:2: 2 numbers, want 3",
		"src,dst,bytes\n0,1,5\n0,1,6\n": "error: x.csv:3: the pair 0,1 occurs twice",
		"src,dst,bytes\n0,9999,5\n":     "error: x.csv:2: rank \"9999\", want 0 to 4095",
		"src,dst,bytes\n":               "error: x.csv: empty, want numbers",
		"# a remark\n0, 1KiB\n2,0\n":    "[[0 1024] [2 0]]",
		"src,dst,bytes\n1,0,5\n":        "[[0 0] [5 0]]",
		"1,2,1e30\n":                    "error: x.csv:1: column 3: ",
		" 0 , 8 MiB \r\n\r\n2,0\r\n":    "[[0 8388608] [2 0]]",
		"Src, dst,BYTES\r\n1,0,5\r\n":   "[[0 0] [5 0]]",
		"0;1\n2;0\n":                    `error: x.csv:1: column 1: "0;1", want one number: numbers are separated by commas`,
		"0\t1\n2\t0\n":                  `error: x.csv:1: column 1: "0\t1", want one number`,
		"0 1 2\n":                       `error: x.csv:1: column 1: "0 1 2", want one number`,
		"0,1,\n2,0,\n":                  "error: x.csv:1: column 3: nothing between two commas, or after the last one",
		",e0,e1\ne0,0,1\ne1,2,0\n":      `error: x.csv:1: column 1: "" is a name, want a table without names`,
		"0,1\ne1,0\n":                   `error: x.csv:2: column 1: "e1" is a name`,
		"src,dst,bytes\n0,1,-5\n":       `error: x.csv:2: "-5", want 0 bytes or more`,
	} {
		table, err := Read("x.csv", strings.NewReader(text))
		got := fmt.Sprint("error: ", err)
		if err == nil {
			got = fmt.Sprint(table.rows)
		}
		require.Contains(t, got, want, text)
	}
	table, err := Read("x.csv", strings.NewReader("src,dst,bytes\n1,0,5\n"))
	require.NoError(t, err)
	rows, err := table.Matrix(3)
	require.NoError(t, err)
	require.Equal(t, [][]int64{{0, 0, 0}, {5, 0, 0}, {0, 0, 0}}, rows)
	_, err = AllToAll([]int{0, 1}, [][]int64{{0, model.MaxSize}, {1, 0}})
	require.ErrorContains(t, err, "more than 1125899906842624 bytes in all")
	_, err = table.Matrix(1)
	require.ErrorContains(t, err, "rank 1 is named, want 0 to 0")
	_, err = table.Vector(1, 9)
	require.ErrorContains(t, err, "want one row or one column")
	for _, text := range []string{"1,2,3", "1\n2\n3\n"} {
		table, err := Read("x.csv", strings.NewReader(text))
		require.NoError(t, err)
		list, err := table.Vector(1, 3)
		require.NoError(t, err)
		require.Equal(t, []int64{1, 2, 3}, list)
		_, err = table.Vector(4, 4)
		require.ErrorContains(t, err, "3 numbers, want 4")
		_, err = table.Matrix(3)
		require.Error(t, err)
	}
}

func TestPermutation(t *testing.T) {
	for s, want := range map[string]string{
		"shift:1": "[1 2 3 0]", "shift:-1": "[3 0 1 2]", "reverse": "[3 2 1 0]", "transpose": "[0 2 1 3]", "0,1,3,2": "[0 1 3 2]",
		"shift:4": "want shift:K", "shift": "want shift:K", "0,1": "names 2 members, want one for each of 4", "0,1,2,2": `"2", number 4: want each member once`,
	} {
		to, err := Permutation(s, 4)
		got := fmt.Sprint(to, err)
		require.Contains(t, got, want, s)
	}
	_, err := Permutation("transpose", 5)
	require.ErrorContains(t, err, "wants a square number")
}

// FuzzRead: whatever is read makes a collective that is valid, or an error.
func FuzzRead(f *testing.F) {
	for _, s := range []string{"0,1\n2,0\n", "src,dst,bytes\n0,1,5\n", "1KiB\n2MiB\n", "# x\n0,\"1\"\n3,0\n", "1,2\n3\n"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		table, err := Read("x.csv", bytes.NewReader(b))
		if err != nil {
			require.NotContains(t, err.Error(), "\n")
			return
		}
		n := len(table.rows)
		group := make([]int, n)
		for i := range group {
			group[i] = i
		}
		rows, err := table.Matrix(n)
		if err != nil {
			return
		}
		c, err := AllToAll(group, rows)
		if err != nil {
			return
		}
		if err := c.Normalise(n); err != nil {
			require.ErrorContains(t, err, "in all") // more bytes than there may be
		}
	})
}
