package model

import (
	"fmt"
	"io"
	"math"
	"slices"
)

// The schemas of the native files. A reader accepts its own and no other.
const (
	TopologySchema    = "oraccl/topology/1"
	CollectiveSchema  = "oraccl/collective/1"
	ProblemSchema     = "oraccl/problem/1"
	ScheduleSchema    = "oraccl/schedule/1"
	CertificateSchema = "oraccl/certificate/1"
)

// ReadTopology reads a topology file. name is the file's name, for errors.
func ReadTopology(name string, r io.Reader) (*Topology, error) {
	return read(name, r, func(d *decoder) *Topology { return d.topology(TopologySchema) }, (*Topology).Validate)
}

// ReadCollective reads a collective file: its kind, group and root, or its own
// pre- and postcondition. It is validated with the problem that it becomes part of.
func ReadCollective(name string, r io.Reader) (*Collective, error) {
	return read(name, r, func(d *decoder) *Collective {
		c := d.collective(CollectiveSchema)
		return &c
	}, func(*Collective) error { return nil })
}

// ReadProblem reads a problem file.
func ReadProblem(name string, r io.Reader) (*Problem, error) {
	return read(name, r, func(d *decoder) *Problem { return d.problem(ProblemSchema) }, (*Problem).Validate)
}

// ReadSolution reads a schedule file, which holds its problem too.
func ReadSolution(name string, r io.Reader) (*Solution, error) {
	return read(name, r, (*decoder).solution, func(s *Solution) error {
		if err := s.Problem.Validate(); err != nil {
			return fmt.Errorf("problem: %w", err)
		}
		return s.Schedule.Validate(s.Problem)
	})
}

// ReadCertificate reads a certificate file. Whether its claim holds is not
// looked at: that is for its checker.
func ReadCertificate(name string, r io.Reader) (*Certificate, error) {
	return read(name, r, (*decoder).certificate, func(c *Certificate) error {
		if err := c.Problem.Validate(); err != nil {
			return fmt.Errorf("problem: %w", err)
		}
		return nil
	})
}

// read decodes and validates; errors of both name the file.
func read[T any](name string, r io.Reader, decoding func(*decoder) *T, validate func(*T) error) (*T, error) {
	var v *T
	if err := decode(name, r, func(d *decoder) { v = decoding(d) }); err != nil {
		return nil, err
	}
	if err := validate(v); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return v, nil
}

// withSchema adds the key "schema" to the fields of a document of its own; a part
// of another document, with schema "", has none.
func (d *decoder) withSchema(schema string, fields []field) []field {
	if schema == "" {
		return fields
	}
	return append([]field{{"schema", true, d.schema(schema)}}, fields...)
}

func (d *decoder) topology(schema string) *Topology {
	t := &Topology{}
	var l Link
	link := []field{
		{"src", true, func() { l.Src = int(d.whole(0, MaxNodes)) }},
		{"dst", true, func() { l.Dst = int(d.whole(0, MaxNodes)) }},
		{"alpha_ps", true, func() { l.Alpha = Time(d.whole(0, math.MaxInt64)) }},
		{"bandwidth_bytes_per_s", true, func() { l.Bandwidth = d.whole(1, math.MaxInt64) }},
	}
	d.object("a topology", d.withSchema(schema, []field{
		{"name", true, func() { t.Name = d.text("a name") }},
		{"ranks", true, func() { t.Ranks = int(d.whole(1, MaxNodes)) }},
		{"switches", false, func() {
			d.array("an array of switches", func(int) {
				var s Switch
				d.object("a switch", []field{
					{"name", false, func() { s.Name = d.text("a name") }},
					{"copies", false, func() { s.Copies = d.boolean() }},
				})
				t.Switches = append(t.Switches, s)
			})
		}},
		{"links", true, func() {
			d.array("an array of links", func(int) {
				l = Link{}
				d.object("a link", link)
				t.Links = append(t.Links, l)
			})
		}},
		{"ports", false, func() {
			d.array("an array of ports", func(int) {
				var p Port
				d.object("a port", []field{
					{"name", false, func() { p.Name = d.text("a name") }},
					{"links", true, func() { p.Links = d.ints("an array of links", 0, MaxLinks) }},
					{"capacity", true, func() { p.Capacity = int(d.whole(1, MaxLinks)) }},
				})
				t.Ports = append(t.Ports, p)
			})
		}},
	}))
	return t
}

func (d *decoder) collective(schema string) Collective {
	var c Collective
	d.object("a collective", d.withSchema(schema, []field{
		{"kind", true, func() { c.Kind = parsed(d, "a kind", ParseKind) }},
		{"group", false, func() { c.Group = d.ints("an array of ranks", 0, MaxNodes) }},
		{"root", false, func() { c.Root = int(d.whole(0, MaxNodes)) }},
		{"op", false, func() { c.Op = parsed(d, "an operator", ParseOperator) }},
		{"chunks", false, func() { c.Chunks = int(d.whole(1, MaxChunks)) }},
		{"pre", false, func() { c.Pre = d.conditions() }},
		{"post", false, func() { c.Post = d.conditions() }},
	}))
	return c
}

func (d *decoder) conditions() []Condition {
	list := []Condition{}
	d.array("an array of conditions", func(int) {
		var c Condition
		d.object("a condition", []field{
			{"rank", true, func() { c.Rank = int(d.whole(0, MaxNodes)) }},
			{"chunk", true, func() { c.Chunk = int(d.whole(0, MaxChunks)) }},
			{"contributions", true, func() {
				ranks := d.ints("an array of ranks, each as often as it contributes", 0, MaxNodes)
				c.Value = multiset(ranks)
			}},
		})
		list = append(list, c)
	})
	SortConditions(list)
	return list
}

// multiset returns the value that contains each rank as often as the list does.
func multiset(ranks []int) Value {
	slices.Sort(ranks)
	var terms []Term
	for _, r := range ranks {
		if n := len(terms); n > 0 && terms[n-1].Rank == r {
			terms[n-1].Count++
			continue
		}
		terms = append(terms, Term{r, 1})
	}
	return Multiset(terms...)
}

func (d *decoder) problem(schema string) *Problem {
	p := &Problem{}
	count, at := 0, 0
	d.object("a problem", d.withSchema(schema, []field{
		{"topology", true, func() { p.Topology = d.topology("") }},
		{"collective", true, func() { p.Collective = d.collective("") }},
		{"size_bytes", true, func() { p.Size = d.whole(1, MaxSize) }},
		{"chunks", false, func() {
			if d.next() != '[' {
				at, count = d.pos, int(d.whole(1, MaxChunks))
				return
			}
			p.Chunks = []Chunk{}
			d.array("a number of chunks or an array of [offset, size]", func(int) {
				pair := []int64{}
				d.array("[offset, size]", func(int) { pair = append(pair, d.whole(0, math.MaxInt64)) })
				if len(pair) != 2 {
					d.fail("%d numbers, want two: offset and size", len(pair))
				}
				p.Chunks = append(p.Chunks, Chunk{pair[0], pair[1]})
			})
		}},
		{"cost", true, func() { p.Cost = parsed(d, "a cost model", ParseCostModel) }},
		{"release_ps", false, func() {
			p.Release = []Time{}
			d.array("an array of times", func(int) { p.Release = append(p.Release, Time(d.whole(0, math.MaxInt64))) })
		}},
	}))
	if count > 0 {
		if p.Collective.Kind == AllToAll && p.Size > MaxSize/int64(p.groupSize()) || int64(count) > p.Space() {
			d.failAt(at, "%d chunks of %d bytes, want at least one byte a chunk and no more than %d in all", count, p.Size, int64(MaxSize))
		}
		p.Chunks = p.Cut(count)
	}
	return p
}

func (d *decoder) solution() *Solution {
	s := &Solution{Schedule: &Schedule{}}
	d.object("a schedule", d.withSchema(ScheduleSchema, []field{
		{"problem", true, func() { s.Problem = d.problem("") }},
		{"form", true, func() { s.Schedule.Form = parsed(d, "a form", ParseForm) }},
		{"transfers", true, func() {
			if s.Schedule.Form == 0 {
				d.fail("transfers before the form, want \"form\" first")
			}
			d.transfers(s.Schedule)
		}},
		{"origin", false, func() { s.Origin = d.origin() }},
	}))
	return s
}

// transfers reads the transfers of s; equal routes become one.
func (d *decoder) transfers(s *Schedule) {
	var t Transfer
	var after []int32
	var route []int
	routes := map[string]int32{}
	key := []byte{}
	fields := []field{
		{"chunk", true, func() { t.Chunk = int32(d.whole(0, MaxChunks)) }},
		{"src", true, func() { t.Src = int32(d.whole(0, MaxNodes)) }},
		{"dst", true, func() { t.Dst = int32(d.whole(0, MaxNodes)) }},
		{"links", true, func() {
			route, key = route[:0], key[:0]
			d.array("an array of links", func(int) {
				l := int(d.whole(0, MaxLinks))
				route = append(route, l)
				key = append(key, byte(l), byte(l>>8), byte(l>>16), byte(l>>24))
			})
			id, known := routes[string(key)]
			if !known {
				id = int32(len(s.Routes))
				routes[string(key)] = id
				s.Routes = append(s.Routes, slices.Clone(route))
			}
			t.Route = id
		}},
		{"op", true, func() { t.Op = parsed(d, "an operation", ParseOp) }},
	}
	switch s.Form {
	case Timed:
		fields = append(fields,
			field{"start_ps", true, func() { t.Start = Time(d.whole(0, math.MaxInt64)) }},
			field{"end_ps", true, func() { t.End = Time(d.whole(0, math.MaxInt64)) }})
	case InRounds:
		fields = append(fields, field{"round", true, func() {
			t.Start = Time(d.whole(0, math.MaxInt32))
			t.End = t.Start + 1
		}})
	case Ordered:
		fields = append(fields, field{"after", true, func() {
			after = []int32{}
			d.array("an array of transfers", func(int) { after = append(after, int32(d.whole(0, math.MaxInt32))) })
		}})
	}
	s.Transfers = []Transfer{}
	d.array("an array of transfers", func(int) {
		t, after = Transfer{}, nil
		d.object("a transfer", fields)
		s.Transfers = append(s.Transfers, t)
		if s.Form == Ordered {
			s.After = append(s.After, after)
		}
	})
}

func (d *decoder) origin() Origin {
	var o Origin
	d.object("an origin", []field{
		{"method", false, func() { o.Method = d.text("a name") }},
		{"seed", false, func() { o.Seed = d.unsigned() }},
		{"tool", false, func() { o.Tool = d.text("a name") }},
		{"verdict", false, func() {
			o.Verdict = map[string]string{}
			d.array("an array of [engine, verdict]", func(int) {
				pair := []string{}
				d.array("[engine, verdict]", func(int) { pair = append(pair, d.text("a word")) })
				if len(pair) != 2 {
					d.fail("%d words, want two: engine and verdict", len(pair))
				}
				o.Verdict[pair[0]] = pair[1]
			})
		}},
		{"partial", false, func() { o.Partial = d.boolean() }},
		{"note", false, func() { o.Note = d.text("a note") }},
	})
	return o
}

func (d *decoder) certificate() *Certificate {
	c := &Certificate{}
	d.object("a certificate", d.withSchema(CertificateSchema, []field{
		{"problem", true, func() { c.Problem = d.problem("") }},
		{"bound_ps", true, func() { c.Bound = Time(d.whole(0, math.MaxInt64)) }},
		{"witness", true, func() { c.Witness = d.witness() }},
	}))
	return c
}

// witness reads the evidence: an object whose key "kind", which must come
// first, says what else it has.
func (d *decoder) witness() Witness {
	var kind string
	var cut Cut
	var rank int
	distance := Distance{Chunk: -1}
	used := map[string]bool{}
	start := d.pos
	of := func(name string, kinds []string, read func()) field {
		return field{name, false, func() {
			if !slices.Contains(kinds, kind) {
				d.fail("does not belong to a witness of kind %q, or \"kind\" does not come first", kind)
			}
			used[name] = true
			read()
		}}
	}
	one, path := []string{"ingress", "egress"}, []string{"distance", "doubling"}
	d.object("a witness", []field{
		{"kind", true, func() { kind = d.text("a kind") }},
		of("nodes", []string{"cut"}, func() { cut.Nodes = d.ints("an array of nodes", 0, 2*MaxNodes) }),
		of("rank", one, func() { rank = int(d.whole(0, MaxNodes)) }),
		of("chunk", path, func() { distance.Chunk = int(d.whole(-1, MaxChunks)) }),
		of("shard", path, func() { distance.Shard = int(d.whole(0, MaxChunks)) }),
		of("source", path, func() { distance.Source = int(d.whole(0, MaxNodes)) }),
		of("dest", path[:1], func() { distance.Dest = int(d.whole(0, MaxNodes)) }),
		of("potential_ps", path[:1], func() {
			distance.Potential = []Time{}
			d.array("an array of times", func(int) {
				distance.Potential = append(distance.Potential, Time(d.whole(math.MinInt64/2, math.MaxInt64/2)))
			})
		}),
	})
	need := func(names ...string) {
		for _, name := range names {
			if !used[name] {
				d.failAt(start, "key %q is missing from a witness of kind %q", name, kind)
			}
		}
	}
	switch kind {
	case "cut":
		need("nodes")
		return cut
	case "ingress":
		need("rank")
		return Ingress{rank}
	case "egress":
		need("rank")
		return Egress{rank}
	case "volume":
		return Volume{}
	case "distance":
		need("chunk", "shard", "source", "dest", "potential_ps")
		return distance
	case "doubling":
		need("chunk", "shard", "source")
		return Doubling{distance.Chunk, distance.Shard, distance.Source}
	}
	d.failAt(start, "witness of kind %q, want cut, ingress, egress, volume, distance or doubling", kind)
	return nil
}
