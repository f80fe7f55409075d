// Package table has the table of a sweep: a row for each method on each instance, as CSV and
// as JSON Lines, and the words in which an instance is named.
//
// It decides nothing about schedules: packages that compute rows, or check them, do. Times are whole picoseconds where they belong to a schedule, and nanoseconds of wall time
// where they tell how long something took.
package table

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"math/bits"
	"strconv"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/quote"
)

// Status says how a cell ended.
type Status string

// The states. Failed is everything that yields no verdict: no such instance, no schedule
// found, a limit reached before there was one, a verifier that gave up.
const (
	Proved      Status = "proved"      // the method's schedule is proved
	Refuted     Status = "refuted"     // the method's schedule is wrong: a defect of ours
	Failed      Status = "failed"      // there is no verdict; Reason explains why
	Unsupported Status = "unsupported" // the method does not serve the instance; Reason explains why

	// Contradicted: two checkers establish what cannot both be, so that nothing is known of
	// the schedule. It is a defect of one of them; Reason has both.
	Contradicted Status = "contradiction"
)

// Row is what one method makes of one instance. Numbers that there are none of are 0.
type Row struct {
	Topology   string // as the grid names it, with the wires and failures that the grid asks for
	Ranks      int    // that take part; 0: the instance could not be built
	Collective string
	SizeBytes  int64      // as on the command line: the buffer of a rank
	Chunks     int        // a rank, as asked for; 0: the cut was left to the method
	DelayPs    model.Time // how late the straggler is; 0: nobody is late
	Cost       string     // the cost model
	Method     string
	Seed       uint64

	Status Status
	Reason string // why there is no verdict, or what limits it; "" where all is said

	MakespanPs model.Time // of the schedule, proved or refuted
	BoundPs    model.Time // certified, of every schedule of the instance; with Chunks 0 for every cut
	Bound      string     // the kind of the bound: the witness of its certificate
	Transfers  int

	SolvedNs   int64 // wall time of the method
	VerifiedNs int64 // wall time of the verifiers
}

// Gap returns (makespan − bound) / bound, and whether there is one: the schedule is
// proved and the bound is above zero.
func (r *Row) Gap() (float64, bool) {
	if r.Status != Proved || r.BoundPs <= 0 {
		return 0, false
	}
	return float64(model.GapOf(r.MakespanPs, r.BoundPs)), true
}

// Algbw returns size / makespan in whole bytes per second, rounded down, and whether there
// is one: the schedule is proved and takes time.
func (r *Row) Algbw() (int64, bool) {
	if r.Status != Proved || r.MakespanPs <= 0 || r.SizeBytes < 0 {
		return 0, false
	}
	high, low := bits.Mul64(uint64(r.SizeBytes), uint64(model.Second))
	if high >= uint64(r.MakespanPs) {
		return math.MaxInt64, true
	}
	q, _ := bits.Div64(high, low, uint64(r.MakespanPs))
	return int64(min(q, math.MaxInt64)), true
}

// Times is how many of the last columns say how long a computation took. All others are
// the same whenever and wherever a cell is computed, unless it reaches its time limit.
const Times = 2

// Header returns the names of a table's columns.
func Header() []string {
	return []string{"topology", "ranks", "collective", "size_bytes", "chunks", "delay_ps", "cost", "method", "seed", "status", "reason",
		"makespan_ps", "bound_ps", "bound", "gap", "algbw_bytes_per_s", "transfers", "solved_ns", "verified_ns"}
}

// Record returns the fields of r in the order of Header.
func (r *Row) Record() []string {
	j := r.shadow()
	number := func(n *int64) string {
		if n == nil {
			return ""
		}
		return strconv.FormatInt(*n, 10)
	}
	gap := ""
	if j.Gap != nil {
		gap = strconv.FormatFloat(*j.Gap, 'g', -1, 64)
	}
	return []string{j.Topology, number(j.Ranks), j.Collective, strconv.FormatInt(j.SizeBytes, 10), number(j.Chunks), strconv.FormatInt(j.DelayPs, 10),
		j.Cost, j.Method, strconv.FormatUint(j.Seed, 10), string(j.Status), j.Reason,
		number(j.MakespanPs), number(j.BoundPs), j.Bound, gap, number(j.Algbw), number(j.Transfers), number(j.SolvedNs), number(j.VerifiedNs)}
}

// rowJSON is a row as a line of JSON, schema oraccl/sweep/1.
type rowJSON struct {
	Schema     string   `json:"schema"`
	Topology   string   `json:"topology"`
	Ranks      *int64   `json:"ranks"`
	Collective string   `json:"collective"`
	SizeBytes  int64    `json:"size_bytes"`
	Chunks     *int64   `json:"chunks"`
	DelayPs    int64    `json:"delay_ps"`
	Cost       string   `json:"cost"`
	Method     string   `json:"method"`
	Seed       uint64   `json:"seed"`
	Status     Status   `json:"status"`
	Reason     string   `json:"reason"`
	MakespanPs *int64   `json:"makespan_ps"`
	BoundPs    *int64   `json:"bound_ps"`
	Bound      string   `json:"bound"`
	Gap        *float64 `json:"gap"`
	Algbw      *int64   `json:"algbw_bytes_per_s"`
	Transfers  *int64   `json:"transfers"`
	SolvedNs   *int64   `json:"solved_ns,omitempty"`
	VerifiedNs *int64   `json:"verified_ns,omitempty"`
}

// Schema is what every line of a table in JSON Lines says of itself.
const Schema = "oraccl/sweep/1"

func (r *Row) shadow() rowJSON {
	some := func(n int64) *int64 {
		if n == 0 {
			return nil
		}
		return &n
	}
	j := rowJSON{
		Schema: Schema, Topology: r.Topology, Ranks: some(int64(r.Ranks)), Collective: r.Collective, SizeBytes: r.SizeBytes,
		Chunks: some(int64(r.Chunks)), DelayPs: int64(r.DelayPs), Cost: r.Cost, Method: r.Method, Seed: r.Seed, Status: r.Status, Reason: r.Reason,
		MakespanPs: some(int64(r.MakespanPs)), BoundPs: some(int64(r.BoundPs)), Bound: r.Bound, Transfers: some(int64(r.Transfers)),
		SolvedNs: some(r.SolvedNs), VerifiedNs: some(r.VerifiedNs),
	}
	if g, ok := r.Gap(); ok {
		j.Gap = &g
	}
	if b, ok := r.Algbw(); ok {
		j.Algbw = &b
	}
	return j
}

// JSON is what a row is as JSON, for those who describe it.
type JSON = rowJSON

// MarshalJSON writes r in the schema oraccl/sweep/1; gap and algbw follow from the rest.
func (r Row) MarshalJSON() ([]byte, error) { return json.Marshal(r.shadow()) }

// UnmarshalJSON reads what MarshalJSON writes.
func (r *Row) UnmarshalJSON(b []byte) error {
	var j rowJSON
	if err := json.Unmarshal(b, &j); err != nil {
		return err
	}
	if j.Schema != Schema {
		return fmt.Errorf("schema %q: want %s", j.Schema, Schema)
	}
	number := func(n *int64) int64 {
		if n == nil {
			return 0
		}
		return *n
	}
	*r = Row{
		Topology: j.Topology, Ranks: int(number(j.Ranks)), Collective: j.Collective, SizeBytes: j.SizeBytes, Chunks: int(number(j.Chunks)),
		DelayPs: model.Time(j.DelayPs), Cost: j.Cost, Method: j.Method, Seed: j.Seed, Status: j.Status, Reason: j.Reason,
		MakespanPs: model.Time(number(j.MakespanPs)), BoundPs: model.Time(number(j.BoundPs)), Bound: j.Bound, Transfers: int(number(j.Transfers)),
		SolvedNs: number(j.SolvedNs), VerifiedNs: number(j.VerifiedNs),
	}
	return nil
}

// WriteCSV writes a table with its header, without the columns of times if times is false.
func WriteCSV(w io.Writer, rows []Row, times bool) error {
	drop := 0
	if !times {
		drop = Times
	}
	head := Header()
	all := [][]string{head[:len(head)-drop]}
	for i := range rows {
		all = append(all, rows[i].Record()[:len(head)-drop])
	}
	return quote.WriteCSV(w, all)
}

// WriteJSONL writes a table as JSON Lines, one row a line, without times if times is false.
func WriteJSONL(w io.Writer, rows []Row, times bool) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	for _, r := range rows {
		if !times {
			r.SolvedNs, r.VerifiedNs = 0, 0
		}
		if err := e.Encode(r); err != nil {
			return err
		}
	}
	return nil
}

// ReadJSONL reads what WriteJSONL writes; errors name the line.
func ReadJSONL(name string, r io.Reader) ([]Row, error) {
	var rows []Row
	d := json.NewDecoder(r)
	for d.More() {
		var row Row
		if err := d.Decode(&row); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", name, len(rows)+1, err)
		}
		rows = append(rows, row)
	}
	return rows, nil
}
