package oneshot

import "github.com/oraccl/oraccl/model"

// planes is nothing: on a web page, whose program each visitor loads, mixtures are searched for everywhere.
type planes struct{ Whole bool }

func (*search) planes() *planes { return nil }

func (*planes) mix() {}

// mostMixed is as many transfers everywhere: a network may be planes.
func mostMixed(*model.Problem) int { return maxMixed }
