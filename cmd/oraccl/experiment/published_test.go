package experiment

import (
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"
)

const head2 = "ranks,quantity,value,source,where,certainty,reason\n"

func loaded(table string) ([]*said, error) {
	return load(fstest.MapFS{"paper/table.csv": {Data: []byte(table)}}, "paper/table.csv", "ranks:int", "quantity:rounds|speedup", "value:number")
}

func TestLoad(t *testing.T) {
	all, err := loaded("# a comment\n" + head2 + "4,rounds,9,a paper,table 2,certain,\n8,speedup,,a paper,,,\"torn, illegible\"\n")
	require.NoError(t, err)
	require.Len(t, all, 2)
	require.Equal(t, "paper/table.csv:3", all[0].place)
	require.Equal(t, map[string]string{"ranks": "4", "quantity": "rounds", "value": "9", "source": "a paper", "where": "table 2", "certainty": "certain", "reason": ""}, all[0].text)
	require.Equal(t, "torn, illegible", all[1].text["reason"])
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
		_, err := loaded(test.table)
		require.ErrorContains(t, err, test.want, name)
	}
	_, err := load(fstest.MapFS{}, "paper/table.csv")
	require.EqualError(t, err, "paper/table.csv: no such table of published values")
}

func FuzzLoad(f *testing.F) {
	f.Add("# a comment\n" + head2 + "4,rounds,9,a paper,table 2,certain,\n8,speedup,,a paper,,,illegible\n")
	f.Add(head2 + "4,rounds\n")
	f.Fuzz(func(t *testing.T, table string) {
		all, err := loaded(table)
		if err != nil {
			require.Contains(t, err.Error(), "paper/table.csv")
			return
		}
		for _, p := range all {
			require.Equal(t, p.text["value"] == "", p.text["reason"] != "")
			require.NotEmpty(t, p.text["source"])
		}
	})
}
