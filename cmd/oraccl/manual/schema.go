package manual

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/verify/dossier"
)

// Schema is a JSON Schema, draft 2020-12, of which it has what is needed here.
type Schema struct {
	Dialect     string     `json:"$schema,omitempty"`
	ID          string     `json:"$id,omitempty"`
	Title       string     `json:"title,omitempty"`
	Description string     `json:"description,omitempty"`
	Type        types      `json:"type,omitempty"`
	Const       string     `json:"const,omitempty"`
	Enum        []string   `json:"enum,omitempty"`
	Pattern     string     `json:"pattern,omitempty"`
	Minimum     *int64     `json:"minimum,omitempty"`
	Maximum     *int64     `json:"maximum,omitempty"`
	Properties  properties `json:"properties,omitempty"`
	Required    []string   `json:"required,omitempty"`
	// Additional is false where other keys are refused, or the schema of values whose keys are free.
	Additional any       `json:"additionalProperties,omitempty"`
	Prefix     []*Schema `json:"prefixItems,omitempty"`
	Items      *Schema   `json:"items,omitempty"`
	MinItems   int       `json:"minItems,omitempty"`
	MaxItems   int       `json:"maxItems,omitempty"`
	OneOf      []*Schema `json:"oneOf,omitempty"`
	AnyOf      []*Schema `json:"anyOf,omitempty"`
}

// types is one type or several.
type types []string

func (t types) MarshalJSON() ([]byte, error) {
	if len(t) == 1 {
		return json.Marshal(t[0])
	}
	return json.Marshal([]string(t))
}

// Property is a key of an object with the schema of its value.
type Property struct {
	Name string
	*Schema
}

// properties keep the order of the Go type.
type properties []Property

func (p properties) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, x := range p {
		if i > 0 {
			b.WriteByte(',')
		}
		value, err := json.Marshal(x.Schema)
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(&b, "%s:%s", strconv.Quote(x.Name), value)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// shaped is a type that says itself what its JSON is.
type shaped interface{ shape(g *generator) *Schema }

// refined is a struct that adds to its schema what its fields do not say.
type refined interface {
	refine(g *generator, s *Schema)
}

// generator makes schemas of Go types, as encoding/json would write them. Keys have the
// descriptions of a section of JSON.md; fields may have a tag
// "range", as "1,", "0,9", or "pattern".
type generator struct {
	places map[reflect.Type]place // of the types that are described elsewhere
	strict bool                   // other keys are refused
	keys   *keys
	err    error
}

// place is where a type is described.
type place struct {
	keys *keys
	path string
}

// of returns the schema of a type at a path of the section: "rows[].method".
func (g *generator) of(t reflect.Type, path string) *Schema {
	if own, ok := g.places[t]; ok {
		defer func(k *keys) { g.keys = k }(g.keys)
		g.keys, path = own.keys, own.path
	}
	if in, ok := inFiles[t]; ok {
		t = in
	}
	if s, ok := reflect.Zero(t).Interface().(shaped); ok {
		return s.shape(g)
	}
	switch t.Kind() {
	case reflect.Pointer:
		s := g.of(t.Elem(), path)
		s.Type = append(s.Type, "null")
		return s
	case reflect.Bool:
		return &Schema{Type: types{"boolean"}}
	case reflect.String:
		return &Schema{Type: types{"string"}}
	case reflect.Int, reflect.Int32, reflect.Int64:
		return &Schema{Type: types{"integer"}}
	case reflect.Uint64:
		return &Schema{Type: types{"integer"}, Minimum: new(int64)}
	case reflect.Float64:
		return &Schema{Type: types{"number"}}
	case reflect.Slice:
		return &Schema{Type: types{"array"}, Items: g.of(t.Elem(), path+"[]")}
	case reflect.Array:
		s := &Schema{Type: types{"array"}, MinItems: t.Len(), MaxItems: t.Len()}
		for range t.Len() {
			s.Prefix = append(s.Prefix, g.of(t.Elem(), path+"[]"))
		}
		return s
	case reflect.Map:
		return &Schema{Type: types{"object"}, Additional: g.of(t.Elem(), path+"{}")}
	case reflect.Struct:
		s := &Schema{Type: types{"object"}}
		if g.strict {
			s.Additional = false
		}
		g.fields(s, t, path)
		if r, ok := reflect.Zero(t).Interface().(refined); ok {
			r.refine(g, s)
		}
		return s
	}
	g.fail("%s: a %v has no schema", path, t)
	return &Schema{}
}

func (g *generator) fail(format string, args ...any) {
	if g.err == nil {
		g.err = fmt.Errorf(format, args...)
	}
}

// inFiles are the types of the library that look another way in files than their fields do.
var inFiles = map[reflect.Type]reflect.Type{
	reflect.TypeFor[model.InstantPrice](): reflect.TypeFor[price](),
	reflect.TypeFor[dossier.Claim]():      reflect.TypeFor[dossierClaim](),
	reflect.TypeFor[dossier.Role]():       reflect.TypeFor[role](),
	reflect.TypeFor[dossier.Row]():        reflect.TypeFor[dossierRow](),
}

// fields adds the keys of a struct, those of embedded ones in their place.
func (g *generator) fields(s *Schema, t reflect.Type, path string) {
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, tagged := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous && name == "":
			g.fields(s, f.Type, path)
			continue
		case !f.IsExported() || name == "-" || !tagged && name == "":
			continue
		}
		at := strings.TrimPrefix(path+"."+name, ".")
		value := g.of(f.Type, at)
		g.limits(value, f.Tag.Get("range"))
		value.Pattern += f.Tag.Get("pattern")
		if name == "schema" && path == "" {
			value.Const = g.keys.schema
			value.Type = nil
		} else if value.Description == "" {
			value.Description = g.keys.describe(at)
		}
		s.Properties = append(s.Properties, Property{name, value})
		if options != "omitempty" {
			s.Required = append(s.Required, name)
		}
	}
}

// limits reads the tag range, and sets the limits of s or of its items.
func (g *generator) limits(s *Schema, text string) {
	if text == "" {
		return
	}
	for s.Items != nil {
		s = s.Items
	}
	for i, part := range strings.Split(text, ",") {
		limit := []**int64{&s.Minimum, &s.Maximum}[i]
		if part == "" {
			continue
		}
		v, err := strconv.ParseInt(part, 10, 64)
		if err != nil {
			g.fail("range %q: %v", text, err)
		}
		*limit = &v
	}
}
