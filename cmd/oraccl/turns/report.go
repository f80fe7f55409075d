package turns

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/oraccl/oraccl/model"
	wl "github.com/oraccl/oraccl/model/workload"
	"github.com/oraccl/oraccl/solve/certify/workloads"
	"github.com/oraccl/oraccl/solve/crossover"
	"github.com/oraccl/oraccl/solve/crossover/exact"
	"github.com/oraccl/oraccl/verify"
	"github.com/oraccl/oraccl/verify/workload"
)

// Schema is the schema of the report.
const Schema = "oraccl/crossover/1"

// Report is what is known of jobs that share.
type Report struct {
	Schema     string            `json:"schema"`
	Jobs       []JobJSON         `json:"jobs"`
	Periodic   bool              `json:"periodic"`
	Bound      BoundJSON         `json:"bound"`
	Slicing    model.Time        `json:"time_slicing_ps"`
	Rows       []Row             `json:"rows"`
	Verdict    string            `json:"verdict"`
	Engines    map[string]string `json:"engines"`
	Violations []string          `json:"violations"`
	Notes      []string          `json:"notes,omitempty"`

	jobs     []crossover.Job
	schedule *crossover.Schedule
	Verified *workloads.Report `json:"-"`
}

// JobJSON is a job in the report.
type JobJSON struct {
	Name       string     `json:"name"`
	Compute    model.Time `json:"compute_ps"`
	Network    model.Time `json:"network_ps"`
	Alone      model.Time `json:"alone_ps"`
	Buckets    int        `json:"buckets"`
	Iterations int        `json:"iterations"`
}

// BoundJSON is the best lower bound.
type BoundJSON struct {
	Value  model.Time `json:"value_ps"`
	Kind   string     `json:"kind"`
	Reason string     `json:"reason"`
	// Checked: verify/workload values a bound of the workload at as much. The waiting bound has
	// a proof of its own, in solve/crossover, and no such value.
	Checked bool `json:"checked"`
}

// Row is a way of sharing.
type Row struct {
	Method  string     `json:"method"`
	Period  model.Time `json:"period_ps"`
	Speedup float64    `json:"speedup"`
	Order   []string   `json:"order,omitempty"`
}

// Compare schedules jobs in every way that serves them, and verifies the best schedule. With
// iterations it ends after that many of each job.
func Compare(ctx context.Context, of *Jobs, a Asked) (*Report, error) {
	jobs, iterations, carry := of.All, a.Iterations, of.Carry
	r := &Report{Schema: Schema, Periodic: iterations == 0, jobs: jobs, Slicing: crossover.TimeSlicing(jobs), Engines: map[string]string{}, Violations: []string{}, Notes: of.Notes}
	equal, coarse := true, true
	for i := range jobs {
		j := &jobs[i]
		r.Jobs = append(r.Jobs, JobJSON{j.Name, j.Compute, j.Network(), j.Alone(), len(j.Buckets), j.Rate})
		equal = equal && j.Rate == 1
		coarse = coarse && j.IsCoarse()
	}
	row := func(method string, period model.Time, order []int) {
		x := Row{Method: method, Period: period, Speedup: float64(r.Slicing) / float64(period)}
		for _, i := range order {
			x.Order = append(x.Order, jobs[i].Name)
		}
		r.Rows = append(r.Rows, x)
	}
	row("one after another", r.Slicing, nil)
	var bound crossover.Bound
	if r.Periodic {
		bound = crossover.Bounds(jobs)[0]
		if equal && coarse {
			order := crossover.BestLockStep(jobs)
			row("lock-step, best order", crossover.LockStep(jobs, order), order)
		}
		r.schedule = crossover.Rates(ctx, jobs)
		method := "crossover"
		if !equal {
			method = "crossover, by search"
		}
		row(method, r.schedule.Period, nil)
		if !equal && r.schedule.Period > bound.Value {
			if r.exactly(ctx, bound.Value, func(o exact.Options) (*exact.Result, error) { return exact.Periodic(ctx, jobs, r.schedule, o) }) {
				row("exact", r.schedule.Period, nil)
			}
		}
	} else {
		bound = crossover.BoundFinite(jobs)
		best := model.MaxTime
		for _, one := range []struct {
			method string
			order  []int
			by     crossover.Policy
		}{{"first come, first served", nil, crossover.FirstCome}, {"shortest computation first", nil, crossover.ShortestFirst},
			{"round-robin", nil, crossover.RoundRobin}, {"round-robin, Johnson's order", crossover.Johnson(jobs), crossover.RoundRobin},
			{"round-robin, best order", crossover.BestRoundRobin(jobs), crossover.RoundRobin}} {
			list := jobs
			if one.order != nil {
				list = crossover.Reorder(jobs, one.order)
			}
			s := crossover.Finite(list, one.by)
			end := s.End(list)
			row(one.method, end, one.order)
			if end < best {
				best, r.schedule, r.jobs = end, s, list
				if carry = of.Carry; carry != nil && one.order != nil {
					carry = make([][]crossover.Carry, len(list))
					for i, j := range one.order {
						carry[i] = of.Carry[j]
					}
				}
			}
		}
		known := bound.Value // a search over orders may prove more
		if all := workload.Bounds(ctx, crossover.Build(a.Topology, a.Cost, r.jobs, r.schedule, carry).Workload); len(all) > 0 {
			known = max(known, all[0].Value)
		}
		if best > known {
			if r.exactly(ctx, known, func(o exact.Options) (*exact.Result, error) { return exact.Finite(ctx, r.jobs, r.schedule, o) }) {
				row("exact", r.schedule.End(r.jobs), nil)
			}
		}
	}
	built := crossover.Build(a.Topology, a.Cost, r.jobs, r.schedule, carry)
	if err := built.Validate(); err != nil {
		return nil, err
	}
	v, err := workloads.Verify(ctx, built)
	if err != nil {
		return nil, err
	}
	r.Verified = v
	r.Verdict = v.Verdict.Outcome.String()
	for _, e := range v.Each {
		r.Engines[e.Engine] = e.Outcome.String()
		for _, x := range e.Violations {
			r.Violations = append(r.Violations, x.String())
		}
	}
	r.Bound = BoundJSON{Value: bound.Value, Kind: bound.Kind, Reason: bound.Describe(jobs)}
	if len(v.Bounds) > 0 && v.Bounds[0].Value >= bound.Value {
		r.Bound.Checked = true
		if b := v.Bounds[0]; b.Value > bound.Value {
			r.Bound = BoundJSON{Value: b.Value, Kind: b.Kind, Reason: workload.Describe(v.Schedule.Workload, b), Checked: true}
		}
	}
	if v.Verdict.Outcome == verify.Proved && v.Verdict.Makespan < r.Bound.Value {
		return nil, verify.Below(v.Verdict.Makespan, r.Bound.Value, r.Bound.Kind)
	}
	return r, nil
}

// mostExact is how long exact looks at most.
const mostExact = 10 * time.Second

// exactly looks for a schedule that is shorter than the best one by a mixed-integer program, for half the
// time that is left at most, and notes what came of it. It reports whether the program was looked at.
func (r *Report) exactly(ctx context.Context, bound model.Time, solve func(exact.Options) (*exact.Result, error)) (ran bool) {
	limit := mostExact
	if end, ok := ctx.Deadline(); ok {
		limit = min(limit, time.Until(end)/2)
	}
	x, err := solve(exact.Options{TimeLimit: max(limit, time.Millisecond)})
	note := func(format string, args ...any) { r.Notes = append(r.Notes, "exact: "+fmt.Sprintf(format, args...)) }
	switch {
	case err != nil:
		note("left out: %v", err)
		return false
	case x.Schedule != nil:
		r.schedule = x.Schedule
	}
	switch {
	case r.period() <= bound: // which is met: there is nothing to claim
	case x.Closed:
		note("HiGHS claims that nothing is shorter, which is not checked")
	default:
		note("ended after %v without an answer whether something is shorter", limit.Round(time.Millisecond))
	}
	return true
}

// period returns the period of the schedule, or its makespan if it ends.
func (r *Report) period() model.Time {
	if r.Periodic {
		return r.schedule.Period
	}
	return r.schedule.End(r.jobs)
}

// Timetable returns the schedule that was verified.
func (r *Report) Timetable() *wl.Schedule {
	s := *r.Verified.Schedule
	s.Origin = model.Origin{Method: "crossover", Verdict: r.Engines}
	return &s
}

// Print writes the report as text.
func (r *Report) Print(w io.Writer) {
	what := "period"
	if !r.Periodic {
		what = "makespan"
	}
	fmt.Fprintf(w, "%s on one set of GPUs and one network\n\n", model.Count(len(r.jobs), "job"))
	table := [][]string{{"job", "compute", "network", "alone", "exposed", "buckets", "iterations"}}
	for _, j := range r.Jobs {
		table = append(table, []string{j.Name, j.Compute.String(), j.Network.String(), j.Alone.String(), (j.Alone - j.Compute).String(), fmt.Sprint(j.Buckets), fmt.Sprint(j.Iterations)})
	}
	columns(w, table)
	checked := "checked"
	if !r.Bound.Checked {
		checked = "its proof is solve/crossover's"
	}
	fmt.Fprintf(w, "\nbound   %s >= %v: %s (%s, %s)\n\n", what, r.Bound.Value, r.Bound.Reason, r.Bound.Kind, checked)
	table = [][]string{{"method", what, "speed-up", "above the bound", "order"}}
	for _, x := range r.Rows {
		table = append(table, []string{x.Method, x.Period.String(), fmt.Sprintf("%.3f", x.Speedup), fmt.Sprintf("%.2f %%", 100*float64(model.GapOf(x.Period, r.Bound.Value))), strings.Join(x.Order, ", ")})
	}
	columns(w, table)
	var engines []string
	for _, e := range r.Verified.Each {
		engines = append(engines, e.Engine+" "+e.Outcome.String())
	}
	fmt.Fprintf(w, "\n%s %s\n%s\n", strings.ToUpper(r.Verdict), r.Verified.Verdict.Claim, strings.Join(engines, ", "))
	for _, x := range r.Violations {
		fmt.Fprintln(w, x)
	}
	if r.Verified.Verdict.Reason != "" {
		fmt.Fprintln(w, r.Verified.Verdict.Reason)
	}
	fmt.Fprintln(w)
	r.Picture(w)
	for _, n := range r.Notes {
		fmt.Fprintf(w, "note: %s\n", n)
	}
}

// columns writes a table.
func columns(w io.Writer, table [][]string) {
	width := make([]int, len(table[0]))
	for _, row := range table {
		for i, cell := range row {
			width[i] = max(width[i], len([]rune(cell)))
		}
	}
	for _, row := range table {
		line := ""
		for i, cell := range row {
			pad := strings.Repeat(" ", width[i]-len([]rune(cell)))
			if i == 0 {
				line += cell + pad
			} else {
				line += "  " + cell + pad
			}
		}
		fmt.Fprintln(w, strings.TrimRight(line, " "))
	}
}

// bar is a time in which a job has the GPUs, or the network.
type bar struct {
	job, iteration int
	network        bool
	from, to       model.Time
}

// bars returns the times of one period, on the circle, or of all.
func (r *Report) bars() (list []bar, width model.Time) {
	width = r.schedule.Period
	if width == 0 {
		width = r.schedule.End(r.jobs)
	}
	for _, x := range r.schedule.Starts {
		b := bar{job: x.Job, iteration: x.Iteration, network: x.Bucket >= 0, from: x.At}
		length := r.jobs[x.Job].Compute
		if b.network {
			length = r.jobs[x.Job].Buckets[x.Bucket].Time
		}
		for b.to = x.At + length; r.schedule.Period > 0 && b.from >= width; b.from, b.to = b.from-width, b.to-width {
		}
		if b.to > width {
			rest := b
			rest.from, rest.to, b.to = 0, b.to-width, width
			list = append(list, rest)
		}
		list = append(list, b)
	}
	slices.SortFunc(list, func(a, b bar) int { return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(a.job, b.job)) })
	return list, width
}

// Picture writes the GPUs and the network over time, a letter for each job.
func (r *Report) Picture(w io.Writer) {
	const wide = 72
	list, width := r.bars()
	rows := [2][]rune{[]rune(strings.Repeat("·", wide)), []rune(strings.Repeat("·", wide))}
	for _, short := range []bool{false, true} { // those that cover the middle of no cell come last
		for _, b := range list {
			row := rows[0]
			if b.network {
				row = rows[1]
			}
			first, last := cell(b.from, width, wide), cell(b.to, width, wide)
			if first == last && short {
				row[min(first, wide-1)] = letter(b.job)
			}
			for c := first; c < last && !short; c++ {
				row[c] = letter(b.job)
			}
		}
	}
	fmt.Fprintf(w, "GPUs     |%s|\nnetwork  |%s|\n", string(rows[0]), string(rows[1]))
	var key []string
	for i := range r.jobs {
		key = append(key, fmt.Sprintf("%c %s", letter(i), r.jobs[i].Name))
	}
	fmt.Fprintf(w, "          0 to %v; %s\n", width, strings.Join(key, ", "))
}

// cell returns the first of n cells whose middle is at t or later.
func cell(t, width model.Time, n int64) int64 {
	return int64(max(0, (t.Mul(2*n)-width+2*width-1)/(2*width)))
}

func letter(i int) rune {
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	return rune(letters[i%len(letters)])
}

// SVG writes the picture as an image.
func (r *Report) SVG(w io.Writer) error {
	const wide, high, left = 960, 40, 90
	list, width := r.bars()
	colours := []string{"#4477aa", "#ee6677", "#228833", "#ccbb44", "#66ccee", "#aa3377", "#bbbbbb"}
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" font-family="sans-serif" font-size="12">`+"\n", left+wide+20, 3*high+30+18*len(r.jobs))
	for k, name := range []string{"GPUs", "network"} {
		fmt.Fprintf(&b, `<text x="10" y="%d">%s</text>`+"\n", 20+k*(high+10)+high/2, name)
		fmt.Fprintf(&b, `<rect x="%d" y="%d" width="%d" height="%d" fill="#f4f4f4"/>`+"\n", left, 10+k*(high+10), wide, high)
	}
	at := func(t model.Time) float64 { return float64(left) + float64(wide)*float64(t)/float64(width) }
	for _, x := range list {
		y := 10
		if x.network {
			y += high + 10
		}
		fmt.Fprintf(&b, `<rect x="%.2f" y="%d" width="%.2f" height="%d" fill="%s" stroke="white"><title>%s, iteration %d: %v to %v</title></rect>`+"\n",
			at(x.from), y, at(x.to)-at(x.from), high, colours[x.job%len(colours)], escape(r.jobs[x.job].Name), x.iteration, x.from, x.to)
	}
	fmt.Fprintf(&b, `<text x="%d" y="%d">0</text><text x="%d" y="%d" text-anchor="end">%v</text>`+"\n", left, 2*high+36, left+wide, 2*high+36, width)
	for i := range r.jobs {
		y := 2*high + 56 + 18*i
		fmt.Fprintf(&b, `<rect x="%d" y="%d" width="12" height="12" fill="%s"/><text x="%d" y="%d">%s</text>`+"\n", left, y-10, colours[i%len(colours)], left+18, y, escape(r.jobs[i].Name))
	}
	b.WriteString("</svg>\n")
	_, err := io.WriteString(w, b.String())
	return err
}

// escape makes a name safe in XML.
func escape(s string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;").Replace(s)
}
