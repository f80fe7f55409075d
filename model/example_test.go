package model_test

import (
	"fmt"

	"github.com/oraccl/oraccl/model"
)

func ExampleProblem_Cut() {
	t := &model.Topology{Ranks: 3}
	p := &model.Problem{Topology: t, Collective: model.Collective{Kind: model.AllGather}, Size: 10}
	fmt.Println(p.Cut(3))
	// Output: [{0 3} {3 3} {6 4}]
}
