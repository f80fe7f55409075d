// Package quote makes text that others chose, such as names of files, safe to print on a
// line of a report: whatever it holds, it cannot end the line, begin another one, or tell
// a terminal anything.
package quote

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Name returns the name of a file as it is if it has nothing but ASCII letters, digits and
// the marks of ordinary names. Any other it returns in double quotes, with escapes as in Go
// for what is no printable character: so that neither a line break, a space, nor an escape
// sequence in a name can pass for the words around it. Different names stay different.
func Name(name string) string {
	if name != "" && !strings.ContainsFunc(name, unusual) {
		return name
	}
	return strconv.Quote(name)
}

func unusual(r rune) bool {
	switch {
	case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9':
		return false
	}
	return !strings.ContainsRune("._-+=,@%#:/~", r)
}

// Line returns text with escapes as in Go for every character that cannot be printed, and
// for bytes that are not UTF-8, so that it stays on its line. What can be printed stays as
// it is.
func Line(text string) string {
	if utf8.ValidString(text) && !strings.ContainsFunc(text, hidden) {
		return text
	}
	var b strings.Builder
	for len(text) > 0 {
		r, n := utf8.DecodeRuneInString(text)
		if r == utf8.RuneError && n == 1 || hidden(r) {
			q := strconv.Quote(text[:n])
			b.WriteString(q[1 : len(q)-1])
		} else {
			b.WriteString(text[:n])
		}
		text = text[n:]
	}
	return b.String()
}

func hidden(r rune) bool { return !unicode.IsPrint(r) }
