package dossier

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/native"
	wl "github.com/oraccl/oraccl/model/workload"
)

// uncut returns p in a normal form, with its cut left open: a group of all ranks in order is
// none, and so are arrivals at time 0.
func uncut(p *model.Problem) *model.Problem {
	q := *p
	q.Chunks = nil
	all := slices.Equal(p.Members(), (&model.Problem{Topology: p.Topology}).Members())
	if all {
		q.Collective.Group = nil
	}
	if !p.Late() {
		q.Release = nil
	}
	return &q
}

// Digest returns the SHA-256, in hexadecimal digits, of p in its normal form as a problem
// file, without its cut and without the name of the topology and its notes, which are remarks. Two problems
// with the same digest are the same up to these. It takes O(p) time.
func Digest(p *model.Problem) string {
	q, t := uncut(p), *p.Topology
	t.Name, t.Notes = "", nil
	q.Topology = &t
	h := sha256.New()
	if err := native.WriteProblem(h, q); err != nil {
		panic(err) // a hash takes all that is written
	}
	return hex.EncodeToString(h.Sum(nil))
}

// WorkloadDigest is Digest of a workload: that of its normal form as a file, without the name of
// the topology and its notes.
func WorkloadDigest(w *wl.Workload) string {
	v, t := *w, *w.Topology
	t.Name, t.Notes = "", nil
	v.Topology = &t
	h := sha256.New()
	if err := native.WriteWorkload(h, &v); err != nil {
		panic(err) // a hash takes all that is written
	}
	return hex.EncodeToString(h.Sum(nil))
}

// about returns why a document about the problem q is not about p, up to the cut where p
// leaves that open, or "".
func about(p, q *model.Problem) string {
	if text := Difference(p, q); text != "" {
		return "it is about another problem: " + text
	}
	if p.Topology.Name != q.Topology.Name {
		return fmt.Sprintf("it is about another problem: topology %s, want %s", model.Quote(q.Topology.Name), model.Quote(p.Topology.Name))
	}
	if p.Chunks != nil && !slices.Equal(p.Chunks, q.Chunks) {
		return fmt.Sprintf("it is about another cut: %s, want %s", cutOf(q), cutOf(p))
	}
	return ""
}

func cutOf(p *model.Problem) string {
	switch n := len(p.Chunks); {
	case p.Chunks == nil:
		return "any"
	case n == 1:
		return "1 chunk"
	case !slices.Equal(p.Chunks, p.Cut(n)):
		return fmt.Sprintf("%d chunks of sizes of its own", n)
	default:
		return fmt.Sprintf("%d chunks", n)
	}
}

// Difference returns in words the first thing in which q differs from p, "" if they are the
// same up to their cuts and the names of their topologies.
func Difference(p, q *model.Problem) string {
	if text := TopologyDifference(p.Topology, q.Topology); text != "" {
		return text
	}
	if text := CollectiveDifference(p, q); text != "" {
		return text
	}
	switch {
	case p.Size != q.Size:
		return fmt.Sprintf("size of %d bytes, want %d", q.Size, p.Size)
	case p.Cost != q.Cost:
		return fmt.Sprintf("cost model %v, want %v", q.Cost, p.Cost)
	}
	if text := ReleaseDifference(p, q); text != "" {
		return text
	}
	a, b := uncut(p), uncut(q)
	if !a.SameUpToCut(b) {
		return "it differs in what has no name here"
	}
	return ""
}

// TopologyDifference returns in words the first thing in which u differs from t except for
// their names, or "".
func TopologyDifference(t, u *model.Topology) string {
	switch {
	case t.Ranks != u.Ranks:
		return fmt.Sprintf("%d ranks, want %d", u.Ranks, t.Ranks)
	case len(t.Switches) != len(u.Switches):
		return fmt.Sprintf("%d switches, want %d", len(u.Switches), len(t.Switches))
	case len(t.Links) != len(u.Links):
		return fmt.Sprintf("%d links, want %d", len(u.Links), len(t.Links))
	case len(t.Ports) != len(u.Ports):
		return fmt.Sprintf("%d ports, want %d", len(u.Ports), len(t.Ports))
	}
	for i, s := range t.Switches {
		if s != u.Switches[i] {
			return fmt.Sprintf("switch %d (%s), want (%s)", i, switchInWords(u.Switches[i]), switchInWords(s))
		}
	}
	for i, l := range t.Links {
		if m := u.Links[i]; l != m {
			return fmt.Sprintf("link %d is %d -> %d with %v and %d bytes/s, want %d -> %d with %v and %d bytes/s",
				i, m.Src, m.Dst, m.Alpha, m.Bandwidth, l.Src, l.Dst, l.Alpha, l.Bandwidth)
		}
	}
	if !t.Equal(u) {
		return "other ports"
	}
	return ""
}

func switchInWords(s model.Switch) string {
	words := fmt.Sprintf("%s, copies %t", model.Quote(s.Name), s.Copies)
	if s.Reduces != model.NoReducing {
		words += fmt.Sprintf(", reduces by %v", s.Reduces)
	}
	if s.Sums > 0 {
		words += fmt.Sprintf(", %d sums", s.Sums)
	}
	if s.Operations != 0 {
		words += fmt.Sprintf(", computes %v", s.Operations)
	}
	for op, types := range s.Types {
		if types != 0 {
			words += fmt.Sprintf(", %v of %v", model.Operator(op), types)
		}
	}
	return words
}

// CollectiveDifference returns in words in what the collective of q differs from that of p,
// or "".
func CollectiveDifference(p, q *model.Problem) string {
	a, b := &p.Collective, &q.Collective
	switch {
	case a.Kind != b.Kind:
		return fmt.Sprintf("%v, want %v", b.Kind, a.Kind)
	case a.Kind.Rooted() && a.Root != b.Root:
		return fmt.Sprintf("root %d, want %d", b.Root, a.Root)
	case a.DType != b.DType:
		return fmt.Sprintf("elements %q, want %q", b.DType, a.DType)
	case a.Op != b.Op:
		return fmt.Sprintf("operator %v, want %v", b.Op, a.Op)
	case !slices.Equal(p.Members(), q.Members()):
		return fmt.Sprintf("a group of %d ranks, want another one, of %d", len(q.Members()), len(p.Members()))
	}
	x, y := uncut(p), uncut(q) // compare the conditions of custom collectives alone
	y.Topology, y.Size, y.Cost, y.Release = x.Topology, x.Size, x.Cost, x.Release
	if !x.SameUpToCut(y) {
		return "another pre- or postcondition"
	}
	return ""
}

// ReleaseDifference returns in words in what the arrivals of q differ from those of p, or "".
func ReleaseDifference(p, q *model.Problem) string {
	if p.Topology.Ranks != q.Topology.Ranks {
		return fmt.Sprintf("%d ranks, want %d", q.Topology.Ranks, p.Topology.Ranks)
	}
	for r := range p.Topology.Ranks {
		if a, b := p.ReleaseOf(r), q.ReleaseOf(r); a != b {
			return fmt.Sprintf("rank %d arrives at %v, want %v", r, b, a)
		}
	}
	return ""
}

// sameRounds returns why p and q need not have the same rounds and steps, or "": they may
// differ in latencies, bandwidths and sizes.
func sameRounds(p, q *model.Problem) string {
	switch {
	case p.Cost != model.LinkRounds:
		return fmt.Sprintf("cost model %v, want link-rounds", p.Cost)
	case p.Late() || q.Late():
		return "ranks are late"
	}
	x, t := *q, *q.Topology
	if len(t.Links) == len(p.Topology.Links) {
		t.Links = slices.Clone(t.Links)
		for i := range t.Links {
			t.Links[i].Alpha, t.Links[i].Bandwidth = p.Topology.Links[i].Alpha, p.Topology.Links[i].Bandwidth
		}
	}
	x.Topology, x.Size = &t, p.Size
	return Difference(p, &x)
}
