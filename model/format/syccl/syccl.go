// Package syccl reads the result that SyCCL writes as JSON (Cao et al., "SyCCL: exploiting symmetry
// for efficient collective communication scheduling", SIGCOMM 2025): schedules, the best first, of
// sends between ranks, each of a chunk that is named by its origin and index and with a start in
// nanoseconds. It decides what such a file means as a schedule on a given topology, not whether that
// is right.
//
// The file names ranks alone: the route between two of them is the one with the fewest links over
// switches. What is read is the order of the sends, not their times: a send comes after those that
// brought its chunk to its source, and after those that its source began before over the same first
// link.
package syccl

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/ways"
)

// Tool is the name of those who write such files.
const Tool = "SyCCL"

// File is what a file says of its best schedule.
type File struct {
	Collective string // in our words
	Ranks      int
	Shard      int64   // bytes that a rank contributes; chunk_size_byte
	Lasts      float64 // microseconds, by SyCCL's own simulator; 0: not said
	Schedules  int     // that the file has
	Chunks     []Chunk
	Sends      []Send
}

// Chunk is a part of the data of a rank.
type Chunk struct {
	Origin, Index int
	Bytes         int64
	At            []int // the ranks that have it at the beginning
}

// Send is a chunk on its way.
type Send struct {
	Chunk    int // index into File.Chunks
	Src, Dst int
	Start    float64 // nanoseconds; "epoch"
	Reduce   bool
	Event    int // place in the file
}

// maxSends limits what is read.
const maxSends = 1 << 22

// Is reports whether a JSON document is such a file.
func Is(b []byte) bool {
	d := json.NewDecoder(bytes.NewReader(b))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return false
	}
	for seen := 0; d.More(); {
		key, err := d.Token()
		if err != nil {
			return false
		}
		switch key {
		case "coll_name", "algorithms":
			return key == "coll_name" || seen > 0
		case "ngpus", "chunk_size_byte", "num_algs", "alg_times":
			seen++
		}
		var skip json.RawMessage
		if d.Decode(&skip) != nil {
			return false
		}
	}
	return false
}

// pair is [origin, index], as a list or as the text "(origin, index)".
type pair [2]int

func (p *pair) UnmarshalJSON(b []byte) error {
	var text string
	if json.Unmarshal(b, &text) == nil {
		if n, err := fmt.Sscanf(text, "(%d, %d)", &p[0], &p[1]); err != nil || n != 2 {
			return fmt.Errorf("chunk %q: want \"(origin, index)\"", text)
		}
		return nil
	}
	var list []int
	if err := json.Unmarshal(b, &list); err != nil || len(list) != 2 {
		return fmt.Errorf("chunk %.40s: want [origin, index]", b)
	}
	p[0], p[1] = list[0], list[1]
	return nil
}

// document is a file as it is written.
type document struct {
	Coll       *string   `json:"coll_name"`
	Ranks      *int      `json:"ngpus"`
	Bytes      *int64    `json:"chunk_size_byte"`
	Times      []float64 `json:"alg_times"`
	Algorithms []struct {
		Final *struct {
			Time     float64 `json:"Time"`
			Schedule *struct {
				Initial []json.RawMessage `json:"init_devs"`
				Sizes   []json.RawMessage `json:"chunk_sizes"`
				Events  []struct {
					Chunk pair `json:"src_chunk"`
					Sends []struct {
						Src    *int     `json:"src_gpu"`
						Dst    *int     `json:"dst_gpu"`
						Epoch  *float64 `json:"epoch"`
						Copy   *bool    `json:"copy"`
						Reduce bool     `json:"reduce"`
					} `json:"sends"`
				} `json:"Events"`
			} `json:"Schedule"`
		} `json:"final_schedule"`
	} `json:"algorithms"`
}

// collectives are its names in our words.
var collectives = map[string]model.Kind{
	"allgather": model.AllGather, "all_gather": model.AllGather, "reducescatter": model.ReduceScatter, "reduce_scatter": model.ReduceScatter,
	"alltoall": model.AllToAll, "all_to_all": model.AllToAll, "broadcast": model.Broadcast, "scatter": model.Scatter, "gather": model.Gather, "allreduce": model.AllReduce, "all_reduce": model.AllReduce,
}

// Read reads the best schedule of a file.
func Read(file string, b []byte) (*File, error) {
	fail := func(where, format string, args ...any) (*File, error) {
		return nil, fmt.Errorf("%s: %s: %s", file, where, fmt.Sprintf(format, args...))
	}
	var d document
	dec := json.NewDecoder(bytes.NewReader(b))
	if err := dec.Decode(&d); err != nil {
		return nil, fmt.Errorf("%s: no result of SyCCL: %w", file, err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return fail("after the end", "more text, want one JSON document")
	}
	switch {
	case d.Coll == nil:
		return fail("coll_name", "missing, want the name of a collective")
	case d.Ranks == nil || *d.Ranks < 1 || *d.Ranks > model.MaxNodes:
		return fail("ngpus", "want 1 to %d", model.MaxNodes)
	case d.Bytes == nil || *d.Bytes < 1 || *d.Bytes > model.MaxSize/int64(*d.Ranks):
		return fail("chunk_size_byte", "want the bytes that a rank contributes")
	case len(d.Algorithms) == 0:
		return fail("algorithms", "none, want at least one")
	case d.Algorithms[0].Final == nil || d.Algorithms[0].Final.Schedule == nil:
		return fail("algorithms[0].final_schedule.Schedule", "missing")
	}
	kind, known := collectives[lower(*d.Coll)]
	if !known {
		return fail("coll_name", "%.40q, want allgather, reducescatter, alltoall, allreduce, broadcast, scatter or gather", *d.Coll)
	}
	best := d.Algorithms[0].Final
	f := &File{Collective: kind.String(), Ranks: *d.Ranks, Shard: *d.Bytes, Lasts: best.Time, Schedules: len(d.Algorithms)}
	if f.Lasts == 0 && len(d.Times) > 0 {
		f.Lasts = d.Times[0]
	}
	if f.Lasts < 0 || math.IsNaN(f.Lasts) || f.Lasts > 1e12 {
		return fail("algorithms[0].final_schedule.Time", "%v us, want a time", f.Lasts)
	}
	number := map[pair]int{}
	for i, raw := range best.Schedule.Initial {
		where := fmt.Sprintf("init_devs[%d]", i)
		var list []json.RawMessage
		var name pair
		var at []int
		if json.Unmarshal(raw, &list) != nil || len(list) != 2 || json.Unmarshal(list[0], &name) != nil || json.Unmarshal(list[1], &at) != nil {
			return fail(where, "%.60s, want [[origin, index], [ranks]]", raw)
		}
		if _, twice := number[name]; twice {
			return fail(where, "chunk (%d, %d) is there twice", name[0], name[1])
		}
		for _, r := range append([]int{name[0]}, at...) {
			if r < 0 || r >= f.Ranks {
				return fail(where, "rank %d, want 0 to %d", r, f.Ranks-1)
			}
		}
		if name[1] < 0 || name[1] > model.MaxChunks {
			return fail(where, "index %d of a chunk", name[1])
		}
		number[name] = len(f.Chunks)
		f.Chunks = append(f.Chunks, Chunk{Origin: name[0], Index: name[1], At: at})
	}
	for i, raw := range best.Schedule.Sizes {
		where := fmt.Sprintf("chunk_sizes[%d]", i)
		var list []json.RawMessage
		var name pair
		var size float64
		if json.Unmarshal(raw, &list) != nil || len(list) != 2 || json.Unmarshal(list[0], &name) != nil || json.Unmarshal(list[1], &size) != nil {
			return fail(where, "%.60s, want [[origin, index], bytes]", raw)
		}
		k, known := number[name]
		if !known || f.Chunks[k].Bytes != 0 || size < 1 || size != math.Trunc(size) || size > model.MaxSize {
			return fail(where, "%.60s: want one size, of whole bytes, of each chunk in init_devs", raw)
		}
		f.Chunks[k].Bytes = int64(size)
	}
	for k, c := range f.Chunks {
		if c.Bytes == 0 {
			return fail("chunk_sizes", "none of chunk (%d, %d)", f.Chunks[k].Origin, c.Index)
		}
	}
	for i, e := range best.Schedule.Events {
		k, known := number[e.Chunk]
		if !known {
			return fail(fmt.Sprintf("Events[%d].src_chunk", i), "chunk (%d, %d) is not in init_devs", e.Chunk[0], e.Chunk[1])
		}
		for j, s := range e.Sends {
			where := fmt.Sprintf("Events[%d].sends[%d]", i, j)
			switch {
			case s.Src == nil || s.Dst == nil || *s.Src < 0 || *s.Src >= f.Ranks || *s.Dst < 0 || *s.Dst >= f.Ranks || *s.Src == *s.Dst:
				return fail(where, "want src_gpu and dst_gpu, two ranks of 0 to %d", f.Ranks-1)
			case s.Epoch == nil || *s.Epoch < 0 || math.IsNaN(*s.Epoch) || *s.Epoch > 1e15:
				return fail(where, "want an epoch, the start in nanoseconds")
			case len(f.Sends) >= maxSends:
				return fail(where, "more than %d sends", maxSends)
			}
			f.Sends = append(f.Sends, Send{k, *s.Src, *s.Dst, *s.Epoch, s.Reduce, i})
		}
	}
	return f, nil
}

func lower(s string) string { return string(bytes.ToLower([]byte(s))) }

// Truth is what the schedule of a file is to be judged by.
type Truth struct {
	Topology   *model.Topology
	Collective *model.Collective // nil: the file's
	Size       int64             // bytes, as in model.Problem; 0: the file's
}

// Import puts the schedule into our terms, as an order. Its chunks must divide the data of each
// rank, and for an alltoall that for each other rank, into equal parts.
func (f *File) Import(by Truth) (*model.Imported, error) {
	t := by.Topology
	if t == nil {
		return nil, errors.New("the file does not say what network its ranks are in; --topology does")
	}
	if t.Ranks != f.Ranks {
		return nil, fmt.Errorf("%d ranks, and %s has %d", f.Ranks, t.Name, t.Ranks)
	}
	kind, err := model.ParseKind(f.Collective)
	if err != nil {
		return nil, err
	}
	p := &model.Problem{Topology: t, Collective: model.Collective{Kind: kind}, Size: f.Shard * int64(f.Ranks), Cost: model.Pipelined}
	if by.Collective != nil {
		p.Collective = *by.Collective
	}
	switch p.Collective.Kind {
	case model.Broadcast, model.AllReduce, model.Reduce:
		p.Size = f.Shard
	}
	if by.Size > 0 {
		p.Size = by.Size
	}
	m := &model.Imported{Tool: Tool, Problem: p, Schedule: &model.Schedule{Form: model.Ordered}, Order: &model.Precedence{}}
	number, err := f.cut(p)
	if err != nil {
		return nil, err
	}
	if err := p.Validate(); err != nil {
		return nil, err
	}
	f.order(m, number)
	if f.Schedules > 1 {
		m.Notes.Add(model.Fact, "the best of %d schedules in the file", f.Schedules)
	}
	if f.Lasts > 0 {
		m.Notes.Add(model.Fact, "by SyCCL's simulator it takes %.3f us at %d bytes per rank", f.Lasts, f.Shard)
	}
	m.Notes.Add(model.Assumed, "routes with the fewest links over switches, and the order of the sends: their times are not kept")
	return m, nil
}

// cut gives p its chunks, and returns for each chunk of the file its number.
func (f *File) cut(p *model.Problem) ([]int32, error) {
	of := make([][]int, f.Ranks) // the chunks of each rank, by index
	for k, c := range f.Chunks {
		of[c.Origin] = append(of[c.Origin], k)
	}
	per := 0
	for _, list := range of {
		slices.SortFunc(list, func(a, b int) int { return cmp.Compare(f.Chunks[a].Index, f.Chunks[b].Index) })
		if len(list) > 0 && per == 0 {
			per = len(list)
		}
	}
	if per == 0 {
		return nil, errors.New("init_devs: no chunk")
	}
	total := 0
	for r, list := range of {
		total += len(list)
		rooted := len(list) == 0 && (p.Collective.Kind == model.Broadcast || p.Collective.Kind == model.Scatter)
		if len(list) != per && !rooted {
			return nil, fmt.Errorf("rank %d has %d chunks and another rank %d: want equal parts", r, len(list), per)
		}
		for _, k := range list {
			if f.Chunks[k].Bytes != f.Chunks[of[f.Chunks[k].Origin][0]].Bytes {
				return nil, fmt.Errorf("chunks (%d, %d) and (%d, %d) differ in size: want equal parts", r, f.Chunks[list[0]].Index, r, f.Chunks[k].Index)
			}
		}
	}
	if n := p.Topology.Ranks; p.Collective.Kind == model.AllToAll && per%n != 0 {
		return nil, fmt.Errorf("%d chunks of each rank: want as many for each of the %d ranks", per, n)
	}
	if total > model.MaxChunks {
		return nil, fmt.Errorf("%d chunks: more than %d", total, model.MaxChunks)
	}
	p.Chunks = p.Cut(total)
	number := make([]int32, len(f.Chunks))
	next := int32(0)
	for _, list := range of {
		for _, k := range list {
			number[k] = next
			next++
		}
	}
	return number, nil
}

// order writes the transfers down, with what each comes after.
func (f *File) order(m *model.Imported, number []int32) {
	s, shortest := m.Schedule, ways.NewShortest(m.Problem.Topology)
	sends := make([]int, len(f.Sends))
	for i := range sends {
		sends[i] = i
	}
	slices.SortStableFunc(sends, func(i, j int) int { return cmp.Compare(f.Sends[i].Start, f.Sends[j].Start) })
	type slot struct {
		rank  int
		chunk int
	}
	into := map[slot][]int32{} // transfers that bring a chunk to a rank, so far
	last := map[[2]int]int32{} // the last transfer of a source over a link
	known := map[string]int32{}
	m.Source = func(i int) string {
		x := f.Sends[sends[i]]
		return fmt.Sprintf("Events[%d]: chunk (%d, %d) from %d to %d", x.Event, f.Chunks[x.Chunk].Origin, f.Chunks[x.Chunk].Index, x.Src, x.Dst)
	}
	for n, i := range sends {
		x := &f.Sends[i]
		route := shortest.Route(x.Src, x.Dst)
		if route == nil {
			m.Object("no-such-link", m.Source(n), fmt.Sprintf("%s has no link and no way over switches from rank %d to rank %d", m.Problem.Topology.Name, x.Src, x.Dst))
			continue
		}
		name := fmt.Sprint(route)
		id, ok := known[name]
		if !ok {
			id = int32(len(s.Routes))
			known[name] = id
			s.Routes = append(s.Routes, route)
		}
		op := model.Copy
		if x.Reduce {
			op = model.Reduction
		}
		t := int32(len(s.Transfers))
		var left []int32
		if before, ok := last[[2]int{x.Src, route[0]}]; ok {
			left = []int32{before}
		}
		s.Transfers = append(s.Transfers, model.Transfer{Chunk: number[x.Chunk], Src: int32(x.Src), Dst: int32(x.Dst), Route: id, Op: op})
		s.After = append(s.After, slices.Clone(into[slot{x.Src, x.Chunk}]))
		m.Order.Left = append(m.Order.Left, left)
		into[slot{x.Dst, x.Chunk}] = append(into[slot{x.Dst, x.Chunk}], t)
		last[[2]int{x.Src, route[0]}] = t
	}
	m.Order.Ended = s.After
}
