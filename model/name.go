package model

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// CheckName returns an error if s cannot be a name. Names are printed, and must not pass
// for other lines of output.
func CheckName(s string) error {
	switch {
	case len(s) > MaxName:
		return fmt.Errorf("name of %d bytes, want at most %d", len(s), MaxName)
	case !utf8.ValidString(s):
		return fmt.Errorf("name %s is not UTF-8", Quote(s))
	case strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }):
		return fmt.Errorf("name %s has characters that cannot be printed, want none", Quote(s))
	}
	return nil
}

// MaxQuote is how many bytes of a document an error repeats at most.
const MaxQuote = 48

// Quote returns s in quotes, or its first MaxQuote bytes and "...".
func Quote(s string) string {
	if len(s) > MaxQuote {
		return strconv.Quote(s[:MaxQuote]) + "..."
	}
	return strconv.Quote(s)
}
