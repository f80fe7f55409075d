package certify

import "testing"

// TestCandidate tests which of the paused methods goes on: one that usually finds the best schedule unless another is clearly shorter, and none that is far
// behind.
func TestCandidate(t *testing.T) {
	best := &Row{Makespan: 1000}
	for _, c := range []struct {
		name   string
		paused []*Row
		want   int
	}{
		{"none", nil, -1},
		{"far behind", []*Row{{Makespan: 1060, leads: true}}, -1},
		{"the shortest", []*Row{{Makespan: 1030}, {Makespan: 1000}, {Makespan: 1010}}, 1},
		{"hardly longer, but it leads", []*Row{{Makespan: 1000}, {Makespan: 1019, leads: true}}, 1},
		{"hardly longer, but it leads and ran first", []*Row{{Makespan: 1019, leads: true}, {Makespan: 1000, leads: true}}, 0},
		{"it leads, in another order", []*Row{{Makespan: 1019, leads: true}, {Makespan: 1000}}, 0},
		{"clearly longer, though it leads", []*Row{{Makespan: 1000}, {Makespan: 1021, leads: true}}, 0},
		{"clearly longer, in another order", []*Row{{Makespan: 1021, leads: true}, {Makespan: 1000}}, 1},
		{"clearly shorter, and both lead", []*Row{{Makespan: 1030, leads: true}, {Makespan: 1000, leads: true}}, 1},
		{"it leads, but gained nothing", []*Row{{Makespan: 1000, leads: true, idle: true}, {Makespan: 1040}}, 1},
		{"all gained nothing", []*Row{{Makespan: 1010, idle: true}, {Makespan: 1000, idle: true}}, 1},
	} {
		if got := candidate(c.paused, best); got != c.want {
			t.Errorf("%s: method %d goes on, want %d", c.name, got, c.want)
		}
	}
}
