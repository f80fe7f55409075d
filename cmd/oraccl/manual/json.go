package manual

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/oraccl/oraccl/model/native"
	"github.com/oraccl/oraccl/verify/dossier"
)

// read are the documents that are read, strictly: model's, and the manifests of proofs and of dossiers.
var read = []Document{
	{native.TopologySchema, []any{topologyFile{}}}, {native.CollectiveSchema, []any{collectiveFile{}}}, {native.ProblemSchema, []any{problemFile{}}},
	{native.ScheduleSchema, []any{scheduleFile{}}}, {native.CertificateSchema, []any{certificateFile{}}}, {"oraccl/proofs/1", []any{manifest{}}},
	{dossier.ManifestSchema, []any{dossier.Manifest{}}},
	{native.WorkloadSchema, []any{workloadFile{}}}, {native.TimetableSchema, []any{timetableFile{}}},
	{native.WorkloadBoundSchema, []any{workloadBoundFile{}}},
}

// short is the name of a schema without the program's and the version.
func short(schema string) string { return strings.Split(schema, "/")[1] }

func jsonTopic(text string) Topic {
	t := Topic{
		Name: "json", What: "NAME", Elsewhere: "[JSON.md](JSON.md); `oraccl help json gap` prints a section of it.",
		Short: "The JSON documents that are read or printed, key by key",
		Body: always(func() []Block {
			table := Table{Head: []string{"name", "schema", "what it is"}}
			for _, k := range readKeys(text) {
				table.Rows = append(table.Rows, []string{short(k.schema), k.schema, k.title})
			}
			return []Block{
				Para("Every document names its schema and version in the key `schema`. `oraccl help json NAME` states what its keys mean, `oraccl help schema NAME` prints a JSON Schema."),
				table,
				Para("What is read is read strictly: no key may be unknown, missing or there twice. To what is printed, keys are only ever added within a version."),
			}
		}),
	}
	t.parts = func() (parts []Part) {
		for _, k := range readKeys(text) {
			parts = append(parts, Part{short(k.schema), always(func() []Block {
				return append([]Block{Para(k.schema + ": " + k.title)}, k.blocks...)
			})})
		}
		return parts
	}
	return t
}

// dialect is that of all schemas.
const dialect = "https://json-schema.org/draft/2020-12/schema"

func schemaTopic(p Program) Topic {
	documents := append(slices.Concat(read, p.Documents), Document{Schema: ExperimentSchema})
	t := Topic{
		Name: "schema", What: "NAME", Elsewhere: "The directory [manual/schemas](manual/schemas) has them.",
		Short: "The JSON Schema of a document, for validators and editors",
		Body: always(func() []Block {
			table := Table{Head: []string{"name", "schema"}}
			for _, d := range documents {
				table.Rows = append(table.Rows, []string{short(d.Schema), d.Schema})
			}
			return []Block{
				Para("`oraccl help schema NAME` prints the JSON Schema, draft 2020-12, of a document. Of what is read, a schema says all that can be said of one key without another: " +
					"that a rank, link or chunk that is named exists, that no key is there twice, and that a schedule's form stands before its transfers, the readers check."),
				table,
			}
		}),
	}
	t.parts = func() (parts []Part) {
		for _, d := range documents {
			parts = append(parts, Part{short(d.Schema), func() ([]Block, error) {
				all, err := Schemas(p)
				if err != nil {
					return nil, err
				}
				var b bytes.Buffer
				e := json.NewEncoder(&b)
				e.SetEscapeHTML(false)
				e.SetIndent("", "  ")
				err = e.Encode(all[d.Schema])
				return []Block{Raw(b.String())}, err
			}})
		}
		return parts
	}
	return t
}

// Schemas returns the schema of every document, by the name that it has in the document.
// An error states which key has no description, or which description no key.
func Schemas(p Program) (map[string]*Schema, error) {
	sections := map[string]*keys{}
	ordered := readKeys(p.Keys)
	for _, k := range ordered {
		sections[k.schema] = k
	}
	g := &generator{places: map[reflect.Type]place{}}
	at := func(where string, v any) error {
		schema, path, _ := strings.Cut(where, " ")
		if sections[schema] == nil {
			return fmt.Errorf("JSON.md has no section %s", schema)
		}
		g.places[reflect.TypeOf(v)] = place{sections[schema], path}
		return nil
	}
	shared := map[string]any{native.TopologySchema: topology{}, native.CollectiveSchema: collective{}, native.ProblemSchema: problem{}, native.WorkloadSchema: workload{}, native.ScheduleSchema + " origin": originFile{}}
	for _, m := range []map[string]any{shared, p.Shared} {
		for where, v := range m {
			if err := at(where, v); err != nil {
				return nil, err
			}
		}
	}
	all := map[string]*Schema{}
	for i, d := range append(read[:len(read):len(read)], p.Documents...) {
		if g.keys = sections[d.Schema]; g.keys == nil {
			return nil, fmt.Errorf("JSON.md has no section %s", d.Schema)
		}
		g.strict = i < len(read)
		var forms []*Schema
		for _, v := range d.Types {
			forms = append(forms, g.of(reflect.TypeOf(v), ""))
		}
		s := forms[0]
		if len(forms) > 1 {
			s = &Schema{AnyOf: forms}
		}
		s.Dialect, s.ID, s.Title = dialect, "urn:"+strings.ReplaceAll(d.Schema, "/", ":"), plain(g.keys.title)
		all[d.Schema] = s
	}
	if g.err != nil {
		return nil, g.err
	}
	all[ExperimentSchema] = p.Experiments.schema()
	for _, k := range ordered {
		name := k.schema
		if all[name] == nil {
			return nil, fmt.Errorf("JSON.md: %s is no document", name)
		}
		if undescribed, unknown := k.missing(); len(undescribed)+len(unknown) > 0 {
			return nil, fmt.Errorf("JSON.md: %s: keys without a description %q, descriptions without a key %q", name, undescribed, unknown)
		}
	}
	return all, nil
}
