package export

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"

	"github.com/oraccl/oraccl/model"
)

// Chakra writes an execution trace for every rank: create is called for each in turn and
// returns where its trace goes, which is closed. A trace is a metadata message and nodes,
// each after those that it depends on, each message with its length before it.
//
// A node of type COMM_SEND_NODE or COMM_RECV_NODE has the attributes comm_size (int64,
// bytes), comm_tag, comm_src and comm_dst (int32) and comm_type (int64); a COMP_NODE has
// num_ops and tensor_size. Tags are the indices of transfers. Ids begin at 1.
func Chakra(p *model.Problem, s *model.Schedule, create func(rank int) (io.WriteCloser, error)) error {
	g, err := newProgram(p, s)
	if err != nil {
		return err
	}
	if len(s.Transfers) > 1<<31-1 {
		return fmt.Errorf("%d transfers, want at most %d: each needs a tag of its own", len(s.Transfers), 1<<31-1)
	}
	for r := range p.Topology.Ranks {
		f, err := create(r)
		if err != nil {
			return err
		}
		w := bufio.NewWriter(f)
		err = g.trace(w, r)
		if err == nil {
			err = w.Flush()
		}
		if closing := f.Close(); err == nil {
			err = closing
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// CustomCollective returns the key of ASTRA-sim's system file under which it takes traces as a
// collective of a kind, "" where it has none.
func CustomCollective(k model.Kind) string {
	name := map[model.Kind]string{model.AllGather: "all-gather", model.ReduceScatter: "reduce-scatter", model.AllReduce: "all-reduce", model.AllToAll: "all-to-all"}[k]
	if name == "" {
		return ""
	}
	return name + "-implementation-custom"
}

// The types of nodes of the schema.
const (
	compNode = 4
	sendNode = 5
	recvNode = 6
)

func (g *program) trace(w io.Writer, r int) error {
	var meta message
	meta.text(1, "0.0.4")
	meta.attribute(2, "schema", func(a *message) { a.text(29, "1.0.2-chakra.0.0.4") })
	meta.attribute(2, "collective", func(a *message) { a.text(29, g.p.Collective.Kind.String()) })
	meta.attribute(2, "topology", func(a *message) { a.text(29, g.p.Topology.Name) })
	if err := meta.frame(w); err != nil {
		return err
	}
	for i, n := range g.rank(r) {
		var m message
		m.number(1, uint64(i+1))
		g.node(&m, r, n)
		if err := m.frame(w); err != nil {
			return err
		}
	}
	return nil
}

// node writes all of a node but its id.
func (g *program) node(m *message, r int, n node) {
	if n.kind == arrive {
		m.text(2, "arrive")
		m.number(3, compNode)
		m.number(7, uint64((g.p.ReleaseOf(r)+model.Microsecond-1)/model.Microsecond))
		m.attribute(10, "is_cpu_op", func(a *message) { a.number(27, 0) })
		m.attribute(10, "num_ops", func(a *message) { a.number(9, 0) })
		m.attribute(10, "tensor_size", func(a *message) { a.number(13, 1) }) // simulators divide by it
		return
	}
	t := &g.s.Transfers[n.transfer]
	bytes := uint64(g.p.Chunks[t.Chunk].Size)
	var deps message
	for _, d := range n.deps {
		deps.varint(uint64(d + 1))
	}
	finish := func(name string, typ uint64) {
		m.text(2, name)
		m.number(3, typ)
		if len(n.deps) > 0 {
			m.bytes(5, deps)
		}
		m.attribute(10, "is_cpu_op", func(a *message) { a.number(27, 0) })
	}
	switch n.kind {
	case send, receive:
		typ := uint64(sendNode)
		if n.kind == send {
			finish(fmt.Sprintf("send chunk %d to %d", t.Chunk, t.Dst), sendNode)
		} else {
			typ = recvNode
			finish(fmt.Sprintf("recv chunk %d from %d", t.Chunk, t.Src), recvNode)
		}
		m.attribute(10, "comm_type", func(a *message) { a.number(9, typ) })
		m.attribute(10, "comm_size", func(a *message) { a.number(9, bytes) })
		m.attribute(10, "comm_src", func(a *message) { a.number(7, uint64(t.Src)) })
		m.attribute(10, "comm_dst", func(a *message) { a.number(7, uint64(t.Dst)) })
		m.attribute(10, "comm_tag", func(a *message) { a.number(7, uint64(n.transfer)) })
	default:
		finish(map[kind]string{hold: "hold", reduce: "reduce", write: "place"}[n.kind]+fmt.Sprintf(" chunk %d of transfer %d", t.Chunk, n.transfer), compNode)
		m.attribute(10, "num_ops", func(a *message) { a.number(9, 0) })
		m.attribute(10, "tensor_size", func(a *message) { a.number(13, bytes) })
	}
}

// message is a protobuf message that is being written.
type message []byte

func (m *message) varint(v uint64)         { *m = binary.AppendUvarint(*m, v) }
func (m *message) key(field, wire uint64)  { m.varint(field<<3 | wire) }
func (m *message) number(field, v uint64)  { m.key(field, 0); m.varint(v) }
func (m *message) text(f uint64, s string) { m.bytes(f, message(s)) }
func (m *message) bytes(f uint64, b message) {
	m.key(f, 2)
	m.varint(uint64(len(b)))
	*m = append(*m, b...)
}

// attribute writes an AttributeProto; a value of 0 is written too, since which of its kinds
// it is has to be seen.
func (m *message) attribute(field uint64, name string, value func(*message)) {
	var a message
	a.text(1, name)
	value(&a)
	m.bytes(field, a)
}

// frame writes the message with its length before it.
func (m *message) frame(w io.Writer) error {
	if _, err := w.Write(binary.AppendUvarint(nil, uint64(len(*m)))); err != nil {
		return err
	}
	_, err := w.Write(*m)
	return err
}
