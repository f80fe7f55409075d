package replay_test

import (
	"context"
	"fmt"
	"runtime"
	"testing"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/verify"
	"github.com/oraccl/oraccl/verify/replay"
)

// ringAllReduce returns the ring all-reduce of n ranks in n·k chunks, in rounds.
func ringAllReduce(n, k int) (*model.Problem, *model.Schedule) {
	t := &model.Topology{Name: "ring", Ranks: n}
	s := &model.Schedule{Form: model.InRounds}
	for i := range n {
		t.Links = append(t.Links, model.Link{Src: i, Dst: (i + 1) % n, Bandwidth: 1e9})
		s.Routes = append(s.Routes, []int{i})
	}
	p := &model.Problem{Topology: t, Collective: model.Collective{Kind: model.AllReduce}, Size: int64(n*k) << 10, Cost: model.Rounds}
	for round := range 2 * (n - 1) * k {
		step, part := round/k, round%k
		op := model.Reduction
		if step >= n-1 {
			op = model.Copy
		}
		for r := range n {
			block := (r - step + 2*n) % n
			s.Transfers = append(s.Transfers, model.Transfer{
				Chunk: int32(block*k + part), Src: int32(r), Dst: int32((r + 1) % n), Route: int32(r), Op: op,
				Start: model.Time(round), End: model.Time(round + 1),
			})
		}
	}
	return p.WithChunks(n * k), s
}

func BenchmarkReplay(b *testing.B) {
	for _, size := range [][2]int{{64, 1}, {64, 100}, {1024, 1}} {
		p, s := ringAllReduce(size[0], size[1])
		b.Run(fmt.Sprintf("ring-allreduce/ranks=%d/transfers=%d", size[0], len(s.Transfers)), func(b *testing.B) {
			b.ReportAllocs()
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			for b.Loop() {
				if v := replay.Check(context.Background(), p, s); v.Outcome != verify.Proved {
					b.Fatal(v)
				}
			}
			runtime.ReadMemStats(&after)
			b.ReportMetric(float64(len(s.Transfers))*float64(b.N)/b.Elapsed().Seconds()/1e6, "Mtransfers/s")
			b.ReportMetric(float64(after.TotalAlloc-before.TotalAlloc)/float64(b.N)/float64(len(s.Transfers)), "B/transfer")
		})
	}
}
