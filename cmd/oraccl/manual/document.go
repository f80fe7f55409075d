package manual

import (
	"fmt"
	"strings"
)

// Verb is a command of the program, as the manual shows it.
type Verb struct {
	Path, Short, Long string // Path is "oraccl topo show"
	Usage, Flags      string
	Examples          []Run
}

// Run is a command line that was executed.
type Run struct {
	Line   string
	Output string // what it printed, or as much as is to be shown
}

// Book returns the manual as one Markdown document: a table of contents, the verbs,
// the topics.
func Book(verbs []Verb, topics []Topic) (string, error) {
	var b strings.Builder
	b.WriteString("# The manual of oraccl\n\nThis is what `oraccl help` says, with what the examples print. It is made by a test, from the program\n" +
		"and the packages that define what it is about: do not edit it, run `UPDATE=1 go test ./cmd/oraccl -run TestManual`.\n\n## Contents\n\nVerbs:\n\n")
	for _, v := range verbs {
		fmt.Fprintf(&b, "- [%s](#%s): %s\n", v.Path, anchor(v.Path), v.Short)
	}
	b.WriteString("\nTopics:\n\n")
	for _, t := range topics {
		fmt.Fprintf(&b, "- [%s](#%s): %s\n", t.Name, anchor(t.Name), t.Short)
	}
	b.WriteString("\n## Verbs\n")
	for _, v := range verbs {
		v.markdown(&b)
	}
	b.WriteString("\n## Topics\n")
	for _, t := range topics {
		if err := t.markdown(&b); err != nil {
			return "", fmt.Errorf("topic %s: %w", t.Name, err)
		}
	}
	return b.String(), nil
}

// anchor is what code-hosting sites make of a heading.
func anchor(heading string) string {
	return strings.ReplaceAll(strings.ToLower(heading), " ", "-")
}

func (v *Verb) markdown(b *strings.Builder) {
	fmt.Fprintf(b, "\n### %s\n\n%s.\n\n", v.Path, v.Short)
	if v.Long != "" {
		fmt.Fprintf(b, "%s\n\n", fenced(v.Long))
	}
	fmt.Fprintf(b, "```\n%s\n", v.Usage)
	if v.Flags != "" {
		fmt.Fprintf(b, "\n%s\n", strings.TrimRight(v.Flags, "\n"))
	}
	b.WriteString("```\n")
	if len(v.Examples) == 0 {
		return
	}
	b.WriteString("\n```console\n")
	for _, r := range v.Examples {
		fmt.Fprintf(b, "$ %s\n", r.Line)
		if out := strings.TrimRight(r.Output, "\n"); out != "" {
			fmt.Fprintf(b, "%s\n", out)
		}
	}
	b.WriteString("```\n")
}

// fenced puts runs of indented lines of a text into fences, as a terminal shows them.
func fenced(text string) string {
	var b strings.Builder
	inside := false
	for _, line := range strings.Split(text, "\n") {
		if indented := strings.HasPrefix(line, "  "); indented != inside {
			b.WriteString("```\n")
			inside = indented
		}
		if !inside {
			line = escaped(line)
		}
		b.WriteString(line + "\n")
	}
	if inside {
		b.WriteString("```\n")
	}
	return strings.TrimRight(b.String(), "\n")
}

func (t *Topic) markdown(b *strings.Builder) error {
	fmt.Fprintf(b, "\n### %s\n\n%s.\n\n", t.Name, t.Short)
	if t.Elsewhere != "" {
		fmt.Fprintf(b, "%s\n", t.Elsewhere)
		return nil
	}
	blocks, err := t.Body()
	if err != nil {
		return err
	}
	b.WriteString(Markdown(blocks))
	if !t.Shown {
		return nil
	}
	for _, p := range t.Parts() {
		blocks, err := p.Body()
		if err != nil {
			return err
		}
		fmt.Fprintf(b, "\n```\n%s```\n", Terminal(blocks))
	}
	return nil
}
