package teccl

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model"
)

// file makes a file with epochs of 1 us, and chunks of 1000 bytes for the given ranks.
func file(epochs, ranks int, flows ...string) string {
	return fmt.Sprintf(`{
  "1-Epoch_Duration": 1e-06,
  "2-Expected_Epoch_Duration": 1e-06,
  "3-Epochs_Required": %d,
  "4-Collective_Finish_Time": %de-06,
  "5-Algo_Bandwidth": %.17g,
  "7-Flows": [
    "%s"
  ],
  "Solver_Time": 1.5
}`, epochs, epochs, float64(ranks)*1000/1e9/(float64(epochs)*1e-6), strings.Join(flows, "\",\n    \""))
}

// pair is two ranks with a link of 1000 bytes an epoch each way.
func pair() *model.Topology {
	t := &model.Topology{Name: "pair", Ranks: 2}
	t.Links = []model.Link{{Src: 0, Dst: 1, Bandwidth: 1e9}, {Src: 1, Dst: 0, Bandwidth: 1e9}}
	return t
}

// chassis is n chassis of two ranks at a switch each, and links between the first ranks.
func chassis(n int) *model.Topology {
	t := &model.Topology{Name: "chassis", Ranks: 2 * n}
	for c := range n {
		t.Switches = append(t.Switches, model.Switch{})
		for r := 2 * c; r < 2*c+2; r++ {
			t.Links = append(t.Links, model.Link{Src: r, Dst: 2*n + c, Bandwidth: 1e9}, model.Link{Src: 2*n + c, Dst: r, Bandwidth: 1e9})
		}
		for d := range n {
			if d != c {
				t.Links = append(t.Links, model.Link{Src: 2 * c, Dst: 2 * d, Bandwidth: 1e9})
			}
		}
	}
	return t
}

func read(t *testing.T, s string) *File {
	t.Helper()
	require.True(t, Is([]byte(s)))
	f, err := Read("a.json", []byte(s))
	require.NoError(t, err)
	return f
}

func TestAllGather(t *testing.T) {
	f := read(t, file(1, 2, "Chunk 0 from 0 traveled over 0->1 in epoch 0", "Chunk 0 from 1 traveled over 1->0 in epoch 0"))
	m, plan, err := f.Import(Truth{Topology: pair()})
	require.NoError(t, err)
	require.Empty(t, m.Objections)
	require.Equal(t, model.AllGather, m.Problem.Collective.Kind)
	require.EqualValues(t, 2000, m.Problem.Size)
	require.Equal(t, "1000", plan.Bytes.RatString())
	require.Equal(t, "1000000", plan.Epoch.RatString())
	require.Equal(t, []int{0, 0}, plan.Start)
	require.NoError(t, m.Schedule.Validate(m.Problem))
	require.Equal(t, `line 9: "Chunk 0 from 1 traveled over 1->0 in epoch 0"`, m.Source(1))
}

// TestNumbering: each chassis has its switch first.
func TestNumbering(t *testing.T) {
	f := read(t, file(3, 4, "Chunk 0 from 1 traveled over 1->2 in epoch 0 via switches 0", "Chunk 0 from 5 traveled over 5->4 in epoch 0 via switches 3", "Chunk 0 from 1 traveled over 1->4 in epoch 0"))
	m, _, err := f.Import(Truth{Topology: chassis(2)})
	require.NoError(t, err)
	var got [][2]int32
	for _, x := range m.Schedule.Transfers {
		got = append(got, [2]int32{x.Src, x.Dst})
		require.Len(t, m.Schedule.Routes[x.Route], 2-int(x.Src+x.Dst+1)%2)
	}
	require.Equal(t, [][2]int32{{0, 1}, {3, 2}, {0, 2}}, got)
	require.Zero(t, f.Misfits(chassis(2)))
	require.Equal(t, 3, f.Misfits(pair()))
	require.Contains(t, m.Schedule.Routes[m.Schedule.Transfers[0].Route], 3, "over the switch to rank 1")
}

func TestObjections(t *testing.T) {
	const both = "Chunk 0 from 0 traveled over 0->1 in epoch 0|Chunk 0 from 1 traveled over 1->0 in epoch 0"
	three := &model.Topology{Name: "three", Ranks: 3, Links: []model.Link{{Src: 0, Dst: 1, Bandwidth: 1e9}, {Src: 1, Dst: 2, Bandwidth: 1e9}, {Src: 2, Dst: 0, Bandwidth: 1e9}}}
	for name, test := range map[string]struct {
		file  string
		truth Truth
		code  string
		text  string
	}{
		"no link":  {file(1, 3, "Chunk 0 from 1 traveled over 1->0 in epoch 0", "Chunk 0 from 2 traveled over 2->0 in epoch 0"), Truth{Topology: three}, "no-such-link", "three has no link from rank 1 to rank 0"},
		"first":    {file(1, 3, "Chunk 0 from 1 traveled over 1->2 in epoch 0"), Truth{Topology: chassis(1)}, "no-such-link", "no link from rank 0 to rank 1: the numbers of the file are taken as the switch of a chassis first, then its ranks, and a flow names the switches on its way, such as \"via switches 0\""},
		"last":     {file(1, 3, "Chunk 0 from 0 traveled over 0->1 in epoch 0"), Truth{Topology: chassis(1)}, "no-such-link", "no link from rank 0 to rank 1: the numbers of the file are taken as ranks first, then switches, and a flow names the switches on its way, such as \"via switches 2\""},
		"idle":     {file(1, 3, strings.Split(both, "|")...), Truth{Topology: three}, "missing-contribution", "neither source nor destination"},
		"a switch": {file(1, 3, "Chunk 0 from 1 traveled over 1->0 in epoch 0 via switches 2"), Truth{Topology: three}, "missing-contribution", "takes it for a switch, in 1 flows"},
		"claim":    {strings.Replace(file(1, 2, strings.Split(both, "|")...), "1e-06,\n  \"5", "2e-06,\n  \"5", 1), Truth{Topology: pair()}, "malformed", "want 1e-06 s"},
		"chunk":    {file(1, 2, strings.Split(both, "|")...), Truth{Topology: pair(), Chunks: 1}, "", ""},
		"no chunk": {file(1, 2, "Chunk 1 from 0 traveled over 0->1 in epoch 0"), Truth{Topology: pair(), Chunks: 1}, "malformed", "chunk 1 does not exist"},
	} {
		m, _, err := read(t, test.file).Import(test.truth)
		require.NoError(t, err, name)
		if test.code == "" {
			require.Empty(t, m.Objections, name)
			continue
		}
		require.NotEmpty(t, m.Objections, name)
		require.Equal(t, test.code, m.Objections[0].Code, name)
		require.Contains(t, m.Objections[0].Message, test.text, name)
	}
}

// TestSplit: a chunk of an all-to-all in two parts becomes two chunks, and a path that is
// not there a third without transfers.
func TestSplit(t *testing.T) {
	text := strings.Replace(file(2, 2, "Chunk 1 from 0 traveled over 0->1 with volume 0.5 in epoch 0", "Chunk 1 from 0 traveled over 0->1 with volume 0.25 in epoch 1"),
		`"Solver_Time"`, `"8-Chunk paths": {"Demand at 1 for chunk 1 from 0 met by epoch 1": [[[0, "0->1 with volume 0.5 in epoch 0"]], [[1, "0->1 with volume 0.25 in epoch 1"]]]},
  "Solver_Time"`, 1)
	m, plan, err := read(t, text).Import(Truth{Topology: pair()})
	require.NoError(t, err)
	require.Equal(t, model.AllToAll, m.Problem.Collective.Kind)
	require.Equal(t, []model.Chunk{{Offset: 0, Size: 1000}, {Offset: 1000, Size: 500}, {Offset: 1500, Size: 250}, {Offset: 1750, Size: 250}, {Offset: 2000, Size: 1000}, {Offset: 3000, Size: 1000}}, m.Problem.Chunks)
	require.Len(t, m.Schedule.Transfers, 2)
	require.EqualValues(t, 1, m.Schedule.Transfers[0].Chunk)
	require.EqualValues(t, 2, m.Schedule.Transfers[1].Chunk)
	require.Equal(t, "1/4", plan.Volume[1].RatString())
}

func TestMalformed(t *testing.T) {
	good := file(1, 2, "Chunk 0 from 0 traveled over 0->1 in epoch 0")
	for name, test := range map[string]struct{ file, want string }{
		"truncated": {good[:len(good)-30], "a.json: line "},
		"twice":     {good + good, "one document"},
		"key twice": {strings.Replace(good, `"Solver_Time": 1.5`, `"6-Flows": []`, 1), "occurs twice"},
		"flow":      {strings.Replace(good, "traveled", "went", 1), "line 8: flow"},
		"itself":    {strings.Replace(good, "0->1", "1->1", 1), "to itself"},
		"node":      {strings.Replace(good, "0->1", "0->99999", 1), "99999 is out of range"},
		"duration":  {strings.Replace(good, "1e-06", "0", 1), "out of range"},
		"epochs":    {strings.Replace(good, `Required": 1`, `Required": 1.5`, 1), "whole number"},
		"missing":   {strings.Replace(good, `"3-Epochs_Required": 1,`, ``, 1), "is missing"},
	} {
		_, err := Read("a.json", []byte(test.file))
		require.ErrorContains(t, err, test.want, name)
	}
	f := read(t, good)
	_, _, err := f.Import(Truth{Topology: &model.Topology{Name: "one", Ranks: 1}})
	require.ErrorContains(t, err, "2 nodes, one has 1")
	f.Bandwidth = 0
	_, _, err = f.Import(Truth{Topology: pair()})
	require.ErrorContains(t, err, "how large the chunks are")
	m, plan, err := f.Import(Truth{Topology: pair(), Size: 64})
	require.NoError(t, err)
	require.Equal(t, "32", plan.Bytes.RatString())
	require.EqualValues(t, 64, m.Problem.Size)
	require.False(t, Is([]byte(`{"TopologyParams": {}}`)))
}

// FuzzRead: whatever a file says, reading it ends in an error or in what can be judged.
func FuzzRead(f *testing.F) {
	f.Add([]byte(file(1, 2, "Chunk 0 from 0 traveled over 0->1 in epoch 0", "Chunk 0 from 1 traveled over 1->0 in epoch 0")))
	f.Add([]byte(file(3, 4, "Chunk 0 from 1 traveled over 1->2 in epoch 0 via switches 0")))
	f.Add([]byte(strings.Replace(file(2, 2, "Chunk 1 from 0 traveled over 0->1 with volume 0.5 in epoch 0"), `"Solver_Time"`,
		`"8-Chunk paths": {"Demand at 1 for chunk 1 from 0 met by epoch 1": [[[0, "0->1 with volume 0.5 in epoch 0"]]]}, "x"`, 1)))
	f.Fuzz(func(t *testing.T, b []byte) {
		file, err := Read("f", b)
		if err != nil {
			return
		}
		for _, topology := range []*model.Topology{pair(), chassis(2)} {
			m, plan, err := file.Import(Truth{Topology: topology})
			if err != nil || len(m.Objections) > 0 || m.Undecided != "" {
				continue
			}
			require.NoError(t, m.Schedule.Validate(m.Problem))
			require.Len(t, plan.Start, len(m.Schedule.Transfers))
		}
	})
}

// TestSwitchFlows: what begins or ends at a switch is not read, and nothing is said of the rest.
func TestSwitchFlows(t *testing.T) {
	m, _, err := read(t, file(3, 4, "Chunk 0 from 1 traveled over 1->0 in epoch 0", "Chunk 0 from 1 traveled over 1->2 in epoch 0 via switches 0")).Import(Truth{Topology: chassis(2)})
	require.NoError(t, err)
	require.Contains(t, m.Undecided, "begins or ends at a switch")
}
