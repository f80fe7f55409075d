package main

import (
	"io"

	"github.com/oraccl/oraccl/model"
)

// printNotes writes what readers of files left out, assumed, or have to add, a line each.
func printNotes(w io.Writer, notes ...model.Notes) {
	for _, list := range notes {
		for _, n := range list {
			line(w, "note: %v", n)
		}
	}
}
