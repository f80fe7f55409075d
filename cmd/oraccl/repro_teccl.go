package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/oraccl/oraccl/cmd/oraccl/chart"
	"github.com/oraccl/oraccl/cmd/oraccl/report"
	"github.com/oraccl/oraccl/cmd/oraccl/repro"
	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/topo"
)

func tecclExperiment() *experiment {
	return &experiment{
		name:   "teccl",
		title:  "TE-CCL's transfer times on NDv2 and DGX-2",
		source: `Liu et al., "Rethinking machine learning collective communication as a multi-commodity flow problem", SIGCOMM 2024, doi:10.1145/3651890.3672249`,
		about:  `TE-CCL solves mixed-integer programs over epochs by Gurobi. Of its published schedules the best for each instance stands beside ours: the same networks, one chunk for each rank, or pair of ranks, decimal sizes of the output buffer, switches that copy in an all-gather. Two things differ. Theirs counts in epochs, a latency as whole ones, or not at all where it is at most a tenth of one (alpha_threshold 0.1 in its input); ours is exact. And a bound of ours holds for exact latencies, so that a time of theirs can be below it: then the two are not comparable.`,
		fill:   tecclTimes,
	}
}

// tecclInstance is what is solved.
type tecclInstance struct {
	topology   string // as ours is called
	collective model.Kind
	size       string
}

func (x tecclInstance) String() string {
	return fmt.Sprintf("%s %v %s", x.topology, x.collective, x.size)
}

// problem is the instance in TE-CCL's model: its switches copy (switch_copy in its input).
func (x tecclInstance) problem() (*model.Problem, error) {
	t, err := topo.Parse(x.topology, topo.Options{})
	if err != nil {
		return nil, err
	}
	bytes, err := model.ParseBytes(x.size)
	if err != nil {
		return nil, err
	}
	for i := range t.Switches {
		t.Switches[i].Copies = true
	}
	p := &model.Problem{Topology: t, Collective: model.Collective{Kind: x.collective}, Size: bytes, Cost: model.Pipelined}
	p = p.WithChunks(p.DefaultChunks(1))
	return p, p.Validate()
}

// ours solves an instance.
func (x tecclInstance) ours(ctx context.Context, b *bench) (*found, error) {
	methods := "tacos,paths"
	if b.full {
		methods = "tacos,cayley,paths,forest,direct,rolling"
	}
	return keep(b, fmt.Sprintf("teccl %v by %s", x, methods), func() (*found, error) {
		p, err := x.problem()
		if err != nil {
			return nil, err
		}
		f, err := b.best(ctx, p, methods)
		if err == nil && f.Kind == "" {
			err = fmt.Errorf("%v: no bound", x)
		}
		return f, err
	})
}

func instanceOf(p *repro.Published) (tecclInstance, error) {
	kind, err := model.ParseKind(p.Text("collective"))
	if err != nil {
		return tecclInstance{}, fmt.Errorf("%s:%d: %w", p.File, p.Line, err)
	}
	return tecclInstance{p.Text("topology") + ":" + p.Text("chassis"), kind, p.Text("size")}, nil
}

// bestOfVariants keeps the quickest line of each instance, in the order of the table; runs
// that stopped early count only where there is no other.
func bestOfVariants(all []*repro.Published) (best []*repro.Published, err error) {
	at := map[tecclInstance]int{}
	for _, p := range all {
		if strings.HasSuffix(p.Text("variant"), "early-stop") {
			continue
		}
		x, err := instanceOf(p)
		if err != nil {
			return nil, err
		}
		if _, err := x.problem(); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", p.File, p.Line, err)
		}
		i, known := at[x]
		switch {
		case !known:
			at[x], best = len(best), append(best, p)
		case p.Number < best[i].Number:
			best[i] = p
		}
	}
	return best, nil
}

func tecclTimes(ctx context.Context, b *bench, r *repro.Report) error {
	all, err := repro.Load(b.tables, "teccl/output_provided.csv", "topology", "chassis", "collective", "variant:fast|slow|fast-early-stop", "size", "epoch_us:number", "epochs:int", "solver_s:number", "value:number")
	if err != nil {
		return err
	}
	plotted, err := repro.Load(b.tables, "teccl/figure5a.csv", "topology", "chassis", "collective", "size", "value:number")
	if err != nil {
		return err
	}
	best, err := bestOfVariants(all)
	if err != nil {
		return err
	}
	file := b.table("teccl/output_provided.csv")
	times := &repro.Section{Name: "times", Title: "Transfer times", Table: file, About: "Microseconds; of the variants (fine epochs: fast, coarse ones: slow) the quicker."}
	missing := &repro.Section{Name: "ranks", Title: "Schedules that leave out a rank", Table: file,
		About: "With two chassis of NDv2 TE-CCL's code takes GPU 0 for a switch (set_switch_indicies in its ndv2.py), so that its schedules serve 15 ranks of 16. Ours serve 16."}
	early := &repro.Section{Name: "early", Title: "Runs that stopped early", Table: file, About: "With a gap of 30 % allowed. Those of NDv2 are no quicker than the others and are left out; those of DGX-2 are of twice the size that they say, as json_gen.py divides it among 16 ranks, where there are 32."}
	g := &figure{name: "times", chart: chart.Chart{Title: "Transfer time above the certified bound, where comparable", XName: "buffer", XUnit: chart.Bytes, YName: "percent", LogX: true}}
	g.table = [][]string{{"instance", "published_us", "variant", "epoch_us", "published_solver_s", "ours_us", "ours_s", "bound_us", "method"}}
	for _, p := range best {
		x, err := instanceOf(p)
		if err != nil {
			return err
		}
		f, err := x.ours(ctx, b)
		if err != nil {
			return err
		}
		row := p.Row(x.String()+", "+p.Text("variant"), "us")
		row.Ours, row.Bound, row.Certificate = exactMicros(f.Makespan), exactMicros(f.Bound), f.Kind
		f.into(row)
		if x.topology == "ndv2:2" {
			row.Verdict, row.Why = repro.NotComparable, "Theirs serves 15 ranks of 16."
			if bound := float64(f.Bound) / 1e6; p.Number < bound {
				row.Why += fmt.Sprintf(" All 16 need %s longer at least", percent(bound, p.Number))
				if left := leftOutLatencies(p); len(left) > 0 {
					row.Why += fmt.Sprintf(", latencies of %s counted, which theirs leaves out", strings.Join(left, " and "))
				}
				row.Why += "."
			}
			missing.Rows = append(missing.Rows, row)
			continue
		}
		if err := tecclVerdict(row, p, x, f); err != nil {
			return err
		}
		times.Rows = append(times.Rows, row)
		size, _ := model.ParseBytes(x.size)
		name := x.topology + " " + x.collective.String()
		if row.Verdict != repro.NotComparable {
			g.line("TE-CCL, "+name, float64(size), 100*(p.Number*1e6/float64(f.Bound)-1))
		}
		g.line("ours, "+name, float64(size), 100*(float64(f.Makespan)/float64(f.Bound)-1))
		g.table = append(g.table, []string{x.String(), p.Value, p.Text("variant"), p.Text("epoch_us"), p.Text("solver_s"), row.Ours, fmt.Sprintf("%.3f", f.Seconds), row.Bound, f.Method})
	}
	for _, p := range all {
		if p.Text("variant") != "fast-early-stop" || p.Text("topology") != "dgx2" {
			continue
		}
		x, err := instanceOf(p)
		if err != nil {
			return err
		}
		bytes, err := model.ParseBytes(x.size)
		if err != nil {
			return fmt.Errorf("%s:%d: %w", p.File, p.Line, err)
		}
		x.size = fmt.Sprintf("%dB", 2*bytes)
		f, err := x.ours(ctx, b)
		if err != nil {
			return err
		}
		row := p.Row(fmt.Sprintf("%s %v 2 x %s, early stop", x.topology, x.collective, p.Text("size")), "us")
		row.Ours, row.Bound, row.Certificate = exactMicros(f.Makespan), exactMicros(f.Bound), f.Kind
		f.into(row)
		if err := tecclVerdict(row, p, x, f); err != nil {
			return err
		}
		early.Rows = append(early.Rows, row)
	}
	bandwidths, err := tecclBandwidths(ctx, b, plotted)
	if err != nil {
		return err
	}
	r.Sections = []*repro.Section{times, bandwidths, missing, early}
	return g.into(r)
}

// exactMicros writes a time in microseconds with all its digits.
func exactMicros(t model.Time) string { return strconv.FormatFloat(float64(t)/1e6, 'f', -1, 64) }

// tecclLatencies are the latencies of links, in microseconds, in TE-CCL's topologies.
var tecclLatencies = map[string][]float64{"ndv2": {.7, 1.3}, "dgx2": {.35, 2.6}}

// leftOutLatencies lists those that are at most a tenth of an epoch.
func leftOutLatencies(p *repro.Published) []string {
	var left []string
	for _, alpha := range tecclLatencies[p.Text("topology")] {
		if alpha/p.Float("epoch_us") <= .1 {
			left = append(left, fmt.Sprintf("%g us", alpha))
		}
	}
	return left
}

// tecclVerdict compares, and states what the difference is.
func tecclVerdict(row *repro.Row, p *repro.Published, x tecclInstance, f *found) error {
	ours, bound := float64(f.Makespan)/1e6, float64(f.Bound)/1e6
	left := leftOutLatencies(p)
	if p.Number < bound {
		if len(left) == 0 {
			return fmt.Errorf("%s:%d: %v in %s us, below the certified bound of %s us, and no latency is left out: one of the two is wrong", p.File, p.Line, x, p.Value, report.Micros(f.Bound))
		}
		row.Verdict = repro.NotComparable
		row.Why = fmt.Sprintf("Theirs is below the bound: its epochs of %s us leave out latencies of %s.", p.Text("epoch_us"), strings.Join(left, " and "))
		return nil
	}
	row.Verdict = repro.Judge(p.Number, ours, 1e-6, repro.Less)
	switch row.Verdict {
	case repro.Better:
		row.Why = fmt.Sprintf("Theirs takes %s longer; its epochs are of %s us.", percent(p.Number, ours), p.Text("epoch_us"))
	case repro.Worse:
		row.Why = fmt.Sprintf("Ours, by a greedy method, takes %s longer; theirs is of a mixed-integer program, in %s s, and may have the switches copy, which ours does not.", percent(ours, p.Number), p.Text("solver_s"))
	}
	switch {
	case f.Makespan == f.Bound:
		row.Why += " No schedule with one chunk per rank takes less than ours."
	case len(left) > 0:
		row.Why += fmt.Sprintf(" Theirs leaves out latencies of %s.", strings.Join(left, " and "))
	}
	row.Why = strings.TrimSpace(row.Why)
	return nil
}

// tecclBandwidths compares what only a figure shows.
func tecclBandwidths(ctx context.Context, b *bench, plotted []*repro.Published) (*repro.Section, error) {
	s := &repro.Section{Name: "bandwidths", Title: "Algorithmic bandwidths of a figure, and what could not be found", Table: b.table("teccl/figure5a.csv"),
		About: "GB/s. Of these the authors publish no schedules."}
	for _, p := range plotted {
		name := p.Text("topology") + ":" + p.Text("chassis") + " " + p.Text("collective") + " " + p.Text("size")
		row := p.Row(name, "GB/s")
		s.Rows = append(s.Rows, row)
		if p.Value == "" {
			continue
		}
		x, err := instanceOf(p)
		if err != nil {
			return nil, err
		}
		f, err := x.ours(ctx, b)
		if err != nil {
			return nil, err
		}
		bytes, err := model.ParseBytes(x.size)
		if err != nil {
			return nil, err
		}
		ours, most := report.Gbps(bytes, f.Makespan), report.Gbps(bytes, f.Bound)
		row.Ours, row.Bound, row.Certificate = fmt.Sprintf("%.9f", ours), fmt.Sprintf("%.9f", most), f.Kind
		f.into(row)
		if p.Number > most {
			row.Verdict, row.Why = repro.NotComparable, "Theirs is above what the bound allows; its epochs, which are not published, may leave out latencies."
			continue
		}
		row.Verdict = repro.Judge(p.Number, ours, repro.HalfDigit(p.Value), repro.More)
		switch {
		case row.Verdict == repro.Better:
			row.Why = fmt.Sprintf("Ours has %s more; theirs is a linear program over epochs.", percent(ours, p.Number))
		case row.Verdict == repro.Worse:
			row.Why = fmt.Sprintf("Theirs, of a linear program that splits chunks at will, has %s more.", percent(p.Number, ours))
		}
	}
	return s, nil
}
