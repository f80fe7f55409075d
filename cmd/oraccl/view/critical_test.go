package view

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model"
)

// TestCritical checks the critical path of every right schedule of the corpus, and of
// larger ones: it ends when the schedule does, and each of its transfers begins for the
// reason that is said.
func TestCritical(t *testing.T) {
	files, err := filepath.Glob("../../../testdata/schedules/accept/*.json")
	require.NoError(t, err)
	pictures := []*Picture{rotation(t, 8), gathering(t, 6)}
	for _, f := range files {
		pictures = append(pictures, corpus(t, "accept/"+filepath.Base(f)))
	}
	seen := map[uint8]int{}
	for _, pic := range pictures {
		p, s := pic.Problem, pic.Schedule
		m, err := when(p, s)
		require.NoError(t, err)
		path := critical(p, s, m)
		require.NotEmpty(t, path, pic.Title)
		require.Equal(t, m.last, m.to[path[len(path)-1].transfer], pic.Title)
		require.Equal(t, uint8(becauseStart), path[0].because, "%s: nothing comes before the first", pic.Title)
		for k := 1; k < len(path); k++ {
			i, j := path[k].transfer, path[k-1].transfer
			now, before := &s.Transfers[i], &s.Transfers[j]
			seen[path[k].because]++
			require.Less(t, m.from[j], m.from[i], pic.Title)
			switch path[k].because {
			case becauseData:
				require.Equal(t, []int32{now.Src, now.Chunk}, []int32{before.Dst, before.Chunk}, pic.Title)
				require.Equal(t, m.to[j], m.from[i], pic.Title)
			case becauseLink:
				require.True(t, slices.ContainsFunc(s.Routes[now.Route], func(l int) bool { return slices.Contains(s.Routes[before.Route], l) }), pic.Title)
			case becauseRound:
				require.Equal(t, model.InRounds, s.Form)
				require.Equal(t, m.to[j], m.from[i], pic.Title)
			case becauseWait:
				require.LessOrEqual(t, m.to[j], m.from[i], pic.Title)
			default:
				require.Fail(t, "a start in the middle", pic.Title)
			}
		}
	}
	require.Positive(t, seen[becauseData])
	require.Positive(t, seen[becauseLink])
}
