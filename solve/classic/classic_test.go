package classic_test

import (
	"testing"

	"github.com/oraccl/oraccl/solve/classic"
	"github.com/oraccl/oraccl/solve/solvetest"
)

func TestConformance(t *testing.T) {
	for _, s := range classic.All() {
		t.Run(s.Name(), func(t *testing.T) { solvetest.Run(t, s, solvetest.Config{Serves: 40}) })
	}
}
