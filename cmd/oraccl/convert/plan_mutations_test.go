package convert

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/format/mscclpp"
	"github.com/oraccl/oraccl/model/topo"
)

type object = map[string]any

// editor changes a plan as JSON.
type editor struct {
	*rand.Rand
	plan object
}

func (e *editor) list(x any) []any { l, _ := x.([]any); return l }

// gpu, block: any one.
func (e *editor) gpu() object { l := e.list(e.plan["gpus"]); return l[e.IntN(len(l))].(object) }
func (e *editor) block() object {
	l := e.list(e.gpu()["threadblocks"])
	return l[e.IntN(len(l))].(object)
}

// ops returns any list of operations that has one that is wanted, who holds it, and where in it that one
// is. Inner ones of pipelines are among them.
func (e *editor) ops(wanted func(o object) bool) (holder object, i int, ok bool) {
	type place struct {
		holder object
		i      int
	}
	var all []place
	var visit func(h object)
	visit = func(h object) {
		for i, o := range e.list(h["ops"]) {
			if wanted(o.(object)) {
				all = append(all, place{h, i})
			}
			visit(o.(object))
		}
	}
	for _, g := range e.list(e.plan["gpus"]) {
		for _, b := range e.list(g.(object)["threadblocks"]) {
			visit(b.(object))
		}
	}
	if len(all) == 0 {
		return nil, 0, false
	}
	p := all[e.IntN(len(all))]
	return p.holder, p.i, true
}

func named(names ...string) func(object) bool {
	return func(o object) bool { return slices.Contains(names, o["name"].(string)) }
}

func has(key string) func(object) bool {
	return func(o object) bool { return o[key] != nil }
}

var data = []string{"put", "pwsf", "ppkt", "copy", "re", "cpkt", "upkt", "repkt", "glres", "gstore"}

// drop removes an operation.
func drop(names ...string) func(e *editor) bool {
	return func(e *editor) bool {
		h, i, ok := e.ops(named(names...))
		if ok {
			h["ops"] = slices.Delete(slices.Clone(e.list(h["ops"])), i, i+1)
		}
		return ok
	}
}

// change edits an operation.
func change(wanted func(object) bool, f func(e *editor, o object) bool) func(e *editor) bool {
	return func(e *editor) bool {
		h, i, ok := e.ops(wanted)
		return ok && f(e, e.list(h["ops"])[i].(object))
	}
}

// rename gives an operation another name.
func rename(to string, names ...string) func(e *editor) bool {
	return change(named(names...), func(_ *editor, o object) bool { o["name"] = to; return true })
}

// reference edits a reference of a list.
func reference(key string, f func(e *editor, x object) bool) func(e *editor) bool {
	return change(has(key), func(e *editor, o object) bool {
		l := e.list(o[key])
		return f(e, l[e.IntN(len(l))].(object))
	})
}

// number adds to a number.
func number(x object, key string, by float64) bool {
	n, ok := x[key].(float64)
	if ok {
		x[key] = n + by
	}
	return ok
}

// gpuNumber adds to a number of a gpu.
func gpuNumber(key string, by float64) func(e *editor) bool {
	return func(e *editor) bool { return number(e.gpu(), key, by) }
}

// channel edits a channel entry that has a key.
func channel(key string, f func(e *editor, x object) bool) func(e *editor) bool {
	return func(e *editor) bool {
		for _, c := range e.list(e.gpu()["channels"]) {
			if c.(object)[key] != nil {
				return f(e, c.(object))
			}
		}
		return false
	}
}

// move takes an operation from one place of its list to another.
func moved(to func(e *editor, n int) int) func(e *editor) bool {
	return func(e *editor) bool {
		h, i, _ := e.ops(func(object) bool { return true })
		l := slices.Clone(e.list(h["ops"]))
		o := l[i]
		l = slices.Delete(l, i, i+1)
		if len(l) == 0 {
			return false
		}
		h["ops"] = slices.Insert(l, to(e, len(l)), o)
		return true
	}
}

// mutations are what is done to plans that were written. let is the reason why one may be let through;
// all others are refuted, not loaded, or warned of, each time.
var mutations = []struct {
	name string
	do   func(e *editor) bool
	let  string
}{
	{"drop a nop", drop("nop"), ""},
	{"drop a signal", drop("signal"), ""},
	{"drop a relaxed signal", drop("rlxsignal"), ""},
	{"drop a wait", drop("wait"), ""},
	{"drop a relaxed wait", drop("rlxwait"), ""},
	{"drop a move", drop(data...), ""},
	{"drop a pipeline", drop("pipeline"), ""},
	{"drop a barrier", drop("barrier"), ""},
	{"repeat an operation", func(e *editor) bool {
		h, i, _ := e.ops(func(object) bool { return true })
		l := e.list(h["ops"])
		h["ops"] = slices.Insert(slices.Clone(l), i, l[i])
		return true
	}, "a nop, or a move whose outcome is what was there"},
	{"exchange neighbours", moved(func(e *editor, n int) int { return e.IntN(n) }), "operations that have nothing to do with each other"},
	{"to the end", moved(func(_ *editor, n int) int { return n }), "operations that have nothing to do with each other"},
	{"to the front", moved(func(_ *editor, _ int) int { return 0 }), "operations that have nothing to do with each other"},
	{"to another threadblock", func(e *editor) bool {
		g := e.gpu()
		l := e.list(g["threadblocks"])
		if len(l) < 2 {
			return false
		}
		a, b := l[0].(object), l[1].(object)
		from := e.list(a["ops"])
		i := e.IntN(len(from))
		b["ops"] = append(slices.Clone(e.list(b["ops"])), from[i])
		a["ops"] = slices.Delete(slices.Clone(from), i, i+1)
		return true
	}, "a nop, or a move that no other operation depends on"},
	{"out of a pipeline", func(e *editor) bool {
		h, i, ok := e.ops(named("pipeline"))
		if !ok {
			return false
		}
		o := e.list(h["ops"])[i].(object)
		inner := e.list(o["ops"])
		o["ops"] = inner[1:]
		h["ops"] = slices.Insert(slices.Clone(e.list(h["ops"])), i, inner[0])
		return len(inner) > 1
	}, "a move of all chunks at once, before the loop"},
	{"into a pipeline", func(e *editor) bool {
		h, i, ok := e.ops(named("pipeline"))
		if !ok || i == 0 {
			return false
		}
		l := slices.Clone(e.list(h["ops"]))
		o := l[i].(object)
		o["ops"] = slices.Insert(slices.Clone(e.list(o["ops"])), 0, l[i-1])
		h["ops"] = slices.Delete(l, i-1, i)
		return true
	}, "a nop"},
	{"relax a signal", rename("rlxsignal", "signal"), "through a port, where relaxed is the same"},
	{"relax a wait", rename("rlxwait", "wait"), "through a port, where relaxed is the same"},
	{"a signal for a wait", rename("signal", "wait"), ""},
	{"a wait for a signal", rename("wait", "signal"), ""},
	{"a put for a put with signal", rename("put", "pwsf"), ""},
	{"a put with signal for a put", rename("pws", "pwsf"), "where what is sent is not used again, and the rank ends after the receiver has it"},
	{"a copy for a sum", change(named("re"), func(e *editor, o object) bool {
		o["name"], o["src_buff"] = "copy", e.list(o["src_buff"])[:1]
		return true
	}), ""},
	{"a store for a sum at the switch", rename("gstore", "glres"), ""},
	{"another channel", change(has("channel_ids"), func(e *editor, o object) bool {
		l := slices.Clone(e.list(o["channel_ids"]))
		k := e.IntN(len(l))
		l[k] = l[k].(float64) + 1
		o["channel_ids"] = l
		return true
	}), ""},
	{"a channel less", change(has("channel_ids"), func(e *editor, o object) bool {
		o["channel_ids"] = e.list(o["channel_ids"])[1:]
		return true
	}), ""},
	{"a channel more", change(has("channel_ids"), func(e *editor, o object) bool {
		l := e.list(o["channel_ids"])
		o["channel_ids"] = append(slices.Clone(l), l[0])
		return o["name"] != "pwsf" && o["name"] != "put" && o["name"] != "ppkt" // of which the kernel uses one for each destination
	}), ""},
	{"source one chunk on", reference("src_buff", func(_ *editor, x object) bool { return number(x, "index", 1) }), ""},
	{"destination one chunk on", reference("dst_buff", func(_ *editor, x object) bool { return number(x, "index", 1) }), ""},
	{"a larger reference", reference("dst_buff", func(_ *editor, x object) bool { return number(x, "size", 1) }), ""},
	{"another buffer for a source", reference("src_buff", func(_ *editor, x object) bool {
		if x["type"] == nil {
			return false
		}
		x["type"] = map[string]string{"i": "s", "o": "s", "s": "i"}[x["type"].(string)]
		return true
	}), "of a put of several sources, which the kernel takes all from the buffer of the first, and of upkt, whose source is scratch whatever is written"},
	{"another remote buffer", reference("dst_buff", func(_ *editor, x object) bool { return number(x, "buffer_id", 1) }), ""},
	{"a source less", change(has("src_buff"), func(e *editor, o object) bool {
		o["src_buff"] = e.list(o["src_buff"])[1:]
		return true
	}), ""},
	{"a destination less", change(has("dst_buff"), func(e *editor, o object) bool {
		o["dst_buff"] = e.list(o["dst_buff"])[1:]
		return true
	}), ""},
	{"a chunk more in a pipeline", change(named("pipeline"), func(_ *editor, o object) bool { return number(o["iter_context"].(object), "num_chunks", 1) }), ""},
	{"a chunk less in a pipeline", change(named("pipeline"), func(_ *editor, o object) bool { return number(o["iter_context"].(object), "num_chunks", -1) }), ""},
	{"half iterations in one pipeline", change(named("pipeline"), func(_ *editor, o object) bool {
		c := o["iter_context"].(object)
		c["unit_size"] = c["unit_size"].(float64) / 2
		return true
	}), ""},
	{"another barrier", change(named("barrier"), func(_ *editor, o object) bool { return number(o, "barrier_id", 1) }), ""},
	{"a threadblock more at a barrier", change(named("barrier"), func(_ *editor, o object) bool { return number(o, "num_threadblocks", 1) }), ""},
	{"less input", gpuNumber("input_chunks", -1), ""},
	{"more output", gpuNumber("output_chunks", 1), ""},
	{"less scratch", func(e *editor) bool {
		g := e.gpu()
		return g["scratch_chunks"].(float64) > 0 && number(g, "scratch_chunks", -1)
	}, "a rank that uses less scratch than the others"},
	{"another protocol", func(e *editor) bool {
		was := e.plan["protocol"]
		e.plan["protocol"] = map[any]string{"Simple": "LL", "LL": "Simple"}[was]
		return was == "LL" // else it takes more scratch, and nothing more
	}, ""},
	{"out of place", func(e *editor) bool { e.plan["inplace"] = !e.plan["inplace"].(bool); return true }, "where the input is kept, and read only"},
	{"one half of scratch", func(e *editor) bool {
		was := e.plan["use_double_scratch_buffer"] == true
		e.plan["use_double_scratch_buffer"] = false
		return was
	}, "where a rank has what it waits for before another one can write there in the next launch"},
	{"a channel to another rank", channel("connected_to", func(e *editor, x object) bool {
		l := slices.Clone(e.list(x["connected_to"]))
		k := e.IntN(len(l))
		l[k] = float64(int(l[k].(float64)+1) % len(e.list(e.plan["gpus"])))
		x["connected_to"] = l
		return true
	}), "of packets: they go where the remote buffer is"},
	{"a channel less of a rank", channel("connected_to", func(e *editor, x object) bool {
		l := e.list(x["connected_to"])
		x["connected_to"] = l[:len(l)-1]
		return true
	}), ""},
	{"a rank less at a switch", channel("rank_groups", func(e *editor, x object) bool {
		g := e.list(x["rank_groups"])[0].(object)
		g["ranks"] = e.list(g["ranks"])[1:]
		return true
	}), ""},
	{"the ranks of a switch in another order", channel("rank_groups", func(e *editor, x object) bool {
		g := e.list(x["rank_groups"])[0].(object)
		l := slices.Clone(e.list(g["ranks"]))
		slices.Reverse(l)
		g["ranks"] = l
		return true
	}), ""},
	{"another buffer of a switch", channel("buffer_type", func(_ *editor, x object) bool { x["buffer_type"] = "s"; return true }), ""},
	{"drop a threadblock", func(e *editor) bool {
		g := e.gpu()
		l := e.list(g["threadblocks"])
		g["threadblocks"] = l[:len(l)-1]
		return true
	}, ""},
	{"a threadblock twice", func(e *editor) bool {
		g := e.gpu()
		l := e.list(g["threadblocks"])
		g["threadblocks"] = append(slices.Clone(l), l[len(l)-1])
		return true
	}, ""},
	{"another number of a threadblock", func(e *editor) bool { return number(e.block(), "id", 1) }, ""},
	{"another number of a gpu", gpuNumber("id", 1), ""},
	{"no messages", func(e *editor) bool { e.plan["min_message_size"], e.plan["max_message_size"] = 2.0, 1.0; return true }, ""},
	{"another collective", func(e *editor) bool {
		was := e.plan["collective"]
		e.plan["collective"] = map[any]string{"allreduce": "alltoall", "allgather": "allreduce"}[was]
		return true
	}, ""},
}

// written are plans with signals, packets, ports, pipelines and multimem.
func writtenPlans(t *testing.T) map[string][]byte {
	all := map[string][]byte{}
	for name, x := range map[string]struct {
		network, method string
		kind            model.Kind
		chunks          int
		how             MSCCL
	}{
		"signals":   {"ring:3", "ring", model.AllReduce, 3, MSCCL{}},
		"packets":   {"ring:3", "ring", model.AllReduce, 3, MSCCL{Proto: "LL"}},
		"ports":     {"cluster:2x2", "direct", model.AllGather, 4, MSCCL{InPlace: "no"}},
		"pipelines": {"ring:3", "ring", model.AllReduce, 12, MSCCL{iterate: true}},
		"multimem":  {"dgxh100-nvls", "in-network", model.AllReduce, 8, MSCCL{InPlace: "no"}},
	} {
		var network *model.Topology
		var err error
		if x.network == "cluster:2x2" {
			network = machines()
		} else {
			network, err = topo.Parse(x.network, topo.Options{})
			require.NoError(t, err)
		}
		p := (&model.Problem{Topology: network, Collective: model.Collective{Kind: x.kind}, Size: 3 << 16, Cost: model.Pipelined}).WithChunks(x.chunks)
		s := solved(t, p, x.method, 1)
		require.NotNil(t, s, name)
		var b bytes.Buffer
		_, err = x.how.writePlan(t.Context(), &b, p, s)
		require.NoError(t, err, name)
		all[name] = b.Bytes()
	}
	w, err := mscclpp.FromShares(mscclpp.Shares{Ranks: 18, Owners: slices.Repeat([]int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17}, 2)}, mscclpp.Header{Name: "barriers", Collective: "allreduce", InPlace: true})
	require.NoError(t, err)
	var b bytes.Buffer
	require.NoError(t, w.Write(&b, 1<<30))
	all["barriers"] = b.Bytes()
	require.Contains(t, string(all["pipelines"]), "iter_context")
	require.Contains(t, string(all["ports"]), "pwsf")
	require.Contains(t, string(all["barriers"]), "barrier_id")
	return all
}

// machines are two of two ranks, with slow links between them.
func machines() *model.Topology {
	t := &model.Topology{Name: "two machines", Ranks: 4}
	for a := range 4 {
		for b := range 4 {
			if a != b {
				l := model.Link{Src: a, Dst: b, Alpha: 1000, Bandwidth: 1 << 30}
				if a/2 == b/2 {
					l.Bandwidth = 1 << 36
				}
				t.Links = append(t.Links, l)
			}
		}
	}
	return t
}

// TestMutatedPlans changes written plans in more than fifty ways. What has no reason to be let through
// is refuted, not loaded or warned of, each time.
func TestMutatedPlans(t *testing.T) {
	plans := writtenPlans(t)
	rng := rand.New(rand.NewPCG(18, 5))
	require.Greater(t, len(mutations), 50)
	for _, m := range mutations {
		tried, through := 0, []string{}
		for _, name := range []string{"signals", "packets", "ports", "pipelines", "multimem", "barriers"} {
			for range 2 {
				e := &editor{Rand: rng}
				require.NoError(t, json.Unmarshal(plans[name], &e.plan))
				if !m.do(e) {
					continue
				}
				text, err := json.Marshal(e.plan)
				require.NoError(t, err)
				tried++
				if _, err := confirmPlan(t.Context(), text); err == nil {
					through = append(through, name)
				}
			}
		}
		t.Logf("%-40s %2d tried, let through %v", m.name, tried, through)
		require.NotZero(t, tried, m.name)
		if m.let == "" {
			require.Empty(t, through, m.name)
		}
	}
}
