package trace

import (
	"archive/tar"
	"bufio"
	"cmp"
	"compress/gzip"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/oraccl/oraccl/model"
)

// chakraTypes are the types of nodes.
var chakraTypes = map[int64]string{1: "METADATA", 2: "MEM_LOAD", 3: "MEM_STORE", 4: "COMP", 5: "COMM_SEND", 6: "COMM_RECV", 7: "COMM_COLL"}

// chakraCollectives are the values of comm_type.
var chakraCollectives = []string{"allreduce", "reduce", "allgather", "gather", "scatter", "broadcast", "alltoall", "reducescatter", "reducescatterblock", "barrier"}

// chakraGraph is what is kept of the nodes of one or several files.
type chakraGraph struct {
	schema, input string
	nodes         int
	ids           map[int64]bool
	types         map[int64]int
	onCPU         [2]int
	ctrl, data    int
	absent        int
	all, comp     int64 // microseconds: durations of all nodes, and of those that compute on the GPU
	coll          int64
	compNodes     int
	compSum       int64
	sent, each    int64
	uneven        bool
	collectives   []chakraNode
	graph         []chakraNode // with what it waits for; nil: too many
	bad           int
}

// chakraNode is a node.
type chakraNode struct {
	id, kind, duration int64
	size, commType     int64
	sized, typed       bool
	cpu, said          bool // it runs on the CPU, and says so
	deps, ctrl         []int64
}

func newChakraGraph() *chakraGraph {
	return &chakraGraph{ids: map[int64]bool{}, types: map[int64]int{}}
}

// maxGraph is how many dependencies are kept to find those that are absent.
const maxGraph = 1 << 25

// add takes a node in.
func (g *chakraGraph) add(n chakraNode) {
	g.nodes++
	g.ids[n.id] = true
	g.types[n.kind]++
	if n.said {
		if n.cpu {
			g.onCPU[1]++
		} else {
			g.onCPU[0]++
		}
	}
	g.ctrl, g.data = g.ctrl+len(n.ctrl), g.data+len(n.deps)
	if n.duration > 0 && g.all < math.MaxInt64/2 && n.duration < math.MaxInt64/2 {
		g.all += n.duration
	}
	switch {
	case n.kind == 4:
		g.compNodes++
		g.compSum += n.duration
		if !n.cpu {
			g.comp += n.duration
		}
	case n.kind == 7 && n.sized:
		g.coll += n.duration
		g.collectives = append(g.collectives, n)
	case n.kind == 5:
		g.sent += n.size
		if g.each != 0 && g.each != n.size {
			g.uneven = true
		}
		g.each = n.size
	}
	if g.ctrl+g.data < maxGraph {
		g.graph = append(g.graph, chakraNode{deps: n.deps, ctrl: n.ctrl})
	}
}

// missing counts the dependencies on nodes that are not there.
func (g *chakraGraph) missing() {
	for _, n := range g.graph {
		for _, list := range [][]int64{n.deps, n.ctrl} {
			for _, d := range list {
				if !g.ids[d] {
					g.absent++
				}
			}
		}
	}
	g.graph = nil
}

// isChakra reports whether a file begins as a stream of Chakra's messages does.
func isChakra(head []byte) bool {
	size, n := binary.Uvarint(head)
	if n <= 0 || size > maxElement {
		return false
	}
	message := head[n:]
	if uint64(len(message)) > size {
		message = message[:size]
	} else if uint64(len(message)) < size && len(head) < 1<<15 {
		return false
	}
	fields := 0
	whole := protobuf(message, func(field, wire int, _ uint64, _ []byte) { fields++ })
	return fields > 0 && (whole || uint64(len(message)) < size)
}

// protobuf calls yield for the fields of a message: with the number for the wire types 0, 1 and 5, and
// with the bytes for 2. It reports whether the message is whole.
func protobuf(b []byte, yield func(field, wire int, number uint64, bytes []byte)) bool {
	for len(b) > 0 {
		tag, n := binary.Uvarint(b)
		if n <= 0 || tag>>3 == 0 || tag>>3 > 1<<20 {
			return false
		}
		b = b[n:]
		field := int(tag >> 3)
		switch wire := int(tag & 7); wire {
		case 0:
			v, n := binary.Uvarint(b)
			if n <= 0 {
				return false
			}
			b = b[n:]
			yield(field, wire, v, nil)
		case 1:
			if len(b) < 8 {
				return false
			}
			yield(field, wire, binary.LittleEndian.Uint64(b), nil)
			b = b[8:]
		case 5:
			if len(b) < 4 {
				return false
			}
			yield(field, wire, uint64(binary.LittleEndian.Uint32(b)), nil)
			b = b[4:]
		case 2:
			size, n := binary.Uvarint(b)
			if n <= 0 || size > uint64(len(b)-n) {
				return false
			}
			yield(field, wire, 0, b[n:n+int(size)])
			b = b[n+int(size):]
		default:
			return false
		}
	}
	return true
}

// attribute is a named value: a number or a text.
type attribute struct {
	name, text string
	number     int64
	numeric    bool
}

// readAttribute reads an attribute. The field of its value gives its kind: 3 double, 5 float, odd
// numbers from 7 to 25 integers, of which 15 and 17 are zigzag, 27 a boolean, 29 a text.
func readAttribute(b []byte) (a attribute, whole bool) {
	whole = protobuf(b, func(field, wire int, v uint64, bytes []byte) {
		switch {
		case field == 1 && wire == 2:
			a.name = string(bytes)
		case field == 29 && wire == 2:
			a.text = string(bytes)
		case field == 3 && wire == 1:
			a.number, a.numeric = whole64(math.Float64frombits(v)), true
		case field == 5 && wire == 5:
			a.number, a.numeric = whole64(float64(math.Float32frombits(uint32(v)))), true
		case field == 15 || field == 17:
			a.number, a.numeric = int64(v>>1)^-int64(v&1), true
		case field >= 7 && field <= 27 && field%2 == 1 && wire != 2:
			a.number, a.numeric = int64(v), true
		}
	})
	return a, whole
}

func whole64(f float64) int64 {
	if f >= 0 && f < 1<<62 {
		return int64(f)
	}
	return 0
}

// numbers reads a repeated integer, packed or not.
func numbers(list []int64, wire int, v uint64, bytes []byte) []int64 {
	if wire != 2 {
		return append(list, int64(v))
	}
	for len(bytes) > 0 {
		x, n := binary.Uvarint(bytes)
		if n <= 0 {
			return list
		}
		list, bytes = append(list, int64(x)), bytes[n:]
	}
	return list
}

// message reads a message: the first one of a file is its metadata.
func (g *chakraGraph) message(b []byte, first bool) {
	var n chakraNode
	var meta []attribute
	version := ""
	whole := protobuf(b, func(field, wire int, v uint64, bytes []byte) {
		if first {
			switch {
			case field == 1 && wire == 2:
				version = string(bytes)
			case field == 2 && wire == 2:
				if a, ok := readAttribute(bytes); ok {
					meta = append(meta, a)
				}
			}
			return
		}
		switch field {
		case 1:
			n.id = int64(v)
		case 3:
			n.kind = int64(v)
		case 4:
			n.ctrl = numbers(n.ctrl, wire, v, bytes)
		case 5:
			n.deps = numbers(n.deps, wire, v, bytes)
		case 7:
			n.duration = int64(v)
		case 10:
			if a, ok := readAttribute(bytes); ok && wire == 2 {
				n.attribute(a)
			}
		}
	})
	switch {
	case !whole:
		g.bad++
	case first:
		g.schema = cmp.Or(g.schema, version)
		for _, a := range meta {
			switch a.name {
			case "schema":
				g.schema = regexp.MustCompile(`^[0-9.]+-chakra\.`).ReplaceAllString(a.text, "")
			case "input_file":
				g.input = a.text
			}
		}
	default:
		g.add(n)
	}
}

// attribute takes in what an attribute says of a node.
func (n *chakraNode) attribute(a attribute) {
	switch {
	case !a.numeric:
	case a.name == "comm_size":
		n.size, n.sized = min(max(a.number, 0), model.MaxSize), true
	case a.name == "comm_type":
		n.commType, n.typed = a.number, true
	case a.name == "is_cpu_op":
		n.cpu, n.said = a.number != 0, true
	}
}

// kindName returns the name of a collective.
func (n *chakraNode) kindName() string {
	if n.typed && n.commType >= 0 && n.commType < int64(len(chakraCollectives)) {
		return chakraCollectives[n.commType]
	}
	return "collective"
}

// readStream reads the messages of a file into g.
func (g *chakraGraph) readStream(ctx context.Context, r *bufio.Reader) error {
	for n := 0; ; n++ {
		if n%1024 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		size, err := binary.ReadUvarint(r)
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		case size > maxElement:
			return fmt.Errorf("message %d: %d bytes, want at most %d", n, size, maxElement)
		}
		b := make([]byte, size)
		if _, err := io.ReadFull(r, b); err != nil {
			return unexpected(err)
		}
		g.message(b, n == 0)
	}
}

// readChakra reads one file of messages.
func readChakra(ctx context.Context, t *Trace, r *bufio.Reader) error {
	g := newChakraGraph()
	err := t.cutOff(g.readStream(ctx, r))
	if err == nil && g.nodes == 0 {
		return errors.New("no node in it")
	}
	g.rankOf(t, t.File)
	g.finish(t)
	return err
}

var rankInName = regexp.MustCompile(`(?:^|[._-])(?:rank_?)?([0-9]{1,6})(?:[._-]et)?(?:\.et)?(?:\.gz|\.json)?$`)

// rankOf takes the rank from the name of a file, which alone has it.
func (g *chakraGraph) rankOf(t *Trace, name string) {
	if m := rankInName.FindStringSubmatch(base(name)); m != nil {
		t.Rank, _ = strconv.Atoi(m[1])
	}
}

// readTar reads all files of an archive, of one run: those of Chakra, or else the first trace of any
// other format.
func readTar(ctx context.Context, t *Trace, r *bufio.Reader) error {
	archive := tar.NewReader(r)
	var all []*chakraGraph
	for {
		h, err := archive.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			if err := t.cutOff(unexpected(err)); err != nil {
				return err
			}
			break
		}
		if h.Typeflag != tar.TypeReg || strings.HasPrefix(base(h.Name), "._") {
			continue
		}
		in := bufio.NewReaderSize(archive, 1<<16)
		if head, _ := in.Peek(2); len(head) == 2 && head[0] == 0x1f && head[1] == 0x8b {
			z, err := gzip.NewReader(in)
			if err != nil {
				return fmt.Errorf("%s: gzip: %w", h.Name, err)
			}
			in = bufio.NewReaderSize(z, 1<<16)
		}
		head, _ := in.Peek(1 << 16)
		switch {
		case isChakra(head):
			g := newChakraGraph()
			err := t.cutOff(g.readStream(ctx, in))
			if err != nil {
				return fmt.Errorf("%s: %w", h.Name, err)
			}
			g.rankOf(t, h.Name)
			all = append(all, g)
		case len(all) == 0 && formatOf(head) != nil:
			t.Notes.Add(model.Fact, "%s in the archive", h.Name)
			return formatOf(head)(ctx, t, in)
		default:
			t.Notes.Add(model.LeftOut, "%s in the archive, which is no trace of Chakra", h.Name)
		}
	}
	switch len(all) {
	case 0:
		return errors.New("an archive without a trace in it")
	case 1:
		all[0].finish(t)
		return nil
	}
	t.Rank, t.Ranks = -1, len(all)
	return finishAll(t, all)
}

// finish states what one file has.
func (g *chakraGraph) finish(t *Trace) {
	g.missing()
	t.Format = "Chakra execution trace"
	if g.schema != "" {
		t.value("schema", "", "%s", g.schema)
	}
	t.value("nodes", "", "%d", g.nodes)
	t.value("by_type", "", "%s", typesOf(g.types))
	t.value("unique_ids", "", "%d", len(g.ids))
	if g.onCPU != [2]int{} {
		t.value("is_cpu_op", "", "0:%d 1:%d", g.onCPU[0], g.onCPU[1])
	}
	t.value("ctrl_deps", "", "%d", g.ctrl)
	t.value("data_deps", "", "%d", g.data)
	t.value("deps_to_absent_nodes", "", "%d", g.absent)
	t.value("duration_sum", "us", "%d", g.all)
	t.value("gpu_comp_duration_sum", "us", "%d", g.comp)
	t.value("gpu_coll_duration_sum", "us", "%d", g.coll)
	for _, c := range g.collectives {
		t.value("collective", "us", "id %d %s bytes %d duration %d", c.id, c.kindName(), c.size, c.duration)
	}
	g.sends(t, "")
	if g.input != "" {
		t.value("metadata", "", "the MSCCL-IR file it was made from, as attribute input_file")
	}
	if g.absent > 0 {
		t.Notes.Add(model.Fact, "%d dependencies are on nodes that are not in the file, and count as satisfied", g.absent)
	}
	if g.bad > 0 {
		t.Notes.Add(model.LeftOut, "%d messages that could not be read", g.bad)
	}
	g.job(t)
}

// micros returns a time that is a number of microseconds, nil if there is none.
func micros(n int64) *model.Time {
	if n <= 0 || n > int64(model.MaxEnd/model.Microsecond) {
		return nil
	}
	t := model.Time(n) * model.Microsecond
	return &t
}

// job makes a job of the sums: what runs beside what is not known without an execution of the graph.
func (g *chakraGraph) job(t *Trace) {
	job := Job{Name: base(t.File), Ranks: t.Ranks, Iterations: 1, Compute: micros(g.comp), Comm: micros(g.coll)}
	for _, c := range g.collectives {
		job.Buckets = append(job.Buckets, Bucket{Kind: c.kindName(), Bytes: c.size, Comm: micros(c.duration)})
	}
	if len(job.Buckets) == 0 && g.types[5] == 0 {
		return
	}
	t.Jobs = append(t.Jobs, job)
	if job.Compute != nil || job.Comm != nil {
		t.Notes.Add(model.Fact, "compute and communication are sums over the nodes on the GPU, not unions: what runs beside what only an execution of the graph tells")
	}
}

func (g *chakraGraph) sends(t *Trace, suffix string) {
	if g.types[5] == 0 {
		return
	}
	t.value("send_bytes"+suffix, "", "%d", g.sent)
	if !g.uneven {
		t.value("send_bytes_each", "", "%d", g.each)
	}
}

func typesOf(types map[int64]int) string {
	names := map[string]int{}
	for k, n := range types {
		name, ok := chakraTypes[k]
		if !ok {
			name = fmt.Sprint(k)
		}
		names[name] += n
	}
	return countsOf(names)
}

// finishAll states what several files of one run have.
func finishAll(t *Trace, all []*chakraGraph) error {
	t.Format = "Chakra execution trace"
	sum := newChakraGraph()
	t.value("files", "", "%d", len(all))
	same := true
	for _, g := range all {
		g.missing()
		same = same && g.nodes == all[0].nodes
		sum.absent, sum.bad, sum.sent = sum.absent+g.absent, sum.bad+g.bad, sum.sent+g.sent
		sum.uneven = sum.uneven || g.uneven || g.each != all[0].each
		for k, n := range g.types {
			sum.types[k] += n
		}
	}
	first := all[0]
	sum.each = first.each
	if first.schema != "" {
		t.value("schema", "", "%s", first.schema)
	}
	if same {
		t.value("nodes_a_file", "", "%d", first.nodes)
	}
	t.value("by_type_all_files", "", "%s", typesOf(sum.types))
	t.value("data_deps_file_0", "", "%d", first.data)
	sum.sends(t, "_all_files")
	if first.compNodes > 0 {
		t.value("comp_duration_file_0", "", "%d us in %d nodes", first.compSum, first.compNodes)
	}
	if first.input != "" {
		t.value("metadata", "", "the MSCCL-IR file it was made from, as attribute input_file")
	}
	for _, c := range first.collectives {
		id := fmt.Sprintf("node id %d", c.id)
		if slices.IndexFunc(all, func(g *chakraGraph) bool { return len(g.collectives) != 1 }) < 0 {
			id = "node id = rank"
			for r, g := range all {
				if g.collectives[0].id != int64(r) {
					id = fmt.Sprintf("node id %d", c.id)
				}
			}
		}
		t.value("collective", "", "%s bytes %d duration %d, %s", c.kindName(), c.size, c.duration, id)
	}
	if sum.absent > 0 {
		t.Notes.Add(model.Fact, "%d dependencies are on nodes that are not in the files, and count as satisfied", sum.absent)
	}
	if sum.bad > 0 {
		t.Notes.Add(model.LeftOut, "%d messages that could not be read", sum.bad)
	}
	first.job(t)
	return nil
}

// node reads a node of the JSON form.
func (g *chakraGraph) node(raw []byte) error {
	var fields map[string]json.RawMessage
	if json.Unmarshal(raw, &fields) != nil {
		g.bad++
		return nil
	}
	var n chakraNode
	get := func(v any, names ...string) bool {
		for key, raw := range fields {
			for _, name := range names {
				if strings.EqualFold(strings.ReplaceAll(key, "_", ""), name) && json.Unmarshal(raw, v) == nil {
					return true
				}
			}
		}
		return false
	}
	if !get(&n.id, "id") || !get(&n.kind, "nodetype", "type") {
		g.bad++
		return nil
	}
	get(&n.deps, "datadeps")
	get(&n.ctrl, "ctrldeps")
	get(&n.duration, "runtime", "durationmicros")
	n.said = get(&n.cpu, "iscpuop")
	n.sized = get(&n.size, "commsize")
	n.typed = get(&n.commType, "commtype")
	n.size, n.duration = min(max(n.size, 0), model.MaxSize), max(n.duration, 0)
	g.add(n)
	return nil
}

// finishJSON states what the JSON form has.
func (g *chakraGraph) finishJSON(t *Trace) {
	g.missing()
	t.Format = "Chakra execution trace (JSON)"
	t.value("nodes", "", "%d", g.nodes)
	var words []string
	kinds := make([]int64, 0, len(g.types))
	for k := range g.types {
		kinds = append(kinds, k)
	}
	slices.Sort(kinds)
	for _, k := range kinds {
		words = append(words, fmt.Sprintf("%d:%d", k, g.types[k]))
	}
	t.value("by_type", "", "%s", strings.Join(words, " "))
	t.value("runtime_sum", "", "%d", g.all)
	t.value("data_deps", "", "%d", g.data)
	if g.absent > 0 {
		t.Notes.Add(model.Fact, "%d dependencies are on nodes that are not in the file, and count as satisfied", g.absent)
	}
	if g.bad > 0 {
		t.Notes.Add(model.LeftOut, "%d nodes that could not be read", g.bad)
	}
	if g.types[7] > 0 && len(g.collectives) == 0 {
		t.Notes.Add(model.Fact, "none of its collectives has a size")
	}
	g.rankOf(t, t.File)
	g.job(t)
}
