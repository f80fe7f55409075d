package trace

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// endless is a trace of a given size: head, then parts for 0, 1, 2, … until there are enough bytes, then tail.
type endless struct {
	head, tail string
	part       func(k int) string
	left       int64
	k          int
	buffer     string
	ended      bool
}

func (e *endless) Read(p []byte) (int, error) {
	for len(e.buffer) == 0 {
		switch {
		case e.head != "":
			e.buffer, e.head = e.head, ""
		case e.left > 0:
			e.buffer = e.part(e.k)
			e.k++
		case !e.ended:
			e.buffer, e.ended = e.tail, true
		default:
			return 0, io.EOF
		}
	}
	n := copy(p, e.buffer)
	e.buffer = e.buffer[n:]
	e.left -= int64(n)
	return n, nil
}

// large are recordings of jobs that run on and on: a profile with 40 kernels in a step, the last of which
// communicates beside others, each beside what the CPU does for it, which is most of a profile; and a timeline of two
// ranks and a gradient.
func large(bytes int64) map[string]*endless {
	return map[string]*endless{
		"profile": {left: bytes, head: `{"distributedInfo": {"backend": "nccl", "rank": 0, "world_size": 2}, "traceEvents": [{"ph": "M", "pid": 1, "name": "process_name"}`, tail: "]}",
			part: func(k int) string {
				var b strings.Builder
				at := 1000 * k
				fmt.Fprintf(&b, `,{"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#%d", "pid": 1, "tid": 1, "ts": %d, "dur": 990}`, k, at)
				for i := range 40 {
					for _, op := range []string{"aten::linear", "aten::t", "aten::transpose", "aten::as_strided", "aten::addmm", "cudaLaunchKernel"} {
						fmt.Fprintf(&b, `,{"ph": "X", "cat": "cpu_op", "name": "%s", "pid": 1, "tid": 1, "ts": %d.25, "dur": 3, "args": {"External id": %d, "Ev Idx": %d, "Input Dims": "[[64, 1024], [1024, 4096], []]", "Input type": "['float', 'float', 'Scalar']", "Fwd thread id": 0, "Sequence number": %d}}`, op, at+24*i, 40*k+i, 40*k+i, i)
					}
					name, arguments := "volta_sgemm_128x64_nn(float const*, float*, int)", ""
					if i == 39 {
						name, arguments = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevComm*)", `, "args": {"Collective name": "allreduce", "In msg nelems": 1000, "Out msg nelems": 1000, "dtype": "Float", "Group size": 2}`
					}
					fmt.Fprintf(&b, `,{"ph": "X", "cat": "kernel", "name": "%s", "pid": 0, "tid": %d, "ts": %d.5, "dur": 20%s}`, name, 7+i/39, at+24*i, arguments)
				}
				return b.String() + "\n"
			}},
		"timeline": {left: bytes, head: `[{"name": "process_name", "ph": "M", "pid": 1, "args": {"name": "grad"}}`, tail: "]",
			part: func(k int) string {
				at := 1000 * k
				return fmt.Sprintf(`,
{"ph": "B", "name": "NEGOTIATE_ALLREDUCE", "ts": %d, "pid": 1},{"ph": "X", "name": "0", "ts": %d, "dur": 0, "pid": 1},{"ph": "X", "name": "1", "ts": %d, "dur": 0, "pid": 1},{"ph": "E", "ts": %d, "pid": 1},
{"ph": "B", "name": "ALLREDUCE", "ts": %d, "pid": 1},{"ph": "B", "name": "MPI_ALLREDUCE", "ts": %d, "pid": 1},{"ph": "E", "ts": %d, "pid": 1},{"ph": "E", "ts": %d, "pid": 1, "args": {"dtype": "float32", "shape": "[1000]"}}`,
					at, at+10, at+20, at+21, at+30, at+31, at+90, at+91)
			}},
	}
}

// BenchmarkLarge reads recordings of ORACCL_TRACE_BYTES bytes, 64 MB without it, and reports how much
// memory was in use at most.
func BenchmarkLarge(b *testing.B) {
	bytes := int64(64e6)
	if text := os.Getenv("ORACCL_TRACE_BYTES"); text != "" {
		var err error
		bytes, err = strconv.ParseInt(text, 10, 64)
		require.NoError(b, err)
	}
	for name := range large(1) {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(bytes)
			peak := uint64(0)
			for range b.N {
				done := make(chan struct{})
				go func() {
					defer close(done)
					x, err := Read(context.Background(), name, large(bytes)[name], Options{})
					if err == nil && len(x.Jobs) != 1 {
						err = fmt.Errorf("%d jobs", len(x.Jobs))
					}
					require.NoError(b, err)
				}()
				for running := true; running; {
					select {
					case <-done:
						running = false
					case <-time.After(50 * time.Millisecond):
					}
					var m runtime.MemStats
					runtime.ReadMemStats(&m)
					peak = max(peak, m.HeapAlloc)
				}
			}
			b.ReportMetric(float64(peak)/1e6, "peak-MB")
		})
	}
}

// TestWriteLarge writes the recordings of BenchmarkLarge, ORACCL_TRACE_BYTES bytes each, to the directory
// ORACCL_TRACE_FILES, for a look at how `oraccl trace` reads them.
func TestWriteLarge(t *testing.T) {
	dir := os.Getenv("ORACCL_TRACE_FILES")
	if dir == "" {
		t.Skip("left out: ORACCL_TRACE_FILES names no directory to write to")
	}
	bytes, err := strconv.ParseInt(os.Getenv("ORACCL_TRACE_BYTES"), 10, 64)
	require.NoError(t, err, "ORACCL_TRACE_BYTES")
	for name, r := range large(bytes) {
		f, err := os.Create(filepath.Join(dir, name+".json"))
		require.NoError(t, err)
		_, err = io.Copy(f, r)
		require.NoError(t, err)
		require.NoError(t, f.Close())
	}
}
