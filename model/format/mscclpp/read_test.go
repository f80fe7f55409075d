package mscclpp_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/format/mscclpp"
	"github.com/oraccl/oraccl/model/topo"
)

// allgather is a plan of two ranks of v2: each puts its part to the other.
const allgather = `{"name": "ag", "collective": "allgather", "protocol": "Simple", "inplace": true, "gpus": [
{"id": 0, "input_chunks": 1, "output_chunks": 2, "scratch_chunks": 0,
 "channels": [{"channel_type": "memory", "connected_to": [1]}],
 "remote_buffers": [{"rank": 1, "type": "o", "access_channel_types": ["memory"]}],
 "threadblocks": [{"id": 0, "channels": [{"channel_type": "memory", "channel_ids": [0]}], "remote_buffer_refs": [{"access_channel_type": "memory", "remote_buffer_ids": [0]}],
  "ops": [{"name": "rlxsignal", "channel_ids": [0], "channel_type": "memory"},
   {"name": "rlxwait", "channel_ids": [0], "channel_type": "memory"}, {"name": "nop"},
   {"name": "put", "src_buff": [{"type": "o", "index": 0, "size": 1}], "dst_buff": [{"buffer_id": 0, "index": 0, "size": 1}], "channel_type": "memory"},
   {"name": "nop"}, {"name": "signal", "channel_ids": [0], "channel_type": "memory"}, {"name": "wait", "channel_ids": [0], "channel_type": "memory"}]}]},
{"id": 1, "input_chunks": 1, "output_chunks": 2, "scratch_chunks": 0,
 "channels": [{"channel_type": "memory", "connected_to": [0]}],
 "remote_buffers": [{"rank": 0, "type": "o", "access_channel_types": ["memory"]}],
 "threadblocks": [{"id": 0, "channels": [{"channel_type": "memory", "channel_ids": [0]}], "remote_buffer_refs": [{"access_channel_type": "memory", "remote_buffer_ids": [0]}],
  "ops": [{"name": "rlxsignal", "channel_ids": [0], "channel_type": "memory"},
   {"name": "rlxwait", "channel_ids": [0], "channel_type": "memory"}, {"name": "nop"},
   {"name": "put", "src_buff": [{"type": "o", "index": 1, "size": 1}], "dst_buff": [{"buffer_id": 0, "index": 1, "size": 1}], "channel_type": "memory"},
   {"name": "nop"}, {"name": "signal", "channel_ids": [0], "channel_type": "memory"}, {"name": "wait", "channel_ids": [0], "channel_type": "memory"}]}]}]}`

// exchange is a plan of v1: each of two ranks sends its part as packets through a proxy.
const exchange = `{"name": "sr", "collective": "sendrecv", "protocol": "LL", "inplace": false, "gpus": [
{"id": 0, "inputChunks": 1, "outputChunks": 1, "scratchChunks": 2, "chunkGroups": 1, "threadblocks": [{"id": 0, "ops": [
 {"name": "tpkt", "srcbuff": "i", "srcoff": 0, "dstbuff": "s", "dstoff": 0, "ctype": "none", "cnt": 1}, {"name": "nop", "deps": []},
 {"name": "ppkt", "o_buff": {"src": "s", "dst": "s"}, "o_cids": [{"id": 0, "off": 1}], "srcs": [{"buff": "s", "off": 0}], "ctype": "port", "cnt": 1},
 {"name": "cpkt", "srcbuff": "s", "srcoff": 1, "dstbuff": "o", "dstoff": 0, "ctype": "none", "cnt": 1}],
 "channels": [{"src": "s", "dst": "s", "ctype": "port", "cids": [0]}]}], "channels": [{"srcbuff": "s", "dstbuff": "s", "type": "port", "connectedTo": [1]}]},
{"id": 1, "inputChunks": 1, "outputChunks": 1, "scratchChunks": 2, "chunkGroups": 1, "threadblocks": [{"id": 0, "ops": [
 {"name": "tpkt", "srcbuff": "i", "srcoff": 0, "dstbuff": "s", "dstoff": 0, "ctype": "none", "cnt": 1}, {"name": "nop", "deps": []},
 {"name": "ppkt", "o_buff": {"src": "s", "dst": "s"}, "o_cids": [{"id": 0, "off": 1}], "srcs": [{"buff": "s", "off": 0}], "ctype": "port", "cnt": 1},
 {"name": "cpkt", "srcbuff": "s", "srcoff": 1, "dstbuff": "o", "dstoff": 0, "ctype": "none", "cnt": 1}],
 "channels": [{"src": "s", "dst": "s", "ctype": "port", "cids": [0]}]}], "channels": [{"srcbuff": "s", "dstbuff": "s", "type": "port", "connectedTo": [0]}]}]}`

func read(t *testing.T, text string) *mscclpp.File {
	t.Helper()
	f, err := mscclpp.Read("plan.json", strings.NewReader(text))
	require.NoError(t, err)
	return f
}

func TestRead(t *testing.T) {
	f := read(t, allgather)
	require.Equal(t, mscclpp.V2, f.Version)
	put := f.GPUs[1].Blocks[0].Ops[3]
	require.Equal(t, 16, put.Line)
	require.Equal(t, []mscclpp.Ref{{Buffer: 'o', Rank: 0, Remote: true, Index: 1, Size: 1}}, put.Dst)
	p := f.Plan()
	require.Empty(t, p.Faults)
	require.Empty(t, p.Loadings[0].Refusals)
	require.EqualValues(t, 32, p.Unit)
	require.Len(t, p.Sizes, 1)
	require.EqualValues(t, 1<<32-32, p.Sizes[0].Max)
	at, err := p.At(64, 0)
	require.NoError(t, err)
	require.Equal(t, model.PlanSpan{Buffer: 1, Start: 32, Size: 32}, at.Blocks[1].Ops[3].Moves[0].Dsts[0])

	f = read(t, exchange)
	require.Equal(t, mscclpp.V1, f.Version)
	require.Equal(t, "cpkt", f.GPUs[0].Blocks[0].Ops[0].Name)
	p = f.Plan()
	require.Empty(t, p.Faults)
	require.Equal(t, 2, p.Halves)
	require.Equal(t, mscclpp.Last, p.Judged)
	at, err = p.At(64, 1)
	require.NoError(t, err)
	require.Equal(t, model.PlanSpan{Buffer: 5, Start: 64 + 128, Size: 64, Packet: true}, at.Blocks[0].Ops[2].Moves[0].Dsts[0])
	require.Equal(t, model.PlanRequest, at.Blocks[0].Ops[2].Verb)
}

// TestRefused changes a plan in one place, and wants what is then said, with the line.
func TestRefused(t *testing.T) {
	for _, c := range []struct{ base, from, to, want string }{
		{allgather, `{"name": "ag"`, `[{"name": "ag"`, "ends too early"},
		{allgather, `"name": "ag",`, `"name": "ag"`, "plan.json:1: is no JSON"},
		{allgather, `"gpus": [`, `"gpu": [`, "plan.json:1: an object has no field \"gpus\""},
		{allgather, `]}]}]}`, `]}]}]} x`, "something follows"},
		{allgather, `"inplace": true`, `"inplace": 1`, "inplace is a number, want true or false"},
		{allgather, `"name": "ag", `, `"name": "ag", "name": "b", `, `"name" is there twice`},
		{allgather, `"id": 1, "input_chunks"`, `"id": 2, "input_chunks"`, "line 10: entry 1 of gpus has id 2"},
		{allgather, `"name": "rlxwait"`, `"name": "tpkt"`, "line 7: gpu 0 tb 0 op 1 (tpkt): operation tpkt, which is known to v2 of July 2025"},
		{allgather, `"name": "rlxwait"`, `"name": "glre"`, "no release reads"},
		{allgather, `"name": "rlxwait"`, `"name": "jump"`, `there is no operation "jump"`},
		{allgather, `"channel_type": "memory", "connected_to"`, `"channel_type": "sm", "connected_to"`, `line 3: a channel of type "sm"`},
		{allgather, `"connected_to": [1]`, `"connected_to": [2]`, "connected_to is 2, want a whole number from 0 to 1"},
		{allgather, `"remote_buffer_ids": [0]`, `"remote_buffer_ids": [7]`, "bad-reference gpu 0 tb 0: names remote buffer 7"},
		{allgather, `"channel_ids": [0], "channel_type": "memory"}, {"name": "nop"}`, `"channel_ids": [4], "channel_type": "memory"}, {"name": "nop"}`, "bad-reference gpu 0 tb 0 op 1 (rlxwait): names channel 4"},
		{allgather, `"buffer_id": 0, "index": 0, "size": 1`, `"buffer_id": 0, "index": 0, "size": 2`, "bad-reference gpu 0 tb 0 op 3 (put): moves 2 chunks from or to 1"},
		{allgather, `"dst_buff": [{"buffer_id": 0, "index": 0`, `"dst_buff": [{"type": "s", "index": 0`, "has L and L, want sources L+ and destinations R+"},
		{allgather, `"threadblocks": [{"id": 0`, `"threadblocks": [{"id": 3`, "bad-reference gpu 0 tb 3: entry 0 of threadblocks has id 3"},
		{allgather, `"output_chunks": 2`, `"output_chunks": 0`, "runtime-limit gpu 0: has 1 input chunks and 0 output chunks"},
		{allgather, `"output_chunks": 2`, `"output_chunks": 3`, "has 1 input chunks and 3 output chunks, and in allgather on 2 ranks"},
		{allgather, `{"name": "nop"}`, strings.Repeat(`{"name": "nop"},`, 70) + `{"name": "nop"}`, "line 5: gpu 0 tb 0 has 77 operations, want at most 64"},
		{allgather, `"connected_to": [1]}`, `"connected_to": [1]}, {"channel_type": "switch", "buffer_type": "o", "rank_groups": [{"size": 2, "ranks": [0, 1]}]}`, "bad-reference gpu 0: lists a switch"},
		{allgather, `"connected_to": [1]}`, `"connected_to": [1]}, {"channel_type": "switch", "buff": "o", "rank_groups": [{"size": 2, "ranks": [0, 1]}]}`, "has no field buffer_type: a draft"},
		{allgather, `{"name": "nop"}`, `{"name": "flush", "channel_ids": [], "channel_type": "port"}`, "kernel-departs gpu 0 tb 0 op 2 (flush): the kernel does nothing"},
		{allgather, `{"name": "nop"}`, `{"name": "cpkt", "src_buff": [{"type": "o", "index": 0, "size": 1}], "dst_buff": [{"type": "s", "index": 0, "size": 1}]}`, "packet-protocol gpu 0 tb 0 op 2 (cpkt)"},
		{allgather, `{"name": "nop"}`, `{"name": "barrier", "barrier_id": 16, "num_threadblocks": 1}`, "runtime-limit gpu 0 tb 0 op 2 (barrier)"},
		{exchange, `"name": "tpkt"`, `"name": "rrs"`, "operation rrs, which is known to a draft of v1"},
		{exchange, `"id": 0, "off": 1`, `"id": 2, "off": 1`, "names channel 2 of type port from s to s"},
	} {
		require.Equal(t, true, strings.Contains(c.base, c.from), c.from)
		f, err := mscclpp.Read("plan.json", strings.NewReader(strings.Replace(c.base, c.from, c.to, 1)))
		said := fmt.Sprint(err)
		if err == nil {
			p := f.Plan()
			for _, l := range p.Loadings {
				for _, r := range l.Refusals {
					said += fmt.Sprintf("\nline %d: %s", r.Line, r.Message)
				}
			}
			for _, x := range p.Faults {
				said += fmt.Sprintf("\n%s %s: %s", x.Code, x.Where, x.Message)
			}
		}
		require.Contains(t, said, c.want, c.to)
	}
}

// TestHiddenFaults: what refutes is there whatever else is, and a thread that does not exist does nothing.
func TestHiddenFaults(t *testing.T) {
	refuting := func(text string) (found []string) {
		for _, x := range read(t, text).Plan().Faults {
			if x.Refutes {
				found = append(found, x.Code+" "+x.Message)
			}
		}
		return found
	}
	const flush = `{"name": "flush", "channel_ids": [], "channel_type": "port"}`
	many := strings.Replace(allgather, `{"name": "nop"}`, strings.Repeat(flush+", ", 40)+`{"name": "barrier", "barrier_id": 16, "num_threadblocks": 1}`, 1)
	require.Len(t, refuting(many), 1, "after 40 remarks on flushes")
	many = strings.Replace(allgather, `{"name": "nop"}`, strings.Repeat(`{"name": "nop", "reduce_op": "max"}, `, 40)+`{"name": "barrier", "barrier_id": 16, "num_threadblocks": 1}`, 1)
	require.Len(t, refuting(many), 1, "after 40 remarks on reduce_op")

	const end = "]},\n{\"id\": 1, "
	require.Contains(t, allgather, end)
	blocks := allgather
	for i := 1; i <= 132; i++ {
		require.Empty(t, read(t, blocks).Plan().Faults)
		blocks = strings.Replace(blocks, end, fmt.Sprintf(`, {"id": %d, "channels": [], "ops": []}`, i)+end, 1)
	}
	faults := read(t, blocks).Plan().Faults
	require.Len(t, faults, 1)
	require.Contains(t, faults[0].Message, "has 133 threadblocks")

	two := strings.ReplaceAll(allgather, `"channel_ids": [0], "channel_type": "memory"}, {"name": "nop"}`, `"channel_ids": [0, 0], "channel_type": "memory"}, {"name": "nop"}`)
	require.NotEqual(t, allgather, two)
	require.Empty(t, refuting(two))
	one := strings.Replace(two, `"inplace": true`, `"inplace": true, "num_threads_per_block": 1`, 1)
	require.Contains(t, refuting(one), "runtime-limit thread 1 has something to do, and num_threads_per_block is 1")
}

// TestSizes looks at how messages divide.
func TestSizes(t *testing.T) {
	text := strings.ReplaceAll(allgather, `"size": 1}], "channel_type"`, `"size": 1}], "tbg_info": {"tb_id": 0, "tbg_size": 3}, "channel_type"`)
	p := read(t, text).Plan()
	require.Empty(t, p.Faults)
	require.Len(t, p.Sizes, 12) // 9 one by one, and the 3 residues from there on
	require.Equal(t, model.PlanSizes{Each: 320, Min: 320, Max: 1<<32 - 32, Step: 96}, p.Sizes[9])

	text = strings.ReplaceAll(allgather, `{"name": "put"`, `{"name": "pipeline", "iter_context": {"unit_size": 64, "num_chunks": 1}, "ops": [{"name": "put"`)
	text = strings.ReplaceAll(text, `"channel_type": "memory"},
   {"name": "nop"}`, `"channel_type": "memory"}]},
   {"name": "nop"}`)
	p = read(t, text).Plan()
	require.Empty(t, p.Faults)
	last := p.Sizes[len(p.Sizes)-1]
	require.EqualValues(t, 32, last.Step)
	require.EqualValues(t, 2*16*(5*4+1), last.Min) // six iterations
	require.EqualValues(t, 65535*64*2, last.Max)   // counted in 16 bits
	at, err := p.At(160, 0)
	require.NoError(t, err)
	require.EqualValues(t, 16, at.Blocks[0].Ops[4].Moves[0].Dsts[0].Size, "the second iteration has what is left")

	p = read(t, strings.Replace(allgather, `"name": "ag"`, `"name": "ag", "min_message_size": 33, "max_message_size": 100`, 1)).Plan()
	require.Equal(t, []model.PlanSizes{{Each: 64, Min: 64, Max: 96, Step: 32, Why: "max_message_size is 100"}}, p.Sizes)
}

// TestUneven looks at chunks of v1, of which the first are a unit longer.
func TestUneven(t *testing.T) {
	text := strings.NewReplacer(`"inputChunks": 1, "outputChunks": 1`, `"inputChunks": 3, "outputChunks": 3`).Replace(exchange)
	p := read(t, text).Plan()
	at, err := p.At(64, 0)
	require.ErrorIs(t, err, model.ErrNotDivided, "chunk 0 has two units and chunk 1 has one")
	require.Nil(t, at)
	_, err = p.At(96, 0)
	require.NoError(t, err)
}

// FuzzRead reads anything, and carries out what is read for some messages.
func FuzzRead(f *testing.F) {
	f.Add([]byte(allgather))
	f.Add([]byte(exchange))
	if dir := os.Getenv("ORACCL_DATA"); dir != "" {
		names, _ := filepath.Glob(filepath.Join(dir, "mscclpp", "*.json"))
		for _, name := range names {
			if b, err := os.ReadFile(name); err == nil && len(b) < 1<<13 {
				f.Add(b)
			}
		}
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) > 1<<15 {
			return
		}
		file, err := mscclpp.Read("fuzz", bytes.NewReader(b))
		if err != nil {
			return
		}
		p := file.Plan()
		if n := p.Ranks; n >= 2 && n <= 8 && len(p.Sizes) > 0 && p.Sizes[0].Each < 1<<20 && len(p.Faults) == 0 { // right or wrong, it becomes a schedule or an error
			network, err := topo.Parse(fmt.Sprintf("full:%d", n), topo.Options{})
			require.NoError(t, err)
			if m, err := file.Import(t.Context(), network, p.Sizes[0].Each); err == nil {
				require.Empty(t, m.Objections)
				require.NoError(t, m.Schedule.Validate(m.Problem))
			}
		}
		for i, s := range p.Sizes {
			if i < 2 {
				for half := range p.Halves {
					_, _ = p.At(s.Each, half)
				}
			}
		}
	})
}
