package quote_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/oraccl/oraccl/model/quote"
)

func ExampleName() {
	fmt.Println(quote.Name("out/bound-cut-8-chunks.json"))
	fmt.Println(quote.Name("x.json: performs\noptimal y.json"))
	// Output:
	// out/bound-cut-8-chunks.json
	// "x.json: performs\noptimal y.json"
}

func TestName(t *testing.T) {
	for name, want := range map[string]string{
		"schedule-ring.json":     "schedule-ring.json",
		"../a/b_c+d=1,2@3%4#5:6": "../a/b_c+d=1,2@3%4#5:6",
		"":                       `""`,
		"two words":              `"two words"`,
		"a\nb":                   `"a\nb"`,
		"\x1b[2Kproved":          `"\x1b[2Kproved"`,
		"\xff":                   `"\xff"`,
		"a\u202eb":               `"a\u202eb"`,
		"größe":                  `"größe"`,
		`"`:                      `"\""`,
		"a\\nb":                  `"a\\nb"`,
		"\u2028":                 `"\u2028"`,
		"a\u00a0b":               `"a\u00a0b"`,
	} {
		require.Equal(t, want, quote.Name(name))
	}
}

func TestLine(t *testing.T) {
	for text, want := range map[string]string{
		"on dgx1: größer, \"so\"": "on dgx1: größer, \"so\"",
		"a\nb\tc\r":               `a\nb\tc\r`,
		"\x1b[31m":                `\x1b[31m`,
		"\xc3(":                   `\xc3(`,
		"\u2029\u202e":            `\u2029\u202e`,
		"\ufffd":                  "\ufffd",
	} {
		require.Equal(t, want, quote.Line(text))
	}
}

// TestQuoted: what comes back has no character that cannot be printed, and a name can be
// told from every other.
func TestQuoted(t *testing.T) {
	text := rapid.OneOf(rapid.String(), rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) }))
	rapid.Check(t, func(r *rapid.T) {
		s := text.Draw(r, "text")
		for _, out := range []string{quote.Name(s), quote.Line(s)} {
			require.NotContains(r, out, "\n")
			require.False(r, strings.ContainsFunc(out, func(c rune) bool { return !unicode.IsPrint(c) }), "%q", out)
		}
		if out := quote.Name(s); strings.HasPrefix(out, `"`) {
			back, err := strconv.Unquote(out)
			require.NoError(r, err)
			require.Equal(r, s, back)
		} else {
			require.Equal(r, s, out)
			require.NotContains(r, out, " ")
		}
	})
}
