package trace

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/oraccl/oraccl/model"
	"github.com/stretchr/testify/require"
)

// TestOpen: a run that was killed leaves a file that ends within an iteration. The gradients that the last one
// lacks are gradients, and it is left out.
func TestOpen(t *testing.T) {
	text := timeline(5)
	whole := read(t, text)
	require.Equal(t, "5", whole.Get("iterations"))
	last := strings.LastIndex(text, `{"ph": "B", "name": "NEGOTIATE_ALLREDUCE"`) // of tensor 2
	x := read(t, text[:last])
	require.Equal(t, []string{"4", "2", "0", "60"}, []string{x.Get("iterations"), x.Get("gradient_tensors"), x.Get("other_allreduce_tensors"), x.Get("gradient_bytes")})
	require.Equal(t, []string{"left out: iteration 4, which 1 of 2 gradients lack: the file ends in it"}, x.Notes.Strings())
	require.Equal(t, whole.Jobs[0].Period, x.Jobs[0].Period)
	closed := read(t, strings.TrimRight(text[:last], ",\n")+"]") // nothing was killed: it is a tensor of another kind
	require.Equal(t, []string{"5", "1", "1"}, []string{closed.Get("iterations"), closed.Get("gradient_tensors"), closed.Get("other_allreduce_tensors")})
}

// TestInterruptedLate: what was read before the run was interrupted is counted.
func TestInterruptedLate(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	r := &endless{head: large(1)["timeline"].head, left: 1 << 30, part: large(1)["timeline"].part}
	part := r.part
	r.part = func(k int) string {
		if k == 10000 {
			cancel()
		}
		return part(k)
	}
	begin := time.Now()
	x, err := Read(ctx, "x", r, Options{})
	require.ErrorIs(t, err, context.Canceled)
	require.Less(t, time.Since(begin), 5*time.Second)
	require.Len(t, x.Jobs, 1)
	require.Greater(t, x.Jobs[0].Iterations, 200)
	require.Equal(t, 1000*model.Microsecond, *x.Jobs[0].Period)
}

// TestKept: of a timeline less than a twentieth of its size is kept.
func TestKept(t *testing.T) {
	const size = 8 << 20
	h := newHorovod(&Trace{})
	r := bufio.NewReader(large(size)["timeline"])
	_, err := r.Discard(1)
	require.NoError(t, err)
	require.NoError(t, elements(t.Context(), r, func(raw []byte) error { h.event(raw); return nil }))
	kept := 0
	for _, x := range h.tensors {
		require.Greater(t, x.allreduces(), 10000)
		kept += cap(x.ops.b) + cap(x.negotiations.b)
	}
	require.Less(t, kept, size/20)
	require.NoError(t, h.finish(t.Context(), false))
	require.Len(t, h.t.Jobs, 1)
}

func TestTally(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{0, 1, 2, 3, 1000, 5000} {
		for _, spread := range []int64{1, 10, 1 << 40} {
			var x tally
			var all []model.Time
			for range n {
				at := model.Time(r.Int64N(spread) - spread/2)
				x.add(at)
				all = append(all, at)
			}
			want, ok := median(slices.Clone(all))
			require.Equal(t, ok, x.median() != nil)
			if ok {
				require.Equal(t, want, *x.median())
			}
			require.Equal(t, n, x.n)
		}
	}
}

func TestJournal(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	at := func() model.Time {
		t := model.Time(r.Int64N(1<<60)) >> r.IntN(60)
		if r.IntN(2) == 0 {
			t -= t % model.Microsecond
		}
		if r.IntN(3) == 0 {
			t = -t
		}
		return t
	}
	var ops, negotiations journal
	var wantOps []op
	var wantReady []negotiation
	for range 1000 {
		o, n := op{span: span{at(), at()}}, negotiation{end: at()}
		for range r.IntN(4) {
			o.transport = append(o.transport, span{at(), at()})
			n.ticks = append(n.ticks, tick{r.IntN(1000), at()})
		}
		ops.addOp(o.span, o.transport)
		negotiations.addNegotiation(n.end, n.ticks)
		wantOps, wantReady = append(wantOps, o), append(wantReady, n)
	}
	a, b := ops.reader(), negotiations.reader()
	for i := range wantOps {
		o, n := a.op(), b.negotiation()
		require.Equal(t, wantOps[i].span, o.span)
		require.Equal(t, fmt.Sprint(wantOps[i].transport), fmt.Sprint(o.transport))
		require.Equal(t, wantReady[i].end, n.end)
		require.Equal(t, fmt.Sprint(wantReady[i].ticks), fmt.Sprint(n.ticks))
	}
	require.Empty(t, a.b)
	require.Empty(t, b.b)
}

// FuzzEvent: what encoding/json reads of an event is what event.read finds, and value finds where it ends.
func FuzzEvent(f *testing.F) {
	for _, text := range []string{`{"name": "a\"b\u00e9", "ph": "X", "ts": 12.5, "pid": 3, "args": {"x": [1, "]}", {}]}}`,
		`{}`, `{"ts":"7","dur":-1e3,"cat":null}`, `{"name":"x","name":"y"}`, `[{"ph":1}]`, `{"a":tru}`, `"a"`, `12`} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		raw = bytes.TrimSpace(raw)
		if !json.Valid(raw) {
			return
		}
		for _, size := range []int{16, 4096} { // the value in pieces, and whole
			r := bufio.NewReaderSize(bytes.NewReader(append(slices.Clone(raw), ",1"...)), size)
			c, err := r.ReadByte()
			require.NoError(t, err)
			got, err := value(r, c, nil)
			require.NoError(t, err)
			require.Equal(t, string(raw), string(got))
		}
		var all map[string]json.RawMessage
		if json.Unmarshal(raw, &all) != nil || all == nil {
			require.False(t, (&event{}).read(raw))
			return
		}
		var e event
		right := e.read(raw)
		for key, have := range map[string][]byte{"name": e.name, "ph": e.ph, "cat": e.cat} {
			want, is := "", true
			if v, there := all[key]; there {
				is = json.Unmarshal(v, &want) == nil
			}
			if right && is && strings.ToValidUTF8(want, "\ufffd") == want {
				require.Equal(t, want, string(bytes.ToValidUTF8(have, []byte("\ufffd"))), key)
			}
			if !is {
				require.False(t, right)
			}
		}
		if v, there := all["ts"]; right && there && v[0] != '"' {
			require.Equal(t, string(v), string(e.ts))
		}
	})
}

func TestClock(t *testing.T) {
	for text, want := range map[string]model.Time{"1000": 0, "1001.5": 1500 * model.Nanosecond, "998.25": -1750 * model.Nanosecond, "1.0015e+3": 1500 * model.Nanosecond, "-0.5": -1000500 * model.Nanosecond} {
		c := clock{set: true, from: 1000}
		at, ok := c.at([]byte(text))
		require.True(t, ok, text)
		require.Equal(t, want, at, text)
	}
	for _, text := range []string{"", "x", "1x", "1.x", "1e999999999", "1234567890123456789", "e", "--1"} {
		_, ok := (&clock{}).at([]byte(text))
		require.False(t, ok, text)
	}
}
