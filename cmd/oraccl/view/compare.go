package view

import (
	"bytes"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html"
	"io"
	"strings"
)

//go:embed page/compare.html
var compareHTML string

//go:embed page/compare.css
var compareCSS string

//go:embed page/compare.js
var compareJS string

// comparison is what the page of two pictures is told.
type comparison struct {
	Title string     `json:"title"`
	Lines []string   `json:"lines"` // what is to be said of the two
	Unit  string     `json:"unit"`
	Until int64      `json:"until"`
	Opens int64      `json:"opens"` // when both are half way at most
	Idle  [][3]int64 `json:"idle"`
	Names []string   `json:"names"`
}

// Compare writes one page with two pictures beside each other on one clock: idle time is drawn
// short where both are idle. That one has times and the other an order alone is an error.
func Compare(w io.Writer, a, b *Picture) error {
	pics := []*Picture{a, b}
	var all []*moments
	for _, p := range pics {
		m, err := when(p.Problem, p.Schedule)
		if err != nil {
			return fmt.Errorf("%s: %w", p.Title, err)
		}
		all = append(all, m)
	}
	if all[0].steps != all[1].steps {
		return fmt.Errorf("%s and %s: one has times and the other an order alone, so that they have no clock in common", a.Title, b.Title)
	}
	c := clockOf(all...)
	head := comparison{Title: a.Title + " and " + b.Title, Lines: against(a, b, all), Unit: "ps", Until: int64(c.end), Opens: int64(min(all[0].last, all[1].last)) / 2, Idle: [][3]int64{}, Names: []string{a.Title, b.Title}}
	if all[0].steps {
		head.Unit = "step"
	}
	for _, i := range c.idle {
		head.Idle = append(head.Idle, [3]int64{int64(i.From), int64(i.To), int64(c.short(i))})
	}
	j, err := json.Marshal(head) // it escapes '<'
	if err != nil {
		return err
	}
	var frames [2]string
	for i, p := range pics {
		var one bytes.Buffer
		if err := p.page(&one, all[i], c, true); err != nil {
			return err
		}
		frames[i] = base64.StdEncoding.EncodeToString(one.Bytes())
	}
	script, style := Sources()
	own := "\n" + coreJS + compareJS + "\n"
	return fill(w, compareHTML, [][2]string{
		{"{{script}}", source(own) + " " + script}, {"{{style}}", source(compareCSS) + " " + style}, {"{{title}}", html.EscapeString(head.Title)}, {"{{css}}", compareCSS},
		{"{{head}}", string(j)}, {"{{first}}", frames[0]}, {"{{second}}", frames[1]}, {"{{js}}", own},
	})
}

// against states how two pictures compare.
func against(a, b *Picture, all []*moments) []string {
	var lines []string
	same := func(what string, x, y any) {
		if fmt.Sprint(x) != fmt.Sprint(y) {
			lines = append(lines, fmt.Sprintf("They are not of one problem: the %s is %v in %s, and %v in %s.", what, x, a.Title, y, b.Title))
		}
	}
	p, q := a.Problem, b.Problem
	same("network", p.Topology.Name, q.Topology.Name)
	same("number of ranks", p.Topology.Ranks, q.Topology.Ranks)
	same("collective", p.Collective.Kind, q.Collective.Kind)
	same("size in bytes", p.Size, q.Size)
	same("cost model", p.Cost, q.Cost)
	switch x, y := all[0].last, all[1].last; {
	case x == y:
		lines = append(lines, "Both end at the same time.")
	case x > y && y > 0:
		lines = append(lines, fmt.Sprintf("%s takes %.4g times as long as %s.", a.Title, float64(x)/float64(y), b.Title))
	case x < y && x > 0:
		lines = append(lines, fmt.Sprintf("%s takes %.4g times as long as %s.", b.Title, float64(y)/float64(x), a.Title))
	}
	for _, p := range []*Picture{a, b} {
		if p.Verdict.Outcome != "proved" {
			lines = append(lines, fmt.Sprintf("%s is %s, so that its time counts for nothing.", p.Title, strings.ToLower(p.Verdict.Outcome)))
		}
	}
	return lines
}
