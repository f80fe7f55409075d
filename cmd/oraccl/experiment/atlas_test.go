package experiment

import (
	"bytes"
	"context"
	"math"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/solve/certify"
	"github.com/oraccl/oraccl/testdata/published"
)

// keptAtlas is the report on the kept rows of the atlas, as the README has it.
const keptAtlas = `
title: The atlas
sections:
  - name: kept
    table: atlas/rows.csv
    columns: {COLUMNS}
    define: {above: 'when(gap == "none", none, number(gap))', large: bytes(size) >= bytes("8MiB"), took: 'when(seconds == "none", none, number(seconds))'}
figures:
  - name: atlas
    title: Above the bound for every cut, 0 (white) to 5 % and more (dark); grey, no schedule or no bound
    of: kept
    heat:
      row: ${topology}
      group: ${collective}
      column: ${size}
      value: 100 * above
      most: 5
      counts:
        optimal: optimal == "true"
        within 0.5 %: above <= 0.005
        within 1 %: above <= 0.01
        within 3 %: above <= 0.03
        within 5 %: above <= 0.05
        above 5 %: above > 0.05
        without a schedule or a bound: "!has(above)"
        meet their goal: goal_met == "true"
      worst: "${topology} ${collective} ${size}: ${percent(1 + above, 1)} above the bound (${bound_kind}), by ${by}; ${why}"
      lists:
        "The ten worst": above >= 0
        "The ten worst from 8 MiB up": large
  - name: seconds
    title: Seconds for a row
    of: kept
    heat: {row: "${topology}", column: "${size}", value: took, most: 5, counts: {took: has(took)}}
`

// TestAtlasInReadme: the counts and the worst rows of the atlas in the README are those of the
// kept rows. With UPDATE=1 it writes them, and the picture.
func TestAtlasInReadme(t *testing.T) {
	of, err := Named("atlas")
	require.NoError(t, err)
	var columns []string
	for _, c := range of.Sections[0].Columns {
		columns = append(columns, c.key+": "+string(c.value))
	}
	f, err := Read("atlas.yaml", strings.NewReader(strings.Replace(keptAtlas, "COLUMNS", strings.Join(columns, ", "), 1)))
	require.NoError(t, err)
	f.Replace(published.Tables, "testdata/published")
	x := &Runner{Evaluator: &certify.Evaluator{}, Store: &Store{}}
	r, err := x.Report(context.Background(), f)
	require.NoError(t, err)
	x.begin(of)
	x.Full = true
	base, err := x.base()
	require.NoError(t, err)
	lines, err := x.lines(base, of.Sections[1])
	require.NoError(t, err)
	counts := r.Figures[0].Counts
	require.Equal(t, strconv.Itoa(len(lines)), counts[1][len(counts[1])-1], "there is a kept row for each of the experiment")
	seconds := strings.TrimSuffix(r.Figures[1].Text[0], ".")
	want := r.Figures[0].Told() + "\nSeconds for a row: " + strings.ToLower(seconds[:1]) + seconds[1:] + ".\n"

	b, err := os.ReadFile("../../../README.md")
	require.NoError(t, err)
	block := regexp.MustCompile(`(?s)<!-- atlas -->\n(.*?)<!-- /atlas -->\n`)
	if os.Getenv("UPDATE") != "" {
		b = block.ReplaceAllLiteral(b, []byte("<!-- atlas -->\n"+want+"<!-- /atlas -->\n"))
		require.NoError(t, os.WriteFile("../../../README.md", b, 0o644))
		_, err := x.prepare(f)
		require.NoError(t, err)
		h, err := x.heat(f.Figures[0], r.Figures[0].Title, x.sections["kept"])
		require.NoError(t, err)
		h.Plain = true
		var picture bytes.Buffer
		require.NoError(t, h.Write(&picture, "png"))
		require.NoError(t, os.WriteFile("../../../testdata/published/atlas/atlas.png", picture.Bytes(), 0o644))
	}
	found := block.FindSubmatch(b)
	require.NotNil(t, found, "the README has no section between <!-- atlas --> and <!-- /atlas -->")
	require.Equal(t, want, string(found[1]), "UPDATE=1 writes it")
}

// TestAtlasAddsUp: what is kept of a row follows from its makespan and its bounds.
func TestAtlasAddsUp(t *testing.T) {
	of, err := Named("atlas")
	require.NoError(t, err)
	x := &Runner{Store: &Store{}}
	x.begin(of)
	base, err := x.base()
	require.NoError(t, err)
	lines, err := x.lines(base, of.Sections[0])
	require.NoError(t, err)
	require.NotEmpty(t, lines)
	for _, l := range lines {
		cell := func(name string) string { return l.scope.Names[name].String() }
		value, err := strconv.ParseFloat(cell("value"), 64)
		bound, none := strconv.ParseFloat(cell("bound_us"), 64)
		if err != nil || none != nil {
			require.Equal(t, "none", cell("gap"), l.place)
			require.Equal(t, "false", cell("goal_met"), l.place)
			continue
		}
		gap, err := strconv.ParseFloat(cell("gap"), 64)
		require.NoError(t, err, l.place)
		require.InDelta(t, value/bound-1, gap, 2e-6, l.place)
		require.Equal(t, value == bound, cell("optimal") == "true", l.place)
		goal := .03
		if s := cell("size"); s == "8MiB" || s == "64MiB" || s == "1GiB" {
			goal = .005
		}
		if math.Abs(gap-goal) > 2e-6 {
			require.Equal(t, gap < goal, cell("goal_met") == "true", l.place)
		}
		if own, err := strconv.ParseFloat(cell("own_bound_us"), 64); err == nil {
			require.LessOrEqual(t, own, value, l.place)
			require.GreaterOrEqual(t, own, bound, l.place)
		}
	}
}
