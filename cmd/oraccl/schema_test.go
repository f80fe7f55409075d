package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"github.com/oraccl/oraccl/cmd/oraccl/exit"
	"github.com/oraccl/oraccl/cmd/oraccl/experiment"
	"github.com/oraccl/oraccl/cmd/oraccl/manual"
	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/native"
	"github.com/oraccl/oraccl/model/topo"
	"github.com/oraccl/oraccl/testdata/published"
)

// validator validates JSON by a schema. It knows the keywords that manual.Schema has, and no
// others: the schema is what is printed, read back.
type validator struct {
	closed bool // keys that a schema does not name are wrong, whatever it says
}

func (j validator) check(schema map[string]any, v any, at string) error {
	for keyword, want := range schema {
		if err := j.keyword(schema, keyword, want, v, at); err != nil {
			return err
		}
	}
	object, ok := v.(map[string]any)
	if _, said := schema["additionalProperties"]; ok && j.closed && !said && schema["type"] == "object" {
		for key := range object {
			if _, known := schema["properties"].(map[string]any)[key]; !known {
				return fmt.Errorf("%s: unknown key %q", at, key)
			}
		}
	}
	return nil
}

func (j validator) keyword(schema map[string]any, keyword string, want, v any, at string) error {
	object, _ := v.(map[string]any)
	list, isList := v.([]any)
	number, isNumber := v.(json.Number)
	wrong := func(format string, args ...any) error { return fmt.Errorf(at+": "+format, args...) }
	switch keyword {
	case "$schema", "$id", "title", "description":
	case "type":
		var types []string
		switch w := want.(type) {
		case string:
			types = []string{w}
		case []any:
			for _, t := range w {
				types = append(types, t.(string))
			}
		}
		if !slices.Contains(types, typeOf(v)) && !(typeOf(v) == "integer" && slices.Contains(types, "number")) {
			return wrong("is %s, want %v", typeOf(v), types)
		}
	case "const":
		if v != want {
			return wrong("is %v, want %v", v, want)
		}
	case "enum":
		if !slices.Contains(want.([]any), v) {
			return wrong("is %v, want one of %v", v, want)
		}
	case "pattern":
		if s, ok := v.(string); ok && !regexp.MustCompile(want.(string)).MatchString(s) {
			return wrong("%q does not match", s)
		}
	case "minimum", "maximum":
		limit, err := want.(json.Number).Int64()
		if n, nerr := number.Int64(); isNumber && nerr == nil && err == nil && (keyword == "minimum" && n < limit || keyword == "maximum" && n > limit) {
			return wrong("%v, want a %s of %v", n, keyword, limit)
		}
	case "required":
		for _, key := range want.([]any) {
			if _, there := object[key.(string)]; object != nil && !there {
				return wrong("key %q is missing", key)
			}
		}
	case "properties":
		for key, s := range want.(map[string]any) {
			if value, there := object[key]; there {
				if err := j.check(s.(map[string]any), value, at+"."+key); err != nil {
					return err
				}
			}
		}
	case "additionalProperties":
		known, _ := schema["properties"].(map[string]any)
		for key, value := range object {
			if _, ok := known[key]; ok {
				continue
			}
			s, free := want.(map[string]any)
			if !free {
				return wrong("unknown key %q", key)
			}
			if err := j.check(s, value, at+"."+key); err != nil {
				return err
			}
		}
	case "items", "prefixItems":
		for i, value := range list {
			s, one := want.(map[string]any)
			if prefix, ok := want.([]any); ok && i < len(prefix) {
				s, one = prefix[i].(map[string]any), true
			}
			if one {
				if err := j.check(s, value, at+"["+strconv.Itoa(i)+"]"); err != nil {
					return err
				}
			}
		}
	case "minItems", "maxItems":
		n, _ := want.(json.Number).Int64()
		if isList && (keyword == "minItems" && len(list) < int(n) || keyword == "maxItems" && len(list) > int(n)) {
			return wrong("%d elements, want %s %d", len(list), keyword, n)
		}
	case "oneOf", "anyOf":
		var errs []string
		for _, s := range want.([]any) {
			if err := j.check(s.(map[string]any), v, at); err != nil {
				errs = append(errs, err.Error())
			}
		}
		if n := len(want.([]any)) - len(errs); n == 0 || n > 1 && keyword == "oneOf" {
			return wrong("%d alternatives of %s hold: %s", n, keyword, strings.Join(errs, "; "))
		}
	default:
		return wrong("keyword %q is not known", keyword)
	}
	return nil
}

func typeOf(v any) string {
	switch x := v.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case string:
		return "string"
	case json.Number:
		if strings.ContainsAny(x.String(), ".eE") {
			return "number"
		}
		return "integer"
	case []any:
		return "array"
	}
	return "object"
}

// decoded reads JSON with its numbers as they stand.
func decoded(t *testing.T, b []byte) any {
	var v any
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	require.NoError(t, d.Decode(&v), "%s", b)
	return v
}

// printedSchema returns a schema as help prints it.
func printedSchema(t *testing.T, name string) map[string]any {
	text, errs, status := said("oraccl help schema " + name)
	require.Zero(t, status, errs)
	return decoded(t, []byte(text)).(map[string]any)
}

// TestSchemasAreKept compares the schemas with the files beside the manual. With UPDATE=1 it
// writes them.
func TestSchemasAreKept(t *testing.T) {
	schemas, err := manual.Schemas(inManual())
	require.NoError(t, err)
	const dir = "manual/schemas"
	kept, err := filepath.Glob(dir + "/*.json")
	require.NoError(t, err)
	for _, schema := range slices.Sorted(maps.Keys(schemas)) {
		parts := strings.Split(schema, "/")
		file := filepath.Join(dir, parts[1]+"-"+parts[2]+".json")
		text, _, status := said("oraccl help schema " + parts[1])
		require.Zero(t, status)
		if os.Getenv("UPDATE") != "" {
			require.NoError(t, os.MkdirAll(dir, 0o755))
			require.NoError(t, os.WriteFile(file, []byte(text), 0o644))
		}
		b, err := os.ReadFile(file)
		require.NoError(t, err)
		require.Equal(t, string(b), text, "%s: UPDATE=1 writes it", file)
		kept = slices.DeleteFunc(kept, func(f string) bool { return f == file })
	}
	require.Empty(t, kept, "of no schema")
	// Every schema that the program names is documented.
	for _, dir := range []string{".", "sweep", "../../model", "../../verify/dossier"} {
		files, err := filepath.Glob(dir + "/*.go")
		require.NoError(t, err)
		for _, file := range files {
			b, err := os.ReadFile(file)
			require.NoError(t, err)
			for _, m := range regexp.MustCompile(`"(oraccl/[a-z]+/\d+)"`).FindAllSubmatch(b, -1) {
				if !strings.HasSuffix(file, "_test.go") {
					require.Contains(t, schemas, string(m[1]), file)
				}
			}
		}
	}
}

// readerOf reads a file of a schema of package model.
func readerOf(schema string, b []byte) error {
	var err error
	switch r := bytes.NewReader(b); schema {
	case native.TopologySchema:
		_, err = native.ReadTopology("f", r)
	case native.CollectiveSchema:
		_, err = native.ReadCollective("f", r)
	case native.ProblemSchema:
		_, err = native.ReadProblem("f", r)
	case native.ScheduleSchema:
		_, err = native.ReadSolution("f", r)
	case native.CertificateSchema:
		_, err = native.ReadCertificate("f", r)
	case native.WorkloadSchema:
		_, err = native.ReadWorkload("f", r, func(name string) (*model.Topology, error) { return topo.Parse(name, topo.Options{}) })
	case native.TimetableSchema:
		_, err = native.ReadTimetable("f", r)
	case native.WorkloadBoundSchema:
		_, err = native.ReadWorkloadBound("f", r)
	default:
		err = fmt.Errorf("no schema %q", schema)
	}
	return err
}

// ofForm are the errors of readers that a schema can see: of one key without another.
var ofForm = regexp.MustCompile(`unknown key|key .* is missing|does not belong to a witness|want an? (object|array|string|number|boolean)|want \[offset|: want (copy|timed|proved|blocking|sum|broadcast)`)

// changes returns b with one thing changed in every place: a key left out, one added, a value
// of another type.
func changes(v any) []any {
	var all []any
	var walk func(v any, put func(any) any)
	walk = func(v any, put func(any) any) {
		for _, other := range []any{json.Number("7"), json.Number("-7"), json.Number("1.5"), "word", true, nil, []any{}, map[string]any{}} {
			if typeOf(other) != typeOf(v) || typeOf(v) == "integer" {
				all = append(all, put(other))
			}
		}
		switch x := v.(type) {
		case map[string]any:
			with := func(key string, value any) any {
				y := maps.Clone(x)
				y[key] = value
				return put(y)
			}
			all = append(all, with("unknown", json.Number("1")))
			for key, value := range x {
				y := maps.Clone(x)
				delete(y, key)
				all = append(all, put(y))
				walk(value, func(value any) any { return with(key, value) })
			}
		case []any:
			for i, value := range x {
				if i < 2 { // the others are alike
					walk(value, func(value any) any {
						y := slices.Clone(x)
						y[i] = value
						return put(y)
					})
				}
			}
		}
	}
	walk(v, func(v any) any { return v })
	return all
}

// encoded writes JSON with the form of a schedule before its transfers.
func encoded(t *testing.T, v any) []byte {
	b, err := json.Marshal(v)
	require.NoError(t, err)
	if o, ok := v.(map[string]any); ok {
		if form, ok := o["form"].(string); ok {
			rest := maps.Clone(o)
			delete(rest, "form")
			tail, err := json.Marshal(rest)
			require.NoError(t, err)
			if len(rest) > 0 {
				b = []byte(fmt.Sprintf(`{"form":%q,%s`, form, tail[1:]))
			}
		}
	}
	return b
}

// Readers and schemas agree: what a reader takes, the schema takes, and what the reader
// refuses for its form, the schema refuses. The files of the test data are tried, and every
// small change of those that show the format.
func TestSchemasAndReadersAgree(t *testing.T) {
	schemas := map[string]map[string]any{}
	for _, name := range []string{"topology", "collective", "problem", "schedule", "certificate", "workload", "timetable", "workload-bound"} {
		schemas["oraccl/"+name+"/1"] = printedSchema(t, name)
	}
	agree := func(name, schema string, b []byte) (taken bool) {
		read := readerOf(schema, b)
		judged := validator{}.check(schemas[schema], decoded(t, b), "")
		if read == nil {
			require.NoError(t, judged, "%s: the reader takes it: %s", name, b)
		} else if ofForm.MatchString(read.Error()) {
			require.Error(t, judged, "%s: the reader refuses it: %v: %s", name, read, b)
		}
		return read == nil
	}
	var files []string
	for _, pattern := range []string{"../../model/native/testdata/*.json", "../../testdata/topologies/*.json", "../../testdata/schedules/accept/*/*.json", "../../testdata/schedules/accept/*.json", "../../testdata/certificates/accept/*.json", "../../testdata/workloads/accept/*.json"} {
		found, err := filepath.Glob(pattern)
		require.NoError(t, err)
		files = append(files, found...)
	}
	require.Greater(t, len(files), 40)
	changed, refused := 0, 0
	for _, file := range files {
		b, err := os.ReadFile(file)
		require.NoError(t, err)
		schema := native.SchemaOf(b)
		require.True(t, agree(file, schema, b), file)
		if !strings.Contains(file, "model/native/testdata") && !strings.Contains(file, "certificates") {
			continue
		}
		for _, v := range changes(decoded(t, b)) {
			changed++
			if !agree(file, schema, encoded(t, v)) {
				refused++
			}
		}
	}
	t.Logf("%d files, %d changes, %d refused by readers", len(files), changed, refused)
	require.Greater(t, refused, 1000)
	malformed, err := filepath.Glob("../../testdata/malformed/*.json")
	require.NoError(t, err)
	require.NotEmpty(t, malformed)
	for _, file := range malformed {
		b, err := os.ReadFile(file)
		require.NoError(t, err)
		kind, _, _ := strings.Cut(filepath.Base(file), "-")
		if json.Valid(b) {
			require.False(t, agree(file, "oraccl/"+kind+"/1", b), file)
		}
	}
}

// The manifest of proofs is as its schema says, which has the keys of the type that reads it.
func TestManifestKeepsToItsSchema(t *testing.T) {
	schema := printedSchema(t, "proofs")
	b, err := os.ReadFile("../../proofs/manifest.json")
	require.NoError(t, err)
	require.NoError(t, validator{}.check(schema, decoded(t, b), ""))
	source, err := os.ReadFile("../proofs/manifest.go")
	require.NoError(t, err)
	var read, said []string
	for _, m := range regexp.MustCompile("json:\"(\\w+)").FindAllSubmatch(source, -1) {
		read = append(read, string(m[1]))
	}
	var keysOf func(s map[string]any)
	keysOf = func(s map[string]any) {
		for key, of := range s {
			below, ok := of.(map[string]any)
			if ok && key == "properties" {
				said = slices.AppendSeq(said, maps.Keys(below))
			}
			if ok {
				keysOf(below)
			}
		}
	}
	keysOf(schema)
	require.ElementsMatch(t, read, said)
}

// What is printed is as its schema says, and has no keys that the schema does not have.
func TestPrintedJSONKeepsToItsSchema(t *testing.T) {
	t.Chdir(t.TempDir())
	prepare := []string{
		"oraccl solve ring:4 --collective allreduce --method ring -o ar.json",
		"oraccl solve ring:4 --collective allreduce --method ring -o ar.xml",
		"oraccl gap ring:4 --collective allgather --chunks 1 --methods ring --proofs out",
	}
	for _, line := range prepare {
		_, errs, status := said(line)
		require.Zero(t, status, "%s: %s", line, errs)
	}
	require.NoError(t, os.WriteFile("timeline.json", []byte(smallTimeline), 0o600))
	b, err := os.ReadFile("ar.json")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile("bad.json", bytes.Replace(b, []byte(`"op": "reduce"`), []byte(`"op": "copy"`), 1), 0o644))
	b, err = os.ReadFile("ar.xml")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile("bad.xml", bytes.Replace(b, []byte(`type="rrc"`), []byte(`type="r"`), 1), 0o644))
	seen := map[string]int{}
	for _, line := range []string{
		"oraccl gap ring:4 --collective allgather --json --methods ring,direct,bruck,sat-trees",
		"oraccl gap switch:4 --collective allreduce --cost rounds --straggler 3 --delay 1ms --total-chunks 4 --methods ring,stragglar --json",
		"oraccl solve ring:4 --collective allreduce --method ring --json",
		"oraccl bound dgx1 --collective allgather --json",
		"oraccl bound ring:4 --collective broadcast --chunks 2 --json",
		"oraccl throughput ring:4 --collective allgather --json",
		"oraccl throughput ring:4 --collective alltoall --json",
		"oraccl throughput ring:4 --collective allreduce --json",
		"oraccl topo lint ndv2:2 --collective alltoall --size 1GB --claim 99GB/s --json",
		"oraccl topo lint ring:4 --json",
		"oraccl verify ar.json --json",
		"oraccl verify bad.json --json",
		"oraccl verify ar.xml --json",
		"oraccl verify bad.xml --json",
		"oraccl check out bad.json --json",
		"oraccl topo show dgx1 --json",
		"oraccl trace timeline.json --json",
		"oraccl solve ring:4 --collective allgather --objective rounds --pareto --chunks 2 --json",
	} {
		out, errs, status := said(line)
		require.LessOrEqual(t, status, exit.Refuted, "%s: %s", line, errs)
		schema := native.SchemaOf([]byte(out))
		name := strings.Split(schema, "/")[1]
		seen[name]++
		require.NoError(t, validator{closed: true}.check(printedSchema(t, name), decoded(t, []byte(out)), schema), "%s\n%s", line, out)
	}
	_, errs, status := said("oraccl sweep --topologies ring:4 --collectives allgather,alltoall --methods ring --dir s")
	require.Zero(t, status, errs)
	b, err = os.ReadFile("s/table.jsonl")
	require.NoError(t, err)
	for _, row := range strings.Split(strings.TrimSpace(string(b)), "\n") {
		seen["sweep"]++
		require.NoError(t, validator{closed: true}.check(printedSchema(t, "sweep"), decoded(t, []byte(row)), "sweep"), row)
	}
	for _, name := range []string{"gap", "bound", "throughput", "pareto", "lint", "verify", "check", "sweep", "trace"} {
		require.NotZero(t, seen[name], name)
	}
}

// smallTimeline is a timeline of Horovod: two iterations of one tensor on two ranks.
const smallTimeline = `[
{"name": "process_name", "ph": "M", "pid": 1, "args": {"name": "grad"}},
{"ph": "B", "name": "NEGOTIATE_ALLREDUCE", "ts": 10, "pid": 1}, {"ph": "X", "name": "0", "ts": 10, "pid": 1, "dur": 0}, {"ph": "X", "name": "1", "ts": 30, "pid": 1, "dur": 0}, {"ph": "E", "ts": 30, "pid": 1},
{"ph": "B", "name": "ALLREDUCE", "ts": 30, "pid": 1}, {"ph": "B", "name": "MPI_ALLREDUCE", "ts": 31, "pid": 1}, {"ph": "E", "ts": 38, "pid": 1}, {"ph": "E", "ts": 40, "pid": 1, "args": {"dtype": "float32", "shape": "[16]"}},
{"ph": "B", "name": "NEGOTIATE_ALLREDUCE", "ts": 110, "pid": 1}, {"ph": "X", "name": "0", "ts": 110, "pid": 1, "dur": 0}, {"ph": "X", "name": "1", "ts": 135, "pid": 1, "dur": 0}, {"ph": "E", "ts": 135, "pid": 1},
{"ph": "B", "name": "ALLREDUCE", "ts": 135, "pid": 1}, {"ph": "B", "name": "MPI_ALLREDUCE", "ts": 136, "pid": 1}, {"ph": "E", "ts": 144, "pid": 1}, {"ph": "E", "ts": 145, "pid": 1, "args": {"dtype": "float32", "shape": "[16]"}},
`

// A validator that takes everything would prove nothing.
func TestJudge(t *testing.T) {
	schema := printedSchema(t, "gap")
	out, _, status := said("oraccl gap ring:4 --collective allgather --json --methods ring")
	require.Zero(t, status)
	v := decoded(t, []byte(out))
	require.NoError(t, validator{closed: true}.check(schema, v, ""))
	refused := 0
	all := changes(v)
	for _, changed := range all {
		if (validator{closed: true}).check(schema, changed, "") != nil {
			refused++
		}
	}
	t.Logf("%d of %d changes are refused", refused, len(all))
	require.Greater(t, refused, len(all)*3/4)
}

// TestExperimentSchema: the schema of experiments takes those of the program and the example
// of the manual, and refuses keys that the reader refuses.
func TestExperimentSchema(t *testing.T) {
	schema := printedSchema(t, "experiment")
	example, _ := experiment.Example()
	files := map[string]string{"example": example}
	for _, f := range experiment.Known() {
		b, err := published.Tables.ReadFile(f.Name + ".yaml")
		require.NoError(t, err)
		files[f.Name] = string(b)
	}
	asJSON := func(text string) any {
		var v any
		require.NoError(t, yaml.Unmarshal([]byte(text), &v))
		b, err := json.Marshal(named(v))
		require.NoError(t, err)
		return decoded(t, b)
	}
	for name, text := range files {
		require.NoError(t, validator{closed: true}.check(schema, asJSON(text), ""), name)
	}
	for _, text := range []string{"title: x\nsectoins: []", "title: x", "title: x\nsections: {}", "title: [x]\nsections: []", "title: x\nsections: [{name: a, rows: [{instanse: x}]}]",
		"title: x\nsections: [{name: a, compute: {b: {sizes: 1}}}]", "title: x\nsections: []\nfigures: [{name: f, x: {log: 1}}]"} {
		require.Error(t, validator{closed: true}.check(schema, asJSON(text), ""), text)
		_, err := experiment.Read("x.yaml", strings.NewReader(text))
		require.Error(t, err, text)
	}
}

// named has texts for the keys of a document in YAML, where true is a truth value.
func named(v any) any {
	switch v := v.(type) {
	case map[any]any:
		m := map[string]any{}
		for k, x := range v {
			m[fmt.Sprint(k)] = named(x)
		}
		return m
	case map[string]any:
		for k, x := range v {
			v[k] = named(x)
		}
	case []any:
		for i, x := range v {
			v[i] = named(x)
		}
	}
	return v
}
