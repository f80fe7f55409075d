package report

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/oraccl/oraccl/model/files"
	"github.com/oraccl/oraccl/model/quote"
)

// head are the columns of a report's CSV.
var head = []string{"section", "instance", "quantity", "published", "ours", "bound", "verdict", "why", "by", "proved", "certificate", "certainty", "source", "where", "seconds"}

// WriteCSV writes all rows.
func (r *Report) WriteCSV(w io.Writer) error {
	all := [][]string{head}
	for _, s := range r.Sections {
		for _, x := range s.Rows {
			all = append(all, []string{s.Name, x.Instance, x.Quantity, x.Published, x.Ours, x.Bound, string(x.Verdict), x.Why, x.By, x.Proved, x.Certificate, x.Certainty, x.Source, x.Where, strconv.FormatFloat(x.Seconds, 'f', 3, 64)})
		}
	}
	return quote.WriteCSV(w, all)
}

// WriteMarkdown writes the report; where its files lie beside it, with links to them.
func (r *Report) WriteMarkdown(w io.Writer, links bool) error {
	b := &bytes.Buffer{}
	fmt.Fprintf(b, "# %s\n\n%s\n\n", escape(r.Title), escape(r.Source))
	if r.About != "" {
		fmt.Fprintf(b, "%s\n\n", escape(r.About))
	}
	fmt.Fprintf(b, "%s.\n", r.Summary())
	for _, s := range r.Sections {
		s.markdown(b)
	}
	for _, g := range r.Figures {
		if told := g.Told(); told != "" {
			fmt.Fprintf(b, "\n## %s\n\n%s", escape(g.Title), told)
		}
	}
	if links {
		fmt.Fprint(b, "\n## Files\n\n- [rows.csv](rows.csv): every row\n")
		for _, g := range r.Figures {
			fmt.Fprintf(b, "- [%s.csv](%s.csv): %s\n", g.Name, g.Name, escape(g.Title))
		}
		for _, g := range r.Figures {
			if g.SVG != nil {
				fmt.Fprintf(b, "\n![%s](%s.svg)\n", escape(g.Title), g.Name)
			}
		}
	}
	fmt.Fprint(b, "\n## Made by\n\n")
	for _, line := range r.Made.Lines() {
		fmt.Fprintf(b, "- %s\n", escape(line))
	}
	_, err := b.WriteTo(w)
	return err
}

func (s *Section) markdown(b *bytes.Buffer) {
	fmt.Fprintf(b, "\n## %s\n\n", escape(s.Title))
	if s.About != "" {
		fmt.Fprintf(b, "%s\n\n", escape(s.About))
	}
	if s.Table != "" {
		fmt.Fprintf(b, "Published values: `%s`.\n\n", s.Table)
	}
	b.WriteString("| instance | quantity | published | where | certainty | ours | bound | verdict | difference | by | proved by |\n|---|---|---:|---|---|---:|---:|---|---|---|---|\n")
	sources := s.sources()
	for _, x := range s.Rows {
		where := escape(x.Where)
		if i := slices.Index(sources, x.Source); i >= 0 {
			where = strings.TrimSpace(fmt.Sprintf("[%d] %s", i+1, where))
		}
		bound := x.Bound
		if x.Certificate != "" {
			bound += " (" + x.Certificate + ")"
		}
		fmt.Fprintf(b, "| %s | %s | %s | %s | %s | %s | %s | %s | %s | %s | %s |\n", escape(x.Instance), escape(x.Quantity), escape(x.Published), where, x.Certainty, escape(x.Ours), escape(bound), x.Verdict, escape(x.Why), escape(x.By), escape(x.Proved))
	}
	if len(sources) > 0 {
		b.WriteString("\n")
	}
	for i, source := range sources {
		fmt.Fprintf(b, "%d. %s\n", i+1, escape(source))
	}
}

// Told returns what the report tells of a figure, as Markdown.
func (g *Figure) Told() string {
	var parts []string
	if len(g.Counts) > 0 {
		var b strings.Builder
		for i, row := range g.Counts {
			for _, cell := range row {
				fmt.Fprintf(&b, "| %s ", escape(cell))
			}
			b.WriteString("|\n")
			if i == 0 {
				b.WriteString("|---|" + strings.Repeat("---:|", len(row)-1) + "\n")
			}
		}
		parts = append(parts, b.String())
	}
	for _, s := range g.Text {
		parts = append(parts, escape(s)+"\n")
	}
	for _, l := range g.Lists {
		s := escape(l.Title) + ":\n\n"
		for _, item := range l.Items {
			s += "- " + escape(item) + "\n"
		}
		parts = append(parts, s)
	}
	return strings.Join(parts, "\n")
}

// sources lists what the section's rows are from, once each.
func (s *Section) sources() []string {
	var all []string
	for _, x := range s.Rows {
		if x.Source != "" && !slices.Contains(all, x.Source) {
			all = append(all, x.Source)
		}
	}
	return all
}

// escape keeps text from being taken for Markdown's tables or for HTML.
var escape = strings.NewReplacer("&", "&amp;", "<", "&lt;", "|", "\\|", "*", "\\*", "[", "\\[", "]", "\\]", "`", "\\`").Replace

// Write writes report.md, rows.csv and the figures to a directory, which it makes.
func (r *Report) Write(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	write := func(name string, f func(io.Writer) error) error { return files.Write(filepath.Join(dir, name), f) }
	for _, g := range r.Figures {
		if err := write(g.Name+".csv", func(w io.Writer) error { return quote.WriteCSV(w, g.Table) }); err != nil {
			return err
		}
		if g.SVG == nil {
			continue
		}
		if err := write(g.Name+".svg", func(w io.Writer) error { _, err := w.Write(g.SVG); return err }); err != nil {
			return err
		}
	}
	if err := write("rows.csv", r.WriteCSV); err != nil {
		return err
	}
	return write("report.md", func(w io.Writer) error { return r.WriteMarkdown(w, true) })
}
