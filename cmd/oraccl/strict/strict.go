// Package strict reads the small YAML files that users write: one document, no unknown keys,
// no key twice. Errors name file and line.
package strict

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"reflect"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"
)

// MaxFile limits the size of a file, in bytes.
const MaxFile = 1 << 20

// Kind is what a file should be, in the words of errors.
type Kind struct {
	One   string // "one grid"
	Want  string // what an empty file lacks
	Shape string // what a document has that is no mapping where there should be one
	Types []any  // the types whose keys an error may list, beside that of the document
}

// Decode reads a file of that name into v.
func Decode(name string, r io.Reader, v any, kind Kind) error {
	b, err := io.ReadAll(io.LimitReader(r, MaxFile+1))
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if len(b) > MaxFile {
		return fmt.Errorf("%s: more than %d bytes, want a small file", name, MaxFile)
	}
	d := yaml.NewDecoder(bytes.NewReader(b))
	d.KnownFields(true)
	if err := d.Decode(v); errors.Is(err, io.EOF) {
		return fmt.Errorf("%s:1: an empty file, want %s", name, kind.Want)
	} else if err != nil {
		return kind.placed(name, err, v)
	}
	if err := d.Decode(&yaml.Node{}); !errors.Is(err, io.EOF) {
		return fmt.Errorf("%s: more than one document, want %s", name, kind.One)
	}
	return nil
}

// Scalar returns the text of a scalar, or of what an alias stands for. An error names the
// line.
func Scalar(n *yaml.Node, want string) (string, error) {
	if n = Aliased(n); n.Kind != yaml.ScalarNode || n.Tag == "!!null" {
		return "", fmt.Errorf("line %d: want %s", n.Line, want)
	}
	return n.Value, nil
}

// Aliased returns what an alias stands for, or n itself.
func Aliased(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.AliasNode {
		return n.Alias
	}
	return n
}

var (
	atLine  = regexp.MustCompile(`^(?:yaml: )?(?:unmarshal errors:\s*)?line (\d+): (.*)`)
	unknown = regexp.MustCompile(`^field (\S+) not found in type [^.]+\.(\S+)`)
)

// placed puts the file's name and the line before what the reader of YAML reports.
func (k Kind) placed(name string, err error, document any) error {
	message := err.Error()
	var te *yaml.TypeError
	if errors.As(err, &te) && len(te.Errors) > 0 {
		message = te.Errors[0]
	}
	message, _, _ = strings.Cut(message, "\n")
	m := atLine.FindStringSubmatch(message)
	if m == nil {
		return fmt.Errorf("%s: %s", name, strings.TrimPrefix(message, "yaml: "))
	}
	what := m[2]
	if u := unknown.FindStringSubmatch(what); u != nil {
		var keys []string
		for _, v := range append([]any{reflect.ValueOf(document).Elem().Interface()}, k.Types...) {
			if t := reflect.TypeOf(v); t.Name() == u[2] {
				keys = keysOf(t)
			}
		}
		what = fmt.Sprintf("unknown key %q, want one of %s", u[1], strings.Join(keys, ", "))
	} else if strings.HasPrefix(what, "cannot unmarshal") {
		what = "want " + k.Shape
	}
	return fmt.Errorf("%s:%s: %s", name, m[1], what)
}

// keysOf returns the keys that a struct has in YAML, with those of what is embedded in it.
func keysOf(t reflect.Type) (keys []string) {
	for i := range t.NumField() {
		f := t.Field(i)
		switch key, _, _ := strings.Cut(f.Tag.Get("yaml"), ","); {
		case f.Anonymous && key == "":
			keys = append(keys, keysOf(f.Type)...)
		case f.IsExported() && key != "-":
			keys = append(keys, key)
		}
	}
	return keys
}
