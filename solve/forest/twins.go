package forest

import "github.com/oraccl/oraccl/model"

// twins are links between the same ranks with the same figures: what goes over one may go over another.
type twins struct {
	t  *model.Topology
	of [][]int // by link: its twins, ascending, itself among them
}

func twinsOf(t *model.Topology) *twins {
	same := map[model.Link][]int{}
	for i, l := range t.Links {
		if l.Src < t.Ranks && l.Dst < t.Ranks {
			same[l] = append(same[l], i)
		}
	}
	w := &twins{t: t, of: make([][]int, len(t.Links))}
	for i, l := range t.Links {
		if w.of[i] = same[l]; w.of[i] == nil {
			w.of[i] = []int{i}
		}
	}
	return w
}

// bandwidth returns that of a link and its twins together.
func (w *twins) bandwidth(link int) float64 {
	return float64(len(w.of[link])) * float64(w.t.Links[link].Bandwidth)
}
