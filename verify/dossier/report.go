package dossier

import (
	"fmt"
	"slices"
	"strings"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/quote"
	"github.com/oraccl/oraccl/verify"
)

// lines is a report in text. Whatever files are called and hold, each line is one of ours.
type lines struct{ strings.Builder }

func (l *lines) add(format string, args ...any) {
	l.WriteString(quote.Line(fmt.Sprintf(format, args...)) + "\n")
}

// verdict writes what came of a document.
func (l *lines) verdict(f *Finding) {
	name := quote.Name(f.File)
	switch {
	case f.Err != nil:
		l.add("ERROR %s", unnamed(f.File, f.Err))
	case !decided(f.Kind):
		l.add("read %s: %s", name, f.Kind)
	case f.disowned != "" && f.Verdict.Outcome == verify.Proved:
		l.add("FAILED %s: %s", name, f.disowned)
	default:
		word := f.Verdict.Outcome.String()
		if f.Verdict.Outcome == verify.Refuted {
			word = "REFUTED"
		}
		ends := ""
		if f.Kind == "schedule" && f.timed && f.Verdict.Outcome == verify.Proved {
			ends = fmt.Sprintf(", and ends after %v", f.makespan)
		}
		l.add("%s %s: %s%s", word, name, f.Verdict.Claim, ends)
		for _, v := range f.Verdict.Violations {
			l.add("  %v", v)
		}
		if f.Verdict.Outcome == verify.Unknown {
			l.add("  %s", f.Verdict.Reason)
		}
	}
}

// unnamed is an error about a file, with the name as it is printed.
func unnamed(file string, err error) string {
	text := err.Error()
	if rest, ok := strings.CutPrefix(text, file); ok {
		text = quote.Name(file) + rest
	}
	return text
}

// Text returns the report, a line each document, conclusion and claim, and the exit status:
// 0 all is proved, 1 something is refuted, a claim has not the evidence that it needs, or a gap
// is more than Options.MaxGap,
// 2 something could not be read, or two checkers contradict each other, 3 something is
// unknown, or nothing is claimed.
func (r *Report) Text() (text string, status int) {
	l := &lines{}
	s := r.state()
	for _, p := range s.problems {
		l.add("problem sha256:%s %s", p.digest, p.about)
		if p.differs != "" {
			l.add("FAILED it is not the problem that was asked about: %s", p.differs)
		}
	}
	if a := r.options.Asked; a != nil && len(a.left()) > 0 {
		l.add("not compared with what was asked about: %s", strings.Join(a.left(), ", "))
	}
	for i := range r.found {
		l.verdict(&r.found[i])
	}
	for _, c := range s.conclusions {
		every := "for every cut"
		if !c.EveryCut {
			every = "for its cut"
		}
		placed := ""
		if c.Placed {
			placed = ", with the best times for its order"
		}
		switch schedule, certificate := quote.Name(c.Schedule), quote.Name(c.Certificate); {
		case c.Met() && c.EveryCut:
			l.add("optimal %s: %v, the bound of %s%s", schedule, c.Makespan, certificate, placed)
		case c.Met():
			l.add("none faster with its cut than %s: %v, the bound of %s%s", schedule, c.Makespan, certificate, placed)
		case c.Bound > 0:
			l.add("gap %s: %v, %v above the bound %s of %s, %v%s", schedule, c.Makespan, model.GapOf(c.Makespan, c.Bound), every, certificate, c.Bound, placed)
		}
	}
	for _, d := range r.dossiers {
		d.text(l, s)
	}
	for _, err := range s.wrong {
		l.add("ERROR %v", err)
	}
	for _, b := range s.beyond {
		l.add("FAILED the gap may be %v at most: %s", *r.options.MaxGap, b.words())
	}
	switch {
	case len(r.bare) > 0:
		for _, dir := range r.bare {
			l.add("%s: nothing is claimed: there is no %s, so that a file may be missing or be about another problem", quote.Name(dir), ManifestName)
		}
	case len(r.found) > 0:
		l.add("nothing is claimed beside what each file states of itself: there is no %s", ManifestName)
	}
	return l.String(), s.status
}

// text writes what came of a dossier.
func (d *folder) text(l *lines, s *state) {
	for i := range d.found {
		if f := &d.found[i]; f.disowned == "" || f.Verdict.Outcome != verify.Proved { // else its claim, below, tells why
			l.verdict(f)
		}
	}
	for _, x := range d.faults {
		l.add("FAILED %s: %s", quote.Name(d.name(x.file)), x.why)
	}
	held, failed, unknown := 0, 0, 0
	for i := range d.claims {
		c := &d.claims[i]
		switch {
		case c.outcome == verify.Proved:
			held++
			if c.Problem == "" { // the others stand beside their documents
				l.add("claim holds: %s", c.text)
			}
		case c.outcome == verify.Refuted:
			failed++
			l.add("FAILED claim: %s: %s", c.text, c.reason)
		default:
			unknown++
			l.add("unknown claim: %s: %s", c.text, c.reason)
		}
	}
	failed, unknown = d.rowLines(l, failed, unknown)
	for _, file := range d.unchecked() {
		l.add("not checked here: %s, a program for MIP solvers", quote.Name(d.name(file)))
	}
	for _, file := range d.tables {
		l.add("claim holds: %s is the table that %s claims", quote.Name(d.name(file)), quote.Name(d.path))
	}
	for _, file := range d.passed {
		l.add("not looked at: %s", quote.Name(d.name(file)))
	}
	name := quote.Name(d.path)
	switch {
	case s.differs():
		l.add("%s: NOT ACCEPTED: it is about another problem than was asked about", name)
	case len(d.wrong) > 0:
		l.add("%s: two checkers contradict each other: nothing is established", name)
	case failed > 0 || len(d.faults) > 0:
		l.add("%s: NOT ACCEPTED: claims that fail: %d of %d; files that are not as they should be: %d", name, failed, len(d.claims)+len(d.rows), len(d.faulty()))
	case unknown > 0 || d.unfinished():
		l.add("%s: UNDECIDED: claims that are unknown: %d of %d", name, unknown, len(d.claims)+len(d.rows))
	case len(d.rows) > 0:
		l.add("%s: accepted: all %d claims hold, and all %d rows of the table; files: %d", name, held, len(d.rows), len(d.files))
	default:
		l.add("%s: accepted: all %d claims hold; files: %d", name, held, len(d.files))
	}
}

// rowLines writes what came of the rows, and returns the numbers of failed and of unknown
// claims with them.
func (d *folder) rowLines(l *lines, failed, unknown int) (int, int) {
	for i, x := range d.rows {
		switch x.outcome {
		case verify.Refuted:
			failed++
			l.add("FAILED %s: %s", d.rowWords(i), x.reason)
		case verify.Unknown:
			unknown++
			l.add("unknown %s: %s", d.rowWords(i), x.reason)
		}
	}
	for _, x := range d.m.inputNames() {
		l.add("%s in the table is a file, read as %s: which file is meant is not decided here", quote.Name(x[1]), quote.Name(d.name(x[0])))
	}
	return failed, unknown
}

// unfinished reports whether ctx was done before all was compared.
func (d *folder) unfinished() bool { return d.stopped || len(d.rows) < len(d.m.Rows) }

// faulty returns the files with a fault.
func (d *folder) faulty() map[string]bool {
	files := map[string]bool{}
	for _, x := range d.faults {
		files[x.file] = true
	}
	return files
}

// unchecked lists the files that are as they are listed and that nothing here can check.
func (d *folder) unchecked() []string {
	list := []string{}
	for _, f := range d.m.Files {
		if f.Is == ModelRole && d.bad[f.File] == "" {
			list = append(list, f.File)
		}
	}
	return list
}

// status is the exit status of a dossier.
func (d *folder) status() int {
	status := 0
	for i := range d.claims {
		switch d.claims[i].outcome {
		case verify.Refuted:
			status = worse(status, 1)
		case verify.Unknown:
			status = worse(status, 3)
		}
	}
	for _, x := range d.rows {
		switch x.outcome {
		case verify.Refuted:
			status = worse(status, 1)
		case verify.Unknown:
			status = worse(status, 3)
		}
	}
	for i := range d.found {
		if d.found[i].Err != nil {
			status = worse(status, 2)
		}
	}
	if len(d.faults) > 0 {
		status = worse(status, 1)
	}
	if d.unfinished() {
		status = worse(status, 3)
	}
	if len(d.wrong) > 0 {
		status = 2
	}
	return status
}

// worse returns the exit status that tells more: failure over refuted over unknown.
func worse(a, b int) int {
	order := []int{0, 3, 1, 2}
	return order[max(slices.Index(order, a), slices.Index(order, b))]
}

// problemSeen is a problem that documents are about, up to its cut.
type problemSeen struct {
	digest, about string
	differs       string // from what was asked about
}

// state is what a report comes to.
type state struct {
	problems    []problemSeen
	conclusions []Conclusion
	wrong       []error // contradictions
	beyond      []beyond
	status      int
}

// differs reports whether a problem is not the one that was asked about.
func (s *state) differs() bool {
	return slices.ContainsFunc(s.problems, func(p problemSeen) bool { return p.differs != "" })
}

// settle notes what the problems are, and takes back what cannot stand: documents about
// another problem than was asked about, and those that contradict each other.
func (r *Report) settle() {
	seen := map[string]int{} // by digest
	see := func(list []Finding) {
		for i := range list {
			f := &list[i]
			if f.problem == nil && f.workload == nil || f.digest == "" || f.disowned != "" {
				continue
			}
			at, ok := seen[f.digest]
			if !ok {
				x := problemSeen{digest: f.digest}
				if f.workload != nil {
					x.about = f.workload.String()
				} else {
					x.about = uncut(f.problem).String()
				}
				if a := r.options.Asked; a != nil && f.workload != nil {
					x.differs = a.differsWorkload(f.workload)
				} else if f.tied {
					x.about += ", which has the rounds and steps of another one"
				} else if a := r.options.Asked; a != nil {
					x.differs = a.differs(f.problem)
				}
				at = len(r.problems)
				seen[f.digest], r.problems = at, append(r.problems, x)
			}
			if r.problems[at].differs != "" {
				f.disowned = otherProblem
			}
		}
	}
	see(r.found)
	for _, x := range contradictions(r.found) {
		r.wrong = append(r.wrong, x.err)
		for _, i := range []int{x.schedule, x.certificate} {
			r.found[i].withdraw()
		}
	}
	for _, d := range r.dossiers {
		see(d.found)
		if !slices.ContainsFunc(d.found, func(f Finding) bool { return f.disowned == otherProblem }) {
			continue
		}
		for i := range d.claims {
			if c := &d.claims[i]; c.outcome == verify.Proved {
				c.outcome, c.reason = verify.Refuted, otherProblem
			}
		}
		for i := range d.rows {
			if x := &d.rows[i]; x.outcome == verify.Proved {
				x.outcome, x.reason = verify.Refuted, otherProblem
			}
		}
	}
}

const otherProblem = "it is about another problem than was asked about"

// withdraw takes back the verdict on a document that another one contradicts.
func (f *Finding) withdraw() {
	f.Verdict.Outcome, f.Verdict.Reason = verify.Unknown, "a schedule and a bound contradict each other"
}

func (r *Report) state() *state {
	s := &state{problems: r.problems, wrong: slices.Clone(r.wrong)}
	if s.differs() {
		s.status = 1
	}
	if len(r.wrong) > 0 {
		s.status = 2
	}
	for _, d := range r.dossiers {
		s.status = worse(s.status, d.status())
		s.wrong = append(s.wrong, d.wrong...)
	}
	for i := range r.found {
		f := &r.found[i]
		switch {
		case f.Err != nil:
			s.status = worse(s.status, 2)
		case !decided(f.Kind):
		case f.Verdict.Outcome == verify.Refuted:
			s.status = worse(s.status, 1)
		case f.Verdict.Outcome == verify.Unknown:
			s.status = worse(s.status, 3)
		}
	}
	s.conclusions = conclusions(r.found)
	if s.beyond = r.gated(); len(s.beyond) > 0 {
		s.status = worse(s.status, 1)
	}
	if len(r.bare) > 0 && !r.options.Documents {
		s.status = worse(s.status, 3)
	}
	return s
}
