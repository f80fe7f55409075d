package experiment

import (
	"bytes"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/solve/certify"
)

// TestWorkerSays: of a part that panics all is printed that tells where.
func TestWorkerSays(t *testing.T) {
	if os.Getenv("ORACCL_TEST_PANIC") != "" {
		panic("of a part")
	}
	t.Setenv("ORACCL_TEST_PANIC", "1")
	var said bytes.Buffer
	x := &Suite{Runner: Runner{Evaluator: &certify.Evaluator{}}, Workers: 1, Again: []string{"-test.run=^TestWorkerSays$", "--"}, Stderr: &said}
	x.work(t.Context())
	require.Contains(t, said.String(), "part 0 of 1 ended with exit status 2: ")
	require.Contains(t, said.String(), "panic: of a part")
	require.Contains(t, said.String(), "suite_test.go")
}
