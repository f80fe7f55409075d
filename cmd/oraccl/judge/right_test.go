package judge

import (
	"io"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/cmd/oraccl/foreign"
	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/files"
	"github.com/oraccl/oraccl/model/format/schedules"
	"github.com/oraccl/oraccl/solve/certify"
	"github.com/oraccl/oraccl/verify"
)

// TestReadRight: a schedule of ours is returned if it is right, and else the error has the
// words of verify; the judgement of verify is the same.
func TestReadRight(t *testing.T) {
	p, s := synthesised(t, "torus:2x2", model.AllGather, model.Pipelined)
	for _, name := range []string{"s.json", "s.oraccl"} {
		file := filepath.Join(t.TempDir(), name)
		write := func(s *model.Schedule) {
			t.Helper()
			require.NoError(t, files.Write(file, func(w io.Writer) error { return schedules.Encode(name, w, &model.Solution{Problem: p, Schedule: s}) }))
		}
		by := &Asked{Engines: certify.Engines, Said: io.Discard}

		write(s)
		r, err := ReadRight(t.Context(), file, &foreign.Truth{})
		require.NoError(t, err)
		require.Equal(t, verify.Proved, r.Verdict.Outcome)
		require.Len(t, r.Schedule.Transfers, len(s.Transfers))
		require.Nil(t, r.Deployed)
		j, err := by.File(t.Context(), file)
		require.NoError(t, err)
		require.Equal(t, verify.Proved, j.Verdict.Outcome)
		require.Equal(t, p.Makespan(s), j.Makespan)
		require.Equal(t, verify.Claim(p, s), j.Claim)

		less := *s
		less.Transfers = s.Transfers[:len(s.Transfers)-1]
		write(&less)
		_, err = ReadRight(t.Context(), file, &foreign.Truth{})
		var wrong *NotRightError
		require.ErrorAs(t, err, &wrong)
		require.Equal(t, verify.Refuted, wrong.Verdict.Outcome)
		lines := wrong.Lines("converted")
		require.Len(t, lines, 3)
		require.Equal(t, "REFUTED "+file+": "+p.String(), lines[0])
		require.Contains(t, lines[1], "missing-contribution")
		require.Equal(t, "not converted; oraccl verify says more", lines[2])
		j, err = by.File(t.Context(), file)
		require.NoError(t, err)
		require.Equal(t, verify.Refuted, j.Verdict.Outcome)

		_, err = ReadRight(t.Context(), file, &foreign.Truth{Collective: "allgather"})
		require.ErrorContains(t, err, "is no schedule of another tool")
	}
}
