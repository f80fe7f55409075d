package export

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model"
)

// A decoder of what the schema et_def.proto of Chakra says, written from it: messages with
// their lengths before them, a GlobalMetadata and then Nodes.

type etNode struct {
	id       uint64
	name     string
	typ      uint64
	deps     []uint64
	duration uint64
	attr     map[string]etValue
}

// etValue is the value of an attribute: its field in the oneof says of what type it is.
type etValue struct {
	field  uint64
	number uint64
	text   string
}

// field is one field of a message.
type field struct {
	number, wire uint64
	v            uint64 // wire type 0
	b            []byte // wire type 2
}

func fields(t *testing.T, b []byte) []field {
	t.Helper()
	var list []field
	for len(b) > 0 {
		key, n := binary.Uvarint(b)
		require.Positive(t, n)
		b = b[n:]
		v, n := binary.Uvarint(b)
		require.Positive(t, n)
		b = b[n:]
		f := field{number: key >> 3, wire: key & 7, v: v}
		switch f.wire {
		case 0:
		case 2:
			require.LessOrEqual(t, v, uint64(len(b)))
			f.b, b = b[:v], b[v:]
		default:
			t.Fatalf("wire type %d", f.wire)
		}
		list = append(list, f)
	}
	return list
}

func attribute(t *testing.T, b []byte) (string, etValue) {
	t.Helper()
	name, value := "", etValue{}
	for _, f := range fields(t, b) {
		switch f.number {
		case 1:
			name = string(f.b)
		case 7, 9, 13, 27: // int32_val, int64_val, uint64_val, bool_val
			require.Zero(t, f.wire)
			value = etValue{field: f.number, number: f.v}
		case 29: // string_val
			value = etValue{field: f.number, text: string(f.b)}
		default:
			t.Fatalf("attribute %q has field %d", name, f.number)
		}
	}
	return name, value
}

// decode reads a trace.
func decode(t *testing.T, b []byte) (meta map[string]etValue, version string, nodes []etNode) {
	t.Helper()
	meta = map[string]etValue{}
	for first := true; len(b) > 0; first = false {
		size, n := binary.Uvarint(b)
		require.Positive(t, n)
		require.LessOrEqual(t, size, uint64(len(b)-n))
		m := fields(t, b[n:n+int(size)])
		b = b[n+int(size):]
		if first {
			for _, f := range m {
				switch f.number {
				case 1:
					version = string(f.b)
				case 2:
					name, v := attribute(t, f.b)
					meta[name] = v
				default:
					t.Fatalf("metadata has field %d", f.number)
				}
			}
			continue
		}
		x := etNode{attr: map[string]etValue{}}
		for _, f := range m {
			switch f.number {
			case 1:
				x.id = f.v
			case 2:
				x.name = string(f.b)
			case 3:
				x.typ = f.v
			case 5:
				require.EqualValues(t, 2, f.wire, "packed")
				for p := f.b; len(p) > 0; {
					d, n := binary.Uvarint(p)
					require.Positive(t, n)
					x.deps = append(x.deps, d)
					p = p[n:]
				}
			case 7:
				x.duration = f.v
			case 10:
				name, v := attribute(t, f.b)
				x.attr[name] = v
			default:
				t.Fatalf("node has field %d", f.number)
			}
		}
		nodes = append(nodes, x)
	}
	return meta, version, nodes
}

type file struct{ bytes.Buffer }

func (*file) Close() error { return nil }

// traces exports a schedule and decodes what comes out.
func traces(t *testing.T, p *model.Problem, s *model.Schedule) [][]etNode {
	t.Helper()
	files := make([]file, p.Topology.Ranks)
	require.NoError(t, Chakra(p, s, func(r int) (io.WriteCloser, error) { return &files[r], nil }))
	all := make([][]etNode, len(files))
	for r := range files {
		meta, version, nodes := decode(t, files[r].Bytes())
		require.Equal(t, "0.0.4", version)
		require.Equal(t, "1.0.2-chakra.0.0.4", meta["schema"].text)
		require.Equal(t, p.Collective.Kind.String(), meta["collective"].text)
		all[r] = nodes
	}
	check(t, p, s, all)
	return all
}

// check insists that every transfer is one send and one receive that match, with attributes
// of the types that simulators read, and that what is waited for comes before.
func check(t *testing.T, p *model.Problem, s *model.Schedule, all [][]etNode) {
	t.Helper()
	seen := map[string]int{}
	for r, nodes := range all {
		for i, x := range nodes {
			require.EqualValues(t, i+1, x.id)
			for _, d := range x.deps {
				require.Less(t, d, x.id)
				require.Positive(t, d)
			}
			require.Equal(t, etValue{field: 27}, x.attr["is_cpu_op"])
			if x.typ == compNode {
				continue
			}
			require.Contains(t, []uint64{sendNode, recvNode}, x.typ)
			require.Equal(t, etValue{field: 9, number: x.typ}, x.attr["comm_type"])
			for name, field := range map[string]uint64{"comm_size": 9, "comm_src": 7, "comm_dst": 7, "comm_tag": 7} {
				require.Equal(t, field, x.attr[name].field, name)
			}
			y := s.Transfers[x.attr["comm_tag"].number]
			require.EqualValues(t, y.Src, x.attr["comm_src"].number)
			require.EqualValues(t, y.Dst, x.attr["comm_dst"].number)
			require.EqualValues(t, p.Chunks[y.Chunk].Size, x.attr["comm_size"].number)
			require.Equal(t, r, map[uint64]int{sendNode: int(y.Src), recvNode: int(y.Dst)}[x.typ])
			seen[fmt.Sprint(x.typ, x.attr["comm_tag"].number)]++
		}
	}
	require.Len(t, seen, 2*len(s.Transfers))
	for key, n := range seen {
		require.Equal(t, 1, n, key)
	}
}
