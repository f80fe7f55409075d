package manual

import "strings"

// ExperimentSchema is the name of the schema of an experiment's file.
const ExperimentSchema = "oraccl/experiment/1"

// partOf names the part of a file that a key has, alone, in a list or by name.
var partOf = map[string]string{
	"instance": "An instance", "sections": "A section", "figures": "A figure", "least": "least", "pivot": "pivot", "join": "join",
	"compute": "A run, beside the keys of an instance", "rows": "A row", "x": "An axis", "y": "An axis", "series": "A series", "heat": "heat",
}

// schema returns the JSON Schema of an experiment's file, for editors of YAML.
func (e Experiments) schema() *Schema {
	s := e.part("The file")
	s.Dialect, s.ID, s.Title = dialect, "urn:"+strings.ReplaceAll(ExperimentSchema, "/", ":"), "An experiment, in YAML"
	s.Required = []string{"title", "sections"}
	return s
}

// scalarSchema is of a text, which YAML may take for a number or a truth value.
func scalarSchema() *Schema { return &Schema{Type: types{"string", "number", "boolean"}} }

// namedSchema is of an object with a value for each name.
func namedSchema(of *Schema) *Schema { return &Schema{Type: types{"object"}, Additional: of} }

func listSchema(of *Schema) *Schema { return &Schema{Type: types{"array"}, Items: of} }

// part returns the schema of a part. A run has the keys of an instance, too.
func (e Experiments) part(name string) *Schema {
	s := &Schema{Type: types{"object"}, Additional: false}
	for _, p := range e.Parts {
		if p.Name == name || name == partOf["compute"] && p.Name == partOf["instance"] {
			for _, row := range p.Rows {
				key := strings.Trim(row[0], "`")
				of := e.value(key, row[1])
				of.Description = row[2]
				s.Properties = append(s.Properties, Property{key, of})
			}
		}
	}
	return s
}

// value returns the schema of what a key has.
func (e Experiments) value(key, has string) *Schema {
	switch has {
	case "keys":
		return e.part(partOf[key])
	case "list":
		return listSchema(e.part(partOf[key]))
	case "name: keys":
		return namedSchema(e.part(partOf[key]))
	case "list of names":
		return listSchema(&Schema{Type: types{"string"}})
	case "text, or a list":
		return &Schema{AnyOf: []*Schema{scalarSchema(), listSchema(scalarSchema())}}
	case "name: list":
		return namedSchema(&Schema{AnyOf: []*Schema{scalarSchema(), listSchema(&Schema{AnyOf: []*Schema{scalarSchema(), namedSchema(scalarSchema())}})}})
	case "true or false":
		return &Schema{Type: types{"boolean"}}
	case "number":
		return &Schema{Type: types{"number"}}
	}
	if strings.Contains(has, ": ") { // name: expression, condition: text
		return namedSchema(scalarSchema())
	}
	return scalarSchema()
}
