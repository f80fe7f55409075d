package manual

import (
	"fmt"
	"strings"
)

// Man returns the manual as one page for man (section 1, macros of groff_man(7)): what the
// program is, its verbs, and the topics as on a terminal.
func Man(short string, verbs []*Verb, topics []Topic) (string, error) {
	var b strings.Builder
	fmt.Fprintf(&b, ".TH ORACCL 1\n.SH NAME\noraccl \\- %s\n.SH SYNOPSIS\n.B oraccl\n.I VERB\n[\n.I ARGUMENTS\n] [\n.I FLAGS\n]\n.SH VERBS\n", roff(lower(short)))
	for _, v := range verbs {
		fmt.Fprintf(&b, ".TP\n.B %s\n%s. See\n.BR %s (1).\n", roff(v.Path), roff(v.Short), roff(strings.ReplaceAll(v.Path, " ", "-")))
	}
	for _, t := range topics {
		fmt.Fprintf(&b, ".SH %s\n", roff(strings.ToUpper(t.Name)))
		if t.Elsewhere != "" {
			fmt.Fprintf(&b, "%s: \n.B oraccl help %s\n", roff(t.Short), roff(t.Name))
			continue
		}
		blocks, err := t.Body()
		if err != nil {
			return "", fmt.Errorf("topic %s: %w", t.Name, err)
		}
		verbatim(&b, Terminal(blocks))
	}
	return b.String(), nil
}

// ManVerb returns the page of a verb for man.
func ManVerb(v *Verb) string {
	var b strings.Builder
	name := strings.ReplaceAll(v.Path, " ", "-")
	fmt.Fprintf(&b, ".TH %s 1\n.SH NAME\n%s \\- %s\n.SH SYNOPSIS\n.B %s\n", roff(strings.ToUpper(name)), roff(name), roff(lower(v.Short)), roff(v.Usage))
	if v.Long != "" {
		b.WriteString(".SH DESCRIPTION\n")
		verbatim(&b, v.Long)
	}
	if v.Flags != "" {
		b.WriteString(".SH OPTIONS\n")
		verbatim(&b, strings.TrimRight(v.Flags, "\n"))
	}
	if len(v.Examples) > 0 {
		b.WriteString(".SH EXAMPLES\n")
		var lines []string
		for _, r := range v.Examples {
			lines = append(lines, r.Line)
		}
		verbatim(&b, strings.Join(lines, "\n"))
	}
	b.WriteString(".SH SEE ALSO\n.BR oraccl (1)\n")
	return b.String()
}

// verbatim writes text as it is, line by line.
func verbatim(b *strings.Builder, text string) {
	fmt.Fprintf(b, ".nf\n%s\n.fi\n", roff(strings.TrimRight(text, "\n")))
}

func lower(s string) string {
	if s == "" {
		return s
	}
	return strings.ToLower(s[:1]) + s[1:]
}

// roff escapes text: backslashes, hyphens that are typed, and lines that begin as requests do.
func roff(s string) string {
	s = strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(s)
	lines := strings.Split(s, "\n")
	for i, l := range lines {
		if strings.HasPrefix(l, ".") || strings.HasPrefix(l, "'") {
			lines[i] = `\&` + l
		}
	}
	return strings.Join(lines, "\n")
}
