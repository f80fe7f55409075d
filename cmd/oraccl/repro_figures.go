package main

import (
	"context"
	"fmt"

	"github.com/oraccl/oraccl/cmd/oraccl/chart"
	"github.com/oraccl/oraccl/cmd/oraccl/report"
	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/solve/certify"
	"github.com/oraccl/oraccl/solve/stragglar"
	"github.com/oraccl/oraccl/verify/cert"
)

// figure is a table with its chart.
type figure struct {
	name  string
	table [][]string
	chart chart.Chart
}

// line adds a point to the series of a name, which begins with its first.
func (g *figure) line(name string, x, y float64) {
	for i := range g.chart.Series {
		if s := &g.chart.Series[i]; s.Name == name {
			s.X, s.Y = append(s.X, x), append(s.Y, y)
			return
		}
	}
	g.chart.Series = append(g.chart.Series, chart.Series{Name: name, X: []float64{x}, Y: []float64{y}, Dots: true})
}

// dashed has the series of a name dashed, without dots.
func (g *figure) dashed(name string) {
	for i := range g.chart.Series {
		if s := &g.chart.Series[i]; s.Name == name {
			s.Dashed, s.Dots = true, false
		}
	}
}

func decimal(v float64) string { return fmt.Sprintf("%.6f", v) }

// speedups is the paper's analytical figure with our curves; papers are the speed-ups that
// the authors' script prints.
func (x *study) speedups(all []*compared, papers map[int]float64) *figure {
	g := &figure{name: "speedup", chart: chart.Chart{Title: fmt.Sprintf("Speed-up over the ring after the arrival (%s, %s, %s)", x.size, x.alpha, x.bandwidth), XName: "ranks", YName: "speed-up", LogX: true}}
	g.table = [][]string{{"ranks", "ring_us", "rhd_speedup", "direct_speedup", "paper_speedup", "published_method", "published_rounds", "published_us", "published_speedup",
		"same_chunks_rounds", "same_chunks_us", "same_chunks_speedup", "best_chunks", "best_rounds", "best_us", "best_speedup", "bound_us", "bound_speedup"}}
	for _, c := range all {
		at := float64(c.Ranks)
		paper, published := "", []string{"", "", "", ""}
		if v, ok := papers[c.Ranks]; ok {
			paper = fmt.Sprintf("%.3f", v)
			g.line("StragglAR, the script's", at, v)
		}
		if c.Published != nil {
			published = []string{c.Method, fmt.Sprint(c.Published.Rounds), report.Micros(c.Published.After), decimal(c.speedup(c.Published.After))}
			g.line("StragglAR, published", at, c.speedup(c.Published.After))
		}
		g.line("ours, m = n-1", at, c.speedup(c.Same.After))
		g.line("ours", at, c.speedup(c.Best.After))
		g.line("bound", at, c.speedup(c.Bound))
		g.line("RHD", at, c.RHD)
		g.line("direct", at, c.Direct)
		r := append([]string{fmt.Sprint(c.Ranks), report.Micros(c.Ring.After), decimal(c.RHD), decimal(c.Direct), paper}, published...)
		g.table = append(g.table, append(r, fmt.Sprint(c.Same.Rounds), report.Micros(c.Same.After), decimal(c.speedup(c.Same.After)),
			fmt.Sprint(c.Best.Chunks), fmt.Sprint(c.Best.Rounds), report.Micros(c.Best.After), decimal(c.speedup(c.Best.After)), report.Micros(c.Bound), decimal(c.speedup(c.Bound))))
	}
	g.dashed("bound")
	return g
}

// delaySteps is how many delays the table has, from none to 1.2 times what the buffer
// takes over a link.
const delaySteps = 24

// delays is the time after the arrival by delay, for one number of ranks, and the delays
// from which on each method beats the ring.
func (x *study) delays(ctx context.Context) (*figure, error) {
	g := &figure{name: "delay", chart: chart.Chart{Title: fmt.Sprintf("Time after the straggler's arrival, %d ranks (%s, %s, %s)", x.at, x.size, x.alpha, x.bandwidth), XName: "delay", YName: "time after the arrival", XUnit: chart.Seconds, YUnit: chart.Seconds}}
	g.table = [][]string{{"delay_us", "ring_us", "published_us", "same_chunks_us", "ours_us", "bound_us"}}
	first, err := x.problem(x.at, 0)
	if err != nil {
		return nil, err
	}
	whole := first.Topology.Duration([]int{first.Topology.Out()[0][0], first.Topology.In()[1][0]}, first.Size)
	methods, names := x.contestants(first)
	for i := range delaySteps + 1 {
		d := whole.Mul(int64(i)) * 6 / (5 * delaySteps)
		p, err := x.problem(x.at, d)
		if err != nil {
			return nil, err
		}
		r := []string{report.Micros(d)}
		for k, m := range methods {
			if m == nil {
				r = append(r, "")
				continue
			}
			o, err := m(ctx, p)
			if err != nil {
				return nil, err
			}
			g.line(names[k], float64(d)/1e12, float64(o.After)/1e12)
			r = append(r, report.Micros(o.After))
		}
		b, err := certify.Bound(ctx, p)
		if err != nil {
			return nil, err
		}
		if b != nil {
			g.line("bound", float64(d)/1e12, float64(b.Bound-d)/1e12)
			r = append(r, report.Micros(b.Bound-d))
		}
		g.table = append(g.table, r)
	}
	g.dashed("bound")
	evens := []string{"break-even"}
	for k, m := range methods {
		switch even := ""; {
		case m == nil:
			evens = append(evens, "")
		default:
			if k > 0 {
				d, err := x.breakEven(ctx, m, methods[0], whole)
				if err != nil {
					return nil, err
				}
				even = report.Micros(d)
			}
			evens = append(evens, even)
		}
	}
	g.table = append(g.table, append(evens, ""))
	return g, nil
}

// contestant runs a method on a problem.
type contestant func(ctx context.Context, p *model.Problem) (outcome, error)

// contestants are the ring, the published method (nil if there is none), ours in n-1 chunks
// without a ring beside it, and ours, with their names.
func (x *study) contestants(p *model.Problem) ([]contestant, []string) {
	of := func(m solve.Solver) contestant {
		if m == nil {
			return nil
		}
		return func(ctx context.Context, p *model.Problem) (outcome, error) { return x.solved(ctx, m, p) }
	}
	same := func(ctx context.Context, p *model.Problem) (outcome, error) {
		return x.solved(ctx, stragglar.New(), p.WithChunks(len(p.Members())-1))
	}
	return []contestant{of(methodOf("ring")), of(publishedFor(p)), same, of(stragglar.New())}, []string{"ring", "StragglAR, published", "ours, m = n-1", "ours"}
}

// breakEven returns the least delay, to a thousandth of whole, from which on a method takes
// no longer than another one.
func (x *study) breakEven(ctx context.Context, m, other contestant, whole model.Time) (model.Time, error) {
	worse := func(d model.Time) (bool, error) {
		p, err := x.problem(x.at, d)
		if err != nil {
			return false, err
		}
		a, err := m(ctx, p)
		if err != nil {
			return false, err
		}
		b, err := other(ctx, p)
		return a.After > b.After, err
	}
	step := max(1, whole/1000)
	low, high := int64(0), int64(2000) // steps: not worse at high
	if yes, err := worse(step); err != nil || !yes {
		return 0, err
	}
	for low+1 < high {
		mid := (low + high) / 2
		yes, err := worse(step.Mul(mid))
		if err != nil {
			return 0, err
		}
		if yes {
			low = mid
		} else {
			high = mid
		}
	}
	return step.Mul(high), nil
}

// rounds is how many rounds n-1 chunks take after the arrival, by number of ranks.
func (x *study) rounds(ctx context.Context) (*figure, error) {
	g := &figure{name: "rounds", chart: chart.Chart{Title: "Rounds above n-1 after the arrival, for n-1 chunks", XName: "ranks", YName: "rounds - (n-1)"}}
	g.table = [][]string{{"ranks", "published_method", "published_rounds", "ours_rounds", "least_rounds"}}
	for n := 3; n <= x.roundsTo; n++ {
		p, err := x.problem(n, 100*model.Second)
		if err != nil {
			return nil, err
		}
		p = p.WithChunks(n - 1)
		ours, err := x.solved(ctx, stragglar.New(), p)
		if err != nil {
			return nil, err
		}
		least, err := cert.SpreadRounds(ctx, p, model.Spread{Source: n - 1})
		if err != nil {
			return nil, err
		}
		r := []string{fmt.Sprint(n), "", ""}
		if m := publishedFor(p); m != nil {
			o, err := x.solved(ctx, m, p)
			if err != nil {
				return nil, err
			}
			r[1], r[2] = m.Name(), fmt.Sprint(o.Rounds)
			g.line("published, matching", float64(n), float64(o.Rounds-(n-1)))
		}
		g.line("ours", float64(n), float64(ours.Rounds-(n-1)))
		g.line("least", float64(n), float64(least-(n-1)))
		g.table = append(g.table, append(r, fmt.Sprint(ours.Rounds), fmt.Sprint(least)))
	}
	g.dashed("least")
	return g, nil
}
