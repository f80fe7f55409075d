package broadcast

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/solve/solvetest"
)

// TestTrained: trains are hardly later than the last byte can be at the farthest rank, small buffers or large.
func TestTrained(t *testing.T) {
	for _, c := range []struct {
		name     string
		size     int64
		farthest model.Time // rank, in hops
		late     float64    // part of the time
	}{
		{"torus:8x8", 64 << 10, 8, 0.02}, {"torus:8x8", 1 << 20, 8, 0.13}, {"hypercube:6", 1 << 20, 6, 0.3},
	} {
		p := problem(t, c.name, model.Broadcast)
		p.Size = c.size
		all, err := packings(context.Background(), context.Background(), p)
		require.NoError(t, err)
		busy, _ := all[0].Fluid(p)
		least := model.Time(busy*1e12) + c.farthest*p.Topology.Links[0].Alpha
		r := trained(context.Background(), p, solve.Options{}, all[0], 1<<13, 1)
		require.NoError(t, solvetest.Right(r.Problem, r.Schedule))
		require.GreaterOrEqual(t, r.Makespan(), least)
		require.LessOrEqual(t, float64(r.Makespan()), float64(least)*(1+c.late), "%s, %d bytes", c.name, c.size)
	}
}

// TestTrainedFlat: trains go down tempered trees where those of the largest rate are deep, and what is soon placed is enough
// where it ends in time.
func TestTrainedFlat(t *testing.T) {
	p := problem(t, "rfs:2x4x8", model.Broadcast)
	p.Size = 1 << 20
	all, err := packings(context.Background(), context.Background(), p)
	require.NoError(t, err)
	deep := flattest(p, all)[0]
	b, done := solve.NewBudget(context.Background(), 0, 1)
	defer done()
	r := trainedFlat(b, p, solve.Options{Enough: model.MaxTime}, deep)
	require.NoError(t, solvetest.Right(r.Problem, r.Schedule))
	require.LessOrEqual(t, len(r.Schedule.Transfers), fewTransfers)
	require.Less(t, float64(r.Makespan()), 0.92*float64(trained(context.Background(), p, solve.Options{}, deep, fewTransfers, 1).Makespan()))
}

// TestFiner: where many transfers take too long there is time for fewer; where they do not, longer trains are tried, too.
func TestFiner(t *testing.T) {
	of := func(makespan float64) solve.Result {
		return solve.Result{Problem: problem(t, "full:4", model.Broadcast), Schedule: &model.Schedule{Form: model.Timed, Transfers: []model.Transfer{{End: model.Time(makespan)}}}}
	}
	stopped := solve.Result{Problem: problem(t, "full:4", model.Broadcast), Stop: solve.TimeLimit}
	const most = 1 << 22
	var asked []int
	find := func(_ context.Context, n int, longer float64) solve.Result {
		asked = append(asked, n)
		return of(100 - 10*longer)
	}
	b, done := solve.NewBudget(context.Background(), time.Hour, 1)
	defer done()
	end, _ := b.Context().Deadline()
	require.EqualValues(t, 90, finer(b, of(200), most, 0, func(ctx context.Context, n int, longer float64) solve.Result {
		if n == most {
			share, _ := ctx.Deadline()
			require.Greater(t, end.Sub(share), 5*time.Minute, "some time is left for fewer")
			return stopped
		}
		require.Equal(t, b.Context(), ctx)
		return find(ctx, n, longer)
	}).Makespan())
	require.Len(t, asked, 1)
	require.Less(t, asked[0], most/8)

	unlimited, done := solve.NewBudget(context.Background(), 0, 1)
	defer done()
	asked = nil
	require.EqualValues(t, 90, finer(unlimited, of(200), most, 90, find).Makespan(), "enough")
	require.Equal(t, []int{most}, asked)
	require.EqualValues(t, 100-10*slices.Max(longerTrains), finer(unlimited, of(200), most, 0, find).Makespan())
	r := finer(unlimited, of(200), most, 0, func(context.Context, int, float64) solve.Result { return stopped })
	require.EqualValues(t, 200, r.Makespan())
	require.Equal(t, solve.TimeLimit, r.Stop)
}

// TestSooner: a result keeps the best that was found with far fewer transfers.
func TestSooner(t *testing.T) {
	of := func(makespan model.Time, transfers int) solve.Result {
		s := &model.Schedule{Form: model.Timed, Transfers: make([]model.Transfer, transfers)}
		for i := range s.Transfers {
			s.Transfers[i].End = makespan
		}
		return solve.Result{Problem: problem(t, "full:4", model.Broadcast), Schedule: s}
	}
	r := sooner(of(30, 10), of(20, 100))
	require.Equal(t, model.Time(30), r.Coarser.Makespan())
	r = sooner(r, of(25, 11))
	require.Equal(t, model.Time(20), r.Makespan())
	require.Equal(t, model.Time(25), r.Coarser.Makespan())
	r = sooner(r, of(10, 80)) // not many more than 11
	require.Equal(t, model.Time(30), sooner(of(30, 10), of(10, 80)).Coarser.Makespan())
	require.Nil(t, r.Coarser)
	require.Nil(t, sooner(solve.Result{}, of(10, 80)).Coarser)
	require.Nil(t, sooner(solve.Result{}, solve.Result{}).Coarser)
	o := solve.Options{MostTransfers: 1}
	b, done := solve.NewBudget(context.Background(), 0, 1)
	defer done()
	p := problem(t, "torus:3x3", model.Broadcast)
	p.Size = 1 << 20
	all, err := packings(context.Background(), context.Background(), p)
	require.NoError(t, err)
	require.LessOrEqual(t, len(trainedFlat(b, p, o, flattest(p, all)[0]).Schedule.Transfers), fewTransfers, "no more than few where fewer are asked for")
}
