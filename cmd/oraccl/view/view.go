// Package view writes schedules as pictures: HTML writes one self-contained page in which
// a schedule can be opened, scrubbed through and sent on, SVG one drawing for a paper. It
// decides nothing: the verdict and the bound in the head are those that it is given, and
// what the page says that ranks hold it finds by executing the transfers by the rules of
// verify/SPEC.md, sections 5 and 6.
//
// The page needs no network and asks for none: its policy forbids it, and any script but its
// own. Text from files is data, and is shown as text. Times are exact up to 2^53 ps, two and a half hours.
package view

import (
	"cmp"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/oraccl/oraccl/model"
)

// Picture is a schedule with what was found of it.
type Picture struct {
	Title    string // the name of the file
	Problem  *model.Problem
	Schedule *model.Schedule
	Verdict  Verdict
	Bound    *Bound   // nil: none is known
	Facts    []Fact   // what else is shown beside the makespan
	Notes    []string // what else a reader of the picture should know
}

// Verdict is what the verifiers said.
type Verdict struct {
	Outcome    string // "proved", "refuted" or "unknown"
	Engine     string // who said so: "replay"
	Claim      string // what was proved or refuted
	Reason     string // why the outcome is unknown, or empty
	Violations []Violation
}

// Fact is a number with its name, in words.
type Fact struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Violation is one thing that is wrong.
type Violation struct {
	Code     string `json:"code"`
	Where    string `json:"where"`
	Message  string `json:"message"`
	Transfer int    `json:"transfer"` // its index in the schedule, or -1
}

// Bound is a lower bound on the makespan whose certificate was checked.
type Bound struct {
	Value  model.Time
	Kind   string // of the certificate's witness: "cut"
	Holds  string // the cuts that it holds for: "for every number of chunks"
	Detail string // why it is a bound, in a sentence
}

//go:embed page/page.html
var pageHTML string

//go:embed page/page.css
var pageCSS string

//go:embed page/core.js
var coreJS string

//go:embed page/page.js
var pageJS string

//go:embed page/timeline.js
var timelineJS string

//go:embed page/network.js
var networkJS string

// head is what the page is told as JSON. All numbers that it needs exactly as text are
// text; the rest is in the columns of pack.
type head struct {
	Title      string      `json:"title"`
	Verdict    string      `json:"verdict"`
	Engine     string      `json:"engine"`
	Claim      string      `json:"claim"`
	Reason     string      `json:"reason"`
	Violations []Violation `json:"violations"`
	Makespan   string      `json:"makespan"`
	Bound      string      `json:"bound"`
	BoundKind  string      `json:"bound_kind"`
	BoundHolds string      `json:"bound_holds"`
	Detail     string      `json:"bound_detail"`
	Gap        string      `json:"gap"`
	Form       string      `json:"form"`
	Unit       string      `json:"unit"` // "ps", or "step" where there are no times
	Layout     string      `json:"layout"`
	Notes      []string    `json:"notes"`
	Ranks      int         `json:"ranks"`
	Switches   []string    `json:"switches"`
	Links      int         `json:"links"`
	Chunks     int         `json:"chunks"`
	Transfers  int         `json:"transfers"`
	Streams    string      `json:"streams"`    // how many sums and multicasts they make: "16 sums, 16 multicasts"
	Custom     bool        `json:"custom"`     // conditions are any multisets
	Idempotent bool        `json:"idempotent"` // how often a contribution is there does not matter
	Horizon    int64       `json:"horizon"`    // where the schedule ends, in its unit
	Until      int64       `json:"until"`      // where the clock ends
	Idle       [][3]int64  `json:"idle"`       // from, until: nothing is under way; and how long that is drawn
	Shared     bool        `json:"shared"`     // the clock is one of several pictures
	Facts      []Fact      `json:"facts"`
	Grid       []int       `json:"grid,omitempty"` // the dimensions of a mesh or torus, if it is laid out as one
	Aspect     float64     `json:"aspect"`         // width by height that suits the layout
	Whole      bool        `json:"whole"`          // and it is not to be squashed to another one
	Boxes      [][]int     `json:"boxes"`          // nodes that stand in a box
	Arrivals   []arrival   `json:"arrivals"`       // of late ranks
	Error      string      `json:"error,omitempty"`
}

// arrival is the time at which a late rank arrives, in picoseconds.
type arrival struct {
	Rank int   `json:"rank"`
	At   int64 `json:"at"`
}

// HTML writes the page. It takes O(n log n) time for n transfers, and about 10 bytes of
// page for each.
func HTML(w io.Writer, p *Picture) error {
	m, err := when(p.Problem, p.Schedule)
	if err != nil {
		return err
	}
	return p.page(w, m, clockOf(m), false)
}

// page writes the page with the times of a clock, which several may share.
func (p *Picture) page(w io.Writer, m *moments, c *clock, shared bool) error {
	l := arrange(p.Problem.Topology)
	h := p.head(m, l)
	h.Until, h.Shared = int64(c.end), shared
	for _, i := range c.idle {
		h.Idle = append(h.Idle, [3]int64{int64(i.From), int64(i.To), int64(c.short(i))})
	}
	return page(w, h, pack(p.Problem, p.Schedule, m, l, critical(p.Problem, p.Schedule, m)))
}

// Failure writes a page that explains why there is nothing to see.
func Failure(w io.Writer, title string, why error) error {
	return page(w, &head{Title: title, Verdict: "unreadable", Error: why.Error(), Violations: []Violation{}, Notes: []string{}, Switches: []string{}, Facts: []Fact{}, Arrivals: []arrival{}, Boxes: [][]int{}, Idle: [][3]int64{}}, nil)
}

func (p *Picture) head(m *moments, l *layout) *head {
	t := p.Problem.Topology
	h := &head{
		Title: p.Title, Verdict: p.Verdict.Outcome, Engine: p.Verdict.Engine, Claim: p.Verdict.Claim, Reason: p.Verdict.Reason,
		Violations: append([]Violation{}, p.Verdict.Violations...), Form: p.Schedule.Form.String(), Unit: "ps", Layout: l.kind,
		Notes: append(append([]string{}, p.Notes...), m.notes...), Ranks: t.Ranks, Switches: []string{}, Links: len(t.Links), Chunks: len(p.Problem.Chunks),
		Transfers: len(p.Schedule.Transfers), Horizon: int64(m.last), Custom: p.Problem.Collective.Kind == model.Custom, Idempotent: p.Problem.Collective.Op.Idempotent(),
	}
	h.Facts, h.Aspect, h.Arrivals = append(append(h.Facts, p.Facts...), linkClasses(t)...), l.aspect, []arrival{}
	h.Whole, h.Boxes, h.Idle = l.whole, append([][]int{}, l.sets...), [][3]int64{}
	if l.kind == "grid" {
		h.Grid = t.Grid()
	}
	for r, at := range p.Problem.Release {
		if at > 0 && !m.steps {
			h.Arrivals = append(h.Arrivals, arrival{r, int64(at)})
		}
	}
	if sums, multicasts := m.streams.Count(); sums+multicasts > 0 {
		var counts []string
		if sums > 0 {
			counts = append(counts, model.Count(sums, "sum"))
		}
		if multicasts > 0 {
			counts = append(counts, model.Count(multicasts, "multicast"))
		}
		h.Streams = strings.Join(counts, ", ")
	}
	for i := range t.Switches {
		h.Switches = append(h.Switches, t.NodeName(t.Ranks+i))
	}
	if m.steps {
		h.Unit = "step"
	} else {
		h.Makespan = m.last.String()
		if b := p.Bound; b != nil {
			h.Bound, h.BoundKind, h.BoundHolds, h.Detail = b.Value.String(), b.Kind, b.Holds, b.Detail
			if b.Value > 0 && p.Verdict.Outcome == "proved" {
				h.Gap = model.GapOf(m.last, b.Value).String()
			}
		}
	}
	return h
}

// scriptJS returns the script of every page.
func scriptJS() string { return "\n" + coreJS + networkJS + timelineJS + pageJS + "\n" }

// Sources returns what a Content-Security-Policy must allow as script and as style for a page
// of HTML or PlanHTML to work in a frame: these very texts, and no others.
func Sources() (script, style string) {
	return source(scriptJS()), source(pageCSS) + " " + source(planCSS())
}

// source is a hash-source of a Content-Security-Policy, for a script or style of this text.
func source(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// mostClasses is how many classes of links the head names.
const mostClasses = 4

// linkClasses tells how many links there are of each latency and bandwidth, the most frequent
// first.
func linkClasses(t *model.Topology) []Fact {
	type class struct {
		alpha     model.Time
		bandwidth int64
	}
	count := map[class]int{}
	for _, k := range t.Links {
		count[class{k.Alpha, k.Bandwidth}]++
	}
	all := slices.SortedFunc(maps.Keys(count), func(a, b class) int {
		return cmp.Or(count[b]-count[a], cmp.Compare(a.bandwidth, b.bandwidth), cmp.Compare(a.alpha, b.alpha))
	})
	var facts []Fact
	for i, c := range all {
		if i == mostClasses {
			facts = append(facts, Fact{"and", fmt.Sprintf("%d classes of links more", len(all)-i)})
			break
		}
		facts = append(facts, Fact{fmt.Sprintf("%d links of", count[c]), fmt.Sprintf("%v, %.4g GB/s", c.alpha, float64(c.bandwidth)/1e9)})
	}
	return facts
}

// page fills the template. The JSON has no '<', which json.Marshal escapes.
func page(w io.Writer, h *head, packed []byte) error {
	j, err := json.Marshal(h)
	if err != nil {
		return err
	}
	return fill(w, pageHTML, [][2]string{
		{"{{script}}", source(scriptJS())}, {"{{style}}", source(pageCSS)}, {"{{title}}", html.EscapeString(h.Title)}, {"{{css}}", pageCSS}, {"{{head}}", string(j)},
		{"{{data}}", base64.StdEncoding.EncodeToString(packed)}, {"{{js}}", scriptJS()},
	})
}

// fill writes a template with a text for each of its marks, which come in this order.
func fill(w io.Writer, template string, parts [][2]string) error {
	for _, part := range parts {
		before, after, ok := strings.Cut(template, part[0])
		if !ok {
			return fmt.Errorf("the page has no %s", part[0])
		}
		for _, text := range []string{before, part[1]} {
			if _, err := io.WriteString(w, text); err != nil {
				return err
			}
		}
		template = after
	}
	_, err := io.WriteString(w, template)
	return err
}
