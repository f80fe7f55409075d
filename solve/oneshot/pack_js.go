package oneshot

import "github.com/oraccl/oraccl/model"

// chosen is nothing: on a web page, whose program each visitor loads, chunks are not packed.
type chosen struct{}

func (*search) pack([]*plan, *mixer, model.Time) []chosen { return nil }

func (*search) halved([]*plan, []chosen) {}
