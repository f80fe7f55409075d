package manual

import (
	"reflect"

	"github.com/oraccl/oraccl/model"
)

// The types of this file say what the files of package model look like, which that package
// reads and writes without encoding/json. A test has every file of the test data read by
// model and judged by the schemas, as it is and with changes.

type topologyFile struct {
	Schema string `json:"schema"`
	topology
}

type topology struct {
	Name     string       `json:"name"`
	Ranks    int          `json:"ranks" range:"1,"`
	Switches []switchFile `json:"switches,omitempty"`
	Links    []linkFile   `json:"links"`
	Ports    []portFile   `json:"ports,omitempty"`
	Groups   []groupFile  `json:"groups,omitempty"`
	Notes    []string     `json:"notes,omitempty"`
}

type groupFile struct {
	Name  string    `json:"name"`
	Kind  groupKind `json:"kind,omitempty"`
	Ranks []int     `json:"ranks" range:"0,"`
}

type switchFile struct {
	Name    string `json:"name,omitempty"`
	Copies  bool   `json:"copies,omitempty"`
	Reduces string `json:"reduces,omitempty"`
	Sums    int    `json:"sums,omitempty" range:"1,"`

	Operations []opName `json:"operations,omitempty"`

	Types *typesFile `json:"types,omitempty"`
}

// typesFile has, by operator, with which types of numbers a switch computes that.
type typesFile struct {
	Sum  []dtypeName `json:"sum,omitempty"`
	Prod []dtypeName `json:"prod,omitempty"`
	Min  []dtypeName `json:"min,omitempty"`
	Max  []dtypeName `json:"max,omitempty"`
}

type linkFile struct {
	Src       int   `json:"src" range:"0,"`
	Dst       int   `json:"dst" range:"0,"`
	Alpha     int64 `json:"alpha_ps" range:"0,"`
	Bandwidth int64 `json:"bandwidth_bytes_per_s" range:"1,"`
}

type portFile struct {
	Name     string `json:"name,omitempty"`
	Links    []int  `json:"links" range:"0,"`
	Capacity int    `json:"capacity" range:"1,"`
}

type collectiveFile struct {
	Schema string `json:"schema"`
	collective
}

type collective struct {
	Kind   kindName    `json:"kind"`
	Name   string      `json:"name,omitempty"`
	Group  []int       `json:"group,omitempty" range:"0,"`
	Root   int         `json:"root,omitempty" range:"0,"`
	Op     opName      `json:"op,omitempty"`
	Type   dtypeName   `json:"dtype,omitempty"`
	Chunks int         `json:"chunks,omitempty" range:"1,"`
	Sizes  []int64     `json:"sizes,omitempty" range:"1,"`
	Pre    []condition `json:"pre,omitempty"`
	Post   []condition `json:"post,omitempty"`
}

type condition struct {
	Rank          int   `json:"rank" range:"0,"`
	Chunk         int   `json:"chunk" range:"0,"`
	Contributions []int `json:"contributions" range:"0,"`
}

type problemFile struct {
	Schema string `json:"schema"`
	problem
}

type problem struct {
	Topology   topology   `json:"topology"`
	Collective collective `json:"collective"`
	Size       int64      `json:"size_bytes" range:"1,"`
	Chunks     cutFile    `json:"chunks,omitempty"`
	Cost       costName   `json:"cost"`
	Release    []int64    `json:"release_ps,omitempty" range:"0,"`
}

// cutFile is a number of equal chunks or a list of them.
type cutFile struct{}

func (cutFile) shape(*generator) *Schema {
	zero, one := int64(0), int64(1)
	number := &Schema{Type: types{"integer"}, Minimum: &zero}
	return &Schema{OneOf: []*Schema{
		{Type: types{"integer"}, Minimum: &one},
		{Type: types{"array"}, Items: &Schema{Type: types{"array"}, Prefix: []*Schema{number, number}, MinItems: 2, MaxItems: 2}},
	}}
}

type scheduleFile struct {
	Schema    string     `json:"schema"`
	Problem   problem    `json:"problem"`
	Form      formName   `json:"form"`
	Transfers transfers  `json:"transfers"`
	Origin    originFile `json:"origin,omitempty"`
}

// transfers are of any form; which, the alternatives of the schedule say.
type transfers struct{}

func (transfers) shape(*generator) *Schema { return &Schema{Type: types{"array"}} }

func (scheduleFile) refine(g *generator, s *Schema) {
	for _, form := range []struct {
		name model.Form
		of   any
	}{{model.Timed, timedFile{}}, {model.InRounds, roundFile{}}, {model.Ordered, orderedFile{}}} {
		items := &Schema{Items: g.of(reflect.TypeOf(form.of), "transfers[]")}
		s.OneOf = append(s.OneOf, &Schema{Properties: properties{{"form", &Schema{Const: form.name.String()}}, {"transfers", items}}})
	}
}

type transferFile struct {
	Chunk int    `json:"chunk" range:"0,"`
	Src   int    `json:"src" range:"0,"`
	Dst   int    `json:"dst" range:"0,"`
	Links []int  `json:"links" range:"0,"`
	Op    copyOr `json:"op"`
}

type timedFile struct {
	transferFile
	Start int64 `json:"start_ps" range:"0,"`
	End   int64 `json:"end_ps" range:"0,"`
}

type roundFile struct {
	transferFile
	Round int `json:"round" range:"0,"`
}

type orderedFile struct {
	transferFile
	After []int `json:"after" range:"0,"`
}

type originFile struct {
	Method  string             `json:"method,omitempty"`
	Seed    uint64             `json:"seed,omitempty"`
	Tool    string             `json:"tool,omitempty"`
	Verdict map[string]verdict `json:"verdict,omitempty"`
	Partial bool               `json:"partial,omitempty"`
	Note    string             `json:"note,omitempty"`
}

type certificateFile struct {
	Schema  string  `json:"schema"`
	Problem problem `json:"problem"`
	Bound   int64   `json:"bound_ps" range:"0,"`
	Witness witness `json:"witness"`
}

// witness is an object whose key "kind" states what else it has.
type witness struct{}

func (witness) shape(g *generator) *Schema {
	s := &Schema{}
	for _, name := range model.WitnessKinds() {
		w, err := model.WitnessOf(name)
		if err != nil {
			g.fail("witness: %v", err)
			return s
		}
		one := g.of(reflect.TypeOf(w), "witness")
		kind := Property{"kind", &Schema{Const: name}}
		one.Properties = append(properties{kind}, one.Properties...)
		one.Required = append([]string{"kind"}, one.Required...)
		s.OneOf = append(s.OneOf, one)
	}
	g.keys.describe("witness.kind")
	return s
}

// price is a model.InstantPrice in a file: [what, instant, price].
type price [3]uint64

// The words of files.
type (
	kindName  string
	groupKind string
	opName    string
	dtypeName string
	costName  string
	formName  string
	copyOr    string
	verdict   string
)

func names[T interface{ String() string }](list ...T) *Schema {
	s := &Schema{}
	for _, x := range list {
		s.Enum = append(s.Enum, x.String())
	}
	return s
}

func (groupKind) shape(*generator) *Schema {
	return names(model.OtherGroup, model.MachineGroup, model.RailGroup)
}
func (kindName) shape(*generator) *Schema { return names(append(model.Kinds(), model.Custom)...) }
func (opName) shape(*generator) *Schema   { return names(model.Sum, model.Prod, model.Min, model.Max) }
func (dtypeName) shape(*generator) *Schema {
	return names((1<<(model.Uint64+1) - 2 + model.DTypes(0)).List()...)
}
func (costName) shape(*generator) *Schema {
	return names(model.Blocking, model.Pipelined, model.Rounds, model.LinkRounds)
}
func (formName) shape(*generator) *Schema { return names(model.Timed, model.InRounds, model.Ordered) }
func (copyOr) shape(*generator) *Schema   { return names(model.Copy, model.Reduction) }
func (verdict) shape(*generator) *Schema {
	return &Schema{Enum: []string{"proved", "refuted", "unknown"}}
}

// manifest is what the program of make proofs reads: cmd/proofs has the type.
type manifest struct {
	Schema   string `json:"schema"`
	Recorded struct {
		Z3      string  `json:"z3"`
		CVC5    string  `json:"cvc5"`
		CaDiCaL string  `json:"cadical"`
		Coq     string  `json:"coq"`
		OCaml   string  `json:"ocaml"`
		Seconds float64 `json:"seconds"`
	} `json:"recorded"`
	Obligations []struct {
		File   string   `json:"file"`
		Claim  string   `json:"claim"`
		Models string   `json:"models"`
		Expect []string `json:"expect"`
		Fails  bool     `json:"fails,omitempty"`
	} `json:"obligations"`
	Refutations []struct {
		Ranks  int    `json:"ranks" range:"2,"`
		Chunks int    `json:"chunks" range:"1,"`
		Rounds int    `json:"rounds" range:"0,"`
		File   string `json:"file,omitempty"`
	} `json:"refutations"`
	Theorems []struct {
		File  string `json:"file"`
		Name  string `json:"name"`
		Claim string `json:"claim"`
		Of    string `json:"of"`
	} `json:"theorems"`
	Documents []struct {
		Dir     string         `json:"dir"`
		Answers map[string]int `json:"answers"`
		Changed []string       `json:"changed_from,omitempty"`
	} `json:"documents"`
}
