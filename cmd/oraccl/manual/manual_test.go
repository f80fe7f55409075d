package manual

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/topo"
	"github.com/oraccl/oraccl/verify"
	"github.com/oraccl/oraccl/verify/cert"
)

func all(t *testing.T) []Topic {
	keys, err := os.ReadFile("../JSON.md")
	require.NoError(t, err)
	topics := Topics(Program{Keys: string(keys), Methods: []Method{{Name: "m"}}, BusFactor: func(*model.Problem) float64 { return 1 }})
	require.NotEmpty(t, topics)
	return topics
}

// Every topic and part has a text, in lines of the terminal's width where it is ours to break.
func TestTopics(t *testing.T) {
	seen := map[string]bool{}
	for _, topic := range all(t) {
		require.False(t, seen[topic.Name], topic.Name)
		seen[topic.Name] = true
		require.Regexp(t, `^[A-Z][^\n]{8,90}[^.\n]$`, topic.Short)
		require.Equal(t, topic.Parts() == nil, topic.What == "", topic.Name)
		blocks, err := topic.Body()
		require.NoError(t, err)
		require.NotEmpty(t, Markdown(blocks))
		for _, line := range strings.Split(Terminal(blocks), "\n") {
			require.Equal(t, strings.TrimRight(line, " "), line)
			if _, raw := blocks[0].(Raw); !raw {
				require.LessOrEqual(t, utf8.RuneCountInString(line), width, "%s: %s", topic.Name, line)
			}
		}
		parts := map[string]bool{}
		for _, p := range topic.Parts() {
			require.False(t, parts[p.Name], "%s %s", topic.Name, p.Name)
			parts[p.Name] = true
			if topic.Name == "schema" {
				continue // the documents are the program's, whose tests have them
			}
			blocks, err := p.Body()
			require.NoError(t, err)
			require.NotEmpty(t, Terminal(blocks))
		}
	}
}

func TestTable(t *testing.T) {
	narrow := Table{[]string{"a", "b"}, [][]string{{"`x`", "1"}, {"yy", ""}}}
	require.Equal(t, "a   b\nx   1\nyy\n", Terminal([]Block{narrow}))
	require.Equal(t, "| a | b |\n|---|---|\n| `x` | 1 |\n| yy | |\n", Markdown([]Block{narrow}))
	long := strings.Repeat("word ", 30)
	wide := Table{[]string{"a", "b"}, [][]string{{"x", long}}}
	require.Equal(t, "a  b\nx  "+strings.TrimSpace(strings.Repeat("word ", 18))+"\n   "+strings.TrimSpace(strings.Repeat("word ", 12))+"\n", Terminal([]Block{wide}))
	wider := Table{[]string{"a", "b", "c"}, [][]string{{"x", long, "z|"}}}
	require.True(t, strings.HasPrefix(Terminal([]Block{wider}), "x\n  b  word"), Terminal([]Block{wider}))
	require.Contains(t, Markdown([]Block{wider}), `| z\| |`)
	require.Equal(t, "a &lt;b> `<c>`\n", Markdown([]Block{Para("a <b> `<c>`")}))
	require.Equal(t, "a <b> <c>\n", Terminal([]Block{Para("a <b> `<c>`")}))
}

func TestSections(t *testing.T) {
	all := sections(verify.Spec)
	numbers := map[string]string{}
	for i, s := range all {
		numbers[s.number] = s.text
		require.True(t, strings.HasPrefix(s.text, "#"), s.number)
		if i > 0 && !strings.Contains(s.number, ".") {
			require.NotContains(t, all[i-1].text, s.text)
		}
	}
	require.Contains(t, numbers["10"], numbers["10.3"])
	require.NotContains(t, numbers["10.3"], "### 10.4")
	// Every section that is cited can be asked for.
	for _, c := range verify.Codes() {
		e, _ := verify.Explain(c)
		spec := specTopic()
		_, found := spec.Part(e.Rule)
		require.True(t, found, "%s: section %s", c, e.Rule)
	}
}

func TestExamplesOfFamilies(t *testing.T) {
	families := topo.List()
	require.Len(t, examples, len(families))
	for _, f := range families {
		require.True(t, examples[f.Name] == f.Name || strings.HasPrefix(examples[f.Name], f.Name+":"), f.Name)
	}
}

// The schema of certificates has the kinds of witnesses that there are.
func TestWitnesses(t *testing.T) {
	var want []string
	for _, k := range cert.Kinds() {
		want = append(want, k.Name)
	}
	require.ElementsMatch(t, want, model.WitnessKinds())
}

// The units are those that the parsers name in their errors.
func TestUnits(t *testing.T) {
	_, err := model.ParseTime("1parsec")
	require.ErrorContains(t, err, "want "+or(timeUnits))
	_, err = model.ParseBytes("1parsec")
	long := slices.DeleteFunc(slices.Clone(byteUnits), func(u string) bool { return len(u) == 1 && u != "B" }) // K, M, G, T: understood, not asked for
	require.ErrorContains(t, err, "want "+or(long))
	for _, good := range []string{"0", "500ns", "1.2ms", "1µs"} {
		_, err := model.ParseTime(good)
		require.NoError(t, err)
	}
	for _, bad := range []string{"1", "0.5ps", "-1ns", "4611687s"} {
		_, err := model.ParseTime(bad)
		require.Error(t, err, bad)
	}
	for _, good := range []string{"7", "8MiB", "1.5GB", "3kB"} {
		_, err := model.ParseBytes(good)
		require.NoError(t, err)
	}
	_, err = model.ParseRate("400Gb/s")
	require.Error(t, err)
}

func or(list []string) string {
	return regexp.MustCompile(` and (\S+)$`).ReplaceAllString(words(list), " or $1")
}

func TestFormula(t *testing.T) {
	require.Equal(t, "n²", formula(4, 25))
	require.Equal(t, "7 for 2 ranks, 9 for 5", formula(7, 9))
}
