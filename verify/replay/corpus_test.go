package replay_test

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/native"
	"github.com/oraccl/oraccl/verify"
	"github.com/oraccl/oraccl/verify/replay"
)

var update = flag.Bool("update", false, "write testdata/schedules again")

const corpus = "../../testdata/schedules"

// step is a transfer of a base: it takes slot number at.
type step struct {
	at              int
	op              model.Op
	chunk, src, dst int
	route           []int // nil: the first link from src to dst
}

// base builds a right schedule out of equal slots.
func base(p *model.Problem, steps ...step) *model.Schedule {
	s := &model.Schedule{Form: model.FormFor(p.Cost)}
	for _, x := range steps {
		route := x.route
		if route == nil {
			route = []int{slices.IndexFunc(p.Topology.Links, func(l model.Link) bool { return l.Src == x.src && l.Dst == x.dst })}
		}
		id := slices.IndexFunc(s.Routes, func(r []int) bool { return slices.Equal(r, route) })
		if id < 0 {
			id = len(s.Routes)
			s.Routes = append(s.Routes, route)
		}
		t := model.Transfer{Chunk: int32(x.chunk), Src: int32(x.src), Dst: int32(x.dst), Route: int32(id), Op: x.op}
		if p.Cost == model.Rounds {
			t.Start, t.End = model.Time(x.at), model.Time(x.at+1)
		} else {
			slot := p.Topology.Duration(route, p.Chunks[x.chunk].Size)
			t.Start = model.Time(x.at) * slot
			t.End = t.Start + slot
		}
		s.Transfers = append(s.Transfers, t)
	}
	return s
}

// inOrder takes the times from a base: each transfer waits for those before it that
// touch its slots.
func inOrder(s *model.Schedule) *model.Schedule {
	s.Form = model.Ordered
	for i, t := range s.Transfers {
		after := []int32{}
		for j, u := range s.Transfers[:i] {
			if u.Chunk == t.Chunk && (u.Dst == t.Src || u.Dst == t.Dst || u.Src == t.Dst) {
				after = append(after, int32(j))
			}
		}
		s.After = append(s.After, after)
	}
	for i := range s.Transfers {
		s.Transfers[i].Start, s.Transfers[i].End = 0, 0
	}
	return s
}

// network builds a topology whose links are pairs of nodes.
func network(name string, ranks int, switches []model.Switch, ends ...[2]int) *model.Topology {
	t := &model.Topology{Name: name, Ranks: ranks, Switches: switches}
	for _, e := range ends {
		t.Links = append(t.Links, model.Link{Src: e[0], Dst: e[1], Alpha: 500, Bandwidth: 1e9})
	}
	return t
}

func twoWay(pairs ...[2]int) (ends [][2]int) {
	for _, p := range pairs {
		ends = append(ends, p, [2]int{p[1], p[0]})
	}
	return ends
}

func problem(t *model.Topology, kind model.Kind, cost model.CostModel, chunks int) *model.Problem {
	p := &model.Problem{Topology: t, Collective: model.Collective{Kind: kind}, Size: 960, Cost: cost}
	return p.WithChunks(chunks)
}

// bases are the accepted schedules, by name.
func bases() map[string]*model.Solution {
	all := map[string]*model.Solution{}
	add := func(name string, p *model.Problem, s *model.Schedule) {
		all[name] = &model.Solution{Problem: p, Schedule: s}
	}
	const copies, reduces = model.Copy, model.Reduction
	ring4 := network("ring4", 4, nil, twoWay([2]int{0, 1}, [2]int{1, 2}, [2]int{2, 3}, [2]int{3, 0})...)
	full4 := network("full4", 4, nil, twoWay([2]int{0, 1}, [2]int{0, 2}, [2]int{0, 3}, [2]int{1, 2}, [2]int{1, 3}, [2]int{2, 3})...)
	line3 := network("line3", 3, nil, twoWay([2]int{0, 1}, [2]int{1, 2})...)
	star := network("star4", 4, []model.Switch{{Name: "s"}}, twoWay([2]int{0, 4}, [2]int{1, 4}, [2]int{2, 4}, [2]int{3, 4})...)
	multicast := network("multicast4", 4, []model.Switch{{Name: "s", Copies: true}}, twoWay([2]int{0, 4}, [2]int{1, 4}, [2]int{2, 4}, [2]int{3, 4})...)

	var gather, scatter, both []step
	for s := range 3 {
		for i := range 4 {
			gather = append(gather, step{s, copies, (i - s + 4) % 4, i, (i + 1) % 4, nil})
			scatter = append(scatter, step{s, reduces, (i - s - 1 + 8) % 4, i, (i + 1) % 4, nil})
		}
	}
	both = slices.Clone(scatter)
	for _, x := range gather {
		x.at += 3
		both = append(both, x)
	}
	for _, cost := range []model.CostModel{model.Blocking, model.Pipelined, model.Rounds} {
		p := problem(ring4, model.AllGather, cost, 4)
		add("ring4-allgather-"+cost.String(), p, base(p, gather...))
	}
	p := problem(ring4, model.ReduceScatter, model.Rounds, 4)
	add("ring4-reducescatter-rounds", p, base(p, scatter...))
	p = problem(ring4, model.AllReduce, model.Pipelined, 4)
	add("ring4-allreduce-pipelined", p, base(p, both...))
	add("ring4-allreduce-order", p, inOrder(base(p, both...)))

	p = problem(full4, model.AllReduce, model.Rounds, 1)
	var exchange []step
	for s, d := range []int{1, 2} {
		for i := range 4 {
			exchange = append(exchange, step{s, reduces, 0, i, i ^ d, nil})
		}
	}
	add("full4-allreduce-exchange-rounds", p, base(p, exchange...))
	p = problem(full4, model.AllToAll, model.Blocking, 16)
	var pairs []step
	for i := range 4 {
		for j := range 4 {
			if i != j {
				pairs = append(pairs, step{0, copies, 4*i + j, i, j, nil})
			}
		}
	}
	add("full4-alltoall-blocking", p, base(p, pairs...))
	var in, out []step
	for r := 1; r < 4; r++ {
		in = append(in, step{0, copies, r, r, 0, nil})
		out = append(out, step{0, copies, r, 0, r, nil})
	}
	p = problem(full4, model.Gather, model.Pipelined, 4)
	add("full4-gather-pipelined", p, base(p, in...))
	p = problem(full4, model.Scatter, model.Pipelined, 4)
	add("full4-scatter-pipelined", p, base(p, out...))
	p = problem(full4, model.Reduce, model.Blocking, 2)
	add("full4-reduce-blocking", p, base(p, step{0, reduces, 0, 1, 0, nil}, step{0, reduces, 0, 3, 2, nil}, step{1, reduces, 0, 2, 0, nil},
		step{1, reduces, 1, 1, 0, nil}, step{1, reduces, 1, 3, 2, nil}, step{2, reduces, 1, 2, 0, nil}))
	p = problem(line3, model.Broadcast, model.Pipelined, 2)
	chain := []step{{0, copies, 0, 0, 1, nil}, {1, copies, 0, 1, 2, nil}, {1, copies, 1, 0, 1, nil}, {2, copies, 1, 1, 2, nil}}
	add("line3-broadcast-pipelined", p, base(p, chain...))
	add("line3-broadcast-order", p, inOrder(base(p, chain...)))
	p = problem(line3, model.Scatter, model.Blocking, 3)
	add("line3-scatter-relay-blocking", p, base(p, step{0, copies, 2, 0, 2, []int{0, 2}}, step{2, copies, 1, 0, 1, nil}))
	p = problem(star, model.AllGather, model.Pipelined, 4)
	var around []step
	for s := range 3 {
		for i := range 4 {
			around = append(around, step{s, copies, (i - s + 4) % 4, i, (i + 1) % 4, []int{2 * i, 2*((i+1)%4) + 1}})
		}
	}
	add("star4-allgather-pipelined", p, base(p, around...))
	p = problem(multicast, model.Broadcast, model.Blocking, 2)
	var cast []step
	for k := range 2 {
		for r := 1; r < 4; r++ {
			cast = append(cast, step{k, copies, k, 0, r, []int{0, 2*r + 1}})
		}
	}
	add("multicast4-broadcast-blocking", p, base(p, cast...))
	for _, how := range []model.Reducing{model.SumsRead, model.SumsTurned} {
		adding := network("adding3", 3, []model.Switch{{Name: "s", Copies: true, Reduces: how, Sums: 1}}, twoWay([2]int{0, 3}, [2]int{1, 3}, [2]int{2, 3})...)
		for _, cost := range []model.CostModel{model.Blocking, model.Pipelined, model.Rounds} {
			p := problem(adding, model.AllReduce, cost, 2)
			var sums []step
			for k := range 2 {
				for r := range 3 {
					for v := range 3 {
						at := step{k, reduces, k, r, v, []int{2 * r, 2*v + 1}}
						switch {
						case r == v, how == model.SumsRead && r != k && v != k:
							continue
						case how == model.SumsRead && r == k:
							at.at, at.op = 2+k, copies
						}
						sums = append(sums, at)
					}
				}
			}
			if cost == model.Pipelined {
				typed := *p.Topology
				typed.Switches = slices.Clone(typed.Switches)
				typed.Switches[0].Types[model.Sum] = model.DTypeSet(model.FP16, model.BF16, model.Int32)
				p.Topology, p.Collective.DType = &typed, model.BF16
			}
			add(fmt.Sprintf("%v3-allreduce-%v", how, cost), p, base(p, sums...))
		}
	}
	ported := *full4
	ported.Name = "ported4"
	ported.Ports = []model.Port{{Name: "nic0", Links: []int{0, 2, 4}, Capacity: 2}, {Name: "nic3", Links: []int{4, 8, 10}, Capacity: 1}}
	p = problem(&ported, model.Broadcast, model.Blocking, 1)
	add("ported4-broadcast-blocking", p, base(p, step{0, copies, 0, 0, 1, nil}, step{0, copies, 0, 0, 2, nil}, step{1, copies, 0, 1, 3, nil}))
	p = problem(line3, model.AllGather, model.Blocking, 3)
	p.Release = []model.Time{0, 0, 2 * p.Topology.Duration([]int{0}, 320)}
	add("line3-allgather-late-blocking", p, base(p, step{0, copies, 0, 0, 1, nil}, step{0, copies, 1, 1, 0, nil}, step{2, copies, 2, 2, 1, nil},
		step{2, copies, 0, 1, 2, nil}, step{3, copies, 1, 1, 2, nil}, step{3, copies, 2, 1, 0, nil}))
	p = problem(full4, model.AllReduce, model.Pipelined, 1)
	p.Collective.Group = []int{3, 1, 2}
	add("full4-allreduce-group-pipelined", p, base(p, step{0, reduces, 0, 1, 3, nil}, step{1, reduces, 0, 2, 3, nil}, step{2, copies, 0, 3, 1, nil}, step{2, copies, 0, 3, 2, nil}))
	p = problem(full4, model.AllReduce, model.Rounds, 1)
	p.Collective.Op = model.Max
	add("full4-allreduce-max-rounds", p, base(p, step{0, reduces, 0, 0, 1, nil}, step{0, reduces, 0, 2, 3, nil}, step{1, reduces, 0, 1, 3, nil},
		step{1, reduces, 0, 3, 1, nil}, step{2, reduces, 0, 1, 0, nil}, step{2, reduces, 0, 3, 2, nil}))
	p = problem(line3, model.Broadcast, model.Pipelined, 1)
	p.Collective = model.Collective{Kind: model.Custom, Chunks: 1,
		Pre:  []model.Condition{{Rank: 0, Value: model.Unit(0)}, {Rank: 1, Value: model.Multiset(model.Term{Rank: 0, Count: 1}, model.Term{Rank: 1, Count: 2})}},
		Post: []model.Condition{{Rank: 2, Value: model.Multiset(model.Term{Rank: 0, Count: 2}, model.Term{Rank: 1, Count: 2})}}}
	add("line3-custom-counts-pipelined", p, base(p, step{0, reduces, 0, 0, 1, nil}, step{1, copies, 0, 1, 2, nil}))
	for _, op := range []model.Operator{model.Sum, model.Max} {
		p, s := counted(full4, op)
		add(fmt.Sprintf("full4-custom-counts-%v-pipelined", op), p, s)
	}
	return all
}

// counted has rank 3 collect, chunk after chunk, how often each of three contributions
// occurs, in every order of the counts: those of the ranks 0 to 2 one by one, or what rank
// 0 starts with and, on top of it, that of rank 1. In the last chunk x1 comes last, and
// once; the maximum is content with one of each.
func counted(t *model.Topology, op model.Operator) (*model.Problem, *model.Schedule) {
	several := func(counts [3]int) model.Value {
		var terms []model.Term
		for r, n := range counts {
			if n > 0 {
				terms = append(terms, model.Term{Rank: r, Count: n})
			}
		}
		return model.Multiset(terms...)
	}
	var c model.Collective
	var steps []step
	collect := func(counts [3]int, from [3]int) { // as often from each rank
		k, first := c.Chunks, true
		c.Chunks++
		c.Post = append(c.Post, model.Condition{Rank: 3, Chunk: k, Value: several(counts)})
		for r, n := range from {
			for range n {
				kind := model.Reduction
				if first {
					kind = model.Copy
				}
				steps, first = append(steps, step{len(steps), kind, k, r, 3, nil}), false
			}
		}
	}
	orders := [][3]int{{1, 1, 2}, {1, 2, 1}, {2, 1, 1}, {1, 2, 2}, {2, 1, 2}, {2, 2, 1}, {0, 3, 1}, {1, 0, 3}, {1, 3, 0}}
	for _, counts := range orders {
		c.Pre = append(c.Pre, model.Condition{Rank: 0, Chunk: c.Chunks, Value: several(counts)}, model.Condition{Rank: 1, Chunk: c.Chunks, Value: model.Unit(1)})
		counts[1]++
		collect(counts, [3]int{1, 1, 0})
	}
	for _, counts := range append(orders, [3]int{2, 1, 0}) {
		for r := range counts {
			c.Pre = append(c.Pre, model.Condition{Rank: r, Chunk: c.Chunks, Value: model.Unit(r)})
		}
		from := counts
		if op.Idempotent() {
			for r := range from {
				from[r] = min(from[r], 1)
			}
		}
		collect(counts, from)
	}
	c.Kind, c.Op = model.Custom, op
	p := &model.Problem{Topology: t, Collective: c, Size: 960, Cost: model.Pipelined}
	p = p.WithChunks(c.Chunks)
	slot := p.Topology.Duration([]int{0}, p.Chunks[0].Size) + 1000 // sizes differ by a byte
	s := base(p, steps...)
	for i := range s.Transfers {
		at := &s.Transfers[i]
		shift(at, model.Time(i)*slot)
	}
	return p, s
}

// change is a named single change of transfer i; it returns false where it does not
// apply.
type change struct {
	name  string
	apply func(p *model.Problem, s *model.Schedule, i int) bool
}

// shift moves a transfer in time, keeping its duration.
func shift(t *model.Transfer, to model.Time) bool {
	if to < 0 || to == t.Start {
		return false
	}
	t.Start, t.End = to, to+t.End-t.Start
	return true
}

func makespan(s *model.Schedule) (end model.Time) {
	for _, t := range s.Transfers {
		end = max(end, t.End)
	}
	return end
}

// replaceRoute gives transfer i the route to another rank, if there is a link.
func replaceRoute(p *model.Problem, s *model.Schedule, i int, link func(model.Link) bool) bool {
	l := slices.IndexFunc(p.Topology.Links, link)
	if l < 0 {
		return false
	}
	s.Routes = append(s.Routes, []int{l})
	s.Transfers[i].Route = int32(len(s.Routes) - 1)
	return true
}

var changes = []change{
	{"removed", func(_ *model.Problem, s *model.Schedule, i int) bool {
		if s.Form == model.Ordered {
			return false
		}
		s.Transfers = slices.Delete(s.Transfers, i, i+1)
		return true
	}},
	{"twice", func(_ *model.Problem, s *model.Schedule, i int) bool {
		if s.Form == model.Ordered {
			s.After = append(s.After, []int32{int32(i)})
		}
		s.Transfers = append(s.Transfers, s.Transfers[i])
		return true
	}},
	{"again-at-the-end", func(_ *model.Problem, s *model.Schedule, i int) bool {
		if s.Form == model.Ordered {
			return false
		}
		t := s.Transfers[i]
		shift(&t, makespan(s))
		s.Transfers = append(s.Transfers, t)
		return true
	}},
	{"other-operation", func(_ *model.Problem, s *model.Schedule, i int) bool {
		s.Transfers[i].Op = model.Reduction - s.Transfers[i].Op
		return true
	}},
	{"other-chunk", func(p *model.Problem, s *model.Schedule, i int) bool {
		s.Transfers[i].Chunk = (s.Transfers[i].Chunk + 1) % int32(len(p.Chunks))
		return len(p.Chunks) > 1
	}},
	{"retargeted", func(p *model.Problem, s *model.Schedule, i int) bool {
		t := &s.Transfers[i]
		return replaceRoute(p, s, i, func(l model.Link) bool {
			ok := l.Src == int(t.Src) && l.Dst != int(t.Dst) && p.Topology.IsRank(l.Dst)
			if ok {
				t.Dst = int32(l.Dst)
			}
			return ok
		})
	}},
	{"other-source", func(p *model.Problem, s *model.Schedule, i int) bool {
		t := &s.Transfers[i]
		return replaceRoute(p, s, i, func(l model.Link) bool {
			ok := l.Dst == int(t.Dst) && l.Src != int(t.Src) && p.Topology.IsRank(l.Src)
			if ok {
				t.Src = int32(l.Src)
			}
			return ok
		})
	}},
	{"backwards", func(p *model.Problem, s *model.Schedule, i int) bool {
		t := &s.Transfers[i]
		ok := replaceRoute(p, s, i, func(l model.Link) bool { return l.Src == int(t.Dst) && l.Dst == int(t.Src) })
		if ok {
			t.Src, t.Dst = t.Dst, t.Src
		}
		return ok
	}},
	{"other-link", func(p *model.Problem, s *model.Schedule, i int) bool {
		t := &s.Transfers[i]
		return replaceRoute(p, s, i, func(l model.Link) bool { return l.Src != int(t.Src) })
	}},
	{"other-destination-same-link", func(p *model.Problem, s *model.Schedule, i int) bool {
		t := &s.Transfers[i]
		for r := range int32(p.Topology.Ranks) {
			if r != t.Src && r != t.Dst {
				t.Dst = r
				return true
			}
		}
		return false
	}},
	{"shorter", func(_ *model.Problem, s *model.Schedule, i int) bool {
		s.Transfers[i].End--
		return s.Form == model.Timed
	}},
	{"longer", func(_ *model.Problem, s *model.Schedule, i int) bool {
		s.Transfers[i].End++
		return s.Form == model.Timed
	}},
	{"at-the-beginning", func(_ *model.Problem, s *model.Schedule, i int) bool {
		return s.Form != model.Ordered && shift(&s.Transfers[i], 0)
	}},
	{"a-moment-earlier", func(_ *model.Problem, s *model.Schedule, i int) bool {
		return s.Form != model.Ordered && shift(&s.Transfers[i], s.Transfers[i].Start-1)
	}},
	{"after-the-end", func(_ *model.Problem, s *model.Schedule, i int) bool {
		return s.Form != model.Ordered && shift(&s.Transfers[i], makespan(s))
	}},
	{"swapped-in-time-with-the-last", func(_ *model.Problem, s *model.Schedule, i int) bool {
		t, u := &s.Transfers[i], &s.Transfers[len(s.Transfers)-1]
		a, b := t.Start, u.Start
		return s.Form != model.Ordered && shift(t, b) && shift(u, a)
	}},
	{"waits-for-nothing", func(_ *model.Problem, s *model.Schedule, i int) bool {
		if s.Form != model.Ordered || len(s.After[i]) == 0 {
			return false
		}
		s.After[i] = []int32{}
		return true
	}},
	{"waits-for-one-less", func(_ *model.Problem, s *model.Schedule, i int) bool {
		if s.Form != model.Ordered || len(s.After[i]) < 2 {
			return false
		}
		s.After[i] = s.After[i][1:]
		return true
	}},
}

func clone(s *model.Schedule) *model.Schedule {
	c := *s
	c.Transfers, c.Routes, c.After = slices.Clone(s.Transfers), slices.Clone(s.Routes), nil
	for _, a := range s.After {
		c.After = append(c.After, slices.Clone(a))
	}
	return &c
}

// samples is of how many transfers of a base each change is written to the corpus.
const samples = 2

// TestWriteCorpus writes the corpus again with -update, and otherwise does nothing
// but check that the generator still makes what is there.
func TestWriteCorpus(t *testing.T) {
	files := map[string][]byte{}
	put := func(name string, s *model.Solution) {
		var b bytes.Buffer
		require.NoError(t, native.WriteSolution(&b, s))
		files[name] = b.Bytes()
	}
	var want []string
	for name, s := range bases() {
		put("accept/"+name+".json", s)
		if p := *s.Problem; p.Collective.DType != model.AnyDType {
			p.Collective.DType = model.FP64
			codes := reference(&p, s.Schedule)
			require.True(t, codes[verify.LinkOverlap], "a switch adds what it cannot add")
			put("reject/"+name+"/other-dtype.json", &model.Solution{Problem: &p, Schedule: s.Schedule})
			want = append(want, fmt.Sprintf("%s/other-dtype.json\tfeasibility\t%s", name, strings.Join(sortedCodes(codes), " ")))
		}
		for _, c := range changes {
			n := len(s.Schedule.Transfers)
			for i := range min(samples, n) {
				at := i * (n - 1)
				m := clone(s.Schedule)
				if n == 1 && i > 0 || !c.apply(s.Problem, m, at) {
					continue
				}
				codes := reference(s.Problem, m)
				if len(codes) == 0 || codes[verify.Malformed] {
					continue // the change does not alter the meaning, or is no schedule any more
				}
				data := "feasibility"
				for code := range codes {
					if concernsData(code) {
						data = "data"
					}
				}
				file := fmt.Sprintf("%s/transfer-%d-%s.json", name, at, c.name)
				put("reject/"+file, &model.Solution{Problem: s.Problem, Schedule: m})
				want = append(want, fmt.Sprintf("%s\t%s\t%s", file, data, strings.Join(sortedCodes(codes), " ")))
			}
		}
	}
	slices.Sort(want)
	files["reject/want.tsv"] = []byte("file\tconcerns\tcodes\n" + strings.Join(want, "\n") + "\n")
	if *update {
		require.NoError(t, os.RemoveAll(corpus+"/accept"))
		require.NoError(t, os.RemoveAll(corpus+"/reject"))
	}
	for name, b := range files {
		path := filepath.Join(corpus, name)
		if *update {
			require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
			require.NoError(t, os.WriteFile(path, b, 0o644))
		}
		got, err := os.ReadFile(path)
		require.NoError(t, err, "run go test ./verify/replay -update")
		require.Equal(t, string(b), string(got), "%s: run go test ./verify/replay -update and read the diff", name)
	}
}

func read(t *testing.T, path string) *model.Solution {
	t.Helper()
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	s, err := native.ReadSolution(path, bytes.NewReader(b))
	require.NoError(t, err)
	return s
}

// TestCorpus: every accepted schedule is proved, and every single change of one is
// refuted with the codes that want.tsv states.
func TestCorpus(t *testing.T) {
	accepted, err := filepath.Glob(corpus + "/accept/*.json")
	require.NoError(t, err)
	require.Greater(t, len(accepted), 15)
	for _, path := range accepted {
		s := read(t, path)
		v := replay.Check(context.Background(), s.Problem, s.Schedule)
		require.Equal(t, verify.Proved, v.Outcome, "%s: %+v", path, v)
	}
	b, err := os.ReadFile(corpus + "/reject/want.tsv")
	require.NoError(t, err)
	rejected := 0
	for _, line := range strings.Split(strings.TrimSpace(string(b)), "\n")[1:] {
		fields := strings.Split(line, "\t")
		s := read(t, filepath.Join(corpus, "reject", fields[0]))
		v := replay.Check(context.Background(), s.Problem, s.Schedule)
		require.Equal(t, verify.Refuted, v.Outcome, "%s", fields[0])
		found := map[verify.Code]bool{}
		for _, violation := range v.Violations {
			found[violation.Code] = true
			require.NotEmpty(t, violation.Message)
			require.NotEmpty(t, violation.Where)
		}
		require.Equal(t, fields[2], strings.Join(sortedCodes(found), " "), "%s: %v", fields[0], v.Violations)
		rejected++
	}
	require.GreaterOrEqual(t, rejected, 200)
	t.Logf("%d accepted, %d rejected", len(accepted), rejected)
}

// TestAgainstReference: on random schedules, made from right ones by up to four
// random changes, Check finds a violation exactly where the reference does, and of
// its codes.
func TestAgainstReference(t *testing.T) {
	all := bases()
	var names []string
	for name := range all {
		names = append(names, name)
	}
	slices.Sort(names)
	proved := 0
	for seed := range uint64(20000) {
		rng := rand.New(rand.NewPCG(seed, 3))
		s := all[names[rng.IntN(len(names))]]
		m := clone(s.Schedule)
		for range rng.IntN(5) {
			if n := len(m.Transfers); n > 0 {
				changed := clone(m)
				if changes[rng.IntN(len(changes))].apply(s.Problem, changed, rng.IntN(n)) {
					m = changed
				}
			}
		}
		want := reference(s.Problem, m)
		v := replay.Check(context.Background(), s.Problem, m)
		got := map[verify.Code]bool{}
		for _, violation := range v.Violations {
			got[violation.Code] = true
		}
		switch {
		case len(want) == 0:
			require.Equal(t, verify.Proved, v.Outcome, "seed %d: %+v", seed, v)
			proved++
		case len(v.Violations) < verify.MaxViolations:
			require.Equal(t, sortedCodes(want), sortedCodes(got), "seed %d: %+v", seed, v)
		default:
			require.Equal(t, verify.Refuted, v.Outcome, "seed %d", seed)
			for code := range got {
				require.True(t, want[code], "seed %d: %s", seed, code)
			}
		}
	}
	require.Greater(t, proved, 2000)
}
