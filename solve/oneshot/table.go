package oneshot

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"sync"
)

//go:embed rings.txt
var ringTable string

// tabled returns the rings of the table by their number of ranks, those of fewest rounds first.
var tabled = sync.OnceValue(func() map[int][]*ring {
	all := map[int][]*ring{}
	for line := range strings.Lines(ringTable) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		before, after, _ := strings.Cut(line, ":")
		x := &ring{}
		if _, err := fmt.Sscan(before, &x.size); err != nil {
			panic(err)
		}
		for round := range strings.SplitSeq(after, "/") {
			var legs []leg
			for field := range strings.FieldsSeq(round) {
				var l leg
				var op rune
				if _, err := fmt.Sscanf(field, "%d%c%d", &l.from, &op, &l.to); err != nil {
					panic(err)
				}
				l.copied = op == '='
				legs = append(legs, l)
			}
			x.main = append(x.main, legs)
		}
		x.latency = len(x.main)
		x.drawIn()
		x.drawOut()
		x.main = slices.DeleteFunc(x.main, func(legs []leg) bool { return len(legs) == 0 })
		all[x.size] = append(all[x.size], x.lively())
	}
	return all
})

// drawIn has what places add up to one of them, before they have a use for what others have, be collected before the first step.
func (x *ring) drawIn() {
	sent := make([]int, x.size) // how often a place sends what is its own or collected there
	copied := make([]bool, x.size)
	for _, legs := range x.main {
		for _, l := range legs {
			if !copied[l.from] {
				sent[l.from]++
			}
		}
		for _, l := range legs {
			copied[l.to] = copied[l.to] || l.copied
		}
	}
	pure, copied := slices.Repeat([]bool{true}, x.size), make([]bool, x.size) // a place has what is its own or collected there
	went := make([]bool, x.size)                                              // has sent something
	for i, legs := range x.main {
		before := slices.Clone(went)
		for _, l := range legs {
			before[l.from] = true
		}
		was := slices.Clone(pure)
		x.main[i] = slices.DeleteFunc(slices.Clone(legs), func(l leg) bool {
			if l.copied || !was[l.from] || sent[l.from] != 1 || copied[l.from] || copied[l.to] || before[l.to] {
				return false
			}
			x.collect = append(x.collect, l)
			return true
		})
		for _, l := range x.main[i] {
			pure[l.to] = false
			copied[l.to] = copied[l.to] || l.copied
		}
		went = before
	}
}

// drawOut has what places get that send nothing but that on, and get nothing later, be spread after the last step.
func (x *ring) drawOut() {
	got, whole := make([]bool, x.size), slices.Repeat([]bool{true}, x.size) // later: it gets something; all that it gets is spread
	for i := len(x.main) - 1; i >= 0; i-- {
		legs := x.main[i]
		var spread []leg
		into := make([]bool, x.size)
		for _, l := range legs {
			into[l.to] = true
		}
		last := slices.Clone(got)
		x.main[i] = slices.DeleteFunc(slices.Clone(legs), func(l leg) bool {
			if !l.copied || last[l.to] || !whole[l.to] || last[l.from] || into[l.from] {
				return false
			}
			spread = append(spread, l)
			return true
		})
		x.spread = append(spread, x.spread...)
		for _, l := range x.main[i] {
			whole[l.from] = false
		}
		for _, l := range legs {
			got[l.to] = true
		}
	}
}
