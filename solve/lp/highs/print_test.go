//go:build cgo && linux

package highs_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/solve/lp/highs"
)

// TestPrintToStderr: what HiGHS prints is no part of the output of the program.
func TestPrintToStderr(t *testing.T) {
	if os.Getenv("ORACCL_TEST_PRINT") != "" {
		highs.PrintToStderr()
		require.NoError(t, highs.Print(flows(3, false)))
		fmt.Println("own output")
		os.Exit(0)
	}
	var out, errs bytes.Buffer
	cmd := exec.Command(os.Args[0], "-test.run=^TestPrintToStderr$")
	cmd.Env = append(os.Environ(), "ORACCL_TEST_PRINT=1")
	cmd.Stdout, cmd.Stderr = &out, &errs
	require.NoError(t, cmd.Run(), errs.String())
	require.Equal(t, "own output\n", out.String())
	require.Contains(t, errs.String(), "HiGHS")
}
