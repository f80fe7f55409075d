package streams

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model"
)

// found finds the streams of transfers "src>dst op start-end" around a switch with four ranks, which
// copies and adds, in nanoseconds. A chunk passes a link in one, and the latency of each is one.
func found(t *testing.T, how model.Reducing, transfers string) string {
	w := &model.Topology{Name: "switch", Ranks: 4, Switches: []model.Switch{{Name: "s", Copies: true, Reduces: how}}}
	for r := range 4 {
		w.Links = append(w.Links, model.Link{Src: r, Dst: 4, Alpha: 1000, Bandwidth: 1e9}, model.Link{Src: 4, Dst: r, Alpha: 1000, Bandwidth: 1e9})
	}
	p := (&model.Problem{Topology: w, Collective: model.Collective{Kind: model.AllReduce}, Size: 1, Cost: model.Pipelined}).WithChunks(1)
	s := &model.Schedule{Form: model.Timed}
	var from, to []model.Time
	for _, text := range strings.Fields(transfers) {
		var x model.Transfer
		var op rune
		var begin, end int
		_, err := fmt.Sscanf(text, "%d>%d%c%d-%d", &x.Src, &x.Dst, &op, &begin, &end)
		require.NoError(t, err)
		if op == '+' {
			x.Op = model.Reduction
		}
		x.Route, x.Start, x.End = int32(len(s.Routes)), model.Time(begin)*1000, model.Time(end)*1000
		s.Routes = append(s.Routes, []int{2 * int(x.Src), 2*int(x.Dst) + 1})
		s.Transfers = append(s.Transfers, x)
		from, to = append(from, x.Start), append(to, x.End)
	}
	x := Find(p, s, from, to)
	var all []string
	for _, y := range x.List {
		text := fmt.Sprint(y.Sources, ">", y.Dests)
		if y.Own >= 0 {
			text += fmt.Sprintf(" and link %d from %v to %v", y.Own, y.OwnBusy.From, y.OwnBusy.To)
		}
		all = append(all, text)
	}
	return strings.Join(all, "; ")
}

func TestFind(t *testing.T) {
	for _, c := range []struct {
		how             model.Reducing
		transfers, want string
	}{
		{model.SumsRead, "1>0+0-3 2>0+0-3 3>0+0-3", "[1 2 3]>[0] and link 0 from 0s to 1ns"},
		{model.SumsRead, "1>0+0-5 2>0+1-5 3>0+2-5", "[1 2 3]>[0] and link 0 from 2ns to 3ns"},
		{model.SumsRead, "0>1=5-8 0>2=5-9 0>3=5-8", "[0]>[1 2 3] and link 1 from 6ns to 7ns"},
		{model.SumsRead, "0>1=5-8 0>2=6-9 0>3=5-8", "[0]>[1 3] and link 1 from 6ns to 7ns"},
		{model.SumsRead, "1>0+0-3 2>0+0-3 3>0=0-3", "[1 2]>[0] and link 0 from 0s to 1ns"},
		{model.SumsTurned, "1>0+0-3 2>0+0-3 1>3+0-3 2>3+0-3", "[1 2]>[0 3]"},
		{model.SumsTurned, "0>1+0-3 1>0+0-3 0>2+0-3 1>2+0-3 2>0+0-3 2>1+0-3", "[0 1 2]>[0 1 2]"},
		{model.SumsTurned, "1>0+0-3 2>0+0-3 2>3+0-3", "[1 2]>[0]"},
		{model.NoReducing, "1>0+0-3 2>0+0-3 3>0+0-3", ""},
		{model.NoReducing, "0>1=0-3 0>2=0-3 2>3=0-3", "[0]>[1 2]"},
		{model.NoReducing, "0>1=0-3 0>1=0-3", ""},
	} {
		require.Equal(t, c.want, found(t, c.how, c.transfers), "%v: %s", c.how, c.transfers)
	}
}
