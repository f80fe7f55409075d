package native

import (
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/oraccl/oraccl/model"
)

// The schemas of the native files. A reader accepts its own and no other.
const (
	TopologySchema    = "oraccl/topology/1"
	CollectiveSchema  = "oraccl/collective/1"
	ProblemSchema     = "oraccl/problem/1"
	ScheduleSchema    = "oraccl/schedule/1"
	CertificateSchema = "oraccl/certificate/1"
)

// The readers below take the file's name for errors, which are one line each: file,
// line, column, the place in the document, what is wrong, what was expected. What
// they return is valid.

// ReadTopology reads a topology file.
func ReadTopology(name string, r io.Reader) (*model.Topology, error) {
	return decode(name, r, func(d *decoder) *model.Topology { return d.topology(TopologySchema) },
		func(_ *decoder, t *model.Topology) error { return t.Validate() })
}

// ReadCollective reads a collective file: its kind, group and root, or its own
// pre- and postcondition. Whether its ranks exist depends on the problem that it
// becomes part of, and is for Problem.Validate.
func ReadCollective(name string, r io.Reader) (*model.Collective, error) {
	return decode(name, r, func(d *decoder) *model.Collective {
		c := d.collective(CollectiveSchema)
		return &c
	}, func(_ *decoder, c *model.Collective) error { return c.Normalise(model.MaxNodes) })
}

// ReadProblem reads a problem file.
func ReadProblem(name string, r io.Reader) (*model.Problem, error) {
	return decode(name, r, func(d *decoder) *model.Problem { return d.problem(ProblemSchema) }, (*decoder).finish)
}

// ReadSolution reads a schedule file, which holds its problem too. The verdicts
// in its origin are a remark: verify again to rely on one.
func ReadSolution(name string, r io.Reader) (*model.Solution, error) {
	return decode(name, r, (*decoder).solution, func(d *decoder, s *model.Solution) error {
		if err := d.finish(s.Problem); err != nil {
			return model.Within("problem", err)
		}
		return inFile(s.Schedule, s.Schedule.Validate(s.Problem))
	})
}

// ReadCertificate reads a certificate file. Whether its claim holds is not
// looked at: that is for its checker.
func ReadCertificate(name string, r io.Reader) (*model.Certificate, error) {
	return decode(name, r, (*decoder).certificate, func(d *decoder, c *model.Certificate) error {
		if err := d.finish(c.Problem); err != nil {
			return model.Within("problem", err)
		}
		return c.Validate()
	})
}

// finish validates a problem as it was read, and cuts it where the file has a
// number of chunks, now that this number is known to be reasonable.
func (d *decoder) finish(p *model.Problem) error {
	if err := p.Topology.Validate(); err != nil {
		return model.Within("topology", err)
	}
	if err := p.Collective.Normalise(p.Topology.Ranks); err != nil {
		return model.Within("collective", err)
	}
	if err := p.Validate(); err != nil || d.cut == 0 {
		return err
	}
	if int64(d.cut) > p.Space() {
		return &model.Error{Place: "chunks", Err: fmt.Errorf("%d chunks of %d bytes, want at least one byte a chunk", d.cut, p.Space())}
	}
	if p.Chunks = p.Cut(d.cut); len(p.Chunks) != d.cut {
		return &model.Error{Place: "chunks", Err: fmt.Errorf("%d, with which the %d shards are cut into %d, want that or a list", d.cut, p.Shards(), len(p.Chunks))}
	}
	return p.Validate()
}

// withSchema adds the key "schema" to the fields of a document of its own; a part
// of another document, with schema "", has none.
func (d *decoder) withSchema(schema string, fields []field) []field {
	if schema == "" {
		return fields
	}
	return append([]field{{"schema", true, d.schema(schema)}}, fields...)
}

// types reads with which types of numbers a switch computes what.
func (d *decoder) types(s *model.Switch) {
	var fields []field
	for op := range s.Types {
		fields = append(fields, field{model.Operator(op).String(), false, func() {
			d.array("an array of element types", func(int) {
				s.Types[op] |= model.DTypeSet(word(d, "an element type", model.ParseDType))
			})
			if s.Types[op] == 0 {
				d.fail("no element type, want one or more")
			}
		}})
	}
	d.object("an object of operators", fields)
}

func (d *decoder) topology(schema string) *model.Topology {
	t := &model.Topology{}
	var l model.Link
	link := []field{
		{"src", true, func() { l.Src = int(d.whole(0, 2*model.MaxNodes)) }},
		{"dst", true, func() { l.Dst = int(d.whole(0, 2*model.MaxNodes)) }},
		{"alpha_ps", true, func() { l.Alpha = model.Time(d.whole(0, int64(model.MaxAlpha))) }},
		{"bandwidth_bytes_per_s", true, func() { l.Bandwidth = d.whole(1, math.MaxInt64) }},
	}
	d.object("a topology", d.withSchema(schema, []field{
		{"name", true, func() { t.Name = d.label("a name") }},
		{"ranks", true, func() { t.Ranks = int(d.whole(1, model.MaxNodes)) }},
		{"switches", false, func() {
			d.array("an array of switches", func(i int) {
				if i == model.MaxNodes {
					d.fail("more than %d switches, want no more", model.MaxNodes)
				}
				var s model.Switch
				d.object("a switch", []field{
					{"name", false, func() { s.Name = d.label("a name") }},
					{"copies", false, func() { s.Copies = d.boolean() }},
					{"reduces", false, func() { s.Reduces = word(d, "read or turn", model.ParseReducing) }},
					{"sums", false, func() { s.Sums = int(d.whole(1, model.MaxNodes)) }},
					{"operations", false, func() {
						d.array("an array of operators", func(int) {
							s.Operations |= model.OperatorSet(word(d, "sum, prod, min or max", model.ParseOperator))
						})
						if s.Operations == 0 {
							d.fail("no operation, want one or more")
						}
					}},
					{"types", false, func() { d.types(&s) }},
				})
				t.Switches = append(t.Switches, s)
			})
		}},
		{"links", true, func() {
			d.array("an array of links", func(int) {
				l = model.Link{}
				d.object("a link", link)
				t.Links = append(t.Links, l)
			})
		}},
		{"ports", false, func() {
			d.array("an array of ports", func(int) {
				var p model.Port
				d.object("a port", []field{
					{"name", false, func() { p.Name = d.label("a name") }},
					{"links", true, func() { p.Links = d.ints("an array of links", 0, model.MaxLinks) }},
					{"capacity", true, func() { p.Capacity = int(d.whole(1, model.MaxLinks)) }},
				})
				t.Ports = append(t.Ports, p)
			})
		}},
		{"groups", false, func() {
			d.array("an array of groups", func(i int) {
				if i == model.MaxNodes {
					d.fail("more than %d groups, want no more", model.MaxNodes)
				}
				var g model.Group
				d.object("a group", []field{
					{"name", true, func() { g.Name = d.label("a name") }},
					{"kind", false, func() { g.Kind = word(d, "other, machine or rail", model.ParseGroupKind) }},
					{"ranks", true, func() { g.Ranks = d.ints("an array of ranks", 0, model.MaxNodes) }},
				})
				t.Groups = append(t.Groups, g)
			})
		}},
		{"notes", false, func() {
			d.array("an array of notes", func(i int) {
				if i == model.MaxNotes {
					d.fail("more than %d notes, want no more", model.MaxNotes)
				}
				t.Notes = append(t.Notes, model.ParseNote(d.label("a note")))
			})
		}},
	}))
	return t
}

func (d *decoder) collective(schema string) model.Collective {
	var c model.Collective
	d.object("a collective", d.withSchema(schema, []field{
		{"kind", true, func() { c.Kind = word(d, "a kind", model.ParseKind) }},
		{"name", false, func() { c.Name = d.label("a name") }},
		{"group", false, func() { c.Group = d.ints("an array of ranks", 0, model.MaxNodes) }},
		{"root", false, func() { c.Root = int(d.whole(0, model.MaxNodes)) }},
		{"op", false, func() { c.Op = word(d, "an operator", model.ParseOperator) }},
		{"dtype", false, func() { c.DType = word(d, "an element type", model.ParseDType) }},
		{"chunks", false, func() { c.Chunks = int(d.whole(1, model.MaxChunks)) }},
		{"sizes", false, func() { c.Ends = model.EndsOf(d.sizes()) }},
		{"pre", false, func() { c.Pre = d.conditions() }},
		{"post", false, func() { c.Post = d.conditions() }},
	}))
	return c
}

func (d *decoder) conditions() []model.Condition {
	list := []model.Condition{}
	seen := map[[2]int]bool{}
	var c model.Condition
	fields := []field{
		{"rank", true, func() { c.Rank = int(d.whole(0, model.MaxNodes)) }},
		{"chunk", true, func() { c.Chunk = int(d.whole(0, model.MaxChunks)) }},
		{"contributions", true, func() {
			c.Value = multiset(d.ints("an array of ranks, each as often as it contributes", 0, model.MaxNodes))
		}},
	}
	d.array("an array of conditions", func(int) {
		at := d.pos
		c = model.Condition{}
		d.object("a condition", fields)
		slot := [2]int{c.Rank, c.Chunk}
		if seen[slot] {
			d.failAt(at, "rank %d, chunk %d is named twice, want it once", c.Rank, c.Chunk)
		}
		seen[slot] = true
		list = append(list, c)
	})
	return list
}

// multiset returns the value that contains each rank as often as the list does.
func multiset(ranks []int) model.Value {
	slices.Sort(ranks)
	var terms []model.Term
	for _, r := range ranks {
		if n := len(terms); n > 0 && terms[n-1].Rank == r {
			terms[n-1].Count++
			continue
		}
		terms = append(terms, model.Term{Rank: r, Count: 1})
	}
	return model.Multiset(terms...)
}

func (d *decoder) problem(schema string) *model.Problem {
	p := &model.Problem{}
	d.object("a problem", d.withSchema(schema, []field{
		{"topology", true, func() { p.Topology = d.topology("") }},
		{"collective", true, func() { p.Collective = d.collective("") }},
		{"size_bytes", true, func() { p.Size = d.whole(1, model.MaxSize) }},
		{"chunks", false, func() { p.Chunks, d.cut = d.chunks() }},
		{"cost", true, func() { p.Cost = word(d, "a cost model", model.ParseCostModel) }},
		{"release_ps", false, func() { p.Release = d.times(0, model.MaxRelease) }},
	}))
	return p
}

// sizes reads the bytes of each chunk of a custom collective.
func (d *decoder) sizes() []int64 {
	sizes := []int64{}
	d.array("an array of sizes in bytes", func(int) { sizes = append(sizes, d.whole(1, model.MaxSize)) })
	return sizes
}

// chunks reads a number of equal chunks, or a list of offsets and sizes.
func (d *decoder) chunks() (list []model.Chunk, n int) {
	if d.next() != '[' {
		return nil, int(d.whole(1, model.MaxChunks))
	}
	list = []model.Chunk{}
	d.array("a number of chunks or an array of [offset, size]", func(int) {
		at, n := d.pos, 0
		var pair [2]int64
		d.array("[offset, size]", func(i int) { pair[i%2], n = d.whole(0, model.MaxSize), i+1 })
		if n != len(pair) {
			d.failAt(at, "%d numbers, want two, [offset, size]", n)
		}
		list = append(list, model.Chunk{Offset: pair[0], Size: pair[1]})
	})
	return list, 0
}
