package workloads_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/solve/certify"
)

var options = solve.Options{Threads: 1, Effort: -1}

func named(t *testing.T, method string) solve.Solver {
	t.Helper()
	all, err := certify.MethodsNamed(method)
	require.NoError(t, err)
	return all[0]
}
