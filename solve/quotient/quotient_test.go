package quotient

import (
	"testing"

	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/solve/solvetest"
)

func TestConformance(t *testing.T) {
	solvetest.Run(t, New(), solvetest.Config{Serves: 150, Options: solve.Options{Effort: -1}})
}
