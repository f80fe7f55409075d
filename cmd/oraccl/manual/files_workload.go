package manual

import "reflect"

// The types of this file say what the files of workloads look like: see files.go.

type workloadFile struct {
	Schema string `json:"schema"`
	workload
}

// refine adds that the topology may be named; files that hold a workload have it whole.
func (workloadFile) refine(_ *generator, s *Schema) {
	for i, p := range s.Properties {
		if p.Name == "topology" {
			object := *p.Schema
			object.Description = ""
			s.Properties[i].Schema = &Schema{Description: p.Description, OneOf: []*Schema{{Type: types{"string"}}, &object}}
		}
	}
}

type workload struct {
	Topology  topology                `json:"topology"`
	Cost      costName                `json:"cost"`
	Operators map[string]operatorFile `json:"operators,omitempty"`
	Groups    map[string][]int        `json:"groups,omitempty"`
	Release   []int64                 `json:"release_ps,omitempty" range:"0,"`
	Memory    []int64                 `json:"memory_bytes,omitempty" range:"0,"`
	Jobs      []workloadJob           `json:"jobs,omitempty"`
	Periodic  bool                    `json:"periodic,omitempty"`
	Ops       []opFile                `json:"ops"`
	Edges     []edgeFile              `json:"edges,omitempty"`
	Goal      []goalFile              `json:"goal,omitempty"`
}

type operatorFile struct {
	Associative bool   `json:"associative"`
	Commutative bool   `json:"commutative"`
	Elementwise bool   `json:"elementwise"`
	Tree        string `json:"tree,omitempty"`
}

type workloadJob struct {
	Name       string `json:"name"`
	Iterations int    `json:"iterations,omitempty" range:"1,"`
	Resident   int64  `json:"resident_bytes,omitempty" range:"0,"`
}

type opFile struct {
	ID       string           `json:"id"`
	Kind     string           `json:"kind"`
	Job      string           `json:"job,omitempty"`
	Group    string           `json:"group,omitempty"`
	Root     int              `json:"root,omitempty" range:"0,"`
	Operator string           `json:"operator,omitempty"`
	Size     int64            `json:"size_bytes,omitempty" range:"1,"`
	Chunks   cutFile          `json:"chunks,omitempty"`
	Custom   collective       `json:"custom,omitempty"`
	Buffer   placeFile        `json:"buffer,omitempty"`
	Into     placeFile        `json:"into,omitempty"`
	Schedule freeOr           `json:"schedule,omitempty"`
	Duration oneOrEach        `json:"duration_ps,omitempty"`
	Reads    []accessFile     `json:"reads,omitempty"`
	Writes   []accessFile     `json:"writes,omitempty"`
	Function string           `json:"function,omitempty"`
	Bytes    int64            `json:"memory_bytes,omitempty" range:"0,"`
	Release  map[string]int64 `json:"release_ps,omitempty"`
	After    []afterFile      `json:"after,omitempty"`
}

type placeFile struct {
	Buffer string `json:"buffer"`
	Offset int64  `json:"offset_bytes,omitempty" range:"0,"`
}

type accessFile struct {
	placeFile
	Size  int64 `json:"size_bytes" range:"1,"`
	Until int64 `json:"until_ps,omitempty" range:"0,"`
}

type edgeBody struct {
	Scope  scopeName `json:"scope,omitempty"`
	Height int       `json:"height,omitempty" range:"0,"`
	Offset int64     `json:"offset_ps,omitempty" range:"0,"`
}

type afterFile struct {
	Op string `json:"op"`
	edgeBody
}

type edgeFile struct {
	From string `json:"from"`
	To   string `json:"to"`
	edgeBody
}

type goalFile struct {
	placeFile
	Size  int64  `json:"size_bytes" range:"1,"`
	Group string `json:"group,omitempty"`
	Value term   `json:"value"`
}

type scopeName struct{}

func (scopeName) shape(*generator) *Schema {
	return &Schema{Type: types{"string"}, Enum: []string{"rank", "chunk", "all"}}
}

// freeOr is the word free, or an object with transfers.
type freeOr struct{}

func (freeOr) shape(g *generator) *Schema {
	return &Schema{OneOf: []*Schema{{Const: "free"},
		{Type: types{"object"}, Properties: properties{{"transfers", timedTransfers{}.shape(g)}}, Required: []string{"transfers"}, Additional: false}}}
}

// timedTransfers are those of a timed schedule, whose keys are described there.
type timedTransfers struct{}

func (timedTransfers) shape(g *generator) *Schema {
	zero := int64(0)
	count := &Schema{Type: types{"integer"}, Minimum: &zero}
	op := g.of(reflect.TypeFor[copyOr](), "")
	return &Schema{Type: types{"array"}, Items: &Schema{Type: types{"object"}, Additional: false, Required: []string{"chunk", "src", "dst", "links", "op", "start_ps", "end_ps"},
		Properties: properties{{"chunk", count}, {"src", count}, {"dst", count}, {"links", &Schema{Type: types{"array"}, Items: count}}, {"op", op}, {"start_ps", count}, {"end_ps", count}}}}
}

// oneOrEach is a time, or one for each member.
type oneOrEach struct{}

func (oneOrEach) shape(*generator) *Schema {
	one := int64(1)
	number := &Schema{Type: types{"integer"}, Minimum: &one}
	return &Schema{OneOf: []*Schema{number, {Type: types{"array"}, Items: number}}}
}

// term is what a region is to hold; it may be nested, and is described to a depth of four.
type term struct{}

func (term) shape(*generator) *Schema { return nested(4) }

func nested(depth int) *Schema {
	if depth == 0 {
		return &Schema{Type: types{"object"}}
	}
	zero, one := int64(0), int64(1)
	text, count := &Schema{Type: types{"string"}}, &Schema{Type: types{"integer"}, Minimum: &zero}
	place := &Schema{Type: types{"object"}, Properties: properties{{"buffer", text}, {"offset_bytes", count}}, Required: []string{"buffer"}, Additional: false}
	return &Schema{Type: types{"object"}, Additional: false, Properties: properties{{"input", place}, {"rank", count}, {"operator", text}, {"over", text},
		{"tree", text}, {"function", text}, {"at_bytes", count}, {"of", &Schema{Type: types{"array"}, Items: nested(depth - 1)}},
		{"size_bytes", &Schema{Type: types{"array"}, Items: &Schema{Type: types{"integer"}, Minimum: &one}}}}}
}

type timetableFile struct {
	Schema   string          `json:"schema"`
	Workload workload        `json:"workload"`
	Origin   originFile      `json:"origin,omitempty"`
	Period   int64           `json:"period_ps,omitempty" range:"1,"`
	Programs []programFile   `json:"programs"`
	Placed   []placementFile `json:"placed"`
}

type workloadBoundFile struct {
	Schema   string   `json:"schema"`
	Workload workload `json:"workload"`
	Kind     string   `json:"kind"`
	Bound    int64    `json:"bound_ps" range:"0,"`
	Rank     int      `json:"rank,omitempty" range:"0,"`
	Nodes    []int    `json:"nodes,omitempty" range:"0,"`
	Parts    [][]int  `json:"parts,omitempty" range:"0,"`
	Ops      []string `json:"ops,omitempty"`
}

type programFile struct {
	Transfers timedTransfers `json:"transfers"`
}

type placementFile struct {
	Op        string  `json:"op"`
	Iteration int     `json:"iteration,omitempty" range:"0,"`
	At        int64   `json:"at_ps,omitempty" range:"0,"`
	Program   int     `json:"program,omitempty" range:"0,"`
	Starts    []int64 `json:"starts_ps,omitempty" range:"0,"`
}
