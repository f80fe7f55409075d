package epoch

import (
	"context"
	"math/big"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/verify"
)

// line is n ranks in a row with links of 1000 bytes in an epoch of 1 us, each way.
func line(n int, alpha model.Time) *model.Problem {
	t := &model.Topology{Name: "line", Ranks: n}
	for i := range n - 1 {
		t.Links = append(t.Links, model.Link{Src: i, Dst: i + 1, Alpha: alpha, Bandwidth: 1e9}, model.Link{Src: i + 1, Dst: i, Alpha: alpha, Bandwidth: 1e9})
	}
	p := &model.Problem{Topology: t, Collective: model.Collective{Kind: model.Broadcast}, Size: 4000, Cost: model.Pipelined}
	return p.WithChunks(4)
}

// hop is a transfer over the link to the next rank.
func hop(chunk, from int32) model.Transfer {
	return model.Transfer{Chunk: chunk, Src: from, Dst: from + 1, Route: from}
}

func schedule(transfers ...model.Transfer) *model.Schedule {
	s := &model.Schedule{Form: model.Ordered, Transfers: transfers, After: make([][]int32, len(transfers))}
	for i := range 3 {
		s.Routes = append(s.Routes, []int{2 * i})
	}
	return s
}

func plan(bytes int64, epochs int, start ...int) Plan {
	return Plan{Epoch: big.NewRat(1e6, 1), Bytes: big.NewRat(bytes, 1), Epochs: epochs, Start: start}
}

func TestRules(t *testing.T) {
	us := model.Microsecond
	for name, test := range map[string]struct {
		alpha model.Time
		s     *model.Schedule
		plan  Plan
		code  verify.Code // "": right
	}{
		"relay":                {0, schedule(hop(0, 0), hop(0, 1)), plan(1000, 2, 0, 1), ""},
		"too early":            {0, schedule(hop(0, 0), hop(0, 1)), plan(1000, 2, 0, 0), verify.SendUndefined},
		"too late":             {0, schedule(hop(0, 0), hop(0, 1)), plan(1000, 2, 0, 2), verify.TooFast},
		"never there":          {0, schedule(hop(0, 1)), plan(1000, 2, 1), verify.SendUndefined},
		"latency":              {us / 2, schedule(hop(0, 0), hop(0, 1)), plan(1000, 4, 0, 2), ""},
		"latency ignored":      {us / 2, schedule(hop(0, 0), hop(0, 1)), plan(1000, 4, 0, 1), verify.SendUndefined},
		"latency of a tenth":   {us / 10, schedule(hop(0, 0), hop(0, 1)), plan(1000, 2, 0, 1), ""},
		"two at once":          {0, schedule(hop(0, 0), hop(1, 0)), plan(1000, 2, 0, 0), verify.LinkOverlap},
		"two small ones":       {0, schedule(hop(0, 0), hop(1, 0)), plan(500, 2, 0, 0), ""},
		"three small ones":     {0, schedule(hop(0, 0), hop(1, 0), hop(2, 0)), plan(500, 2, 0, 0, 0), verify.LinkOverlap},
		"large: two epochs":    {0, schedule(hop(0, 0), hop(1, 0)), plan(2000, 4, 0, 2), ""},
		"large: one epoch":     {0, schedule(hop(0, 0), hop(1, 0)), plan(2000, 4, 0, 1), verify.LinkOverlap},
		"large: relayed early": {0, schedule(hop(0, 0), hop(0, 1)), plan(2000, 4, 0, 1), verify.SendUndefined},
		"nearly 1000 bytes":    {0, schedule(hop(0, 0), hop(1, 0)), Plan{Epoch: big.NewRat(1e6, 1), Bytes: big.NewRat(10000001, 10000), Epochs: 2, Start: []int{0, 1}}, ""},
	} {
		p := line(3, test.alpha)
		_, _, v := Check(context.Background(), p, test.s, test.plan)
		if test.code == "" {
			require.Equal(t, verify.Proved, v.Outcome, "%s: %v", name, v.Violations)
			continue
		}
		require.Equal(t, verify.Refuted, v.Outcome, name)
		require.Equal(t, test.code, v.Violations[0].Code, name)
	}
}

// TestOrder: what brings a chunk that is there already is left out, and the rest waits for
// what it sends.
func TestOrder(t *testing.T) {
	p := line(4, 0)
	s := schedule(hop(0, 1), hop(0, 0), hop(0, 0), hop(0, 2))
	ordered, kept, v := Check(context.Background(), p, s, plan(1000, 9, 1, 0, 4, 2))
	require.Equal(t, verify.Proved, v.Outcome)
	require.Equal(t, []int{0, 1, 3}, kept)
	require.Equal(t, [][]int32{{1}, nil, {0}}, ordered.After)
	require.NoError(t, ordered.Validate(p))
}

// star is three ranks at a switch.
func star(copies bool) *model.Problem {
	t := &model.Topology{Name: "star", Ranks: 3, Switches: []model.Switch{{Copies: copies}}}
	for r := range 3 {
		t.Links = append(t.Links, model.Link{Src: r, Dst: 3, Alpha: 300 * model.Nanosecond, Bandwidth: 1e9}, model.Link{Src: 3, Dst: r, Alpha: 300 * model.Nanosecond, Bandwidth: 1e9})
	}
	p := &model.Problem{Topology: t, Collective: model.Collective{Kind: model.Broadcast}, Size: 1000, Cost: model.Pipelined}
	return p.WithChunks(1)
}

// TestSwitch: over a switch it takes an epoch for the bandwidth and one for either latency,
// and what is copied there was carried in once.
func TestSwitch(t *testing.T) {
	s := &model.Schedule{Form: model.Ordered, Routes: [][]int{{0, 3}, {0, 5}}, After: make([][]int32, 2),
		Transfers: []model.Transfer{{Dst: 1}, {Dst: 2, Route: 1}}}
	_, _, v := Check(context.Background(), star(true), s, plan(1000, 3, 0, 0))
	require.Equal(t, verify.Proved, v.Outcome, "%v", v.Violations)
	_, _, v = Check(context.Background(), star(true), s, plan(1000, 2, 0, 0))
	require.Equal(t, verify.TooFast, v.Violations[0].Code)
	_, _, v = Check(context.Background(), star(false), s, plan(1000, 3, 0, 0))
	require.Equal(t, verify.LinkOverlap, v.Violations[0].Code)
}

// TestVolumes: parts of chunks share an epoch up to the capacity.
func TestVolumes(t *testing.T) {
	in := plan(2000, 4, 0, 0)
	in.Volume = []*big.Rat{big.NewRat(1, 4), big.NewRat(1, 4)}
	_, _, v := Check(context.Background(), line(3, 0), schedule(hop(0, 0), hop(1, 0)), in)
	require.Equal(t, verify.Proved, v.Outcome, "%v", v.Violations)
	in.Volume[1] = big.NewRat(26, 100)
	_, _, v = Check(context.Background(), line(3, 0), schedule(hop(0, 0), hop(1, 0)), in)
	require.Equal(t, verify.LinkOverlap, v.Violations[0].Code)
}
