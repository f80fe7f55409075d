package classic_test

import (
	"cmp"
	"testing"

	"github.com/oraccl/oraccl/solve/classic"
	"github.com/oraccl/oraccl/solve/solvetest"
)

func TestConformance(t *testing.T) {
	serves := map[string]int{"bine": 36, "recursive-multiplying": 18} // few collectives, powers of two; small chunks
	for _, s := range classic.All() {
		t.Run(s.Name(), func(t *testing.T) { solvetest.Run(t, s, solvetest.Config{Serves: cmp.Or(serves[s.Name()], 40)}) })
	}
}
