package view

import (
	"context"
	"fmt"
	"io"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/cmd/browser"
	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/topo"
	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/solve/cayley"
)

// gathering is a picture of an allgather on a torus of side² ranks: side⁴ - side² transfers.
func gathering(t testing.TB, side int) *Picture {
	wire := topo.Wire{Alpha: 500 * model.Nanosecond, Bandwidth: 50e9}
	w, err := topo.Torus([]int{side, side}, []topo.Wire{wire, wire})
	require.NoError(t, err)
	n := w.Ranks
	p := (&model.Problem{Topology: w, Collective: model.Collective{Kind: model.AllGather}, Size: int64(n) << 16, Cost: model.Pipelined}).WithChunks(n)
	st, err := cayley.New().(solve.Streamer).Stream(context.Background(), p, solve.Options{})
	require.NoError(t, err)
	require.NotNil(t, st.Orbit)
	s, err := st.Orbit.Schedule(st.Problem)
	require.NoError(t, err)
	return &Picture{Title: fmt.Sprintf("%d transfers", len(s.Transfers)), Problem: st.Problem, Schedule: s, Verdict: Verdict{Outcome: "proved"}}
}

// BenchmarkHTML measures how long the page of a million transfers takes to write, and its
// size.
func BenchmarkHTML(b *testing.B) {
	for _, side := range []int{8, 32} {
		pic := gathering(b, side)
		b.Run(fmt.Sprintf("transfers=%d", len(pic.Schedule.Transfers)), func(b *testing.B) {
			var size counting
			for b.Loop() {
				size = 0
				require.NoError(b, HTML(&size, pic))
			}
			b.ReportMetric(float64(size)/1e6, "MB")
		})
	}
}

type counting int

func (c *counting) Write(b []byte) (int, error) { *c += counting(len(b)); return len(b), nil }

var _ io.Writer = (*counting)(nil)

// BenchmarkBrowser measures, in a browser, how long a page takes to its first paint, how
// long to count what is held, and how many frames a second it draws while the slider
// moves, at the default zoom. ORACCL_PAGE names a page to measure instead of those made here.
func BenchmarkBrowser(b *testing.B) {
	pages := map[string]string{}
	if page := os.Getenv("ORACCL_PAGE"); page != "" {
		pages[page] = page
	} else {
		for _, side := range []int{8, 32} {
			pic := gathering(b, side)
			pages[fmt.Sprintf("transfers=%d", len(pic.Schedule.Transfers))] = write(b, pic)
		}
	}
	for name, page := range pages {
		b.Run(name, func(b *testing.B) {
			tab := browser.Open(b, page, "light")
			frames, ms, worst := 0.0, 0.0, 0.0
			for b.Loop() {
				took := browser.Value[[]float64](tab, `(async () => {
					const slider = document.getElementById("time"), frame = () => new Promise(requestAnimationFrame);
					await frame();
					const began = performance.now();
					let worst = 0, last = began;
					for (let k = 1; k <= 100; k++) {
						slider.value = 20 * k;
						slider.dispatchEvent(new Event("input"));
						await frame();
						const now = performance.now();
						worst = Math.max(worst, now - last);
						last = now;
					}
					return [100, performance.now() - began, worst];
				})()`)
				frames += took[0]
				ms += took[1]
				worst = max(worst, took[2])
			}
			b.ReportMetric(1000*frames/ms, "frames/s")
			b.ReportMetric(worst, "ms/worst-frame")
			b.ReportMetric(browser.Value[float64](tab, "oracclView.firstPaint"), "ms/first-paint")
			b.ReportMetric(browser.Value[float64](tab, "oracclView.counting"), "ms/counting")
		})
	}
}
