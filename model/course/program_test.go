package course_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/course"
)

// TestProgram carries out an exchange of two ranks, which ends, and which does not if both receive
// first; and waits for steps that signal, signal later, and never do.
func TestProgram(t *testing.T) {
	send := model.Instruction{Verb: model.Reads | model.Sends, Name: "s"}
	receive := model.Instruction{Verb: model.Receives | model.Writes, Name: "r"}
	exchange := func(first, second model.Instruction) *model.Program {
		p := &model.Program{Ranks: 2}
		for r := range 2 {
			p.Processes = append(p.Processes, model.Process{Rank: r, SendTo: 1 - r, RecvFrom: 1 - r, Steps: []model.Instruction{first, second}})
		}
		return p
	}
	c, err := course.Program(t.Context(), exchange(send, receive))
	require.NoError(t, err)
	require.Empty(t, c.Stuck)
	require.Len(t, c.Events, 4)
	for i, e := range c.Events {
		for _, b := range e.Before {
			require.Less(t, int(b), i)
		}
		if e.Op == 1 {
			from := c.Events[e.Before[0]].Place
			require.Equal(t, course.Place{Block: 1 - e.Block, Op: 0}, from, "it receives what the other one sent")
		}
	}

	c, err = course.Program(t.Context(), exchange(receive, send))
	require.NoError(t, err)
	require.Empty(t, c.Events)
	require.Len(t, c.Cycle(), 2)
	require.Equal(t, []course.Place{{Block: 1, Op: 1}}, c.Stuck[0].For)
	require.Equal(t, "a message from gpu 1 on channel 0", c.Stuck[0].What)

	waiting := func(signals ...bool) *course.Course {
		p := &model.Program{Ranks: 1}
		var steps []model.Instruction
		for _, s := range signals {
			steps = append(steps, model.Instruction{Verb: model.Reads | model.Writes, Name: "cpy", Signals: s})
		}
		p.Processes = []model.Process{
			{ID: 1, SendTo: -1, RecvFrom: -1, Steps: []model.Instruction{{Verb: model.Reads | model.Writes, Name: "cpy", Waits: []model.Wait{{Process: 0, Step: 1}}}}},
			{ID: 0, SendTo: -1, RecvFrom: -1, Steps: steps},
		}
		c, err := course.Program(t.Context(), p)
		require.NoError(t, err)
		return c
	}
	last := func(c *course.Course) course.Event { return c.Events[len(c.Events)-1] }
	c = waiting(true, true, true)
	require.Equal(t, course.Place{Block: 0, Op: 0}, last(c).Place)
	require.Equal(t, 1, c.Events[last(c).Before[0]].Op)
	require.Equal(t, 2, waiting(false, false, true).Events[last(waiting(false, false, true)).Before[0]].Op, "a later one signals")
	c = waiting(true, false, false)
	require.Len(t, c.Stuck, 1)
	require.Equal(t, "a signal of tb 0", c.Stuck[0].What)
	require.Empty(t, c.Stuck[0].For)
	require.Empty(t, c.Cycle())
}
