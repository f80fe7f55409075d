package view

import (
	"cmp"
	"image/color"
	"slices"
)

// mostly returns the most frequent colours of a picture, 256 of them, the last being some of
// those that are given so that no colour is far from all.
func mostly(count map[[3]uint8]int, rest []color.Color) color.Palette {
	all := make([][3]uint8, 0, len(count))
	for c := range count {
		all = append(all, c)
	}
	slices.SortFunc(all, func(a, b [3]uint8) int { return cmp.Or(cmp.Compare(count[b], count[a]), slices.Compare(a[:], b[:])) })
	var p color.Palette
	for _, c := range all[:min(len(all), 200)] {
		p = append(p, color.RGBA{c[0], c[1], c[2], 255})
	}
	for i := 0; len(p) < 256 && i < len(rest); i += 4 {
		p = append(p, rest[i])
	}
	return p
}
