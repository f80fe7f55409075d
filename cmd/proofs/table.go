package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// row is a line of the table: claim, by, expected, found, time, remark.
type row [6]string

func printTable(w io.Writer, rows []row) {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	last := ""
	for _, r := range rows {
		if r[0] == last { // the second program on the same claim
			r[0] = ""
		} else {
			last = r[0]
		}
		fmt.Fprintln(t, strings.TrimRight(strings.Join(r[:], "\t"), "\t"))
	}
	t.Flush()
	fmt.Fprintln(w)
}

// printTools states which programs were used.
func (c *checker) printTools(ctx context.Context, w io.Writer) {
	for _, t := range c.tools {
		if t.out || t.path == "" || t.version == nil {
			continue
		}
		fmt.Fprintf(w, "%s: %s\n", t.name, c.say(ctx, t.path, t.version...))
	}
}
