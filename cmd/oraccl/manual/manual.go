// Package manual writes what "oraccl help TOPIC" and MANUAL.md say. What can be asked of
// the code is asked: methods, kinds of certificates, codes, topologies, collectives, cost
// models, units and JSON keys come from the packages that define them, and tests compare
// the rest with the program.
package manual

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Topic is a text of the manual.
type Topic struct {
	Name  string
	Short string // a line, beginning in upper case
	Body  func() ([]Block, error)
	What  string // what a part is, such as CODE; empty: there are none
	parts func() []Part

	Shown     bool   // the document shows the parts below the topic
	Elsewhere string // what the document has in place of the text; empty: the text
}

// Part is a text below a topic: of one violation, of one schema.
type Part struct {
	Name string
	Body func() ([]Block, error)
}

// Parts returns the texts of their own below t.
func (t *Topic) Parts() []Part {
	if t.parts == nil {
		return nil
	}
	return t.parts()
}

// Part returns the part of t with that name.
func (t *Topic) Part(name string) (Part, bool) {
	for _, p := range t.Parts() {
		if p.Name == name {
			return p, true
		}
	}
	return Part{}, false
}

// Block is a piece of a text, which is shown on a terminal or as Markdown. Words in
// backticks are code in both.
type Block interface {
	terminal(w *strings.Builder)
	markdown(w *strings.Builder)
}

// Terminal writes blocks for a terminal.
func Terminal(blocks []Block) string { return written(blocks, Block.terminal) }

// Markdown writes blocks as Markdown.
func Markdown(blocks []Block) string { return written(blocks, Block.markdown) }

func written(blocks []Block, write func(Block, *strings.Builder)) string {
	var b strings.Builder
	for i, block := range blocks {
		if i > 0 {
			b.WriteString("\n")
		}
		write(block, &b)
	}
	return b.String()
}

// width is how wide lines of the terminal are, in characters.
const width = 96

// Para is a paragraph.
type Para string

func (p Para) terminal(w *strings.Builder) { wrapped(w, "", plain(string(p)), 0) }
func (p Para) markdown(w *strings.Builder) { fmt.Fprintln(w, escaped(string(p))) }

// Code is text that is kept as it is.
type Code string

func (c Code) terminal(w *strings.Builder) {
	for _, line := range strings.Split(strings.TrimRight(string(c), "\n"), "\n") {
		w.WriteString(strings.TrimRight("  "+line, " ") + "\n")
	}
}

func (c Code) markdown(w *strings.Builder) {
	fmt.Fprintf(w, "```\n%s\n```\n", strings.TrimRight(string(c), "\n"))
}

// Raw is a document of its own: on a terminal as it is.
type Raw string

func (r Raw) terminal(w *strings.Builder) { w.WriteString(string(r)) }
func (r Raw) markdown(w *strings.Builder) { w.WriteString(string(r)) }

// Table has rows of cells under a head. On a terminal, where it is too wide, the last
// column is wrapped; where that leaves too little for it, the table becomes a list: the first
// cell, and the others below it with their heads.
type Table struct {
	Head []string
	Rows [][]string
}

// leastWidth is what the last column of a table has on a terminal, or more.
const leastWidth = 48

func (t Table) markdown(w *strings.Builder) {
	fmt.Fprintf(w, "| %s |\n|%s\n", strings.Join(t.Head, " | "), strings.Repeat("---|", len(t.Head)))
	for _, row := range t.Rows {
		w.WriteString("|")
		for _, cell := range row {
			w.WriteString(strings.TrimRight(" "+strings.NewReplacer("|", `\|`, "\n", " ").Replace(escaped(cell)), " ") + " |")
		}
		w.WriteString("\n")
	}
}

func (t Table) terminal(w *strings.Builder) {
	last := len(t.Head) - 1
	widths := make([]int, len(t.Head))
	before := 0 // the width of all columns but the last
	for i, head := range t.Head {
		widths[i] = utf8.RuneCountInString(head)
		for _, row := range t.Rows {
			widths[i] = max(widths[i], utf8.RuneCountInString(plain(row[i])))
		}
		if i < last {
			before += widths[i] + 2
		}
	}
	if before+min(widths[last], leastWidth) > width {
		t.list(w)
		return
	}
	for _, row := range append([][]string{t.Head}, t.Rows...) {
		line := ""
		for i, cell := range row[:last] {
			cell = plain(cell)
			line += cell + strings.Repeat(" ", widths[i]+2-utf8.RuneCountInString(cell))
		}
		wrapped(w, line, plain(row[last]), before)
	}
}

func (t Table) list(w *strings.Builder) {
	label := 0
	for _, head := range t.Head[1:] {
		label = max(label, utf8.RuneCountInString(head))
	}
	for _, row := range t.Rows {
		fmt.Fprintln(w, plain(row[0]))
		for i, cell := range row[1:] {
			if cell != "" {
				wrapped(w, fmt.Sprintf("  %-*s  ", label, t.Head[i+1]), plain(cell), label+4)
			}
		}
	}
}

// escaped has a text outside backticks taken as it is by Markdown: <file> is no element.
func escaped(s string) string {
	parts := strings.Split(s, "`")
	for i := 0; i < len(parts); i += 2 {
		parts[i] = strings.ReplaceAll(parts[i], "<", "&lt;")
	}
	return strings.Join(parts, "`")
}

// plain takes the backticks from a text.
func plain(s string) string { return strings.ReplaceAll(s, "`", "") }

// wrapped writes what a line begins with and then a text, in lines of the terminal's width;
// lines after the first begin with indent spaces.
func wrapped(w *strings.Builder, line, text string, indent int) {
	empty := true
	for _, word := range strings.Fields(text) {
		if !empty && utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > width {
			w.WriteString(line + "\n")
			line, empty = strings.Repeat(" ", indent), true
		}
		if !empty {
			line += " "
		}
		line, empty = line+word, false
	}
	w.WriteString(strings.TrimRight(line, " ") + "\n")
}

// words joins a list as in "a, b and c".
func words(list []string) string {
	if len(list) < 2 {
		return strings.Join(list, "")
	}
	return strings.Join(list[:len(list)-1], ", ") + " and " + list[len(list)-1]
}

// always makes a Body of blocks that cannot fail.
func always(blocks func() []Block) func() ([]Block, error) {
	return func() ([]Block, error) { return blocks(), nil }
}
