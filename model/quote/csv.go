package quote

import (
	"encoding/csv"
	"io"
	"strconv"
	"strings"
)

// Cell returns text as a cell of CSV: as it is, or after an apostrophe if a spreadsheet would
// take it for a formula, which text from a file, such as its name, may be on purpose. Numbers
// stay numbers.
func Cell(text string) string {
	if text == "" || !strings.ContainsRune("=+-@\t\r\n", rune(text[0])) {
		return text
	}
	if _, err := strconv.ParseFloat(text, 64); err == nil {
		return text
	}
	return "'" + text
}

// WriteCSV writes rows as CSV (RFC 4180) with lines that end in \n, every field as a Cell. All
// CSV of the program is written by it.
func WriteCSV(w io.Writer, rows [][]string) error {
	c := csv.NewWriter(w)
	for _, row := range rows {
		cells := make([]string, len(row))
		for i, text := range row {
			cells[i] = Cell(text)
		}
		if err := c.Write(cells); err != nil {
			return err
		}
	}
	c.Flush()
	return c.Error()
}
