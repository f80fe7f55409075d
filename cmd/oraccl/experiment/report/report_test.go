package report

import (
	"bytes"
	"encoding/csv"
	"html"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestJudge(t *testing.T) {
	for _, test := range []struct {
		published string
		ours      float64
		sense     Sense
		want      Verdict
	}{
		{"1.127", 1.12749, More, Agrees},
		{"1.127", 1.12751, More, Better},
		{"1.127", 1.12751, Less, Worse},
		{"1.127", 1.12649, More, Worse},
		{"65000", 61879, Less, Better},
		{"65000", 65000.4, Less, Agrees},
		{"65000", 65001, Less, Worse},
		{"9606.0", 9606, Less, Agrees},
	} {
		published, err := strconv.ParseFloat(test.published, 64)
		require.NoError(t, err)
		require.Equal(t, test.want, Judge(published, test.ours, HalfDigit(test.published), test.sense), "%v", test)
	}
}

// small is a report with everything in it, some of it hostile.
func small() *Report {
	return &Report{
		Name: "small", Title: "A <script> & a|pipe", Source: "Someone, a paper", About: "One.\n\nTwo.",
		Made: Made{Oraccl: "v1, revision abc", Go: "go1", HiGHS: "1.10", Z3: "4.8", CaDiCaL: "1.7", Seed: 7, TimeLimit: "1m0s", Setting: "quick", Machine: "linux/amd64, cores: 2, threads: 2"},
		Sections: []*Section{{Name: "times", Title: "Times", Table: "testdata/published/small/times.csv", About: "Microseconds.", Rows: []*Row{
			{Instance: "ring:4", Quantity: "us", Published: "10", Source: "Someone, a paper", Where: "table 1", Certainty: "certain", Ours: "10", Bound: "10", Certificate: "cut", Verdict: Agrees, By: "tacos", Proved: "replay, smt"},
			{Instance: "<b>ring</b>:8", Quantity: "us", Published: "20", Source: "Someone, a paper", Where: "table 1", Certainty: "recalled", Ours: "19", Verdict: Better, Why: "Five | per cent.", By: "tacos", Proved: "replay, smt", Seconds: 1.5},
			{Instance: "ring:16", Quantity: "us", Source: "Another", Verdict: NotPublished, Why: "not found"},
		}}},
		Figures: []*Figure{{Name: "growth", Title: "Growth", Table: [][]string{{"x", "y"}, {"1", "2"}}, SVG: []byte("<svg></svg>"),
			Counts: [][]string{{"", "1KiB", "all"}, {"at <most> 1|2", "3", "4"}}, Text: []string{"The median is 1."}, Lists: []List{{"The worst", []string{"ring:4: *2*", "ring:8"}}}}, {Name: "table", Title: "No chart", Table: [][]string{{"x"}}}},
	}
}

func TestMarkdown(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, small().Check())
	require.NoError(t, small().Write(filepath.Join(dir, "small")))
	got, err := os.ReadFile(filepath.Join(dir, "small", "report.md"))
	require.NoError(t, err)
	golden := filepath.Join("testdata", "small.md")
	if os.Getenv("UPDATE") != "" {
		require.NoError(t, os.WriteFile(golden, got, 0o644))
	}
	want, err := os.ReadFile(golden)
	require.NoError(t, err)
	require.Equal(t, string(want), string(got), "UPDATE=1 writes %s", golden)

	b, err := os.ReadFile(filepath.Join(dir, "small", "rows.csv"))
	require.NoError(t, err)
	rows, err := csv.NewReader(bytes.NewReader(b)).ReadAll()
	require.NoError(t, err)
	require.Len(t, rows, 4)
	require.Equal(t, []string{"times", "<b>ring</b>:8", "us", "20", "19", "", "better", "Five | per cent.", "tacos", "replay, smt", "", "recalled", "Someone, a paper", "table 1", "1.500"}, rows[2])
	for _, name := range []string{"growth.csv", "growth.svg", "table.csv"} {
		require.FileExists(t, filepath.Join(dir, "small", name))
	}
	require.NoFileExists(t, filepath.Join(dir, "small", "table.svg"))
}

// TestIndex: the page has everything in it, fetches nothing, and text stays text.
func TestIndex(t *testing.T) {
	var b bytes.Buffer
	require.NoError(t, WriteIndex(&b, []*Report{small(), small()}))
	page := b.String()
	require.Equal(t, 2, strings.Count(page, "A &lt;script&gt; &amp; a|pipe</h2>"))
	require.NotContains(t, page, "<script")
	require.NotContains(t, page, "<b>")
	require.NotContains(t, page, "http")
	require.Equal(t, 2, strings.Count(html.UnescapeString(page), `src="data:image/svg+xml;base64,PHN2Zz48L3N2Zz4="`))
	require.Contains(t, page, `href="small/rows.csv"`)
	require.Contains(t, page, "3 rows: 1 agrees, 1 better, 1 not published")
	require.Contains(t, page, "seed 7")
}

func TestCheck(t *testing.T) {
	for name, spoil := range map[string]func(r *Row){
		"want one of":               func(r *Row) { r.Verdict = "fine" },
		"a verdict on nothing":      func(r *Row) { r.Ours = "" },
		"nothing explains":          func(r *Row) { r.Verdict, r.Why = Worse, "" },
		`"not published" with`:      func(r *Row) { r.Verdict = NotPublished },
		`"not comparable" with`:     func(r *Row) { r.Verdict, r.Published = NotComparable, "" },
		"no reason given":           func(r *Row) { r.Verdict, r.Why = NotComparable, "" },
		"row 2 (<b>ring</b>:8, us)": func(r *Row) { r.Verdict = "" },
	} {
		r := small()
		spoil(r.Sections[0].Rows[1])
		require.ErrorContains(t, r.Check(), name)
	}
}
