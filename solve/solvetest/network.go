package solvetest

import (
	"math/rand/v2"

	"github.com/oraccl/oraccl/model"
)

// RandomNetwork returns a strongly connected network of 2 to 6 ranks with links of
// different speeds, sometimes with a switch or a port.
func RandomNetwork(rng *rand.Rand) *model.Topology {
	n := 2 + rng.IntN(5)
	t := &model.Topology{Name: "random", Ranks: n}
	link := func(u, v int) {
		t.Links = append(t.Links, model.Link{Src: u, Dst: v, Alpha: model.Time(rng.IntN(5)) * 300 * model.Nanosecond, Bandwidth: int64(1+rng.IntN(4)) * 12.5e9})
	}
	order := rng.Perm(n)
	for i, u := range order {
		link(u, order[(i+1)%n])
	}
	for range rng.IntN(2 * n) {
		if u, v := rng.IntN(n), rng.IntN(n); u != v {
			link(u, v)
		}
	}
	if rng.IntN(3) == 0 {
		t.Switches = []model.Switch{{Name: "s", Copies: rng.IntN(2) == 0}}
		for r := range n {
			link(r, n)
			link(n, r)
		}
	}
	if out := t.Out()[0]; len(out) > 1 && rng.IntN(3) == 0 {
		t.Ports = []model.Port{{Name: "nic", Links: out, Capacity: 1 + rng.IntN(2)}}
	}
	return t
}
