package order

import (
	"fmt"
	"strings"

	"github.com/oraccl/oraccl/verify"
)

// maxCycle is how many links of a chain of waits are written out.
const maxCycle = 8

// stuck notes that processes wait for ever: a cycle of waits, or a chain that ends
// at something that never comes.
func (m *machine) stuck() {
	stuck := 0
	for i := range m.p.Processes {
		if int(m.pc[i]) < len(m.p.Processes[i].Steps) {
			stuck++
		}
	}
	if stuck == 0 {
		return
	}
	seen := make([]int, len(m.p.Processes)) // 1 + the walk that came by
	walk := 0
	for i := range m.p.Processes {
		if int(m.pc[i]) == len(m.p.Processes[i].Steps) || seen[i] > 0 {
			continue
		}
		walk++
		var chain []int32
		at, end := int32(i), ""
		for at >= 0 && seen[at] == 0 {
			seen[at] = walk
			chain = append(chain, at)
			at, end = m.waitsFor(at)
		}
		switch {
		case at >= 0 && seen[at] < walk:
			continue // joins a chain that is reported
		case at >= 0: // a cycle: from at on
			for chain[0] != at {
				chain = chain[1:]
			}
			end = fmt.Sprintf("which waits for gpu %d tb %d again", m.p.Processes[at].Rank, m.p.Processes[at].ID)
		}
		var words []string
		for j, proc := range chain {
			if j == maxCycle {
				words = append(words, fmt.Sprintf("… (%d more)", len(chain)-maxCycle))
				break
			}
			words = append(words, m.step(proc, m.pc[proc])+" "+m.waitWords(proc))
		}
		v := m.violation(verify.Deadlock, chain[0], m.pc[chain[0]], fmt.Sprintf("%d of %d threadblocks wait for ever: %s, %s", stuck, len(m.p.Processes), strings.Join(words, "; "), end))
		m.r.violate(v)
	}
}

// waitsFor returns the process that a stuck one waits for, or -1 and why none will
// ever help.
func (m *machine) waitsFor(proc int32) (int32, string) {
	step := m.pc[proc]
	if t, blocked := m.blockedBy(proc, step); blocked {
		if t.step < 0 {
			return -1, "which never signals"
		}
		return t.proc, ""
	}
	c := &m.channels[m.in[proc]]
	if c.sender < 0 {
		return -1, fmt.Sprintf("to which nobody sends on channel %d", c.number)
	}
	if int(m.pc[c.sender]) == len(m.p.Processes[c.sender].Steps) {
		q := &m.p.Processes[c.sender]
		return -1, fmt.Sprintf("and gpu %d tb %d, which sends to it, has ended after %d messages", q.Rank, q.ID, len(c.sends))
	}
	return c.sender, ""
}

// waitWords states what a stuck process waits for.
func (m *machine) waitWords(proc int32) string {
	step := m.pc[proc]
	if t, blocked := m.blockedBy(proc, step); blocked {
		if t.step < 0 {
			return "waits for a step that does not signal"
		}
		return "waits for " + m.step(t.proc, t.step)
	}
	c := &m.channels[m.in[proc]]
	return fmt.Sprintf("waits for message %d of gpu %d on channel %d", c.head+1, c.src, c.number)
}
