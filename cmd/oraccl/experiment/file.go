// Package experiment runs experiments that are files. A file names tables of published
// values, instances, methods and what is compared; the runner computes and proves, sets
// ours beside what was published and beside certified bounds, explains the differences and
// draws the figures. What a file cannot express is a small Go function that is registered
// by a name: a Measure or a network.
//
// The five papers under testdata/published are such files. Times are whole picoseconds and
// numbers exact, see package expression.
package experiment

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/oraccl/oraccl/cmd/oraccl/experiment/expression"
	"github.com/oraccl/oraccl/cmd/oraccl/strict"
)

// File is an experiment as it is written, in YAML. Its text fields may have expressions in
// ${}; the fields of type *expr are expressions.
type File struct {
	Name     string         `yaml:"-"` // that of the file, without its suffix
	Path     string         `yaml:"-"` // as errors name it
	Title    string         `yaml:"title" about:"what the report is called"`
	Source   string         `yaml:"source" about:"the paper, with its address"`
	About    string         `yaml:"about" about:"paragraphs at the top of the report"`
	Define   pairs[expr]    `yaml:"define" about:"names for expressions, for all of the file"`
	Instance Instance       `yaml:"instance" about:"what all runs have in common"`
	Sections []*Section     `yaml:"sections" about:"tables of the report, in order"`
	Figures  []*FigureBlock `yaml:"figures" about:"charts with their tables"`

	tables fs.FS  // with the tables of published values
	where  string // their directory, as it is printed
	dir    string // the directory of the file, in which topologies and collectives may be; "": none
}

// Section is a table of the report: a line for each line of a table of published values, or
// for each member of a product of lists, with what is computed for it.
type Section struct {
	Name  string `yaml:"name" about:"in rows.csv"`
	Title string `yaml:"title" about:"its heading; a section without one is computed for figures only"`
	About *text  `yaml:"about" about:"a paragraph below the heading"`

	Table   string      `yaml:"table" about:"a CSV file beside this one"`
	Columns pairs[word] `yaml:"columns" about:"its columns beside the common ones: text, int, number or words such as fast|slow"`
	Least   *least      `yaml:"least" about:"keeps one line of those that are equal in some columns"`
	Pivot   *pivot      `yaml:"pivot" about:"makes one line of those that are equal in some columns"`
	Grid    pairs[axis] `yaml:"grid" about:"lists of values, or of records, in place of a table; the last one fastest"`
	Only    *expr       `yaml:"only" about:"lines for which this does not hold are left out"`

	Join     map[string]*join `yaml:"join" about:"names for lines of sections above"`
	Define   pairs[expr]      `yaml:"define" about:"names for expressions; those after the runs may use what is computed"`
	Instance Instance         `yaml:"instance" about:"what the runs of the section have in common"`
	Compute  map[string]*Run  `yaml:"compute" about:"runs by name: each is a record in expressions"`
	Rows     []*RowBlock      `yaml:"rows" about:"rows of the report for each line"`
}

// least keeps, of the lines that are equal in the columns By, the one whose Value is least.
type least struct {
	By    []string `yaml:"by" about:"columns"`
	Value string   `yaml:"value" about:"a column of numbers"`
}

// pivot makes one line of those that are equal in the columns By: said.WORD is what the line
// says that has WORD in the column On.
type pivot struct {
	By []string `yaml:"by" about:"columns"`
	On string   `yaml:"on" about:"a column of words"`
}

// join names the first line of a section above that is equal to this line: By has the names
// there with the names here; or the line in which a name there is greatest.
type join struct {
	Section  string            `yaml:"section" about:"a section above"`
	By       map[string]string `yaml:"by" about:"names there, each with a name here: the first line in which all are equal"`
	Greatest string            `yaml:"greatest" about:"a name there: the line in which it is greatest"`
}

// Instance is what is solved, in the words of the flags of solve. What is not given here is
// as in the section or the file.
type Instance struct {
	Topology    *text `yaml:"topology" about:"a name that topo list knows, or a file beside this one"`
	Switches    *text `yaml:"switches" about:"copy: switches can copy"`
	Fail        *text `yaml:"fail" about:"what has failed: link:U-V or rank:R"`
	Alpha       *text `yaml:"alpha" about:"latencies of a generated topology"`
	Bandwidth   *text `yaml:"bandwidth" about:"bandwidths of a generated topology"`
	Collective  *text `yaml:"collective" about:"allgather, allreduce, … or a file beside this one"`
	Cost        *text `yaml:"cost" about:"pipelined (the default), blocking, rounds or link-rounds"`
	Size        *text `yaml:"size" about:"the buffer, bytes per rank: 64KiB, 1GB; 8MiB by default"`
	Chunks      *text `yaml:"chunks" about:"chunks per rank, or search: methods that choose no cut are tried with several; by default the method decides, or has one per rank"`
	TotalChunks *text `yaml:"total_chunks" about:"chunks in all"`
	Straggler   *text `yaml:"straggler" about:"the rank that is late"`
	Delay       *text `yaml:"delay" about:"how late it is"`
	TimeLimit   *text `yaml:"time_limit" about:"for all that is computed of the instance; by default that of the command"`
	Tries       *text `yaml:"tries" about:"as --tries"`
	Effort      *text `yaml:"effort" about:"as --effort"`
	Bounds      *text `yaml:"bounds" about:"best (the default), quick or none"`
	Goal        *text `yaml:"goal" about:"of all methods: the part of the bound by which a schedule may be above it; where it is more, the cuts with fewer chunks are looked for that cannot reach it"`
	SMTMost     *text `yaml:"smt_most" about:"transfers above which schedules are proved by replay alone; 0: any number"`
}

// fields returns the fields of an instance by their keys, in order.
func (in *Instance) fields() (keys []string, values []**text) {
	v := reflect.ValueOf(in).Elem()
	for i := range v.NumField() {
		keys = append(keys, v.Type().Field(i).Tag.Get("yaml"))
		values = append(values, v.Field(i).Addr().Interface().(**text))
	}
	return keys, values
}

// Run is something to compute for a line: the best proved schedule of some methods, with a
// bound, or what a Measure returns.
type Run struct {
	Instance `yaml:",inline"`
	If       *expr       `yaml:"if" about:"where this does not hold nothing is computed"`
	Else     *text       `yaml:"else" about:"why, then"`
	Methods  list        `yaml:"methods" about:"those that do not serve the instance are left out; all is the portfolio that solve runs, in one time limit, with the bound for every cut"`
	Measure  string      `yaml:"measure" about:"in place of methods: a function of the program, see below"`
	With     pairs[expr] `yaml:"with" about:"more arguments of the measure"`
}

// RowBlock makes a row of a report for each line.
type RowBlock struct {
	Only        *expr `yaml:"only" about:"lines without it have no such row"`
	Instance    *text `yaml:"instance" about:"what is solved"`
	Quantity    *text `yaml:"quantity" about:"what is compared, with its unit"`
	Published   *expr `yaml:"published" about:"what was published; by default said, all of the line"`
	Unpublished *text `yaml:"unpublished" about:"why nothing was published, in place of published or where that is unknown"`

	Of          string `yaml:"of" about:"the run that ours is from; by default the first by name"`
	Ours        *expr  `yaml:"ours" about:"a number, or a text"`
	Bound       *expr  `yaml:"bound" about:"a certified bound in the same unit"`
	Digits      *text  `yaml:"digits" about:"decimals of ours and of the bound; by default as many as they have"`
	By          *text  `yaml:"by" about:"by default the method of the run"`
	Proved      *text  `yaml:"proved" about:"by default the engines that proved the schedule of the run"`
	Certificate *text  `yaml:"certificate" about:"by default the kind of the bound of the run"`
	Seconds     *expr  `yaml:"seconds" about:"by default those of the run"`

	Better        *expr            `yaml:"better" about:"whether ours is better where they differ: less (the default), more or any condition"`
	Tolerance     *expr            `yaml:"tolerance" about:"by default half a unit of the last digit that was published"`
	NotComparable pairs[condition] `yaml:"not_comparable" about:"the first condition that holds, with the reason"`
	Why           pairs[condition] `yaml:"why" about:"the texts of all conditions that hold"`
	Never         pairs[condition] `yaml:"never" about:"conditions that are errors"`
}

// FigureBlock draws the lines of some sections, and writes them as a table.
type FigureBlock struct {
	Name   string         `yaml:"name" about:"of its files"`
	Title  *text          `yaml:"title" about:"what stands above the chart"`
	Of     list           `yaml:"of" about:"the sections"`
	Only   *expr          `yaml:"only" about:"lines that it has"`
	Drawn  *expr          `yaml:"drawn" about:"lines that are drawn, of those in the table"`
	X      axisBlock      `yaml:"x" about:"the axis: name, unit, log"`
	Y      axisBlock      `yaml:"y" about:"the axis: name, unit, log"`
	Places *text          `yaml:"places" about:"names of lines, in place of numbers on the x axis"`
	Series []*SeriesBlock `yaml:"series" about:"what is drawn"`
	Table  pairs[text]    `yaml:"table" about:"the columns of its CSV file, with the text of each cell"`
	Heat   *heatBlock     `yaml:"heat" about:"a map of values by rows and columns, in place of x, y and series"`
}

// heatBlock draws a value for each line, in the row and the column that it names.
type heatBlock struct {
	Row    *text       `yaml:"row" about:"the name of the row"`
	Group  *text       `yaml:"group" about:"the name of a group of columns, which stands below them"`
	Column *text       `yaml:"column" about:"the name of the column, in its group"`
	Value  *expr       `yaml:"value" about:"a number from zero on; what is unknown is grey"`
	Unit   string      `yaml:"unit" about:"as of an axis"`
	Most   float64     `yaml:"most" about:"values from here on have the darkest colour"`
	Counts pairs[expr] `yaml:"counts" about:"conditions by name: the report has a table of how many lines meet each, in each column and in all, and the median and the largest value"`
	Worst  *text       `yaml:"worst" about:"what the report tells of the ten largest values"`
	Lists  pairs[expr] `yaml:"lists" about:"conditions by title: a list of the ten largest values for each, of the lines that meet it; by default one list of all lines"`
}

type axisBlock struct {
	Name string `yaml:"name" about:"what stands beside the axis"`
	Unit string `yaml:"unit" about:"bytes, seconds, bytes/s or percent"`
	Log  bool   `yaml:"log" about:"whether every doubling is as long"`
}

// SeriesBlock adds a point for each line to the series of its name.
type SeriesBlock struct {
	Name   *text  `yaml:"name" about:"in the legend; lines with the same name are one series"`
	Only   *expr  `yaml:"only" about:"lines that have a point"`
	Each   string `yaml:"each" about:"a run: a point for each of its methods, which are it, of the name method"`
	X      *expr  `yaml:"x" about:"a number; with places there is none"`
	Y      *expr  `yaml:"y" about:"a number; what is unknown is left out"`
	Dashed bool   `yaml:"dashed" about:"without marks, unless it is a fit"`
	Fit    bool   `yaml:"fit" about:"a power law"`
}

// expr is an expression in a file.
type expr struct {
	*expression.Expr
	line int
}

// unmarshaler is what a type of this file reads itself by.
type unmarshaler interface{ UnmarshalYAML(n *yaml.Node) error }

// UnmarshalYAML reads a scalar.
func (e *expr) UnmarshalYAML(n *yaml.Node) (err error) {
	s, err := scalar(n)
	if err != nil {
		return err
	}
	e.line = n.Line
	if e.Expr, err = expression.Parse(s, functions); err != nil {
		return fmt.Errorf("line %d: %w", n.Line, err)
	}
	return nil
}

// text is a text with expressions in it.
type text struct {
	*expression.Template
	line int
}

// UnmarshalYAML reads a scalar.
func (t *text) UnmarshalYAML(n *yaml.Node) (err error) {
	s, err := scalar(n)
	if err != nil {
		return err
	}
	t.line = n.Line
	if t.Template, err = expression.ParseTemplate(strings.TrimRight(s, "\n"), functions); err != nil {
		return fmt.Errorf("line %d: %w", n.Line, err)
	}
	return nil
}

// word is a text without expressions.
type word string

// UnmarshalYAML reads a scalar.
func (w *word) UnmarshalYAML(n *yaml.Node) error {
	s, err := scalar(n)
	*w = word(s)
	return err
}

// list is one text or several.
type list []*text

// UnmarshalYAML reads a scalar or a list of scalars.
func (l *list) UnmarshalYAML(n *yaml.Node) error {
	*l = nil
	nodes := []*yaml.Node{n}
	if n.Kind == yaml.SequenceNode {
		nodes = n.Content
	}
	for _, n := range nodes {
		t := &text{}
		if err := t.UnmarshalYAML(n); err != nil {
			return err
		}
		*l = append(*l, t)
	}
	return nil
}

// axis is a list of what a grid varies: each sets some names.
type axis []map[string]string

// UnmarshalYAML reads a scalar, a list of scalars or a list of mappings. A name of "" stands
// for that of the axis. A..B is a range of whole numbers.
func (a *axis) UnmarshalYAML(n *yaml.Node) error {
	*a = nil
	nodes := []*yaml.Node{n}
	if n.Kind == yaml.SequenceNode {
		nodes = n.Content
	}
	for _, n := range nodes {
		if n.Kind == yaml.MappingNode {
			names := map[string]string{}
			for i := 0; i+1 < len(n.Content); i += 2 {
				s, err := scalar(n.Content[i+1])
				if err != nil {
					return err
				}
				names[n.Content[i].Value] = s
			}
			*a = append(*a, names)
			continue
		}
		s, err := scalar(n)
		if err != nil {
			return err
		}
		var from, to int
		if c, err := fmt.Sscanf(s+"\n", "%d..%d\n", &from, &to); c != 2 || err != nil {
			*a = append(*a, map[string]string{"": s})
			continue
		}
		if from > to || to-from > maxRange {
			return fmt.Errorf("line %d: %q: want a range of at most %d numbers that goes up, such as 3..64", n.Line, s, maxRange)
		}
		for ; from <= to; from++ {
			*a = append(*a, map[string]string{"": fmt.Sprint(from)})
		}
	}
	return nil
}

// maxRange is how many numbers a range may have.
const maxRange = 1 << 16

// condition is a condition, the key of a mapping, with the text for where it holds.
type condition struct {
	expr
	text text
}

// pair is a key with its value.
type pair[T any] struct {
	key   string
	line  int
	value T
}

// pairs is a mapping whose order counts.
type pairs[T any] []pair[T]

// UnmarshalYAML reads a mapping.
func (p *pairs[T]) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind != yaml.MappingNode {
		return fmt.Errorf("line %d: want keys with values", n.Line)
	}
	*p = nil
	for i := 0; i+1 < len(n.Content); i += 2 {
		k := n.Content[i]
		if slices.ContainsFunc(*p, func(x pair[T]) bool { return x.key == k.Value }) {
			return fmt.Errorf("line %d: %q is there already", k.Line, k.Value)
		}
		x := pair[T]{key: k.Value, line: k.Line}
		var err error
		if c, ok := any(&x.value).(*condition); ok {
			err = errors.Join(c.expr.UnmarshalYAML(k), c.text.UnmarshalYAML(strict.Aliased(n.Content[i+1])))
		} else {
			err = any(&x.value).(unmarshaler).UnmarshalYAML(strict.Aliased(n.Content[i+1]))
		}
		if err != nil {
			return err
		}
		*p = append(*p, x)
	}
	return nil
}

func scalar(n *yaml.Node) (string, error) { return strict.Scalar(n, "a value") }

// Read reads the experiment in a file of that path. Errors name file and line.
func Read(path string, r io.Reader) (*File, error) {
	f := &File{Path: path, Name: strings.TrimSuffix(path[strings.LastIndexAny(path, `/\`)+1:], ".yaml")}
	err := strict.Decode(path, r, f, strict.Kind{One: "one experiment", Want: "an experiment: oraccl help experiments", Shape: "keys with values: oraccl help experiments", Types: parts})
	if err != nil {
		return nil, err
	}
	return f, f.check()
}

// parts are the types of a file's parts.
var parts = []any{Section{}, least{}, pivot{}, join{}, Instance{}, Run{}, RowBlock{}, FigureBlock{}, axisBlock{}, SeriesBlock{}, heatBlock{}}
