package view

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/course"
)

// handshake is a plan of two ranks, each with one threadblock: signals and waits of both, a join
// between, in either order.
func handshake(waitFirst bool) *model.Plan {
	p := &model.Plan{Ranks: 2, Message: 64, Counters: []model.PlanCounter{{Name: "memory channel 0 of gpu 0 to gpu 1", From: 0, To: 1}, {Name: "memory channel 0 of gpu 1 to gpu 0", From: 1, To: 0}}}
	for r := range 2 {
		signal := model.PlanOp{Verb: model.PlanSignal, Name: "signal", IDs: []int{r}}
		wait := model.PlanOp{Verb: model.PlanWait, Name: "wait", IDs: []int{1 - r}}
		ops := []model.PlanOp{signal, {Verb: model.PlanJoin, Name: "nop"}, wait}
		if waitFirst {
			ops[0], ops[2] = ops[2], ops[0]
		}
		for i := range ops {
			ops[i].Label, ops[i].Line = i, 10*r+i+1
		}
		p.Blocks = append(p.Blocks, model.PlanBlock{Rank: r, Ops: ops})
	}
	return p
}

func pictured(t *testing.T, p *model.Plan, v Verdict) (page, svg string) {
	c, err := course.Run(t.Context(), p, nil)
	require.NoError(t, err)
	pic := &PlanPicture{Title: "a<b>.plan.json", Course: c, Verdict: v}
	var a, b bytes.Buffer
	require.NoError(t, PlanHTML(&a, pic))
	require.NoError(t, PlanSVG(&b, pic))
	for d := xml.NewDecoder(bytes.NewReader(b.Bytes())); ; {
		_, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
	}
	for _, text := range []string{a.String(), b.String()} {
		require.NotContains(t, text, "<b>")
		require.NotContains(t, text, "<script")
	}
	return a.String(), b.String()
}

// TestPlanPicture: waits are arrows, what is wrong is red, and hostile text stays text.
func TestPlanPicture(t *testing.T) {
	red := `stroke="` + inkBad + `"`
	page, svg := pictured(t, handshake(false), Verdict{Outcome: "proved", Claim: "performs <script>alert(1)</script>"})
	require.NotContains(t, svg, red)
	require.Equal(t, 2, strings.Count(svg, "marker-end"))
	require.Contains(t, svg, "gpu 1 tb 0 op 2 (wait), line 13")
	require.Contains(t, page, "default-src 'none'; style-src 'sha256-")
	require.Contains(t, page, "@media (prefers-color-scheme: dark) { :root { color-scheme: dark; --bg: #")

	page, svg = pictured(t, handshake(true), Verdict{Outcome: "refuted"})
	require.Equal(t, 4, strings.Count(svg, red), "two operations and two arrows")
	require.Contains(t, page, "gpu 0 tb 0 op 0 (wait) waits for signal 1 of memory channel 0 of gpu 1 to gpu 0, which comes with gpu 1 tb 0 op 2 (signal), and that after gpu 1 tb 0 op 0 (wait), which waits itself.")

	stuck := Violation{Code: "deadlock", Where: "gpu 0 tb 0 op 0 (wait)", Message: "2 of 2 threadblocks wait for ever, so does gpu 1 tb 0 op 0 (wait)"}
	_, svg = pictured(t, handshake(true), Verdict{Outcome: "refuted", Violations: []Violation{stuck}})
	require.Equal(t, 4, strings.Count(svg, red), "no line beside the arrows of the cycle")

	race := Violation{Code: "read-write-race", Where: "gpu 1 tb 0 op 2 (wait)", Message: "reads o of gpu 0 from byte 0 on, which gpu 0 tb 0 op 0 (signal) writes, and nothing orders the two"}
	_, svg = pictured(t, handshake(false), Verdict{Outcome: "refuted", Violations: []Violation{race}})
	require.Equal(t, 3, strings.Count(svg, red), "two operations and what links them")
}
