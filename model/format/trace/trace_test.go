package trace

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/oraccl/oraccl/model"
	"github.com/stretchr/testify/require"
)

func read(t testing.TB, text string) *Trace {
	t.Helper()
	x, err := Read(context.Background(), "x", strings.NewReader(text), Options{})
	require.NoError(t, err)
	return x
}

// timeline is one of Horovod: n iterations of two tensors on two ranks, of which rank 1 is 20 us late.
func timeline(n int) string {
	var b strings.Builder
	b.WriteString("[\n")
	for pid := 1; pid <= 2; pid++ {
		fmt.Fprintf(&b, `{"name": "process_name", "ph": "M", "pid": %d, "args": {"name": "grad%d"}},`+"\n", pid, pid)
	}
	for i := range n {
		for pid := 1; pid <= 2; pid++ {
			at := 1000*i + 400*pid
			fmt.Fprintf(&b, `{"ph": "B", "name": "NEGOTIATE_ALLREDUCE", "ts": %d, "pid": %d},{"ph": "X", "name": "0", "ts": %d, "pid": %d, "dur": 0},{"ph": "X", "name": "1", "ts": %d, "pid": %d, "dur": 0},{"ph": "E", "ts": %d, "pid": %d},`+"\n", at, pid, at, pid, at+20, pid, at+20, pid)
			fmt.Fprintf(&b, `{"ph": "B", "name": "ALLREDUCE", "ts": %d, "pid": %d},{"ph": "B", "name": "NCCL_ALLREDUCE", "ts": %d, "pid": %d},{"ph": "E", "ts": %d, "pid": %d},{"ph": "E", "ts": %d, "pid": %d, "args": {"dtype": "float16", "shape": "[%d, 10]"}},`+"\n", at+20, pid, at+25, pid, at+95, pid, at+100, pid, pid)
		}
	}
	return b.String()
}

func TestHorovod(t *testing.T) {
	x := read(t, timeline(5))
	require.Len(t, x.Jobs, 1)
	j := x.Jobs[0]
	require.Equal(t, 5, j.Iterations)
	require.Equal(t, 1000*model.Microsecond, *j.Period)
	require.Equal(t, 920*model.Microsecond, *j.Compute)
	require.Equal(t, 140*model.Microsecond, *j.Comm)
	require.Equal(t, 80*model.Microsecond, *j.Exposed)
	require.Len(t, j.Buckets, 2)
	require.EqualValues(t, 40, j.Buckets[1].Bytes)
	require.Equal(t, 520*model.Microsecond, *j.Buckets[0].Offset)
	require.Equal(t, &Late{Rank: 1, Times: 5, Of: 5, AfterFirst: 20 * model.Microsecond, AfterNext: 20 * model.Microsecond}, j.Late)
	x, err := Read(context.Background(), "x", strings.NewReader(timeline(5)), Options{First: 2, Last: 3})
	require.NoError(t, err)
	require.Equal(t, 1000*model.Microsecond, *x.Jobs[0].Period)
}

// TestCutOff: what is cut off anywhere is read up to there, with a note, or is an error; nothing crashes.
func TestCutOff(t *testing.T) {
	text := timeline(2)
	noted := 0
	for n := range len(text) {
		x, err := Read(context.Background(), "x", strings.NewReader(text[:n]), Options{})
		if err == nil && strings.Contains(fmt.Sprint(x.Notes.Strings()), "cut off") {
			noted++
		}
	}
	require.Greater(t, noted, len(text)/2)
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	_, _ = z.Write([]byte(timeline(200)))
	require.NoError(t, z.Close())
	x, err := Read(context.Background(), "x", bytes.NewReader(packed.Bytes()[:packed.Len()/2]), Options{})
	require.NoError(t, err)
	require.Contains(t, fmt.Sprint(x.Notes.Strings()), "cut off")
	require.NotEmpty(t, x.Jobs)
}

func TestInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := Read(ctx, "x", strings.NewReader(timeline(5)), Options{})
	require.True(t, errors.Is(err, context.Canceled))
}

// profileOf is a profile of a rank: a kernel of 50 us, and an allreduce that begins late after the other
// ranks and ends at the same time, on a clock of its own.
func profileOf(rank, late, clock int) string {
	var b strings.Builder
	fmt.Fprintf(&b, `{"schemaVersion": 1, "distributedInfo": {"rank": %d, "world_size": 3}, "traceEvents": [`, rank)
	for k := range 3 {
		at := 1682725898079292 + clock + 1000*k
		fmt.Fprintf(&b, `{"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#%d", "ts": %d, "dur": 900, "pid": 1},`, k, at)
		fmt.Fprintf(&b, `{"ph": "X", "cat": "kernel", "name": "gemm", "ts": %d.5, "dur": 50.25, "pid": 1},`, at+10)
		fmt.Fprintf(&b, `{"ph": "X", "cat": "kernel", "name": "ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)", "ts": %d, "dur": %d, "pid": 1, "args": {"Collective name": "allreduce", "In msg nelems": 256, "Out msg nelems": 256, "Group size": 3, "dtype": "Float"}}`, at+30+late, 170-late)
		if k < 2 {
			b.WriteString(",")
		}
	}
	b.WriteString("]}")
	return b.String()
}

func TestProfileAndJoin(t *testing.T) {
	x := read(t, profileOf(0, 0, 0))
	j := x.Jobs[0]
	require.Equal(t, 50_250*model.Nanosecond, *j.Compute)
	require.Equal(t, 170*model.Microsecond, *j.Comm)
	require.Equal(t, 139_250*model.Nanosecond, *j.Exposed)
	require.Equal(t, 1000*model.Microsecond, *j.Period)
	require.EqualValues(t, 1024, j.Buckets[0].Bytes)
	all := []*Trace{read(t, profileOf(2, 15, 77)), x, read(t, profileOf(1, 60, -3000))}
	both, err := Join(all)
	require.NoError(t, err)
	require.Equal(t, []int{0, 1, 2}, both.Ranks)
	require.Equal(t, &Late{Rank: 1, Times: 3, Of: 3, AfterFirst: 60 * model.Microsecond, AfterNext: 45 * model.Microsecond}, both.Job.Late)
	require.Equal(t, 110*model.Microsecond, *both.Job.Comm) // of the last one, which does not wait
	_, err = Join([]*Trace{x, x})
	require.ErrorContains(t, err, "both of rank 0")
	_, err = Join([]*Trace{x, read(t, strings.Replace(profileOf(1, 0, 0), `"In msg nelems": 256, "Out msg nelems": 256`, `"In msg nelems": 300, "Out msg nelems": 256`, 1))})
	require.ErrorContains(t, err, "collective 0 is allreduce of 1200 bytes")
}

// message appends a field of bytes to a message.
func field(b []byte, number int, content []byte) []byte {
	b = binary.AppendUvarint(b, uint64(number<<3|2))
	b = binary.AppendUvarint(b, uint64(len(content)))
	return append(b, content...)
}

func varint(b []byte, number int, v uint64) []byte {
	return binary.AppendUvarint(binary.AppendUvarint(b, uint64(number<<3)), v)
}

// chakra is a trace of a node that computes and one that communicates.
func chakra() string {
	var out []byte
	add := func(m []byte) { out = append(binary.AppendUvarint(out, uint64(len(m))), m...) }
	add(field(nil, 1, []byte("0.0.4")))
	add(varint(varint(varint(nil, 1, 7), 3, 4), 7, 90))
	node := varint(varint(varint(varint(nil, 1, 9), 3, 7), 5, 7), 5, 1000)
	node = field(node, 10, varint(field(nil, 1, []byte("comm_size")), 9, 4096))
	node = field(node, 10, varint(field(nil, 1, []byte("comm_type")), 15, 4)) // zigzag of 2
	add(node)
	return string(out)
}

func TestChakra(t *testing.T) {
	x := read(t, chakra())
	require.Equal(t, "0.0.4", x.Get("schema"))
	require.Equal(t, "COMM_COLL:1 COMP:1", x.Get("by_type"))
	require.Equal(t, "id 9 allgather bytes 4096 duration 0", x.Get("collective"))
	require.Equal(t, "1", x.Get("deps_to_absent_nodes"))
	require.Nil(t, x.Jobs[0].Period)
}

func TestOthers(t *testing.T) {
	x := read(t, "job_id,num_gpu,submit_time,iterations,model_name,batch_size,duration,interval,iteration_time,resource_time_0,resource_time_1,resource_time_2,priority\n0,8,0,10,net,4,1,1,500,1,2.5,3,0\n")
	require.Equal(t, 2500*model.Microsecond, *x.Jobs[0].Compute)
	require.Contains(t, fmt.Sprint(x.Notes.Strings()), "less than half of the iteration")
	for _, text := range []string{"", "hello", "[1, 2]", "{}", `{"a": [1, 2]}`, "[{}]", "job_id,num_gpu\n1,2\n"} {
		_, err := Read(context.Background(), "x", strings.NewReader(text), Options{})
		require.Error(t, err, text)
	}
}

// seeds are small traces of every format.
var seeds = []string{timeline(2), profileOf(1, 2, 3), chakra(), `{"workload_graph": [{"Id": 1, "NodeType": 7, "comm_size": 5, "data_deps": [3]}]}`,
	`{"schema": "1", "nodes": [{"id": 2, "name": "record_param_comms", "ctrl_deps": 1, "attrs": [{"name": "collective_name", "value": "allreduce"}, {"name": "in_msg_nelems", "value": 4}]}]}`,
	"job_id,num_gpu,submit_time,iterations,model_name,batch_size,duration,interval,iteration_time,resource_time_0,resource_time_1,resource_time_2,priority\n0,8,0,10,net,4,1,1,500,1,2.5,3,0\n",
	"Rank 1 | Step 1 | Forward Time: 1.5 ms | Backward Time: 2 ms  | Loss: 5 | Iteration Time: 6.34 ms | AR Time: 8.84 ms | AR Buffer Size: 12.00 KB\n",
	"h:1:2 [0] NCCL INFO AllReduce: opCount 1a sendbuff 0x1 recvbuff 0x2 count 64 datatype 7 op 0 root 0 comm 0x7f [nranks=2] stream 0x3\n"}

func FuzzRead(f *testing.F) {
	for _, text := range seeds {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		x, err := Read(context.Background(), "x", bytes.NewReader(b), Options{})
		if err == nil {
			_, _ = Join([]*Trace{x, x})
		}
	})
}
