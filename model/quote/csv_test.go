package quote

import (
	"bytes"
	"encoding/csv"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCell(t *testing.T) {
	for text, want := range map[string]string{
		"": "", "ring:4": "ring:4", "a=b": "a=b", "'=x": "'=x", "3": "3",
		"=cmd|' /C calc'!A0": "'=cmd|' /C calc'!A0", "+1+1": "'+1+1", "-2+3": "'-2+3", "@SUM(A1)": "'@SUM(A1)",
		"\t=1": "'\t=1", "\r=1": "'\r=1", "\n=1": "'\n=1", "-": "'-",
		"-1.5": "-1.5", "+7": "+7", "-1e-9": "-1e-9", "-Inf": "-Inf",
	} {
		require.Equal(t, want, Cell(text), "%q", text)
	}
}

// FuzzWriteCSV: whatever cells hold, they read back, and none but a number is a formula.
func FuzzWriteCSV(f *testing.F) {
	f.Add("=cmd|x.json", "a,b\"c\nd")
	f.Add("-1", "@")
	f.Fuzz(func(t *testing.T, a, b string) {
		var out bytes.Buffer
		require.NoError(t, WriteCSV(&out, [][]string{{a, b, "x"}, {"1", "2", "3"}}))
		rows, err := csv.NewReader(&out).ReadAll()
		require.NoError(t, err)
		require.Len(t, rows, 2)
		require.Equal(t, []string{"1", "2", "3"}, rows[1])
		for i, text := range []string{a, b} {
			got := rows[0][i]
			if got == text || got == "'"+text {
				continue
			}
			require.Contains(t, text, "\r", "%q became %q", text, got) // the reader drops it before \n
		}
	})
}
