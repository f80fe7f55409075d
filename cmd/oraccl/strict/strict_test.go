package strict

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

type inner struct {
	Size int `yaml:"size"`
}

type document struct {
	inner `yaml:",inline"`
	Name  string           `yaml:"name"`
	Parts map[string]inner `yaml:"parts"`
	own   int
}

var kind = Kind{One: "one document", Want: "a name", Shape: "keys with values", Types: []any{inner{}}}

func TestDecode(t *testing.T) {
	var d document
	require.NoError(t, Decode("f.yaml", strings.NewReader("name: &x a\nsize: 3\nparts: {b: {size: 4}}\n"), &d, kind))
	require.Equal(t, document{inner: inner{3}, Name: "a", Parts: map[string]inner{"b": {4}}, own: 0}, d)
	for text, want := range map[string]string{
		"":                             "f.yaml:1: an empty file, want a name",
		"name: a\n---\nname: b":        "f.yaml: more than one document, want one document",
		"name: a\nnam: b":              `f.yaml:2: unknown key "nam", want one of size, name, parts`,
		"name: a\nown: 1":              `f.yaml:2: unknown key "own", want one of size, name, parts`,
		"parts:\n  b:\n    sizes: 1":   `f.yaml:3: unknown key "sizes", want one of size`,
		"name: a\nname: b":             `f.yaml:2: mapping key "name" already defined`,
		"- a":                          "f.yaml:1: want keys with values",
		"name: a\n b: c":               "f.yaml:2: mapping values",
		"name: 'a":                     "f.yaml: ",
		strings.Repeat("#", MaxFile+1): "f.yaml: more than 1048576 bytes, want a small file",
	} {
		require.ErrorContains(t, Decode("f.yaml", strings.NewReader(text), &document{}, kind), want, "%.30s", text)
	}
}
