package main

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/solve/certify"
	"github.com/oraccl/oraccl/verify"
)

// The JSON of gap and solve, schema oraccl/gap/2. Times are in picoseconds,
// ratios are numbers.
type gapJSON struct {
	Schema     string        `json:"schema"`
	Topology   string        `json:"topology"`
	Collective string        `json:"collective"`
	Ranks      int           `json:"ranks"`
	SizeBytes  int64         `json:"size_bytes"`
	Cost       string        `json:"cost"`
	Bound      *boundJSON    `json:"bound"`
	Rows       []rowJSON     `json:"rows"`
	LeftOut    []leftOutJSON `json:"left_out"`
	Stopped    string        `json:"stopped,omitempty"`
	Notes      []string      `json:"notes,omitempty"`
}

type boundJSON struct {
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
	CutBound           *boundJSON         `json:"cut_bound"`
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
	PeakMemoryBytes    int64              `json:"peak_memory_bytes,omitempty"`
}

type leftOutJSON struct {
	Method string `json:"method"`
	Reason string `json:"reason"`
}

func reportToJSON(ev *certify.Report, schema string) gapJSON {
	p := ev.Problem
	g := gapJSON{
		Schema: schema, Topology: p.Topology.Name, Collective: p.Collective.Kind.String(),
		Ranks: len(p.Members()), SizeBytes: p.Size, Cost: p.Cost.String(),
		Bound: boundToJSON(ev.Bound), Rows: []rowJSON{}, LeftOut: []leftOutJSON{}, Notes: p.Topology.Notes.Strings(),
	}
	for _, r := range ev.Rows {
		g.Rows = append(g.Rows, rowToJSON(r))
	}
	for _, l := range ev.LeftOut {
		g.LeftOut = append(g.LeftOut, leftOutJSON{l.Method, l.Reason})
	}
	if ev.Stopped != 0 {
		g.Stopped = ev.Stopped.String()
	}
	return g
}

func boundToJSON(c *model.Certificate) *boundJSON {
	if c == nil {
		return nil
	}
	b := &boundJSON{ValuePs: c.Bound, Kind: c.Witness.Kind(), Checked: true, Detail: describe(c)}
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
		AlgbwGbps: gbps(p.Size, r.Makespan), Optimal: r.Optimal(), NoneFaster: r.NoneFaster(), FewestRounds: r.Fewest(),
		Verdict: r.Outcome().String(), Engines: map[string]string{}, EngineSeconds: map[string]float64{},
		SolveSeconds: r.Solving.Seconds(), Stop: r.Result.Stop.String(), Note: r.Note(),
	}
	j.BusbwGbps = j.AlgbwGbps * busFactor(p)
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

// describe explains a bound: a sentence without its capital letter and its full stop.
func describe(c *model.Certificate) string {
	t := c.Problem.Topology
	switch w := c.Witness.(type) {
	case model.Cut:
		text := fmt.Sprintf("what must leave %s fills the links out of %s", nodeSet(t, w.Nodes), pronoun(len(w.Nodes)))
		if w.From != nil {
			text += ", after it has come from " + nodeSet(t, w.From)
		}
		if w.To != nil {
			text += ", before it goes on to " + nodeSet(t, w.To)
		}
		return text
	case model.Coverage:
		text := fmt.Sprintf("what enters %s early is a sum of few contributions, and what enters late serves few ranks there", nodeSet(t, w.Nodes))
		if len(w.Nodes) == 1 {
			text = fmt.Sprintf("what enters %s early is a sum of few contributions", nodeSet(t, w.Nodes))
			if !c.Problem.Collective.Kind.Reduces() {
				text = fmt.Sprintf("what must enter %s comes to the links into it one after another", nodeSet(t, w.Nodes))
			}
		} else if !c.Problem.Collective.Kind.Reduces() {
			text = fmt.Sprintf("what enters %s late serves few ranks there", nodeSet(t, w.Nodes))
		}
		if w.From != nil {
			text += "; counted is what comes from " + nodeSet(t, w.From)
		}
		if w.To != nil {
			text += "; counted is what goes to " + nodeSet(t, w.To)
		}
		return text
	case model.Ingress:
		return fmt.Sprintf("what rank %d must receive fills the links into it", w.Rank)
	case model.Egress:
		return fmt.Sprintf("what must leave rank %d fills the links out of it", w.Rank)
	case model.Volume:
		return "all needed transfers together fill the links into (or out of) the ranks"
	case model.Partition:
		return fmt.Sprintf("all needed transfers between %d parts of the network fill the links between the parts", len(w.Parts))
	case model.Prices:
		return "at these link prices the demands cost more than all links can supply by that time"
	case model.Distance:
		return fmt.Sprintf("what rank %d contributes has to travel to rank %d", w.Source, w.Dest)
	case model.Doubling:
		return fmt.Sprintf("the ranks that hold what rank %d contributes at most double in each round", w.Source)
	case model.Spread:
		return fmt.Sprintf("rank %d sends one chunk per round of what only it has, and the last chunk has to spread by doubling", w.Source)
	case model.Refutation:
		switch {
		case w.Steps > 0:
			return fmt.Sprintf("no schedule has %d rounds in %d steps", w.Horizon, w.Steps)
		case w.Epoch == 0:
			return fmt.Sprintf("no schedule has %d rounds", w.Horizon)
		}
		return fmt.Sprintf("no schedule has %d epochs of %v", w.Horizon, w.Epoch)
	case model.Combine:
		return fmt.Sprintf("rank %d receives one chunk per round, and the first complete chunk has to be combined by doubling", w.Dest)
	case model.LPDual:
		return fmt.Sprintf("at these link prices, which change at %d instants, the demands cost more than all links can supply", len(w.Instants))
	}
	return c.Witness.Kind()
}

// limitName names what a bound of a kind counts.
func limitName(kind string) string {
	if name := map[string]string{
		"cut": "traffic out of a set of nodes", "ingress": "traffic into a rank", "egress": "traffic out of a rank",
		"volume": "total traffic", "coverage": "contributions that can have met", "partition": "traffic between parts", "prices": "link prices", "lp-dual": "link prices over time",
		"broadcast": "spreading from one rank", "combine": "combining at one rank", "lrat": "a refuted formula",
	}[kind]; name != "" {
		return name
	}
	return kind // distance, doubling
}

// limitLine explains a bound: "Limit: total traffic. All needed transfers ...".
func limitLine(c *model.Certificate) string {
	why := describe(c)
	return fmt.Sprintf("Limit%s: %s. %s.", chunksOf(c.Problem, " with"), limitName(c.Witness.Kind()), strings.ToUpper(why[:1])+why[1:])
}

// printLimits explains bounds, after a blank line; one that repeats the reason of another is
// left out.
func printLimits(w io.Writer, all []*model.Certificate) {
	said := map[string]bool{}
	for _, c := range all {
		if c == nil || said[describe(c)] {
			continue
		}
		if len(said) == 0 {
			fmt.Fprintln(w)
		}
		said[describe(c)] = true
		fmt.Fprintln(w, limitLine(c))
	}
}

// chunksOf returns the number of chunks of p after a word, " with 8 chunks", or "" if its cut is
// open.
func chunksOf(p *model.Problem, word string) string {
	switch n := len(p.Chunks); n {
	case 0:
		return ""
	case 1:
		return word + " 1 chunk"
	default:
		return fmt.Sprintf("%s %d chunks", word, n)
	}
}

func pronoun(n int) string {
	if n == 1 {
		return "it"
	}
	return "them"
}

// nodeSet names a few nodes, or counts many.
func nodeSet(t *model.Topology, nodes []int) string {
	if len(nodes) == 1 {
		return t.NodeName(nodes[0])
	}
	if len(nodes) <= 8 {
		return "the nodes " + strings.Trim(strings.ReplaceAll(fmt.Sprint(nodes), " ", ", "), "[]")
	}
	return fmt.Sprintf("a set of %d nodes", len(nodes))
}

// micros writes a time in microseconds with three decimals.
func micros(t model.Time) string { return fmt.Sprintf("%.3f", float64(t)/float64(model.Microsecond)) }

// seconds writes how long a check or a solve took.
func seconds(d time.Duration) string {
	switch {
	case d < 10*time.Second:
		return fmt.Sprintf("%.0f ms", float64(d)/1e6)
	default:
		return fmt.Sprintf("%.1f s", d.Seconds())
	}
}

// print writes the evaluation as text: the problem, the bounds, one row per method, what
// limits them, what was left out.
func printReport(ev *certify.Report, w io.Writer) {
	fmt.Fprintln(w, ev.Problem)
	line := boundLine(ev.Bound)
	if ev.BoundEnded {
		line += "; the best found in the time"
	}
	fmt.Fprintln(w, line)
	cuts := cutBounds(ev)
	for _, c := range cuts {
		if ev.Bound == nil || micros(c.Bound) != micros(ev.Bound.Bound) { // not the same line with another cut
			fmt.Fprintln(w, boundLine(c))
		}
	}
	if len(ev.Rows) > 0 {
		fmt.Fprintln(w)
		printTable(ev, w)
	}
	printLimits(w, append([]*model.Certificate{ev.Bound}, cuts...))
	for _, r := range ev.Rows {
		if n := r.Note(); n != "" {
			fmt.Fprintf(w, "%s: %s\n", r.Method, n)
		}
		for _, v := range r.Violations() {
			fmt.Fprintf(w, "%s: REFUTED %s\n", r.Method, v)
		}
	}
	if ev.Stopped != 0 {
		fmt.Fprintf(w, "Stopped early: %s.\n", why(ev.Stopped))
	}
	if len(ev.LeftOut) > 0 {
		fmt.Fprintln(w, "\nLeft out:")
		for _, l := range ev.LeftOut {
			fmt.Fprintf(w, "  %s: %s\n", l.Method, l.Reason)
		}
	}
	printNotes(w, ev.Problem.Topology.Notes)
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

func boundLine(c *model.Certificate) string {
	if c == nil {
		return "bound  none found"
	}
	return fmt.Sprintf("bound  %s us  by %s, %s; certificate checked", micros(c.Bound), c.Witness.Kind(), holdsFor(c))
}

// holdsFor names the cuts that a bound holds for.
func holdsFor(c *model.Certificate) string {
	if cut := chunksOf(c.Problem, "for"); cut != "" {
		return cut
	}
	return "for every number of chunks"
}

func printTable(ev *certify.Report, w io.Writer) {
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
	head = append(head, "algbw GB/s", "gap", "", "replay", "", "smt", "", "solved in", "")
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
		cells = append(cells, micros(j.MakespanPs))
		if late {
			cells = append(cells, micros(*j.TimeAfterArrivalPs))
		}
		cells = append(cells, fmt.Sprintf("%.3f", j.AlgbwGbps), gapText(j.Gap), evidence(r))
		for _, engine := range certify.Engines {
			cells = append(cells, j.Engines[engine], seconds(r.Checking[engine]))
		}
		cells = append(cells, seconds(r.Solving), "")
		fmt.Fprintln(t, strings.Join(cells, "\t"))
	}
	t.Flush()
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

// words tells how a proved makespan stands to the bounds: p has its cut, noneFaster is why no
// schedule of that cut is quicker, or "", and proof the size of the proof of b.bound, if there
// is one.
func wordsBelow(b certify.Known, makespan model.Time, p *model.Problem, noneFaster string, proof int64) string {
	switch {
	case b.Optimal(makespan) != "":
		return "optimal (" + proofName(b.Optimal(makespan), proof) + ")"
	case noneFaster != "":
		return fmt.Sprintf("none%s is faster (%s)", chunksOf(p, " with"), proofName(noneFaster, proof))
	case b.ForCut():
		return fmt.Sprintf("within %v%s (%s)", model.GapOf(makespan, b.Bound.Bound), chunksOf(p, " with"), proofName(b.Bound.Witness.Kind(), proof))
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
		return "LRAT, " + bytesInWords(proof)
	}
	return kind
}

// bytesInWords writes a size with one decimal.
func bytesInWords(n int64) string {
	switch {
	case n < 1000:
		return fmt.Sprintf("%d B", n)
	case n < 1e6:
		return fmt.Sprintf("%.1f kB", float64(n)/1e3)
	}
	return fmt.Sprintf("%.1f MB", float64(n)/1e6)
}

// printJSON writes v as one indented JSON document.
func printJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

// why names the reason why a verb stopped early, in a sentence.
func why(stop solve.Stop) string {
	if stop == solve.Interrupted {
		return "it was interrupted"
	}
	return "the time limit was reached"
}
