package mscclpp_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/course"
	"github.com/oraccl/oraccl/model/format/mscclpp"
)

// TestRunCorpus: of the plans of a corpus those run to their end that are expected to be right, and each
// event comes after those that it waits for.
func TestRunCorpus(t *testing.T) {
	names, _ := filepath.Glob(filepath.Join(os.Getenv("ORACCL_DATA"), "mscclpp", "*.json"))
	if len(names) == 0 {
		t.Skip("left out: ORACCL_DATA does not name the directory of the shared data, with mscclpp")
	}
	stuck := 0
	for _, name := range names {
		text, err := os.ReadFile(name)
		require.NoError(t, err)
		f, err := mscclpp.Read(name, bytes.NewReader(text))
		require.NoError(t, err)
		p := f.Plan()
		if len(p.Sizes) == 0 || len(p.Faults) > 0 {
			continue
		}
		var at *model.Plan
		for _, s := range p.Sizes {
			if at, err = p.At(s.Each, 0); !errors.Is(err, model.ErrNotDivided) {
				break
			}
		}
		require.NoError(t, err)
		c, err := course.Run(t.Context(), at, nil)
		require.NoError(t, err)
		for i, e := range c.Events {
			for _, j := range e.Before {
				require.Less(t, j, int32(i))
			}
		}
		if len(c.Stuck) > 0 {
			stuck++
			require.Equal(t, "gen-crossed_channels.json", filepath.Base(name))
		}
	}
	require.Equal(t, 1, stuck)
}
