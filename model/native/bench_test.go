package native

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/oraccl/oraccl/model"
)

// large returns a schedule file of n transfers over a ring of 64 ranks.
func large(n int) *model.Solution {
	t := &model.Topology{Name: "ring", Ranks: 64}
	for i := range 64 {
		t.Links = append(t.Links, model.Link{Src: i, Dst: (i + 1) % 64, Alpha: 1000, Bandwidth: 1e9})
	}
	p := &model.Problem{Topology: t, Collective: model.Collective{Kind: model.AllReduce}, Size: 1 << 20, Cost: model.Pipelined}
	p.Chunks = p.Cut(1024)
	s := &model.Schedule{Form: model.Timed}
	for l := range 64 {
		s.Routes = append(s.Routes, []int{l})
	}
	for i := range n {
		s.Transfers = append(s.Transfers, model.Transfer{Chunk: int32(i % 1024), Src: int32(i % 64), Dst: int32((i + 1) % 64), Route: int32(i % 64), Op: model.Op(i % 2), Start: model.Time(i * 100000), End: model.Time(i*100000 + 1025000)})
	}
	return &model.Solution{Problem: p, Schedule: s, Origin: model.Origin{}}
}

func BenchmarkReadSolution(b *testing.B) {
	for _, n := range []int{1000, 1_000_000} {
		var buf bytes.Buffer
		WriteSolution(&buf, large(n))
		b.Run(fmt.Sprintf("transfers=%d", n), func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(buf.Len()))
			for b.Loop() {
				if _, err := ReadSolution("f", bytes.NewReader(buf.Bytes())); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds(), "transfers/s")
		})
	}
}

func BenchmarkWriteSolution(b *testing.B) {
	s := large(100_000)
	var buf bytes.Buffer
	for b.Loop() {
		buf.Reset()
		if err := WriteSolution(&buf, s); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(1e5*float64(b.N)/b.Elapsed().Seconds(), "transfers/s")
}
