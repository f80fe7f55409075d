package experiment

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/cmd/oraccl/experiment/report"
	"github.com/oraccl/oraccl/cmd/oraccl/strict"
	"github.com/oraccl/oraccl/solve/certify"
	"github.com/oraccl/oraccl/testdata/published"
)

// reported runs a file with its tables.
func reported(t *testing.T, full bool, file string, tables map[string]string) (*report.Report, error) {
	t.Helper()
	f, err := Read("x.yaml", strings.NewReader(file))
	if err != nil {
		return nil, err
	}
	dir := fstest.MapFS{}
	for name, text := range tables {
		dir[name] = &fstest.MapFile{Data: []byte(text)}
	}
	f.Replace(dir, "tables")
	x := &Runner{Evaluator: &certify.Evaluator{Scratch: t.TempDir(), Named: true, Progress: certify.Silent{}}, Full: full, Store: &Store{}}
	return x.Report(t.Context(), f)
}

// rowsOf has a line for each row: what is compared, and what comes of it.
func rowsOf(r *report.Report) string {
	var b strings.Builder
	for _, s := range r.Sections {
		for _, row := range s.Rows {
			fmt.Fprintf(&b, "%s|%s|%s|%s|%s|%s|%s\n", row.Instance, row.Published, row.Ours, row.Bound, row.Verdict, row.By, row.Why)
		}
	}
	return b.String()
}

const header = "n,what,value,source,where,certainty,reason\n"

func csvLine(n, what, value string) string {
	if value == "" {
		return fmt.Sprintf("%s,%s,,a paper,p,,torn\n", n, what)
	}
	return fmt.Sprintf("%s,%s,%s,a paper,p,certain,\n", n, what, value)
}

// TestVerdicts: a row agrees within half of the last digit that was printed, else the less
// is better; what is not comparable, not computed or not published has its reason.
func TestVerdicts(t *testing.T) {
	// A ring of n ranks in one direction takes n-1 hops of 2 us.
	const sections = `title: T
instance: {topology: "ring:${n}", alpha: 1us, bandwidth: 1GB/s, collective: allgather, size: "${n}kB", chunks: 1}
sections:
  - name: s
    title: S
    table: t.csv
    columns: {n: int, what: text, value: number}
    compute: {ring: {if: what != "late", else: ours is computed elsewhere, methods: ring}}
    rows:
      - instance: ${n} ${what}
        quantity: us
        ours: ring.makespan / 1e6
        bound: ring.bound / 1e6
        not_comparable: {what == "apples": theirs are apples, what == "apples" && n > 3: "pears, too"}
        never: {what == "wrong" && worse: "${ours} against ${value}"}
        why:
          better: by ${percent(value, ours)}
          worse: by ${percent(ours, value)}
          ours == bound: and none is faster
`
	r, err := reported(t, false, sections, map[string]string{"t.csv": header + csvLine("3", "rounded", "4.04") + csvLine("3", "x", "4.0") + csvLine("3", "x", "4.1") + csvLine("3", "x", "3.9") +
		csvLine("5", "apples", "1") + csvLine("3", "late", "4") + csvLine("3", "none", "")})
	require.NoError(t, err)
	require.NoError(t, r.Check())
	require.Equal(t, `3 rounded|4.04|4|2|better|ring|by 1.0 %
3 x|4.0|4|2|agrees|ring|
3 x|4.1|4|2|better|ring|by 2.5 %
3 x|3.9|4|2|worse|ring|by 2.6 %
5 apples|1|8|4|not comparable|ring|theirs are apples
3 late|4|||not comparable||ours is computed elsewhere
3 none||4|2|not published|ring|torn
`, rowsOf(r))
	require.Equal(t, "replay, smt", r.Sections[0].Rows[0].Proved)
	require.Equal(t, "tables/t.csv", r.Sections[0].Table)

	_, err = reported(t, false, sections, map[string]string{"t.csv": header + csvLine("3", "wrong", "1")})
	require.EqualError(t, err, "x.yaml:15 on t.csv:2: 3 wrong, us: 4 against 1")
}

// TestLines: one line of several is the least, or has them all; a grid is a product; a line
// may name one of a section above.
func TestLines(t *testing.T) {
	r, err := reported(t, true, `title: T
sections:
  - name: least
    title: L
    table: t.csv
    columns: {n: int, what: text, value: number}
    only: what != "c"
    least: {by: [n], value: value}
    rows: [{instance: "${n} ${what}", quantity: q, ours: value}]
  - name: pivot
    title: P
    table: t.csv
    columns: {n: int, what: a|b|c, value: number}
    pivot: {by: [n], on: what}
    rows:
      - {instance: "${n} a", quantity: q, published: said.a, ours: said.b.value, better: more}
      - {instance: "${n} c", quantity: q, published: said.c, ours: said.c.value}
  - name: grid
    title: G
    grid: {n: 3..4, of: [{k: x, f: 1.5}, {k: y}], w: plain}
    only: full || k == "y"
    join:
      here: {section: least, by: {n: n}}
      last: {section: least, greatest: n}
    rows: [{instance: "${n} ${k} ${f} ${w} ${here.what} ${last.n}", quantity: q, unpublished: no, ours: f, digits: 2}]
figures:
  - name: f
    title: F
    of: [grid, least]
    only: n < 4
    x: {name: n}
    y: {name: f}
    series: [{name: "${k}", x: n, y: f}]
    table: {n: "${n}", k: "${k}", value: "${value}"}
`, map[string]string{"t.csv": header + csvLine("4", "a", "7") + csvLine("4", "b", "5") + csvLine("4", "c", "1") + csvLine("3", "a", "2")})
	require.NoError(t, err)
	require.Equal(t, `4 b|5|5||agrees||
3 a|2|2||agrees||
4 a|7|5||worse||
4 c|1|1||agrees||
3 a|2|||not comparable||
3 x 1.5 plain a 4||1.50||not published||no
3 y  plain a 4||||not published||no
4 x 1.5 plain b 4||1.50||not published||no
4 y  plain b 4||||not published||no
`, rowsOf(r))
	require.Equal(t, [][]string{{"n", "k", "value"}, {"3", "x", ""}, {"3", "y", ""}, {"3", "", "2"}}, r.Figures[0].Table)
	require.True(t, bytes.Contains(r.Figures[0].SVG, []byte("<svg")))
}

// TestPivotTwice: two lines that say the same word of the same thing are an error.
func TestPivotTwice(t *testing.T) {
	_, err := reported(t, false, `title: T
sections:
  - {name: p, title: P, table: t.csv, columns: {n: int, what: text, value: number}, pivot: {by: [n], on: what}}
`, map[string]string{"t.csv": header + csvLine("4", "a", "7") + csvLine("4", "b", "7") + csvLine("4", "a", "8")})
	require.EqualError(t, err, `t.csv:4: another line has what "a", and is equal in n`)
}

// TestRead: what is wrong with a file is named with its line.
func TestRead(t *testing.T) {
	const section = "title: x\nsections:\n  - name: a\n    title: A\n    grid: {n: 1..2}\n"
	for text, want := range map[string]string{
		"":                                   "x.yaml:1: an empty file, want an experiment",
		"[]":                                 "x.yaml:1: want keys with values",
		"title: [x]":                         "x.yaml:1: want keys with values",
		"title: x":                           "x.yaml: want a title and sections",
		"title: x\ntitle: y":                 `x.yaml:2: mapping key "title" already defined`,
		"title: x\n  y: z":                   "x.yaml:2: mapping values are not allowed",
		section + "    row: []":              `x.yaml:6: unknown key "row", want one of name, title, about, table, columns, least, pivot, grid, only, join, define, instance, compute, rows`,
		section + "    table: t":             "x.yaml: section a: want either a table or a grid",
		section + "    only: m":              "x.yaml:6: unknown name m, want one of full, n, none",
		section + "    only: n >":            `x.yaml:6: "n >": expected operand`,
		section + "    only: [n]":            "x.yaml:6: want a value",
		section + "    about: ${n":           `x.yaml:6: "${n": a ${ without its }`,
		section + "    define: {ours: 1}":    "x.yaml:6: the name ours is reserved",
		section + "    define: {n: 1}":       "x.yaml:6: the name n has a meaning already",
		section + "    define: {a: b, b: 1}": "x.yaml:6: unknown name b",
		section + "    define: {a: 1, a: 2}": `x.yaml:6: "a" is there already`,
		section + "    compute: {a: {}}":     "x.yaml: section a: compute a: want either methods, or a measure: breakeven",
		section + "    compute: {a: {measure: magic}}":                               "x.yaml: section a: compute a: want either methods, or a measure: breakeven",
		section + "    compute: {a: {methods: ring, sizes: 1}}":                      `x.yaml:6: unknown key "sizes", want one of topology, switches, fail`,
		section + "    rows: [{instance: x}]":                                        "x.yaml: section a: row 1: want an instance, a quantity",
		section + "    rows: [{instance: x, quantity: y}]":                           "x.yaml: section a: row 1: want published or unpublished",
		section + "    rows: [{instance: x, quantity: y, ours: z}]":                  "x.yaml: section a: row 1: want published or unpublished",
		section + "    join: {b: {section: c, by: {n: n}}}":                          "x.yaml: section a: join b: want a section above",
		section + "    pivot: {by: [n], on: n}":                                      "x.yaml: section a: columns, least and pivot go with a table",
		section + "figures: [{name: f, title: F, of: b}]":                            `x.yaml:6: figure f: unknown section "b", want one of a`,
		section + "figures: [{name: f, title: F, of: a, x: {unit: miles}}]":          `x.yaml: figure f: unit "miles": want one of`,
		section + "figures: [{name: f, title: F, of: a, series: [{name: s, y: n}]}]": "x.yaml: figure f: a series: want name, y, and x",
		strings.Replace(section, "1..2", "2..1", 1):                                  `x.yaml:5: "2..1": want a range of at most`,
		strings.Replace(section, "1..2", "0..9999999", 1):                            `x.yaml:5: "0..9999999": want a range of at most`,
		section + "---\ntitle: y":                                                    "x.yaml: more than one document",
	} {
		_, err := Read("x.yaml", strings.NewReader(text))
		require.ErrorContains(t, err, want, "%s", text)
	}
	_, err := Read("x.yaml", strings.NewReader(strings.Repeat("#", strict.MaxFile+1)))
	require.ErrorContains(t, err, "want a small file")
}

// FuzzRead: no file makes the reader panic, and errors name the file.
func FuzzRead(f *testing.F) {
	for _, k := range Known() {
		b, err := published.Tables.ReadFile(k.Name + ".yaml")
		require.NoError(f, err)
		f.Add(string(b))
	}
	example, _ := Example()
	f.Add(example)
	f.Fuzz(func(t *testing.T, text string) {
		if _, err := Read("x.yaml", strings.NewReader(text)); err != nil {
			require.Contains(t, err.Error(), "x.yaml")
		}
	})
}
