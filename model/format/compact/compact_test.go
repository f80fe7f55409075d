package compact

import (
	"bytes"
	"cmp"
	"compress/flate"
	"encoding/binary"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/native"
)

// ring returns an allgather on a bidirectional ring: link 2v leads from v to v+1, and
// link 2v+1 back.
func ring(n, chunks int, cost model.CostModel) *model.Problem {
	t := &model.Topology{Name: "ring", Ranks: n}
	for v := range n {
		w := (v + 1) % n
		t.Links = append(t.Links, model.Link{Src: v, Dst: w, Alpha: 500, Bandwidth: 1e12}, model.Link{Src: w, Dst: v, Alpha: 500, Bandwidth: 1e12})
	}
	p := &model.Problem{Topology: t, Collective: model.Collective{Kind: model.AllGather}, Size: int64(1000 * chunks), Cost: cost}
	return p.WithChunks(chunks)
}

func canonical(list []model.Transfer) []model.Transfer {
	list = slices.Clone(list)
	slices.SortFunc(list, func(a, b model.Transfer) int {
		return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(a.End, b.End), cmp.Compare(a.Op, b.Op), cmp.Compare(a.Route, b.Route), cmp.Compare(a.Chunk, b.Chunk))
	})
	return list
}

// drawSolution draws transfers without regard to whether they make sense.
func drawSolution(t *rapid.T) *model.Solution {
	cost := rapid.SampledFrom([]model.CostModel{model.Pipelined, model.Rounds}).Draw(t, "cost")
	n := rapid.IntRange(3, 9).Draw(t, "ranks")
	p := ring(n, n*rapid.SampledFrom([]int{1, 3, 100}).Draw(t, "k"), cost)
	s := &model.Schedule{Form: model.FormFor(cost), Transfers: []model.Transfer{}}
	for l := range 2 * n {
		s.Routes = append(s.Routes, []int{l})
		s.Routes = append(s.Routes, []int{l, (l + 2 - 4*(l%2) + 2*n) % (2 * n)})
	}
	for range rapid.IntRange(0, 40).Draw(t, "runs") {
		x := model.Transfer{
			Chunk: int32(rapid.IntRange(0, len(p.Chunks)-1).Draw(t, "chunk")), Route: int32(rapid.IntRange(0, 4*n-1).Draw(t, "route")),
			Op: model.Op(rapid.IntRange(0, 1).Draw(t, "op")), Start: model.Time(rapid.IntRange(0, 3).Draw(t, "start")),
		}
		x.End = x.Start + 1
		if cost == model.Pipelined {
			x.Start *= model.Time(rapid.SampledFrom([]int64{1, 1 << 40}).Draw(t, "scale"))
			x.End = x.Start + model.Time(rapid.SampledFrom([]int64{1, 1500, 1 << 50}).Draw(t, "lasts"))
		}
		step := int32(rapid.IntRange(0, 2).Draw(t, "step"))
		for range rapid.IntRange(1, 30).Draw(t, "length") {
			ends := s.Routes[x.Route]
			x.Src, x.Dst = int32(p.Topology.Links[ends[0]].Src), int32(p.Topology.Links[ends[len(ends)-1]].Dst)
			s.Transfers = append(s.Transfers, x)
			x.Route, x.Chunk = (x.Route+step)%int32(4*n), (x.Chunk+1)%int32(len(p.Chunks))
		}
	}
	return &model.Solution{Problem: p, Schedule: s, Origin: model.Origin{Method: "drawn", Seed: 7, Verdict: map[string]string{"replay": "refuted"}, Note: "a note"}}
}

func written(t require.TestingT, s *model.Solution) []byte {
	var b bytes.Buffer
	require.NoError(t, Write(&b, s))
	return b.Bytes()
}

// TestRoundTrip: what is written is read again, except for the order within an instant.
func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawSolution(t)
		s.Origin.Partial = rapid.Bool().Draw(t, "partial")
		file := written(t, s)
		got, err := Read("f", bytes.NewReader(file), len(s.Schedule.Transfers))
		require.NoError(t, err)
		if s.Origin.Partial {
			s.Origin.Verdict = nil
		}
		require.Equal(t, s.Problem, got.Problem)
		require.Equal(t, s.Origin, got.Origin)
		require.Equal(t, s.Schedule.Routes, got.Schedule.Routes)
		require.Equal(t, canonical(s.Schedule.Transfers), canonical(got.Schedule.Transfers))
		require.True(t, slices.IsSortedFunc(got.Schedule.Transfers, func(a, b model.Transfer) int { return cmp.Compare(a.Start, b.Start) }))
		require.Equal(t, file, written(t, got), "written again it is the same file")
	})
}

// TestDamage: a file that is cut off is partial, one in which a byte differs is damaged.
func TestDamage(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		file := written(t, drawSolution(t))
		at := rapid.IntRange(len(Magic), len(file)-1).Draw(t, "at")
		cut, err := Read("f", bytes.NewReader(file[:at]), 1<<20)
		if err == nil {
			require.True(t, cut.Origin.Partial)
		} else {
			require.ErrorIs(t, err, ErrPartial)
		}
		broken := slices.Clone(file)
		broken[at] ^= byte(rapid.IntRange(1, 255).Draw(t, "bits"))
		got, err := Read("f", bytes.NewReader(broken), 1<<20)
		require.True(t, err != nil || got.Origin.Partial, "a length may point behind the end; nothing else goes unnoticed")
		_, err = Read("f", bytes.NewReader(append(slices.Clone(file), 0)), 1<<20)
		require.ErrorIs(t, err, errDamaged)
	})
}

// TestCorpus: the accepted schedules of the corpus, whatever their form.
func TestCorpus(t *testing.T) {
	files, err := filepath.Glob("../../../testdata/schedules/accept/*.json")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	forms := map[model.Form]int{}
	for _, file := range files {
		b, err := os.ReadFile(file)
		require.NoError(t, err)
		s, err := native.ReadSolution(file, bytes.NewReader(b))
		require.NoError(t, err)
		forms[s.Schedule.Form]++
		if s.Schedule.Form == model.Ordered {
			require.ErrorContains(t, Write(io.Discard, s), "want timed or rounds")
			continue
		}
		got, err := Read(file, bytes.NewReader(written(t, s)), 1<<20)
		require.NoError(t, err)
		require.Equal(t, canonical(s.Schedule.Transfers), canonical(got.Schedule.Transfers))
		require.Equal(t, s.Problem, got.Problem)
	}
	require.Len(t, forms, 3)
}

// TestLimits: what is wrong is said with its place.
func TestLimits(t *testing.T) {
	p := ring(4, 4, model.Pipelined)
	good := model.Transfer{Chunk: 1, Src: 1, Dst: 2, Route: 1, Start: 10, End: 11}
	for want, change := range map[string]func(*model.Transfer){
		"starts at 9 after one that starts at 10": func(x *model.Transfer) { x.Start = 9 },
		"want an end after the start":             func(x *model.Transfer) { x.End = 10 },
		"route 2 does not exist, want 0 to 1":     func(x *model.Transfer) { x.Route = 2 },
		"want its ends":                           func(x *model.Transfer) { x.Dst = 3 },
		"chunk 4 does not exist, want 0 to 3":     func(x *model.Transfer) { x.Chunk = 4 },
		"want copy or reduce":                     func(x *model.Transfer) { x.Op = 2 },
	} {
		w, err := NewWriter(io.Discard, p, model.Timed, model.Origin{}, [][]int{{0}, {2}})
		require.NoError(t, err)
		require.NoError(t, w.Write([]model.Transfer{good}))
		bad := good
		change(&bad)
		require.ErrorContains(t, w.Write([]model.Transfer{bad}), want)
		require.ErrorContains(t, w.Close(nil), "transfer 1: ", "the error stays")
	}
	_, err := NewWriter(io.Discard, p, model.Timed, model.Origin{}, [][]int{{8}})
	require.ErrorContains(t, err, "link 8 does not exist")
	_, err = NewReader("x.oraccl", bytes.NewReader([]byte("{}")))
	require.ErrorContains(t, err, "x.oraccl: no compact schedule")
	file := written(t, &model.Solution{Problem: p, Schedule: &model.Schedule{Form: model.Timed, Routes: [][]int{{0}, {2}}, Transfers: []model.Transfer{good, good}}})
	_, err = Read("f", bytes.NewReader(file), 1)
	require.ErrorIs(t, err, ErrTooMany)
}

// TestBomb: a head that inflates to far more than it has bytes is refused, and takes no
// memory.
func TestBomb(t *testing.T) {
	var head bytes.Buffer
	z, err := flate.NewWriter(&head, flate.BestCompression)
	require.NoError(t, err)
	spaces := bytes.Repeat([]byte(" "), 1<<20)
	for range 1 << 6 {
		_, err := z.Write(spaces)
		require.NoError(t, err)
	}
	require.NoError(t, z.Close())
	require.Less(t, head.Len(), 1<<17)
	var file bytes.Buffer
	w := &Writer{w: &file}
	w.raw([]byte(Magic))
	w.block('H', head.Bytes())
	require.NoError(t, w.err)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err = NewReader("bomb.oraccl", &file)
	runtime.ReadMemStats(&after)
	require.ErrorContains(t, err, "inflates to more than")
	require.ErrorIs(t, err, errDamaged)
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(16<<20))
}

// TestRepetitive: a problem that deflates as no topology does is written so that it is read.
func TestRepetitive(t *testing.T) {
	p := ring(4, 4, model.Pipelined)
	for range 1 << 17 {
		p.Topology.Links = append(p.Topology.Links, p.Topology.Links[0])
	}
	s := &model.Solution{Problem: p, Schedule: &model.Schedule{Form: model.Timed, Routes: [][]int{{0}}, Transfers: []model.Transfer{{Chunk: 0, Src: 0, Dst: 1, End: 1}}}}
	got, err := Read("f", bytes.NewReader(written(t, s)), 1)
	require.NoError(t, err)
	require.Equal(t, p.Topology, got.Problem.Topology)
}

// TestSize: random chunks cost three bytes a transfer, what is the same for every rank
// next to nothing.
func TestSize(t *testing.T) {
	const n = 1000
	p := ring(n, n, model.Pipelined)
	s := &model.Schedule{Form: model.Timed}
	for l := range 2 * n {
		s.Routes = append(s.Routes, []int{2*(l%n) + l/n})
	}
	for _, symmetric := range []bool{false, true} {
		s.Transfers = nil
		for step := range 50 {
			for v := range n {
				for side := range 2 {
					k := (v - (2*side-1)*step + n) % n
					if !symmetric {
						k = (v*v*31 + side*17 + step*step*7919) % n
					}
					route := side*n + (v+n-1+side)%n
					l := p.Topology.Links[s.Routes[route][0]]
					s.Transfers = append(s.Transfers, model.Transfer{Chunk: int32(k), Src: int32(l.Src), Dst: int32(l.Dst), Route: int32(route),
						Start: model.Time(step * 1000), End: model.Time(step*1000 + 1500)})
				}
			}
		}
		sol := &model.Solution{Problem: p, Schedule: s}
		size := len(written(t, sol))
		s.Transfers = nil
		size -= len(written(t, sol))
		most := 3 * 50 * 2 * n * 101 / 100
		if symmetric {
			most /= 100
		}
		require.LessOrEqual(t, size, most, "symmetric: %v", symmetric)
	}
}

// TestOrbit: what is the same for all ranks is read as that and as its transfers.
func TestOrbit(t *testing.T) {
	for _, cost := range []model.CostModel{model.Pipelined, model.LinkRounds} {
		const n = 40
		p := ring(n, n, cost)
		o := &model.Orbit{Sides: []int{n}, Routes: [][]int{{0}, {2*n - 1}}}
		for step := range 20 {
			start := model.Time(1500 * step)
			if cost == model.LinkRounds {
				start = model.Time(step)
			}
			o.Turns = append(o.Turns, model.Turn{Route: 0, Owner: int32((n - step) % n), Start: start},
				model.Turn{Route: 1, Owner: int32(step), Op: model.Op(step % 2), Start: start})
		}
		var b bytes.Buffer
		origin := model.Origin{Method: "m", Verdict: map[string]string{"orbit": "proved"}}
		require.NoError(t, WriteOrbit(&b, p, o, origin))
		var head bytes.Buffer
		require.NoError(t, WriteOrbit(&head, p, &model.Orbit{Sides: o.Sides, Routes: o.Routes}, origin))
		require.Less(t, b.Len()-head.Len(), 8*len(o.Turns))
		r, err := NewReader("f", bytes.NewReader(b.Bytes()))
		require.NoError(t, err)
		require.Equal(t, o, r.Orbit())
		require.NoError(t, r.End())
		r, err = NewReader("f", bytes.NewReader(b.Bytes()[:b.Len()-1]))
		require.NoError(t, err)
		require.ErrorIs(t, r.End(), ErrPartial)
		want, err := o.Schedule(p)
		require.NoError(t, err)
		got, err := Read("f", bytes.NewReader(b.Bytes()), 1<<20)
		require.NoError(t, err)
		require.Equal(t, want, got.Schedule)
		require.Equal(t, origin, got.Origin)
		require.Len(t, want.Transfers, 40*n)
		for _, x := range want.Transfers {
			l := p.Topology.Links[want.Routes[x.Route][0]]
			require.Equal(t, []int{l.Src, l.Dst}, []int{int(x.Src), int(x.Dst)})
		}
		for at := head.Len() / 2; at < b.Len(); at++ {
			if cut, err := Read("f", bytes.NewReader(b.Bytes()[:at]), 1<<20); err == nil {
				require.True(t, cut.Origin.Partial)
			}
			broken := slices.Clone(b.Bytes())
			broken[at] ^= 4
			if cut, err := Read("f", bytes.NewReader(broken), 1<<20); err == nil {
				require.True(t, cut.Origin.Partial)
			}
		}
		o.Sides = []int{4, 10}
		require.NoError(t, WriteOrbit(&b, p, o, origin), "valid by itself")
		b.Reset()
		require.NoError(t, WriteOrbit(&b, p, o, origin))
		_, err = Read("f", &b, 1<<20)
		require.ErrorContains(t, err, "is no translate")
		o.Sides = []int{3}
		require.Error(t, WriteOrbit(io.Discard, p, o, origin))
	}
}

// FuzzRead: whatever is read can be written and read again.
func FuzzRead(f *testing.F) {
	for _, cost := range []model.CostModel{model.Pipelined, model.Rounds} {
		p := ring(3, 3, cost)
		s := &model.Schedule{Form: model.FormFor(cost), Routes: [][]int{{0}, {2}, {4}, {0, 2}}}
		for i := range int32(3) {
			s.Transfers = append(s.Transfers, model.Transfer{Chunk: i, Src: i, Dst: (i + 1) % 3, Route: i, Start: 0, End: 1},
				model.Transfer{Chunk: 1, Src: 0, Dst: 2, Route: 3, Start: 1, End: 2})
		}
		f.Add(written(f, &model.Solution{Problem: p, Schedule: s}))
		f.Add(written(f, &model.Solution{Problem: p, Schedule: s, Origin: model.Origin{Partial: true}}))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		s, err := Read("fuzz", bytes.NewReader(b), 1<<16)
		if err != nil {
			return
		}
		again, err := Read("fuzz", bytes.NewReader(written(t, s)), 1<<16)
		require.NoError(t, err)
		require.Equal(t, canonical(s.Schedule.Transfers), canonical(again.Schedule.Transfers))
		require.Equal(t, s.Origin, again.Origin)
	})
}

// FuzzBlocks: the same with sums that fit, so that what is in the blocks is looked at.
func FuzzBlocks(f *testing.F) {
	files := map[bool][]byte{}
	for _, rounds := range []bool{false, true} {
		cost := map[bool]model.CostModel{false: model.Pipelined, true: model.Rounds}[rounds]
		p := ring(3, 300, cost)
		s := &model.Schedule{Form: model.FormFor(cost), Routes: [][]int{{0}, {2}, {4}, {0, 2}}, Transfers: []model.Transfer{}}
		for i := range int32(30) {
			s.Transfers = append(s.Transfers, model.Transfer{Chunk: i, Src: 0, Dst: 1, Route: 0, Start: 0, End: 1},
				model.Transfer{Chunk: i * i % 300, Src: 0, Dst: 2, Route: 3, Start: 1, End: 2})
		}
		file := written(f, &model.Solution{Problem: p, Schedule: s})
		files[rounds] = file
		var parts [][]byte
		for rest := file[len(Magic):]; len(rest) > 0; {
			length, n := binary.Uvarint(rest[1:])
			parts = append(parts, rest[1+n:1+n+int(length)])
			rest = rest[1+n+int(length)+4:]
		}
		require.Len(f, parts, 4)
		f.Add(rounds, parts[1], parts[2], parts[3])
	}
	f.Fuzz(func(t *testing.T, rounds bool, routes, transfers, end []byte) {
		file := files[rounds]
		length, n := binary.Uvarint(file[len(Magic)+1:])
		var b bytes.Buffer
		w := &Writer{w: &b}
		w.raw(file[:len(Magic)+1+n+int(length)+4])
		w.block('R', routes)
		w.block('T', transfers)
		w.block('E', end)
		s, err := Read("fuzz", &b, 1<<16)
		if err != nil {
			return
		}
		again, err := Read("fuzz", bytes.NewReader(written(t, s)), 1<<16)
		require.NoError(t, err)
		require.Equal(t, canonical(s.Schedule.Transfers), canonical(again.Schedule.Transfers))
	})
}

// FuzzOrbit: the same for what is stated as the same for all ranks.
func FuzzOrbit(f *testing.F) {
	files := map[bool][]byte{}
	for _, rounds := range []bool{false, true} {
		p := ring(6, 12, map[bool]model.CostModel{false: model.Pipelined, true: model.LinkRounds}[rounds])
		var b bytes.Buffer
		o := &model.Orbit{Sides: []int{6}, Routes: [][]int{{0}}}
		for step := range int32(4) {
			o.Turns = append(o.Turns, model.Turn{Owner: step, Part: step % 2, Op: model.Op(step % 2), Start: model.Time(step)})
		}
		require.NoError(f, WriteOrbit(&b, p, o, model.Origin{}))
		file := b.Bytes()
		length, n := binary.Uvarint(file[len(Magic)+1:])
		head := len(Magic) + 1 + n + int(length) + 4
		files[rounds] = file[:head]
		length, n = binary.Uvarint(file[head+1:])
		f.Add(rounds, file[head+1+n:head+1+n+int(length)])
	}
	f.Fuzz(func(t *testing.T, rounds bool, orbit []byte) {
		var b bytes.Buffer
		w := &Writer{w: &b}
		w.raw(files[rounds])
		w.block('O', orbit)
		r, err := NewReader("fuzz", &b)
		if err != nil {
			return
		}
		require.ErrorIs(t, r.End(), ErrPartial)
		require.NoError(t, r.Orbit().Validate(r.Solution().Problem))
		if r.Orbit().Transfers() > 1<<16 {
			return
		}
		s, err := r.Orbit().Schedule(r.Solution().Problem)
		require.NoError(t, err)
		if int64(len(s.Transfers)) < 16*1024 && s.Form == model.Timed {
			require.NoError(t, s.Validate(r.Solution().Problem))
		}
		var again bytes.Buffer
		require.NoError(t, WriteOrbit(&again, r.Solution().Problem, r.Orbit(), model.Origin{}))
		q, err := NewReader("again", &again)
		require.NoError(t, err)
		require.Equal(t, r.Orbit(), q.Orbit())
	})
}

func BenchmarkRead(b *testing.B) {
	p := ring(1000, 1000, model.Pipelined)
	s := &model.Schedule{Form: model.Timed}
	for l := range 2000 {
		s.Routes = append(s.Routes, []int{l})
	}
	for step := range 500 {
		for l := range 2000 {
			k := p.Topology.Links[l]
			s.Transfers = append(s.Transfers, model.Transfer{Chunk: int32((l*l*31 + step*step*7919) % 1000), Src: int32(k.Src), Dst: int32(k.Dst), Route: int32(l), Start: model.Time(1000 * step), End: model.Time(1000*step + 1500)})
		}
	}
	file := written(b, &model.Solution{Problem: p, Schedule: s})
	batch := make([]model.Transfer, 1<<12)
	b.ReportAllocs()
	for b.Loop() {
		r, err := NewReader("f", bytes.NewReader(file))
		require.NoError(b, err)
		for err == nil {
			_, err = r.Read(batch)
		}
		require.Equal(b, io.EOF, err)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(s.Transfers)), "ns/transfer")
}
