package table

import (
	"bytes"
	"encoding/csv"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model"
)

func someRows() []Row {
	return []Row{
		{Topology: "ring:4", Ranks: 4, Collective: "allgather", SizeBytes: 1 << 20, Chunks: 1, Cost: "pipelined", Method: "ring", Seed: 1, Status: Proved,
			MakespanPs: 3000, BoundPs: 2000, Bound: "cut", Transfers: 12, SolvedNs: 5, VerifiedNs: 6},
		{Topology: "odd, \"name\"\n<b>", Collective: "broadcast", Cost: "rounds", Method: "x", Status: Failed, Reason: "no\nsuch, thing"},
		{Topology: "full:2", Ranks: 2, SizeBytes: 9, Seed: math.MaxUint64, DelayPs: 7, Status: Proved, MakespanPs: 2, BoundPs: 2},
	}
}

func TestRowsReadBack(t *testing.T) {
	var b bytes.Buffer
	require.NoError(t, WriteJSONL(&b, someRows(), true))
	require.Equal(t, 3, strings.Count(b.String(), "\n"))
	rows, err := ReadJSONL("t", &b)
	require.NoError(t, err)
	require.Equal(t, someRows(), rows)

	_, err = ReadJSONL("t", strings.NewReader("{\"schema\":\"oraccl/sweep/1\"}\n{\"schema\":\"other\"}\n"))
	require.ErrorContains(t, err, "t:2: ")
	_, err = ReadJSONL("t", strings.NewReader("{\"schema\""))
	require.ErrorContains(t, err, "t:1: ")
}

func TestCSV(t *testing.T) {
	for _, times := range []bool{true, false} {
		var b bytes.Buffer
		require.NoError(t, WriteCSV(&b, someRows(), times))
		lines, err := csv.NewReader(&b).ReadAll()
		require.NoError(t, err)
		require.Len(t, lines, 4)
		want := []string{"ring:4", "4", "allgather", "1048576", "1", "0", "pipelined", "ring", "1", "proved", "", "3000", "2000", "cut", "0.5", "349525333333333", "12", "5", "6"}
		head := Header()
		if !times {
			want, head = want[:17], head[:17]
		}
		require.Equal(t, head, lines[0])
		require.Equal(t, want, lines[1])
		require.Equal(t, "", lines[2][1], "no ranks")
		require.Equal(t, []string{"", "", "", "", "", ""}, lines[2][11:17], "no numbers where there are none")
		require.Equal(t, "0", lines[3][14], "a gap of 0 is one")
	}
}

func TestAlgbw(t *testing.T) {
	for _, c := range []struct {
		size int64
		time model.Time
		want int64
	}{{8, model.Second, 8}, {1, 3, 333333333333}, {1 << 61, 1, math.MaxInt64}, {1 << 61, model.Second, 1 << 61}, {0, 5, 0}} {
		r := Row{Status: Proved, SizeBytes: c.size, MakespanPs: c.time}
		got, ok := r.Algbw()
		require.True(t, ok)
		require.Equal(t, c.want, got)
	}
	r := Row{Status: Proved, SizeBytes: 8}
	_, ok := r.Algbw()
	require.False(t, ok)
}
