package model

import (
	"fmt"
	"strings"
)

// Note is what a reader of another tool's file left out or assumed, or what else a reader of
// the file should know. It changes no verdict.
type Note struct {
	Kind    NoteKind
	Message string // a line of text, without a full stop
}

// NoteKind is what a note is about.
type NoteKind uint8

// The kinds of notes.
const (
	Fact    NoteKind = iota // what the file states, or where something was taken from
	Assumed                 // what the file does not state and was taken for granted
	LeftOut                 // what the file states and is not represented here
)

// noteWords are what the text of a note of a kind begins with.
var noteWords = [...]string{Fact: "", Assumed: "assumed: ", LeftOut: "left out: "}

// MaxNotes is how many notes a topology or an imported schedule has at most.
const MaxNotes = 32

// String returns the note as text: "left out: 4 NICs".
func (n Note) String() string { return noteWords[n.Kind] + n.Message }

// ParseNote is the inverse of String.
func ParseNote(s string) Note {
	for _, kind := range []NoteKind{Assumed, LeftOut} {
		if message, ok := strings.CutPrefix(s, noteWords[kind]); ok {
			return Note{kind, message}
		}
	}
	return Note{Fact, s}
}

// Notes is a list of notes.
type Notes []Note

// Add adds a note that is not in the list, up to MaxNotes.
func (n *Notes) Add(kind NoteKind, format string, args ...any) {
	note := Note{kind, fmt.Sprintf(format, args...)}
	for _, other := range *n {
		if other == note {
			return
		}
	}
	if len(*n) < MaxNotes {
		*n = append(*n, note)
	}
}

// Strings returns the notes as text, nil for none.
func (n Notes) Strings() []string {
	var all []string
	for _, note := range n {
		all = append(all, note.String())
	}
	return all
}

// Few joins names with commas, the first four of them where there are more: "a, b, c, d and
// 3 more".
func Few(names []string) string {
	const most = 4
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}

// Count writes a number of things: "1 NIC", "2 NICs".
func Count(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}
