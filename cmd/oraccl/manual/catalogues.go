package manual

import (
	"regexp"
	"strings"

	"github.com/oraccl/oraccl/model/lint"
	"github.com/oraccl/oraccl/verify"
	"github.com/oraccl/oraccl/verify/cert"
)

func boundsTopic() Topic {
	return Topic{
		Name:  "bounds",
		Short: "The kinds of certificates, and what each proves",
		Body: always(func() []Block {
			t := Table{Head: []string{"kind", "states", "what it holds", "under", "chunks", "lemmas"}}
			for _, k := range cert.Kinds() {
				costs := make([]string, len(k.Costs))
				for i, c := range k.Costs {
					costs[i] = c.String()
				}
				under := words(costs)
				if len(costs) == 4 {
					under = "every cost model"
				}
				if k.Needs != "" {
					under += "; " + k.Needs
				}
				chunks := "for every cut, or one"
				if k.Cut {
					chunks = "for one cut"
				}
				t.Rows = append(t.Rows, []string{"`" + k.Name + "`", k.Shows, k.Holds, under, chunks, k.Lemmas})
			}
			return []Block{
				Para("A certificate claims that no right schedule of a problem ends before its bound, and holds what a checker needs to see it. " +
					"`oraccl bound` lists the best of each kind, `gap` prints the best of all, `gap --proofs` writes them, and `check` or `oraccl-check` check them again: " +
					"in exact integers, without a solver. A bound that fails its check is never printed."),
				t,
				Para("The lemmas, with their proofs, are in the doc comments of `verify/cert`. Where a problem has no chunks a bound holds for every number and size of them."),
			}
		}),
	}
}

func violationsTopic() Topic {
	t := Topic{
		Name: "violations", What: "CODE", Shown: true,
		Short: "The violation codes, with the section of the specification and an example",
		Body: always(func() []Block {
			table := Table{Head: []string{"code", "section", "meaning"}}
			for _, c := range verify.Codes() {
				e, _ := verify.Explain(c)
				table.Rows = append(table.Rows, []string{"`" + string(c) + "`", e.Rule, e.Sentence})
			}
			return []Block{
				Para("What `verify` complains of, by code. Codes never change their meaning. Sections are those of `verify/SPEC.md` (`oraccl help spec`). " +
					"Schedules, other tools' included, have the codes of sections 2 to 6; MSCCL-IR has those of section 12, and of the others those of results and races, and `malformed`; execution plans those of section 18, and of section 12 those of bounds, deadlocks, results and races."),
				table,
				Para("`oraccl explain CODE` shows the smallest example of each. What `topo lint` says of topologies is in `oraccl help lint`."),
			}
		}),
	}
	t.parts = func() (parts []Part) {
		for _, c := range verify.Codes() {
			parts = append(parts, Part{string(c), always(func() []Block {
				e, _ := verify.Explain(c)
				return []Block{Raw(e.String())}
			})})
		}
		return parts
	}
	return t
}

func lintTopic() Topic {
	return Topic{
		Name:  "lint",
		Short: "The findings of topo lint",
		Body: always(func() []Block {
			t := Table{Head: []string{"code", "severity", "meaning"}}
			for _, c := range lint.Codes() {
				severity := "warning"
				if c.IsError() {
					severity = "error"
				}
				t.Rows = append(t.Rows, []string{"`" + string(c) + "`", severity, lint.Explain(c)})
			}
			return []Block{
				Para("An error is what no machine is like, or what makes every collective over all ranks impossible; `topo lint` then exits with 1. " +
					"A warning is what some machines are like, and many mistakes."),
				t,
				Para("The class of a link is what its ends are: rank or switch."),
			}
		}),
	}
}

// SpecTopic is the specification and its sections.
func specTopic() Topic {
	t := Topic{
		Name: "spec", What: "SECTION", Elsewhere: "[verify/SPEC.md](../../verify/SPEC.md); `oraccl help spec 5.1` prints a section, or the one that a paragraph is in.",
		Short: "The specification, or one section of it",
		Body:  always(func() []Block { return []Block{Raw(verify.Spec)} }),
	}
	t.parts = func() (parts []Part) {
		all := sections(verify.Spec)
		known := map[string]bool{}
		for _, s := range all {
			known[s.number] = true
			parts = append(parts, Part{s.number, always(func() []Block { return []Block{Raw(s.text)} })})
		}
		for i, s := range all {
			for _, paragraph := range paragraphs.FindAllStringSubmatch(s.text, -1) {
				if number := paragraph[1]; !known[number] && strings.HasPrefix(number, s.number+".") {
					known[number] = true
					parts = append(parts, Part{number, parts[i].Body})
				}
			}
		}
		return parts
	}
	return t
}

// paragraphs are those that have numbers within a section: "5.1 A transfer ...".
var paragraphs = regexp.MustCompile(`(?m)^(\d+\.\d+) `)

// section is a section of the specification with those below it.
type section struct{ number, title, text string }

// sections returns the sections that have numbers, at both levels.
func sections(text string) []section {
	lines := strings.SplitAfter(text, "\n")
	var all []section
	for i, line := range lines {
		head := strings.TrimLeft(line, "#")
		level := len(line) - len(head)
		number, title, ok := strings.Cut(strings.TrimSpace(head), " ")
		if level < 2 || !ok {
			continue
		}
		end := i + 1
		for end < len(lines) && (!strings.HasPrefix(lines[end], "##") || strings.HasPrefix(lines[end], strings.Repeat("#", level+1))) {
			end++
		}
		all = append(all, section{strings.TrimSuffix(number, "."), title, strings.TrimSpace(strings.Join(lines[i:end], "")) + "\n"})
	}
	return all
}
