package assign

import (
	"cmp"
	"slices"
)

// wait has every step wait for those of other threadblocks of its rank that it
// conflicts with, unless its threadblock knows already that they are over: every
// threadblock has a clock, how many steps of each other one of the rank it knows to be over.
// over says that some threadblock has more steps than the limits have room for.
func (c *connected) wait(l Limits) (over bool, err error) {
	stepOf := make([]int32, 2*len(c.messages)) // of a node, the step that carries it out last
	type lane struct{ member, link int32 }
	sent := map[lane]int32{} // of ordered ways: the step that sends over a link and is not to be overtaken
	ofMember := make([][]int32, c.n)
	filled := map[int]int32{} // a slot that is copied at the beginning, by its step
	for i := range c.steps {
		s := &c.steps[i]
		if s.kind == fills && c.both {
			filled[c.slot(s.member, s.chunk)] = int32(i)
		}
		s.waits = nil
		ofMember[s.member] = append(ofMember[s.member], int32(i))
		if s.recv >= 0 {
			stepOf[2*s.recv+1] = int32(i)
		}
		if s.send >= 0 {
			stepOf[2*s.send] = int32(i)
		}
	}
	for r := range ofMember {
		n := len(c.tbs[r])
		clocks := make([]int32, n*n)
		saved := make([]int32, n*len(ofMember[r])) // of a step, what was known when it was over
		index := make(map[int32]int, len(ofMember[r]))
		for k, i := range ofMember[r] {
			s := &c.steps[i]
			mine := clocks[int(s.tb)*n : int(s.tb+1)*n]
			var before []int32
			needs := func(j int32) {
				if j != i && c.steps[j].tb != s.tb {
					before = append(before, j)
				}
			}
			if s.recv >= 0 && s.kind != stages {
				for _, node := range c.before[2*s.recv+1] {
					needs(stepOf[node])
				}
			}
			if s.send >= 0 {
				for _, node := range c.before[2*s.send] {
					needs(stepOf[node])
				}
				if over := (lane{s.member, c.messages[s.send].link}); c.way.ordered {
					if j, ok := sent[over]; ok {
						needs(j)
					}
					sent[over] = i
				}
				if j, ok := filled[c.slot(s.member, s.chunk)]; ok && c.messages[s.send].prev < 0 {
					needs(j)
				}
			}
			slices.SortFunc(before, func(a, b int32) int { return cmp.Compare(b, a) }) // the latest knows most
			for _, j := range before {
				o := &c.steps[j]
				if mine[o.tb] > o.at {
					continue
				}
				s.waits = append(s.waits, j)
				for x, v := range saved[index[j]*n : (index[j]+1)*n] {
					mine[x] = max(mine[x], v)
				}
			}
			slices.Reverse(s.waits)
			mine[s.tb] = s.at + 1
			index[i] = k
			copy(saved[k*n:], mine)
		}
		elements := c.n
		for tb := range c.tbs[r] {
			t := &c.tbs[r][tb]
			steps := 0
			for _, i := range t.steps {
				steps += max(1, len(c.steps[i].waits))
			}
			if elements += 1 + steps; steps > l.Steps {
				return true, tooSmall("rank %d has a threadblock of %d steps, at most %d", r, steps, l.Steps)
			}
		}
		if elements+1 >= l.Elements {
			return false, tooSmall("rank %d reads %d elements, want fewer than %d", r, elements+1, l.Elements)
		}
	}
	return false, nil
}
