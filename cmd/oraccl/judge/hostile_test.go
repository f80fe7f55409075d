package judge

import (
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/cmd/oraccl/report"
	"github.com/oraccl/oraccl/model/format/msccl"
	"github.com/oraccl/oraccl/model/format/msccl/msccltest"
	"github.com/oraccl/oraccl/verify"
	"github.com/oraccl/oraccl/verify/deploy"
)

// wild draws a number that may be out of any range.
func wild(rng *rand.Rand, usual int) int32 {
	switch rng.IntN(12) {
	case 0:
		return []int32{-2147483648, -2, -1, 0, 1, 71, 72, 127, 128, 255, 256, 32767, 32768, 2147483647}[rng.IntN(14)]
	case 1:
		return int32(rng.IntN(20)) - 5
	}
	return int32(rng.IntN(max(usual, 1)))
}

// wildFile draws a file in which anything may be anything.
func wildFile(rng *rand.Rand) *msccl.Algo {
	ranks := 1 + rng.IntN(3)
	a := &msccl.Algo{File: "wild", Line: 1, Name: "wild", Proto: []string{"Simple", "LL", "LL128", "none"}[rng.IntN(4)], Coll: append(msccl.Collectives(), "x", "reduce_scatter")[rng.IntN(12)],
		Channels: int(wild(rng, 3)), ChunksPerLoop: int(wild(rng, 6)), Ranks: ranks, InPlace: rng.IntN(2) > 0, OutPlace: rng.IntN(2) > 0, HasOutPlace: rng.IntN(4) > 0,
		MinBytes: int64(wild(rng, 4)), MaxBytes: int64(wild(rng, 100)), HasMin: rng.IntN(4) > 0, HasMax: rng.IntN(4) > 0, Threads: int(wild(rng, 1))}
	if rng.IntN(20) == 0 {
		a.Ranks = int(wild(rng, 5))
	}
	for range rng.IntN(ranks + 2) {
		g := msccl.GPU{Line: 2, ID: len(a.GPUs), Input: int(wild(rng, 4)), Output: int(wild(rng, 4)), Scratch: int(wild(rng, 4))}
		if rng.IntN(8) == 0 {
			g.ID = int(wild(rng, 3))
		}
		for range rng.IntN(4) {
			t := msccl.TB{Line: 3, ID: len(g.TBs), Send: int(wild(rng, ranks)), Recv: int(wild(rng, ranks)), Channel: int(wild(rng, 2))}
			if rng.IntN(12) == 0 {
				t.ID = int(wild(rng, 3))
			}
			for range rng.IntN(5) {
				t.Steps = append(t.Steps, msccl.Step{Line: 4, S: int32(len(t.Steps)), Type: msccl.Type(rng.IntN(9)), Src: msccl.Buf(rng.IntN(3)), Dst: msccl.Buf(rng.IntN(3)),
					SrcOff: wild(rng, 2), DstOff: wild(rng, 2), Count: wild(rng, 3), DepID: wild(rng, 5) - 2, Deps: wild(rng, 3), HasDep: wild(rng, 2)})
			}
			g.TBs = append(g.TBs, t)
		}
		a.GPUs = append(a.GPUs, g)
	}
	return a
}

// TestWildFiles: no file makes the verifier panic, take long or say nothing, and what
// it writes is complete.
func TestWildFiles(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 3))
	seen := map[string]int{}
	for i := range 2500 {
		a := wildFile(rng)
		begin := time.Now()
		d := judgeAlgo(a)
		require.Less(t, time.Since(begin), 20*time.Second, "%+v", a)
		seen[string(d.Report.Kind)]++
		switch d.Report.Verdict.Outcome {
		case verify.Refuted:
			require.NotEmpty(t, d.Report.Verdict.Violations, "file %d: %+v", i, a)
		case verify.Unknown:
			require.NotEmpty(t, d.Report.Verdict.Reason, "file %d: %+v", i, a)
		}
		report.PrintDeployed(io.Discard, d.Report, &noFilter)
		require.NotEmpty(t, report.DeployRow(d.Report, 10, &noFilter))
		_, err := json.Marshal(report.DeployToJSON(d.Report, &noFilter))
		require.NoError(t, err)
		report.PrintGitHub(io.Discard, []*deploy.Report{d.Report}, &noFilter)
		require.NoError(t, report.PrintSARIF(io.Discard, []*deploy.Report{d.Report}, &noFilter))
	}
	t.Log(seen)
	for _, kind := range []string{"reject", "out-of-bounds", "deadlock", "wrong", "pass"} {
		require.Positive(t, seen[kind], kind)
	}
}

// TestHostileFiles are small files that ask for much.
func TestHostileFiles(t *testing.T) {
	base := msccltest.Rings(2, 1)
	from := func(pairs ...string) string { return strings.NewReplacer(pairs...).Replace(base) }
	for _, c := range []struct{ text, kind string }{
		{from(`nchunksperloop="2"`, `nchunksperloop="2147483647"`), "unknown"},
		{from(`nchunksperloop="2"`, `nchunksperloop="4000000"`), "unknown"},
		{from(`nchunksperloop="2"`, `nchunksperloop="200000"`), "wrong"},
		{from(`s_chunks="0"`, `s_chunks="2147483647"`), "unknown"},
		{from(`ngpus="2"`, `ngpus="2147483647"`), "reject"},
		{from(`ngpus="2"`, `ngpus="5000"`), "wrong"},
		{from(`ngpus="2"`, `ngpus="32767"`, `"allreduce"`, `"alltoall"`), "unknown"},
		{from(`cnt="1"`, `cnt="2147483647"`), "reject"},
		{from(`srcoff="0"`, `srcoff="-2147483648"`), "out-of-bounds"},
		{from(`srcoff="1"`, `srcoff="2147483647"`), "out-of-bounds"},
		{from(`depid="-1" deps="-1"`, `depid="2147483647" deps="2147483647"`), "deadlock"},
		{from(`depid="-1" deps="-1"`, `depid="0" deps="0"`), "deadlock"},
		{"<!DOCTYPE a [<!ENTITY a \"aaaaaaaaaa\">]>" + base, "reject"},
		{strings.Repeat("<algo>", 1e6), "reject"},
		{base + base, "reject"},
		{base[:len(base)/2], "reject"},
		{"<algo " + strings.Repeat(`a="" `, 1e5), "reject"},
		{"<!--" + strings.Repeat("-", 1e6), "reject"},
		{strings.Replace(base, "<gpu", strings.Repeat("<copy/>", 1e5)+"<gpu", 1), "pass"},
	} {
		file := filepath.Join(t.TempDir(), "hostile.xml")
		require.NoError(t, os.WriteFile(file, []byte(c.text), 0o644))
		name := fmt.Sprintf("%.300q", c.text)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		begin := time.Now()
		d, err := ReadDeployed(t.Context(), file, deploy.Options{})
		require.NoError(t, err, name)
		require.Less(t, time.Since(begin), 20*time.Second, name)
		runtime.ReadMemStats(&after)
		require.Less(t, float64(after.TotalAlloc-before.TotalAlloc)/1e6, 1500.0, name)
		require.Equal(t, c.kind, string(d.Report.Kind), "%s: %v %s", name, d.Report.Verdict.Violations, d.Report.Verdict.Reason)
		if took := time.Since(begin); took > time.Second/2 {
			t.Log(name[:min(len(name), 160)], took, (after.TotalAlloc-before.TotalAlloc)>>20, "MB")
		}
	}
}
