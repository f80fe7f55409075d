package view

import (
	"encoding/binary"
	"slices"

	"github.com/oraccl/oraccl/model"
)

// packer writes unsigned numbers in LEB128, seven bits a byte.
type packer struct{ b []byte }

func (k *packer) put(values ...int64) {
	for _, v := range values {
		k.b = binary.AppendUvarint(k.b, uint64(max(v, 0)))
	}
}

// pack writes what the page draws, in the order in which core.js reads it: nodes, links,
// conditions, chunks, durations, profiles, transfers, the permutation, streams, the critical path.
func pack(p *model.Problem, s *model.Schedule, m *moments, l *layout, path []hop) []byte {
	k := &packer{b: make([]byte, 0, 1<<12+12*len(s.Transfers))}
	for v := range p.Topology.Nodes() {
		k.put(int64(l.x[v]*65535), int64(l.y[v]*65535))
	}
	for _, link := range p.Topology.Links {
		k.put(int64(link.Src), int64(link.Dst), int64(link.Alpha), link.Bandwidth)
	}
	k.conditions(p)
	place := k.transfers(p, s, m)
	k.put(int64(len(path)))
	for _, h := range path {
		k.put(int64(place[h.transfer]), int64(h.because))
	}
	return k.b
}

// conditions writes the values that ranks hold at the start or must hold at the end, the
// patterns of who does, and for each chunk its size and its two patterns. A pattern is a
// list of runs of ranks with one value, 0 being for each its own contribution.
func (k *packer) conditions(p *model.Problem) {
	values, patterns := &interned{index: map[string]int64{}}, &interned{index: map[string]int64{}}
	type run struct{ from, count, value int64 }
	type condition struct {
		rank  int
		value int64
	}
	pattern := func(each func(yield func(int, model.Value) bool)) int64 {
		var runs []run
		var conditions []condition
		each(func(r int, v model.Value) bool {
			conditions = append(conditions, condition{r, values.value(r, v)})
			return true
		})
		slices.SortFunc(conditions, func(a, b condition) int { return a.rank - b.rank })
		for _, c := range conditions {
			if n := len(runs); n > 0 && runs[n-1].value == c.value && runs[n-1].from+runs[n-1].count == int64(c.rank) {
				runs[n-1].count++
				continue
			}
			runs = append(runs, run{int64(c.rank), 1, c.value})
		}
		q := packer{}
		q.put(int64(len(runs)))
		at := int64(0)
		for _, r := range runs {
			q.put(r.from-at, r.count, r.value)
			at = r.from + r.count
		}
		return patterns.put(q.b)
	}
	chunks := packer{}
	type owner struct{ from, to int }
	known := map[owner][2]int64{} // except for custom collectives, patterns are the owner's
	for c := range p.Chunks {
		from, to := p.Owner(c)
		both, ok := known[owner{from, to}]
		if !ok || p.Collective.Kind == model.Custom {
			both = [2]int64{pattern(p.Start(c)), pattern(p.Goal(c))}
			known[owner{from, to}] = both
		}
		chunks.put(p.Chunks[c].Offset, p.Chunks[c].Size, both[0], both[1])
	}
	for _, t := range []*interned{values, patterns} {
		k.put(int64(len(t.index)))
		k.b = append(k.b, t.b...)
	}
	k.b = append(k.b, chunks.b...)
}

// interned is a table of different strings of bytes.
type interned struct {
	index map[string]int64
	b     []byte
	terms [][2]int // of the value at hand
	last  struct { // a value is often the one before it
		v  string
		id int64
	}
}

func (t *interned) put(b []byte) int64 {
	id, ok := t.index[string(b)]
	if !ok {
		id = int64(len(t.index))
		t.index[string(b)] = id
		t.b = append(t.b, b...)
	}
	return id
}

// value returns 0 for a rank's own contribution, else one more than the value's index.
func (t *interned) value(rank int, v model.Value) int64 {
	list := t.terms[:0] // in the order of a group, which may be any
	for r, count := range v.Terms() {
		list = append(list, [2]int{r, count})
	}
	slices.SortFunc(list, func(a, b [2]int) int { return a[0] - b[0] })
	t.terms = list
	terms, at, n := packer{}, 0, len(list)
	own := false
	for _, x := range list {
		own = x[0] == rank && x[1] == 1
		terms.put(int64(x[0]-at), int64(x[1]))
		at = x[0]
	}
	if n == 1 && own {
		return 0
	}
	key := string(terms.b)
	if t.last.id > 0 && t.last.v == key {
		return t.last.id
	}
	q := packer{}
	q.put(int64(n))
	t.last.v, t.last.id = key, 1+t.put(append(q.b, terms.b...))
	return t.last.id
}

// transfers writes the durations, the profiles (which links a transfer keeps busy, and
// when), and the transfers by their start. It returns the place of each.
func (k *packer) transfers(p *model.Problem, s *model.Schedule, m *moments) []int32 {
	type profile struct {
		route int32
		size  int64
		lasts model.Time // it may wait
	}
	durations, profiles := map[model.Time]int64{}, map[profile]int64{}
	lasting, routes, rows := packer{}, packer{}, packer{b: make([]byte, 0, 10*len(s.Transfers))}
	place := make([]int32, len(s.Transfers))
	var busy []model.Interval
	at := model.Time(0)
	sorted := true
	for n, i := range m.order {
		t := &s.Transfers[i]
		place[i] = int32(n)
		sorted = sorted && int(i) == n
		d := m.to[i] - m.from[i]
		if _, ok := durations[d]; !ok {
			durations[d] = int64(len(durations))
			lasting.put(int64(d))
		}
		key := profile{t.Route, p.Chunks[t.Chunk].Size, d}
		if _, ok := profiles[key]; !ok {
			profiles[key] = int64(len(profiles))
			busy = m.streams.Busy(i, busy[:0])
			route := s.Routes[t.Route]
			routes.put(int64(len(route)))
			for h, l := range route {
				routes.put(int64(l), int64(busy[h].From-m.from[i]), int64(busy[h].To-busy[h].From))
			}
		}
		rows.put(int64(m.from[i]-at), durations[d], int64(t.Chunk), int64(t.Src), int64(t.Dst), profiles[key]<<1|int64(t.Op))
		at = m.from[i]
	}
	k.put(int64(len(durations)))
	k.b = append(k.b, lasting.b...)
	k.put(int64(len(profiles)))
	k.b = append(k.b, routes.b...)
	k.b = append(k.b, rows.b...)
	if sorted {
		k.put(0)
	} else {
		k.put(1)
		for _, i := range m.order {
			k.put(int64(i))
		}
	}
	k.streams(m)
	return place
}

// streams writes what is drawn as one thing: its link beside those of its transfers, from 1 on, and when
// that is busy; and then which stream each transfer is of.
func (k *packer) streams(m *moments) {
	k.put(int64(len(m.streams.List)))
	if len(m.streams.List) == 0 {
		return
	}
	for _, x := range m.streams.List {
		k.put(int64(x.Own+1), int64(x.OwnBusy.From), int64(x.OwnBusy.To-x.OwnBusy.From))
	}
	for _, i := range m.order {
		k.put(int64(m.streams.Of[i]))
	}
}
