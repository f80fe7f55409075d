package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// better are phrases that a reader has to decode, with plain ones in their place. Text that is
// read by users or in the code has none of them, whatever its line breaks.
var better = map[string]string{
	`so many`:                             "the number, or: this many",
	`anew`:                                "again",
	`but for`:                             "except for",
	`as far as`:                           "where, up to, or: within",
	`whoever`:                             "the reader, a rank that, …",
	`the same again`:                      "the same",
	`what binds`:                          "what limits, the limit",
	`(the|its) solver's word`:             "according to the solver",
	`says? (whether|if)`:                  "reports whether",
	`says (what|which|why)`:               "states what, states which, explains why",
	`(chunks?|bytes|one) a (rank|second)`: "per rank, per second",
	`(a|one) row a cell`:                  "one row per cell",
	`pay for (its|their) ways?`:           "cost",
}

// TestPlainEnglish looks for such phrases in Go files, comments and strings alike, in scripts
// and in documents.
func TestPlainEnglish(t *testing.T) {
	type rule struct {
		*regexp.Regexp
		instead string
	}
	var rules []rule
	for phrase, instead := range better {
		text := strings.ReplaceAll(phrase, " ", `[\s/#*]+`) // over the ends of lines of a comment, too
		rules = append(rules, rule{regexp.MustCompile(`(?i)\b` + text + `\b`), instead})
	}
	read := 0
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel := filepath.ToSlash(strings.TrimPrefix(strings.TrimPrefix(p, root), "/"))
		if d.IsDir() {
			if base := d.Name(); rel != "" && (strings.HasPrefix(base, ".") || slices.Contains(notCommitted, rel) || rel == "testdata") {
				return filepath.SkipDir
			}
			return nil
		}
		if !slices.Contains([]string{".go", ".md", ".txtar", ".sh", ".js", ".v", ".yaml"}, filepath.Ext(rel)) || rel == "cmd/setup/phrases_test.go" {
			return nil
		}
		read++
		text, err := os.ReadFile(p)
		if err != nil {
			return err
		}
		for _, r := range rules {
			for _, at := range r.FindAllIndex(text, -1) {
				line := 1 + strings.Count(string(text[:at[0]]), "\n")
				t.Errorf("%s:%d: %q: write %q", rel, line, text[at[0]:at[1]], r.instead)
			}
		}
		return nil
	})
	require.NoError(t, err)
	require.Greater(t, read, 500, "few files: is this the top directory? %s", root)
}
