package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/oraccl/oraccl/cmd/oraccl/exit"
	"github.com/oraccl/oraccl/cmd/oraccl/judge"
	"github.com/oraccl/oraccl/model/format/msccl"
	"github.com/oraccl/oraccl/model/format/msccl/msccltest"
	"github.com/oraccl/oraccl/verify/deploy"
	"github.com/stretchr/testify/require"
)

// TestVerbsAgree: verify, convert and view have one verdict on a file, for every size of the
// buffer.
func TestVerbsAgree(t *testing.T) {
	outcomes := map[int]int{}
	wrong := msccltest.Copy(msccltest.ExchangeAll(4))
	wrong.GPUs[2].TBs[3].Steps[0].SrcOff = 0
	for _, a := range []*msccl.Algo{msccltest.AllPairsOf(8, 8), msccltest.Halving(), msccltest.GatherRing(4), msccltest.ScatterRing(4), msccltest.ExchangeAll(4), wrong} {
		dir := t.TempDir()
		file := filepath.Join(dir, "file.xml")
		for _, proto := range []string{"Simple", "LL"} {
			a.Proto = proto
			var b bytes.Buffer
			require.NoError(t, a.Write(&b))
			require.NoError(t, os.WriteFile(file, b.Bytes(), 0o644))
			for _, size := range []string{"", "4KiB", "64KiB", "1MiB", "32MiB", "33554496", "1GiB"} {
				var flags []string
				if size != "" {
					flags = []string{"--size", size}
				}
				where := fmt.Sprintf("%s, %s, size %q", a.Name, proto, size)
				verified, verdict, _ := call(append([]string{"verify", file}, flags...)...)
				outcomes[verified]++
				converted, _, _ := call(append([]string{"convert", file, "--to", "oraccl", "-o", filepath.Join(dir, "file.json")}, flags...)...)
				require.Equal(t, verified, converted, "%s\n%s", where, verdict)
				seen, _, _ := call(append([]string{"view", file, "--no-bound", "-o", filepath.Join(dir, "file.html")}, flags...)...)
				require.Equal(t, verified, seen, "%s\n%s", where, verdict)
			}
		}
	}
	t.Log(outcomes)
	require.Greater(t, outcomes[exit.Done], 20)
	require.Greater(t, outcomes[exit.Refuted], 10)
	// the case that was found in the field, of the shape of RCCL's allreduce-allpairs-8n-simple
	judged, err := judge.Algo(context.Background(), "file.xml", msccltest.AllPairsOf(8, 8), deploy.Options{})
	require.NoError(t, err)
	r := judged.Report
	require.Equal(t, "needs 1 buffer slot per connection, 8 for large buffers; Simple has 2, so it may deadlock above 32 MiB", r.Sentence(&r.Calls[0]))
}
