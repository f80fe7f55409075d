package repro

import (
	"bytes"
	"context"
	"encoding/csv"
	"errors"
	"html"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

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
		p := &Published{text: map[string]string{}, numbers: map[string]float64{}}
		require.NoError(t, p.set("value", "number", test.published))
		require.Equal(t, test.want, Judge(p.numbers["value"], test.ours, HalfDigit(test.published), test.sense), "%v", test)
	}
}

const head2 = "ranks,quantity,value,source,where,certainty,reason\n"

func load(table string) ([]*Published, error) {
	return Load(fstest.MapFS{"paper/table.csv": {Data: []byte(table)}}, "paper/table.csv", "ranks:int", "quantity:rounds|speedup", "value:number")
}

func TestLoad(t *testing.T) {
	all, err := load("# a comment\n" + head2 + "4,rounds,9,a paper,table 2,certain,\n8,speedup,,a paper,,,\"torn, illegible\"\n")
	require.NoError(t, err)
	require.Len(t, all, 2)
	require.Equal(t, 4, all[0].Int("ranks"))
	require.Equal(t, "rounds", all[0].Text("quantity"))
	require.Equal(t, 9.0, all[0].Number)
	r := all[0].Row("4 ranks", "rounds")
	require.Equal(t, &Row{Instance: "4 ranks", Quantity: "rounds", Published: "9", Source: "a paper", Where: "table 2", Certainty: "certain"}, r)
	r = all[1].Row("8 ranks", "speed-up")
	require.Equal(t, NotPublished, r.Verdict)
	require.Equal(t, "torn, illegible", r.Why)
}

// TestLoadNames: what is malformed is named with its file and line.
func TestLoadNames(t *testing.T) {
	good := "4,rounds,9,a paper,table 2,certain,\n"
	for name, test := range map[string]struct{ table, want string }{
		"nothing":         {"", "paper/table.csv: no columns, want value, source, where, certainty, reason, ranks, quantity"},
		"no lines":        {head2, "paper/table.csv: no values"},
		"no column":       {"ranks,value,source,where,certainty,reason\n" + good, `paper/table.csv:1: no column "quantity"`},
		"another column":  {"ranks,quantity,value,source,where,certainty,reason,note\n", `paper/table.csv:1: column "note": want`},
		"a column twice":  {"ranks,ranks,quantity,value,source,where,certainty,reason\n", `paper/table.csv:1: column "ranks"`},
		"few cells":       {head2 + good + "4,rounds\n", "paper/table.csv: record on line 3: wrong number of fields"},
		"open quote":      {head2 + `"4,rounds`, "paper/table.csv: parse error on line 2"},
		"not a number":    {"# one\n# two\n" + head2 + "4,rounds,nine,a paper,table 2,certain,\n", `paper/table.csv:4: value "nine": want a number such as 1.127`},
		"an exponent":     {head2 + "4,rounds,9e3,a paper,table 2,certain,\n", `paper/table.csv:2: value "9e3"`},
		"not a rank":      {head2 + "four,rounds,9,a paper,table 2,certain,\n", `paper/table.csv:2: ranks "four": want a whole number`},
		"negative":        {head2 + "-4,rounds,9,a paper,table 2,certain,\n", `paper/table.csv:2: ranks "-4"`},
		"another word":    {head2 + "4,laps,9,a paper,table 2,certain,\n", `paper/table.csv:2: quantity "laps": want rounds or speedup`},
		"blanks":          {head2 + "4,rounds, 9,a paper,table 2,certain,\n", `paper/table.csv:2: value " 9": blanks around it`},
		"no source":       {head2 + "4,rounds,9,,table 2,certain,\n", "paper/table.csv:2: no source"},
		"no reason":       {head2 + "4,rounds,,a paper,table 2,,\n", "paper/table.csv:2: neither a value nor a reason"},
		"both":            {head2 + "4,rounds,9,a paper,table 2,certain,illegible\n", `paper/table.csv:2: a value, "9", and a reason`},
		"how sure":        {head2 + "4,rounds,9,a paper,table 2,,\n", `paper/table.csv:2: certainty "": want certain or measured or secondary or recalled`},
		"sure of nothing": {head2 + "4,rounds,,a paper,table 2,certain,illegible\n", `paper/table.csv:2: certainty "certain" of no value`},
		"second line":     {head2 + good + "5,rounds,x,a paper,table 2,certain,\n", `paper/table.csv:3: value "x"`},
	} {
		_, err := load(test.table)
		require.ErrorContains(t, err, test.want, name)
	}
	_, err := Load(fstest.MapFS{}, "paper/table.csv")
	require.EqualError(t, err, "paper/table.csv: no such table of published values")
}

func FuzzLoad(f *testing.F) {
	f.Add("# a comment\n" + head2 + "4,rounds,9,a paper,table 2,certain,\n8,speedup,,a paper,,,illegible\n")
	f.Add(head2 + "4,rounds\n")
	f.Fuzz(func(t *testing.T, table string) {
		all, err := load(table)
		if err != nil {
			require.Contains(t, err.Error(), "paper/table.csv")
			return
		}
		for _, p := range all {
			require.Equal(t, p.Value == "", p.Reason != "")
			require.NotEmpty(t, p.Source)
		}
	})
}

func TestStore(t *testing.T) {
	dir := t.TempDir()
	calls := 0
	compute := func() (map[string]int, error) {
		calls++
		return map[string]int{"x": calls}, nil
	}
	open := func(stamp string) *Store {
		s, err := Open(filepath.Join(dir, "kept"), stamp)
		require.NoError(t, err)
		return s
	}
	get := func(s *Store, key string) int {
		v, err := Keep(s, key, compute)
		require.NoError(t, err)
		return v["x"]
	}
	require.Equal(t, 1, get(open("a"), "k"))
	require.Equal(t, 1, get(open("a"), "k"), "kept")
	require.Equal(t, 2, get(open("a"), "another"))
	require.Equal(t, 3, get(open("b"), "k"), "of another program")
	require.Equal(t, 3, get(open("b"), "k"))
	require.Equal(t, 4, get(&Store{}, "k"), "a store that keeps nothing")

	files, err := filepath.Glob(filepath.Join(dir, "kept", "*.json"))
	require.NoError(t, err)
	require.Len(t, files, 2)
	for _, name := range files { // what is cut short or damaged is computed again
		b, err := os.ReadFile(name)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(name, b[:len(b)/2], 0o644))
	}
	require.Equal(t, 5, get(open("b"), "k"))
	require.Equal(t, 5, get(open("b"), "k"))

	_, err = Keep(open("b"), "fails", func() (int, error) { return 7, context.Canceled })
	require.ErrorIs(t, err, context.Canceled)
	v, err := Keep(open("b"), "fails", func() (int, error) { return 8, nil })
	require.NoError(t, err)
	require.Equal(t, 8, v, "an error is not kept")

	require.NoError(t, os.RemoveAll(filepath.Join(dir, "kept"))) // as if the disk were gone
	s := &Store{dir: filepath.Join(dir, "kept"), stamp: "b"}
	_, err = Keep(s, "k", compute)
	require.ErrorContains(t, err, "cannot be kept")
}

// small is a report with everything in it, some of it hostile.
func small() *Report {
	return &Report{
		Name: "small", Title: "A <script> & a|pipe", Source: "Someone, a paper", About: "One.\n\nTwo.",
		Made: Made{Oraccl: "v1, revision abc", Go: "go1", HiGHS: "1.10", Z3: "4.8", CaDiCaL: "1.7", Seed: 7, TimeLimit: "1m0s", Setting: "quick"},
		Sections: []*Section{{Name: "times", Title: "Times", Table: "testdata/published/small/times.csv", About: "Microseconds.", Rows: []*Row{
			{Instance: "ring:4", Quantity: "us", Published: "10", Source: "Someone, a paper", Where: "table 1", Certainty: "certain", Ours: "10", Bound: "10", Certificate: "cut", Verdict: Agrees, By: "tacos", Proved: "replay, smt"},
			{Instance: "<b>ring</b>:8", Quantity: "us", Published: "20", Source: "Someone, a paper", Where: "table 1", Certainty: "recalled", Ours: "19", Verdict: Better, Why: "Five | per cent.", By: "tacos", Proved: "replay, smt", Seconds: 1.5},
			{Instance: "ring:16", Quantity: "us", Source: "Another", Verdict: NotPublished, Why: "not found"},
		}}},
		Figures: []*Figure{{Name: "growth", Title: "Growth", Table: [][]string{{"x", "y"}, {"1", "2"}}, SVG: []byte("<svg></svg>")}, {Name: "table", Title: "No chart", Table: [][]string{{"x"}}}},
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

// TestNoHalfFile: what cannot be written leaves nothing.
func TestNoHalfFile(t *testing.T) {
	dir := t.TempDir()
	target := filepath.Join(dir, "is-a-directory")
	require.NoError(t, os.Mkdir(target, 0o755))
	err := WriteFile(target, []byte("x"))
	var link *os.LinkError
	require.True(t, errors.As(err, &link), "%v", err)
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, left, 1)
}
