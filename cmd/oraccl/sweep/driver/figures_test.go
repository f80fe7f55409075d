package driver

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestSlug: what tells figures apart stands in their names, and nothing that a file's name may not have.
func TestSlug(t *testing.T) {
	for want, parts := range map[string][]string{
		"ring-4-allreduce-pipelined":                      {"ring:4", "allreduce", "pipelined", "", ""},
		"torus-nxn-1-mib-allgather-blocking-chunks-per-2": {"torus:*x*", "1 MiB", "allgather", "blocking", "", "", "chunks per 2"},
		"a-b.json-late-by-1.5us":                          {"../a/b.json", "late by 1.5us"},
		strings.Repeat("x", 120):                          {strings.Repeat("x", 200)},
		"":                                                {"", "/"},
	} {
		require.Equal(t, want, slug(parts))
	}
}
