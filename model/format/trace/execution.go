package trace

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/oraccl/oraccl/model"
)

// execution reads an execution trace of PyTorch, which has no times.
type execution struct {
	t       *Trace
	schema  string
	nodes   int
	bad     int
	comms   int // record_param_comms
	counts  map[string]int
	groups  []string
	steps   []string
	stepIDs map[int64]string
	calls   []recorded
	size    int
}

// recorded is a collective that a node records.
type recorded struct {
	kind  string
	bytes int64
	group int
	id    int64
}

func newExecution(t *Trace) *execution {
	return &execution{t: t, counts: map[string]int{}, stepIDs: map[int64]string{}}
}

func (x *execution) top(key string, raw []byte) {
	if key == "schema" {
		_ = json.Unmarshal(raw, &x.schema)
	}
}

// node reads a node.
func (x *execution) node(raw []byte) error {
	x.nodes++
	var n struct {
		ID     int64  `json:"id"`
		Name   string `json:"name"`
		Inputs struct {
			Values json.RawMessage `json:"values"`
		} `json:"inputs"`
		Attrs []struct {
			Name  string          `json:"name"`
			Value json.RawMessage `json:"value"`
		} `json:"attrs"`
	}
	if json.Unmarshal(raw, &n) != nil {
		x.bad++
		return nil
	}
	switch {
	case strings.HasPrefix(n.Name, "ProfilerStep#"):
		x.steps = append(x.steps, n.Name)
		x.stepIDs[n.ID] = n.Name
	case strings.HasPrefix(n.Name, "nccl:"):
		x.counts[strings.TrimPrefix(n.Name, "nccl:")]++
	case strings.HasPrefix(n.Name, "## process_group:init"):
		x.group(n.Inputs.Values)
	case n.Name == "record_param_comms":
		x.comms++
		text := map[string]string{}
		for _, a := range n.Attrs {
			text[a.Name] = string(bytes.Trim(a.Value, `"`))
		}
		var in, out int64
		_, _ = fmt.Sscan(text["in_msg_nelems"], &in)
		_, _ = fmt.Sscan(text["out_msg_nelems"], &out)
		c := recorded{kind: strings.ReplaceAll(strings.TrimPrefix(text["collective_name"], "_"), "_", ""), id: n.ID}
		if c.kind == "" || c.kind == "wait" || c.kind == "init" || c.kind == "barrier" && in == 0 {
			return nil
		}
		if m := max(in, out); m > 0 && m < model.MaxSize/8 {
			c.bytes = m * elementBytes(text["dtype"])
		}
		_, _ = fmt.Sscan(text["pg_size"], &c.group)
		x.calls = append(x.calls, c)
	}
	return nil
}

// group reads the groups of an initialisation, whose only input is JSON as text.
func (x *execution) group(values json.RawMessage) {
	var texts []string
	if json.Unmarshal(values, &texts) != nil || len(texts) == 0 {
		return
	}
	var groups []struct {
		Name    json.RawMessage `json:"pg_name"`
		Desc    string          `json:"pg_desc"`
		Backend string          `json:"backend_config"`
		Size    int             `json:"group_size"`
	}
	if json.Unmarshal([]byte(texts[0]), &groups) != nil {
		return
	}
	for _, g := range groups {
		x.groups = append(x.groups, fmt.Sprintf("%s %s %s group_size %d", bytes.Trim(g.Name, `"`), g.Desc, g.Backend, g.Size))
		x.size = max(x.size, g.Size)
	}
}

// step returns the name of the step that a node lies in, or "": nodes are numbered as they begin, and
// those of other threads, such as that of the backward pass, have no step above them.
func (x *execution) step(id int64) string {
	name, begun := "", int64(-1)
	for at, of := range x.stepIDs {
		if at <= id && at > begun {
			name, begun = of, at
		}
	}
	return name
}

// finish lists the collectives.
func (x *execution) finish() {
	t := x.t
	t.Format, t.Ranks = "PyTorch execution trace", min(x.size, model.MaxNodes)
	if x.schema != "" {
		t.value("schema", "", "%s", x.schema)
	}
	t.value("nodes", "", "%d", x.nodes)
	t.value("record_param_comms", "", "%d", x.comms)
	t.value("nccl_nodes", "", "%s", countsOf(x.counts))
	for _, g := range x.groups {
		t.value("process_group", "", "%s", g)
	}
	if len(x.steps) > 0 {
		t.value("steps", "", "%s", strings.Join(x.steps, " "))
	}
	if x.bad > 0 {
		t.Notes.Add(model.LeftOut, "%d nodes that could not be read", x.bad)
	}
	lists := map[string]string{}
	last := map[string]string{}
	by := map[string][]recorded{}
	for _, c := range x.calls {
		name := x.step(c.id)
		by[name] = append(by[name], c)
		switch {
		case last[name] == c.kind && c.kind != "broadcast":
			lists[name] += fmt.Sprintf(" %d", c.bytes)
		default:
			if lists[name] != "" {
				lists[name] += ", "
			}
			lists[name] += fmt.Sprintf("%s %d", c.kind, c.bytes)
		}
		last[name] = c.kind
	}
	same := len(x.steps) > 0
	for _, name := range x.steps {
		same = same && lists[name] == lists[x.steps[0]]
	}
	if same && lists[x.steps[0]] != "" {
		t.value("collectives_of_each_step", "", "%s bytes", lists[x.steps[0]])
	} else {
		for _, name := range append(x.steps, "") {
			if lists[name] != "" {
				t.value("collectives "+name, "", "%s bytes", lists[name])
			}
		}
	}
	t.value("durations", "", "none in this format")
	name := ""
	if len(x.steps) > 0 {
		name = x.steps[len(x.steps)/2]
	}
	job := Job{Name: base(t.File), Ranks: t.Ranks, Iterations: len(x.steps)}
	for _, c := range by[name] {
		job.Buckets = append(job.Buckets, Bucket{Kind: c.kind, Bytes: c.bytes})
	}
	if len(job.Buckets) > 0 {
		t.Jobs = append(t.Jobs, job)
	}
}
