// Package report writes what the library found for people and programs: tables and sentences,
// JSON documents of published schemas, figures. It decides nothing: a Report of package
// certify, a Frontier or a verdict comes in, and bytes go out.
//
// A function XToJSON returns the document of X, whose type is XJSON; PrintX writes X as text.
package report

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve/certify"
	"github.com/oraccl/oraccl/verify"
)

// GapJSON is the JSON of gap and solve, schema oraccl/gap/2. Times are in picoseconds,
// ratios are numbers.
type GapJSON struct {
	Schema     string        `json:"schema"`
	Topology   string        `json:"topology"`
	Collective string        `json:"collective"`
	Ranks      int           `json:"ranks"`
	SizeBytes  int64         `json:"size_bytes"`
	Cost       string        `json:"cost"`
	Bound      *BoundJSON    `json:"bound"`
	Rows       []rowJSON     `json:"rows"`
	LeftOut    []leftOutJSON `json:"left_out"`
	Tried      []triedJSON   `json:"tried,omitempty"`
	Free       *freeJSON     `json:"free,omitempty"`
	Slower     *float64      `json:"slower,omitempty"`
	Stopped    string        `json:"stopped,omitempty"`
	Notes      []string      `json:"notes,omitempty"`

	Throughout *ThroughoutJSON `json:"throughout,omitempty"`
}

// BoundJSON is a bound in a document.
type BoundJSON struct {
	ValuePs model.Time `json:"value_ps"`
	Kind    string     `json:"kind"`
	Checked bool       `json:"checked"`
	Chunks  *int       `json:"chunks"` // the cut for which it holds; null: for every one
	Detail  string     `json:"detail"`
}

type rowJSON struct {
	Method             string             `json:"method"`
	Chunks             int                `json:"chunks"`
	Transfers          int                `json:"transfers"`
	Rounds             *int               `json:"rounds"`
	RoundsAfterArrival *int               `json:"rounds_after_arrival,omitempty"`
	MakespanPs         model.Time         `json:"makespan_ps"`
	TimeAfterArrivalPs *model.Time        `json:"time_after_arrival_ps,omitempty"`
	AlgbwGbps          float64            `json:"algbw_gbps"`
	BusbwGbps          float64            `json:"busbw_gbps"`
	Gap                *float64           `json:"gap"`
	Optimal            string             `json:"optimal"`
	CutBound           *BoundJSON         `json:"cut_bound"`
	CutGap             *float64           `json:"cut_gap"`
	NoneFaster         string             `json:"none_faster"`
	FewestRounds       string             `json:"fewest_rounds,omitempty"`
	Verdict            string             `json:"verdict"`
	Engines            map[string]string  `json:"engines"`
	EngineSeconds      map[string]float64 `json:"engine_seconds"`
	SolveSeconds       float64            `json:"solve_seconds"`
	VerifySeconds      float64            `json:"verify_seconds"`
	Stop               string             `json:"stop"`
	Note               string             `json:"note"`
	Fits               *fitsJSON          `json:"fits,omitempty"`
	PeakMemoryBytes    int64              `json:"peak_memory_bytes,omitempty"`
}

type triedJSON struct {
	Method       string     `json:"method"`
	MakespanPs   model.Time `json:"makespan_ps"`
	SolveSeconds float64    `json:"solve_seconds"`
}

type freeJSON struct {
	Method     string     `json:"method"`
	Chunks     int        `json:"chunks"`
	Transfers  int        `json:"transfers"`
	MakespanPs model.Time `json:"makespan_ps"`
	Why        string     `json:"why"`
}

type fitsJSON struct {
	Runtime string `json:"runtime"`
	OK      bool   `json:"ok"`
	// MakespanPs is that of what the runtime loads, where it is known: threadblocks do in turn what links could do at once.
	MakespanPs model.Time `json:"makespan_ps,omitempty"`
	Why        string     `json:"why,omitempty"`
}

type leftOutJSON struct {
	Method string `json:"method"`
	Reason string `json:"reason"`
}

// GapToJSON returns the JSON of an evaluation.
func GapToJSON(ev *certify.Report) GapJSON {
	p := ev.Problem
	g := GapJSON{
		Schema: "oraccl/gap/2", Topology: p.Topology.Name, Collective: p.Collective.Label(),
		Ranks: len(p.Members()), SizeBytes: p.Size, Cost: p.Cost.String(),
		Bound: boundToJSON(ev.Bound), Rows: []rowJSON{}, LeftOut: []leftOutJSON{}, Notes: p.Topology.Notes.Strings(),
	}
	for _, r := range ev.Rows {
		g.Rows = append(g.Rows, rowToJSON(r))
	}
	for _, l := range ev.LeftOut {
		g.LeftOut = append(g.LeftOut, leftOutJSON{l.Method, l.Reason})
	}
	for _, t := range ev.Tried {
		g.Tried = append(g.Tried, triedJSON{t.Method, t.Makespan, t.Solving.Seconds()})
	}
	if r := ev.Free; r != nil {
		g.Free = &freeJSON{r.Method, len(r.Result.Problem.Chunks), len(r.Result.Schedule.Transfers), r.Makespan, whyFree(r)}
	}
	if slower, ok := ev.Slower(); ok {
		g.Slower = &slower
	}
	if stop := cmp.Or(ev.Stopped, ev.Undecided()); stop != 0 {
		g.Stopped = stop.String()
	}
	return g
}

func boundToJSON(c *model.Certificate) *BoundJSON {
	if c == nil {
		return nil
	}
	b := &BoundJSON{ValuePs: c.Bound, Kind: c.Witness.Kind(), Checked: true, Detail: Describe(c)}
	if c.Problem.Chunks != nil {
		n := len(c.Problem.Chunks)
		b.Chunks = &n
	}
	return b
}

func rowToJSON(r *certify.Row) rowJSON {
	p, s := r.Result.Problem, r.Result.Schedule
	j := rowJSON{
		Method: r.Method, Chunks: len(p.Chunks), Transfers: len(s.Transfers), MakespanPs: r.Makespan,
		AlgbwGbps: Gbps(p.Size, r.Makespan), Optimal: r.Optimal(), NoneFaster: r.NoneFaster(), FewestRounds: r.Fewest(),
		Verdict: r.Outcome().String(), Engines: map[string]string{}, EngineSeconds: map[string]float64{},
		SolveSeconds: r.Solving.Seconds(), Stop: r.Result.Stop.String(), Note: r.Note(),
	}
	if f := r.Fit; f != nil {
		j.Fits = &fitsJSON{Runtime: f.Name, OK: f.OK(), MakespanPs: f.Lasts}
		if f.Err != nil {
			j.Fits.Why = f.Err.Error()
		}
	}
	j.BusbwGbps = j.AlgbwGbps * BusFactor(p)
	j.known(r.Known, r.Makespan)
	if s.Form == model.InRounds {
		n := s.Rounds()
		j.Rounds = &n
	}
	if p.Late() {
		after := r.Makespan - p.LastArrival()
		j.TimeAfterArrivalPs = &after
		if s.Form == model.InRounds {
			n := r.Result.Problem.RoundsAfterArrival(r.Result.Schedule)
			j.RoundsAfterArrival = &n
		}
	}
	for engine, v := range r.Verdicts {
		j.Engines[engine] = v.Outcome.String()
		j.EngineSeconds[engine] = r.Checking[engine].Seconds()
		j.VerifySeconds += r.Checking[engine].Seconds()
	}
	return j
}

// known fills in what bounds tell of a makespan.
func (j *rowJSON) known(b certify.Known, makespan model.Time) {
	j.Gap = gapToJSON(makespan, b.EveryCut)
	if b.ForCut() {
		j.CutBound, j.CutGap = boundToJSON(b.Bound), gapToJSON(makespan, b.Bound)
	}
}

// gapToJSON returns the gap of a makespan to a bound, nil where there is no bound above zero.
func gapToJSON(makespan model.Time, c *model.Certificate) *float64 {
	if c == nil || c.Bound == 0 {
		return nil
	}
	g := float64(model.GapOf(makespan, c.Bound))
	return &g
}

// PrintGap writes an evaluation as text: the problem, the bounds, one row per method, what
// limits them, what was left out.
func PrintGap(w io.Writer, ev *certify.Report) {
	fmt.Fprintln(w, ev.Problem)
	line := boundLine(ev.Bound)
	if ev.BoundEnded {
		line += "; the best found in the time"
	}
	fmt.Fprintln(w, line)
	cuts := cutBounds(ev)
	for _, c := range cuts {
		if ev.Bound == nil || Micros(c.Bound) != Micros(ev.Bound.Bound) { // not the same line with another cut
			fmt.Fprintln(w, boundLine(c))
		}
	}
	if len(ev.Rows) > 0 {
		fmt.Fprintln(w)
		printTable(w, ev)
	}
	printLimits(w, append([]*model.Certificate{ev.Bound}, cuts...))
	printFit(w, ev)
	printNCCL(w, ev)
	for _, r := range ev.Rows {
		if n := r.Note(); n != "" {
			fmt.Fprintf(w, "%s: %s\n", r.Method, n)
		}
		for _, v := range r.Violations() {
			fmt.Fprintf(w, "%s: REFUTED %s\n", r.Method, v)
		}
	}
	if stop := cmp.Or(ev.Stopped, ev.Undecided()); stop != 0 {
		fmt.Fprintf(w, "Stopped early: %s.\n", Why(stop))
	}
	if len(ev.LeftOut) > 0 {
		fmt.Fprintln(w, "\nLeft out:")
		for _, l := range ev.LeftOut {
			fmt.Fprintf(w, "  %s: %s\n", l.Method, l.Reason)
		}
	}
	PrintNotes(w, ev.Problem.Topology.Notes)
}

// NothingFound explains why no method found a schedule.
func NothingFound(ev *certify.Report) error {
	if len(ev.LeftOut) == 1 {
		return fmt.Errorf("%s: %s", ev.LeftOut[0].Method, ev.LeftOut[0].Reason)
	}
	text := fmt.Sprintf("no method found a schedule for %v", ev.Problem)
	for _, l := range ev.LeftOut {
		text += fmt.Sprintf("; %s: %s", l.Method, l.Reason)
	}
	return fmt.Errorf("%s", text)
}

// NothingFits is the error where schedules were found, and none fits.
func NothingFits(ev *certify.Report) error {
	return fmt.Errorf("no schedule that was found fits %s: %s, %s us: %w", ev.Free.Fit.Name, ev.Free.Method, Micros(ev.Free.Makespan), ev.Free.Fit.Err)
}

// littleShorter is by which part what a runtime loads may be shorter than the best schedule for nothing to be said of it.
const littleShorter = 0.001

// printFit tells what it costs that a schedule fits, and why others do not.
func printFit(w io.Writer, ev *certify.Report) {
	fit := ev.BestFitting()
	slower, asked := ev.Slower()
	free := ev.Free
	if free == nil {
		free = ev.Best()
	}
	switch {
	case !asked && free != nil && !free.Fit.OK():
		fmt.Fprintf(w, "Fits %s: none that was found.\n", free.Fit.Name)
	case !asked:
	case slower > -littleShorter && slower <= 0:
		fmt.Fprintf(w, "Fits %s: the best of all.\n", fit.Fit.Name)
	case slower <= -littleShorter:
		fmt.Fprintf(w, "Fits %s: %v shorter, once it is loaded, than the best of all, which leaves its transfers at later times than they could have.\n", fit.Fit.Name, model.Gap(-slower))
	default:
		fmt.Fprintf(w, "Fits %s: %v slower than the best of all, %s us by %s with %d chunks.\n", fit.Fit.Name, model.Gap(slower), Micros(free.Makespan), free.Method, len(free.Result.Problem.Chunks))
	}
	for _, r := range append(slices.Clone(ev.Rows), ev.Free) {
		if r != nil && (r == ev.Free || !r.Fit.OK()) {
			verb := map[bool]string{true: "fits, but", false: "does not fit:"}[r.Fit.OK()]
			fmt.Fprintf(w, "%s with %d chunks %s %s\n", r.Method, len(r.Result.Problem.Chunks), verb, whyFree(r))
		}
	}
}

// whyFree returns why the best of all is not what is to be loaded.
func whyFree(r *certify.Row) string {
	switch {
	case !r.Fit.OK():
		return r.Fit.Err.Error()
	case r.Fit.Lasts == 0:
		return "how long it takes once it is loaded is not known: " + r.Fit.Note
	}
	return fmt.Sprintf("takes %s us once it is loaded", Micros(r.Fit.Lasts))
}

// printNCCL tells how far what NCCL runs is above the bound, and how far the best schedule is, of those that
// the runtime loads where that was asked.
func printNCCL(w io.Writer, ev *certify.Report) {
	best := func(nccl, fits bool) (least *certify.Row) {
		for _, r := range ev.Rows {
			if r.Outcome() == verify.Proved && r.EveryCut != nil && (r.Given && strings.HasPrefix(r.Method, "nccl-")) == nccl && (!fits || r.Fit != nil && r.Fit.OK()) && (least == nil || r.Lasts() < least.Lasts()) {
				least = r
			}
		}
		return least
	}
	theirs := best(true, false)
	if theirs == nil {
		return
	}
	text := fmt.Sprintf("What NCCL runs is %v above the bound at %s (%s)", theirs.Gap(), model.FormatBytes(ev.Problem.Size), theirs.Method)
	fits := slices.ContainsFunc(ev.Rows, func(r *certify.Row) bool { return r.Fit != nil })
	switch ours := best(false, fits); {
	case ours == nil:
	case fits:
		text += fmt.Sprintf("; the best schedule that %s loads is %v above it (%s)", ours.Fit.Name, ours.Gap(), ours.Method)
		if ours.Lasts() != ours.Makespan {
			text += fmt.Sprintf(", and %v as the threadblocks of its file carry it out", model.GapOf(ours.Lasts(), ours.EveryCut.Bound))
		}
	default:
		text += fmt.Sprintf("; the best schedule that was found is %v above it (%s)", ours.Gap(), ours.Method)
	}
	fmt.Fprintf(w, "%s.\n", text)
}

// cutBounds returns the bounds of single cuts that are larger than that of every cut, each
// once, by number of chunks.
func cutBounds(ev *certify.Report) []*model.Certificate {
	var all []*model.Certificate
	for _, r := range ev.Rows {
		if r.ForCut() && !slices.Contains(all, r.Bound) {
			all = append(all, r.Bound)
		}
	}
	slices.SortStableFunc(all, func(a, b *model.Certificate) int { return len(a.Problem.Chunks) - len(b.Problem.Chunks) })
	return all
}

func printTable(w io.Writer, ev *certify.Report) {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	inRounds, late := ev.Problem.Cost.Synchronous(), ev.Problem.Late()
	head := []string{"method", "chunks", "transfers"}
	if inRounds {
		head = append(head, "rounds")
		if late {
			head = append(head, "late rounds")
		}
	}
	head = append(head, "makespan us")
	if late {
		head = append(head, "after arrival us")
	}
	fitted := slices.ContainsFunc(ev.Rows, func(r *certify.Row) bool { return r.Fit != nil })
	head = append(head, "algbw GB/s", "gap", "", "replay", "", "smt", "", "solved in")
	if fitted {
		head = append(head, "fits")
	}
	head = append(head, "")
	fmt.Fprintln(t, strings.Join(head, "\t"))
	for _, r := range ev.Rows {
		j := rowToJSON(r)
		cells := []string{j.Method, fmt.Sprint(j.Chunks), fmt.Sprint(j.Transfers)}
		if inRounds {
			cells = append(cells, fmt.Sprint(*j.Rounds))
			if late {
				cells = append(cells, fmt.Sprint(*j.RoundsAfterArrival))
			}
		}
		cells = append(cells, Micros(j.MakespanPs))
		if late {
			cells = append(cells, Micros(*j.TimeAfterArrivalPs))
		}
		cells = append(cells, fmt.Sprintf("%.3f", j.AlgbwGbps), gapText(j.Gap), evidence(r))
		for _, engine := range certify.Engines {
			cells = append(cells, j.Engines[engine], seconds(r.Checking[engine]))
		}
		cells = append(cells, seconds(r.Solving))
		if fitted {
			cells = append(cells, fitsText(r))
		}
		cells = append(cells, "")
		fmt.Fprintln(t, strings.Join(cells, "\t"))
	}
	t.Flush()
}

// fitsText is "yes" or "no", "" where that was not looked at; with the makespan of what is loaded, where it is another one.
func fitsText(r *certify.Row) string {
	switch {
	case r.Fit == nil:
		return ""
	case r.Fit.OK() && r.Fit.Lasts != 0 && r.Fit.Lasts != r.Makespan:
		return "yes, in " + Micros(r.Fit.Lasts)
	case r.Fit.OK():
		return "yes"
	}
	return "no"
}

// gapText writes a gap of a JSON document in percent, "" for none.
func gapText(g *float64) string {
	if g == nil {
		return ""
	}
	return model.Gap(*g).String()
}

// evidence is what is known of r in the words of the table: that no schedule is quicker;
// that none of the same cut is; that none of the same cut has fewer rounds; or how much
// quicker one of the same cut can be at most.
func evidence(r *certify.Row) string {
	if r.Outcome() != verify.Proved {
		return ""
	}
	if kind := r.Fewest(); kind != "" && r.NoneFaster() == "" {
		what := "fewest rounds"
		if r.Result.Problem.Late() {
			what = "fewest late rounds"
		}
		return what + " (" + proofName(kind, r.ProofBytes) + ")"
	}
	return wordsBelow(r.Known, r.Makespan, r.Result.Problem, r.NoneFaster(), r.ProofBytes)
}

// wordsBelow tells how a proved makespan stands to the bounds: p has its cut, noneFaster is why no
// schedule of that cut is quicker, or "", and proof the size of the proof of b.Bound, if there
// is one.
func wordsBelow(b certify.Known, makespan model.Time, p *model.Problem, noneFaster string, proof int64) string {
	switch {
	case b.Optimal(makespan) != "":
		return "optimal (" + proofName(b.Optimal(makespan), proof) + ")"
	case noneFaster != "":
		return fmt.Sprintf("none%s is faster (%s)", ChunksOf(p, " with"), proofName(noneFaster, proof))
	case b.ForCut():
		return fmt.Sprintf("within %v%s (%s)", model.GapOf(makespan, b.Bound.Bound), ChunksOf(p, " with"), proofName(b.Bound.Witness.Kind(), proof))
	}
	return ""
}

// proofName names a kind of evidence in the words of the table.
func proofName(kind string, proof int64) string {
	switch kind {
	case "lp-dual":
		return "LP dual"
	case "broadcast":
		return "broadcast bound"
	case "lrat":
		return "LRAT, " + byteCount(proof)
	}
	return kind
}
