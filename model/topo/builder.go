package topo

import (
	"fmt"

	"github.com/oraccl/oraccl/model"
)

// maxLinks limits what a builder builds, so that a slip of the finger does not
// fill the memory. A file may have more.
const maxLinks = 1 << 22

// builder collects nodes and links.
type builder struct{ model.Topology }

// newBuilder starts a topology, or explains why it is too large: links is how many it
// will have.
func newBuilder(ranks, links int64) (*builder, error) {
	switch {
	case ranks < 1 || ranks > model.MaxNodes:
		return nil, fmt.Errorf("has %d ranks, want 1 to %d", ranks, model.MaxNodes)
	case links > maxLinks:
		return nil, fmt.Errorf("has %d links, want at most %d", links, maxLinks)
	}
	return &builder{model.Topology{Ranks: int(ranks), Links: make([]model.Link, 0, links)}}, nil
}

// node adds a switch and returns its node.
func (b *builder) node(name string) int {
	b.Switches = append(b.Switches, model.Switch{Name: name})
	return b.Ranks + len(b.Switches) - 1
}

// link adds a link from u to v.
func (b *builder) link(u, v int, w Wire) {
	b.Links = append(b.Links, model.Link{Src: u, Dst: v, Alpha: w.Alpha, Bandwidth: w.Bandwidth})
}

// duplex adds one link each way.
func (b *builder) duplex(u, v int, w Wire) {
	b.link(u, v, w)
	b.link(v, u, w)
}

// star links the n ranks from first to a new switch and returns it, the latency of
// w being that from rank to rank: half of it on the way in, the rest on the way out.
func (b *builder) star(name string, first, n int, w Wire) int {
	s := b.node(name)
	for v := first; v < first+n; v++ {
		b.link(v, s, Wire{w.Alpha / 2, w.Bandwidth})
		b.link(s, v, Wire{w.Alpha - w.Alpha/2, w.Bandwidth})
	}
	return s
}

// done returns the topology, named as Parse names it where its links are the default ones.
func (b *builder) done(name string, args ...any) (*model.Topology, error) {
	t := &b.Topology
	t.Name = fmt.Sprintf(name, args...)
	if err := t.Validate(); err != nil {
		return nil, err
	}
	return t, nil
}
