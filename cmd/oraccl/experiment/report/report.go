// Package report holds the rows and figures of an experiment. It decides whether a number
// of ours agrees with a published one, given how many digits were printed, and writes
// reports as Markdown, CSV and one page of HTML. It computes nothing.
package report

import (
	"fmt"
	"math"
	"strings"
)

// Verdict is how ours stands to what was published.
type Verdict string

// The verdicts. A row without a published value is NotPublished; one whose published value
// is of something else than ours is NotComparable. Both give a reason.
const (
	Agrees        Verdict = "agrees"
	Better        Verdict = "better"
	Worse         Verdict = "worse"
	NotComparable Verdict = "not comparable"
	NotPublished  Verdict = "not published"
)

// Verdicts are all of them, in the order of summaries.
var Verdicts = []Verdict{Agrees, Better, Worse, NotComparable, NotPublished}

// Sense states which of two different numbers is better.
type Sense int

// The senses.
const (
	Less Sense = iota // the lesser
	More              // the greater
)

// Judge compares ours with a published number. They agree if they differ by no more than
// tolerance, or by rounding in the 12th digit.
func Judge(published, ours, tolerance float64, s Sense) Verdict {
	d := ours - published
	switch {
	case math.Abs(d) <= tolerance+1e-12*math.Abs(published):
		return Agrees
	case (d < 0) == (s == Less):
		return Better
	}
	return Worse
}

// HalfDigit returns half a unit of the last digit of a number as it was printed, by which
// it may be off: 0.0005 for "1.127", 0.5 for "65000". It knows no exponents.
func HalfDigit(printed string) float64 {
	_, fraction, _ := strings.Cut(printed, ".")
	return 0.5 * math.Pow(10, -float64(len(fraction)))
}

// Row is a published value beside ours. Numbers are text, as they are to be printed.
type Row struct {
	Instance    string  // what is solved
	Quantity    string  // what is compared, with its unit
	Published   string  // as it was printed; empty: not found
	Source      string  // the paper, or the repository
	Where       string  // page, table, figure or file in it
	Certainty   string  // how sure it is that this was published, see oraccl help experiments
	Ours        string  //
	Bound       string  // certified; empty: none
	Verdict     Verdict //
	Why         string  // the difference, or the reason why there is none, in a sentence
	By          string  // the method that ours is from
	Proved      string  // the engines that proved its schedule; empty: there is no schedule
	Certificate string  // the kind of what certifies Bound
	Seconds     float64 // that it took
}

// Section is a table of rows.
type Section struct {
	Name  string // as in the first column of the CSV
	Title string
	Table string // the file with the published values; empty: there is none
	About string // paragraphs
	Rows  []*Row
}

// Figure is a chart with its table.
type Figure struct {
	Name  string // of its files
	Title string
	Table [][]string
	SVG   []byte // nil: the table alone

	// What the report tells of it:
	Counts [][]string // a table, its head first; nil: none
	Text   []string   // sentences
	Lists  []List
}

// List is a list with a title.
type List struct {
	Title string
	Items []string
}

// Made states what made a report.
type Made struct {
	Oraccl, Go, HiGHS, Z3, CaDiCaL string
	Seed                           uint64
	TimeLimit                      string
	Setting                        string // "quick" or "full"
	Machine                        string // its kind, its cores, and the threads that were used
}

// Lines returns what made a report, a line each.
func (m Made) Lines() []string {
	return []string{
		"oraccl " + m.Oraccl + ", " + m.Go,
		"HiGHS " + m.HiGHS + ", Z3 " + m.Z3 + ", CaDiCaL " + m.CaDiCaL,
		fmt.Sprintf("%s setting, seed %d, %s for each instance without a limit of its own", m.Setting, m.Seed, m.TimeLimit),
		m.Machine,
	}
}

// Report is what an experiment has to say.
type Report struct {
	Name     string // as the command names it
	Title    string
	Source   string // the paper, with its address
	About    string // paragraphs
	Made     Made
	Sections []*Section
	Figures  []*Figure
}

// Count returns how many rows have each verdict, and how many there are.
func (r *Report) Count() (by map[Verdict]int, all int) {
	by = map[Verdict]int{}
	for _, s := range r.Sections {
		for _, row := range s.Rows {
			by[row.Verdict]++
			all++
		}
	}
	return by, all
}

// Summary says in a line how many rows have which verdict.
func (r *Report) Summary() string {
	by, all := r.Count()
	var parts []string
	for _, v := range Verdicts {
		if by[v] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", by[v], v))
		}
	}
	return fmt.Sprintf("%d rows: %s", all, strings.Join(parts, ", "))
}

// Check returns an error that names the first row without a verdict, or without what its
// verdict needs: agrees, better and worse need a published value and ours, the others a
// reason.
func (r *Report) Check() error {
	for _, s := range r.Sections {
		for i, row := range s.Rows {
			complain := func(what string) error {
				return fmt.Errorf("%s, section %s, row %d (%s, %s): %s", r.Name, s.Name, i+1, row.Instance, row.Quantity, what)
			}
			switch row.Verdict {
			case Agrees, Better, Worse:
				if row.Published == "" || row.Ours == "" {
					return complain("a verdict on nothing: want a published value and ours")
				}
				if row.Verdict != Agrees && row.Why == "" {
					return complain("a difference that nothing explains")
				}
			case NotComparable, NotPublished:
				if (row.Published == "") != (row.Verdict == NotPublished) {
					return complain(fmt.Sprintf("%q with the published value %q", row.Verdict, row.Published))
				}
				if row.Why == "" {
					return complain("no reason given")
				}
			default:
				return complain(fmt.Sprintf("verdict %q: want one of %v", row.Verdict, Verdicts))
			}
		}
	}
	return nil
}
