package msccl

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model"
)

// lineless takes the lines out of a file, and what is not written.
func lineless(a *Algo) *Algo {
	c := *a
	c.Line, c.Copies, c.IgnoredLine, c.GPUs = 0, 0, 0, nil
	for _, g := range a.GPUs {
		g.Line = 0
		var tbs []TB
		for _, t := range g.TBs {
			t.Line = 0
			var steps []Step
			for _, s := range t.Steps {
				s.Line = 0
				steps = append(steps, s)
			}
			t.Steps = steps
			tbs = append(tbs, t)
		}
		g.TBs = tbs
		c.GPUs = append(c.GPUs, g)
	}
	return &c
}

// TestWrite reads what it writes, to the same bytes, and all runtimes load it.
func TestWrite(t *testing.T) {
	a := exchange(t, `outofplace="0" minBytes`, `outofplace="0" nthreads="64" minBytes`)
	var b bytes.Buffer
	require.NoError(t, a.Write(&b))
	back, err := Read("exchange.xml", bytes.NewReader(b.Bytes()))
	require.NoError(t, err)
	require.Equal(t, lineless(a), lineless(back))
	for _, r := range Runtimes() {
		require.Empty(t, back.Load(r).Refusals)
		require.Empty(t, back.Load(r).Notes)
	}
	a.Name = "x\"<>&'\n" + strings.Repeat("y", 100)
	b.Reset()
	require.NoError(t, a.Write(&b))
	back, err = Read("exchange.xml", bytes.NewReader(b.Bytes()))
	require.NoError(t, err)
	require.Equal(t, "x______"+strings.Repeat("y", 56), back.Name)
	require.Equal(t, "reduce_scatter", CollName(model.ReduceScatter, MSCCL))
	require.Equal(t, "reducescatter", CollName(model.ReduceScatter, RCCL))
	require.Equal(t, "reducescatter", CollName(model.ReduceScatter, Azure))
	require.Empty(t, CollName(model.Gather, MSCCL))
	require.Empty(t, CollName(model.Custom, MSCCL))
}

// TestWriteDeployed writes deployed files again.
func TestWriteDeployed(t *testing.T) {
	for _, file := range sharedData(t) {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		a, err := Read("f.xml", bytes.NewReader(text))
		if err != nil || len(a.missing) > 0 {
			continue
		}
		var b bytes.Buffer
		require.NoError(t, a.Write(&b))
		back, err := Read("f.xml", bytes.NewReader(b.Bytes()))
		require.NoError(t, err, file)
		a.HasOutPlace, a.HasMin, a.HasMax = true, true, true
		a.Elements, back.Elements = 0, 0
		require.Equal(t, lineless(a), lineless(back), file)
	}
}

// TestNothingMoves: a step with cnt=0 neither sends nor receives, as in the runtimes.
func TestNothingMoves(t *testing.T) {
	a := exchange(t, `cnt="1"`, `cnt="0"`)
	p, err := a.Program(model.Meaning{InPlace: true})
	require.NoError(t, err)
	require.Zero(t, p.Processes[0].Steps[0].Verb&verbs[Send]&^verbs[Copy])
	require.NoError(t, p.Validate())
}
