package events

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model"
)

// TestQueue: what comes first is taken first.
func TestQueue(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var q Queue
	var want []model.Time
	for range 500 {
		at := model.Time(rng.IntN(100))
		want = append(want, at)
		q.Add(Event{At: at, Tie: rng.Uint32(), ID: rng.Int32()})
	}
	slices.Sort(want)
	for _, at := range want {
		require.Equal(t, at, q.Take().At)
	}
	require.Equal(t, model.MaxTime, q.Next())
}

// TestCalendar: arrivals come in the order of their times, all of one time at once.
func TestCalendar(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	var c Calendar
	at := map[int32]model.Time{}
	now := model.Time(0)
	var taken []int32
	for i := range int32(5000) {
		if c.Next() < model.MaxTime && rng.IntN(3) == 0 {
			now = c.Next()
			taken = c.Take(taken[:0])
			for _, x := range taken {
				require.Equal(t, now, at[x])
				delete(at, x)
			}
			for _, later := range at {
				require.Greater(t, later, now)
			}
		}
		lasts := model.Time(1 + rng.IntN(4)*7)
		c.Add(c.LineOf(lasts), now+lasts, i)
		at[i] = now + lasts
	}
}
