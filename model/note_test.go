package model_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model"
)

func TestNotes(t *testing.T) {
	var n model.Notes
	require.Nil(t, n.Strings())
	n.Add(model.LeftOut, "%s", model.Count(1, "NIC"))
	n.Add(model.Assumed, "%s", model.Count(2, "rank"))
	n.Add(model.Fact, "x")
	n.Add(model.Assumed, "2 ranks")
	require.Equal(t, []string{"left out: 1 NIC", "assumed: 2 ranks", "x"}, n.Strings())
	for _, note := range n {
		require.Equal(t, note, model.ParseNote(note.String()))
	}
	for i := range 2 * model.MaxNotes {
		n.Add(model.Fact, "%d", i)
	}
	require.Len(t, n, model.MaxNotes)
	require.Equal(t, "a, b, c, d and 1 more", model.Few([]string{"a", "b", "c", "d", "e"}))
	require.Equal(t, "a, b, c, d", model.Few([]string{"a", "b", "c", "d"}))
}

// TestNotesOfTopologies: notes are no part of a network, and must fit on a line.
func TestNotesOfTopologies(t *testing.T) {
	one := &model.Topology{Ranks: 1}
	noted := &model.Topology{Ranks: 1, Notes: model.Notes{{Kind: model.LeftOut, Message: "all"}}}
	require.True(t, one.Equal(noted))
	require.NoError(t, noted.Validate())
	noted.Notes[0].Message = "two\nlines"
	require.ErrorContains(t, noted.Validate(), "notes[0]")
	noted.Notes = nil
	for i := range model.MaxNotes + 1 {
		noted.Notes = append(noted.Notes, model.Note{Message: fmt.Sprint(i)})
	}
	require.ErrorContains(t, noted.Validate(), "notes: 33, want at most 32")
}
