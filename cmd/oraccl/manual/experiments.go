package manual

import "strings"

// Experiments is what the manual has to know of the files of experiments.
type Experiments struct {
	Parts     []ExperimentPart
	Fields    []string   // of a run by methods
	Functions []string   // of expressions
	Measures  [][]string // name, fields, what it is
	File      string     // an example
	Table     string     // the table that it names
}

// ExperimentPart is a part of a file with its keys: key, what it has, what that is.
type ExperimentPart struct {
	Name string
	Rows [][]string
}

func experimentsTopic(e Experiments) Topic {
	return Topic{
		Name:  "experiments",
		Short: "The files that repro runs: a published result beside ours, without a program",
		Body: always(func() []Block {
			blocks := []Block{
				Para("An experiment is a file in YAML. It names instances, methods, what is compared, and tables of published values, which are CSV files beside it. `oraccl repro my-paper.yaml` computes and proves, compares, explains and draws. The papers that `oraccl repro list` names are such files, in `testdata/published`. `oraccl help schema experiment` prints a JSON Schema of the file, for editors."),
				Para("my-paper.yaml, as an example:"),
				Code(strings.TrimRight(e.File, "\n")),
				Para("times.csv, beside it:"),
				Code(strings.TrimRight(e.Table, "\n")),
				Para("A table has a line for each published value. Beside columns of its own it has these: `value` as it was printed, or blank; `source`, the paper or the repository; `where`, the page or the table in it; `certainty`, which is certain (read there), measured (what the authors' program printed when it was run), secondary (as others quote it) or recalled (from memory); and `reason`, why there is no value. Lines that begin with # are comments."),
				Para("Texts may have expressions in them: `${ranks} ranks`. Expressions are those of Go: numbers, \"texts\", names, record.field, record[\"field\"], + - * / %, comparisons, && || and !. Numbers are exact: 1e-6 is one millionth. What was not computed or not published is unknown; so is every number that follows from it, a condition on it is false, and as text it is empty. Times are in picoseconds, sizes in bytes. " +
					"Functions: " + strings.Join(e.Functions, ", ") + ". has(x) reports whether x is known; when(condition, a, b) is a or b; percent(a, b) is by how much a is above b; fixed(x, n) has n decimals; time, bytes and rate read a quantity with its unit."),
				Para("Names: `full` is true with --full, `none` is unknown; then what define names, the columns of the table with `value` and `said` (the fields value, printed, source, where, certainty, reason), or the names of the grid, the runs, and the lines that are joined. With pivot said.WORD is what the line says for that word. Rows have `value`, `ours` and `bound` as numbers, and the conditions agrees, better, worse, not_comparable and not_published. Tables of figures have fits[series], the exponent of a fit."),
				Para("A run by methods is the best proved schedule of those that serve the instance; run[\"method\"] is that of one. Its fields: " + strings.Join(e.Fields, ", ") + ". Rounds and times called late_rounds, after and bound_after count from the arrival of the late rank. Where methods is all, own_bound is the largest bound for the cut that the schedule has, of the kind own_kind; time_ended is true if the time limit ended the work, no_time names the methods that it left without a schedule, and bound_ended is true if it ended the search for the bound. Where the instance has a goal that the schedule does not reach, too_coarse is a number of chunks: for it, its half, its quarter and so on there are certified bounds beyond the goal."),
			}
			for _, p := range e.Parts {
				blocks = append(blocks, Para(p.Name+":"), Table{Head: []string{"key", "has", "which is"}, Rows: p.Rows})
			}
			return append(blocks, Para("Measures compute what a file cannot express. They are functions of the program, which `measure` names; the keys of the instance and `with` are their arguments."),
				Table{Head: []string{"measure", "fields", "what it is"}, Rows: e.Measures})
		}),
	}
}
