package main

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/verify"
)

// The JSON of gap and solve, schema oraccl/gap/1. Times are in picoseconds,
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

func (ev *evaluation) json(schema string) gapJSON {
	p := ev.problem
	g := gapJSON{
		Schema: schema, Topology: p.Topology.Name, Collective: p.Collective.Kind.String(),
		Ranks: len(p.Members()), SizeBytes: p.Size, Cost: p.Cost.String(),
		Bound: boundToJSON(ev.bound), Rows: []rowJSON{}, LeftOut: []leftOutJSON{},
	}
	for _, r := range ev.rows {
		g.Rows = append(g.Rows, r.json(ev.bound))
	}
	for _, l := range ev.left {
		g.LeftOut = append(g.LeftOut, leftOutJSON{l.method, l.reason})
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

func (r *row) json(bound *model.Certificate) rowJSON {
	p, s := r.result.Problem, r.result.Schedule
	j := rowJSON{
		Method: r.method, Chunks: len(p.Chunks), Transfers: len(s.Transfers), MakespanPs: r.makespan,
		AlgbwGbps: gbps(p.Size, r.makespan), Optimal: r.optimal(), FewestRounds: r.fewest(),
		Verdict: r.outcome().String(), Engines: map[string]string{}, EngineSeconds: map[string]float64{},
		SolveSeconds: r.solving.Seconds(), Stop: r.result.Stop.String(), Note: r.note(),
	}
	j.BusbwGbps = j.AlgbwGbps * busFactor(p)
	if bound != nil {
		if g := gapOf(r.makespan, bound.Bound); !math.IsInf(g, 0) {
			j.Gap = &g
		}
	}
	if s.Form == model.InRounds {
		n := s.Rounds()
		j.Rounds = &n
	}
	if p.Late() {
		after := r.makespan - latest(p)
		j.TimeAfterArrivalPs = &after
		if s.Form == model.InRounds {
			n := r.roundsAfterArrival()
			j.RoundsAfterArrival = &n
		}
	}
	for engine, v := range r.verdicts {
		j.Engines[engine] = v.Outcome.String()
		j.EngineSeconds[engine] = r.checking[engine].Seconds()
		j.VerifySeconds += r.checking[engine].Seconds()
	}
	return j
}

// roundsAfterArrival counts the rounds that begin when the last rank has arrived.
func (r *row) roundsAfterArrival() int {
	n := 0
	for _, span := range r.result.Problem.RoundSpans(r.result.Schedule) {
		if span.From >= latest(r.result.Problem) {
			n++
		}
	}
	return n
}

// note joins what the method and the engines remarked.
func (r *row) note() string {
	var notes []string
	if r.result.Note != "" {
		notes = append(notes, r.result.Note)
	}
	if r.verdict.Reason != "" {
		notes = append(notes, r.verdict.Basis())
	}
	return strings.Join(notes, "; ")
}

// describe says in words what binds a bound.
func describe(c *model.Certificate) string {
	t := c.Problem.Topology
	switch w := c.Witness.(type) {
	case model.Cut:
		text := fmt.Sprintf("what must leave %s has to pass the links that leave %s", nodeSet(t, w.Nodes), pronoun(len(w.Nodes)))
		if w.From != nil {
			text += ", after it came to them from " + nodeSet(t, w.From)
		}
		if w.To != nil {
			text += ", before it goes on to " + nodeSet(t, w.To)
		}
		return text
	case model.Ingress:
		return fmt.Sprintf("what rank %d must receive has to pass the links that enter it", w.Rank)
	case model.Egress:
		return fmt.Sprintf("what must leave rank %d has to pass the links that leave it", w.Rank)
	case model.Volume:
		return "the transfers that the collective needs in all have to pass the links that enter ranks, or leave them"
	case model.Partition:
		return fmt.Sprintf("the transfers that the collective needs between %d parts of the network have to pass the links between them", len(w.Parts))
	case model.Prices:
		return "what all chunks must pay for their ways is more than all links together can sell by then"
	case model.Distance:
		return fmt.Sprintf("what rank %d contributes has to travel to rank %d", w.Source, w.Dest)
	case model.Doubling:
		return fmt.Sprintf("the ranks that hold what rank %d contributes at most double in a round", w.Source)
	case model.Spread:
		return fmt.Sprintf("rank %d sends what only it has one chunk a round, and the last one has to spread by doubling", w.Source)
	case model.Refutation:
		switch {
		case w.Steps > 0:
			return fmt.Sprintf("a refuted formula: no schedule has %d rounds in %d steps", w.Horizon, w.Steps)
		case w.Epoch == 0:
			return fmt.Sprintf("a refuted formula: no schedule has %d rounds", w.Horizon)
		}
		return fmt.Sprintf("a refuted formula: no schedule has %d epochs of %v", w.Horizon, w.Epoch)
	case model.Combine:
		return fmt.Sprintf("rank %d receives one chunk a round, and the first to be complete has to be combined by doubling", w.Dest)
	case model.LPDual:
		return fmt.Sprintf("at %d instants all chunks must pay more for links than there is, each demand the cheapest way in time", len(w.Instants))
	}
	return c.Witness.Kind()
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

// print writes the evaluation as text: the problem, the bound, a row a method,
// what binds, what was left out.
func (ev *evaluation) print(w io.Writer) {
	fmt.Fprintln(w, ev.problem)
	fmt.Fprintln(w, boundLine(ev.bound))
	if len(ev.rows) > 0 {
		fmt.Fprintln(w)
		ev.table(w)
	}
	if ev.bound != nil {
		fmt.Fprintf(w, "\nWhat binds is %s: %s.\n", ev.bound.Witness.Kind(), describe(ev.bound))
	}
	for _, r := range ev.rows {
		if n := r.note(); n != "" {
			fmt.Fprintf(w, "%s: %s\n", r.method, n)
		}
		for _, v := range sortedViolations(r.verdicts) {
			fmt.Fprintf(w, "%s: REFUTED %s\n", r.method, v)
		}
	}
	if len(ev.left) > 0 {
		fmt.Fprintln(w, "\nLeft out:")
		for _, l := range ev.left {
			fmt.Fprintf(w, "  %s: %s\n", l.method, l.reason)
		}
	}
}

func boundLine(c *model.Certificate) string {
	if c == nil {
		return "bound  none found"
	}
	holds := "for every number of chunks"
	if n := len(c.Problem.Chunks); n == 1 {
		holds = "for 1 chunk"
	} else if n > 1 {
		holds = fmt.Sprintf("for %d chunks", n)
	}
	return fmt.Sprintf("bound  %s us  by %s, %s; certificate checked", micros(c.Bound), c.Witness.Kind(), holds)
}

func (ev *evaluation) table(w io.Writer) {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	inRounds, late := ev.problem.Cost.Synchronous(), ev.problem.Late()
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
	for _, r := range ev.rows {
		j := r.json(ev.bound)
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
		gap := ""
		if j.Gap != nil {
			gap = fmt.Sprintf("%.1f%%", 100**j.Gap)
		}
		cells = append(cells, fmt.Sprintf("%.3f", j.AlgbwGbps), gap, r.evidence())
		for _, engine := range engines {
			cells = append(cells, j.Engines[engine], seconds(r.checking[engine]))
		}
		cells = append(cells, seconds(r.solving), "")
		fmt.Fprintln(t, strings.Join(cells, "\t"))
	}
	t.Flush()
}

// evidence is why no schedule with this cut is quicker, or else why none has fewer rounds, in
// the words of the table.
func (r *row) evidence() string {
	what, kind := "optimal", r.optimal()
	if kind == "" {
		if what, kind = "fewest rounds", r.fewest(); r.result.Problem.Late() {
			what = "fewest late rounds"
		}
	}
	switch kind {
	case "":
		return ""
	case "solver":
		if what == "optimal" {
			return "solver-optimal"
		}
		return what + " (solver)"
	case "lp-dual":
		return what + " (LP dual)"
	case "broadcast":
		return what + " (broadcast bound)"
	case "lrat":
		return fmt.Sprintf("%s (LRAT, %s)", what, bytesInWords(r.proof))
	default:
		return what + " (" + kind + ")"
	}
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

func sortedViolations(verdicts map[string]verify.Verdict) []string {
	var all []string
	for engine, v := range verdicts {
		for _, violation := range v.Violations {
			all = append(all, engine+": "+violation.String())
		}
	}
	slices.Sort(all)
	return all
}

// printJSON writes v as one indented JSON document.
func printJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(v)
}
